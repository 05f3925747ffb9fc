"""What a process has of which there is one only; this file imports no sklearn_ltr."""

from __future__ import annotations

import contextlib
import gc
import locale
import logging
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numba
import numpy as np
import sklearn
from threadpoolctl import threadpool_info


def state() -> dict[str, Any]:
    """Return what a guest must leave as it is."""
    gc.collect()  # closes pipes of joblib's queues
    umask = os.umask(0o077)
    os.umask(umask)
    name, keys, *position = np.random.get_state()  # noqa: NPY002
    backend, _ = joblib.parallel.get_active_backend()
    loggers = [logging.getLogger(name) for name in (None, "sklearn_ltr", "numba")]
    return {
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "processes": "".join(
            file.read_text() for file in Path("/proc/self/task").glob("*/children")
        ),
        "open files": sorted(open_files()),
        "umask": umask,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "signals": {n: signal.getsignal(n) for n in signal.valid_signals()},
        "locale": locale.setlocale(locale.LC_ALL),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.callbacks[:]),
        "imports": (sys.path[:], sys.meta_path[:], sys.path_hooks[:]),
        "interpreter": (sys.getrecursionlimit(), sys.getswitchinterval()),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook),
        "tracing": (sys.gettrace(), sys.getprofile()),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "warnings": (warnings.filters[:], warnings.showwarning),
        "loggers": [(o.level, o.handlers[:], o.propagate) for o in loggers],
        "random": random.getstate(),
        "numpy's random": (name, keys.tobytes(), position),
        "numpy": (np.geterr(), np.geterrcall(), np.get_printoptions()),
        "BLAS": [(pool["filepath"], pool["num_threads"]) for pool in threadpool_info()],
        "scikit-learn": sklearn.get_config(),
        "joblib": (type(backend), joblib.effective_n_jobs(-1), joblib.cpu_count()),
        "numba": {k: v for k, v in vars(numba.config).items() if k.isupper()},
    }


def open_files() -> Iterator[str]:
    """Yield what Linux calls the open files, but those of claims to compile."""
    for descriptor in Path("/proc/self/fd").glob("*"):
        with contextlib.suppress(OSError):  # that of this folder, which is closed now
            target = os.readlink(descriptor)
            if not target.endswith(".claims"):
                yield target


def changed(before: dict[str, Any]) -> dict[str, Any]:
    """Return what is another now, before and now."""
    now = state()
    return {k: (before[k], now[k]) for k in before if repr(before[k]) != repr(now[k])}
