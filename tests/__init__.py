"""The tests, and what lets them call what only kernels call."""

from __future__ import annotations

import numba

from sklearn_ltr._compile import INTERPRETED


def from_python(subkernel):
    """Let Python call what otherwise only kernels call."""
    if INTERPRETED:
        return subkernel
    return numba.njit(nogil=True)(lambda *arguments: subkernel(*arguments))
