"""Feature tables, dense or CSR, read some rows or some columns at a time.

A sparse table is never made dense as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_ltr._compile import as_kernel_argument, is_plain, kernel, uint64

# An ndarray of shape (n_rows, n_features), or a CSR matrix of that shape without
# duplicate entries; or a table of which one partition is in memory at a time, which
# has `shape`, `size`, ``X[rows]``, ``X[rows, columns]``, `tables` and `pieces`;
# or one whose bins are known, which has `shape`, `size` and ``X[rows]``.
# Any, since scipy has no types.
Table: TypeAlias = Any

ROWS_PER_TILE = 512  # so few rows of some columns stay in the CPU's cache


def is_partitioned(X: Table) -> bool:
    """Return whether only a partition of the table is in memory at a time."""
    return hasattr(X, "tables")


def row_parts(
    X: Table, needed: NDArray[np.bool_] | None = None
) -> Iterator[tuple[int, Table]]:
    """Yield (number of the first row, table) of each part that has rows of `needed`."""
    if is_partitioned(X):
        yield from X.tables(needed)
    else:
        yield 0, X


def dense_rows(X: Table, rows: Any) -> NDArray[np.floating]:
    """Return some rows as an ndarray; `rows` is a slice or an array of row numbers."""
    part: NDArray[np.floating] = X[rows].toarray() if issparse(X) else X[rows]
    return part


def contiguous_rows(
    X: Table, rows: NDArray[np.intp]
) -> tuple[NDArray[np.floating], NDArray[np.intp]]:
    """Return (table, rows of it) for a kernel; at most the rows are copied."""
    if issparse(X) or not is_plain(X):
        X, rows = dense_rows(X, rows), np.arange(len(rows), dtype=np.intp)
    return as_kernel_argument(X), as_kernel_argument(rows)


def columns_reader(X: Table, rows: NDArray[np.intp]) -> Any:
    """Return a function of (first, last) that reads these features of the rows."""
    # of a partitioned table, in the order of its rows
    if is_partitioned(X):
        readers = [columns_reader(*piece) for piece in X.pieces(np.sort(rows))]
        if len(readers) == 0:
            return lambda first, last: np.empty((0, last - first))
        if len(readers) == 1:
            return readers[0]
        return lambda first, last: (
            np.concatenate([read(first, last).T for read in readers], axis=1).T
        )
    if issparse(X):
        by_column = X[rows].tocsc()
        return lambda first, last: by_column[:, first:last].toarray(order="F")

    if not is_plain(X):  # not copied as a whole
        return lambda first, last: np.asfortranarray(X[rows, first:last])

    table, numbers = as_kernel_argument(X), as_kernel_argument(rows)

    def read_columns(first: int, last: int) -> NDArray[np.floating]:
        columns = np.empty((last - first, len(rows)), dtype=X.dtype)
        copy_columns(table, numbers, first, columns)
        return columns.T

    return read_columns


@kernel
def copy_columns(
    X: NDArray[np.floating],
    rows: NDArray[np.intp],
    first: int,
    columns: NDArray[np.floating],
) -> None:
    """Copy some rows of the features from `first` on, to one row per feature."""
    # tile by tile, so that what is read of each row is in the cache once
    for start in range(0, len(rows), ROWS_PER_TILE):
        stop = min(start + ROWS_PER_TILE, len(rows))
        for j in range(len(columns)):
            feature = uint64(first + j)
            for i in range(uint64(start), uint64(stop)):
                columns[uint64(j), i] = X[uint64(rows[i]), feature]
