"""What a fit asks of a cluster, an `Engine`, and the fit that is made of its answers.

All of it runs where the user is.  A cluster's ranker calls `fit_ranker`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.boosting.base_model import start_from_base_model
from sklearn_ltr._core.boosting.warm_start import trees_so_far
from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.cluster.fit import Traffic, WorkerData, WorkerResult, one_model
from sklearn_ltr._core.cluster.plan import QueryLocations, locate_queries, own_queries
from sklearn_ltr._core.cluster.summaries import Summary
from sklearn_ltr._core.data import COLUMNS, FitArguments
from sklearn_ltr._core.data.query_values import draw_held_out
from sklearn_ltr._core.estimators.base import refit
from sklearn_ltr._core.estimators.preparation import found_by_reading
from sklearn_ltr._core.estimators.unused_positions import warn_if_unused
from sklearn_ltr._core.parameters import SMALLEST, read_parameters
from sklearn_ltr._core.rankers.lambdamart import LambdaMARTParameters, LambdaMARTRanker
from sklearn_ltr._core.typing import IntArray

NOBODY = -1  # in place of the worker that fits a query
Arguments = Mapping[str, Any]  # of `fit`, as the user gave them; None: not given
Loaded = tuple[list[Any], list[Summary | None]]  # part, and summary, of each partition


class LostWorkerError(RuntimeError):
    """A worker has left the cluster; `fitted` is what others kept (`Connections`)."""

    fitted: tuple[bytes, ...] = ()


class Engine(Protocol):
    """A cluster: it has the rows, and calls its workers.

    Workers are known by a name, and partitions by whatever an engine likes, their
    *parts*: a worker gets what it can read, a `Part` of `tables`.  One engine makes one
    fit, which may load its rows again after a worker was lost.
    """

    def load(self, arguments: Arguments, suffix: str) -> Loaded:
        """Place the rows on workers; return the part and the summary of each partition.

        `summarize` makes the summary, on the worker that has the partition.  `suffix`
        ends the names of the arguments: "" or "_val".
        """

    def move(self, part: Any, suffix: str, queries: IntArray, source: str) -> Any:
        """Return some queries of a part that the worker `source` has, for another one.

        `select_queries` cuts them out there; `run` says which worker needs them.
        """

    def run(
        self, state: object, given: dict[str, list[WorkerData]], is_validated: bool
    ) -> list[WorkerResult]:
        """Call `fit_on_worker` on all workers at once; return the results, by rank.

        The ranks are the order of `given`, which has the data of each worker: training
        and, if it has any, validation.  Queries that no worker has are left out.

        Before the fit every worker makes `Connections` and learns the `Endpoint` of
        all, for its `SocketComm`.  During the fit the engine watches: when a worker
        fails, it ends the others (`Connections.abort`) and raises the error that came
        first, not a LostConnectionError of another; when a worker is lost, a
        LostWorkerError, with the `Connections.fitted` of others.
        `state` is sent pickled, functions of the user by value.
        """


def fit_ranker(
    ranker: LambdaMARTRanker,
    connect: Callable[[], Engine],
    arguments: dict[str, Any],
    validation: dict[str, Any],
    columns: dict[str, Any],
) -> None:
    """Fit a ranker on the cluster that `connect` returns, once the arguments are good.

    `arguments` are X, y and groups, `validation` X_val, y_val and groups_val; `columns`
    are further ones of both.
    """
    arguments |= {name: columns.get(name) for name in COLUMNS}
    validation |= {
        f"{name}_val": columns.get(f"{name}_val")
        for name, column in COLUMNS.items()
        if column.in_validation
    }
    is_validated = any(values is not None for values in validation.values())
    sets: list[Arguments] = [arguments, validation] if is_validated else [arguments]
    kind = type(ranker).__name__
    with refit(ranker) as model:
        p = read_parameters(LambdaMARTParameters, model)
        rows = np.empty(0, dtype=np.intp)  # a fitted model needs none
        given = FitArguments.of(rows, rows, **{n: columns.get(n) for n in COLUMNS})
        p.check_clicks(given.columns)
        # what a fit on a cluster cannot take
        for name, values in (item for named in sets for item in named.items()):
            if values is None and name.removesuffix("_val") in ("X", "y", "groups"):
                raise ValueError(
                    f"{name} is None: {kind} needs X, y and groups of all rows "
                    "(without groups all would be one query, on one worker)"
                )
        if ranker.init is not None:
            try:
                check_is_fitted(ranker.init)
            except NotFittedError as error:
                raise ValueError(
                    f"init is not fitted, and {kind} fits no base model: fit it first"
                ) from error
        warn_if_unused(ranker, given.columns)
        engine = connect()
        so_far = trees_so_far(vars(ranker), p)
        known = found_by_reading(ranker._attributes, so_far.attributes)
        start_from_base_model(p.init, given, rows, known)
        # the trees that a warm start keeps, and the base model
        start = local_ranker(ranker)
        start.__dict__.update(known)
        fitted, traffic = fit_on_cluster(engine, start, p, so_far.seed, sets)
        model.__dict__.update(known | fitted, traffic_=traffic)


def fit_on_cluster(
    engine: Engine,
    ranker: LambdaMARTRanker,
    parameters: LambdaMARTParameters,
    seed: int,
    sets: list[Arguments],
) -> tuple[dict[str, object], Traffic]:
    """Return the fitted attributes, and how much was sent between workers."""
    # The ranker holds its parameters, base model, and the trees of a warm start; `sets`
    # are the arguments of training and, if there are any, those of validation.  If a
    # worker is lost, the others know all trees so far, and a warm start goes on there
    while True:
        given, n_queries, n_rows = distribute_rows(engine, parameters, seed, sets)
        try:
            results = engine.run((vars(ranker), seed), given, len(sets) > 1)
        except LostWorkerError as error:
            n_kept = n_trees_of(vars(ranker)) if ranker.warm_start else 0
            fitted: dict[str, Any] = max(
                map(pickle.loads, error.fitted), key=n_trees_of, default={}
            )
            n_trees = n_trees_of(fitted)
            # a stop depends on all trees, so on those before the loss, too
            may_stop: object = parameters.early_stopping
            may_stop = len(sets) > 1 if may_stop == "auto" else may_stop
            if may_stop or n_trees <= n_kept:
                raise
            warn_caller(
                f"a worker has left the cluster, and the fit goes on without it from "
                f"tree {n_trees}; the model will be the same",
                RuntimeWarning,
            )
            state = vars(ranker) | fitted | {"warm_start": True}
            ranker = LambdaMARTRanker()
            ranker.__dict__ = state
            continue
        sent = results[0].n_exchanges, results[0].n_bytes
        return one_model(results), Traffic(n_queries, n_rows, *sent)


def distribute_rows(
    engine: Engine, p: LambdaMARTParameters, seed: int, sets: list[Arguments]
) -> tuple[dict[str, list[WorkerData]], int, int]:
    """Give each worker its queries; return these, and how many queries, rows moved."""
    given: dict[str, list[WorkerData]] = {}
    workers: list[str] = []
    n_queries = n_rows = 0
    for arguments, suffix in zip(sets, ("", "_val"), strict=False):
        # 1. Choose which worker fits which queries, of training, then of validation
        parts, summaries = engine.load(arguments, suffix)
        locations = locate_queries(summaries, suffix, p.label_weights, workers)
        workers, query, learned = locations.workers, locations.query, None
        if suffix == "":
            learned = learned_queries(p, seed, locations, len(sets) > 1)
            p.warn_if_short(locations.weight[learned])
        owner = own_queries(locations, learned, [workers.index(name) for name in given])
        if learned is not None and not learned.any():
            owner[:] = 0  # worker 0 raises the error that says why
        # queries that no score counts are left where they are, as a worker refuses rows
        # of which none counts; if none does on any worker, they refuse them
        counts = locations.weight > 0
        if suffix == "_val" and counts.any():
            owner[~counts] = NOBODY
        # 2. Of each partition, cut out the rows that other workers fit, where they are
        to = owner[query]
        found: dict[str, list[tuple[Any, IntArray | None]]] = {}
        for number in np.unique(locations.partition).tolist():
            inside = locations.partition == number
            source = workers[locations.worker[inside][0]]
            receivers = np.unique(to[inside]).tolist()
            for receiver in receivers:
                if receiver == NOBODY:
                    continue
                chosen = locations.local[inside & (to == receiver)]
                part = parts[number], chosen if len(receivers) > 1 else None
                if workers[receiver] != source:
                    part = engine.move(parts[number], suffix, chosen, source), None
                found.setdefault(workers[receiver], []).append(part)
        for name in sorted(found):
            numbers = np.flatnonzero(owner == workers.index(name))
            given.setdefault(name, []).append(WorkerData(found[name], numbers))
        moves = (to != locations.worker) & (to != NOBODY)
        n_queries += len(np.unique(query[moves]))
        n_rows += int(locations.size[moves].sum())
    return given, n_queries, n_rows


def learned_queries(
    p: LambdaMARTParameters, seed: int, locations: QueryLocations, is_validated: bool
) -> NDArray[np.bool_]:
    """Return whether each query is learned from: it has pairs, and is not held out."""
    learned = locations.has_pairs & (locations.weight >= SMALLEST)
    if p.early_stopping is True and not is_validated:
        # `fit` draws among the queries with a weight above zero
        counted = np.flatnonzero(locations.weight > 0)
        held_out = draw_held_out(np.arange(len(counted)), p.validation_fraction, seed)
        learned[counted[held_out]] = False
    return learned


def n_trees_of(attributes: Mapping[str, Any]) -> int:
    """Return the number of trees in some fitted attributes."""
    return len(attributes.get("ensemble_", ()))


def local_ranker(ranker: LambdaMARTRanker) -> LambdaMARTRanker:
    """Return a plain ranker with the same attributes, but for the cluster's."""
    local = LambdaMARTRanker()
    local.__dict__ = {n: v for n, v in vars(ranker).items() if n != "traffic_"}
    return local
