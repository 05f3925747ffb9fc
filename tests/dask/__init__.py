"""Fits by several workers: in one process, and on a cluster."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.dask._worker_ranker import WorkerRanker

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


class Meeting:
    """Threads that fit together, each in place of a worker."""

    def __init__(self, n_workers: int) -> None:
        self.values: list[Any] = [None] * n_workers
        self.barrier = threading.Barrier(n_workers, timeout=60)
        self.printed: list[str] = []


class ThreadCollective:
    """The collective of one of them."""

    def __init__(self, rank: int, meeting: Meeting) -> None:
        self.rank, self.n_workers = rank, len(meeting.values)
        self._meeting = meeting

    def gather(self, value: Any) -> list[Any]:
        self._meeting.values[self.rank] = value
        self._meeting.barrier.wait()
        gathered = list(self._meeting.values)
        self._meeting.barrier.wait()
        return gathered

    def gather_to(self, rank: int, value: Any) -> list[Any]:
        gathered = self.gather(value)
        return gathered if rank == self.rank else []

    def sum(self, values: Any) -> Any:
        return np.sum(self.gather(values), axis=0)

    def print_line(self, line: str) -> None:
        if self.rank == 0:
            self._meeting.printed.append(line)


def fit_together(
    parts: list[dict[str, Any]], seed: int, ranker: LambdaMARTRanker
) -> tuple[list[LambdaMARTRanker], list[str]]:
    """Fit the parts by a thread each; return the models, and what was printed."""
    meeting, errors = Meeting(len(parts)), []
    models: list[Any] = [None] * len(parts)
    numbers = {}
    for suffix in ("", "_val"):
        groups = [p[f"groups{suffix}"] for p in parts if f"groups{suffix}" in p]
        labels = np.unique(np.concatenate(groups)) if groups else []
        numbers[suffix] = {label: number for number, label in enumerate(labels)}

    def work(rank: int) -> None:
        try:
            own = WorkerRanker.of(vars(ranker) | {"_seed": seed})
            is_validated = len(numbers["_val"]) > 0
            collective = ThreadCollective(rank, meeting)
            own.join(collective, numbers, is_validated=is_validated)
            models[rank] = own.fit(**parts[rank]).fitted_ranker()
        except BaseException as error:
            errors.append(error)
            meeting.barrier.abort()

    threads = [threading.Thread(target=work, args=(r,)) for r in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    causes = [e for e in errors if not isinstance(e, threading.BrokenBarrierError)]
    for error in causes or errors:
        raise error
    return models, meeting.printed


def bytes_of(model: LambdaMARTRanker) -> bytes:
    """All attributes as they are saved, each by itself; of equal models the same."""
    state = vars(pickle.loads(pickle.dumps(model)))
    return b"".join(pickle.dumps((name, state[name])) for name in sorted(state))
