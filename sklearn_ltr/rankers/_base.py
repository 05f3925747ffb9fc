"""What the rankers share: the scikit-learn interface."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from sklearn_ltr._estimators.base import BaseModel
from sklearn_ltr._estimators.validation_sets import read_validation_sets
from sklearn_ltr._estimators.weights import with_weight
from sklearn_ltr._parameters import shown
from sklearn_ltr._queries import NO_EXPOSURE, Exposure, TrainingData
from sklearn_ltr._queries.cross_validation import KnownQueries, warn_if_cut
from sklearn_ltr.metrics import NDCG, Metric, get_metric, rank_scores
from sklearn_ltr.rankers._reading import (
    read_queries,
    read_targets,
    read_training_data,
    split_queries,
    zero_gradient_message,
)

LONGEST_LIST = 2**31  # rows are numbered by int32


def is_among(metric: Metric, others: Iterable[Metric]) -> bool:
    """Return whether a metric is one of others; arrays of gains have no ``==``."""
    return any(
        metric is other or (type(metric) is type(other) and repr(metric) == repr(other))
        for other in others
    )


def name_metrics(metrics: Iterable[Metric]) -> dict[str, Metric]:
    """Return the metrics by name; by their repr where others have the same name.

    Raises
    ------
    ValueError
        If two are equal.
    """
    named: dict[str, Metric] = {}
    for metric in metrics:
        if is_among(metric, named.values()):
            raise ValueError(f"scoring holds {metric!r} twice")
        named[repr(metric) if metric.name in named else metric.name] = metric
    return named


class BaseRanker(BaseModel):
    """A ranker: `predict` returns scores, and higher scores are ranked first."""

    metric: str | Metric | None
    scoring: Any  # str, Metric, a list of these, or None
    objective: Any = "lambdarank"  # RankNet has no other
    _trained_queries: KnownQueries | None = None  # of the last fit; never saved

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
        if groups is not None:
            warn_if_cut(self, queries)
        data = read_targets(y, queries, sample_weight)
        data = with_weight(data, "sample_weight")
        bound = self._reported_metric().bind(data.y, data.offsets, data.labels)
        return bound.mean(scores[data.rows], data.weights)

    def _read_training_data(
        self,
        X: Any,
        y: Any,
        groups: Any,
        sample_weight: Any,
        exposure: Exposure = NO_EXPOSURE,
        *,
        reset: bool,
    ) -> TrainingData:
        """Read the training data that a public method was given."""
        table = self._read_features(X, reset=reset)
        data = read_training_data(table, y, groups, sample_weight, exposure=exposure)
        self._trained_queries = data.labels, data.sizes
        return with_weight(data, "sample_weight")

    def _read_validation_set(
        self, suffix: str, X: Any, y: Any, groups: Any, sample_weight: Any
    ) -> TrainingData:
        """Read validation data; messages name arguments with the suffix."""
        table = self._read_features(X, name=f"X{suffix}")
        data = read_training_data(table, y, groups, sample_weight, suffix)
        return with_weight(data, f"sample_weight{suffix}")

    def _read_validation_data(
        self, X_val: Any, y_val: Any, groups_val: Any, sample_weight_val: Any
    ) -> list[TrainingData]:
        """Read the validation data that `fit` was given: none, one or several sets."""
        sets = read_validation_sets(
            X_val,
            y_val=y_val,
            groups_val=groups_val,
            sample_weight_val=sample_weight_val,
        )
        return [self._read_validation_set(suffix, X, *of) for suffix, X, of in sets]

    def _split(self, data: TrainingData) -> tuple[TrainingData, TrainingData]:
        """Split off `validation_fraction` of the queries: (training, validation)."""
        return split_queries(data, self.validation_fraction, self._seed)

    def _check_objective(self) -> None:
        """Raise an error unless `objective` is a name or a function, with a metric."""
        if not callable(self.objective):
            if isinstance(self.objective, str) and self.objective == "lambdarank":
                return
            raise ValueError(
                "objective must be 'lambdarank', which learns from lambdas of the "
                "metric, or a function of scores, grades and offsets; got "
                f"{shown(self.objective)}"
            )
        if self.metric is None:
            raise ValueError(
                "metric=None learns from pairs, but objective is a function: give the "
                "metric to report"
            )

    def _reported_metric(self) -> Metric:
        return NDCG(10) if self.metric is None else get_metric(self.metric)

    def _measured_metrics(self) -> dict[str, Metric]:
        """Return the metrics of validation data by name.

        Early stopping follows the first.
        """
        if self.scoring is None:
            return name_metrics([self._reported_metric()])
        if not isinstance(self.scoring, list | tuple):
            return name_metrics([get_metric(self.scoring)])
        if len(self.scoring) == 0:
            raise ValueError("scoring is an empty list: name a metric, or give None")
        return name_metrics([get_metric(metric) for metric in self.scoring])

    @property
    def _measures_train(self) -> bool:
        """Whether the training data are measured by all metrics, too."""
        return isinstance(self.scoring, list | tuple)

    def _check_lambdas(
        self,
        gradient: NDArray[np.float64],
        totals: tuple[float, float],
        metric: Metric | None,
        data: TrainingData,
    ) -> None:
        """Raise a ValueError unless the sum of |lambda| is in a range."""
        total, (low, high) = np.abs(gradient).sum(), totals
        if callable(self.objective):
            if not low <= total <= high:
                raise ValueError(
                    f"the gradients that objective returned add up to {total:.3g}, out "
                    f"of [{low:g}, {high:g}], so there is nothing to learn from: "
                    "change their scale or that of sample_weight"
                )
            return
        if total == 0:
            raise ValueError(zero_gradient_message(self.metric, metric, data))
        if not low <= total <= high:
            raise ValueError(
                f"the lambdas of metric={self.metric!r} add up to {total:.3g}, out of "
                f"[{low:g}, {high:g}]: change the scale of its gains, of sigma or of "
                "sample_weight"
            )

    def _trained_metric(self, truncation_level: int | None) -> Metric | None:
        """Return the metric of the swap deltas, at the truncation level or deeper."""
        if self.metric is None:
            return None
        if truncation_level is not None:  # cutoffs have 64 bits
            truncation_level = min(truncation_level, LONGEST_LIST)
        return get_metric(self.metric).at_deeper_cutoff(truncation_level)
