"""Bins of categorical features: one for each category, or for each frequent one.

A category is a number: what the user gave, or the position of a label among the sorted
labels (``_estimators/categories.py``).  The categories of the training rows are
numbered in the order of these numbers, and the number is the bin.  If there are more
categories than bins, the most frequent ones (of equally frequent ones, the lowest) have
a bin each, if they have `min_samples_category` rows, and the others share the last
bins, 1 of SHARED_BINS, by their mean targets (``category_means.py``).  Missing and
unseen categories are NaN, in the missing bin.

Trees see bins only: prediction, too, encodes X first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.learners._checksum import ChecksummedArrays
from sklearn_ltr.learners._tables import Table, contiguous_rows
from sklearn_ltr.learners._trees.category_means import (
    CategorySums,
    count_shared_bins,
    find_mean_thresholds,
)

FloatArray = NDArray[np.floating]
MISSING = 255  # bin of missing values: `MISSING_BIN` of binning.py, which imports this


@dataclass(frozen=True)
class CategoryBins(ChecksummedArrays):
    """The bin of each category of some features, learned from the training rows.

    Attributes
    ----------
    feature : ndarray of shape (n_categorical,), int64
        The categorical features, ascending.
    first : ndarray of shape (n_categorical + 1,), int64
        Where the categories of each begin in the arrays below.
    value : ndarray of shape (n_categories,), float64
        The categories; those of a feature ascend.
    bin : ndarray of shape (n_categories,), uint8
        The bin of each.
    shared_from : ndarray of shape (n_categorical,), int64
        The first bin of each feature that categories may share.
    mean_threshold : ndarray of shape (n_categorical, n_shared_bins - 1), float64
        Thresholds between the means of the categories in these, padded with inf.
    """

    feature: NDArray[np.int64]
    first: NDArray[np.int64]
    value: NDArray[np.float64]
    bin: NDArray[np.uint8]
    shared_from: NDArray[np.int64]
    mean_threshold: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        features: NDArray[np.int64],
        sums: list[CategorySums],
        max_bins: int,
        min_samples_category: int,
        smoothing: float,
    ) -> CategoryBins:
        """Give bins to the categories of these features, given their sums."""
        if len(features) == 0:
            return NO_CATEGORIES
        options = max_bins, min_samples_category, smoothing
        fitted = [fit_feature(of_feature, *options) for of_feature in sums]
        bins, shared_from, thresholds = zip(*fitted, strict=True)
        return cls(
            feature=features,
            first=np.cumsum([0, *map(len, bins)]),
            value=np.concatenate([of_feature.value for of_feature in sums]),
            bin=np.concatenate(bins),
            shared_from=np.array(shared_from, dtype=np.int64),
            mean_threshold=np.array(thresholds),
        )

    @property
    def n_bins(self) -> NDArray[np.int64]:
        """Bins of each of the features, at least 1: (n_categorical,) int64."""
        n_shared = 1 + np.isfinite(self.mean_threshold).sum(axis=1)
        n_shared = np.where(self.has_shared, n_shared, 0)
        return np.maximum(self.shared_from + n_shared, 1)

    @property
    def has_shared(self) -> NDArray[np.bool_]:
        """Whether categories of each of the features share bins, (n_categorical,)."""
        return np.diff(self.first) > self.shared_from

    def bins_in_training(
        self,
        X: FloatArray,
        rows: NDArray[np.intp],
        fold: NDArray[np.int64],
        sums: list[CategorySums],
        smoothing: float,
    ) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """Yield each feature with shared bins, and the bins of rows to train on.

        Where a category shares a bin, a row's is by the mean over the other folds.
        """
        for number in np.flatnonzero(self.has_shared):
            part = slice(*self.first[number : number + 2])
            known, bins = self.value[part], self.bin[part]
            x = X[rows, self.feature[number]]
            place = np.minimum(np.searchsorted(known, x), len(known) - 1)
            found = np.flatnonzero(known[place] == x)
            bins, shared_from = bins[place[found]], self.shared_from[number]
            category = np.searchsorted(sums[number].value, x[found])
            means = sums[number].means_elsewhere(smoothing)[fold[found], category]
            shared = np.searchsorted(self.mean_threshold[number], means) + shared_from
            shared[np.isnan(means)] = MISSING
            in_training = np.full(len(x), MISSING, dtype=np.uint8)
            in_training[found] = np.where(bins < shared_from, bins, shared)
            yield int(self.feature[number]), in_training

    def encode(self, table: Table) -> Table:
        """Return a table with the bins of its categories, NaN if unknown.

        It is a copy, or without categorical features the same, which may be sparse.
        """
        if len(self.feature) == 0:
            return table
        encoded = table.copy()
        for number, feature in enumerate(self.feature):
            part = slice(*self.first[number : number + 2])
            known = np.append(self.value[part], np.nan)
            bins = np.append(self.bin[part].astype(table.dtype), np.nan)
            place = np.searchsorted(known, table[:, feature])
            found = known[place] == table[:, feature]
            encoded[:, feature] = np.where(found, bins[place], np.nan)
        return encoded

    def encode_rows(
        self, X: Table, rows: NDArray[np.intp]
    ) -> tuple[FloatArray, NDArray[np.intp]]:
        """Return (table, rows of it), some rows of X, encoded, for kernels."""
        table, rows = contiguous_rows(X, rows)
        if len(self.feature) == 0:
            return table, rows
        return contiguous_rows(self.encode(table[rows]), np.arange(len(rows)))


def fit_feature(
    sums: CategorySums, max_bins: int, min_samples_category: int, smoothing: float
) -> tuple[NDArray[np.uint8], int, NDArray[np.float64]]:
    """Return the bins of categories, and `shared_from` and `mean_threshold`."""
    n_categories, n_shared = len(sums.value), count_shared_bins(max_bins)
    if n_categories <= max_bins:
        bins = np.arange(n_categories, dtype=np.uint8)
        return bins, n_categories, np.full(n_shared - 1, np.inf)
    counts = sums.n_rows.sum(axis=0)
    single = most_frequent(counts, max_bins - n_shared)
    single &= counts >= min_samples_category
    means = sums.means_elsewhere(smoothing)
    n_rows = np.where(single | np.isnan(means), 0, sums.n_rows)
    thresholds = find_mean_thresholds(np.repeat(means, n_rows.ravel()), n_shared)
    n_single = int(np.count_nonzero(single))
    shared = n_single + np.searchsorted(thresholds, sums.means(smoothing))
    bins = np.where(single, np.cumsum(single) - 1, shared).astype(np.uint8)
    return bins, n_single, thresholds


def most_frequent(counts: NDArray[np.intp], n: int) -> NDArray[np.bool_]:
    """Return which are the n most frequent categories; of equal ones, the lowest."""
    is_frequent = np.zeros(len(counts), dtype=np.bool_)
    is_frequent[np.argsort(-counts, kind="stable")[:n]] = True
    return is_frequent


NO_CATEGORIES = CategoryBins(
    np.empty(0, dtype=np.int64),
    np.zeros(1, dtype=np.int64),
    np.empty(0),
    np.empty(0, dtype=np.uint8),
    np.empty(0, dtype=np.int64),
    np.empty((0, 0)),
)
