"""Trees as circuits of select gates, which compute the bits of a row's leaf code.

**Subtrees.**  A leaf code has 8 bits, so trees are divided into subtrees of at most 256
leaves.  Most trees have no more leaves: they are one subtree each.  From a larger tree,
subtrees are cut off, from the bottom up.  Each subtree is then evaluated as if it were
a tree, with additional leaves that add -0.0, which changes no score:

- The subtree above has an "alias leaf" in place of the subtree that was cut off.
- The subtree that was cut off has an "outside leaf", which is reached by the rows that
  do not reach the subtree's root.

So for each row, exactly one subtree of a tree adds a leaf value.

**Leaf codes** of 8 bits are chosen such that the bits take few gates to compute.
Codes are assigned from the top down, a range of 2**b codes to a set of nodes at a time.
The nodes are divided into two groups, and their leaves get the lower and the upper half
of the codes: all leaves under one of these nodes then have the same highest bit, so no
gate is needed below these nodes for it.  If this does not fit, the node with the most
leaves is replaced by its two children.  A leaf that has a range to itself has all codes
of the range: the lower bits may be 0 or 1, which saves gates.

**Gates.**  Let bit k of the code of a leaf be c(k, leaf), and let a node's condition
bit be 1 where a row goes right.  Bit k of the code of the leaf that a row reaches is
found from the leaves up to the root:

    bit(k, leaf) = c(k, leaf)
    bit(k, node) = bit(k, right) if condition(node) else bit(k, left)

``one if condition else zero``, for two vectors called zero and one, is a select gate (a
multiplexer of two inputs).  No gate is needed where both inputs are the same; where
zero and one are the constants 0 and 1, since the output is then the condition bit
itself (inputs 1 and 0 take a gate); and where one side does not care about this bit,
because its leaf is already determined by higher bits.  With well chosen codes
a perfect tree of n leaves takes n - 1 - log2(n) gates.

Each gate works on bit vectors, which hold the bits of many rows, in one instruction:
Biham, A Fast New DES Implementation in Software, FSE 1997 ("bit-slicing").
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import VECTOR_LANES, int64, kernel, subkernel
from sklearn_ltr._core.trees.evaluate.bit_sliced.conditions import (
    FIRST_CONDITION,
    ONE,
    ZERO,
)
from sklearn_ltr._core.trees.evaluate.tree_walk import TreeNodes
from sklearn_ltr._core.typing import FloatArray, IntArray

MAX_LEAVES = 256  # of a subtree: the number of codes of 8 bits
CODE_BITS = 8
DONT_CARE = -1  # a bit that may be 0 or 1
ADDS_NOTHING = -0.0  # x + -0.0 is x, also for x = -0.0
NOT_KNOWN = -1  # instead of the number of a bit vector


# --- subtrees ------------------------------------------------------------------------


class Subtrees(NamedTuple):
    """The nodes of all trees, with children as the subtrees see them.

    Nodes are numbered through all trees.  After the n_nodes nodes come the alias leaves
    of the n_subtrees subtrees, and then their outside leaves: n_total in all.  (A
    subtree at the root of a tree uses neither; its two exist all the same.)
    """

    root: IntArray  # (n_subtrees,): the node where each begins, ascending
    left: IntArray  # (n_total,): a child or its alias leaf; -1 in a leaf
    right: IntArray  # (n_total,)
    parent: IntArray  # (n_nodes,): -1 for the roots of trees
    alias: IntArray  # (n_nodes,): a subtree root's alias leaf; else the node
    # (n_total,): leaves under a node within its subtree, alias leaves counted as one
    # each, the outside leaf not
    n_leaves: IntArray


def divide_into_subtrees(nodes: TreeNodes) -> Subtrees:
    """Return the subtrees of all trees; a child must come after its parent."""
    n_nodes, is_inner = len(nodes.feature), nodes.feature >= 0
    tree_roots = nodes.first_node[:-1]
    tree_root = np.repeat(tree_roots, np.diff(nodes.first_node))
    left = np.where(is_inner, tree_root + nodes.left, -1)
    right = np.where(is_inner, tree_root + nodes.right, -1)
    parent = np.full(n_nodes, -1)
    parent[left[is_inner]] = parent[right[is_inner]] = np.flatnonzero(is_inner)
    n_leaves = np.ones(n_nodes, dtype=np.int64)
    is_root = np.zeros(n_nodes, dtype=np.bool_)
    is_root[tree_roots] = True
    cut_off_subtrees(left, right, n_leaves, is_root)
    root = np.flatnonzero(is_root)
    alias = np.arange(n_nodes)
    alias[root] = n_nodes + np.arange(len(root))
    added_leaves = np.full(2 * len(root), -1)
    return Subtrees(
        root=root,
        left=np.append(np.where(is_inner, alias[left], -1), added_leaves),
        right=np.append(np.where(is_inner, alias[right], -1), added_leaves),
        parent=parent,
        alias=alias,
        n_leaves=np.append(n_leaves, np.ones_like(added_leaves)),
    )


@kernel
def cut_off_subtrees(
    left: IntArray, right: IntArray, n_leaves: IntArray, is_root: NDArray[np.bool_]
) -> None:
    """Mark the roots of subtrees, and count the leaves of each node in its subtree."""
    # Where two children have too many leaves together, the larger is cut off, and if
    # need be the smaller, too.  A subtree that is not at the root of its tree can have
    # one leaf less: it has an outside leaf.  Given are children (-1 in a leaf), counts
    # of 1, and the roots of trees.
    for node in range(len(left) - 1, -1, -1):
        if left[node] >= 0:
            small, large = left[node], right[node]
            if n_leaves[small] > n_leaves[large]:
                small, large = large, small
            n_leaves[node] = n_leaves[small] + n_leaves[large]
            most = MAX_LEAVES if is_root[node] else MAX_LEAVES - 1
            for child in (large, small):
                if n_leaves[node] > most:
                    is_root[child] = True
                    n_leaves[node] -= n_leaves[child] - 1


# --- leaf codes ----------------------------------------------------------------------


class CodeRanges(NamedTuple):
    """Ranges of codes that are still to be divided, and the ranges of nodes and leaves.

    The codes are numbered through all subtrees: code c of subtree s is here the code
    ``s * 2**n_bits + c``.
    """

    # (n_ranges, 3): first and end of the nodes in `items`, and the number of codes
    stack: IntArray
    # nodes of each range, sorted by number of leaves; a range's part of the array has a
    # place for each of its leaves, since nodes are replaced by their children
    items: IntArray
    first_code: IntArray  # (n_total,): the smallest that leaves under it have
    n_codes: IntArray  # (n_total,): how many codes a leaf has
    is_upper: IntArray  # (n_total,): whether a node goes to the upper half
    upper: IntArray  # (256,): scratch memory for the nodes of the upper half


def assign_leaf_codes(
    subtrees: Subtrees, value: FloatArray, n_bits: int
) -> tuple[IntArray, FloatArray]:
    """Assign codes below ``2 ** n_bits`` to the leaves; return bits and values."""
    # `value` is the value of each node, (n_nodes,).  Returned are the bits of each
    # leaf, (n_total, 8), DONT_CARE in inner nodes and leaves not in use; and the leaf
    # value that belongs to each code, (n_subtrees, 2 ** n_bits).
    n_subtrees, n_total = len(subtrees.root), len(subtrees.n_leaves)
    # at first a range for each subtree: of its root and, if needed, the outside leaf
    number, has_outside = np.arange(n_subtrees), subtrees.parent[subtrees.root] >= 0
    outside = n_total - n_subtrees + number
    space = subtrees.n_leaves[subtrees.root] + has_outside
    first = np.cumsum(space) - space
    items = np.zeros(space.sum(), dtype=np.int64)
    items[first] = outside
    items[first + has_outside] = subtrees.root
    # the stack grows by one for each bit, as a range is replaced by its two halves
    stack = np.zeros((n_subtrees + CODE_BITS, 3), dtype=np.int64)
    stack[:n_subtrees, 0] = first
    stack[:n_subtrees, 1] = first + has_outside + 1
    stack[:n_subtrees, 2] = 1 << n_bits
    first_code = np.zeros(n_total, dtype=np.int64)
    first_code[outside] = first_code[subtrees.root] = number << n_bits
    ranges = CodeRanges(
        stack=stack,
        items=items,
        first_code=first_code,
        n_codes=np.zeros(n_total, dtype=np.int64),
        is_upper=np.zeros(n_total, dtype=np.int64),
        upper=np.zeros(1 << CODE_BITS, dtype=np.int64),
    )
    assign_by_halving(
        subtrees.left, subtrees.right, subtrees.n_leaves, ranges, n_subtrees
    )
    bit = ranges.first_code[:, np.newaxis] >> np.arange(CODE_BITS) & 1
    n_codes = ranges.n_codes[:, np.newaxis]
    bit[(n_codes > 1 << np.arange(CODE_BITS)) | (n_codes == 0)] = DONT_CARE
    # sorted by code, the leaves of a subtree together have each of its codes once
    leaves = np.flatnonzero(ranges.n_codes)
    leaves = leaves[np.argsort(ranges.first_code[leaves])]
    value = np.append(value, np.full(n_total - len(value), ADDS_NOTHING))
    value_of_code = np.repeat(value[leaves], ranges.n_codes[leaves])
    return bit, value_of_code.reshape(n_subtrees, 1 << n_bits)


@subkernel
def insert_by_size(
    new: int, items: IntArray, first: int, end: int, n_leaves: IntArray
) -> None:
    """Insert a node into ``items[first:end]``, sorted by their number of leaves."""
    while end > first and n_leaves[items[end - 1]] > n_leaves[new]:
        items[end] = items[end - 1]
        end -= 1
    items[end] = new


@subkernel
def divide_in_halves(
    ranges: CodeRanges, first: int, end: int, n_leaves: IntArray, half: int
) -> bool:
    """Divide the nodes greedily; return whether both halves fit."""
    # The largest first, each to the half with fewer leaves so far that still has space.
    n_lower, n_upper = int64(0), int64(0)
    for i in range(end - 1, first - 1, -1):
        item = ranges.items[i]
        n = n_leaves[item]
        if n_lower + n <= half and (n_lower <= n_upper or n_upper + n > half):
            ranges.is_upper[item] = 0
            n_lower += n
        else:
            ranges.is_upper[item] = 1
            n_upper += n
    return n_upper <= half


@kernel
def assign_by_halving(
    left_of: IntArray,
    right_of: IntArray,
    n_leaves: IntArray,
    ranges: CodeRanges,
    n_ranges: int,
) -> None:
    """Divide each range on the stack until every leaf has a range to itself."""
    # The first three arrays are fields of `Subtrees`.  `first_code` is given for the
    # nodes in `items`; it is filled in for all nodes below them, and `n_codes` for
    # leaves.
    stack, items = ranges.stack, ranges.items
    first_code, is_upper = ranges.first_code, ranges.is_upper
    while n_ranges > 0:
        n_ranges -= 1
        first, end = stack[n_ranges, 0], stack[n_ranges, 1]
        n_codes = stack[n_ranges, 2]
        if end == first + 1 and left_of[items[first]] < 0:
            ranges.n_codes[items[first]] = n_codes
            continue
        half, left, right = n_codes // 2, int64(0), int64(0)
        while end == first + 1 or not divide_in_halves(
            ranges, first, end, n_leaves, half
        ):
            node = items[end - 1]
            left, right = left_of[node], right_of[node]
            first_code[left] = first_code[node]
            first_code[right] = first_code[node]
            insert_by_size(left, items, first, end - 1, n_leaves)
            insert_by_size(right, items, first, end, n_leaves)
            end += 1
        # Let the right child of the node replaced last have a 1: so the code bit of the
        # leaves under this node is its condition bit, and takes no gate.  With no node
        # replaced, left = right = 0 and nothing is swapped.
        swapped = 1 if is_upper[left] > is_upper[right] else 0
        n_lower, n_upper, n_leaves_lower = 0, 0, 0
        for i in range(first, end):
            item = items[i]
            if is_upper[item] == swapped:
                items[first + n_lower] = item
                n_lower += 1
                n_leaves_lower += n_leaves[item]
            else:
                ranges.upper[n_upper] = item
                n_upper += 1
                first_code[item] += half
        middle = first + n_leaves_lower
        for i in range(n_upper):
            items[middle + i] = ranges.upper[i]
        stack[n_ranges, 0], stack[n_ranges, 1] = first, first + n_lower
        stack[n_ranges + 1, 0], stack[n_ranges + 1, 1] = middle, middle + n_upper
        stack[n_ranges, 2] = stack[n_ranges + 1, 2] = half
        n_ranges += 2


# --- gates ---------------------------------------------------------------------------


class Circuits(NamedTuple):
    """The gates of all subtrees, and the leaf value of each code.

    A bit vector is given by its offset: VECTOR_LANES times its number.
    """

    gate: NDArray[np.uint32]  # (n_gates, 3): vectors of condition, zero and one
    # (n_subtrees + 1,): where a subtree's gates begin.  The gates for the nodes of all
    # subtrees of a tree are evaluated with its first subtree.
    first_gate: IntArray
    # (n_subtrees,): gate g of subtree s writes vector number first_output[s] +
    # (g - first_gate[s]).  Each tree overwrites the outputs of the tree before.
    first_output: IntArray
    code_bit: NDArray[np.uint32]  # (n_subtrees, 8): the vectors of the code's bits
    value: FloatArray  # (n_subtrees, n_codes): the leaf value of each code


class GateList(NamedTuple):
    """Gates while they are built, with bit vectors by number."""

    gate: NDArray[np.uint32]  # (capacity, 3): as in Circuits
    next: IntArray  # (2,): number of the next gate, and the vector it writes


class NodeVectors(NamedTuple):
    """Numbers of the bit vectors that belong to nodes."""

    condition: IntArray  # (n_nodes,): the rows that go right
    # (n_nodes,): the rows that reach a subtree's root; NOT_KNOWN: not built (yet)
    reached: IntArray
    code_bit: IntArray  # (n_total, 8): bits of the leaf reached below a node


class SubtreeVectors(NamedTuple):
    """Fields of Circuits, with bit vectors by number."""

    first_gate: IntArray
    first_output: IntArray
    code_bit: NDArray[np.uint32]


def build_circuits(
    nodes: TreeNodes, condition_of_node: IntArray, n_conditions: int
) -> tuple[Circuits, int]:
    """Return the circuits of all trees, and how many bit vectors they need."""
    subtrees = divide_into_subtrees(nodes)
    n_nodes, n_subtrees = len(nodes.feature), len(subtrees.root)
    # One bit more than the largest subtree of the ensemble needs, but never more than
    # 8: with unused codes there are fewer gates.
    n_bits = min(CODE_BITS, int(subtrees.n_leaves.max() - 1).bit_length() + 1)
    code_bit, value_of_code = assign_leaf_codes(subtrees, nodes.value, n_bits)
    reached = np.full(n_nodes, NOT_KNOWN)
    reached[nodes.first_node[:-1]] = ONE
    node_vectors = NodeVectors(
        condition=FIRST_CONDITION + condition_of_node,
        reached=reached,
        code_bit=code_bit,  # a constant bit is also the number of its vector
    )
    subtree_vectors = SubtreeVectors(
        first_gate=np.zeros(n_subtrees + 1, dtype=np.int64),
        first_output=np.zeros(n_subtrees, dtype=np.int64),
        code_bit=np.full((n_subtrees, CODE_BITS), ZERO, dtype=np.uint32),
    )
    gates = GateList(
        gate=np.empty((2 * CODE_BITS * n_nodes, 3), dtype=np.uint32),
        next=np.array([0, FIRST_CONDITION + n_conditions]),
    )
    build_gates(
        nodes.first_node, subtrees, node_vectors, subtree_vectors, gates, n_bits
    )
    gate = gates.gate[: subtree_vectors.first_gate[-1]]
    circuits = sort_by_level(Circuits(gate, *subtree_vectors, value_of_code))
    n_vectors = np.max(circuits.first_output + np.diff(circuits.first_gate))
    by_offset = circuits._replace(
        gate=VECTOR_LANES * circuits.gate,
        first_output=VECTOR_LANES * circuits.first_output,
        code_bit=VECTOR_LANES * circuits.code_bit,
    )
    return by_offset, int(n_vectors)


@subkernel
def select(gates: GateList, condition: int, zero: int, one: int) -> int:
    """Return the vector of ``one if condition else zero``, adding a gate if needed."""
    # DONT_CARE if neither input matters; if one does not, the other.
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
    root: int, subtrees: Subtrees, node_vectors: NodeVectors, gates: GateList
) -> None:
    """Build the gates that find the rows which reach the root of a subtree."""
    # The rows that reach the root of the subtree above are known.  Of these, the rows
    # that go towards `root` at every node in between reach it.  Each "and" is a select
    # gate.
    node, reached = root, int64(ONE)
    while node_vectors.reached[node] == NOT_KNOWN:
        parent = subtrees.parent[node]
        condition = node_vectors.condition[parent]
        if subtrees.left[parent] == subtrees.alias[node]:
            reached = select(gates, condition, reached, int64(ZERO))
        else:
            reached = select(gates, condition, int64(ZERO), reached)
        node = parent
    if node != root:
        known = node_vectors.reached[node]
        node_vectors.reached[root] = select(gates, known, int64(ZERO), reached)


@kernel
def build_gates(
    first_node: IntArray,
    subtrees: Subtrees,
    node_vectors: NodeVectors,
    subtree_vectors: SubtreeVectors,
    gates: GateList,
    n_bits: int,
) -> None:
    """Build the gates tree by tree: first of its nodes, then of its subtrees."""
    # Given are `code_bit` of leaves, `reached` of the roots of trees, 0 as the first
    # element of `first_gate`, and in `next` gate 0 and the first vector after the
    # conditions.  The other elements are filled in.
    left, right, code_bit = subtrees.left, subtrees.right, node_vectors.code_bit
    n_subtrees, subtree = len(subtrees.root), int64(0)
    first_outside, first_output = len(left) - n_subtrees, gates.next[1]
    for tree in range(len(first_node) - 1):
        gates.next[1] = first_output  # overwrite the outputs of the tree before
        first, end = first_node[tree], first_node[tree + 1]
        for node in range(end - 1, first - 1, -1):  # children before their parents
            if left[node] >= 0:
                condition = node_vectors.condition[node]
                for k in range(n_bits):
                    zero, one = code_bit[left[node], k], code_bit[right[node], k]
                    code_bit[node, k] = select(gates, condition, zero, one)
        first_vector = first_output
        while subtree < n_subtrees and subtrees.root[subtree] < end:
            subtree_vectors.first_output[subtree] = first_vector
            root, outside = subtrees.root[subtree], first_outside + subtree
            find_reached(root, subtrees, node_vectors, gates)
            for k in range(n_bits):
                zero, one = code_bit[outside, k], code_bit[root, k]
                bit = select(gates, node_vectors.reached[root], zero, one)
                subtree_vectors.code_bit[subtree, k] = ZERO if bit == DONT_CARE else bit
            subtree += 1
            subtree_vectors.first_gate[subtree] = gates.next[0]
            first_vector = gates.next[1]


def sort_by_level(circuits: Circuits) -> Circuits:
    """Sort each subtree's gates by level."""
    # The level of a gate is the length of the longest chain of gates that ends with it.
    # Gates of a level do not read each other, so a gate seldom waits for the one before
    # it.  In the order in which they are built, gates take a tenth longer.
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

    def renumbered(vectors: NDArray[np.uint32], shift: IntArray) -> Any:
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
    gate: NDArray[np.uint32], first_output: int, shift: IntArray, level: IntArray
) -> None:
    """Find each gate's level: 0 if it reads no gate, else 1 more than the highest."""
    for g in range(len(gate)):
        for vector in gate[g]:
            if vector >= first_output:
                level[g] = max(level[g], level[vector - shift[g]] + 1)
