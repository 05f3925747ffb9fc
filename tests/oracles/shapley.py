"""Shapley values by their definition, over all coalitions: no numba, no cleverness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from math import factorial, isnan

import numpy as np

from tests.oracles.trees import route_by_set

Game = Callable[[frozenset], float]


def shapley_values(game: Game, n_players: int) -> np.ndarray:
    """Sum over S without j: |S|! (d - |S| - 1)! / d! (v(S + j) - v(S)), for each j."""
    d = n_players
    values = {s: game(s) for s in coalitions(range(d))}
    phi = np.zeros(d)
    for j in range(d):
        for s in coalitions([k for k in range(d) if k != j]):
            weight = factorial(len(s)) * factorial(d - len(s) - 1) / factorial(d)
            phi[j] += weight * (values[s | {j}] - values[s])
    return phi


def coalitions(players) -> Iterator[frozenset]:
    for size in range(len(players) + 1):
        yield from map(frozenset, combinations(players, size))


def n_training_rows(tree, node: int) -> int:
    if tree.feature[node] < 0:
        return int(tree.n_rows[node])
    return sum(n_training_rows(tree, side[node]) for side in (tree.left, tree.right))


def expected_value(tree, row, known: frozenset, node: int = 0) -> float:
    """Both children of a node whose feature is not known, by their training rows."""
    if tree.feature[node] < 0:
        return float(tree.value[node])
    left, right = int(tree.left[node]), int(tree.right[node])
    if tree.feature[node] in known:
        child = left if goes_left(tree, row, node) else right
        return expected_value(tree, row, known, child)
    n_left, n_right = n_training_rows(tree, left), n_training_rows(tree, right)
    return (
        n_left * expected_value(tree, row, known, left)
        + n_right * expected_value(tree, row, known, right)
    ) / (n_left + n_right)


def goes_left(tree, row, node: int) -> bool:
    x = float(row[tree.feature[node]])
    for number, owner in enumerate(tree.category_node):
        if owner == node:
            b = 255 if isnan(x) else int(x)
            return bool(tree.category_set[number, b // 8] >> (b % 8) & 1)
    return bool(tree.missing_left[node] if isnan(x) else x <= tree.threshold[node])


def path_dependent(tree, row) -> np.ndarray:
    """Values of one row and one tree, (n_features,)."""
    return shapley_values(lambda s: expected_value(tree, row, s), len(row))


def interventional(tree, row, background) -> np.ndarray:
    """The same; unknown features are those of a background row, and v is the mean."""

    def value(known: frozenset) -> float:
        is_known = np.isin(np.arange(len(row)), list(known))
        mixed = [np.where(is_known, row, other) for other in background]
        return float(np.mean([tree.value[route_by_set(x, tree)] for x in mixed]))

    return shapley_values(value, len(row))
