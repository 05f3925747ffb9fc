"""The type of features, a parameter of all functions of this room."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike


def check_floating(dtype: DTypeLike) -> np.dtype[Any]:
    """Return a floating type; a TypeError or ValueError that names it if it is none."""
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"dtype must be a floating type, got {dtype!r}") from error
    if found.kind != "f":
        raise ValueError(f"dtype must be a floating type, got {dtype!r}")
    return found
