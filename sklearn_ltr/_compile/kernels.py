"""How a function becomes a kernel: compiled once for this CPU, and cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

INTERPRETED = bool(numba.config.DISABLE_JIT)

# Typed integers for kernels: for a literal, numba would compile a callee once more.
int64 = cast(Callable[[Any], int], np.int64)
uint32 = cast(Callable[[Any], int], np.uint32)
uint64 = cast(Callable[[Any], int], np.uint64)


def kernel(function: F) -> F:
    """Compile a module-level function: cached, without the interpreter lock.

    Division follows IEEE 754 (no exception at zero).  Sums may be reassociated, which
    lets them vectorise; the order is fixed at compile time, never by threads.
    """
    return _compiled(function, for_kernels_only=False)


def subkernel(function: F) -> F:
    """Compile a function that only kernels call: from Python, a call would crash.

    (What lets Python call it would be a fifth of the time that a first fit compiles.
    It is not cached either: kernels are, with all that they call.)
    """
    return _compiled(function, for_kernels_only=True)


def subkernel_strict(function: F) -> F:
    """Compile a function that only kernels call, and every sum as it is written."""
    return _compiled(function, for_kernels_only=True, in_order=True)


def _compiled(function: F, *, for_kernels_only: bool, in_order: bool = False) -> F:
    decorate = numba.njit(
        cache=not for_kernels_only,
        nogil=True,
        error_model="numpy",
        fastmath=set() if in_order else {"reassoc", "contract", "nsz"},
        no_cpython_wrapper=for_kernels_only,
        no_cfunc_wrapper=True,
    )
    return cast(F, decorate(function))
