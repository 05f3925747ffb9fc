"""Real-valued columns become bytes: quantile bins, laid out for the histograms.

A column has at most 255 bins of about equal population; bin ``b`` holds the values
``x`` with ``edges[b - 1] < x <= edges[b]``, and the byte 255 stands for a missing
value.  The bytes are stored in blocks of 16 columns, ``codes[block, row, place]``: a
block's histogram, 256 x 16 int64, is 32 KiB and stays in the first-level cache.
Columns with the most bins come first, so that those of a block have about as many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_ltr._compile import ThreadTeam, kernel, uint64
from sklearn_ltr.learners._tables import Table, columns_reader, dense_rows

BLOCK = 16  # columns of a block
MISSING = 255  # the bin of NaN
N_CODES = MISSING + 1
MAX_SAMPLE = 200_000  # rows from which the quantiles are read
NEIGHBOURS = 16  # columns that are read at a time: those of a row share a cache line
TILE = 512  # rows that are binned at a time
STRIDE = 16  # edges from one that all values are compared with to the next


class BinnedData(NamedTuple):
    """A table as bytes, and where its columns stand."""

    codes: NDArray[np.uint8]  # (n_blocks, n_rows, 16)
    column: NDArray[np.int64]  # (n_blocks, 16): which one stands at a place; -1: none
    n_columns: NDArray[np.int64]  # (n_blocks,): places in use; 0: nothing to look at
    n_bins: NDArray[np.int64]  # (n_blocks,): the most that one of them has
    block: NDArray[np.int64]  # (n_features,): where a column stands,
    place: NDArray[np.int64]  # (n_features,): codes[block[j], :, place[j]]


def empty_table(n_rows: int, n_bins: NDArray[np.int64], n_threads: int) -> BinnedData:
    """Return a table of zeros whose blocks are the same work for each thread.

    Each gets as many whole blocks as there are, and then one more: a part of the
    columns that are left.
    """
    order = np.argsort(-n_bins, kind="stable")
    n_whole = len(order) // (BLOCK * n_threads) * n_threads
    rest = order[n_whole * BLOCK :]
    blocks = list(order[: n_whole * BLOCK].reshape(n_whole, BLOCK))
    blocks += np.array_split(rest, min(len(rest), n_threads)) if len(rest) else []
    column = np.full((len(blocks), BLOCK), -1)
    for own, columns in zip(column, blocks, strict=True):
        own[: len(columns)] = columns
    block, place = np.nonzero(column >= 0)
    back = np.argsort(column[block, place])
    return BinnedData(
        codes=np.zeros((len(blocks), n_rows, BLOCK), dtype=np.uint8),
        column=column,
        n_columns=np.array([len(columns) for columns in blocks]),
        n_bins=np.array([n_bins[columns].max() for columns in blocks]),
        block=block[back],
        place=place[back],
    )


def with_columns(table: BinnedData, features: NDArray[np.int64]) -> BinnedData:
    """Return the table without what is not a column of `features`."""
    column = np.where(np.isin(table.column, features), table.column, -1)
    n_columns = np.where((column >= 0).any(axis=1), table.n_columns, 0)
    return table._replace(column=column, n_columns=n_columns)


def column_edges(values: NDArray[np.floating], max_bins: int) -> NDArray[np.float64]:
    """Return the edges between the bins of one column, ascending.

    Parameters
    ----------
    values : ndarray of shape (n,), any real dtype
        A sample of the column; NaN is left out.
    max_bins : int in [2, 255]
        The most bins to make.

    Returns
    -------
    edges : ndarray of shape (n_bins - 1,), float64
        Midpoints between neighbouring distinct values: between all of them when there
        are at most `max_bins`, otherwise where the quantiles fall.
    """
    values = np.sort(values)  # NaN last
    values = values[: np.searchsorted(values, np.nan)]
    starts_here = values[1:] != values[:-1]  # whether a row is the first of its value
    if np.count_nonzero(starts_here) < max_bins:
        starts = np.flatnonzero(starts_here) + 1
    else:
        # the first new value at or after each quantile, so that no bin is empty
        quantiles = np.ceil(np.arange(1, max_bins) * len(values) / max_bins)
        starts = quantiles.astype(np.intp)
        at_quantile = values[starts]
        after = np.searchsorted(values, at_quantile, side="right")
        starts = np.where(at_quantile != values[starts - 1], starts, after)
        starts = np.unique(starts[starts < len(values)])
    below = values[starts - 1].astype(np.float64)
    above = values[starts].astype(np.float64)
    middle = below / 2 + above / 2  # their sum might overflow
    return np.where((below <= middle) & (middle < above), middle, below)


@kernel
def assign_codes(
    X: NDArray[np.floating],
    rows: NDArray[np.intp],
    edges: NDArray[np.float64],
    n_edges: NDArray[np.int64],
    first: int,
    table: BinnedData,
) -> None:
    """Write ``codes[:, first + i]`` of row ``rows[i]`` of X, for each of the rows.

    A tile of rows takes each step together: all are compared with every 16th edge, and
    the search goes on among the 15 that follow.  Each row of `edges` is padded with inf
    to 255: then there are no branches.  (And no checks for negatives: numbers of rows
    are unsigned.)
    """
    values = np.empty(TILE)
    positions = np.empty(TILE, dtype=np.uint64)
    zero, one, stride = np.uint64(0), np.uint64(1), np.uint64(STRIDE)
    for start in range(0, len(rows), TILE):
        n_rows = uint64(min(TILE, len(rows) - start))
        tile, first_row = rows[start:], uint64(first + start)
        for column in range(X.shape[1]):
            own_edges = edges[column]
            for i in range(n_rows):
                values[i] = X[uint64(tile[i]), column]
                positions[i] = zero
            for edge in own_edges[STRIDE - 1 : n_edges[column] : STRIDE]:
                for i in range(n_rows):
                    positions[i] += stride if values[i] > edge else zero
            step = stride >> one
            while step >= one:
                for i in range(n_rows):
                    edge = own_edges[positions[i] + step - one]
                    positions[i] += step if values[i] > edge else zero
                step >>= one
            block, place = table.block[column], table.place[column]
            for i in range(n_rows):
                missing = values[i] != values[i]
                table.codes[block, first_row + i, place] = (
                    MISSING if missing else positions[i]
                )


@dataclass(frozen=True)
class BinMapper:
    """Quantile bins of a table, learned once and applied to any table alike.

    Attributes
    ----------
    edges : list of n_features ndarrays, float64
        Ascending edges of each column; a column has ``len(edges[j]) + 1`` bins.
    """

    edges: list[NDArray[np.float64]]

    @classmethod
    def fit(
        cls,
        X: Table,
        rows: NDArray[np.intp],
        max_bins: int,
        seed: int,
        team: ThreadTeam,
    ) -> BinMapper:
        """Read the edges from some rows of X: from 200,000 of them if there are more.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_features), float32 or float64
        rows : ndarray of shape (n_rows,), intp
            The rows to learn from.
        max_bins : int in [2, 255]
        seed : int
            Decides which rows are read.
        team : ThreadTeam
            The threads to use.
        """
        if len(rows) > MAX_SAMPLE:
            drawn = np.random.default_rng(seed).choice(
                len(rows), MAX_SAMPLE, replace=False
            )
            rows = rows[np.sort(drawn)]  # their order is nothing but faster
        n_features = X.shape[1]
        edges: list[NDArray[np.float64]] = [np.empty(0)] * n_features
        columns_of = columns_reader(X, rows)
        firsts = iter(range(0, n_features, NEIGHBOURS))  # each thread takes the next

        def read(thread: int) -> None:
            for first in firsts:
                columns = columns_of(first, min(first + NEIGHBOURS, n_features))
                for place, values in enumerate(columns.T):
                    edges[first + place] = column_edges(values, max_bins)

        team.run(read)
        return cls(edges)

    @property
    def n_bins(self) -> NDArray[np.int64]:
        """Bins of each column, missing not counted: (n_features,) int64."""
        return np.array([len(edges) + 1 for edges in self.edges], dtype=np.int64)

    def transform(
        self, X: Table, rows: NDArray[np.intp], team: ThreadTeam
    ) -> BinnedData:
        """Return some rows of X as bytes, laid out for the threads of the team."""
        n_rows, n_features = len(rows), X.shape[1]
        table = empty_table(n_rows, self.n_bins, team.n_threads)
        n_edges = self.n_bins - 1
        padded = np.full((n_features, 255), np.inf)
        for column, edges in enumerate(self.edges):
            padded[column, : len(edges)] = edges
        step = 4 * TILE
        starts = iter(range(0, n_rows, step))

        def assign(thread: int) -> None:
            for start in starts:
                part = rows[start : start + step]
                if issparse(X):
                    values, places = dense_rows(X, part), np.arange(len(part))
                else:
                    values, places = X, part
                assign_codes(values, places, padded, n_edges, start, table)

        team.run(assign)
        return table
