"""The fitted estimators within an estimator, for errors that name the one to take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: fitted attributes that hold an estimator, or several: of searches, calibration, bags
#: and blends
PARTS = ("best_estimator_", "ranker_", "estimators_", "rankers_")


def parts_of(estimator: object) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an estimator, or the first of several, and how to get them."""
    attributes = getattr(estimator, "__dict__", {})
    if "steps" in attributes:
        yield "steps[-1][1]", attributes["steps"][-1][1]
    for name in PARTS:
        part = attributes.get(name)
        if isinstance(part, list):
            yield f"{name}[0]", part[0]
        elif part is not None:
            yield name, part


def part_with(estimator: object, name: str) -> str:
    """Return where within an estimator an attribute is, "" if it is not there."""
    for place, part in parts_of(estimator):
        if hasattr(part, name):
            return place
        further = part_with(part, name)
        if further:
            return f"{place}.{further}"
    return ""


def name_part(self: object, name: str) -> Any:
    """Raise an AttributeError that says which part has the attribute: `__getattr__`."""
    if any(name in vars(cls) for cls in type(self).__mro__):  # its own error says why
        return object.__getattribute__(self, name)
    message = f"{type(self).__name__!r} object has no attribute {name!r}"
    place = "" if name.startswith("_") else part_with(self, name)
    if place:
        message += f" (take that of its {place})"
    raise AttributeError(message, name=name, obj=self)
