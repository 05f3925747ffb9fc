"""The command compare: test the differences of models, or runs, query by query."""

from __future__ import annotations

import argparse

import numpy as np

from sklearn_ltr._commands.arguments import (
    Commands,
    ListBeforeFiles,
    add_files,
    add_seed,
    positive,
    refusal,
)
from sklearn_ltr._commands.evaluating import add_measuring, measured_file, read_measures
from sklearn_ltr._commands.files import (
    OF_FEATURES,
    add_features,
    has_features,
    is_model_file,
)
from sklearn_ltr.model_selection._comparison import compare_values


def add_compare(commands: Commands) -> None:
    """Add the command, with its arguments, to the parser."""
    parser = commands.add_parser(
        "compare",
        help="compare runs, or models, query by query, and test the differences",
        epilog="A difference is a later file minus an earlier one: its mean, the "
        "interval by the bootstrap, the p-value of a permutation test, the same "
        "corrected by Holm for the number of pairs, and the queries needed "
        "to see a --difference with power 80%.  Metrics are named as for evaluate.",
    )
    add_files(
        parser,
        "judgements, qrels or a LETOR file, and two or more TREC runs; or a LETOR "
        "file for models",
    )
    parser.add_argument(
        "--models",
        action=ListBeforeFiles,
        is_value=is_model_file,
        metavar="MODEL",
        help="two or more models: .json, or .pkl (which are executed)",
    )
    metric = add_measuring(parser)
    parser.add_argument(
        "--difference",
        type=positive,
        default=0.01,
        help="the smallest difference that matters, 0.01 by default",
    )
    parser.add_argument(
        "--baseline",
        action="store_true",
        help="compare the others with the first run or model only",
    )
    add_seed(parser, "seed of the draws")
    add_features(parser)
    parser.set_defaults(run=run_compare, refuse=refusal(parser, metric))


def run_compare(given: argparse.Namespace) -> None:
    """Print a table of the differences for each metric."""
    found = ", ".join(given.files) or "none"
    if given.models is None:
        if len(given.files) < 3:
            given.refuse(
                given,
                "give judgements and two or more runs, or a LETOR file and --models, "
                f"got {found}",
            )
        if has_features(given):
            given.refuse(given, f"{OF_FEATURES} are about files of --models")
        given.judged, *given.compared = given.files
    else:
        if len(given.files) != 1:
            given.refuse(given, f"give one LETOR file for --models, got {found}")
        if len(given.models) < 2:
            given.refuse(
                given, f"give two or more --models, got {', '.join(given.models)}"
            )
        if given.complete:
            given.refuse(given, "--complete is about runs, which may lack a query")
        (given.judged,), given.compared = given.files, given.models
    if twice := [path for path in given.compared if given.compared.count(path) > 1]:
        given.refuse(given, f"{twice[0]} is given twice: give two different files")

    measures = read_measures(given, given.models is None)
    for name, measure in measures.items():
        if measure.summary is not np.mean:
            raise ValueError(
                f"metric {name!r} is not a mean over queries, so there is nothing to "
                "compare: give another metric"
            )
    queries, values = {}, {}
    for path in given.compared:
        measured = measured_file(path, given.models is None, given)
        queries[path] = measured.lists.labels.tolist()
        values[path] = {name: measured.values(one) for name, one in measures.items()}
    measured.tell_if_all_relevant(measures)
    everything = set().union(*queries.values())
    for path, own in queries.items():
        if missing := everything.difference(own):
            query = min(missing, key=str)
            other = next(p for p, has in queries.items() if query in has)
            raise ValueError(
                f"query {query} is judged and in {other}, but not in {path}: give -c "
                "to count a query without a list as 0, or runs of the same queries"
            )
    for i, name in enumerate(measures):
        result = compare_values(
            {path: of_file[name] for path, of_file in values.items()},
            np.ones(len(everything)),
            name,
            baseline=given.compared[0] if given.baseline else None,
            difference=given.difference,
            confidence_level=0.95,
            n_resamples=9999,
            rng=np.random.RandomState(given.seed),
        )
        print(result if i == 0 else f"\n{result}")
