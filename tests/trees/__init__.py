"""Tests of the trees, and the few lines that grow one from raw values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr.learners._trees.binning import BinMapper, BinnedData
from sklearn_ltr.learners._trees.ensemble import TreeEnsemble
from sklearn_ltr.learners._trees.growing import TreeGrower
from sklearn_ltr.learners._trees.workspace import GrownTree, Limits

ALONE = ThreadTeam(1)


@dataclass
class Grown:
    """A tree, the bins it was grown on, and the value it gave each training row."""

    tree: GrownTree
    mapper: BinMapper
    table: BinnedData
    fitted: NDArray[np.float64]

    @property
    def ensemble(self) -> TreeEnsemble:
        return TreeEnsemble.from_grown([self.tree], self.mapper)

    @property
    def gains(self) -> list[float]:
        """Gains in the order of the splits: each made the next two nodes."""
        splits = np.flatnonzero(self.tree.feature >= 0)
        return self.tree.gain[splits[np.argsort(self.tree.left[splits])]].tolist()

    @property
    def leaves(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.tree.feature < 0)


def bins(
    X, max_bins=255, rows=None, seed=0, team=ALONE
) -> tuple[BinMapper, BinnedData]:
    """Learn bins from some rows (all) and apply them to all."""
    every = np.arange(len(X), dtype=np.intp)
    mapper = BinMapper.fit(X, every if rows is None else rows, max_bins, seed, team)
    return mapper, mapper.transform(X, every, team)


def columns(table: BinnedData) -> NDArray[np.uint8]:
    """Codes as a plain table (n_rows, n_features)."""
    return table.codes[table.block, :, table.place].T


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
    rows=None,
    features=None,
    shift=0,
    noise=None,
    n_threads=1,
) -> Grown:
    """Grow one tree on raw values."""
    n_rows, n_features = X.shape
    mapper, table = bins(X, max_bins)
    rows = np.asarray(np.arange(n_rows) if rows is None else rows, dtype=np.int32)
    fitted = np.full(n_rows, np.nan)
    fitted[rows] = 0.0
    limits = Limits(
        max_leaf_nodes, max_depth, min_samples_leaf, float(l2), learning_rate
    )
    with ThreadTeam(n_threads) as team:
        grower = TreeGrower(table, limits, second_order=second_order, team=team)
        tree = grower.grow(
            np.asarray(gradient, dtype=np.float64),
            np.asarray(hessian, dtype=np.float64),
            rows,
            np.asarray(np.arange(n_features) if features is None else features),
            shift,
            np.ones((2 * max_leaf_nodes - 1, n_features)) if noise is None else noise,
            fitted,
        )
    return Grown(tree, mapper, table, fitted)
