"""Feature tables, of which a fit reads some rows or some columns at a time.

A fit sees a `Table`, of one class for each kind of storage: `DenseTable` and
`SparseTable` here, and those that are handed in, whose bins are known or of which a
partition at a time is in memory.  A prediction sees a `Matrix`, once and whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_ltr._core.compile import (
    ThreadTeam,
    as_kernel_argument,
    is_plain,
    kernel,
    uint64,
)
from sklearn_ltr._core.data.binned_columns import BinnedColumns
from sklearn_ltr._core.data.row_hashes import (
    ROWS_PER_HASH_TASK,
    HashArray,
    add_nonzero_hashes,
    add_value_hashes,
    keys_of_columns,
)

# An ndarray of shape (n_rows, n_features), or a CSR matrix of that shape without
# duplicate entries; Any, since scipy has no types.  A CSR matrix is never made dense as
# a whole.
Matrix: TypeAlias = Any
ColumnReader = Callable[[int, int], NDArray[np.floating]]

ROWS_PER_TILE = 512  # so few rows of some columns stay in the CPU's cache


class RowBinner(Protocol):
    """Turns the values of a matrix into bins."""

    def bin_rows(
        self, X: Matrix, rows: NDArray[np.intp], team: ThreadTeam
    ) -> NDArray[np.uint8]:
        """Return the bins of some rows, (n_features, n_rows)."""

    def bin_nonzeros(self, X: Matrix, team: ThreadTeam) -> BinnedColumns:
        """Return the bins of a CSR matrix."""


class Table(Protocol):
    """The features of the rows that a fit is given."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""

    @property
    def size(self) -> int:
        """Number of values that are stored."""

    @property
    def is_sparse(self) -> bool:
        """Whether its columns may be stored by their entries."""

    @property
    def known_bins(self) -> Any | None:
        """Bins that another fit has learned from these rows, None if none has."""

    def take(
        self, rows: NDArray[np.intp], features: NDArray[np.int64] | None = None
    ) -> Matrix:
        """Return the values of some rows, of some or of all features."""

    def columns(self, rows: NDArray[np.intp]) -> ColumnReader:
        """Return a function of (first, last) that reads these features of rows."""

    def by_column(self, rows: NDArray[np.intp]) -> Matrix | None:
        """Return some rows as a CSC matrix of nonzeros; None if they are not sparse."""

    def hashes(self, rows: NDArray[np.intp], team: ThreadTeam) -> HashArray:
        """Return the hash of the content of each of these rows."""

    def bin(
        self, binner: RowBinner, rows: NDArray[np.intp], team: ThreadTeam
    ) -> BinnedColumns:
        """Return the bins of some rows."""

    def parts(self) -> Iterator[tuple[int, Matrix]]:
        """Yield (number of the first row, values) of the parts that it consists of."""


def table_of(X: Matrix) -> Table:
    """Return a matrix as a table."""
    return SparseTable(X) if issparse(X) else DenseTable(X)


@dataclass(frozen=True, eq=False)
class MatrixTable:
    """A matrix in memory."""

    values: Matrix
    known_bins: ClassVar[None] = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        n_rows, n_features = self.values.shape
        return n_rows, n_features

    @property
    def size(self) -> int:
        """Number of values that are stored."""
        return int(self.values.size)

    def hashes(self, rows: NDArray[np.intp], team: ThreadTeam) -> HashArray:
        """Return the hash of the content of each of these rows."""
        return hash_values(self.values, rows, team)

    def parts(self) -> Iterator[tuple[int, Matrix]]:
        """Yield (0, values): there is one part."""
        yield 0, self.values


class DenseTable(MatrixTable):
    """An ndarray of shape (n_rows, n_features)."""

    is_sparse: ClassVar[bool] = False

    def take(
        self, rows: NDArray[np.intp], features: NDArray[np.int64] | None = None
    ) -> Matrix:
        """Return the values of some rows, of some or of all features."""
        values = self.values
        if features is not None:
            return values[np.ix_(rows, features)]
        # `take` is faster, but copies a table of another layout as a whole
        return values.take(rows, axis=0) if is_plain(values) else values[rows]

    def columns(self, rows: NDArray[np.intp]) -> ColumnReader:
        """Return a function of (first, last) that reads these features of rows."""
        values = self.values
        if not is_plain(values):  # not copied as a whole
            return lambda first, last: np.asfortranarray(values[rows, first:last])
        table, numbers = as_kernel_argument(values), as_kernel_argument(rows)

        def read_columns(first: int, last: int) -> NDArray[np.floating]:
            columns = np.empty((last - first, len(rows)), dtype=values.dtype)
            copy_columns(table, numbers, first, columns)
            return columns.T

        return read_columns

    def by_column(self, rows: NDArray[np.intp]) -> None:
        """Return None: the rows are not sparse."""

    def bin(
        self, binner: RowBinner, rows: NDArray[np.intp], team: ThreadTeam
    ) -> BinnedColumns:
        """Return the bins of some rows."""
        return BinnedColumns(binner.bin_rows(self.values, rows, team))


class SparseTable(MatrixTable):
    """A CSR matrix of shape (n_rows, n_features) without duplicate entries."""

    is_sparse: ClassVar[bool] = True

    def take(
        self, rows: NDArray[np.intp], features: NDArray[np.int64] | None = None
    ) -> Matrix:
        """Return the values of some rows, of some or of all features."""
        taken = self.values[rows]
        return taken if features is None else taken[:, features]

    def columns(self, rows: NDArray[np.intp]) -> ColumnReader:
        """Return a function of (first, last) that reads these features of rows."""
        by_column = self.values[rows].tocsc()
        return lambda first, last: by_column[:, first:last].toarray(order="F")

    def by_column(self, rows: NDArray[np.intp]) -> Matrix:
        """Return some rows as a CSC matrix of nonzeros."""
        return nonzeros_by_column(self.values[rows])

    def bin(
        self, binner: RowBinner, rows: NDArray[np.intp], team: ThreadTeam
    ) -> BinnedColumns:
        """Return the bins of some rows."""
        return binner.bin_nonzeros(self.values[rows], team)


# --- matrices -------------------------------------------------------------------------


def dense_rows(X: Matrix, rows: NDArray[np.intp] | slice) -> NDArray[np.floating]:
    """Return some rows as an ndarray; `rows` is a slice or an array of row numbers."""
    part: NDArray[np.floating] = X[rows].toarray() if issparse(X) else X[rows]
    return part


def nonzeros_by_column(X: Matrix) -> Matrix:
    """Return a CSR matrix as a new CSC matrix, in which no 0 is stored."""
    by_column = X.tocsc()
    by_column.eliminate_zeros()
    return by_column


def contiguous_rows(
    X: Matrix, rows: NDArray[np.intp]
) -> tuple[NDArray[np.floating], NDArray[np.intp]]:
    """Return (table, rows of it) for a kernel; at most the rows are copied."""
    if issparse(X) or not is_plain(X):
        X, rows = dense_rows(X, rows), np.arange(len(rows), dtype=np.intp)
    return as_kernel_argument(X), as_kernel_argument(rows)


def hash_values(X: Matrix, rows: NDArray[np.intp], team: ThreadTeam) -> HashArray:
    """Return the hashes of some rows of a matrix, (n_rows,)."""
    column_keys = keys_of_columns(np.arange(X.shape[1]))
    hashes = np.zeros(len(rows), dtype=np.uint64)
    if issparse(X):
        by_row = X[rows]
        add_nonzero_hashes(
            as_kernel_argument(by_row.data),
            as_kernel_argument(by_row.indices),
            as_kernel_argument(by_row.indptr),
            column_keys,
            hashes,
        )
        return hashes

    def hash_part(first: int) -> None:
        part = slice(first, first + ROWS_PER_HASH_TASK)
        table, table_rows = contiguous_rows(X, rows[part])
        with np.errstate(over="ignore"):  # numpy warns where nothing is compiled
            add_value_hashes(table, table_rows, column_keys, hashes[part])

    team.map(hash_part, range(0, len(rows), ROWS_PER_HASH_TASK))
    return hashes


@kernel
def copy_columns(
    X: NDArray[np.floating],
    rows: NDArray[np.intp],
    first: int,
    columns: NDArray[np.floating],
) -> None:
    """Copy some rows of the features from `first` on, to one row per feature."""
    # tile by tile, so that the values of a row come into the cache once
    for start in range(0, len(rows), ROWS_PER_TILE):
        stop = min(start + ROWS_PER_TILE, len(rows))
        for j in range(len(columns)):
            feature = uint64(first + j)
            for i in range(uint64(start), uint64(stop)):
                columns[uint64(j), i] = X[uint64(rows[i]), feature]
