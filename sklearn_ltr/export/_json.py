"""Models as JSON text: the safe way to keep one (docs/model_format.md).

Among parameters a metric object is ``{"metric": its class, "parameters": {...}}``, and
a dict, whose keys may be numbers, is ``{"mapping": [[key, value], ...]}``.
"""

from __future__ import annotations

import json
import math
import warnings
import zlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sklearn_ltr.metrics
from sklearn_ltr._data.rows import LARGEST_EXACT
from sklearn_ltr._estimators.base import VERSION, NewerVersionWarning, release_numbers
from sklearn_ltr._trees.evaluate.ensemble import NODE_DTYPES
from sklearn_ltr.export._document import array, checked, excerpt, items, member, parse
from sklearn_ltr.export._estimators import (
    CURVES,
    BoostedTrees,
    TreesLike,
    from_tree_model,
    to_tree_model,
)
from sklearn_ltr.export._model_files import TextOrFile, no_model, text_of
from sklearn_ltr.export._tree_model import (
    Category,
    Feature,
    TrainingState,
    Tree,
    TreeModel,
)
from sklearn_ltr.metrics import Metric

__all__ = ["from_json", "json_schema", "to_json"]

FORMAT = "sklearn_ltr"
FORMAT_VERSION = 1
CLASS_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}
DEEPEST_LIST = 4  # of lists in lists
METRIC_CLASSES: dict[str, type[Metric]] = {
    name: cls
    for name in sklearn_ltr.metrics.__all__
    if isinstance(cls := getattr(sklearn_ltr.metrics, name), type) and cls is not Metric
}


def to_json(estimator: TreesLike) -> str:
    """Return a fitted model as JSON text.

    Unlike a pickle, any language can read it without executing anything, and it does
    not depend on versions of Python or numpy.  ``docs/model_format.md`` describes it;
    :func:`json_schema` returns its JSON schema.

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
        **({"absent_is_missing": True} if model.absent_is_missing else {}),
        "has_feature_names": model.has_feature_names,
        "features": [feature_value(feature) for feature in model.features],
        "base_score": model.base_score,
        "trees": [tree_value(tree) for tree in model.trees],
        "training": None if model.training is None else training_value(model.training),
    }
    document["checksum"] = checksum_of_document(document)
    return json.dumps(document, allow_nan=False)


def checksum_of_document(document: dict[str, Any]) -> int:
    """Return the CRC-32 of all members but the checksum, however they are written."""
    content = {n: value for n, value in document.items() if n != "checksum"}
    text = json.dumps(with_floats(content), sort_keys=True, separators=(",", ":"))
    return zlib.crc32(text.encode())


def with_floats(value: Any) -> Any:
    """Return a JSON value with floats for integers, and 0 for -0."""
    # some programs write 1.0 as 1, and -0.0 as 0
    if type(value) is float or (type(value) is int and abs(value) < LARGEST_EXACT):
        return float(value) + 0.0
    if isinstance(value, list):
        kinds = set(map(type, value))
        if kinds == {float}:
            return [item + 0.0 for item in value]
        if kinds == {int} and max(map(abs, value)) < LARGEST_EXACT:
            return list(map(float, value))
        return [with_floats(item) for item in value]
    if isinstance(value, dict):
        return {name: with_floats(item) for name, item in value.items()}
    return value


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of what :func:`to_json` writes.

    Examples
    --------
    >>> from sklearn_ltr.export import json_schema
    >>> sorted(json_schema()["required"])[:3]
    ['base_score', 'classes', 'estimator']
    """
    schema: dict[str, Any] = json.loads(
        files("sklearn_ltr.export").joinpath("model.schema.json").read_text("utf-8")
    )
    return schema


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


def from_json(text: TextOrFile) -> BoostedTrees:
    """Return the fitted estimator that JSON text describes.

    Parameters
    ----------
    text : str, bytes or path
        What :func:`to_json` has returned, of this version or an older one; or a path,
        or text of one line, that names the file which holds it.

    Returns
    -------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier

    Raises
    ------
    ValueError
        If the text is not a model, or is damaged; the message names the place.  The
        checksum, which is optional, detects changed numbers.  The text is never
        executed, and memory grows with its length only.
    TypeError
        For anything else.

    Warns
    -----
    NewerVersionWarning
        If a newer version of the package has written it.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import from_json, to_json
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> from_json(to_json(ranker)).predict([[2.0]]) == ranker.predict([[2.0]])
    array([ True])
    """
    text = text_of(text, "text must be the JSON of a model, or its file")
    unlike = f'this is no model written by to_json: "format" is not "{FORMAT}"'
    if text.lstrip()[:1] not in ("{", "["):
        raise no_model(text, f"this is no valid JSON, and {unlike}")
    document = parse(text)
    if type(document) is not dict or document.get("format") != FORMAT:
        is_changed = type(document) is dict and "library_version" in document
        raise ValueError(unlike) if is_changed else no_model(text, unlike)
    version = member(document, "format_version", int)
    if version != FORMAT_VERSION:
        raise ValueError(
            f"format_version is {excerpt(version)}, and sklearn_ltr {VERSION} reads "
            f"{FORMAT_VERSION}: use another version of it"
        )
    warn_of_newer(member(document, "library_version", str))
    estimator = from_tree_model(read_model(document))
    if "checksum" in document:
        saved = member(document, "checksum", int)
        if saved != checksum_of_document(document):
            raise ValueError(
                f"checksum is {excerpt(saved)}, which is not that of the rest: the "
                "model is damaged, so load it from another copy; or, if it was changed "
                'on purpose, remove "checksum" from it'
            )
    return estimator


def warn_of_newer(version: str) -> None:
    """Warn if a newer version of the package has written a model."""
    try:
        is_newer = release_numbers(version) > release_numbers(VERSION)
    except ValueError:
        raise ValueError(f"library_version is {excerpt(version)}") from None
    if is_newer:
        warnings.warn(
            f"this model was written by sklearn_ltr {version}, but this is the older "
            f"{VERSION}: upgrade, or check its scores",
            NewerVersionWarning,
            stacklevel=3,
        )


def read_model(document: dict[str, Any]) -> TreeModel:
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
            read_json_tree(tree, features, f"trees[{m}]")
            for m, tree in enumerate(trees)
        ),
        classes=None if classes is None else read_classes(classes),
        sigma=member(document, "sigma", float),
        uses_init_score=member(document, "uses_init_score", bool),
        absent_is_missing=checked(
            document.get("absent_is_missing", False), bool, "absent_is_missing"
        ),
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


def to_value(value: object, name: str) -> object:
    """Return a parameter as a JSON value."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    kind = type(value)
    if isinstance(value, Metric) and METRIC_CLASSES.get(kind.__name__) is kind:
        options = {f.name: getattr(value, f.name) for f in fields(value)}
        return {
            "metric": kind.__name__,
            "parameters": {n: to_value(v, f"{name}.{n}") for n, v in options.items()},
        }
    if isinstance(value, Mapping):
        pairs = [[to_value(k, name), to_value(v, name)] for k, v in value.items()]
        return {"mapping": pairs}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Set):
        value = sorted(value, key=lambda item: (str(type(item)), item))
    if isinstance(value, list | tuple | range):
        return [to_value(item, name) for item in value]
    raise ValueError(
        f"the parameter {name} is a {type(value).__name__}, which JSON cannot hold: "
        f"change it by set_params({name}=...)"
    )


def from_value(value: object, where: str, depth: int = 0) -> Any:
    """Return the parameter that a JSON value stands for."""
    if depth > DEEPEST_LIST:
        raise ValueError(f"{where} is nested too deeply")
    if isinstance(value, list):
        return [
            from_value(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)
        ]
    if isinstance(value, dict) and value.keys() == {"metric", "parameters"}:
        return read_metric(value, where, depth)
    if isinstance(value, dict) and value.keys() == {"mapping"}:
        return read_mapping(value, where, depth)
    if isinstance(value, dict):
        raise ValueError(f"{where} is an object of unknown keys {sorted(value)[:4]}")
    if isinstance(value, float):
        return checked(value, float, where)
    return value


def read_metric(value: dict[str, Any], where: str, depth: int) -> Metric:
    """Return a metric object."""
    name = member(value, "metric", str, where)
    given = member(value, "parameters", dict, where)
    if name not in METRIC_CLASSES:
        raise ValueError(f"{where}.metric must be one of {sorted(METRIC_CLASSES)}")
    options = {
        key: from_value(item, f"{where}.{key}", depth + 1)
        for key, item in given.items()
    }
    try:
        metric: Metric = METRIC_CLASSES[name](**options)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{where}: {error}") from None
    return metric


def read_mapping(value: dict[str, Any], where: str, depth: int) -> dict[Any, Any]:
    """Return a dict."""
    mapping = {}
    for pair in items(value["mapping"], list, where):
        if len(pair) != 2 or isinstance(pair[0], list | dict):
            raise ValueError(f"{where} must hold pairs of a key and a value")
        mapping[pair[0]] = from_value(pair[1], where, depth + 1)
    return mapping
