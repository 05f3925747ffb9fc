"""Give a warning once, at the line that called the package."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from sklearn_ltr._core.estimators.unused_positions import (
    UnusedPositionsWarning,
    positions_are_used,
)


class DeferredWarning(NamedTuple):
    """A warning that is given later, or elsewhere."""

    message: str
    category: type[Warning]


_collected: ContextVar[list[DeferredWarning] | None] = ContextVar(
    "_collected", default=None
)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called this package, or add to what is collected."""
    found = _collected.get()
    if found is not None:
        found.append(DeferredWarning(message, category))
    elif category is not UnusedPositionsWarning or not positions_are_used():
        warnings.warn(message, category, stacklevel=caller_stacklevel())


@contextmanager
def collected_warnings() -> Iterator[list[DeferredWarning]]:
    """Give the list that takes the warnings of this block, in this thread."""
    found: list[DeferredWarning] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def warn_of_members(by_member: Sequence[Sequence[DeferredWarning]]) -> None:
    """Warn once of each category that members of an ensemble have warned of."""
    first: dict[type[Warning], str] = {}
    for found in by_member:
        for message, category in found:
            first.setdefault(category, message)
    for category, message in first.items():
        n = sum(any(one.category is category for one in found) for found in by_member)
        warn_caller(f"{n} of {len(by_member)} members: {message}", category)


def caller_stacklevel() -> int:
    """Return the `stacklevel` at which a warning names the caller of this package."""
    level, frame = 0, inspect.currentframe()
    ours = ("sklearn_ltr", "sklearn.callback")  # the latter's decorator wraps `fit`
    while frame and frame.f_globals.get("__name__", "").startswith(ours):
        level, frame = level + 1, frame.f_back
    return level
