"""How many threads of a team find a CPU, beside other programs.

The threads that share a kernel wait for each other many times, after steps of some ten
microseconds.  Beside another busy program, one of them is often without a CPU, for
milliseconds, and all others wait: two threads on two CPUs, one of which another program
uses too, take twice as long as a single thread.

**The sign.**  A thread that computes, or has only begun to wait, uses CPU time.  It
uses none while it has no CPU, nor while it sleeps because another thread is late.  So
the difference between the wall time and the CPU time of the calling thread is lost to
other programs.  To read both takes a microsecond; on a quiet machine nothing is lost.

**The rule.**  Without one of m threads, a kernel takes at most m / (m - 1) times as
long.  So when m threads lose more than 1 / (m + 1) of the time, one fewer takes part
from then on.  One more is tried as soon as 40 times as much time has passed as was
lost: trials take about a fortieth of the time.
"""

from __future__ import annotations

import sys
from time import perf_counter

# Seconds of kernels after which is judged what was lost.  Windows counts a thread's CPU
# time in steps of 16 milliseconds
SHORTEST_WINDOW = 0.2 if sys.platform == "win32" else 0.01
TRIAL_AFTER = 40.0  # times the seconds that were lost


class CpusLeft:
    """The number of threads that share kernels, of a team that has more of them.

    Parameters
    ----------
    n_threads : int
        Of the team.

    Attributes
    ----------
    n_threads : int
        Those that take part in the next kernel.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = self._most = n_threads
        self._wall = self._cpu = 0.0  # seconds of kernels since they were judged
        self._next_trial = 0.0
        self._begin = self._changed = perf_counter()
        self._thread_seconds = 0.0  # until the last change of `n_threads`

    def ask(self) -> int:
        """Return how many threads shall share the next kernel."""
        if self.n_threads < self._most and self._wall == 0.0:
            if perf_counter() >= self._next_trial:
                self._change(+1)
        return self.n_threads

    def note(self, wall: float, cpu: float) -> None:
        """Take note of the calling thread's seconds in a kernel that threads shared."""
        self._wall += wall
        self._cpu += cpu
        if self._wall < SHORTEST_WINDOW:
            return
        lost = self._wall - self._cpu
        if lost > self._wall / (self.n_threads + 1):
            self._change(-1)
            self._next_trial = self._changed + TRIAL_AFTER * lost
        self._wall = self._cpu = 0.0

    def mean(self) -> float:
        """Return the mean of `n_threads` over the time until now."""
        self._change(0)
        return self._thread_seconds / (self._changed - self._begin)

    def _change(self, difference: int) -> None:
        """Change the number of threads from now on."""
        now = perf_counter()
        self._thread_seconds += self.n_threads * (now - self._changed)
        self._changed = now
        self.n_threads += difference
