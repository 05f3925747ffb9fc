"""Workers that fit together without a cluster: threads of this process."""

from __future__ import annotations

import threading

import numpy as np


class ThreadComm:
    """What one of the threads exchanges with the others; see `Comm`."""

    n_threads = 1

    def __init__(self, rank, slots, barrier):
        self.rank, self.n_workers = rank, len(slots)
        self.shapes = []  # of what was added up
        self._slots, self._barrier = slots, barrier

    def gather(self, value):
        self._slots[self.rank] = value
        self._barrier.wait()
        gathered = list(self._slots)
        self._barrier.wait()
        return gathered

    def sum(self, values):
        assert values.dtype == np.int64
        self.shapes.append(values.shape)
        # the others may read this when the caller uses the memory of `values` again
        return np.sum(self.gather(values.copy()), axis=0)

    def gather_to(self, rank, value):
        gathered = self.gather(value)
        return gathered if rank == self.rank else []

    def print_line(self, line):
        if self.rank == 0:
            print(line, flush=True)


def run_workers(n_workers, work):
    """Call ``work(comm)`` in so many threads; return what they return, by rank."""
    slots, barrier = [None] * n_workers, threading.Barrier(n_workers, timeout=120)
    results, errors = [None] * n_workers, []

    def call(rank):
        try:
            results[rank] = work(ThreadComm(rank, slots, barrier))
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=call, args=(k,)) for k in range(n_workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # the others wait at a broken barrier
    causes = [e for e in errors if not isinstance(e, threading.BrokenBarrierError)]
    for error in causes or errors:
        raise error
    return results
