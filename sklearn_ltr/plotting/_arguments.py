"""Readers of the arguments of displays, and of the estimators given to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from sklearn_ltr._core.data import QueryGroups, count_rows, read_numbers
from sklearn_ltr._core.data.rows import check_each
from sklearn_ltr._core.typing import FloatArray, IdsLike, MatrixLike

Curves: TypeAlias = dict[str, FloatArray]
RowsLike: TypeAlias = Sequence[Sequence[float]] | Sequence[NDArray[Any]] | NDArray[Any]


def group_rows(y_true: ArrayLike, groups: IdsLike) -> QueryGroups:
    """Return the queries of the rows of `y_true`."""
    return QueryGroups.from_groups(groups, count_rows(y_true, "y_true"))


def read_items(
    values: ArrayLike,
    argument: str,
    item: str,
    n: int | None = None,
    *,
    finite: bool = True,
) -> FloatArray:
    """Return a number for each item, such as a query: `n` of them, or at least one."""
    numbers = read_numbers(values, count_rows(values, argument), argument, item)
    if len(numbers) != (n or max(1, len(numbers))):
        how_many = "" if n is None else f", {n} in all"
        raise ValueError(
            f"{argument} must hold one number for each {item}{how_many}, got shape "
            f"{numbers.shape}"
        )
    if finite:
        requirement = f"{argument} must be finite"
        check_each(
            np.isfinite(numbers), numbers, lambda row: f"{item} {row}", requirement
        )
    return numbers


def read_rows(
    rows: RowsLike, argument: str, item: str, n: int | None = None
) -> FloatArray:
    """Return rows of equal length, each with a number for each item."""
    n = len(rows[0]) if n is None else n
    read = [read_items(row, f"{argument}[{i}]", item, n) for i, row in enumerate(rows)]
    return np.stack(read)


def read_curves(
    curves: Mapping[str, ArrayLike],
    argument: str,
    each: str,
    item: str,
    n: int | None = None,
    *,
    finite: bool = True,
) -> Curves:
    """Return the array of each curve by its name, with a number for each item."""
    check_dict(curves, argument, each)
    return {
        name: read_items(curve, f"{argument}[{name!r}]", item, n, finite=finite)
        for name, curve in curves.items()
    }


def check_dict(arrays: Mapping[str, ArrayLike], argument: str, each: str) -> None:
    """Raise a ValueError unless this is a dict with at least one entry."""
    if not isinstance(arrays, Mapping) or not arrays:
        raise ValueError(
            f"{argument} must be a dict with an array for each {each}, got {arrays!r}"
        )


def read_item_names(
    names: ArrayLike | None,
    n: int,
    argument: str = "feature_names",
    item: str = "feature",
    letter: str = "x",
) -> NDArray[np.object_]:
    """Return one name for each item; x0, x1, ... for None."""
    if names is None:
        names = [f"{letter}{number}" for number in range(n)]
    read = np.asarray(names, dtype=object)
    if read.shape != (n,):
        raise ValueError(
            f"{argument} must hold one name for each of the {n} {item}s, got shape "
            f"{read.shape}"
        )
    return read


def read_names(names: Sequence[str]) -> tuple[str, str]:
    """Return the names of two rankers; raise a ValueError unless they are two."""
    if isinstance(names, str) or len(names) != 2 or names[0] == names[1]:
        raise ValueError(f"names must be two different names, got {names!r}")
    return str(names[0]), str(names[1])


def check_n_features(n_features: int | None) -> int | None:
    """Return an integer >= 1 or None; raise a ValueError for anything else."""
    if n_features is None:
        return None
    is_integer = isinstance(n_features, Integral) and not isinstance(n_features, bool)
    if not is_integer or n_features < 1:
        raise ValueError(
            f"n_features must be an integer >= 1 or None, got {n_features!r}"
        )
    return int(n_features)


def is_ranker(estimator: BaseEstimator) -> bool:
    """Return whether an estimator has the type "ranker", as those of this package."""
    # estimators of other packages may have no tags
    has_tags = isinstance(estimator, BaseEstimator)
    return has_tags and get_tags(estimator).estimator_type == "ranker"


def predicted_scores(
    estimator: BaseEstimator, X: MatrixLike, argument: str
) -> ArrayLike:
    """Return the scores that a fitted estimator predicts."""
    if not hasattr(estimator, "predict"):
        raise TypeError(
            f"{argument} must be a fitted estimator with the method predict, got an "
            f"object of {type(estimator).__name__}"
        )
    scores: ArrayLike = estimator.predict(X)
    return scores
