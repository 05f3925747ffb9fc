"""Tests of the trees, and functions that grow one tree on raw values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data.tables import table_of
from sklearn_ltr._core.trees.binning import BinMapper, BinnedData, fit_bins
from sklearn_ltr._core.trees.categories import (
    N_FOLDS,
    CategoryBins,
    CategorySums,
    RowTargets,
)
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.growth import BEST_FIRST, SYMMETRIC
from sklearn_ltr._core.trees.growth.grower import TreeGrower
from sklearn_ltr._core.trees.growth.leaf_values import add_leaves
from sklearn_ltr._core.trees.growth.preparation import PreparedRows, RowPreparer
from sklearn_ltr._core.trees.growth.quantization import RowDerivatives
from sklearn_ltr._core.trees.growth.sampling import RowSample, TreeSample
from sklearn_ltr._core.trees.growth.workspace import (
    NO_CONSTRAINTS,
    GrownTree,
    GrowthParameters,
)

ONE_THREAD = ThreadTeam(1)
STREAM = np.uint64(0x9E3779B97F4A7C15)  # of which rows are sampled


def prepare(
    derivatives, subsample=1.0, *, numbers=None, second_order=True, tree_index=0, team
) -> tuple[PreparedRows, RowSample, NDArray[np.int64]]:
    """Prepare rows for a tree; return them, the sample, and the packed gradients."""
    n = len(derivatives.gradient)
    numbers = np.arange(n) if numbers is None else numbers
    packed = np.empty(n, dtype=np.int64)
    preparer = RowPreparer(numbers.astype(np.uint32), packed, team, ONE_PROCESS)
    allowed = np.ones((1, 1), dtype=bool)
    drawn = TreeSample(tree_index, np.arange(1), allowed, subsample, STREAM)
    prepared = preparer.prepare(derivatives, drawn, second_order)
    sampled = preparer._work.sampled
    if prepared.rows is not None:
        rows, numbers, pair = sampled
        k = len(prepared.rows)
        pair = RowDerivatives(*(one[:k] for one in pair))
        sampled = RowSample(rows[:k], numbers[:k], pair)
    return prepared, sampled, packed


@dataclass
class Grown:
    """A tree, the binned data it was grown on, and the scores of the training rows."""

    tree: GrownTree
    mapper: BinMapper
    binned: BinnedData
    scores: NDArray[np.float64]

    @property
    def ensemble(self) -> TreeEnsemble:
        return TreeEnsemble.from_grown([self.tree], self.mapper)

    @property
    def gains(self) -> list[float]:
        """Gains in the order of the splits: each split made the next two nodes."""
        splits = np.flatnonzero(self.tree.feature >= 0)
        return self.tree.gain[splits[np.argsort(self.tree.left[splits])]].tolist()

    @property
    def leaves(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.tree.feature < 0)


def bin_table(
    X, max_bins=255, rows=None, team=ONE_THREAD, categorical=()
) -> tuple[BinMapper, BinnedData]:
    """Fit bins on some rows (default: all) and bin all rows."""
    all_rows = np.arange(X.shape[0], dtype=np.intp)
    rows, categorical = all_rows if rows is None else rows, np.array(categorical, int)
    sums = [
        CategorySums.add_up(X[rows, j], row_targets(len(rows))) for j in categorical
    ]
    categories = CategoryBins.fit(categorical, sums, max_bins, 1, 0.0)
    table = table_of(X)
    mapper = fit_bins(table, rows, max_bins, categories, ONE_PROCESS, team)
    return mapper, mapper.transform(table, all_rows, team)


def row_targets(n_rows, target=0.0, weight=1.0) -> RowTargets:
    """Targets and weights of rows, one or all the same; rows are dealt into folds."""
    target, weight = np.asarray(target, float), np.asarray(weight, float)
    given = (np.broadcast_to(a, n_rows) for a in (weight * target, weight))
    return RowTargets(*given, np.arange(n_rows) % N_FOLDS)


def binned_values(binned: BinnedData) -> NDArray[np.uint8]:
    """Return the binned values as a plain table (n_rows, n_features)."""
    return binned.stored.columns.T


def grower_of(binned, parameters, team, policy=BEST_FIRST) -> TreeGrower:
    """The grower of a worker that is alone."""
    numbers = np.arange(binned.stored.columns.shape[1], dtype=np.uint32)
    return TreeGrower(binned, policy, parameters, team, numbers, ONE_PROCESS)


def grow_on(
    X,
    gradient,
    hessian,
    *,
    max_leaf_nodes=31,
    max_depth=2**31,
    min_samples_leaf=1,
    l2=0.0,
    learning_rate=1.0,
    second_order=True,
    max_bins=255,
    features=None,
    tree_index=0,
    allowed=None,
    subsample=1.0,
    n_threads=1,
    categorical=(),
    category_smoothing=0.0,
    constraints=NO_CONSTRAINTS,
    policy=BEST_FIRST,
    path_smooth=0.0,
) -> Grown:
    """Grow one tree on raw values; a symmetric one has `max_depth` levels."""
    n_rows, n_features = X.shape
    if policy is SYMMETRIC:
        max_leaf_nodes = 2**max_depth
    mapper, binned = bin_table(X, max_bins, categorical=categorical)
    features = np.asarray(np.arange(n_features) if features is None else features)
    if allowed is None:
        allowed = np.ones((2 * max_leaf_nodes - 1, n_features), dtype=bool)
    scores = np.zeros(n_rows)
    parameters = GrowthParameters(
        max_leaf_nodes,
        max_depth,
        min_samples_leaf,
        float(l2),
        second_order,
        category_smoothing,
        constraints,
        path_smooth,
    )
    with ThreadTeam(n_threads) as team:
        grower = grower_of(binned, parameters, team, policy)
        tree = grower.grow(
            RowDerivatives(
                np.asarray(gradient, dtype=np.float64),
                np.asarray(hessian, dtype=np.float64),
            ),
            TreeSample(tree_index, features, allowed, subsample, STREAM),
            learning_rate,
        )
        add_leaves(tree, grower.leaves, scores, team)
    return Grown(tree, mapper, binned, scores)
