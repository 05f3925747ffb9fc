"""Binned values of a table, as they are stored: by columns of bytes, or of entries.

Where most rows of a column have the same bin, such as that of 0 in a sparse X, this is
the column's *default bin*, and only the rows in other bins are stored: an *entry* of a
row is one integer,

    entry = (column << 39) + (bin << 31) + row,

so that entries in ascending order are sorted by column, bin and row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import ThreadTeam

ROW_BITS, BIN_BITS = 31, 8
COLUMN_SHIFT = ROW_BITS + BIN_BITS
ROW_MASK, BIN_MASK = (1 << ROW_BITS) - 1, (1 << BIN_BITS) - 1
MOST_COLUMNS = 1 << 63 - COLUMN_SHIFT  # with entries
# A column is stored by entries if at most one of so many rows has one.  Of a row of the
# sample that a tree is grown on, an entry takes about as long as so many bytes.
ROWS_PER_ENTRY = 16


class SparseColumns(NamedTuple):
    """Columns of which the rows that are not in the default bin are stored."""

    feature: NDArray[np.int64]  # (n_columns,), ascending
    default_bin: NDArray[np.uint8]  # (n_columns,)
    entries: NDArray[np.int64]  # (n_entries,), ascending
    n_rows: int

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the entries of each column begin and end: (n_columns + 1,)."""
        columns = np.arange(len(self.feature) + 1) << COLUMN_SHIFT
        return np.searchsorted(self.entries, columns).astype(np.int64)

    def take(self, rows: NDArray[np.intp]) -> SparseColumns:
        """Return these rows; one may be named more than once."""
        row = self.entries & ROW_MASK
        by_row = np.argsort(row, kind="stable")
        first = np.searchsorted(row[by_row], np.arange(self.n_rows + 1))
        sizes = np.diff(first)[rows]
        ends = np.cumsum(sizes)
        places = np.arange(len(rows)).repeat(sizes)
        taken = np.arange(len(places)) + (first[rows] - ends + sizes).repeat(sizes)
        entries = self.entries[by_row[taken]] & ~ROW_MASK | places
        entries.sort()
        return self._replace(entries=entries, n_rows=len(rows))

    def reorder(self, order: NDArray[np.intp]) -> None:
        """Move row ``order[i]`` to row i, in place."""
        place = np.empty(self.n_rows, dtype=np.int64)
        place[order] = np.arange(self.n_rows)
        row = self.entries & ROW_MASK
        np.bitwise_and(self.entries, ~ROW_MASK, out=self.entries)
        np.bitwise_or(self.entries, place[row], out=self.entries)
        self.entries.sort()

    def write_column(self, number: int, column: NDArray[np.uint8]) -> None:
        """Write the bins of all rows of a column, (n_rows,)."""
        bounds = np.array([number, number + 1]) << COLUMN_SHIFT
        entries = self.entries[slice(*np.searchsorted(self.entries, bounds))]
        column[:] = self.default_bin[number]
        column[entries & ROW_MASK] = entries >> ROW_BITS & BIN_MASK


class BinnedColumns(NamedTuple):
    """Each feature is a column of bytes, or one of the sparse columns."""

    columns: NDArray[np.uint8]  # (n_columns, n_rows): of the other features, in order
    sparse: SparseColumns | None = None  # None: there are none

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.columns.shape[1])

    def places(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the column of each feature, as ``-1 - c`` if it is sparse column c."""
        if self.sparse is None:
            return features
        sparse = self.sparse.feature
        number = np.searchsorted(sparse, features)  # also of sparse ones before it
        is_sparse = np.append(sparse, -1)[number] == features
        return np.where(is_sparse, -1 - number, features - number)

    def columns_of(self, features: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the bins of some features, (n, n_rows)."""
        columns = np.empty((len(features), self.n_rows), dtype=np.uint8)
        for column, place in zip(columns, self.places(features).tolist(), strict=True):
            if place >= 0:
                column[:] = self.columns[place]
            elif self.sparse is not None:
                self.sparse.write_column(-1 - place, column)
        return columns

    def take(self, rows: NDArray[np.intp], team: ThreadTeam) -> BinnedColumns:
        """Return some rows; if these are all in order, without a copy."""
        if np.array_equal(rows, np.arange(self.n_rows)):
            return self
        taken = np.empty((len(self.columns), len(rows)), dtype=np.uint8)

        def take_column(column: NDArray[np.uint8], target: NDArray[np.uint8]) -> None:
            target[:] = column[rows]

        team.map(take_column, self.columns, taken)
        sparse = None if self.sparse is None else self.sparse.take(rows)
        return BinnedColumns(taken, sparse)

    def reorder(self, order: NDArray[np.intp], team: ThreadTeam) -> None:
        """Move row ``order[i]`` to row i, in place."""

        def reorder_column(column: NDArray[np.uint8]) -> None:
            column[:] = column[order]

        team.map(reorder_column, self.columns)
        if self.sparse is not None:
            self.sparse.reorder(order)


def stored_by_entries(n_entries: NDArray[np.integer], n_rows: int) -> NDArray[np.bool_]:
    """Return which columns are stored by their entries, given how many these are."""
    if len(n_entries) > MOST_COLUMNS:
        raise ValueError(
            f"X has {len(n_entries):,} columns, but trees take at most "
            f"{MOST_COLUMNS:,}: hash features to fewer, or leave out rare ones"
        )
    sparse = n_entries * ROWS_PER_ENTRY <= n_rows
    sparse[np.argmax(n_entries)] = False  # growth needs a column of bytes
    return np.asarray(sparse)


def sort_entries(
    column: NDArray[np.int64], bins: NDArray[np.integer], rows: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Return the entries of rows in bins of columns; `column` is overwritten."""
    entries = column
    entries <<= BIN_BITS
    entries |= bins
    entries <<= ROW_BITS
    entries |= rows
    entries.sort()
    return entries
