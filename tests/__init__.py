"""The tests, and what lets them call what only kernels call."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import sys
import threading

# Threads of BLAS and OpenMP, also those of the peers, sleep while they wait: beside
# other processes they would spin most of the time.  Read when these are first imported.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2^4 cycles
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numba  # noqa: E402

import sklearn_ltr  # noqa: E402
from sklearn_ltr._core.compile import INTERPRETED  # noqa: E402


def from_python(subkernel):
    """Let Python call what otherwise only kernels call."""
    if INTERPRETED:
        return subkernel
    return numba.njit(nogil=True)(lambda *arguments: subkernel(*arguments))


def files_named(caught, user):
    """The files of warnings; before Python 3.12 `user` in place of the package."""
    files = [warning.filename for warning in caught]
    if sys.version_info >= (3, 12):
        return files
    package = os.path.dirname(sklearn_ltr.__file__)
    return [user if file.startswith(package) else file for file in files]


def copy_kernels(folder, *left_out):
    """Copy the kernels that the tests have, as far as these are in one folder.

    A process then compiles those that are left out, by patterns of the names of their
    files, and not all kernels.
    """
    if "NUMBA_CACHE_DIR" in os.environ:
        ignore = shutil.ignore_patterns(".claims", *left_out)
        with contextlib.suppress(shutil.Error):  # some files are being written
            shutil.copytree(
                os.environ["NUMBA_CACHE_DIR"], folder, ignore=ignore, dirs_exist_ok=True
            )


@contextlib.contextmanager
def ctrl_c_soon():
    """Press Ctrl-C after 0.3 s, and every 5 s until it is heard.

    Python drops it, with a warning, in a callback of the garbage collector, which
    therefore rests meanwhile; and in a finalizer.
    """
    heard = threading.Event()
    gc.disable()

    def press(patience=0.3):
        while not heard.wait(patience):
            os.kill(os.getpid(), signal.SIGINT)
            patience = 5.0

    presser = threading.Thread(target=press)
    presser.start()
    try:
        yield
    finally:
        heard.set()
        presser.join()
        gc.enable()
