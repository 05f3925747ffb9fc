"""Check parameters of metrics, and read the grades of queries."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import (
    JudgedQueries,
    QueryGroups,
    check_grades,
    count_missing,
    count_rows,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LARGEST_K = 2**63 - 1


def check_k(k: object) -> int | None:
    """Return a cutoff as int or None; TypeError or ValueError naming k otherwise."""
    if k is None:
        return None
    if isinstance(k, bool) or not isinstance(k, Integral):
        raise TypeError(f"k must be an integer >= 1 or None, got {k!r}")
    if not 1 <= int(k) <= LARGEST_K:
        raise ValueError(f"k must be an integer >= 1 (below 2^63) or None, got {k!r}")
    return int(k)


def check_option(name: str, value: object, options: tuple[str, ...]) -> None:
    """Raise a ValueError naming the argument unless it is one of its options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {options}, got {value!r}")


def read_ranked_grades(ranked_grades: Any) -> FloatArray:
    """Return the grades of one list, (n_documents,) float64, checked."""
    name = "ranked_grades"
    query = QueryGroups.single(count_rows(ranked_grades, name))
    return check_grades(ranked_grades, query, name)


def read_judged(
    y_true: Any, groups: Any, y_missing: Any, groups_missing: Any
) -> tuple[QueryGroups, FloatArray, IntArray, NDArray[np.bool_] | None]:
    """Read the grades of rows, and of documents missing from the ranked lists.

    Returns
    -------
    queries : QueryGroups
        Of the rows; those of missing documents alone have no row.
    grades, offsets, is_ranked
        The arguments of `Metric.bind`: rows and missing documents.
    """
    queries = QueryGroups.from_groups(groups, count_rows(y_true, "y_true"))
    grades = check_grades(y_true, queries, "y_true")
    n_missing = count_missing(y_missing, groups_missing)
    if n_missing == 0:
        return queries, grades, queries.offsets, None
    judged = JudgedQueries.read(queries, groups_missing, n_missing)
    grades_missing = check_grades(y_missing, judged.missing, "y_missing")
    merged = judged.merge(grades, grades_missing)
    return judged.rows, merged, judged.offsets, judged.is_row
