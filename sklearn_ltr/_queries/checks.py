"""Check grades, scores and weights of rows, and sort them to canonical order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._queries.groups import QueryGroups

FloatArray = NDArray[np.float64]


def check_grades(y: Any, queries: QueryGroups, name: str = "y") -> FloatArray:
    """Return relevance grades in canonical order, (n_documents,) float64.

    Raises
    ------
    ValueError
        If ``y`` is not one number per row, or a grade is negative, infinite or NaN;
        the message gives the row and its query.
    """
    grades = _one_number_per_row(y, queries, name)
    valid = (grades >= 0) & (grades < np.inf)
    _check_rows(
        valid, grades, queries, f"{name} must hold finite relevance grades >= 0"
    )
    return queries.sort(grades)


def check_scores(
    y_score: Any, queries: QueryGroups, name: str = "y_score"
) -> FloatArray:
    """Return scores in canonical order, (n_documents,) float64.

    Raises
    ------
    ValueError
        If ``y_score`` is not one number per row, or a score is not finite.
    """
    scores = _one_number_per_row(y_score, queries, name)
    valid = np.isfinite(scores)
    _check_rows(valid, scores, queries, f"{name} must be finite to be ranked")
    return queries.sort(scores)


def check_sample_weight(
    sample_weight: Any, queries: QueryGroups, name: str = "sample_weight"
) -> FloatArray:
    """Return the weight of each query, (n_queries,) float64; all ones if None.

    ``sample_weight`` repeats the weight of a query on each of its rows.

    Raises
    ------
    ValueError
        If it is not one number per row, changes within a query, is negative or not
        finite, or is zero everywhere.
    """
    if sample_weight is None:
        return np.ones(queries.n_queries)
    rows = _one_number_per_row(sample_weight, queries, name)
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


def _check_rows(
    valid: NDArray[np.bool_], rows: FloatArray, queries: QueryGroups, requirement: str
) -> None:
    """Raise a ValueError that names the first row that is not valid, and its query."""
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            f"{requirement}, but {queries.describe_row(row)} has {rows[row]}"
        )


def _one_number_per_row(values: Any, queries: QueryGroups, name: str) -> FloatArray:
    """Return the values as an array of shape (n_documents,), float64, in row order.

    The array is C-contiguous and writeable: numba would compile kernels once more for
    strided or read-only arrays.
    """
    rows = np.asarray(values)
    if rows.shape != (queries.n_documents,):
        raise ValueError(
            f"{name} must hold one number for each of the {queries.n_documents} rows, "
            f"got shape {rows.shape}"
        )
    # numpy would silently parse the strings of an object array as numbers
    text = rows.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in rows)
    if rows.dtype.kind not in "biufO" or text:
        raise ValueError(f"{name} must be numeric, got dtype {rows.dtype}")
    try:
        return np.require(rows, np.float64, ["C", "W"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numeric: {error}") from None
