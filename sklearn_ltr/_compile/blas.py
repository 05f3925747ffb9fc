"""BLAS limited to one thread, while networks are trained and evaluated."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any

from threadpoolctl import ThreadpoolController


class _OneBlasThread:
    """A context manager that limits BLAS to one thread.

    With several, the order of its sums, and with it the last bits of a model, would
    depend on the number of threads.

    The limit holds for the whole process.  Fits that run side by side in several
    Python threads share it: the first to enter sets it, the last to leave restores
    what the first one found.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limit: Any = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._reset_in_child,
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

    def _reset_in_child(self) -> None:
        """Lift the limit in a forked child: those inside are threads of the parent."""
        if self._n_inside > 0:
            self._n_inside = 0
            self._limit.restore_original_limits()
        self._lock.release()


one_blas_thread = _OneBlasThread()


@functools.cache
def _blas_libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
