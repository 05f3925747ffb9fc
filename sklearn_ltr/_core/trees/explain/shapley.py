r"""Shapley values of trees: the exact contribution of each feature to a row's score.

For a set S of features, v(S) is the expected score if only the values of the row x in S
are known.  The value of feature j is its mean marginal contribution over all orders in
which the d features may become known:

    phi_j  =  sum over S without j of  |S|! (d - |S| - 1)! / d!  (v(S + j) - v(S))

The phi_j add up to v(all) - v(none), the score of x less the bias.  The expectation
over the unknown features is one of two (Lundberg et al. 2020, algorithms 1 to 3):

- *path dependent*: at a node that tests an unknown feature, a row goes to both
  children, divided as the training rows were;
- *interventional*: the unknown features take the values of a background row, and v is
  the mean over background rows.

The game of a sum of leaves is the sum of their games.  In the game of one leaf, only
the features on its path play.  Let x satisfy all conditions of feature k on the path
(b_k = 1) or not (b_k = 0).  With the leaf's value w,

    path dependent:   v(S) = w  prod of b_k over S  prod of p_k over the others
    interventional:   v(S) = w  prod of b_k over S  share of the background rows that
                                                    satisfy the conditions of the others

where p_k is the product of the fractions of training rows that follow the edges of k.

The kernels are in ``shapley_kernels.py``: the edges of trees and which rows follow
them; an integral over the order, by Gauss-Legendre quadrature; and a table of phi for
each leaf, by which conditions x satisfies.  Here are the entry point, `explain_trees`,
and the loops over trees, rows and threads.

References
----------
S. Lundberg et al., "From local explanations to global understanding with explainable AI
for trees", Nature Machine Intelligence 2, 2020 (and arXiv:1802.03888, 2018).

P. Yu, C. Xu, A. Bifet and J. Read, "Linear TreeSHAP", NeurIPS 2022: path-dependent
values in a time linear in the number of leaves, by polynomials instead of coalitions.

J. Yang, "Fast TreeSHAP", arXiv:2109.09847, 2021: tables by the conditions satisfied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data.tables import Matrix, dense_rows
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.explain.shapley_kernels import (
    LANES,
    MOST_SLOTS,
    PathDependentBuffers,
    TreePaths,
    add_interventional,
    add_path_dependent,
    find_paths,
    tabulate,
    weigh_edges,
)
from sklearn_ltr._core.typing import FloatArray, IntArray

# of these columns, to these values
AddValues = Callable[[FloatArray, FloatArray], None]

NODES_PER_PART = 4096  # of trees explained together: bounds the memory of their tables
MAX_BLOCKS = 8  # of LANES rows, which a thread explains in one call


def explain_trees(
    ensemble: TreeEnsemble,
    X: Matrix,
    team: ThreadTeam,
    background: Matrix | None = None,
) -> tuple[FloatArray, float]:
    """Return Shapley values, (n_rows, n_features), and the score without features."""
    # Categories are bins; X is finite, or NaN.  With a background, values are
    # interventional, else path-dependent.  Values plus the bias are the scores up to
    # rounding; they are the same bits for any number of threads, and whatever other
    # rows X has.
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
            add_values = path_dependent(paths)
        else:
            add_values = interventional(paths, background)
        explain_rows(paths, X, team, add_values, values)
    return values, bias


def parts_of(ensemble: TreeEnsemble) -> Iterator[TreeEnsemble]:
    """Yield the trees, in order, in parts of a limited number of nodes."""
    part = ensemble.first_node // NODES_PER_PART
    is_first = np.append(True, part[1:] != part[:-1])[: len(part)]
    for first, last in pairwise([*np.flatnonzero(is_first), len(part)]):
        yield ensemble.part(first, last)


def explain_rows(
    paths: TreePaths,
    X: Matrix,
    team: ThreadTeam,
    add_values: AddValues,
    values: FloatArray,
) -> None:
    """Add the values of some trees for all rows, divided among threads."""
    n_rows = X.shape[0]
    # about four parts per thread
    n_blocks = min(n_rows // (4 * team.n_threads * LANES), MAX_BLOCKS)
    step = LANES * max(1, n_blocks)

    def explain(first: int) -> None:
        part = slice(first, first + step)
        columns = in_blocks(X[part], paths.tested)
        added = np.zeros_like(columns)
        add_values(columns, added)
        by_row = added.swapaxes(1, 2).reshape(-1, len(paths.tested))
        values[part, paths.tested] += by_row[: len(values[part])]

    team.map(explain, range(0, n_rows, step))


def in_blocks(X: Matrix, tested: IntArray) -> FloatArray:
    """Return the tested features of rows: (n_blocks, n_tested, LANES), padded by 0."""
    values = dense_rows(X[:, tested], slice(None))
    n_blocks = -(-len(values) // LANES)
    columns = np.zeros((n_blocks, LANES, len(tested)))
    columns.reshape(-1, len(tested))[: len(values)] = values
    return np.ascontiguousarray(columns.swapaxes(1, 2))


def most_nodes(paths: TreePaths) -> int:
    """Return the number of nodes of the largest tree."""
    return int(np.diff(paths.first_node).max())


def mean_of_trees(paths: TreePaths) -> float:
    """Return the sum of the means of trees over their training rows."""
    if (paths.cover == 0).any():
        raise ValueError(
            "a leaf has n_rows=0, but path-dependent values divide by the numbers of "
            "training rows: give a background"
        )
    root = np.repeat(paths.first_node[:-1], np.diff(paths.first_node))
    fraction = paths.cover / paths.cover[root]
    return float(np.sum((paths.value * fraction)[paths.column < 0]))


def path_dependent(paths: TreePaths) -> AddValues:
    """Return a function that adds path-dependent values."""
    weights = weigh_edges(paths)
    n_nodes, n_points = most_nodes(paths), int(weights.n_points.max())

    def add_values(columns: FloatArray, values: FloatArray) -> None:
        buffers = PathDependentBuffers(
            np.empty((n_nodes, LANES)), np.empty((n_nodes, n_points, LANES))
        )
        add_path_dependent(paths, weights, columns, buffers, values)

    return add_values


def interventional(paths: TreePaths, background: Matrix) -> AddValues:
    """Return a function that adds interventional values."""
    most = paths.n_slots.max()
    if most > MOST_SLOTS:
        raise ValueError(
            f"a path of a tree tests {most} features, but a background allows at most "
            f"{MOST_SLOTS}: explain without a background, or fit with a smaller "
            "max_depth"
        )
    shape = most_nodes(paths), LANES
    columns, n_rows = in_blocks(background, paths.tested), background.shape[0]
    tables = tabulate(paths, columns, n_rows, np.empty(shape, dtype=np.uint64))

    def add_values(columns: FloatArray, values: FloatArray) -> None:
        masks = np.empty(shape, dtype=np.uint64)
        add_interventional(paths, tables, columns, masks, values)

    return add_values
