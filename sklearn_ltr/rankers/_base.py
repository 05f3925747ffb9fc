"""What the rankers share: the scikit-learn interface."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from sklearn_ltr._estimators.base import BaseModel
from sklearn_ltr._estimators.weights import with_weight
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.metrics import NDCG, Metric, get_metric, rank_scores
from sklearn_ltr.rankers._reading import (
    read_queries,
    read_targets,
    read_training_data,
    split_queries,
    zero_gradient_message,
)

LONGEST_LIST = 2**31  # rows are numbered by int32


class BaseRanker(BaseModel):
    """A ranker: `predict` returns scores, and higher scores are ranked first."""

    metric: str | Metric | None
    scoring: str | Metric | None

    # Requested from the start, so that metadata routing needs no further call
    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "groups": True,
        "X_val": True,
        "y_val": True,
        "groups_val": True,
        "sample_weight_val": True,
    }
    __metadata_request__score: ClassVar[dict[str, bool]] = {"groups": True}

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: the estimator type is "ranker"."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        return tags

    @abstractmethod
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Score documents; scores are comparable within a query."""

    def rank(self, X: Any, *, groups: Any = None) -> NDArray[np.int64]:
        """Rank documents within their queries.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
        groups : array-like of shape (n_documents,), default=None
            The query of each document; None: all belong to one query.

        Returns
        -------
        ranks : ndarray of shape (n_documents,), int64
            1 is first; equal scores keep the order of the rows.
        """
        return self._ranks(self.predict(X), groups)

    def score(
        self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None
    ) -> float:
        """Mean of the ranker's `metric` over queries; NDCG@10 where it is None.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0.
        groups : array-like of shape (n_documents,), default=None
            The query of each document.  Without it all rows are taken for one query,
            with a :class:`MissingGroupsWarning`.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the mean, constant within a query.

        Returns
        -------
        score : float
        """
        return self._mean_metric(self.predict(X), y, groups, sample_weight)

    def _ranks(self, scores: NDArray[np.float64], groups: Any) -> NDArray[np.int64]:
        """Return the rank of each document by its score."""
        one_query = np.zeros(len(scores), dtype=np.int64)
        return rank_scores(scores, groups=one_query if groups is None else groups)

    def _mean_metric(
        self, scores: NDArray[np.float64], y: Any, groups: Any, sample_weight: Any
    ) -> float:
        """Return the mean of the reported metric for the scores of documents."""
        queries = read_queries(groups, len(scores))
        data = read_targets(y, queries, sample_weight)
        data = with_weight(data, "sample_weight")
        bound = self._reported_metric().bind(data.y, data.offsets, data.labels)
        return bound.mean(scores[data.rows], data.weights)

    def _read_training_data(
        self, X: Any, y: Any, groups: Any, sample_weight: Any, *, reset: bool
    ) -> TrainingData:
        """Read the training data that a public method was given."""
        table = self._read_features(X, reset=reset)
        data = read_training_data(table, y, groups, sample_weight)
        return with_weight(data, "sample_weight")

    def _read_validation_data(
        self, X_val: Any, y_val: Any, groups_val: Any, sample_weight_val: Any
    ) -> TrainingData | None:
        """Read the data that `fit` was given for early stopping, if any."""
        if X_val is not None:
            table = self._read_features(X_val, name="X_val")
            data = read_training_data(
                table, y_val, groups_val, sample_weight_val, "_val"
            )
            return with_weight(data, "sample_weight_val")
        if not (y_val is groups_val is sample_weight_val is None):
            raise ValueError(
                "X_val is None, but y_val, groups_val or sample_weight_val is not: "
                "give X_val with them"
            )
        return None

    def _split(self, data: TrainingData) -> tuple[TrainingData, TrainingData]:
        """Split off `validation_fraction` of the queries: (training, validation)."""
        return split_queries(data, self.validation_fraction, self._seed)

    def _reported_metric(self) -> Metric:
        return NDCG(10) if self.metric is None else get_metric(self.metric)

    def _stopping_metric(self) -> Metric:
        """Return the metric that early stopping follows."""
        if self.scoring is None:
            return self._reported_metric()
        return get_metric(self.scoring)

    def _check_lambdas(
        self,
        gradient: NDArray[np.float64],
        totals: tuple[float, float],
        metric: Metric | None,
        data: TrainingData,
    ) -> None:
        """Raise a ValueError unless the sum of |lambda| is in a range."""
        total, (low, high) = self._sum_of_lambdas(gradient), totals
        if total == 0:
            raise ValueError(zero_gradient_message(self.metric, metric, data))
        if not low <= total <= high:
            raise ValueError(
                f"the lambdas of metric={self.metric!r} add up to {total:.3g}, out of "
                f"[{low:g}, {high:g}]: change the scale of its gains, of sigma or of "
                "sample_weight"
            )

    def _sum_of_lambdas(self, gradient: NDArray[np.float64]) -> float:
        """Return the sum of |lambda|."""
        return float(np.abs(gradient).sum())

    def _trained_metric(self, truncation_level: int | None) -> Metric | None:
        """Return the metric of the swap deltas, at the truncation level or deeper."""
        if self.metric is None:
            return None
        if truncation_level is not None:  # cutoffs have 64 bits
            truncation_level = min(truncation_level, LONGEST_LIST)
        return get_metric(self.metric).at_deeper_cutoff(truncation_level)
