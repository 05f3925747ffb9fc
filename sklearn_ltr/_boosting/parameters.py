"""The parameters of a fit of boosted trees."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn_ltr._estimators.base import FitParameters
from sklearn_ltr._trees.parameters import TreeParameters


@dataclass(frozen=True, kw_only=True)
class BoostingParameters(TreeParameters, FitParameters):
    """The parameters of a fit of boosted trees."""
