"""Errors for calls that have the form of other libraries; they say what to give."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, TypeVar, cast

import numpy as np

from sklearn_ltr._core.other_libraries import METRIC_ARGUMENTS
from sklearn_ltr._core.parameters import (
    no_such_arguments,
    with_checked_arguments,
    with_close_match,
)

F = TypeVar("F", bound=Callable[..., Any])

CLOSE = 0.75  # least similarity of a misspelt name

Advice = Mapping[str, tuple[str, str]]

AS_ROWS = (
    "one row for each document, not one for each query as in scikit-learn: give "
    "np.ravel(y_true), np.ravel(y_score) and groups=np.repeat(np.arange(n_queries), "
    "n_documents)"
)


def explain_call(call: F) -> F:
    """Return a call with `groups` that explains its arguments to wrong calls."""
    parameters = inspect.signature(call).parameters
    n_first = 1 if "self" in parameters else 0
    most = n_first + 2  # y_true and y_score
    name = call.__qualname__

    @wraps(call)
    def checked(*given: Any, **named: Any) -> Any:
        unknown = [argument for argument in named if argument not in parameters]
        if len(given) > most:
            raise TypeError(
                f"{name}() takes y_true and y_score by position, and groups= by name; "
                "as `scoring` of scikit-learn give make_ranking_scorer(metric)"
            )
        grades = named.get("y_true", given[n_first] if len(given) > n_first else ())
        if has_lists(grades):
            raise ValueError(f"{name}() takes {AS_ROWS}")
        if unknown:
            known = list(parameters)[n_first:]
            explain = partial(advise, known=known, others=METRIC_ARGUMENTS)
            raise no_such_arguments(name, unknown, known, explain)
        if "groups" not in named:
            raise TypeError(
                f"{name}() needs groups, the query of each row (np.zeros(len(y_true)) "
                "for one list)"
            )
        return call(*given, **named)

    return cast(F, checked)


def explain_options(function: F, others: Advice = METRIC_ARGUMENTS) -> F:
    """Return a function or constructor that explains its arguments to wrong calls."""
    is_new = function.__name__ == "__init__"

    def too_many(call: str, first: list[str], by_name: list[str]) -> str:
        data = f". Data go to the call, {call}()(y_true, y_score, groups=groups)"
        taken = f"{' and '.join(first)} by position; by name, {', '.join(by_name)}"
        return f"{call}() takes {taken}{data * is_new}"

    def explain(name: str, call: str, cls: type[Any], names: list[str]) -> str:
        return advise(name, names, others)

    return with_checked_arguments(function, too_many, explain)


def advise(unknown: str, known: list[str], others: Advice) -> str:
    """Return an unknown argument, and what to give instead."""
    ours, how = others.get(unknown, (unknown, ""))
    if ours not in known:
        ours, how = others.get(ours, (ours, how))
    if not ours:
        return f"{unknown!r}: {how}"
    if ours in known:
        return f"{unknown!r}: give {ours}{how and f', {how}'}"
    return with_close_match(unknown, known, CLOSE)


def has_lists(grades: Any) -> bool:
    """Return whether grades are in a table with a row for each query."""
    shape = getattr(grades, "shape", None)
    if shape is not None:
        return len(shape) == 2 and shape[1] > 1
    if not isinstance(grades, list | tuple) or len(grades) == 0:
        return False
    first = grades[0]
    return isinstance(first, list | tuple | np.ndarray) and np.size(first) > 1
