"""The boosting loop: one tree after another, each a step down the gradient.

    F_m(x) = F_{m-1}(x) + eta * (value of the leaf of tree m that x falls into)

This is algorithm LambdaMART of Burges ("From RankNet to LambdaRank to LambdaMART: An
Overview", MSR-TR-2010-82, 2010) for any objective: rankers and MART share it.  Only the
objective, a function that turns scores into gradient and hessian, knows what is
minimised.

What a tree is grown on is drawn by `TreeSampler`.  The number of a row among all rows
of a fit, those of other workers included, is its number in a stream of random numbers
(`RowNumbers`).  Number i of a stream is a hash of i, in plain arithmetic for speed,
turned into a uniform u in (0, 1).  From it follow

    an exponential weight    w = -ln u                           mean 1
    logistic noise           z = ln(u / (1 - u)) sqrt(3) / pi    standard deviation 1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import LOG2_E, exp, exp2_of, kernel, log, subkernel, uint64
from sklearn_ltr._data.query_index import QueryIndex, RowNumbers
from sklearn_ltr._data.row_hashes import COLUMN_STEP, mix_bits
from sklearn_ltr._trees.ensemble import add_binned
from sklearn_ltr._trees.growing import TreeGrower
from sklearn_ltr._trees.quantization import Derivatives
from sklearn_ltr._trees.workspace import GrownTree, TreeSample

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LARGEST_UNIFORM = 1.0 - 2.0**-53
UNIT_DEVIATION = 0.5513288954217921  # sqrt(3) / pi

# One random stream per tree and purpose: default_rng([seed, tree_index, purpose])
TREE_FEATURES, ROWS, SPLIT_NOISE, SPLIT_FEATURES, WEIGHTS, SCORE_NOISE = range(6)


class TreeObjective(Protocol):
    """What trees learn from."""

    def __call__(
        self, scores: FloatArray, learning_rate: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of all rows for their scores, (n_rows,) each."""

    def fitted(self, n_trees: int) -> dict[str, Any]:
        """Return what the objective has learned after these trees, by attribute."""


def boost(
    grower: TreeGrower,
    objective: TreeObjective,
    sampler: TreeSampler,
    scores: FloatArray,
    steps: Iterable[tuple[int, float]],
) -> Iterator[GrownTree]:
    """Grow one tree after another; yield each when it has been added to `scores`."""
    # `scores` are those of the training rows, (n_rows,); `steps` gives the index of
    # each tree, which seeds its random numbers, and its learning rate
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
    bagging_temperature: float  # power of exponential weights of rows; 0: no weights
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
        """Return the generator of one tree and purpose."""
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
        """Return the factor of each feature's best gain at each node."""
        # exp(split_noise * N(0, 1)); 0 for features that are not drawn for the node
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


# --- random numbers of rows -------------------------------------------------------


@subkernel
def uniform(stream: Any, i: int) -> float:
    """Return number i of a stream, in (0, 1)."""
    bits = mix_bits(stream + (uint64(i) + uint64(1)) * COLUMN_STEP)
    u = (float(bits >> uint64(11)) + 0.5) / 9007199254740992.0  # 2^53
    return min(u, LARGEST_UNIFORM)  # the largest bits would round to 1


@kernel
def _fill_weights(
    stream: int, numbers: RowNumbers, temperature: float, weights: FloatArray
) -> None:
    """Fill in an exponential weight of each row to the power of the temperature."""
    for run in range(len(numbers.first)):
        start, stop = numbers.offsets[run], numbers.offsets[run + 1]
        own = stream + uint64(numbers.first[run] - start) * COLUMN_STEP
        for i in range(start, stop):
            weights[i] = -log(uniform(own, i))
    if temperature != 1.0:
        for i in range(len(weights)):
            weights[i] = exp(temperature * log(weights[i]))


@kernel
def _add_noise(
    stream: int,
    numbers: RowNumbers,
    size: float,
    scores: FloatArray,
    noisy: FloatArray,
) -> None:
    """Fill in each score plus ``size * ln(u / (1 - u))``."""
    for run in range(len(numbers.first)):
        start, stop = numbers.offsets[run], numbers.offsets[run + 1]
        own = stream + uint64(numbers.first[run] - start) * COLUMN_STEP
        for i in range(start, stop):
            u = uniform(own, i)
            noisy[i] = scores[i] + size * (log(u) - log(1.0 - u))


def bayesian_weights(
    rng: np.random.Generator, numbers: RowNumbers, temperature: float
) -> FloatArray:
    """Return an exponential weight of each row to the power of the temperature."""
    weights = np.empty(numbers.offsets[-1])
    with np.errstate(over="ignore"):  # numpy warns where nothing is compiled
        _fill_weights(_new_stream(rng), numbers, temperature, weights)
    return weights


def noisy_scores(
    rng: np.random.Generator, numbers: RowNumbers, scores: FloatArray, deviation: float
) -> FloatArray:
    """Return scores with logistic noise of this standard deviation added."""
    noisy = np.empty(len(scores))
    with np.errstate(over="ignore"):
        size = deviation * UNIT_DEVIATION
        _add_noise(_new_stream(rng), numbers, size, scores, noisy)
    return noisy


def _new_stream(rng: np.random.Generator) -> Any:
    """Draw what the numbers of a stream depend on."""
    return rng.integers(2**64, dtype=np.uint64)
