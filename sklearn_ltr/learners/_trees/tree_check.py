"""Whether arrays are trees, which the kernels of predictions take for granted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.learners._trees.binning import MISSING_BIN

DTYPES = {
    "first_node": np.int64,
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "n_rows": np.int64,
}


def check_bin_thresholds(
    bin_thresholds: Sequence[NDArray[np.float64]], n_features: int
) -> None:
    """Raise a ValueError unless there are ascending thresholds for each feature."""
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


def check_trees(arrays: Mapping[str, NDArray[Any]], n_features: int) -> None:
    """Raise a ValueError unless the arrays of a TreeEnsemble are binary trees.

    Every walk from a root must end in a leaf of the same tree, and test none but the
    `n_features` features.
    """
    n_nodes = len(arrays["feature"])
    for name, dtype in DTYPES.items():
        array = arrays[name]
        n = len(arrays["first_node"]) if name == "first_node" else n_nodes
        if array.dtype != dtype or array.shape != (n,):
            raise ValueError(f"{name} has shape {array.shape} and dtype {array.dtype}")
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
        if not np.isfinite(np.abs(arrays[name]).sum()):
            raise ValueError(
                f"{name} has numbers that are not finite, or far too large"
            )
    if (arrays["gain"] < 0).any() or (arrays["n_rows"] < 0).any():
        raise ValueError("gain or n_rows is below 0")
