r"""Sampling for each tree: its features, and the rows on which splits are sought.

**Rows.**  With g and h the derivatives of the cost by a row's score, row i is kept with
probability

    p_i = min(1, s_i / mu),    s_i = sqrt(g_i^2 + lambda h_i^2),
    lambda = (sum |g| / sum h)^2,

where mu is such that the expected number of rows is `subsample` times all.  Splits are
sought on the rows that are kept, with the derivatives g_i / p_i and h_i / p_i, whose
sums have the sums over all rows as their means.  Of all samples of this size, this one
gives the gains of splits the smallest variance (B. Ibragimov and G. Gusev, "Minimal
Variance Sampling in Stochastic Gradient Boosting", NeurIPS 2019).  The leaf values are
computed from all rows.

**Random numbers.**  Each tree has one stream of random numbers for each purpose.
Row i, counted among the rows of all workers, is kept if number i of the stream for rows
is below p_i.  Number i of a stream is a hash of i, in plain arithmetic for speed,
turned into a uniform number in (0, 1).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import (
    EXPONENT_BIAS,
    MANTISSA_BITS,
    float64_bits,
    int64,
    subkernel,
    uint64,
)
from sklearn_ltr._core.data.row_hashes import COLUMN_STEP, mix_bits
from sklearn_ltr._core.trees.growth.quantization import RowDerivatives, power_of_two
from sklearn_ltr._core.typing import IntArray

LARGEST_UNIFORM = 1.0 - 2.0**-53

# The purposes of random streams: PCG64([seed, tree_index, purpose]).  (2 was a
# purpose once, and 3 is kept so that models stay the same.)
TREE_FEATURES, ROWS, SPLIT_FEATURES = 0, 1, 3

# s_i is counted in buckets, 32 for each factor of 2: from 2^-62 to 2
BUCKET_BITS = 5
FIRST_BUCKET = (EXPONENT_BIAS - 62) << BUCKET_BITS
N_BUCKETS = 63 << BUCKET_BITS
_edges = (np.arange(1, N_BUCKETS + 1) + FIRST_BUCKET) << MANTISSA_BITS - BUCKET_BITS
BUCKET_ENDS = _edges.view(np.float64)[1:]  # of bucket 1 and those above it
BUCKET_MIDDLES = (_edges.view(np.float64)[:-1] + BUCKET_ENDS) / 2


class TreeSample(NamedTuple):
    """The features and the fraction of the rows that are drawn for one tree."""

    tree_index: int  # number of the tree; rounding of gradients depends on it
    features: IntArray  # (n_used_features,), ascending
    # (2 * max_leaf_nodes - 1, n_features): whether a feature may split a node
    allowed: NDArray[np.bool_]
    subsample: float  # expected fraction of the rows
    row_stream: Any  # of random numbers, which decide which rows are kept


class RowSample(NamedTuple):
    """The rows on which splits are sought; arrays have room for all rows."""

    rows: NDArray[np.int32]  # (n_rows,), ascending
    row_numbers: NDArray[np.uint32]  # (n_rows,), among the rows of all workers
    # (n_rows,): g_i / p_i and h_i / p_i, with least squares 1 / p_i for h_i / p_i
    derivatives: RowDerivatives


def bits_of(seed: int, tree_index: int, purpose: int) -> np.random.PCG64:
    """Return the random bits of one tree and purpose."""
    return np.random.PCG64([seed, tree_index, purpose])


# A search fits many models with one seed, and in a small fit the seeding of a generator
# for each tree takes a tenth of the time
@functools.lru_cache(maxsize=4096)
def row_key(seed: int, tree_index: int) -> np.uint64:
    """Return the key of the stream that draws the rows of a tree."""
    return np.uint64(bits_of(seed, tree_index, ROWS).random_raw())


@dataclass(frozen=True)
class TreeSampler:
    """Draws a `TreeSample` for each tree, by the seed and the tree's index alone."""

    subsample: float  # expected fraction of the rows of a tree
    n_features: int
    n_tree_features: int  # drawn for each tree
    n_split_features: int  # drawn for each node, from the features of the tree
    n_nodes: int  # largest number of nodes of a tree
    seed: int

    def draw(self, tree_index: int) -> TreeSample:
        """Draw the sample of a tree; its rows follow from its gradients, too."""
        features = self._features(tree_index)
        allowed = self._allowed(tree_index, features)
        # the key of a stream, on which its numbers depend
        stream = np.uint64(0)
        if self.subsample < 1.0:
            stream = row_key(self.seed, tree_index)
        return TreeSample(tree_index, features, allowed, self.subsample, stream)

    def _rng(self, tree_index: int, purpose: int) -> np.random.Generator:
        """Return the generator of one tree and purpose."""
        return np.random.Generator(bits_of(self.seed, tree_index, purpose))

    def _features(self, tree_index: int) -> IntArray:
        """Return the features of the tree, ascending."""
        if self.n_tree_features == self.n_features:
            return np.arange(self.n_features)
        rng = self._rng(tree_index, TREE_FEATURES)
        return np.sort(rng.choice(self.n_features, self.n_tree_features, replace=False))

    def _allowed(self, tree_index: int, features: IntArray) -> NDArray[np.bool_]:
        """Return whether each feature may split each node: if it is drawn for it."""
        allowed = np.ones((self.n_nodes, self.n_features), dtype=bool)
        n_left_out = len(features) - self.n_split_features
        if n_left_out > 0:
            rng = self._rng(tree_index, SPLIT_FEATURES)
            order = rng.random((self.n_nodes, len(features))).argsort(axis=1)
            left_out = features[order[:, :n_left_out]]
            np.put_along_axis(allowed, left_out, False, axis=1)
        return allowed


# --- rows of minimal variance -----------------------------------------------------


@subkernel
def find_importance(
    derivatives: RowDerivatives,
    magnitudes: Any,
    first: int,
    last: int,
    importance: NDArray[np.float32],
    counts: IntArray,
) -> None:
    """Write s of each row, in a common unit, and count the rows of each bucket."""
    ratio = 0.0
    if magnitudes.hessian > 0:
        ratio = magnitudes.gradient / magnitudes.hessian
    # in this unit, s_i is at most sqrt(2)
    largest_gradient = power_of_two(magnitudes.gradient_exponent)
    largest_hessian = power_of_two(magnitudes.hessian_exponent)
    gradient_unit = 1.0 / max(largest_gradient, largest_hessian * ratio)
    hessian_unit = gradient_unit * ratio
    gradient, hessian = derivatives.gradient, derivatives.hessian
    for i in range(uint64(first), uint64(last)):
        g, h = gradient[i] * gradient_unit, hessian[i] * hessian_unit
        importance[i] = np.sqrt(g * g + h * h)
    for bucket in range(N_BUCKETS):
        counts[bucket] = 0
    for i in range(uint64(first), uint64(last)):
        bits = float64_bits(float(importance[i])) >> MANTISSA_BITS - BUCKET_BITS
        counts[uint64(max(bits - FIRST_BUCKET, 0))] += 1


@subkernel
def find_mu(counts: IntArray, n_wanted: float) -> float:
    """Return mu, with which about `n_wanted` rows are kept; 0 keeps all with s > 0."""
    # With mu at the upper end of a bucket, all rows in higher buckets are kept, and the
    # others with probability s / mu.  The middle of a bucket stands for s of its rows.
    n_above, sum_below = int64(0), 0.0
    for bucket in range(1, N_BUCKETS):
        n_above += counts[bucket]
    if n_above <= n_wanted:
        return 0.0
    for bucket in range(1, N_BUCKETS):
        if counts[bucket] > 0:  # most are empty
            if n_above + sum_below / BUCKET_ENDS[max(bucket - 2, 0)] <= n_wanted:
                break  # with mu at the lower end of this one
            n_above -= counts[bucket]
            sum_below += counts[bucket] * BUCKET_MIDDLES[bucket - 1]
    # with mu beyond the last bucket, no row is certain to be kept
    return sum_below / (n_wanted - n_above)


@subkernel
def keep_rows(
    stream: Any,
    row_numbers: NDArray[np.uint32],
    mu: float,
    importance: NDArray[np.float32],
    first: int,
    last: int,
    kept: NDArray[np.int32],
) -> int:
    """Write the rows of a sample from place `first` on; return their number."""
    n = uint64(first)
    for i in range(uint64(first), uint64(last)):
        # Always written, and counted if it is kept: the processor could not predict a
        # branch.
        kept[n] = i
        n += uint64(uniform(stream, int64(row_numbers[i])) * mu < importance[i])
    return int64(n) - first


@subkernel
def gather_rows(
    kept: NDArray[np.int32],
    start: int,
    row_numbers: NDArray[np.uint32],
    derivatives: RowDerivatives,
    mu: float,
    importance: NDArray[np.float32],
    second_order: bool,
    first: int,
    last: int,
    sampled: RowSample,
) -> None:
    """Write rows first to last - 1 of the sample, their derivatives divided by p."""
    # they are in `kept` from place `start` on
    gradient, hessian = derivatives.gradient, derivatives.hessian
    result = sampled.derivatives
    for i in range(uint64(first), uint64(last)):
        row = uint64(kept[uint64(start - first) + i])
        factor = max(1.0, mu / float(importance[row]))
        sampled.rows[i] = row
        sampled.row_numbers[i] = row_numbers[row]
        result.gradient[i] = gradient[row] * factor
        result.hessian[i] = hessian[row] * factor if second_order else factor


# --- random numbers of rows -------------------------------------------------------


@subkernel
def uniform(stream: Any, i: int) -> float:
    """Return number i of a stream, in (0, 1)."""
    bits = mix_bits(stream + (uint64(i) + uint64(1)) * COLUMN_STEP)
    u = (float(bits >> uint64(11)) + 0.5) / 9007199254740992.0  # 2^53
    return min(u, LARGEST_UNIFORM)  # the largest bits would round to 1
