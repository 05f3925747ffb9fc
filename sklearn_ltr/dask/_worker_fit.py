"""What one worker does in a fit: a task of the cluster."""

from __future__ import annotations

import hashlib
import pickle
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import QueryGroups
from sklearn_ltr.dask._exchange import DaskCollective
from sklearn_ltr.dask._partition_graphs import (
    Partition,
    PartitionGraph,
    names_of,
    read_part,
)
from sklearn_ltr.dask._partitions import (
    count_rows_of,
    join_rows,
    rows_of_queries,
    take_rows,
)
from sklearn_ltr.dask._tables import CHANGED, PartRows
from sklearn_ltr.dask._worker_ranker import WorkerRanker

IntArray = NDArray[np.int64]


def fit_on_worker(
    state: bytes,
    rank: int,
    actors: list[Any],
    numbers: list[IntArray],
    partitions: list[list[Partition | PartitionGraph]],
    chosen: list[list[IntArray | None]],
    expected: tuple[str | None, bool],
) -> tuple[str, bytes, int, int]:
    """Fit the rows of one worker; run on that worker.

    Parameters
    ----------
    state : bytes
        Attributes of the ranker, pickled.
    rank : int
    actors : list of proxies of `Exchange`
    numbers : list of ndarrays of int64
        Of the worker's queries in the order of their labels: of the training data and,
        if it has any, of the validation data.
    partitions, chosen : lists of lists
        The partitions of both, and the queries of each, None: all.
    expected : (str, bool)
        The id of this worker, and whether any worker has validation data.

    Returns
    -------
    digest : str
        Of the fitted model.
    saved : bytes
        The fitted attributes, pickled; none but from the worker of rank 0.
    n_exchanges, n_bytes : int
        See `DaskCollective`.
    """
    from distributed import get_worker, print, secede

    worker, (worker_id, is_validated) = get_worker(), expected
    if worker_id is not None and worker.id != worker_id:
        raise RuntimeError(f"the worker {worker.address} was restarted during the fit")
    secede()  # so that no other task keeps a worker from meeting the others
    arguments: Partition = {}
    number_of: dict[str, dict[Any, int]] = {}
    for own, parts, selections in zip(numbers, partitions, chosen, strict=True):
        suffix = "" if "X" in names_of(parts[0]) else "_val"
        rows = read_rows(parts, selections, suffix)
        groups = rows[f"groups{suffix}"]
        labels = QueryGroups.from_groups(groups, len(groups)).labels
        if len(labels) != len(own):
            raise RuntimeError(CHANGED.format(f"groups{suffix}"))
        number_of[suffix] = dict(zip(labels, own.tolist(), strict=True))
        arguments |= rows
    collective = DaskCollective(rank, actors, worker, partial(print, flush=True))
    local = WorkerRanker.of(pickle.loads(state)).join(
        collective,
        number_of,
        is_validated=is_validated,
        most_threads=worker.state.nthreads,
    )
    fitted = local.fit(**arguments).fitted_ranker()
    # the parameters, which may be objects of any class, are the caller's
    left_out = {"init_", *fitted.get_params(deep=False)}
    saved = pickle.dumps({n: v for n, v in vars(fitted).items() if n not in left_out})
    digest = hashlib.sha256(pickle.dumps(fitted.ensemble_)).hexdigest()
    return (
        digest,
        saved if rank == 0 else b"",
        collective.n_exchanges,
        collective.n_bytes,
    )


def read_rows(
    parts: list[Partition | PartitionGraph], chosen: list[IntArray | None], suffix: str
) -> Partition:
    """Return the arguments of one worker: X as `PartRows`, the others read.

    `chosen` are the queries of each partition, None: all.
    """
    name, of_queries = f"X{suffix}", f"groups{suffix}"
    rows: list[NDArray[np.intp] | None] = []
    others: list[Partition] = []
    for part, queries in zip(parts, chosen, strict=True):
        other = read_part(part, [n for n in names_of(part) if n != name])
        own = None if queries is None else rows_of_queries(other[of_queries], queries)
        if own is not None:
            other = {n: take_rows(values, own) for n, values in other.items()}
        rows.append(own)
        others.append(other)
    sizes = [count_rows_of(other[of_queries]) for other in others]
    joined = {n: narrowed(values) for n, values in join_rows(others).items()}
    return {name: PartRows(name, parts, rows, sizes)} | joined


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
