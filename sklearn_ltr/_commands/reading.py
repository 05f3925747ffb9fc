"""The command read: files of search engines become what other commands take."""

from __future__ import annotations

import argparse
import csv
import re
import sys
import warnings
from collections.abc import Sequence

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
from sklearn_ltr.datasets._trec import WHITE_SPACE, Qrels, write_lines, write_qrels

#: options that need another
NEED = {"features": ("log", "id_field", "model"), "ubi": ("actions", "impressions")}
#: what messages call the options in Python
IN_PYTHON = {
    r"grades=\{.*\}": "--grades LABEL=GRADE ...",
    r"\b(query|document|grade)=": r"--\1 ",
    r"round all, or multiply them": r"\g<0>, or write a LETOR file (--features)",
}
OF_JUDGEMENTS = ("query", "document", "grade", "grades")


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
    for name in OF_JUDGEMENTS[:2]:
        parser.add_argument(option(name), metavar="COLUMN", help=f"has the {name}")
    parser.add_argument(
        "--grade",
        nargs="+",
        metavar="COLUMN",
        help="has the grade; of several, one for each judge, the mean",
    )
    parser.add_argument(
        "--grades",
        nargs="+",
        metavar="LABEL=GRADE",
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
    for name, what in (("actions", "count as clicks"), ("impressions", "show objects")):
        parser.add_argument(
            option(name), nargs="+", help=f"with --ubi: names of events that {what}"
        )
    parser.set_defaults(run=run_read)


def run_read(given: argparse.Namespace) -> None:
    """Read files of search engines, and write what other commands take."""
    is_letor = given.features is not None
    for needed, names in NEED.items():
        if not getattr(given, needed) and has_any(given, names):
            listed = [option(name) for name in names]
            raise ValueError(
                f"{', '.join(listed[:-1])} and {listed[-1]} need {option(needed)}"
            )
    if given.ubi and has_any(given, OF_JUDGEMENTS):
        raise ValueError(
            f"--ubi reads no judgements: leave {', '.join(map(option, OF_JUDGEMENTS))} "
            "out"
        )
    if given.ubi and is_letor:
        raise ValueError("--ubi writes clicks without features: leave --features out")
    if len(given.inputs) > (2 if given.ubi else 1):
        raise ValueError(f"too many inputs: {' '.join(given.inputs)}")
    write = write_clicks if given.ubi else write_letor if is_letor else write_judgements
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            written = write(given)
        except ValueError as error:
            message = str(error)
            for pattern, option_of in IN_PYTHON.items():
                message = re.sub(pattern, option_of, message)
            raise ValueError(message) from error
    for warning in caught:
        print(warning.message, file=sys.stderr)
    print(f"wrote {given.output}: {written}", file=sys.stderr)  # it may be a pipe


def has_any(given: argparse.Namespace, names: Sequence[str]) -> bool:
    """Return whether any of some options is given."""
    return any(getattr(given, name) is not None for name in names)


def read_judgements(given: argparse.Namespace) -> Qrels:
    """Read the judgements by the options."""
    grade, labels = given.grade, given.grades
    pairs = [label.rpartition("=") for label in labels or ()]
    return load_judgments(
        given.inputs[0],
        query=given.query,
        document=given.document,
        grade=grade[0] if grade and len(grade) == 1 else grade,
        grades=labels and {label: value for label, _, value in pairs},
    )


def write_clicks(given: argparse.Namespace) -> str:
    """Write a row for each shown document; return what was written."""
    options = {name: getattr(given, name) for name in NEED["ubi"]}
    log = load_ubi(*given.inputs, **{n: v for n, v in options.items() if v is not None})
    with open(given.output, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(log)
        rows.writerows(zip(*(column.tolist() for column in log.values()), strict=True))
    n_lists = len(set(log.sessions.tolist()))
    return f"{len(log.clicks)} shown documents of {n_lists} lists"


def write_judgements(given: argparse.Namespace) -> str:
    """Write qrels; return what was written."""
    judged = read_judgements(given)
    queries = judged.groups.tolist()
    number, comments = dict(zip(queries, queries, strict=True)), list[str]()
    if any(WHITE_SPACE.search(query) or query[0] == "#" for query in queries):
        number, comments = numbers_of(queries)
    queries = [number[query] for query in queries]
    write_qrels(given.output, judged.grades, queries, judged.documents, comments)
    return f"{len(queries)} judgements of {len(set(queries))} queries"


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
    judged = read_judgements(given)
    queries = judged.groups.tolist()
    number, comments = dict(zip(queries, queries, strict=True)), list[str]()
    if not all(map(WHOLE.fullmatch, queries)):
        number, comments = numbers_of(queries)
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


def numbers_of(queries: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the number of each query, and comments that list them."""
    number = {query: str(i) for i, query in enumerate(dict.fromkeys(queries), start=1)}
    return number, [f"# query {i} = {' '.join(q.split())}" for q, i in number.items()]
