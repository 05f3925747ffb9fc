"""The command train: fit a ranker to files, or cross-validate it."""

from __future__ import annotations

import argparse
import ast
import sys
import warnings
from inspect import signature
from pathlib import Path

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.utils import Bunch

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._commands.arguments import (
    Commands,
    ListBeforeFiles,
    add_files,
    add_seed,
    refusal,
    whole_number,
)
from sklearn_ltr._commands.files import (
    WRITERS,
    add_features,
    format_of,
    join_files,
    load_alike,
    write_file,
)
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import get_metric
from sklearn_ltr.scorers import make_ranking_scorer

RANKERS: dict[str, type[BaseEstimator]] = {
    "lambdamart": LambdaMARTRanker,
    "lambdarank": LambdaRankRanker,
    "ranknet": RankNetRanker,
    "mart": MARTRegressor,
}


def add_train(commands: Commands) -> None:
    """Add the command, with its arguments, to the parser."""
    parser = commands.add_parser(
        "train",
        help="train a ranker on LETOR files",
        epilog="example: python -m sklearn_ltr train train.txt --valid vali.txt "
        "--model model.json --set n_estimators=500 learning_rate=0.05",
    )
    add_files(parser, "LETOR files, plain, .gz or .bz2; their rows are joined")
    parser.add_argument("--model", help="file to write: .json or .pkl")
    parser.add_argument("--valid", help="LETOR file for early stopping")
    parser.add_argument(
        "--folds",
        "-kcv",
        type=whole_number(2),
        metavar="K",
        help="cross-validate by K folds of whole queries; --model learns from all",
    )
    parser.add_argument("--ranker", choices=RANKERS, default="lambdamart")
    parser.add_argument(
        "--metric", help="metric to train for, and to report by --folds"
    )
    add_seed(parser)
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    parameters = parser.add_argument(
        "--set",
        action=ListBeforeFiles,
        is_value=lambda word: "=" in word,
        metavar="NAME=VALUE",
        help="parameters of the ranker, by their names in Python",
    )
    add_features(parser)
    parser.set_defaults(run=run_train, refuse=refusal(parser, parameters))


def run_train(given: argparse.Namespace) -> None:
    """Train a ranker, print its progress, and write it; or cross-validate it."""
    if not given.files:
        given.refuse(given, "give the LETOR files to train on, got none")
    if given.model is None and given.folds is None:
        given.refuse(given, "give --model FILE to write, or --folds K")
    if given.valid is not None and given.folds is not None:
        given.refuse(
            given,
            "--valid is for one model: with --folds, hold out queries of each fold by "
            "--set early_stopping=True",
        )
    learns_by_metric = "metric" in signature(RANKERS[given.ranker]).parameters
    if given.metric and given.folds is None and not learns_by_metric:
        given.refuse(
            given,
            f"--metric has no effect on {given.ranker}, which does not learn by one: "
            "leave it out, or give --folds",
        )
    if given.model is not None:
        folder = Path(given.model).parent
        format_of(given.model)  # raises an error for other endings
        if not folder.is_dir():
            raise ValueError(
                f"{given.model}: there is no folder {str(folder)!r}; make it"
            )

    parameters: dict[str, object] = {"random_state": given.seed}
    parameters["verbose"] = 0 if given.quiet else 1
    if given.metric is not None and learns_by_metric:
        parameters["metric"] = given.metric
    parameters.update(map(parameter, given.set or []))
    ranker = RANKERS[given.ranker](**parameters)
    held_files = [] if given.valid is None else [given.valid]
    read = load_alike([*given.files, *held_files], given)
    n_files = len(given.files)
    train, valid = join_files(given.files, read[:n_files]), read[n_files:]
    is_regressor = given.ranker == "mart"
    with warnings.catch_warnings(record=True) as caught:
        if given.folds is not None:
            cross_validate_ranker(ranker, train, given)
        if given.model is not None:
            arguments = {} if is_regressor else {"groups": train.groups}
            for held in valid:
                arguments |= {"X_val": held.data, "y_val": held.target}
                arguments |= {} if is_regressor else {"groups_val": held.groups}
            ranker.fit(train.data, train.target, **arguments)
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        print(f"python -m sklearn_ltr train: warning: {message}", file=sys.stderr)
    if given.model is not None:
        write_file(given.model, WRITERS[format_of(given.model)](ranker))
        if not given.quiet:
            print(f"wrote {given.model}")


def cross_validate_ranker(
    ranker: BaseEstimator, data: Bunch, given: argparse.Namespace
) -> None:
    """Print the metric of each fold of whole queries, its mean and its deviation."""
    n_queries = len(np.unique(data.groups))
    if given.folds > n_queries:
        raise ValueError(
            f"--folds {given.folds}: the files have {n_queries} queries; give fewer"
        )
    own = ranker.get_params().get("metric")
    metric = get_metric(given.metric or own or "ndcg@10")
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            clone(ranker).set_params(verbose=0),
            data.data,
            data.target,
            params={"groups": data.groups},
            cv=GroupKFold(given.folds),
            scoring=make_ranking_scorer(metric),
            error_score="raise",
        )["test_score"]
    for fold, value in enumerate(found, start=1):
        print(f"{metric.name:<22}\tfold_{fold}\t{value:.4f}")
    print(f"{metric.name:<22}\tmean\t{found.mean():.4f}")
    print(f"{metric.name:<22}\tstd\t{found.std():.4f}", flush=True)


def parameter(text: str) -> tuple[str, object]:
    """Return the name and the value of ``name=value``; other than literals are text."""
    name, found, value = text.partition("=")
    if not found:
        raise ValueError(f"--set {text}: give NAME=VALUE, such as n_estimators=500")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
