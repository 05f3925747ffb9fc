"""Categories of the rows that are trained on: bins by the targets of other rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._estimators.tree_parameters import TreeParameters
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.learners._tables import Table
from sklearn_ltr.learners._trees.binning import MISSING_BIN, BinMapper, BinnedData
from sklearn_ltr.learners._trees.categories import NO_CATEGORIES, CategoryBins
from sklearn_ltr.learners._trees.category_means import N_FOLDS, RowTargets, exact


def row_targets(data: TrainingData, smoothing: float) -> RowTargets:
    """Return target, weight and fold of each row; see ``category_means.py``.

    A target is relative to the mean of the row's query, since only differences within
    a query matter; where rows are in no query, to the mean of all.  The rows of a query
    are in one fold.  The unit of targets and of weights does not matter.
    """
    weights = np.repeat(data.weights / data.weights.mean(), data.sizes)
    y = exact(data.y / max(np.abs(data.y).max(), np.finfo(float).tiny))
    query = np.repeat(np.arange(data.n_queries), data.sizes)
    mean = np.full(1, np.average(y, weights=weights))
    if data.labels is not None:
        mean = (np.add.reduceat(y, data.offsets[:-1]) / data.sizes)[query]
    return RowTargets(y - mean, weights, query % N_FOLDS, smoothing)


def fit_categories(
    data: TrainingData, features: NDArray[np.int64], parameters: TreeParameters
) -> CategoryBins:
    """Learn the bins of the categorical features."""
    if len(features) == 0:
        return NO_CATEGORIES
    return CategoryBins.fit(
        data.X,
        data.rows,
        features,
        parameters.max_bins,
        parameters.min_samples_category,
        row_targets(data, parameters.category_smoothing),
    )


def bin_training(
    mapper: BinMapper, data: TrainingData, smoothing: float, team: ThreadTeam
) -> BinnedData:
    """Bin the rows; where categories share bins, by the targets of other folds."""
    binned = mapper.transform(data.X, data.rows, team)
    categories = mapper.categories
    if categories.has_shared.any():
        targets = row_targets(data, smoothing)
        for j, bins in categories.bins_in_training(data.X, data.rows, targets):
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
