"""Lists and their scores, measured during a fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.lambdas import pair_costs
from sklearn_ltr.metrics import Metric
from sklearn_ltr.rankers._data import GradedLists

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class ScoredLists:
    """Lists measured by a metric: the weighted mean over queries."""

    higher_is_better = True

    def __init__(self, lists: GradedLists, metric: Metric) -> None:
        self.name = metric.name
        self._weights = lists.weights
        self._metric = metric.bind(lists.grades, lists.offsets, lists.labels)
        self._scores = np.zeros(len(lists.rows))

    def take(self, scores: FloatArray) -> None:
        """Measure these scores from now on, (n_documents,), as they are then."""
        self._scores = scores

    def value(self) -> float:
        """Mean of the metric."""
        return self._metric.mean(self._scores, self._weights)


class LearnedLists(ScoredLists):
    """Lists of which only those with pairs are learned from, and have scores."""

    def __init__(self, lists: GradedLists, metric: Metric) -> None:
        super().__init__(lists, metric)
        self._learned = np.repeat(lists.has_pairs, np.diff(lists.offsets))

    def take(self, scores: FloatArray) -> None:
        """Measure these scores, of the documents that have pairs."""
        self._scores[self._learned] = scores


class PairCost:
    """Lists measured by RankNet's cost: the mean over pairs, weighted as queries are.

    Parameters
    ----------
    lists : GradedLists
    sigma : float > 0
    tied_pairs : bool
        Whether pairs of equal grade count.
    """

    name = "cost"
    higher_is_better = False

    def __init__(self, lists: GradedLists, sigma: float, tied_pairs: bool) -> None:
        query = np.repeat(np.arange(lists.n_queries), np.diff(lists.offsets))
        self._lists, self._sigma, self._tied_pairs = lists, sigma, tied_pairs
        self._order = np.lexsort((-lists.grades, query))  # from high grade to low
        self._grades = lists.grades[self._order]
        self._costs = np.empty(lists.n_queries)
        n_pairs = pairs_of_lists(lists.offsets, query, self._grades, tied_pairs)
        self._n_pairs = float(n_pairs @ lists.weights)
        self._scores = np.zeros(len(lists.rows))

    def take(self, scores: FloatArray) -> None:
        """Measure these scores from now on, (n_documents,), as they are then."""
        self._scores = scores

    def value(self) -> float:
        """Mean cost of a pair."""
        pair_costs(
            self._scores[self._order],
            self._grades,
            self._lists.offsets,
            self._sigma,
            self._tied_pairs,
            self._costs,
        )
        return float(self._costs @ self._lists.weights) / self._n_pairs


def pairs_of_lists(
    offsets: IntArray, query: IntArray, grades: FloatArray, tied_pairs: bool
) -> FloatArray:
    """Return the number of pairs of each query; its grades are in descending order."""
    sizes = np.diff(offsets).astype(np.float64)
    n_pairs = sizes * (sizes - 1) / 2
    if not tied_pairs:
        new = (np.diff(query, prepend=-1) != 0) | (np.diff(grades, prepend=-1) != 0)
        starts = np.flatnonzero(new)
        equal = np.diff(np.append(starts, len(grades))).astype(np.float64)
        np.subtract.at(n_pairs, query[starts], equal * (equal - 1) / 2)
    return n_pairs
