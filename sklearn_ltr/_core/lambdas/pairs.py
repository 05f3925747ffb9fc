"""Gradient and hessian of every document of whole queries, from pairs of documents.

For each query: pack the input of the pair loop into one array by position; add the
pairs; average over equal documents, and write the result in canonical order.

**Pairs.**  For a pair of documents i, j with i of the higher grade, rho_ij as in
:mod:`sklearn_ltr._core.lambdas.pair` and the swap delta Delta_ij,

    dC/ds_i      -= sigma |Delta_ij| rho_ij              dC/ds_j += the same
    d2C/ds_i^2   += sigma^2 |Delta_ij| rho_ij (1 - rho_ij)        and d2C/ds_j^2 alike

are the derivatives of the cost at a fixed order.  The factors sigma and sigma^2 are
left out of the pair loop; they are applied once per document.

No exponential per pair is needed: with exp_score_i = exp(sigma (s_i - s_top)),
rho_ij = exp_score_j / (exp_score_i + exp_score_j), exactly.

With position p above position q, the swap delta in the form

    Delta_pq = (gain_p - gain_q) * (discount_above_p - discount_below_q) * multiplier_p

(:mod:`sklearn_ltr.metrics`; discount_above_p >= discount_below_q) is positive if p is
the better document and negative if q is.  With rho the probability that the worse
document beats the better one, the loops compute

    lambda_pq = Delta_pq * rho = -(dC/ds_p) / sigma = (dC/ds_q) / sigma

of the pair, which decreases dC/ds_p and increases dC/ds_q if p is the better document.

**Weights of pairs.**  If grades are not equally certain, the cost of a pair is
multiplied by the weights of its documents,

    C  =  sum_ij w_i w_j L_ij,        L_ij = |Delta_ij| log(1 + exp(-sigma (s_i - s_j)))

and |Delta_ij|, with the ideal value of the metric, is as without weights.  For clicks,
a pair is divided by propensities of its documents: with document i the better one
(clicked) and j the worse, its cost is

    w_i w_j L_ij / (t+_i t-_j)

With t+ the propensity of the clicked document and t- = 1 its expectation is the cost of
the pair if users had examined every document (Joachims et al., WSDM 2017).  In Hu et
al., WWW 2019, t+ and t- depend on the position and are estimated along with the model,
from the sums over pairs

    better_cost_i = sum_j w_j L_ij / t-_j,    worse_cost_j = sum_i w_i L_ij / t+_i.

The weights of one data set are an array of shape (2, n_documents) with the rows
better_weight = w / t+ and worse_weight = w / t-; or (4, n_documents), to which these
two sums are written, times the factors of the query that its lambdas have.  None: no
weights, and numba compiles no code for them.

**Layout.**  All that the pair loops read and write is in one array `documents` of shape
(N_ROWS, width): its rows are listed below, its columns are positions.  After the last
position it is padded to a whole number of DOCUMENT_BLOCKs with documents of gain 0,
exp_score 0 and a score gap above all others, whose pairs all contribute 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import (
    REGISTER_LANES,
    allocate_aligned,
    exp,
    float64_lanes,
    next_of_range,
    prefer_long_vectors,
    shared_kernel,
    subkernel,
    sum_of_lanes,
    uint64,
)
from sklearn_ltr._core.lambdas.pair import (
    MIN_SCORE_DISTANCE,
    PairOptions,
    pair_cost,
    pair_rho,
    query_factor,
)
from sklearn_ltr._core.typing import FloatArray, IntArray
from sklearn_ltr.metrics._closed_form import RankedLists

# The rows of `documents`.  SCORE_GAP is sigma (s_top - s) if pairs are divided
# by distances, else 0; MULTIPLIER includes the scale of the query.
(
    SCORE,
    GRADE,
    SCORE_GAP,
    EXP_SCORE,
    GAIN,
    MULTIPLIER,
    DISCOUNT_ABOVE,
    DISCOUNT_BELOW,
    GRADIENT,
    HESSIAN,
) = range(10)
N_ROWS = 10
# Further rows where pairs are weighted
BETTER_WEIGHT, WORSE_WEIGHT, BETTER_COST, WORSE_COST = range(N_ROWS, N_ROWS + 4)
N_WEIGHTED_ROWS = N_ROWS + 4
DOCUMENT_BLOCK = 16  # loops over whole blocks need no scalar remainder loop

WEIGHTS, COSTS = slice(0, 2), slice(2, 4)  # rows of the weights

MIN_EXP_SCORE = 1e-260  # with smaller ones, products of two could underflow
# SCORE_GAP of the padding.  It exceeds all gaps with an exponential of at least
# MIN_EXP_SCORE, so that distances to the padding are positive.
PADDING_GAP = 600.0


class LambdaFactors(NamedTuple):
    """What swap deltas and lambdas are products of, see :mod:`sklearn_ltr.metrics`."""

    gain: FloatArray  # (n_documents,) in canonical order
    multiplier: FloatArray  # these three are a SwapFactors: of all lists,
    discount_above: FloatArray  # (n_documents,), or the same for every list,
    discount_below: FloatArray  # (longest list,)
    # (n_queries,) index of a query's position 0 in these three
    first_factor: IntArray
    scale: FloatArray  # (n_queries,) factor of a query's swap deltas
    sample_weight: FloatArray  # (n_queries,) factor of a query's lambdas
    k: int  # cutoff: pairs with both documents below it have no swap delta


class PairInput(NamedTuple):
    """What the lambdas of pairs are computed from."""

    lists: RankedLists
    factors: LambdaFactors
    options: PairOptions


class PackedList(NamedTuple):
    """The list of a query, packed."""

    documents: FloatArray  # (N_ROWS or more, width), see above
    n: int  # number of documents
    k: int  # cutoff, as in LambdaFactors
    # the swap delta of a pair is divided by this plus the difference of the score gaps
    min_distance: float


class Derivatives(NamedTuple):
    """The result, OUT."""

    gradient: FloatArray  # (n_documents,) dC/ds
    hessian: FloatArray  # (n_documents,) d2C/ds2


@subkernel
def read_input(pair_input: tuple[Any, ...]) -> PairInput:
    """Return a PairInput that was passed as plain tuples."""
    lists, factors, options = pair_input
    return PairInput(
        RankedLists(*lists), LambdaFactors(*factors), PairOptions(*options)
    )


@shared_kernel
def compute_query_lambdas(
    thread: int,
    n_threads: int,
    bounds: IntArray,
    counters: IntArray,
    remains: NDArray[np.bool_],
    pair_input: tuple[Any, ...],
    table: FloatArray | None,
    weights: FloatArray | None,
    workspaces: tuple[Any, ...],
    result: tuple[Any, ...],
) -> None:
    """Write gradient and hessian of the documents of the queries that remain."""
    # Threads do one range of queries after another.
    #
    # `table` is None where swap deltas follow from gains and factors; (n, n), swap
    # deltas by position, of a single query; or (0, 0), where all swap deltas are 1.  It
    # and `weights` are arguments of their own: only of these numba sees that they are
    # None, and leaves out what is done otherwise.
    #
    # Networks call this for few queries, so two details save time for short lists.  The
    # tuples (PairInput and those in it, Derivatives) are passed as plain ones and named
    # inside, because numba takes half a microsecond to recognise each named tuple.  And
    # packing is not a separate function, because the call would pass all arrays again.
    prefer_long_vectors()
    lists, factors, options = read_input(pair_input)
    result = Derivatives(*result)
    documents, position = workspaces[0][thread], workspaces[1][thread]
    k, sigma = factors.k, options.sigma
    gap_scale = sigma if options.by_distance else 0.0
    n_ranges = len(bounds) - 1
    number = next_of_range(thread, n_threads, n_ranges, counters)
    while number < n_ranges:
        for query in range(bounds[number], bounds[number + 1]):
            if not remains[query]:
                continue
            n = lists.offsets[query + 1] - lists.offsets[query]
            start, length = uint64(lists.offsets[query]), uint64(n)

            # 1. Pack the list, by position.
            for p in range(length):
                position[lists.order[start + p] - lists.offsets[query]] = p
            for i in range(length):  # reads are sequential, writes are by position
                p = uint64(position[i])
                documents[SCORE, p] = lists.scores[start + i]
                documents[GRADE, p] = lists.grades[start + i]
                documents[GAIN, p] = factors.gain[start + i]
            scale, first_factor = factors.scale[query], factors.first_factor[query]
            for p in range(uint64(min(k, n))):
                index = uint64(first_factor) + p
                documents[MULTIPLIER, p] = factors.multiplier[index] * scale
                documents[DISCOUNT_ABOVE, p] = factors.discount_above[index]
            top, n_lower, n_underflows = documents[SCORE, 0], 0, 0
            for p in range(length):
                below_top = top - documents[SCORE, p]
                exp_score = exp(-sigma * below_top)
                n_lower += below_top > 0
                n_underflows += exp_score < MIN_EXP_SCORE
                documents[EXP_SCORE, p] = exp_score
                documents[SCORE_GAP, p] = gap_scale * below_top
                index = uint64(first_factor) + p
                documents[DISCOUNT_BELOW, p] = factors.discount_below[index]
                documents[GRADIENT, p], documents[HESSIAN, p] = 0.0, 0.0
            for row in range(N_ROWS):
                for p in range(length, length + uint64(DOCUMENT_BLOCK)):
                    documents[row, p] = PADDING_GAP if row == SCORE_GAP else 0.0
            if weights is not None:
                pack_weights(weights, start, length, position, documents)

            # 2. Add the pairs.
            min_distance = 1.0
            if options.by_distance and n_lower > 0:
                min_distance = MIN_SCORE_DISTANCE
            packed = PackedList(documents, n, k, min_distance)
            abs_lambda_sum = 0.0
            if n_underflows > 0:
                abs_lambda_sum = add_pairs_by_exponentials(
                    packed, options, table, weights
                )
            else:
                for first_lane in range(0, n, REGISTER_LANES):
                    abs_lambda_sum += add_pairs_of_lanes(
                        first_lane, packed, table, weights
                    )

            # 3. Average over equal documents, and write the result in canonical order.
            keys = documents[SCORE], documents[GRADE]
            derivatives = documents[GRADIENT], documents[HESSIAN]
            if weights is None:
                average_over_equals(n, k, keys, derivatives)
            else:
                if len(weights) == 4:
                    add_pair_costs(packed, options, table)
                weight_keys = documents[BETTER_WEIGHT], documents[WORSE_WEIGHT]
                average_over_equals_of_weights(n, k, keys + weight_keys, derivatives)
            factor = factors.sample_weight[query] * sigma
            if options.by_query and abs_lambda_sum > 0:
                factor *= query_factor(abs_lambda_sum)
            for i in range(length):
                p = uint64(position[i])
                result.gradient[start + i] = documents[GRADIENT, p] * factor
                result.hessian[start + i] = documents[HESSIAN, p] * factor * sigma
            if weights is not None and len(weights) == 4:
                write_pair_costs(
                    weights, start, length, position, documents, factor / sigma
                )
        number = next_of_range(thread, n_threads, n_ranges, counters)


@subkernel
def add_pairs_of_lanes(
    first: int, packed: PackedList, table: FloatArray | None, weights: FloatArray | None
) -> float:
    """Add the pairs of REGISTER_LANES documents with all documents above them."""
    # The documents, one per lane, are those at positions `first` to ``first +
    # REGISTER_LANES - 1``.  The loop takes one division per pair and has no branches:
    # `pair_rho` is exp_worse / (exp_better + exp_worse), and 1 minus it exp_better over
    # the same.  Pairs are weighted unless `weights` is None.  Returns the sum of
    # |lambda_pq|.
    # The sums of the lanes are on the stack: LLVM vectorizes a loop that writes nowhere
    # else without checks for aliasing.  Counters are unsigned because numba checks
    # whether a signed index is negative, which cannot be vectorized.
    prefer_long_vectors()
    documents, n, k, min_distance = packed
    gradient, hessian = float64_lanes(), float64_lanes()
    lambdas, hessians = float64_lanes(), float64_lanes()  # of the pairs of one document
    abs_lambdas = float64_lanes()
    stop = min(first + REGISTER_LANES, n)
    size = uint64(
        (stop - first + DOCUMENT_BLOCK - 1) // DOCUMENT_BLOCK * DOCUMENT_BLOCK
    )
    start = uint64(first)
    for lane in range(size):
        gradient[lane], hessian[lane], abs_lambdas[lane] = 0.0, 0.0, 0.0
    for p in range(min(k, stop)):
        first_below = uint64(max(p + 1 - first, 0))  # lane of the first position > p
        block = first_below // uint64(DOCUMENT_BLOCK) * uint64(DOCUMENT_BLOCK)
        if table is not None:
            compare_grades(p, start + block, start + size, documents, table)
        base_distance = min_distance - documents[SCORE_GAP, p]
        exp_score = documents[EXP_SCORE, p]
        gain, multiplier = documents[GAIN, p], documents[MULTIPLIER, p]
        discount_above = documents[DISCOUNT_ABOVE, p]
        for lane in range(block, size):
            q = start + lane
            p_is_better = gain > documents[GAIN, q]
            exp_better = exp_score if p_is_better else documents[EXP_SCORE, q]
            exp_worse = documents[EXP_SCORE, q] if p_is_better else exp_score
            distance = base_distance + documents[SCORE_GAP, q]
            inverse = 1.0 / ((exp_score + documents[EXP_SCORE, q]) * distance)
            delta = (gain - documents[GAIN, q]) * (
                discount_above - documents[DISCOUNT_BELOW, q]
            )
            lambda_pq = (
                delta * multiplier * exp_worse * inverse if lane >= first_below else 0.0
            )
            abs_lambda = abs(lambda_pq)
            # other lanes may have the distance 0, and 0 times infinity is NaN
            hessian_pq = (
                abs_lambda * (exp_better * distance * inverse)
                if lane >= first_below
                else 0.0
            )
            if weights is not None:
                weight = (
                    documents[BETTER_WEIGHT, uint64(p)] * documents[WORSE_WEIGHT, q]
                    if p_is_better
                    else documents[BETTER_WEIGHT, q]
                    * documents[WORSE_WEIGHT, uint64(p)]
                )
                lambda_pq, hessian_pq = lambda_pq * weight, hessian_pq * weight
                abs_lambda *= weight
            lambdas[lane], hessians[lane] = lambda_pq, hessian_pq
            gradient[lane] += lambda_pq
            hessian[lane] += hessian_pq
            abs_lambdas[lane] += abs_lambda
        documents[GRADIENT, p] -= sum_of_lanes(lambdas, block, size)
        documents[HESSIAN, p] += sum_of_lanes(hessians, block, size)
    for lane in range(size):
        documents[GRADIENT, start + lane] += gradient[lane]
        documents[HESSIAN, start + lane] += hessian[lane]
    return sum_of_lanes(abs_lambdas, uint64(0), size)


@subkernel
def add_pairs_by_exponentials(
    packed: PackedList,
    options: PairOptions,
    table: FloatArray | None,
    weights: FloatArray | None,
) -> float:
    """Add all pairs of a list, each with an exponential of its own."""
    # This is slower, but exact for scores so far apart that EXP_SCORE underflows.
    documents, n, k, min_distance = packed
    gap_scale = options.sigma if options.by_distance else 0.0
    abs_lambda_sum = 0.0
    for p in range(min(k, n)):
        if table is not None:
            compare_grades(p, uint64(p), uint64(n), documents, table)
        gain, multiplier = documents[GAIN, p], documents[MULTIPLIER, p]
        for q in range(p + 1, n):
            delta = (gain - documents[GAIN, q]) * multiplier
            delta *= documents[DISCOUNT_ABOVE, p] - documents[DISCOUNT_BELOW, q]
            if delta == 0.0:
                continue
            gap = documents[SCORE, p] - documents[SCORE, q]
            better, worse = (p, q) if delta > 0 else (q, p)
            x = options.sigma * (gap if delta > 0 else -gap)
            lambda_pq = delta * pair_rho(x) / (min_distance + gap_scale * gap)
            hessian_factor = pair_rho(-x)  # 1 - rho
            if weights is not None:
                lambda_pq *= documents[BETTER_WEIGHT, better]
                lambda_pq *= documents[WORSE_WEIGHT, worse]
            abs_lambda_sum += abs(lambda_pq)
            documents[GRADIENT, p] -= lambda_pq
            documents[GRADIENT, q] += lambda_pq
            documents[HESSIAN, p] += abs(lambda_pq) * hessian_factor
            documents[HESSIAN, q] += abs(lambda_pq) * hessian_factor
    return abs_lambda_sum


@subkernel
def compare_grades(
    p: int, first: int, stop: int, documents: FloatArray, table: FloatArray
) -> None:
    """Set the gains relative to p: 0 for p, and for q -1, 0 or 1 by grade."""
    # Used where documents have no gain of their own: for RankNet, whose swaps all count
    # 1 (`table` is empty), and for metrics whose swap deltas come as a `table` (n, n),
    # for which DISCOUNT_ABOVE is 0 and DISCOUNT_BELOW becomes the negative delta.  Sets
    # positions `first` to ``stop - 1``.
    grade = documents[GRADE, p]
    for q in range(first, stop):
        worse = -1.0 if documents[GRADE, q] < grade else 0.0
        documents[GAIN, q] = 1.0 if documents[GRADE, q] > grade else worse
    documents[GAIN, p] = 0.0
    for q in range(first, min(stop, uint64(len(table)))):
        documents[DISCOUNT_BELOW, q] = -table[p, q]


@subkernel
def average_over_equals(
    n: int,
    k: int,
    keys: tuple[FloatArray, FloatArray],
    derivatives: tuple[FloatArray, FloatArray],
) -> None:
    """Average gradient and hessian over documents of equal score and grade."""
    # Their order in the list is only the order of the rows; the mean is the expected
    # value over all orders.  Below position k the list is not sorted, but derivatives
    # of equal documents differ there only in the run that extends across position k.
    (scores, grades), (gradient, hessian) = keys, derivatives
    start = 0
    while start < min(k, n):
        s, g = scores[start], grades[start]
        stop = start + 1
        while stop < min(k, n) and scores[stop] == s and grades[stop] == g:
            stop += 1
        end = n if stop == k else stop
        n_equal = 0
        for i in range(uint64(start), uint64(end)):
            n_equal += (scores[i] == s) & (grades[i] == g)
        if n_equal > 1:
            gradient_sum, hessian_sum = 0.0, 0.0
            for i in range(start, end):
                if scores[i] == s and grades[i] == g:
                    gradient_sum += gradient[i]
                    hessian_sum += hessian[i]
            for i in range(start, end):
                if scores[i] == s and grades[i] == g:
                    gradient[i] = gradient_sum / n_equal
                    hessian[i] = hessian_sum / n_equal
        start = stop


@subkernel
def pack_weights(
    weights: FloatArray,
    start: int,
    length: int,
    position: IntArray,
    documents: FloatArray,
) -> None:
    """Pack the weights of a list by position; its first document is `start`."""
    for i in range(length):
        p = uint64(position[i])
        documents[BETTER_WEIGHT, p] = weights[0, start + i]
        documents[WORSE_WEIGHT, p] = weights[1, start + i]
        documents[BETTER_COST, p] = documents[WORSE_COST, p] = 0.0
    for p in range(length, length + uint64(DOCUMENT_BLOCK)):
        documents[BETTER_WEIGHT, p] = documents[WORSE_WEIGHT, p] = 0.0


@subkernel
def add_pair_costs(
    packed: PackedList, options: PairOptions, table: FloatArray | None
) -> None:
    """Add up the costs of the pairs of each document, with |Delta| as of its lambda."""
    documents, n, k, min_distance = packed
    gap_scale = options.sigma if options.by_distance else 0.0
    for p in range(min(k, n)):
        if table is not None:
            compare_grades(p, uint64(p), uint64(n), documents, table)
        for q in range(p + 1, n):
            delta = documents[GAIN, p] - documents[GAIN, q]
            delta *= documents[DISCOUNT_ABOVE, p] - documents[DISCOUNT_BELOW, q]
            delta *= documents[MULTIPLIER, p]
            if delta == 0.0:
                continue
            better, worse = (p, q) if delta > 0 else (q, p)
            gap = documents[SCORE, p] - documents[SCORE, q]
            x = options.sigma * (gap if delta > 0 else -gap)
            cost = abs(delta) / (min_distance + gap_scale * gap)
            cost *= pair_cost(x, 1.0)
            documents[BETTER_COST, better] += cost * documents[WORSE_WEIGHT, worse]
            documents[WORSE_COST, worse] += cost * documents[BETTER_WEIGHT, better]


@subkernel
def write_pair_costs(
    weights: FloatArray,
    start: int,
    length: int,
    position: IntArray,
    documents: FloatArray,
    factor: float,
) -> None:
    """Write the costs of the documents of a list, times a factor."""
    for i in range(length):
        p = uint64(position[i])
        weights[2, start + i] = documents[BETTER_COST, p] * factor
        weights[3, start + i] = documents[WORSE_COST, p] * factor


@subkernel
def average_over_equals_of_weights(
    n: int,
    k: int,
    keys: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    derivatives: tuple[FloatArray, FloatArray],
) -> None:
    """Average derivatives over documents of equal score, grade and two weights."""
    # Among documents of different weights, the order in which they were given decides.
    gradient, hessian = derivatives
    for first in range(min(k, n)):
        is_first, n_equal, gradient_sum, hessian_sum = True, 0, 0.0, 0.0
        for i in range(n):
            if is_equal(first, i, keys):
                is_first &= i >= first
                n_equal += 1
                gradient_sum += gradient[i]
                hessian_sum += hessian[i]
        if not is_first or n_equal == 1:
            continue
        for i in range(first, n):
            if is_equal(first, i, keys):
                gradient[i] = gradient_sum / n_equal
                hessian[i] = hessian_sum / n_equal


@subkernel
def is_equal(
    i: int, j: int, keys: tuple[FloatArray, FloatArray, FloatArray, FloatArray]
) -> bool:
    """Return whether two documents have equal score, grade and weights."""
    score, grade, better_weight, worse_weight = keys
    equal = (score[i] == score[j]) & (grade[i] == grade[j])
    equal &= better_weight[i] == better_weight[j]
    equal &= worse_weight[i] == worse_weight[j]
    return bool(equal)


def allocate_workspaces(
    n_threads: int, longest: int, n_rows: int
) -> tuple[FloatArray, IntArray]:
    """Allocate buffers of threads, the first axis, for lists of up to this length."""
    # `documents`, (n_threads, n_rows, width), and the position of each document of the
    # query, (n_threads, width)
    width = -(-longest // DOCUMENT_BLOCK) * DOCUMENT_BLOCK + DOCUMENT_BLOCK
    # Rows start at multiples of a cache line, since width is a multiple of a block.
    return (
        allocate_aligned((n_threads, n_rows, width), np.float64),
        allocate_aligned((n_threads, width), np.int64),
    )
