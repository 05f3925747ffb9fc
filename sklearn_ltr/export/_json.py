"""Models as JSON text: the safe way to keep one (docs/model_format.md)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._estimators.state import VERSION, NewerVersionWarning, release_numbers
from sklearn_ltr.export._document import array, checked, items, member, parse, shown
from sklearn_ltr.export._estimators import CURVES, from_tree_model, to_tree_model
from sklearn_ltr.export._parameters import from_value, to_value
from sklearn_ltr.export._tree_model import (
    FORMAT_VERSION,
    Category,
    Feature,
    TrainingState,
    Tree,
    TreeModel,
)

FORMAT = "sklearn_ltr"
ARRAYS = {
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "n_rows": np.int64,
}
CLASS_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}


def to_json(estimator: Any) -> str:
    """Return a fitted model as JSON text.

    Unlike a pickle it is read without executing anything, by any language, and it does
    not depend on versions of Python or numpy.  ``docs/model_format.md`` describes it,
    and :func:`json_schema` is its JSON schema.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted.  A base model, `init`, that is itself a LambdaMARTRanker or a
        MARTRegressor on the same columns is written as the first trees of one model.

    Returns
    -------
    text : str
        All of the model: :func:`from_json` returns an estimator that predicts the same
        bytes and, unless it had an `init`, continues with `warm_start` as this one.

    Raises
    ------
    TypeError
        For any other estimator.
    ValueError
        If `init` is a model of another kind, or a parameter is an object that JSON
        cannot hold, such as a metric of your own or a `RandomState`.
    NotFittedError
        Before `fit`.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import from_json, to_json
    >>> X, y = [[0.1], [0.9], [0.4], [0.8]], [0, 1, 0, 1]
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1)
    >>> ranker = ranker.fit(X, y, groups=[1, 1, 2, 2])
    >>> bool((from_json(to_json(ranker)).predict(X) == ranker.predict(X)).all())
    True
    """
    model = to_tree_model(estimator)
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": VERSION,
        "estimator": model.estimator,
        "parameters": {n: to_value(v, n) for n, v in model.parameters.items()},
        "sigma": model.sigma,
        "classes": None if model.classes is None else classes_value(model.classes),
        "uses_init_score": model.uses_init_score,
        "has_feature_names": model.has_feature_names,
        "features": [feature_value(feature) for feature in model.features],
        "base_score": model.base_score,
        "trees": [tree_value(tree) for tree in model.trees],
        "training": None if model.training is None else training_value(model.training),
    }
    return json.dumps(document, allow_nan=False)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of what :func:`to_json` writes."""
    schema: dict[str, Any] = json.loads(
        files("sklearn_ltr.export").joinpath("model.schema.json").read_text("utf-8")
    )
    return schema


def classes_value(classes: NDArray[Any]) -> dict[str, Any]:
    """Return the classes of a classifier."""
    values = classes.tolist()
    is_text = classes.dtype.kind == "O" and all(isinstance(c, str) for c in values)
    kind = "object" if is_text else CLASS_KINDS.get(classes.dtype.kind)
    if kind is None:
        raise ValueError(f"JSON cannot hold classes of dtype {classes.dtype}")
    return {"kind": kind, "values": values}


def feature_value(feature: Feature) -> dict[str, Any]:
    """Return a column."""
    if feature.categories is None:
        return {"name": feature.name, "type": "number"}
    kind = "text_category" if feature.is_text else "number_category"
    return {"name": feature.name, "type": kind, "categories": [*feature.categories]}


def tree_value(tree: Tree) -> dict[str, Any]:
    """Return a tree."""
    arrays: dict[str, Any] = {name: getattr(tree, name).tolist() for name in ARRAYS}
    sets = {str(node): [*c] for node, c in sorted(tree.left_categories.items())}
    return arrays | {"left_categories": sets}


def training_value(training: TrainingState) -> dict[str, Any]:
    """Return what a warm start needs."""
    return {
        "seed": training.seed,
        "bin_thresholds": [[*thresholds] for thresholds in training.bin_thresholds],
        "category_bins": {str(j): [*b] for j, b in training.category_bins.items()},
        "curves": {
            name: [None if np.isnan(v) else v for v in values]
            for name, values in training.curves.items()
        },
    }


def from_json(text: str | bytes) -> Any:
    """Return the fitted estimator that JSON text describes.

    Parameters
    ----------
    text : str or bytes
        What :func:`to_json` has returned.

    Returns
    -------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier

    Raises
    ------
    ValueError
        That says where, if this is not such a text, or is damaged.  The text is never
        executed, and memory grows with its length only.

    Warns
    -----
    NewerVersionWarning
        If a newer version of the package has written it.
    """
    document = parse(text)
    if type(document) is not dict or document.get("format") != FORMAT:
        raise ValueError(
            f'this is no model written by to_json: "format" is not "{FORMAT}"'
        )
    version = member(document, "format_version", int)
    if version != FORMAT_VERSION:
        raise ValueError(
            f"format_version is {shown(version)}, and sklearn_ltr {VERSION} reads "
            f"{FORMAT_VERSION}: use another version of it"
        )
    warn_of_newer(member(document, "library_version", str))
    return from_tree_model(read_model(document))


def warn_of_newer(version: str) -> None:
    """Warn if a newer version of the package has written a model."""
    try:
        is_newer = release_numbers(version) > release_numbers(VERSION)
    except ValueError:
        raise ValueError(f"library_version is {shown(version)}") from None
    if is_newer:
        warnings.warn(
            f"this model was written by sklearn_ltr {version}, and this is the older "
            f"{VERSION}: upgrade, or make sure that it scores as it should",
            NewerVersionWarning,
            stacklevel=3,
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
    arrays = {name: array(value, name, dtype, where) for name, dtype in ARRAYS.items()}
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
    bins = member(value, "category_bins", dict, "training")
    curves = member(value, "curves", dict, "training")
    if not curves.keys() <= set(CURVES):
        raise ValueError(f"training.curves must be some of {', '.join(CURVES)}")
    return TrainingState(
        seed=member(value, "seed", int, "training"),
        bin_thresholds=tuple(
            tuple(items(t, float, f"{where}[{j}]")) for j, t in enumerate(thresholds)
        ),
        category_bins={
            read_index(j, len(thresholds), "training.category_bins"): tuple(
                items(b, int, f"training.category_bins[{j!r}]")
            )
            for j, b in bins.items()
        },
        curves={
            name: tuple(
                np.nan if v is None else checked(v, float, f"training.curves.{name}")
                for v in checked(values, list, f"training.curves.{name}")
            )
            for name, values in curves.items()
        },
    )
