"""The leaf of each tree that a row comes to.

Few rows walk.  For many, bit-sliced evaluation finds leaves as scores: a tree whose
values are the numbers of its nodes predicts the number of a leaf, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ROW_BLOCK, ThreadTeam
from sklearn_ltr._data.tables import Table, dense_rows
from sklearn_ltr._trees.ensemble import TreeEnsemble
from sklearn_ltr._trees.tree_walk import reached_leaves

MOST_WALKS = 100_000  # rows times trees; more take longer than preparing the trees
ROWS = 32 * ROW_BLOCK  # dense at a time


def find_leaves(
    ensemble: TreeEnsemble, X: Table, team: ThreadTeam
) -> NDArray[np.int64]:
    """Return the leaf of each tree that a row comes to: (n_rows, n_trees) int64.

    Leaves have the numbers of their nodes, counted from the tree's root.
    """
    n_rows, n_trees = X.shape[0], len(ensemble)
    if n_rows * n_trees <= MOST_WALKS:
        reached = reached_leaves(ensemble._nodes, dense_rows(X, slice(None)))
        return np.ascontiguousarray(reached.T - ensemble.first_node)
    parts = [ensemble.part(number, number + 1) for number in range(n_trees)]
    trees = [replace(part, value=np.arange(float(len(part.value)))) for part in parts]
    leaves = np.empty((n_rows, n_trees), dtype=np.int64)
    for first in range(0, n_rows, ROWS):
        rows = slice(first, first + ROWS)
        predict_leaves(trees, dense_rows(X, rows), leaves[rows], team)
    return leaves


def predict_leaves(
    trees: Sequence[TreeEnsemble],
    X: NDArray[np.floating],
    leaves: NDArray[np.int64],
    team: ThreadTeam,
) -> None:
    """Write what each tree predicts to its column; threads share the trees."""
    numbers = iter(range(len(trees)))

    def work(thread: int) -> None:
        for number in numbers:
            leaves[:, number] = trees[number].predict(X, ThreadTeam(1))

    team.run(work)
