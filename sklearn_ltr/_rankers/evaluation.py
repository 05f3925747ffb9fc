"""The measures of a ranker during its fit: a metric, or RankNet's cost.

The process gathers the values of all workers and averages them in the order of the
queries.
"""

from __future__ import annotations

import numpy as np

from sklearn_ltr._comm import ONE_PROCESS
from sklearn_ltr._compile import ONE_THREAD, ThreadTeam
from sklearn_ltr._data import TrainingData, rescale
from sklearn_ltr._data.query_index import QueryIndex
from sklearn_ltr._lambdas.ranknet import (
    pair_costs,
    preference_cost,
    weighted_pair_costs,
)
from sklearn_ltr._typing import FloatArray, IntArray
from sklearn_ltr.metrics import Metric
from sklearn_ltr.metrics._metric import mean_of_values


def with_largest_grade(metric: Metric, y: FloatArray, index: QueryIndex) -> Metric:
    """Return a metric that knows the largest grade of all workers."""
    if index.comm.n_workers == 1:
        return metric
    largest = index.comm.gather(float(y.max(initial=0.0)))
    return metric.with_largest_grade(max(largest))


class MetricEvaluation:
    """The weighted mean of a metric over the queries of all workers.

    With `learned`, which leaves out queries without pairs, `update` gets the scores of
    its rows only.  The other queries keep scores of 0: all their documents have the
    same grade, so the scores do not change the value.
    """

    higher_is_better = True

    def __init__(
        self,
        data: TrainingData,
        metric: Metric,
        index: QueryIndex | None = None,
        learned: TrainingData | None = None,
    ) -> None:
        self._index = index or QueryIndex.locate(data, ONE_PROCESS)
        y, self._trained_on = data.y, None
        if learned is not None:
            self._trained_on = np.repeat(data.has_pairs, data.sizes)
            y = y.copy()
            y[self._trained_on] = learned.y
        self._metric = with_largest_grade(metric, y, self._index)
        self._bound, has_relevant = None, np.empty(0)
        if data.n_rows > 0:  # a worker may have no validation data
            self._bound = self._metric.bind(y, data.offsets, data.labels)
            has_relevant = self._bound.has_relevant.astype(np.float64)
        self._weights = self._index.gather(data.sample_weight)
        self._has_relevant = self._index.gather(has_relevant) > 0
        self._scores = np.zeros(data.n_rows)
        self._team = ONE_THREAD

    def update(self, scores: FloatArray, team: ThreadTeam | None = None) -> None:
        """Measure these scores from now on, (n_rows,); the array is not copied."""
        self._team = team or ONE_THREAD
        if self._trained_on is None:
            self._scores = scores
        else:
            self._scores[self._trained_on] = scores

    def value(self) -> float:
        """Return the mean of the metric."""
        own = np.empty(0)
        if self._bound is not None:
            own = self._bound.values(self._scores, self._team)
        values = self._index.gather(own)
        return mean_of_values(self._metric, values, self._weights, self._has_relevant)


class PairCostEvaluation:
    """RankNet's cost: the mean over pairs, weighted like queries and documents.

    With `tied_pairs`, pairs of equal grade count, too.
    """

    higher_is_better = False

    def __init__(
        self,
        data: TrainingData,
        sigma: float,
        tied_pairs: bool,
        index: QueryIndex | None = None,
    ) -> None:
        self._index = index or QueryIndex.locate(data, ONE_PROCESS)
        query = np.repeat(np.arange(data.n_queries), data.sizes)
        self._sigma, self._tied_pairs = sigma, tied_pairs
        self._offsets = data.offsets
        self._by_grade = np.lexsort((-data.y, query))  # descending within a query
        self._grades = data.y[self._by_grade]
        self._costs = np.empty(data.n_queries)
        self._scores = np.zeros(data.n_rows)
        given, self._document_weight = data.columns.document_weight, None
        if given is None:
            n_pairs = count_pairs(data.offsets, query, self._grades, tied_pairs)
        else:
            self._document_weight = given[self._by_grade]
            n_pairs = self._compute_costs()
        n_pairs = self._index.gather(n_pairs)
        weights = self._index.gather(data.sample_weight)
        self._weights, _ = rescale(np.where(n_pairs > 0, weights, 0.0))
        self._n_pairs = float((n_pairs * self._weights).sum())

    def update(self, scores: FloatArray, team: ThreadTeam | None = None) -> None:
        """Measure these scores from now on, (n_rows,); the array is not copied."""
        self._scores = scores

    def value(self) -> float:
        """Return the mean cost of a pair."""
        self._compute_costs()
        costs = self._index.gather(self._costs)
        return float((costs * self._weights).sum()) / self._n_pairs

    def _compute_costs(self) -> FloatArray:
        """Compute the cost of each query; return the weight of its pairs, if any."""
        n_pairs = np.empty(0 if self._document_weight is None else len(self._costs))
        scores, given = self._scores[self._by_grade], self._document_weight
        options = self._offsets, self._sigma, self._tied_pairs, self._costs
        if given is None:
            pair_costs(scores, self._grades, *options)
        else:
            weighted_pair_costs(scores, self._grades, given, *options, n_pairs)
        return n_pairs


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


class PreferenceCostEvaluation:
    """RankNet's cost of judged pairs: their mean, weighted like pairs and queries."""

    higher_is_better = False

    def __init__(self, data: TrainingData, sigma: float, index: QueryIndex) -> None:
        assert data.pairs is not None
        pairs = data.pairs
        weights = index.gather(data.sample_weight)
        weights = weights / weights.max()  # the sum of products stays finite
        self._weights = np.repeat(weights, np.diff(pairs.offsets))
        self._weights *= pairs.weights / pairs.weights.max()
        self._pairs, self._sigma = pairs, sigma
        self._scores = np.zeros(data.n_rows)

    def update(self, scores: FloatArray, team: ThreadTeam | None = None) -> None:
        """Measure these scores from now on, (n_rows,); the array is not copied."""
        self._scores = scores

    def value(self) -> float:
        """Return the mean cost of a pair."""
        total = preference_cost(
            self._scores,
            self._pairs.rows,
            self._pairs.probabilities,
            self._weights,
            self._sigma,
        )
        return float(total / self._weights.sum())
