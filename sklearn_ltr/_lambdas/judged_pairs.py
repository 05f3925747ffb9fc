r"""Gradient and hessian of judged pairs, with or without the swap deltas of a metric.

A pair (i, j) says that document i beats document j with probability P (P-bar in Burges
2010, MSR-TR-2010-82, section 2, equation 3), and weighs as much as a swap of the two
changes the metric Z (its section 7):

    C  =  sum over pairs of  w v |Delta Z_ij| ((1 - P) x + log(1 + exp(-x))),
    x  =  sigma (s_i - s_j)

    lambda_ij     =  w v sigma |Delta Z_ij| (1 - P - 1 / (1 + exp(x)))
    dC/ds_i      +=  lambda_ij              dC/ds_j -= lambda_ij
    d2C/ds_i^2   +=  w v sigma^2 |Delta Z_ij| rho (1 - rho),   rho = 1 / (1 + exp(x))

with w the weight of the query, v that of the pair, and |Delta Z_ij| = 1 without a
metric.  The pairs say who should be above whom, the grades only how much that is worth:
a pair against the grades counts like one that agrees with them, and a pair of equal
grades counts nothing, since their swap changes no metric.  A pair of weight 2 counts
like two of weight 1, also where the lambdas of a query are normalised by their sum.

Documents of equal score and grade form a block of the ranked list, in which they may
stand in any order; the swap delta of a pair is its mean over all of these.  In the form
of :mod:`sklearn_ltr._lambdas.pairs`, with block A above block B,

    mean |Delta|  =  |gain_A - gain_B| (mean_A(m d_above) - mean_A(m) mean_B(d_below)),

m the multiplier, which is 0 from the cutoff on.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import LN_2, ThreadTeam, exp, log1p, range_kernel
from sklearn_ltr._data import TrainingData
from sklearn_ltr._lambdas.graded_pairs import check_table, move_queries
from sklearn_ltr._lambdas.pairs import MIN_SCORE_DISTANCE, PairOptions
from sklearn_ltr._typing import FloatArray, IntArray
from sklearn_ltr.metrics import Metric
from sklearn_ltr.metrics._closed_form import (
    BoundClosedForm,
    ClosedFormMetric,
    SwapFactors,
)
from sklearn_ltr.metrics._ranked_list import rank_documents

NANOSECONDS_PER_ROW, NANOSECONDS_PER_PAIR = 50.0, 20.0


class JudgedLambdas:
    """Computes gradient and hessian of judged pairs, for one data set and one metric.

    Parameters
    ----------
    data : TrainingData
        With `pairs`; its `sample_weight` multiplies the lambdas of a query.
    metric : Metric or None
        Metric whose swap deltas multiply the pairs; None: 1 each.
    options : PairOptions
    team : ThreadTeam

    Attributes
    ----------
    offsets, documents : ndarrays
        As in :class:`~sklearn_ltr._lambdas.graded_pairs.GradedLambdas`.
    """

    def __init__(
        self,
        data: TrainingData,
        metric: Metric | None,
        options: PairOptions,
        team: ThreadTeam,
    ) -> None:
        pairs = data.judged_pairs
        self.offsets = data.offsets
        self.documents: NDArray[np.integer] = np.arange(data.n_rows)
        self._metric, self._team = metric, team
        sigma, by_distance, by_query = options
        self._options = float(sigma), bool(by_distance), bool(by_query)
        self._grades, self._sample_weight = data.y, data.sample_weight
        self._pairs, self._pair_offsets = pairs.rows, pairs.offsets
        self._probabilities, self._weights = pairs.probabilities, pairs.weights
        self._bound: BoundClosedForm | None = None
        if isinstance(metric, ClosedFormMetric):
            self._bound = metric.bind(data.y, data.offsets, data.labels)
        self._allocate()

    def _allocate(self) -> None:
        """Allocate results and what is computed of each ranked list."""
        n_documents = len(self._grades)
        self._time_before = NANOSECONDS_PER_PAIR * self._pair_offsets
        self._time_before += NANOSECONDS_PER_ROW * self.offsets
        self._gradient, self._hessian = np.zeros((2, n_documents))
        self._deltas = self._weights  # times the swap deltas of a metric
        if self._metric is not None:
            self._deltas = np.empty(len(self._pairs))
            self._order = np.empty(n_documents, dtype=np.int64)
            self._block = np.empty(n_documents, dtype=np.int64)
            self._factors = SwapFactors(*np.empty((3, n_documents)))
            self._means = SwapFactors(*np.empty((3, n_documents)))

    def reordered(self, queries: IntArray) -> JudgedLambdas:
        """Return the objective of these queries (n_selected,), in their order."""
        other = copy(self)
        other.offsets, documents = move_queries(self.offsets, queries)
        other.documents = self.documents[documents]
        other._grades = self._grades[documents]
        other._sample_weight = self._sample_weight[queries]
        other._pair_offsets, numbers = move_queries(self._pair_offsets, queries)
        shift = other.offsets[:-1] - self.offsets[queries]
        shift = np.repeat(shift, np.diff(other._pair_offsets))
        other._pairs = self._pairs[numbers] + shift[:, np.newaxis]
        other._probabilities = self._probabilities[numbers]
        other._weights = self._weights[numbers]
        if self._bound is not None:
            other._bound = self._bound.subset(queries, documents, other.offsets)
        other._allocate()
        return other

    def derivatives(
        self, scores: FloatArray, first: int = 0, last: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1."""
        last = len(self.offsets) - 1 if last is None else last
        documents = slice(self.offsets[first], self.offsets[last])
        if self._metric is not None and self._bound is None:
            self._compute_by_table(scores, first, last, self._metric)
        else:
            shares = self._team.divide(self._time_before[first : last + 1])
            self._compute(scores, first + shares)
        return self._gradient[documents], self._hessian[documents]

    def _compute(self, scores: FloatArray, bounds: IntArray) -> None:
        """Compute the lambdas of ranges of queries, which threads share."""
        bound, team = self._bound, self._team
        time = self._time_before[bounds[-1]] - self._time_before[bounds[0]]
        if bound is not None:
            self._rank(scores, bounds)
            bound.fill_swap_factors(self._order, self._factors, bounds, team)
            ranked = scores, self._grades, self._order, self.offsets
            factors = bound.k, bound.scale, self._factors, self._block, self._means
            team.share_ranges(time, bounds, average_swap_factors, *ranked, *factors)
            team.share_ranges(
                time,
                self._pair_offsets[bounds],
                compute_swap_deltas,
                self._pairs,
                self._weights,
                bound.gain,
                self._block,
                self._means,
                self._deltas,
            )
        self._add_up(scores, bounds)

    def _compute_by_table(
        self, scores: FloatArray, first: int, last: int, metric: Metric
    ) -> None:
        """Compute lambdas from a user's `swap_delta`, query by query."""
        for query in range(first, last):
            bounds = np.array([query, query + 1])
            self._rank(scores, bounds)
            start, stop = self.offsets[query], self.offsets[query + 1]
            ranked = self._order[start:stop]
            grades = self._grades[ranked]
            keys = np.stack((scores[ranked], grades))
            starts = np.flatnonzero(np.append(True, (np.diff(keys) != 0).any(axis=0)))
            delta = check_table(metric.swap_delta(grades), len(ranked), metric)
            sizes = np.diff(np.append(starts, len(ranked)))
            mean = np.add.reduceat(np.add.reduceat(delta, starts), starts, axis=1)
            mean /= np.outer(sizes, sizes)
            self._block[ranked] = np.repeat(np.arange(len(starts)), sizes)
            own = slice(self._pair_offsets[query], self._pair_offsets[query + 1])
            i, j = self._block[self._pairs[own]].T
            self._deltas[own] = self._weights[own] * np.where(i == j, 0.0, mean[i, j])
            self._add_up(scores, bounds)

    def _rank(self, scores: FloatArray, bounds: IntArray) -> None:
        """Put the lists of ranges of queries in order, down to their last document."""
        sizes = np.diff(self.offsets[bounds[0] : bounds[-1] + 1])
        lists = scores, self._grades, self.offsets, int(sizes.max()), self._order, False
        self._team.share_ranges(
            NANOSECONDS_PER_ROW * sizes.sum(), bounds, rank_documents, *lists
        )

    def _add_up(self, scores: FloatArray, bounds: IntArray) -> None:
        """Add up the lambdas of the pairs of ranges of queries."""
        first, last = bounds[0], bounds[-1]
        self._team.share_ranges(
            float(self._time_before[last] - self._time_before[first]),
            bounds,
            add_judged_pairs,
            scores,
            self.offsets,
            self._pairs,
            self._pair_offsets,
            self._probabilities,
            self._deltas,
            self._sample_weight,
            self._options,
            self._gradient,
            self._hessian,
        )


@range_kernel
def average_swap_factors(
    first: int,
    last: int,
    scores: FloatArray,
    grades: FloatArray,
    order: IntArray,
    offsets: IntArray,
    k: int,
    scale: FloatArray,
    factors: SwapFactors,
    block: IntArray,
    means: SwapFactors,
) -> None:
    """Write the block of each document, and the mean factors of its block."""
    # `factors` are by position; `block`, OUT, is the position of its first document;
    # `means`, OUT, are those of m, m d_above and d_below, with the scale in m
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        p = 0
        while p < n:
            i = order[start + p]
            end = p
            m, above, below = 0.0, 0.0, 0.0
            while end < n:
                other = order[start + end]
                if scores[other] != scores[i] or grades[other] != grades[i]:
                    break
                if end < k:
                    m += factors.multiplier[start + end]
                    discount = factors.discount_above[start + end]
                    above += factors.multiplier[start + end] * discount
                below += factors.discount_below[start + end]
                end += 1
            size = end - p
            for q in range(p, end):
                document = order[start + q]
                block[document] = p
                means.multiplier[document] = m / size * scale[query]
                means.discount_above[document] = above / size * scale[query]
                means.discount_below[document] = below / size
            p = end


@range_kernel
def compute_swap_deltas(
    first: int,
    last: int,
    pairs: IntArray,
    weights: FloatArray,
    gain: FloatArray,
    block: IntArray,
    means: SwapFactors,
    deltas: FloatArray,
) -> None:
    """Write the weight times |Delta Z| of pairs first to last - 1."""
    for p in range(first, last):
        i, j = pairs[p, 0], pairs[p, 1]
        if block[i] > block[j]:
            i, j = j, i
        lost = means.multiplier[i] * means.discount_below[j]
        delta = abs((gain[i] - gain[j]) * (means.discount_above[i] - lost))
        deltas[p] = weights[p] * delta


@range_kernel
def add_judged_pairs(
    first: int,
    last: int,
    scores: FloatArray,
    offsets: IntArray,
    pairs: IntArray,
    pair_offsets: IntArray,
    probabilities: FloatArray,
    deltas: FloatArray,
    sample_weight: FloatArray,
    options: tuple[float, bool, bool],
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Write dC/ds and d2C/ds2 of the documents of queries first to last - 1."""
    sigma, by_distance, by_query = options
    for query in range(first, last):
        start, stop = offsets[query], offsets[query + 1]
        highest, lowest = scores[start], scores[start]
        for i in range(start, stop):
            highest, lowest = max(highest, scores[i]), min(lowest, scores[i])
            gradient[i], hessian[i] = 0.0, 0.0
        is_divided = by_distance and highest > lowest
        abs_lambda_sum = 0.0
        for p in range(pair_offsets[query], pair_offsets[query + 1]):
            i, j = pairs[p, 0], pairs[p, 1]
            x = sigma * (scores[i] - scores[j])
            small = exp(-abs(x))
            j_beats_i = (small if x > 0 else 1.0) / (1.0 + small)
            delta = deltas[p]
            if is_divided:
                delta /= MIN_SCORE_DISTANCE + abs(x)
            lambda_ij = delta * (1.0 - probabilities[p] - j_beats_i)
            curvature = delta * small / ((1.0 + small) * (1.0 + small))
            abs_lambda_sum += abs(lambda_ij)
            gradient[i] += lambda_ij
            gradient[j] -= lambda_ij
            hessian[i] += curvature
            hessian[j] += curvature
        factor = sample_weight[query] * sigma
        if by_query and abs_lambda_sum > 0:
            factor *= log1p(2.0 * abs_lambda_sum) / (2.0 * abs_lambda_sum * LN_2)
        for i in range(start, stop):
            gradient[i] *= factor
            hessian[i] *= factor * sigma
