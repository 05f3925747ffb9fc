"""The order of group values that are Python objects, determined by their values alone.

Values of one type that has a total order are in that order.  Otherwise, as for strings
among numbers, values of different kinds are ordered by the name of their kind, and

- numbers of all types by value (complex ones by real, then imaginary part);
- tuples by their first elements that differ, frozensets by their sorted elements;
- values of any other type by ``<``, or, if their class defines none, by their repr.

Values that all this leaves in no order, such as objects whose repr is their address,
are refused: the canonical order, and with it a model, would depend on the order of the
rows or change from run to run.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import cmp_to_key
from itertools import pairwise
from numbers import Number
from typing import Any

import numpy as np

# Values of these types may be equal to values of other types that are derived from, or
# registered with, the same one (1, 1.0 and Fraction(1); a datetime and a Timestamp).
KINDS: dict[type, str] = {
    Number: "number",
    np.bool_: "number",
    str: "str",
    bytes: "bytes",
    tuple: "tuple",
    frozenset: "frozenset",
    dt.datetime: "datetime",
}
ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")


class NoOrderError(Exception):
    """A value has no order.

    Attributes
    ----------
    value : object
        The group value; None inside of `compare`.
    """

    value: Any = None


def sort_distinct(values: list[Any]) -> list[Any]:
    """Return distinct values, none of them missing, in an order of their values.

    Raises
    ------
    NoOrderError
        If there is none.
    """
    try:
        ordered = sorted(values)
        # fails for partial orders, such as the "is a subset of" of frozensets
        if all(a < b for a, b in pairwise(ordered)):
            return ordered
    except TypeError:
        pass
    ordered = sorted(values, key=cmp_to_key(_compare_labels))
    for a, b in pairwise(ordered):
        if _compare_labels(a, b) >= 0:
            raise _no_order(b, f"{b!r}, whose order cannot be told from that of {a!r}")
    return ordered


def _compare_labels(a: Any, b: Any) -> int:
    """Compare two group values; a NoOrderError names one of them."""
    try:
        return compare(a, b)
    except NoOrderError as error:
        raise _no_order(a, str(error)) from None


def _no_order(value: Any, why: str) -> NoOrderError:
    error = NoOrderError(why)
    error.value = value
    return error


def compare(a: Any, b: Any) -> int:
    """Return a number below, at or above 0 if a is before, at or after b."""
    if a is b:
        return 0
    kinds = _kind(a), _kind(b)
    if kinds[0] != kinds[1]:
        return -1 if kinds[0] < kinds[1] else 1
    match kinds[0]:
        case "number":
            a, b = _plain(a), _plain(b)
            return _compare_natively((a.real, a.imag), (b.real, b.imag))
        case "tuple":
            return _compare_elements(a, b)
        case "frozenset":
            by_order = cmp_to_key(compare)
            return _compare_elements(
                tuple(sorted(a, key=by_order)), tuple(sorted(b, key=by_order))
            )
    if _defines(a, "__lt__"):
        return _compare_natively(a, b)
    return _compare_natively(_repr_of_value(a), _repr_of_value(b))


def _kind(value: Any) -> str:
    """Return the name of the kind of a value; equal values are of one kind."""
    for base, name in KINDS.items():
        if isinstance(value, base):
            return name
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _defines(value: Any, method: str) -> bool:
    """Return whether the class of a value has its own version of a method."""
    return getattr(type(value), method) is not getattr(object, method)


def _plain(number: Any) -> Any:
    """Return a number as a Python one, which compares exactly with all others."""
    return number.item() if isinstance(number, np.generic) else number


def _compare_elements(a: tuple[Any, ...], b: tuple[Any, ...]) -> int:
    for x, y in zip(a, b, strict=False):
        if order := compare(x, y):
            return order
    return len(a) - len(b)


def _compare_natively(a: Any, b: Any) -> int:
    """Compare by ``<``; a NoOrderError if that is not defined for these two values."""
    try:
        order = int(bool(b < a)) - int(bool(a < b))
        if order or a == b:
            return order
    except TypeError:
        pass
    raise NoOrderError(f"{a!r}, and {b!r} is neither before nor after it")


def _repr_of_value(value: Any) -> str:
    """Return the repr; a NoOrderError if it shows an address."""
    shown = repr(value)
    if not _defines(value, "__repr__") or ADDRESS.search(shown):
        raise NoOrderError(f"{shown}, whose class defines no order")
    return shown
