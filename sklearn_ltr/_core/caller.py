"""Warn at the line that called the package, or collect the warnings of a block."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import NamedTuple

# What stands between the line of the user and that of a warning: this package, the
# decorator of `fit`, a `with`, and the compiler of kernels.
NOT_THE_CALLER = (
    os.path.join(os.path.dirname(os.path.dirname(__file__)), ""),
    contextlib.__file__.removesuffix(".py"),  # a whole name would match nothing
    *(
        os.path.join(folder, "")
        for spec in map(find_spec, ("sklearn.callback", "numba"))
        if spec is not None
        for folder in spec.submodule_search_locations or ()
    ),
)


class DeferredWarning(NamedTuple):
    """A warning that is given later, or elsewhere."""

    message: str
    category: type[Warning]


_collected: ContextVar[list[DeferredWarning] | None] = ContextVar(
    "_collected", default=None
)


def warn_caller(
    message: str, category: type[Warning] = UserWarning, *, at_once: bool = False
) -> None:
    """Warn at the line that called this package, or add to what is collected.

    It is the first line outside of the package.  Python 3.11 cannot look for it: there,
    warnings name the line of the package that found what is wrong.  What is said once
    in a process is never collected, but said `at_once`.
    """
    found = _collected.get()
    if found is not None and not at_once:
        found.append(DeferredWarning(message, category))
    elif sys.version_info >= (3, 12):
        warnings.warn(message, category, skip_file_prefixes=NOT_THE_CALLER)
    else:
        warnings.warn(message, category, stacklevel=2)


@contextmanager
def collected_warnings() -> Iterator[list[DeferredWarning]]:
    """Give the list that takes the warnings of this block, in this thread."""
    found: list[DeferredWarning] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)
