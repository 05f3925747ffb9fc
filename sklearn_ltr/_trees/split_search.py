"""Find the best splits of two sibling leaves; threads share the feature blocks.

Each thread keeps the best split among its own blocks as a candidate.  When all threads
are done, each thread selects the best of all candidates for itself.  Ties go to the
feature with the lowest index, so that the result does not depend on which thread
searched which block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import fetch_add, subkernel
from sklearn_ltr._trees.binning import (
    FEATURE_BLOCK,
    HISTOGRAM_BINS,
    BinnedData,
)
from sklearn_ltr._trees.category_splits import (
    CATEGORIES_PER_ROUNDING,
    find_category_splits,
)
from sklearn_ltr._trees.parameters import GrowthParameters
from sklearn_ltr._trees.histogram import (
    add_rows_to_histogram,
    clear_histogram,
    prefetch_first_rows,
    subtract_histogram,
)
from sklearn_ltr._trees.monotonic_splits import find_monotonic_splits
from sklearn_ltr._trees.quantization import Quantization
from sklearn_ltr._trees.splitting import (
    SplitRule,
    child_score,
    find_block_splits,
    rounding_gain,
)
from sklearn_ltr._trees.workspace import (
    BlockSplits,
    Record,
    Records,
    Workspace,
    is_splittable,
)


@subkernel
def find_best_splits(
    smaller: int,
    larger: int,
    binned: BinnedData,
    quantization: Quantization,
    rule: SplitRule,
    gain_factors: NDArray[np.float64],
    work: Workspace,
    fills: bool,
    searches: bool,
) -> None:
    """Find this thread's candidate splits of two siblings.

    `smaller` is the sibling with fewer rows; it is the root if `larger` is -1.

    For one block of features after another, the thread makes the histogram of the
    smaller leaf from its rows and that of the larger one from its parent's, in place,
    and searches both for splits while they are in the cache.  It also searches a
    sibling that cannot be split; the caller ignores its candidate.

    Alone, a worker does both at once.  Of several, each first only `fills` the
    histogram of the smaller leaf with its rows, and when the sum of the workers' is
    there, it only `searches`.
    """
    for k in range(2):
        candidate = work.candidates[work.team.thread, k]
        candidate.perturbed_gain = candidate.gain = 0.0
    leaf = work.leaves[smaller]
    rows = work.buffers.rows[leaf.buffer, leaf.start : leaf.stop]
    n_blocks = len(binned.n_bins)
    block = next_used_block(binned.n_used_slots, work.next_block)
    if fills:
        prefetch_first_rows(binned.values, block, rows)
    while block < n_blocks:
        n_bins, n_used_slots = binned.n_bins[block], binned.n_used_slots[block]
        histogram = work.histograms[leaf.histogram_index, block]
        if fills:
            clear_histogram(histogram, n_bins)
            add_rows_to_histogram(
                binned.values[block],
                rows,
                work.buffers.leaf_gradients,
                histogram,
                n_used_slots,
            )
        next_block = next_used_block(binned.n_used_slots, work.next_block)
        if fills:
            # these rows arrive in the cache while splits are searched
            prefetch_first_rows(binned.values, next_block, rows)
        if searches:
            search_siblings(
                block, smaller, larger, binned, quantization, rule, gain_factors, work
            )
        block = next_block


@subkernel
def search_siblings(
    block: int,
    smaller: int,
    larger: int,
    binned: BinnedData,
    quantization: Quantization,
    rule: SplitRule,
    gain_factors: NDArray[np.float64],
    work: Workspace,
) -> None:
    """Search one block of features for splits of two siblings, see `find_best_splits`.

    The histogram of the smaller leaf is there, that of the larger one is made.
    """
    n_bins = binned.n_bins[block]
    leaf = work.leaves[smaller]
    histogram = work.histograms[leaf.histogram_index, block]
    for k in range(1 if larger < 0 else 2):
        if k == 1:
            leaf = work.leaves[larger]
            parent = work.histograms[leaf.histogram_index, block]
            subtract_histogram(parent, histogram, n_bins)
            histogram = parent
        find_block_splits(
            histogram, n_bins, leaf.total, quantization, rule, work.splits
        )
        find_category_splits(
            binned, block, histogram, leaf.total, quantization, rule, work
        )
        find_monotonic_splits(
            binned, block, histogram, leaf.total, quantization, rule, work.splits
        )
        propose_splits(
            work.splits,
            child_score(leaf.total, quantization, rule),
            binned.feature[block],
            gain_factors[leaf.node],
            work.candidates[work.team.thread, k],
        )


@subkernel
def next_used_block(n_used_slots: NDArray[np.int64], counter: NDArray[np.int64]) -> int:
    """Return the next block with features in use, or a number past the last block."""
    block = fetch_add(counter)
    while block < len(n_used_slots) and n_used_slots[block] == 0:
        block = fetch_add(counter)
    return block


@subkernel
def propose_splits(
    splits: BlockSplits,
    parent_score: float,
    features: NDArray[np.int64],
    gain_factors: NDArray[np.float64],
    best: Record,
) -> None:
    """Compare the splits of a block with the best candidate so far; keep the best.

    Features are compared by gain times gain factor, which must be positive: a feature
    of factor 0 is never the best.  The gain is kept without its factor, which decides
    between features at this node only.

    Parameters
    ----------
    splits : BlockSplits
    parent_score : float
        ``G^2 / (W + l2)`` of the leaf.
    features : ndarray of shape (16,), int64
        Feature in each slot; -1: not used.
    gain_factors : ndarray of shape (n_features,), float64
    best : CANDIDATE_SPLIT record
        Updated in place.
    """
    for slot in range(FEATURE_BLOCK):
        feature = features[slot]
        if feature < 0:
            continue
        gain = splits.score[slot] - parent_score
        perturbed_gain = gain * gain_factors[feature]
        difference = perturbed_gain - best.perturbed_gain
        is_first = feature < best.feature
        if difference > 0 or (difference == 0 and perturbed_gain > 0 and is_first):
            best.perturbed_gain = perturbed_gain
            best.gain = gain
            best.feature = feature
            best.threshold = splits.threshold[slot] % HISTOGRAM_BINS
            best.missing_left = splits.threshold[slot] >= HISTOGRAM_BINS


@subkernel
def select_best_split(
    leaf: Record,
    candidates: Records,
    k: int,
    quantization: Quantization,
    rule: SplitRule,
    n_categories: NDArray[np.int64],
) -> None:
    """Select the best of the threads' candidates k as the split of a leaf.

    The leaf is not split if rounding errors alone may give such a gain.
    """
    best = candidates[0, k]
    for thread in range(1, len(candidates)):
        other = candidates[thread, k]
        difference = other.perturbed_gain - best.perturbed_gain
        if difference > 0 or (difference == 0 and other.feature < best.feature):
            best = other
    min_gain = rounding_gain(leaf.total, quantization, rule)
    min_gain *= 1.0 + n_categories[best.feature] / CATEGORIES_PER_ROUNDING
    leaf.gain = best.gain if best.gain > min_gain else 0.0
    leaf.feature = best.feature
    leaf.threshold = best.threshold
    leaf.missing_left = best.missing_left


@subkernel
def select_best_splits(
    smaller: int,
    larger: int,
    parameters: GrowthParameters,
    quantization: Quantization,
    rule: SplitRule,
    n_categories: NDArray[np.int64],
    work: Workspace,
) -> None:
    """Select the best splits of two siblings, and prepare for the next search."""
    if work.team.thread == 0:
        work.next_block[0] = 0
    for k in range(2):
        number = smaller if k == 0 else larger
        # a sibling that cannot be split has been searched, too
        if is_splittable(work.leaves, number, quantization.count_mask, parameters):
            leaf = work.leaves[number]
            select_best_split(
                leaf, work.candidates, k, quantization, rule, n_categories
            )
