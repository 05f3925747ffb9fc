"""Docstrings: their sections, and entries that are written in one place for several.

An entry describes a parameter or an attribute.  A line such as ``{tol} {n_jobs}`` in a
docstring stands for the entries of these names; an indented text below the line
continues the last one.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping
from typing import Any


def read_sections(documented: Any) -> dict[str, str]:
    """Return the sections of a docstring by their titles; "" is what precedes them."""
    text = inspect.cleandoc(documented.__doc__ or "")
    first, *others = re.split(r"^(\S.*)\n-{3,}\n", text, flags=re.MULTILINE)
    return {"": first} | dict(zip(others[::2], others[1::2], strict=True))


def read_entries(section: str) -> dict[str, str]:
    """Return the entries of a section of a docstring by the names they describe."""
    entries: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section.strip()):
        names = entry.partition("\n")[0].partition(" : ")[0]
        entries |= dict.fromkeys(names.replace("*", "").split(", "), entry)
    return entries


def fill_in(text: str, entries: Mapping[str, str]) -> str:
    """Replace lines such as ``{tol} {n_jobs}`` by the entries of these names."""

    def named(line: re.Match[str]) -> str:
        indent, names = line[1], re.findall(r"\w+", line[2])
        return "\n".join(textwrap.indent(entries[name], indent) for name in names)

    return re.sub(r"^( *)(\{\w+\}(?: \{\w+\})*)$", named, text, flags=re.MULTILINE)
