"""Arrays aligned to cache lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CACHE_LINE = 64  # bytes


def allocate_aligned(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Return an array, not filled, whose memory begins at a cache line."""
    n_bytes = shape[0] * shape[1] * np.dtype(dtype).itemsize
    memory = np.empty(n_bytes + CACHE_LINE, dtype=np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    array: NDArray[Any] = memory[start : start + n_bytes].view(dtype)
    return array.reshape(shape)
