"""Values of the leaves: one Newton step each, in the order that constraints ask for.

    value = -learning_rate * sum(gradient) / (sum(hessian) + l2)

This is the Newton step of section 7 of Burges (2010), with l2 added; it is 0 if either
sum is 0.  For these sums, gradients and hessians are scaled and rounded to integers, so
that they depend neither on the order of the rows nor on the number of threads.  The
sum of ``|gradient|`` over all rows is scaled to 2^61, and so is the sum of hessians;
rounding adds at most half per row, so that sums stay below 2^62.

With monotonic constraints, two leaves must be in order if one column alone can lead
from one to the other: their regions meet in all features but one, which is constrained.
Of all leaf values v in such an order, values close to the Newton steps t are taken,

    minimise  sum over leaves of  (sum of hessians) (v - t)^2,

by pooling leaves that are out of order (isotonic regression on a partial order: O.
Burdakov, A. Grimvall and O. Sysoev, "Data preordering in generalized PAV algorithm for
monotonic regression", Journal of Computational Mathematics 24, 2006).  The result is
always in order, and with one constrained feature and no other it is the minimum.

A score is a sum of trees in the same order for all rows, and rounding keeps the order
of sums, so scores are monotonic exactly, not up to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import (
    ThreadTeam,
    int64,
    kernel,
    shared_kernel,
    subkernel,
    uint64,
)
from sklearn_ltr._trees.binning import MISSING_BIN, BinnedData
from sklearn_ltr._trees.growth.blocks import HISTOGRAM_BINS
from sklearn_ltr._trees.growth.quantization import (
    Magnitudes,
    RowDerivatives,
    chunk_bounds,
    scale_to_fit,
)
from sklearn_ltr._trees.growth.workspace import GrownTree, Records
from sklearn_ltr._typing import IntArray

Leaves = NDArray[np.unsignedinteger]  # (n_rows,): number of the leaf of each row
Regions = NDArray[np.bool_]  # (n_nodes, n_used_features, 256): the bins of a node

LEAF_TILE = 8192  # rows whose leaves are found together, and stay in the cache


def add_binned(
    binned: BinnedData, tree: GrownTree, scores: NDArray[np.float64], team: ThreadTeam
) -> None:
    """Add to the score of each row the value of its leaf."""
    numbers = leaf_numbers(tree)
    leaves = find_leaves(binned, tree, numbers, None, team)
    add_values(tree, numbers, leaves, scores, team)


def newton_step(gradient: Any, hessian: Any, l2: float) -> Any:
    """Return the value of a leaf from the sums of its rows, but for the learning rate.

    Python calls it for arrays, and kernels for numbers (`splitting.child_value`), in
    units of the quantization: so it must not depend on the scale of the gradients.
    """
    return -gradient / (hessian + l2)


# --- the leaves of rows -----------------------------------------------------------


class LeafNumbers(NamedTuple):
    """Numbers of the leaves of a tree from 0, in the order in which they were made."""

    leaf_of_node: IntArray  # (n_nodes,): number of the leaf that a node was or is
    splits: IntArray  # (n_splits,): the nodes in the order in which they were split


class LeafSums(NamedTuple):
    """Sums over the rows of each leaf, as integers, of the scaled derivatives."""

    derivatives: RowDerivatives
    gradient_scale: float
    hessian_scale: float
    totals: IntArray  # (n_threads, n_leaves or more, 3): gradient, hessian and 1; OUT


def find_leaves(
    binned: BinnedData,
    tree: GrownTree,
    numbers: LeafNumbers,
    sums: LeafSums | None,
    team: ThreadTeam,
) -> Leaves:
    """Return the number of the leaf of each row; add up the rows of each leaf."""
    # The smaller the numbers, the more of them are compared at once.  Bytes would do
    # for small trees, but for each type the kernels are compiled once more.
    dtype = np.uint16 if len(tree.feature) < 2**17 else np.uint32
    leaves: Leaves = np.empty(binned.columns.shape[1], dtype)
    number, splits = numbers.leaf_of_node.astype(dtype), numbers.splits
    # without categories None, so that no code that reads them is compiled
    n_categories = binned.n_categories if len(tree.category_set) > 0 else None
    arguments = binned.columns, n_categories, tree, number, splits, sums
    time = (1.5 + 0.08 * len(splits)) * len(leaves)
    team.share(time, _find_leaves, *arguments, leaves)
    return leaves


def leaf_numbers(tree: GrownTree) -> LeafNumbers:
    """Return the numbers of the leaves of a tree."""
    # The root is number 0.  A left child takes over its parent's number, and the right
    # child of split k, from 0, is number k + 1: the children are nodes 2 k + 1 and
    # 2 k + 2.
    left = tree.left
    inner = np.flatnonzero(left >= 0)
    splits = inner[np.argsort(left[inner])]
    number = [0] * len(left)
    for k, node in enumerate(splits.tolist()):
        number[2 * k + 1], number[2 * k + 2] = number[node], k + 1
    return LeafNumbers(np.array(number), splits)


@shared_kernel
def _find_leaves(
    thread: int,
    n_threads: int,
    columns: NDArray[np.uint8],
    n_categories: IntArray | None,
    tree: GrownTree,
    numbers: Leaves,
    splits: IntArray,
    sums: LeafSums | None,
    leaves: Leaves,
) -> None:
    """Write the leaves of a thread's chunk of the rows, and add up the rows of each."""
    # All rows of a tile take part in all splits, in the order in which the tree was
    # grown: a row that is in the leaf that is split, and whose bin goes right, is given
    # the number of the new leaf.  That is a few instructions for 16 to 64 rows at once.
    # (A row that walks through the tree has to wait for one node after the other.)
    n_rows = len(leaves)
    start, stop = chunk_bounds(thread, n_threads, int64(0), n_rows)
    for first in range(start, stop, LEAF_TILE):
        last = min(first + LEAF_TILE, stop)
        for i in range(uint64(first), uint64(last)):
            leaves[i] = 0
        for node in splits:
            feature = tree.feature[node]
            column = columns[feature]
            split, right = numbers[node], numbers[tree.left[node] + 1]
            if n_categories is not None and n_categories[feature] > 0:
                goes_left = tree.category_set[node]
                for i in range(uint64(first), uint64(last)):
                    b = int64(column[i])
                    moves = goes_left[b >> 3] >> (b & 7) & 1 == 0
                    leaves[i] = right if moves & (leaves[i] == split) else leaves[i]
            else:
                # one more, modulo 256, makes bin 255, missing values, the lowest
                shift = int64(tree.missing_left[node])
                threshold = np.uint8(tree.threshold[node] + shift)
                for i in range(uint64(first), uint64(last)):
                    moves = np.uint8((column[i] + shift) & 255) > threshold
                    leaves[i] = right if moves & (leaves[i] == split) else leaves[i]
        if sums is not None:
            _add_rows(sums, sums.totals[thread], leaves, first, last)


@subkernel
def _add_rows(
    sums: LeafSums, totals: IntArray, leaves: Leaves, first: int, last: int
) -> None:
    """Add gradient, hessian and 1 of rows first to last - 1 to a thread's totals."""
    gradient, hessian = sums.derivatives.gradient, sums.derivatives.hessian
    for i in range(uint64(first), uint64(last)):
        leaf = uint64(leaves[i])
        totals[leaf, 0] += int64(np.rint(gradient[i] * sums.gradient_scale))
        totals[leaf, 1] += int64(np.rint(hessian[i] * sums.hessian_scale))
        totals[leaf, 2] += 1


def new_leaf_sums(
    derivatives: RowDerivatives, magnitudes: Magnitudes, n_leaves: int, n_threads: int
) -> LeafSums:
    """Return sums of no rows yet, given how large the derivatives are."""
    g_scale, h_scale = (scale_to_fit(2.0**61, total) for total in magnitudes.total)
    # a thread's own begin in a cache line that no other thread writes to
    totals = np.zeros((n_threads, n_leaves + 8, 3), dtype=np.int64)
    return LeafSums(derivatives, g_scale, h_scale, totals)


def set_leaf_values(
    nodes: Records,
    number: IntArray,
    sums: LeafSums,
    l2_regularization: float,
    learning_rate: float,
    comm: Comm,
) -> None:
    """Write value, number of rows and sum of hessians of each leaf, of all workers."""
    is_leaf = nodes["feature"] < 0
    g, h, n_rows = comm.sum(sums.totals.sum(axis=0))[number[is_leaf]].T
    hessian, values = np.zeros((2, len(g)))
    if sums.hessian_scale > 0.0:
        hessian = h / sums.hessian_scale
    moves = (g != 0) & (h != 0)
    gradient = g[moves] / sums.gradient_scale
    steps = newton_step(gradient, hessian[moves], l2_regularization)
    values[moves] = learning_rate * steps
    nodes["value"][is_leaf] = values
    nodes["hessian"][is_leaf] = hessian
    nodes["n_rows"][is_leaf] = n_rows


def add_values(
    tree: GrownTree,
    numbers: LeafNumbers,
    leaves: Leaves,
    scores: NDArray[np.float64],
    team: ThreadTeam,
) -> None:
    """Add to the score of each row the value of its leaf."""
    is_leaf = tree.feature < 0
    values = np.empty(np.count_nonzero(is_leaf))
    values[numbers.leaf_of_node[is_leaf]] = tree.value[is_leaf]
    team.share(0.6 * len(leaves), _add_values, values, leaves, scores)


@shared_kernel
def _add_values(
    thread: int,
    n_threads: int,
    values: NDArray[np.float64],
    leaves: Leaves,
    scores: NDArray[np.float64],
) -> None:
    """Add the values of the leaves of a thread's chunk of the rows."""
    first, last = chunk_bounds(thread, n_threads, int64(0), len(leaves))
    for i in range(uint64(first), uint64(last)):
        scores[i] += values[uint64(leaves[i])]


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
def leaves_in_order(nodes: Records, monotonic: NDArray[np.int8]) -> NDArray[np.int64]:
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
def used_features(
    nodes: Records, n_features: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    column: NDArray[np.int64],
    n_used: int,
    n_categories: NDArray[np.int64],
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
    leaf_nodes: NDArray[np.int64],
    feature: NDArray[np.int64],
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
    pairs: NDArray[np.bool_],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
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
