"""What estimators made of other rankers share: bags, blends, searches, calibration."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metadata_routing import UNUSED

from sklearn_ltr._core.data import COLUMNS
from sklearn_ltr._core.data.pairs import PAIR_ARGUMENTS
from sklearn_ltr._core.docstrings import fill_in

F = TypeVar("F", bound=Callable[..., Any])

#: requests of a `fit` that takes no validation data: its folds have rows of their own
NO_VALIDATION = dict.fromkeys(
    ("X_val", "y_val", "groups_val", "sample_weight_val"), UNUSED
)


#: what `users` and `order` mean to estimators that measure others by folds
FOLDS_TEXT = inspect.cleandoc(
    """
    users : array-like of shape (n_documents,), default=None
        The user (customer, session, device) of each query, constant within it: numbers,
        text, dates, or tuples of these.  All queries of a user are held out together.
    order : array-like of shape (n_documents,), default=None
        The date of each query, constant within it: dates, times, numbers or tuples of
        these, smaller is earlier.  Folds go forward in time, those of `cv` or, of a
        number, of a :class:`~sklearn_ltr.model_selection.GroupTimeSeriesSplit`: what is
        held out is later than what is learned from, and the earliest queries are never
        held out.  Not together with `users`.
    """
)


def check_estimator(name: str, value: object) -> None:
    """Raise a TypeError for a parameter that is neither an estimator nor None."""
    if value is not None and not is_estimator(value):
        raise TypeError(
            f"{name} must be an estimator with fit and predict, or None, got {value!r}"
        )


def is_estimator(value: object) -> bool:
    """Whether a value is an instance that predicts."""
    return hasattr(value, "predict") and not isinstance(value, type)


def features_of(member: Callable[[Any], BaseEstimator]) -> tuple[property, property]:
    """Return the properties `n_features_in_` and `feature_names_in_`, of a member."""
    return (
        property(
            lambda self: int(member(self).n_features_in_),
            doc="Number of features seen by `fit`.",
        ),
        property(
            lambda self: member(self).feature_names_in_,
            doc="Names of the features seen by `fit`.",
        ),
    )


def with_seeds(
    estimator: BaseEstimator, rng: np.random.Generator, *, only_unset: bool
) -> BaseEstimator:
    """Return a clone with new seeds for all, or all unset, `random_state` within."""
    model = clone(estimator)
    seeded = [
        name
        for name, value in sorted(model.get_params(deep=True).items())
        if name.rpartition("__")[2] == "random_state"
        and (value is None or not only_unset)
    ]
    return model.set_params(**{name: int(rng.integers(2**31)) for name in seeded})


def takes_columns(
    *,
    validation: bool = False,
    prediction: bool = False,
    pairs: bool = False,
    holds_out: bool = True,
) -> Callable[[F], F]:
    """Name the declared columns where a method's signature and docstring say `columns`.

    In its docstring, ``{folds}`` becomes what `users` and `order` mean.

    Columns of validation data, columns that predictions need, too, the arguments that
    judge pairs, and those that say what is held out are named only if `validation`,
    `prediction`, `pairs` and `holds_out` ask for them.
    """
    names = [
        name
        for name, column in COLUMNS.items()
        if (prediction or not column.in_predict) and (holds_out or not column.holds_out)
    ]
    if validation:
        names += [f"{n}_val" for n in names if COLUMNS[n].in_validation]
    if pairs:
        names += PAIR_ARGUMENTS

    def decorate(method: F) -> F:
        signature = inspect.signature(method)
        *own, rest = signature.parameters.values()
        added = [name for name in names if name not in signature.parameters]
        parameters = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
            for name in added
        ]
        named = signature.replace(parameters=[*own, *parameters])
        method.__signature__ = named  # type: ignore[attr-defined]
        text = fill_in(method.__doc__ or "", {"folds": FOLDS_TEXT})
        method.__doc__ = text.replace(f"{rest.name} :", f"{', '.join(added)} :")
        return method

    return decorate
