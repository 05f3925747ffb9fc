"""Trees as circuits of select gates, which compute the bits of a row's leaf code.

Let bit k of the code of a leaf be c(k, leaf), and let a node's condition bit be 1 where
a row goes right.  Bit k of the code of the leaf that a row reaches is found from the
leaves up to the root:

    bit(k, leaf) = c(k, leaf)
    bit(k, node) = bit(k, right) if condition(node) else bit(k, left)

``one if condition else zero``, for two vectors called zero and one, is a select gate (a
multiplexer of two inputs).  No gate is needed where both inputs are the same; where
zero and one are the constants 0 and 1, since the output is then the condition bit
itself (inputs 1 and 0 take a gate); and where one side does not care about this bit,
because its leaf is already determined by higher bits.  With well chosen codes
(leaf_codes.py) a perfect tree of n leaves takes n - 1 - log2(n) gates.

Each gate works on bit vectors, which hold the bits of many rows, in one instruction:
Biham, A Fast New DES Implementation in Software, FSE 1997 ("bit-slicing").
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import VECTOR_LANES, int64, kernel, subkernel
from sklearn_ltr._trees.bit_sliced.conditions import (
    FIRST_CONDITION,
    ONE,
    ZERO,
)
from sklearn_ltr._trees.bit_sliced.leaf_codes import (
    CODE_BITS,
    DONT_CARE,
    assign_leaf_codes,
)
from sklearn_ltr._trees.bit_sliced.subtrees import (
    Subtrees,
    divide_into_subtrees,
)
from sklearn_ltr._trees.tree_walk import TreeNodes

NOT_KNOWN = -1  # instead of the number of a bit vector


class Circuits(NamedTuple):
    """The gates of all subtrees, and what the codes mean.

    A bit vector is given by its offset: VECTOR_LANES times its number.
    """

    gate: NDArray[np.uint32]  # (n_gates, 3): vectors of condition, zero and one
    # (n_subtrees + 1,): where a subtree's gates begin.  The gates for the nodes of all
    # subtrees of a tree are evaluated with its first subtree.
    first_gate: NDArray[np.int64]
    # (n_subtrees,): gate g of subtree s writes vector number first_output[s] +
    # (g - first_gate[s]).  Each tree overwrites the outputs of the tree before.
    first_output: NDArray[np.int64]
    code_bit: NDArray[np.uint32]  # (n_subtrees, 8): the vectors of the code's bits
    value: NDArray[np.float64]  # (n_subtrees, n_codes): the leaf value of each code


class GateList(NamedTuple):
    """Gates while they are built, with bit vectors by number."""

    gate: NDArray[np.uint32]  # (capacity, 3): as in Circuits
    next: NDArray[np.int64]  # (2,): number of the next gate, and the vector it writes


class NodeVectors(NamedTuple):
    """Numbers of the bit vectors that belong to nodes."""

    condition: NDArray[np.int64]  # (n_nodes,): the rows that go right
    # (n_nodes,): the rows that reach a subtree's root; NOT_KNOWN: not built (yet)
    reached: NDArray[np.int64]
    code_bit: NDArray[np.int64]  # (n_total, 8): bits of the leaf reached below a node


class SubtreeVectors(NamedTuple):
    """Fields of Circuits, with bit vectors by number."""

    first_gate: NDArray[np.int64]
    first_output: NDArray[np.int64]
    code_bit: NDArray[np.uint32]


def build_circuits(
    nodes: TreeNodes, condition_of_node: NDArray[np.int64], n_conditions: int
) -> tuple[Circuits, int]:
    """Return the circuits of all trees, and how many bit vectors they need."""
    subtrees = divide_into_subtrees(nodes)
    n_nodes, n_subtrees = len(nodes.feature), len(subtrees.root)
    # One bit more than the largest subtree of the ensemble needs, but never more than
    # 8: with unused codes there are fewer gates.
    n_bits = min(CODE_BITS, int(subtrees.n_leaves.max() - 1).bit_length() + 1)
    codes = assign_leaf_codes(subtrees, nodes.value, n_bits)
    reached = np.full(n_nodes, NOT_KNOWN)
    reached[nodes.first_node[:-1]] = ONE
    of_nodes = NodeVectors(
        condition=FIRST_CONDITION + condition_of_node,
        reached=reached,
        code_bit=codes.bit,  # a constant bit is also the number of its vector
    )
    of_subtrees = SubtreeVectors(
        first_gate=np.zeros(n_subtrees + 1, dtype=np.int64),
        first_output=np.zeros(n_subtrees, dtype=np.int64),
        code_bit=np.full((n_subtrees, CODE_BITS), ZERO, dtype=np.uint32),
    )
    gates = GateList(
        gate=np.empty((2 * CODE_BITS * n_nodes, 3), dtype=np.uint32),
        next=np.array([0, FIRST_CONDITION + n_conditions]),
    )
    build_gates(nodes.first_node, subtrees, of_nodes, of_subtrees, gates, n_bits)
    gate = gates.gate[: of_subtrees.first_gate[-1]]
    circuits = sort_by_level(Circuits(gate, *of_subtrees, codes.value))
    n_vectors = np.max(circuits.first_output + np.diff(circuits.first_gate))
    by_offset = circuits._replace(
        gate=VECTOR_LANES * circuits.gate,
        first_output=VECTOR_LANES * circuits.first_output,
        code_bit=VECTOR_LANES * circuits.code_bit,
    )
    return by_offset, int(n_vectors)


@subkernel
def select(gates: GateList, condition: int, zero: int, one: int) -> int:
    """Return the vector of ``one if condition else zero``, adding a gate if needed.

    DONT_CARE if neither input matters; if one does not, the other.
    """
    if one == DONT_CARE or zero == one:
        return zero
    if zero == DONT_CARE:
        return one
    if zero == ZERO and one == ONE:
        return condition
    number = gates.next[0]
    output: int = gates.next[1]
    gates.gate[number, 0] = condition
    gates.gate[number, 1] = zero
    gates.gate[number, 2] = one
    gates.next[0] = number + 1
    gates.next[1] = output + 1
    return output


@subkernel
def find_reached(
    root: int, subtrees: Subtrees, of_nodes: NodeVectors, gates: GateList
) -> None:
    """Build the gates that find the rows which reach the root of a subtree.

    The rows that reach the root of the subtree above are known.  Those of them that go
    towards `root` at every node in between reach it.  Each "and" is a select gate.
    """
    node, reached = root, int64(ONE)
    while of_nodes.reached[node] == NOT_KNOWN:
        parent = subtrees.parent[node]
        condition = of_nodes.condition[parent]
        if subtrees.left[parent] == subtrees.alias[node]:
            reached = select(gates, condition, reached, int64(ZERO))
        else:
            reached = select(gates, condition, int64(ZERO), reached)
        node = parent
    if node != root:
        known = of_nodes.reached[node]
        of_nodes.reached[root] = select(gates, known, int64(ZERO), reached)


@kernel
def build_gates(
    first_node: NDArray[np.int64],
    subtrees: Subtrees,
    of_nodes: NodeVectors,
    of_subtrees: SubtreeVectors,
    gates: GateList,
    n_bits: int,
) -> None:
    """Build the gates tree by tree: those of its nodes, then those of its subtrees.

    Parameters
    ----------
    first_node : ndarray of shape (n_trees + 1,), int64
    subtrees : Subtrees
    of_nodes : NodeVectors
        `code_bit` of leaves and `reached` of the trees' roots are given; those of inner
        nodes and of the other subtrees' roots are filled in.
    of_subtrees : SubtreeVectors
        Filled in; `first_gate` begins with 0.
    gates : GateList
        Filled; `next` is gate 0 and the vector after those of the conditions.
    n_bits : int
        Bits of a leaf code.
    """
    left, right, code_bit = subtrees.left, subtrees.right, of_nodes.code_bit
    n_subtrees, subtree = len(subtrees.root), int64(0)
    first_outside, first_output = len(left) - n_subtrees, gates.next[1]
    for tree in range(len(first_node) - 1):
        gates.next[1] = first_output  # overwrite the outputs of the tree before
        first, end = first_node[tree], first_node[tree + 1]
        for node in range(end - 1, first - 1, -1):  # children before their parents
            if left[node] >= 0:
                condition = of_nodes.condition[node]
                for k in range(n_bits):
                    zero, one = code_bit[left[node], k], code_bit[right[node], k]
                    code_bit[node, k] = select(gates, condition, zero, one)
        first_vector = first_output
        while subtree < n_subtrees and subtrees.root[subtree] < end:
            of_subtrees.first_output[subtree] = first_vector
            root, outside = subtrees.root[subtree], first_outside + subtree
            find_reached(root, subtrees, of_nodes, gates)
            for k in range(n_bits):
                zero, one = code_bit[outside, k], code_bit[root, k]
                bit = select(gates, of_nodes.reached[root], zero, one)
                of_subtrees.code_bit[subtree, k] = ZERO if bit == DONT_CARE else bit
            subtree += 1
            of_subtrees.first_gate[subtree] = gates.next[0]
            first_vector = gates.next[1]


def sort_by_level(circuits: Circuits) -> Circuits:
    """Sort each subtree's gates by level.

    The level of a gate is the length of the longest chain of gates that ends with it.
    Gates of a level do not read each other, so a gate seldom waits for the one before
    it.  In the order in which they are built, gates take a tenth longer.
    """
    first_gate, code_bit = circuits.first_gate, circuits.code_bit
    gate = circuits.gate
    subtree = np.repeat(np.arange(len(code_bit)), np.diff(first_gate))
    shift = circuits.first_output - first_gate[:-1]  # gate g writes vector g + shift
    shift_of_gate = shift[subtree]
    first_output = int(circuits.first_output[0])  # of any gate: the first tree's
    level = np.zeros(len(gate), dtype=np.int64)
    find_levels(gate, first_output, shift_of_gate, level)
    order = np.lexsort((level, subtree))
    new_number = np.empty_like(order)
    new_number[order] = np.arange(len(order))

    def renumbered(vectors: NDArray[np.uint32], shift: NDArray[np.int64]) -> Any:
        is_output, new = vectors >= first_output, vectors.copy()
        shift = np.broadcast_to(shift[:, np.newaxis], vectors.shape)[is_output]
        new[is_output] = new_number[vectors[is_output] - shift] + shift
        return new

    return circuits._replace(
        gate=renumbered(gate, shift_of_gate)[order],
        code_bit=renumbered(code_bit, shift),
    )


@kernel
def find_levels(
    gate: NDArray[np.uint32],
    first_output: int,
    shift: NDArray[np.int64],
    level: NDArray[np.int64],
) -> None:
    """Find each gate's level: 0 if it reads no gate, else 1 more than the highest."""
    for g in range(len(gate)):
        for vector in gate[g]:
            if vector >= first_output:
                level[g] = max(level[g], level[vector - shift[g]] + 1)
