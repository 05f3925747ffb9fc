"""Shapley values of an ensemble for tables of rows: loops over trees, rows, threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._data.tables import Table, dense_rows
from sklearn_ltr._trees.ensemble import TreeEnsemble
from sklearn_ltr._trees.shapley.interventional import (
    MOST_SLOTS,
    add_interventional,
    tabulate,
)
from sklearn_ltr._trees.shapley.path_dependent import (
    PathDependentBuffers,
    add_path_dependent,
    weigh_edges,
)
from sklearn_ltr._trees.shapley.paths import LANES, TreePaths, find_paths

FloatArray = NDArray[np.float64]
AddRows = Callable[[FloatArray, FloatArray], None]

NODES_PER_PART = 4096  # of trees explained together: bounds the memory of their tables
MAX_BLOCKS = 8  # of LANES rows, which a thread explains in one call


def explain_trees(
    ensemble: TreeEnsemble, X: Table, team: ThreadTeam, background: Table | None = None
) -> tuple[FloatArray, float]:
    """Return the Shapley values of the sum of trees, and its bias.

    Parameters
    ----------
    ensemble : TreeEnsemble
    X : Table of shape (n_rows, n_features)
        Categories as bins; finite, or NaN.
    team : ThreadTeam
    background : Table of shape (n_background, n_features), default=None
        Background rows of interventional values.  None: path-dependent values.

    Returns
    -------
    values : ndarray of shape (n_rows, n_features), float64
        The sums over features, plus the bias, are the scores up to rounding.  They are
        the same bits for any number of threads, and whatever other rows X has.
    bias : float
        The score to be expected without any feature.

    Raises
    ------
    ValueError
        If path-dependent values need a number of training rows that is not known, or
        interventional ones a path of more features than a mask has bits.
    """
    values, bias = np.zeros(X.shape), 0.0
    if background is not None:
        bias = float(ensemble.predict(background, team).mean())
    for part in parts_of(ensemble):
        paths = find_paths(part._nodes, part.n_rows)
        if background is None:
            bias += mean_of_trees(paths)
        if len(paths.tested) == 0:
            continue
        if background is None:
            add_rows = path_dependent(paths)
        else:
            add_rows = interventional(paths, background)
        explain_rows(paths, X, team, add_rows, values)
    return values, bias


def parts_of(ensemble: TreeEnsemble) -> Iterator[TreeEnsemble]:
    """Yield the trees, in order, in parts of a limited number of nodes."""
    part = ensemble.first_node // NODES_PER_PART
    is_first = np.append(True, part[1:] != part[:-1])[: len(part)]
    for first, last in pairwise([*np.flatnonzero(is_first), len(part)]):
        yield ensemble.part(first, last)


def explain_rows(
    paths: TreePaths, X: Table, team: ThreadTeam, add_rows: AddRows, values: FloatArray
) -> None:
    """Add the values of some trees for all rows, divided among threads."""
    n_rows = X.shape[0]
    # about four parts per thread
    n_blocks = min(n_rows // (4 * team.n_threads * LANES), MAX_BLOCKS)
    step = LANES * max(1, n_blocks)
    firsts = iter(range(0, n_rows, step))  # shared: a thread takes the next part

    def explain(thread: int) -> None:
        for first in firsts:
            part = slice(first, first + step)
            columns = in_blocks(dense_rows(X, part), paths.tested)
            added = np.zeros_like(columns)
            add_rows(columns, added)
            by_row = added.swapaxes(1, 2).reshape(-1, len(paths.tested))
            values[part, paths.tested] += by_row[: len(values[part])]

    team.run(explain)


def in_blocks(X: NDArray[np.floating], tested: NDArray[np.int64]) -> FloatArray:
    """Return the tested features of rows: (n_blocks, n_tested, LANES), padded by 0."""
    n_blocks = -(-len(X) // LANES)
    columns = np.zeros((n_blocks, LANES, len(tested)))
    columns.reshape(-1, len(tested))[: len(X)] = X[:, tested]
    return np.ascontiguousarray(columns.swapaxes(1, 2))


def most_nodes(paths: TreePaths) -> int:
    """Return the number of nodes of the largest tree."""
    return int(np.diff(paths.first_node).max())


def mean_of_trees(paths: TreePaths) -> float:
    """Return the sum of the means of trees over their training rows."""
    if (paths.cover == 0).any():
        raise ValueError(
            "a leaf has n_rows=0, and path-dependent values divide by the numbers of "
            "training rows: give a background"
        )
    root = np.repeat(paths.first_node[:-1], np.diff(paths.first_node))
    fraction = paths.cover / paths.cover[root]
    return float(np.sum((paths.value * fraction)[paths.column < 0]))


def path_dependent(paths: TreePaths) -> AddRows:
    """Return a function that adds path-dependent values."""
    weights = weigh_edges(paths)
    n_nodes, n_points = most_nodes(paths), int(weights.n_points.max())

    def add_rows(columns: FloatArray, values: FloatArray) -> None:
        buffers = PathDependentBuffers(
            np.empty((n_nodes, LANES)), np.empty((n_nodes, n_points, LANES))
        )
        add_path_dependent(paths, weights, columns, buffers, values)

    return add_rows


def interventional(paths: TreePaths, background: Table) -> AddRows:
    """Return a function that adds interventional values."""
    most = paths.n_slots.max()
    if most > MOST_SLOTS:
        raise ValueError(
            f"a path of a tree tests {most} features, and with a background at most "
            f"{MOST_SLOTS} are possible: explain without a background, or fit with a "
            "smaller max_depth"
        )
    shape = most_nodes(paths), LANES
    rows = dense_rows(background, slice(None))
    columns = in_blocks(rows, paths.tested)
    tables = tabulate(paths, columns, len(rows), np.empty(shape, dtype=np.uint64))

    def add_rows(columns: FloatArray, values: FloatArray) -> None:
        masks = np.empty(shape, dtype=np.uint64)
        add_interventional(paths, tables, columns, masks, values)

    return add_rows
