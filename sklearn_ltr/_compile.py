"""How kernels are compiled, and the threads that run them.  Nothing else knows.

Kernels are module-level functions under :func:`kernel`: machine code made once for
this CPU, cached on disk, run without the interpreter lock.  Threads are ordinary
Python threads that live as long as one fit or one call, so a forked child, a joblib
worker or a second Python thread finds no pool to break.  Inside one launch the
threads of a :class:`Team` keep step through :func:`wait`, a barrier of two atomic
counters that costs about a microsecond.

With ``NUMBA_DISABLE_JIT=1`` the same functions run as plain Python, in one thread.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar, cast

import joblib
import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

F = TypeVar("F", bound=Callable[..., Any])

INTERPRETED = bool(numba.config.DISABLE_JIT)

# Typed integers for kernels: for a literal, numba would compile a callee once more.
int64 = cast(Callable[[Any], int], np.int64)
uint32 = cast(Callable[[Any], int], np.uint32)
uint64 = cast(Callable[[Any], int], np.uint64)


def kernel(function: F) -> F:
    """Compile a module-level function: cached, without the interpreter lock.

    Division follows IEEE 754 (no exception at zero).  Sums may be reassociated, which
    lets them vectorise; the order is fixed at compile time, never by threads.
    """
    return _compiled(function, for_kernels_only=False)


def subkernel(function: F) -> F:
    """Compile a function that only kernels call.

    (What lets Python call it would be a fifth of the time that a first fit compiles.)
    """
    return _compiled(function, for_kernels_only=True)


def _compiled(function: F, *, for_kernels_only: bool) -> F:
    decorate = numba.njit(
        cache=True,
        nogil=True,
        error_model="numpy",
        fastmath={"reassoc", "contract", "nsz"},
        no_cpython_wrapper=for_kernels_only,
        no_cfunc_wrapper=True,
    )
    return cast(F, decorate(function))


WORTH_A_THREAD = 1_000_000  # steps


def effective_threads(n_jobs: int | None, work: int) -> int:
    """Return the number of threads for one fit or predict.

    ``None`` means all that joblib and ``NUMBA_NUM_THREADS`` grant this process (joblib
    lowers it in its workers, so a parallel grid search is not oversubscribed), but no
    more than one for each million of the steps of `work`.
    """
    if INTERPRETED:
        return 1
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    if n_jobs is None and work < 2 * WORTH_A_THREAD:
        return 1  # joblib, to which the others go, takes its time
    granted = int(joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs))
    granted = min(granted, int(numba.config.NUMBA_NUM_THREADS))
    if n_jobs is None:
        granted = min(granted, work // WORTH_A_THREAD)
    return max(1, granted)


class Team:
    """`n_threads` threads that run one function together, as a context manager."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Team:
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def run(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call ``function(thread, *arguments)`` once in each thread and wait for all.

        The caller only waits, and the members are started from one of their own:
        Ctrl-C reaches the calling thread alone, so it can never leave half a team
        waiting for the other half.
        """
        if self._pool is None:
            function(0, *arguments)
        else:
            self._pool.submit(self._lead, function, arguments).result()

    def _lead(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        assert self._pool is not None
        others = [
            self._pool.submit(function, thread, *arguments)
            for thread in range(1, self.n_threads)
        ]
        function(0, *arguments)
        for other in others:
            other.result()


class _OneBlasThread:
    """Keeps BLAS to one thread, in whose hands sums do not depend on the machine's.

    The limit is the process's.  The last to leave puts back what the first one found,
    so that fits which run side by side do not lift it for each other.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limit: Any = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._be_alone,
            )

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limit = _blas_libraries().limit(limits=1)
            self._n_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limit.restore_original_limits()

    def _be_alone(self) -> None:
        """Forget, in a forked child, those inside: they are threads of the parent."""
        if self._n_inside > 0:
            self._n_inside = 0
            self._limit.restore_original_limits()
        self._lock.release()


one_blas_thread = _OneBlasThread()


@functools.cache
def _blas_libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


# What numba lacks: bits, powers of two, hints to the cache, atomic counters, sleep.


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


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch_row(typing: Any, table: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        stride = builder.extract_value(array.strides, 0)
        address = builder.add(
            builder.ptrtoint(array.data, ir.IntType(64)), builder.mul(args[1], stride)
        )
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        hint = builder.module.declare_intrinsic(
            "llvm.prefetch.p0",
            (),
            ir.FunctionType(ir.VoidType(), [byte, word, word, word]),
        )
        read, keep, data = (ir.Constant(word, flag) for flag in (0, 3, 1))
        builder.call(hint, [builder.inttoptr(address, byte), read, keep, data])
        return context.get_dummy_value()

    return types.void(table, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _trailing_zeros(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint32(types.uint32), generate


@intrinsic  # type: ignore[untyped-decorator]
def _two_to_the(typing: Any, power: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, bias = ir.IntType(64), ir.Constant(ir.IntType(64), 1023)
        exponent = builder.add(builder.fptosi(args[0], word), bias)
        bits = builder.shl(exponent, ir.Constant(word, 52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64), generate


LANES = 128  # uint32 in eight registers of 64 bytes, float64 in sixteen


def _lanes(dtype: Any, number: Any) -> Any:
    """Make an intrinsic: LANES numbers that nobody else can look at, as LLVM sees.

    Loops that write nothing else need not check what they might overwrite; and as long
    as all loops are over all of the numbers, these stay in registers.
    """
    kind = types.Array(dtype, 1, "C")

    @intrinsic  # type: ignore[untyped-decorator]
    def lanes(typing: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            memory = cgutils.alloca_once(builder, ir.ArrayType(number, LANES))
            memory.align = 64
            array = context.make_array(kind)(context, builder)
            size, step = (
                context.get_constant(types.intp, n)
                for n in (LANES, dtype.bitwidth // 8)
            )
            populate_array(
                array,
                data=builder.bitcast(memory, array.data.type),
                shape=[size],
                strides=[step],
                itemsize=step,
                meminfo=None,
            )
            return array._getvalue()

        return kind(), generate

    return lanes


_registers = _lanes(types.uint32, ir.IntType(32))
_doubles = _lanes(types.float64, ir.DoubleType())


if INTERPRETED:

    def prefetch_row(table: Any, row: int) -> None:
        """Do nothing: plain Python has no cache hints."""

    def two_to_the(power: float) -> float:
        """Return 2 to a whole number between -1022 and 1023."""
        return math.ldexp(1.0, int(power))

    def registers() -> Any:
        """Return LANES words."""
        return np.empty(LANES, dtype=np.uint32)

    def doubles() -> Any:
        """Return LANES numbers."""
        return np.empty(LANES)

    def trailing_zeros(word: Any) -> int:
        """Return the number of the lowest bit of a uint32 that is set; of 0, 32."""
        return (int(word) & -int(word)).bit_length() - 1 if word else 32

else:
    prefetch_row = _prefetch_row
    registers = _registers
    doubles = _doubles
    two_to_the = _two_to_the
    trailing_zeros = _trailing_zeros


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
def wait(barrier: NDArray[np.int64], n_threads: int) -> None:
    """Return when all `n_threads` threads have arrived here.

    Whoever waits long sleeps, lest it take the time of the thread it waits for when
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
