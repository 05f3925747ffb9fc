"""Where to cut a leaf: the gain of a split, and the best one of each column.

With G the sum of gradients and W of weights on one side of a split,

    gain = G_L^2 / (W_L + l2) + G_R^2 / (W_R + l2) - G^2 / (W + l2).

``split_gain="second_order"`` takes the hessians as weights: twice the fall of the
cost's second-order expansion when both leaves make their Newton step.
``split_gain="least_squares"`` takes the number of rows: the fall of the squared error
of equation (11) of the report, when the tree models the gradients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, subkernel
from sklearn_ltr.learners._trees.binning import BLOCK, MISSING, N_CODES
from sklearn_ltr.learners._trees.histogram import Packing

NOISE = 8.0  # gains of rounding errors that are seen, over what is expected: enough


class SplitRule(NamedTuple):
    """What makes a split good, and admissible."""

    second_order: bool
    l2: float  # in units of the packed weights
    min_samples_leaf: int


@subkernel
def side_score(
    word: int, packing: Packing, second_order: bool, l2: float
) -> tuple[float, int]:
    """Return ``G^2 / (W + l2)`` and the count of one packed sum."""
    count = word & ((1 << packing.count_bits) - 1)
    rest = word >> packing.count_bits
    g = float(rest >> packing.hessian_bits)
    weight = rest & ((1 << packing.hessian_bits) - 1) if second_order else count
    return g * g / (max(float(weight), 1.0) + l2), count


@subkernel
def rounding_gain(word: int, packing: Packing, rule: SplitRule) -> float:
    """Return the gain that rounding alone might feign in a leaf of equal gradients.

    The sums of n rounded numbers are wrong by some sqrt(n / 12) each, which feigns a
    gain of about ``n / W (1 + (G / W)^2) / 6``; the best of many cuts has more.  And
    the gain is a small difference of large scores.
    """
    score, count = side_score(word, packing, rule.second_order, rule.l2)
    rest = word >> packing.count_bits
    g = float(rest >> packing.hessian_bits)
    h = max(float(rest & ((1 << packing.hessian_bits) - 1)), 1.0)
    of_sums = float(count) / h * (1.0 + (g / h) ** 2) if rule.second_order else 1.0
    return NOISE * of_sums + 2.0**-44 * score


class Cuts(NamedTuple):
    """The best cut of each column of a block: arrays of shape (16,)."""

    score: NDArray[np.float64]  # G_L^2 / (W_L + l2) + G_R^2 / (W_R + l2); 0: none
    threshold: NDArray[np.int64]  # bins up to and including this one go left
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int64]  # memory for the sums on the left


@subkernel
def new_cuts() -> Cuts:
    """Allocate the cuts of a block."""
    return Cuts(
        np.empty(BLOCK),
        np.empty(BLOCK, dtype=np.int64),
        np.empty(BLOCK, dtype=np.bool_),
        np.empty(BLOCK, dtype=np.int64),
    )


@subkernel
def scan(
    histogram: NDArray[np.int64],
    n_bins: int,
    total: int,
    packing: Packing,
    rule: SplitRule,
    score: NDArray[np.float64],
    threshold: NDArray[np.int64],
    left: NDArray[np.int64],
    code: int,
) -> None:
    """Find the first threshold of each column that is better than its score so far.

    What is in `left` goes left as well.  `code` is added to a threshold that is found.
    All columns of the block take each step together: they are the lanes of vectors.
    """
    for b in range(n_bins):
        for place in range(BLOCK):
            left[place] += histogram[b * BLOCK + place]
            own, count = side_score(left[place], packing, rule.second_order, rule.l2)
            other, other_count = side_score(
                total - left[place], packing, rule.second_order, rule.l2
            )
            better = own + other > score[place]
            better &= min(count, other_count) >= rule.min_samples_leaf
            score[place] = own + other if better else score[place]
            threshold[place] = b + code if better else threshold[place]


@subkernel
def best_cuts(
    histogram: NDArray[np.int64],
    n_bins: int,
    total: int,
    packing: Packing,
    rule: SplitRule,
    cuts: Cuts,
) -> None:
    """Find the best cut of each column of a block.

    Parameters
    ----------
    histogram : ndarray of shape (256 * 16,), int64
        Packed sums by bin, and in a bin by column; the last bin is that of missing
        values.
    n_bins : int
        The most bins that a column has, missing not counted.
    total : int
        The packed sum of the leaf.
    packing : Packing
    rule : SplitRule
    cuts : Cuts
        Receives the cuts.  Missing values go to the right, unless the best cut that
        sends them left is better.
    """
    score, threshold, left = cuts.score, cuts.threshold, cuts.left
    any_missing = int64(0)
    for place in range(BLOCK):
        score[place], threshold[place], left[place] = 0.0, 0, 0
        any_missing |= histogram[MISSING * BLOCK + place]
    for code in range(0, 2 * N_CODES if any_missing else N_CODES, N_CODES):
        if code > 0:
            for place in range(BLOCK):
                left[place] = histogram[MISSING * BLOCK + place]
        scan(histogram, n_bins, total, packing, rule, score, threshold, left, code)
    for place in range(BLOCK):
        cuts.missing_left[place] = threshold[place] >= N_CODES
        threshold[place] %= N_CODES
