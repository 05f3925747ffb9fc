"""Whether arrays are trees, which the kernels of predictions take for granted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._trees.binning import MISSING_BIN, BinMapper
from sklearn_ltr._trees.categories import CategoryBins
from sklearn_ltr._trees.workspace import SET_BYTES

NODE_DTYPES = {
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "n_rows": np.int64,
}
DTYPES = {"first_node": np.int64} | NODE_DTYPES


def check_bins(mapper: BinMapper, n_features: int) -> None:
    """Raise a ValueError unless there are ascending thresholds for each feature."""
    bin_thresholds = mapper.bin_thresholds
    if len(bin_thresholds) != n_features:
        raise ValueError(f"{len(bin_thresholds)} features of {n_features} have bins")
    for thresholds in bin_thresholds:
        if thresholds.dtype != np.float64 or thresholds.ndim != 1:
            raise ValueError("bin_thresholds are not float64")
        finite = np.isfinite(thresholds).all()
        if (
            not finite
            or len(thresholds) >= MISSING_BIN
            or (np.diff(thresholds) <= 0).any()
        ):
            raise ValueError("bin_thresholds do not ascend, or are too many")
    check_categories(mapper.categories, mapper.n_bins)


def check_categories(categories: CategoryBins, n_bins: NDArray[np.int64]) -> None:
    """Raise a ValueError unless the categories have bins of their features."""
    names = "feature", "first", "value", "bin", "shared_from", "mean_threshold"
    arrays = [getattr(categories, name) for name in names]
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
    if not (ascends.all() and np.isfinite(value).all() and (b < n_bins[owner]).all()):
        raise ValueError("the categories of a feature do not ascend, or have no bins")
    ascends = (thresholds[:, 1:] >= thresholds[:, :-1]).all()
    if not (ascends and np.array_equal(categories.n_bins, n_bins[feature])):
        raise ValueError("the means of categories have other bins")


def check_trees(arrays: Mapping[str, NDArray[Any]], n_features: int) -> None:
    """Raise a ValueError unless the arrays of a TreeEnsemble are binary trees."""
    # Every walk from a root must end in a leaf of the same tree, and test none but the
    # `n_features` features.
    n_nodes = len(arrays["feature"])
    for name, dtype in DTYPES.items():
        array = arrays[name]
        n = len(arrays["first_node"]) if name == "first_node" else n_nodes
        if array.dtype != dtype or array.shape != (n,):
            raise ValueError(f"{name} has shape {array.shape} and dtype {array.dtype}")
    check_category_sets(arrays)
    first_node, feature = arrays["first_node"], arrays["feature"]
    left, right = arrays["left"], arrays["right"]
    sizes = np.diff(first_node, append=n_nodes)
    starts_at_0 = first_node[0] == 0 if len(first_node) > 0 else n_nodes == 0
    if not (starts_at_0 and (sizes > 0).all()):
        raise ValueError("first_node does not divide the nodes into trees")
    if not ((feature >= -1) & (feature < n_features)).all():
        raise ValueError(f"feature is not one of {n_features}")
    root, node = np.repeat(first_node, sizes), np.arange(n_nodes)
    end, is_inner = root + np.repeat(sizes, sizes), feature >= 0
    children = np.concatenate([(root + side)[is_inner] for side in (left, right)])
    parents = np.tile(node[is_inner], 2)
    if not (
        (left[~is_inner] == -1).all()
        and (right[~is_inner] == -1).all()
        and ((children > parents) & (children < end[parents])).all()
        and (np.bincount(children, minlength=n_nodes) == (node != root)).all()
    ):
        raise ValueError("left and right are not the children of binary trees")
    if (arrays["missing_left"].view(np.uint8) > 1).any():
        raise ValueError("missing_left holds bytes other than 0 and 1")
    if np.isnan(arrays["threshold"]).any():
        raise ValueError("threshold has NaN")
    for name in ("value", "gain"):
        with np.errstate(over="ignore"):
            total = np.abs(arrays[name]).sum()
        if not np.isfinite(total):
            raise ValueError(
                f"{name} has numbers that are not finite, or far too large"
            )
    if (arrays["gain"] < 0).any() or (arrays["n_rows"] < 0).any():
        raise ValueError("gain or n_rows is below 0")


def check_category_sets(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise a ValueError unless the category sets are those of inner nodes."""
    node, sets = arrays["category_node"], arrays["category_set"]
    if not (
        node.dtype == np.int64
        and sets.dtype == np.uint8
        and node.ndim == 1
        and sets.shape == (len(node), SET_BYTES)
        and (np.diff(node) > 0).all()
        and ((node >= 0) & (node < len(arrays["feature"]))).all()
        and (arrays["feature"][node] >= 0).all()
        and ((sets[:, -1] >> 7 != 0) == arrays["missing_left"][node]).all()
    ):
        raise ValueError("category_set and category_node are not sets of inner nodes")
