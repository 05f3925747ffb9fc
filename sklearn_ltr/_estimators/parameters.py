"""Parameters: that they lie in their ranges, and are told once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

from sklearn.utils import check_scalar

T = TypeVar("T")


class Range(NamedTuple):
    """The numbers that a parameter may be.

    Attributes
    ----------
    name : str
        Of the parameter.
    kind : type
        Integral or Real.
    low, high : float or None
        Bounds; None: no bound.
    closed : {"left", "right", "both", "neither"}
        Which of the bounds may be taken.
    optional : bool
        Whether None may be given.
    """

    name: str
    kind: type
    low: float | None
    high: float | None
    closed: str
    optional: bool = False


def at_least(name: str, low: int, *, optional: bool = False) -> Range:
    """Return the range of an integer from `low` on."""
    return Range(name, Integral, low, None, "left", optional)


def positive(name: str) -> Range:
    """Return the range of a finite number above 0."""
    return Range(name, Real, 0, float("inf"), "neither")


def not_negative(name: str) -> Range:
    """Return the range of a finite number from 0 on."""
    return Range(name, Real, 0, float("inf"), "left")


def check_ranges(estimator: Any, ranges: Iterable[Range]) -> None:
    """Raise a TypeError or ValueError that names the first parameter out of range."""
    for name, kind, low, high, closed, optional in ranges:
        value = getattr(estimator, name)
        if optional and value is None:
            continue
        check_scalar(
            value, name, kind, min_val=low, max_val=high, include_boundaries=closed
        )
        if value != value:
            raise ValueError(f"{name} must be a number, got {value}")


def check_choice(estimator: Any, name: str, choices: tuple[Any, ...]) -> None:
    """Raise a ValueError if a parameter is none of the choices."""
    value = getattr(estimator, name)
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}, got {value!r}")


def check_n_jobs(n_jobs: Any) -> None:
    """Raise a ValueError unless it is None or an integer but 0."""
    if n_jobs == 0 or not isinstance(n_jobs, Integral | None):
        raise ValueError(f"n_jobs must be an integer but 0, or None: {n_jobs!r}")


def with_parameters_of(
    told: type, place: str, **words: str
) -> Callable[[type[T]], type[T]]:
    """Write the parameters that one class tells into the docstring of another.

    Parameters
    ----------
    told : type
        Its docstring ends with the section "Parameters".
    place : str
        The line of the other docstring that they replace.
    **words
        What to write for ``{word}`` in them.
    """

    def write(estimator: type[T]) -> type[T]:
        if estimator.__doc__ and told.__doc__:  # python -OO has none
            _, _, shared = told.__doc__.partition("----------\n")
            for word, meaning in words.items():
                shared = shared.replace(f"{{{word}}}", meaning)
            estimator.__doc__ = estimator.__doc__.replace(
                f"    {place}\n", shared.rstrip() + "\n"
            )
        return estimator

    return write
