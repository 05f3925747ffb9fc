"""The `Comm` of a cluster: its workers exchange arrays through actors.

Each worker of the fit has an actor, an `Exchange`, which the workers call directly: the
scheduler takes no part.  The workers are a binary tree: worker r has the children
2r + 1 and 2r + 2.  Each gives its parent what it has together with all below it, and
gets back what all have.  So a worker receives two messages from its children, however
many workers there are, and waits for as many of them as the tree is deep.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Add: TypeAlias = Callable[[Any, Any], Any]


class Meeting:
    """One exchange at one actor: what the worker's children have brought so far."""

    def __init__(self) -> None:
        self.children_are_here, self.is_over = asyncio.Event(), asyncio.Event()
        self.brought: list[Any] = []
        self.result: Any = None

    def end(self, result: Any = None) -> None:
        """Wake all workers that wait for this exchange."""
        self.result = result
        self.children_are_here.set()
        self.is_over.set()


class Exchange:
    """The actor of one worker.

    Exchanges are numbered, and each worker takes part in all of them.

    Parameters
    ----------
    n_senders : int
        Other workers that bring something to this one: its children.
    """

    def __init__(self, n_senders: int) -> None:
        self._n_senders = n_senders
        self._meetings: dict[int, Meeting] = {}
        self._failure: str | None = None
        self._has_met = False

    async def has_met(self) -> bool:
        """Return whether an exchange has ended here."""
        return self._has_met

    async def bring(self, number: int, value: Any) -> Any:
        """Bring what a child has; return what all workers have, when it is known."""
        meeting = self._bring(number, value, self._n_senders)
        await meeting.is_over.wait()
        self._check()
        return meeting.result

    async def bring_one(self, number: int, value: Any, n_senders: int) -> None:
        """Bring what one of `n_senders` workers has, and do not wait."""
        self._bring(number, value, n_senders)

    async def collect(self, number: int, n_senders: int) -> list[Any]:
        """Return what `n_senders` workers have brought, when all have."""
        meeting = self._meeting(number)
        if n_senders > 0:
            await meeting.children_are_here.wait()
            self._check()
        return meeting.brought

    async def add_up(self, number: int, value: Any, add: Add) -> Any:
        """Return what this worker and its children have, added up."""
        for brought in await self.collect(number, self._n_senders):
            value = add(value, brought)
        return value

    async def conclude(self, number: int, value: Any, add: Add) -> Any:
        """Return what all have, added up; called at the root of the tree of workers."""
        result = await self.add_up(number, value, add)
        await self.publish(number, result)
        return result

    async def publish(self, number: int, result: Any) -> None:
        """End an exchange, and give its result to those that wait for it."""
        self._has_met = True
        self._meeting(number).end(result)
        del self._meetings[number]

    async def abort(self, reason: str) -> None:
        """End all exchanges, those to come included, with a RuntimeError."""
        self._failure = reason
        for meeting in self._meetings.values():
            meeting.end()

    def _bring(self, number: int, value: Any, n_senders: int) -> Meeting:
        meeting = self._meeting(number)
        meeting.brought.append(value)
        if len(meeting.brought) == n_senders:
            meeting.children_are_here.set()
        return meeting

    def _meeting(self, number: int) -> Meeting:
        self._check()
        return self._meetings.setdefault(number, Meeting())

    def _check(self) -> None:
        if self._failure is not None:
            raise RuntimeError(self._failure)


def count_children(rank: int, n_workers: int) -> int:
    """Return how many children a worker has in the tree."""
    return len(range(2 * rank + 1, min(2 * rank + 3, n_workers)))


class DaskComm:
    """The exchanges of one worker of a fit, see `Comm`.

    Parameters
    ----------
    rank : int
    actors : list of n_workers proxies of an `Exchange`
        By the rank of the worker that each is on.
    worker : distributed.Worker
        This worker, on which the actor `actors[rank]` is.
    print_line : callable
        Prints a line where the user sees it.

    Attributes
    ----------
    n_threads : int
        Threads that Dask gives this worker.
    n_exchanges : int
        Number of exchanges so far.
    n_bytes : int
        Bytes of the arrays that this worker has given to sums, and got back, so far.
    """

    def __init__(
        self,
        rank: int,
        actors: list[Any],
        worker: Any,
        print_line: Callable[[str], None],
    ) -> None:
        self.rank, self.n_workers = rank, len(actors)
        self.n_threads: int | None = worker.state.nthreads
        self.n_exchanges = self.n_bytes = 0
        self._actors, self._print_line = actors, print_line
        self._is_inner = count_children(rank, len(actors)) > 0
        self._own: Exchange = worker.state.actors[actors[rank].key]
        self._loop = worker.loop.asyncio_loop

    def sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the arrays of all workers, which have the same shape."""
        self.n_bytes += 2 * values.nbytes
        total: NDArray[np.int64] = self._combine(values, np.add)
        return total

    def gather(self, value: Any) -> list[Any]:
        """Return what each worker gave, by rank."""
        by_rank = self._combine({self.rank: value}, dict.__or__)
        return [by_rank[rank] for rank in range(self.n_workers)]

    def gather_to(self, rank: int, value: Any) -> list[Any]:
        """Return what each worker gave, by rank, on one of them; [] on the others."""
        self.n_exchanges += 1
        number, n_others = self.n_exchanges, self.n_workers - 1
        if self.rank != rank:
            pair = self.rank, value
            self._actors[rank].bring_one(number, pair, n_others).result()
            return []
        by_rank = dict(self._call_own("collect", number, n_others)) | {rank: value}
        self._call_own("publish", number, None)
        return [by_rank[other] for other in range(self.n_workers)]

    def _combine(self, value: Any, add: Add) -> Any:
        """Return what all workers have, added up."""
        self.n_exchanges += 1
        number = self.n_exchanges
        if self.rank == 0:
            return self._call_own("conclude", number, value, add)
        if self._is_inner:
            value = self._call_own("add_up", number, value, add)
        result = self._actors[(self.rank - 1) // 2].bring(number, value).result()
        if self._is_inner:
            self._call_own("publish", number, result)
        return result

    def _call_own(self, method: str, *arguments: Any) -> Any:
        """Call a method of this worker's actor, without a message."""
        call = getattr(self._own, method)(*arguments)
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def print_line(self, line: str) -> None:
        """Print a line once, whichever workers call this."""
        if self.rank == 0:
            self._print_line(line)
