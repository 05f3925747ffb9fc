"""What the threads that grow a tree share, and what each of them knows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import new_barrier, subkernel
from sklearn_ltr.learners._trees.binning import BLOCK, N_CODES

PORTIONS = 64  # of the rows, whose magnitudes are added up one after another


class Limits(NamedTuple):
    """When to stop, and how leaf values are made."""

    max_leaf_nodes: int
    max_depth: int
    min_samples_leaf: int
    l2: float
    learning_rate: float


class GrownTree(NamedTuple):
    """A tree in terms of bins, as arrays over its nodes; node 0 is the root."""

    feature: NDArray[np.int32]  # -1: a leaf
    threshold: NDArray[np.uint8]  # bins <= threshold go left
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    gain: NDArray[np.float64]
    n_rows: NDArray[np.int64]  # in a leaf
    value: NDArray[np.float64]  # of a leaf, learning rate included


def new_tree(max_leaf_nodes: int) -> GrownTree:
    """Allocate a tree of the largest size: all leaves."""
    size = 2 * max_leaf_nodes - 1
    return GrownTree(
        feature=np.full(size, -1, dtype=np.int32),
        threshold=np.zeros(size, dtype=np.uint8),
        missing_left=np.zeros(size, dtype=np.bool_),
        left=np.full(size, -1, dtype=np.int32),
        right=np.full(size, -1, dtype=np.int32),
        gain=np.zeros(size),
        n_rows=np.zeros(size, dtype=np.int64),
        value=np.zeros(size),
    )


class Candidates(NamedTuple):
    """The best cut found by each thread, for each of the two leaves it looked at."""

    appeal: NDArray[np.float64]  # (n_threads, 2): the gain as it is compared
    gain: NDArray[np.float64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.int64]
    missing_left: NDArray[np.bool_]


class Workspace(NamedTuple):
    """Memory that the trees of one fit share."""

    rows: NDArray[np.int32]  # (2, n_rows): a leaf's rows lie in one of the two halves
    words: NDArray[np.int64]  # (n_rows,): packed gradients
    leaf_words: NDArray[np.int64]  # (n_rows,): those of the leaf to be added up
    histograms: NDArray[np.int64]  # (max_leaf_nodes, n_blocks, 256 * 16)
    candidates: Candidates
    sums: NDArray[np.int64]  # (n_threads, 4): what threads tell each other
    magnitudes: NDArray[np.float64]  # (PORTIONS, 2): sums of |gradient|, of |hessian|
    barrier: NDArray[np.int64]
    next_block: NDArray[np.int64]  # (1,): that no thread has taken yet
    next_leaf: NDArray[np.int64]


def new_workspace(
    n_threads: int, n_rows: int, n_blocks: int, max_leaf_nodes: int
) -> Workspace:
    """Allocate what the trees of one fit share."""
    found = (n_threads, 2)
    return Workspace(
        rows=np.empty((2, n_rows), dtype=np.int32),
        words=np.empty(n_rows, dtype=np.int64),
        leaf_words=np.empty(n_rows, dtype=np.int64),
        histograms=np.empty(
            (max_leaf_nodes, n_blocks, N_CODES * BLOCK), dtype=np.int64
        ),
        candidates=Candidates(
            np.zeros(found),
            np.zeros(found),
            np.zeros(found, dtype=np.int64),
            np.zeros(found, dtype=np.int64),
            np.zeros(found, dtype=np.bool_),
        ),
        sums=np.zeros((n_threads, 4), dtype=np.int64),
        magnitudes=np.zeros((PORTIONS, 2)),
        barrier=new_barrier(),
        next_block=np.zeros(1, dtype=np.int64),
        next_leaf=np.zeros(1, dtype=np.int64),
    )


class Leaves(NamedTuple):
    """What a thread knows of the leaves: arrays of shape (max_leaf_nodes,)."""

    start: NDArray[np.int64]  # rows[side, start:stop]
    stop: NDArray[np.int64]
    side: NDArray[np.int64]
    slot: NDArray[np.int64]  # of its histogram
    depth: NDArray[np.int64]
    node: NDArray[np.int64]
    total: NDArray[np.int64]  # packed sum
    gain: NDArray[np.float64]  # of its best cut; 0: none
    feature: NDArray[np.int64]
    threshold: NDArray[np.int64]
    missing_left: NDArray[np.bool_]


@subkernel
def new_leaves(max_leaf_nodes: int, n_rows: int, total: int) -> Leaves:
    """Return a table of leaves that holds the root alone."""
    # few allocations: they take long to compile
    size = max_leaf_nodes
    numbers = np.zeros((9, size), dtype=np.int64)
    leaves = Leaves(
        numbers[0],
        numbers[1],
        numbers[2],
        numbers[3],
        numbers[4],
        numbers[5],
        numbers[6],
        np.zeros(size),
        numbers[7],
        numbers[8],
        np.zeros(size, dtype=np.bool_),
    )
    leaves.stop[0], leaves.total[0] = n_rows, total
    return leaves


@subkernel
def is_small(n_left: int, n_rows: int) -> bool:
    """Say whether the left child is the one whose histogram is made from rows."""
    return 2 * n_left <= n_rows


@subkernel
def divide(
    leaves: Leaves,
    leaf: int,
    new: int,
    n_nodes: int,
    left_total: int,
    n_left: int,
) -> tuple[int, int]:
    """Turn `leaf` into its left child and `new` into its right; return small, large."""
    middle = leaves.start[leaf] + n_left
    left_is_small = is_small(n_left, leaves.stop[leaf] - leaves.start[leaf])
    leaves.start[new], leaves.stop[new] = middle, leaves.stop[leaf]
    leaves.stop[leaf] = middle
    leaves.side[leaf] = leaves.side[new] = 1 - leaves.side[leaf]
    leaves.depth[leaf] = leaves.depth[new] = leaves.depth[leaf] + 1
    leaves.node[leaf], leaves.node[new] = n_nodes, n_nodes + 1
    leaves.total[new] = leaves.total[leaf] - left_total
    leaves.total[leaf] = left_total
    leaves.gain[leaf] = leaves.gain[new] = 0.0
    # the parent's histogram becomes the larger child's
    leaves.slot[new] = new
    if left_is_small:
        leaves.slot[leaf], leaves.slot[new] = leaves.slot[new], leaves.slot[leaf]
        return leaf, new
    return new, leaf


@subkernel
def may_split(leaves: Leaves, leaf: int, limits: Limits) -> bool:
    """Say whether a leaf is large and shallow enough to be cut; no leaf is not."""
    return (
        leaf >= 0
        and leaves.stop[leaf] - leaves.start[leaf] >= 2 * limits.min_samples_leaf
        and leaves.depth[leaf] < limits.max_depth
    )


@subkernel
def best_leaf(leaves: Leaves, n_leaves: int) -> int:
    """Return the leaf whose cut gains most, the first of equals."""
    best = 0
    for leaf in range(1, n_leaves):
        if leaves.gain[leaf] > leaves.gain[best]:
            best = leaf
    return best
