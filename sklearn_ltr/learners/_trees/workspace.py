"""What goes into a tree, what comes out, and the memory in between, with its sizes.

All threads of a team grow a tree together.  They share the rows, the histograms and
the candidate splits.  The table of leaves is small and each thread has its own: every
thread makes the same updates to it, which needs no synchronisation.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import new_barrier, subkernel
from sklearn_ltr.learners._trees.binning import FEATURE_BLOCK, HISTOGRAM_BINS
from sklearn_ltr.learners._trees.splitting import BlockSplits, allocate_block_splits

N_CHUNKS = 64  # of the rows; a fixed number, for a sum that no thread count changes


class GrowthParameters(NamedTuple):
    """Size of the trees and values of their leaves."""

    max_leaf_nodes: int  # >= 2
    max_depth: int  # of a leaf; the root has depth 0
    min_samples_leaf: int
    l2_regularization: float  # added to the hessian sum of a leaf
    learning_rate: float  # leaf values are multiplied by it
    second_order: bool  # whether splits weight rows by their hessians, or by 1


class TreeSample(NamedTuple):
    """What one tree is grown on."""

    tree_index: int  # start of the rounding sequence
    rows: NDArray[np.int32]  # (n_used_rows,), ascending
    features: NDArray[np.int64]  # (n_used_features,), ascending
    # (2 * max_leaf_nodes - 1, n_features): a feature's best gain at a node is
    # multiplied by its factor before features are compared; 0 excludes the feature
    gain_factors: NDArray[np.float64]


class GrownTree(NamedTuple):
    """A tree whose thresholds are bins, as arrays over its nodes; node 0 is the root.

    Arrays have shape (n_nodes,), or (2 * max_leaf_nodes - 1,) while the tree grows.
    """

    feature: NDArray[np.int32]  # -1: a leaf
    threshold: NDArray[np.uint8]  # bins <= threshold go left
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]  # children; -1 in a leaf
    right: NDArray[np.int32]
    gain: NDArray[np.float64]  # of the split, in units of the cost; 0 in a leaf
    n_rows: NDArray[np.int64]  # of a leaf
    value: NDArray[np.float64]  # of a leaf, learning rate included


def allocate_tree(max_leaf_nodes: int) -> GrownTree:
    """Return a tree of the largest size, all of whose nodes are leaves."""
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


# Small tables are arrays of records, one array instead of one per field: numba compiles
# kernels faster the fewer arrays they are given.  ``leaf = leaves[i]`` refers to a
# record in the array, so that ``leaf.gain = 0.0`` changes the array.


def _record(**fields: type) -> np.dtype[np.record]:
    return np.dtype((np.record, list(fields.items())), align=True)


LEAF = _record(
    side=np.int64,  # the leaf's rows are Workspace.rows[side, start:stop]
    start=np.int64,
    stop=np.int64,
    histogram=np.int64,  # the leaf's histograms are Workspace.histograms[histogram]
    depth=np.int64,
    node=np.int64,  # its number in the tree
    total=np.int64,  # packed sum of its rows
    gain=np.float64,  # of its best split, quantized; 0: no split
    feature=np.int64,  # its best split
    threshold=np.int64,
    missing_left=np.bool_,
)

CANDIDATE_SPLIT = _record(
    perturbed_gain=np.float64,  # gain times the feature's gain factor
    gain=np.float64,
    feature=np.int64,
    threshold=np.int64,
    missing_left=np.bool_,
)

THREAD_SUMS = _record(
    gradient=np.int64,  # sums of quantized |gradient| and hessian of the thread's rows
    hessian=np.int64,
    packed=np.int64,  # sum of the packed gradients of its rows of the root
    n_left=np.int64,  # how many of its rows of a leaf go left
)

Records: TypeAlias = NDArray[Any]


class Workspace(NamedTuple):
    """Memory for growing trees, as one thread sees it; reused from tree to tree."""

    thread: int
    n_threads: int
    # shared by all threads
    rows: NDArray[np.int32]  # (2, n_rows): a leaf's rows are on one of two sides
    packed_gradients: NDArray[np.int64]  # (n_rows,): of every row
    leaf_gradients: NDArray[np.int64]  # (n_rows,): of the next histogram's rows
    histograms: NDArray[np.int64]  # (max_leaf_nodes, n_blocks, 256 * 16)
    # (n_threads, 2) CANDIDATE_SPLIT: the best split each thread has found for each of
    # two sibling leaves: [thread, 0] of the smaller one, [thread, 1] of the larger one
    candidates: Records
    thread_sums: Records  # (n_threads,) THREAD_SUMS
    chunk_sums: NDArray[np.float64]  # (N_CHUNKS, 2): of |gradient| and of hessian
    barrier: NDArray[np.int64]
    next_block: NDArray[np.int64]  # (1,): atomic counter of feature blocks
    next_leaf: NDArray[np.int64]  # (1,): atomic counter of leaves
    # this thread's own
    leaves: Records  # (max_leaf_nodes,) LEAF
    splits: BlockSplits


def allocate_workspaces(
    n_threads: int, n_rows: int, n_blocks: int, max_leaf_nodes: int
) -> list[Workspace]:
    """Return the workspace of each thread."""
    shared = Workspace(
        thread=0,
        n_threads=n_threads,
        rows=np.empty((2, n_rows), dtype=np.int32),
        packed_gradients=np.empty(n_rows, dtype=np.int64),
        leaf_gradients=np.empty(n_rows, dtype=np.int64),
        histograms=np.empty(
            (max_leaf_nodes, n_blocks, HISTOGRAM_BINS * FEATURE_BLOCK), dtype=np.int64
        ),
        candidates=np.zeros((n_threads, 2), dtype=CANDIDATE_SPLIT),
        thread_sums=np.zeros(n_threads, dtype=THREAD_SUMS),
        chunk_sums=np.zeros((N_CHUNKS, 2)),
        barrier=new_barrier(),
        next_block=np.zeros(1, dtype=np.int64),
        next_leaf=np.zeros(1, dtype=np.int64),
        leaves=np.zeros(max_leaf_nodes, dtype=LEAF),
        splits=allocate_block_splits(),
    )
    return [
        shared._replace(
            thread=thread,
            leaves=np.zeros(max_leaf_nodes, dtype=LEAF),
            splits=allocate_block_splits(),
        )
        for thread in range(n_threads)
    ]


@subkernel
def chunk_bounds(chunk: int, n_chunks: int, start: int, stop: int) -> tuple[int, int]:
    """Return where chunk number `chunk` of ``start:stop`` begins and ends."""
    n = stop - start
    return start + n * chunk // n_chunks, start + n * (chunk + 1) // n_chunks


@subkernel
def make_root(leaves: Records, n_rows: int, total: int) -> None:
    """Make leaf 0 the root of a new tree."""
    root = leaves[0]
    root.side = root.start = root.histogram = root.depth = root.node = 0
    root.stop = n_rows
    root.total = total
    root.gain = 0.0


@subkernel
def left_is_smaller(n_left: int, n_rows: int) -> bool:
    """Return whether the left child is the one whose histogram is made from rows."""
    return 2 * n_left <= n_rows


@subkernel
def split_leaf(
    leaves: Records, leaf: int, new: int, n_nodes: int, left_total: int, n_left: int
) -> None:
    """Turn `leaf` into its left child and `new` into its right child.

    They become nodes `n_nodes` and ``n_nodes + 1``.  The parent's histogram will be
    turned into that of the larger child.
    """
    left, right = leaves[leaf], leaves[new]
    parent_histogram = left.histogram
    left_smaller = left_is_smaller(n_left, left.stop - left.start)
    left.histogram = new if left_smaller else parent_histogram
    right.histogram = parent_histogram if left_smaller else new
    right.stop = left.stop
    left.stop = right.start = left.start + n_left
    left.side = right.side = 1 - left.side
    left.depth = right.depth = left.depth + 1
    left.node = n_nodes
    right.node = n_nodes + 1
    right.total = left.total - left_total
    left.total = left_total
    left.gain = right.gain = 0.0


@subkernel
def is_splittable(leaves: Records, leaf: int, parameters: GrowthParameters) -> bool:
    """Return whether a leaf is large and shallow enough; -1 is no leaf."""
    if leaf < 0:
        return False
    n_rows = leaves[leaf].stop - leaves[leaf].start
    is_large = n_rows >= 2 * parameters.min_samples_leaf
    return is_large and leaves[leaf].depth < parameters.max_depth


@subkernel
def best_leaf(leaves: Records, n_leaves: int) -> int:
    """Return the leaf with the highest split gain, the first of equals."""
    best = 0
    for leaf in range(1, n_leaves):
        if leaves[leaf].gain > leaves[best].gain:
            best = leaf
    return best
