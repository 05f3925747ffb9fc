"""Which columns are categorical, and what the columns of any kind of table hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

# Starts of the names of dtypes, in lower case, of numpy, pandas, polars and Arrow
CATEGORICAL = ("category", "categorical", "enum", "dictionary")
NUMERIC = (
    "int8", "int16", "int32", "int64", "uint", "float", "halffloat", "double", "bool"
)  # fmt: skip
# Floats hold all integers up to these; those of other dtypes become float64
LARGEST_CODE = {"float16": 2**11, "float32": 2**24}
FORMS = "'from_dtype', None, or a list of names, of indices or of booleans"


class Numbers(NamedTuple):
    """A column of numbers."""

    name: str  # for messages
    values: NDArray[np.float64]  # (n_rows,)
    largest: int  # largest code that its dtype holds exactly


class Labels(NamedTuple):
    """A column of text, of objects, or of a categorical dtype."""

    name: str
    labels: list[Any]  # distinct, in any order
    codes: NDArray[np.intp]  # (n_rows,): position in `labels`; -1: missing
    is_categorical: bool  # its dtype


def is_frame(X: Any) -> bool:
    """Return whether X has columns with dtypes, as those of pandas and polars."""
    return not is_lazy(X) and hasattr(X, "columns") and hasattr(X, "dtypes")


def is_lazy(X: Any) -> bool:
    """Return whether X is a LazyFrame of polars: to ask for its columns runs it."""
    return type(X).__name__ == "LazyFrame"


def is_numeric(dtype: Any) -> bool:
    """Return whether a dtype of a column is one of numbers or booleans."""
    return str(dtype).lower().removeprefix("sparse[").startswith(NUMERIC)


def is_arrow(X: Any) -> bool:
    """Return whether X is an Arrow table."""
    return hasattr(X, "column_names") and hasattr(X, "to_pandas")


def as_table(X: Any) -> Any:
    """Return X as a frame or an array; of objects if it is a list with text."""
    if is_frame(X):
        return X
    if is_arrow(X):
        return X.to_pandas()
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return np.array(X, dtype=object)
    is_text = array.dtype.kind in "US" and not isinstance(X, np.ndarray)
    return np.array(X, dtype=object) if is_text else array


def find_features(X: Any, given: Any, name: str) -> NDArray[np.int64]:
    """Return the features that the parameter `categorical_features` names, ascending.

    None of an X that is no table: who reads it next says so.
    """
    nothing = np.empty(0, dtype=np.int64)
    if isinstance(given, str) and given == "from_dtype":
        if not is_frame(X) and not is_arrow(X):
            return nothing
        dtypes = X.schema.types if is_arrow(X) else X.dtypes
        return np.flatnonzero([str(t).lower().startswith(CATEGORICAL) for t in dtypes])
    items = [] if given is None else np.asarray(given, dtype=object).tolist()
    kinds = (bool, np.bool_, int, np.integer, str)
    if not isinstance(items, list) or not all(isinstance(i, kinds) for i in items):
        raise TypeError(f"categorical_features must be {FORMS}, got {given!r}")
    if not items:
        return nothing
    table = X if issparse(X) else as_table(X)
    if len(table.shape) != 2:
        return nothing
    names = [str(c) for c in table.columns] if is_frame(table) else None
    features = chosen_features(items, names, table.shape[1])
    if issparse(X) and len(features) > 0:
        raise ValueError(sparse_message(name))
    return features


def sparse_message(name: str) -> str:
    """Return the message of the error for a sparse X."""
    return (
        f"{name} is sparse, and categorical features need a dense table or a "
        "DataFrame: what a sparse one does not store would be the category 0"
    )


def chosen_features(
    items: list[Any], names: list[str] | None, n_features: int
) -> NDArray[np.int64]:
    """Return the features of names, indices or a mask, ascending."""
    if all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != n_features:
            raise ValueError(
                f"categorical_features is a mask of {len(items)} booleans, and X has "
                f"{n_features} features"
            )
        return np.flatnonzero(items)
    if all(isinstance(item, str) for item in items):
        unknown = [item for item in items if item not in (names or ())]
        if unknown:
            found = "has no names" if names is None else f"has {names!r}"
            raise ValueError(
                f"categorical_features names {unknown!r}, which are no columns of X: "
                f"it {found}"
            )
        return np.unique([(names or []).index(item) for item in items])
    if any(isinstance(item, bool | np.bool_ | str) for item in items):
        raise TypeError(f"categorical_features must be {FORMS}, got {items!r}")
    if not all(0 <= item < n_features for item in items):
        raise ValueError(
            f"categorical_features are indices from 0 to {n_features - 1}, got "
            f"{items!r}"
        )
    return np.unique(np.array(items, dtype=np.int64))


def get_column(X: Any, feature: int, name: str) -> Numbers | Labels:
    """Return what a column of a frame or an array holds."""
    column = X.iloc[:, feature] if hasattr(X, "iloc") else X[:, feature]
    label = X.columns[feature] if is_frame(X) else feature
    name, dtype = f"{name} in column {label!r}", str(column.dtype).lower()
    if is_numeric(dtype):
        return Numbers(name, as_floats(column), LARGEST_CODE.get(dtype, 2**53))
    is_categorical = dtype.startswith(CATEGORICAL)
    of_pandas: Any = getattr(column, "cat", None)
    if hasattr(of_pandas, "codes"):
        labels = of_pandas.categories.tolist()
        codes = of_pandas.codes.to_numpy().astype(np.intp)
    else:
        values = column.to_list() if hasattr(column, "to_list") else list(column)
        labels, codes = distinct(values, name)
    return Labels(name, labels, codes, is_categorical)


def as_floats(column: Any) -> NDArray[np.float64]:
    """Return a column of numbers as float64, with NaN where it is missing."""
    if hasattr(column, "cast"):  # polars
        return np.asarray(column.cast(float).to_numpy())
    if hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column, dtype=np.float64)


def distinct(values: list[Any], name: str) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the distinct values but missing ones, and the position of each; or -1."""
    position: dict[Any, int] = {}
    codes = np.full(len(values), -1, dtype=np.intp)
    try:
        for row, value in enumerate(values):
            if not is_missing(value):
                codes[row] = position.setdefault(value, len(position))
    except (TypeError, ValueError):  # not hashable, or no truth value
        raise ValueError(
            f"{name} is categorical, but row {row} holds {value!r}: categories are "
            "text or numbers"
        ) from None
    return list(position), codes


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or pandas' NA or NaT."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
