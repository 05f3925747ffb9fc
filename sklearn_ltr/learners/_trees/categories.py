"""Bins of categorical features: one for each category, or for each frequent one.

A category is a number: what the user gave, or the position of a label among the sorted
labels (``_estimators/categories.py``).  The categories of the training rows are
numbered in the order of these numbers, and the number is the bin.  If there are more
categories than bins, the most frequent ones (of equally frequent ones, the lowest) have
a bin each, and all others share the last.  Missing and unseen categories are NaN, in
the missing bin.

Trees see bins only: prediction, too, encodes X first.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.learners._checksum import KEY, check_checksum, checksum
from sklearn_ltr.learners._tables import Table, contiguous_rows

FloatArray = NDArray[np.floating]


@dataclass(frozen=True)
class CategoryBins:
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
    """

    feature: NDArray[np.int64]
    first: NDArray[np.int64]
    value: NDArray[np.float64]
    bin: NDArray[np.uint8]

    @classmethod
    def fit(
        cls,
        X: FloatArray,
        rows: NDArray[np.intp],
        features: NDArray[np.int64],
        max_bins: int,
    ) -> CategoryBins:
        """Give bins to the categories of some rows of X."""
        counted = count_categories(X, rows, features)
        return cls.from_counts(features, counted, max_bins)

    @classmethod
    def from_counts(
        cls,
        features: NDArray[np.int64],
        counted: list[tuple[FloatArray, NDArray[np.intp]]],
        max_bins: int,
    ) -> CategoryBins:
        """Give bins to the categories that `count_categories` has counted."""
        if len(features) == 0:
            return NO_CATEGORIES
        return cls(
            feature=features,
            first=np.cumsum([0, *(len(values) for values, _ in counted)]),
            value=np.concatenate([values for values, _ in counted]).astype(np.float64),
            bin=np.concatenate(
                [bins_by_frequency(counts, max_bins) for _, counts in counted]
            ),
        )

    @property
    def n_bins(self) -> NDArray[np.int64]:
        """Bins of each of the features, at least 1: (n_categorical,) int64."""
        parts = zip(self.first[:-1], self.first[1:], strict=True)
        return np.array([self.bin[i:j].max(initial=0) + 1 for i, j in parts], np.int64)

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

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __getstate__(self) -> dict[str, Any]:
        """Return the arrays and their checksum."""
        arrays = self._arrays()
        return arrays | {KEY: checksum(arrays.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the arrays; a ValueError if they are not those that were saved."""
        arrays = dict(state)
        saved = arrays.pop(KEY, None)
        vars(self).update(arrays)
        check_checksum(arrays.values(), saved)


def count_categories(
    X: FloatArray, rows: NDArray[np.intp], features: NDArray[np.int64]
) -> list[tuple[FloatArray, NDArray[np.intp]]]:
    """Return the categories of each feature in some rows, ascending, and their rows."""
    return [
        np.unique(x[~np.isnan(x)], return_counts=True)
        for x in (X[rows, feature] for feature in features)
    ]


def bins_by_frequency(counts: NDArray[np.intp], max_bins: int) -> NDArray[np.uint8]:
    """Return the bin of each category, given how often they occur."""
    n_categories = len(counts)
    if n_categories <= max_bins:
        return np.arange(n_categories, dtype=np.uint8)
    frequent = np.argsort(-counts, kind="stable")[: max_bins - 1]
    is_frequent = np.zeros(n_categories, dtype=np.bool_)
    is_frequent[frequent] = True
    bins = np.where(is_frequent, np.cumsum(is_frequent) - 1, max_bins - 1)
    return bins.astype(np.uint8)


NO_CATEGORIES = CategoryBins(
    np.empty(0, dtype=np.int64),
    np.zeros(1, dtype=np.int64),
    np.empty(0),
    np.empty(0, dtype=np.uint8),
)
