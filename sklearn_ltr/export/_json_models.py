"""Trees, networks, Pipelines, bags and blends as JSON.

A model within a model is an object of its own kind, so they nest.  Readers get the
place of their object, for messages.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.networks import MultilayerPerceptron
from sklearn_ltr._core.parameters import read_parameters
from sklearn_ltr._core.trees.evaluate.ensemble import NODE_DTYPES
from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.ensemble._bagging import BaggingParameters
from sklearn_ltr.ensemble._blended_ranker import BlendingParameters
from sklearn_ltr.export._document import (
    array,
    checked,
    excerpt,
    items,
    items_of,
    member,
    objects,
    place,
)
from sklearn_ltr.export._estimators import (
    CURVES,
    ESTIMATORS,
    BoostedTrees,
    TreesLike,
    feature_categories,
    from_tree_model,
    to_tree_model,
)
from sklearn_ltr.export._json_parameters import (
    CLASSES,
    class_name,
    estimator_value,
    from_value,
    invalid_parameters,
    new_estimator,
    to_value,
)
from sklearn_ltr.export._pipelines import (
    NETWORKS,
    READ,
    Imputation,
    active_steps,
    column_names,
    dense_layers,
    perceptron_of,
    read_step,
)
from sklearn_ltr.export._tree_model import (
    Category,
    Feature,
    TrainingState,
    Tree,
    TreeModel,
    check_feature,
    errors_in,
)
from sklearn_ltr.preprocessing import SmoothClipScaler, TableVectorizer
from sklearn_ltr.preprocessing._table_vectorizer import CategoryTable

NetworkRanker: TypeAlias = LambdaRankRanker | RankNetRanker
Model: TypeAlias = (
    BoostedTrees | NetworkRanker | BaggingRanker | BlendedRanker | Pipeline
)
Document: TypeAlias = dict[str, Any]

LARGEST_SINGLE = float(np.finfo(np.float32).max)
FLAGS = ("absent_is_missing", "stages_changed")  # of trees, written where true
NAN, INF = float("nan"), float("inf")
# The attributes of a fit, without "_", and what null stands for among their numbers
STATE: dict[type[BaseEstimator], dict[str, float | None]] = {
    SimpleImputer: {"statistics": None},
    StandardScaler: {"mean": NAN, "var": NAN, "scale": NAN, "n_samples_seen": None},
    MinMaxScaler: {
        "min": NAN, "scale": NAN, "data_min": NAN, "data_max": NAN, "data_range": NAN,
        "n_samples_seen": None,
    },
    SmoothClipScaler: {"center": None, "scale": INF, "rms": INF},
}  # fmt: skip
#: kinds of columns of a TableVectorizer that are numbers of days
IN_DAYS = {"dates": "date", "zoned_dates": "zoned date", "durations": "duration"}


def model_value(model: BaseEstimator) -> Document:
    """Return the JSON object of a fitted model."""
    kind = type(model)
    if kind in NETWORKS:
        fitted = model._fitted()
        network = perceptron_of(fitted)
        return {
            **estimator_value(fitted),
            **columns_value(fitted),
            "sigma": float(fitted._sigma),
            "n_iter": fitted.n_iter_,
            "activation": network.activation,
            "layers": dense_layers(network),
        }
    if kind is BaggingRanker:
        fitted = model._fitted()
        members = [
            {"queries": drawn.tolist(), **model_value(member)}
            for member, drawn in zip(
                fitted.estimators_, fitted.estimators_queries_, strict=True
            )
        ]
        return estimator_value(fitted) | {"estimators": members}
    if kind is BlendedRanker:
        fitted = model._fitted()
        members = [model_value(member) for member in fitted.rankers_]
        return estimator_value(fitted) | {
            "weights": fitted.weights_.tolist(),
            "blend_score": fitted.blend_score_,
            "rankers": members,
        }
    if kind is Pipeline:
        *steps, (name, last) = active_steps(model)
        are_imputers = all(isinstance(step, SimpleImputer) for _, step in steps)
        # of imputers and trees, the trees that do the same are written
        if type(last) not in ESTIMATORS.values() or not are_imputers:
            values = [{"name": n, **step_value(n, step)} for n, step in steps]
            values.append({"name": name, **model_value(last)})
            document = estimator_value(model)
            del document["parameters"]["steps"]
            return document | {"steps": values}
    return trees_value(model)


def read_model(document: Document, where: str = "") -> Any:
    """Return the fitted model that stands at a place of the document."""
    models = [name for name, cls in CLASSES.items() if cls not in READ]
    cls = CLASSES[class_name(document, models, where)]
    if cls in ESTIMATORS.values():
        with errors_in(where):
            return read_trees(document)
    if cls is Pipeline:
        return read_pipeline(document, where)
    model = new_estimator(document, where)
    if cls in NETWORKS:
        read_network(model, document, where)
        return model
    is_bag = cls is BaggingRanker
    with invalid_parameters(where):
        read_parameters(BaggingParameters if is_bag else BlendingParameters, model)
    key = "estimators" if is_bag else "rankers"
    listed = objects(document, key, where)
    members = [read_model(value, at) for at, value in listed]
    if len({member.n_features_in_ for member in members}) != 1:
        raise ValueError(
            f"{place(where, key)} must be models of the same number of columns"
        )
    if is_bag:
        model.estimators_ = members
        model.estimators_queries_ = [
            array(value, "queries", np.int64, at) for at, value in listed
        ]
        return model
    model.rankers_ = members
    model.weights_ = read_numbers(document, "weights", len(members), None, where)
    score = document.get("blend_score")
    at = place(where, "blend_score")
    model.blend_score_ = None if score is None else checked(score, float, at)
    model.curve_ = None
    return model


def read_network(ranker: NetworkRanker, document: Document, where: str) -> None:
    """Set what a fit of a network sets; its training cannot be continued."""
    with invalid_parameters(where):
        p = read_parameters(ranker._parameters, ranker)
    read_columns(ranker, document, where)
    coefs, intercepts, n_inputs = [], [np.empty(0)], ranker.n_features_in_
    for own, layer in objects(document, "layers", where):
        bias = array(layer, "bias", np.float64, own)
        matrix = read_rows(layer, "matrix", len(bias), [n_inputs], own)
        if max(np.abs(matrix).max(), np.abs(bias).max()) > LARGEST_SINGLE:
            raise ValueError(f"{own} holds a number that is infinite in float32")
        coefs.append(np.ascontiguousarray(matrix.T, dtype=np.float32))
        intercepts.append(bias.astype(np.float32))
        n_inputs = len(bias)
    if intercepts[-1].tolist() != [0.0]:
        raise ValueError(
            f"{place(where, 'layers')} must end with one unit, whose bias is 0"
        )
    network = MultilayerPerceptron.__new__(MultilayerPerceptron)
    network.__setstate__(
        {
            "activation": member(document, "activation", str, where),
            "coefs": coefs,
            "intercepts": intercepts[1:-1],
        }
    )
    ranker.__dict__ |= {
        "network_": network,
        "n_iter_": member(document, "n_iter", int, where),
        "evals_result_": {},
        "validation_score_": np.empty(0),
        "_fitted_architecture": p.architecture,
        "_optimizer": p.new_optimizer(),
        "_seed": None,  # so that a warm start is refused
        "_sigma": member(document, "sigma", float, where),
        p.train_curve: np.empty(0),
    }
    with errors_in(where):
        ranker._check_state()


# --- trees ----------------------------------------------------------------------------


def trees_value(estimator: TreesLike) -> dict[str, object]:
    """Return the JSON object of a fitted model of boosted trees."""
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
    """Return the JSON object of a column."""
    if feature.categories is None:
        return {"name": feature.name, "type": "number"}
    kind = "text_category" if feature.is_text else "number_category"
    return {"name": feature.name, "type": kind, "categories": [*feature.categories]}


def curve_values(curves: Mapping[str, Sequence[float]]) -> dict[str, list[Any]]:
    """Return curves with None in place of NaN, which JSON lacks."""
    return {
        name: [None if np.isnan(v) else v for v in values]
        for name, values in curves.items()
    }


def read_trees(document: dict[str, Any]) -> BoostedTrees:
    """Return the fitted estimator of boosted trees that a document describes."""
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
    """Return the column that an object describes."""
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
    """Return a list of categories, which must all be text or all numbers."""
    if is_text:
        return tuple(items(values, str, where))
    return tuple(
        value if type(value) is int else checked(value, float, f"{where}[{i}]")
        for i, value in enumerate(values)
    )


def read_index(key: str, n: int, where: str) -> int:
    """Return a key as a number, which must be from 0 to n - 1."""
    if not (key.isascii() and key.isdecimal() and len(key) < 19 and int(key) < n):
        raise ValueError(f"{where}: its key must be a number from 0 to {n - 1}")
    return int(key)


def read_training(value: dict[str, Any]) -> TrainingState:
    """Return what a warm start needs."""
    thresholds = items_of(value, "bin_thresholds", list, "training")

    def of_features(name: str) -> list[tuple[int, object, str]]:
        where, given = f"training.{name}", member(value, name, dict, "training")
        keys = [read_index(key, len(thresholds), where) for key in given]
        return [
            (j, given[key], f"{where}[{j}]") for j, key in zip(keys, given, strict=True)
        ]

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


def read_json_curves(value: object, where: str) -> dict[str, tuple[float, ...]]:
    """Return curves by name, with NaN in place of null."""
    return {
        name: tuple(
            np.nan if v is None else checked(v, float, f"{where}.{name}")
            for v in checked(values, list, f"{where}.{name}")
        )
        for name, values in checked(value, dict, where).items()
    }


# --- columns and numbers --------------------------------------------------------------


def columns_value(
    fitted: BaseEstimator, features: Sequence[Feature] | None = None
) -> Document:
    """Return the columns of a fit; they hold numbers unless `features` are given."""
    if features is None:
        features = [Feature(name) for name in column_names(fitted)]
    return {
        "has_feature_names": hasattr(fitted, "feature_names_in_"),
        "features": [feature_value(feature) for feature in features],
    }


def read_columns(
    fitted: BaseEstimator, document: Document, where: str
) -> list[Feature]:
    """Set the columns of a fit, and return them."""
    listed = objects(document, "features", where)
    features = [read_feature(value, at) for at, value in listed]
    if not features:
        path = place(where, "features")
        raise ValueError(f"{path} must hold at least one column")
    for (at, _), feature in zip(listed, features, strict=True):
        check_feature(feature, at)
        if feature.categories is not None and not isinstance(fitted, TableVectorizer):
            raise ValueError(f"{at}.type must be 'number'")
    fitted.n_features_in_ = len(features)
    if member(document, "has_feature_names", bool, where):
        names = [feature.name for feature in features]
        fitted.feature_names_in_ = np.array(names, dtype=object)
    return features


def numbers_value(values: Any, null: float | None, name: str) -> Any:
    """Return numbers with None in place of `null`, which is NaN or infinity."""
    if values is None:
        return None
    numbers = np.asarray(values, dtype=np.float64)
    is_finite = np.isfinite(numbers)
    again = np.where(is_finite, numbers, null or 0.0)
    if not np.array_equal(again, numbers, equal_nan=True):
        raise ValueError(
            f"{name} is infinite, which JSON cannot hold: leave out the column, or use "
            "a SmoothClipScaler"
        )
    found = numbers.astype(object)
    found[~is_finite] = None
    return found.tolist()


def read_numbers(
    document: Document, key: str, n: int, null: float | None, where: str
) -> FloatArray:
    """Return a list of n numbers; null stands for `null`, and is refused if None."""
    at = place(where, key)
    if null is None:
        values = items_of(document, key, float, where)
    else:
        values = [
            null if value is None else checked(value, float, f"{at}[{i}]")
            for i, value in enumerate(member(document, key, list, where))
        ]
    if len(values) != n:
        raise ValueError(f"{at} must hold {n} numbers, got {len(values)}")
    numbers = np.array(values, dtype=np.float64)
    if null == INF and not (numbers > 0).all():  # scales
        raise ValueError(f"{at}[{int(np.argmin(numbers))}] must be above 0")
    return numbers


def read_rows(
    document: Document, key: str, n: int, lengths: Collection[int], where: str
) -> FloatArray:
    """Return n rows of numbers, which must all have one of the lengths."""
    at = place(where, key)
    rows = items_of(document, key, list, where)
    found = [items(row, float, f"{at}[{i}]") for i, row in enumerate(rows)]
    if not len(found) == n > 0 or {*map(len, found)} not in [{m} for m in lengths]:
        wanted = " or ".join(map(str, lengths))
        raise ValueError(f"{at} must hold {n} rows of {wanted} numbers each")
    return np.array(found, dtype=np.float64)


# --- Pipelines ------------------------------------------------------------------------


def read_pipeline(document: Document, where: str) -> Pipeline:
    """Return the fitted Pipeline that a document describes."""
    listed = objects(document, "steps", where)
    steps: list[tuple[str, Any]] = []
    for i, (own, value) in enumerate(listed):
        name = member(value, "name", str, own)
        read = read_model if i == len(listed) - 1 else read_transformer
        step = read(value, own)
        if steps:
            before = steps[-1][1]
            n_columns = len(before.get_feature_names_out())
            if step.n_features_in_ != n_columns:
                raise ValueError(
                    f"{own} takes {step.n_features_in_} columns, but the step before "
                    f"it makes {n_columns}"
                )
            was_frame = hasattr(step, "feature_names_in_")  # in the fit of the step
            before.set_output(transform="pandas" if was_frame else "default")
        steps.append((name, step))
    if not steps:
        raise ValueError(f"{place(where, 'steps')} must hold at least one step")
    pipeline: Pipeline = new_estimator(document, where, steps=steps)
    return pipeline


def step_value(name: str, step: BaseEstimator) -> Document:
    """Return the JSON object of a step before the last."""
    read = read_step(name, step)  # raises an error for steps of other kinds
    if type(step) not in READ:
        raise TypeError(
            f"the step {name!r} of the Pipeline is a {type(step).__name__}, a class of "
            "your own, which from_json does not know"
        )
    document = estimator_value(step)
    if isinstance(step, TableVectorizer):
        return document | vectorizer_value(step)
    document |= columns_value(step)
    if isinstance(read, Imputation):
        return document | {"statistics": read.value.tolist()}
    return document | {
        key: numbers_value(getattr(step, f"{key}_"), null, f"{key}_ of {name!r}")
        for key, null in STATE[type(step)].items()
    }


def read_transformer(document: Document, where: str) -> BaseEstimator:
    """Return the fitted step, one before the last, that a document describes."""
    class_name(document, [cls.__name__ for cls in READ], where)
    step = new_estimator(document, where)
    features = read_columns(step, document, where)
    if isinstance(step, TableVectorizer):
        read_vectorizer(step, document, features, where)
    else:
        with invalid_parameters(where):
            of_zeros = clone(step).fit(np.zeros((1, len(features))))
        step.__dict__ = vars(of_zeros) | vars(step)  # private attributes, too
        for key, null in STATE[type(step)].items():
            value: Any = getattr(step, f"{key}_")
            if value is None:  # with these parameters
                continue
            if np.ndim(value) == 0 and not isinstance(document.get(key), list):
                value = member(document, key, float, where)
            else:
                value = read_numbers(document, key, len(features), null, where)
            setattr(step, f"{key}_", value)
    with errors_in(where):
        read_step(document["name"], step)
    return step


def vectorizer_value(step: TableVectorizer) -> Document:
    """Return what a TableVectorizer has learned."""
    known = step._categories
    features = [Feature(name) for name in column_names(step)]
    for table, is_text, text in zip(
        step._tables, known.is_text.tolist(), known.text, strict=True
    ):
        categories = text if is_text else table.categories
        name = features[table.feature].name
        features[table.feature] = Feature(name, tuple(categories.tolist()), is_text)
    scaler = step.scaler_
    return {
        **columns_value(step, features),
        **{
            key: np.flatnonzero(step.kinds_ == kind).tolist()
            for key, kind in IN_DAYS.items()
        },
        "center": [] if scaler is None else scaler.center_.tolist(),
        "scale": [] if scaler is None else numbers_value(scaler.scale_, INF, "scale_"),
        "rms": [] if scaler is None else scaler.rms_.tolist(),
        "indicated": step._numbers[step._indicated].tolist(),
        "tables": [
            {"encoding": step.kinds_[table.feature], "rows": table.numbers.tolist()}
            for table in step._tables
        ],
    }


def read_vectorizer(
    step: TableVectorizer, document: Document, features: Sequence[Feature], where: str
) -> None:
    """Set what a TableVectorizer has learned."""
    step._categories = feature_categories(features)
    categorical = step._categories.feature.tolist()
    step._numbers = np.setdiff1d(np.arange(len(features)), categorical)
    n_numbers = len(step._numbers)
    scaler = SmoothClipScaler()
    scaler.n_features_in_ = n_numbers
    scaler.center_ = read_numbers(document, "center", n_numbers, None, where)
    scaler.scale_ = read_numbers(document, "scale", n_numbers, INF, where)
    scaler.rms_ = read_numbers(document, "rms", n_numbers, INF, where)
    step.scaler_ = scaler if n_numbers > 0 else None
    indicated = read_choice(document, "indicated", step._numbers, where)
    step._indicated = np.searchsorted(step._numbers, indicated)
    step.kinds_ = np.full(len(features), "number", dtype=object)
    for key, kind in IN_DAYS.items():
        step.kinds_[read_choice(document, key, step._numbers, where)] = kind
    tables = objects(document, "tables", where)
    if len(tables) != len(categorical):
        raise ValueError(
            f"{place(where, 'tables')} must be {len(categorical)}, one for each such "
            "column"
        )
    step._tables = []
    for j, (own, table) in zip(categorical, tables, strict=True):
        encoding, known = member(table, "encoding", str, own), features[j].categories
        n = len(known or ())
        if encoding not in ("one-hot", "target"):
            raise ValueError(f"{own}.encoding must be 'one-hot' or 'target'")
        is_one_hot = encoding == "one-hot"
        rows = read_rows(table, "rows", n + 1, [n, n + 1] if is_one_hot else [1], own)
        values = np.arange(n) if features[j].is_text else known
        categories = np.array(values, dtype=np.float64)
        step._tables.append(CategoryTable(j, categories, rows, is_one_hot))
        step.kinds_[j] = encoding


def read_choice(
    document: Document, key: str, known: NDArray[np.intp], where: str
) -> NDArray[np.intp]:
    """Return some of the known columns, which must ascend."""
    chosen = array(document, key, np.intp, where)
    if not np.isin(chosen, known).all() or not (np.diff(chosen) > 0).all():
        raise ValueError(
            f"{place(where, key)} must be indices of columns of numbers, ascending"
        )
    return chosen
