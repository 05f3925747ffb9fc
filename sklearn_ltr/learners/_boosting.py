"""The additive loop of MART: one tree after another, each a step down the gradient.

    F_m(x) = F_{m-1}(x) + eta * (value of the leaf of tree m that x falls into)

Algorithm LambdaMART of the report, for any cost: what the cost is, only the function
that turns scores into gradient and hessian knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr.learners._trees.binning import BinnedData
from sklearn_ltr.learners._trees.ensemble import add_binned
from sklearn_ltr.learners._trees.growing import TreeGrower
from sklearn_ltr.learners._trees.workspace import GrownTree, Limits

FloatArray = NDArray[np.float64]
Derivatives = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class Boosting:
    """How trees are grown and added.

    Attributes
    ----------
    limits : Limits
        Size of a tree, l2 of its leaves, and the report's eta.
    second_order : bool
        Splits by hessians, or by least squares.
    n_split_features : int >= 1
        Columns drawn for each tree.
    split_noise : float >= 0
        Standard deviation of the logarithm of a random factor of each column's gain.
    seed : int
        With the number of the tree, decides columns and factors.
    """

    limits: Limits
    second_order: bool
    n_split_features: int
    split_noise: float
    seed: int

    def trees(
        self,
        table: BinnedData,
        derivatives: Derivatives,
        rows_of_tree: Callable[[int], NDArray[np.int32]],
        scores: FloatArray,
        first: int,
        last: int,
        team: ThreadTeam,
    ) -> Iterator[GrownTree]:
        """Grow trees number ``first..last - 1``, and add each to `scores`.

        Parameters
        ----------
        table : BinnedData
            The rows to learn from.
        derivatives : callable
            Turns scores (n_rows,) into the cost's gradient and hessian, (n_rows,) each.
        rows_of_tree : callable
            Turns the number of a tree into the rows to grow it on, ascending.
        scores : ndarray of shape (n_rows,), float64
            Of the trees before the first; kept up to date.
        first, last : int
            Numbers of the trees.
        team : ThreadTeam
            The threads to use.
        """
        grower = TreeGrower(
            table, self.limits, second_order=self.second_order, team=team
        )
        n_features = len(table.place)
        every_row = np.arange(len(scores), dtype=np.int32)
        for number in range(first, last):
            drawing = team.start(self._noise_of_tree, number, n_features)
            gradient, hessian = derivatives(scores)
            rows = rows_of_tree(number)
            features = self._features_of_tree(number, n_features)
            noise = drawing.result()
            tree = grower.grow(gradient, hessian, rows, features, number, noise, scores)
            if len(rows) < len(scores):
                others = np.delete(every_row, rows)
                add_binned(table, others, tree, scores)
            yield tree

    def _features_of_tree(self, number: int, n_features: int) -> NDArray[np.int64]:
        if self.n_split_features == n_features:
            return np.arange(n_features)
        rng = np.random.default_rng([self.seed, number, 0])
        return np.sort(rng.choice(n_features, self.n_split_features, replace=False))

    def _noise_of_tree(self, number: int, n_features: int) -> FloatArray:
        shape = (2 * self.limits.max_leaf_nodes - 1, n_features)
        if self.split_noise == 0.0:
            return np.ones(shape)
        noise = np.random.default_rng([self.seed, number, 2]).standard_normal(shape)
        noise *= self.split_noise
        return np.exp(noise, out=noise)
