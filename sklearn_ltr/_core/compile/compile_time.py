"""The time that this process has spent on compiling kernels and reading stored ones."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from numba.core import event


class CompileClock(event.Listener):
    """The seconds of all compilations by numba in this process.

    One within another counts once.  numba lets only one thread compile at a time.
    """

    def __init__(self) -> None:
        self._depth = 0  # compilations that have begun and not ended
        self._start = 0.0  # of the outermost one
        self._seconds = 0.0  # of those that have ended

    @property
    def is_running(self) -> bool:
        """Whether something is compiled now."""
        return self._depth > 0

    def on_start(self, event: Any) -> None:
        """Note that a compilation begins."""
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Note that a compilation has ended."""
        self._depth -= 1
        if self._depth == 0:
            self._seconds += time.perf_counter() - self._start

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of a block."""
        self.on_start(None)
        try:
            yield
        finally:
            self.on_end(None)

    def seconds(self) -> float:
        """Return the seconds so far."""
        running = time.perf_counter() - self._start if self._depth > 0 else 0.0
        return self._seconds + running


COMPILE_CLOCK = CompileClock()
event.register("numba:compile", COMPILE_CLOCK)


def working_time() -> float:
    """Return a time in seconds that stands still while numba compiles."""
    return time.perf_counter() - COMPILE_CLOCK.seconds()
