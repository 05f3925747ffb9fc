"""The table of bad inputs: what each public entry answers to what it cannot use.

Each module of this package has a list CASES; a new feature adds its rows to one of
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Case(NamedTuple):
    """One call and its exact outcome."""

    name: str  # what is given to what, unique in its module
    call: Callable[[], Any]
    error: type[Exception] | None  # raised, exactly this type; None: the call succeeds
    message: str = ""  # a part of the error's message


def accepted(name: str, call: Callable[[], Any]) -> Case:
    """Return the case of a call that must succeed and return a true value."""
    return Case(name, call, None)
