"""Categories of the rows that are trained on: bins by the targets of other rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._estimators.tree_parameters import TreeParameters
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.learners._tables import Table
from sklearn_ltr.learners._trees.binning import MISSING_BIN, BinMapper, BinnedData
from sklearn_ltr.learners._trees.categories import CategoryBins
from sklearn_ltr.learners._trees.category_means import (
    N_FOLDS,
    CategorySums,
    RowTargets,
    exact,
)

IntArray = NDArray[np.int64]


class TargetScale(NamedTuple):
    """What the unit of targets and weights is taken from."""

    largest_y: float  # absolute
    mean_weight: float  # of the queries
    largest_weight: float
    n_rows: int

    @classmethod
    def of(cls, data: TrainingData) -> TargetScale:
        """Return that of all of the training data."""
        weights, largest = data.weights, np.abs(data.y).max()
        return cls(largest, weights.mean(), weights.max(), data.n_rows)


def row_targets(
    data: TrainingData, query_numbers: IntArray, scale: TargetScale
) -> RowTargets:
    """Return target, weight and fold of each row; see ``category_means.py``.

    A target is relative to the mean of the row's query, since only differences within
    a query matter; where rows are in no query, to the mean of all.  The rows of a query
    are in one fold.  The unit of targets and of weights does not matter.
    """
    weights = np.repeat(data.weights / scale.mean_weight, data.sizes)
    y = data.y / max(scale.largest_y, np.finfo(float).tiny)
    y = exact(y, 1.0, scale.n_rows)
    mean = np.full(1, np.average(y, weights=weights))
    if data.labels is not None:
        sums = np.add.reduceat(y, data.offsets[:-1])
        mean = np.repeat(sums / data.sizes, data.sizes)
    largest = scale.largest_weight / scale.mean_weight
    return RowTargets(
        exact(weights * (y - mean), 2 * largest, scale.n_rows),
        exact(weights, largest, scale.n_rows),
        np.repeat(query_numbers % N_FOLDS, data.sizes),
    )


class TrainingCategories(NamedTuple):
    """What the bins of categories are learned from."""

    fold: IntArray  # (n_rows,), of the training data
    sums: list[CategorySums]  # of each categorical feature

    @classmethod
    def of(
        cls,
        data: TrainingData,
        features: IntArray,
        query_numbers: IntArray,
        scale: TargetScale,
    ) -> TrainingCategories:
        """Find the categories of these features, and their sums."""
        if len(features) == 0:
            return cls(np.empty(0, dtype=np.int64), [])
        targets = row_targets(data, query_numbers, scale)
        sums = [CategorySums.of(data.X[data.rows, j], targets) for j in features]
        return cls(targets.fold, sums)


def fit_category_bins(
    categories: TrainingCategories, features: IntArray, parameters: TreeParameters
) -> CategoryBins:
    """Learn the bins of these categorical features."""
    return CategoryBins.fit(
        features,
        categories.sums,
        parameters.max_bins,
        parameters.min_samples_category,
        parameters.category_smoothing,
    )


def bin_training(
    mapper: BinMapper,
    data: TrainingData,
    trained: TrainingCategories,
    smoothing: float,
    team: ThreadTeam,
) -> BinnedData:
    """Bin the rows; where categories share bins, by the targets of other folds."""
    binned = mapper.transform(data.X, data.rows, team)
    bins_of_features = mapper.categories.bins_in_training(
        data.X, data.rows, *trained, smoothing
    )
    for j, bins in bins_of_features:
        binned.values[binned.block[j], :, binned.slot[j]] = bins
    return binned


def encode_binned(
    binned: BinnedData, categories: CategoryBins, data: TrainingData
) -> Table:
    """Return X with the bins of its categories; of rows with data, those of `binned`.

    It is a copy, or without categorical features the same, which may be sparse.
    """
    encoded = categories.encode(data.X)
    for j in categories.feature[categories.has_shared]:
        bins = binned.values[binned.block[j], :, binned.slot[j]]
        encoded[data.rows, j] = np.where(bins == MISSING_BIN, np.nan, bins)
    return encoded
