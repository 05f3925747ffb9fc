"""Synchronisation inside kernels: a barrier and an atomic counter.

While a :class:`ThreadTeam` runs a kernel, its threads wait for each other at a barrier
by :func:`wait_at_barrier`, in about a microsecond, and share out work by an atomic
counter, :func:`fetch_add`.
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

SPINS = 300_000  # some hundred microseconds
SLEEP_TIME = 0 if sys.platform == "win32" else 50  # Sleep(0 ms) yields; usleep: in us
SLEEP_SYMBOL = "sklearn_ltr_sleep"  # by this name, machine code finds the function


def _element_pointer(
    context: Any, builder: Any, array_type: Any, array: Any, index: Any
) -> Any:
    """Return the address of an element of a one-dimensional int64 array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic  # type: ignore[untyped-decorator]
def _atomic_add(typing: Any, array: Any, index: Any, amount: Any) -> Any:
    """Add to an element and return what it was before."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element_pointer(
            context, builder, signature.args[0], args[0], args[1]
        )
        return builder.atomic_rmw("add", pointer, args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _atomic_load(typing: Any, array: Any, index: Any) -> Any:
    """Return an element as it is in memory now, never as a register remembers it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element_pointer(
            context, builder, signature.args[0], args[0], args[1]
        )
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _sleep(typing: Any) -> Any:
    """Let the calling thread sleep for SLEEP_TIME."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        int32 = ir.IntType(32)
        function = builder.module.globals.get(SLEEP_SYMBOL)
        if function is None:
            function_type = ir.FunctionType(int32, [int32])
            function = ir.Function(builder.module, function_type, SLEEP_SYMBOL)
        return builder.call(function, [ir.Constant(int32, SLEEP_TIME)])

    return types.int32(), generate


def _address_of_sleep() -> int | None:
    """Return the address of the system's function that lets a thread sleep."""
    if sys.platform == "win32":
        function = ctypes.windll.kernel32.Sleep
    else:
        function = ctypes.CDLL(None).usleep
    return ctypes.cast(function, ctypes.c_void_p).value


llvmlite.binding.add_symbol(SLEEP_SYMBOL, _address_of_sleep())


def new_barrier() -> NDArray[np.int64]:
    """Return the two counters of a barrier: threads that wait, completed phases."""
    return np.zeros(2, dtype=np.int64)


@subkernel
def wait_at_barrier(barrier: NDArray[np.int64], n_threads: int) -> None:
    """Return when all `n_threads` threads have arrived here.

    A thread that waits long goes to sleep: when there are more threads than cores, it
    would otherwise keep a core from the thread that it waits for.  A sleeping thread
    gets a core back within microseconds, while one that yields instead waits for a
    whole time slice of whatever else runs.
    """
    if n_threads == 1:
        return
    phase = _atomic_load(barrier, 1)
    if _atomic_add(barrier, 0, 1) == n_threads - 1:
        _atomic_add(barrier, 0, -n_threads)
        _atomic_add(barrier, 1, 1)
        return
    spins = 0
    while _atomic_load(barrier, 1) == phase:
        spins += 1
        if spins > SPINS:
            _sleep()


@subkernel
def fetch_add(counter: NDArray[np.int64]) -> int:
    """Return the number in a counter of shape (1,) and add 1 to it, atomically."""
    if INTERPRETED:  # by one thread
        counter[0] += 1
        return int(counter[0]) - 1
    number: int = _atomic_add(counter, 0, 1)
    return number
