"""Where to cut a leaf: the gain of a split, and the best one of a column.

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

from sklearn_ltr._compile import int64, kernel
from sklearn_ltr.learners.trees.binning import MISSING
from sklearn_ltr.learners.trees.histogram import Packing

NOISE = 8.0  # gains of rounding errors that are seen, over what is expected: enough


class SplitRule(NamedTuple):
    """What makes a split good, and admissible."""

    second_order: bool
    l2: float  # in units of the packed weights
    min_samples_leaf: int


@kernel
def side_score(
    word: int, packing: Packing, second_order: bool, l2: float
) -> tuple[float, int]:
    """Return ``G^2 / (W + l2)`` and the count of one packed sum."""
    count = word & ((1 << packing.count_bits) - 1)
    rest = word >> packing.count_bits
    g = float(rest >> packing.hessian_bits)
    weight = rest & ((1 << packing.hessian_bits) - 1) if second_order else count
    return g * g / (max(float(weight), 1.0) + l2), count


@kernel
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


@kernel
def score_thresholds(
    total: int,
    left_start: int,
    cumulative: NDArray[np.int64],
    n_thresholds: int,
    packing: Packing,
    rule: SplitRule,
    scores: NDArray[np.float64],
) -> None:
    """Write score left + score right of every threshold, 0 where one side is small."""
    for b in range(n_thresholds):
        left = cumulative[b] + left_start
        left_score, left_count = side_score(left, packing, rule.second_order, rule.l2)
        right_score, right_count = side_score(
            total - left, packing, rule.second_order, rule.l2
        )
        smaller = min(left_count, right_count)
        scores[b] = left_score + right_score if smaller >= rule.min_samples_leaf else 0


@kernel
def best_threshold(
    histogram: NDArray[np.int64],
    n_bins: int,
    total: int,
    packing: Packing,
    rule: SplitRule,
    cumulative: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> tuple[float, int, bool]:
    """Find the best cut of one column.

    Parameters
    ----------
    histogram : ndarray of shape (256,), int64
        Packed sums by bin; the last one is that of missing values.
    total : int
        The packed sum of the leaf.
    cumulative, scores : ndarrays of shape (256,), int64 and float64
        Scratch.

    Returns
    -------
    score : float
        ``G_L^2 / (W_L + l2) + G_R^2 / (W_R + l2)``; 0 where no cut is admissible.
    threshold : int
        Bins up to and including this one go left.
    missing_left : bool
        Where missing values go: the better side, or the larger one when the leaf has
        none.
    """
    running = 0
    for b in range(n_bins):
        running += histogram[b]
        cumulative[b] = running
    missing = histogram[MISSING]
    # with missing values, "all present left, all missing right" is a cut too
    n_thresholds = n_bins if missing != 0 else n_bins - 1
    score_thresholds(total, int64(0), cumulative, n_thresholds, packing, rule, scores)
    score, threshold = first_largest(scores, n_thresholds)
    if missing == 0:
        left = cumulative[threshold] if n_thresholds > 0 else 0
        mask = (1 << packing.count_bits) - 1
        return score, threshold, 2 * (left & mask) > (total & mask)
    score_thresholds(total, missing, cumulative, n_bins - 1, packing, rule, scores)
    other_score, other_threshold = first_largest(scores, n_bins - 1)
    if other_score > score:
        return other_score, other_threshold, True
    return score, threshold, False


@kernel
def first_largest(scores: NDArray[np.float64], n: int) -> tuple[float, int]:
    """Return the largest of the first n scores, none negative, and its first place."""
    bits = scores.view(np.int64)  # of the same order, and integers have a vector max
    largest = 0
    for b in range(n):
        largest = max(largest, bits[b])
    for b in range(n):
        if bits[b] == largest:
            return scores[b], b
    return 0.0, 0
