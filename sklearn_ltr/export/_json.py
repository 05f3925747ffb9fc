"""Models as JSON text: the safe way to keep one (docs/model_format.md)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._estimators.base import VERSION, NewerVersionWarning, release_numbers
from sklearn_ltr._trees.tree_check import NODE_DTYPES
from sklearn_ltr.export._document import member, parse, shown
from sklearn_ltr.export._estimators import from_tree_model, to_tree_model
from sklearn_ltr.export._json_reader import read_model
from sklearn_ltr.export._parameters import to_value
from sklearn_ltr.export._tree_model import (
    FORMAT_VERSION,
    Feature,
    TrainingState,
    Tree,
)

FORMAT = "sklearn_ltr"
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
    arrays: dict[str, Any] = {
        name: getattr(tree, name).tolist() for name in NODE_DTYPES
    }
    sets = {str(node): [*c] for node, c in sorted(tree.left_categories.items())}
    return arrays | {"left_categories": sets}


def training_value(training: TrainingState) -> dict[str, Any]:
    """Return what a warm start needs."""
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
    }


def curve_values(curves: Mapping[str, Sequence[float]]) -> dict[str, list[Any]]:
    """Return curves, with None for NaN."""
    return {
        name: [None if np.isnan(v) else v for v in values]
        for name, values in curves.items()
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

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import from_json, to_json
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> from_json(to_json(ranker)).predict([[2.0]]) == ranker.predict([[2.0]])
    array([ True])
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
