"""Numbers for the leaves of trees, such that subtrees share most of their bits.

The numbers are dealt out from the highest bit to the lowest: one half of the numbers
that are left goes to one half of the leaves, as subtrees as large as fit.  A subtree
that fits nowhere is opened: its two children are dealt with instead.  Once a leaf is
alone with its numbers, it keeps them all: its lower bits are of no concern.

A number has 8 bits.  A tree with more than 256 leaves is cut into pieces, which are
numbered as if each were a tree: what hangs below is a leaf of the piece that adds
nothing, and so is what lies outside of a piece that hangs below another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, kernel, subkernel
from sklearn_ltr.learners._trees.bit_sliced.conditions import Questions, Trees

BITS = 8  # of a leaf's number
ANY = -1  # a bit of no concern
ZERO, ONE = 0, 1  # where the words of a block begin: all bits 0, all bits 1,
MISSING = 2  # where a column has no value,
FIRST_ANSWER = 3  # and then the answers
NOTHING = -0.0  # x + -0.0 is x, the sign of a zero included


class Plan(NamedTuple):
    """Nodes, counted through all trees, and after them two leaves for each piece.

    The first stands for the piece in the piece above, the second, in a piece that hangs
    below another, for all that lies outside.
    """

    left: NDArray[np.int64]  # -1 in a leaf
    right: NDArray[np.int64]
    parent: NDArray[np.int64]  # of a node; the rest also of those leaves
    stands_for: NDArray[np.int64]  # a node, or the leaf that stands for it above
    top: NDArray[np.int64]  # (n_pieces,)
    size: NDArray[np.int64]  # leaves of its piece under a node
    value: NDArray[np.float64]
    number: NDArray[np.int64]  # the first of a leaf, or of all leaves under a node
    answer: NDArray[np.int64]  # a word, as the next
    word: NDArray[np.int64]  # (..., 8): of each bit of the leaf's number
    reached: NDArray[np.int64]  # of a piece's top: of the rows that get there


def plan_of(trees: Trees, questions: Questions) -> Plan:
    """Cut the trees into pieces."""
    n_nodes, asks = len(trees.feature), trees.feature >= 0
    roots = trees.first_node[:-1]
    root = np.repeat(roots, np.diff(trees.first_node))
    left = np.where(asks, root + trees.left, -1)
    right = np.where(asks, root + trees.right, -1)
    parent = np.zeros(n_nodes, dtype=np.int64)
    parent[left[asks]] = parent[right[asks]] = np.flatnonzero(asks)
    size, is_top = np.ones(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.bool_)
    is_top[roots] = True
    cut(left, right, size, is_top)
    top = np.flatnonzero(is_top)
    stands_for = np.arange(n_nodes)
    stands_for[top] = n_nodes + np.arange(len(top))
    none = np.full(2 * len(top), -1)
    reached = np.full(n_nodes, ANY)
    reached[roots] = ONE
    return Plan(
        left=np.append(np.where(asks, stands_for[left], -1), none),
        right=np.append(np.where(asks, stands_for[right], -1), none),
        parent=parent,
        stands_for=stands_for,
        top=top,
        size=np.append(size, -none),
        value=np.append(trees.value, np.full(len(none), NOTHING)),
        number=np.zeros(n_nodes + len(none), dtype=np.int64),
        answer=questions.of_node + FIRST_ANSWER,
        word=np.full((n_nodes + len(none), BITS), ANY),
        reached=reached,
    )


def deal_all(plan: Plan, n_bits: int, value: NDArray[np.float64]) -> None:
    """Deal out the numbers of all pieces, below ``2**n_bits`` in each."""
    n_pieces = len(plan.top)
    pieces = np.arange(n_pieces)
    is_root = plan.reached[plan.top] == ONE
    start = np.cumsum(plan.size[plan.top] + ~is_root)
    start = np.append(0, start[:-1])
    items = np.zeros(plan.size[plan.top].sum() + n_pieces, dtype=np.int64)
    items[start] = len(plan.size) - n_pieces + pieces
    items[start + ~is_root] = plan.top
    blocks = np.zeros((n_pieces + 2 * BITS, 4), dtype=np.int64)
    blocks[:n_pieces] = np.transpose(
        [start, start + 1 + ~is_root, np.full(n_pieces, 1 << n_bits), pieces]
    )
    deal(blocks, n_pieces, items, np.zeros_like(plan.size), plan, value)


@kernel
def cut(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    size: NDArray[np.int64],
    is_top: NDArray[np.bool_],
) -> None:
    """Find how many leaves of its piece are under a node, and whether it is the top.

    From the bottom up, the larger of two children is cut off where both together have
    too many leaves (and both are, if need be).  A piece that hangs below another needs
    a number for what lies outside.
    """
    for node in range(len(left) - 1, -1, -1):
        if left[node] >= 0:
            small, large = left[node], right[node]
            if size[small] > size[large]:
                small, large = large, small
            size[node] = size[small] + size[large]
            most = 2**BITS if is_top[node] else 2**BITS - 1
            for child in (large, small):
                if size[node] > most:
                    is_top[child] = True
                    size[node] -= size[child] - 1


@subkernel
def halve(
    items: NDArray[np.int64],
    size: NDArray[np.int64],
    half: int,
    side: NDArray[np.int64],
) -> bool:
    """Put each item, the largest first, on the emptier side; return whether all fit."""
    zero, one = int64(0), int64(0)
    for i in range(len(items) - 1, -1, -1):
        n = size[items[i]]
        if zero + n <= half and (zero <= one or one + n > half):
            side[items[i]] = 0
            zero += n
        else:
            side[items[i]] = 1
            one += n
    return one <= half


@subkernel
def insert(
    new: int, items: NDArray[np.int64], start: int, end: int, size: NDArray[np.int64]
) -> None:
    """Put a node among others, of which the largest is the last."""
    while end > start and size[items[end - 1]] > size[new]:
        items[end] = items[end - 1]
        end -= 1
    items[end] = new


@kernel
def deal(
    blocks: NDArray[np.int64],
    n_blocks: int,
    items: NDArray[np.int64],
    side: NDArray[np.int64],
    plan: Plan,
    value: NDArray[np.float64],
) -> None:
    """Deal out the numbers, block by block, and the values with them.

    Parameters
    ----------
    blocks : ndarray of shape (n_blocks + 16, 4), int64
        Start and end of a block in `items`, how many numbers it has, and its piece.
    n_blocks : int
    items : ndarray of shape (n_leaves,), int64
        Nodes whose leaves share the numbers of a block, the largest last.  There is
        room for the leaves.
    side : ndarray of shape (n_nodes,), int64
        Memory for the half of its block to which a node goes.
    plan : Plan
        Its numbers and the words of the leaves are filled in.
    value : ndarray of shape (n_pieces, n_numbers), float64
        Filled where a leaf has the number.
    """
    left_of, right_of, size, number = plan.left, plan.right, plan.size, plan.number
    spare = np.empty(2**BITS, dtype=np.int64)
    while n_blocks > 0:
        n_blocks -= 1
        start, end, piece = (
            blocks[n_blocks, 0],
            blocks[n_blocks, 1],
            blocks[n_blocks, 3],
        )
        n_numbers = blocks[n_blocks, 2]
        if end == start + 1 and left_of[items[start]] < 0:
            leaf = items[start]
            for i in range(number[leaf], number[leaf] + n_numbers):
                value[piece, i] = plan.value[leaf]
            for k in range(BITS):
                is_free = int64(1) << k < n_numbers
                plan.word[leaf, k] = ANY if is_free else number[leaf] >> k & 1
            continue
        half, left, right = n_numbers // 2, int64(0), int64(0)
        while end == start + 1 or not halve(items[start:end], size, half, side):
            node = items[end - 1]
            left, right = left_of[node], right_of[node]
            number[left] = number[right] = number[node]
            insert(left, items, start, end - 1, size)
            insert(right, items, start, end, size)
            end += 1
        # an answer is the bit itself where 0 is left and 1 is right: if in one node
        turned = 1 if side[left] > side[right] else 0
        n_zero, n_one, size_zero = 0, 0, 0
        for i in range(start, end):
            item = items[i]
            if side[item] == turned:
                items[start + n_zero] = item
                n_zero += 1
                size_zero += size[item]
            else:
                spare[n_one] = item
                n_one += 1
                number[item] += half
        middle = start + size_zero
        for i in range(n_one):
            items[middle + i] = spare[i]
        for first, last in ((start, start + n_zero), (middle, middle + n_one)):
            blocks[n_blocks, 0], blocks[n_blocks, 1] = first, last
            blocks[n_blocks, 2], blocks[n_blocks, 3] = half, piece
            n_blocks += 1
