"""Raw X becomes a table of numbers, or an error that says what is wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from sklearn_ltr.learners._tables import Table

N_CACHED = 2**18  # values that are looked at together


def read_table(
    estimator: BaseEstimator, X: Any, *, reset: bool, name: str, refuse: bool = True
) -> Table:
    """Return X as an ndarray or a CSR matrix, float32 or float64, no copy if it is one.

    With `reset` the estimator remembers the columns; else they must be the same.  With
    `refuse` infinite (or missing) values raise a ValueError.
    """
    allow_nan = estimator.__sklearn_tags__().input_tags.allow_nan
    if not reset and _is_plain(X, estimator):
        if refuse:
            refuse_values(X, name, allow_nan=allow_nan)
        return X
    _refuse_dates(X, name)
    try:
        table = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
    except (TypeError, ValueError) as error:
        columns = _columns_without_numbers(X)
        if not columns:
            raise type(error)(f"{name}: {error}") from error
        raise ValueError(
            f"{name} must be numeric, but {columns} are not; encode them first, with "
            f"OrdinalEncoder or OneHotEncoder in a Pipeline, say ({error})"
        ) from error
    if issparse(table) and not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    if refuse:
        refuse_values(table, name, allow_nan=allow_nan)
    return table


def refuse_values(table: Table, name: str, *, allow_nan: bool) -> None:
    """Raise a ValueError that names the first infinite (or missing) value."""
    values = table.data if issparse(table) else table

    def bad(part: Any) -> Any:
        return np.isinf(part) if allow_nan else ~np.isfinite(part)

    step = max(1, N_CACHED // max(1, values[:1].size))
    starts = range(0, len(values), step)
    if any(bad(values[start : start + step]).any() for start in starts):
        row, column = _place(table, bad(values))
        what = "NaN" if np.isnan(table[row, column]) else "infinity (inf)"
        raise ValueError(
            f"{name} contains {what} at row {row}, column {column}; replace it before "
            "ranking, by a large finite value or an imputer in a Pipeline, say"
        )


def _is_plain(X: Any, estimator: Any) -> bool:
    """Say whether scikit-learn would return X as it is, and find nothing to say.

    Asking it takes longer than to score the documents of one query.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and len(X) > 0
        and X.dtype in (np.float32, np.float64)
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def _place(table: Table, bad: Any) -> tuple[int, int]:
    """Return row and column of the first of the values that are marked."""
    if not issparse(table):
        row, column = np.argwhere(bad)[0]
    else:
        first = int(np.argmax(bad))
        row = np.searchsorted(table.indptr, first, side="right") - 1
        column = table.indices[first]
    return int(row), int(column)


def _refuse_dates(X: Any, name: str) -> None:
    """Raise a ValueError for dates, which numpy would turn into numbers in silence."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        dtypes = dict(zip(X.columns, X.dtypes, strict=True))
    else:
        dtypes = {"": getattr(X, "dtype", None)}
    for column, kind in dtypes.items():
        if any(word in str(kind).lower() for word in ("date", "time", "duration")):
            of_column = f" in column {column!r}" if column else ""
            raise ValueError(
                f"{name} holds dates or times ({kind}){of_column}; turn them into "
                "numbers that mean something first, an age in days, say"
            )


def _columns_without_numbers(X: Any) -> str:
    """Name the columns of a data frame that hold something other than numbers."""
    dtypes = getattr(X, "dtypes", None)
    if dtypes is None or not hasattr(X, "columns"):
        return ""
    names = [
        f"{name!r} ({kind})"
        for name, kind in zip(X.columns, dtypes, strict=True)
        if not any(word in str(kind).lower() for word in ("int", "float", "bool"))
    ]
    return f"the columns {', '.join(names[:5])}" if names else ""
