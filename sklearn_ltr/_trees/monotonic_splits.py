"""Splits of features with a monotonic constraint: the children are in order.

The value of a child is -G / (W + l2) (``splitting.py``).  A threshold is allowed if the
value of the child of the larger feature values is not on the wrong side of the other
one's.  Splits of other nodes may still bring leaves out of order; see
``monotonic_leaves.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, subkernel
from sklearn_ltr._trees.binning import (
    FEATURE_BLOCK,
    HISTOGRAM_BINS,
    MISSING_BIN,
    BinnedData,
)
from sklearn_ltr._trees.quantization import Quantization
from sklearn_ltr._trees.splitting import SplitRule, child_score
from sklearn_ltr._trees.workspace import BlockSplits


@subkernel
def find_monotonic_splits(
    binned: BinnedData,
    block: int,
    histogram: NDArray[np.int64],
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    splits: BlockSplits,
) -> None:
    """Find the best allowed split of each constrained feature of a block, if any.

    It replaces that of `find_block_splits`.
    """
    monotonic = rule.constraints.monotonic
    if len(monotonic) == 0:
        return
    for slot in range(FEATURE_BLOCK):
        feature = binned.feature[block, slot]
        if feature >= 0 and monotonic[feature] != 0:
            score, threshold = scan_in_order(
                histogram[slot::FEATURE_BLOCK],
                binned.n_bins[block],
                total,
                quantization,
                rule,
                monotonic[feature],
            )
            splits.score[slot], splits.threshold[slot] = score, threshold


@subkernel
def scan_in_order(
    bins: NDArray[np.int64],
    n_bins: int,
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    direction: int,
) -> tuple[float, int]:
    """Return the highest score of an allowed threshold, and the first such threshold.

    `bins` are the packed sums of the feature's bins.  Missing values go right, unless
    the score is higher with them on the left.
    """
    mask, missing = quantization.count_mask, bins[MISSING_BIN]
    best_score, best_threshold = 0.0, int64(0)
    end = 2 * HISTOGRAM_BINS if missing & mask > 0 else HISTOGRAM_BINS
    for offset in range(0, end, HISTOGRAM_BINS):
        left = missing if offset > 0 else int64(0)
        for b in range(n_bins):
            left += bins[b]
            right = total - left
            if min(left & mask, right & mask) < rule.min_samples_leaf:
                continue
            both = child_score(left, quantization, rule)
            both += child_score(right, quantization, rule)
            rise = mean_gradient(left, quantization, rule)
            rise -= mean_gradient(right, quantization, rule)
            if both > best_score and direction * rise >= 0.0:
                best_score, best_threshold = both, b + offset
    return best_score, best_threshold


@subkernel
def mean_gradient(
    packed_sum: int, quantization: Quantization, rule: SplitRule
) -> float:
    """Return ``G / (W + l2)`` of a packed sum, with W as in `child_score`."""
    pair = packed_sum >> quantization.count_bits
    w = packed_sum & quantization.count_mask
    if rule.second_order:
        w = pair & quantization.hessian_mask
    g = float(pair >> quantization.hessian_bits)
    return g / (max(float(w), 1.0) + rule.l2)
