"""Bins of the rows of all workers: those that one machine would find.

They are computed of the same sample of rows.  Its values travel, 16 features at a time,
to the worker that sorts these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Collective
from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._data import TrainingData
from sklearn_ltr._data.tables import columns_reader
from sklearn_ltr._data.categories import FeatureCategories
from sklearn_ltr._estimators.category_training import TargetScale, TrainingCategories
from sklearn_ltr._trees.binning import (
    FEATURES_PER_READ,
    MAX_SAMPLE_ROWS,
    BinMapper,
    draw_sample,
    find_bin_thresholds,
)
from sklearn_ltr._trees.categories import CategoryBins
from sklearn_ltr._trees.category_means import N_FOLDS, CategorySums
from sklearn_ltr.dask._global_index import GlobalIndex

IntArray = NDArray[np.int64]


def sampled_rows(
    data: TrainingData, global_index: GlobalIndex, seed: int
) -> NDArray[np.intp]:
    """Return this worker's rows of X in the sample; its data are in content order."""
    if global_index.n_rows <= MAX_SAMPLE_ROWS:
        return data.rows
    shift = global_index.first_row - data.offsets[:-1]
    numbers = np.arange(data.n_rows) + np.repeat(shift, data.sizes)
    return data.rows[np.isin(numbers, draw_sample(global_index.n_rows, seed))]


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
    read_features = columns_reader(data.X[sampled], np.arange(len(sampled)))
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
    data: TrainingData, features: IntArray, global_index: GlobalIndex
) -> TrainingCategories:
    """Return what the bins of categories are learned from: the rows of all workers."""
    gather = global_index.collective.gather
    weights = global_index.gather(data.weights)
    largest_y = max(gather(np.abs(data.y).max()))
    scale = TargetScale(largest_y, weights.mean(), weights.max(), global_index.n_rows)
    # one reading of X for all features
    codes = replace(data, X=data.X[:, features] if len(features) > 0 else None)
    columns = np.arange(len(features))
    own = TrainingCategories.of(codes, columns, global_index.position, scale)
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


def merge_categories(
    own: FeatureCategories, parts: list[FeatureCategories]
) -> FeatureCategories:
    """Return the categories of several parts of the rows, of which one has `own`."""
    text, is_text = [], np.empty(len(own.feature), dtype=np.bool_)
    for number in range(len(is_text)):
        found = set().union(*(part.text[number].tolist() for part in parts))
        text.append(np.array(sorted(found), dtype=np.str_))
        # a part in which all are missing does not know
        is_text[number] = bool(found) or all(part.is_text[number] for part in parts)
    return replace(own, text=text, is_text=is_text)
