"""The parameters that rankers of boosted trees add to those of boosted trees."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn_ltr._estimators.boosted_trees import BoostedTrees
from sklearn_ltr._estimators.tree_parameters import LARGEST_NOISE
from sklearn_ltr._parameters import (
    Range,
    at_least,
    check_choice,
    check_ranges,
    positive,
)
from sklearn_ltr.rankers._click_training import ClickTraining

RANGES = (
    positive("sigma"),
    at_least("truncation_level", 1, optional=True),
    Range("score_noise", Real, 0, LARGEST_NOISE, "both"),
    Range("regression_weight", Real, 0, 1e6, "both"),
)


class TreeRankerParameters(BoostedTrees, ClickTraining):
    """Parameters of LambdaMART, which documents them."""

    sigma: float
    truncation_level: int | None
    distance_normalization: bool
    query_normalization: bool
    score_noise: float
    regression_weight: float
    init: Any

    def _check_parameters(self) -> None:
        """Make the parameters plain values; an error names one out of its range."""
        super()._check_parameters()
        check_ranges(self, RANGES)
        for flag in ("distance_normalization", "query_normalization"):
            check_choice(self, flag, (True, False))
        self._check_position_bias()
        self._check_objective()
        self._measured_metrics()  # raises for an unknown metric or scoring

    def _score_noise(self) -> float:
        """Return the standard deviation of the noise of scores."""
        return 0.0 if callable(self.objective) else self.score_noise / self.sigma
