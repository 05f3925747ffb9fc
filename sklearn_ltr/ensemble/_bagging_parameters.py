"""The parameters of bagging, and their ranges."""

from __future__ import annotations

from typing import Any

from sklearn.utils import Tags, get_tags

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._compile import check_n_jobs
from sklearn_ltr._parameters import (
    at_least,
    check_choice,
    check_fraction_or_count,
    check_ranges,
)
from sklearn_ltr._rankers.base import BaseRanker
from sklearn_ltr.metrics import Metric, get_metric


class BaggingParameters(BaseRanker):
    """Parameters of BaggingRanker, which documents them."""

    estimator: Any
    n_estimators: int
    max_samples: float
    bootstrap: bool
    oob_score: bool
    metric: str | Metric
    verbose: int
    n_jobs: int | None

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: inputs that the members accept."""
        tags = super().__sklearn_tags__()
        input_tags = get_tags(self._estimator()).input_tags
        tags.input_tags.sparse = input_tags.sparse
        tags.input_tags.allow_nan = input_tags.allow_nan
        return tags

    def _estimator(self) -> Any:
        return LambdaMARTRanker() if self.estimator is None else self.estimator

    def _check_parameters(self) -> None:
        """Make the parameters plain values; an error names one out of its range."""
        estimator = self._estimator()
        if isinstance(estimator, type) or not hasattr(estimator, "predict"):
            raise TypeError(
                "estimator must be an estimator with fit and predict, or None, got "
                f"{estimator!r}"
            )
        check_ranges(self, (at_least("n_estimators", 1), at_least("verbose", 0)))
        check_fraction_or_count(self, "max_samples")
        check_choice(self, "bootstrap", (True, False))
        check_choice(self, "oob_score", (True, False))
        check_n_jobs(self.n_jobs)
        get_metric(self.metric)
        if self.oob_score and not self.bootstrap and self.max_samples == 1.0:
            raise ValueError(
                "oob_score=True needs queries that a member is not trained on: give "
                "bootstrap=True, or max_samples below 1"
            )
