"""Files of data and of models."""

from __future__ import annotations

import argparse
import pickle
import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from sklearn_ltr import export
from sklearn_ltr._commands.arguments import whole_number
from sklearn_ltr._core.data.features import NamedArray, has_names
from sklearn_ltr.datasets import load_letor

WRITERS: dict[str, Callable[..., Any]] = {  # text, bytes, requests, or ONNX
    "json": export.to_json,
    "pickle": pickle.dumps,
    "lightgbm": export.to_lightgbm,
    "xgboost": export.to_xgboost,
    "xgboost-dump": export.to_xgboost_dump,
    "catboost": export.to_catboost,
    "onnx": export.to_onnx,
    "ranklib": export.to_ranklib,
    "vespa": export.to_vespa,
    "elasticsearch": export.to_elasticsearch_ltr,
    "elasticsearch-ml": export.to_elasticsearch_ml,
    "solr": export.to_solr,
}
READERS: dict[str, Callable[[bytes], BaseEstimator]] = {
    "json": export.from_json,
    "pickle": pickle.loads,
    "lightgbm": export.from_lightgbm,
    "xgboost": export.from_xgboost,
    "catboost": export.from_catboost,
    "ranklib": export.from_ranklib,
}
ZERO_BASED: dict[str, Any] = {"no": False, "yes": True, "auto": "auto"}
#: by the end of their names
MODEL_FORMATS = {".json": "json", ".pkl": "pickle", ".pickle": "pickle"}
#: what messages of the reader call the options in Python
OPTIONS = {
    "zero_based=True": "--zero-based yes",
    "n_features=": "--n-features ",
    "give its path by sizes=": "give the end of its name, as in --sizes .query",
    "sizes= out": "--sizes out",
    "sizes: ": "--sizes: ",
    "give a frame of them to join_run": "write them as qrels, 'topic 0 document grade'",
}
OF_FEATURES = "--n-features, --zero-based and --sizes"
A_MODEL = "a model: .json, or .pkl (loading it executes it: only files you trust)"


def add_features(parser: argparse.ArgumentParser) -> None:
    """Add the options of the features of LETOR files."""
    parser.add_argument(
        "--n-features",
        type=whole_number(1),
        metavar="N",
        help="number of features; by default the highest in the files, or the model's",
    )
    parser.add_argument(
        "--zero-based",
        choices=ZERO_BASED,
        default="no",
        help="whether features are numbered from 0 (default no: from 1); auto: if the "
        "number 0 occurs",
    )
    parser.add_argument(
        "--sizes",
        metavar="SUFFIX",
        help="lines have no qid: the sizes of the queries of FILE are in FILE and "
        "SUFFIX, such as .query of LightGBM or .group of XGBoost",
    )


def has_features(given: argparse.Namespace) -> bool:
    """Whether an option of the features of LETOR files is given."""
    return bool(given.n_features or given.sizes) or given.zero_based != "no"


def load_alike(paths: Sequence[str], given: argparse.Namespace) -> list[Bunch]:
    """Read LETOR files that have the same features; those that none lists are 0."""
    read = [load_file(path, given) for path in paths]
    if given.sizes is not None:  # queries are numbered in each file
        n_queries = np.cumsum([0] + [data.groups[-1] + 1 for data in read])
        for data, first in zip(read, n_queries[:-1], strict=True):
            data.groups += first
    if given.zero_based == "auto":
        if any(data.zero_based for data in read):
            n_features = given.n_features
            for path, data in zip(paths, read, strict=True):
                if data.zero_based:
                    continue
                data.data, data.zero_based = np.pad(data.data, ((0, 0), (1, 0))), True
                if n_features is not None:
                    if data.data[:, n_features:].any():
                        raise ValueError(
                            f"{path}: feature {n_features} is beyond --n-features "
                            f"{n_features}, counted from 0, as in another file: raise "
                            "it"
                        )
                    data.data = data.data[:, :n_features]
        else:
            print(
                f"{', '.join(paths)}: the features are taken to be numbered from 1, "
                "since none has number 0; if they are numbered from 0, give "
                "--zero-based yes",
                file=sys.stderr,
            )
    named = [(path, names_in(data)) for path, data in zip(paths, read, strict=True)]
    first, names = next(filter(itemgetter(1), named), ("", []))
    most = max(data.data.shape[1] for data in read)
    for path, own in named:
        check_names(path, own or names, first, names)
    if names and len(names) < most:
        raise ValueError(f"{first} names {len(names)} features, but a file has {most}")
    for data in read:
        missing = most - data.data.shape[1]
        data.data = np.pad(data.data, ((0, 0), (0, missing))) if missing else data.data
        data.data = NamedArray.of(data.data, names) if names else data.data
    return read


def names_in(data: Bunch) -> list[str]:
    """Return the names of features of a file; none if it does not name them."""
    return data.data.feature_names.tolist() if has_names(data.data) else []


def check_names(path: str, names: list[str], source: str, expected: list[str]) -> None:
    """Raise a ValueError unless a file names its features as another, or a model."""
    for number, pair in enumerate(zip_longest(names, expected), start=1):
        if pair[0] != pair[1]:
            raise ValueError(
                f"feature {number} is {pair[0]!r} in {path} and {pair[1]!r} in "
                f"{source}: write the file again by read --model"
            )


def join_files(paths: Sequence[str], read: Sequence[Bunch]) -> Bunch:
    """Return the rows of all files; a ValueError if two of them have a query."""
    if len(read) == 1:
        return read[0]
    has_text = any(data.groups.dtype.kind == "U" for data in read)  # "007" is not "7"
    groups = [data.groups.astype(str) if has_text else data.groups for data in read]
    file_of: dict[str | int, str] = {}
    for path, column in zip(paths, groups, strict=True):
        for query in np.unique(column).tolist():
            if query in file_of:
                raise ValueError(
                    f"query {query} is in {file_of[query]} and in {path}: if its lines "
                    "belong together, put them into one file; if these are two "
                    "queries, give them different ids"
                )
        file_of |= dict.fromkeys(np.unique(column).tolist(), path)
    table, names = np.concatenate([data.data for data in read]), names_in(read[0])
    return Bunch(
        data=NamedArray.of(table, names) if names else table,
        target=np.concatenate([data.target for data in read]),
        groups=np.concatenate(groups),
    )


def load_file(path: str, given: argparse.Namespace) -> Bunch:
    """Read a LETOR file by the options; messages name these, not Python's arguments."""
    with warnings.catch_warnings():
        if given.zero_based == "auto":  # `load_alike` says what it took
            warnings.simplefilter("ignore", UserWarning)
        try:
            return load_letor(
                path,
                n_features=given.n_features,
                zero_based=ZERO_BASED[given.zero_based],
                sizes=None if given.sizes is None else path + given.sizes,
            )
        except ValueError as error:
            message = str(error)
            for argument, option in OPTIONS.items():
                message = message.replace(argument, option)
            raise ValueError(message) from error


def load_for(
    model_path: str, path: str, given: argparse.Namespace
) -> tuple[BaseEstimator, Bunch]:
    """Read a model, and its features of a LETOR file; further ones are left out."""
    model = load_model(model_path)
    if not hasattr(model, "n_features_in_"):
        raise ValueError(
            f"{model_path} holds a {type(model).__name__} that is not fitted: fit it"
        )
    n_features = model.n_features_in_
    if given.n_features not in (None, n_features):
        raise ValueError(
            f"--n-features {given.n_features}: the model {model_path} has {n_features}"
        )
    (data,) = load_alike([path], given)
    further = data.data.shape[1] - n_features
    if further > 0:
        first = n_features + (0 if data.zero_based else 1)
        print(
            f"{path}: features {first} to {first + further - 1} are left out, since "
            "the model does not know them",
            file=sys.stderr,
        )
    table = np.pad(data.data, ((0, 0), (0, max(0, -further))))[:, :n_features]
    if (names := getattr(model, "feature_names_in_", None)) is not None:
        own = names_in(data)[:n_features] or names.tolist()
        check_names(path, own, model_path, names.tolist())
        table = NamedArray.of(table, names)
    data.data = table
    return model, data


def is_model_file(path: str) -> bool:
    """Whether a file is named as a model of this package."""
    return Path(path).suffix in MODEL_FORMATS


def format_of(path: str) -> str:
    """Return the format of a model of this package by the name of its file."""
    if not is_model_file(path):
        raise ValueError(f"{path}: name the file of a model *.json or *.pkl")
    return MODEL_FORMATS[Path(path).suffix]


def load_model(path: str, kind: str | None = None) -> BaseEstimator:
    """Read a model; an error names its file."""
    kind = kind or format_of(path)
    content = Path(path).read_bytes()
    try:
        model = READERS[kind](content)
    except Exception as error:
        raise ValueError(f"{path} cannot be read as {kind}: {error}") from error
    if not hasattr(model, "predict"):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which is not a model: give one"
        )
    return model


def write_file(path: str, content: str | bytes) -> None:
    """Write text or bytes."""
    if isinstance(content, str):
        content = content.encode()
    Path(path).write_bytes(content)
