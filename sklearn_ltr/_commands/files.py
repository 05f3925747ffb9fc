"""Files of data and of models."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from sklearn_ltr import export
from sklearn_ltr.datasets import load_letor

WRITERS: dict[str, Callable[..., str | bytes]] = {
    "json": export.to_json,
    "pickle": pickle.dumps,
    "lightgbm": export.to_lightgbm,
    "xgboost": export.to_xgboost,
    "xgboost-dump": export.to_xgboost_dump,
    "onnx": lambda model: export.to_onnx(model).SerializeToString(),
    "ranklib": export.to_ranklib,
    "vespa": export.to_vespa,
}
READERS: dict[str, Callable[[bytes], BaseEstimator]] = {
    "json": export.from_json,
    "pickle": pickle.loads,
    "lightgbm": export.from_lightgbm,
    "xgboost": export.from_xgboost,
    "catboost": export.from_catboost,
    "ranklib": export.from_ranklib,
}
MISSING = ("branch", "zero")  # what writers of some formats take


def load_alike(paths: list[str]) -> list[Bunch]:
    """Read LETOR files that have the same features; those that none lists are 0."""
    read = [load_letor(path) for path in paths]
    most = max(data.data.shape[1] for data in read)
    for data in read:
        missing = most - data.data.shape[1]
        data.data = np.pad(data.data, ((0, 0), (0, missing))) if missing else data.data
    return read


def load_for(model: BaseEstimator, path: str) -> Bunch:
    """Read a LETOR file with the features of a model; further ones are left out."""
    data, n_features = load_letor(path), model.n_features_in_
    further = data.data.shape[1] - n_features
    if further > 0:
        print(
            f"{path}: features {n_features + 1} to {n_features + further} are left "
            "out, which the model does not know",
            file=sys.stderr,
        )
    data.data = np.pad(data.data, ((0, 0), (0, max(0, -further))))[:, :n_features]
    return data


def format_of(path: str) -> str:
    """Return the format of a model of this package by the name of its file."""
    formats = {".json": "json", ".pkl": "pickle", ".pickle": "pickle"}
    if Path(path).suffix not in formats:
        raise ValueError(f"{path}: a model's file is named *.json or *.pkl")
    return formats[Path(path).suffix]


def load_model(path: str, kind: str | None = None) -> BaseEstimator:
    """Read a model; an error names its file."""
    kind = kind or format_of(path)
    content = Path(path).read_bytes()
    try:
        model = READERS[kind](content)
    except Exception as error:
        raise ValueError(f"{path} cannot be read as {kind}: {error}") from error
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} holds a {type(model).__name__}, which is no model")
    return model


def write_file(path: str, content: str | bytes) -> None:
    """Write text or bytes."""
    if isinstance(content, str):
        content = content.encode()
    Path(path).write_bytes(content)
