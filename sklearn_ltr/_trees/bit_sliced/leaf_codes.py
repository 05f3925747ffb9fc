"""A code of 8 bits for each leaf, chosen such that the bits take few gates to compute.

Codes are assigned from the top down, a range of 2**b codes to a set of nodes at a time.
The nodes are divided into two groups, and their leaves get the lower and the upper half
of the codes: all leaves under one of these nodes then have the same highest bit, so no
gate is needed below these nodes for it.  If this does not fit, the node with the most
leaves is replaced by its two children.  A leaf that has a range to itself has all codes
of the range: the lower bits may be 0 or 1, which saves gates (circuits.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, kernel, subkernel
from sklearn_ltr._trees.bit_sliced.subtrees import Subtrees

CODE_BITS = 8
DONT_CARE = -1  # a bit that may be 0 or 1
ADDS_NOTHING = -0.0  # x + -0.0 is x, also for x = -0.0


class LeafCodes(NamedTuple):
    """The codes of all leaves, and the leaf value that belongs to each code."""

    # (n_total, 8): bits of a leaf; DONT_CARE in inner nodes and leaves not in use
    bit: NDArray[np.int64]
    value: NDArray[np.float64]  # (n_subtrees, 2 ** n_bits)


class CodeRanges(NamedTuple):
    """Ranges of codes that are still to be divided, and those of nodes and leaves.

    The codes are numbered through all subtrees: code c of subtree s is here the code
    ``s * 2**n_bits + c``.
    """

    # (n_ranges, 3): first and end of the nodes in `items`, and the number of codes
    stack: NDArray[np.int64]
    # nodes of each range, sorted by number of leaves; a range's part of the array has a
    # place for each of its leaves, since nodes are replaced by their children
    items: NDArray[np.int64]
    first_code: NDArray[np.int64]  # (n_total,): the smallest that leaves under it have
    n_codes: NDArray[np.int64]  # (n_total,): how many codes a leaf has
    is_upper: NDArray[np.int64]  # (n_total,): whether a node goes to the upper half
    upper: NDArray[np.int64]  # (256,): scratch memory for the nodes of the upper half


def assign_leaf_codes(
    subtrees: Subtrees, value: NDArray[np.float64], n_bits: int
) -> LeafCodes:
    """Assign codes below ``2 ** n_bits`` to the leaves of each subtree.

    `value` is that of each node.
    """
    n_subtrees, n_total = len(subtrees.root), len(subtrees.n_leaves)
    ranges = one_range_for_each_subtree(subtrees, n_bits)
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
    return LeafCodes(bit, value_of_code.reshape(n_subtrees, 1 << n_bits))


def one_range_for_each_subtree(subtrees: Subtrees, n_bits: int) -> CodeRanges:
    """Return ranges that hold a root and, if it is needed, the outside leaf."""
    n_subtrees, n_total = len(subtrees.root), len(subtrees.n_leaves)
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
    return CodeRanges(
        stack=stack,
        items=items,
        first_code=first_code,
        n_codes=np.zeros(n_total, dtype=np.int64),
        is_upper=np.zeros(n_total, dtype=np.int64),
        upper=np.zeros(1 << CODE_BITS, dtype=np.int64),
    )


@subkernel
def insert_by_size(
    new: int,
    items: NDArray[np.int64],
    first: int,
    end: int,
    n_leaves: NDArray[np.int64],
) -> None:
    """Insert a node into ``items[first:end]``, sorted by their number of leaves."""
    while end > first and n_leaves[items[end - 1]] > n_leaves[new]:
        items[end] = items[end - 1]
        end -= 1
    items[end] = new


@subkernel
def divide_in_halves(
    ranges: CodeRanges, first: int, end: int, n_leaves: NDArray[np.int64], half: int
) -> bool:
    """Divide the nodes greedily; return whether both halves fit.

    The largest first, each to the half with fewer leaves so far that still has space.
    """
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
    left_of: NDArray[np.int64],
    right_of: NDArray[np.int64],
    n_leaves: NDArray[np.int64],
    ranges: CodeRanges,
    n_ranges: int,
) -> None:
    """Divide each range on the stack until every leaf has a range to itself.

    Parameters
    ----------
    left_of, right_of, n_leaves : ndarrays of shape (n_total,), int64
        As in `Subtrees`.
    ranges : CodeRanges
        `first_code` is given for the nodes in `items`; it is filled in for all nodes
        below them, and `n_codes` for leaves.
    n_ranges : int
        Ranges on the stack.
    """
    stack, items = ranges.stack, ranges.items
    first_code, is_upper = ranges.first_code, ranges.is_upper
    while n_ranges > 0:
        n_ranges -= 1
        first, end, n_codes = (
            stack[n_ranges, 0],
            stack[n_ranges, 1],
            stack[n_ranges, 2],
        )
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
