"""A fit asks an engine for all that it needs: here one of threads and their sockets."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.cluster.comm import Connections, LostConnectionError, SocketComm
from sklearn_ltr._core.cluster.engine import LostWorkerError, fit_ranker
from sklearn_ltr._core.cluster.fit import fit_on_worker
from sklearn_ltr._core.cluster.summaries import select_queries, summarize
from sklearn_ltr._core.compile import INTERPRETED
from tests.dask import N_ROWS, bytes_of, make_data

pytestmark = pytest.mark.skipif(INTERPRETED, reason="interpreted kernels are slow")
OPTIONS = {"n_estimators": 8, "max_leaf_nodes": 6, "subsample": 0.8, "random_state": 0}
HERE = "127.0.0.1"


class ThreadEngine:
    """Workers are threads; an argument is a list of partitions, dealt to them in turn.

    The last worker leaves after so many trees.
    """

    def __init__(self, n_workers, n_trees=None):
        self.workers = [f"worker {k}" for k in range(n_workers)]
        self.n_trees, self.lines = n_trees, []

    def load(self, arguments, suffix):
        given = {name: parts for name, parts in arguments.items() if parts is not None}
        parts = [
            dict(zip(given, values, strict=True))
            for values in zip(*given.values(), strict=True)
        ]
        return parts, [
            summarize(part, k, suffix, self.workers[k % len(self.workers)], "", np.inf)
            for k, part in enumerate(parts)
        ]

    def move(self, part, suffix, queries, source):
        return select_queries(part, suffix, queries)

    def run(self, state, given, is_validated):
        ends = [Connections(b"secret", worker, HERE, HERE) for worker in given]
        endpoints = [end.endpoint() for end in ends]
        results, errors = {}, []
        if self.n_trees is not None:
            ends[-1].keep = self.leave

        def work(rank, data):
            comm = SocketComm(rank, endpoints, ends[rank], 1, self.lines.append)
            parts, numbers = zip(*data, strict=True)
            try:
                results[rank] = fit_on_worker(
                    pickle.dumps(state), comm, parts, numbers, is_validated
                )
            except Exception as error:
                errors.append(error)
                for end in ends:
                    end.abort("another worker failed")

        threads = [
            threading.Thread(target=work, args=item)
            for item in enumerate(given.values())
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for error in errors:
            if isinstance(error, LostWorkerError):
                error.fitted = tuple(end.fitted() for end in ends[:-1])
            if not isinstance(error, LostConnectionError):
                raise error
        return [results[rank] for rank in range(len(given))]

    def leave(self, n_trees, fitted):
        if n_trees == self.n_trees:
            del self.workers[-1]
            self.n_trees = None
            raise LostWorkerError("one has left")


def parts_of(data, n_parts, suffix=""):
    cuts = np.linspace(0, N_ROWS, n_parts + 1).astype(int)[1:-1]
    return {f"{name}{suffix}": np.split(v, cuts) for name, v in data.items()}


def fit(engine, options, data, validation=None, n_parts=7):
    ranker = LambdaMARTRanker(**OPTIONS | options)
    columns = parts_of(data, n_parts)
    arguments = {name: columns.pop(name) for name in ("X", "y", "groups")}
    more = {} if validation is None else parts_of(validation, n_parts, "_val")
    names = ("X_val", "y_val", "groups_val")
    val = {name: more.pop(name) for name in names if name in more}
    fit_ranker(ranker, lambda: engine, arguments, val, columns | more)
    return ranker


def model_of(ranker):
    """What a fit in one process has, too, but for what only workers know."""
    known = {"traffic_", "_trained_queries"}
    plain = LambdaMARTRanker()
    plain.__dict__ = {n: v for n, v in vars(ranker).items() if n not in known}
    return bytes_of(plain)


@pytest.mark.parametrize("n_workers", [1, 2, 3])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_any_engine_fits_the_model_of_one_process(n_workers, early_stopping):
    data, options = make_data(), {"early_stopping": early_stopping, "verbose": 1}
    engine = ThreadEngine(n_workers)
    ranker = fit(engine, options, data)
    expected = LambdaMARTRanker(**OPTIONS | options).fit(**data)
    assert model_of(ranker) == model_of(expected)
    assert [line[:11] for line in engine.lines] == ["tree 8 of 8"]
    assert (ranker.traffic_.n_moved_rows > 0) == (n_workers > 1)


def test_validation_data_go_to_the_workers_that_fit():
    data, validation = make_data(), make_data(1)
    options = {"early_stopping": True, "n_estimators": 20}
    ranker = fit(ThreadEngine(3), options, data, validation)
    given = {f"{name}_val": values for name, values in validation.items()}
    expected = LambdaMARTRanker(**OPTIONS | options).fit(**data, **given)
    assert model_of(ranker) == model_of(expected)


def test_the_fit_goes_on_without_a_worker_that_has_left():
    data = make_data()
    with pytest.warns(RuntimeWarning, match="goes on without it from tree [45]"):
        ranker = fit(ThreadEngine(3, n_trees=5), {}, data)
    expected = LambdaMARTRanker(**OPTIONS).fit(**data)
    assert pickle.dumps(ranker.ensemble_) == pickle.dumps(expected.ensemble_)
    with pytest.raises(LostWorkerError, match="one has left"):
        fit(ThreadEngine(3, n_trees=5), {"early_stopping": True}, data)


def test_an_error_of_one_worker_is_that_of_the_fit():
    data = make_data()
    data["init_score"] = data["y"] * 1e300
    with pytest.raises(ValueError, match="rounding would erase"):
        fit(ThreadEngine(3), {}, data)
