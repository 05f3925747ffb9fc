"""Trees by their definitions, on raw values: slow, obvious, no numba, no bins."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isnan
from typing import NamedTuple

import numpy as np


class Cut(NamedTuple):
    """``x <= threshold`` goes left; NaN goes where `missing_left` says."""

    feature: int
    threshold: float
    missing_left: bool


class Leaf(NamedTuple):
    rows: frozenset
    depth: int


def goes_left(x: float, cut: Cut) -> bool:
    return cut.missing_left if isnan(x) else bool(x <= cut.threshold)


def divide(X, rows, cut: Cut) -> tuple[list[int], list[int]]:
    left = [row for row in rows if goes_left(X[row, cut.feature], cut)]
    return left, [row for row in rows if row not in set(left)]


def every_cut(X, rows, features=None) -> Iterator[Cut]:
    """All ways to cut `rows` in two by one column."""
    for feature in range(X.shape[1]) if features is None else features:
        column = [X[row, feature] for row in rows]
        present = sorted({x for x in column if not isnan(x)})
        some_missing = any(isnan(x) for x in column)
        for threshold in present[:-1]:
            yield Cut(feature, threshold, False)
            if some_missing:
                yield Cut(feature, threshold, True)
        if some_missing and present:
            yield Cut(feature, inf, False)


def side_score(rows, gradient, weight, l2) -> float:
    total = sum(weight[row] for row in rows) + l2
    return sum(gradient[row] for row in rows) ** 2 / total if total > 0 else 0.0


def gain(X, rows, cut, gradient, weight, l2) -> float:
    """G_L^2 / (W_L + l2) + G_R^2 / (W_R + l2) - G^2 / (W + l2)."""
    left, right = divide(X, rows, cut)
    return (
        side_score(left, gradient, weight, l2)
        + side_score(right, gradient, weight, l2)
        - side_score(rows, gradient, weight, l2)
    )


def fall_of_squared_error(X, rows, cut, gradient) -> float:
    """Equation 11 of the report: the squared error before the cut less that after."""

    def squared_error(part) -> float:
        values = np.array([gradient[row] for row in part])
        return float(((values - values.mean()) ** 2).sum())

    left, right = divide(X, rows, cut)
    return squared_error(rows) - squared_error(left) - squared_error(right)


def best_cut(X, rows, gradient, weight, l2=0.0, min_samples_leaf=1, features=None):
    """(gain, cut) of the admissible cut that gains most; (0, None) if there is none."""
    best = (0.0, None)
    for cut in every_cut(X, rows, features):
        sides = divide(X, rows, cut)
        if min(map(len, sides)) >= min_samples_leaf:
            gained = gain(X, rows, cut, gradient, weight, l2)
            if gained > best[0]:
                best = (gained, cut)
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
        cuts = [
            best_cut(
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
        best = max(range(len(leaves)), key=lambda i: cuts[i][0])
        gained, cut = cuts[best]
        if cut is None:
            break
        gains.append(gained)
        leaf = leaves.pop(best)
        for part in divide(X, sorted(leaf.rows), cut):
            leaves.append(Leaf(frozenset(part), leaf.depth + 1))
    return gains, leaves


def route(X, row, tree) -> int:
    """Leaf of a row in a tree of bins, `X` holding the bins (NaN: missing)."""
    node = 0
    while tree.feature[node] >= 0:
        cut = Cut(
            int(tree.feature[node]),
            float(tree.threshold[node]),
            bool(tree.missing_left[node]),
        )
        left = goes_left(X[row, cut.feature], cut)
        node = int(tree.left[node] if left else tree.right[node])
    return node
