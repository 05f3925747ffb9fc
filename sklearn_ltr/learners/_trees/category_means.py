r"""Bins of rare categories: those with similar mean targets share one.

With t a row's target less the mean of its query (or of all rows, where these are in no
query), w its weight, and m `category_smoothing`, the mean of category c is

    mean_c = sum over its rows of w t / (m + sum over its rows of w),

which draws categories of few rows to 0 (D. Micci-Barreca, "A preprocessing scheme for
high-cardinality categorical attributes", SIGKDD Explorations 3, 2001).  Thresholds
between these means divide the categories among bins.

A row's own target must not tell its bin: a tree would learn from the bin what it cannot
know of a new row.  So in training the mean is that of the rows of other queries: they
are dealt into N_FOLDS folds, and a row's bin is by the mean over all folds but its own
(cross-fitting; compared with other ways by L. Prokhorenkova et al., "CatBoost: unbiased
boosting with categorical features", NeurIPS 2018, section 3).  A category that no other
fold has seen is missing there, as it would be in prediction.  Predictions use the mean
over all rows.

The thresholds are quantiles of the means in training, and few: in narrow bins of equal
means, a row's fold could be read off, and from it the row's target.

Sums are of integers, so that they do not depend on the order of rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5
SHARED_BINS = 16  # 1 of so many bins is shared by categories
TINY = np.finfo(np.float64).tiny
SUM_BITS = 51  # sums of numbers of so many bits are exact in float64

FloatArray = NDArray[np.float64]


class RowTargets(NamedTuple):
    """What the means are taken of: arrays of shape (n_rows,)."""

    target: FloatArray
    weight: FloatArray
    fold: NDArray[np.int64]  # 0 to N_FOLDS - 1
    smoothing: float  # m


class FoldSums(NamedTuple):
    """Sums over the rows of a fold and category: (N_FOLDS, n_categories)."""

    target: FloatArray  # of weight times target
    weight: FloatArray
    smoothing: float

    @classmethod
    def of(
        cls,
        category: NDArray[np.intp],
        n_categories: int,
        rows: NDArray[np.intp],
        targets: RowTargets,
    ) -> FoldSums:
        """Add up some rows, whose categories have numbers below `n_categories`."""
        target, weight, fold, smoothing = targets
        cell = fold[rows] * n_categories + category

        def total(values: FloatArray) -> FloatArray:
            n_cells = N_FOLDS * n_categories
            sums = np.bincount(cell, exact(values)[rows], n_cells)
            return np.asarray(sums.reshape(N_FOLDS, n_categories), dtype=np.float64)

        return cls(total(weight * target), total(weight), smoothing)

    def means(self) -> FloatArray:
        """Return the mean of each category over all rows, (n_categories,)."""
        total = np.maximum(self.weight.sum(axis=0) + self.smoothing, TINY)
        return np.asarray(self.target.sum(axis=0) / total)

    def means_elsewhere(self) -> FloatArray:
        """Return the mean over all folds but one; NaN without a row in them."""
        target = self.target.sum(axis=0) - self.target
        weight = self.weight.sum(axis=0) - self.weight
        means = target / np.maximum(weight + self.smoothing, TINY)
        return np.where(weight > 0, means, np.nan)


def exact(values: FloatArray) -> FloatArray:
    """Round to multiples of a power of two, so that sums have no rounding errors."""
    _, exponent = np.frexp(np.abs(values).max(initial=0.0) * len(values))
    unit = np.ldexp(1.0, max(int(exponent) - SUM_BITS, -1000))
    return np.asarray(np.rint(values / unit) * unit)


def count_shared_bins(max_bins: int) -> int:
    """Return how many of the bins of a feature are shared by rare categories."""
    return max(1, max_bins // SHARED_BINS)


def find_mean_thresholds(means: FloatArray, n_bins: int) -> FloatArray:
    """Return at most ``n_bins - 1`` thresholds, quantiles of the means, then inf.

    Bin b holds the means above threshold b - 1, up to and including threshold b.
    """
    means = np.sort(means)
    thresholds = np.full(n_bins - 1, np.inf)
    if len(means) > 0:
        found = np.unique(means[np.arange(1, n_bins) * len(means) // n_bins])
        found = found[found < means[-1]]
        thresholds[: len(found)] = found
    return thresholds
