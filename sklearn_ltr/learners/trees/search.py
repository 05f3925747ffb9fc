"""Find the best cuts of two sibling leaves, columns shared out among the threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel
from sklearn_ltr.learners.trees.binning import BLOCK, MISSING
from sklearn_ltr.learners.trees.histogram import Packing, add_rows, add_rows_to_half
from sklearn_ltr.learners.trees.splitting import (
    SplitRule,
    best_threshold,
    rounding_gain,
    side_score,
)
from sklearn_ltr.learners.trees.state import Candidates, Leaves, Workspace


@kernel
def clear(histogram: NDArray[np.int64]) -> None:
    """Set a block's histogram (16, 256) to zero."""
    for place in range(BLOCK):
        for b in range(MISSING + 1):
            histogram[place, b] = 0


@kernel
def find_cuts(
    thread: int,
    n_threads: int,
    codes: NDArray[np.uint8],
    n_bins: NDArray[np.int64],
    features: NDArray[np.int64],
    leaves: Leaves,
    small: int,
    large: int,
    packing: Packing,
    rule: SplitRule,
    noise: NDArray[np.float64],
    work: Workspace,
) -> None:
    """Find the best cuts of two siblings, or of the root alone (``large < 0``).

    A thread takes every `n_threads`-th block of columns: it fills the smaller leaf's
    histogram, leaves in the parent's place the larger one's, and looks at both while
    they are in its cache.  Columns are compared by their best gains, times `noise` of
    node and column unless that is empty.
    """
    cumulative = np.empty(MISSING + 1, dtype=np.int64)
    scores = np.empty(MISSING + 1)
    for which in range(2):
        work.candidates.appeal[thread, which] = 0.0
        work.candidates.gain[thread, which] = 0.0
    rows = work.rows[leaves.side[small], leaves.start[small] : leaves.stop[small]]
    words = work.words[leaves.side[small], leaves.start[small] : leaves.stop[small]]
    filled = -1
    for feature in features:
        block, place = feature // BLOCK, feature % BLOCK
        if block % n_threads != thread:
            continue
        small_block = work.histograms[leaves.slot[small], block]
        if block != filled:
            clear(small_block)
            if BLOCK * block + BLOCK // 2 < len(n_bins):
                add_rows(codes[block], rows, words, small_block)
            else:
                add_rows_to_half(codes[block], rows, words, small_block)
            filled = block
        for which in range(1 if large < 0 else 2):
            leaf = small if which == 0 else large
            histogram = work.histograms[leaves.slot[leaf], block, place]
            if which == 1:
                for b in range(n_bins[feature]):
                    histogram[b] -= small_block[place, b]
                histogram[MISSING] -= small_block[place, MISSING]
            score, threshold, missing_left = best_threshold(
                histogram,
                n_bins[feature],
                leaves.total[leaf],
                packing,
                rule,
                cumulative,
                scores,
            )
            total = leaves.total[leaf]
            uncut, _ = side_score(total, packing, rule.second_order, rule.l2)
            gain = score - uncut
            appeal = gain
            if len(noise) > 0:
                appeal *= noise[leaves.node[leaf], feature]
            if appeal > work.candidates.appeal[thread, which]:
                work.candidates.appeal[thread, which] = appeal
                work.candidates.gain[thread, which] = gain
                work.candidates.feature[thread, which] = feature
                work.candidates.threshold[thread, which] = threshold
                work.candidates.missing_left[thread, which] = missing_left


@kernel
def settle(
    leaves: Leaves,
    leaf: int,
    which: int,
    packing: Packing,
    rule: SplitRule,
    candidates: Candidates,
) -> None:
    """Choose among the threads' cuts: the best, and of equals the first column's."""
    best = 0
    for thread in range(1, len(candidates.appeal)):
        gap = candidates.appeal[thread, which] - candidates.appeal[best, which]
        earlier = candidates.feature[thread, which] < candidates.feature[best, which]
        if gap > 0 or (gap == 0 and earlier):
            best = thread
    floor = rounding_gain(leaves.total[leaf], packing, rule)
    gain = candidates.gain[best, which]
    leaves.gain[leaf] = gain if gain > floor else 0.0
    leaves.feature[leaf] = candidates.feature[best, which]
    leaves.threshold[leaf] = candidates.threshold[best, which]
    leaves.missing_left[leaf] = candidates.missing_left[best, which]


@kernel
def count_left(histogram: NDArray[np.int64], leaves: Leaves, leaf: int) -> int:
    """Return the packed sum of the rows that the best cut of a leaf sends left."""
    total = histogram[MISSING] if leaves.missing_left[leaf] else 0
    for b in range(leaves.threshold[leaf] + 1):
        total += histogram[b]
    return total
