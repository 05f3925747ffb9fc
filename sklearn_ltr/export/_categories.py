"""Sets of categories become sets of bins, which the trees of this package test.

The categories of a feature that no tree tells apart can share a bin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data.categories import FeatureCategories
from sklearn_ltr._trees.binning import MISSING_BIN
from sklearn_ltr._trees.categories import CategoryBins
from sklearn_ltr._trees.tree_walk import unpack_sets
from sklearn_ltr.export._tree_model import Category, Feature, TrainingState, Tree


def feature_categories(features: Sequence[Feature]) -> FeatureCategories:
    """Return the categorical features, as an estimator stores them."""
    categorical = [j for j, f in enumerate(features) if f.categories is not None]
    return FeatureCategories(
        np.array(categorical, dtype=np.int64),
        np.array([features[j].is_text for j in categorical], dtype=np.bool_),
        [
            np.array(features[j].categories if features[j].is_text else (), np.str_)
            for j in categorical
        ],
    )


def find_category_bins(
    features: Sequence[Feature], trees: Sequence[Tree]
) -> dict[int, tuple[int, ...]]:
    """Return the bin of each category of each categorical feature.

    Categories that are in the same sets share a bin.

    Raises
    ------
    ValueError
        If a feature would need more than 255 bins.
    """
    bins: dict[int, tuple[int, ...]] = {}
    for j, feature in enumerate(features):
        if feature.categories is None:
            continue
        position = {category: i for i, category in enumerate(feature.categories)}
        group = np.zeros(len(position), dtype=np.int64)
        for tree in trees:
            for node, categories in tree.left_categories.items():
                if tree.feature[node] == j:
                    goes_left = np.zeros(len(position), dtype=np.int64)
                    goes_left[[position[category] for category in categories]] = 1
                    group = np.unique(2 * group + goes_left, return_inverse=True)[1]
        if group.max(initial=0) >= MISSING_BIN:
            raise ValueError(
                f"its trees tell {group.max() + 1} groups of the categories of feature "
                f"{feature.name!r} apart, and here a feature has at most {MISSING_BIN}"
            )
        bins[j] = tuple(group.tolist())
    return bins


def category_bins(
    features: Sequence[Feature],
    bins: Mapping[int, Sequence[int]],
    training: TrainingState | None,
) -> CategoryBins:
    """Return the bins of categories, as an estimator stores them."""
    if training is None:
        shared_from = [first_shared_bin(of_feature) for of_feature in bins.values()]
        thresholds = np.empty((len(bins), 0))
    else:
        shared_from = [training.shared_from[j] for j in bins]
        by_feature = [training.mean_thresholds[j] for j in bins]
        thresholds = np.full((len(bins), max(map(len, by_feature), default=0)), np.inf)
        for row, known in zip(thresholds, by_feature, strict=True):
            row[: len(known)] = known
    values = [
        np.arange(len(f.categories), dtype=np.float64)
        if f.is_text
        else np.array(f.categories, dtype=np.float64)
        for f in features
        if f.categories is not None
    ]
    return CategoryBins(
        feature=feature_categories(features).feature,
        first=np.cumsum([0, *map(len, values)], dtype=np.int64),
        value=np.concatenate([np.empty(0), *values]),
        bin=np.concatenate(
            [np.empty(0, np.uint8)] + [np.array(b, np.uint8) for b in bins.values()]
        ),
        shared_from=np.array(shared_from, dtype=np.int64),
        mean_threshold=thresholds,
    )


def first_shared_bin(bins: Sequence[int]) -> int:
    """Return the first bin that categories share, where their means are not known."""
    n_bins = max(bins, default=-1) + 1
    return n_bins if n_bins == len(bins) else n_bins - 1


def bin_sets(
    tree: Tree, features: Sequence[Feature], bins: Mapping[int, Sequence[int]]
) -> NDArray[np.uint8]:
    """Return which bins go left at each node that tests a category, (n_sets, 32).

    Raises
    ------
    ValueError
        If only some of the categories of a bin go left.
    """
    sets = np.zeros((len(tree.left_categories), MISSING_BIN + 1), dtype=np.bool_)
    for number, node in enumerate(sorted(tree.left_categories)):
        j = int(tree.feature[node])
        goes_left = set(tree.left_categories[node])
        right = set()
        for category, b in zip(features[j].categories or (), bins[j], strict=True):
            if category in goes_left:
                sets[number, b] = True
            else:
                right.add(b)
        if sets[number, list(right)].any():
            raise ValueError(
                f"node {node} divides categories of {features[j].name!r} that share a "
                "bin"
            )
        sets[number, MISSING_BIN] = tree.missing_left[node]
    return np.packbits(sets, axis=1, bitorder="little")


def left_categories(
    category_set: NDArray[np.uint8],
    categories: Sequence[Category],
    bins: NDArray[np.uint8],
) -> tuple[Category, ...]:
    """Return the categories whose bins are in a set, (32,)."""
    goes_left = unpack_sets(category_set[np.newaxis])[0][bins].tolist()
    return tuple(c for c, left in zip(categories, goes_left, strict=True) if left)
