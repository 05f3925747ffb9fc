"""Raw X becomes a table of floats, or an error that says what is wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from sklearn_ltr.learners._tables import Table

CHUNK_SIZE = 2**18  # values checked at a time: 2 MiB, which stay in the cache


def read_feature_table(
    estimator: BaseEstimator,
    X: Any,
    *,
    reset: bool,
    name: str,
    check_values: bool = True,
) -> Table:
    """Return X as an ndarray or CSR matrix of float32 or float64.

    X is not copied if it is one already.  With `reset` the estimator stores number and
    names of the features; without, they must be the same as stored.  With
    `check_values` infinite values, and NaN where the estimator does not accept it,
    raise a ValueError.
    """
    allow_nan = estimator.__sklearn_tags__().input_tags.allow_nan
    if not reset and _needs_no_conversion(X, estimator):
        if check_values:
            check_finite(X, name, allow_nan=allow_nan)
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
        features = _non_numeric_features(X)
        if not features:
            raise type(error)(f"{name}: {error}") from error
        raise ValueError(
            f"{name} must be numeric, but {features} are not; encode them first, with "
            f"OrdinalEncoder or OneHotEncoder in a Pipeline, say ({error})"
        ) from error
    if issparse(table) and not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    if check_values:
        check_finite(table, name, allow_nan=allow_nan)
    return table


def check_finite(table: Table, name: str, *, allow_nan: bool) -> None:
    """Raise a ValueError that names the first infinite (or missing) value."""
    values = table.data if issparse(table) else table

    def is_bad(part: Any) -> Any:
        return np.isinf(part) if allow_nan else ~np.isfinite(part)

    step = max(1, CHUNK_SIZE // max(1, values[:1].size))
    starts = range(0, len(values), step)
    if any(is_bad(values[start : start + step]).any() for start in starts):
        row, column = _first_marked(table, is_bad(values))
        found = "NaN" if np.isnan(table[row, column]) else "infinity (inf)"
        raise ValueError(
            f"{name} contains {found} at row {row}, column {column}; replace it before "
            "ranking, by a large finite value or an imputer in a Pipeline, say"
        )


def _needs_no_conversion(X: Any, estimator: Any) -> bool:
    """Return whether scikit-learn's validation would return X unchanged.

    That validation takes longer than predicting the documents of one query.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and len(X) > 0
        and X.dtype in (np.float32, np.float64)
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def _first_marked(table: Table, marked: Any) -> tuple[int, int]:
    """Return row and column of the first marked value (of the stored ones if CSR)."""
    if not issparse(table):
        row, column = np.argwhere(marked)[0]
    else:
        first = int(np.argmax(marked))
        row = np.searchsorted(table.indptr, first, side="right") - 1
        column = table.indices[first]
    return int(row), int(column)


def _refuse_dates(X: Any, name: str) -> None:
    """Raise a ValueError for dates, which numpy would silently convert to numbers."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        dtypes = dict(zip(X.columns, X.dtypes, strict=True))
    else:
        dtypes = {"": getattr(X, "dtype", None)}
    for column, dtype in dtypes.items():
        if any(kind in str(dtype).lower() for kind in ("date", "time", "duration")):
            in_column = f" in column {column!r}" if column else ""
            raise ValueError(
                f"{name} holds dates or times ({dtype}){in_column}; turn them into "
                "numbers that mean something first, an age in days, say"
            )


def _non_numeric_features(X: Any) -> str:
    """Name up to five columns of a data frame that do not hold numbers."""
    dtypes = getattr(X, "dtypes", None)
    if dtypes is None or not hasattr(X, "columns"):
        return ""
    names = [
        f"{name!r} ({dtype})"
        for name, dtype in zip(X.columns, dtypes, strict=True)
        if not any(kind in str(dtype).lower() for kind in ("int", "float", "bool"))
    ]
    return f"the columns {', '.join(names[:5])}" if names else ""
