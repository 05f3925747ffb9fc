"""The threads that run kernels, and how they keep out of BLAS's way.

Threads are ordinary Python threads that live as long as one fit or one call, so a
forked child, a joblib worker or a second Python thread finds no pool to break.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

import joblib
import numba
from threadpoolctl import ThreadpoolController

from sklearn_ltr._compile.kernels import INTERPRETED

T = TypeVar("T")

WORTH_A_THREAD = 1_000_000  # steps


def effective_n_threads(n_jobs: int | None, work: int) -> int:
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


class ThreadTeam:
    """`n_threads` threads that run one function together, as a context manager."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> ThreadTeam:
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
            for other in self._pool.submit(self._lead, function, arguments).result():
                other.result()

    def start(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Begin to call ``function(*arguments)`` in one of the threads.

        With one thread, the caller's, it has been called when this returns.
        """
        if self._pool is not None:
            return self._pool.submit(function, *arguments)
        done: Future[T] = Future()
        done.set_result(function(*arguments))
        return done

    def _lead(
        self, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> list[Future[Any]]:
        assert self._pool is not None
        others = [
            self._pool.submit(function, thread, *arguments)
            for thread in range(1, self.n_threads)
        ]
        function(0, *arguments)
        return others


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
