"""How kernels are compiled, and the threads that run them.  Nothing else knows.

Kernels are module-level functions under :func:`kernel`: machine code made once for
this CPU, cached on disk, run without the interpreter lock, by the threads of a
:class:`Team`, which keep step through :func:`wait` and share work out by :func:`take`.

With ``NUMBA_DISABLE_JIT=1`` the same functions run as plain Python, in one thread.
"""

from sklearn_ltr._compile.barrier import new_barrier, take, wait
from sklearn_ltr._compile.intrinsics import (
    LANES,
    doubles,
    floats,
    prefetch_row,
    registers,
    two_to_the,
)
from sklearn_ltr._compile.kernels import (
    INTERPRETED,
    int64,
    kernel,
    subkernel,
    subkernel_in_order,
    uint32,
    uint64,
)
from sklearn_ltr._compile.memory import aligned
from sklearn_ltr._compile.threads import Team, effective_threads, one_blas_thread
from sklearn_ltr._compile.words import (
    ROWS,
    WORD_LANES,
    answer,
    choose_word,
    find_missing,
    join_bits,
    place,
)

__all__ = [
    "INTERPRETED",
    "LANES",
    "ROWS",
    "WORD_LANES",
    "Team",
    "aligned",
    "answer",
    "choose_word",
    "doubles",
    "effective_threads",
    "find_missing",
    "floats",
    "int64",
    "join_bits",
    "kernel",
    "new_barrier",
    "one_blas_thread",
    "place",
    "prefetch_row",
    "registers",
    "subkernel",
    "subkernel_in_order",
    "take",
    "two_to_the",
    "uint32",
    "uint64",
    "wait",
]
