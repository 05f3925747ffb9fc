"""The partitions of the arguments of `fit`: their reading, and a summary of each.

A partition that can be computed again, from files for example, is read once where the
memory of its worker allows (`open_part`); else it is kept as its graph only
(`PartitionGraph`), so its rows take no memory between two readings.  The cluster keeps
the others.
"""

from __future__ import annotations

import io
import sys
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from sklearn_ltr._core.data import QueryGroups, check_grades, read_numbers
from sklearn_ltr._core.data.features import CATEGORICAL, check_finite, is_frame
from sklearn_ltr._core.data.groups import QueryIds
from sklearn_ltr._core.data.labels import n_label_columns, read_label_grades
from sklearn_ltr._core.data.rows import check_indices, index_rows, n_rows
from sklearn_ltr._core.typing import FloatArray, IntArray

Graph = dict[Any, Any]
Collections = dict[str, Any]  # of Dask by argument of `fit`, None: not given
Partition = dict[str, Any]  # the rows of each argument of `fit` that was given
MOST_BYTES = 2**20  # of pickled graphs: larger ones hold the rows themselves
# Share of a worker's memory.  If the memory that it uses, its rows, and the needs of a
# fit together exceed it, the worker keeps no rows, and reads them when they are needed
USED_SHARE = 0.5
BYTES_PER_ROW = 170  # that a fit needs, besides a byte for each feature

# inferred by pandas
NUMBERS = ("integer", "floating", "mixed-integer-float", "boolean")


class Summary(NamedTuple):
    """The columns, queries, grades and weights of a partition, and its worker."""

    columns: Any  # of X: names, or their number
    categorical: list[str]  # columns of a categorical dtype
    query_ids: QueryIds  # of its queries, sorted
    sizes: IntArray  # (n_queries,): rows of each
    y_columns: tuple[str, ...]  # names of several labels; () of one
    lowest: FloatArray  # (n_queries, n_labels): grade of each; NaN: none
    highest: FloatArray
    lowest_weight: FloatArray
    highest_weight: FloatArray
    worker: str  # address of the worker that has the partition
    worker_id: str  # of its process
    room: float  # bytes more that it may use


def is_collection(values: Any) -> bool:
    """Return whether this is a Dask collection."""
    from dask import is_dask_collection

    return bool(is_dask_collection(values))


def delayed_partitions(arguments: Collections) -> list[dict[str, Any]]:
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
    return graph._replace(summary=summarize(partition, number, suffix))


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


def summarize(
    part: Partition | PartitionGraph, number: int, suffix: str
) -> Summary | None:
    """Return the summary of a partition, or None if it has no rows; run where it is."""
    from distributed import get_worker

    if isinstance(part, PartitionGraph):
        return part.summary
    X, worker, room = part[f"X{suffix}"], get_worker(), room_left()
    n = int(X.shape[0])
    try:
        for name, values in part.items():
            if not name.startswith("X") and len(values) != n:
                raise ValueError(
                    f"{name} has {len(values)} rows, but X{suffix} has {n}: give one "
                    "value per row"
                )
        if n == 0:
            return None
        name = f"groups{suffix}"
        queries = QueryGroups.from_groups(part[name], n, name)
        y, names = part[f"y{suffix}"], tuple[str, ...]()
        if n_label_columns(y) > 1:
            read = read_label_grades(y, queries, None, f"y{suffix}")
            grades, names = read.values.T, read.names
        else:
            grades = check_grades(y, queries, f"y{suffix}")[:, np.newaxis]
        name = f"sample_weight{suffix}"
        weights = np.ones(n)
        if name in part:
            weights = queries.sort(read_numbers(part[name], n, name))
        columns, categorical = read_columns(X, f"X{suffix}")
    except (TypeError, ValueError) as error:
        raise type(error)(f"partition {number}: {error}") from error
    starts = queries.offsets[:-1]
    return Summary(
        columns,
        categorical,
        queries.query_ids,
        queries.sizes,
        names,
        np.fmin.reduceat(grades, starts),
        np.fmax.reduceat(grades, starts),
        np.minimum.reduceat(weights, starts),
        np.maximum.reduceat(weights, starts),
        worker.address,
        worker.id,
        room,
    )


def read_columns(X: Any, argument: str) -> tuple[Any, list[str]]:
    """Return the columns of X, names or their number, and the categorical ones.

    Raise a ValueError that names the first infinite value.
    """
    if issparse(X):
        check_indices(X, argument)
        X = X.tocsr()
    if not is_frame(X):
        if X.dtype.kind == "f":
            check_finite(X, argument, allow_nan=True)
        return int(X.shape[1]), []
    categorical = []
    for column, given in zip(X.columns, X.dtypes, strict=True):
        dtype = str(given).lower()
        if dtype.startswith(CATEGORICAL):
            categories = getattr(given, "categories", None)
            has_numbers = getattr(categories, "inferred_type", "") in NUMBERS
            categorical.append(f"{column} of numbers" if has_numbers else str(column))
        if "float" in dtype:
            bad = np.isinf(X[column].to_numpy(dtype=np.float64))
            if bad.any():
                raise ValueError(
                    f"{argument} contains infinity (inf) at row {int(np.argmax(bad))}, "
                    f"column {column!r}: replace it"
                )
    return [str(name) for name in X.columns], categorical


def check_alike(summaries: list[Summary | None], suffix: str) -> None:
    """Raise a ValueError if partitions of X or y have different columns."""
    name = f"X{suffix}"
    kept = [(n, s) for n, s in enumerate(summaries) if s is not None]
    for number, other in kept[1:]:
        first_number, first = kept[0]
        if other.columns != first.columns:
            raise ValueError(
                f"the partitions of {name} have different columns: {first.columns} in "
                f"partition {first_number} and {other.columns} in partition {number}: "
                "give partitions with the same columns, such as ddf[columns]"
            )
        if other.y_columns != first.y_columns:
            raise ValueError(
                f"the partitions of y{suffix} have different columns: "
                f"{list(first.y_columns)} in partition {first_number} and "
                f"{list(other.y_columns)} in partition {number}; give a column for "
                "each label in every partition"
            )
        if other.categorical != first.categorical:
            raise ValueError(
                f"the partitions of {name} have different categorical columns: "
                f"{first.categorical} in partition {first_number} and "
                f"{other.categorical} in partition {number}: convert them alike, by "
                "ddf.astype(...)"
            )


def select_queries(
    part: Partition | PartitionGraph, suffix: str, chosen: IntArray
) -> Partition:
    """Return the rows of some queries of a partition; run where it is."""
    partition = read_part(part)
    rows = rows_in_queries(partition[f"groups{suffix}"], chosen)
    return {name: index_rows(values, rows) for name, values in partition.items()}


def rows_in_queries(groups: Any, chosen: IntArray) -> NDArray[np.intp]:
    """Return the rows of some queries, which are numbered in the order of ids."""
    queries = QueryGroups.from_groups(groups, n_rows(groups), "groups")
    return np.flatnonzero(np.isin(queries.query_of_row, chosen))


def join_rows(parts: list[Partition]) -> Partition:
    """Return the rows of several partitions, in order."""
    joined: Partition = {}
    for name in parts[0] if parts else ():
        values = [part[name] for part in parts]
        if len(values) == 1:
            joined[name] = values[0]
        elif hasattr(values[0], "iloc"):
            from dask.dataframe.dispatch import concat

            joined[name] = concat(values)
        elif issparse(values[0]):
            joined[name] = vstack(values, format="csr")
        else:
            joined[name] = np.concatenate(values)
    return joined


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


def read_part(
    part: Partition | PartitionGraph, names: list[str] | None = None
) -> Partition:
    """Return some of the arguments of a partition; all if `names` is None."""
    if isinstance(part, PartitionGraph):
        return part.read(names)
    return part if names is None else {name: part[name] for name in names}


def names_of(part: Partition | PartitionGraph) -> list[str]:
    """Return the names of the arguments of a partition."""
    return part.names if isinstance(part, PartitionGraph) else list(part)


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
