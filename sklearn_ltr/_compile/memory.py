"""Memory as kernels like it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE = 64  # bytes of a cache line


def allocate_aligned(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Return an array, not filled, that begins with a cache line."""
    n_bytes = shape[0] * shape[1] * np.dtype(dtype).itemsize
    memory = np.empty(n_bytes + LINE, dtype=np.uint8)
    start = -memory.ctypes.data % LINE
    cells: NDArray[Any] = memory[start : start + n_bytes].view(dtype)
    return cells.reshape(shape)
