"""The places of one worker's queries and rows among the rows of all workers.

One worker has all rows of a query.  Queries are in the order of their ids, and rows
in the order of their content within a query.  So the number of a row is the number of
the first row of its query plus its place in the query.  Without a cluster, one worker
has all queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.data.training_data import TrainingData
from sklearn_ltr._core.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class QueryIndex:
    """The places of some queries of this worker among the queries of all workers."""

    position: IntArray  # (n_own_queries,), ascending: places among the queries of all
    offsets: IntArray  # (n_own_queries + 1,): where the rows of each begin, here
    first_row: IntArray  # (n_own_queries,): numbers of their first rows among all
    n_queries: int  # of all workers
    n_rows: int
    # (n_queries,): sorts the queries of all workers, by rank; None: they are sorted
    order: NDArray[np.intp] | None
    comm: Comm

    @classmethod
    def locate(cls, data: TrainingData, comm: Comm) -> Self:
        """Find the places of the queries of these data; all workers call this."""
        # `data.numbers` rise with the ids of the queries of all workers
        offsets, n_queries, n_rows = data.offsets, data.n_queries, data.n_rows
        if comm.n_workers == 1:
            position, first_row = np.arange(n_queries), offsets[:-1]
            return cls(position, offsets, first_row, n_queries, n_rows, None, comm)
        assert data.numbers is not None  # several workers number their queries
        gathered = comm.gather((data.numbers, data.sizes))
        order = np.argsort(np.concatenate([others for others, _ in gathered]))
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        sizes = np.concatenate([own_sizes for _, own_sizes in gathered])[order]
        first_row, n_rows = np.cumsum(sizes) - sizes, int(sizes.sum())
        start = sum(len(others) for others, _ in gathered[: comm.rank])
        position = position[start : start + n_queries]
        first_row = first_row[position]
        return cls(position, offsets, first_row, len(order), n_rows, order, comm)

    def row_numbers(self, dtype: DTypeLike) -> NDArray[Any]:
        """Return the number of each of its rows among the rows of all workers."""
        # modulo 2^32 if the type is uint32
        numbers = np.arange(self.offsets[-1], dtype=dtype)
        if self.order is not None:
            shift = (self.first_row - self.offsets[:-1]).astype(dtype)
            numbers += np.repeat(shift, np.diff(self.offsets))
        return numbers

    def gather(self, values: FloatArray) -> FloatArray:
        """Return the values of all queries in order, given those of this worker."""
        gathered = self.comm.gather(values)
        if self.order is None:
            return gathered[0]
        everywhere: FloatArray = np.concatenate(gathered)[self.order]
        return everywhere

    def own_rows(self, numbers: IntArray) -> NDArray[np.intp]:
        """Return which rows of this worker have these numbers, ascending."""
        if self.order is None:
            return numbers
        return np.flatnonzero(np.isin(self.row_numbers(np.int64), numbers))

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
        all_values = np.concatenate([table[codes] for table, codes, _, _ in gathered])
        sizes = np.concatenate([sizes for _, _, sizes, _ in gathered])
        all_weights = np.concatenate([weights for *_, weights in gathered])
        starts = (np.cumsum(sizes) - sizes)[self.order]
        sizes = sizes[self.order]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        rows = np.arange(len(all_values)) + np.repeat(starts - offsets[:-1], sizes)
        return all_values[rows], offsets, all_weights[self.order]
