"""Wait for tasks on a cluster, and notice when a worker is lost."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from sklearn_ltr._core.cluster.comm import LostConnectionError
from sklearn_ltr._core.cluster.engine import LostWorkerError

POLL_SECONDS = 0.5  # from one look at the tasks to the next
TELL_SECONDS = 10  # for an actor to answer
PAUSE_SECONDS = 30  # waited for a worker before it is asked whether it is paused
END_SECONDS = 60  # for the tasks of the others to end after a worker was lost
LOSS_POLLS = 6  # until the scheduler has noticed that a worker is lost
CAUSE_SECONDS = 30  # from a lost connection to the error of the worker that closed it


def wait_for(
    client: Any,
    futures: list[Any],
    workers: list[str] | None = None,
    actors: list[Any] | None = None,
) -> None:
    """Wait until all tasks have ended well; raise the error of one that has not."""
    # None of `workers` may be lost; if they are not given, other workers take over lost
    # tasks.  `actors` have the connections of the tasks.  They are told when the fit
    # ends with an error, so that no task waits forever for a worker that has not
    # connected.  A task whose connection was lost does not know the cause: the error of
    # another task is waited for.
    from distributed import CancelledError, wait

    pending, start, everyone_is_here = list(futures), time.monotonic(), False
    effect: LostConnectionError | None = None  # the first lost connection
    try:
        while pending:
            with suppress(TimeoutError):
                try:
                    wait(pending, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
                except CancelledError as error:  # rows that they need are lost
                    raise_error(client, error, workers)
            check_workers(client, workers)
            if actors and not everyone_is_here:
                everyone_is_here = actors[0].is_complete().result()
                check_paused(client, workers or [], time.monotonic() - start)
            for future in [future for future in pending if future.done()]:
                if future.status != "finished":
                    cause = future.exception()
                    if not isinstance(cause, LostConnectionError):
                        raise_error(client, cause, workers)
                    if effect is None:
                        effect, patience = cause, time.monotonic() + CAUSE_SECONDS
                pending.remove(future)
            if effect and (not pending or time.monotonic() > patience):
                raise_error(client, effect, workers)
    except BaseException as error:
        tell(actors or [], f"another worker ended the fit: {error}")
        raise


def tell(actors: list[Any], reason: str) -> None:
    """End the exchanges of all workers that can be reached."""
    answers = []
    for actor in actors:
        with suppress(Exception):  # its worker may be the one that is lost
            answers.append(actor.abort(reason))
    for answer in answers:
        with suppress(Exception):
            answer.result(timeout=TELL_SECONDS)


def check_workers(client: Any, workers: list[str] | None) -> None:
    """Raise a LostWorkerError if a worker has left the cluster."""
    lost = sorted(set(workers or ()) - set(client.nthreads()))
    if lost:
        raise LostWorkerError(
            f"{len(lost)} of the {len(workers or ())} workers that fit ran on left the "
            f"cluster: {', '.join(lost)}. The fit needs their rows, so it "
            "stopped and left the estimator as it was: fit again (on more workers if "
            "the memory did not suffice)"
        )


def check_paused(client: Any, workers: list[str], waited: float) -> None:
    """Raise a RuntimeError if the fit waits for a paused worker."""
    if waited < PAUSE_SECONDS:
        return
    status = client.run_on_scheduler(worker_status)
    paused = [address for address in workers if status.get(address) == "paused"]
    if paused:
        raise RuntimeError(
            f"the workers {', '.join(paused)} are paused because their memory is "
            f"nearly full, and the others have waited for {waited:.0f} s: give the "
            "workers more memory, or fit on more workers"
        )


def worker_status(dask_scheduler: Any) -> dict[str, str]:
    """Return the status of each worker by its address; run on the scheduler."""
    workers = dask_scheduler.workers.items()
    return {address: worker.status.name for address, worker in workers}


def raise_error(client: Any, error: BaseException, workers: list[str] | None) -> None:
    """Raise the error of a task, or the loss of a worker that caused it."""
    from distributed import CancelledError

    if isinstance(error, OSError | RuntimeError | CancelledError):
        for _ in range(LOSS_POLLS):
            check_workers(client, workers)
            time.sleep(POLL_SECONDS)
    if isinstance(error, CancelledError):
        raise RuntimeError(
            f"a worker was lost while its rows were needed ({error}): fit again"
        ) from error
    raise error


def current_client() -> Any:
    """Return the client of the cluster, or raise a RuntimeError."""
    from distributed import get_client

    try:
        client = get_client()
    except ValueError as error:
        raise RuntimeError(
            "there is no Dask cluster: create a distributed.Client first"
        ) from error
    if client.asynchronous:
        raise RuntimeError(
            "the client is asynchronous: create one with asynchronous=False"
        )
    return client
