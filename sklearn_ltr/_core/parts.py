"""The estimators within an estimator: the one way from the outside to the model.

An estimator of this package that is made of others names the fitted attribute that
holds them, `_parts`; those of scikit-learn have names of their own.
"""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator

FITTED = ("best_estimator_", "estimators_")  # of scikit-learn's estimators
GIVEN = (*FITTED, "estimator")  # also of those that are not fitted


def part_of(estimator: object, names: tuple[str, ...] = FITTED) -> tuple[str, Any]:
    """Return path and object of the part that computes the scores; ("", None): none."""
    own = getattr(type(estimator), "_parts", None)
    if own is not None:  # not by getattr, which would ask for its parts
        return (own, vars(estimator)[own]) if own in vars(estimator) else ("", None)
    if steps := getattr(estimator, "steps", None):
        return "steps[-1][1]", steps[-1][1]
    found = ((name, getattr(estimator, name, None)) for name in names)
    return next((each for each in found if each[1] is not None), ("", None))


def nested(estimator: Any, names: tuple[str, ...] = FITTED) -> list[Any]:
    """Return the chain from an estimator to its model, by the parts that score."""
    found: list[Any] = []
    part = estimator
    # several score for a bag or a blend, which are models
    while not found or hasattr(part, "fit"):
        if isinstance(part, FrozenEstimator):
            part = part.estimator
            continue
        found.append(part)
        _, part = part_of(part, names)
    return found


def part_with(estimator: object, name: str) -> str:
    """Return where within an estimator an attribute is, "" if it is not there."""
    place, part = part_of(estimator)
    if isinstance(part, list):
        place, part = f"{place}[0]", part[0]
    if part is None or hasattr(part, name):
        return place
    further = part_with(part, name)
    return f"{place}.{further}" if further else ""


def name_part(self: object, name: str) -> Any:
    """Raise an AttributeError that says which part has the attribute: `__getattr__`."""
    if any(name in vars(cls) for cls in type(self).__mro__):  # its own error says why
        return object.__getattribute__(self, name)
    message = f"{type(self).__name__!r} object has no attribute {name!r}"
    place = "" if name.startswith("_") else part_with(self, name)
    if place:
        message += f" (take that of its {place})"
    raise AttributeError(message, name=name, obj=self)
