"""Parameters as JSON.

A metric object is ``{"metric": its class, "parameters": {...}}``, an estimator, not
fitted, ``{"estimator": its class, "parameters": {...}}``, and a dict, whose keys may be
numbers, ``{"mapping": [[key, value], ...]}``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import fields
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

import sklearn_ltr.metrics
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.export._document import checked, items, member, place
from sklearn_ltr.export._estimators import ESTIMATORS
from sklearn_ltr.export._networks import NETWORKS
from sklearn_ltr.export._pipelines import READ, active_steps
from sklearn_ltr.metrics import Metric

DEEPEST_LIST = 4  # of lists in lists
METRIC_CLASSES: dict[str, type[Metric]] = {
    name: cls
    for name in sklearn_ltr.metrics.__all__
    if isinstance(cls := getattr(sklearn_ltr.metrics, name), type) and cls is not Metric
}
CLASSES: dict[str, type[BaseEstimator]] = {
    cls.__name__: cls
    for cls in (
        *ESTIMATORS.values(), *NETWORKS, *READ, Pipeline, BaggingRanker, BlendedRanker
    )
}  # fmt: skip


def estimator_value(estimator: BaseEstimator, name: str = "") -> dict[str, Any]:
    """Return the class and the parameters of an estimator."""
    given = estimator.get_params(deep=False)
    if isinstance(estimator, Pipeline):
        given["steps"] = active_steps(estimator)
    missing = given.get("missing_values")
    if isinstance(missing, float) and math.isnan(missing):
        del given["missing_values"]  # of a SimpleImputer, its default
    parameters = {n: to_value(value, place(name, n)) for n, value in given.items()}
    return {"estimator": type(estimator).__name__, "parameters": parameters}


def class_name(document: object, known: Iterable[str], where: str) -> str:
    """Return the name of the class of an estimator, one of those known."""
    name, names = member(document, "estimator", str, where), [*known]
    if name not in names:
        path = place(where, "estimator")
        raise ValueError(f"{path} must be one of {', '.join(names)}, got {name!r}")
    return name


def new_estimator(document: object, where: str, **given: object) -> Any:
    """Return an estimator of the parameters in a document, and of those given."""
    cls = CLASSES[class_name(document, CLASSES, where)]
    taken = signature(cls).parameters
    parameters, at = {}, place(where, "parameters")
    for n, value in member(document, "parameters", dict, where).items():
        read = from_value(value, f"{at}.{n}")
        # JSON has no tuples, which scikit-learn demands
        is_tuple = n in taken and isinstance(taken[n].default, tuple)
        parameters[n] = tuple(read) if is_tuple and isinstance(read, list) else read
    steps = parameters.get("steps", [])
    if not isinstance(steps, list) or not all(isinstance(s, tuple) for s in steps):
        raise ValueError(f"{at}.steps must be pairs of a name and an estimator")
    with invalid_parameters(where):
        return cls(**parameters, **given)


@contextmanager
def invalid_parameters(where: str) -> Iterator[None]:
    """Raise errors as ValueErrors that say which parameters they are about."""
    try:
        yield
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        raise ValueError(f"{place(where, 'parameters')}: {error}") from None


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
    if CLASSES.get(kind.__name__) is kind:
        return estimator_value(value, name)
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
        found = [
            from_value(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)
        ]
        has_name = len(found) == 2 and isinstance(found[1], BaseEstimator)
        return tuple(found) if has_name and isinstance(found[0], str) else found
    if isinstance(value, float):
        return checked(value, float, where)
    if not isinstance(value, dict):
        return value
    if value.keys() == {"estimator", "parameters"}:
        return new_estimator(value, where)
    if value.keys() == {"metric", "parameters"}:
        name = member(value, "metric", str, where)
        given = member(value, "parameters", dict, where)
        if name not in METRIC_CLASSES:
            raise ValueError(f"{where}.metric must be one of {sorted(METRIC_CLASSES)}")
        options = {
            key: from_value(item, f"{where}.{key}", depth + 1)
            for key, item in given.items()
        }
        try:
            return METRIC_CLASSES[name](**options)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{where}: {error}") from None
    if value.keys() == {"mapping"}:
        mapping = {}
        for pair in items(value["mapping"], list, where):
            if len(pair) != 2 or isinstance(pair[0], list | dict):
                raise ValueError(f"{where} must hold pairs of a key and a value")
            mapping[pair[0]] = from_value(pair[1], where, depth + 1)
        return mapping
    raise ValueError(f"{where} is an object of unknown keys {sorted(value)[:4]}")
