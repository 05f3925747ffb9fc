"""Bins of the rows of all workers: those that one machine would find.

They are computed of the same sample of rows.  Its values travel, 16 features at a time,
to the worker that sorts these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._estimators.category_training import TargetScale, TrainingCategories
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.dask._standing import Standing
from sklearn_ltr.learners._collective import Collective
from sklearn_ltr.learners._tables import columns_reader
from sklearn_ltr.learners._trees.binning import (
    FEATURES_PER_READ,
    MAX_SAMPLE_ROWS,
    BinMapper,
    draw_sample,
    find_bin_thresholds,
)
from sklearn_ltr.learners._trees.categories import CategoryBins
from sklearn_ltr.learners._trees.category_means import N_FOLDS, CategorySums

IntArray = NDArray[np.int64]


def sampled_rows(data: TrainingData, standing: Standing, seed: int) -> NDArray[np.intp]:
    """Return this worker's rows of X in the sample; its data are in content order."""
    if standing.n_rows <= MAX_SAMPLE_ROWS:
        return data.rows
    shift = standing.first_row - data.offsets[:-1]
    numbers = np.arange(data.n_rows) + np.repeat(shift, data.sizes)
    return data.rows[np.isin(numbers, draw_sample(standing.n_rows, seed))]


def fit_bins(
    data: TrainingData,
    sampled: NDArray[np.intp],
    max_bins: int,
    categories: CategoryBins,
    collective: Collective,
    team: ThreadTeam,
) -> BinMapper:
    """Return the bins of all workers' rows.

    Parameters
    ----------
    data : TrainingData
        Of this worker.
    sampled : ndarray of shape (n_sampled,), intp
        Its rows of X in the sample.
    max_bins : int in [2, 255]
    categories : CategoryBins
    collective : Collective
    team : ThreadTeam
    """
    n_features = data.X.shape[1]
    own: dict[int, NDArray[np.float64]] = {}
    read_features = columns_reader(data.X, sampled)
    for turn, first in enumerate(range(0, n_features, FEATURES_PER_READ)):
        features = range(first, min(first + FEATURES_PER_READ, n_features))
        root = turn % collective.n_workers
        values = read_features(features.start, features.stop)
        gathered = collective.gather_to(root, values)
        if collective.rank == root:
            whole = np.concatenate(gathered)
            remaining = iter(features)  # shared by the threads

            def find_thresholds(
                thread: int, whole: NDArray[np.floating] = whole, first: int = first
            ) -> None:
                for j in remaining:  # noqa: B023
                    own[j] = find_bin_thresholds(whole[:, j - first], max_bins)

            team.run(find_thresholds)
    found: dict[int, NDArray[np.float64]] = {}
    for part in collective.gather(own):
        found |= part
    # copied: what comes from another process may be read-only
    thresholds = [np.array(found[j]) for j in range(n_features)]
    return BinMapper.of_thresholds(thresholds, categories)


def find_categories(
    data: TrainingData, features: IntArray, standing: Standing
) -> TrainingCategories:
    """Return what the bins of categories are learned from: the rows of all workers."""
    gather = standing.collective.gather
    weights = standing.gather(data.weights)
    largest_y = max(gather(np.abs(data.y).max()))
    scale = TargetScale(largest_y, weights.mean(), weights.max(), standing.n_rows)
    own = TrainingCategories.of(data, features, standing.position, scale)
    merged = [merge_sums(parts) for parts in zip(*gather(own.sums), strict=True)]
    return own._replace(sums=merged)


def merge_sums(parts: Sequence[CategorySums]) -> CategorySums:
    """Return the categories of a feature of all workers, and their sums."""
    value = np.unique(np.concatenate([part.value for part in parts]))

    def total(name: str) -> NDArray[Any]:
        sums = np.zeros((N_FOLDS, len(value)), dtype=getattr(parts[0], name).dtype)
        for part in parts:
            sums[:, np.searchsorted(value, part.value)] += getattr(part, name)
        return sums

    return CategorySums(value, total("weighted"), total("weight"), total("n_rows"))
