"""A process that compiles beside this one.

Where a first fit finds its kernels not compiled, it starts another process
(`_ahead_of_time`), which compiles first what the fit needs last, then all others.  Each
of the two claims what it compiles (:mod:`.claims`).  The helper ends with the process
that has started it.  It never imports the user's ``__main__``.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import subprocess
import sys
import threading

WHILE_STDIN = "--while-stdin"  # an argument of its command
INSTALLED = "site-packages", "dist-packages"  # folders that every process looks into

_PACKAGES = os.path.abspath(os.path.join(__file__, *[os.pardir] * 4))
_wanted: list[str] = []  # steps that the helper should take first
_started: list[subprocess.Popen[bytes]] = []
_only_compiles = False


def command(*steps: str) -> list[str]:
    """Return the command of a process that compiles, beginning with some steps."""
    # -P: no module of the current folder is taken for another
    return [sys.executable, "-P", "-m", "sklearn_ltr._ahead_of_time", *steps]


def environment() -> dict[str, str]:
    """Return the environment variables of a process that compiles."""
    if os.path.basename(_PACKAGES) in INSTALLED:
        return dict(os.environ)
    # it finds the package where this process has found it
    paths = [_PACKAGES, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


# --- in a process that fits -----------------------------------------------------------


def want(*steps: str, n_jobs: int | None) -> None:
    """Say what a helper should compile first, if it is not compiled yet."""
    _wanted[:] = steps if n_jobs != 1 else ()


def start() -> None:
    """Start a helper, once, if one is wanted and this process may use two CPUs."""
    if not _wanted or _started or not sys.executable:
        return
    from sklearn_ltr._core.compile.threads import STEPS_PER_THREAD, effective_n_threads

    # as many threads as affinity, quotas, and the parent of a worker grant a large fit
    if effective_n_threads(None, 2 * STEPS_PER_THREAD) == 1:
        return
    with contextlib.suppress(OSError):  # then this process compiles by itself
        process = subprocess.Popen(
            [*command(*_wanted), WHILE_STDIN],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _started.append(process)
        atexit.register(_end, process, os.getpid())


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """End the helper, unless this is a forked child of its owner."""
    if os.getpid() == owner:
        process.kill()
        process.communicate()  # closes the pipe, and waits


# --- in a process that compiles -------------------------------------------------------


def only_compile() -> None:
    """Let this process compile for this CPU whatever is not compiled for it."""
    global _only_compiles
    _only_compiles = True
    logging.getLogger("sklearn_ltr").setLevel(logging.ERROR)  # no line that tells of it


def only_compiles() -> bool:
    """Return whether this process does nothing but compile."""
    return _only_compiles


def end_with_stdin() -> None:
    """Let this process end when its standard input does, with the process it helps."""

    def wait() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()
