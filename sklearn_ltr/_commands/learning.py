"""Train a ranker, and rank documents by it."""

from __future__ import annotations

import argparse
import ast
import sys
import warnings
from pathlib import Path

from sklearn.base import BaseEstimator

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._commands.files import (
    WRITERS,
    format_of,
    load_alike,
    load_for,
    load_model,
    write_file,
)
from sklearn_ltr.datasets import dump_run
from sklearn_ltr.mart import MARTRegressor

RANKERS: dict[str, type[BaseEstimator]] = {
    "lambdamart": LambdaMARTRanker,
    "lambdarank": LambdaRankRanker,
    "ranknet": RankNetRanker,
    "mart": MARTRegressor,
}


def run_train(given: argparse.Namespace) -> None:
    """Train a ranker, print its progress, and write it."""
    if len(given.files) != 1:
        found = ", ".join(given.files) or "none"
        given.refuse(given, f"give one LETOR file to train on, got {found}")
    kind = format_of(given.model)
    folder = Path(given.model).parent
    if not folder.is_dir():
        raise ValueError(f"{given.model}: there is no folder {str(folder)!r}")
    if kind == "json" and given.ranker in ("lambdarank", "ranknet"):
        raise ValueError(f"{given.model}: JSON holds trees; name a network *.pkl")
    parameters: dict[str, object] = {"random_state": given.seed}
    parameters["verbose"] = 0 if given.quiet else 1
    if given.metric is not None:
        parameters["metric"] = given.metric
    parameters.update(map(parameter, given.set or []))
    ranker = RANKERS[given.ranker](**parameters)
    files = given.files if given.valid is None else [*given.files, given.valid]
    train, *valid = load_alike(files, given)
    is_regressor = given.ranker == "mart"
    arguments = {} if is_regressor else {"groups": train.groups}
    for held in valid:
        arguments |= {"X_val": held.data, "y_val": held.target}
        arguments |= {} if is_regressor else {"groups_val": held.groups}
    with warnings.catch_warnings(record=True) as caught:
        ranker.fit(train.data, train.target, **arguments)
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        print(f"python -m sklearn_ltr train: warning: {message}", file=sys.stderr)
    write_file(given.model, WRITERS[kind](ranker))
    if not given.quiet:
        print(f"wrote {given.model}")


def run_rank(given: argparse.Namespace) -> None:
    """Write the run of a model on a LETOR file."""
    model = load_model(given.model)
    data = load_for(model, given.data, given)
    scores = model.predict(data.data)
    names = {"groups": data.groups, "documents": data.documents}
    dump_run(given.to, scores, **names, tag=given.tag)


def parameter(text: str) -> tuple[str, object]:
    """Return name and value of ``name=value``; a value that is no literal is text."""
    name, found, value = text.partition("=")
    if not found:
        raise ValueError(f"--set {text}: give NAME=VALUE, such as n_estimators=500")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
