"""Fits by several workers: in one process, and on a cluster."""

from __future__ import annotations

import pickle
import threading
import time
from typing import Any

import numpy as np

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.dask._fit import WorkerRows, fit_rows
from sklearn_ltr.dask._tables import PartRows

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


class ThreadComm:
    """The comm of one of them."""

    n_threads = 1

    def __init__(self, rank: int, meeting: Meeting, *, is_slow: bool = False) -> None:
        self.rank, self.n_workers = rank, len(meeting.values)
        self._meeting, self._delay = meeting, 0.005 if is_slow else 0.0

    def gather(self, value: Any) -> list[Any]:
        time.sleep(self._delay)
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
    parts: list[dict[str, Any]],
    seed: int,
    ranker: LambdaMARTRanker,
    slow: int | None = None,
) -> tuple[list[LambdaMARTRanker], list[str]]:
    """Fit the parts by a thread each; return the models, and what was printed.

    The thread `slow` comes late to each exchange.
    """
    meeting, errors = Meeting(len(parts)), []
    models: list[Any] = [None] * len(parts)
    arguments: list[list[WorkerRows]] = [[] for _ in parts]
    for suffix in ("", "_val"):
        groups = [p[f"groups{suffix}"] for p in parts if f"groups{suffix}" in p]
        labels = np.unique(np.concatenate(groups)) if groups else np.empty(0)
        is_validated = len(groups) > 0  # of the last
        for own, part in zip(arguments, parts, strict=True):
            if f"groups{suffix}" in part:
                own.append(rows_of(part, suffix, labels))

    def work(rank: int) -> None:
        try:
            comm = ThreadComm(rank, meeting, is_slow=rank == slow)
            attributes = {"init_": None, "_uses_init_score": False, **vars(ranker)}
            own = dict(attributes)
            fitted = fit_rows(own, seed, arguments[rank], is_validated, comm)
            models[rank] = LambdaMARTRanker()
            models[rank].__dict__ = attributes | fitted
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
