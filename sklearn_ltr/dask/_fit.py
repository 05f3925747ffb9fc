"""A fit on a cluster: the rows to their workers, and a task on each that fits them."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._rankers.reading import draw_held_out
from sklearn_ltr.dask._exchange import Exchange, count_children
from sklearn_ltr.dask._partition_graphs import make_partition_graphs
from sklearn_ltr.dask._partitions import (
    delayed_partitions,
    select_queries,
    summarize,
)
from sklearn_ltr.dask._plan import (
    QueryLocations,
    learned_queries,
    locate_queries,
    own_queries,
)
from sklearn_ltr.dask._watch import wait_for
from sklearn_ltr.dask._worker_fit import fit_on_worker

IntArray = NDArray[np.int64]


class Traffic(NamedTuple):
    """What travelled between the workers during a fit.

    Attributes
    ----------
    n_moved_queries, n_moved_rows : int
        Queries that were on several workers (or on one with nothing to learn from) and
        were brought together, and their rows that travelled, of X and all columns.
    n_exchanges : int
        Exchanges between all workers, sums and others.
    n_sum_bytes : int
        Bytes that each worker sent and received in sums of histograms and the like.
    """

    n_moved_queries: int
    n_moved_rows: int
    n_exchanges: int
    n_sum_bytes: int


class WorkerData(NamedTuple):
    """The data that one worker fits, of training or of validation."""

    parts: list[tuple[int, Any, IntArray | None]]  # number, partition, chosen queries
    numbers: IntArray  # of its queries, in the order of their labels


class Divided(NamedTuple):
    """Data, divided among workers."""

    worker_data: dict[str, WorkerData]  # by the address of the worker
    n_moved_queries: int
    n_moved_rows: int


def fit_on_cluster(
    client: Any,
    ranker: LambdaMARTRanker,
    arguments: dict[str, Any],
    validation: dict[str, Any],
) -> tuple[LambdaMARTRanker, Traffic]:
    """Return the fitted ranker, and what travelled.

    Parameters
    ----------
    client : distributed.Client
    ranker : LambdaMARTRanker
        With its parameters and seed, and what a warm start keeps.
    arguments, validation : dict
        Dask collections by the names of the arguments of `fit`.
    """
    parts, summaries = load(client, arguments, "")
    ids = {s.worker: s.worker_id for s in summaries if s is not None}
    locations = locate_queries(summaries, "")
    learned = learned_queries(
        locations, held_out_queries(ranker, locations, validation)
    )
    owner = own_queries(locations, learned, [])
    if not learned.any():
        owner[:] = 0  # its worker says why
    divided = [divide(client, locations, owner, parts, "")]
    if validation.get("X_val") is not None:
        parts, summaries = load(client, validation, "_val")
        ids |= {s.worker: s.worker_id for s in summaries if s is not None}
        takers = [
            locations.workers.index(address) for address in divided[0].worker_data
        ]
        locations = locate_queries(summaries, "_val", locations.workers)
        owner = own_queries(locations, None, takers)
        divided.append(divide(client, locations, owner, parts, "_val"))
    return run_fits(client, ranker, divided, ids)


def held_out_queries(
    ranker: LambdaMARTRanker, locations: QueryLocations, validation: dict[str, Any]
) -> NDArray[np.bool_] | None:
    """Return which of the queries that count `fit` will hold out, None if none."""
    if validation.get("X_val") is not None or ranker.early_stopping is not True:
        return None
    n_queries = int(np.count_nonzero(locations.weight > 0))
    return draw_held_out(n_queries, ranker.validation_fraction, ranker._seed)


def load(
    client: Any, arguments: dict[str, Any], suffix: str
) -> tuple[list[Any], list[Any]]:
    """Read the partitions, where the cluster does: (parts, summaries).

    A part is a `PartitionGraph`, or a future of rows that the cluster keeps.
    """
    from dask import delayed

    partitions = delayed_partitions(arguments)
    parts: list[Any] = list(make_partition_graphs(partitions))
    kept = [number for number, part in enumerate(parts) if part is None]
    futures = client.compute(
        [delayed(dict)(list(partitions[number].items())) for number in kept]
    )
    for number, future in zip(kept, futures, strict=True):
        parts[number] = future
    wait_for(client, futures)
    summaries = [
        client.submit(summarize, part, number, suffix, pure=False)
        for number, part in enumerate(parts)
    ]
    wait_for(client, summaries)
    return parts, client.gather(summaries)


def divide(
    client: Any,
    locations: QueryLocations,
    owner: IntArray,
    given: list[Any],
    suffix: str,
) -> Divided:
    """Give each worker its queries; what lies elsewhere is cut out there."""
    query, workers = locations.query, locations.workers
    parts: dict[str, list[tuple[int, Any, IntArray | None]]] = {}
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
            parts.setdefault(workers[receiver], []).append((number, part, chosen))
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
    client: Any, ranker: LambdaMARTRanker, divided: list[Divided], ids: dict[str, str]
) -> tuple[LambdaMARTRanker, Traffic]:
    """Run a task on each worker that fits its rows; return what they agree on."""
    import cloudpickle

    addresses = list(divided[0].worker_data)
    placed = [
        client.submit(
            Exchange,
            count_children(rank, len(addresses)),
            actor=True,
            workers=[address],
            pure=False,
        )
        for rank, address in enumerate(addresses)
    ]
    wait_for(client, placed, addresses)
    actors = [future.result() for future in placed]
    # as bytes: arrays that Dask brings are read-only, and would stay so in the model
    state = client.scatter(cloudpickle.dumps(vars(ranker)), hash=False)
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
                placed,
                client.scatter(numbers, workers=[address], hash=False),
                [[part for _, part, _ in own.parts] for own in worker_data],
                [[chosen for *_, chosen in own.parts] for own in worker_data],
                (ids.get(address), len(divided) > 1),
                workers=[address],
                allow_other_workers=False,
                pure=False,
            )
        )
    wait_for(client, tasks, addresses, actors)
    results = client.gather(tasks)
    if len({digest for digest, *_ in results}) > 1:
        raise RuntimeError(
            "the workers have fitted different models: have they different versions of "
            "numpy or of sklearn_ltr?"
        )
    _, saved, n_exchanges, n_bytes = results[0]
    base = ranker.init_ if ranker._n_kept_trees > 0 else ranker.init
    parameters = ranker.get_params(deep=False)
    fitted = LambdaMARTRanker()
    fitted.__dict__ = parameters | pickle.loads(saved) | {"init_": base}
    moved_queries = sum(d.n_moved_queries for d in divided)
    moved_rows = sum(d.n_moved_rows for d in divided)
    return fitted, Traffic(moved_queries, moved_rows, n_exchanges, n_bytes)
