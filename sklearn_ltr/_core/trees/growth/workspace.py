"""Inputs and results of tree growth, and its working memory with all sizes.

All threads of a team grow a tree together.  They share the rows, the histograms and
the candidate splits.  The table of leaves is small, so each thread has its own: all
threads make the same updates to it, and no thread waits for another to read it.  What
each thread has of its own is allocated as one array, whose first axis is the thread.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from sklearn_ltr._core.compile import (
    CACHE_LINE,
    allocate_aligned,
    new_barrier,
    subkernel,
)
from sklearn_ltr._core.data.binned_columns import BIN_BITS, BIN_MASK, ROW_BITS, ROW_MASK
from sklearn_ltr._core.trees.binning import BinnedData
from sklearn_ltr._core.trees.constraints import NO_CONSTRAINTS, Constraints
from sklearn_ltr._core.trees.growth.blocks import FEATURE_BLOCK, HISTOGRAM_BINS, Blocks
from sklearn_ltr._core.trees.growth.quantization import Quantization
from sklearn_ltr._core.typing import FloatArray, IntArray

TASKS_PER_THREAD = 4  # chunks of rows of a block, at least, in a large leaf
SET_BYTES = HISTOGRAM_BINS // 8  # of a set of bins
NO_LEAF = NO_HISTOGRAM = NOT_DIVIDED = -1


class GrowthParameters(NamedTuple):
    """Size of the trees and values of their leaves."""

    max_leaf_nodes: int  # >= 2
    max_depth: int  # of a leaf; the root has depth 0
    min_samples_leaf: int
    # added to the sum of hessians: in leaf values, and in second-order gains
    l2_regularization: float
    second_order: bool  # in gains, W is the sum of hessians, else the number of rows
    category_smoothing: float = 0.0  # see growth/splitting.py
    constraints: Constraints = NO_CONSTRAINTS
    path_smooth: float = 0.0  # see leaf_values.py


class GrownTree(NamedTuple):
    """A tree whose thresholds are bins: arrays of shape (n_nodes,); node 0 is the root.

    Both children of a node come after it, the right one directly after the left one.
    """

    feature: NDArray[np.int32]  # -1: a leaf
    threshold: NDArray[np.uint8]  # bins <= threshold go left
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]  # children; -1 in a leaf
    right: NDArray[np.int32]
    gain: FloatArray  # of the split, see TreeEnsemble.gain; 0 in a leaf
    n_rows: IntArray  # of a leaf
    # (n_nodes, 32): of a split by categories, bit ``b % 8`` of byte ``b // 8`` is 1 if
    # bin b goes left; (0, 32) without categorical features
    category_set: NDArray[np.uint8]
    value: FloatArray  # of a leaf, learning rate included


class SplitRule(NamedTuple):
    """How splits are compared, and which are allowed."""

    quantization: Quantization
    # W is the sum of the numbers packed as hessians (with a sample, also for least
    # squares, see `make_rule`); if False, the number of rows
    second_order: bool
    # second order: l2_regularization * hessian_scale; least squares: 0, since there
    # only leaf values are regularised
    l2: float
    min_samples_leaf: int
    max_depth: int  # of a leaf
    category_smoothing: float = 0.0
    gain_unit: float = 1.0  # of quantized gradients, in units of the objective


def make_rule(parameters: GrowthParameters, quantization: Quantization) -> SplitRule:
    """Return the rule for the splits of one tree."""
    # for least squares on a sample, a row kept with probability p counts as 1 / p rows,
    # and this number is packed in place of its hessian
    p, has_hessians = parameters, quantization.hessian_bits > 0
    gain_unit = quantization.hessian_scale if has_hessians else 1.0
    l2 = p.l2_regularization * quantization.hessian_scale if p.second_order else 0.0
    gradient_scale = quantization.gradient_scale
    if gradient_scale > 0:
        gain_unit = gain_unit / gradient_scale / gradient_scale
    limits = p.min_samples_leaf, p.max_depth, p.category_smoothing
    return SplitRule(quantization, has_hessians, l2, *limits, gain_unit)


class GrowingTree(NamedTuple):
    """A tree that is grown: its rows, the limits on its splits, and its nodes."""

    rule: SplitRule
    blocks: Blocks  # the bins of the rows of the sample
    n_rows: int  # of the sample, of this worker
    total: int  # packed sum of these rows, over all workers
    # (n_nodes, n_features): whether a feature may split a node; of a symmetric tree,
    # the conditions of a level
    allowed: NDArray[np.bool_]
    most_steps: int  # of the loop
    exchanges: bool  # whether splits are sought in histograms summed over workers
    nodes: Records  # (n_nodes,) TREE_NODE; OUT


# Small tables are arrays of records instead of one array per field: the fewer arrays
# kernels have, the faster numba compiles them.  ``leaf = leaves[i]`` refers to the
# array's memory, so that ``leaf.gain = 0.0`` changes the array.

Record: TypeAlias = Any
Records: TypeAlias = NDArray[Any]


def record_dtype(**fields: type) -> np.dtype[Any]:
    """Return the dtype of an array of records with these fields."""
    return np.dtype((np.record, list(fields.items())), align=True)


TREE_NODE = record_dtype(  # fields as in GrownTree
    feature=np.int32,
    threshold=np.uint8,
    missing_left=np.bool_,
    left=np.int32,
    right=np.int32,
    gain=np.float64,
    n_rows=np.int64,
    value=np.float64,
    hessian=np.float64,  # sum over the rows of a leaf
)

LEAF = record_dtype(
    buffer=np.int64,  # its rows are RowBuffers.rows[buffer, start:stop]
    start=np.int64,
    stop=np.int64,
    histogram_index=np.int64,  # GrowthWorkspace.histograms[histogram_index] is its own
    depth=np.int64,
    node=np.int64,  # its node in the tree
    total=np.int64,  # sum of the packed gradients of its rows, over all workers
    gain=np.float64,  # of its best split, of quantized gradients; 0: no split
    feature=np.int64,  # its best split, as in GrownTree
    threshold=np.int64,
    missing_left=np.bool_,
    # once its rows are divided, before it is split into two leaves
    left_total=np.int64,  # packed sum of its left child, over all workers
    n_left=np.int64,  # rows of its left child, of this worker; else NOT_DIVIDED
    child_histogram=np.int64,  # index, for its smaller child; NO_HISTOGRAM: not yet
)

PROGRESS = record_dtype(
    n_leaves=np.int64,  # 0: the tree is not begun
    n_steps=np.int64,  # of the loop: splits, or levels of a symmetric tree
    smaller=np.int64,  # siblings that the last step made; at first the root
    larger=np.int64,  # NO_LEAF: the root has no sibling
    n_pairs=np.int64,  # of siblings that the last step made, in a symmetric tree
    n_histograms=np.int64,  # in use
    is_grown=np.bool_,
)

CANDIDATE_SPLIT = record_dtype(
    gain=np.float64,
    feature=np.int64,
    threshold=np.int64,
    missing_left=np.bool_,
)


class Team(NamedTuple):
    """The team of threads, as one of them sees it."""

    thread: int  # 0 to n_threads - 1
    n_threads: int
    barrier: IntArray
    n_left: IntArray  # (n_threads,): rows of each chunk of a leaf that go left


class RowBuffers(NamedTuple):
    """The rows of all leaves, numbered as in the sample, and their packed gradients."""

    # (2, n_rows): the rows of a leaf are contiguous in one of the two buffers; the rows
    # of its children take the same place in the other
    rows: NDArray[np.int32]
    packed_gradients: IntArray  # (n_rows,): of each row
    # (n_rows,): packed gradients of the leaves whose histograms are made next, where
    # these leaves have their rows
    leaf_gradients: IntArray


class BlockSplits(NamedTuple):
    """The best split of each feature of a block: arrays of shape (16,)."""

    score: FloatArray  # G_L^2 / (W_L + l2) + G_R^2 / (W_R + l2); 0: no split
    # bins up to and including ``threshold % 256`` go left; missing values go left if
    # the number is 256 or more
    threshold: IntArray


class CategoryOrder(NamedTuple):
    """Categories of a leaf, sorted for a split: arrays of shape (256,)."""

    category: IntArray
    ratio: FloatArray  # by which they are sorted


class SpecialFeatures(NamedTuple):
    """Categorical features and constraints, which most trees do not have."""

    n_categories: IntArray  # as in BinnedData
    constraints: Constraints
    # (n_nodes, n_sets): the interaction sets that hold all features of a node's path
    open_sets: NDArray[np.bool_]
    category_order: CategoryOrder  # a thread's own


class LevelWorkspace(NamedTuple):
    """Memory for the levels of a symmetric tree."""

    root: IntArray  # (n_blocks, 256 * 16): the root's histogram; shared
    # this thread's own, the same in all threads but for `gains`
    # (1,) LEAF: the condition of the level that is split, as of a leaf of all rows
    level: Records
    # (max_leaf_nodes,): numbers of leaves; first the siblings that the last step made,
    # the smaller before the larger one
    order: IntArray
    # (2, 256 * 16), as histograms: gain of each threshold of a block, summed over the
    # leaves of the level; missing values go right in [0], left in [1]
    gains: FloatArray


class SparseWorkspace(NamedTuple):
    """Sparse columns, of those with entries enough for a split, and memory for them."""

    # shared by all threads; of all rows, as in SparseColumns
    feature: IntArray
    default_bin: NDArray[np.uint8]
    entries: IntArray
    starts: IntArray  # (n_columns + 1,): of the entries of each column
    n_bins: IntArray  # (n_columns,): missing not counted
    first_key: IntArray  # (n_columns + 1,)
    key_column: NDArray[np.uint32]  # (n_keys,)
    key_bin: NDArray[np.uint8]  # (n_keys,)
    # the keys of row i are ``row_keys[row_start[i] : row_start[i + 1]]``, ascending
    row_keys: NDArray[np.uint32]  # (n_entries,)
    row_start: IntArray  # (n_rows + 1,)
    # of the tree that is grown
    is_drawn: NDArray[np.bool_]  # (n_columns,): whether the tree may split a column
    rows: NDArray[np.int32]  # (n_rows,): the rows of its sample
    place: NDArray[np.int32]  # (n_rows,): of each row in the sample; -1: not there
    # (n_rows, 1): bin of each row of the sample in the feature that splits its leaf
    bins: NDArray[np.uint8]
    # each thread writes the part of its columns
    own_keys: NDArray[np.uint32]  # (n_entries,): as `row_keys`, of the sample
    sum_of_key: IntArray  # (n_keys,): packed sums of a leaf, else 0
    list_keys: NDArray[np.uint32]  # (2 * n_entries,): keys of leaves, ascending in each
    list_sums: IntArray  # the packed sum of each
    # (n_threads, max_leaf_nodes, 2): where lists begin and end, by `histogram_index`
    bounds: IntArray
    own_start: IntArray  # (n_threads, n_rows + 1): of rows, in `own_keys`
    list_end: IntArray  # (n_threads, 8): [t, 0] is where the last list ends
    sums: IntArray  # (n_threads, 256): packed sums of all bins of a column
    place_in_list: IntArray  # (n_threads, max_leaf_nodes): in those of a level


class GrowthWorkspace(NamedTuple):
    """Memory for growing trees, as one thread sees it; reused from tree to tree."""

    # In that of all threads, arrays that are a thread's own have the thread as a
    # further first axis

    team: Team
    # shared by all threads
    buffers: RowBuffers
    histograms: IntArray  # (n_histograms, n_blocks, 256 * 16)
    # (n_blocks, n, 256 * 16): of the chunks of a leaf's rows, but for the first ones
    chunk_histograms: IntArray
    next_task: IntArray  # (n_threads, 8): [t, 0] counts the tasks of thread t
    n_filled: IntArray  # (n_blocks,): atomic counters of filled chunks
    # (n_threads, 8) CANDIDATE_SPLIT: the best split each thread has found for each of
    # two sibling leaves: [thread, 0] of the smaller one, [thread, 1] of the larger one;
    # in a symmetric tree, [thread, 0] for the level
    candidates: Records
    category_set: NDArray[np.uint8]  # as in GrownTree, of the tree that is grown
    # this thread's own
    splits: BlockSplits
    # the same in all threads
    progress: Records  # (1,) PROGRESS
    leaves: Records  # (max_leaf_nodes,) LEAF
    # None if there are none: then no code for them is compiled
    special: SpecialFeatures | None
    goes_left: NDArray[np.uint8]  # (256,): 1 for the bins that a split sends left
    levels: Any  # LevelWorkspace of a symmetric tree, else None
    sparse: Any  # SparseWorkspace if there are sparse columns, else None; shared


def allocate_nodes(max_leaf_nodes: int) -> Records:
    """Return the nodes of a tree of the largest size; all of them are leaves."""
    nodes = np.zeros(2 * max_leaf_nodes - 1, dtype=TREE_NODE)
    nodes["feature"] = nodes["left"] = nodes["right"] = -1
    return nodes


def own_records(n_threads: int, n_records: int, dtype: np.dtype[Any]) -> Records:
    """Return an array of records of each thread, (n_threads, n_records or more)."""
    # as many more as keep threads from writing to the same cache line
    n_more = -(-CACHE_LINE // dtype.itemsize)
    return np.zeros((n_threads, n_records + n_more), dtype=dtype)


def allocate_workspace(
    parameters: GrowthParameters,
    blocks: Blocks,
    binned: BinnedData,
    n_threads: int,
    n_histograms: int,
    levels: LevelWorkspace | None,
) -> GrowthWorkspace:
    """Return the workspace of all threads."""
    n_categories = binned.n_categories
    n_blocks, n_rows, _ = blocks.values.shape
    max_leaf_nodes = parameters.max_leaf_nodes
    histogram_size = HISTOGRAM_BINS * FEATURE_BLOCK
    # Chunks are so many that threads end at about the same time
    n_chunks = -(-TASKS_PER_THREAD * n_threads // n_blocks) if n_threads > 1 else 1
    # What one thread writes often is in cache lines of its own, from which others then
    # need not fetch anything else
    next_task = allocate_aligned((n_threads, 8), np.int64)
    n_filled = allocate_aligned((1, -(-n_blocks // 8) * 8), np.int64)[0]
    goes_left = allocate_aligned((n_threads, HISTOGRAM_BINS), np.uint8)
    next_task[:], n_filled[:], goes_left[:] = 0, 0, 0
    n_nodes, slots_of_threads = 2 * max_leaf_nodes - 1, (n_threads, FEATURE_BLOCK)
    special, constraints = None, parameters.constraints
    n_sets = len(constraints.interaction_sets)
    if n_categories.any() or n_sets + len(constraints.monotonic) > 0:
        shape = n_threads, HISTOGRAM_BINS
        special = SpecialFeatures(
            n_categories,
            constraints,
            np.ones((n_nodes, n_sets), dtype=np.bool_),
            CategoryOrder(np.zeros(shape, dtype=np.int64), np.zeros(shape)),
        )
    return GrowthWorkspace(
        team=Team(0, n_threads, new_barrier(), np.zeros(n_threads, dtype=np.int64)),
        buffers=RowBuffers(
            rows=np.empty((2, n_rows), dtype=np.int32),
            packed_gradients=np.empty(n_rows, dtype=np.int64),
            leaf_gradients=np.empty(n_rows, dtype=np.int64),
        ),
        histograms=allocate_aligned((n_histograms, n_blocks, histogram_size), np.int64),
        chunk_histograms=allocate_aligned(
            (n_blocks, n_chunks - 1, histogram_size), np.int64
        ),
        next_task=next_task,
        n_filled=n_filled,
        candidates=np.zeros((n_threads, 8), dtype=CANDIDATE_SPLIT),
        category_set=np.zeros((n_nodes * n_categories.any(), SET_BYTES), np.uint8),
        splits=BlockSplits(
            allocate_aligned(slots_of_threads, np.float64),
            allocate_aligned(slots_of_threads, np.int64),
        ),
        progress=own_records(n_threads, 1, PROGRESS),
        leaves=own_records(n_threads, max_leaf_nodes, LEAF),
        special=special,
        goes_left=goes_left,
        levels=levels,
        sparse=_sparse_workspace(parameters, binned, n_threads),
    )


def _sparse_workspace(
    parameters: GrowthParameters, binned: BinnedData, n_threads: int
) -> SparseWorkspace | None:
    """Return the memory for sparse columns, None if none can be split."""
    sparse = binned.stored.sparse
    if sparse is None:
        return None
    sizes, shape = np.diff(sparse.starts), (sparse.n_rows, len(sparse.feature))
    entries = sparse.entries[(sizes >= parameters.min_samples_leaf).repeat(sizes)]
    if len(entries) == 0:
        return None
    starts = sparse._replace(entries=entries).starts
    # keys are the different bins of all columns, in the order of entries
    key_code = entries >> ROW_BITS
    is_first = np.append(True, key_code[1:] != key_code[:-1])
    key = np.cumsum(is_first, dtype=np.uint32) - np.uint32(1)
    key_code = key_code[is_first]
    row = (entries & ROW_MASK).astype(np.int32)
    by_row = csc_matrix((key, row, starts), shape=shape).tocsr()
    first_key = np.searchsorted(key_code, np.arange(shape[1] + 1) << BIN_BITS)
    max_leaf_nodes = parameters.max_leaf_nodes
    # as elsewhere, pages that are not written take no memory
    return SparseWorkspace(
        feature=sparse.feature,
        default_bin=sparse.default_bin,
        entries=entries,
        starts=starts,
        n_bins=binned.n_bins[sparse.feature],
        first_key=first_key.astype(np.int64),
        key_column=(key_code >> BIN_BITS).astype(np.uint32),
        key_bin=(key_code & BIN_MASK).astype(np.uint8),
        row_keys=by_row.data,
        row_start=by_row.indptr.astype(np.int64),
        is_drawn=np.ones(shape[1], dtype=np.bool_),
        rows=np.empty(shape[0], dtype=np.int32),
        place=np.empty(shape[0], dtype=np.int32),
        bins=np.empty((shape[0], 1), dtype=np.uint8),
        own_keys=np.empty(len(entries), dtype=np.uint32),
        sum_of_key=np.zeros(len(key_code), dtype=np.int64),
        list_keys=np.empty(2 * len(entries), dtype=np.uint32),
        list_sums=np.empty(2 * len(entries), dtype=np.int64),
        bounds=np.zeros((n_threads, max_leaf_nodes, 2), dtype=np.int64),
        own_start=np.empty((n_threads, shape[0] + 1), dtype=np.int64),
        list_end=np.zeros((n_threads, 8), dtype=np.int64),
        sums=np.empty((n_threads, HISTOGRAM_BINS), dtype=np.int64),
        place_in_list=np.empty((n_threads, max_leaf_nodes), dtype=np.int64),
    )


@subkernel
def workspace_of_thread(
    thread: int, n_threads: int, work: GrowthWorkspace
) -> GrowthWorkspace:
    """Return the workspace as one thread sees it, given that of all."""
    team, splits = work.team, work.splits
    return GrowthWorkspace(
        Team(thread, n_threads, team.barrier, team.n_left),
        work.buffers,
        work.histograms,
        work.chunk_histograms,
        work.next_task,
        work.n_filled,
        work.candidates,
        work.category_set,
        BlockSplits(splits.score[thread], splits.threshold[thread]),
        work.progress[thread],
        work.leaves[thread],
        _special_of_thread(thread, work.special),
        work.goes_left[thread],
        _levels_of_thread(thread, work.levels),
        work.sparse,
    )


@subkernel
def _special_of_thread(
    thread: int, special: SpecialFeatures | None
) -> SpecialFeatures | None:
    """Return the special features as one thread sees them, None if there are none."""
    if special is None:
        return None
    order = special.category_order
    return SpecialFeatures(
        special.n_categories,
        special.constraints,
        special.open_sets,
        CategoryOrder(order.category[thread], order.ratio[thread]),
    )


@subkernel
def _levels_of_thread(
    thread: int, levels: LevelWorkspace | None
) -> LevelWorkspace | None:
    """Return the memory for levels as one thread sees it, None if there is none."""
    if levels is None:
        return None
    return LevelWorkspace(
        levels.root, levels.level[thread], levels.order[thread], levels.gains[thread]
    )


@subkernel
def new_histogram(progress: Record) -> int:
    """Return the index of a histogram that is not in use, and is from now on."""
    index: int = progress.n_histograms
    progress.n_histograms += 1
    return index


@subkernel
def is_splittable(leaf: Record, rule: SplitRule) -> bool:
    """Return whether a leaf is large and shallow enough."""
    n_rows: int = leaf.total & rule.quantization.count_mask
    depth: int = leaf.depth
    return n_rows >= 2 * rule.min_samples_leaf and depth < rule.max_depth
