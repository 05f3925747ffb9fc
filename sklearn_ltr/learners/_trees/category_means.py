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
    """What the means are taken of: arrays of shape (n_rows,).

    Sums of `weighted` and of `weight` have no rounding errors, see `exact`.
    """

    weighted: FloatArray  # weight times target
    weight: FloatArray
    fold: NDArray[np.int64]  # 0 to N_FOLDS - 1


class CategorySums(NamedTuple):
    """The categories of a feature, and sums over the rows of each fold and category."""

    value: FloatArray  # (n_categories,): the categories, ascending
    weighted: FloatArray  # (N_FOLDS, n_categories): of weight times target
    weight: FloatArray
    n_rows: NDArray[np.int64]

    @classmethod
    def of(cls, x: FloatArray, targets: RowTargets) -> CategorySums:
        """Add up the rows of a feature, (n_rows,), that are not NaN."""
        rows = np.flatnonzero(~np.isnan(x))
        value, category = np.unique(x[rows], return_inverse=True)
        cell = targets.fold[rows] * len(value) + category

        def total(values: FloatArray) -> FloatArray:
            sums = np.bincount(cell, values[rows], N_FOLDS * len(value))
            return np.asarray(sums.reshape(N_FOLDS, len(value)), dtype=np.float64)

        n_rows = np.bincount(cell, minlength=N_FOLDS * len(value))
        return cls(
            value.astype(np.float64),
            total(targets.weighted),
            total(targets.weight),
            n_rows.reshape(N_FOLDS, len(value)),
        )

    def means(self, smoothing: float) -> FloatArray:
        """Return the mean of each category over all rows, (n_categories,)."""
        total = np.maximum(self.weight.sum(axis=0) + smoothing, TINY)
        return np.asarray(self.weighted.sum(axis=0) / total)

    def means_elsewhere(self, smoothing: float) -> FloatArray:
        """Return the mean over all folds but one; NaN without a row in them."""
        weighted = self.weighted.sum(axis=0) - self.weighted
        weight = self.weight.sum(axis=0) - self.weight
        means = weighted / np.maximum(weight + smoothing, TINY)
        return np.where(weight > 0, means, np.nan)


def exact(values: FloatArray, largest: float, n_rows: int) -> FloatArray:
    """Round to multiples of a power of two, so that sums have no rounding errors.

    No sum is of more than `n_rows` values, none of which is above `largest`.
    """
    _, exponent = np.frexp(largest * n_rows)
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
