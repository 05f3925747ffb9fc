"""Kernels that all threads of a team run together, started in a microsecond.

The threads of a team wait in machine code, in :func:`serve`, for what the calling
thread announces: the address of a function and that of its arguments.  So neither a
queue nor the interpreter lock stands between two kernels; a start by these takes 90
microseconds with two threads, and 340 with sixteen.

**Who takes part.**  A thread that waits takes part at once.  One that sleeps, because
the last announcement is long ago, or to which the system has given no core, is late.
The calling thread waits for it in proportion to the work; then it shares the work with
those that are there, and the late one waits for the next announcement.  The calling
thread also says how many parts there are at most, fewer than the team has threads where
other programs use the CPUs (:mod:`.cpus_left`): then those that come first take part.

**The life of an announcement.**  The calling thread, in :func:`_run_parts`,

1. writes what to call, opens the announcement, and counts the announcements up.  If not
   all threads shall take part, it opens as if some had come already;
2. waits for late threads, as long as that is worth it;
3. closes the announcement, which is then of a part for each thread that has come, and
   one for itself, and starts them;
4. does part 0;
5. waits until all other parts are done.  It returns, and the arguments are gone.

Another thread, in :func:`serve`,

A. waits until the number of announcements changes; it returns if it is released;
B. counts itself in; if the announcement is closed, or all places are taken, it is too
   late, and goes back to A;
C. waits for the start, does its part, says so, and goes back to A.

**The invariant.**  A thread does a part only if it has counted itself in between steps
1 and 3, and the calling thread returns only when as many parts are done as threads have
counted themselves in: so no part is done twice, or after its arguments are gone.

**The cells** by which threads tell each other, and what a late thread sees in them: one
that is in step A or B, and may be there for as long as the system likes, while the
calling thread goes through all steps several times.

============ ================== ================== =====================================
cell         who writes it      when               what a late thread sees
============ ================== ================== =====================================
ANNOUNCED    calling thread     1, and to release  a number that is not its last one, by
                                                   one announcement or by many: the
                                                   newest is the one that counts
FUNCTION     calling thread     1, and to release  NOTHING: it returns.  Anything else,
                                                   also while it is announced: on to B
TAKING_PART  calling thread     1 (opens), 3       a place from 1 to n_threads - 1: it
                                (closes)           takes part in the newest.  Above, or
             a thread           B                  far below 0: too late
STARTED      calling thread     1 (0), 3 (1)       nothing: it looks at this, and at all
                                                   below, when it has counted itself in
ARGUMENTS    calling thread     1                  nothing
N_ABSENT     calling thread     1                  nothing
N_PARTS      calling thread     3                  nothing
N_RUNNING    calling thread     3                  nothing
             a thread           C, its part done
N_FAILED     calling thread     1 (0)              nothing
             any                4, C: part failed
STATUS,      the first thread   4, C               nothing
ERROR        that fails
============ ================== ================== =====================================

`tests/compile/test_interleavings.py` runs the source of this file in every order of the
steps of two and three threads.  The wait for threads, the call of a part and the raise
of its error are models there, as are the calls of ``ThreadTeam``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from sklearn_ltr._core.compile.arithmetic import allocate_aligned
from sklearn_ltr._core.compile.atomics import (
    LOOKS_BEFORE_SLEEP,
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
from sklearn_ltr._core.compile.kernels import (
    INTERPRETED,
    USES_INTERNALS,
    int64,
    kernel,
    subkernel,
)
from sklearn_ltr._core.typing import IntArray

F = TypeVar("F", bound=Callable[..., Any])

# The cells, indices into an array of int64.  Each that threads wait for, or all change,
# is in a cache line of its own
ANNOUNCED = 0  # number of the last announcement
TAKING_PART = 8  # how many threads have counted themselves in
STARTED = 16  # 1 as soon as threads that have counted themselves in may begin, else 0
N_RUNNING = 24  # how many of them have yet to do their part
FUNCTION, ARGUMENTS, N_PARTS = 32, 33, 34  # what to call, by addresses
N_FAILED = 35  # how many parts have raised an error
STATUS, ERROR = 36, 37  # numba's return code and the address of its error, of the first
N_ABSENT = 38  # how many threads shall not take part
N_CELLS = 48

NOTHING = 0  # in the place of a function: threads return to the interpreter
TOO_LATE = -(2**40)  # is added to TAKING_PART

# Looks for late threads: one for each of so many nanoseconds of work, but no more; if
# the time of the work is infinite, all threads are waited for
NANOSECONDS_PER_LOOK, MOST_LOOKS = 200.0, 10 * LOOKS_BEFORE_SLEEP
LOOKS_IN_SLEEP = 2_000  # a short sleep takes about as long


def new_announcements() -> IntArray:
    """Return the cells of a team that has announced nothing yet."""
    announcements: IntArray = allocate_aligned((N_CELLS,), np.int64)
    announcements[:] = 0
    # closed: a thread that is late for a release, before anything is announced, must
    # not take part in the first announcement while it is written
    announcements[TAKING_PART] = TOO_LATE
    return announcements


# --- the calling thread ---------------------------------------------------------------


@subkernel
def _run_parts(
    function: int,
    arguments: int,
    announcements: IntArray,
    n_threads: int,
    n_absent: int,
    time: float,
) -> None:
    """Run the parts of a function, given by addresses; raise the first error."""
    _announce(announcements, function, arguments, n_absent)
    _wait_for_threads(announcements, n_threads, time)
    _start(announcements, n_threads, n_absent)
    _do_part(announcements, int64(0))
    _wait_for_parts(announcements)
    if announcements[N_FAILED] > 0:
        status = announcements[STATUS]
        error = announcements[ERROR]
        _raise_error(status, error)


@subkernel
def _announce(
    announcements: IntArray, function: int, arguments: int, n_absent: int
) -> None:
    """Step 1: write what to call, open the announcement, and wake the threads."""
    atomic_exchange(announcements, FUNCTION, function)
    announcements[ARGUMENTS] = arguments
    announcements[N_ABSENT] = n_absent
    announcements[N_FAILED] = 0
    atomic_exchange(announcements, STARTED, int64(0))
    # a thread that is late for the announcement before may take part from here on
    atomic_exchange(announcements, TAKING_PART, n_absent)
    atomic_add(announcements, ANNOUNCED, 1)


@subkernel
def _wait_for_threads(announcements: IntArray, n_threads: int, time: float) -> None:
    """Step 2: wait until all threads are there, but not for long if `time` is short."""
    patience = time / NANOSECONDS_PER_LOOK
    if time < np.inf:
        patience = min(patience, float(MOST_LOOKS))
    n_looks = 0
    while atomic_load(announcements, TAKING_PART) < n_threads - 1:
        if n_looks >= patience:
            break
        if n_looks < LOOKS_BEFORE_SLEEP:
            n_looks += 1
            pause()
        else:  # perhaps it has no CPU because this thread does not let go of one
            n_looks += LOOKS_IN_SLEEP
            sleep(int64(SHORTEST_SLEEP))


@subkernel
def _start(announcements: IntArray, n_threads: int, n_absent: int) -> None:
    """Step 3: close the announcement; start the threads that have come."""
    n_counted = atomic_add(announcements, TAKING_PART, TOO_LATE)
    n_others = min(n_counted, n_threads - 1) - n_absent
    announcements[N_PARTS] = n_others + 1
    atomic_exchange(announcements, N_RUNNING, n_others)
    atomic_exchange(announcements, STARTED, int64(1))


@subkernel
def _wait_for_parts(announcements: IntArray) -> None:
    """Step 5: wait until all other threads have done their parts."""
    n_running = atomic_load(announcements, N_RUNNING)
    while n_running > 0:
        wait_while(announcements, N_RUNNING, n_running)
        n_running = atomic_load(announcements, N_RUNNING)


@kernel
def release(announcements: IntArray) -> None:
    """Let threads that serve return to the interpreter, without waiting for them."""
    atomic_exchange(announcements, FUNCTION, int64(NOTHING))
    atomic_add(announcements, ANNOUNCED, 1)


# --- the other threads ----------------------------------------------------------------


@kernel
def serve(thread: int, n_threads: int, announcements: IntArray, last: int) -> None:
    """Take part in all that is announced after number `last`, until released."""
    while True:
        wait_while(announcements, ANNOUNCED, last)
        last = atomic_load(announcements, ANNOUNCED)
        if atomic_load(announcements, FUNCTION) == NOTHING:
            return
        place = atomic_add(announcements, TAKING_PART, 1) + 1
        if 0 < place < n_threads:
            _take_part(announcements, thread, n_threads, place)


@subkernel
def _take_part(
    announcements: IntArray, thread: int, n_threads: int, place: int
) -> None:
    """Step C, of a thread that was number `place` to count itself in."""
    # until this thread has done its part, nothing else is announced
    wait_while(announcements, STARTED, int64(0))
    # if all are there, each thread has the part that it always has, whose data are in
    # its cache
    all_are_there = announcements[N_PARTS] == n_threads
    place -= announcements[N_ABSENT]
    _do_part(announcements, thread if all_are_there else place)
    atomic_add(announcements, N_RUNNING, -1)


@subkernel
def _do_part(announcements: IntArray, number: int) -> None:
    """Do a part, in any thread; if it is the first that fails, keep its error."""
    function = announcements[FUNCTION]
    arguments = announcements[ARGUMENTS]
    n_parts = announcements[N_PARTS]
    status, error = _call_part(function, arguments, number, n_parts)
    if status != 0 and atomic_add(announcements, N_FAILED, 1) == 0:
        announcements[STATUS] = status
        announcements[ERROR] = error


# --- a part and its arguments, as addresses -------------------------------------------

# The machine code of a part takes the address of its arguments, its number and n_parts
_PART_TYPES = (types.int64, types.int64, types.int64)


@intrinsic  # type: ignore[untyped-decorator]
def _borrowed(typing: Any, arguments: Any) -> Any:
    """Return the same arguments, arrays without their reference counts."""
    # The caller holds references.  Threads that count the same references, whenever
    # they take a row of an array, would wait for each other's cache lines.  And a
    # kernel that raises an error keeps its references for ever.

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
                convention.get_function_type(types.none, _PART_TYPES),
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
def _call_part(
    typing: Any, function: Any, arguments: Any, number: Any, n_parts: Any
) -> Any:
    """Call a part; return numba's code, not 0 if it fails, and its error's address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        convention, int64 = context.call_conv, ir.IntType(64)
        pointer = convention.get_function_type(types.none, _PART_TYPES).as_pointer()
        part = builder.inttoptr(args[0], pointer)
        status, _ = convention.call_function(
            builder, part, types.none, _PART_TYPES, args[1:]
        )
        code = builder.select(status.is_error, status.code, status.code.type(0))
        told = builder.sext(code, int64), builder.ptrtoint(status.excinfoptr, int64)
        return context.make_tuple(builder, signature.return_type, told)

    return types.UniTuple(types.int64, 2)(types.int64, *_PART_TYPES), generate


@intrinsic  # type: ignore[untyped-decorator]
def _raise_error(typing: Any, status: Any, error: Any) -> Any:
    """Return from the kernel as the part did that has failed."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        part = context.call_conv.get_function_type(types.none, ())
        given = SimpleNamespace(
            code=builder.trunc(args[0], part.return_type),
            excinfoptr=builder.inttoptr(args[1], part.args[1].pointee),
        )
        context.call_conv.return_status_propagate(builder, given)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), generate


# --- the kernels ----------------------------------------------------------------------

ALL_PARTS = -1  # in the place of a thread


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
            announcements: IntArray,
            thread: int,
            n_threads: int,
            n_absent: int,
            time: float,
            arguments: tuple[Any, ...],
        ) -> None:
            if not INTERPRETED:
                announcements, arguments = _borrowed((announcements, arguments))
            if thread == ALL_PARTS:
                function, given = as_part(arguments)
                _run_parts(function, given, announcements, n_threads, n_absent, time)
            else:
                part(thread, n_threads, *arguments)

        functools.update_wrapper(self, function)
        self.py_func = function
        self._entry = kernel(named_as(function, entry))
        if not INTERPRETED:
            self._part = part  # which its numba type holds by a weak reference
            self._numba_type_ = part._numba_type_

    @property
    def is_loaded(self) -> bool:
        """Whether this process has its machine code, for arguments of some types."""
        return bool(self._entry.signatures)  # type: ignore[attr-defined]

    @property
    def cache(self) -> Any:
        """The files of its machine code, None if it is not stored in our way."""
        return getattr(self._entry, "_cache", None) if USES_INTERNALS else None

    def __call__(self, thread: int, n_threads: int, *arguments: Any) -> None:
        """Do the part of one thread."""
        self._run(_NO_TEAM, thread, n_threads, 0, 0.0, arguments)

    def run_parts(
        self,
        announcements: IntArray,
        n_threads: int,
        n_absent: int,
        time: float,
        *arguments: Any,
    ) -> None:
        """Do all parts, together with threads that serve; raise the first error."""
        # `n_absent` of the `n_threads` threads of the team shall not take part
        self._run(announcements, ALL_PARTS, n_threads, n_absent, time, arguments)

    def _run(self, *given: Any) -> None:
        """Call the machine code; an error tells which kernel has raised it."""
        try:
            self._entry(*given)
        except Exception as error:
            error.add_note(f"in the kernel {self.py_func.__qualname__}")
            raise


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
            bounds: IntArray,
            counters: IntArray,
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
