"""What a fit of trees begins with: a warm start keeps the trees of the last one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sklearn_ltr._core.boosting.parameters import BoostingParameters
from sklearn_ltr._core.estimators.base import draw_seed
from sklearn_ltr._core.estimators.monitor import EvalsResult
from sklearn_ltr._core.trees.binning import BinMapper
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble


class TreesSoFar(NamedTuple):
    """The seed of a fit, and the parts of the last one that it continues, if any."""

    seed: int
    mapper: BinMapper | None = None
    ensemble: TreeEnsemble = TreeEnsemble.empty()
    evals_result: EvalsResult = {}
    attributes: Mapping[str, Any] = {}  # all attributes of the last fit

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.ensemble)

    @property
    def is_new(self) -> bool:
        """Whether there is nothing to continue."""
        return self.n_trees == 0


def trees_so_far(
    attributes: Mapping[str, Any],
    parameters: BoostingParameters,
    seed: int | None = None,
) -> TreesSoFar:
    """Return what a fit begins with; a ValueError if the last cannot be continued."""
    # `seed` is for a new fit, if it was drawn already
    p = parameters
    if not p.warm_start or len(attributes.get("ensemble_", ())) == 0:
        return TreesSoFar(draw_seed(p.random_state) if seed is None else seed)
    p.check_continues(attributes)
    return TreesSoFar(
        attributes["_seed"],
        attributes["_mapper"],
        attributes["ensemble_"],
        attributes["evals_result_"],
        dict(attributes),  # a copy, as the fit will replace them
    )
