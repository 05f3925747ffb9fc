"""Tables that learners read: dense, or sparse by rows; never made dense as a whole."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

# An ndarray of shape (n_rows, n_columns), or a CSR matrix without duplicates (scipy has
# no types for those).
Table: TypeAlias = Any

N_TURNED = 4096  # rows that become columns together: so few stay in a cache


def dense_rows(X: Table, rows: Any) -> NDArray[np.floating]:
    """Return some rows as an ndarray, given as a slice or by their numbers."""
    part: NDArray[np.floating] = X[rows].toarray() if issparse(X) else X[rows]
    return part


def columns_reader(X: Table, rows: NDArray[np.intp]) -> Any:
    """Return a function that gives columns first to last - 1, of some rows, dense.

    Each column is contiguous.
    """
    if issparse(X):
        by_column = X[rows].tocsc()
        return lambda first, last: by_column[:, first:last].toarray(order="F")

    def columns(first: int, last: int) -> NDArray[np.floating]:
        turned = np.empty((last - first, len(rows)), dtype=X.dtype)
        for start in range(0, len(rows), N_TURNED):
            part = slice(start, start + N_TURNED)
            turned[:, part] = X[rows[part], first:last].T
        return turned.T

    return columns
