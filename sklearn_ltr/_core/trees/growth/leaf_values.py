"""Values of the leaves: one Newton step each, in the order that constraints ask for.

    value = -learning_rate * sum(gradient) / (sum(hessian) + l2)

This is the Newton step of section 7 of Burges (2010), with l2 added; it is 0 if either
sum is 0.  For these sums, gradients and hessians are scaled and rounded to integers, so
that they depend neither on the order of the rows nor on the number of threads.  The
sum of ``|gradient|`` over all rows is scaled to 2^61, and so is the sum of hessians;
rounding adds at most half per row, so that sums stay below 2^62.

With `path_smooth` s above 0, values are drawn towards those of parents, from the root
down: the value w of a node of n rows (all rows, not those of a sample), whose parent's
is w_p, becomes

    w n / (n + s) + w_p s / (n + s),

as in LightGBM, where n counts the rows of a sample, and gains of splits are those of
smoothed values.

With monotonic constraints, two leaves must be in order if one column alone can lead
from one to the other: their regions meet in all features but one, which is constrained.
Of all leaf values v in such an order, values close to the (smoothed) Newton steps t are
taken,

    minimise  sum over leaves of  (sum of hessians) (v - t)^2,

by pooling leaves that are out of order (isotonic regression on a partial order: O.
Burdakov, A. Grimvall and O. Sysoev, "Data preordering in generalized PAV algorithm for
monotonic regression", Journal of Computational Mathematics 24, 2006).  The result is
always in order, and with one constrained feature and no other it is the minimum.

A score is a sum of trees in the same order for all rows, and rounding keeps the order
of sums, so scores are monotonic exactly, not up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import (
    LONG_TIME,
    ThreadTeam,
    int64,
    kernel,
    new_barrier,
    shared_kernel,
    subkernel,
    uint64,
    wait_at_barrier,
)
from sklearn_ltr._core.trees.binning import MISSING_BIN, BinnedData
from sklearn_ltr._core.trees.growth.blocks import HISTOGRAM_BINS
from sklearn_ltr._core.trees.growth.quantization import (
    RowDerivatives,
    chunk_bounds,
    scale_to_fit,
)
from sklearn_ltr._core.trees.growth.workspace import GrownTree, Records
from sklearn_ltr._core.typing import FloatArray, IntArray

Leaves = NDArray[np.unsignedinteger]  # numbers of leaves
Regions = NDArray[np.bool_]  # (n_nodes, n_used_features, 256): the bins of a node

LEAF_TILE = 8192  # rows whose leaves are found together, and stay in the cache


@subkernel
def newton_step(gradient: float, hessian: float, l2: float) -> float:
    """Return the value of a leaf from the sums of its rows, but for the learning rate.

    Splits under constraints call it in units of the quantization (`child_value`): so it
    must not depend on the scale of the gradients.
    """
    return -gradient / (hessian + l2)


# --- the leaves of rows -----------------------------------------------------------


class LeafSums(NamedTuple):
    """Sums over the rows of each leaf, as integers, of the scaled derivatives."""

    derivatives: RowDerivatives
    gradient: float  # sums of |gradient| and of hessians over all rows
    hessian: float
    totals: IntArray  # (n_threads, n_leaves or more, 3): gradient, hessian and 1; OUT
    l2_regularization: float
    learning_rate: float
    of_leaf: FloatArray  # (n_nodes,): sum of hessians of a leaf; OUT


class LeafWorkspace(NamedTuple):
    """Memory for the leaves of rows."""

    barrier: IntArray
    leaves: Leaves  # of all rows
    nodes: IntArray  # (n_nodes,): the node of each leaf, by its number
    # (n_threads, n_nodes), a thread's own: number of the leaf that a node was or is,
    # from 0 in the order in which leaves were made; and the nodes in the order in which
    # they were split
    numbers: Leaves
    splits: IntArray


def new_leaf_workspace(n_rows: int, n_nodes: int, n_threads: int) -> LeafWorkspace:
    """Return memory for the leaves of so many rows, in a tree of so many nodes."""
    # The smaller the numbers, the more of them are compared at once.  Bytes would do
    # for small trees, but for each type the kernels are compiled once more.
    dtype = np.uint16 if n_nodes < 2**17 else np.uint32
    return LeafWorkspace(
        new_barrier(),
        np.empty(n_rows, dtype),
        np.empty(n_nodes, dtype=np.int64),
        np.empty((n_threads, n_nodes), dtype),
        np.empty((n_threads, n_nodes), dtype=np.int64),
    )


def add_binned(
    binned: BinnedData, tree: GrownTree, scores: FloatArray, team: ThreadTeam
) -> LeafWorkspace:
    """Add to the score of each row the value of its leaf; return the leaves."""
    work = new_leaf_workspace(len(scores), len(tree.feature), team.n_threads)
    find_leaves(binned, tree, None, work, team)
    add_leaves(tree, work, scores, team)
    return work


def add_leaves(
    tree: GrownTree, work: LeafWorkspace, scores: FloatArray, team: ThreadTeam
) -> None:
    """Add to the score of each row the value of its leaf, which is known."""
    values = tree.value[leaf_nodes(tree, work)]
    add_values(work.leaves[np.newaxis], values[np.newaxis], scores, team)


def find_leaves(
    binned: BinnedData,
    tree: GrownTree,
    sums: LeafSums | None,
    work: LeafWorkspace,
    team: ThreadTeam,
    *,
    exchanges: bool = False,
) -> None:
    """Write the leaf of each row; given `sums`, add up the rows, and set values."""
    # `exchanges`: sums of other workers are added before values can be set
    columns, n_categories = binned.stored.columns, binned.n_categories
    if binned.stored.sparse is not None:  # of the features that the tree splits only
        used = np.unique(tree.feature[tree.feature >= 0]).astype(np.int64)
        feature = np.searchsorted(used, tree.feature).astype(np.int32)
        feature[tree.feature < 0] = -1
        split_by = tree._replace(feature=feature)
        columns, n_categories = binned.stored.columns_of(used), n_categories[used]
    else:
        split_by = tree
    # without categories None, so that no code that reads them is compiled
    has_sets = len(tree.category_set) > 0
    given = columns, n_categories if has_sets else None, split_by, sums, exchanges, work
    time = (1.5 + 0.04 * len(tree.feature)) * len(work.leaves)
    team.share(LONG_TIME if exchanges else time, _find_leaves, *given)


@shared_kernel
def _find_leaves(
    thread: int,
    n_threads: int,
    columns: NDArray[np.uint8],
    n_categories: IntArray | None,
    tree: GrownTree,
    sums: LeafSums | None,
    exchanges: bool,
    work: LeafWorkspace,
) -> None:
    """Write the leaves of a thread's chunk of the rows, and add up these."""
    numbers, leaves = work.numbers[thread], work.leaves
    first, last = chunk_bounds(thread, n_threads, int64(0), len(leaves))
    n_splits = number_leaves(tree, numbers, work.splits[thread])
    splits = work.splits[thread, :n_splits]
    if thread == 0:
        for node in range(len(tree.feature)):
            if tree.feature[node] < 0:
                work.nodes[uint64(numbers[node])] = node
    if sums is not None:
        sums.totals[thread, : n_splits + 1] = 0
        if thread == 0:  # nor have threads that came too late for this call
            for other in range(n_threads, len(sums.totals)):
                sums.totals[other, : n_splits + 1] = 0
    for start in range(first, last, LEAF_TILE):
        stop = min(start + LEAF_TILE, last)
        _find_leaves_of_tile(
            columns, n_categories, tree, numbers, splits, start, stop, leaves
        )
        if sums is not None:
            _add_rows(sums, sums.totals[thread], leaves, start, stop)
    if sums is not None and not exchanges:
        wait_at_barrier(work.barrier, n_threads)
        if thread == 0:
            set_leaf_values(tree, numbers, sums)


def leaf_nodes(tree: GrownTree, work: LeafWorkspace) -> IntArray:
    """Return the nodes of the leaves, by the numbers that rows have, (n_leaves,)."""
    return work.nodes[: (len(tree.feature) + 1) // 2]


def add_values(
    leaves: Leaves, values: FloatArray, scores: FloatArray, team: ThreadTeam
) -> None:
    """Add to the score of each row the values of its leaves in one or more trees."""
    # (n_trees, n_rows): numbers of leaves, and (n_trees, n_leaves): their values
    team.share(0.6 * leaves.size, _add_values, leaves, values, scores)


@shared_kernel
def _add_values(
    thread: int,
    n_threads: int,
    leaves: Leaves,
    values: FloatArray,
    scores: FloatArray,
) -> None:
    """Add values to a thread's chunk of the rows, one tree after another."""
    first, last = chunk_bounds(thread, n_threads, int64(0), len(scores))
    for start in range(first, last, LEAF_TILE):
        stop = min(start + LEAF_TILE, last)
        for tree in range(len(leaves)):
            own, of_leaf = leaves[tree], values[tree]
            for i in range(uint64(start), uint64(stop)):
                scores[i] += of_leaf[uint64(own[i])]


@subkernel
def number_leaves(tree: GrownTree, numbers: Leaves, splits: IntArray) -> int:
    """Write the numbers of leaves, and the splits; return how many splits there are."""
    # The root is number 0.  A left child takes over its parent's number, and the right
    # child of split k, from 0, is number k + 1: the children are nodes 2 k + 1 and
    # 2 k + 2.
    n_splits = len(tree.left) // 2
    for node in range(len(tree.left)):
        if tree.left[node] >= 0:
            splits[(int64(tree.left[node]) - 1) // 2] = node
    numbers[0] = 0
    for k in range(n_splits):
        numbers[2 * k + 1], numbers[2 * k + 2] = numbers[splits[k]], k + 1
    return n_splits


@subkernel
def _find_leaves_of_tile(
    columns: NDArray[np.uint8],
    n_categories: IntArray | None,
    tree: GrownTree,
    numbers: Leaves,
    splits: IntArray,
    first: int,
    last: int,
    leaves: Leaves,
) -> None:
    """Write the leaves of a tile of the rows."""
    # All rows of a tile take part in all splits, in the order in which the tree was
    # grown: a row that is in the leaf that is split, and whose bin goes right, is given
    # the number of the new leaf.  That is a few instructions for 16 to 64 rows at once.
    # (A row that walks through the tree has to wait for one node after the other.)
    for i in range(uint64(first), uint64(last)):
        leaves[i] = 0
    for node in splits:
        feature = tree.feature[node]
        column = columns[feature]
        split, right = numbers[node], numbers[tree.left[node] + 1]
        if n_categories is not None and n_categories[feature] > 0:
            # in four words, which are selected without a branch for many rows at once
            words = category_words(tree.category_set[node])
            for i in range(uint64(first), uint64(last)):
                b = uint64(column[i])
                low = words[0] if b < 64 else words[1]
                high = words[2] if b < 192 else words[3]
                word = low if b < 128 else high
                stays = word >> (b & uint64(63)) & uint64(1) == uint64(1)
                leaves[i] = leaves[i] if stays | (leaves[i] != split) else right
        else:
            # one more, modulo 256, makes bin 255, missing values, the lowest
            shift = int64(tree.missing_left[node])
            threshold = np.uint8(tree.threshold[node] + shift)
            for i in range(uint64(first), uint64(last)):
                moves = np.uint8((column[i] + shift) & 255) > threshold
                leaves[i] = right if moves & (leaves[i] == split) else leaves[i]


@subkernel
def category_words(category_set: NDArray[np.uint8]) -> tuple[int, int, int, int]:
    """Return the bits of a set of bins, 64 in each word."""
    words = uint64(0), uint64(0), uint64(0), uint64(0)
    for byte in range(8):
        shift = uint64(8 * byte)
        words = (
            words[0] | uint64(category_set[byte]) << shift,
            words[1] | uint64(category_set[8 + byte]) << shift,
            words[2] | uint64(category_set[16 + byte]) << shift,
            words[3] | uint64(category_set[24 + byte]) << shift,
        )
    return words


@subkernel
def leaf_scales(sums: LeafSums) -> tuple[float, float]:
    """Return the scales of gradients and hessians, see the docstring of this module."""
    capacity = 2.0**61
    return (
        scale_to_fit(capacity, sums.gradient),
        scale_to_fit(capacity, sums.hessian),
    )


@subkernel
def _add_rows(
    sums: LeafSums, totals: IntArray, leaves: Leaves, first: int, last: int
) -> None:
    """Add gradient, hessian and 1 of rows first to last - 1 to a thread's totals."""
    gradient, hessian = sums.derivatives.gradient, sums.derivatives.hessian
    g_scale, h_scale = leaf_scales(sums)
    for i in range(uint64(first), uint64(last)):
        leaf = uint64(leaves[i])
        totals[leaf, 0] += int64(np.rint(gradient[i] * g_scale))
        totals[leaf, 1] += int64(np.rint(hessian[i] * h_scale))
        totals[leaf, 2] += 1


@kernel
def set_leaf_values(tree: GrownTree, numbers: Leaves, sums: LeafSums) -> None:
    """Write value, number of rows and sum of hessians of each leaf, of all workers."""
    # of all threads that there are, of which fewer may have found the leaves
    g_scale, h_scale = leaf_scales(sums)
    for node in range(len(tree.feature)):
        if tree.feature[node] >= 0:
            continue
        leaf = uint64(numbers[node])
        g, h, n_rows = int64(0), int64(0), int64(0)
        for thread in range(len(sums.totals)):
            g += sums.totals[thread, leaf, 0]
            h += sums.totals[thread, leaf, 1]
            n_rows += sums.totals[thread, leaf, 2]
        if h_scale > 0.0:
            sums.of_leaf[node] = float(h) / h_scale
        tree.value[node] = value_of(g, h, sums)
        tree.n_rows[node] = n_rows


@subkernel
def value_of(g: int, h: int, sums: LeafSums) -> float:
    """Return the value of a node from the sums of its rows, as integers."""
    if g == 0 or h == 0:
        return 0.0
    g_scale, h_scale = leaf_scales(sums)
    step = newton_step(float(g) / g_scale, float(h) / h_scale, sums.l2_regularization)
    return sums.learning_rate * step


@kernel
def smooth_leaf_values(
    tree: GrownTree, numbers: Leaves, sums: LeafSums, path_smooth: float
) -> None:
    """Draw the values of the leaves towards those of the nodes above them."""
    # nodes have the sums of their children, which come after them
    n_nodes = len(tree.feature)
    totals, value = np.zeros((n_nodes, 3), dtype=np.int64), np.empty(n_nodes)
    for node in range(n_nodes - 1, -1, -1):
        for k in range(3):
            if tree.feature[node] < 0:
                for thread in range(len(sums.totals)):
                    totals[node, k] += sums.totals[thread, uint64(numbers[node]), k]
            else:
                left, right = tree.left[node], tree.right[node]
                totals[node, k] = totals[left, k] + totals[right, k]
        value[node] = value_of(totals[node, 0], totals[node, 1], sums)
    for node in range(n_nodes):
        if tree.feature[node] < 0:
            tree.value[node] = value[node]
            continue
        for child in (tree.left[node], tree.right[node]):
            n = float(totals[child, 2])
            value[child] = value[child] * (n / (n + path_smooth)) + value[node] * (
                path_smooth / (n + path_smooth)
            )


# --- monotonic constraints --------------------------------------------------------


@kernel
def order_leaf_values(
    nodes: Records,
    category_set: NDArray[np.uint8],
    n_categories: IntArray,
    monotonic: NDArray[np.int8],
) -> None:
    """Bring the leaf values of a grown tree in order."""
    n_leaves = (len(nodes) + 1) // 2
    values, weights = np.empty(n_leaves), np.empty(n_leaves)
    leaf_nodes = leaves_in_order(nodes, monotonic)
    for i in range(n_leaves):
        values[i] = nodes[leaf_nodes[i]].value
        weights[i] = nodes[leaf_nodes[i]].hessian
    feature, column = used_features(nodes, len(n_categories))
    regions = node_regions(nodes, column, len(feature), n_categories, category_set)
    pool_leaves(ordered_pairs(regions, leaf_nodes, feature, monotonic), values, weights)
    for i in range(n_leaves):
        nodes[leaf_nodes[i]].value = values[i]


@subkernel
def leaves_in_order(nodes: Records, monotonic: NDArray[np.int8]) -> IntArray:
    """Return the nodes of the leaves so that no leaf must be above a later one."""
    # At a split of a constrained feature, the leaves of the child with the lower values
    # come first.  At any other split it does not matter which child's leaves do.
    n_leaves = (len(nodes) + 1) // 2
    ordered, stack = np.empty(n_leaves, dtype=np.int64), np.empty(len(nodes), np.int64)
    n_ordered, size = 0, 1
    stack[0] = 0
    while size > 0:
        size -= 1
        number = stack[size]
        node = nodes[number]
        if node.feature < 0:
            ordered[n_ordered] = number
            n_ordered += 1
        else:
            falls = monotonic[node.feature] < 0
            stack[size] = node.left if falls else node.right
            stack[size + 1] = node.right if falls else node.left
            size += 2
    return ordered


@subkernel
def used_features(nodes: Records, n_features: int) -> tuple[IntArray, IntArray]:
    """Return the features that the tree splits by, and the position of each in them."""
    column, feature = np.full(n_features, -1), np.empty(n_features, dtype=np.int64)
    n_used = 0
    for number in range(len(nodes)):
        j = nodes[number].feature
        if j >= 0 and column[j] < 0:
            column[j] = n_used
            feature[n_used] = j
            n_used += 1
    return feature[:n_used], column


@subkernel
def node_regions(
    nodes: Records,
    column: IntArray,
    n_used: int,
    n_categories: IntArray,
    category_set: NDArray[np.uint8],
) -> Regions:
    """Return which bins of each feature can reach a node."""
    regions = np.ones((len(nodes), n_used, HISTOGRAM_BINS), dtype=np.bool_)
    for number in range(len(nodes)):
        node = nodes[number]
        if node.feature >= 0:
            left, right = regions[node.left], regions[node.right]
            # not by slices, whose check of shapes takes seconds to compile
            for i in range(n_used):
                for b in range(HISTOGRAM_BINS):
                    left[i, b] = right[i, b] = regions[number, i, b]
            is_set = n_categories[node.feature] > 0
            for b in range(HISTOGRAM_BINS):
                if is_set:
                    goes_left = category_set[number, b // 8] >> (b % 8) & 1 == 1
                elif b == MISSING_BIN:
                    goes_left = node.missing_left
                else:
                    goes_left = b <= node.threshold
                left[column[node.feature], b] &= goes_left
                right[column[node.feature], b] &= not goes_left
    return regions


@subkernel
def ordered_pairs(
    regions: Regions,
    leaf_nodes: IntArray,
    feature: IntArray,
    monotonic: NDArray[np.int8],
) -> NDArray[np.bool_]:
    """Return (n_leaves, n_leaves): whether leaf i must not be above leaf j > i."""
    n_leaves = len(leaf_nodes)
    pairs = np.zeros((n_leaves, n_leaves), dtype=np.bool_)
    for i in range(n_leaves):
        for j in range(i + 1, n_leaves):
            a, b = regions[leaf_nodes[i]], regions[leaf_nodes[j]]
            apart, n_apart = 0, 0
            for k in range(len(feature)):
                if not overlap(a[k], b[k]):
                    apart = k
                    n_apart += 1
                    if n_apart > 1:
                        break
            if n_apart == 1 and monotonic[feature[apart]] != 0:
                # missing values have no order, so a leaf of nothing else has none
                pairs[i, j] = has_values(a[apart]) and has_values(b[apart])
    return pairs


@subkernel
def overlap(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> bool:
    """Whether a bin is in both regions."""
    overlaps = False
    for i in range(HISTOGRAM_BINS):
        overlaps |= a[i] & b[i]
    return overlaps


@subkernel
def has_values(bins: NDArray[np.bool_]) -> bool:
    """Whether a bin other than the bin of missing values is in the region."""
    any_value = False
    for i in range(MISSING_BIN):
        any_value |= bins[i]
    return any_value


@subkernel
def pool_leaves(
    pairs: NDArray[np.bool_], values: FloatArray, weights: FloatArray
) -> None:
    """Replace values that are out of order by weighted means of pools of leaves."""
    # Leaf after leaf becomes a pool.  While an earlier pool whose values must not be
    # higher has a higher one, the new pool takes in the highest of these pools.
    n = len(values)
    pool = np.arange(n)
    for new in range(n):
        while True:
            worst = -1
            for i in range(new):
                if pool[i] == new or not values[pool[i]] > values[new]:
                    continue
                for j in range(i + 1, new + 1):
                    if pairs[i, j] and pool[j] == new:
                        if worst < 0 or values[pool[i]] > values[worst]:
                            worst = pool[i]
                        break
            if worst < 0:
                break
            total = weights[new] + weights[worst]
            fraction = weights[worst] / total if total > 0.0 else 0.5
            values[new] += fraction * (values[worst] - values[new])
            weights[new] = total
            for i in range(new):
                if pool[i] == worst:
                    pool[i] = new
    for i in range(n):
        values[i] = values[pool[i]]
