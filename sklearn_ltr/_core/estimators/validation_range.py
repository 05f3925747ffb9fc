"""Warn of validation data that are on another scale than the training data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.data.tables import Matrix, Table
from sklearn_ltr._core.typing import FloatArray

NONE_CATEGORICAL = np.empty(0, dtype=np.int64)
CHECKED_ROWS = 1000  # of each table
# Of real data, 0.1% of the values of other queries are out of the range of 1,000 rows,
# and 1.2% if there are few queries.  Of raw values beside standardised ones, it is 39%
# for the features of MSLR-WEB10K and 52% for those of OHSUMED.
LARGE_SHARE = 1 / 3
FEW_COLUMNS = 3  # so many may be dates and counts, which grow from year to year


class ValidationRangeWarning(UserWarning):
    """Warning: columns of X_val are outside the range of X, as if on another scale.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from sklearn_ltr import LambdaMARTRanker, ValidationRangeWarning
    >>> X, y, groups = np.arange(8.0)[:, None], [0, 1] * 4, np.repeat([7, 8], 4)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ranker = LambdaMARTRanker(n_estimators=1, min_samples_leaf=1).fit(
    ...         X, y, groups=groups, X_val=X + 500, y_val=y, groups_val=groups
    ...     )
    >>> caught[0].category is ValidationRangeWarning
    True
    """


def given_sets(X: Table, validation: list[TrainingData]) -> dict[str, TrainingData]:
    """Return the validation sets by the names of their features in messages."""
    # without the queries that are held out of X itself
    given = [held for held in validation if held.X is not X]
    if len(given) == 1:
        return {"X_val": given[0]}
    return {f"X_val[{i}]": held for i, held in enumerate(given)}


def warn_of_ranges(
    X: Table,
    rows: NDArray[np.intp],
    validation: list[TrainingData],
    categorical: NDArray[np.int64] = NONE_CATEGORICAL,
) -> bool:
    """Warn of a set that is mostly out of the range of X; say whether there is one."""
    given = given_sets(X, validation)
    if not given:
        return False
    low, high = ranges(sampled(X, rows))
    varies = low < high
    varies[categorical] = False
    n_columns = int(np.count_nonzero(varies))
    if n_columns == 0:
        return False
    for name, held in given.items():
        values = sampled(held.X, held.rows)
        share = np.where(varies, shares_outside(values, low, high), 0.0)
        n_outside = int(np.count_nonzero(share > 0.5))
        if share.sum() > LARGE_SHARE * n_columns and n_outside >= min(
            FEW_COLUMNS, n_columns
        ):
            j, (low_val, high_val) = int(share.argmax()), ranges(values)
            warn_caller(
                f"{name} is on another scale than X: of the {n_columns:,} columns that "
                f"vary, {n_outside:,} have most of their values in {name} outside "
                f"their range in X (column {j}: {low[j]:.3g} to {high[j]:.3g} in X, "
                f"{low_val[j]:.3g} to {high_val[j]:.3g} in {name}). Transform both "
                "alike; in a Pipeline give "
                'make_pipeline(..., transform_input=["X_val"])',
                ValidationRangeWarning,
            )
            return True
    return False


def sampled(X: Table, rows: NDArray[np.intp]) -> Matrix:
    """Return some of these rows, at even distances."""
    return X.take(rows[:: max(1, len(rows) // CHECKED_ROWS)])


def ranges(values: Matrix) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and largest value of each column, NaN left out."""
    if issparse(values):
        low, high = values.nanmin(axis=0), values.nanmax(axis=0)
        return low.toarray().ravel(), high.toarray().ravel()
    return np.fmin.reduce(values), np.fmax.reduce(values)


def shares_outside(values: Matrix, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the share of the values of each column that are not in its range."""
    if not issparse(values):
        return np.asarray(((values < low) | (values > high)).mean(axis=0))
    n_rows, n_columns = values.shape
    column, stored = values.indices, values.data
    outside = (stored < low[column]) | (stored > high[column])
    n_zeros = n_rows - np.bincount(column, minlength=n_columns)
    n_outside = np.bincount(column[outside], minlength=n_columns)
    return np.asarray((n_outside + n_zeros * ((low > 0) | (high < 0))) / n_rows)
