"""One document, and how its docstring falls into a summary and the rest."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass

SIGNATURE_LINE = re.compile(r"[\w.]+\(.*\)(\s*->\s*[\w.]+)?")
SENTENCE = re.compile(r".*?[.!?](?=\s|$)")


@dataclass(frozen=True)
class Document:
    """One documented function, method or class.

    ``summary`` is the first sentence of the docstring and appears in no other field:
    what a query is made of must not be what is searched.
    """

    name: str  # qualified: "json.decoder.JSONDecoder.decode"
    module: str  # "json.decoder"
    owner: str  # qualified name of the class it stands in, or ""
    kind: str  # "function", "method" or "class"
    in_c: bool
    arguments: tuple[str, ...]
    mentions: tuple[str, ...]  # identifiers in its code; of a class, its members
    summary: str
    rest: str  # the docstring without its summary

    @property
    def own_name(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]

    @property
    def is_dunder(self) -> bool:
        """Whether the last part of the name is like ``__init__``."""
        return self.own_name.startswith("__") and self.own_name.endswith("__")

    @property
    def is_private(self) -> bool:
        """Whether a part of the name begins with an underscore, dunders aside."""
        parts = self.name.split(".")
        return any(p.startswith("_") and not p.endswith("__") for p in parts)


def split_docstring(docstring: str) -> tuple[str, str]:
    """Return the first sentence, and the rest, of a docstring.

    Functions in C may begin with lines like ``max(a, b) -> value``: they belong to
    the rest.
    """
    lines = inspect.cleandoc(docstring).splitlines()
    start = 0
    while start < len(lines) and (
        not lines[start].strip() or SIGNATURE_LINE.fullmatch(lines[start].strip())
    ):
        start += 1
    stop = start
    while stop < len(lines) and lines[stop].strip():
        stop += 1
    paragraph = " ".join(line.strip() for line in lines[start:stop])
    sentence = SENTENCE.match(paragraph)
    summary = sentence.group() if sentence else paragraph
    rest = [*lines[:start], paragraph[len(summary) :], *lines[stop:]]
    return summary, "\n".join(rest).strip()
