"""Kernels that all threads of a team run together, started in a microsecond.

The threads of a team wait in machine code, in :func:`serve`, for what the calling
thread announces: the address of a function and that of its arguments.  So neither a
queue nor the interpreter lock stands between two kernels; a start by these takes 90
microseconds with two threads, and 340 with sixteen.

**Who takes part.**  A thread that waits takes part at once.  One that sleeps, because
the last announcement is long ago, or to which the system has given no core, is late.
The calling thread waits for it in proportion to the work; then it shares the work with
those that are there, and the late one waits for the next announcement.  So on a crowded
machine, threads cost little where they do not help.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sklearn_ltr._compile.arithmetic import allocate_aligned
from sklearn_ltr._compile.atomics import (
    LOOKS,
    SHORTEST_SLEEP,
    atomic_add,
    atomic_exchange,
    atomic_load,
    new_counters,
    next_of_range,
    pause,
    sleep,
    wait_while,
)
from sklearn_ltr._compile.kernels import INTERPRETED, int64, kernel, subkernel

F = TypeVar("F", bound=Callable[..., Any])

# The announcements of the calling thread, an array of int64.  In a cache line of its
# own each: the number of the last announcement; how many threads want to take part, far
# below 0 if it is too late for that; the number of the last announcement that has
# started; and how many threads have yet to do their part.  Then what to call, in how
# many parts, and how many of them have failed
ANNOUNCED, TAKING_PART, STARTED, N_RUNNING = 0, 8, 16, 24
FUNCTION, ARGUMENTS, N_PARTS, N_FAILED = 32, 33, 34, 35
N_ANNOUNCEMENTS = 40
NOTHING = 0  # in the place of a function: threads return to the interpreter
NOT_YET, TOO_LATE = -1, -(2**40)

# Looks for late threads: one for each of so many nanoseconds of work, but no more; if
# the time of the work is infinite, all threads are waited for
NANOSECONDS_PER_LOOK, MOST_LOOKS = 200.0, 10 * LOOKS
ALL_PARTS = -1

# The machine code of a part takes the address of its arguments, thread and n_threads
_PART = (types.int64, types.int64, types.int64)


def new_announcements() -> NDArray[np.int64]:
    """Return the announcements of a team that has none yet."""
    announcements: NDArray[np.int64] = allocate_aligned((N_ANNOUNCEMENTS,), np.int64)
    announcements[:] = 0
    return announcements


@intrinsic  # type: ignore[untyped-decorator]
def _borrowed(typing: Any, arguments: Any) -> Any:
    """Return the same arguments, arrays without their reference counts."""
    # The caller holds references.  Threads that count the same references, whenever
    # they take a row of an array, would wait for each other's cache lines.

    def borrow(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            values = [
                borrow(context, builder, item, builder.extract_value(value, i))
                for i, item in enumerate(kind.types)
            ]
            return context.make_tuple(builder, kind, values)
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, value)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            return array._getvalue()
        return value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return borrow(context, builder, arguments, args[0])

    return arguments(arguments), generate


def _as_part(function: Any) -> Any:
    """Return what, in machine code, gives the addresses of a part and its arguments."""

    @intrinsic  # type: ignore[untyped-decorator]
    def as_part(typing: Any, arguments: Any) -> Any:
        # the arguments are put on the stack of the caller
        kind, threads = function._numba_type_, (types.int64, types.int64)
        called = typing.resolve_function_type(kind, (*threads, *arguments.types), {})

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            convention, address_type = context.call_conv, ir.IntType(64)
            place = cgutils.alloca_once_value(builder, args[0])
            part = ir.Function(
                builder.module,
                convention.get_function_type(types.none, _PART),
                builder.module.get_unique_name("part"),
            )
            part.linkage = "internal"
            inside = ir.IRBuilder(part.append_basic_block("entry"))
            address, *threads = convention.get_arguments(part)
            given = inside.load(inside.inttoptr(address, place.type))
            call = context.get_function(kind, called)
            call(inside, [*threads, *cgutils.unpack_tuple(inside, given)])
            convention.return_value(inside, context.get_dummy_value())
            addresses = [builder.ptrtoint(x, address_type) for x in (part, place)]
            return context.make_tuple(builder, signature.return_type, addresses)

        return types.UniTuple(types.int64, 2)(arguments), generate

    return as_part


@intrinsic  # type: ignore[untyped-decorator]
def _fails(typing: Any, part: Any, arguments: Any, thread: Any, n_threads: Any) -> Any:
    """Call a part; return 1 if it raises an error, else 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        convention = context.call_conv
        pointer = convention.get_function_type(types.none, _PART).as_pointer()
        function = builder.inttoptr(args[0], pointer)
        status, _ = convention.call_function(
            builder, function, types.none, _PART, args[1:]
        )
        return builder.zext(status.is_error, ir.IntType(64))

    return types.int64(types.int64, *_PART), generate


@subkernel
def _run_parts(
    part: int,
    arguments: int,
    announcements: NDArray[np.int64],
    n_threads: int,
    time: float,
) -> int:
    """Run the parts of a function, given by addresses; return how many have failed."""
    announcements[FUNCTION], announcements[ARGUMENTS] = part, arguments
    announcements[N_FAILED] = 0
    # a thread that is late for the announcement before may take part from the second of
    # these lines on
    atomic_exchange(announcements, STARTED, int64(NOT_YET))
    atomic_exchange(announcements, TAKING_PART, int64(0))
    number = atomic_add(announcements, ANNOUNCED, 1) + 1
    patience = time / NANOSECONDS_PER_LOOK
    if time < np.inf:
        patience = min(patience, float(MOST_LOOKS))
    n_looks = 0
    while atomic_load(announcements, TAKING_PART) < n_threads - 1:
        if n_looks >= patience:
            break
        n_looks += 1
        if n_looks < MOST_LOOKS:
            pause()
        else:
            sleep(int64(SHORTEST_SLEEP))
    n_others = atomic_add(announcements, TAKING_PART, TOO_LATE)
    announcements[N_PARTS] = n_others + 1
    atomic_exchange(announcements, N_RUNNING, n_others)
    atomic_exchange(announcements, STARTED, number)
    n_failed: int = _fails(part, arguments, 0, n_others + 1)
    n_running = atomic_load(announcements, N_RUNNING)
    while n_running > 0:
        wait_while(announcements, N_RUNNING, n_running)
        n_running = atomic_load(announcements, N_RUNNING)
    return n_failed + int(announcements[N_FAILED])


@kernel
def serve(
    thread: int, n_threads: int, announcements: NDArray[np.int64], last: int
) -> None:
    """Take part in all that is announced after number `last`."""
    while True:
        wait_while(announcements, ANNOUNCED, last)
        last = atomic_load(announcements, ANNOUNCED)
        if announcements[FUNCTION] == NOTHING:
            return
        place = atomic_add(announcements, TAKING_PART, 1) + 1
        if place < 1:
            continue
        # from here on until this thread has done its part, nothing else is announced
        wait_while(announcements, STARTED, int64(NOT_YET))
        last = atomic_load(announcements, STARTED)
        part, arguments = announcements[FUNCTION], announcements[ARGUMENTS]
        n_parts = announcements[N_PARTS]
        # if all are there, each thread has the part that it always has, whose data are
        # in its cache
        number = thread if n_parts == n_threads else place
        if _fails(part, arguments, number, n_parts) > 0:
            atomic_add(announcements, N_FAILED, 1)
        atomic_add(announcements, N_RUNNING, -1)


@kernel
def release(announcements: NDArray[np.int64]) -> None:
    """Let threads that serve return to the interpreter."""
    announcements[FUNCTION] = NOTHING
    atomic_add(announcements, ANNOUNCED, 1)


def named_as(function: Callable[..., Any], other: F) -> F:
    """Return `other`, to be known, and stored, by the name of a function."""
    other.__module__, other.__name__ = function.__module__, function.__name__
    other.__qualname__ = function.__qualname__
    return other


class SharedKernel:
    """A kernel with the arguments `thread` and `n_threads` before all others.

    Called from Python or another kernel, it does the part of one thread.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        part: Any = subkernel(function)
        as_part: Any = None if INTERPRETED else _as_part(part)

        def entry(
            announcements: NDArray[np.int64],
            thread: int,
            n_threads: int,
            time: float,
            arguments: tuple[Any, ...],
        ) -> int:
            if not INTERPRETED:
                arguments = _borrowed(arguments)
            if thread == ALL_PARTS:
                function, given = as_part(arguments)
                return _run_parts(function, given, announcements, n_threads, time)
            part(thread, n_threads, *arguments)
            return int64(0)

        functools.update_wrapper(self, function)
        self.py_func = function
        self._entry = kernel(named_as(function, entry))
        if not INTERPRETED:
            self._part = part  # which its numba type holds by a weak reference
            self._numba_type_ = part._numba_type_

    def __call__(self, thread: int, n_threads: int, *arguments: Any) -> None:
        """Do the part of one thread."""
        self._entry(_NO_TEAM, thread, n_threads, 0.0, arguments)

    def run_parts(
        self,
        announcements: NDArray[np.int64],
        n_threads: int,
        time: float,
        *arguments: Any,
    ) -> None:
        """Do all parts, together with threads that serve; MemoryError if one fails."""
        n_failed = self._entry(announcements, ALL_PARTS, n_threads, time, arguments)
        if n_failed > 0:
            raise MemoryError(
                f"a thread has no memory left in {self.py_func.__qualname__}"
            )


_NO_TEAM = new_announcements()


def shared_kernel(function: Callable[..., None]) -> SharedKernel:
    """Compile a module-level function ``f(thread, n_threads, ...)``, run by a team."""
    return SharedKernel(function)


class RangeKernel:
    """A kernel whose first arguments are the first number of a range, and its end.

    Called from Python or another kernel, it does a range.  `in_ranges` is a shared
    kernel, in which threads do one range after another.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        of_range: Any = subkernel(function)

        def in_ranges(
            thread: int,
            n_threads: int,
            bounds: NDArray[np.int64],
            counters: NDArray[np.int64],
            arguments: tuple[Any, ...],
        ) -> None:
            n_ranges = len(bounds) - 1
            number = next_of_range(thread, n_threads, n_ranges, counters)
            while number < n_ranges:
                of_range(bounds[number], bounds[number + 1], *arguments)
                number = next_of_range(thread, n_threads, n_ranges, counters)

        functools.update_wrapper(self, function)
        self.py_func = function
        self.in_ranges = SharedKernel(named_as(function, in_ranges))
        if not INTERPRETED:
            self._of_range = of_range  # which its numba type holds by a weak reference
            self._numba_type_ = of_range._numba_type_

    def __call__(self, first: int, last: int, *arguments: Any) -> None:
        """Do numbers first to last - 1."""
        bounds, counters = np.array([first, last]), new_counters(1)
        self.in_ranges(0, 1, bounds, counters, arguments)


def range_kernel(function: Callable[..., None]) -> RangeKernel:
    """Compile a module-level function ``f(first, last, ...)``, such as of queries."""
    return RangeKernel(function)
