"""The command read: files of search engines become what other commands take."""

from __future__ import annotations

import argparse
import csv
import sys
import warnings

import numpy as np

from sklearn_ltr._commands.arguments import Commands
from sklearn_ltr._commands.files import A_MODEL, load_model
from sklearn_ltr.datasets import (
    join_features,
    load_feature_log,
    load_judgments,
    load_ubi,
)
from sklearn_ltr.datasets._letor import WHOLE
from sklearn_ltr.datasets._trec import WHITE_SPACE, write_lines, write_qrels

OF_FEATURES = ("log", "id_field", "model")


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
    parser.add_argument(
        "--features", metavar="FILE", help="responses with logged features, by query"
    )
    parser.add_argument("--log", help="name of the log, if hits have several")
    parser.add_argument("--id-field", help="field of a hit that names the document")
    parser.add_argument("--model", help=f"write the features of {A_MODEL}")
    parser.add_argument(
        "--ubi", action="store_true", help="the inputs are queries and events of UBI"
    )
    parser.set_defaults(run=run_read)


def run_read(given: argparse.Namespace) -> None:
    """Read files of search engines, and write what other commands take."""
    is_letor = given.features is not None
    if not is_letor and any(getattr(given, name) is not None for name in OF_FEATURES):
        raise ValueError("--log, --id-field and --model need --features")
    if given.ubi and is_letor:
        raise ValueError("--ubi writes clicks without features: leave --features out")
    if len(given.inputs) > (2 if given.ubi else 1):
        raise ValueError(f"too many inputs: {' '.join(given.inputs)}")
    write = write_clicks if given.ubi else write_letor if is_letor else write_judgements
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        write(given)
    for warning in caught:
        print(warning.message, file=sys.stderr)


def write_clicks(given: argparse.Namespace) -> None:
    """Write a row for each shown document."""
    log = load_ubi(*given.inputs)
    with open(given.output, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(log)
        rows.writerows(zip(*(column.tolist() for column in log.values()), strict=True))


def write_judgements(given: argparse.Namespace) -> None:
    """Write qrels."""
    judged = load_judgments(given.inputs[0])
    queries = judged.groups.tolist()
    number, comments = dict(zip(queries, queries, strict=True)), list[str]()
    if any(WHITE_SPACE.search(query) or query[0] == "#" for query in queries):
        number, comments = numbers_of(queries)
    queries = [number[query] for query in queries]
    write_qrels(given.output, judged.grades, queries, judged.documents, comments)


def write_letor(given: argparse.Namespace) -> None:
    """Write judgements with their features."""
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
    judged = load_judgments(given.inputs[0])
    queries = judged.groups.tolist()
    number, comments = dict(zip(queries, queries, strict=True)), list[str]()
    if not all(map(WHOLE.fullmatch, queries)):
        number, comments = numbers_of(queries)
    joined = join_features(judged, log)
    for column, name in enumerate(joined.feature_names.tolist(), start=1):
        comments.append(f"# feature {column} = {name}")
    qids = [number[query] for query in joined.groups.tolist()]
    lines = []
    for row in np.argsort([int(qid) for qid in qids], kind="stable"):
        document = str(joined.documents[row])
        if WHITE_SPACE.search(document):
            raise ValueError(f"LETOR cannot name {document!r}: it has white space")
        values = enumerate(joined.data[row].tolist(), start=1)
        features = " ".join(f"{column}:{value!r}" for column, value in values)
        grade = float(joined.target[row])
        lines.append(f"{grade!r} qid:{qids[row]} {features} # docid = {document}")
    write_lines(given.output, [*comments, *lines])


def numbers_of(queries: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the number of each query, and comments that list them."""
    number = {query: str(i) for i, query in enumerate(dict.fromkeys(queries), start=1)}
    return number, [f"# query {i} = {' '.join(q.split())}" for q, i in number.items()]
