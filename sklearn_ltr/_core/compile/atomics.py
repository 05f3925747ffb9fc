"""What threads in machine code tell each other by, without the interpreter lock.

From the bottom up: atomic operations on an element of an array of int64 (`atomic_add`,
`atomic_exchange`, `atomic_load`); waiting until an element changes (`wait_while`); a
barrier, at which threads wait for each other (`wait_at_barrier`); and counters, by
which they share out work (`fetch_add`, `next_of_range`).

A thread that waits looks again and again, for some hundred microseconds, before it
sleeps between two looks.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from sklearn_ltr._core.compile.arithmetic import allocate_aligned
from sklearn_ltr._core.compile.kernels import INTERPRETED, subkernel
from sklearn_ltr._core.typing import IntArray

LOOKS_BEFORE_SLEEP = 20_000  # of a thread that waits: they take 0.2 to 1 millisecond
# Microseconds of a sleep, the first and the longest; Windows counts milliseconds, and
# takes 0 for giving the core away
SHORTEST_SLEEP, LONGEST_SLEEP = (0, 0) if sys.platform == "win32" else (50, 1_000)
SLEEP_SYMBOL = "sklearn_ltr_sleep"  # by this name, machine code finds the function

# LLVM's names of the instruction by which a core that waits leaves its resources to the
# other thread that runs on it
PAUSE_INSTRUCTIONS = {
    "x86_64": "llvm.x86.sse2.pause",
    "amd64": "llvm.x86.sse2.pause",
}
PAUSE_INSTRUCTION = PAUSE_INSTRUCTIONS.get(platform.machine().lower())

N_ARRIVED, N_PHASES = 0, 1  # the counters of a barrier


def _element_pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return the address of the element that the first two arguments name."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


def _read_modify_write(operation: str) -> Any:
    """Return what changes an element of a one-dimensional int64 array atomically."""

    @intrinsic  # type: ignore[untyped-decorator]
    def change(typing: Any, array: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = _element_pointer(context, builder, signature, args)
            return builder.atomic_rmw(operation, pointer, args[2], "seq_cst")

        return types.int64(array, types.int64, types.int64), generate

    return change


# (array, index, value): each returns the former value of the element
atomic_add, atomic_exchange = _read_modify_write("add"), _read_modify_write("xchg")


@intrinsic  # type: ignore[untyped-decorator]
def atomic_load(typing: Any, array: Any, index: Any) -> Any:
    """Return an element from memory, never from a register that holds an old value."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element_pointer(context, builder, signature, args)
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def pause(typing: Any) -> Any:
    """Let the core do nothing for a moment."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if PAUSE_INSTRUCTION is not None:
            instruction = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), []), PAUSE_INSTRUCTION
            )
            builder.call(instruction, [])
        return context.get_dummy_value()

    return types.none(), generate


@intrinsic  # type: ignore[untyped-decorator]
def sleep(typing: Any, duration: Any) -> Any:
    """Let the calling thread sleep, for a duration as `SHORTEST_SLEEP` is given."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        int32 = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(int32, [int32]), SLEEP_SYMBOL
        )
        return builder.call(function, [builder.trunc(args[0], int32)])

    return types.int32(types.int64), generate


def _address_of_sleep() -> int | None:
    """Return the address of the system's function that lets a thread sleep."""
    if sys.platform == "win32":
        function = ctypes.windll.kernel32.Sleep
    else:
        function = ctypes.CDLL(None).usleep
    return ctypes.cast(function, ctypes.c_void_p).value


llvmlite.binding.add_symbol(SLEEP_SYMBOL, _address_of_sleep())


@subkernel
def wait_while(array: IntArray, index: int, value: int) -> None:
    """Return when an element is no longer `value`."""
    # A thread that waits long goes to sleep: when there are more threads than cores, it
    # would otherwise keep a core from the thread that it waits for.  A thread that has
    # slept gets a core within microseconds; one that only yields its core may wait for
    # a whole time slice of another process.
    n_looks, duration = 0, SHORTEST_SLEEP
    while atomic_load(array, index) == value:
        if n_looks < LOOKS_BEFORE_SLEEP:
            n_looks += 1
            pause()
        else:
            sleep(duration)
            duration = min(2 * duration, LONGEST_SLEEP)


def new_barrier() -> IntArray:
    """Return the counters of a barrier that no thread has come to."""
    # nothing else is in their cache line
    counters: IntArray = allocate_aligned((1, 8), np.int64)[0]
    counters[:] = 0
    return counters


@subkernel
def wait_at_barrier(barrier: IntArray, n_threads: int) -> None:
    """Return when all `n_threads` threads have arrived here."""
    # If a thread raised an error before it arrives, the others would wait for ever.
    if n_threads == 1:
        return
    phase = atomic_load(barrier, N_PHASES)
    if atomic_add(barrier, N_ARRIVED, 1) == n_threads - 1:
        atomic_add(barrier, N_ARRIVED, -n_threads)
        atomic_add(barrier, N_PHASES, 1)
    else:
        wait_while(barrier, N_PHASES, phase)


def new_counters(n_threads: int) -> IntArray:
    """Return a counter of each thread, 0, as the first number of a row of its own."""
    # two cache lines long, so that no two counters are in one
    return np.zeros((n_threads, 16), dtype=np.int64)


@subkernel
def next_of_range(
    thread: int, n_threads: int, n_ranges: int, counters: IntArray
) -> int:
    """Return the next range for a thread to do, `n_ranges` if all have been taken."""
    # Each thread has neighbouring ranges, the same ones in each kernel, whose rows are
    # in its cache; when these are done, it helps the others.
    for turn in range(n_threads):
        owner = (thread + turn) % n_threads
        first = n_ranges * owner // n_threads
        last = n_ranges * (owner + 1) // n_threads
        number = first + fetch_add(counters[owner])
        if number < last:
            return number
    return n_ranges


@subkernel
def fetch_add(counter: IntArray) -> int:
    """Return the number in a counter of shape (1,) and add 1 to it, atomically."""
    if INTERPRETED:  # by one thread
        counter[0] += 1
        return int(counter[0]) - 1
    number: int = atomic_add(counter, 0, 1)
    return number
