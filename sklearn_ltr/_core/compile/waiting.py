"""What users wait for while kernels are compiled: a line every ten seconds.

A fit, or scoring many rows, is a `task`, and says at which `stage` it is.  Where a
kernel has to be compiled, a thread begins to tell of the tasks under way, and it goes
on until they have ended: users who wait for the compiler cannot know how long.  Tasks
that find all kernels compiled are not told, and start no thread.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar

from sklearn_ltr._core.compile.compile_time import COMPILE_CLOCK

FIRST, NEXT = 2.0, 10.0  # seconds before the first line, and between two
LOOK_AGAIN = 0.5  # seconds until the thread ends, if no task is under way
LOGGER = logging.getLogger("sklearn_ltr")
# `warnings` are errors for many users; a logger prints this on stderr, unless they set
# its level or a handler


class Task:
    """Something that users wait for: its name, its stage, and when it has begun."""

    def __init__(self, name: str) -> None:
        self.name, self.stage = name, ""
        self.start, self.compiled = time.perf_counter(), COMPILE_CLOCK.seconds()
        self.is_told = False


class Teller:
    """Tells of the tasks of this process, in a thread of its own.

    Attributes
    ----------
    tasks : list of Task
        Those under way, in the order in which they have begun.
    current : ContextVar
        The innermost one of each thread.
    place : str
        Where the last kernel was stored; empty if none was.
    """

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.current: ContextVar[Task | None] = ContextVar("current", default=None)
        self.place = self._compiling = ""
        self._place_is_told = False
        self._all_ended = threading.Event()
        self._start_anew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._start_anew)

    def _start_anew(self) -> None:
        """Begin without a thread: a forked child has none."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self, compiling: str) -> None:
        """Tell of what is under way, and what is compiled for it."""
        self._compiling = compiling
        with self._lock, contextlib.suppress(RuntimeError):  # no thread can start
            if self._thread is None:
                thread = threading.Thread(
                    target=self._tell, name="sklearn_ltr-waiting", daemon=True
                )
                thread.start()
                self._thread = thread

    def end(self, task: Task) -> None:
        """Note that a task has ended, and say so if it was told."""
        with contextlib.suppress(ValueError):  # it had not begun
            self.tasks.remove(task)
        if not self.tasks:
            self._all_ended.set()
        if task.is_told:
            now, compiled = time.perf_counter(), COMPILE_CLOCK.seconds()
            LOGGER.warning(
                "sklearn_ltr: %s has ended after %.0f s, of which %.0f s compiled "
                "kernels",
                task.name,
                now - task.start,
                compiled - task.compiled,
            )

    def _tell(self) -> None:
        """Write a line every few seconds until nothing is under way."""
        start = time.perf_counter()
        due = start + FIRST
        while True:
            self._all_ended.wait(min(LOOK_AGAIN, max(0.0, due - time.perf_counter())))
            self._all_ended.clear()
            with self._lock:
                if not (self.tasks or COMPILE_CLOCK.is_running):
                    self._thread = None
                    return
            if time.perf_counter() >= due:
                self._write_line(start)
                due = time.perf_counter() + NEXT

    def _write_line(self, start: float) -> None:
        """Tell of the outermost task, and what the innermost one is at."""
        now, tasks = time.perf_counter(), list(self.tasks)
        what, at = f"kernels, {now - start:.0f} s so far", []
        if tasks:
            tasks[0].is_told = True
            what = f"{tasks[0].name}, {now - tasks[0].start:.0f} s so far"
            at = [tasks[-1].name] * (len(tasks) > 1) + [tasks[-1].stage or "reading"]
        if COMPILE_CLOCK.is_running:
            at = [*at[:-1], self._compiling]
        if self.place and not self._place_is_told:
            self._place_is_told = True
            LOGGER.warning(
                "sklearn_ltr compiles kernels for this CPU, some ten seconds for each "
                "kind of fit; later processes read them from %s.  To compile all of "
                "them beforehand: python -m sklearn_ltr compile",
                self.place,
            )
        LOGGER.warning("sklearn_ltr: %s: %s", what, ", ".join(at))


TELLER = Teller()


@contextlib.contextmanager
def task(name: str) -> Iterator[None]:
    """Let a block be told as one thing that users wait for."""
    own, outer = Task(name), TELLER.current.get()
    try:  # Ctrl-C may come between any two steps
        TELLER.tasks.append(own)
        TELLER.current.set(own)
        yield
    finally:
        TELLER.current.set(outer)
        TELLER.end(own)


def stage(name: str) -> None:
    """Say what the present task is at."""
    own = TELLER.current.get()
    if own is not None:
        own.stage = name
