"""How kernels are compiled, and the threads that run them.  Nothing else knows.

Kernels are module-level functions under :func:`kernel`: machine code made once for
this CPU, cached on disk, run without the interpreter lock, by the threads of a
:class:`ThreadTeam`, which keep step through :func:`wait_at_barrier` and share work out by :func:`fetch_add`.

With ``NUMBA_DISABLE_JIT=1`` the same functions run as plain Python, in one thread.
"""

from sklearn_ltr._compile.atomics import fetch_add, new_barrier, wait_at_barrier
from sklearn_ltr._compile.bit_vectors import (
    ROW_BLOCK,
    VECTOR_LANES,
    answer,
    missing_bits,
    place,
    select_bits,
    transpose_bits,
)
from sklearn_ltr._compile.intrinsics import (
    REGISTER_LANES,
    exp2_integer,
    float32_lanes,
    float64_lanes,
    prefetch_row,
    uint32_lanes,
)
from sklearn_ltr._compile.kernels import (
    INTERPRETED,
    int64,
    kernel,
    subkernel,
    subkernel_strict,
    uint32,
    uint64,
)
from sklearn_ltr._compile.memory import allocate_aligned
from sklearn_ltr._compile.threads import (
    ThreadTeam,
    effective_n_threads,
    one_blas_thread,
)

__all__ = [
    "INTERPRETED",
    "REGISTER_LANES",
    "ROW_BLOCK",
    "VECTOR_LANES",
    "ThreadTeam",
    "allocate_aligned",
    "answer",
    "select_bits",
    "float64_lanes",
    "effective_n_threads",
    "exp2_integer",
    "fetch_add",
    "float32_lanes",
    "missing_bits",
    "int64",
    "transpose_bits",
    "kernel",
    "new_barrier",
    "one_blas_thread",
    "place",
    "prefetch_row",
    "uint32_lanes",
    "subkernel",
    "subkernel_strict",
    "uint32",
    "uint64",
    "wait_at_barrier",
]
