"""Values of the leaves: one Newton step each, in the order that constraints ask for.

    value = -learning_rate * sum(gradient) / (sum(hessian) + l2)

This is the Newton step of section 7 of Burges (2010), with l2 added; it is 0 if either
sum is 0.  For these sums, gradients and hessians are scaled and rounded to integers, so
that they depend neither on the order of the rows nor on the number of threads: the sum
of ``|values|`` over all rows is scaled to 2^61, and rounding adds at most half per row,
so that sums stay below 2^62.

With monotonic constraints, two leaves must be in order if one column alone can lead
from one to the other: their regions meet in all features but one, which is constrained.
Of all leaf values v in such an order, those close to the Newton steps t are taken,

    minimise  sum over leaves of  (sum of hessians) (v - t)^2,

by pooling leaves that are out of order (isotonic regression on a partial order: O.
Burdakov, A. Grimvall and O. Sysoev, "Data preordering in generalized PAV algorithm for
monotonic regression", Journal of Computational Mathematics 24, 2006).  The result is
always in order, and with one constrained feature and no other it is the minimum.

A score is a sum of trees in the same order for all rows, and rounding keeps the order
of sums, so scores are monotonic exactly, not up to rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, kernel, subkernel, uint64
from sklearn_ltr._trees.binning import HISTOGRAM_BINS, MISSING_BIN
from sklearn_ltr._trees.quantization import Derivatives
from sklearn_ltr._trees.workspace import Record, Records, Workspace

Regions = NDArray[np.bool_]  # (n_nodes, n_used_features, 256): the bins of a node


@subkernel
def sum_derivatives(
    derivatives: Derivatives,
    rows: NDArray[np.int32],
    first: int,
    last: int,
    growth: Record,
    node: Record,
) -> None:
    """Write the scaled sums over ``rows[first:last]`` to the node of a leaf."""
    gradient, hessian = derivatives.gradient, derivatives.hessian
    gradient_scale, hessian_scale = (
        growth.leaf_gradient_scale,
        growth.leaf_hessian_scale,
    )
    g, h = int64(0), int64(0)
    for i in range(uint64(first), uint64(last)):
        row = uint64(rows[i])
        g += int64(np.rint(gradient[row] * gradient_scale))
        h += int64(np.rint(hessian[row] * hessian_scale))
    node.scaled_gradient, node.scaled_hessian = g, h


@subkernel
def set_leaf_value(
    node: Record,
    n_rows: int,
    growth: Record,
    l2_regularization: float,
    learning_rate: float,
) -> None:
    """Write the value of a leaf, its number of rows and its hessian to its node."""
    g, h = node.scaled_gradient, node.scaled_hessian
    node.n_rows = n_rows
    node.value = node.hessian = 0.0
    if h != 0:
        node.hessian = h / growth.leaf_hessian_scale
        if g != 0:
            step = -(g / growth.leaf_gradient_scale) / (
                node.hessian + l2_regularization
            )
            node.value = learning_rate * step


@subkernel
def add_to_scores(
    value: float,
    rows: NDArray[np.int32],
    first: int,
    last: int,
    scores: NDArray[np.float64],
) -> None:
    """Add the value of a leaf to the scores of its rows, ``rows[first:last]``."""
    for i in range(uint64(first), uint64(last)):
        scores[uint64(rows[i])] += value


# --- monotonic constraints --------------------------------------------------------


@kernel
def order_leaf_values(
    nodes: Records,
    work: Workspace,
    n_categories: NDArray[np.int64],
    monotonic: NDArray[np.int8],
    scores: NDArray[np.float64],
) -> None:
    """Bring the leaf values of a grown tree in order, and add them to the scores."""
    n_leaves = (len(nodes) + 1) // 2
    values, weights = np.empty(n_leaves), np.empty(n_leaves)
    leaf_nodes = leaves_in_order(nodes, monotonic)
    leaf_of_node = np.empty(len(nodes), dtype=np.int64)
    for i in range(n_leaves):
        leaf_of_node[leaf_nodes[i]] = i
        values[i] = nodes[leaf_nodes[i]].value
        weights[i] = nodes[leaf_nodes[i]].hessian
    feature, column = used_features(nodes, len(n_categories))
    regions = node_regions(nodes, column, len(feature), n_categories, work.category_set)
    pool_leaves(ordered_pairs(regions, leaf_nodes, feature, monotonic), values, weights)
    for number in range(n_leaves):
        leaf = work.leaves[number]
        rows, value = work.buffers.rows[leaf.buffer], values[leaf_of_node[leaf.node]]
        nodes[leaf.node].value = value
        add_to_scores(value, rows, leaf.start, leaf.stop, scores)


@subkernel
def leaves_in_order(nodes: Records, monotonic: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the nodes of the leaves so that no leaf must be above a later one."""
    # at a split of a constrained feature, the leaves of the child with the lower values
    # come first; leaves of two children of another split have no order
    n_leaves = (len(nodes) + 1) // 2
    found, stack = np.empty(n_leaves, dtype=np.int64), np.empty(len(nodes), np.int64)
    n_found, size = 0, 1
    stack[0] = 0
    while size > 0:
        size -= 1
        number = stack[size]
        node = nodes[number]
        if node.feature < 0:
            found[n_found] = number
            n_found += 1
        else:
            falls = monotonic[node.feature] < 0
            stack[size] = node.left if falls else node.right
            stack[size + 1] = node.right if falls else node.left
            size += 2
    return found


@subkernel
def used_features(
    nodes: Records, n_features: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the features that the tree splits, and the position of each there."""
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
            left[:, :] = regions[number]
            right[:, :] = regions[number]
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
    found = False
    for i in range(HISTOGRAM_BINS):
        found |= a[i] & b[i]
    return found


@subkernel
def has_values(bins: NDArray[np.bool_]) -> bool:
    """Whether a bin other than that of missing values is in the region."""
    found = False
    for i in range(MISSING_BIN):
        found |= bins[i]
    return found


@subkernel
def pool_leaves(
    pairs: NDArray[np.bool_],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Replace values that are out of order by weighted means of pools of leaves."""
    # leaf after leaf becomes a pool; while a pool before it has a higher value, the new
    # pool takes in the highest of these
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
            share = weights[worst] / total if total > 0.0 else 0.5
            values[new] += share * (values[worst] - values[new])
            weights[new] = total
            for i in range(new):
                if pool[i] == worst:
                    pool[i] = new
    for i in range(n):
        values[i] = values[pool[i]]
