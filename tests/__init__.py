"""The tests, and what lets them call what only kernels call."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading

import numba

from sklearn_ltr._compile import INTERPRETED


def from_python(subkernel):
    """Let Python call what otherwise only kernels call."""
    if INTERPRETED:
        return subkernel
    return numba.njit(nogil=True)(lambda *arguments: subkernel(*arguments))


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
