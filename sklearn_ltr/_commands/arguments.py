"""Types of arguments: an error says what was found and what is taken."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable

import numpy as np


def integer(least: int) -> Callable[[str], int]:
    """Return a reader of integers from `least` on."""

    def read(text: str) -> int:
        is_whole = text.isascii() and text.isdecimal() and len(text) < 19
        if not is_whole or int(text) < least:
            raise ArgumentTypeError(f"must be an integer >= {least}, got {text!r}")
        return int(text)

    return read


def positive(text: str) -> float:
    """Return a finite number above zero."""
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not 0 < number < np.inf or "_" in text:
        raise ArgumentTypeError(f"must be a number > 0, got {text!r}")
    return number
