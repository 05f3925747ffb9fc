"""The command rank: write the ranked lists of a model."""

from __future__ import annotations

import argparse

from sklearn_ltr._commands.arguments import Commands
from sklearn_ltr._commands.files import A_MODEL, add_features, load_for
from sklearn_ltr.datasets import dump_run


def add_rank(commands: Commands) -> None:
    """Add the command, with its arguments, to the parser."""
    parser = commands.add_parser(
        "rank",
        help="write the ranked lists of a LETOR file, a TREC run",
        epilog="The name of a document is its '# docid = name' or '# name', or the "
        "line's number.",
    )
    parser.add_argument("data", help="LETOR file")
    parser.add_argument("--model", required=True, help=A_MODEL)
    parser.add_argument("--run", required=True, help="TREC run to write", dest="to")
    parser.add_argument("--tag", default="sklearn_ltr", help="name of the run in it")
    add_features(parser)
    parser.set_defaults(run=run_rank)


def run_rank(given: argparse.Namespace) -> None:
    """Write the run of a model on a LETOR file."""
    model, data = load_for(given.model, given.data, given)
    scores = model.predict(data.data)
    names = {"groups": data.groups, "documents": data.documents}
    dump_run(given.to, scores, **names, tag=given.tag)
