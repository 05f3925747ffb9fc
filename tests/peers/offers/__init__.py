"""Features of rankers, and which library has them: the rows of a table, executed.

The check of a row is a function of a library. It returns if the library has the feature
and raises if it has not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.peers.offers.libraries import Library

Check = Callable[[Library], None]


@dataclass(frozen=True)
class Row:
    """One row of the table in docs/what_works_where.md.

    Attributes
    ----------
    feature : str
        First cell.
    check : function of a library
    errors : dict of str
        For each library without the feature, a pattern of the error of `check`.
    workarounds : dict of (str, function of a library)
        For some of them, what the cell says instead of "no", and its check.
    """

    feature: str
    check: Check
    errors: Mapping[str, str]
    workarounds: dict[str, tuple[str, Check]] = field(default_factory=dict)

    def cell(self, library: Library) -> str:
        """Return the cell of a library."""
        if library.name in self.workarounds:
            return self.workarounds[library.name][0]
        return "no" if library.name in self.errors else "yes"

    def workaround(self, name: str, cell: str) -> Callable[[Check], Check]:
        """Decorate the check of a workaround for one library."""

        def add(check: Check) -> Check:
            self.workarounds[name] = (cell, check)
            return check

        return add


def row(feature: str, **errors: str) -> Callable[[Check], Row]:
    """Decorate the check of a row; `errors` by library, see `Row`."""
    return lambda check: Row(feature, check, errors)


def check_error(
    pattern: str, call: Callable[..., object], *arguments, **options
) -> None:
    """Check that a call raises an error that matches; warnings are errors here."""
    try:
        call(*arguments, **options)
    except Exception as error:
        if not re.search(pattern, str(error)):
            raise
        return
    raise AssertionError("no error")
