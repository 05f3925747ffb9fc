"""Networks, Pipelines, bags and blends as JSON.

A model within a model is an object of its own kind, so they nest.  Readers get the
place of their object, for messages.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.ensemble._bagging import BaggingParameters
from sklearn_ltr.ensemble._blended_ranker import BlendingParameters
from sklearn_ltr.export._document import (
    array,
    checked,
    items,
    items_of,
    member,
    objects,
    place,
)
from sklearn_ltr.export._estimators import (
    ESTIMATORS,
    BoostedTrees,
    feature_categories,
)
from sklearn_ltr.export._json_parameters import (
    CLASSES,
    class_name,
    estimator_value,
    invalid_parameters,
    new_estimator,
)
from sklearn_ltr.export._json_trees import (
    feature_value,
    read_feature,
    read_trees,
    trees_value,
)
from sklearn_ltr.export._networks import NETWORKS, dense_layers, layers_of
from sklearn_ltr.export._pipelines import (
    READ,
    Imputation,
    active_steps,
    column_names,
    read_step,
)
from sklearn_ltr.export._tree_model import Feature, check_feature, errors_in
from sklearn_ltr.preprocessing import SmoothClipScaler, TableVectorizer
from sklearn_ltr.preprocessing._table_vectorizer import CategoryTable

NetworkRanker: TypeAlias = LambdaRankRanker | RankNetRanker
Model: TypeAlias = (
    BoostedTrees | NetworkRanker | BaggingRanker | BlendedRanker | Pipeline
)
Document: TypeAlias = dict[str, Any]

LARGEST_SINGLE = float(np.finfo(np.float32).max)
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
    """Return a fitted model."""
    kind = type(model)
    if kind in NETWORKS:
        fitted = model._fitted()
        layers = layers_of(fitted)
        return {
            **estimator_value(fitted),
            **columns_value(fitted),
            "sigma": float(fitted._sigma),
            "n_iter": fitted.n_iter_,
            "activation": layers.activation,
            "layers": dense_layers(layers),
        }
    if kind is BaggingRanker:
        fitted = model._fitted()
        members = zip(fitted.estimators_, fitted.estimators_queries_, strict=True)
        return estimator_value(fitted) | {
            "estimators": [
                {"queries": drawn.tolist(), **model_value(member)}
                for member, drawn in members
            ]
        }
    if kind is BlendedRanker:
        fitted = model._fitted()
        return estimator_value(fitted) | {
            "weights": fitted.weights_.tolist(),
            "blend_score": fitted.blend_score_,
            "rankers": [model_value(member) for member in fitted.rankers_],
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
    """Return the fitted model that is at a place of the document."""
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
    """Set what a fit sets; the training cannot be continued."""
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


# --- columns and numbers --------------------------------------------------------------


def columns_value(
    fitted: BaseEstimator, features: Sequence[Feature] | None = None
) -> Document:
    """Return the columns of a fit: `features`, or numbers."""
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
    """Return a number or a list, with null for the number that JSON lacks; or None."""
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
    """Return a list of n numbers; null in it, if it may be there, is `null`."""
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
    """Return n rows of numbers, all of one of the lengths."""
    at = place(where, key)
    rows = items_of(document, key, list, where)
    found = [items(row, float, f"{at}[{i}]") for i, row in enumerate(rows)]
    if not len(found) == n > 0 or {*map(len, found)} not in [{m} for m in lengths]:
        wanted = " or ".join(map(str, lengths))
        raise ValueError(f"{at} must hold {n} rows of {wanted} numbers each")
    return np.array(found, dtype=np.float64)


# --- Pipelines ------------------------------------------------------------------------


def read_pipeline(document: Document, where: str) -> Pipeline:
    """Return a Pipeline."""
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
    """Return a step before the last."""
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
    """Return a step before the last."""
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
    """Return some of the known columns, ascending."""
    chosen = array(document, key, np.intp, where)
    if not np.isin(chosen, known).all() or not (np.diff(chosen) > 0).all():
        raise ValueError(
            f"{place(where, key)} must be indices of columns of numbers, ascending"
        )
    return chosen
