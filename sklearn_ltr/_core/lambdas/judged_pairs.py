r"""Gradient and hessian of judged pairs, with or without the swap deltas of a metric.

A judged pair (i, j) says that document i beats document j with probability P.  Its cost
C_ij is that of :mod:`sklearn_ltr._core.lambdas.pair`, and it weighs as much as a swap
of the two documents changes the metric Z (Burges 2010, MSR-TR-2010-82, section 7):

    C            =  sum over pairs of  w v |Delta Z_ij| C_ij
    dC/ds_i     +=  w v |Delta Z_ij| sigma (1 - P - rho),    dC/ds_j -= the same
    d2C/ds_i^2  +=  w v |Delta Z_ij| sigma^2 rho (1 - rho)   and d2C/ds_j^2 alike

with w the weight of the query, v that of the pair, and |Delta Z_ij| = 1 without a
metric.  The pairs say who should be above whom, the grades only how much that is worth:
a pair against the grades counts like one that agrees with them, and a pair of equal
grades counts nothing, since their swap changes no metric.  A pair of weight 2 counts
like two of weight 1, also where the lambdas of a query are normalised by their sum.

Documents of equal score and grade form a block of the ranked list, in which they may
stand in any order; the swap delta of a pair is its mean over all of these.  In the form
of :mod:`sklearn_ltr._core.lambdas.pairs`, with block A above block B,

    mean |Delta|  =  |gain_A - gain_B| (mean_A(m d_above) - mean_A(m) mean_B(d_below)),

m the multiplier, which is 0 from the cutoff on.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from sklearn_ltr._core.compile import ThreadTeam, range_kernel
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.lambdas.base import Lambdas
from sklearn_ltr._core.lambdas.pair import (
    MIN_SCORE_DISTANCE,
    PairOptions,
    pair_curvature,
    pair_rho,
    query_factor,
)
from sklearn_ltr._core.lambdas.pairs import Derivatives, LambdaFactors
from sklearn_ltr._core.lambdas.ranked_queries import (
    RankedQueries,
    move_queries,
    swap_table,
)
from sklearn_ltr._core.typing import FloatArray, IntArray
from sklearn_ltr.metrics import Metric
from sklearn_ltr.metrics._closed_form import RankedLists

NANOSECONDS_PER_ROW, NANOSECONDS_PER_PAIR = 50.0, 20.0


class PairArrays(NamedTuple):
    """Judged pairs, sorted by query."""

    rows: IntArray  # (n_pairs, 2) documents; the first beats the second
    offsets: IntArray  # (n_queries + 1,) query q owns offsets[q] to offsets[q + 1] - 1
    probabilities: FloatArray  # (n_pairs,) that it does
    weights: FloatArray  # (n_pairs,)
    deltas: FloatArray  # (n_pairs,) these weights, times the swap deltas of a metric


class BlockFactors(NamedTuple):
    """What each document, (n_documents,), shares with those equal to it, its block."""

    position: IntArray  # of the first document of the block
    multiplier: FloatArray  # the means of m, m d_above and d_below, with the scale of
    discount_above: FloatArray  # the query in m
    discount_below: FloatArray


class JudgedLambdas(Lambdas):
    """Computes gradient and hessian of judged pairs, for one data set and one metric.

    Parameters
    ----------
    data : TrainingData
        With judged pairs; its `sample_weight` multiplies the lambdas of a query.
    metric : Metric or None
        Metric whose swap deltas multiply the pairs; None: 1 each.
    options : PairOptions
    team : ThreadTeam
    """

    def __init__(
        self,
        data: TrainingData,
        metric: Metric | None,
        options: PairOptions,
        team: ThreadTeam,
    ) -> None:
        self._metric, self._team = metric, team
        self._options = tuple(options)
        self._queries = RankedQueries(data, metric, team, below_cutoff=True)
        pairs = data.judged_pairs
        self._allocate(pairs.rows, pairs.offsets, pairs.probabilities, pairs.weights)

    def _allocate(
        self,
        rows: IntArray,
        offsets: IntArray,
        probabilities: FloatArray,
        weights: FloatArray,
    ) -> None:
        """Allocate results and what is computed of each ranked list."""
        self.offsets, self.documents = self._queries.offsets, self._queries.documents
        deltas = weights if self._metric is None else np.empty_like(weights)
        self._pairs = PairArrays(rows, offsets, probabilities, weights, deltas)
        self._time_before = NANOSECONDS_PER_PAIR * offsets
        self._time_before += NANOSECONDS_PER_ROW * self.offsets
        n_documents = len(self.documents)
        position = np.empty(n_documents, dtype=np.int64)
        self._blocks = BlockFactors(position, *np.empty((3, n_documents)))
        self._result = tuple(Derivatives(*np.zeros((2, n_documents))))

    def reordered(self, queries: IntArray) -> JudgedLambdas:
        """Return the lambdas of these queries (n_selected,), in their order."""
        other, pairs = copy(self), self._pairs
        other._queries = self._queries.reordered(queries)
        offsets, numbers = move_queries(pairs.offsets, queries)
        moved_by = other._queries.offsets[:-1] - self.offsets[queries]
        moved_by = np.repeat(moved_by, np.diff(offsets))
        other._allocate(
            pairs.rows[numbers] + moved_by[:, np.newaxis],
            offsets,
            pairs.probabilities[numbers],
            pairs.weights[numbers],
        )
        return other

    def compute(
        self, scores: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1."""
        documents = slice(self.offsets[first], self.offsets[last])
        shares = first + self._team.divide(self._time_before[first : last + 1])
        if self._metric is not None:
            if self._metric.closed_form:
                self._compute_swap_deltas(scores, shares)
            else:
                self._compute_by_table(scores, first, last, self._metric)
        lists, pairs = self._queries.lists(scores), tuple(self._pairs)
        weights = self._queries.factors.sample_weight
        given = lists, pairs, weights, self._options, self._result
        self._team.share_ranges(self._time(shares), shares, add_judged_pairs, *given)
        gradient, hessian = self._result
        return gradient[documents], hessian[documents]

    def _time(self, bounds: IntArray) -> float:
        """Return about how many nanoseconds ranges of queries take one thread."""
        return float(self._time_before[bounds[-1]] - self._time_before[bounds[0]])

    def _compute_swap_deltas(self, scores: FloatArray, bounds: IntArray) -> None:
        """Compute the swap deltas of ranges of queries from gains and swap factors."""
        queries, time, blocks = self._queries, self._time(bounds), tuple(self._blocks)
        queries.rank(scores, bounds)
        lists, factors = queries.lists(scores), tuple(queries.factors)
        self._team.share_ranges(
            time, bounds, average_swap_factors, lists, factors, blocks
        )
        pairs, bounds = tuple(self._pairs), self._pairs.offsets[bounds]
        given = pairs, queries.factors.gain, blocks
        self._team.share_ranges(time, bounds, compute_swap_deltas, *given)

    def _compute_by_table(
        self, scores: FloatArray, first: int, last: int, metric: Metric
    ) -> None:
        """Compute the swap deltas of queries by a user's `swap_delta`."""
        block, pairs = self._blocks.position, self._pairs
        for query in range(first, last):
            ranked = self._queries.rank_one(scores, query)
            grades = self._queries.grades[ranked]
            keys = np.stack((scores[ranked], grades))
            starts = np.flatnonzero(np.append(True, (np.diff(keys) != 0).any(axis=0)))
            delta = swap_table(metric, grades)
            sizes = np.diff(np.append(starts, len(ranked)))
            mean = np.add.reduceat(np.add.reduceat(delta, starts), starts, axis=1)
            mean /= np.outer(sizes, sizes)
            block[ranked] = np.repeat(np.arange(len(starts)), sizes)
            of_query = slice(pairs.offsets[query], pairs.offsets[query + 1])
            i, j = block[pairs.rows[of_query]].T
            means = np.where(i == j, 0.0, mean[i, j])
            pairs.deltas[of_query] = pairs.weights[of_query] * means


# --- the kernels, to which named tuples are passed as plain ones ----------------------


@range_kernel
def average_swap_factors(
    first: int,
    last: int,
    lists: tuple[Any, ...],
    factors: tuple[Any, ...],
    blocks: tuple[Any, ...],
) -> None:
    """Write the block of each document of queries, OUT, and the mean factors of it."""
    lists, factors = RankedLists(*lists), LambdaFactors(*factors)
    blocks = BlockFactors(*blocks)
    scores, grades = lists.scores, lists.grades
    for query in range(first, last):
        start, first_factor = lists.offsets[query], factors.first_factor[query]
        n, scale = lists.offsets[query + 1] - start, factors.scale[query]
        p = 0
        while p < n:
            i = lists.order[start + p]
            end = p
            m, above, below = 0.0, 0.0, 0.0
            while end < n:
                other = lists.order[start + end]
                if scores[other] != scores[i] or grades[other] != grades[i]:
                    break
                if end < factors.k:
                    multiplier = factors.multiplier[first_factor + end]
                    m += multiplier
                    above += multiplier * factors.discount_above[first_factor + end]
                below += factors.discount_below[first_factor + end]
                end += 1
            size = end - p
            for q in range(p, end):
                document = lists.order[start + q]
                blocks.position[document] = p
                blocks.multiplier[document] = m / size * scale
                blocks.discount_above[document] = above / size * scale
                blocks.discount_below[document] = below / size
            p = end


@range_kernel
def compute_swap_deltas(
    first: int,
    last: int,
    pairs: tuple[Any, ...],
    gain: FloatArray,
    blocks: tuple[Any, ...],
) -> None:
    """Write the weight times |Delta Z| of pairs first to last - 1, OUT."""
    pairs, blocks = PairArrays(*pairs), BlockFactors(*blocks)
    for p in range(first, last):
        i, j = pairs.rows[p, 0], pairs.rows[p, 1]
        if blocks.position[i] > blocks.position[j]:
            i, j = j, i
        lost = blocks.multiplier[i] * blocks.discount_below[j]
        delta = abs((gain[i] - gain[j]) * (blocks.discount_above[i] - lost))
        pairs.deltas[p] = pairs.weights[p] * delta


@range_kernel
def add_judged_pairs(
    first: int,
    last: int,
    lists: tuple[Any, ...],
    pairs: tuple[Any, ...],
    sample_weight: FloatArray,
    options: tuple[Any, ...],
    result: tuple[Any, ...],
) -> None:
    """Write dC/ds and d2C/ds2 of the documents of queries first to last - 1."""
    lists, pairs = RankedLists(*lists), PairArrays(*pairs)
    options, result = PairOptions(*options), Derivatives(*result)
    scores, sigma = lists.scores, options.sigma
    gradient, hessian = result.gradient, result.hessian
    for query in range(first, last):
        start, stop = lists.offsets[query], lists.offsets[query + 1]
        highest, lowest = scores[start], scores[start]
        for i in range(start, stop):
            highest, lowest = max(highest, scores[i]), min(lowest, scores[i])
            gradient[i], hessian[i] = 0.0, 0.0
        is_divided = options.by_distance and highest > lowest
        abs_lambda_sum = 0.0
        for p in range(pairs.offsets[query], pairs.offsets[query + 1]):
            i, j = pairs.rows[p, 0], pairs.rows[p, 1]
            x = sigma * (scores[i] - scores[j])
            delta = pairs.deltas[p]
            if is_divided:
                delta /= MIN_SCORE_DISTANCE + abs(x)
            lambda_ij = delta * (1.0 - pairs.probabilities[p] - pair_rho(x))
            curvature = pair_curvature(x, delta)
            abs_lambda_sum += abs(lambda_ij)
            gradient[i] += lambda_ij
            gradient[j] -= lambda_ij
            hessian[i] += curvature
            hessian[j] += curvature
        factor = sample_weight[query] * sigma
        if options.by_query and abs_lambda_sum > 0:
            factor *= query_factor(abs_lambda_sum)
        for i in range(start, stop):
            gradient[i] *= factor
            hessian[i] *= factor * sigma
