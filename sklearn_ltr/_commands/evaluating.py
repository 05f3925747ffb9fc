"""The command evaluate: measure a model or a run."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._commands.arguments import (
    Commands,
    ListBeforeFiles,
    add_files,
    positive,
    refusal,
    whole_number,
)
from sklearn_ltr._commands.files import (
    A_MODEL,
    OF_FEATURES,
    add_features,
    has_features,
    load_for,
)
from sklearn_ltr._commands.lists import EvaluatedLists, Rows, rank_lists, rank_rows
from sklearn_ltr._commands.measures import (
    OF_MEASURES,
    NamedMeasure,
    is_measure,
    measures_of,
)
from sklearn_ltr.datasets import join_run, load_qrels, load_run
from sklearn_ltr.datasets._letor import is_letor, load_letor_judgements
from sklearn_ltr.datasets._trec import JoinedRun, Run
from sklearn_ltr.metrics import BPref, Metric


def add_evaluate(commands: Commands) -> None:
    """Add the command, with its arguments, to the parser."""
    parser = commands.add_parser(
        "evaluate",
        help="measure a model on a LETOR file, or a TREC run by judgements",
        epilog=OF_MEASURES,
    )
    add_files(
        parser,
        "judgements, qrels or a LETOR file, and a TREC run; or a LETOR file for "
        "a model",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--model", help=A_MODEL)
    source.add_argument("--run", help="TREC run", dest="run_file")
    metric = add_measuring(parser)
    parser.add_argument(
        "-q", "--per-query", action="store_true", help="print each query's value, too"
    )
    add_features(parser)
    parser.set_defaults(run=run_evaluate, refuse=refusal(parser, metric))


def add_measuring(parser: argparse.ArgumentParser) -> argparse.Action:
    """Add the options of measuring; return the one of metrics."""
    metric = parser.add_argument(
        "-m",
        "--metric",
        action=ListBeforeFiles,
        is_value=is_measure,
        help="ndcg@10 by default; files may follow, after '--' if named like a metric",
    )
    parser.add_argument(
        "-l",
        "--level",
        type=positive,
        help="the lowest relevant grade, for metrics of relevant documents",
    )
    parser.add_argument(
        "-c",
        "--complete",
        action="store_true",
        help="a judged query without a line in a run counts 0, as in ir_measures",
    )
    parser.add_argument(
        "-M",
        "--max-documents",
        type=whole_number(1),
        metavar="N",
        help="only the first N documents of each list count as retrieved",
    )
    return metric


@dataclass(frozen=True)
class Measured:
    """The rows of a model or of a run to measure."""

    rows_of: Callable[[object], Rows]  # for a metric
    stable: bool  # whether equal scores keep their order
    tag: str
    level: float | None  # the lowest relevant grade
    judgements: NDArray[Any]  # all grades

    @cached_property
    def lists(self) -> EvaluatedLists:
        """The ranked lists, which only some measures need."""
        return self.lists_at(self.level)

    def lists_at(self, level: float | None) -> EvaluatedLists:
        """Return the ranked lists, in which grades from `level` on are relevant."""
        return rank_lists(self.rows_of(None), level, self.stable, self.tag)

    def values(self, measure: NamedMeasure) -> NDArray[Any]:
        """Return a measure's value of each query."""
        metric = measure.compute
        if not isinstance(metric, Metric):
            own = measure.level
            return metric(self.lists if own is None else self.lists_at(own))
        if self.stable:
            metric = replace(metric, ties="stable")
        with warnings.catch_warnings():  # `tell_if_all_relevant` says it
            warnings.filterwarnings("ignore", "to .* every document is relevant")
            return metric.per_query(**self.rows_of(metric))

    def tell_if_all_relevant(self, measures: dict[str, NamedMeasure]) -> None:
        """Say that all grades are relevant to some measures, if it is so."""
        low, high = self.judgements.min(), self.judgements.max()
        is_asked = any(measure.is_of_relevant for measure in measures.values())
        if is_asked and self.level is None and 0 < low < high:
            print(
                f"every judged document is relevant (the grades are {low:g} to "
                f"{high:g}): give -l, the lowest relevant grade, if low grades are not",
                file=sys.stderr,
            )


def run_evaluate(given: argparse.Namespace) -> None:
    """Print the metrics of a model or a run, as trec_eval does."""
    is_run, found = given.model is None, ", ".join(given.files) or "none"
    if is_run and given.run_file is None:
        if len(given.files) != 2:
            needed = "give judgements and a run, or a LETOR file and --model"
            given.refuse(given, f"{needed}, got {found}")
        given.run_file = given.files.pop()
    if len(given.files) != 1:
        given.refuse(given, f"give one file with the judgements, got {found}")
    if is_run and has_features(given):
        given.refuse(given, f"{OF_FEATURES} are about files of a --model")
    (given.judged,) = given.files
    measures = read_measures(given, is_run)
    measured = measured_file(given.run_file if is_run else given.model, is_run, given)
    measured.tell_if_all_relevant(measures)
    for name, measure in measures.items():
        values = measured.values(measure)
        form = ".4f" if values.dtype.kind == "f" else ""
        if given.per_query and measure.by_query:
            for label, value in zip(measured.lists.labels, values, strict=True):
                print(f"{name:<22}\t{label}\t{value:{form}}")
        print(f"{name:<22}\tall\t{measure.summary(values):{form}}")


def read_measures(given: argparse.Namespace, for_run: bool) -> dict[str, NamedMeasure]:
    """Return the measures that are asked for, by the names that are printed."""
    measures: dict[str, NamedMeasure] = {}
    for name in given.metric or ["ndcg@10"]:
        measures |= measures_of(name, for_run, given.level)
    return measures


def measured_file(path: str, is_run: bool, given: argparse.Namespace) -> Measured:
    """Return the rows of a run or of a model, cut at the given --max-documents."""
    most = given.max_documents
    if not is_run:
        model, data = load_for(path, given.judged, given)
        scores = model.predict(data.data)
        rows: Rows = {"y_true": data.target, "y_score": scores, "groups": data.groups}
        if most is not None:
            _, query = np.unique(data.groups, return_inverse=True)
            first = rank_rows(query, scores, data.target)[1] < most
            rows = {name: column[first] for name, column in rows.items()} | {
                "y_missing": data.target[~first],
                "groups_missing": data.groups[~first],
            }
        return Measured(lambda metric: rows, False, path, given.level, data.target)

    run = load_run(path)
    load_judgements = load_letor_judgements if is_letor(given.judged) else load_qrels
    qrels = load_judgements(given.judged)
    if most is not None:  # in trec_eval's order
        _, query = np.unique(run.groups, return_inverse=True)
        _, names = np.unique(run.documents, return_inverse=True)
        first = rank_rows(query, run.scores, -names)[1] < most
        columns = {name: run[name] for name in ("groups", "documents", "scores")}
        kept = {name: column[first] for name, column in columns.items()}
        run = Run(**kept, tag=run.tag)
    counts = qrels.grades >= 0  # the others are as if not judged
    judged = set(zip(qrels.groups[counts], qrels.documents[counts], strict=True))
    has_judged = not judged.isdisjoint(zip(run.groups, run.documents, strict=True))

    @cache
    def join(unjudged: Literal["zero", "drop"]) -> JoinedRun:
        return join_run(
            run,
            qrels,
            topics="qrels" if given.complete else "both",
            unjudged=unjudged,
            negative="unjudged",  # as trec_eval
        )

    def rows_of(metric: object) -> Rows:  # bpref has those with a judgement
        return join("drop" if isinstance(metric, BPref) and has_judged else "zero")

    return Measured(rows_of, True, run.tag, given.level, qrels.grades)
