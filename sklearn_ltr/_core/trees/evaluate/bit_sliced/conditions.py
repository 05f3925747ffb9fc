"""The distinct conditions that nodes test; each has a bit for each row as its outcome.

**Thresholds.**  Many nodes test the same feature against the same threshold.  Each
distinct test ``x <= threshold``, a condition, is evaluated once for a row, and all
nodes share the result.

**Category sets.**  Whether a row goes right at a node with a category set is a function
of the 8 bits of its bin (255 for a missing value).  A function of 8 bits is a select
gate between two functions of 7 bits, and so on (Shannon's expansion): 255 gates at
most, fewer where both inputs are the same.  There are only 256 functions of the lowest
3 bits, so the sets of a feature share the gates of these functions; for the other bits
a set takes 31 gates at most.  All gates of sets are evaluated once for a block of rows,
before the gates of trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import (
    VECTOR_LANES,
    evaluate_condition,
    int64,
    select_bits,
    subkernel,
)
from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.trees.evaluate.tree_walk import TreeNodes, unpack_sets
from sklearn_ltr._core.typing import IntArray

# Bit vectors are numbered: first these three, then one for each condition, which has a
# 1 for each row that goes right, then the outputs of gates (`circuits.py`).
ZERO, ONE = 0, 1  # 512 zeros, 512 ones
MISSING_ROWS = 2  # the rows where the feature being evaluated is missing
FIRST_CONDITION = 3

# Category sets
BIN_BITS = 8
SHARED_BITS = 3  # the gates of this many bits are shared by all sets of a feature
SCRATCH_VECTORS = 30  # for the outputs of a set's gates of the other bits, but its last


class Conditions(NamedTuple):
    """Distinct conditions, sorted by feature.

    Within a feature, first the conditions that send NaN left, then the conditions that
    send it right; each sorted by threshold.
    """

    feature: IntArray  # (n_tested,): the features that nodes test, ascending
    first: IntArray  # (n_tested + 1,): where a feature's conditions begin
    first_missing_right: IntArray  # (n_tested,): from here NaN goes right
    # (n_conditions,), float64, or float32 for rows of float32: x <= threshold goes left
    threshold: NDArray[np.floating]


def collect_conditions(nodes: TreeNodes) -> tuple[Conditions, IntArray]:
    """Return the distinct conditions, and the number of each node's condition."""
    # The number is 0 in a leaf, and at a node with a category set.
    inner = np.setdiff1d(np.flatnonzero(nodes.feature >= 0), nodes.category_node)
    feature, threshold = nodes.feature[inner], nodes.threshold[inner]
    missing_right = ~nodes.missing_left[inner]
    order = np.lexsort((threshold, missing_right, feature))
    inner, feature, threshold = inner[order], feature[order], threshold[order]
    missing_right = missing_right[order]
    is_new = np.ones(len(inner), dtype=np.bool_)
    is_new[1:] = (
        (feature[1:] != feature[:-1])
        | (missing_right[1:] != missing_right[:-1])
        | (threshold[1:] != threshold[:-1])
    )
    condition_of_node = np.zeros(len(nodes.feature), dtype=np.int64)
    condition_of_node[inner] = np.cumsum(is_new) - 1
    keys = 2 * feature[is_new].astype(np.int64) + missing_right[is_new]
    tested = np.unique(keys >> 1)
    conditions = Conditions(
        feature=tested,
        first=np.append(np.searchsorted(keys, 2 * tested), len(keys)),
        first_missing_right=np.searchsorted(keys, 2 * tested + 1),
        # 0.0 for -0.0: the sign bit of -0.0 - 0.0 would be set
        threshold=threshold[is_new] + 0.0,
    )
    return conditions, condition_of_node


def round_down_to_float32(threshold: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return the largest float32 t' <= t: a float32 x <= t' if and only if x <= t."""
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest > threshold, below, nearest)


class CategorySets(NamedTuple):
    """Gates that turn the bits of bins into condition bits: 1 where a row goes right.

    A bit vector is given by its offset: VECTOR_LANES times its number.
    """

    feature: IntArray  # (n_categorical,): the features that sets test, ascending
    # (8,): 2^k - 0.5 for bit k.  The bits of a bin are found from the highest to the
    # lowest, and subtracted from it; so bit k is 1 if the rest is above 2^k - 0.5.
    threshold: NDArray[np.floating]
    first_bit: int  # the vectors of the bits of bins, 8 for each feature, begin here
    gate: NDArray[np.uint32]  # (n_gates, 4): vectors of condition, zero, one and output


def collect_sets(
    nodes: TreeNodes, condition_of_node: IntArray, n_conditions: int
) -> tuple[CategorySets, int]:
    """Return the gates of all sets, and the number of conditions with these sets."""
    # The vectors of the sets come after the vectors of the `n_conditions` thresholds.
    # Their numbers are written to `condition_of_node`.  After them, SCRATCH_VECTORS
    # further vectors are needed while gates are evaluated.
    feature, first_bit = nodes.feature[nodes.category_node], FIRST_CONDITION
    first_bit += n_conditions
    tested, number = np.unique(feature, return_inverse=True)
    keys = np.column_stack([number.astype(">u4").view("4u1"), nodes.category_set])
    distinct, set_of_node = np.unique(keys, axis=0, return_inverse=True)
    is_left = unpack_sets(np.ascontiguousarray(distinct[:, 4:]))
    bits = first_bit + BIN_BITS * np.ascontiguousarray(distinct[:, :4]).view(">u4")
    outputs = np.where(is_left, ZERO, ONE)  # constants, the functions of no bit, by bin
    end = first_bit + BIN_BITS * len(tested)
    gates = []
    for k in range(SHARED_BITS):
        # one gate for several equal ones
        zeros = np.zeros_like(outputs[:, ::2])
        outputs, gate, is_gate = select_outputs(bits + k, outputs, zeros)
        different, number = np.unique(gate[:, :3], axis=0, return_inverse=True)
        outputs[is_gate] = end + number.ravel()
        gates.append(np.column_stack([different, end + np.arange(len(different))]))
        end += len(different)
    first_set, end = end, end + len(distinct)
    scratch, set_gates, set_numbers = end, [], []
    for k in range(SHARED_BITS, BIN_BITS):
        shape = (len(distinct), outputs.shape[1] // 2)
        output = np.broadcast_to(scratch + np.arange(shape[1]), shape)
        if k == BIN_BITS - 1:
            output = first_set + np.arange(len(distinct))[:, np.newaxis]
        outputs, gate, is_gate = select_outputs(bits + k, outputs, output)
        set_gates.append(gate)
        set_numbers.append(np.nonzero(is_gate)[0])
        scratch += shape[1]
    by_set = np.argsort(np.concatenate(set_numbers), kind="stable")
    gates.append(np.concatenate(set_gates)[by_set])
    condition_of_node[nodes.category_node] = (
        outputs[set_of_node.ravel(), 0] - FIRST_CONDITION
    )
    sets = CategorySets(
        feature=tested.astype(np.int64),
        threshold=2.0 ** np.arange(BIN_BITS) - 0.5,
        first_bit=VECTOR_LANES * first_bit,
        gate=VECTOR_LANES * np.concatenate(gates).astype(np.uint32),
    )
    return sets, end - FIRST_CONDITION


def select_outputs(
    bit: IntArray, inputs: IntArray, output: IntArray
) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
    """Return vectors of ``inputs[:, 1::2] if bit else inputs[:, 0::2]``, and gates."""
    # A gate writes to `output`.  No gate is needed where both inputs are the same, or
    # where they are the constants 0 and 1, so that the result is the bit.  `bit` is
    # (n_sets, 1), the results are (n_sets, n_inputs / 2).
    zero, one = inputs[:, 0::2], inputs[:, 1::2]
    is_bit = (zero == ZERO) & (one == ONE)
    is_gate = (zero != one) & ~is_bit
    bit = np.broadcast_to(bit, zero.shape)
    selected = np.where(is_gate, output, np.where(is_bit, bit, zero))
    gate = [vectors[is_gate] for vectors in (bit, zero, one, selected)]
    return selected, np.column_stack(gate), is_gate


@subkernel
def evaluate_sets(
    sets: CategorySets,
    features: NDArray[np.floating],
    vectors: NDArray[np.uint32],
    n_rows: int,
) -> None:
    """Write the condition bits of all sets, given the features that they test."""
    # `features` are transposed, (n_categorical, 512), and overwritten.
    n_parts, result = (n_rows + 63) // 64, sets.first_bit
    zero = int64(VECTOR_LANES * ZERO)
    for number in range(len(sets.feature)):
        values = features[number]
        for i in range(len(values)):
            if values[i] != values[i]:
                values[i] = MISSING_BIN
        for k in range(BIN_BITS - 1, -1, -1):
            threshold, bit = sets.threshold[k], result + VECTOR_LANES * k
            evaluate_condition(values, n_parts, threshold, vectors, zero, zero, bit)
            for i in range(len(values)):
                if values[i] > threshold:
                    values[i] -= 1 << k
        result += VECTOR_LANES * BIN_BITS
    gate = sets.gate
    for n in range(len(gate)):
        select_bits(vectors, gate[n, 0], gate[n, 1], gate[n, 2], gate[n, 3])
