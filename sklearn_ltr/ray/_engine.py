"""Ray as the engine of a cluster fit: actors, each with the blocks that are near it.

The blocks stay in Ray's object store, which brings them to other machines, or spills
them to disk, as there is need.  An actor reads one of its blocks at a time.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from sklearn_ltr._core.cluster.arrow import features_of, numbers_of
from sklearn_ltr._core.cluster.comm import (
    Connections,
    Endpoint,
    LostConnectionError,
    SocketComm,
)
from sklearn_ltr._core.cluster.engine import Arguments, Loaded, LostWorkerError
from sklearn_ltr._core.cluster.fit import WorkerData, WorkerResult, fit_on_worker
from sklearn_ltr._core.cluster.summaries import Summary, rows_in_queries, summarize
from sklearn_ltr._core.cluster.tables import Partition
from sklearn_ltr._core.typing import IntArray

PLACE_SECONDS = 60  # for CPUs to become free
END_SECONDS = 60  # for the other workers to end after one has failed
TELL_SECONDS = 10  # for a worker to answer
N_CALLS = 4  # of an actor at once: while it fits, it can be told to end


class RayEngine:
    """A Ray cluster as an `Engine`; see :mod:`sklearn_ltr._core.cluster.engine`.

    Parameters
    ----------
    datasets : dict of Dataset
        By suffix, "" or "_val".
    n_workers : int or None
        Most actors.  None: one for each machine.
    n_jobs : int or None
        CPUs of each.  None or negative: as many as the machines have.
    """

    def __init__(
        self, datasets: dict[str, Any], n_workers: int | None, n_jobs: int | None
    ) -> None:
        self._datasets, self._n_workers, self._n_jobs = datasets, n_workers, n_jobs
        # names of columns, and references to Arrow tables
        self._tables: dict[str, tuple[list[str], list[Any]]] = {}
        self._features: list[str] = []
        self._actors: dict[str, Any] = {}
        self._nodes: list[str] = []  # ids of their machines
        self._placement: Any = None

    def load(self, arguments: Arguments, suffix: str) -> Loaded:
        """Start the actors; a part is a `Block`, which its actor reads once here."""
        import ray

        if suffix == "":
            self.close()  # a fit that begins again has lost some
            self._start()
        X, (found, tables) = f"X{suffix}", self._tables[suffix]
        if not found:
            raise ValueError(f"{X} is empty: give a Dataset with rows")
        columns = {n: c for n, c in arguments.items() if n != X and c is not None}
        named = named_columns(columns)
        if suffix == "":
            self._features = [name for name in found if name not in named]
        for name, argument in (dict.fromkeys(self._features, X) | named).items():
            if name not in found:
                raise ValueError(
                    f"{argument}: the Dataset has no column {name!r}; it has "
                    f"{', '.join(found)}"
                )
        if not self._features:
            raise ValueError(f"X has no features: all its columns, {found}, are others")
        columns[X] = self._features
        blocks = [Block(table, columns) for table in tables]
        places = ray.experimental.get_object_locations(tables)
        near = [places.get(table, {}).get("node_ids", []) for table in tables]
        actors = list(self._actors.values())
        calls = [
            actors[owner].summarize.remote(block, number, suffix)
            for number, (block, owner) in enumerate(
                zip(blocks, deal_blocks(near, self._nodes), strict=True)
            )
        ]
        return blocks, results_of(calls)

    def move(self, part: Block, suffix: str, queries: IntArray, source: str) -> Block:
        """Return a block of the rows of some queries, which Ray will bring."""
        actor = self._actors[source]
        return part._replace(table=actor.select.remote(part, suffix, queries))

    def run(
        self, state: object, given: dict[str, list[WorkerData]], is_validated: bool
    ) -> list[WorkerResult]:
        """Let the actors fit together; return the results by rank."""
        import ray

        actors, key = [self._actors[name] for name in given], secrets.token_bytes(16)
        endpoints = results_of([actor.listen.remote(key) for actor in actors])
        pickled = ray.put(ray.cloudpickle.dumps(state))
        calls = [
            actor.fit.remote(pickled, rank, endpoints, data, is_validated)
            for rank, (actor, data) in enumerate(
                zip(actors, given.values(), strict=True)
            )
        ]
        try:
            return results_of(calls)
        except Exception as error:
            reason = f"another worker ended the fit: {error}"
        # The others end, too, also one that waits for the connection of a neighbour
        for actor in actors:
            actor.abort.remote(reason)
        ray.wait(calls, num_returns=len(calls), timeout=END_SECONDS)
        errors = list(map(error_of, calls))
        first = min(filter(None, errors), key=importance)
        if isinstance(first, LostWorkerError):
            for actor, own in zip(actors, errors, strict=True):
                if not isinstance(own, LostWorkerError):
                    with suppress(ray.exceptions.RayError):
                        kept = ray.get(actor.fitted.remote(), timeout=TELL_SECONDS)
                        first.fitted += (kept,)
        raise first

    def close(self) -> None:
        """End the actors, and free what was reserved for them."""
        import ray

        for actor in self._actors.values():
            ray.kill(actor)
        self._actors = {}
        if self._placement is not None:
            ray.util.remove_placement_group(self._placement)
            self._placement = None

    def _start(self) -> None:
        """Reserve CPUs for all actors at once, and start them."""
        import ray
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        machines = [
            int(machine["Resources"].get("CPU", 0))
            for machine in ray.nodes()
            if machine["Alive"]
        ]
        n_actors, n_cpus = divide_cpus(machines, self._n_workers, self._n_jobs)
        if not self._tables:  # before all CPUs are reserved, since this takes some
            for suffix, dataset in self._datasets.items():
                held = dataset.materialize()
                if held.num_blocks() < n_actors:
                    held = held.repartition(n_actors).materialize()
                self._tables[suffix] = held.columns() or [], held.to_arrow_refs()
        self._placement = ray.util.placement_group(
            [{"CPU": n_cpus}] * n_actors, strategy="SPREAD"
        )
        if not self._placement.wait(PLACE_SECONDS):
            free = ray.available_resources().get("CPU", 0)
            raise RuntimeError(
                f"the fit needs {n_actors} workers of {n_cpus} CPUs at once, and the "
                f"Ray cluster had {free:g} CPUs free after {PLACE_SECONDS} s: give "
                "smaller n_workers or n_jobs, or end what uses the others"
            )
        for number in range(n_actors):
            name = f"worker {number:06}"  # in this order they are ranks
            place = PlacementGroupSchedulingStrategy(self._placement, number)
            actor = ray.remote(
                num_cpus=n_cpus, max_concurrency=N_CALLS, scheduling_strategy=place
            )(Worker)
            self._actors[name] = actor.remote(name, n_cpus)
        places = ray.util.placement_group_table(self._placement)["bundles_to_node_id"]
        self._nodes = [places[number] for number in range(n_actors)]


def divide_cpus(
    machines: list[int], n_workers: int | None, n_jobs: int | None
) -> tuple[int, int]:
    """Return the number of workers that machines have room for, and CPUs of each."""
    machines = [n_cpus for n_cpus in machines if n_cpus > 0]
    wanted = len(machines) if n_workers is None else n_workers
    largest = max(machines, default=0)

    def n_places(n_cpus: int) -> int:
        return sum(machine // n_cpus for machine in machines)

    if n_jobs is None or n_jobs < 0:
        enough = [k for k in range(1, largest + 1) if n_places(k) >= wanted]
        n_jobs = max(enough, default=1)
    if n_places(n_jobs) == 0:
        raise ValueError(
            f"n_jobs={n_jobs}, but no machine of the Ray cluster has more than "
            f"{largest} CPUs"
        )
    return min(wanted, n_places(n_jobs)), n_jobs


def deal_blocks(near: list[list[str]], machines: list[str]) -> list[int]:
    """Return which actor reads each block: one on a machine that has it, if possible.

    The machines are those `near` each block, and those of the actors.
    """
    most = -(-len(near) // len(machines))
    n_blocks, owners = [0] * len(machines), []
    for holders in near:
        free = [actor for actor, n in enumerate(n_blocks) if n < most]
        owner = min(free, key=lambda a: (machines[a] not in holders, n_blocks[a]))
        n_blocks[owner] += 1
        owners.append(owner)
    return owners


def named_columns(columns: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments of `fit` by the columns that they name."""
    named = {}
    for argument, given in columns.items():
        several = isinstance(given, list) and argument.startswith("y")
        for name in given if several else [given]:
            if not isinstance(name, str):
                raise TypeError(
                    f"{argument} must be the name of a column of X, got "
                    f"{type(name).__name__}"
                )
            named[name] = argument
    return named


def results_of(calls: list[Any], timeout: float | None = None) -> list[Any]:
    """Return what actors have returned, or raise the first error as they raised it."""
    import ray
    from ray.exceptions import GetTimeoutError, RayError, RayTaskError

    try:
        found: list[Any] = ray.get(calls, timeout=timeout)
    except RayTaskError as error:
        raise error.cause from error
    except GetTimeoutError:
        raise
    except RayError as error:
        raise LostWorkerError(
            "a worker of the fit was lost, so the fit stopped and left the estimator "
            f"as it was: fit again (on more workers if the memory did not suffice). "
            f"Ray: {error}"
        ) from error
    return found


def error_of(call: Any) -> Exception | None:
    """Return the error of an actor's call; None if it has none, or has not ended."""
    from ray.exceptions import GetTimeoutError

    try:
        results_of([call], timeout=0)
    except GetTimeoutError:
        pass
    except Exception as error:
        return error
    return None


def importance(error: Exception) -> int:
    """Return the place of an error among those of all actors, of which one is told."""
    # a worker whose connection was lost does not know the cause
    return (
        0
        if isinstance(error, LostWorkerError)
        else 1 + isinstance(error, LostConnectionError)
    )


# --- in actors ------------------------------------------------------------------------


class Block(NamedTuple):
    """Rows of a dataset, which are read again and again."""

    table: Any  # ObjectRef of a pyarrow.Table
    columns: dict[str, Any]  # by argument of `fit`: a name; a list of X, several labels

    @property
    def names(self) -> list[str]:
        """Return the names of the arguments."""
        return list(self.columns)

    def read(self, names: list[str] | None = None) -> Partition:
        """Return some of the arguments; all if `names` is None."""
        import ray

        table, found = ray.get(self.table), {}
        for name in self.names if names is None else names:
            chosen = self.columns[name]
            if isinstance(chosen, list):
                found[name] = features_of(table, chosen)
            elif name.startswith("groups"):
                found[name] = table[chosen].to_numpy()
            else:
                found[name] = numbers_of(table[chosen])
        return found


class Worker:
    """An actor that reads blocks, and fits them together with the other actors."""

    def __init__(self, name: str, n_threads: int) -> None:
        self._name, self._n_threads = name, n_threads

    def summarize(self, block: Block, number: int, suffix: str) -> Summary | None:
        """Return the summary of a block."""
        return summarize(block.read(), number, suffix, self._name, "", np.inf)

    def select(self, block: Block, suffix: str, queries: IntArray) -> Any:
        """Return the rows of some queries, a table."""
        import ray

        (groups,) = block.read([f"groups{suffix}"]).values()
        return ray.get(block.table).take(rows_in_queries(groups, queries))

    def listen(self, key: bytes) -> Endpoint:
        """Listen for the connections of others; return where."""
        import ray

        host = ray.util.get_node_ip_address()
        self._connections = Connections(key, self._name, host, host)
        return self._connections.endpoint()

    def fit(
        self,
        state: bytes,
        rank: int,
        endpoints: list[Endpoint],
        data: list[WorkerData],
        is_validated: bool,
    ) -> WorkerResult:
        """Fit together with the others."""
        comm = SocketComm(
            rank, endpoints, self._connections, self._n_threads, print_line
        )
        parts, numbers = [own.parts for own in data], [own.numbers for own in data]
        return fit_on_worker(state, comm, parts, numbers, is_validated)

    def abort(self, reason: str) -> None:
        """End the exchanges of a fit."""
        self._connections.abort(reason)

    def fitted(self) -> bytes:
        """Return what is kept of a fit that has ended early."""
        return self._connections.fitted()


def print_line(line: str) -> None:
    """Print a line where Ray shows it to the user."""
    print(line, flush=True)
