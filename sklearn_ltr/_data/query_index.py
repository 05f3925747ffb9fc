"""Where the queries and rows of one worker stand among those of all workers.

A query is on one worker, whole.  Queries are in the order of their labels, and rows in
the order of their content within a query: so the number of a row is that of the first
row of its query, plus its place there, whichever worker has it.  Without a cluster, one
worker has all queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm
from sklearn_ltr._data.training_data import TrainingData

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class RowNumbers(NamedTuple):
    """Numbers of rows among those of all workers: runs of consecutive numbers.

    Rows ``offsets[r]`` to ``offsets[r + 1] - 1`` have the numbers from ``first[r]`` on.
    """

    first: IntArray  # (n_runs,)
    offsets: IntArray  # (n_runs + 1,)
    n_rows: int  # of all workers

    def of_rows(self) -> NDArray[np.uint32]:
        """Return the number of each row of this worker, modulo 2^32: (n_own_rows,)."""
        shift = np.repeat(self.first - self.offsets[:-1], np.diff(self.offsets))
        numbers = np.arange(self.offsets[-1]) + shift
        return numbers.astype(np.uint32)


@dataclass(frozen=True, eq=False)
class QueryIndex:
    """Some queries of this worker, among those of all workers."""

    position: IntArray  # (n_own_queries,), ascending: places among the queries of all
    offsets: IntArray  # (n_own_queries + 1,): where the rows of each begin, here
    row_numbers: RowNumbers
    n_queries: int  # of all workers
    n_rows: int
    # (n_queries,): sorts what the workers have, one after another; None: it is sorted
    order: NDArray[np.intp] | None
    comm: Comm

    @classmethod
    def of(cls, data: TrainingData, comm: Comm) -> Self:
        """Find where the queries of these data stand; all workers call this."""
        # `data.numbers` rise with the labels of the queries of all workers
        offsets, n_queries, n_rows = data.offsets, data.n_queries, data.n_rows
        if comm.n_workers == 1:
            numbers = RowNumbers(np.zeros(1, np.int64), np.array([0, n_rows]), n_rows)
            position = np.arange(n_queries)
            return cls(position, offsets, numbers, n_queries, n_rows, None, comm)
        gathered = comm.gather((data.numbers, data.sizes))
        order = np.argsort(np.concatenate([others for others, _ in gathered]))
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        sizes = np.concatenate([of_worker for _, of_worker in gathered])[order]
        first_row, n_rows = np.cumsum(sizes) - sizes, int(sizes.sum())
        start = sum(len(others) for others, _ in gathered[: comm.rank])
        position = position[start : start + n_queries]
        numbers = RowNumbers(first_row[position], offsets, n_rows)
        return cls(position, offsets, numbers, len(order), n_rows, order, comm)

    def gather(self, values: NDArray[np.floating]) -> FloatArray:
        """Return the values of all queries in order, given those of this worker's."""
        gathered = self.comm.gather(values)
        if self.order is None:
            alone: FloatArray = gathered[0]
            return alone
        of_all: FloatArray = np.concatenate(gathered)[self.order]
        return of_all

    def own_rows(self, numbers: IntArray) -> NDArray[np.intp]:
        """Return which rows of this worker have these numbers, ascending."""
        if self.order is None:
            return numbers
        first, offsets, _ = self.row_numbers
        shift = np.repeat(first - offsets[:-1], np.diff(offsets))
        return np.flatnonzero(np.isin(np.arange(offsets[-1]) + shift, numbers))

    def gather_rows(
        self, values: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, IntArray, FloatArray] | None:
        """Return values of all rows, offsets, and weights of queries, on worker 0."""
        # A sum of floats depends on their order, so the values themselves are sent to
        # one worker: as one byte each if there are at most 256 different ones.
        if self.order is None:
            return values, self.offsets, weights
        table, codes = np.unique(values, return_inverse=True)
        codes = codes.astype(np.min_scalar_type(len(table) - 1))
        own = table, codes, np.diff(self.offsets), weights
        gathered: list[Any] = self.comm.gather_to(0, own)
        if self.comm.rank > 0:
            return None
        of_rows = np.concatenate([table[codes] for table, codes, _, _ in gathered])
        sizes = np.concatenate([sizes for _, _, sizes, _ in gathered])
        of_queries = np.concatenate([weights for *_, weights in gathered])
        starts = (np.cumsum(sizes) - sizes)[self.order]
        sizes = sizes[self.order]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        rows = np.arange(len(of_rows)) + np.repeat(starts - offsets[:-1], sizes)
        return of_rows[rows], offsets, of_queries[self.order]
