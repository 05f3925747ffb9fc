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

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import (
    EXPONENT_BIAS,
    MANTISSA_BITS,
    ThreadTeam,
    float64_bits,
    int64,
    kernel,
    new_barrier,
    shared_kernel,
    subkernel,
    uint64,
    wait_at_barrier,
)
from sklearn_ltr._data.row_hashes import COLUMN_STEP, mix_bits
from sklearn_ltr._trees.growth.quantization import (
    Magnitudes,
    RowDerivatives,
    chunk_bounds,
)
from sklearn_ltr._typing import FloatArray, IntArray

LARGEST_UNIFORM = 1.0 - 2.0**-53

# The purposes of random streams: default_rng([seed, tree_index, purpose]).  (2 was a
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
    features: NDArray[np.int64]  # (n_used_features,), ascending
    # (2 * max_leaf_nodes - 1, n_features): whether a feature may split a node
    allowed: NDArray[np.bool_]
    subsample: float  # expected fraction of the rows
    row_stream: Any  # of random numbers, which decide which rows are kept


class RowSample(NamedTuple):
    """The rows on which splits are sought."""

    rows: NDArray[np.int32]  # (n_sampled,), ascending
    row_numbers: NDArray[np.uint32]  # (n_sampled,), among the rows of all workers
    # (n_sampled,): g_i / p_i and h_i / p_i, with least squares 1 / p_i for h_i / p_i
    derivatives: RowDerivatives


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
        stream = _new_stream(self._rng(tree_index, ROWS))
        return TreeSample(tree_index, features, allowed, self.subsample, stream)

    def _rng(self, tree_index: int, purpose: int) -> np.random.Generator:
        """Return the generator of one tree and purpose."""
        return np.random.default_rng([self.seed, tree_index, purpose])

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


class RowSampler:
    """Samples the rows of a worker for one tree after another.

    Parameters
    ----------
    row_numbers : ndarray of shape (n_rows,), uint32
        The number of each of this worker's rows among the rows of all workers.
    team : ThreadTeam
    comm : Comm
    """

    def __init__(
        self, row_numbers: NDArray[np.uint32], team: ThreadTeam, comm: Comm
    ) -> None:
        self._row_numbers, self._team, self._comm = row_numbers, team, comm
        n_rows = len(row_numbers)
        self._importance = np.empty(n_rows, dtype=np.float32)
        self._kept = np.empty(n_rows, dtype=np.int32)
        # the system gives memory to a page when it is first written, so that a sample
        # takes memory for its own rows only
        self._sampled = RowSample(
            np.empty(n_rows, dtype=np.int32),
            np.empty(n_rows, dtype=np.uint32),
            RowDerivatives(np.empty(n_rows), np.empty(n_rows)),
        )
        self._counts = np.zeros((team.n_threads, N_BUCKETS), dtype=np.int64)
        self._barrier = new_barrier()

    def sample(
        self,
        derivatives: RowDerivatives,
        magnitudes: Magnitudes,
        drawn: TreeSample,
        second_order: bool,
    ) -> RowSample:
        """Sample rows, given how large the derivatives of all workers are."""
        # the arrays of the sample are overwritten by the next one
        team, n_rows = self._team, len(self._row_numbers)
        # in this unit, s_i is at most sqrt(2)
        total_gradient, total_hessian = magnitudes.total
        ratio = total_gradient / total_hessian if total_hessian > 0 else 0.0
        largest_gradient, largest_hessian = magnitudes.largest
        unit = 1.0 / max(largest_gradient, largest_hessian * ratio)
        self._counts[:] = 0
        team.share(
            1.5 * n_rows,
            _find_importance,
            *derivatives,
            unit,
            unit * ratio,
            self._importance,
            self._counts,
        )
        counts = self._comm.sum(self._counts.sum(axis=0))
        mu = find_mu(counts, max(1.0, drawn.subsample * magnitudes.n_rows))

        n_kept = np.zeros(team.n_threads, dtype=np.int64)
        team.share(
            3.0 * n_rows,
            _keep_rows,
            drawn.row_stream,
            self._row_numbers,
            mu,
            self._importance,
            derivatives,
            second_order,
            self._kept,
            n_kept,
            self._barrier,
            self._sampled,
        )
        n_sampled = int(n_kept.sum())
        rows, row_numbers, (gradient, hessian) = self._sampled
        return RowSample(
            rows[:n_sampled],
            row_numbers[:n_sampled],
            RowDerivatives(gradient[:n_sampled], hessian[:n_sampled]),
        )


@kernel
def find_mu(counts: IntArray, n_wanted: float) -> float:
    """Return mu, with which about `n_wanted` rows are kept; 0 keeps all with s > 0."""
    # With mu at the upper end of a bucket, all rows in higher buckets are kept, and the
    # others with probability s / mu.  The middle of a bucket stands for s of its rows.
    n_above, sum_below = int64(counts[1:].sum()), 0.0
    if n_above <= n_wanted:
        return 0.0
    for bucket in range(1, N_BUCKETS):
        n_above -= counts[bucket]
        sum_below += counts[bucket] * BUCKET_MIDDLES[bucket - 1]
        if n_above + sum_below / BUCKET_ENDS[bucket - 1] <= n_wanted:
            break
    # with mu beyond the last bucket, no row is certain to be kept
    return sum_below / (n_wanted - n_above)


@shared_kernel
def _find_importance(
    thread: int,
    n_threads: int,
    gradient: FloatArray,
    hessian: FloatArray,
    gradient_unit: float,
    hessian_unit: float,
    importance: NDArray[np.float32],
    counts: IntArray,
) -> None:
    """Write s of each row of a thread's chunk, and count the rows of each bucket."""
    first, last = chunk_bounds(thread, n_threads, int64(0), len(gradient))
    for i in range(uint64(first), uint64(last)):
        g, h = gradient[i] * gradient_unit, hessian[i] * hessian_unit
        importance[i] = np.sqrt(g * g + h * h)
    thread_counts = counts[thread]
    for i in range(uint64(first), uint64(last)):
        bits = float64_bits(float(importance[i])) >> MANTISSA_BITS - BUCKET_BITS
        thread_counts[uint64(max(bits - FIRST_BUCKET, 0))] += 1


@shared_kernel
def _keep_rows(
    thread: int,
    n_threads: int,
    stream: Any,
    row_numbers: NDArray[np.uint32],
    mu: float,
    importance: NDArray[np.float32],
    derivatives: RowDerivatives,
    second_order: bool,
    kept: NDArray[np.int32],
    n_kept: IntArray,
    barrier: IntArray,
    sampled: RowSample,
) -> None:
    """Sample a thread's chunk of the rows, and write the sample."""
    # first the rows that are kept are written to the front of the thread's chunk
    first, last = chunk_bounds(thread, n_threads, int64(0), len(row_numbers))
    n = uint64(first)
    for i in range(uint64(first), uint64(last)):
        # Always written, and counted if it is kept: the processor could not predict a
        # branch.
        kept[n] = i
        n += uint64(uniform(stream, int64(row_numbers[i])) * mu < importance[i])
    n_kept[thread] = int64(n) - first
    wait_at_barrier(barrier, n_threads)
    # then those of all threads are gathered, with their derivatives divided by p
    target = int64(0)
    for other in range(thread):
        target += n_kept[other]
    gradient, hessian = derivatives.gradient, derivatives.hessian
    result = sampled.derivatives
    for k in range(uint64(n_kept[thread])):
        row, i = uint64(kept[uint64(first) + k]), uint64(target) + k
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


def _new_stream(rng: np.random.Generator) -> Any:
    """Draw the key of a stream, on which its numbers depend."""
    return rng.integers(2**64, dtype=np.uint64)
