"""The operations by which workers fit a model together; by default one process fits.

A fit computes every sum over rows, and everything else from more than one query, by
them.
"""

from __future__ import annotations

from math import fsum
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

V = TypeVar("V")


class Comm(Protocol):
    """Operations that all workers of a fit call together, in the same order.

    `sum` and `gather` return the same on all workers.
    """

    rank: int  # number of this worker, from 0
    n_workers: int
    n_threads: int | None  # limit for a worker if `n_jobs` is None; None: no limit

    def sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the arrays of all workers, which have the same shape.

        It may take the memory of `values`.
        """

    def gather(self, value: V) -> list[V]:
        """Return the values that all workers gave, by rank."""

    def gather_to(self, rank: int, value: V) -> list[V]:
        """Return the values of all workers on the worker `rank`; [] on the others."""

    def print_line(self, line: str) -> None:
        """Print a line once, whichever workers call this."""


class OneProcess:
    """The Comm of a fit in one process, which exchanges nothing."""

    rank, n_workers = 0, 1
    n_threads: int | None = None

    def sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values."""
        return values

    def gather(self, value: V) -> list[V]:
        """Return the value."""
        return [value]

    def gather_to(self, rank: int, value: V) -> list[V]:
        """Return the value."""
        return [value]

    def print_line(self, line: str) -> None:
        """Print a line without delay."""
        print(line, flush=True)


ONE_PROCESS: Comm = OneProcess()


def sum_exactly(values: NDArray[np.float64], comm: Comm) -> float:
    """Return the sum of the finite values of all workers, rounded once."""
    # It does not depend on the order of the values, nor on which worker has them.  The
    # sum of one worker is that of a few numbers, each the rest of those before it.
    addends: list[float] = values.tolist()
    parts: list[float] = []
    while rest := fsum([*addends, *(-part for part in parts)]):
        parts.append(rest)
    return fsum(part for of_worker in comm.gather(parts) for part in of_worker)
