"""What displays are given: rows of queries, numbers, metrics under their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._queries import QueryGroups
from sklearn_ltr.metrics import Metric, get_metric

FloatArray = NDArray[np.float64]
OneMetric = str | Metric | None
Metrics = OneMetric | Iterable[OneMetric] | Mapping[str, OneMetric]


def read_metrics(metrics: Metrics) -> dict[str, OneMetric]:
    """Return each metric under the name that its force gets; None is RankNet."""
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
                    f"metrics holds {name!r} twice; tell the two apart by a dict "
                    "{name: metric}"
                )
            named[name] = metric
    if not named:
        raise ValueError("metrics is empty: name at least one, or None for RankNet")
    return named


def read_one_query(y_true: Any, groups: Any = None) -> QueryGroups:
    """Take all rows for one query; a ValueError if `groups` says otherwise."""
    n = len(np.atleast_1d(y_true))
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
    """Read the query of each row."""
    return QueryGroups.from_groups(groups, len(np.atleast_1d(y_true)))


def read_numbers(
    values: Any, argument: str, of: str, n: int | None = None, *, finite: bool = True
) -> FloatArray:
    """Return one number for each query, column, cutoff, ...

    Parameters
    ----------
    values : array-like of shape (n,)
    argument, of : str
        What to call `values`, and what there is a number for, in messages.
    n : int or None
        How many there must be; None: at least one.
    finite : bool
        Whether they must be finite.

    Raises
    ------
    ValueError
        If they are not numbers, or not as they must be.
    """
    try:
        read = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} must be numeric: {error}") from None
    if read.ndim != 1 or len(read) != (n or max(1, len(read))):
        how_many = "" if n is None else f", {n} in all"
        raise ValueError(
            f"{argument} must hold one number for each {of}{how_many}, got shape "
            f"{read.shape}"
        )
    if finite and not np.isfinite(read).all():
        bad = int(np.argmin(np.isfinite(read)))
        raise ValueError(f"{argument} must be finite, but {of} {bad} has {read[bad]}")
    return read


def read_names(names: Sequence[str]) -> tuple[str, str]:
    """Return what the two rankers are called; else a ValueError."""
    if isinstance(names, str) or len(names) != 2 or names[0] == names[1]:
        raise ValueError(f"names must be two names that differ, got {names!r}")
    return str(names[0]), str(names[1])


def as_objects(labels: Any) -> NDArray[Any]:
    """Return an array of what queries are called, tuples too, in one dimension."""
    if isinstance(labels, np.ndarray):
        return labels
    return np.fromiter(labels, dtype=object, count=len(labels))
