"""What is known of the rows: grades, scores, weights, positions and propensities.

Each is read, checked, and sorted to the canonical order of the queries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data.groups import QueryGroups
from sklearn_ltr._data.rows import read_numbers

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_POSITIONS = 1000  # click models hold dense matrices of (position, position)
NOT_RANKED = (
    "; leave documents that were not ranked out of the rows, and give their grades to "
    "a metric by y_missing and groups_missing"
)


def check_grades(y: Any, queries: QueryGroups, name: str = "y") -> FloatArray:
    """Return grades, finite and >= 0, in canonical order, (n_documents,) float64."""
    grades = _read_rows(y, queries, name, warns_of_column=True)
    valid = (grades >= 0) & (grades < np.inf)
    _check_rows(
        valid, grades, queries, f"{name} must hold finite relevance grades >= 0"
    )
    return queries.sort(grades)


def check_scores(
    y_score: Any,
    queries: QueryGroups,
    name: str = "y_score",
    *,
    only_order: bool = False,
) -> FloatArray:
    """Return finite scores in canonical order; ranks of equal ones if `only_order`."""
    scores = _read_rows(y_score, queries, name, only_order=only_order)
    valid = np.isfinite(scores)
    is_unranked = not valid.all() and scores[np.argmin(valid)] == -np.inf
    advice = NOT_RANKED if is_unranked else ""
    _check_rows(valid, scores, queries, f"{name} must be finite to be ranked", advice)
    return queries.sort(scores)


def check_sample_weight(
    sample_weight: Any, queries: QueryGroups, name: str = "sample_weight"
) -> FloatArray:
    """Return the weight of each query, (n_queries,) float64; all ones if None."""
    if sample_weight is None:
        return np.ones(queries.n_queries)
    if not queries.sizes.all():
        empty = queries.describe(int(np.argmin(queries.sizes)))
        raise ValueError(
            f"{name} is given per row, but query {empty} has no row: only "
            "groups_missing names it"
        )
    rows = _read_rows(sample_weight, queries, name)
    valid = (rows >= 0) & (rows < np.inf)
    _check_rows(valid, rows, queries, f"{name} must be finite and >= 0")
    canonical = queries.sort(rows)
    weights = canonical[queries.offsets[:-1]]
    differs = canonical != np.repeat(weights, queries.sizes)
    if differs.any():
        position = int(np.argmax(differs))
        query = int(np.searchsorted(queries.offsets, position, side="right")) - 1
        raise ValueError(
            f"{name} weighs whole queries, so it must be constant within a query, but "
            f"query {queries.describe(query)} has both {weights[query]} and "
            f"{canonical[position]}"
        )
    if not weights.any():
        raise ValueError(f"{name} is zero for every query: nothing would count")
    return weights


def read_positions(positions: Any, n: int, describe: Callable[[int], str]) -> IntArray:
    """Return positions, (n,) int64 in the order of the rows, each checked alone."""
    numbers = read_numbers(positions, n, "positions", describe=describe)
    valid = (numbers >= 0) & (numbers < MOST_POSITIONS)
    valid &= numbers == np.floor(np.where(valid, numbers, 0.0))
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            "positions must be integers from 0 (shown first) to "
            f"{MOST_POSITIONS - 1}, but {describe(row)} has {numbers[row]:g}; leave "
            "rows that were not shown, or far below, out of the log"
        )
    return numbers.astype(np.int64)


def check_positions(positions: Any, queries: QueryGroups) -> IntArray | None:
    """Return positions in canonical order, different within a query; None if None."""
    if positions is None:
        return None
    shown = read_positions(positions, queries.n_documents, queries.describe_row)
    canonical = queries.sort(shown)
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    order = np.lexsort((canonical, query))
    same_query = query[order][1:] == query[order][:-1]
    twice = same_query & (canonical[order][1:] == canonical[order][:-1])
    if twice.any():
        a, b = sorted(queries.order[order[np.argmax(twice) :][:2]].tolist())
        raise ValueError(
            f"positions has {shown[a]} twice in one list: {queries.describe_row(a)} "
            f"and row {b} have it; groups must name each list that was shown (a "
            "session), not only its query"
        )
    return canonical


def check_propensities(propensities: Any, queries: QueryGroups) -> FloatArray | None:
    """Return propensities, in (0, 1], in canonical order; None if None."""
    if propensities is None:
        return None
    rows = _read_rows(propensities, queries, "propensities")
    valid = (rows > 0) & (rows <= 1)
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            "propensities are probabilities of examination, in (0, 1], but "
            f"{queries.describe_row(row)} has {rows[row]:g}"
        )
    return queries.sort(rows)


def _read_rows(
    values: Any, queries: QueryGroups, name: str, **options: Any
) -> FloatArray:
    """Return one number for each row, in the order of the rows."""
    n, describe = queries.n_documents, queries.describe_row
    return read_numbers(values, n, name, describe=describe, **options)


def _check_rows(
    valid: NDArray[np.bool_],
    rows: FloatArray,
    queries: QueryGroups,
    requirement: str,
    advice: str = "",
) -> None:
    """Raise a ValueError that names the first row that is not valid, and its query."""
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            f"{requirement}, but {queries.describe_row(row)} has {rows[row]}{advice}"
        )


def check_canonical(grades: Any, offsets: Any) -> None:
    """Raise a ValueError unless kernels can take these grades and offsets."""
    if not (
        isinstance(grades, np.ndarray)
        and grades.dtype == np.float64
        and grades.ndim == 1
        and ((grades >= 0) & (grades < np.inf)).all()
    ):
        raise ValueError("grades must be a 1-D float64 array of finite numbers >= 0")
    if not (
        isinstance(offsets, np.ndarray)
        and offsets.dtype == np.int64
        and offsets.ndim == 1
        and len(offsets) > 1
        and offsets[0] == 0
        and offsets[-1] == len(grades)
        and (offsets[1:] > offsets[:-1]).all()
    ):
        raise ValueError(
            f"offsets must be a 1-D int64 array that rises from 0 to {len(grades)}, "
            f"the number of grades, got {offsets!r}"
        )
