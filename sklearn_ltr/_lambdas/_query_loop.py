"""The lambdas of whole queries.

For each query: pack what the pair loop reads into one array by position; add the
pairs; average over equal documents, and write the result in canonical order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import (
    REGISTER_LANES,
    allocate_aligned,
    exp,
    kernel,
    log1p,
    uint64,
)
from sklearn_ltr._lambdas._pair_loop import (
    DISCOUNT_ABOVE,
    DISCOUNT_BELOW,
    DOCUMENT_BLOCK,
    EXP_SCORE,
    GAIN,
    GRADE,
    GRADIENT,
    HESSIAN,
    MULTIPLIER,
    N_ROWS,
    SCORE,
    SCORE_GAP,
    add_pairs_by_exponentials,
    add_pairs_of_lanes,
)
from sklearn_ltr._lambdas._pair_weights import (
    add_pair_costs,
    average_over_equals,
    pack_weights,
    write_pair_costs,
)
from sklearn_ltr.metrics._closed_form import RankedLists

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MIN_EXP_SCORE = 1e-260  # with smaller ones, products of two could underflow
# SCORE_GAP of the padding.  It exceeds all gaps with an exponential of at least
# MIN_EXP_SCORE, so that distances to the padding are positive.
PADDING_GAP = 600.0
LN_2 = 0.6931471805599453
MIN_SCORE_DISTANCE = 0.01  # keeps distance normalisation from dividing by zero


class PairOptions(NamedTuple):
    """How a pair counts."""

    sigma: float  # > 0, steepness of the sigmoid
    distance_normalization: bool = False  # divide by 0.01 + sigma |s_i - s_j|
    query_normalization: bool = False  # multiply a query's lambdas by log2(1 + S) / S


class ObjectiveArrays(NamedTuple):
    """Factors of the swap deltas and lambdas, see :mod:`sklearn_ltr.metrics`."""

    gain: FloatArray  # (n_documents,) in canonical order
    multiplier: FloatArray  # these three are a SwapFactors: of all lists,
    discount_above: FloatArray  # (n_documents,), or the same for every list,
    discount_below: FloatArray  # (longest list,)
    # (n_queries,) index of a query's position 0 in these three
    first_factor: IntArray
    scale: FloatArray  # (n_queries,) factor of a query's swap deltas
    query_weights: FloatArray  # (n_queries,) factor of a query's lambdas
    k: int  # cutoff: pairs with both documents below it have no swap delta
    pair_weights: FloatArray | None  # see `_pair_weights`; None: all are 1


class Workspace(NamedTuple):
    """Buffers of one thread, for lists up to a length."""

    documents: FloatArray  # (N_ROWS or more, width), see `_pair_loop`
    position: IntArray  # (longest list,) position of each document of the query


class Derivatives(NamedTuple):
    """The result, OUT."""

    gradient: FloatArray  # (n_documents,) dC/ds
    hessian: FloatArray  # (n_documents,) d2C/ds2


@kernel
def compute_query_lambdas(
    first: int,
    last: int,
    lists: tuple[Any, ...],
    arrays: tuple[Any, ...],
    table: FloatArray | None,
    options: tuple[Any, ...],
    workspace: tuple[Any, ...],
    result: tuple[Any, ...],
) -> None:
    """Write gradient and hessian of the documents of queries first to last - 1.

    Networks call this once per query, so two details serve short lists.  The tuples
    are passed as plain ones and are named inside, because numba takes half a
    microsecond to recognise each named tuple.  And packing is not a function of its
    own, because the call would pass all arrays once more.

    Parameters
    ----------
    first, last : int
    lists : RankedLists, as a plain tuple
        In order down to position ``arrays.k``.
    arrays : ObjectiveArrays, as a plain tuple
    table : ndarray or None
        None: swap deltas follow from gains and factors.  (n, n): swap deltas by
        position, of a single query.  (0, 0): all swap deltas are 1.
    options : PairOptions, as a plain tuple
    workspace : Workspace, as a plain tuple
    result : Derivatives, as a plain tuple, OUT
    """
    lists, arrays = RankedLists(*lists), ObjectiveArrays(*arrays)
    options, workspace = PairOptions(*options), Workspace(*workspace)
    result = Derivatives(*result)
    documents, position = workspace.documents, workspace.position
    weights = arrays.pair_weights
    k, sigma = arrays.k, options.sigma
    gap_scale = sigma if options.distance_normalization else 0.0
    for query in range(first, last):
        n = lists.offsets[query + 1] - lists.offsets[query]
        start, length = uint64(lists.offsets[query]), uint64(n)

        # 1. Pack the list, by position.
        for p in range(length):
            position[lists.order[start + p] - lists.offsets[query]] = p
        for i in range(length):  # reads are sequential, writes are by position
            p = uint64(position[i])
            documents[SCORE, p] = lists.scores[start + i]
            documents[GRADE, p] = lists.grades[start + i]
            documents[GAIN, p] = arrays.gain[start + i]
        first_factor, scale = uint64(arrays.first_factor[query]), arrays.scale[query]
        for p in range(uint64(min(k, n))):
            index = first_factor + p
            documents[MULTIPLIER, p] = arrays.multiplier[index] * scale
            documents[DISCOUNT_ABOVE, p] = arrays.discount_above[index]
        top, n_lower, n_underflows = documents[SCORE, 0], 0, 0
        for p in range(length):
            below_top = top - documents[SCORE, p]
            exp_score = exp(-sigma * below_top)
            n_lower += below_top > 0
            n_underflows += exp_score < MIN_EXP_SCORE
            documents[EXP_SCORE, p] = exp_score
            documents[SCORE_GAP, p] = gap_scale * below_top
            index = first_factor + p
            documents[DISCOUNT_BELOW, p] = arrays.discount_below[index]
            documents[GRADIENT, p], documents[HESSIAN, p] = 0.0, 0.0
        for row in range(N_ROWS):
            for p in range(length, length + uint64(DOCUMENT_BLOCK)):
                documents[row, p] = PADDING_GAP if row == SCORE_GAP else 0.0
        pack_weights(weights, start, length, position, documents)

        # 2. Add the pairs.
        min_distance = 1.0
        if options.distance_normalization and n_lower > 0:
            min_distance = MIN_SCORE_DISTANCE
        abs_lambda_sum = 0.0
        if n_underflows > 0:
            abs_lambda_sum = add_pairs_by_exponentials(
                n, k, documents, sigma, min_distance, gap_scale, table, weights
            )
        else:
            for first_lane in range(0, n, REGISTER_LANES):
                abs_lambda_sum += add_pairs_of_lanes(
                    first_lane, n, k, documents, min_distance, table, weights
                )

        add_pair_costs(weights, n, k, documents, sigma, min_distance, gap_scale, table)

        # 3. Average over equal documents, and write the result in canonical order.
        average_over_equals(weights, n, k, documents)
        factor = arrays.query_weights[query] * sigma
        if options.query_normalization and abs_lambda_sum > 0:
            factor *= log1p(2.0 * abs_lambda_sum) / (2.0 * abs_lambda_sum * LN_2)
        for i in range(length):
            p = uint64(position[i])
            result.gradient[start + i] = documents[GRADIENT, p] * factor
            result.hessian[start + i] = documents[HESSIAN, p] * factor * sigma
        write_pair_costs(weights, start, length, position, documents, factor / sigma)


def allocate_workspace(longest: int, n_rows: int) -> Workspace:
    """Allocate buffers for lists of up to `longest` documents."""
    width = -(-longest // DOCUMENT_BLOCK) * DOCUMENT_BLOCK + DOCUMENT_BLOCK
    # Rows start at multiples of a cache line, since width is a multiple of a block.
    documents = allocate_aligned((n_rows, width), np.float64)
    return Workspace(documents, np.empty(longest, dtype=np.int64))
