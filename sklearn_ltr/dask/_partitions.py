"""The partitions of Dask collections: which are read once, and which again and again.

A partition that can be computed again, from files for example, is read once where the
memory of its worker allows (`open_part`); else it is kept as its graph only
(`PartitionGraph`), so its rows take no memory between two readings.  The cluster keeps
the others.
"""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sklearn_ltr._core.cluster.summaries import BYTES_PER_ROW, Summary, summarize
from sklearn_ltr._core.cluster.tables import Partition

Graph = dict[Any, Any]
MOST_BYTES = 2**20  # of pickled graphs: larger ones hold the rows themselves
# Share of a worker's memory.  If the memory that it uses, its rows, and the needs of a
# fit together exceed it, the worker keeps no rows, and reads them when they are needed
USED_SHARE = 0.5


def is_collection(values: Any) -> bool:
    """Return whether this is a Dask collection."""
    from dask import is_dask_collection

    return bool(is_dask_collection(values))


def delayed_partitions(arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return delayed objects by argument for each partition of collections."""
    parts: dict[str, list[Any]] = {}
    for name, values in arguments.items():
        if values is None:
            continue
        if not is_collection(values) or not hasattr(values, "to_delayed"):
            raise TypeError(
                f"{name} must be a Dask DataFrame, Series or Array, got "
                f"{type(values).__name__}: give a collection, such as from "
                "dask.dataframe.from_pandas or dask.array.from_array; or fit a "
                "LambdaMARTRanker on data in memory"
            )
        if getattr(values, "ndim", 1) == 2 and hasattr(values, "rechunk"):
            values = values.rechunk({1: -1})
        parts[name] = delayed_parts(values)
    counts = {name: len(found) for name, found in parts.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(
            "the arguments must be divided into the same partitions, got "
            f"{', '.join(f'{n} of {name}' for name, n in counts.items())}: use "
            "columns of one DataFrame, or repartition (rechunk) them alike"
        )
    names = list(parts)
    return [
        dict(zip(names, part, strict=True))
        for part in zip(*parts.values(), strict=True)
    ]


def delayed_parts(values: Any) -> list[Any]:
    """Return the partitions of a Dask collection."""
    if hasattr(values, "simplify"):
        # optimized further, a column would have other partitions than the others: of
        # few bytes per row, more files are read together
        parts = values.simplify().to_delayed(optimize_graph=False)
    else:
        parts = values.to_delayed()
    found: list[Any] = np.asarray(parts, dtype=object).ravel().tolist()
    # optimized, the graph of a persisted array has lost what the cluster holds
    if found and any(part.key not in found[0].__dask_graph__() for part in found):
        parts = values.to_delayed(optimize_graph=False)
        found = np.asarray(parts, dtype=object).ravel().tolist()
    return found


def open_part(
    graph: PartitionGraph, number: int, suffix: str
) -> Partition | PartitionGraph:
    """Return the rows of a partition, or without room for them graph and summary."""
    # the worker that computes this reads the rows, once or again and again
    partition = graph.read()
    if room_left() >= 0:
        return partition
    return graph._replace(summary=summarize_part(partition, number, suffix))


def room_left() -> float:
    """Return how many bytes more this worker may use; -inf if there is no limit."""
    from distributed import get_worker

    worker = get_worker()
    limit = worker.memory_manager.memory_limit
    used: int = worker.monitor.get_process_memory()
    return -np.inf if limit is None else USED_SHARE * limit - used


def workers_with_room(summaries: list[Summary | None]) -> set[str]:
    """Return the workers that have room for a fit besides the rows that they keep."""
    room: dict[str, float] = {}
    needed: dict[str, float] = {}
    for s in summaries:
        if s is not None:
            n_features = s.columns if isinstance(s.columns, int) else len(s.columns)
            n_bytes = (BYTES_PER_ROW + n_features) * int(s.sizes.sum())
            needed[s.worker] = needed.get(s.worker, 0) + n_bytes
            room[s.worker] = min(room.get(s.worker, np.inf), s.room)
    return {worker for worker in room if needed[worker] <= room[worker]}


def summarize_part(
    part: Partition | PartitionGraph, number: int, suffix: str
) -> Summary | None:
    """Return the summary of a partition, or None if it has no rows; run where it is."""
    from distributed import get_worker

    if isinstance(part, PartitionGraph):
        return part.summary
    worker = get_worker()
    return summarize(part, number, suffix, worker.address, worker.id, room_left())


# --- partitions that are computed again -----------------------------------------------


class PartitionGraph(NamedTuple):
    """The graphs of the arguments of one partition, pickled."""

    names: list[str]  # of the arguments
    graphs: bytes  # a dict of (graph, key) by the name of the argument
    summary: Summary | None = None  # once it was read; None also if it has no rows

    def read(self, names: list[str] | None = None) -> Partition:
        """Compute some of the arguments in this thread; all if `names` is None."""
        import cloudpickle
        import dask

        graphs = cloudpickle.loads(self.graphs)
        names = self.names if names is None else names
        together: Graph = {}  # a file that several arguments need is read once
        for name in names:
            together |= graphs[name][0]
        keys = [graphs[name][1] for name in names]
        values = dask.get(together, keys)
        arrow = sys.modules.get("pyarrow")
        if arrow is not None:  # it would keep the memory that it has read files with
            arrow.default_memory_pool().release_unused()
        return dict(zip(names, values, strict=True))


class NotRepeatableError(Exception):
    """A graph holds rows, or refers to rows that the cluster holds."""


def make_partition_graphs(
    partitions: list[dict[str, Any]],
) -> list[PartitionGraph | None]:
    """Return the graph of each partition, or None if it has to be kept."""
    # Kept are partitions that the cluster holds already, that were given with the
    # graph, or that would take more work than one partition: where partitions depend on
    # each other, as after a shuffle.
    from dask.optimization import cull

    graphs: list[dict[str, tuple[Graph, Any]]] = []
    n_users = Counter[Any]()
    for partition in partitions:
        own = {}
        for name, part in partition.items():
            given = part.__dask_graph__()
            # the tasks that it needs; none if the cluster holds it
            needed = cull(given, [part.key])[0] if part.key in given else {}
            own[name] = needed, part.key
        graphs.append(own)
        n_users.update({key for needed, _ in own.values() for key in needed})
    found: list[PartitionGraph | None] = []
    for own in graphs:
        shared = [
            node
            for needed, _ in own.values()
            for key, node in needed.items()
            if n_users[key] > 1
        ]
        # data, which is not computed, may be shared
        is_kept = not all(
            hasattr(n, "value") or isinstance(n, np.ndarray) for n in shared
        )
        found.append(None if is_kept else pickle_graphs(own))
    return found


def pickle_graphs(graphs: dict[str, tuple[Graph, Any]]) -> PartitionGraph | None:
    """Pickle the graphs of a partition; return None if they cannot be repeated."""
    import cloudpickle
    from distributed import Future

    class GraphPickler(cloudpickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, Future):
                raise NotRepeatableError
            return super().reducer_override(value)

    for graph, _ in graphs.values():
        needed = [
            k for node in graph.values() for k in getattr(node, "dependencies", ())
        ]
        if not graph or not all(key in graph for key in needed):
            return None
    file = BoundedFile()
    try:
        GraphPickler(file).dump(graphs)
    except NotRepeatableError:
        return None
    return PartitionGraph(list(graphs), file.getvalue())


class BoundedFile(io.BytesIO):
    """A file in memory of at most MOST_BYTES."""

    def write(self, part: Any) -> int:
        """Append some bytes."""
        if self.tell() + memoryview(part).nbytes > MOST_BYTES:
            raise NotRepeatableError
        return super().write(part)
