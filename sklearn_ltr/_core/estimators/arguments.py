"""Errors for unknown arguments and attributes, which name those to use instead.

Names of other libraries are in `other_libraries`.  A name that nearly equals one of
ours counts as misspelt.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from sklearn_ltr._core.other_libraries import OTHER_ATTRIBUTES, OTHER_NAMES
from sklearn_ltr._core.parameters import with_checked_arguments, with_close_match

CLOSE = 0.8  # least similarity of a misspelt name

METHODS = ("__init__", "fit", "partial_fit", "predict", "rank", "score")


def check_arguments(cls: type) -> None:
    """Make the methods of a class explain unknown arguments."""
    for name in METHODS:
        if inspect.isfunction(method := vars(cls).get(name)):
            setattr(cls, name, with_checked_arguments(method, too_many, explain))


def too_many(call: str, first: list[str], by_name: list[str]) -> str:
    """Return the message for more arguments by position than a call takes."""
    others = ", ".join(f"{name}=" for name in by_name)
    taken = " and ".join(first) or "nothing"
    return f"{call}() takes {taken} by position; by name, {others}"


def explain(unknown: str, call: str, cls: type[Any], names: list[str]) -> str:
    """Return an argument unknown to a call, and the arguments to give instead."""
    ours, how = OTHER_NAMES.get(unknown, (unknown, ""))
    with_how = f", {how}" if ours and how else ""
    others = {cls.__name__: cls, "fit": cls.fit}
    if call.endswith(".predict") and hasattr(cls, "rank"):
        others = {"rank": cls.rank} | others
    calls = {
        name: inspect.signature(other).parameters for name, other in others.items()
    }
    for other, known in {"": dict.fromkeys(names), **calls}.items():
        meant = dict.fromkeys([unknown, *ours.split()])
        given = [name for name in meant if name in known]
        if given and other:
            shown = f"{other}({', '.join(f'{name}=...' for name in given)})"
            return f"{unknown!r}: give {shown}{with_how}"
        if given:
            return f"{unknown!r}: give {', '.join(given)}{with_how}"
    if not ours:
        return f"{unknown!r}: {how}"
    return with_close_match(unknown, names, CLOSE)


class OtherAttribute:
    """An attribute that another library has: an AttributeError that names ours."""

    # `__getattr__` would slow down the access to all attributes of the class

    def __init__(self, name: str) -> None:
        ours, how = OTHER_ATTRIBUTES[name]
        self._name = name
        self._how = ", ".join(filter(None, [ours and f"it is {ours} here", how]))

    def __get__(self, instance: object, owner: type) -> Any:
        """Raise the error."""
        raise AttributeError(
            f"{owner.__name__} has no attribute {self._name!r}: {self._how}"
        )


def explain_attributes(cls: type[Any], fitted: Iterable[str]) -> None:
    """Make a class explain attributes of other libraries that match its own."""
    # `fitted` are the attributes that fits of the class set
    there = {*fitted, *dir(cls), *inspect.signature(cls).parameters}
    for name, (ours, _) in OTHER_ATTRIBUTES.items():
        if name not in there and (not ours or ours in there):
            setattr(cls, name, OtherAttribute(name))


def is_of_others(instance: object, name: str) -> bool:
    """Return whether an attribute is one of another library only."""
    if name not in OTHER_ATTRIBUTES or name in vars(instance):
        return False
    found = inspect.getattr_static(type(instance), name, None)
    return isinstance(found, OtherAttribute)
