"""The command read: files of search engines become what other commands take."""

from __future__ import annotations

import argparse
import csv
import re
import sys
import warnings
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from sklearn_ltr._commands.arguments import Commands, option
from sklearn_ltr._commands.files import A_MODEL, load_model
from sklearn_ltr.datasets import (
    join_features,
    load_feature_log,
    load_judgments,
    load_ubi,
)
from sklearn_ltr.datasets._letor import WHOLE
from sklearn_ltr.datasets._trec import WHITE_SPACE, Qrels, qrels_lines, write_lines

#: topics that qrels can have
TOPIC = re.compile(r"[^ \t\n\r\f\v#][^ \t\n\r\f\v]*")
#: options, and what they need
NEED = {
    "judgements": ("query", "document", "grade", "grades"),
    "--features": ("log", "id_field", "model"),
    "--ubi": ("actions", "impressions"),
}


def add_read(commands: Commands) -> None:
    """Add the command, with its arguments, to the parser."""
    parser = commands.add_parser(
        "read",
        help="read judgements, logged features and events of search engines",
        epilog="The output is a file of qrels; with --features a LETOR file; with "
        "--ubi a CSV file of clicks.  Queries that qrels or LETOR cannot name are "
        "numbered, and comments list them.",
    )
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="input",
        help="judgements: JSON, CSV or qrels; with --ubi queries and events",
    )
    parser.add_argument("output", help="file to write")
    columns = "the column of the grade; of several, one for each judge, the mean"
    parser.add_argument("--query", help="the column of the query")
    parser.add_argument("--document", help="the column of the document")
    parser.add_argument("--grade", nargs="+", help=columns)
    parser.add_argument(
        "--grades",
        nargs="+",
        metavar="LABEL=GRADE",
        type=lambda word: word.rpartition("=")[::2],
        help="grades of labels that are no numbers, such as Exact=3 Partial=1",
    )
    parser.add_argument(
        "--features", metavar="FILE", help="responses with logged features, by query"
    )
    parser.add_argument("--log", help="name of the log, if hits have several")
    parser.add_argument("--id-field", help="field of a hit that names the document")
    parser.add_argument("--model", help=f"write the features of {A_MODEL}")
    parser.add_argument(
        "--ubi", action="store_true", help="the inputs are queries and events of UBI"
    )
    parser.add_argument("--actions", nargs="+", help="events of UBI that are clicks")
    parser.add_argument("--impressions", nargs="+", help="those that show an object")
    parser.set_defaults(run=run_read)


def run_read(given: argparse.Namespace) -> None:
    """Read files of search engines, and write what other commands take."""
    is_letor = given.features is not None
    has = {"judgements": not given.ubi, "--features": is_letor, "--ubi": given.ubi}
    for needed, names in NEED.items():
        if not has[needed] and any(getattr(given, name) is not None for name in names):
            *first, last = map(option, names)
            raise ValueError(f"{', '.join(first)} and {last} need {needed}")
    if given.ubi and is_letor:
        raise ValueError("--ubi writes clicks without features: leave --features out")
    if len(given.inputs) > (2 if given.ubi else 1):
        raise ValueError(f"too many inputs: {' '.join(given.inputs)}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            if given.ubi:
                written = write_clicks(given)
            elif is_letor:
                written = write_letor(given)
            else:
                judged, number, comments = read_judgements(given, TOPIC.fullmatch)
                queries = [number[query] for query in judged.groups.tolist()]
                lines = qrels_lines(judged.grades, queries, judged.documents)
                write_lines(given.output, chain(comments, lines))
                written = f"{len(queries)} judgements of {len(number)} queries"
        except ValueError as error:
            in_python = r"load_judgments\(\.\.\., (\w+)=\.\.\.\)"
            raise ValueError(re.sub(in_python, r"--\1", str(error))) from error
    for warning in caught:
        print(warning.message, file=sys.stderr)
    print(f"wrote {given.output}: {written}", file=sys.stderr)  # it may be a pipe


def options_of(given: argparse.Namespace, needed: str) -> dict[str, Any]:
    """Return the options of a kind that are given."""
    options = {name: getattr(given, name) for name in NEED[needed]}
    return {name: value for name, value in options.items() if value is not None}


def read_judgements(
    given: argparse.Namespace, can_name: Callable[[str], Any]
) -> tuple[Qrels, dict[str, str], list[str]]:
    """Return judgements, names of queries that a file can have, and comments."""
    options = options_of(given, "judgements")
    if "grades" in options:
        options["grades"] = dict(options["grades"])
    judged = load_judgments(given.inputs[0], **options)
    queries = dict.fromkeys(judged.groups.tolist())
    if all(map(can_name, queries)):
        return judged, {query: query for query in queries}, []
    number = {query: str(i) for i, query in enumerate(queries, start=1)}
    comments = [f"# query {i} = {' '.join(q.split())}" for q, i in number.items()]
    return judged, number, comments


def write_clicks(given: argparse.Namespace) -> str:
    """Write a row for each shown document; return what was written."""
    log = load_ubi(*given.inputs, **options_of(given, "--ubi"))
    with open(given.output, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(log)
        rows.writerows(zip(*(column.tolist() for column in log.values()), strict=True))
    n_lists = len(set(log.sessions.tolist()))
    return f"{len(log.clicks)} shown documents of {n_lists} lists"


def write_letor(given: argparse.Namespace) -> str:
    """Write judgements with their features; return what was written."""
    names = None
    if given.model is not None:
        names = getattr(load_model(given.model), "feature_names_in_", None)
        if names is None:
            raise ValueError(
                f"{given.model} has no names of features: leave --model out"
            )
    log = load_feature_log(
        given.features, feature_names=names, log=given.log, id_field=given.id_field
    )
    judged, number, comments = read_judgements(given, WHOLE.fullmatch)
    joined = join_features(judged, log)
    for column, name in enumerate(joined.feature_names.tolist(), start=1):
        if name.splitlines() != [name.strip()]:
            raise ValueError(f"LETOR cannot name the feature {name!r}: rename it")
        comments.append(f"# feature {column} = {name}")
    qids = [number[query] for query in joined.groups.tolist()]
    table = np.asarray(joined.data).tolist()
    lines = []
    for row in np.argsort([int(qid) for qid in qids], kind="stable"):
        document = str(joined.documents[row])
        if WHITE_SPACE.search(document):
            raise ValueError(f"LETOR cannot name {document!r}: it has white space")
        values = enumerate(table[row], start=1)
        features = " ".join(f"{column}:{value!r}" for column, value in values)
        grade = float(joined.target[row])
        lines.append(f"{grade!r} qid:{qids[row]} {features} # docid = {document}")
    write_lines(given.output, [*comments, *lines])
    n_features = len(joined.feature_names)
    return f"{len(qids)} rows of {len(set(qids))} queries, {n_features} features"
