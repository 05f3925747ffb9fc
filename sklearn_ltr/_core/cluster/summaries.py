"""A summary of each partition, for the plan; rows that are cut out, and joined.

`summarize` runs where the partition is; only what it returns is sent to the user.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from sklearn_ltr._core.cluster.tables import Part, Partition, read_part
from sklearn_ltr._core.data import QueryGroups, check_grades, read_numbers
from sklearn_ltr._core.data.features import CATEGORICAL, check_finite, is_frame
from sklearn_ltr._core.data.groups import QueryIds
from sklearn_ltr._core.data.labels import n_label_columns, read_label_grades
from sklearn_ltr._core.data.rows import check_indices, index_rows, n_rows
from sklearn_ltr._core.typing import FloatArray, IntArray

BYTES_PER_ROW = 170  # that a fit needs, besides a byte for each feature
NUMBERS = ("integer", "floating", "mixed-integer-float", "boolean")  # of pandas


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
    worker: str  # name of the worker that has the partition, such as its address
    worker_id: str  # of its process
    room: float  # bytes more that it may use


def summarize(
    part: Partition, number: int, suffix: str, worker: str, worker_id: str, room: float
) -> Summary | None:
    """Return the summary of a partition, or None if it has no rows; run where it is."""
    X = part[f"X{suffix}"]
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
        worker,
        worker_id,
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


def select_queries(part: Part, suffix: str, chosen: IntArray) -> Partition:
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
            import pandas as pd

            kind = type(values[0])  # of pandas, or a library with frames like its own
            is_pandas = issubclass(kind, pd.DataFrame | pd.Series)
            library = pd if is_pandas else sys.modules[kind.__module__.split(".")[0]]
            with warnings.catch_warnings():  # of pandas 2, if some have no values
                warnings.simplefilter("ignore", FutureWarning)
                joined[name] = library.concat(values)
        elif issparse(values[0]):
            joined[name] = vstack(values, format="csr")
        else:
            joined[name] = np.concatenate(values)
    return joined
