"""Fits by the tasks of Spark; what tasks import, which needs no PySpark."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sklearn_ltr._core.cluster.comm import Connections


def is_among_first(folder: Path, n: int) -> bool:
    """Whether this process is among the first `n` that ask; its id is in the folder."""
    for number in range(n):
        try:
            with open(folder / f"{number}", "x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            continue
        return True
    return False


def fit_with_faults(
    batches: Any, given: Any, *, what: str, when: str, folder: Path, n_times: int = 1
) -> Any:
    """`fit_in_task`, which so many processes do not end."""
    from sklearn_ltr.spark._engine import fit_in_task

    def fail(now: str) -> None:
        if now != when or not is_among_first(folder, n_times):
            return
        time.sleep(0.5)  # in which others come to wait for this process
        if what == "exit":
            os._exit(1)
        if what == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(3600)

    def keep(connections: Connections, n_trees: int, fitted: Any) -> None:
        if n_trees == 2:
            fail("after two trees")
        kept(connections, n_trees, fitted)

    kept = Connections.keep
    fail("before it listens")
    with patch.object(Connections, "keep", keep):
        found = fit_in_task(batches, given)
    fail("after the last tree")
    return found
