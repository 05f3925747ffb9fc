"""Objectives and learning rates of one's own that return what cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.mart import MARTRegressor
from tests.bad_inputs import Case, accepted
from tests.bad_inputs.parameters import SCALE, fit

ONES = np.ones
RANKERS = (LambdaMARTRanker, LambdaRankRanker)


def returning(make: Callable[[int], Any]) -> Callable[..., Any]:
    """Return an objective that returns what `make` makes for n documents."""
    return lambda scores, grades, offsets: make(len(scores))


def with_first(value: Any, n: int) -> Any:
    """Return 1, 2, ... with another first number."""
    values = np.arange(1.0, n + 1)
    values[0] = value
    return values


PAIR = "objective must return (gradient, hessian), two arrays of shape ("
OUTCOMES: dict[str, tuple[Callable[[int], Any], type[Exception], str]] = {
    "None": (lambda n: None, TypeError, "got NoneType"),
    "a number": (lambda n: 1.0, TypeError, "got float"),
    "one array": (ONES, TypeError, "got an array of shape ("),
    "three arrays": (lambda n: (ONES(n),) * 3, TypeError, "got tuple of length 3"),
    "a short gradient": (
        lambda n: (ONES(n - 1), ONES(n)), ValueError, "its gradient has shape (",
    ),
    "a hessian of one number": (
        lambda n: (ONES(n), 1.0), ValueError, "its hessian has shape ()",
    ),
    "a column": (
        lambda n: (ONES((n, 1)), ONES(n)), ValueError, "its gradient has shape (",
    ),
    "the matrix of second derivatives": (
        lambda n: (ONES(n), np.eye(n)), ValueError, "its hessian has shape (",
    ),
    "text": (lambda n: (["1"] * n, ONES(n)), TypeError, "its gradient is list"),
    "complex numbers": (
        lambda n: (ONES(n) * 1j, ONES(n)), TypeError, "dtype complex128",
    ),
    "no hessian": (lambda n: (ONES(n), None), TypeError, "its hessian is NoneType"),
    "booleans": (lambda n: (ONES(n) > 0, ONES(n)), TypeError, "dtype bool"),
    "NaN": (
        lambda n: (with_first(np.nan, n), ONES(n)),
        ValueError,
        "objective must return finite gradients, but returned nan for row ",
    ),
    "an infinite gradient": (
        lambda n: (with_first(-np.inf, n), ONES(n)), ValueError, "returned -inf for",
    ),
    "an infinite hessian": (
        lambda n: (with_first(2, n), with_first(np.inf, n)),
        ValueError,
        "objective must return finite hessians >= 0, but returned inf for row ",
    ),
    "a negative hessian": (
        lambda n: (with_first(2, n), with_first(-0.25, n)),
        ValueError,
        "objective must return finite hessians >= 0, but returned -0.25 for row ",
    ),
    "a large gradient": (
        lambda n: (with_first(1e200, n), ONES(n)),
        ValueError,
        "the gradient that objective returned adds up to 1e+200, more than 1e+150",
    ),
    "a large hessian": (
        lambda n: (with_first(2, n), with_first(1e160, n)),
        ValueError,
        "the hessian that objective returned adds up to 1e+160",
    ),
    "a gradient of zeros": (
        lambda n: (np.zeros(n), ONES(n)), ValueError, "returned add up to 0, out of [",
    ),
    "a small gradient": (
        lambda n: (with_first(1, n) * 1e-200, ONES(n)), ValueError, "out of [",
    ),
}  # fmt: skip
CASES = [
    Case(
        f"{ranker.__name__}: objective returns {name}",
        partial(fit, ranker, objective=returning(make)),
        error,
        message,
    )
    for ranker in RANKERS
    for name, (make, error, message) in OUTCOMES.items()
]
CASES += [
    Case(
        f"{ranker.__name__}: objective returns {name}, the shape",
        partial(fit, ranker, objective=returning(OUTCOMES[name][0])),
        OUTCOMES[name][1],
        PAIR,
    )
    for ranker in RANKERS
    for name in ("None", "three arrays", "a short gradient", "text", "no hessian")
]
CASES += [
    Case(
        f"{ranker.__name__}: objective={value!r}",
        partial(fit, ranker, objective=value),
        ValueError,
        "objective must be 'lambdarank', which learns from lambdas of the metric, or a "
        f"function of scores, grades and offsets; got {value!r}",
    )
    for ranker in RANKERS
    for value in (
        "rank:ndcg",
        "rank_xendcg",
        "",
        b"lambdarank",
        None,
        1,
        ["lambdarank"],
    )
]
CASES += [
    Case(
        f"{ranker.__name__}: a function without a metric to report",
        partial(fit, ranker, metric=None, objective=returning(ONES)),
        ValueError,
        "metric=None learns from pairs, but objective is a function",
    )
    for ranker in RANKERS
]
CASES += [
    Case(
        "LambdaMARTRanker: objective returns a hessian of zeros",
        partial(
            fit, LambdaMARTRanker, objective=returning(lambda n: (ONES(n), ONES(n) * 0))
        ),
        ValueError,
        "objective returned a hessian of zeros",
    ),
    accepted(
        "LambdaRankRanker: objective returns a hessian of zeros",
        partial(
            fit,
            LambdaRankRanker,
            objective=returning(lambda n: (with_first(0, n), ONES(n) * 0)),
        ),
    ),
    accepted(
        "LambdaMARTRanker: objective returns integers",
        partial(
            fit,
            LambdaMARTRanker,
            objective=returning(lambda n: (np.arange(n), np.ones(n, dtype=np.int8))),
        ),
    ),
    Case(
        "LambdaMARTRanker: objective of two arguments",
        partial(fit, LambdaMARTRanker, objective=lambda scores, grades: None),
        TypeError,
        "takes 2 positional arguments but 3 were given",
    ),
]
CASES += [
    Case(
        f"{estimator.__name__}: learning_rate returns {value!r}",
        partial(fit, estimator, learning_rate=lambda tree, value=value: value),
        error,
        f"learning_rate(0) must be {SCALE}, got {value!r}",
    )
    for estimator in (LambdaMARTRanker, MARTRegressor)
    for value, error in [
        (0.0, ValueError),
        (-1, ValueError),
        (float("nan"), ValueError),
        (None, TypeError),
        ("0.1", TypeError),
        (True, TypeError),
        (np.array([0.1]), TypeError),
    ]
]
