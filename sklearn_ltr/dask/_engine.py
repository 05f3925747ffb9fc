"""The engine of a fit on a Dask cluster: tasks on its workers, and an actor on each.

The actor of a worker has its connections to the others, so that the task which fits can
be told to end.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Any

from sklearn_ltr._core.cluster.comm import Connections, Endpoint, SocketComm
from sklearn_ltr._core.cluster.engine import Arguments, Loaded, LostWorkerError
from sklearn_ltr._core.cluster.fit import WorkerData, WorkerResult, fit_on_worker
from sklearn_ltr._core.cluster.summaries import select_queries
from sklearn_ltr._core.cluster.tables import Part
from sklearn_ltr._core.typing import IntArray
from sklearn_ltr.dask._partitions import (
    delayed_partitions,
    make_partition_graphs,
    open_part,
    summarize_part,
    workers_with_room,
)
from sklearn_ltr.dask._watch import END_SECONDS, TELL_SECONDS, current_client, wait_for


class DaskEngine:
    """The workers of a Dask cluster, as `Engine` says; they are known by addresses."""

    def __init__(self) -> None:
        self._client = current_client()
        self._ids: dict[str, str] = {}  # of the processes that have the rows

    def load(self, arguments: Arguments, suffix: str) -> Loaded:
        """Read the partitions where they are; a part is a future, or a graph alone."""
        from dask import delayed

        client = self._client
        partitions = delayed_partitions(arguments)
        graphs = make_partition_graphs(partitions)
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
            client.submit(summarize_part, part, number, suffix, pure=False)
            for number, part in enumerate(parts)
        ]
        wait_for(client, summaries)
        summaries = client.gather(summaries)
        # a worker keeps all of its partitions or, without room, none
        keepers = workers_with_room(summaries)
        for number, (graph, summary) in enumerate(zip(graphs, summaries, strict=True)):
            if summary is not None:
                self._ids[summary.worker] = summary.worker_id
                if graph is not None and summary.worker not in keepers:
                    parts[number] = graph
        return parts, summaries

    def move(self, part: Any, suffix: str, queries: IntArray, source: str) -> Any:
        """Return a future of the rows of some queries, which Dask will send."""
        return self._client.submit(
            select_queries, part, suffix, queries, workers=[source], pure=False
        )

    def run(
        self, state: object, given: dict[str, list[WorkerData]], is_validated: bool
    ) -> list[WorkerResult]:
        """Run a task on each worker that fits its rows; return the results by rank."""
        import cloudpickle
        from distributed import wait

        client, addresses = self._client, list(given)
        # 1. Each worker listens for the connections of others
        placed, endpoints = open_endpoints(client, addresses)
        # 2. A task on each worker, which must run there, where its rows are.  The state
        # is sent as bytes: arrays that Dask brings are read-only, and would stay so
        pickled = client.scatter(cloudpickle.dumps(state), hash=False)
        tasks = []
        for rank, (address, worker_data) in enumerate(given.items()):
            numbers = [own.numbers for own in worker_data]
            tasks.append(
                client.submit(
                    fit_at_rank,
                    pickled,
                    rank,
                    endpoints,
                    placed[rank],
                    client.scatter(numbers, workers=[address], hash=False),
                    [own.parts for own in worker_data],
                    is_validated,
                    self._ids[address],
                    workers=[address],
                    allow_other_workers=False,
                    pure=False,
                )
            )
        # 3. Look whether all go on; if one is lost, ask the others for their trees
        actors = [future.result() for future in placed]
        try:
            wait_for(client, tasks, addresses, actors)
        except LostWorkerError as error:
            here = [rank for rank, a in enumerate(addresses) if a in client.nthreads()]
            with suppress(TimeoutError):
                wait([tasks[rank] for rank in here], timeout=END_SECONDS)
            for rank in here:
                with suppress(Exception):  # its worker may be lost, too
                    kept = actors[rank].fitted().result(timeout=TELL_SECONDS)
                    error.fitted += (kept,)
            raise
        return list(client.gather(tasks))


def open_endpoints(client: Any, workers: list[str]) -> tuple[list[Any], list[Endpoint]]:
    """Let workers listen for each other; return futures of actors, and endpoints."""
    key = secrets.token_bytes(16)
    placed = [
        client.submit(make_connections, key, actor=True, workers=[address], pure=False)
        for address in workers
    ]
    wait_for(client, placed, workers)
    asked = [future.result().endpoint() for future in placed]
    return placed, [answer.result() for answer in asked]


# --- on a worker ----------------------------------------------------------------------


def make_connections(key: bytes) -> Connections:
    """Return the actor of this worker; it listens where Dask does, with TLS as Dask."""
    from distributed import get_worker
    from distributed.comm import get_address_host

    worker = get_worker()
    connecting = worker.security.get_connection_args("worker")
    return Connections(
        key,
        worker.address,
        get_address_host(worker.address),
        get_address_host(worker.listen_address),
        connecting["ssl_context"],
        worker.security.get_listen_args("worker")["ssl_context"],
        connecting["extra_conn_args"].get("server_hostname"),
    )


def make_comm(rank: int, endpoints: list[Endpoint], actor: Any) -> SocketComm:
    """Return the exchanges of this worker, by the connections of its actor."""
    from distributed import get_worker

    worker = get_worker()

    def print_line(line: str) -> None:
        worker.log_event("print", {"args": (line,), "flush": True})

    own = worker.state.actors[actor.key]
    return SocketComm(rank, endpoints, own, worker.state.nthreads, print_line)


def fit_at_rank(
    state: bytes,
    rank: int,
    endpoints: list[Endpoint],
    actor: Any,
    numbers: list[IntArray],
    parts: list[list[tuple[Part, IntArray | None]]],
    is_validated: bool,
    worker_id: str,
) -> WorkerResult:
    """Call `fit_on_worker` on the worker of a rank; run on it."""
    # `endpoints` are where all workers listen, `actor` has the connections of this one
    from distributed import get_worker, secede

    worker = get_worker()
    if worker.id != worker_id:
        raise RuntimeError(f"the worker {worker.address} was restarted during the fit")
    secede()  # frees the slot of this task: others must not wait behind it
    comm = make_comm(rank, endpoints, actor)
    return fit_on_worker(state, comm, parts, numbers, is_validated)
