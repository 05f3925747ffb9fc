"""Boosted trees as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.trees.evaluate.ensemble import NODE_DTYPES
from sklearn_ltr.export._document import array, checked, excerpt, items, member
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
CLASS_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}


def trees_value(estimator: TreesLike) -> dict[str, object]:
    """Return a fitted model of boosted trees."""
    model = to_tree_model(estimator)
    return {
        "estimator": model.estimator,
        "parameters": {n: to_value(v, n) for n, v in model.parameters.items()},
        "sigma": model.sigma,
        "classes": None if model.classes is None else classes_value(model.classes),
        "uses_init_score": model.uses_init_score,
        **{name: True for name in FLAGS if getattr(model, name)},
        "has_feature_names": model.has_feature_names,
        "features": [feature_value(feature) for feature in model.features],
        "base_score": model.base_score,
        "trees": [tree_value(tree) for tree in model.trees],
        "training": None if model.training is None else training_value(model.training),
    }


def classes_value(classes: NDArray[Any]) -> dict[str, object]:
    """Return the classes of a classifier."""
    values = classes.tolist()
    is_text = classes.dtype.kind == "O" and all(isinstance(c, str) for c in values)
    kind = "object" if is_text else CLASS_KINDS.get(classes.dtype.kind)
    if kind is None:
        raise ValueError(f"JSON cannot hold classes of dtype {classes.dtype}")
    return {"kind": kind, "values": values}


def feature_value(feature: Feature) -> dict[str, object]:
    """Return a column."""
    if feature.categories is None:
        return {"name": feature.name, "type": "number"}
    kind = "text_category" if feature.is_text else "number_category"
    return {"name": feature.name, "type": kind, "categories": [*feature.categories]}


def tree_value(tree: Tree) -> dict[str, object]:
    """Return a tree."""
    arrays: dict[str, object] = {
        name: getattr(tree, name).tolist() for name in NODE_DTYPES
    }
    sets = {str(node): [*c] for node, c in sorted(tree.left_categories.items())}
    return arrays | {"left_categories": sets}


def training_value(training: TrainingState) -> dict[str, object]:
    """Return what a warm start needs."""
    bias, forces = training.position_bias, training.label_forces
    return {
        "seed": training.seed,
        "bin_thresholds": [[*thresholds] for thresholds in training.bin_thresholds],
        "category_bins": {str(j): [*b] for j, b in training.category_bins.items()},
        "shared_from": {str(j): b for j, b in training.shared_from.items()},
        "mean_thresholds": {str(j): [*t] for j, t in training.mean_thresholds.items()},
        "curves": curve_values(training.curves),
        "evals_result": {
            name: curve_values(curves) for name, curves in training.evals_result.items()
        },
        **({} if bias is None else {"position_bias": np.atleast_2d(bias).tolist()}),
        **({} if forces is None else {"label_forces": forces.tolist()}),
    }


def curve_values(curves: Mapping[str, Sequence[float]]) -> dict[str, list[Any]]:
    """Return curves, with None for NaN."""
    return {
        name: [None if np.isnan(v) else v for v in values]
        for name, values in curves.items()
    }


def read_trees(document: dict[str, Any]) -> BoostedTrees:
    """Return the fitted estimator that a document describes."""
    return from_tree_model(read_tree_model(document))


def read_tree_model(document: dict[str, Any]) -> TreeModel:
    """Return the trees of a document, their types checked."""
    given = member(document, "parameters", dict)
    columns = items(member(document, "features", list), dict, "features")
    features = [read_feature(f, f"features[{j}]") for j, f in enumerate(columns)]
    trees = items(member(document, "trees", list), dict, "trees")
    training, classes = document.get("training"), document.get("classes")
    return TreeModel(
        estimator=member(document, "estimator", str),
        parameters={n: from_value(v, f"parameters.{n}") for n, v in given.items()},
        features=tuple(features),
        has_feature_names=member(document, "has_feature_names", bool),
        base_score=member(document, "base_score", float),
        trees=tuple(
            read_json_tree(tree, features, f"trees[{m}]")
            for m, tree in enumerate(trees)
        ),
        classes=None if classes is None else read_classes(classes),
        sigma=member(document, "sigma", float),
        uses_init_score=member(document, "uses_init_score", bool),
        **{name: checked(document.get(name, False), bool, name) for name in FLAGS},
        training=None if training is None else read_training(training),
    )


def read_classes(value: object) -> NDArray[Any]:
    """Return the classes of a classifier."""
    kind = member(value, "kind", str, "classes")
    kinds = {"bool": bool, "int": int, "float": float, "str": str, "object": str}
    if kind not in kinds:
        raise ValueError(f"classes.kind must be one of {sorted(kinds)}")
    values = member(value, "values", list, "classes")
    try:
        return np.array(items(values, kinds[kind], "classes.values"), dtype=kind)
    except OverflowError:
        raise ValueError("classes.values are out of range") from None


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


def read_json_tree(value: object, features: Sequence[Feature], where: str) -> Tree:
    """Return a tree."""
    arrays: dict[str, NDArray[Any]] = {
        name: array(value, name, dtype, where) for name, dtype in NODE_DTYPES.items()
    }
    sets, feature = {}, arrays["feature"]
    for key, categories in member(value, "left_categories", dict, where).items():
        path = f"{where}.left_categories[{key!r}]"
        node = read_index(key, len(feature), path)
        j = int(feature[node])
        is_text = 0 <= j < len(features) and features[j].is_text
        sets[node] = read_json_categories(
            checked(categories, list, path), is_text, path
        )
    return Tree(**arrays, left_categories=sets)


def read_index(key: str, n: int, where: str) -> int:
    """Return a key that is a number from 0 to n - 1."""
    if not (key.isascii() and key.isdecimal() and len(key) < 19 and int(key) < n):
        raise ValueError(f"{where}: its key must be a number from 0 to {n - 1}")
    return int(key)


def read_training(value: dict[str, Any]) -> TrainingState:
    """Return what a warm start needs."""
    where = "training.bin_thresholds"
    thresholds = items(member(value, "bin_thresholds", list, "training"), list, where)
    of_features = partial(by_feature, value, len(thresholds))
    curves = member(value, "curves", dict, "training")
    results = member(value, "evals_result", dict, "training")
    if not curves.keys() <= set(CURVES):
        raise ValueError(f"training.curves must be some of {', '.join(CURVES)}")
    return TrainingState(
        seed=member(value, "seed", int, "training"),
        bin_thresholds=tuple(
            tuple(items(t, float, f"{where}[{j}]")) for j, t in enumerate(thresholds)
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
        position_bias=read_position_bias(value),
        label_forces=read_label_forces(value),
    )


def read_label_forces(value: dict[str, Any]) -> NDArray[np.float64] | None:
    """Return the forces of several labels."""
    if "label_forces" not in value:
        return None
    where = "training.label_forces"
    given = member(value, "label_forces", list, "training")
    forces = np.array(items(given, float, where), dtype=np.float64)
    if len(forces) < 2 or not (forces >= 0).all():
        raise ValueError(f"{where} must be two numbers >= 0 or more")
    return forces


def read_position_bias(value: dict[str, Any]) -> NDArray[np.float64] | None:
    """Return the bias of positions: one row, or one of t+ and one of t-."""
    if "position_bias" not in value:
        return None
    where = "training.position_bias"
    rows = items(member(value, "position_bias", list, "training"), list, where)
    found = [items(row, float, f"{where}[{i}]") for i, row in enumerate(rows)]
    if len(found) not in (1, 2) or not len(found[0]) == len(found[-1]) > 0:
        raise ValueError(f"{where} must be one row of numbers, or two of one length")
    return np.array(found[0] if len(found) == 1 else found, dtype=np.float64)


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
