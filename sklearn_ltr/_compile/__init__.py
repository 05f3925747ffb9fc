"""The compiler and the threads: kernels, sub-kernels and what they are made of.

A :func:`kernel` is a module-level function compiled for this CPU and cached on disk.
It runs without the interpreter lock.  A :func:`shared_kernel` is one that the threads
of a :class:`ThreadTeam` run together, a :func:`range_kernel` one that they call for one
range of numbers after another.  Inside, they wait for each other at a barrier,
:func:`wait_at_barrier`, and share out work by an atomic counter, :func:`fetch_add`.  A
:func:`subkernel` is a function that only kernels call.  No other part of the package
imports numba or llvmlite.

With ``NUMBA_DISABLE_JIT=1`` the same functions run as plain Python, in one thread.
"""

from sklearn_ltr._compile.arithmetic import (
    CACHE_LINE,
    EXPONENT_BIAS,
    LN_2,
    LOG2_E,
    MANTISSA_BITS,
    REGISTER_LANES,
    SUM_LANES,
    allocate_aligned,
    as_kernel_argument,
    exp,
    exp2_integer,
    exp2_of,
    expit,
    expit_of,
    float32_lanes,
    float64_bits,
    float64_lanes,
    float64_of_bits,
    is_plain,
    log,
    log1p,
    log2_of,
    prefer_long_vectors,
    prefetch_row,
    stack_array,
    sum_of_lanes,
    uint32_lanes,
)
from sklearn_ltr._compile.atomics import (
    fetch_add,
    new_barrier,
    new_counters,
    next_of_range,
    wait_at_barrier,
)
from sklearn_ltr._compile.bit_vectors import (
    ROW_BLOCK,
    VECTOR_LANES,
    bit_of_row,
    evaluate_condition,
    missing_bits,
    select_bits,
    transpose_bits,
)
from sklearn_ltr._compile.compile_time import COMPILE_CLOCK, working_time
from sklearn_ltr._compile.kernels import (
    INTERPRETED,
    KERNELS,
    int64,
    kernel,
    subkernel,
    uint32,
    uint64,
)
from sklearn_ltr._compile.shared_kernels import (
    RangeKernel,
    SharedKernel,
    range_kernel,
    shared_kernel,
)
from sklearn_ltr._compile.threads import (
    ONE_THREAD,
    STEPS_PER_THREAD,
    ThreadTeam,
    check_n_jobs,
    effective_n_threads,
    one_blas_thread,
)

__all__ = [
    "CACHE_LINE",
    "COMPILE_CLOCK",
    "EXPONENT_BIAS",
    "INTERPRETED",
    "KERNELS",
    "LN_2",
    "LOG2_E",
    "MANTISSA_BITS",
    "ONE_THREAD",
    "REGISTER_LANES",
    "ROW_BLOCK",
    "STEPS_PER_THREAD",
    "SUM_LANES",
    "VECTOR_LANES",
    "RangeKernel",
    "SharedKernel",
    "ThreadTeam",
    "allocate_aligned",
    "as_kernel_argument",
    "bit_of_row",
    "check_n_jobs",
    "effective_n_threads",
    "evaluate_condition",
    "exp",
    "exp2_integer",
    "exp2_of",
    "expit",
    "expit_of",
    "fetch_add",
    "float32_lanes",
    "float64_bits",
    "float64_lanes",
    "float64_of_bits",
    "int64",
    "is_plain",
    "kernel",
    "log",
    "log1p",
    "log2_of",
    "missing_bits",
    "new_barrier",
    "new_counters",
    "next_of_range",
    "one_blas_thread",
    "prefer_long_vectors",
    "prefetch_row",
    "range_kernel",
    "select_bits",
    "shared_kernel",
    "stack_array",
    "subkernel",
    "sum_of_lanes",
    "transpose_bits",
    "uint32",
    "uint32_lanes",
    "uint64",
    "wait_at_barrier",
    "working_time",
]
