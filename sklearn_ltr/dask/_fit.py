"""A fit on a cluster: send rows to their workers, and fit them by a task on each.

`fit_on_cluster` runs where the user is.  On each worker, `fit_on_worker` reads its rows
and learns together with the others, as `LambdaMARTRanker.fit` does alone.  If a worker
is lost, the others know all trees so far, and a warm start goes on from these.
"""

from __future__ import annotations

import hashlib
import pickle
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.boosting.base_model import check_base_score_size
from sklearn_ltr._core.boosting.bins import bin_data, fit_threads
from sklearn_ltr._core.boosting.loop import boost_trees
from sklearn_ltr._core.boosting.warm_start import trees_so_far
from sklearn_ltr._core.caller import DeferredWarning, collected_warnings, warn_caller
from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import FitArguments, ValidationSet
from sklearn_ltr._core.data.query_values import draw_held_out
from sklearn_ltr._core.data.rows import index_rows, n_rows
from sklearn_ltr._core.estimators.base import FittedAttributes
from sklearn_ltr._core.estimators.preparation import prepare
from sklearn_ltr._core.parameters import read_parameters
from sklearn_ltr._core.rankers.lambdamart import LambdaMARTParameters
from sklearn_ltr._core.ranking.task import ranking_task
from sklearn_ltr._core.typing import IntArray, MatrixLike
from sklearn_ltr.dask._comm import Connections, DaskComm, Endpoint
from sklearn_ltr.dask._partitions import (
    Collections,
    Partition,
    PartitionGraph,
    Summary,
    delayed_partitions,
    join_rows,
    make_partition_graphs,
    names_of,
    open_part,
    read_part,
    rows_in_queries,
    select_queries,
    summarize,
    workers_with_room,
)
from sklearn_ltr.dask._plan import (
    QueryLocations,
    learned_queries,
    locate_queries,
    own_queries,
)
from sklearn_ltr.dask._tables import PartRows
from sklearn_ltr.dask._watch import END_SECONDS, TELL_SECONDS, LostWorkerError, wait_for

if TYPE_CHECKING:
    from distributed import Client, Future


class Traffic(NamedTuple):
    """The data that were sent between the workers during a fit, in numbers.

    Attributes
    ----------
    n_moved_queries, n_moved_rows : int
        Queries that were on several workers (or on one with nothing to learn from) and
        were brought together, and their rows that were sent, of X and all columns.
    n_exchanges : int
        Exchanges between all workers, sums and others.
    n_sum_bytes : int
        Bytes that the busiest worker sent and received in sums, of histograms mostly.
    """

    n_moved_queries: int
    n_moved_rows: int
    n_exchanges: int
    n_sum_bytes: int


class WorkerData(NamedTuple):
    """The data that one worker fits, of training or of validation."""

    # partition, and the chosen queries of it, None: all
    parts: list[tuple[Future | PartitionGraph, IntArray | None]]
    numbers: IntArray  # of its queries, in the order of their ids


class Divided(NamedTuple):
    """Data, divided among workers."""

    worker_data: dict[str, WorkerData]  # by the address of the worker
    n_moved_queries: int
    n_moved_rows: int


def fit_on_cluster(
    client: Client,
    ranker: LambdaMARTRanker,
    parameters: LambdaMARTParameters,
    seed: int,
    arguments: Collections,
    validation: Collections,
) -> tuple[dict[str, object], Traffic]:
    """Return the fitted attributes, and how much was sent between workers."""
    # the ranker holds its parameters, base model, and the trees of a warm start; the
    # arguments of `fit` are Dask collections by name
    while True:
        divided, ids = distribute_rows(client, parameters, seed, arguments, validation)
        try:
            return run_fits(client, ranker, seed, divided, ids)
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


def distribute_rows(
    client: Client,
    parameters: LambdaMARTParameters,
    seed: int,
    arguments: Collections,
    validation: Collections,
) -> tuple[list[Divided], dict[str, str]]:
    """Give each worker its queries; return these, and the id of each worker."""
    parts, summaries = load(client, arguments, "")
    ids = {s.worker: s.worker_id for s in summaries if s is not None}
    locations = locate_queries(summaries, "", parameters.label_weights)
    learned = learned_queries(
        locations, held_out_queries(parameters, seed, locations, validation)
    )
    parameters.warn_if_short(locations.weight[learned])
    owner = own_queries(locations, learned, [])
    if not learned.any():
        owner[:] = 0  # worker 0 raises the error that says why
    divided = [divide(client, locations, owner, parts, "")]
    if validation.get("X_val") is not None:
        parts, summaries = load(client, validation, "_val")
        ids |= {s.worker: s.worker_id for s in summaries if s is not None}
        takers = [
            locations.workers.index(address) for address in divided[0].worker_data
        ]
        locations = locate_queries(
            summaries, "_val", parameters.label_weights, locations.workers
        )
        owner = own_queries(locations, None, takers)
        divided.append(divide(client, locations, owner, parts, "_val"))
    return divided, ids


def held_out_queries(
    parameters: LambdaMARTParameters,
    seed: int,
    locations: QueryLocations,
    validation: Collections,
) -> NDArray[np.bool_] | None:
    """Return which of the queries that count will be held out, None if none."""
    if validation.get("X_val") is not None or parameters.early_stopping is not True:
        return None
    n_queries = int(np.count_nonzero(locations.weight > 0))
    return draw_held_out(np.arange(n_queries), parameters.validation_fraction, seed)


def load(
    client: Client, arguments: Collections, suffix: str
) -> tuple[list[Future | PartitionGraph], list[Summary | None]]:
    """Read the partitions on the workers that hold them; return (parts, summaries)."""
    # a part is a future of rows that the cluster keeps, or of a `PartitionGraph`
    from dask import delayed

    partitions = delayed_partitions(arguments)
    graphs = list(make_partition_graphs(partitions))
    kept = [number for number, graph in enumerate(graphs) if graph is None]
    parts = [
        client.submit(open_part, graph, number, suffix, pure=False)
        if graph is not None
        else None
        for number, graph in enumerate(graphs)
    ]
    futures = client.compute(
        [delayed(dict)(list(partitions[number].items())) for number in kept]
    )
    for number, future in zip(kept, futures, strict=True):
        parts[number] = future
    wait_for(client, parts)
    summaries = [
        client.submit(summarize, part, number, suffix, pure=False)
        for number, part in enumerate(parts)
    ]
    wait_for(client, summaries)
    summaries = client.gather(summaries)
    # a worker keeps all of its partitions or, without room, none
    keepers = workers_with_room(summaries)
    for number, (graph, summary) in enumerate(zip(graphs, summaries, strict=True)):
        if graph is not None and summary is not None and summary.worker not in keepers:
            parts[number] = graph
    return parts, summaries


def divide(
    client: Client,
    locations: QueryLocations,
    owner: IntArray,
    given: list[Future | PartitionGraph],
    suffix: str,
) -> Divided:
    """Give each worker its queries; the rows to be sent are cut out where they are."""
    query, workers = locations.query, locations.workers
    parts: dict[str, list[tuple[Future | PartitionGraph, IntArray | None]]] = {}
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
                part = client.submit(
                    select_queries, part, suffix, chosen, workers=[source], pure=False
                )
                chosen = None
            parts.setdefault(workers[receiver], []).append((part, chosen))
    moves = to != locations.worker
    worker_data = {
        address: WorkerData(
            parts[address], np.flatnonzero(owner == workers.index(address))
        )
        for address in sorted(parts)
    }
    return Divided(
        worker_data, len(np.unique(query[moves])), int(locations.size[moves].sum())
    )


def run_fits(
    client: Client,
    ranker: LambdaMARTRanker,
    seed: int,
    divided: list[Divided],
    ids: dict[str, str],
) -> tuple[dict[str, object], Traffic]:
    """Run a task on each worker that fits its rows; return (attributes, traffic)."""
    import cloudpickle

    # 1. Each worker listens for the connections of others
    addresses = list(divided[0].worker_data)
    placed, endpoints = open_endpoints(client, addresses)
    # 2. A task on each worker, which must run there, where its rows are.  The state is
    # sent as bytes: arrays that Dask brings are read-only, and would stay read-only
    state = client.scatter(cloudpickle.dumps((vars(ranker), seed)), hash=False)
    tasks = []
    for rank, address in enumerate(addresses):
        worker_data = [
            d.worker_data[address] for d in divided if address in d.worker_data
        ]
        numbers = [own.numbers for own in worker_data]
        tasks.append(
            client.submit(
                fit_on_worker,
                state,
                rank,
                endpoints,
                placed[rank],
                client.scatter(numbers, workers=[address], hash=False),
                [own.parts for own in worker_data],
                (ids.get(address), len(divided) > 1),
                workers=[address],
                allow_other_workers=False,
                pure=False,
            )
        )
    # 3. The same model from all: only the first sends it, the others a digest
    actors = [future.result() for future in placed]
    try:
        wait_for(client, tasks, addresses, actors)
    except LostWorkerError as error:
        error.fitted = fitted_by_others(client, addresses, tasks, actors)
        raise
    results = client.gather(tasks)
    if len({digest for digest, *_ in results}) > 1:
        raise RuntimeError(
            "the workers have fitted different models: install the same versions of "
            "numpy and sklearn_ltr on all"
        )
    _, saved, found, n_exchanges, n_bytes = results[0]
    for message, category in found:  # all workers have found the same
        warn_caller(message, category)
    moved_queries = sum(d.n_moved_queries for d in divided)
    moved_rows = sum(d.n_moved_rows for d in divided)
    return pickle.loads(saved), Traffic(moved_queries, moved_rows, n_exchanges, n_bytes)


def fitted_by_others(
    client: Client, addresses: list[str], tasks: list[Future], actors: list[Any]
) -> dict[str, Any]:
    """Wait for the tasks of the workers that are left; return the latest attributes."""
    from distributed import wait

    here = [rank for rank, a in enumerate(addresses) if a in client.nthreads()]
    with suppress(TimeoutError):
        wait([tasks[rank] for rank in here], timeout=END_SECONDS)
    found: list[dict[str, Any]] = [{}]
    for rank in here:
        with suppress(Exception):  # its worker may be lost, too
            found.append(
                pickle.loads(actors[rank].fitted().result(timeout=TELL_SECONDS))
            )
    return max(found, key=n_trees_of)


def n_trees_of(attributes: Mapping[str, Any]) -> int:
    """Return the number of trees in some fitted attributes."""
    return len(attributes.get("ensemble_", ()))


def open_endpoints(
    client: Client, workers: list[str]
) -> tuple[list[Future], list[Endpoint]]:
    """Let workers listen for each other; return futures of actors, and endpoints."""
    key = secrets.token_bytes(16)
    placed = [
        client.submit(Connections, key, actor=True, workers=[address], pure=False)
        for address in workers
    ]
    wait_for(client, placed, workers)
    asked = [future.result().endpoint() for future in placed]
    return placed, [answer.result() for answer in asked]


# --- on a worker ----------------------------------------------------------------------


def fit_on_worker(
    state: bytes,
    rank: int,
    endpoints: list[Endpoint],
    actor: Any,
    numbers: list[IntArray],
    parts: list[list[tuple[Partition | PartitionGraph, IntArray | None]]],
    expected: tuple[str | None, bool],
) -> tuple[str, bytes, list[DeferredWarning], int, int]:
    """Learn from the rows of one worker together with the other workers; run on it."""
    # The lists have an entry for the training data and, if there are any, one for the
    # validation data: `numbers` of this worker's queries among all, in the order of
    # their ids; and `parts`: each partition, and its chosen queries, None: all.
    # `endpoints` are where all workers listen, `actor` has the connections of this one;
    # `expected` is its id, and whether any worker has validation data.  Returned are a
    # digest of the model, the pickled fitted attributes (only from rank 0), what to
    # warn of, and the numbers of exchanges and bytes.
    from distributed import get_worker, secede

    worker, (worker_id, is_validated) = get_worker(), expected
    if worker_id is not None and worker.id != worker_id:
        raise RuntimeError(f"the worker {worker.address} was restarted during the fit")
    secede()  # frees the slot of this task: others must not wait behind it
    with DaskComm(rank, endpoints, actor, worker) as comm:
        arguments = list(map(read_worker_rows, parts, numbers))
        attributes, seed = pickle.loads(state)
        with collected_warnings() as found:
            keep = comm.connections.keep
            fitted = fit_rows(attributes, seed, arguments, is_validated, comm, keep)
    saved = pickle.dumps(fitted) if rank == 0 else b""
    digest = hashlib.sha256(pickle.dumps(fitted["ensemble_"])).hexdigest()
    return digest, saved, found, comm.n_exchanges, comm.n_bytes


class WorkerRows(NamedTuple):
    """The arguments of `fit` that one worker has, of training or of validation."""

    X: PartRows
    others: Partition  # by their names in training
    numbers: IntArray  # of its queries

    def arguments(self) -> FitArguments:
        """Return them as the arguments of a ranker's fit."""
        given = FitArguments.of(cast(MatrixLike, self.X), **self.others)
        return given._replace(numbers=self.numbers, estimator=LambdaMARTRanker)


def fit_rows(
    attributes: dict[str, Any],
    seed: int,
    arguments: list[WorkerRows],
    is_validated: bool,
    comm: Comm,
    keep_trees_so_far: Callable[[int, FittedAttributes], None] | None = None,
) -> dict[str, object]:
    """Return the fitted attributes of a ranker; all workers call this together."""
    # `attributes` are the ranker's parameters and the trees of a warm start;
    # `arguments` hold the rows of training and, if this worker has any, of validation
    p = read_parameters(LambdaMARTParameters, SimpleNamespace(**attributes))
    so_far = trees_so_far(attributes, p, seed)
    if so_far.is_new:
        arguments[0].X.learn_columns(LambdaMARTRanker, p.categorical_features, comm)
    train, *validation = (rows.arguments() for rows in arguments)
    sets: list[ValidationSet | None] = [
        ValidationSet("_val", one.X, one.y, one.groups, one.columns, one.numbers)
        for one in validation
    ]
    if is_validated and not sets:
        sets = [None]
    data = prepare(train._replace(validation=sets), p, so_far, comm)
    check_base_score_size(data, p.sigma)
    # `init_`, which the worker was given, is not sent back
    known = data.reader.attributes
    steps = None
    if keep_trees_so_far is not None:
        steps = Steps(keep_trees_so_far, so_far.n_trees, known)
    with ThreadTeam(fit_threads(p.n_jobs, data.train.X.size, comm)) as team:
        binned = bin_data(data, p, so_far, team, comm)
        data = data._replace(learned=binned.rows)
        task = ranking_task(p, data, so_far.attributes, team, comm)
        constraints = p.constraints(data.reader)
        del data  # trees need no X, and no rows in the order they came in
        return known | boost_trees(binned, task, p, constraints, so_far, steps)


class Steps:
    """Stores the trees so far, to be found if another worker is lost."""

    def __init__(
        self,
        keep: Callable[[int, FittedAttributes], None],
        n_trees: int,
        read: dict[str, object],
    ) -> None:
        # `n_trees` of a warm start; `read` are the attributes before the first tree
        self._keep, self._n_trees, self._read = keep, n_trees, read

    def end_step(self, fitted: FittedAttributes, *, last: bool) -> bool:
        """Store the attributes so far; return whether it was the last tree."""
        self._n_trees += 1
        self._keep(self._n_trees, lambda: self._read | fitted())
        return last


def read_worker_rows(
    given: list[tuple[Partition | PartitionGraph, IntArray | None]], numbers: IntArray
) -> WorkerRows:
    """Return the arguments of one worker: X as `PartRows`, the others read."""
    parts = [part for part, _ in given]
    suffix = "" if "X" in names_of(parts[0]) else "_val"
    rows: list[NDArray[np.intp] | None] = []
    others: list[Partition] = []
    for part, queries in given:
        names = [name for name in names_of(part) if name != f"X{suffix}"]
        other = {
            name.removesuffix(suffix): values
            for name, values in read_part(part, names).items()
        }
        own = None if queries is None else rows_in_queries(other["groups"], queries)
        if own is not None:
            other = {name: index_rows(values, own) for name, values in other.items()}
        rows.append(own)
        others.append(other)
    sizes = [n_rows(other["groups"]) for other in others]
    joined = {name: narrowed(values) for name, values in join_rows(others).items()}
    return WorkerRows(PartRows(f"X{suffix}", parts, rows, sizes), joined, numbers)


def narrowed(values: Any) -> Any:
    """Return the same numbers in fewer bytes, where they are an array of integers."""
    if isinstance(getattr(values, "dtype", None), np.dtype):
        values = np.asarray(values)  # of pandas
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        return values
    low, high = values.min(initial=0), values.max(initial=0)
    if not np.isfinite([low, high]).all():
        return values
    narrow = values.astype(
        np.result_type(*map(np.min_scalar_type, map(int, (low, high))))
    )
    return narrow if np.array_equal(narrow, values) else values
