"""Tables of features of any library: their columns, and X as a table of floats.

The first half reads single columns, which categories need, too; the second half reads
X as a whole, or raises an error that says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import date, time, timedelta
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from sklearn_ltr._core.data.rows import LARGEST_EXACT, check_table, find_merged
from sklearn_ltr._core.data.tables import Matrix, Table
from sklearn_ltr._core.typing import FeaturesLike, MatrixLike

FLOATS = frozenset([np.dtype(np.float32), np.dtype(np.float64)])
CHUNK_SIZE = 2**18  # values checked at a time: 2 MiB, which stay in the cache
DATES = (date, time, timedelta, np.datetime64, np.timedelta64)
PERIOD = "Period"  # of pandas
# Starts of the names of dtypes, in lower case, of numpy, pandas, polars and Arrow
CATEGORICAL = ("category", "categorical", "enum", "dictionary")
DURATIONS = ("timedelta", "duration")
DATED = ("datetime", "date", "timestamp", *DURATIONS)
NUMERIC = (
    "int8", "int16", "int32", "int64", "uint", "float", "halffloat", "double", "bool"
)  # fmt: skip
# Those that float64 holds exactly
EXACT = (
    "int8", "int16", "int32", "uint8", "uint16", "uint32", "float", "halffloat",
    "double", "bool",
)  # fmt: skip
# Floats hold all integers up to these; those of other dtypes become float64, in which
# 2^53 may have been 2^53 + 1
LARGEST_CODE = {"float16": 2**11, "float32": 2**24}
NESTED = (
    "a feature is one number, or one category, in each row: give a column for each "
    "element, or, of lists of documents, a row for each document, by explode() of the "
    "frame"
)
TABLES = (
    " Of a table for each query: give np.concatenate(tables), np.concatenate(grades) "
    "and groups=np.repeat(np.arange(len(tables)), [len(table) for table in tables])"
)
NO_MISSING = (
    "networks take no missing values (trees do): put sklearn_ltr.preprocessing."
    "TableVectorizer, or an imputer, before the ranker in a Pipeline"
)
FORMS = "'from_dtype', None, or a list of names, of indices or of booleans"


class NamedArray(np.ndarray[Any, np.dtype[Any]]):
    """An array of features whose columns have names, which need no frame.

    Its rows keep the names; other parts, and what is computed of it, have none.
    """

    feature_names: Any = None  # (n_features,)

    @classmethod
    def of(cls, array: ArrayLike, names: ArrayLike) -> NamedArray:
        """Return an array with the names of its columns."""
        named = np.asarray(array).view(cls)
        named.feature_names = np.array(names, dtype=object)
        return named

    def __getitem__(self, key: Any) -> Any:
        """Return a part; scikit-learn takes rows by ``X[rows, ...]``."""
        part = super().__getitem__(key)
        of_rows = not isinstance(key, tuple) or (len(key) == 2 and key[1] is Ellipsis)
        if of_rows and isinstance(part, NamedArray) and part.ndim == 2:
            part.feature_names = self.feature_names
        return part


class NumberColumn(NamedTuple):
    """A column of numbers."""

    name: str  # for messages
    values: NDArray[np.float64]  # (n_rows,)
    largest: int  # largest code that its dtype holds exactly


class CodedColumn(NamedTuple):
    """A column of text, of objects, or of a categorical dtype."""

    name: str
    labels: list[Any]  # distinct, in any order
    codes: NDArray[np.intp]  # (n_rows,): position in `labels`; -1: missing
    is_categorical: bool  # its dtype


def has_names(X: object) -> TypeGuard[NamedArray]:
    """Return whether X is an array that knows the names of its columns."""
    return isinstance(X, NamedArray) and X.feature_names is not None


def is_frame(X: object) -> bool:
    """Return whether X has columns with dtypes, as frames of pandas and polars."""
    return not is_lazy(X) and hasattr(X, "columns") and hasattr(X, "dtypes")


def is_lazy(X: object) -> bool:
    """Return whether X is a LazyFrame of polars: to ask for its columns runs it."""
    return type(X).__name__ == "LazyFrame"


def is_numeric(dtype: object) -> bool:
    """Return whether a dtype of a column is one of numbers or booleans."""
    return str(dtype).lower().removeprefix("sparse[").startswith(NUMERIC)


def is_arrow(X: object) -> bool:
    """Return whether X is an Arrow table."""
    return hasattr(X, "column_names") and hasattr(X, "to_pandas")


def as_table(X: MatrixLike) -> Any:
    """Return X as a frame or an array; of objects if it is a list with text."""
    table: Any = X
    if is_frame(X) or has_names(X):
        return X
    if is_arrow(X):
        return table.to_pandas()
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return np.array(X, dtype=object)
    is_text = array.dtype.kind in "US" and not isinstance(X, np.ndarray)
    return np.array(X, dtype=object) if is_text else array


def find_features(X: Any, given: FeaturesLike, name: str) -> NDArray[np.int64]:
    """Return the features that `categorical_features` names, ascending."""
    # none if X is not a table: the reader of X, which comes next, raises the error
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
    n_features = table.shape[1]
    if all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != n_features:
            raise ValueError(
                f"categorical_features is a mask of {len(items)} booleans, but X has "
                f"{n_features} features: give one for each"
            )
        features = np.flatnonzero(items)
    elif all(isinstance(item, str) for item in items):
        names = [str(c) for c in table.columns] if is_frame(table) else []
        if unknown := [item for item in items if item not in names]:
            found = f"has {names!r}" if is_frame(table) else "has no names"
            raise ValueError(
                f"categorical_features names {unknown!r}, which are no columns of X: "
                f"it {found}"
            )
        features = np.unique([names.index(item) for item in items])
    elif any(isinstance(item, bool | np.bool_ | str) for item in items):
        raise TypeError(f"categorical_features must be {FORMS}, got {items!r}")
    elif not all(0 <= item < n_features for item in items):
        raise ValueError(
            f"categorical_features are indices from 0 to {n_features - 1}, got "
            f"{items!r}"
        )
    else:
        features = np.unique(np.array(items, dtype=np.int64))
    if issparse(X) and len(features) > 0:
        raise ValueError(sparse_message(name))
    return features


def sparse_message(name: str) -> str:
    """Return the message of the error for a sparse X."""
    return (
        f"{name} is sparse, so values that it does not store would be the category 0: "
        "give a dense table or a DataFrame for categorical features"
    )


def get_column(X: Any, feature: int, name: str) -> NumberColumn | CodedColumn:
    """Return the values of a column of a frame or an array."""
    column = X.iloc[:, feature] if hasattr(X, "iloc") else X[:, feature]
    label = X.columns[feature] if is_frame(X) else feature
    name, dtype = f"{name} in column {label!r}", str(column.dtype).lower()
    if is_numeric(dtype):
        largest = LARGEST_CODE.get(dtype, int(LARGEST_EXACT) - 1)
        return NumberColumn(name, as_floats(column), largest)
    is_categorical = dtype.startswith(CATEGORICAL)
    accessor: Any = getattr(column, "cat", None)
    if hasattr(accessor, "codes"):
        labels = accessor.categories.tolist()
        codes = accessor.codes.to_numpy().astype(np.intp)
    else:
        values = column.to_list() if hasattr(column, "to_list") else list(column)
        labels, codes = distinct(values, name)
    return CodedColumn(name, labels, codes, is_categorical)


def holds_values(column: NumberColumn | CodedColumn) -> bool:
    """Return whether a column has a value that is not missing."""
    if isinstance(column, NumberColumn):
        return not np.isnan(column.values).all()
    return bool((column.codes >= 0).any())


def column_kinds(X: MatrixLike) -> list[str]:
    """Return what each column holds, as `kind_of_value`; [] if X is not a table."""
    # a column without a value holds numbers; one of several kinds all of them, or text
    table: Any = X if issparse(X) else as_table(X)
    if len(table.shape) != 2:
        return []
    dtypes = table.dtypes if is_frame(table) else [table.dtype] * table.shape[1]
    if issparse(X):
        return ["number"] * len(dtypes)
    kinds = {dtype: kind_of_dtype(dtype) for dtype in set(dtypes)}
    found = [kinds[dtype] for dtype in dtypes]
    for j in [j for j, kind in enumerate(found) if not kind]:  # which the values say
        column = get_column(table, j, "X")
        labels = [] if isinstance(column, NumberColumn) else column.labels
        own = {kind_of_value(label) for label in labels} or {"number"}
        found[j] = "text" if "text" in own else " and ".join(sorted(own))
    return found


def kind_of_dtype(dtype: object) -> str:
    """Return what a column of a dtype holds, as `kind_of_value`; "" of others."""
    name = str(dtype).lower()
    if is_numeric(name):
        return "number"
    if name.startswith(DURATIONS):
        return "duration"
    is_zoned = ", " in name and "time_zone=none" not in name
    return ("zoned date" if is_zoned else "date") if name.startswith(DATED) else ""


def kind_of_value(value: object) -> str:
    """Return "text", "date", "zoned date", "duration", "number", or a type's name."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, timedelta | np.timedelta64):
        return "duration"
    if isinstance(value, date | np.datetime64):  # a datetime is a date
        has_zone = getattr(value, "tzinfo", None) is not None
        return "zoned date" if has_zone else "date"
    is_other = isinstance(value, bytes | time) or type(value).__name__ == PERIOD
    return type(value).__name__ if is_other else "number"


def as_floats(column: Any) -> NDArray[np.float64]:
    """Return a column of numbers as float64, with NaN where it is missing."""
    if hasattr(column, "cast"):  # polars
        return np.asarray(column.cast(float).to_numpy())
    if hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column, dtype=np.float64)


def distinct(
    values: list[Hashable], name: str
) -> tuple[list[Hashable], NDArray[np.intp]]:
    """Return the distinct values, and where each row's is among them; -1: missing."""
    position: dict[Hashable, int] = {}
    codes = np.full(len(values), -1, dtype=np.intp)
    try:
        for row, value in enumerate(values):
            if not is_missing(value):
                codes[row] = position.setdefault(value, len(position))
    except (TypeError, ValueError):  # not hashable, or no truth value
        raise ValueError(f"{name}: row {row} holds {value!r}, but {NESTED}") from None
    return list(position), codes


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, or pandas' NA or NaT."""
    return value is None or is_na(value) or bool(value != value)


def read_feature_table(
    holder: BaseEstimator,
    X: MatrixLike,
    *,
    reset: bool,
    name: str,
    check_values: bool = True,
) -> Matrix:
    """Return X as a checked ndarray or CSR matrix of float32 or float64."""
    # With `reset` the holder, an estimator, stores the number and the names of the
    # features; without, they must be those that it has stored.
    table: Matrix = None if reset else _table_of_floats(X, holder, name)
    is_converted = table is None
    if is_converted:
        numbers = _as_numbers(X, name)
        try:
            table = validate_data(
                holder,
                numbers,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
                ensure_min_samples=int(reset),  # a prediction may be of no rows
            )
        except OverflowError as error:
            raise ValueError(f"{name} holds a number beyond float64: {error}") from None
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from error
        if issparse(table):
            # a new object, as scipy keeps what it once found out of indices
            parts = table.data, table.indices, table.indptr
            table = type(table)(parts, shape=table.shape)
            if not table.has_canonical_format:
                table = table.copy()
                table.sum_duplicates()
        if reset and has_names(X):
            holder.feature_names_in_ = X.feature_names
    if check_values:
        allow_nan = holder.__sklearn_tags__().input_tags.allow_nan
        check_finite(table, name, allow_nan=allow_nan)
    if is_converted:
        check_whole_numbers(numbers, table, name)
    return table


def check_has_rows(X: Table | Matrix, name: str) -> None:
    """Raise a ValueError unless X has rows to learn from, or to measure."""
    if X.shape[0] == 0:
        raise ValueError(f"{name} has no rows: found 0 sample(s), and needs at least 1")


def check_columns(
    holder: BaseEstimator, X: MatrixLike, name: str, *, reset: bool = False
) -> None:
    """Raise a ValueError unless X has the columns of `fit`; `reset` stores them."""
    is_known = not reset and has_names(X)
    if is_known and _table_of_floats(X, holder, name) is not None:
        return
    try:
        validate_data(holder, X, reset=reset, skip_check_array=True)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error


def check_finite(table: Matrix, name: str, *, allow_nan: bool) -> None:
    """Raise a ValueError that names the first infinite (or missing) value."""
    values = table.data if issparse(table) else table

    def is_bad(part: NDArray[np.floating]) -> NDArray[np.bool_]:
        return np.asarray(np.isinf(part) if allow_nan else ~np.isfinite(part))

    step = max(1, CHUNK_SIZE // max(1, values[:1].size))
    starts = range(0, len(values), step)
    if any(is_bad(values[start : start + step]).any() for start in starts):
        first = np.argwhere(is_bad(values))[0].tolist()
        if issparse(table):
            row = int(np.searchsorted(table.indptr, first[0], side="right")) - 1
            column = int(table.indices[first[0]])
        else:
            row, column = first
        found, advice = "infinity (inf)", "replace it, for example by a large number"
        if np.isnan(table[row, column]):
            found, advice = "NaN", NO_MISSING
        raise ValueError(
            f"{name} contains {found} at row {row}, column {column}: {advice}"
        )


def check_whole_numbers(X: Any, table: Matrix, name: str) -> None:
    """Raise a ValueError if different whole numbers of a column became one float."""
    if is_frame(X) or is_arrow(X):
        dtypes = X.schema.types if is_arrow(X) else X.dtypes
        is_exact = all(
            str(dtype).lower().removeprefix("sparse[").startswith(EXACT)
            for dtype in set(dtypes)
        )
    else:
        dtype = getattr(X, "dtype", np.dtype(object))
        is_exact = isinstance(dtype, np.dtype) and (
            dtype.kind not in "iuO" or dtype.itemsize < 8
        )
    if is_exact or table.shape[0] < 2:
        return
    if issparse(table):  # a frame of sparse columns, too
        large = np.abs(table.data) >= LARGEST_EXACT
        columns, table = np.unique(table.indices[large]).tolist(), table.tocsc()
        X = X.tocsc() if issparse(X) else X
    else:
        largest = np.fmax(np.fmax.reduce(table), -np.fmin.reduce(table))
        columns = np.flatnonzero(largest >= LARGEST_EXACT).tolist()
    for j in columns:
        values, numbers = _values_of(X, j), _values_of(table, j)
        label = X.columns[j] if is_frame(X) else j
        label = X.column_names[j] if is_arrow(X) else label
        _check_distinct(values, numbers, f"{name} in column {label!r}")


def _values_of(X: Any, feature: int) -> NDArray[Any]:
    """Return the numbers of a column as they are stored; any where they are missing."""
    if issparse(X):
        return np.asarray(X[:, [feature]].toarray()[:, 0])
    if hasattr(X, "iloc"):
        column = X.iloc[:, feature]
        is_numpy = isinstance(column.dtype, np.dtype)
        return np.asarray(column if is_numpy else column.fillna(0))
    if is_frame(X) or is_arrow(X):
        column = X.column(feature) if is_arrow(X) else X[:, feature]
        return np.asarray(column.fill_null(0))
    return np.asarray(X)[:, feature]


def _check_distinct(
    values: NDArray[Any], numbers: NDArray[np.float64], name: str
) -> None:
    """Raise a ValueError if different values of a column are equal as floats."""
    rows = np.flatnonzero(np.abs(numbers) >= LARGEST_EXACT)
    order, _, merged = find_merged(values[rows], numbers[rows])
    if merged.any():
        a, b = rows[order[np.argmax(merged) :][:2]].tolist()
        raise ValueError(
            f"{name} holds different whole numbers that are equal in float64: row {a} "
            f"has {values[a]} and row {b} has {values[b]}: subtract a constant from "
            "the column, or make it a categorical column of text if they are ids"
        )


def _table_of_floats(
    X: Any, holder: BaseEstimator, name: str
) -> NDArray[np.floating] | None:
    """Return the values of a table of floats with the columns of `fit`, else None."""
    # scikit-learn's validation, which would return them unchanged, takes longer than
    # predicting the documents of one query
    names = getattr(holder, "feature_names_in_", None)
    if names is not None and has_names(X):
        if X.feature_names.tolist() != names.tolist():
            raise ValueError(
                f"{name} has the features {X.feature_names.tolist()}, but `fit` saw "
                f"{names.tolist()}: give these, in this order"
            )
        X, names = np.asarray(X), None
    if type(X) is np.ndarray:
        fits = (
            names is None
            and X.dtype in FLOATS
            and X.ndim == 2
            and X.shape[1] == getattr(holder, "n_features_in_", None)
        )
        return X if fits else None
    fits = (
        names is not None
        and type(X).__name__ == "DataFrame"
        and type(X).__module__.partition(".")[0] == "pandas"
        and X.columns.tolist() == names.tolist()
        and FLOATS.issuperset(X.dtypes.tolist())
    )
    return X.to_numpy() if fits else None


def _as_numbers(X: Any, name: str) -> Any:
    """Return X, lists as an array; an error where numpy or scipy would guess."""
    # numpy turns dates into counts of some unit and text into the numbers that it
    # spells, and drops masks; scipy does not check that indices lie inside the matrix
    check_table(X, name)
    if issparse(X):
        return X
    if is_lazy(X):
        raise ValueError(
            f"{name} is a LazyFrame, without values yet: give its collect()"
        )
    if is_frame(X) or is_arrow(X):
        return _frame_of_numbers(X, name)
    if isinstance(X, list | tuple):
        try:
            given, X = X, np.asarray(X)
            # integers beyond 64 bits, or beside fractions, which numpy has rounded
            if X.dtype == np.float64 and (np.abs(X) >= LARGEST_EXACT).any():
                X = np.array(given, dtype=object)
        except ValueError as error:  # rows of different lengths
            n_dimensions = max(map(np.ndim, X[:1]))
            advice = TABLES if n_dimensions > 1 else ""
            raise ValueError(f"{name}: {error}{advice}") from None
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 3:
        n_lists, n_documents, n_features = shape
        raise ValueError(
            f"{name} has 3 dimensions, {shape}, but a document is a row: of padded "
            f"lists, give {name}.reshape(-1, {n_features}), y.ravel() and groups=np."
            f"repeat(np.arange({n_lists}), {n_documents}), without rows that pad"
        )
    if isinstance(X, np.ndarray):
        check_numbers(X, name)
        if X.dtype.kind == "O" and any(map(is_na, X.flat)):
            missing = np.fromiter(map(is_na, X.flat), np.bool_, X.size)
            X = np.where(missing.reshape(X.shape), np.nan, X)
    return X


def _frame_of_numbers(X: Any, name: str) -> Any:
    """Return a frame or an Arrow table; an error names a column without numbers."""
    if is_arrow(X):
        if all(is_numeric(dtype) for dtype in X.schema.types):
            return X
        X = X.to_pandas()
    if all(map(is_numeric, set(X.dtypes))):
        is_sparse = all(str(dtype).startswith("Sparse[") for dtype in set(X.dtypes))
        return _sparse_frame_of_numbers(X, name) if is_sparse else X
    given = X
    for number, (column, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        if is_numeric(dtype):
            continue
        values = X.iloc[:, number] if hasattr(X, "iloc") else X[:, number]
        label = f"{name} in column {column!r}"
        objects = np.asarray(values)
        check_numbers(objects, label)
        if objects.ndim > 1:  # of polars
            raise TypeError(f"{label} holds arrays, but {NESTED}")
        for found in set(map(type, objects)) if objects.dtype.kind in "OV" else ():
            is_missing = found is type(None) or found.__name__ == "NAType"
            is_nested = hasattr(found, "__iter__")
            if not is_missing and (is_nested or not hasattr(found, "__float__")):
                needed = NESTED if is_nested else "features are numbers: convert them"
                raise TypeError(
                    f"{label} holds values of the type {found.__name__}, but {needed}"
                )
        if hasattr(X, "isetitem") and any(map(is_na, values)):  # pandas
            X = X.copy(deep=False) if X is given else X
            numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
            _check_distinct(objects, numbers, label)
            X.isetitem(number, numbers)
    return X


def _sparse_frame_of_numbers(X: Any, name: str) -> Any:
    """Return a frame of sparse columns; an error if they leave out others than 0."""
    for column, dtype in zip(X.columns, X.dtypes, strict=True):
        if dtype.fill_value != 0:
            raise ValueError(
                f"{name} in column {column!r} is sparse with the fill value "
                f"{dtype.fill_value}, and only 0 can be left out: give "
                "sparse.to_dense() of the frame"
            )
    # pandas finds no common type of booleans and numbers
    is_bool = [dtype.subtype == np.bool_ for dtype in X.dtypes]
    if all(is_bool):
        return X
    return X.astype(dict.fromkeys(X.columns[is_bool], "Sparse[uint8]"))


def is_na(value: object) -> bool:
    """Return whether a value is pandas' NA, which numpy does not convert."""
    return type(value).__name__ == "NAType"


def check_numbers(values: NDArray[Any], name: str) -> None:
    """Raise a ValueError if an array holds dates or text, or has masked values."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array, and the values under its mask would be used: "
            "give filled(np.nan), or only the other rows"
        )
    kind = values.dtype.kind
    types = set(map(type, values.flat)) if kind == "O" else {values.dtype.type}
    found = next(
        (t for t in types if issubclass(t, DATES) or t.__name__ == PERIOD), None
    )
    if found is not None:
        raise ValueError(
            f"{name} holds dates or times ({found.__name__}): turn them into numbers "
            "with a meaning, such as an age in days; TableVectorizer, in a Pipeline, "
            "takes dates and durations as days"
        )
    if any(issubclass(t, str | bytes) for t in types) or kind == "T":
        raise ValueError(
            f"{name} must be numeric, but holds text: turn it into numbers, such as by "
            "TableVectorizer or OneHotEncoder in a Pipeline (trees also take it as "
            "categories)"
        )
