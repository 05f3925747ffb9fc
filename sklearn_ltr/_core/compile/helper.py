"""A process that compiles one kernel while a first fit compiles the others.

The kernel that grows trees takes a third of the time that a first fit compiles.  So
before a fit of trees bins its rows, it says that it wants this kernel (`want`): where
it is not stored, one other process compiles it.  Each of the two claims what it
compiles (:mod:`.claims`).  The helper ends with its work, at the latest with the fit
(`end`) or with the process that has started it, and starts no process itself.

A process that is itself somebody's worker starts none, nor one that may be no Python,
has but one CPU, or has no memory or processes left; `obstacle` lists all of them.
"""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import threading
from multiprocessing import parent_process
from typing import Any, NamedTuple

from sklearn_ltr._core.compile import claims, helper_process, room_left

SWITCH = "SKLEARN_LTR_COMPILE_HELPER"  # an environment variable; "0": none is started
NEEDED_BYTES = 700 * 2**20  # of memory, for a helper of 300 to 450 MB and its fit
NEEDED_ADDRESSES = 4 * 2**30  # of RLIMIT_AS, most of which is never used
NEEDED_PROCESSES = 100  # threads of BLAS included
CLAIM = "the helper"  # of which a folder of kernels has one
PYTHON = re.compile(r"(python|pypy)[\d.]*[dtw]?(-intel64)?", re.IGNORECASE)

_FOLDER = os.path.abspath(os.path.join(__file__, *[os.pardir] * 4))  # of the package
LOGGER = logging.getLogger("sklearn_ltr")


class Helper(NamedTuple):
    """A helper that was started."""

    process: subprocess.Popen[bytes]
    owner: int  # the process that has started it


_helpers: list[Helper] = []  # at most one
_was_forked: list[bool] = []  # not empty in a forked child
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _was_forked.append(True))


def want(kernel: Any, module: str, *arguments: str, n_jobs: int | None) -> None:
    """Let a helper compile a kernel by the ``main`` of a module, if nothing is against.

    The kernel is one that the fit is about to need, a `SharedKernel`.
    """
    if n_jobs == 1 or kernel.cache is None or kernel.is_loaded or _helpers:
        return
    folder = kernel.cache.cache_path
    why = "the kernel is compiled" if kernel.cache.is_stored() else obstacle()
    if not why and not folder:
        why = "kernels are not stored"
    if not why and not claims.claim_now(folder, CLAIM):
        why = "another process has one"
    if why:
        LOGGER.debug("sklearn_ltr starts no process that compiles: %s", why)
        return
    try:
        process = subprocess.Popen(
            command(module, *arguments),
            env=os.environ | {SWITCH: "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:  # then this process compiles by itself
        claims.give_up(folder, CLAIM)
        LOGGER.debug("sklearn_ltr could start no process that compiles: %s", error)
    else:
        _helpers.append(Helper(process, os.getpid()))


def end() -> None:
    """End the helper, if there is one: the fit needs no kernel any more."""
    while _helpers:
        process, owner = _helpers.pop()
        if owner == os.getpid():  # not in a forked child
            process.kill()
            process.wait()
            claims.give_up_all()


def command(module: str, *arguments: str) -> list[str]:
    """Return the command of a process that runs ``main`` of a module, and compiles."""
    # -P: no module of the current folder is taken for another; -S: it starts faster
    own = str(os.getpid()), _FOLDER
    script = os.path.abspath(helper_process.__file__)
    return [sys.executable, "-P", "-S", script, *own, module, *arguments]


def obstacle() -> str | None:
    """Return why this process should start no helper, None if nothing is in the way."""
    from sklearn_ltr._core.compile.threads import STEPS_PER_THREAD, effective_n_threads

    if os.environ.get(SWITCH) == "0":
        return f"{SWITCH}=0"
    program = os.path.basename(sys.executable or "")
    if getattr(sys, "frozen", False) or not PYTHON.fullmatch(program):
        return "this program may be no Python interpreter"
    if not claims.ARE_KNOWN or not os.path.isfile(helper_process.__file__):
        return "processes cannot share what they compile here"
    if parent_process() is not None or _was_forked:
        return "this process is a worker"
    if threading.current_thread() is not threading.main_thread():
        return "this is not the main thread"
    # as many threads as affinity, quotas, and the parent of a worker grant a large fit
    if effective_n_threads(None, 2 * STEPS_PER_THREAD) == 1:
        return "there is one CPU"
    if room_left.bytes_left() < NEEDED_BYTES:
        return "there is not enough memory"
    if room_left.addresses_left() < NEEDED_ADDRESSES:
        return "RLIMIT_AS leaves too little memory"
    if room_left.processes_left() < NEEDED_PROCESSES:
        return "there is a limit of processes"
    return None
