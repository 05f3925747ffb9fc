"""Boosted trees as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.trees.evaluate.ensemble import NODE_DTYPES
from sklearn_ltr.export._document import (
    array,
    checked,
    excerpt,
    items,
    items_of,
    member,
    objects,
)
from sklearn_ltr.export._estimators import (
    CURVES,
    BoostedTrees,
    TreesLike,
    from_tree_model,
    to_tree_model,
)
from sklearn_ltr.export._json_parameters import from_value, to_value
from sklearn_ltr.export._tree_model import (
    Category,
    Feature,
    TrainingState,
    Tree,
    TreeModel,
)

FLAGS = ("absent_is_missing", "stages_changed")  # written where they are true


def trees_value(estimator: TreesLike) -> dict[str, object]:
    """Return a fitted model of boosted trees."""
    model = to_tree_model(estimator)
    classes: dict[str, object] | None = None
    if model.classes is not None:
        dtype, values = model.classes.dtype, model.classes.tolist()
        is_text = dtype.kind == "O" and all(isinstance(c, str) for c in values)
        if not is_text and dtype.kind not in "biufU":
            raise ValueError(f"JSON cannot hold classes of dtype {dtype}")
        kind = "object" if is_text else type(values[0]).__name__
        classes = {"kind": kind, "values": values}
    training: dict[str, Any] | None = None
    if model.training is not None:  # what a warm start needs
        training = dict(vars(model.training))
        training["curves"] = curve_values(training["curves"])
        results = training["evals_result"].items()
        training["evals_result"] = {name: curve_values(c) for name, c in results}
        bias, forces = training.pop("position_bias"), training.pop("label_forces")
        if bias is not None:
            training["position_bias"] = np.atleast_2d(bias).tolist()
        if forces is not None:
            training["label_forces"] = forces.tolist()
    trees = [
        {name: getattr(tree, name).tolist() for name in NODE_DTYPES}
        | {"left_categories": dict(sorted(tree.left_categories.items()))}
        for tree in model.trees
    ]
    return {
        "estimator": model.estimator,
        "parameters": {n: to_value(v, n) for n, v in model.parameters.items()},
        "sigma": model.sigma,
        "classes": classes,
        "uses_init_score": model.uses_init_score,
        **{name: True for name in FLAGS if getattr(model, name)},
        "has_feature_names": model.has_feature_names,
        "features": [feature_value(feature) for feature in model.features],
        "base_score": model.base_score,
        "trees": trees,
        "training": training,
    }


def feature_value(feature: Feature) -> dict[str, object]:
    """Return a column."""
    if feature.categories is None:
        return {"name": feature.name, "type": "number"}
    kind = "text_category" if feature.is_text else "number_category"
    return {"name": feature.name, "type": kind, "categories": [*feature.categories]}


def curve_values(curves: Mapping[str, Sequence[float]]) -> dict[str, list[Any]]:
    """Return curves, with None for NaN."""
    return {
        name: [None if np.isnan(v) else v for v in values]
        for name, values in curves.items()
    }


def read_trees(document: dict[str, Any]) -> BoostedTrees:
    """Return the fitted estimator that a document describes."""
    given = member(document, "parameters", dict)
    features = [read_feature(f, where) for where, f in objects(document, "features")]
    listed = objects(document, "trees")
    estimator = member(document, "estimator", str)
    parameters = {n: from_value(v, f"parameters.{n}") for n, v in given.items()}
    has_feature_names = member(document, "has_feature_names", bool)
    base_score = member(document, "base_score", float)
    trees = []
    for where, tree in listed:
        arrays: dict[str, NDArray[Any]] = {
            name: array(tree, name, dtype, where) for name, dtype in NODE_DTYPES.items()
        }
        sets, feature = {}, arrays["feature"]
        for key, categories in member(tree, "left_categories", dict, where).items():
            path = f"{where}.left_categories[{key!r}]"
            node = read_index(key, len(feature), path)
            j = int(feature[node])
            is_text = 0 <= j < len(features) and features[j].is_text
            listed_there = checked(categories, list, path)
            sets[node] = read_json_categories(listed_there, is_text, path)
        trees.append(Tree(**arrays, left_categories=sets))
    classes = None
    if (value := document.get("classes")) is not None:
        kind = member(value, "kind", str, "classes")
        kinds = {"bool": bool, "int": int, "float": float, "str": str, "object": str}
        if kind not in kinds:
            raise ValueError(f"classes.kind must be one of {sorted(kinds)}")
        values: list[object] = items_of(value, "values", kinds[kind], "classes")
        try:
            classes = np.array(values, dtype=kind)
        except OverflowError:
            raise ValueError("classes.values are out of range") from None
    training = document.get("training")
    return from_tree_model(
        TreeModel(
            estimator=estimator,
            parameters=parameters,
            features=tuple(features),
            has_feature_names=has_feature_names,
            base_score=base_score,
            trees=tuple(trees),
            classes=classes,
            sigma=member(document, "sigma", float),
            uses_init_score=member(document, "uses_init_score", bool),
            **{name: checked(document.get(name, False), bool, name) for name in FLAGS},
            training=None if training is None else read_training(training),
        )
    )


def read_feature(value: object, where: str) -> Feature:
    """Return a column."""
    name, kind = member(value, "name", str, where), member(value, "type", str, where)
    if kind == "number":
        return Feature(name)
    if kind not in ("text_category", "number_category"):
        raise ValueError(f"{where}.type is {excerpt(kind)}")
    is_text = kind == "text_category"
    categories = read_json_categories(
        member(value, "categories", list, where), is_text, f"{where}.categories"
    )
    return Feature(name, categories, is_text)


def read_json_categories(
    values: list[Any], is_text: bool, where: str
) -> tuple[Category, ...]:
    """Return categories, all text or all numbers."""
    if is_text:
        return tuple(items(values, str, where))
    return tuple(
        value if type(value) is int else checked(value, float, f"{where}[{i}]")
        for i, value in enumerate(values)
    )


def read_index(key: str, n: int, where: str) -> int:
    """Return a key that is a number from 0 to n - 1."""
    if not (key.isascii() and key.isdecimal() and len(key) < 19 and int(key) < n):
        raise ValueError(f"{where}: its key must be a number from 0 to {n - 1}")
    return int(key)


def read_training(value: dict[str, Any]) -> TrainingState:
    """Return what a warm start needs."""
    thresholds = items_of(value, "bin_thresholds", list, "training")
    of_features = partial(by_feature, value, len(thresholds))
    curves = member(value, "curves", dict, "training")
    results = member(value, "evals_result", dict, "training")
    if not curves.keys() <= set(CURVES):
        raise ValueError(f"training.curves must be some of {', '.join(CURVES)}")
    known = TrainingState(
        seed=member(value, "seed", int, "training"),
        bin_thresholds=tuple(
            tuple(items(t, float, f"training.bin_thresholds[{j}]"))
            for j, t in enumerate(thresholds)
        ),
        category_bins={
            j: tuple(items(b, int, at)) for j, b, at in of_features("category_bins")
        },
        shared_from={j: checked(b, int, at) for j, b, at in of_features("shared_from")},
        mean_thresholds={
            j: tuple(items(t, float, at)) for j, t, at in of_features("mean_thresholds")
        },
        curves=read_json_curves(curves, "training.curves"),
        evals_result={
            name: read_json_curves(set_curves, f"training.evals_result.{name}")
            for name, set_curves in results.items()
        },
    )
    if "position_bias" in value:  # one row, or one of t+ and one of t-
        where = "training.position_bias"
        rows = items_of(value, "position_bias", list, "training")
        bias = [items(row, float, f"{where}[{i}]") for i, row in enumerate(rows)]
        if len(bias) not in (1, 2) or not len(bias[0]) == len(bias[-1]) > 0:
            raise ValueError(
                f"{where} must be one row of numbers, or two of one length"
            )
        one_or_two = np.array(bias[0] if len(bias) == 1 else bias, dtype=np.float64)
        known = replace(known, position_bias=one_or_two)
    if "label_forces" in value:
        forces = np.array(items_of(value, "label_forces", float, "training"))
        if len(forces) < 2 or not (forces >= 0).all():
            raise ValueError("training.label_forces must be two numbers >= 0 or more")
        known = replace(known, label_forces=forces)
    return known


def by_feature(
    value: object, n_features: int, name: str
) -> list[tuple[int, object, str]]:
    """Return a member of the training whose keys are features; where each value is."""
    where = f"training.{name}"
    numbered = [
        (read_index(j, n_features, where), v)
        for j, v in member(value, name, dict, "training").items()
    ]
    return [(j, v, f"{where}[{j}]") for j, v in numbered]


def read_json_curves(value: object, where: str) -> dict[str, tuple[float, ...]]:
    """Return curves by name, NaN for null."""
    return {
        name: tuple(
            np.nan if v is None else checked(v, float, f"{where}.{name}")
            for v in checked(values, list, f"{where}.{name}")
        )
        for name, values in checked(value, dict, where).items()
    }
