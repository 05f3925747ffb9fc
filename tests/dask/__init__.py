"""Fits by several workers: in one process, and on a cluster."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.cluster.fit import WorkerRows, fit_rows
from sklearn_ltr._core.cluster.tables import PartRows
from tests.workers import run_workers

N_QUERIES, N_ROWS = 90, 1500


def make_data(seed: int = 0) -> dict[str, Any]:
    """Rows with missing values, two columns of codes, and weights of queries."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 9))
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 3], X[:, 4] = rng.integers(0, 30, N_ROWS), rng.integers(0, 5, N_ROWS)
    groups = rng.integers(0, N_QUERIES, N_ROWS)
    raw = np.nan_to_num(X[:, 0]) + rng.normal(size=N_ROWS) + X[:, 3] % 3
    y = np.clip(raw, 0, 4).round()
    y[groups % 10 == 0] = 1.0  # queries without pairs
    weights = (np.arange(N_QUERIES) % 4 / 2.0)[groups]  # of some, zero
    return {"X": X, "y": y, "groups": groups, "sample_weight": weights}


def positions_of(groups: Any) -> Any:
    """Where each row is shown, if the rows of a query are shown in their order."""
    order = np.argsort(groups, kind="stable")
    positions = np.empty(len(order), dtype=np.int64)
    starts = np.searchsorted(groups[order], groups[order])
    positions[order] = np.arange(len(order)) - starts
    return positions


def fit_together(
    parts: list[dict[str, Any]], seed: int, ranker: LambdaMARTRanker
) -> list[LambdaMARTRanker]:
    """Fit the parts by a thread each; return the models."""
    arguments: list[list[WorkerRows]] = [[] for _ in parts]
    for suffix in ("", "_val"):
        groups = [p[f"groups{suffix}"] for p in parts if f"groups{suffix}" in p]
        labels = np.unique(np.concatenate(groups)) if groups else np.empty(0)
        is_validated = len(groups) > 0  # of the last
        for own, part in zip(arguments, parts, strict=True):
            if f"groups{suffix}" in part:
                own.append(rows_of(part, suffix, labels))

    def work(comm: Any) -> LambdaMARTRanker:
        attributes = {"init_": None, "_uses_init_score": False, **vars(ranker)}
        own, model = dict(attributes), LambdaMARTRanker()
        fitted = fit_rows(own, seed, arguments[comm.rank], is_validated, comm)
        model.__dict__ = attributes | fitted
        return model

    return run_workers(len(parts), work)


def rows_of(part: dict[str, Any], suffix: str, labels: Any) -> WorkerRows:
    """What one worker has, in one partition; `labels` are those of all queries."""
    name = f"X{suffix}"
    others = {
        argument.removesuffix(suffix): values
        for argument, values in part.items()
        if argument.endswith("_val") == bool(suffix) and argument != name
    }
    numbers = np.searchsorted(labels, np.unique(others["groups"]))
    rows = PartRows(name, [{name: part[name]}], [None], [len(others["y"])])
    return WorkerRows(rows, others, numbers)


def bytes_of(model: LambdaMARTRanker) -> bytes:
    """All attributes as they are saved, each by itself; of equal models the same."""
    state = vars(pickle.loads(pickle.dumps(model)))
    return b"".join(pickle.dumps((name, state[name])) for name in sorted(state))
