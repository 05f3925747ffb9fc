"""Scores of blocks of 512 rows: each instruction works on one bit of every row.

:class:`BitSlicedEvaluator` is the entry point.  The package's docstring explains the
method, with an example.

Two transpositions convert rows to bits and back.  The values of each tested feature are
copied in the order of their rows' bits in a bit vector.  And the 8 bit vectors of a
leaf code become a byte for each row, by swapping blocks of 1, 2 and 4 bits: Warren,
Hacker's Delight, 2nd ed., section 7-3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import (
    ROW_BLOCK,
    VECTOR_LANES,
    allocate_aligned,
    as_kernel_argument,
    evaluate_condition,
    kernel,
    missing_bits,
    select_bits,
    subkernel,
    transpose_bits,
)
from sklearn_ltr._core.trees.evaluate.bit_sliced.circuits import (
    Circuits,
    build_circuits,
)
from sklearn_ltr._core.trees.evaluate.bit_sliced.conditions import (
    FIRST_CONDITION,
    MISSING_ROWS,
    ONE,
    SCRATCH_VECTORS,
    ZERO,
    CategorySets,
    Conditions,
    collect_conditions,
    collect_sets,
    evaluate_sets,
    round_down_to_float32,
)
from sklearn_ltr._core.trees.evaluate.tree_walk import TreeNodes
from sklearn_ltr._core.typing import FloatArray, IntArray

ALL_ONES = np.uint32(2**32 - 1)
# Subtrees whose leaf codes are computed before values are added: then scores stay in
# registers over many trees, while the codes (16 KiB) stay in the cache.
SUBTREE_GROUP = 32


class EvaluationBuffers(NamedTuple):
    """Scratch memory of one thread.

    Rows past the last one of a block that is not full have arbitrary but valid codes;
    their scores are dropped.
    """

    # (n_tested, 512): tested features, each in the order of `bit_of_row`
    features: NDArray[np.floating]
    vectors: NDArray[np.uint32]  # (n_vectors * 16,): the bit vectors
    # (SUBTREE_GROUP, 64): 8 codes in each int64, in row order (little-endian)
    leaf_codes: IntArray
    scores: FloatArray  # (512,)


class BitSlicedEvaluator:
    """An ensemble prepared for the evaluation of many rows.

    Parameters
    ----------
    nodes : TreeNodes
        A child comes after its parent.
    """

    def __init__(self, nodes: TreeNodes) -> None:
        conditions, condition_of_node = collect_conditions(nodes)
        sets, n_conditions = collect_sets(
            nodes, condition_of_node, len(conditions.threshold)
        )
        self._circuits, n_vectors = build_circuits(
            nodes, condition_of_node, n_conditions
        )
        self._n_vectors = max(
            n_vectors, FIRST_CONDITION + n_conditions + SCRATCH_VECTORS
        )
        rounded_down = round_down_to_float32(conditions.threshold)
        in_float32 = sets._replace(threshold=sets.threshold.astype(np.float32))
        self._tests_by_dtype: dict[Any, tuple[Conditions, CategorySets]] = {
            np.dtype(np.float64): (conditions, sets),
            np.dtype(np.float32): (
                conditions._replace(threshold=rounded_down),
                in_float32,
            ),
        }
        # for each dtype of rows: arguments of the kernel that no thread is using
        self._free_arguments: dict[Any, list[tuple[Any, ...]]] = {
            dtype: [] for dtype in self._tests_by_dtype
        }

    def add_to(self, scores: FloatArray, X: NDArray[np.floating]) -> None:
        """Add to each row's score the values of its leaves, in tree order."""
        # X is float32 or float64; rows with an infinite value get NaN, see
        # `TreeEnsemble.add_to`.  Several threads may call this at the same time, for
        # different scores.
        free_arguments = self._free_arguments[X.dtype]
        try:
            arguments = free_arguments.pop()
        except IndexError:
            arguments = self._new_arguments(X.dtype)
        evaluate_ensemble(as_kernel_argument(X), scores, *arguments)
        free_arguments.append(arguments)

    def _new_arguments(self, dtype: Any) -> tuple[Any, ...]:
        """Return the arguments of the kernel, with the memory of one thread."""
        conditions, sets = self._tests_by_dtype[dtype]
        tested = np.concatenate([conditions.feature, sets.feature])
        vectors = allocate_aligned((self._n_vectors, VECTOR_LANES), np.uint32)
        vectors[ZERO], vectors[ONE] = 0, ALL_ONES
        buffers = EvaluationBuffers(
            features=allocate_aligned((len(tested), ROW_BLOCK), dtype),
            vectors=vectors.ravel(),
            leaf_codes=allocate_aligned((SUBTREE_GROUP, ROW_BLOCK // 8), np.int64),
            scores=np.zeros(ROW_BLOCK),
        )
        return (tested, *conditions, *sets, *self._circuits, *buffers)


@kernel
def evaluate_ensemble(
    X: NDArray[np.floating],
    scores: FloatArray,
    tested: IntArray,
    condition_feature: IntArray,
    first_condition: IntArray,
    first_missing_right: IntArray,
    threshold: NDArray[np.floating],
    set_feature: IntArray,
    bin_threshold: NDArray[np.floating],
    first_bit: int,
    set_gate: NDArray[np.uint32],
    gate: NDArray[np.uint32],
    first_gate: IntArray,
    first_output: IntArray,
    code_bit: NDArray[np.uint32],
    value: FloatArray,
    features: NDArray[np.floating],
    vectors: NDArray[np.uint32],
    leaf_codes: IntArray,
    block_scores: FloatArray,
) -> None:
    """Add the values of the leaves that a row reaches to its score, in tree order."""
    # `X` is a kernel argument, and thresholds are of its dtype.  `tested` are the
    # features tested by conditions, then those tested by sets.  The arrays come one by
    # one, because numba takes 3 microseconds more to recognize the types of tuples, in
    # every call.
    conditions = Conditions(
        condition_feature, first_condition, first_missing_right, threshold
    )
    sets = CategorySets(set_feature, bin_threshold, first_bit, set_gate)
    circuits = Circuits(gate, first_gate, first_output, code_bit, value)
    buffers = EvaluationBuffers(features, vectors, leaf_codes, block_scores)
    in_sets = features[len(condition_feature) :]
    for start in range(0, len(X), ROW_BLOCK):
        rows, own = X[start : start + ROW_BLOCK], scores[start : start + ROW_BLOCK]
        mark_infinite_rows(rows, own)
        transpose_features(rows, tested, features)
        evaluate_conditions(conditions, buffers, len(rows))
        evaluate_sets(sets, in_sets, vectors, len(rows))
        for i in range(len(rows)):  # as slices, these copies take 3 s to compile
            block_scores[i] = own[i]
        evaluate_circuits(circuits, buffers, len(rows))
        for i in range(len(rows)):
            own[i] = block_scores[i]


@subkernel
def mark_infinite_rows(rows: NDArray[np.floating], scores: FloatArray) -> None:
    """Set the scores of rows with an infinite value to NaN, which they keep."""
    # This reads X in the order of memory, so that the transposition finds it in the
    # cache.
    for i in range(len(rows)):
        is_infinite = False
        for j in range(rows.shape[1]):
            is_infinite |= abs(rows[i, j]) == np.inf
        if is_infinite:
            scores[i] = np.nan


@subkernel
def transpose_features(
    rows: NDArray[np.floating], feature: IntArray, features: NDArray[Any]
) -> None:
    """Copy the tested features of up to 512 rows, in the order of ``bit_of_row``."""
    for first in range(0, len(rows), 64):
        part = rows[first : first + 64]
        for number in range(len(feature)):
            j = feature[number]
            values = features[number, first // 64 * VECTOR_LANES :]
            if len(part) == 64:
                for lane in range(VECTOR_LANES):
                    for byte in range(4):
                        values[8 * VECTOR_LANES * byte + lane] = part[
                            4 * lane + byte, j
                        ]
            else:
                for i in range(len(part)):
                    values[8 * VECTOR_LANES * (i % 4) + i // 4] = part[i, j]


@subkernel
def evaluate_conditions(
    conditions: Conditions, buffers: EvaluationBuffers, n_rows: int
) -> None:
    """Write the bit vector of each condition: 1 where a row goes right."""
    # (Strict, because the sign of ``threshold - x`` is used, also where that is 0.0.)
    vectors, threshold = buffers.vectors, conditions.threshold
    n_parts, missing = (n_rows + 63) // 64, VECTOR_LANES * MISSING_ROWS
    for number in range(len(conditions.feature)):
        values = buffers.features[number]
        missing_bits(values, n_parts, vectors, missing)
        middle = conditions.first_missing_right[number]
        for c in range(conditions.first[number], conditions.first[number + 1]):
            side = VECTOR_LANES * (ZERO if c < middle else ONE)
            result = VECTOR_LANES * (FIRST_CONDITION + c)
            evaluate_condition(
                values, n_parts, threshold[c], vectors, missing, side, result
            )


@subkernel
def evaluate_circuits(
    circuits: Circuits, buffers: EvaluationBuffers, n_rows: int
) -> None:
    """Add the values of the leaves that the condition bits lead to."""
    vectors, leaf_codes = buffers.vectors, buffers.leaf_codes
    code_bit, value = circuits.code_bit, circuits.value
    for first in range(0, len(code_bit), SUBTREE_GROUP):
        last = min(first + SUBTREE_GROUP, len(code_bit))
        for subtree in range(first, last):
            evaluate_gates(circuits, subtree, vectors)
            transpose_bits(vectors, code_bit[subtree], leaf_codes[subtree - first])
        add_leaf_values(value[first:last], leaf_codes, n_rows, buffers.scores)


@subkernel
def evaluate_gates(
    circuits: Circuits, subtree: int, vectors: NDArray[np.uint32]
) -> None:
    """Write the output vectors of a subtree's gates."""
    first, last = circuits.first_gate[subtree], circuits.first_gate[subtree + 1]
    gate, output = circuits.gate[first:last], circuits.first_output[subtree]
    for n in range(len(gate)):
        select_bits(vectors, gate[n, 0], gate[n, 1], gate[n, 2], output)
        output += VECTOR_LANES


@subkernel
def add_leaf_values(
    value: FloatArray, leaf_codes: IntArray, n_rows: int, scores: FloatArray
) -> None:
    """Add to each row's score the values of its leaves, subtree after subtree."""
    # Eight rows at a time, up to the next multiple of eight: their codes are the bytes
    # of one integer, which is faster to take apart than eight bytes are to load.
    for i in range((n_rows + 7) // 8):
        own = scores[8 * i : 8 * i + 8]
        s0, s1, s2, s3 = own[0], own[1], own[2], own[3]
        s4, s5, s6, s7 = own[4], own[5], own[6], own[7]
        for subtree in range(len(value)):
            v, codes = value[subtree], leaf_codes[subtree, i]
            s0 += v[codes & 255]
            s1 += v[codes >> 8 & 255]
            s2 += v[codes >> 16 & 255]
            s3 += v[codes >> 24 & 255]
            s4 += v[codes >> 32 & 255]
            s5 += v[codes >> 40 & 255]
            s6 += v[codes >> 48 & 255]
            s7 += v[codes >> 56 & 255]
        own[0], own[1], own[2], own[3] = s0, s1, s2, s3
        own[4], own[5], own[6], own[7] = s4, s5, s6, s7
