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

from sklearn_ltr._core.compile.arithmetic import (
    CACHE_LINE,
    EXPONENT_BIAS,
    INTEGER_BITS,
    LN_2,
    LOG2_E,
    MANTISSA_BITS,
    REGISTER_LANES,
    SUM_LANES,
    allocate_aligned,
    as_kernel_argument,
    exp,
    exp2_of,
    expit,
    expit_of,
    float32_lanes,
    float64_bits,
    float64_lanes,
    float64_of_bits,
    float64_of_integer,
    is_plain,
    log,
    log1p,
    log2_of,
    prefer_long_vectors,
    prefetch_row,
    softplus,
    stack_array,
    sum_of_lanes,
    uint32_lanes,
)
from sklearn_ltr._core.compile.atomics import (
    fetch_add,
    new_barrier,
    new_counters,
    next_of_range,
    wait_at_barrier,
)
from sklearn_ltr._core.compile.bit_vectors import (
    ROW_BLOCK,
    VECTOR_LANES,
    evaluate_condition,
    missing_bits,
    select_bits,
    transpose_bits,
)
from sklearn_ltr._core.compile.compile_time import COMPILE_CLOCK, working_time
from sklearn_ltr._core.compile.kernels import (
    INTERPRETED,
    KERNELS,
    int64,
    kernel,
    subkernel,
    uint32,
    uint64,
)
from sklearn_ltr._core.compile.shared_kernels import (
    RangeKernel,
    SharedKernel,
    range_kernel,
    shared_kernel,
)
from sklearn_ltr._core.compile.threads import (
    LONG_TIME,
    ONE_THREAD,
    STEPS_PER_THREAD,
    ThreadTeam,
    check_n_jobs,
    effective_n_threads,
    n_threads_of_call,
    one_blas_thread,
)
from sklearn_ltr._core.compile.waiting import stage, task
