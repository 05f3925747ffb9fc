"""Arrays for kernels: aligned buffers, and inputs of one numba type."""

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


def as_kernel_argument(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as C-contiguous, aligned, native and read-only.

    It is copied only if needed.  Numba compiles a kernel anew for each type of array,
    to which the layout and the flags belong; all arrays returned here that have the
    same dtype and number of dimensions are of one type.
    """
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        argument = array.view()
    else:
        argument = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    argument.flags.writeable = False
    return argument
