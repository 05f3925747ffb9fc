"""Ensembles of grown trees, and their predictions.

For binned data, trees are added one by one while the ensemble grows.  Predictions for
raw values are made by :mod:`tree_walk` as long as an ensemble has made few, then by
:mod:`bit_sliced`, or for few rows by :mod:`compiled_walk`; all give the same scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_ltr._core.compile import ONE_THREAD, ROW_BLOCK, ThreadTeam
from sklearn_ltr._core.data.tables import Matrix, dense_rows
from sklearn_ltr._core.saving import ChecksummedArrays, saved_part
from sklearn_ltr._core.trees.binning import BinMapper
from sklearn_ltr._core.trees.evaluate.bit_sliced import BitSlicedEvaluator
from sklearn_ltr._core.trees.evaluate.bit_sliced.conditions import collect_conditions
from sklearn_ltr._core.trees.evaluate.compiled_walk import CompiledWalk
from sklearn_ltr._core.trees.evaluate.tree_walk import (
    NO_NODES,
    NO_SETS,
    TreeNodes,
    TreeWalk,
)
from sklearn_ltr._core.trees.growth.workspace import SET_BYTES, GrownTree
from sklearn_ltr._core.typing import FloatArray, IntArray

# Adds the trees to the scores of rows
AddRows = Callable[[FloatArray, NDArray[np.floating]], None]

MAX_ROW_BLOCKS = 8  # of ROW_BLOCK rows, which a thread evaluates in one call
# Walks (rows times trees) that an ensemble makes in numpy before it is prepared for a
# kernel.  Measured for 100 trees of 31 leaves: one row takes 0.08 ms by numpy and 0.02
# ms bit-sliced, 100 rows 0.5 and 0.03, 1,000 rows 6 and 0.2.  Preparing takes 4 ms,
# loading the kernels 50 ms, or 0.5 s in a process that has run none yet, and compiling
# them 4 s (for compiled walks, 1 s).
MOST_WALKS = 100_000
# So few rows walk by a kernel, or more if trees have many distinct conditions, which a
# bit-sliced block evaluates even for one row.  Measured for 100 trees, a block takes as
# long as walks of 2 rows (symmetric trees, 4 distinct conditions per tree), 5 (trees of
# 8 leaves, 7 conditions), 6 (31 leaves, 24) and 35 (255 leaves, 254).
FEW_ROWS, CONDITIONS_PER_ROW = 2, 7
LEAF_ROWS = 32 * ROW_BLOCK  # rows whose leaves are found at a time
NODE_DTYPES = {
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "n_rows": np.int64,
}
DTYPES = {"first_node": np.int64} | NODE_DTYPES


@saved_part
@dataclass(frozen=True)
class TreeEnsemble(ChecksummedArrays):
    """A sum of regression trees, as arrays over the nodes of all trees.

    Attributes
    ----------
    first_node : ndarray of shape (n_trees,), int64
        Index of each tree's root; its other nodes follow.
    feature : ndarray of shape (n_nodes,), int32
        Feature that a node splits; -1 in a leaf.
    threshold : ndarray of shape (n_nodes,), float64
        Rows with ``x <= threshold`` go left.
    missing_left : ndarray of shape (n_nodes,), bool
        Whether NaN goes left.
    left, right : ndarrays of shape (n_nodes,), int32
        Children, counted from the tree's root; -1 in a leaf.
    value : ndarray of shape (n_nodes,), float64
        Addend of a leaf to the score, learning rate included.
    gain : ndarray of shape (n_nodes,), float64
        Gain of a split: with second order, twice the decrease of the cost's
        second-order expansion; with least squares, the decrease of the squared error.
        0 in a leaf.
    n_rows : ndarray of shape (n_nodes,), int64
        Training rows in a leaf.
    category_node : ndarray of shape (n_sets,), int64
        The nodes that split a categorical feature, ascending; the features of such a
        node are bins (``categories.py``).
    category_set : ndarray of shape (n_sets, 32), uint8
        The bins that such a node sends left, in place of ``x <= threshold``: b if bit
        ``b % 8`` of byte ``b // 8`` is 1.  Bit 255 is `missing_left`.
    """

    first_node: IntArray
    feature: NDArray[np.int32]
    threshold: FloatArray
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: FloatArray
    gain: FloatArray
    n_rows: IntArray
    category_node: IntArray = field(default_factory=lambda: NO_NODES)
    category_set: NDArray[np.uint8] = field(default_factory=lambda: NO_SETS)

    @classmethod
    def empty(cls) -> TreeEnsemble:
        """Return an ensemble without trees, which predicts 0."""
        arrays: dict[str, Any] = {n: np.empty(0, dtype) for n, dtype in DTYPES.items()}
        return cls(**arrays)

    @classmethod
    def from_grown(cls, trees: list[GrownTree], mapper: BinMapper) -> TreeEnsemble:
        """Join trees, and translate bins to thresholds in units of X."""
        sizes = [len(tree.feature) for tree in trees]
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(tree, name) for tree in trees])
            for name in (*NODE_DTYPES, "category_set")
        }
        feature, last_bin = arrays["feature"], arrays["threshold"]
        arrays["threshold"] = threshold = np.zeros(len(feature))
        is_set = np.isin(feature, mapper.categories.feature)
        for node in np.flatnonzero((feature >= 0) & ~is_set):
            thresholds, b = mapper.bin_thresholds[feature[node]], last_bin[node]
            # a split at the last bin separates missing values (right) from all others
            threshold[node] = thresholds[b] if b < len(thresholds) else np.inf
        arrays["first_node"] = np.cumsum([0, *sizes], dtype=np.int64)[:-1]
        arrays["category_node"] = set_node = np.flatnonzero(is_set)
        arrays["category_set"] = arrays["category_set"][set_node]
        return cls(**arrays)

    def grown(self, mapper: BinMapper) -> list[GrownTree]:
        """Return the trees that were joined, with bins in place of thresholds."""
        is_set = np.isin(self.feature, mapper.categories.feature)
        last_bin = np.zeros(len(self.feature), dtype=np.uint8)
        for node in np.flatnonzero((self.feature >= 0) & ~is_set):
            thresholds = mapper.bin_thresholds[self.feature[node]]
            last_bin[node] = b = np.searchsorted(thresholds, self.threshold[node])
            if b < len(thresholds) and thresholds[b] != self.threshold[node]:
                raise ValueError(
                    "trees have other thresholds than the bins of their fit: give "
                    "warm_start=False"
                )
        has_sets = mapper.categories.n_bins.any()
        sets = np.zeros((len(is_set) if has_sets else 0, SET_BYTES), np.uint8)
        sets[self.category_node] = self.category_set
        arrays = self._arrays() | {"threshold": last_bin, "category_set": sets}
        bounds = np.append(self.first_node, len(self.feature))
        return [
            GrownTree(*(arrays[name][nodes].copy() for name in GrownTree._fields))
            for nodes in map(slice, bounds[:-1], bounds[1:])
        ]

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.first_node)

    def __add__(self, other: TreeEnsemble) -> TreeEnsemble:
        """Return the trees of both ensembles, in order."""
        own, others = self._arrays(), other._arrays()
        joined = {name: np.concatenate([own[name], others[name]]) for name in own}
        joined["first_node"][len(self) :] += len(self.feature)
        joined["category_node"][len(self.category_node) :] += len(self.feature)
        return TreeEnsemble(**joined)

    def scaled(self, factor: float) -> TreeEnsemble:
        """Return the trees with all leaf values multiplied by a factor."""
        return replace(self, value=self.value * factor)

    def part(self, first: int, last: int) -> TreeEnsemble:
        """Return the trees ``first..last - 1``."""
        bounds = np.append(self.first_node, len(self.feature))
        nodes = slice(bounds[first], bounds[last])
        sets = slice(*np.searchsorted(self.category_node, [nodes.start, nodes.stop]))
        arrays = {name: array[nodes] for name, array in self._arrays().items()}
        arrays["first_node"] = self.first_node[first:last] - nodes.start
        arrays["category_node"] = self.category_node[sets] - nodes.start
        arrays["category_set"] = self.category_set[sets]
        return TreeEnsemble(**arrays)

    def predict(
        self, X: Matrix, team: ThreadTeam, base_score: FloatArray | None = None
    ) -> FloatArray:
        """Return `base_score` (default: 0) plus the sum of the trees for each row."""
        scores = np.zeros(X.shape[0]) if base_score is None else base_score.copy()
        self.add_to(scores, X, team)
        return scores

    def staged_predict(
        self, X: Matrix, base_score: FloatArray | None = None
    ) -> Iterator[FloatArray]:
        """Yield predictions of the first 1, 2, ... trees for each row of X."""
        scores = np.zeros(X.shape[0]) if base_score is None else base_score.copy()
        walks = X.shape[0] * len(self) <= MOST_WALKS
        for number in range(len(self)):
            tree, tested = self.part(number, number + 1)._with_tested(X)
            add_rows = tree._walk.add_to if walks else tree._evaluator.add_to
            add_in_parts(add_rows, scores, tested, ONE_THREAD)
            yield scores.copy()

    def add_to(self, scores: FloatArray, X: Matrix, team: ThreadTeam) -> None:
        """Add the trees, one after another, to the score of each row of X."""
        # The score of a row of an ndarray with an infinite value, in any feature,
        # becomes NaN, whether a tree tests the feature or not.  Infinite values are not
        # allowed, and NaN tells the caller (`FittedTrees.scores` in
        # ``fitted_trees.py``) without another pass over X.
        if len(self) > 0:
            trees, X = self._with_tested(X)
            add_in_parts(trees._choose_way(X.shape[0]), scores, X, team)

    def _with_tested(self, X: Matrix) -> tuple[TreeEnsemble, Matrix]:
        """Return the trees and X; of a sparse X, only the features that trees test."""
        if not issparse(X):
            return self, X
        trees, features = self._of_tested
        return trees, X[:, features]

    @cached_property
    def _of_tested(self) -> tuple[TreeEnsemble, NDArray[np.intp]]:
        """The trees with only the features that they test, at least one, and these."""
        tested = np.union1d(self.feature[self.feature >= 0], [0])
        feature = np.searchsorted(tested, self.feature).astype(np.int32)
        return replace(self, feature=np.where(self.feature < 0, -1, feature)), tested

    def _choose_way(self, n_rows: int) -> AddRows:
        """Return what is fastest: numpy's walks for few rows so far, or a kernel."""
        n_walks = vars(self).get("_n_walks", 0)
        if n_walks <= MOST_WALKS:
            vars(self)["_n_walks"] = n_walks = n_walks + n_rows * len(self)
        if n_walks <= MOST_WALKS:
            return self._walk.add_to
        walks = n_rows <= self._few_rows
        return (self._compiled_walk if walks else self._evaluator).add_to

    def leaves(self, X: Matrix, team: ThreadTeam) -> IntArray:
        """Return the leaf of each tree that a row reaches: (n_rows, n_trees) int64."""
        # Leaves have the numbers of their nodes, counted from the tree's root.  X must
        # be finite, or NaN.
        n_rows, n_trees = X.shape[0], len(self)
        all_trees, X = self._with_tested(X)
        if n_rows * n_trees <= MOST_WALKS:
            reached = all_trees._walk.leaves(dense_rows(X, slice(None)))
            return np.ascontiguousarray(reached.T - self.first_node)
        # a tree whose values are the numbers of its nodes predicts the number of a leaf
        parts = [all_trees.part(number, number + 1) for number in range(n_trees)]
        trees = [
            replace(part, value=np.arange(float(len(part.value))))._evaluator
            for part in parts
        ]
        leaves = np.empty((n_rows, n_trees), dtype=np.int64)
        for first in range(0, n_rows, LEAF_ROWS):
            part = slice(first, first + LEAF_ROWS)
            write = partial(write_leaves, dense_rows(X, part))
            team.map(write, trees, leaves[part].T)
        return leaves

    @cached_property
    def _nodes(self) -> TreeNodes:
        """The arrays that evaluators take."""
        nodes = TreeNodes(*(getattr(self, name) for name in TreeNodes._fields))
        return nodes._replace(first_node=np.append(self.first_node, len(self.feature)))

    @cached_property
    def _walk(self) -> TreeWalk:
        """The ensemble prepared for walks."""
        return TreeWalk(self._nodes)

    @cached_property
    def _few_rows(self) -> int:
        """Up to how many rows walk by a kernel."""
        conditions, _ = collect_conditions(self._nodes)
        per_tree = len(conditions.threshold) // len(self)
        return max(FEW_ROWS, per_tree // CONDITIONS_PER_ROW)

    @cached_property
    def _compiled_walk(self) -> CompiledWalk:
        """The ensemble prepared for walks by a kernel."""
        return CompiledWalk(self._nodes)

    @cached_property
    def _evaluator(self) -> BitSlicedEvaluator:
        """The ensemble prepared for bit-sliced evaluation."""
        return BitSlicedEvaluator(self._nodes)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the arrays; a ValueError if they differ from the saved ones."""
        # models saved before there were categorical features have no sets
        vars(self).update(category_node=NO_NODES, category_set=NO_SETS)
        super().__setstate__(state)

    def check(self, n_features: int) -> None:
        """Raise a ValueError unless the arrays are trees that test these features."""
        check_trees(self._arrays(), n_features)

    def gain_by_feature(self, n_features: int) -> FloatArray:
        """Sum the gains of the splits of each feature: (n_features,) float64."""
        splits = self.feature >= 0
        sums = np.zeros(n_features)
        np.add.at(sums, self.feature[splits], self.gain[splits])
        return sums


def add_in_parts(
    add_rows: AddRows, scores: FloatArray, X: Matrix, team: ThreadTeam
) -> None:
    """Add trees to the scores of all rows, which threads divide among them."""
    if len(scores) <= ROW_BLOCK:  # one part, as most queries are
        add_rows(scores, X.toarray() if issparse(X) else X)
        return
    # about four parts per thread; a sparse part is made dense, so it is one block
    n_row_blocks = min(len(scores) // (4 * team.n_threads * ROW_BLOCK), MAX_ROW_BLOCKS)
    step = ROW_BLOCK * (1 if issparse(X) else max(1, n_row_blocks))

    def add(first: int) -> None:
        part = slice(first, first + step)
        add_rows(scores[part], dense_rows(X, part))

    team.map(add, range(0, len(scores), step))


def write_leaves(
    X: NDArray[np.floating], tree: BitSlicedEvaluator, leaves: IntArray
) -> None:
    """Write the prediction of a tree for some rows."""
    found = np.zeros(len(X))
    tree.add_to(found, X)
    leaves[:] = found


# --- whether arrays are trees, which the kernels of predictions take for granted ------


def check_trees(arrays: Mapping[str, NDArray[Any]], n_features: int) -> None:
    """Raise a ValueError unless the arrays of a TreeEnsemble are binary trees."""
    # Every walk from a root must end in a leaf of the same tree, and test none but the
    # `n_features` features.
    n_nodes = len(arrays["feature"])
    for name, dtype in DTYPES.items():
        array = arrays[name]
        n = len(arrays["first_node"]) if name == "first_node" else n_nodes
        if array.dtype != dtype or array.shape != (n,):
            raise ValueError(f"{name} has shape {array.shape} and dtype {array.dtype}")
    node, sets = arrays["category_node"], arrays["category_set"]
    if not (
        node.dtype == np.int64
        and sets.dtype == np.uint8
        and node.ndim == 1
        and sets.shape == (len(node), SET_BYTES)
        and (np.diff(node) > 0).all()
        and ((node >= 0) & (node < len(arrays["feature"]))).all()
        and (arrays["feature"][node] >= 0).all()
        and ((sets[:, -1] >> 7 != 0) == arrays["missing_left"][node]).all()
    ):
        raise ValueError("category_set and category_node are not sets of inner nodes")
    first_node, feature = arrays["first_node"], arrays["feature"]
    left, right = arrays["left"], arrays["right"]
    sizes = np.diff(first_node, append=n_nodes)
    starts_at_0 = first_node[0] == 0 if len(first_node) > 0 else n_nodes == 0
    if not (starts_at_0 and (sizes > 0).all()):
        raise ValueError("first_node does not divide the nodes into trees")
    if not ((feature >= -1) & (feature < n_features)).all():
        raise ValueError(f"feature is not one of {n_features}")
    root, node = np.repeat(first_node, sizes), np.arange(n_nodes)
    end, is_inner = root + np.repeat(sizes, sizes), feature >= 0
    children = np.concatenate([(root + side)[is_inner] for side in (left, right)])
    parents = np.tile(node[is_inner], 2)
    if not (
        (left[~is_inner] == -1).all()
        and (right[~is_inner] == -1).all()
        and ((children > parents) & (children < end[parents])).all()
        and (np.bincount(children, minlength=n_nodes) == (node != root)).all()
    ):
        raise ValueError("left and right are not the children of binary trees")
    if (arrays["missing_left"].view(np.uint8) > 1).any():
        raise ValueError("missing_left holds bytes other than 0 and 1")
    if np.isnan(arrays["threshold"]).any():
        raise ValueError("threshold has NaN")
    for name in ("value", "gain"):
        with np.errstate(over="ignore"):
            total = np.abs(arrays[name]).sum()
        if not np.isfinite(total):
            raise ValueError(
                f"{name} has numbers that are not finite, or far too large"
            )
    if (arrays["gain"] < 0).any() or (arrays["n_rows"] < 0).any():
        raise ValueError("gain or n_rows is below 0")
