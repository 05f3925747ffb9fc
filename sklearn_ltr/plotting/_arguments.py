"""Checks of the arguments of displays: queries, numbers, and metrics with names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import QueryGroups, count_rows
from sklearn_ltr._data import read_numbers as read_column
from sklearn_ltr.metrics import Metric, get_metric

FloatArray = NDArray[np.float64]
OneMetric = str | Metric | None
Metrics = OneMetric | Iterable[OneMetric] | Mapping[str, OneMetric]


def read_metrics(metrics: Metrics) -> dict[str, OneMetric]:
    """Return each metric by the name of its force; None is RankNet."""
    if isinstance(metrics, Mapping):
        named = dict(metrics)
    else:
        if isinstance(metrics, str) or not isinstance(metrics, Iterable):
            metrics = (metrics,)
        named = {}
        for metric in metrics:
            name = "RankNet" if metric is None else get_metric(metric).name
            if name in named:
                raise ValueError(
                    f"metrics holds {name!r} twice; give them different names in a "
                    "dict {name: metric}"
                )
            named[name] = metric
    if not named:
        raise ValueError("metrics is empty: give at least one, or None for RankNet")
    return named


def read_one_query(y_true: Any, groups: Any = None) -> QueryGroups:
    """Return all rows as one query; raise a ValueError if `groups` names several."""
    n = count_rows(y_true, "y_true")
    if groups is not None:
        queries = QueryGroups.from_groups(groups, n)
        if queries.n_queries > 1:
            raise ValueError(
                f"groups names {queries.n_queries} queries ({queries.describe(0)}, "
                f"{queries.describe(1)}, ...), but this display shows one: pass the "
                "rows of one query only"
            )
    return QueryGroups.from_groups(np.zeros(n, dtype=np.int64), n, "y_true")


def read_queries(y_true: Any, groups: Any) -> QueryGroups:
    """Return the queries of the rows of `y_true`."""
    return QueryGroups.from_groups(groups, count_rows(y_true, "y_true"))


def read_numbers(
    values: Any, argument: str, item: str, n: int | None = None, *, finite: bool = True
) -> FloatArray:
    """Return one number for each item (a query, feature, cutoff, ...).

    Parameters
    ----------
    values : array-like of shape (n,)
    argument, item : str
        Names of `values` and of an item in error messages.
    n : int or None
        Required number of items.  None: at least one.
    finite : bool
        Whether the numbers must be finite.

    Raises
    ------
    ValueError
        If `values` are not such numbers.
    """
    numbers = read_column(values, count_rows(values, argument), argument, item)
    if len(numbers) != (n or max(1, len(numbers))):
        how_many = "" if n is None else f", {n} in all"
        raise ValueError(
            f"{argument} must hold one number for each {item}{how_many}, got shape "
            f"{numbers.shape}"
        )
    if finite and not np.isfinite(numbers).all():
        bad = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(
            f"{argument} must be finite, but {item} {bad} has {numbers[bad]}"
        )
    return numbers


def read_names(names: Sequence[str]) -> tuple[str, str]:
    """Return the names of two rankers; raise a ValueError unless they are two."""
    if isinstance(names, str) or len(names) != 2 or names[0] == names[1]:
        raise ValueError(f"names must be two different names, got {names!r}")
    return str(names[0]), str(names[1])


def as_objects(labels: Any) -> NDArray[Any]:
    """Return the labels of queries as a 1-D array, even if they are tuples."""
    if isinstance(labels, np.ndarray):
        return labels
    return np.fromiter(labels, dtype=object, count=len(labels))
