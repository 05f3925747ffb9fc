"""Wait for tasks on a cluster, and notice when a worker is lost."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

POLL_SECONDS = 0.5
LOSS_POLLS = 6  # until the scheduler has noticed that a worker is lost


def wait_for(
    client: Any,
    futures: list[Any],
    workers: list[str] | None = None,
    actors: list[Any] | None = None,
) -> None:
    """Wait until all tasks have ended well.

    Parameters
    ----------
    client : distributed.Client
    futures : list of distributed.Future
    workers : list of str, default=None
        Addresses of workers that must not be lost; None: others do their tasks.
    actors : list of proxies of `Exchange`, default=None
        Where the tasks meet: told when one of them fails, so that none waits on.

    Raises
    ------
    RuntimeError
        If a worker is lost.
    Exception
        What a task raised.
    """
    from distributed import wait

    pending = list(futures)
    try:
        while pending:
            with suppress(TimeoutError):
                wait(pending, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
            check_workers(client, workers)
            for future in [future for future in pending if future.done()]:
                if future.status != "finished":
                    raise_error(client, future, workers)
                pending.remove(future)
    except BaseException as error:
        for actor in actors or ():
            with suppress(Exception):
                actor.abort(f"another worker ended the fit: {error}")
        client.cancel(pending)
        raise


def check_workers(client: Any, workers: list[str] | None) -> None:
    """Raise a RuntimeError if a worker has left the cluster."""
    lost = sorted(set(workers or ()) - set(client.nthreads()))
    if lost:
        raise RuntimeError(
            f"{len(lost)} of the {len(workers or ())} workers that fit ran on left the "
            f"cluster: {', '.join(lost)}. Their rows are needed, so the fit was "
            "stopped, and the estimator is as it was: fit again (on more workers if "
            "the memory did not suffice)"
        )


def raise_error(client: Any, future: Any, workers: list[str] | None) -> None:
    """Raise what ended a task: its error, or that of a lost worker behind it."""
    from distributed import CancelledError

    if future.status != "error":
        raise CancelledError(f"a task of fit was {future.status}")
    error = future.exception()
    if isinstance(error, OSError | RuntimeError):  # could not reach another worker?
        for _ in range(LOSS_POLLS):
            check_workers(client, workers)
            time.sleep(POLL_SECONDS)
    raise error
