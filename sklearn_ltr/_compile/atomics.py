"""Where threads meet: they wait_at_barrier for each other, and share out work, by atomic counters.

Inside one launch the threads of a :class:`ThreadTeam` keep step through :func:`wait_at_barrier`, which
costs about a microsecond.  Who is early sleeps in the end.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sklearn_ltr._compile.kernels import INTERPRETED, subkernel


def _word(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Return a pointer to an element of a one-dimensional int64 array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


@intrinsic  # type: ignore[untyped-decorator]
def _atomic_add(typing: Any, words: Any, index: Any, amount: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = _word(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("add", word, args[2], "seq_cst")

    return types.int64(words, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _atomic_load(typing: Any, words: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = _word(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(word, "seq_cst", 8)

    return types.int64(words, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _nap(typing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(32)
        function = builder.module.globals.get(NAP)
        if function is None:
            kind = ir.FunctionType(word, [word])
            function = ir.Function(builder.module, kind, NAP)
        return builder.call(function, [ir.Constant(word, NAP_LENGTH)])

    return types.int32(), generate


def _address_of_nap() -> int | None:
    """Find the system's call that lets a thread sleep."""
    if sys.platform == "win32":
        function = ctypes.windll.kernel32.Sleep
    else:
        function = ctypes.CDLL(None).usleep
    return ctypes.cast(function, ctypes.c_void_p).value


NAP = "sklearn_ltr_nap"
NAP_LENGTH = 0 if sys.platform == "win32" else 50  # microseconds
llvmlite.binding.add_symbol(NAP, _address_of_nap())


SPINS = 300_000  # some hundred microseconds


def new_barrier() -> NDArray[np.int64]:
    """Return the two counters of a barrier: arrivals, and turns completed."""
    return np.zeros(2, dtype=np.int64)


@subkernel
def wait_at_barrier(barrier: NDArray[np.int64], n_threads: int) -> None:
    """Return when all `n_threads` threads have arrived here.

    Whoever waits long sleeps, lest it fetch_add the time of the thread it waits for when
    there are more threads than cores.  (A sleeper is woken at once; one that merely
    yields gives a whole time slice to whatever else runs.)
    """
    if n_threads == 1:
        return
    turn = _atomic_load(barrier, 1)
    if _atomic_add(barrier, 0, 1) == n_threads - 1:
        _atomic_add(barrier, 0, -n_threads)
        _atomic_add(barrier, 1, 1)
        return
    spins = 0
    while _atomic_load(barrier, 1) == turn:
        spins += 1
        if spins > SPINS:
            _nap()


@subkernel
def fetch_add(counter: NDArray[np.int64]) -> int:
    """Return the number in a counter of shape (1,), and leave the next one there."""
    if INTERPRETED:  # by one thread
        counter[0] += 1
        return int(counter[0]) - 1
    number: int = _atomic_add(counter, 0, 1)
    return number
