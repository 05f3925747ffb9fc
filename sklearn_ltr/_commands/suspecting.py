"""The command suspects: list the grades that a ranker contradicts."""

from __future__ import annotations

import argparse

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._commands.arguments import Commands, add_seed, whole_number
from sklearn_ltr._commands.files import add_features, load_file
from sklearn_ltr._core.optional import require
from sklearn_ltr.inspection import suspect_judgments


def add_suspects(commands: Commands) -> None:
    """Add the command, with its arguments, to the parser."""
    parser = commands.add_parser(
        "suspects",
        help="list the grades of a LETOR file that a ranker contradicts",
        epilog="Each query is ranked by a LambdaMARTRanker that has learned from "
        "others.  Printed are query, document, grade, rank, doubt, the share of "
        "documents of other grades on the wrong side, and the direction.",
    )
    parser.add_argument("file", help="LETOR file")
    parser.add_argument(
        "--top", type=whole_number(1), default=20, help="how many, 20 by default"
    )
    parser.add_argument(
        "--folds", type=whole_number(2), default=5, help="folds of queries, 5"
    )
    add_seed(parser)
    add_features(parser)
    parser.set_defaults(run=run_suspects)


def run_suspects(given: argparse.Namespace) -> None:
    """Print the most doubtful grades, with tabs between the columns."""
    require("pandas", "suspects")  # before the folds are fitted
    data = load_file(given.file, given)
    suspects = suspect_judgments(
        LambdaMARTRanker(random_state=given.seed),
        data.data,
        data.target,
        groups=data.groups,
        cv=given.folds,
    ).head(given.top)
    suspects.insert(1, "document", data.documents[suspects.index])
    text = suspects.to_csv(sep="\t", index=False, float_format="%.4g")
    print(text, end="")
