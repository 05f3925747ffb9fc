"""The boosting loop: one tree after another, each a step down the gradient.

    F_m(x) = F_{m-1}(x) + eta * (value of the leaf of tree m that x falls into)

This is algorithm LambdaMART of the report for any objective: rankers and MART share it.
Only the objective, a function that turns scores into gradient and hessian, knows what
is minimised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import LOG2_E, exp2_of
from sklearn_ltr._data.query_index import QueryIndex
from sklearn_ltr._trees.ensemble import add_binned
from sklearn_ltr._trees.growing import TreeGrower
from sklearn_ltr._trees.quantization import Derivatives
from sklearn_ltr._trees.row_draws import bayesian_weights, noisy_scores
from sklearn_ltr._trees.workspace import (
    GrownTree,
    TreeSample,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Scores (n_rows,) and the learning rate of the tree -> gradient and hessian of the cost
# by each score, (n_rows,) each
Objective = Callable[[FloatArray, float], tuple[FloatArray, FloatArray]]

# One random stream per tree and purpose: default_rng([seed, tree_index, purpose])
TREE_FEATURES, ROWS, SPLIT_NOISE, SPLIT_FEATURES, WEIGHTS, SCORE_NOISE = range(6)


def boost(
    grower: TreeGrower,
    objective: Objective,
    sampler: TreeSampler,
    scores: FloatArray,
    steps: Iterable[tuple[int, float]],
) -> Iterator[GrownTree]:
    """Grow one tree after another; yield each when it has been added to `scores`.

    `scores` are F_{m-1} of the training rows, (n_rows,), updated in place.  `steps` has
    the index of each tree, which seeds its random numbers, and its learning rate.
    """
    binned = grower.binned
    for tree_index, learning_rate in steps:
        grower.parameters = grower.parameters._replace(learning_rate=learning_rate)
        # random numbers are drawn in one thread while the others compute the gradient
        drawing = grower.team.start(sampler.draw, tree_index)
        gradient, hessian = objective(
            sampler.noisy_scores(scores, tree_index), learning_rate
        )
        sample, weights = drawing.result()
        tree = grower.grow(Derivatives(gradient, hessian), weights, sample, scores)
        if len(sample.rows) < len(scores):
            # `grow` has updated the scores of the sample only
            add_binned(binned, np.delete(sampler.all_rows, sample.rows), tree, scores)
        yield tree


@dataclass(frozen=True)
class TreeSampler:
    """Draws what each tree is grown on; its index and the seed decide everything."""

    index: QueryIndex  # the rows of a query are drawn together
    subsample: float  # fraction of the queries drawn for each tree
    n_features: int
    n_tree_features: int  # drawn for each tree
    n_split_features: int  # drawn for each node, among those of the tree
    split_noise: float  # standard deviation of the logarithm of factors of split gains
    bagging_temperature: (
        float  # power of the exponential weights of rows; 0: no weights
    )
    score_noise: float  # standard deviation; gradients are computed of noisy scores
    n_nodes: int  # largest number of nodes of a tree
    seed: int

    def draw(self, tree_index: int) -> tuple[TreeSample, FloatArray | None]:
        """Draw all that one tree is grown on."""
        return self.sample(tree_index), self.weights(tree_index)

    def sample(self, tree_index: int) -> TreeSample:
        """Draw rows, features and factors of the split gains of one tree."""
        features = self._features(tree_index)
        return TreeSample(
            tree_index,
            self._rows(tree_index),
            features,
            self._gain_factors(tree_index, features),
        )

    def weights(self, tree_index: int) -> FloatArray | None:
        """Draw the weight of each row of one tree, (n_rows,); None: all are 1."""
        if self.bagging_temperature == 0.0:
            return None
        rng = self._rng(tree_index, WEIGHTS)
        return bayesian_weights(rng, self.index.row_numbers, self.bagging_temperature)

    def noisy_scores(self, scores: FloatArray, tree_index: int) -> FloatArray:
        """Return the scores whose gradients a tree learns: with noise, if any."""
        if self.score_noise == 0.0:
            return scores
        rng = self._rng(tree_index, SCORE_NOISE)
        return noisy_scores(rng, self.index.row_numbers, scores, self.score_noise)

    @cached_property
    def all_rows(self) -> NDArray[np.int32]:
        """Return the numbers of all rows, ascending."""
        return np.arange(self.index.offsets[-1], dtype=np.int32)

    def _rng(self, tree_index: int, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, tree_index, purpose])

    def _rows(self, tree_index: int) -> NDArray[np.int32]:
        """Return the rows of the drawn queries, ascending."""
        n_queries = self.index.n_queries
        n_drawn = max(1, round(self.subsample * n_queries))
        if n_drawn == n_queries:
            return self.all_rows
        drawn = np.zeros(n_queries, dtype=np.bool_)
        drawn[self._rng(tree_index, ROWS).permutation(n_queries)[:n_drawn]] = True
        own = drawn[self.index.position]
        return self.all_rows[np.repeat(own, np.diff(self.index.offsets))]

    def _features(self, tree_index: int) -> IntArray:
        """Return the features of the tree, ascending."""
        if self.n_tree_features == self.n_features:
            return np.arange(self.n_features)
        rng = self._rng(tree_index, TREE_FEATURES)
        return np.sort(rng.choice(self.n_features, self.n_tree_features, replace=False))

    def _gain_factors(self, tree_index: int, features: IntArray) -> FloatArray:
        """Return the factor of each feature's best gain at each node.

        The factors are exp(split_noise * N(0, 1)); 0 for features that are not drawn
        for the node.
        """
        shape = (self.n_nodes, self.n_features)
        if self.split_noise == 0.0:
            factors = np.ones(shape)
        else:
            factors = self._rng(tree_index, SPLIT_NOISE).standard_normal(shape)
            factors = exp2_of(factors * (self.split_noise * LOG2_E))
        n_left_out = len(features) - self.n_split_features
        if n_left_out > 0:
            rng = self._rng(tree_index, SPLIT_FEATURES)
            order = rng.random((self.n_nodes, len(features))).argsort(axis=1)
            left_out = features[order[:, :n_left_out]]
            np.put_along_axis(factors, left_out, 0.0, axis=1)
        return factors
