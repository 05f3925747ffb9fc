"""The ranked lists of queries, and what the swap deltas of a metric are computed from.

Swap deltas come from one of three sources: for built-in metrics from gains and swap
factors, which are constant or are computed from each ranked list; for a user's metric
from a table for each list, by its `swap_delta`; and without a metric they are 1.
"""

from __future__ import annotations

import logging
from copy import copy
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.lambdas.pairs import LambdaFactors
from sklearn_ltr._core.typing import FloatArray, IntArray
from sklearn_ltr.metrics import Metric
from sklearn_ltr.metrics._closed_form import (
    BoundClosedForm,
    ClosedFormMetric,
    SwapFactors,
)
from sklearn_ltr.metrics._ranked_list import rank_documents

RANKING_TIME = 10.0  # nanoseconds for a document
LONGEST_UNTOLD = 2.0  # seconds that swaps may take without a line about it


class RankedQueries:
    """The queries of a data set, which are ranked by scores, one range at a time.

    Parameters
    ----------
    data : TrainingData
        Its `y`, `offsets`, `query_ids` and `sample_weight`.
    metric : Metric or None
        Metric whose swap deltas multiply the pairs; None: 1 each, RankNet.
    team : ThreadTeam
    below_cutoff : bool
        Whether documents below the cutoff are put in order, too.

    Attributes
    ----------
    offsets : ndarray of shape (n_queries + 1,), int64
        Query q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``.
    documents : ndarray of shape (n_documents,)
        Index of each document in `data`, which differs from its position only after
        `reordered`.
    grades : ndarray of shape (n_documents,), float64
    factors : LambdaFactors
        With the swap factors of the lists as they were last ranked.
    """

    def __init__(
        self,
        data: TrainingData,
        metric: Metric | None,
        team: ThreadTeam,
        *,
        below_cutoff: bool = False,
    ) -> None:
        self._team = team
        self.grades, self.offsets = data.y, data.offsets
        self.documents: NDArray[np.integer] = np.arange(len(data.y), dtype=np.int32)
        longest = int(data.sizes.max())
        self._bound: BoundClosedForm | None = None  # where factors depend on the order
        self._constant_factors: SwapFactors | None
        if isinstance(metric, ClosedFormMetric):
            bound = metric.bind(data.y, data.offsets, data.query_ids)
            k, gain, scale = bound.k, bound.gain, bound.scale
            self._constant_factors = bound.constant_swap_factors()
            if self._constant_factors is None:
                self._bound = bound
        else:
            if metric is not None:
                tell_time_of_swaps(metric, data)
            k, gain, scale = longest, np.zeros(len(data.y)), np.ones(data.n_queries)
            # every swap counts |0 - (-1)| = 1
            self._constant_factors = SwapFactors(
                np.ones(k), np.zeros(k), np.full(k, -1.0)
            )
        self._depth = longest if below_cutoff else k
        self._allocate(gain, scale, data.sample_weight, k)

    def _allocate(
        self, gain: FloatArray, scale: FloatArray, sample_weight: FloatArray, k: int
    ) -> None:
        """Allocate the lists and their factors."""
        n_documents = len(self.grades)
        self._order = np.empty(n_documents, dtype=np.int64)
        if self._constant_factors is None:
            self._swap_factors = SwapFactors(*np.empty((3, n_documents)))
            first_factor = self.offsets[:-1]
        else:
            self._swap_factors = self._constant_factors
            first_factor = np.zeros(len(scale), dtype=np.int64)
        self.factors = LambdaFactors(
            gain, *self._swap_factors, first_factor, scale, sample_weight, k
        )

    def reordered(self, queries: IntArray) -> RankedQueries:
        """Return these queries (n_selected,), in their order."""
        other, factors = copy(self), self.factors
        other.offsets, documents = move_queries(self.offsets, queries)
        other.documents = self.documents[documents]
        other.grades = self.grades[documents]
        if self._bound is not None:
            other._bound = self._bound.subset(queries, documents, other.offsets)
        other._allocate(
            factors.gain[documents],
            factors.scale[queries],
            factors.sample_weight[queries],
            factors.k,
        )
        return other

    def lists(self, scores: FloatArray) -> tuple[Any, ...]:
        """Return the lists as they were last ranked: a RankedLists as a plain tuple."""
        # numba recognises it faster than a named one, in each call
        return scores, self.grades, self._order, self.offsets

    def rank(self, scores: FloatArray, bounds: IntArray) -> None:
        """Rank ranges of queries, and compute the swap factors of their lists."""
        n_documents = self.offsets[bounds[-1]] - self.offsets[bounds[0]]
        lists = scores, self.grades, self.offsets, self._depth, self._order, False
        self._team.share_ranges(
            RANKING_TIME * n_documents, bounds, rank_documents, *lists
        )
        if self._bound is not None:
            factors = self._swap_factors
            self._bound.fill_swap_factors(self._order, factors, bounds, self._team)

    def rank_one(self, scores: FloatArray, query: int) -> IntArray:
        """Rank a query, and return its documents in their order."""
        self.rank(scores, np.array([query, query + 1]))
        return self._order[self.offsets[query] : self.offsets[query + 1]]


def swap_table(metric: Metric, grades: FloatArray) -> FloatArray:
    """Return |swap deltas| of a list by a user's metric, float64; check (n, n)."""
    n = len(grades)
    table = np.abs(np.asarray(metric.swap_delta(grades), dtype=np.float64))
    if table.shape != (n, n) or not np.isfinite(table).all():
        raise ValueError(
            f"{type(metric).__name__}.swap_delta must return ({n}, {n}) finite numbers "
            f"for a list of {n}; got shape {table.shape}, "
            f"{np.count_nonzero(~np.isfinite(table))} of them not finite"
        )
    return np.ascontiguousarray(table)


def tell_time_of_swaps(metric: Metric, data: TrainingData) -> None:
    """Print how long swaps take by a metric's value alone, if this is long."""
    if type(metric).swap_delta is not Metric.swap_delta:
        return
    query = int(np.argmax(data.sizes))
    grades = np.sort(data.y[data.offsets[query] : data.offsets[query + 1]])[::-1]
    metric.value(grades.copy())  # whose first call may take longer
    start = perf_counter()
    metric.value(grades.copy())
    seconds_of_one = perf_counter() - start
    n = data.sizes
    k = n if metric.k is None else np.minimum(n, metric.k)
    n_swaps = int((k * (n - k) + k * (k - 1) // 2).sum())
    seconds = n_swaps * seconds_of_one
    if seconds > LONGEST_UNTOLD:
        # not a warning, since it depends on the speed of the machine
        logging.getLogger("sklearn_ltr").warning(
            f"metric={metric!r} has no swap_delta of its own, so each tree or epoch "
            f"computes its value for up to {n_swaps:,} swaps, about {seconds:.0f} s.  "
            "Faster: a cutoff k, a swap_delta, or a built-in metric to train for, such "
            "as metric='ndcg@10', with this one in scoring="
        )


def move_queries(offsets: IntArray, queries: IntArray) -> tuple[IntArray, IntArray]:
    """Return the offsets of queries in another order, and their documents in it."""
    sizes = np.diff(offsets)[queries]
    moved = np.concatenate(([0], np.cumsum(sizes)))
    moved_by = np.repeat(offsets[queries] - moved[:-1], sizes)
    return moved, np.arange(moved[-1]) + moved_by
