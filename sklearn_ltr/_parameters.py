"""Parameters of estimators: checked against their ranges, and made plain numbers."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

# Parameters that multiply or divide others lie between these.  Products of a few of
# them with scores and targets of up to LARGEST_SCORE, and squares of these products,
# are finite and not zero.
SMALLEST, LARGEST = 1e-50, 1e50
LARGEST_SCORE = 1e90
NO_NUMBERS = (bool, np.timedelta64)  # which are Integral, too


class Range(NamedTuple):
    """The numbers that a parameter may be.

    Attributes
    ----------
    name : str
        Name of the parameter.
    kind : Integral or Real
    low, high : float
        Bounds; inf: unbounded, but not infinite.
    closed : {"left", "right", "both", "neither"}
        Which of the bounds belong to the range.
    optional : bool
        Whether None is allowed.
    """

    name: str
    kind: Any
    low: float
    high: float
    closed: str
    optional: bool = False

    def read(self, value: Any) -> Any:
        """Return a value of the range as an int or a float.

        Raises
        ------
        TypeError, ValueError
            That names the parameter, if the value is of another type or out of range.
        """
        if self.optional and value is None:
            return None
        number: float
        message = f"{self.name} must be {self._in_words()}, got {shown(value)}"
        if isinstance(value, NO_NUMBERS) or not isinstance(value, self.kind):
            raise TypeError(message)
        try:
            number = int(value) if self.kind is Integral else float(value)
        except OverflowError:  # an integer or a fraction beyond float64
            raise ValueError(message) from None
        at_bound = (number == self.low and self.closed in ("left", "both")) or (
            number == self.high and self.closed in ("right", "both")
        )
        if not (at_bound or self.low < number < self.high):
            raise ValueError(message)
        return number

    def _in_words(self) -> str:
        left = self.closed in ("left", "both")
        right = "]" if self.closed in ("right", "both") else ")"
        kind = "an integer" if self.kind is Integral else "a number"
        if self.high == np.inf:
            bounds = f"{'>=' if left else '>'} {self.low:g}"
        else:
            bounds = f"in {'[' if left else '('}{self.low:g}, {self.high:g}{right}"
        return f"{kind} {bounds}{' or None' if self.optional else ''}"


def at_least(name: str, low: int, *, optional: bool = False) -> Range:
    """Return the range of an integer >= `low`."""
    return Range(name, Integral, low, np.inf, "left", optional)


def positive(name: str) -> Range:
    """Return the range of a number > 0 whose products stay finite."""
    return Range(name, Real, SMALLEST, LARGEST, "both")


def not_negative(name: str) -> Range:
    """Return the range of a finite number >= 0."""
    return Range(name, Real, 0, np.inf, "left")


def check_ranges(estimator: Any, ranges: Iterable[Range]) -> None:
    """Make parameters plain ints and floats.

    Raise a TypeError or ValueError that names the first parameter out of range.
    """
    for wanted in ranges:
        value = wanted.read(getattr(estimator, wanted.name))
        setattr(estimator, wanted.name, value)


def check_choice(estimator: Any, name: str, choices: tuple[Any, ...]) -> None:
    """Make a parameter the choice that it is equal to; a ValueError if it is none."""
    value = getattr(estimator, name)
    is_choice = isinstance(value, str | Integral | np.bool_ | None)
    if is_choice and value in choices:
        setattr(estimator, name, choices[choices.index(value)])
    else:
        raise ValueError(f"{name} must be one of {choices}, got {shown(value)}")


def check_fraction_or_count(estimator: Any, name: str) -> None:
    """Make a parameter a float in (0, 1] or an int >= 1, or raise an error."""
    is_count = isinstance(getattr(estimator, name), Integral)
    fraction = Range(name, Real, 0, 1, "right")
    check_ranges(estimator, [at_least(name, 1) if is_count else fraction])


def count_of(
    fraction_or_count: float, n: int, name: str, things: str = "columns of X"
) -> int:
    """Return how many of n things a checked fraction or count means.

    Raises
    ------
    ValueError
        If a count is larger than n.
    """
    if isinstance(fraction_or_count, float):
        return max(1, int(fraction_or_count * n))
    if fraction_or_count > n:
        raise ValueError(f"{name}={fraction_or_count} is more than the {n} {things}")
    return fraction_or_count


def shown(value: Any) -> str:
    """Return the repr of a value for error messages."""
    try:
        return repr(value)
    except ValueError:  # Python writes no integers of more than 4,300 digits
        return f"an integer of {value.bit_length()} bits"
