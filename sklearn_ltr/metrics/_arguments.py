"""Errors for calls of metrics as other libraries have them, which say what to give."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

#: argument of another library: what to give here
OTHER_ARGUMENTS = {
    "group": "groups, one value per row",
    "qid": "groups, one value per row",
    "query": "groups, one value per row",
    "at": "k",
    "n": "k",
    "topk": "k",
    "top_k": "k",
    "ignore_ties": 'ties="average", what scikit-learn has without it',
    "log_base": "a discount, a function of the ranks",
    "y_pred": "y_score",
    "y_prob": "y_score",
    "labels": "y_true, by position",
    "scores": "y_score, by position",
}
AS_ROWS = (
    "one row for each document, not one for each query as in scikit-learn: give "
    "np.ravel(y_true), np.ravel(y_score) and groups=np.repeat(np.arange(n_queries), "
    "n_documents)"
)


def explain_call(call: F) -> F:
    """Have a call with `groups` explain what it takes, where it is called otherwise."""
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
            advice = [
                f"{argument!r}: give {OTHER_ARGUMENTS[argument]}"
                if argument in OTHER_ARGUMENTS
                else repr(argument)
                for argument in unknown
            ]
            known = ", ".join(list(parameters)[n_first:])
            raise TypeError(
                f"{name}() has no argument {'; '.join(advice)}. It takes {known}"
            )
        if "groups" not in named:
            raise TypeError(
                f"{name}() needs groups, the query of each row (np.zeros(len(y_true)) "
                "for one list)"
            )
        return call(*given, **named)

    return cast(F, checked)


def has_lists(grades: Any) -> bool:
    """Return whether grades are a table with several columns, a list per query."""
    shape = getattr(grades, "shape", None)
    if shape is not None:
        return len(shape) == 2 and shape[1] > 1
    if not isinstance(grades, list | tuple) or len(grades) == 0:
        return False
    first = grades[0]
    return isinstance(first, list | tuple | np.ndarray) and np.size(first) > 1
