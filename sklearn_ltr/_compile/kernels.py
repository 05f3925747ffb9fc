"""Kernels and sub-kernels: decorators that compile functions, by numba.

With the versions of numba that CI has tested, `shortcuts` makes numba compile in less
time and stores machine code on disk.  With a newer one, its public decorators alone
compile the kernels, in every process; results are the same bits.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

NEWEST_TESTED = (0, 68)  # release of numba

INTERPRETED = bool(numba.config.DISABLE_JIT)
_RELEASE = tuple(map(int, re.findall(r"\d+", numba.__version__)[:2]))
USES_SHORTCUTS = not INTERPRETED and _RELEASE <= NEWEST_TESTED

if USES_SHORTCUTS:
    from sklearn_ltr._compile.shortcuts import SubKernel, stored_kernel
elif not INTERPRETED:
    logging.getLogger("sklearn_ltr").warning(
        "sklearn_ltr is tested with numba up to %d.%d: with numba %s it stores no "
        "compiled kernels, and every process compiles them, in about half a minute",
        *NEWEST_TESTED,
        numba.__version__,
    )

F = TypeVar("F", bound=Callable[..., Any])

KERNELS: dict[str, Any] = {}  # every kernel of the modules imported so far, by name

# Machine code runs without the interpreter lock.  Arithmetic is that of IEEE 754, as it
# is written, so that results are the same on every CPU: no sum is reassociated, and no
# product fused with a sum.  (Long sums vectorise by hand, see `sum_of_lanes`;
# exponentials and logarithms are those of `arithmetic`.)
_OPTIONS = {"nogil": True, "error_model": "numpy"}

# Typed integers for kernels: for a literal argument, numba would compile the callee
# once more.
int64 = cast(Callable[[Any], int], np.int64)
uint32 = cast(Callable[[Any], int], np.uint32)
uint64 = cast(Callable[[Any], int], np.uint64)


def kernel(function: F) -> F:
    """Compile a module-level function, which Python and other kernels may call."""
    # Machine code is made when the function is first called with arguments of some
    # types.
    if INTERPRETED:
        return function
    if USES_SHORTCUTS:
        dispatcher = stored_kernel(function, **_OPTIONS)
    else:
        dispatcher = numba.njit(**_OPTIONS)(function)
    KERNELS[f"{function.__module__}.{function.__qualname__}"] = dispatcher
    return cast(F, dispatcher)


def subkernel(function: F) -> F:
    """Compile a function that only kernels may call, not Python."""
    if INTERPRETED:
        return function
    if USES_SHORTCUTS:
        return cast(F, SubKernel(function, **_OPTIONS))
    return cast(F, numba.njit(**_OPTIONS)(function))
