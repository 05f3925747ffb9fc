"""XGBoost's JSON model, read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.export._document import array, items, member, parse, shown
from sklearn_ltr.export._estimators import from_tree_model
from sklearn_ltr.export._float32 import rounded_below
from sklearn_ltr.export._foreign_tree import (
    Place,
    TreeBuilder,
    check_children,
    foreign_model,
)
from sklearn_ltr.export._source import text_of
from sklearn_ltr.export._tree_model import (
    Category,
    Feature,
    Tree,
    TreeModel,
    made_up_names,
)
from sklearn_ltr.export._xgboost_categories import read_sets, stored_categories

# Objectives with one score for each row, and what turns base_score into a score
IDENTITY = frozenset(
    "rank:ndcg rank:pairwise rank:map reg:squarederror reg:squaredlogerror "
    "reg:pseudohubererror reg:absoluteerror reg:quantileerror "
    "binary:hinge binary:logitraw".split()
)
LOGIT = frozenset("binary:logistic reg:logistic".split())
LOGARITHM = frozenset("count:poisson reg:gamma reg:tweedie".split())
LEAST_CODES = 1024
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

    Examples
    --------
    >>> import xgboost
    >>> from sklearn_ltr.export import from_xgboost
    >>> theirs = xgboost.XGBRanker(n_estimators=2)
    >>> theirs = theirs.fit([[1.0], [2.0], [3.0]], [0, 1, 2], qid=[7, 7, 7])
    >>> ours = from_xgboost(theirs.get_booster())
    >>> abs(ours.predict([[2.0]]) - theirs.predict([[2.0]])) < 1e-6
    array([ True])
    """
    return from_tree_model(read_xgboost(text_of(model, "XGBoost", written_by)))


def written_by(model: Any) -> bytes | None:
    """Return the JSON of a booster or an estimator, None for another object."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if booster is not model and hasattr(model, "best_iteration"):
        booster = booster[: model.best_iteration + 1]  # as `predict` of the estimator
    return bytes(booster.save_raw("json")) if hasattr(booster, "save_raw") else None


def read_xgboost(text: str) -> TreeModel:
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


def build_tree(nodes: Nodes, categories: Mapping[int, list[Category]]) -> Tree:
    """Return a tree whose nodes test ``x <= threshold``, and send sets left."""
    builder = TreeBuilder()
    waiting: list[tuple[int, Place]] = [(0, None)]
    thresholds = rounded_below(nodes.condition)
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
