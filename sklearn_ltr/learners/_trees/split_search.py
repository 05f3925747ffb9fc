"""Find the best splits of two sibling leaves; threads share the feature blocks.

Each thread keeps the best split among its own blocks as a candidate.  When all threads
are done, the best candidate is selected.  Ties go to the first feature, so that the
result does not depend on which thread searched which block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import fetch_add, subkernel
from sklearn_ltr.learners._trees.binning import FEATURE_BLOCK, MISSING_BIN, BinnedData
from sklearn_ltr.learners._trees.histogram import (
    add_rows_to_histogram,
    clear_histogram,
    prefetch_first_rows,
    subtract_histogram,
)
from sklearn_ltr.learners._trees.quantization import Quantization, count_of
from sklearn_ltr.learners._trees.splitting import (
    SplitRule,
    child_score,
    find_block_splits,
    rounding_gain,
)
from sklearn_ltr.learners._trees.workspace import Workspace


@subkernel
def find_best_splits(
    smaller: int,
    larger: int,
    binned: BinnedData,
    quantization: Quantization,
    rule: SplitRule,
    gain_factors: NDArray[np.float64],
    work: Workspace,
) -> None:
    """Find this thread's candidate splits of two siblings.

    `smaller` is the sibling with fewer rows; it is the root if `larger` is -1.

    For one block of features after another, the thread makes the histogram of the
    smaller leaf from its rows and that of the larger one from its parent's, in place,
    and searches both for splits while they are in the cache.
    """
    for k in range(2):
        candidate = work.candidates[work.thread, k]
        candidate.perturbed_gain = candidate.gain = 0.0
    leaves, first = work.leaves, work.leaves[smaller]
    rows = work.rows[first.side, first.start : first.stop]
    n_blocks = len(binned.n_bins)
    block = next_used_block(binned, work.next_block)
    prefetch_first_rows(binned.values, block, rows)
    while block < n_blocks:
        n_bins = binned.n_bins[block]
        histogram = work.histograms[first.histogram, block]
        clear_histogram(histogram, n_bins)
        add_rows_to_histogram(
            binned.values[block],
            rows,
            work.leaf_gradients,
            histogram,
            binned.n_used_slots[block],
        )
        next_block = next_used_block(binned, work.next_block)
        # these rows arrive in the cache while splits are searched
        prefetch_first_rows(binned.values, next_block, rows)
        for k in range(1 if larger < 0 else 2):
            leaf = smaller if k == 0 else larger
            if k == 1:
                parent = work.histograms[leaves[larger].histogram, block]
                subtract_histogram(parent, histogram, n_bins)
                histogram = parent
            total = leaves[leaf].total
            find_block_splits(
                histogram, n_bins, total, quantization, rule, work.splits
            )
            parent_score = child_score(total, quantization, rule)
            propose_splits(binned, block, leaf, k, parent_score, gain_factors, work)
        block = next_block


@subkernel
def next_used_block(binned: BinnedData, counter: NDArray[np.int64]) -> int:
    """Return the next block with features in use, or a number past the last block."""
    block = fetch_add(counter)
    while block < len(binned.n_bins) and binned.n_used_slots[block] == 0:
        block = fetch_add(counter)
    return block


@subkernel
def propose_splits(
    binned: BinnedData,
    block: int,
    leaf: int,
    k: int,
    parent_score: float,
    gain_factors: NDArray[np.float64],
    work: Workspace,
) -> None:
    """Compare the splits of a block with the thread's candidate k; keep the best.

    Features are compared by their gain times their gain factor at the leaf's node.  A
    factor of 0 thus never wins, since a candidate needs a positive product.
    """
    splits, best = work.splits, work.candidates[work.thread, k]
    node = work.leaves[leaf].node
    for slot in range(FEATURE_BLOCK):
        feature = binned.feature[block, slot]
        if feature < 0:
            continue
        gain = splits.score[slot] - parent_score
        perturbed_gain = gain * gain_factors[node, feature]
        difference = perturbed_gain - best.perturbed_gain
        is_first = feature < best.feature
        if difference > 0 or (difference == 0 and perturbed_gain > 0 and is_first):
            best.perturbed_gain = perturbed_gain
            best.gain = gain
            best.feature = feature
            best.threshold = splits.threshold[slot]
            best.missing_left = splits.missing_left[slot]


@subkernel
def select_best_split(
    leaf: int, k: int, quantization: Quantization, rule: SplitRule, work: Workspace
) -> None:
    """Select the best of the threads' candidates k as the split of a leaf.

    The leaf is not split if rounding errors alone may give such a gain.
    """
    best = work.candidates[0, k]
    for thread in range(1, work.n_threads):
        other = work.candidates[thread, k]
        difference = other.perturbed_gain - best.perturbed_gain
        if difference > 0 or (difference == 0 and other.feature < best.feature):
            best = other
    split = work.leaves[leaf]
    min_gain = rounding_gain(split.total, quantization, rule)
    split.gain = best.gain if best.gain > min_gain else 0.0
    split.feature = best.feature
    split.threshold = best.threshold
    split.missing_left = best.missing_left


@subkernel
def sum_left(
    binned: BinnedData, leaf: int, quantization: Quantization, work: Workspace
) -> int:
    """Return the packed sum of the rows that the split of a leaf sends left.

    If the leaf has no missing values in the feature, its `missing_left` becomes the
    side with more rows: that is where missing values will go in prediction.
    """
    split = work.leaves[leaf]
    block, slot = binned.block[split.feature], binned.slot[split.feature]
    histogram = work.histograms[split.histogram, block]
    missing = histogram[MISSING_BIN * FEATURE_BLOCK + slot]
    total = missing if split.missing_left else 0
    for b in range(split.threshold + 1):
        total += histogram[b * FEATURE_BLOCK + slot]
    if missing == 0:
        n_rows = split.stop - split.start
        split.missing_left = 2 * count_of(total, quantization) > n_rows
    return total
