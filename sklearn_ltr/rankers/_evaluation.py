"""What is measured during the fit of a ranker: a metric, or RankNet's cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._queries import TrainingData
from sklearn_ltr.lambdas._ranknet_cost import pair_costs
from sklearn_ltr.metrics import Metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class MetricEvaluation:
    """The weighted mean of a metric over queries."""

    higher_is_better = True

    def __init__(self, data: TrainingData, metric: Metric) -> None:
        self.weights = data.weights
        self.bound = metric.bind(data.y, data.offsets, data.labels)
        self._scores = np.zeros(data.n_rows)

    def update(self, scores: FloatArray) -> None:
        """Measure these scores from now on, (n_rows,); the array is not copied."""
        self._scores = scores

    def value(self) -> float:
        """Return the mean of the metric."""
        return self.bound.mean(self._scores, self.weights)

    def values(self) -> FloatArray:
        """Return the metric of each query, (n_queries,)."""
        return self.bound.values(self._scores)


class AllQueriesEvaluation(MetricEvaluation):
    """The mean over all queries while only those with pairs are trained on.

    The documents of the other queries keep the score 0: they are all of one grade.

    Parameters
    ----------
    data : TrainingData
    learned : TrainingData
        Its queries with pairs, their rows in any order.
    metric : Metric
    """

    def __init__(
        self, data: TrainingData, learned: TrainingData, metric: Metric
    ) -> None:
        trained_on = np.repeat(data.has_pairs, data.sizes)
        y = data.y.copy()
        y[trained_on] = learned.y
        super().__init__(replace(data, y=y), metric)
        self._trained_on = trained_on

    def update(self, scores: FloatArray) -> None:
        """Measure these scores of the documents that are trained on."""
        self._scores[self._trained_on] = scores


class PairCostEvaluation:
    """RankNet's cost: the mean over pairs, weighted like their queries.

    Parameters
    ----------
    data : TrainingData
    sigma : float > 0
    tied_pairs : bool
        Whether pairs of equal grade count.
    """

    higher_is_better = False

    def __init__(self, data: TrainingData, sigma: float, tied_pairs: bool) -> None:
        query = np.repeat(np.arange(data.n_queries), data.sizes)
        self._data, self._sigma, self._tied_pairs = data, sigma, tied_pairs
        self._by_grade = np.lexsort((-data.y, query))  # descending within a query
        self._grades = data.y[self._by_grade]
        self._costs = np.empty(data.n_queries)
        n_pairs = count_pairs(data.offsets, query, self._grades, tied_pairs)
        self.weighted_pairs = n_pairs * data.weights
        self._scores = np.zeros(data.n_rows)

    def update(self, scores: FloatArray) -> None:
        """Measure these scores from now on, (n_rows,); the array is not copied."""
        self._scores = scores

    def value(self) -> float:
        """Return the mean cost of a pair."""
        return float(self.values().sum()) / float(self.weighted_pairs.sum())

    def values(self) -> FloatArray:
        """Return the cost of each query times its weight, (n_queries,)."""
        pair_costs(
            self._scores[self._by_grade],
            self._grades,
            self._data.offsets,
            self._sigma,
            self._tied_pairs,
            self._costs,
        )
        return self._costs * self._data.weights


def count_pairs(
    offsets: IntArray, query: IntArray, grades: FloatArray, tied_pairs: bool
) -> FloatArray:
    """Return the number of pairs of each query; its grades are in descending order."""
    sizes = np.diff(offsets).astype(np.float64)
    n_pairs = sizes * (sizes - 1) / 2
    if not tied_pairs:
        is_new = (np.diff(query, prepend=-1) != 0) | (np.diff(grades, prepend=-1) != 0)
        starts = np.flatnonzero(is_new)
        n_equal = np.diff(np.append(starts, len(grades))).astype(np.float64)
        np.subtract.at(n_pairs, query[starts], n_equal * (n_equal - 1) / 2)
    return n_pairs
