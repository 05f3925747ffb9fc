"""The parts of a model's JSON document, read and checked one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._trees.tree_check import NODE_DTYPES
from sklearn_ltr.export._document import array, checked, items, member, shown
from sklearn_ltr.export._parameters import from_value
from sklearn_ltr.export._training_state import CURVES
from sklearn_ltr.export._tree_model import (
    Category,
    Feature,
    TrainingState,
    Tree,
    TreeModel,
)


def read_model(document: Any) -> TreeModel:
    """Return the model of a document, its types checked."""
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
            read_tree(tree, features, f"trees[{m}]") for m, tree in enumerate(trees)
        ),
        classes=None if classes is None else read_classes(classes),
        sigma=member(document, "sigma", float),
        uses_init_score=member(document, "uses_init_score", bool),
        training=None if training is None else read_training(training),
    )


def read_classes(value: Any) -> NDArray[Any]:
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


def read_feature(value: Any, where: str) -> Feature:
    """Return a column."""
    name, kind = member(value, "name", str, where), member(value, "type", str, where)
    if kind == "number":
        return Feature(name)
    if kind not in ("text_category", "number_category"):
        raise ValueError(f"{where}.type is {shown(kind)}")
    is_text = kind == "text_category"
    categories = read_categories(
        member(value, "categories", list, where), is_text, f"{where}.categories"
    )
    return Feature(name, categories, is_text)


def read_categories(
    values: list[Any], is_text: bool, where: str
) -> tuple[Category, ...]:
    """Return categories, all text or all numbers."""
    if is_text:
        return tuple(items(values, str, where))
    return tuple(
        value if type(value) is int else checked(value, float, f"{where}[{i}]")
        for i, value in enumerate(values)
    )


def read_tree(value: Any, features: Sequence[Feature], where: str) -> Tree:
    """Return a tree."""
    arrays = {
        name: array(value, name, dtype, where) for name, dtype in NODE_DTYPES.items()
    }
    sets, feature = {}, arrays["feature"]
    for key, categories in member(value, "left_categories", dict, where).items():
        path = f"{where}.left_categories[{key!r}]"
        node = read_index(key, len(feature), path)
        j = int(feature[node])
        is_text = 0 <= j < len(features) and features[j].is_text
        sets[node] = read_categories(checked(categories, list, path), is_text, path)
    return Tree(**arrays, left_categories=sets)


def read_index(key: str, n: int, where: str) -> int:
    """Return a key that is a number from 0 to n - 1."""
    if not (key.isascii() and key.isdecimal() and len(key) < 19 and int(key) < n):
        raise ValueError(f"{where}: its key must be a number from 0 to {n - 1}")
    return int(key)


def read_training(value: Any) -> TrainingState:
    """Return what a warm start needs."""
    where = "training.bin_thresholds"
    thresholds = items(member(value, "bin_thresholds", list, "training"), list, where)
    n_features = len(thresholds)
    bins = by_feature(value, "category_bins", n_features)
    means = by_feature(value, "mean_thresholds", n_features)
    shared_from = by_feature(value, "shared_from", n_features)
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
            j: tuple(items(b, int, f"training.category_bins[{j}]"))
            for j, b in bins.items()
        },
        shared_from={
            j: checked(b, int, f"training.shared_from[{j}]")
            for j, b in shared_from.items()
        },
        mean_thresholds={
            j: tuple(items(t, float, f"training.mean_thresholds[{j}]"))
            for j, t in means.items()
        },
        curves=read_curves(curves, "training.curves"),
        evals_result={
            name: read_curves(
                checked(of_set, dict, f"training.evals_result.{name}"),
                f"training.evals_result.{name}",
            )
            for name, of_set in results.items()
        },
    )


def by_feature(value: Any, name: str, n_features: int) -> dict[int, Any]:
    """Return a member of the training whose keys are features."""
    members = member(value, name, dict, "training")
    where = f"training.{name}"
    return {read_index(j, n_features, where): v for j, v in members.items()}


def read_curves(value: dict[str, Any], where: str) -> dict[str, tuple[float, ...]]:
    """Return curves by name, NaN for null."""
    return {
        name: tuple(
            np.nan if v is None else checked(v, float, f"{where}.{name}")
            for v in checked(values, list, f"{where}.{name}")
        )
        for name, values in value.items()
    }
