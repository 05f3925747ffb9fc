"""Gradient and hessian of short lists, several of them side by side.

What :mod:`sklearn_ltr._core.lambdas.pairs` computes for one list at a time, with
documents in the lanes of vectors, is computed here for N_LISTS lists at a time, one in
each lane (:mod:`sklearn_ltr.metrics._short_lists`).  Each list goes through the same
operations in the same order as there, so the results are the same bits, whatever is
beside it.

Lists for which this does not pay remain for `pairs`: long ones, those whose
exponentials underflow, and up to FEWEST - 1 of each WINDOW of queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import (
    SUM_LANES,
    exp,
    int64,
    prefer_long_vectors,
    prefetch_row,
    range_kernel,
    stack_array,
    subkernel,
    uint64,
)
from sklearn_ltr._core.lambdas.pair import MIN_SCORE_DISTANCE, query_factor
from sklearn_ltr._core.lambdas.pairs import (
    MIN_EXP_SCORE,
    Derivatives,
    PairInput,
    average_over_equals,
    average_over_equals_of_weights,
    read_input,
)
from sklearn_ltr._core.typing import FloatArray, IntArray
from sklearn_ltr.metrics._short_lists import (
    DOCUMENTS_PER_LINE,
    N_LISTS,
    WINDOW,
    document_lanes,
    index_lanes,
    list_lanes,
    sort_by_length,
    take_lanes,
)

FEWEST = 4  # fewer lists are faster one at a time

sum_lanes = stack_array(np.float64, 2 * SUM_LANES * N_LISTS)


@range_kernel
def compute_short_lists(
    first: int,
    last: int,
    pair_input: tuple[Any, ...],
    table: FloatArray | None,
    weights: FloatArray | None,
    result: tuple[Any, ...],
    remains: NDArray[np.bool_],
) -> None:
    """Write the lambdas of short lists among queries first to last - 1."""
    # `remains`, OUT: whether a query is left for `compute_query_lambdas`.  The other
    # arguments are the same as there, but a table is empty: all swap deltas are 1.
    prefer_long_vectors()
    pair_input, result = read_input(pair_input), Derivatives(*result)
    lists, factors = pair_input.lists, pair_input.factors
    queries = np.empty(WINDOW, np.int64)
    for start in range(first, last, WINDOW):
        n_queries = min(WINDOW, last - start)
        n_short = sort_by_length(lists.offsets, start, start + n_queries, queries)
        # lists are taken out of their order, so the CPU does not foresee what is read
        ahead = lists.offsets[start + n_queries]
        end = lists.offsets[min(start + 2 * WINDOW, last)]
        for document in range(ahead, end, DOCUMENTS_PER_LINE):
            prefetch_row(lists.order, document)
            prefetch_row(lists.scores, document)
            prefetch_row(lists.grades, document)
            prefetch_row(factors.gain, document)
            prefetch_row(result.gradient, document)
            prefetch_row(result.hessian, document)
        if n_short % N_LISTS < FEWEST:
            n_short -= n_short % N_LISTS
        for query in queries[n_short:n_queries]:
            remains[query] = True
        for group in range(0, n_short, N_LISTS):
            own = queries[group : min(group + N_LISTS, n_short)]
            add_side_by_side(own, pair_input, table, weights, result, remains)


@subkernel
def add_side_by_side(
    queries: IntArray,
    pair_input: PairInput,
    table: FloatArray | None,
    weights: FloatArray | None,
    result: Derivatives,
    remains: NDArray[np.bool_],
) -> None:
    """Write the lambdas of up to N_LISTS lists, and which of them remain."""
    # Loops over lanes whose body is short are written as one loop over all documents of
    # all lists: LLVM would unroll the former and not vectorize it.
    prefer_long_vectors()
    lists, factors, options = pair_input
    lanes, n_lists = uint64(N_LISTS), uint64(len(queries))
    query, start, size = index_lanes(), index_lanes(), index_lanes()
    n = take_lanes(queries, lists.offsets, query, start, size)
    k, sigma = uint64(min(factors.k, int64(n))), options.sigma
    gap_scale = sigma if options.by_distance else 0.0

    # 1. Pack the lists, by position.  Behind its end, a list repeats its last document,
    # with a score that equals no other and an exponential of 1.
    score, grade, gain = document_lanes(), document_lanes(), document_lanes()
    multiplier, score_gap = document_lanes(), document_lanes()
    discount_above, discount_below = document_lanes(), document_lanes()
    better_weight, worse_weight = document_lanes(), document_lanes()
    for p in range(n):
        for lane in range(lanes):
            index, place = p * lanes + lane, uint64(min(int64(p), size[lane] - 1))
            document = uint64(lists.order[uint64(start[lane]) + place])
            is_document = int64(p) < size[lane]
            score[index] = lists.scores[document] if is_document else np.nan
            grade[index] = lists.grades[document]
            gain[index] = factors.gain[document]
            factor = uint64(factors.first_factor[uint64(query[lane])]) + place
            scale = factors.scale[uint64(query[lane])]
            multiplier[index] = factors.multiplier[factor] * scale
            discount_above[index] = factors.discount_above[factor]
            discount_below[index] = factors.discount_below[factor]
            if weights is not None:
                better_weight[index] = weights[0, document]
                worse_weight[index] = weights[1, document]
    exp_score, n_lower, n_underflows = document_lanes(), list_lanes(), list_lanes()
    gradient, hessian = document_lanes(), document_lanes()
    abs_lambdas = document_lanes()
    for lane in range(lanes):
        n_lower[lane] = n_underflows[lane] = 0.0
    for p in range(n):
        for lane in range(lanes):
            index = p * lanes + lane
            below_top = score[lane] - score[index] if int64(p) < size[lane] else 0.0
            exp_score[index] = exp(-sigma * below_top)
            score_gap[index] = gap_scale * below_top
            n_lower[lane] += 1.0 if below_top > 0 else 0.0
            n_underflows[lane] += 1.0 if exp_score[index] < MIN_EXP_SCORE else 0.0
            gradient[index] = hessian[index] = abs_lambdas[index] = 0.0
    min_distance = list_lanes()
    for lane in range(lanes):
        divides = options.by_distance and n_lower[lane] > 0
        min_distance[lane] = MIN_SCORE_DISTANCE if divides else 1.0

    # 2. Add the pairs, as `add_pairs_of_lanes` does: `pair_rho` and 1 minus it are
    # quotients of the exponentials of documents.  `sums` are the eight partial sums of
    # `sum_of_lanes`, of the lambdas and of the hessians of the pairs of one document.
    sums = sum_lanes()
    upper_gradient, upper_hessian = document_lanes(), document_lanes()
    for p in range(k):
        for index in range(uint64(2 * SUM_LANES * N_LISTS)):
            sums[index] = 0.0
        for q in range(p + uint64(1), n):
            part = q % uint64(SUM_LANES) * uint64(2 * N_LISTS)
            for lane in range(lanes):
                i, j = p * lanes + lane, q * lanes + lane
                gain_p, gain_q = gain[i], gain[j]
                if table is not None:
                    is_worse = -1.0 if grade[j] < grade[i] else 0.0
                    gain_p, gain_q = 0.0, 1.0 if grade[j] > grade[i] else is_worse
                p_is_better = gain_p > gain_q
                exp_p, exp_q = exp_score[i], exp_score[j]
                exp_better = exp_p if p_is_better else exp_q
                exp_worse = exp_q if p_is_better else exp_p
                distance = (min_distance[lane] - score_gap[i]) + score_gap[j]
                inverse = 1.0 / ((exp_p + exp_q) * distance)
                delta = (gain_p - gain_q) * (discount_above[i] - discount_below[j])
                lambda_pq = delta * multiplier[i] * exp_worse * inverse
                abs_lambda = abs(lambda_pq)
                hessian_pq = abs_lambda * (exp_better * distance * inverse)
                if weights is not None:
                    weight = (
                        better_weight[i] * worse_weight[j]
                        if p_is_better
                        else better_weight[j] * worse_weight[i]
                    )
                    lambda_pq, hessian_pq = lambda_pq * weight, hessian_pq * weight
                    abs_lambda *= weight
                is_pair = int64(q) < size[lane]
                lambda_pq = lambda_pq if is_pair else 0.0
                hessian_pq = hessian_pq if is_pair else 0.0
                sums[part + lane] += lambda_pq
                sums[part + lanes + lane] += hessian_pq
                gradient[j] += lambda_pq
                hessian[j] += hessian_pq
                abs_lambdas[j] += abs_lambda if is_pair else 0.0
        add_partial_sums(sums, n, uint64(2 * N_LISTS))
        for lane in range(lanes):
            upper_gradient[p * lanes + lane] = sums[lane]
            upper_hessian[p * lanes + lane] = sums[lanes + lane]
    for index in range(k * lanes):
        gradient[index] = (0.0 - upper_gradient[index]) + gradient[index]
        hessian[index] = upper_hessian[index] + hessian[index]

    # 3. Average over equal documents, of which there are none in most lists; where
    # there are, two of equal score and grade are neighbours.
    n_equal = 0
    for index in range(min(k, n - uint64(1)) * lanes):
        is_equal = score[index] == score[index + lanes]
        is_equal &= grade[index] == grade[index + lanes]
        n_equal += int64(is_equal)
    if n_equal > 0:
        for lane in range(n_lists):
            keys = score[lane::lanes], grade[lane::lanes]
            derivatives = gradient[lane::lanes], hessian[lane::lanes]
            if weights is None:
                average_over_equals(size[lane], factors.k, keys, derivatives)
            else:
                weight_keys = better_weight[lane::lanes], worse_weight[lane::lanes]
                all_keys = keys + weight_keys
                average_over_equals_of_weights(
                    size[lane], factors.k, all_keys, derivatives
                )

    # 4. Write the results in canonical order.
    for index in range(uint64(SUM_LANES * N_LISTS)):
        sums[index] = 0.0
    for q in range(n):
        part = q % uint64(SUM_LANES) * lanes
        for lane in range(lanes):
            sums[part + lane] += abs_lambdas[q * lanes + lane]
    add_partial_sums(sums, n, lanes)
    list_factor = list_lanes()
    for lane in range(n_lists):
        is_scaled = options.by_query and sums[lane] > 0
        total = sums[lane] if is_scaled else 1.0
        scaled = query_factor(total)
        list_factor[lane] = factors.sample_weight[uint64(query[lane])] * sigma
        list_factor[lane] *= scaled if is_scaled else 1.0
    for p in range(n):
        for lane in range(n_lists):
            if int64(p) < size[lane]:
                document = uint64(lists.order[uint64(start[lane]) + p])
                index = p * lanes + lane
                result.gradient[document] = gradient[index] * list_factor[lane]
                result.hessian[document] = hessian[index] * list_factor[lane] * sigma
    for lane in range(n_lists):
        remains[uint64(query[lane])] = n_underflows[lane] > 0


@subkernel
def add_partial_sums(sums: FloatArray, n: int, width: int) -> None:
    """Add SUM_LANES sums of `width` elements each, in the order of `sum_of_lanes`."""
    n_sums = uint64(1)
    while n_sums < min(n, uint64(SUM_LANES)):  # sums of n terms: the others are 0
        n_sums *= uint64(2)
    stop = n_sums * width
    while stop > width:
        stop //= uint64(2)
        for index in range(stop):
            sums[index] += sums[index + stop]
