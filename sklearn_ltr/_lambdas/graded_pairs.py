"""Lambdas of graded documents: every pair of different grades, in threads."""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._compile import ThreadTeam, new_counters
from sklearn_ltr._data import TrainingData
from sklearn_ltr._lambdas.pairs import (
    N_ROWS,
    N_WEIGHTED_ROWS,
    Derivatives,
    ObjectiveArrays,
    PairOptions,
    allocate_workspaces,
    compute_query_lambdas,
)
from sklearn_ltr._lambdas.ranknet import add_tied_pairs
from sklearn_ltr._lambdas.short_lists import compute_short_lists
from sklearn_ltr._typing import FloatArray, IntArray
from sklearn_ltr.metrics import Metric
from sklearn_ltr.metrics._closed_form import (
    BoundClosedForm,
    ClosedFormMetric,
    SwapFactors,
)
from sklearn_ltr.metrics._ranked_list import rank_documents
from sklearn_ltr.metrics._short_lists import LONGEST_SHORT

NANOSECONDS_PER_PAIR = 1.0
COST_PER_DOCUMENT = 16.0  # time for a document outside of the pair loop, in pairs
RANKING_TIME = 10.0  # nanoseconds for a document


def ranknet_swap_factors(n: int) -> SwapFactors:
    """Return factors with which every swap counts |0 - (-1)| = 1."""
    return SwapFactors(np.ones(n), np.zeros(n), np.full(n, -1.0))


def check_table(delta: ArrayLike, n: int, metric: Metric) -> FloatArray:
    """Return |swap deltas| as (n, n) float64; ValueError unless finite and (n, n)."""
    table = np.abs(np.asarray(delta, dtype=np.float64))
    if table.shape != (n, n) or not np.isfinite(table).all():
        raise ValueError(
            f"{type(metric).__name__}.swap_delta must return ({n}, {n}) finite numbers "
            f"for a list of {n}; got shape {table.shape}, "
            f"{np.count_nonzero(~np.isfinite(table))} of them not finite"
        )
    return np.ascontiguousarray(table)


def move_queries(offsets: IntArray, queries: IntArray) -> tuple[IntArray, IntArray]:
    """Return the offsets of queries in another order, and their documents in it."""
    sizes = np.diff(offsets)[queries]
    moved = np.concatenate(([0], np.cumsum(sizes)))
    moved_by = np.repeat(offsets[queries] - moved[:-1], sizes)
    return moved, np.arange(moved[-1]) + moved_by


class GradedLambdas:
    """Computes gradient and hessian from scores, for one data set and one metric.

    All arrays are in canonical order (:mod:`sklearn_ltr._data`).  The swap deltas
    come from one of three sources: for built-in metrics from gains and swap factors
    (which are constant, or are computed from each ranked list); for a user's metric
    from a table per list, by its `swap_delta`; and without a metric they are 1.

    Parameters
    ----------
    data : TrainingData
        Its grades `y`, `offsets`, `labels`, and `sample_weight`, which multiplies the
        lambdas of a query.
    metric : Metric or None
        Metric whose swap deltas multiply the pairs; None: 1 each, RankNet.
    options : PairOptions
    team : ThreadTeam
    pair_weights : ndarray of shape (2 or 4, n_documents), float64, or None
        See :mod:`sklearn_ltr._lambdas.pairs`; it is kept, not copied, and may
        change between calls.  None: all pairs weigh the same.
    tied_pairs : bool
        Whether documents of equal grade are pairs, too, as RankNet can have them.

    Attributes
    ----------
    gradient, hessian : ndarrays of shape (n_documents,), float64
        dC/ds and d2C/ds2 as last computed.
    offsets : ndarray of shape (n_queries + 1,), int64
        Query q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``.
    documents : ndarray of shape (n_documents,), int64
        Index of each document in `data`, which differs from its position only after
        `reordered`.
    k : int
        Cutoff: only pairs with a document in the top k have a swap delta.
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
        n_documents, n_queries = len(data.y), len(data.offsets) - 1
        self.metric, self.team = metric, team
        # Exact types: numba would compile the kernels once more for others.
        sigma, by_distance, by_query = options
        self.options = PairOptions(float(sigma), bool(by_distance), bool(by_query))
        self.grades, self.offsets = data.y, data.offsets
        self.sample_weight = data.sample_weight
        self.documents: NDArray[np.integer] = np.arange(n_documents, dtype=np.int32)
        self.pair_weights, self._tied_pairs = pair_weights, tied_pairs
        self._bound: BoundClosedForm | None = None  # where factors depend on the order
        self._constant_factors: SwapFactors | None
        if isinstance(metric, ClosedFormMetric):
            bound = metric.bind(data.y, data.offsets, data.labels)
            self.k = bound.k
            self._gain, self._scale = bound.gain, bound.scale
            self._constant_factors = bound.constant_swap_factors()
            if self._constant_factors is None:
                self._bound = bound
        else:
            self.k = int(data.sizes.max())
            self._gain, self._scale = np.zeros(n_documents), np.ones(n_queries)
            self._constant_factors = ranknet_swap_factors(self.k)
        self._table = np.empty((0, 0)) if metric is None else None
        # lists side by side use no tables of swap deltas and no costs of pairs
        has_closed_form = metric is None or metric.closed_form
        has_costs = pair_weights is not None and len(pair_weights) == 4
        self._may_be_side_by_side = has_closed_form and not has_costs
        self._allocate()

    def _allocate(self) -> None:
        """Allocate results and workspaces, and estimate the time of each query."""
        n_documents, sizes = len(self.grades), np.diff(self.offsets)
        longest = int(sizes.max())
        n_rows = N_ROWS if self.pair_weights is None else N_WEIGHTED_ROWS
        n_threads = self.team.n_threads
        self._workspaces = tuple(allocate_workspaces(n_threads, longest, n_rows))
        self._order = np.empty(n_documents, dtype=np.int64)
        self._remains = np.ones(len(sizes), dtype=np.bool_)
        has_short_lists = bool(sizes.min() <= LONGEST_SHORT)
        self._takes_short_lists = self._may_be_side_by_side and has_short_lists
        self.gradient, self.hessian = np.empty((2, n_documents))
        if self._constant_factors is None:
            self._factors = SwapFactors(*np.empty((3, n_documents)))
            first_factor = self.offsets[:-1]
        else:
            self._factors = self._constant_factors
            first_factor = np.zeros_like(sizes)
        cost = sizes * (np.minimum(sizes, self.k) + COST_PER_DOCUMENT)
        self._cost_before = np.concatenate(([0.0], np.cumsum(cost)))
        arrays = ObjectiveArrays(
            self._gain,
            *self._factors,
            first_factor,
            self._scale,
            self.sample_weight,
            self.k,
        )
        self._arrays, self._options = tuple(arrays), tuple(self.options)
        self._result = tuple(Derivatives(self.gradient, self.hessian))

    def reordered(self, queries: IntArray) -> GradedLambdas:
        """Return the objective of these queries (n_selected,), in their order."""
        # `documents` of the result says which documents of `data` its own are
        other = copy(self)
        other.offsets, documents = move_queries(self.offsets, queries)
        other.documents = self.documents[documents]
        other.grades = self.grades[documents]
        other.sample_weight = self.sample_weight[queries]
        other._scale = self._scale[queries]
        other._gain = self._gain[documents]
        if self.pair_weights is not None:
            other.pair_weights = np.take(self.pair_weights, documents, axis=1)
        if self._bound is not None:
            other._bound = self._bound.subset(queries, documents, other.offsets)
        other._allocate()
        return other

    def derivatives(
        self, scores: FloatArray, first: int = 0, last: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1."""
        # Both are views of `gradient` and `hessian`, which the next call overwrites.
        # `scores` holds all documents, but only the scores of these queries are read.
        last = len(self.offsets) - 1 if last is None else last
        documents = slice(self.offsets[first], self.offsets[last])
        if self.metric is not None and not self.metric.closed_form:
            self._compute_by_table(scores, first, last, self.metric)
        else:
            self._compute_in_closed_form(scores, first, last)
        if self._tied_pairs:
            add_tied_pairs(
                scores,
                self.grades,
                self.offsets,
                first,
                last,
                self.options.sigma,
                self.sample_weight,
                self.pair_weights,
                self.gradient,
            )
        return self.gradient[documents], self.hessian[documents]

    def _compute_in_closed_form(
        self, scores: FloatArray, first: int, last: int
    ) -> None:
        """Compute lambdas from gains and swap factors."""
        bounds = self._bounds(first, last)
        self._rank(scores, bounds)
        if self._bound is not None:
            self._bound.fill_swap_factors(self._order, self._factors, bounds, self.team)
        self._compute(scores, bounds, self._table)

    def _bounds(self, first: int, last: int) -> IntArray:
        """Divide queries into ranges for the threads, of about equal time."""
        return first + self.team.divide(self._cost_before[first : last + 1])

    def _compute_by_table(
        self, scores: FloatArray, first: int, last: int, metric: Metric
    ) -> None:
        """Compute lambdas from a user's `swap_delta`, query by query."""
        for query in range(first, last):
            bounds = np.array([query, query + 1])
            self._rank(scores, bounds)
            ranked = self._order[self.offsets[query] : self.offsets[query + 1]]
            grades = self.grades[ranked]
            delta = np.zeros((len(ranked), len(ranked)))
            if np.ptp(grades) > 0:  # else no pairs, and the value may be undefined
                delta = check_table(metric.swap_delta(grades), len(ranked), metric)
            self._compute(scores, bounds, delta)

    def _rank(self, scores: FloatArray, bounds: IntArray) -> None:
        """Put the lists of ranges of queries in order, down to the cutoff."""
        n_documents = self.offsets[bounds[-1]] - self.offsets[bounds[0]]
        lists = scores, self.grades, self.offsets, self.k, self._order, False
        self.team.share_ranges(
            RANKING_TIME * n_documents, bounds, rank_documents, *lists
        )

    def _compute(
        self, scores: FloatArray, bounds: IntArray, table: FloatArray | None
    ) -> None:
        """Compute the lambdas of ranges of queries, whose lists are in order."""
        lists = scores, self.grades, self._order, self.offsets  # RankedLists
        given = lists, self._arrays, table, self.pair_weights, self._options
        first, last = bounds[0], bounds[-1]
        time = self._cost_before[last] - self._cost_before[first]
        time *= NANOSECONDS_PER_PAIR
        if self._takes_short_lists:
            self.team.share_ranges(
                time, bounds, compute_short_lists, *given, self._result, self._remains
            )
            if not self._remains[first:last].any():
                return
        self.team.share(
            time,
            compute_query_lambdas,
            bounds,
            new_counters(self.team.n_threads),
            self._remains,
            *given,
            self._workspaces,
            self._result,
        )
