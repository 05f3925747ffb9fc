"""Kernels and sub-kernels: decorators that compile functions, by numba.

`numba_internals` lets numba compile in less time, and store machine code on disk.  With
a newer version in which that does not work, numba's public decorators alone compile the
kernels, in every process; results are the same bits.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from sklearn_ltr._core.compile.keys import release_of

NEWEST_TESTED = (0, 68)  # release of numba

INTERPRETED = bool(numba.config.DISABLE_JIT)


def _find_fault() -> str | None:
    """Return what keeps kernels from being stored, None if nothing does."""
    if INTERPRETED:
        return "nothing is compiled"
    is_tested = release_of(numba.__version__) <= NEWEST_TESTED
    try:
        from sklearn_ltr._core.compile import numba_internals

        return None if is_tested else numba_internals.find_fault()
    except ImportError as error:
        return str(error)


FAULT = _find_fault()
USES_INTERNALS = FAULT is None

if USES_INTERNALS:
    from sklearn_ltr._core.compile.cache import KernelCache
    from sklearn_ltr._core.compile.numba_internals import new_kernel, new_subkernel
elif not INTERPRETED:
    logging.getLogger("sklearn_ltr").warning(
        "sklearn_ltr is tested with numba up to %d.%d: with numba %s it stores no "
        "compiled kernels, and every process compiles them, in about half a minute, "
        "since %s",
        *NEWEST_TESTED,
        numba.__version__,
        FAULT,
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
    if USES_INTERNALS:
        dispatcher = new_kernel(function, **_OPTIONS)
        dispatcher._cache = KernelCache(dispatcher)
    else:
        dispatcher = numba.njit(**_OPTIONS)(function)
    KERNELS[f"{function.__module__}.{function.__qualname__}"] = dispatcher
    return cast(F, dispatcher)


def subkernel(function: F) -> F:
    """Compile a function that only kernels may call, not Python."""
    if INTERPRETED:
        return function
    if USES_INTERNALS:
        return cast(F, SubKernel(new_subkernel(function, **_OPTIONS)))
    return cast(F, numba.njit(**_OPTIONS)(function))


class SubKernel:
    """A compiled function that kernels may call and Python may not.

    numba types a global variable by its attribute `_numba_type_`, so in a kernel this
    object stands for the dispatcher.
    """

    def __init__(self, dispatcher: Any) -> None:
        functools.update_wrapper(self, dispatcher.py_func)
        self.py_func = dispatcher.py_func
        self._numba_type_ = dispatcher._numba_type_
        self._dispatcher = dispatcher  # which its numba type holds by a weak reference

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Raise TypeError."""
        raise TypeError(
            f"{self.py_func.__qualname__} is compiled for kernels only: Python cannot "
            "call it.  Call `.py_func`, the Python function, or call it in a kernel."
        )
