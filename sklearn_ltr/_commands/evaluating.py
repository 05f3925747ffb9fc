"""Measure a model or a run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._commands.files import load_for, load_model
from sklearn_ltr._commands.measures import (
    COUNTS,
    LEAST_OF_GEOMETRIC_MEAN,
    metrics_of,
)
from sklearn_ltr._typing import IntArray
from sklearn_ltr.datasets import join_run, load_qrels, load_run
from sklearn_ltr.datasets._trec import JoinedRun
from sklearn_ltr.metrics import BPref, Metric

Rows: TypeAlias = Mapping[str, NDArray[Any]]  # arguments of metrics, by name
RowsOf: TypeAlias = Callable[[Metric | None], Rows]


def run_evaluate(given: argparse.Namespace) -> None:
    """Print the metrics of a model or a run, as trec_eval does."""
    measured: dict[str, Metric | None] = {}  # None: counts
    for name in given.metric or ["ndcg@10"]:
        measured |= metrics_of(name, given.model is None, given.level)
    rows_of = rows_of_model(given) if given.model is not None else rows_of_run(given)
    for name, metric in measured.items():
        rows = rows_of(metric)
        values: NDArray[Any]
        if metric is None:
            form, values = "d", count_documents(rows, name, given.level or 1.0)
            summary = values.sum()
        else:
            if given.model is None:
                metric = replace(metric, ties="stable")  # trec_eval's order
            form, values = ".4f", metric.per_query(**rows)
            if name == "gm_map":
                floored = np.maximum(values, LEAST_OF_GEOMETRIC_MEAN)
                summary = np.exp(np.log(floored).mean())
            else:
                summary = values.mean()
        if given.per_query:
            for label, value in zip(query_labels(rows), values, strict=True):
                print(f"{name:<22}\t{label}\t{value:{form}}")
        print(f"{name:<22}\tall\t{summary:{form}}")


def rows_of_model(given: argparse.Namespace) -> RowsOf:
    """Return the rows of a LETOR file, which are the same for all metrics."""
    model = load_model(given.model)
    data = load_for(model, given.judged)
    scores = model.predict(data.data)
    rows = {"y_true": data.target, "y_score": scores, "groups": data.groups}
    return lambda metric: rows


def rows_of_run(given: argparse.Namespace) -> RowsOf:
    """Return the rows of a run for a metric; bpref has those with a judgement."""
    run, qrels = load_run(given.run_file), load_qrels(given.judged)
    judged = set(zip(qrels.groups, qrels.documents, strict=True))
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

    return lambda metric: join(
        "drop" if isinstance(metric, BPref) and has_judged else "zero"
    )


def judged_rows(rows: Rows, column: str, missing: str) -> NDArray[Any]:
    """Return a column of the rows, then of the judged documents that are missing."""
    if not len(rows.get(missing, [])):
        return rows[column]
    return np.concatenate([rows[column], rows[missing]])


def query_labels(rows: Rows) -> NDArray[Any]:
    """Return the label of each query, in the order of the metrics' values."""
    return np.unique(judged_rows(rows, "groups", "groups_missing"))


def count_documents(rows: Rows, name: str, level: float) -> IntArray:
    """Return the number of documents of each query that count."""
    labels, query = np.unique(
        judged_rows(rows, "groups", "groups_missing"), return_inverse=True
    )
    relevant = judged_rows(rows, "y_true", "y_missing") >= level
    retrieved = np.arange(len(query)) < len(rows["groups"])
    counted = COUNTS[name](relevant, retrieved)
    return np.bincount(query[counted], minlength=len(labels))
