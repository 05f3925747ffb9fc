"""Parameters of estimators as JSON values, and back.

A metric object is ``{"metric": its class, "parameters": {...}}``, and a dict, whose
keys may be numbers, is ``{"mapping": [[key, value], ...]}``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import fields
from typing import Any

import numpy as np

import sklearn_ltr.metrics
from sklearn_ltr.export._document import checked, items, member
from sklearn_ltr.metrics import Metric

METRICS: dict[str, Any] = {
    name: cls
    for name in sklearn_ltr.metrics.__all__
    if isinstance(cls := getattr(sklearn_ltr.metrics, name), type) and cls is not Metric
}
DEEPEST = 4  # of lists in lists


def to_value(value: Any, name: str) -> Any:
    """Return a parameter as a JSON value.

    Raises
    ------
    ValueError
        For an object that JSON cannot hold.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Metric) and METRICS.get(type(value).__name__) is type(value):
        options = {f.name: getattr(value, f.name) for f in fields(value)}
        return {
            "metric": type(value).__name__,
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
        f"change it by set_params({name}=...) before"
    )


def from_value(value: Any, where: str, depth: int = 0) -> Any:
    """Return the parameter that a JSON value stands for."""
    if depth > DEEPEST:
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
    if name not in METRICS:
        raise ValueError(f"{where}.metric must be one of {sorted(METRICS)}")
    options = {
        key: from_value(item, f"{where}.{key}", depth + 1)
        for key, item in given.items()
    }
    try:
        metric: Metric = METRICS[name](**options)
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
