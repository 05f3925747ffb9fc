r"""Bins of categorical features: one for each category, or for each frequent one.

A category is a number: the user's, or the position of a label among the sorted labels
(``_core/data/categories.py``).  The categories of the training rows are numbered in the
order of these numbers, and the number is the bin.  If there are more categories than
bins, the most frequent ones (of equally frequent ones, the lowest) have a bin each, if
they have `min_samples_leaf` rows, and the others share the last bins, 1 of SHARED_BINS,
with categories of similar mean targets.  Missing and unseen categories are NaN, in the
missing bin.  Trees see bins only: prediction, too, encodes X first.

With t a row's target less the mean of its query (or of all rows, where these are in no
query), w its weight, and m `category_smoothing`, the mean of category c is

    mean_c = sum over its rows of w t / (m + sum over its rows of w),

which draws categories of few rows to 0 (D. Micci-Barreca, "A preprocessing scheme for
high-cardinality categorical attributes", SIGKDD Explorations 3, 2001).  Thresholds
between these means divide the categories among bins.

A row's own target must not determine its bin: a tree would learn from the bin what it
cannot know of a new row.  So in training the mean is over the rows of other queries:
queries form N_FOLDS folds, and a row's bin is by the mean over all folds but its own
(cross-fitting; compared with other ways by L. Prokhorenkova et al., "CatBoost: unbiased
boosting with categorical features", NeurIPS 2018, section 3).  A category that no other
fold has seen is missing there, as it would be in prediction.  Predictions use the mean
over all rows.

The thresholds are few quantiles of the means in training: narrow bins of equal means
would reveal a row's fold, and with it the row's target.

Sums are of integers, so that they do not depend on the order of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.data.groups import first_copies
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.data.tables import Matrix, Table, contiguous_rows
from sklearn_ltr._core.saving import ChecksummedArrays, saved_part
from sklearn_ltr._core.typing import FloatArray, IntArray

N_FOLDS = 5
SHARED_BINS = 16  # 1 of this many bins is shared by categories
TINY = np.finfo(np.float64).tiny
SUM_BITS = 51  # sums of numbers of this many bits are exact in float64
MISSING = 255  # bin of missing values: `MISSING_BIN` of binning.py, which imports this


class RowTargets(NamedTuple):
    """The parts of each row in the mean of its category: arrays of shape (n_rows,)."""

    # sums of these two have no rounding errors, see `exact`
    weighted: FloatArray  # weight times target
    weight: FloatArray
    fold: IntArray  # 0 to N_FOLDS - 1


class CategorySums(NamedTuple):
    """The categories of a feature, and sums over the rows of each fold and category."""

    value: FloatArray  # (n_categories,): the categories, ascending
    weighted: FloatArray  # (N_FOLDS, n_categories): of weight times target
    weight: FloatArray
    n_rows: IntArray

    @classmethod
    def add_up(cls, x: FloatArray, targets: RowTargets) -> CategorySums:
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
    """Round to multiples of a power of two, so that sums have no rounding errors."""
    # for sums of at most `n_rows` values, none of them above `largest`
    _, exponent = np.frexp(largest * n_rows)
    unit = np.ldexp(1.0, max(int(exponent) - SUM_BITS, -1000))
    return np.asarray(np.rint(values / unit) * unit)


def find_mean_thresholds(
    means: FloatArray, n_rows: IntArray, n_bins: int
) -> FloatArray:
    """Return at most ``n_bins - 1`` thresholds, quantiles of the means, then inf."""
    # `n_rows` is how often each mean occurs; bin b holds the means above threshold
    # b - 1, up to and including threshold b
    thresholds = np.full(n_bins - 1, np.inf)
    order = np.argsort(means)
    order = order[n_rows[order] > 0]
    if len(order) > 0:
        ends = np.cumsum(n_rows[order])
        quantiles = np.arange(1, n_bins) * ends[-1] // n_bins
        place = np.searchsorted(ends, quantiles, side="right")
        found = np.unique(means[order[place]])
        found = found[found < means[order[-1]]]
        thresholds[: len(found)] = found
    return thresholds


class TargetUnit(NamedTuple):
    """Sizes over the rows of all workers, from which targets and weights get units."""

    largest_y: float  # absolute
    mean_weight: float  # of the queries
    largest_weight: float
    n_rows: int


def row_targets(
    data: TrainingData, query_numbers: IntArray, unit: TargetUnit
) -> RowTargets:
    """Return target, weight and fold of each row."""
    # A target is relative to the mean of the row's query, since only differences within
    # a query matter; where rows are in no query, to the mean of all.  The rows of a
    # query, and of its copies, are in one fold.  The units of targets and of weights do
    # not matter.
    weights = np.repeat(data.sample_weight / unit.mean_weight, data.sizes)
    y = data.y / max(unit.largest_y, np.finfo(float).tiny)
    y = exact(y, 1.0, unit.n_rows)
    mean = np.full(1, np.average(y, weights=weights))
    if data.query_ids is not None:
        query_numbers = query_numbers[first_copies(data.query_ids)]
        sums = np.add.reduceat(y, data.offsets[:-1])
        mean = np.repeat(sums / data.sizes, data.sizes)
    largest = unit.largest_weight / unit.mean_weight
    return RowTargets(
        exact(weights * (y - mean), 2 * largest, unit.n_rows),
        exact(weights, largest, unit.n_rows),
        np.repeat(query_numbers % N_FOLDS, data.sizes),
    )


def targets_of(data: TrainingData) -> RowTargets:
    """Return target, weight and fold of each row, where one process has all rows."""
    weights = data.sample_weight
    unit = TargetUnit(np.abs(data.y).max(), weights.mean(), weights.max(), data.n_rows)
    return row_targets(data, np.arange(data.n_queries), unit)


class TrainingCategories(NamedTuple):
    """The folds and sums that the bins of categories are learned from."""

    fold: IntArray  # (n_rows,), of the training data
    # of each categorical feature, over the rows of all workers
    sums: list[CategorySums]

    @classmethod
    def find(
        cls, data: TrainingData, features: IntArray, index: QueryIndex, team: ThreadTeam
    ) -> TrainingCategories:
        """Find the categories of these features, and their sums."""
        if len(features) == 0:
            return cls(np.empty(0, dtype=np.int64), [])
        gather = index.comm.gather
        weights = index.gather(data.sample_weight)
        largest_y = max(gather(np.abs(data.y).max()))
        unit = TargetUnit(largest_y, weights.mean(), weights.max(), index.n_rows)
        targets = row_targets(data, index.position, unit)
        columns = data.X.take(data.rows, features)  # a table on disk is read once
        own = team.map(lambda column: CategorySums.add_up(column, targets), columns.T)
        merged = [merge_sums(parts) for parts in zip(*gather(own), strict=True)]
        return cls(targets.fold, merged)


def merge_sums(parts: Sequence[CategorySums]) -> CategorySums:
    """Return the categories of a feature of all workers, and their sums."""
    value = np.unique(np.concatenate([part.value for part in parts]))

    def total(name: str) -> NDArray[Any]:
        sums = np.zeros((N_FOLDS, len(value)), dtype=getattr(parts[0], name).dtype)
        for part in parts:
            sums[:, np.searchsorted(value, part.value)] += getattr(part, name)
        return sums

    return CategorySums(value, total("weighted"), total("weight"), total("n_rows"))


@saved_part
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
        The categories, ascending within a feature.
    bin : ndarray of shape (n_categories,), uint8
        The bin of each.
    shared_from : ndarray of shape (n_categorical,), int64
        The first bin of each feature that categories may share.
    mean_threshold : ndarray of shape (n_categorical, n_shared_bins - 1), float64
        Thresholds between the means of the categories in these, padded with inf.
    """

    feature: IntArray
    first: IntArray
    value: FloatArray
    bin: NDArray[np.uint8]
    shared_from: IntArray
    mean_threshold: FloatArray

    @classmethod
    def fit(
        cls,
        features: IntArray,
        sums: list[CategorySums],
        max_bins: int,
        min_samples_category: int,
        smoothing: float,
    ) -> CategoryBins:
        """Give bins to the categories of these features, given their sums."""
        if len(features) == 0:
            return NO_CATEGORY_BINS
        options = max_bins, min_samples_category, smoothing
        fitted = [fit_feature(own, *options) for own in sums]
        bins, shared_from, thresholds = zip(*fitted, strict=True)
        return cls(
            feature=features,
            first=np.cumsum([0, *map(len, bins)]),
            value=np.concatenate([own.value for own in sums]),
            bin=np.concatenate(bins),
            shared_from=np.array(shared_from, dtype=np.int64),
            mean_threshold=np.array(thresholds),
        )

    @property
    def n_bins(self) -> IntArray:
        """Bins of each of the features, at least 1: (n_categorical,) int64."""
        n_shared = 1 + np.isfinite(self.mean_threshold).sum(axis=1)
        n_shared = np.where(self.has_shared, n_shared, 0)
        return np.maximum(self.shared_from + n_shared, 1)

    @property
    def has_shared(self) -> NDArray[np.bool_]:
        """Whether categories of each of the features share bins, (n_categorical,)."""
        return np.diff(self.first) > self.shared_from

    def check(self, n_bins: IntArray) -> None:
        """Raise a ValueError unless the categories have bins of their features."""
        arrays = list(self._arrays().values())
        feature, first, value, b, shared_from, thresholds = arrays
        dtypes = [np.int64, np.int64, np.float64, np.uint8, np.int64, np.float64]
        if (
            [array.dtype for array in arrays] != dtypes
            or value.shape != b.shape
            or shared_from.shape != feature.shape
            or thresholds.shape[:1] != feature.shape
            or thresholds.ndim != 2
        ):
            raise ValueError("the arrays of categories have other dtypes or shapes")
        if not (
            len(first) == len(feature) + 1
            and (first[0], first[-1]) == (0, len(value))
            and (np.diff(first) >= 0).all()
            and (np.diff(feature) > 0).all()
            and ((feature >= 0) & (feature < len(n_bins))).all()
        ):
            raise ValueError("the categories are not divided among features")
        owner = np.repeat(feature, np.diff(first))
        ascends = (value[1:] > value[:-1]) | (owner[1:] > owner[:-1])
        if not (
            ascends.all() and np.isfinite(value).all() and (b < n_bins[owner]).all()
        ):
            raise ValueError(
                "the categories of a feature do not ascend, or have no bins"
            )
        are_sorted = (thresholds[:, 1:] >= thresholds[:, :-1]).all()
        if not (are_sorted and np.array_equal(self.n_bins, n_bins[feature])):
            raise ValueError("the means of categories have other bins")

    def bins_in_training(
        self,
        X: Table,
        rows: NDArray[np.intp],
        trained: TrainingCategories,
        smoothing: float,
        team: ThreadTeam,
    ) -> list[tuple[int, NDArray[np.uint8]]]:
        """Return each feature with shared bins, and the bins of rows to train on."""
        shared = np.flatnonzero(self.has_shared)
        if len(shared) == 0:
            return []
        columns = X.take(rows, self.feature[shared])  # a table on disk is read once

        def bins_of(number: int, x: FloatArray) -> tuple[int, NDArray[np.uint8]]:
            bins = self._bins_by_fold(number, trained.sums[number], smoothing)
            known = self.value[slice(*self.first[number : number + 2])]
            place = np.minimum(np.searchsorted(known, x), len(known) - 1)
            found = known[place] == x
            own = np.where(found, bins[trained.fold, place], np.uint8(MISSING))
            return int(self.feature[number]), own

        return team.map(bins_of, shared, columns.T)

    def _bins_by_fold(
        self, number: int, sums: CategorySums, smoothing: float
    ) -> NDArray[np.uint8]:
        """Return the bin of each category in the rows of each fold, to train on."""
        # where categories share a bin, it follows from means over the other folds
        part = slice(*self.first[number : number + 2])
        shared_from = self.shared_from[number]
        means = sums.means_elsewhere(smoothing)
        shared = np.searchsorted(self.mean_threshold[number], means) + shared_from
        shared[np.isnan(means)] = MISSING
        # rows have no other categories than those of the sums
        place = np.searchsorted(sums.value, self.value[part])
        shared = shared[:, np.minimum(place, len(sums.value) - 1)]
        single = self.bin[part] < shared_from
        return np.where(single, self.bin[part], shared).astype(np.uint8)

    def encode(self, table: Matrix) -> Matrix:
        """Return a table with the bins of its categories, NaN if unknown."""
        # a copy, unless there are no categorical features: then the table itself, which
        # may be sparse
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
        self, X: Matrix, rows: NDArray[np.intp]
    ) -> tuple[NDArray[np.floating], NDArray[np.intp]]:
        """Return (table, rows of it), some rows of X, encoded, for kernels."""
        table, rows = contiguous_rows(X, rows)
        if len(self.feature) == 0:
            return table, rows
        return contiguous_rows(self.encode(table[rows]), np.arange(len(rows)))


def fit_feature(
    sums: CategorySums, max_bins: int, min_samples_category: int, smoothing: float
) -> tuple[NDArray[np.uint8], int, FloatArray]:
    """Return the bins of categories, and `shared_from` and `mean_threshold`."""
    n_categories, n_shared = len(sums.value), max(1, max_bins // SHARED_BINS)
    if n_categories <= max_bins:
        bins = np.arange(n_categories, dtype=np.uint8)
        return bins, n_categories, np.full(n_shared - 1, np.inf)
    counts = sums.n_rows.sum(axis=0)
    single = most_frequent(counts, max_bins - n_shared)
    single &= counts >= min_samples_category
    means = sums.means_elsewhere(smoothing)
    n_rows = np.where(single | np.isnan(means), 0, sums.n_rows)
    thresholds = find_mean_thresholds(means.ravel(), n_rows.ravel(), n_shared)
    n_single = int(np.count_nonzero(single))
    shared = n_single + np.searchsorted(thresholds, sums.means(smoothing))
    bins = np.where(single, np.cumsum(single) - 1, shared).astype(np.uint8)
    return bins, n_single, thresholds


def most_frequent(counts: NDArray[np.intp], n: int) -> NDArray[np.bool_]:
    """Return which are the n most frequent categories; of equal ones, the lowest."""
    is_frequent = np.zeros(len(counts), dtype=np.bool_)
    is_frequent[np.argsort(-counts, kind="stable")[:n]] = True
    return is_frequent


NO_CATEGORY_BINS = CategoryBins(
    np.empty(0, dtype=np.int64),
    np.zeros(1, dtype=np.int64),
    np.empty(0),
    np.empty(0, dtype=np.uint8),
    np.empty(0, dtype=np.int64),
    np.empty((0, 0)),
)
