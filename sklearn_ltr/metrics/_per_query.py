"""One number for each query, from arrays of documents in canonical order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.metrics._kernel_arrays import JudgedLists

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def longest_list(offsets: IntArray) -> int:
    """Return the number of documents of the longest list."""
    return int(np.diff(offsets).max())


def any_in_query(flags: NDArray[np.bool_], offsets: IntArray) -> NDArray[np.bool_]:
    """Whether any document of each query has its flag set."""
    return np.logical_or.reduceat(flags, offsets[:-1])


def count_relevant(judged: JudgedLists) -> FloatArray:
    """Return the number of relevant documents of each query, of gain 1, at least 1."""
    found: FloatArray = np.add.reduceat(judged.gain, judged.offsets[:-1])
    return np.maximum(found, 1.0)
