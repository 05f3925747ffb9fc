"""Trees by their definitions, on raw values: slow and obvious, no numba, no bins."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import inf, isnan
from typing import NamedTuple

import numpy as np


class Split(NamedTuple):
    """``x <= threshold`` goes left; NaN goes where `missing_left` says."""

    feature: int
    threshold: float
    missing_left: bool


class Leaf(NamedTuple):
    rows: frozenset
    depth: int


def goes_left(x: float, split: Split) -> bool:
    return split.missing_left if isnan(x) else bool(x <= split.threshold)


def partition(X, rows, split: Split) -> tuple[list[int], list[int]]:
    left = [row for row in rows if goes_left(X[row, split.feature], split)]
    return left, [row for row in rows if row not in set(left)]


def every_split(X, rows, features=None) -> Iterator[Split]:
    """All ways to split `rows` by one feature."""
    for feature in range(X.shape[1]) if features is None else features:
        values = [X[row, feature] for row in rows]
        present = sorted({x for x in values if not isnan(x)})
        some_missing = any(isnan(x) for x in values)
        for threshold in present[:-1]:
            yield Split(feature, threshold, False)
            if some_missing:
                yield Split(feature, threshold, True)
        if some_missing and present:
            yield Split(feature, inf, False)


def child_score(rows, gradient, weight, l2) -> float:
    total = sum(weight[row] for row in rows) + l2
    return sum(gradient[row] for row in rows) ** 2 / total if total > 0 else 0.0


def gain(X, rows, split, gradient, weight, l2) -> float:
    """G_L^2 / (W_L + l2) + G_R^2 / (W_R + l2) - G^2 / (W + l2)."""
    left, right = partition(X, rows, split)
    return (
        child_score(left, gradient, weight, l2)
        + child_score(right, gradient, weight, l2)
        - child_score(rows, gradient, weight, l2)
    )


def decrease_of_squared_error(X, rows, split, gradient) -> float:
    """Equation 11 of Burges (2010): squared error before the split less that after."""

    def squared_error(part) -> float:
        values = np.array([gradient[row] for row in part])
        return float(((values - values.mean()) ** 2).sum())

    left, right = partition(X, rows, split)
    return squared_error(rows) - squared_error(left) - squared_error(right)


def best_split(X, rows, gradient, weight, l2=0.0, min_samples_leaf=1, features=None):
    """(gain, split) of the allowed split with the highest gain; (0, None) if none."""
    best = (0.0, None)
    for split in every_split(X, rows, features):
        children = partition(X, rows, split)
        if min(map(len, children)) >= min_samples_leaf:
            split_gain = gain(X, rows, split, gradient, weight, l2)
            if split_gain > best[0]:
                best = (split_gain, split)
    return best


def leaf_value(rows, gradient, hessian, l2) -> float:
    """-G / (H + l2), the Newton step of section 7."""
    return -sum(gradient[row] for row in rows) / (
        sum(hessian[row] for row in rows) + l2
    )


def grow(
    X,
    gradient,
    hessian,
    max_leaf_nodes,
    max_depth=2**31,
    min_samples_leaf=1,
    l2=0.0,
    second_order=True,
    rows=None,
    features=None,
):
    """Grow best-first: (gains in the order of the splits, leaves)."""
    weight = hessian if second_order else np.ones(len(X))
    l2_of_split = l2 if second_order else 0.0
    leaves = [Leaf(frozenset(range(len(X)) if rows is None else rows), 0)]
    gains = []
    while len(leaves) < max_leaf_nodes:
        splits = [
            best_split(
                X,
                sorted(leaf.rows),
                gradient,
                weight,
                l2_of_split,
                min_samples_leaf,
                features,
            )
            if leaf.depth < max_depth
            else (0.0, None)
            for leaf in leaves
        ]
        best = max(range(len(leaves)), key=lambda i: splits[i][0])
        split_gain, split = splits[best]
        if split is None:
            break
        gains.append(split_gain)
        leaf = leaves.pop(best)
        for rows_of_child in partition(X, sorted(leaf.rows), split):
            leaves.append(Leaf(frozenset(rows_of_child), leaf.depth + 1))
    return gains, leaves


def grow_symmetric(
    X,
    gradient,
    hessian,
    max_depth,
    min_samples_leaf=1,
    l2=0.0,
    second_order=True,
):
    """Split all leaves of a level alike: (gain and split of each level, leaves).

    A leaf adds its gain if that is above 0 and its children are large enough; else it
    stays whole.
    """
    weight = hessian if second_order else np.ones(len(X))
    l2_of_split = l2 if second_order else 0.0
    leaves, levels = [sorted(range(len(X)))], []

    def gain_in(leaf, split) -> float:
        if min(map(len, partition(X, leaf, split))) < min_samples_leaf:
            return 0.0
        return max(0.0, gain(X, leaf, split, gradient, weight, l2_of_split))

    for _ in range(max_depth):
        splits = list(every_split(X, range(len(X))))
        gains = [sum(gain_in(leaf, split) for leaf in leaves) for split in splits]
        if max(gains, default=0.0) <= 0.0:
            break
        best = int(np.argmax(gains))
        levels.append((gains[best], splits[best]))
        leaves = [
            part
            for leaf in leaves
            for part in (
                partition(X, leaf, splits[best])
                if gain_in(leaf, splits[best]) > 0.0
                else [leaf]
            )
        ]
    return levels, leaves


def route(X, row, tree) -> int:
    """Leaf that a row reaches; `X` holds bins if the thresholds are bins."""
    node = 0
    while tree.feature[node] >= 0:
        split = Split(
            int(tree.feature[node]),
            float(tree.threshold[node]),
            bool(tree.missing_left[node]),
        )
        left = goes_left(X[row, split.feature], split)
        node = int(tree.left[node] if left else tree.right[node])
    return node


def leaves_of(ensemble, row) -> list[int]:
    """Leaf of each tree that a row without categories reaches."""
    trees = (ensemble.part(m, m + 1) for m in range(len(ensemble)))
    return [route(row[np.newaxis], 0, tree) for tree in trees]


# --- categories -------------------------------------------------------------------


def every_set(categories) -> Iterator[frozenset]:
    """All sets that hold neither none nor all of the categories; half of them."""
    first, *others = sorted(categories)
    for k in range(len(others)):
        for chosen in combinations(others, k):
            yield frozenset({first, *chosen})


def set_gain(bins, left, gradient, weight, l2) -> float:
    """The gain of sending the categories `left` left and all others right."""
    rows = range(len(bins))
    parts = (
        [r for r in rows if bins[r] in left],
        [r for r in rows if bins[r] not in left],
    )
    scores = [child_score(part, gradient, weight, l2) for part in (*parts, rows)]
    return scores[0] + scores[1] - scores[2]


def best_set_gain(bins, gradient, weight, l2=0.0) -> float:
    """The highest gain of all ways to divide the categories; 0 if there is none."""
    sets = every_set(set(bins)) if len(set(bins)) > 1 else ()
    return max([0.0, *(set_gain(bins, left, gradient, weight, l2) for left in sets)])


def share_not_by_chance(bins, gradient, weight, l2=0.0) -> float:
    """1 - 1 / F, by an analysis of variance of categories; 0 if that is negative."""
    rows, categories = range(len(bins)), set(bins)
    variance = sum(gradient[r] ** 2 for r in rows) / sum(weight[r] for r in rows)
    spread = -child_score(rows, gradient, weight, l2)
    for category in categories:
        own = [r for r in rows if bins[r] == category]
        spread += child_score(own, gradient, weight, l2)
    by_chance = (len(categories) - 1) * variance
    return 1 - by_chance / spread if spread > by_chance else 0.0


def route_by_set(row, tree) -> int:
    """Leaf that a row of bins reaches, where some nodes have a category set."""
    set_of_node = {int(node): i for i, node in enumerate(tree.category_node)}
    node = 0
    while tree.feature[node] >= 0:
        x = float(row[tree.feature[node]])
        left = bool(tree.missing_left[node] if isnan(x) else x <= tree.threshold[node])
        if node in set_of_node:
            b = 255 if isnan(x) else int(x)
            left = bool(tree.category_set[set_of_node[node], b // 8] >> (b % 8) & 1)
        node = int(tree.left[node] if left else tree.right[node])
    return node


def shared_bins(x, targets, max_bins, least, smoothing):
    """Bin of each category, and of each row in training; NaN is missing, bin 255.

    Of ``max_bins`` bins, one in 16, at least one, holds more than one category.
    """
    weighted, weight, fold = targets
    rows_of = {}
    for row, category in enumerate(x):
        if category == category:
            rows_of.setdefault(category, []).append(row)
    n_single = max_bins - max(1, max_bins // 16)
    by_frequency = sorted(rows_of, key=lambda c: (-len(rows_of[c]), c))
    single = sorted(c for c in by_frequency[:n_single] if len(rows_of[c]) >= least)
    n_shared, n_single = max_bins - n_single, len(single)

    def mean(category, without):
        rows = [row for row in rows_of[category] if fold[row] != without]
        if not rows:
            return None
        total = sum(weighted[row] for row in rows)
        return total / (sum(weight[row] for row in rows) + smoothing)

    of_rows = {
        row: mean(x[row], fold[row])
        for row in range(len(x))
        if x[row] == x[row] and x[row] not in single
    }
    known = sorted(m for m in of_rows.values() if m is not None)
    thresholds = {
        known[i * len(known) // n_shared] for i in range(1, n_shared) if known
    }
    thresholds.difference_update(known[-1:])

    def bin_of(m):
        return 255 if m is None else n_single + sum(m > t for t in thresholds)

    bins = {
        c: single.index(c) if c in single else bin_of(mean(c, without=None))
        for c in rows_of
    }
    in_training = [
        255 if x[row] != x[row] else bin_of(of_rows[row]) if row in of_rows
        else bins[x[row]]
        for row in range(len(x))
    ]  # fmt: skip
    return bins, in_training


def sampling_probabilities(gradient, hessian, n_wanted):
    """Probabilities min(1, s / mu) whose sum is `n_wanted`, mu by bisection."""
    ratio = np.abs(gradient).sum() / hessian.sum()
    s = np.sqrt(gradient**2 + (ratio * hessian) ** 2)
    if np.count_nonzero(s) <= n_wanted:
        return (s > 0).astype(float)
    low, high = 0.0, s.sum()
    for _ in range(200):
        mu = (low + high) / 2
        low, high = (mu, high) if np.minimum(1, s / mu).sum() > n_wanted else (low, mu)
    return np.minimum(1, s / high)


def smoothed_values(children, rows_of_leaf, gradient, hessian, l2, smoothing) -> dict:
    """Return the value of each leaf, drawn towards those of the nodes above it.

    By LightGBM's documentation of `path_smooth` s: "the weight of each node is
    w * (n / s) / (n / s + 1) + w_p / (n / s + 1), where n is the number of samples in
    the node, w is the optimal node weight to minimise the loss, and w_p is the weight
    of the parent node", smoothed as well unless it is the root.  `children` are those
    of each inner node; the root is node 0.
    """

    def rows_of(node) -> list[int]:
        if node not in children:
            return rows_of_leaf[node]
        return [row for child in children[node] for row in rows_of(child)]

    found = {}

    def visit(node, parent) -> None:
        rows = rows_of(node)
        value = -sum(gradient[row] for row in rows)
        value /= sum(hessian[row] for row in rows) + l2
        if parent is not None:
            n = len(rows) / smoothing
            value = value * n / (n + 1) + parent / (n + 1)
        found[node] = value
        for child in children.get(node, ()):
            visit(child, value)

    visit(0, None)
    return {leaf: found[leaf] for leaf in rows_of_leaf}
