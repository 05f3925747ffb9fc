"""Lambdas of graded documents: every pair of different grades, in threads."""

from __future__ import annotations

from copy import copy

import numpy as np

from sklearn_ltr._core.compile import ThreadTeam, new_counters
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.lambdas.base import Lambdas
from sklearn_ltr._core.lambdas.pair import PairOptions
from sklearn_ltr._core.lambdas.pairs import (
    N_ROWS,
    N_WEIGHTED_ROWS,
    Derivatives,
    allocate_workspaces,
    compute_query_lambdas,
)
from sklearn_ltr._core.lambdas.ranked_queries import (
    RankedQueries,
    move_queries,
    swap_table,
)
from sklearn_ltr._core.lambdas.ranknet import add_tied_pairs
from sklearn_ltr._core.lambdas.short_lists import compute_short_lists
from sklearn_ltr._core.typing import FloatArray, IntArray
from sklearn_ltr.metrics import Metric
from sklearn_ltr.metrics._short_lists import LONGEST_SHORT

NANOSECONDS_PER_PAIR = 1.0
COST_PER_DOCUMENT = 16.0  # time for a document outside of the pair loop, in pairs


class GradedLambdas(Lambdas):
    """Computes gradient and hessian from scores, for one data set and one metric.

    All arrays are in canonical order (:mod:`sklearn_ltr._core.data`).

    Parameters
    ----------
    data : TrainingData
        Its grades `y`, `offsets`, and `sample_weight`, which multiplies the lambdas of
        a query.
    metric : Metric or None
        Metric whose swap deltas multiply the pairs; None: 1 each, RankNet.
    options : PairOptions
    team : ThreadTeam
    pair_weights : ndarray of shape (2 or 4, n_documents), float64, or None
        See :mod:`sklearn_ltr._core.lambdas.pairs`; it is kept, not copied, and may
        change between calls.  None: all pairs weigh the same.
    tied_pairs : bool
        Whether documents of equal grade are pairs, too, as RankNet can have them.
    """

    def __init__(
        self,
        data: TrainingData,
        metric: Metric | None,
        options: PairOptions,
        team: ThreadTeam,
        pair_weights: FloatArray | None = None,
        *,
        tied_pairs: bool = False,
    ) -> None:
        self._metric, self._options, self._team = metric, options, team
        self._pair_weights, self._tied_pairs = pair_weights, tied_pairs
        self._queries = RankedQueries(data, metric, team)
        self._table = np.empty((0, 0)) if metric is None else None
        # lists side by side use no tables of swap deltas and no costs of pairs
        has_closed_form = metric is None or metric.closed_form
        has_costs = pair_weights is not None and len(pair_weights) == 4
        self._may_be_side_by_side = has_closed_form and not has_costs
        self._allocate()

    def _allocate(self) -> None:
        """Allocate results and workspaces, and estimate the time of each query."""
        self.offsets, self.documents = self._queries.offsets, self._queries.documents
        sizes = np.diff(self.offsets)
        n_rows = N_ROWS if self._pair_weights is None else N_WEIGHTED_ROWS
        n_threads, longest = self._team.n_threads, int(sizes.max())
        self._workspaces = allocate_workspaces(n_threads, longest, n_rows)
        self._remains = np.ones(len(sizes), dtype=np.bool_)
        has_short_lists = bool(sizes.min() <= LONGEST_SHORT)
        self._takes_short_lists = self._may_be_side_by_side and has_short_lists
        cost = sizes * (np.minimum(sizes, self._queries.factors.k) + COST_PER_DOCUMENT)
        self._cost_before = np.concatenate(([0.0], np.cumsum(cost)))
        self._all_bounds = self._team.divide(self._cost_before)
        self._constants = tuple(self._queries.factors), tuple(self._options)
        self._result = tuple(Derivatives(*np.empty((2, len(self.documents)))))

    def reordered(self, queries: IntArray) -> GradedLambdas:
        """Return the lambdas of these queries (n_selected,), in their order."""
        other = copy(self)
        other._queries = self._queries.reordered(queries)
        if self._pair_weights is not None:
            _, documents = move_queries(self.offsets, queries)
            other._pair_weights = np.take(self._pair_weights, documents, axis=1)
        other._allocate()
        return other

    def compute(
        self, scores: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1."""
        documents = slice(self.offsets[first], self.offsets[last])
        if self._metric is not None and not self._metric.closed_form:
            self._compute_by_table(scores, first, last, self._metric)
        else:
            bounds = self._all_bounds
            if last - first < len(self.offsets) - 1:
                costs = self._cost_before[first : last + 1]
                bounds = first + self._team.divide(costs)
            self._queries.rank(scores, bounds)
            self._compute(scores, bounds, self._table)
        gradient, hessian = self._result
        if self._tied_pairs:
            lists = scores, self._queries.grades, self.offsets
            sigma, weights = self._options.sigma, self._queries.factors.sample_weight
            given = lists, sigma, weights, self._pair_weights, gradient
            add_tied_pairs(first, last, *given)
        return gradient[documents], hessian[documents]

    def _compute_by_table(
        self, scores: FloatArray, first: int, last: int, metric: Metric
    ) -> None:
        """Compute lambdas from a user's `swap_delta`, query by query."""
        for query in range(first, last):
            grades = self._queries.grades[self._queries.rank_one(scores, query)]
            delta = np.zeros((len(grades), len(grades)))
            if np.ptp(grades) > 0:  # else no pairs, and the value may be undefined
                delta = swap_table(metric, grades)
            self._compute(scores, np.array([query, query + 1]), delta)

    def _compute(
        self, scores: FloatArray, bounds: IntArray, table: FloatArray | None
    ) -> None:
        """Compute the lambdas of ranges of queries, which have been ranked."""
        (factors, options), lists = self._constants, self._queries.lists(scores)
        pairs = (lists, factors, options), table, self._pair_weights
        first, last = bounds[0], bounds[-1]
        time = self._cost_before[last] - self._cost_before[first]
        time *= NANOSECONDS_PER_PAIR
        if self._takes_short_lists:
            self._team.share_ranges(
                time, bounds, compute_short_lists, *pairs, self._result, self._remains
            )
            if not self._remains[first:last].any():
                return
        counters = new_counters(self._team.n_threads)
        given = bounds, counters, self._remains, *pairs, self._workspaces, self._result
        self._team.share(time, compute_query_lambdas, *given)
