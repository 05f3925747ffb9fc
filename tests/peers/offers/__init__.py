"""What a user may ask of a ranker, and what each library answers.

The check of a row is a function of a library.  It returns where the library does what
the row says, and raises where it does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.peers.offers.libraries import Library

Check = Callable[[Library], None]


@dataclass(frozen=True)
class Row:
    """One row of the table of the README.

    Attributes
    ----------
    promise : str
        Its first cell.
    check : function of a library
    refusals : dict of str
        By library: a pattern of the error that `check` ends with.
    other_ways : dict of (str, function of a library)
        By library that refuses: what the cell says instead of "no", and its check.
    """

    promise: str
    check: Check
    refusals: Mapping[str, str]
    other_ways: dict[str, tuple[str, Check]] = field(default_factory=dict)

    def cell(self, library: Library) -> str:
        """What the table says of a library."""
        if library.name in self.other_ways:
            return self.other_ways[library.name][0]
        return "no" if library.name in self.refusals else "yes"

    def instead(self, name: str, cell: str) -> Callable[[Check], Check]:
        """Decorate the check of another way to the same end."""

        def add(check: Check) -> Check:
            self.other_ways[name] = (cell, check)
            return check

        return add


def row(promise: str, **refusals: str) -> Callable[[Check], Row]:
    """Decorate the check of a row; `refusals` tell which libraries refuse, and how."""
    return lambda check: Row(promise, check, refusals)


def noticed(why: str, call: Callable[..., object], *arguments, **options) -> None:
    """Raise unless a call does, and says why; a warning is an error here."""
    try:
        call(*arguments, **options)
    except Exception as error:
        if not re.search(why, str(error)):
            raise
        return
    raise AssertionError("not noticed")
