"""Number of rows, and row indexing, of arrays, tables, columns and lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

Rows = NDArray[np.intp]
Queries = NDArray[np.intp]


def n_rows(array: Any) -> int:
    """Return the number of rows; 0 for what has none, such as None or a number."""
    shape = getattr(array, "shape", None)
    if shape is not None:
        return int(shape[0]) if shape else 0
    return len(array) if hasattr(array, "__len__") else 0


def index_rows(array: Any, rows: Rows) -> Any:
    """Return some of the rows, in a container of the same type."""
    if hasattr(array, "iloc"):
        return array.iloc[rows]
    if type(array).__module__.partition(".")[0] == "pyarrow":
        return array.take(rows)
    if issparse(array):
        return array.tocsr()[rows]
    if hasattr(array, "shape"):
        return array[rows]
    return [array[row] for row in rows]
