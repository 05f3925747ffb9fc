"""The face that every estimator of this package shows to scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from sklearn_ltr.estimators.callbacks import CallbackSupportMixin
from sklearn_ltr.estimators.state import VersionedState
from sklearn_ltr.estimators.table import read_table
from sklearn_ltr.learners.tables import Table


class Model(VersionedState, CallbackSupportMixin, BaseEstimator):
    """An estimator that reads tables, sparse ones too, and knows its version."""

    _seed: int

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: y is required, X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def _read_table(self, X: Any, *, reset: bool = False, name: str = "X") -> Table:
        """Check a table; with `reset`, remember its columns."""
        return read_table(self, X, reset=reset, name=name)
