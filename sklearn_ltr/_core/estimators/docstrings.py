"""Docstrings of estimators: what several of them say is written once.

The docstring of a class of parameters, such as `FitParameters`, describes parameters
that several estimators have, and that of a base class of estimators describes common
attributes.  The docstring of an estimator names them, in its own order, by lines such
as ``{n_jobs}``.  Docstrings of derived classes may do so, too, to say more.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn_ltr._core.docstrings import fill_in, read_entries, read_sections
from sklearn_ltr._core.parameters import declared_values

E = TypeVar("E", bound=type[Any])


def describe_parameters(**words: str) -> Callable[[E], E]:
    """Replace lines such as ``{n_jobs}`` in a class docstring by inherited entries.

    Parameters get their declared values and their default.  Within an entry, names of
    `words` in braces are replaced by the words.
    """

    def decorate(cls: E) -> E:
        entries: dict[str, str] = {}
        for base in (*cls._parameters.__mro__[::-1], *cls.__mro__[:0:-1]):
            sections = read_sections(base)
            for title in {"Parameters", "Attributes"} & sections.keys():
                entries |= read_entries(fill_in(sections[title], entries))
        declared = declared_values(cls._parameters)
        for name, parameter in inspect.signature(cls).parameters.items():
            if name in entries:
                first, _, paragraph = entries[name].partition("\n")
                values = declared.get(name)
                first += "" if values is None else f" : {values.in_words()}"
                first += f", default={in_source(parameter.default)}"
                entries[name] = f"{first}\n{paragraph}"
        for name, entry in entries.items():
            for word, replacement in words.items():
                entry = entry.replace(f"{{{word}}}", replacement)
            entries[name] = entry
        cls.__doc__ = fill_in(cls.__doc__ or "", entries)
        return cls

    return decorate


def in_source(default: object) -> str:
    """Return a default as it is written in source."""
    return f'"{default}"' if isinstance(default, str) else repr(default)
