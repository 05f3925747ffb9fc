"""Decorators that compile functions: kernels and sub-kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.compiler import Compiler

from sklearn_ltr._compile.cache import KernelCache
from sklearn_ltr._compile.compiler import SubKernelCompiler, shorten_compilation

F = TypeVar("F", bound=Callable[..., Any])

INTERPRETED = bool(numba.config.DISABLE_JIT)

# Typed integers for kernels: for a literal argument, numba would compile the callee
# once more.
int64 = cast(Callable[[Any], int], np.int64)
uint32 = cast(Callable[[Any], int], np.uint32)
uint64 = cast(Callable[[Any], int], np.uint64)


def kernel(function: F) -> F:
    """Compile a module-level function, which Python and other kernels may call.

    Machine code is made when the function is first called with arguments of some
    types, and stored on disk.  It runs without the interpreter lock.  Arithmetic is
    that of IEEE 754, as it is written, so that results are the same on every CPU: no
    sum is reassociated, and no product fused with a sum.  (Long sums vectorise by hand,
    see `sum_of_lanes`; exponentials and logarithms are those of `elementary`.)
    """
    if INTERPRETED:
        return function
    dispatcher = _dispatcher(function, for_kernels_only=False)
    dispatcher._cache = KernelCache(dispatcher)
    return cast(F, dispatcher)


def subkernel(function: F) -> F:
    """Compile a function that only kernels call; a call from Python raises TypeError.

    What lets Python call machine code would be a fifth of the time that the first fit
    compiles.  Sub-kernels are not stored on disk: kernels are, with all that they call.
    """
    if INTERPRETED:
        return function
    return cast(F, SubKernel(_dispatcher(function, for_kernels_only=True)))


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


def _dispatcher(function: Callable[..., Any], *, for_kernels_only: bool) -> Any:
    decorate = numba.njit(
        nogil=True,
        error_model="numpy",
        no_cpython_wrapper=for_kernels_only,
        no_cfunc_wrapper=True,
    )
    dispatcher = decorate(function)
    shorten_compilation(dispatcher, SubKernelCompiler if for_kernels_only else Compiler)
    return dispatcher
