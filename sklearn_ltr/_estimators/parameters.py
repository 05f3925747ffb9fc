"""Checks of estimator parameters against their ranges."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple

from sklearn.utils import check_scalar


class Range(NamedTuple):
    """The numbers that a parameter may be.

    Attributes
    ----------
    name : str
        Name of the parameter.
    kind : type
        Integral or Real.
    low, high : float or None
        Bounds; None: unbounded.
    closed : {"left", "right", "both", "neither"}
        Which of the bounds belong to the range.
    optional : bool
        Whether None is allowed.
    """

    name: str
    kind: type
    low: float | None
    high: float | None
    closed: str
    optional: bool = False


def at_least(name: str, low: int, *, optional: bool = False) -> Range:
    """Return the range of an integer >= `low`."""
    return Range(name, Integral, low, None, "left", optional)


def positive(name: str) -> Range:
    """Return the range of a finite number > 0."""
    return Range(name, Real, 0, float("inf"), "neither")


def not_negative(name: str) -> Range:
    """Return the range of a finite number >= 0."""
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
    """Raise a ValueError unless it is None or an integer other than 0."""
    if n_jobs == 0 or not isinstance(n_jobs, Integral | None):
        raise ValueError(f"n_jobs must be an integer but 0, or None: {n_jobs!r}")


def check_fraction_or_count(estimator: Any, name: str) -> None:
    """Raise unless a parameter is a float in (0, 1] or an integer >= 1."""
    is_count = isinstance(getattr(estimator, name), Integral)
    fraction = Range(name, Real, 0, 1, "right")
    check_ranges(estimator, [at_least(name, 1) if is_count else fraction])


def count_of(fraction_or_count: float, n: int, name: str) -> int:
    """Return how many of n features a checked fraction or count means.

    Raises
    ------
    ValueError
        If a count is larger than n.
    """
    if not isinstance(fraction_or_count, Integral):
        return max(1, int(fraction_or_count * n))
    if fraction_or_count > n:
        raise ValueError(
            f"{name}={fraction_or_count} is more than the {n} columns of X"
        )
    return int(fraction_or_count)
