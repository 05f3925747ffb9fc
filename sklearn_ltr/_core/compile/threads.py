"""Threads: how many there are, the team that they are, and what it runs.

Threads are ordinary Python threads that live as long as one fit or one call, so a
forked child, a joblib worker or a second Python thread finds no pool to break.  Each
has an inbox, and does the jobs that come in one after another.  A job is to call a
Python function as long as there are items (:meth:`ThreadTeam.map`); or it is to serve,
which is to wait in machine code and run kernels in a row without returning to Python in
between (:meth:`ThreadTeam.share`, :mod:`.shared_kernels`).  A team that has let its
threads serve releases them before it gives them another job.

Nobody waits long for a thread that has no CPU: calls of a function end when the last
item is done, whoever is late; and fewer threads share kernels (:mod:`.cpus_left`).

BLAS is limited to one thread while networks are trained and evaluated.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterable
from multiprocessing import current_process
from numbers import Integral
from queue import SimpleQueue
from time import perf_counter, thread_time
from typing import Any

import joblib
import numba
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from sklearn_ltr._core.compile.atomics import new_counters
from sklearn_ltr._core.compile.cpus_left import CpusLeft
from sklearn_ltr._core.compile.kernels import INTERPRETED
from sklearn_ltr._core.compile.shared_kernels import (
    ANNOUNCED,
    RangeKernel,
    SharedKernel,
    new_announcements,
    release,
    serve,
)
from sklearn_ltr._core.typing import IntArray

STEPS_PER_THREAD = 1_000_000  # with fewer, one more thread does not save time

# Nanoseconds: what takes less is done by one thread, while the others wait in machine
# code, and while they wait in the interpreter
MIN_SHARED_TIME, MIN_TIME_TO_BEGIN = 10_000, 200_000
LONG_TIME = 1e9  # of a kernel that is called again and again, until others are done
RANGES_PER_THREAD = 4  # several, so that threads finish at about the same time


def effective_n_threads(n_jobs: int | None, work: int) -> int:
    """Return the number of threads for `work` steps, such as the values of X."""
    # `n_jobs` > 0 is the number of threads, but never more than the cores that this
    # process may use; a negative one counts down from these, as in joblib.  None stands
    # for all that joblib and NUMBA_NUM_THREADS grant this process (joblib lowers it in
    # its workers, so a parallel grid search is not oversubscribed), but for no more
    # than one thread per million steps.
    check_n_jobs(n_jobs)
    if INTERPRETED or n_jobs == 1:
        return 1
    if n_jobs is not None and n_jobs > 0:
        return max(1, min(n_jobs, int(joblib.cpu_count())))
    if n_jobs is None and work < 2 * STEPS_PER_THREAD:
        return 1  # without asking joblib, which takes longer than a small prediction
    if n_jobs is None and current_process().daemon:
        return 1  # as joblib does in a daemon, such as a worker of Dask, but warning
    granted = int(joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs))
    granted = min(granted, int(numba.config.NUMBA_NUM_THREADS))
    if n_jobs is None:
        granted = min(granted, work // STEPS_PER_THREAD)
    return max(1, granted)


def n_threads_of_call(n_jobs: int | None, work: int) -> int:
    """Return the number of threads for a single call, such as a prediction."""
    # To make a team takes longer than few steps, and a query must never wait for a
    # thread that has no CPU, also where `n_jobs` asks for several
    if work < 2 * STEPS_PER_THREAD:
        check_n_jobs(n_jobs)
        return 1
    return effective_n_threads(n_jobs, work)


def check_n_jobs(n_jobs: Any) -> None:
    """Raise a ValueError unless it is None or an integer other than 0."""
    is_count = isinstance(n_jobs, Integral) and not isinstance(
        n_jobs, bool | np.timedelta64
    )
    if n_jobs is not None and not (is_count and n_jobs != 0):
        raise ValueError(f"n_jobs must be None or an integer but 0, got {n_jobs!r}")


_Inbox = SimpleQueue[Callable[[], None] | None]  # jobs of a thread, None ends it


class ThreadTeam:
    """A context manager: `n_threads` threads that run functions or kernels together.

    All threads have started before the first function is run.  Where the system
    refuses to start as many, `n_threads` is lowered to the number of threads that did
    start, and with fewer than two everything runs in the caller's thread.  So read
    `n_threads` after entering.

    Parameters
    ----------
    n_threads : int
        Number of threads wanted.  With 1, functions run in the caller's thread.

    Notes
    -----
    Ctrl-C interrupts the calling thread alone, between any two of its steps.  It must
    never leave some threads at a barrier that the others do not reach: a kernel that
    threads share is a single step of the caller, who does one part of it, and waits for
    no thread that does not serve.

    The caller itself gives every thread its job.  If thread 0 passed it on, the system
    would have to find a core for another thread while both of them are on one: of two
    threads on two cores, thread 1 then often began on the caller's, and both waited for
    some time slices, of 4 milliseconds each.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._threads: list[threading.Thread] = []
        self._inboxes: list[_Inbox] = []
        self._announcements = new_announcements()
        self._cpus_left = CpusLeft(n_threads)
        # whether all threads have the job to serve, and whether some may have it, since
        # Ctrl-C may come in between
        self._serves = self._may_serve = False

    def __enter__(self) -> ThreadTeam:
        if self.n_threads > 1:
            self._start_threads()
            self.n_threads = max(1, len(self._threads))
            self._cpus_left = CpusLeft(self.n_threads)
            if self.n_threads == 1:
                self.__exit__()
        return self

    def __exit__(self, *error: object) -> None:
        for thread in self._dismiss_threads():
            thread.join()

    def __del__(self) -> None:
        # for a team that is never left, since Ctrl-C may interrupt `__exit__`
        with contextlib.suppress(AttributeError):  # ... or `__init__`
            self._dismiss_threads()

    def map(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Return what the function returns for each item, as the built-in one does."""
        # The first error is raised here; after it, and after Ctrl-C, no item is begun
        items = list(zip(*arguments, strict=True))
        if not self._threads or not items:
            return [function(*item) for item in items]
        self.rest()
        return _Calls(function, items).make(self._inboxes)

    def share(self, time: float, kernel: SharedKernel, *arguments: Any) -> None:
        """Call ``kernel(thread, n_threads, *arguments)`` in each thread."""
        # Each thread does its part; the error of one is raised here, when all have
        # ended.  `time` is about that of a single thread, in nanoseconds; the caller
        # alone does what is short.  Where other programs use the CPUs, fewer threads
        # take part.
        n_parts = self._n_parts(time)
        if n_parts == 1:
            kernel(0, 1, *arguments)
            return
        if not self._serves:
            self.rest()
            self._may_serve = True
            given = self.n_threads, self._announcements
            last = int(self._announcements[ANNOUNCED])
            for thread in range(1, self.n_threads):
                job = functools.partial(serve, thread, *given, last)
                self._inboxes[thread].put(job)
            self._serves = True
        team = self._announcements, self.n_threads, self.n_threads - n_parts
        is_loaded, wall, cpu = kernel.is_loaded, perf_counter(), thread_time()
        kernel.run_parts(*team, float(time), *arguments)
        # a wait for its machine code is not a wait for a CPU
        if is_loaded:
            self._cpus_left.note(perf_counter() - wall, thread_time() - cpu)
            if self._cpus_left.n_threads == 1:
                self.rest()

    def share_ranges(
        self, time: float, bounds: IntArray, kernel: RangeKernel, *arguments: Any
    ) -> None:
        """Call ``kernel(first, last, *arguments)`` for ranges, in any thread."""
        # range i is of the numbers ``bounds[i]`` to ``bounds[i + 1] - 1``
        if self._n_parts(time) == 1 and len(bounds) > 2:
            bounds = bounds[[0, -1]]
        counters = new_counters(self.n_threads)
        self.share(time, kernel.in_ranges, bounds, counters, arguments)

    def rest(self) -> None:
        """Let threads that wait in machine code return."""
        if self._may_serve:
            self._serves = False
            release(self._announcements)
            self._may_serve = False

    def divide(self, cost_before: NDArray[Any]) -> IntArray:
        """Return bounds of ranges for the threads, of about equal cost."""
        # `cost_before` has one number more than there is to divide
        n_ranges = RANGES_PER_THREAD * self.n_threads if self._threads else 1
        first, last = cost_before[0], cost_before[-1]
        shares = first + (last - first) * (np.arange(1, n_ranges) / n_ranges)
        inner = np.searchsorted(cost_before, shares)
        return np.concatenate(([0], inner, [len(cost_before) - 1]))

    def in_words(self) -> str:
        """Return how many threads shared kernels: "2 threads", "1.3 of 2 threads"."""
        mean, n_threads = self._cpus_left.mean(), self.n_threads
        words = f"{n_threads} thread{'s' * (n_threads > 1)}"
        return words if round(mean, 1) == n_threads else f"{mean:.1f} of {words}"

    def _n_parts(self, time: float) -> int:
        """Return how many threads share what takes one of them so many nanoseconds."""
        least = MIN_SHARED_TIME if self._serves else MIN_TIME_TO_BEGIN
        if not self._threads or time < least:
            return 1
        return self._cpus_left.ask()

    def _start_threads(self) -> None:
        """Start as many of the threads as the system permits."""
        for number in range(self.n_threads):
            inbox: _Inbox = SimpleQueue()
            self._inboxes.append(inbox)
            thread = threading.Thread(
                target=_work,
                args=(inbox,),
                name=f"sklearn_ltr-{number}",
                daemon=True,  # never keeps the interpreter from ending
            )
            try:
                thread.start()
            except (RuntimeError, MemoryError):
                self._inboxes.pop()
                return
            self._threads.append(thread)

    def _dismiss_threads(self) -> list[threading.Thread]:
        """Let all threads end when they have done their jobs, and return them."""
        threads = self._threads
        if self._may_serve:
            release(self._announcements)
        for inbox in self._inboxes:
            inbox.put(None)
        self._threads, self._inboxes = [], []
        return threads


ONE_THREAD = ThreadTeam(1)  # the caller's


def _work(inbox: _Inbox) -> None:
    """Do one job after another; the function that each thread of a team runs."""
    while (job := inbox.get()) is not None:
        job()
        del job  # its arrays need not live until the next job


class _Calls:
    """Calls of a function, each by the next thread of a team that is free."""

    def __init__(
        self, function: Callable[..., Any], items: list[tuple[Any, ...]]
    ) -> None:
        self._function = function
        self._numbered = iter(enumerate(items))  # shared: a thread takes the next one
        self._results: list[Any] = [None] * len(items)
        self._errors: dict[int, BaseException] = {}
        self._n_open = len(items)
        self._lock = threading.Lock()
        self._ended: SimpleQueue[None] = SimpleQueue()  # one item: all calls have ended

    def make(self, inboxes: list[_Inbox]) -> list[Any]:
        """Let threads make the calls; return their results, or raise an error."""
        try:
            for inbox in inboxes[: len(self._results)]:
                inbox.put(self._work)
            self._ended.get()
            if self._errors:
                raise self._errors[min(self._errors)]
            return self._results
        finally:
            self._drop()
            # no reference cycle: an error holds frames that hold this; and a thread
            # that is late keeps nothing alive
            self._errors, self._results = {}, []
            del self._function

    def _work(self) -> None:
        """Make calls; the thread that ends the last one tells the caller."""
        # A thread that has no CPU until all calls have been made is not waited for
        for number, item in self._numbered:
            n_ended = 1
            try:
                self._results[number] = self._function(*item)
            except BaseException as error:
                self._errors[number] = error
                n_ended += self._drop()
            del item
            with self._lock:
                self._n_open -= n_ended
                is_last = self._n_open == 0
            if is_last:
                self._ended.put(None)

    def _drop(self) -> int:
        """Leave the calls out that have not begun, and return how many they are."""
        return sum(1 for _ in self._numbered)


# --- BLAS -----------------------------------------------------------------------------


class _OneBlasThread:
    """A context manager that limits BLAS to one thread.

    With several, the order of its sums, and with it the last bits of a model, would
    depend on the number of threads.

    The limit of some libraries holds for the whole process: fits that run side by side
    in several Python threads share it, and the last to leave restores what there was
    before the first entered.  That of others holds for the Python thread that sets it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._before: list[int] = []  # numbers of threads before the first entered
        self._of_thread = threading.local()  # those that this one saw, for each entry
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._reset_in_child,
            )

    def __enter__(self) -> None:
        with self._lock:
            libraries = _blas_libraries()
            seen = [library.num_threads for library in libraries]
            if self._n_inside == 0:
                self._before = seen
            self._n_inside += 1
            self._entries().append(seen)
            for library in libraries:
                _set_threads(library, 1)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            self._restore(self._entries().pop())

    def _entries(self) -> list[list[int]]:
        """Return the numbers of threads that this thread saw when it entered."""
        entries: list[list[int]] = vars(self._of_thread).setdefault("entries", [])
        return entries

    def _restore(self, seen: list[int]) -> None:
        """Lift the limits that no thread needs which is still inside."""
        limits = zip(_blas_libraries().items(), seen, self._before, strict=True)
        for (library, is_shared), own, before in limits:
            if is_shared:
                own = 1 if self._n_inside > 0 else before
            _set_threads(library, own)

    def _reset_in_child(self) -> None:
        """Lift the limit in a forked child, which has no other thread of its parent."""
        is_limited, self._n_inside = self._n_inside > 0, len(self._entries())
        if is_limited and self._n_inside == 0:
            self._restore([library.num_threads for library in _blas_libraries()])
        self._lock.release()


one_blas_thread = _OneBlasThread()


@functools.cache
def _blas_libraries() -> dict[Any, bool]:
    """Return the BLAS libraries that are loaded, and if threads share their limits."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.num_threads for library in libraries]
    for library in libraries:
        _set_threads(library, 1)
    seen = [1] * len(libraries)  # by another Python thread

    def look() -> None:
        seen[:] = [library.num_threads for library in libraries]

    other = threading.Thread(target=look)
    with contextlib.suppress(RuntimeError):  # no thread starts, so none may share
        other.start()
        other.join()
    for library, number in zip(libraries, before, strict=True):
        _set_threads(library, number)
    return {library: n == 1 for library, n in zip(libraries, seen, strict=True)}


def _set_threads(library: Any, n_threads: int) -> None:
    """Set the number of threads of a BLAS library."""
    # Since threadpoolctl 3.8, only the first Python thread sets it, until it is let go
    let_go = getattr(library, "clear_controlling_thread", lambda force: None)
    let_go(force=True)
    library.set_num_threads(n_threads)
    let_go(force=True)
