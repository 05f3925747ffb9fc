"""Parameters of estimators: declared once, checked, and made plain values.

An estimator declares its parameters as the fields of a frozen dataclass, each with the
values that it may have:

    @dataclass(frozen=True)
    class Parameters:
        n_estimators: Annotated[int, integer(1)]
        split_gain: Annotated[str, Choice("second_order", "least_squares")]
        init: Any  # checked where it is used

`read_parameters` reads them from the estimator into such an object for the fit.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import fields
from difflib import get_close_matches
from functools import cache, wraps
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol, TypeVar, cast, get_type_hints

import numpy as np

from sklearn_ltr._core.compile import check_n_jobs

# Parameters that multiply or divide others lie between these.  Products of a few of
# them with scores and targets of up to LARGEST_SCORE, and squares of these products,
# are finite and not zero.
SMALLEST, LARGEST = 1e-50, 1e50
LARGEST_SCORE = 1e90
NO_NUMBERS = (bool, np.timedelta64)  # which are Integral, too


NEGLIGIBLE = 1e-15  # docstrings omit bounds closer to 0, or above the inverse


def alternatives(*words: str) -> str:
    """Join words by "or", with a comma after a range such as (0, 1]."""
    return (", or " if "(" in words[0] else " or ").join(words)


class Range(NamedTuple):
    """The numbers that a parameter may have.

    Attributes
    ----------
    kind : Integral or Real
    low, high : float
        Bounds; inf: any finite number.
    closed : {"left", "right", "both", "neither"}
        Which of the bounds belong to the range.
    optional : bool
        Whether None is allowed.
    """

    kind: type[Any]
    low: float
    high: float
    closed: str
    optional: bool = False

    def read_as(self, name: str, value: Any) -> Any:
        """Return the number as an int or a float; an error names the parameter."""
        if self.optional and value is None:
            return None
        number: float
        message = f"{name} must be {self._in_words()}, got {shown(value)}"
        if isinstance(value, NO_NUMBERS) or not isinstance(value, self.kind):
            raise TypeError(message)
        try:
            number = int(value) if self.kind is Integral else float(value)
        except OverflowError:  # an integer or a fraction beyond float64
            raise ValueError(message) from None
        at_bound = (number == self.low and self.closed in ("left", "both")) or (
            number == self.high < np.inf and self.closed in ("right", "both")
        )
        if not (at_bound or self.low < number < self.high):
            raise ValueError(message)
        return number

    def in_words(self) -> str:
        """Return the values as docstrings give them, where extremes are no bounds."""
        has_low = self.closed in ("left", "both") and not 0 < self.low < NEGLIGIBLE
        low = 0 if 0 < self.low < NEGLIGIBLE else self.low
        if self.high > 1 / NEGLIGIBLE:
            bounds = f"of at least {low:g}" if has_low else f"above {low:g}"
        else:
            right = "]" if self.closed in ("right", "both") else ")"
            bounds = f"in {'[' if has_low else '('}{low:g}, {self.high:g}{right}"
        kind = "int" if self.kind is Integral else "float"
        words = re.sub(r"e\+?(-?)0*", r"e\1", f"{kind} {bounds}")  # 1e6, not 1e+06
        return alternatives(words, *["None"] * self.optional)

    def _in_words(self) -> str:
        left = self.closed in ("left", "both")
        right = "]" if self.closed in ("right", "both") else ")"
        kind = "an integer" if self.kind is Integral else "a number"
        if self.high == np.inf:
            bounds = f"{'>=' if left else '>'} {self.low:g}"
        else:
            bounds = f"in {'[' if left else '('}{self.low:g}, {self.high:g}{right}"
        return f"{kind} {bounds}{' or None' if self.optional else ''}"


POSITIVE = Range(Real, SMALLEST, LARGEST, "both")  # products of a few stay finite


class Values(Protocol):
    """The values that a parameter may have."""

    def read_as(self, name: str, value: Any) -> Any:
        """Return a plain value; an error names the parameter."""

    def in_words(self) -> str:
        """Return the values as docstrings give them."""


class ReadValues(NamedTuple):
    """The values that a function reads, given the name of the parameter and a value."""

    read_as: Callable[[str, Any], Any]
    words: str

    def in_words(self) -> str:
        """Return the values as docstrings give them."""
        return self.words


class Choice:
    """Some values, which are compared by ``==``."""

    def __init__(self, *values: Hashable) -> None:
        self.values = values

    def read_as(self, name: str, value: object) -> Any:
        """Return the declared value that equals this one, or raise an error."""
        if isinstance(value, str | Integral | np.bool_ | None) and value in self.values:
            return self.values[self.values.index(value)]
        raise ValueError(f"{name} must be one of {self.values}, got {shown(value)}")

    def in_words(self) -> str:
        """Return the values as docstrings give them."""
        words = [f'"{value}"' for value in self.values if isinstance(value, str)]
        if len(words) == len(self.values) > 1:
            return f"{{{', '.join(words)}}}"
        words = (["bool"] if True in self.values else []) + words
        words += ["None"] if None in self.values else []
        *first, last = words
        return f"{', '.join(first)} or {last}" if first else last


class Or(NamedTuple):
    """A range of numbers, or some words, or any callable."""

    values: Range
    words: tuple[str, ...] = ()
    callables: bool = False

    def read_as(self, name: str, value: object) -> Any:
        """Return a plain value, or raise an error."""
        if self.callables and callable(value):
            return value
        if isinstance(value, str) and value in self.words:
            return value
        return self.values.read_as(name, value)

    def in_words(self) -> str:
        """Return the values as docstrings give them."""
        words = [f'"{word}"' for word in self.words]
        words += ["callable"] if self.callables else []
        return alternatives(self.values.in_words(), *words)


BOOL = Choice(True, False)


def integer(low: float, high: float = np.inf, *, optional: bool = False) -> Range:
    """Return the range of an integer, both bounds included."""
    return Range(Integral, low, high, "both", optional)


def real(
    low: float, high: float = np.inf, closed: str = "both", *, optional: bool = False
) -> Range:
    """Return the range of a finite number."""
    return Range(Real, low, high, closed, optional)


def read_fraction_or_count(name: str, value: object) -> Any:
    """Return a float in (0, 1], a fraction of some things, or an int, their number."""
    is_count = isinstance(value, Integral)
    return (integer(1) if is_count else real(0, 1, "right")).read_as(name, value)


def read_verbosity(name: str, value: object) -> int:
    """Return how much is printed: a number, or whether anything is."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    return int(integer(0).read_as(name, value))


def read_n_jobs(name: str, value: int | None) -> int | None:
    """Return a number of threads, as joblib counts them."""
    check_n_jobs(value)
    return value


FRACTION_OR_COUNT = ReadValues(
    read_fraction_or_count, "float in (0, 1], or int of at least 1"
)
VERBOSITY = ReadValues(read_verbosity, "bool or int of at least 0")
N_JOBS = ReadValues(read_n_jobs, "int or None")

P = TypeVar("P")
F = TypeVar("F", bound=Callable[..., Any])


@cache
def declared_values(parameters: type) -> dict[str, Values | None]:
    """Return the values of each declared parameter, None where none are declared."""
    # the names that the class was declared with: `__module__` may be another, by which
    # saved models refer to it
    names = vars(parameters)["__init__"].__globals__
    hints = get_type_hints(parameters, localns=names, include_extras=True)
    return {
        field.name: next(iter(getattr(hints[field.name], "__metadata__", ())), None)
        for field in fields(parameters)
        if field.init  # others are constants
    }


def read_parameters(parameters: type[P], estimator: object) -> P:
    """Return an estimator's parameters, checked; an error names the first bad one."""
    read = {}
    declared = declared_values(parameters)  # type: ignore[arg-type]
    for name, values in declared.items():
        given = getattr(estimator, name)
        read[name] = given if values is None else values.read_as(name, given)
    return parameters(**read)


def count_of(
    fraction_or_count: float, n: int, name: str, things: str = "columns of X"
) -> int:
    """Return how many of n things a checked fraction or count means, at least 1."""
    if isinstance(fraction_or_count, float):
        return max(1, int(fraction_or_count * n))
    if fraction_or_count > n:
        raise ValueError(
            f"{name}={fraction_or_count} is more than the {n} {things}: lower it"
        )
    return fraction_or_count


def with_checked_arguments(
    function: F,
    too_many: Callable[[str, list[str], list[str]], str],
    explain: Callable[[str, str, type[Any], list[str]], str],
) -> F:
    """Return a function that explains arguments which it does not take.

    An unknown name is explained by `explain`, given the name, the call, the class of
    `self` and all names that are known.  For too many arguments by position,
    `too_many` returns the message, given the call, the names of those by position and
    of the others.
    """
    parameters = list(inspect.signature(function).parameters.values())
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return function
    by_name = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    most = len(parameters) - len(by_name)
    first = [p.name for p in parameters[:most] if p.name != "self"]
    known, first_is_self = {*first, *by_name}, len(first) < most

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if known.issuperset(kwargs) and len(args) <= most:
            return function(*args, **kwargs)
        call, cls = function.__name__, type(args[0] if args else None)
        if first_is_self:
            call = cls.__name__ if call == "__init__" else f"{cls.__name__}.{call}"
        if len(args) > most:
            raise TypeError(too_many(call, first, by_name))
        names = [*first, *by_name]
        raise no_such_arguments(
            call, kwargs, names, lambda name: explain(name, call, cls, names)
        )

    return cast(F, checked)


def no_such_arguments(
    call: str, given: Iterable[str], known: Sequence[str], explain: Callable[[str], str]
) -> TypeError:
    """Return the error for arguments that a call does not have, each explained."""
    unknown = [name for name in given if name not in known]
    lines = [f"{call}() has no argument {explain(name)}" for name in unknown]
    return TypeError("\n".join([*lines, f"It takes {', '.join(known)}"]))


def with_close_match(unknown: str, known: Sequence[str], similarity: float) -> str:
    """Return an unknown name, and a similar known one."""
    close = get_close_matches(unknown, known, n=1, cutoff=similarity)
    return f"{unknown!r}: did you mean {close[0]}?" if close else repr(unknown)


def shown(value: Any) -> str:
    """Return the repr of a value for error messages."""
    try:
        return repr(value)
    except ValueError:  # Python writes no integers of more than 4,300 digits
        return f"an integer of {value.bit_length()} bits"
