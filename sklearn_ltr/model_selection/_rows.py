"""Rows of anything that has rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

Rows = NDArray[np.intp]
Queries = NDArray[np.intp]


def n_rows(array: Any) -> int:
    """Return the number of rows; 0 for what has none, None say."""
    if hasattr(array, "shape"):
        return int(array.shape[0])
    return len(array) if hasattr(array, "__len__") else 0


def take(array: Any, rows: Rows) -> Any:
    """Return some of the rows, in a container of the same kind."""
    if hasattr(array, "iloc"):
        return array.iloc[rows]
    if type(array).__module__.partition(".")[0] == "pyarrow":
        return array.take(rows)
    if issparse(array):
        return array.tocsr()[rows]
    if hasattr(array, "shape"):
        return array[rows]
    return [array[row] for row in rows]
