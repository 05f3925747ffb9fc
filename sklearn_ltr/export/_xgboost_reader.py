"""XGBoost's JSON model, read."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.export._document import array, checked, items, member, parse, shown
from sklearn_ltr.export._estimators import from_tree_model
from sklearn_ltr.export._foreign_tree import (
    Place,
    TreeBuilder,
    check_children,
    foreign_model,
)
from sklearn_ltr.export._tree_model import (
    LARGEST_THRESHOLD,
    Category,
    Feature,
    Tree,
    TreeModel,
    made_up_names,
)

# Objectives with one score for each row, and what turns base_score into a score
IDENTITY = frozenset(
    "rank:ndcg rank:pairwise rank:map reg:squarederror reg:squaredlogerror "
    "reg:pseudohubererror reg:absoluteerror reg:quantileerror binary:hinge binary:logitraw".split()
)
LOGIT = frozenset("binary:logistic reg:logistic".split())
LOGARITHM = frozenset("count:poisson reg:gamma reg:tweedie".split())
LEAST_CODES, MOST_CODES = 1024, 2**20
MOST_WITHOUT_NAMES = 2**20  # features
ROWS_PER_HESSIAN, LARGEST_HESSIAN = 1000, 1e12


def from_xgboost(model: Any) -> Any:
    """Return a ranker that scores as a model trained by XGBoost.

    Parameters
    ----------
    model : xgboost.Booster, fitted XGBModel, str, bytes or path
        A booster, of trees or "dart"; an estimator of XGBoost's; the JSON text of
        ``save_model("model.json")``; or a path that names the file which holds it.

    Returns
    -------
    ranker : LambdaMARTRanker
        Fitted.  Every row reaches the leaves that it reaches in XGBoost, which rounds
        its numbers to float32 first; here leaf values are added in float64.  `predict`
        returns what XGBoost returns with ``output_margin=True``, up to that.  To
        continue it, give it to another ranker as `init`.  A value that XGBoost was
        told to take for missing (its parameter `missing`) must be NaN here.
        Categories are those of the DataFrame that XGBoost >= 3.1 was trained with,
        else codes.  A category that was not there in training counts as missing here,
        while XGBoost refuses it, or sends its code left.  For SHAP values, `n_rows` of
        a leaf is 1,000 times its sum of hessians: XGBoost counts no rows.

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        That says where, if the text is damaged, or holds what this package has not:
        several classes or targets, a linear booster, an unknown objective, more than
        255 groups of categories that its trees tell apart.
    """
    return from_tree_model(read_xgboost(text_of(model)))


def text_of(model: Any) -> str | bytes:
    """Return the JSON text of a model."""
    if isinstance(model, bytes | bytearray):
        return bytes(model)
    if isinstance(model, str) and model.lstrip().startswith("{"):
        return model
    if isinstance(model, str | os.PathLike):
        return Path(model).read_bytes()
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not hasattr(booster, "save_raw"):
        raise TypeError(
            "model must be a booster or an estimator of XGBoost, the JSON text of a "
            f"model or its file, got {type(model).__name__}"
        )
    return bytes(booster.save_raw("json"))


def read_xgboost(text: str | bytes) -> TreeModel:
    """Return the model that XGBoost's JSON describes."""
    learner = member(parse(text), "learner", dict)
    parameters = member(learner, "learner_model_param", dict, "learner")
    booster = member(learner, "gradient_booster", dict, "learner")
    gbtree, weights = booster, None
    if member(booster, "name", str, "gradient_booster") == "dart":
        gbtree = member(booster, "gbtree", dict, "gradient_booster")
        weights = array(booster, "weight_drop", np.float64, "gradient_booster")
    if member(gbtree, "name", str, "gradient_booster") != "gbtree":
        raise ValueError(
            f"gradient_booster.name is {shown(gbtree['name'])}: only models of trees, "
            '"gbtree" and "dart", are read'
        )
    model = member(gbtree, "model", dict, "gradient_booster")
    check_one_score(parameters, model)
    names, types = read_columns(learner, count(parameters, "num_feature"))
    nodes = []
    for m, tree in enumerate(member(model, "trees", list, "model")):
        try:
            nodes.append(read_nodes(tree, len(names)))
        except ValueError as error:
            raise ValueError(f"trees[{m}]: {error}") from None
    categories = read_categories(model, types, nodes)
    trees = [build_tree(tree, categories) for tree in nodes]
    if weights is not None:
        if len(weights) != len(trees):
            raise ValueError(f"weight_drop has {len(weights)} of {len(trees)} trees")
        trees = [t.scaled(float(w)) for t, w in zip(trees, weights, strict=True)]
    features = [feature(name, categories.get(j)) for j, name in enumerate(names)]
    return foreign_model(features, trees, base_score(learner, parameters))


def feature(name: str, categories: Sequence[Category] | None) -> Feature:
    """Return a column; its categories are given by code."""
    if categories is None:
        return Feature(name)
    is_text = any(isinstance(category, str) for category in categories)
    return Feature(name, tuple(sorted(categories)), is_text)


def count(parameters: Mapping[str, Any], key: str) -> int:
    """Return a number >= 0 that is stored as text."""
    text = member(parameters, key, str, "learner_model_param")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ValueError(f"learner_model_param.{key} is no number: {shown(text)}")
    return int(text)


def check_one_score(parameters: Mapping[str, Any], model: Mapping[str, Any]) -> None:
    """Raise a ValueError unless each row has one score."""
    n_classes = count(parameters, "num_class")
    n_targets = count(parameters, "num_target") if "num_target" in parameters else 1
    tree_info = array(model, "tree_info", np.int64, "model")
    if n_classes > 1 or n_targets > 1 or tree_info.any():
        raise ValueError(
            f"it has {max(n_classes, n_targets, 2)} scores or more for each row, for "
            "classes or targets: that is no ranker"
        )


def base_score(learner: Mapping[str, Any], parameters: Mapping[str, Any]) -> float:
    """Return the score before the first tree."""
    name = member(member(learner, "objective", dict), "name", str, "objective")
    text = member(parameters, "base_score", str, "learner_model_param")
    try:
        with np.errstate(over="ignore"):
            value = float(np.float32(text.strip("[]")))
        if name in LOGIT:
            value = -math.log(1.0 / value - 1.0)
        elif name in LOGARITHM:
            value = math.log(value)
        elif name not in IDENTITY:
            raise ValueError(
                f"objective {shown(name)} is not known to have one score for each row"
            )
    except (ArithmeticError, ValueError) as error:
        raise ValueError(f"base_score={shown(text)}: {error}") from None
    return value


def read_columns(
    learner: Mapping[str, Any], n_features: int
) -> tuple[list[str], list[str]]:
    """Return the name of each column, and its type, which is "c" for categories."""
    names = items(learner.get("feature_names", []), str, "learner.feature_names")
    types = items(learner.get("feature_types", []), str, "learner.feature_types")
    if not names and n_features > MOST_WITHOUT_NAMES:
        raise ValueError(f"num_feature is {n_features}, and none of them has a name")
    if (names and len(names) != n_features) or (types and len(types) != n_features):
        raise ValueError(
            f"num_feature is {n_features}, and there are {len(names)} feature_names "
            f"and {len(types)} feature_types"
        )
    return names or made_up_names(n_features), types or [""] * n_features


class Nodes(NamedTuple):
    """The arrays of a tree."""

    feature: NDArray[np.int64]
    condition: NDArray[np.float64]  # a threshold; in a leaf, its value
    default_left: NDArray[np.int64]
    left: list[int]
    right: list[int]
    gain: NDArray[np.float64]
    hessian: NDArray[np.float64]
    right_codes: dict[int, list[int]]  # codes that a node sends right


def read_nodes(tree: Any, n_features: int) -> Nodes:
    """Return the arrays of a tree, checked."""
    arrays = {
        key: array(tree, key, dtype, "tree")
        for key, dtype in {
            "left_children": np.int64,
            "right_children": np.int64,
            "split_indices": np.int64,
            "split_conditions": np.float64,
            "loss_changes": np.float64,
            "sum_hessian": np.float64,
        }.items()
    }
    default_left = member(tree, "default_left", list, "tree")
    for i, side in enumerate(default_left):  # booleans, of older versions, are equal
        if side not in (0, 1):
            raise ValueError(f"default_left[{i}] must be 0 or 1, got {shown(side)}")
    arrays["default_left"] = np.array(default_left, dtype=np.int64)
    n_nodes = len(arrays["left_children"])
    for key, values in arrays.items():
        if len(values) != n_nodes:
            raise ValueError(f"{key} has {len(values)} of {n_nodes} nodes")
    indices = arrays["split_indices"]
    if not ((indices >= 0) & (indices < n_features)).all():
        raise ValueError(f"split_indices holds numbers that are none of {n_features}")
    left, right = arrays["left_children"].tolist(), arrays["right_children"].tolist()
    check_children(left, right)
    return Nodes(
        indices,
        arrays["split_conditions"],
        arrays["default_left"],
        left,
        right,
        np.maximum(arrays["loss_changes"], 0.0),
        np.clip(arrays["sum_hessian"], 0.0, LARGEST_HESSIAN),
        read_sets(tree, n_nodes),
    )


def read_sets(tree: Any, n_nodes: int) -> dict[int, list[int]]:
    """Return the codes that nodes of categories send right."""
    types = array({"split_type": [0] * n_nodes} | tree, "split_type", np.int64, "tree")
    if not types.any():
        return {}
    nodes, starts, sizes, codes = (
        array(tree, key, np.int64, "tree").tolist()
        for key in (
            "categories_nodes",
            "categories_segments",
            "categories_sizes",
            "categories",
        )
    )
    if not (
        len(nodes) == len(starts) == len(sizes)
        and len(types) == n_nodes
        and nodes == np.flatnonzero(types).tolist()
        and all(
            0 <= i and 0 <= n <= len(codes) - i
            for i, n in zip(starts, sizes, strict=True)
        )
        and sum(sizes) <= len(codes)
    ):
        raise ValueError("categories_... do not divide the categories among nodes")
    if not all(0 <= code < MOST_CODES for code in codes):
        raise ValueError(f"categories holds codes that are not from 0 to {MOST_CODES}")
    return {
        node: codes[i : i + n] for node, i, n in zip(nodes, starts, sizes, strict=True)
    }


def read_categories(
    model: Mapping[str, Any], types: Sequence[str], trees: Sequence[Nodes]
) -> dict[int, list[Category]]:
    """Return the categories of each categorical feature, by code."""
    largest = {j: -1 for j, kind in enumerate(types) if kind == "c"}
    for tree in trees:
        for node, codes in tree.right_codes.items():
            j = int(tree.feature[node])
            largest[j] = max(largest.get(j, -1), *codes, -1)
    stored = stored_categories(model)
    categories: dict[int, list[Category]] = {}
    for j in sorted(largest):
        categories[j] = stored.get(j, [])
        if not categories[j]:
            # what no set holds goes left, so that more codes than there were do no harm
            categories[j] = list(range(max(largest[j] + 1, LEAST_CODES)))
        if largest[j] >= len(categories[j]) or len(set(categories[j])) < len(
            categories[j]
        ):
            raise ValueError(
                f"feature {j} has a category twice, or fewer than its trees test"
            )
    return categories


def stored_categories(model: Mapping[str, Any]) -> dict[int, list[Category]]:
    """Return the categories of a DataFrame's columns, which XGBoost >= 3.1 stores."""
    if "cats" not in model:
        return {}
    encoded = items(member(model["cats"], "enc", list, "cats"), dict, "cats.enc")
    return {
        j: stored_column(column, f"cats.enc[{j}]") for j, column in enumerate(encoded)
    }


def stored_column(column: Mapping[str, Any], where: str) -> list[Category]:
    """Return the categories of a column: numbers, or text as bytes and offsets."""
    values = member(column, "values", list, where)
    if "offsets" not in column:
        return [
            v if type(v) is int else checked(v, float, f"{where}.values[{i}]")
            for i, v in enumerate(values)
        ]
    offsets = array(column, "offsets", np.int64, where).tolist()
    codes = array(column, "values", np.int64, where)
    if not ((codes >= -128) & (codes < 256)).all() or any(
        not 0 <= first <= last <= len(codes) for first, last in pairwise(offsets)
    ):
        raise ValueError(f"{where} holds no text")
    text = codes.astype(np.uint8).tobytes()
    return [text[first:last].decode() for first, last in pairwise(offsets)]


def build_tree(nodes: Nodes, categories: Mapping[int, list[Category]]) -> Tree:
    """Return a tree whose nodes test ``x <= threshold``, and send sets left."""
    builder = TreeBuilder()
    waiting: list[tuple[int, Place]] = [(0, None)]
    thresholds = at_most_below(nodes.condition)
    while waiting:
        node, place = waiting.pop()
        if nodes.left[node] == -1:
            n_rows = round(ROWS_PER_HESSIAN * float(nodes.hessian[node]))
            builder.leaf(place, float(nodes.condition[node]), n_rows)
            continue
        j, is_set = int(nodes.feature[node]), node in nodes.right_codes
        number = builder.split(
            place,
            j,
            0.0 if is_set else float(thresholds[node]),
            bool(nodes.default_left[node]),
            float(nodes.gain[node]),
        )
        if is_set:
            goes_right = set(nodes.right_codes[node])
            goes_left = [c for i, c in enumerate(categories[j]) if i not in goes_right]
            builder.left_categories[number] = tuple(sorted(goes_left))
        waiting += [
            (nodes.right[node], (number, False)),
            (nodes.left[node], (number, True)),
        ]
    return builder.tree()


def at_most_below(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return t such that ``x <= t`` if, and only if, float32(x) < threshold.

    float32(x) is then at most the float32 before the threshold, to which x is rounded
    up to the middle between the two; the middle itself if that float32 is even.
    """
    with np.errstate(over="ignore", under="ignore"):
        limit = threshold.astype(np.float32)
        before = np.nextafter(limit, np.float32(-np.inf))
    is_even = before.view(np.uint32) % 2 == 0
    middle = before.astype(np.float64) / 2 + limit.astype(np.float64) / 2
    found = np.where(is_even, middle, np.nextafter(middle, -np.inf))
    return np.clip(found, -LARGEST_THRESHOLD, LARGEST_THRESHOLD)
