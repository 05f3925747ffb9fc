"""Graphs of partitions, by which their rows are computed where they are needed.

A partition that is read from files takes no memory between two readings.
"""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np

Graph = dict[Any, Any]
Partition = dict[str, Any]  # the rows of each argument of `fit` that was given

MOST_BYTES = 2**20  # of pickled graphs: larger ones hold the rows themselves


class PartitionGraph(NamedTuple):
    """The graphs of the arguments of one partition, pickled."""

    graphs: bytes  # a dict of (graph, key) by the name of the argument

    def read(self, names: list[str] | None = None) -> Partition:
        """Compute some of the arguments, None: all; in this thread."""
        import cloudpickle
        import dask

        graphs = cloudpickle.loads(self.graphs)
        return {
            name: dask.get(*graphs[name])
            for name in (graphs if names is None else names)
        }

    def names(self) -> list[str]:
        """Return the names of the arguments."""
        import cloudpickle

        return list(cloudpickle.loads(self.graphs))


class NotRepeatableError(Exception):
    """A graph holds rows, or refers to rows that the cluster holds."""


def read_part(
    part: Partition | PartitionGraph, names: list[str] | None = None
) -> Partition:
    """Return some of the arguments of a partition, None: all."""
    if isinstance(part, PartitionGraph):
        return part.read(names)
    return part if names is None else {name: part[name] for name in names}


def names_of(part: Partition | PartitionGraph) -> list[str]:
    """Return the names of the arguments of a partition."""
    return part.names() if isinstance(part, PartitionGraph) else list(part)


def make_partition_graphs(
    partitions: list[dict[str, Any]],
) -> list[PartitionGraph | None]:
    """Return a graph of each partition, None of those that have to be kept.

    Kept is what the cluster holds already, what was given with the graph, and what
    would take more work than one partition: where partitions depend on each other, as
    after a shuffle.

    Parameters
    ----------
    partitions : list of dict
        Delayed objects by the names of the arguments.
    """
    graphs = [
        {name: (culled(part), part.key) for name, part in partition.items()}
        for partition in partitions
    ]
    n_users: dict[Any, int] = {}
    for of_partition in graphs:
        for key in {key for graph, _ in of_partition.values() for key in graph}:
            n_users[key] = n_users.get(key, 0) + 1
    return [
        None
        if any(
            n_users[key] > 1 and not is_data(node)
            for graph, _ in of_partition.values()
            for key, node in graph.items()
        )
        else pickle_graphs(of_partition)
        for of_partition in graphs
    ]


def culled(part: Any) -> Graph:
    """Return the tasks that a delayed object needs."""
    from dask.optimization import cull

    graph: Graph = cull(part.__dask_graph__(), [part.key])[0]
    return graph


def is_data(node: Any) -> bool:
    """Return whether a node of a graph is no task."""
    return hasattr(node, "value") or isinstance(node, np.ndarray)


def is_complete(graph: Graph) -> bool:
    """Return whether a graph needs nothing else, which the cluster has."""
    return all(
        key in graph
        for node in graph.values()
        for key in getattr(node, "dependencies", ())
    )


def pickle_graphs(graphs: dict[str, tuple[Graph, Any]]) -> PartitionGraph | None:
    """Pickle the graphs of a partition; None if they cannot be computed again."""
    import cloudpickle
    from distributed import Future

    class GraphPickler(cloudpickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, Future):
                raise NotRepeatableError
            return super().reducer_override(value)

    if not all(is_complete(graph) for graph, _ in graphs.values()):
        return None
    file = BoundedFile()
    try:
        GraphPickler(file).dump(graphs)
    except NotRepeatableError:
        return None
    return PartitionGraph(file.getvalue())


class BoundedFile(io.BytesIO):
    """A file in memory that does not become large."""

    def write(self, part: Any) -> int:
        """Append some bytes."""
        if self.tell() + memoryview(part).nbytes > MOST_BYTES:
            raise NotRepeatableError
        return super().write(part)
