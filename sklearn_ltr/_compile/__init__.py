"""The compiler and the threads: kernels, sub-kernels and what they are made of.

A :func:`kernel` is a module-level function compiled for this CPU and cached on disk.
It runs without the interpreter lock, by the threads of a :class:`ThreadTeam`.  Inside,
threads wait for each other at a barrier, :func:`wait_at_barrier`, and share out work
by an atomic counter, :func:`fetch_add`.  A :func:`subkernel` is a function that only
kernels call.  No other part of the package imports numba or llvmlite.

With ``NUMBA_DISABLE_JIT=1`` the same functions run as plain Python, in one thread.
"""

from sklearn_ltr._compile.atomics import fetch_add, new_barrier, wait_at_barrier
from sklearn_ltr._compile.bit_vectors import (
    ROW_BLOCK,
    VECTOR_LANES,
    bit_of_row,
    evaluate_condition,
    missing_bits,
    select_bits,
    transpose_bits,
)
from sklearn_ltr._compile.blas import one_blas_thread
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
from sklearn_ltr._compile.memory import allocate_aligned, as_kernel_argument
from sklearn_ltr._compile.threads import ThreadTeam, effective_n_threads

__all__ = [
    "INTERPRETED",
    "REGISTER_LANES",
    "ROW_BLOCK",
    "VECTOR_LANES",
    "ThreadTeam",
    "allocate_aligned",
    "as_kernel_argument",
    "bit_of_row",
    "effective_n_threads",
    "evaluate_condition",
    "exp2_integer",
    "fetch_add",
    "float32_lanes",
    "float64_lanes",
    "int64",
    "kernel",
    "missing_bits",
    "new_barrier",
    "one_blas_thread",
    "prefetch_row",
    "select_bits",
    "subkernel",
    "subkernel_strict",
    "transpose_bits",
    "uint32",
    "uint32_lanes",
    "uint64",
    "wait_at_barrier",
]
