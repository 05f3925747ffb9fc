"""Where the queries and rows of one worker stand among those of all workers.

A query is on one worker, whole.  Queries are in the order of their labels, and rows in
the order of their content within a query: so the number of a row is that of the first
row of its query, plus its place there, whichever worker has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Collective
from sklearn_ltr._trees.row_draws import RowNumbers

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GlobalIndex:
    """Some queries of this worker, among those of all workers.

    Attributes
    ----------
    position : ndarray of shape (n_own_queries,), int64
        Positions of this worker's queries among all of them, ascending.
    first_row : ndarray of shape (n_own_queries,), int64
        Number of the first row of each.
    offsets : ndarray of shape (n_own_queries + 1,), int64
        Where the rows of each begin among those of this worker.
    n_queries, n_rows : int
        Of all workers.
    order : ndarray of shape (n_queries,), intp
        Order that sorts what the workers have, one after another.
    collective : Collective
    """

    position: IntArray
    first_row: IntArray
    offsets: IntArray
    n_queries: int
    n_rows: int
    order: NDArray[np.intp]
    collective: Collective

    @classmethod
    def of(cls, numbers: IntArray, sizes: IntArray, collective: Collective) -> Self:
        """Find where these queries stand; all workers call this together.

        Parameters
        ----------
        numbers : ndarray of shape (n_own_queries,), int64
            Rise with the labels of the queries of all workers.
        sizes : ndarray of shape (n_own_queries,), int64
            Rows of each.
        collective : Collective
        """
        gathered = collective.gather((numbers, sizes))
        order = np.argsort(np.concatenate([others for others, _ in gathered]))
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        ordered_sizes = np.concatenate([of_worker for _, of_worker in gathered])[order]
        first_row = np.cumsum(ordered_sizes) - ordered_sizes
        start = sum(len(others) for others, _ in gathered[: collective.rank])
        own = position[start : start + len(numbers)]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        n_rows = int(ordered_sizes.sum())
        return cls(own, first_row[own], offsets, len(order), n_rows, order, collective)

    def row_numbers(self) -> RowNumbers:
        """Return the numbers of this worker's rows."""
        return RowNumbers(self.first_row, self.offsets, self.n_rows)

    def gather(self, values: NDArray[np.floating]) -> FloatArray:
        """Return the values of all queries in order, given those of this worker's."""
        gathered: FloatArray = np.concatenate(self.collective.gather(values))
        return gathered[self.order]
