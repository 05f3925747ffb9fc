"""What a fit asks of a cluster, an `Engine`, and how it makes a model of the answers.

`fit_on_cluster` runs where the user is.  If a worker is lost, the others know all trees
so far, and a warm start goes on from these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.cluster.fit import Traffic, WorkerData, WorkerResult, one_model
from sklearn_ltr._core.cluster.plan import (
    QueryLocations,
    learned_queries,
    locate_queries,
    own_queries,
)
from sklearn_ltr._core.cluster.summaries import Summary
from sklearn_ltr._core.data.query_values import draw_held_out
from sklearn_ltr._core.rankers.lambdamart import LambdaMARTParameters, LambdaMARTRanker
from sklearn_ltr._core.typing import IntArray

Arguments = Mapping[str, Any]  # of `fit`, as the user gave them; None: not given


class LostWorkerError(RuntimeError):
    """A worker has left the cluster; `fitted` has attributes that others had fitted."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.fitted: dict[str, Any] = {}


class Engine(Protocol):
    """A cluster: it has the rows, and calls its workers.

    Workers are known by a name, and partitions by whatever an engine likes, their
    *parts*: a worker gets what it can read, a `Part` of `tables`.  One engine makes one
    fit, which may load its rows again after a worker was lost.
    """

    def load(
        self, arguments: Arguments, suffix: str
    ) -> tuple[list[Any], list[Summary | None]]:
        """Place the rows on workers; return the part and the summary of each partition.

        `summarize` makes the summary, on the worker that has the partition.  `suffix`
        ends the names of the arguments: "" or "_val".
        """

    def move(
        self, part: Any, suffix: str, queries: IntArray, source: str, receiver: str
    ) -> Any:
        """Return a part for the worker `receiver`: queries of one that `source` has.

        `select_queries` cuts the rows out; they may be sent later, when they `run`.
        """

    def run(
        self, state: object, given: dict[str, list[WorkerData]], is_validated: bool
    ) -> list[WorkerResult]:
        """Call `fit_on_worker` on all workers at once; return the results, by rank.

        The ranks are the order of `given`, which has the data of each worker: training
        and, if it has any, validation.  Before the fit every worker makes `Connections`
        and learns the `Endpoint` of all, for its `SocketComm`.  During the fit the
        engine watches: when a worker fails, it ends the others (`Connections.abort`)
        and raises the error that came first, not a LostConnectionError of another; when
        a worker is lost, a LostWorkerError, with what `Connections.fitted` of another
        one returns.  `state` is sent pickled, functions of the user by value.
        """


class Divided(NamedTuple):
    """Data, divided among workers."""

    worker_data: dict[str, WorkerData]  # by the worker's name, in order of ranks
    n_moved_queries: int
    n_moved_rows: int


def fit_on_cluster(
    engine: Engine,
    ranker: LambdaMARTRanker,
    parameters: LambdaMARTParameters,
    seed: int,
    arguments: Arguments,
    validation: Arguments,
) -> tuple[dict[str, object], Traffic]:
    """Return the fitted attributes, and how much was sent between workers."""
    # the ranker holds its parameters, base model, and the trees of a warm start
    while True:
        divided = distribute_rows(engine, parameters, seed, arguments, validation)
        given = {
            worker: [d.worker_data[worker] for d in divided if worker in d.worker_data]
            for worker in divided[0].worker_data
        }
        try:
            results = engine.run((vars(ranker), seed), given, len(divided) > 1)
        except LostWorkerError as error:
            n_kept = n_trees_of(vars(ranker)) if ranker.warm_start else 0
            n_trees = n_trees_of(error.fitted)
            # a stop depends on all trees, so on those before the loss, too
            may_stop: object = parameters.early_stopping
            if may_stop == "auto":
                may_stop = validation.get("X_val") is not None
            if may_stop or n_trees <= n_kept:
                raise
            warn_caller(
                f"a worker has left the cluster, and the fit goes on without it from "
                f"tree {n_trees}; the model will be the same",
                RuntimeWarning,
            )
            state = vars(ranker) | error.fitted | {"warm_start": True}
            ranker = LambdaMARTRanker()
            ranker.__dict__ = state
            continue
        return one_model(results), Traffic(
            sum(d.n_moved_queries for d in divided),
            sum(d.n_moved_rows for d in divided),
            results[0].n_exchanges,
            results[0].n_bytes,
        )


def distribute_rows(
    engine: Engine,
    parameters: LambdaMARTParameters,
    seed: int,
    arguments: Arguments,
    validation: Arguments,
) -> list[Divided]:
    """Give each worker its queries, of training and, if given, of validation."""
    parts, summaries = engine.load(arguments, "")
    locations = locate_queries(summaries, "", parameters.label_weights)
    learned = learned_queries(
        locations, held_out_queries(parameters, seed, locations, validation)
    )
    parameters.warn_if_short(locations.weight[learned])
    owner = own_queries(locations, learned, [])
    if not learned.any():
        owner[:] = 0  # worker 0 raises the error that says why
    divided = [divide(engine, locations, owner, parts, "")]
    if validation.get("X_val") is not None:
        parts, summaries = engine.load(validation, "_val")
        takers = [locations.workers.index(worker) for worker in divided[0].worker_data]
        locations = locate_queries(
            summaries, "_val", parameters.label_weights, locations.workers
        )
        owner = own_queries(locations, None, takers)
        divided.append(divide(engine, locations, owner, parts, "_val"))
    return divided


def held_out_queries(
    parameters: LambdaMARTParameters,
    seed: int,
    locations: QueryLocations,
    validation: Arguments,
) -> NDArray[np.bool_] | None:
    """Return which of the queries that count will be held out, None if none."""
    if validation.get("X_val") is not None or parameters.early_stopping is not True:
        return None
    n_queries = int(np.count_nonzero(locations.weight > 0))
    return draw_held_out(np.arange(n_queries), parameters.validation_fraction, seed)


def divide(
    engine: Engine,
    locations: QueryLocations,
    owner: IntArray,
    given: list[Any],
    suffix: str,
) -> Divided:
    """Give each worker its queries; the rows to be sent are cut out where they are."""
    query, workers = locations.query, locations.workers
    parts: dict[str, list[tuple[Any, IntArray | None]]] = {}
    to = owner[query]
    for number in np.unique(locations.partition).tolist():
        inside = locations.partition == number
        source = workers[locations.worker[inside][0]]
        receivers = np.unique(to[inside]).tolist()
        for receiver in receivers:
            part, chosen = given[number], None
            if len(receivers) > 1:
                chosen = locations.local[inside & (to == receiver)]
            if workers[receiver] != source:
                if chosen is None:
                    chosen = locations.local[inside]
                part = engine.move(part, suffix, chosen, source, workers[receiver])
                chosen = None
            parts.setdefault(workers[receiver], []).append((part, chosen))
    moves = to != locations.worker
    worker_data = {
        worker: WorkerData(
            parts[worker], np.flatnonzero(owner == workers.index(worker))
        )
        for worker in sorted(parts)
    }
    return Divided(
        worker_data, len(np.unique(query[moves])), int(locations.size[moves].sum())
    )


def n_trees_of(attributes: Mapping[str, Any]) -> int:
    """Return the number of trees in some fitted attributes."""
    return len(attributes.get("ensemble_", ()))
