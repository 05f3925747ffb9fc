"""What displays are given: rows of queries, metrics under their names, cutoffs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.queries import QueryGroups

IntArray = NDArray[np.int64]
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


def read_cutoffs(k: Any) -> IntArray:
    """Return cutoffs as an array; a ValueError unless they are integers that rise."""
    cutoffs = np.asarray(k)
    if not (
        cutoffs.ndim == 1
        and cutoffs.size > 0
        and cutoffs.dtype.kind in "iu"
        and cutoffs[0] >= 1
        and (cutoffs[1:] > cutoffs[:-1]).all()
    ):
        raise ValueError(
            "k must hold the cutoffs to look at, integers >= 1 that rise, such as "
            f"range(1, 21), got {k!r}"
        )
    return cutoffs.astype(np.int64)


def read_metric_of_any_cutoff(metric: str | Metric) -> Metric:
    """Return a metric that leaves its cutoff open; a ValueError if it has one."""
    known = get_metric(metric)
    if known.k is not None:
        raise ValueError(
            f"metric {known.name!r} has a cutoff, but k says at which cutoffs to look: "
            f"give {known.name.partition('@')[0]!r} or a metric object with k=None"
        )
    return known
