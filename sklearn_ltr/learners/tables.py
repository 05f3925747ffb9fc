"""Tables that learners read: dense, or sparse by rows; never made dense as a whole."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

# An ndarray of shape (n_rows, n_columns), or a CSR matrix without duplicates (scipy has
# no types for those).
Table: TypeAlias = Any


def dense_rows(X: Table, rows: Any) -> NDArray[np.floating]:
    """Return some rows as an ndarray, given as a slice or by their numbers."""
    part: NDArray[np.floating] = X[rows].toarray() if issparse(X) else X[rows]
    return part


def columns_reader(X: Table, rows: NDArray[np.intp]) -> Any:
    """Return a function that gives columns first to last - 1, of some rows, dense."""
    if not issparse(X):
        return lambda first, last: X[rows, first:last]
    by_column = X[rows].tocsc()
    return lambda first, last: by_column[:, first:last].toarray(order="F")
