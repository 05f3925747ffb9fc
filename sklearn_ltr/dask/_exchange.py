"""Exchanges between the workers of a fit, by actors of the cluster.

Each worker of the fit has an actor, an `Exchange`, which the workers call directly: the
scheduler takes no part.  An array to be added up is cut into parts, which the actors
add, one part each; so no worker receives all arrays of all others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

ACTOR_BYTES = 2**20  # that one actor receives of a sum, which takes about 1 ms


class Meeting:
    """One exchange: what the workers have brought so far."""

    def __init__(self) -> None:
        self.everyone_is_here = asyncio.Event()
        self.n_arrived = self.n_left = 0
        self.total: Any = None
        self.values: dict[int, Any] = {}


class Exchange:
    """An actor at which the workers of a fit meet.

    Exchanges are numbered, and each worker takes part in all of them.

    Parameters
    ----------
    n_workers : int
    """

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self._meetings: dict[int, Meeting] = {}
        self._failure: str | None = None
        self._ranks: set[int] = set()

    async def n_arrived(self) -> int:
        """Return how many workers have taken part in an exchange of values here."""
        return len(self._ranks)

    async def sum(self, number: int, values: NDArray[np.int64]) -> Any:
        """Return the sum of the workers' arrays."""
        meeting = self._meeting(number)
        if meeting.total is None:
            meeting.total = values.copy()
        else:
            meeting.total += values
        await self._wait(number, meeting)
        return meeting.total

    async def gather(self, number: int, rank: int, value: Any, to: int | None) -> Any:
        """Return what each worker brought, by rank; [] to others than `to`."""
        meeting = self._meeting(number)
        meeting.values[rank] = value
        self._ranks.add(rank)
        if to is not None and rank != to:
            meeting.n_left += 1  # and does not wait
            self._arrive(meeting)
            return []
        await self._wait(number, meeting)
        return [meeting.values[other] for other in range(self._n_workers)]

    async def abort(self, reason: str) -> None:
        """End all exchanges, those to come included, with a RuntimeError."""
        self._failure = reason
        for meeting in self._meetings.values():
            meeting.everyone_is_here.set()

    def _meeting(self, number: int) -> Meeting:
        if self._failure is not None:
            raise RuntimeError(self._failure)
        return self._meetings.setdefault(number, Meeting())

    def _arrive(self, meeting: Meeting) -> None:
        meeting.n_arrived += 1
        if meeting.n_arrived == self._n_workers:
            meeting.everyone_is_here.set()

    async def _wait(self, number: int, meeting: Meeting) -> None:
        self._arrive(meeting)
        await meeting.everyone_is_here.wait()
        if self._failure is not None:
            raise RuntimeError(self._failure)
        meeting.n_left += 1
        if meeting.n_left == self._n_workers:
            del self._meetings[number]


class DaskCollective:
    """The exchanges of one worker of a fit, see `Collective`.

    Parameters
    ----------
    rank : int
    actors : list of n_workers proxies of an `Exchange`
        By the rank of the worker that each is on.
    print_line : callable
        Prints a line where the user sees it.

    Attributes
    ----------
    n_exchanges : int
        Number of exchanges so far.
    n_bytes : int
        Bytes of the arrays that this worker has sent and received in sums so far.
    """

    def __init__(
        self, rank: int, actors: list[Any], print_line: Callable[[str], None]
    ) -> None:
        self.rank, self.n_workers = rank, len(actors)
        self.n_exchanges = self.n_bytes = 0
        self._actors, self._print_line = actors, print_line

    def sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the workers' arrays, which are of the same shape."""
        self.n_exchanges += 1
        self.n_bytes += 2 * values.nbytes
        received = self.n_workers * values.nbytes
        n_parts = min(self.n_workers, -(-received // ACTOR_BYTES))
        parts = np.array_split(values.reshape(-1), max(1, n_parts))
        sums = [
            actor.sum(self.n_exchanges, part)
            for actor, part in zip(self._actors, parts, strict=False)
        ]
        return np.concatenate([one.result() for one in sums]).reshape(values.shape)

    def gather(self, value: Any) -> list[Any]:
        """Return what each worker gave, by rank."""
        return self._gather(0, value, None)

    def gather_to(self, rank: int, value: Any) -> list[Any]:
        """Return what each worker gave, by rank, on one of them; [] on the others."""
        return self._gather(rank, value, rank)

    def _gather(self, at: int, value: Any, to: int | None) -> list[Any]:
        self.n_exchanges += 1
        actor = self._actors[at]
        gathered = actor.gather(self.n_exchanges, self.rank, value, to)
        result: list[Any] = gathered.result()
        return result

    def print_line(self, line: str) -> None:
        """Print a line once, whichever workers call this."""
        if self.rank == 0:
            self._print_line(line)
