"""Read arguments that have one value for each row: count, select, make numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from decimal import Decimal
from numbers import Real
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.exceptions import DataConversionWarning

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.typing import FloatArray

Rows = NDArray[np.intp]

T = TypeVar("T")

LARGEST_EXACT = 2.0**53  # every integer below it is a float64, and no other is near


def n_rows(array: object) -> int:
    """Return the number of rows; 0 for objects without rows, such as None."""
    shape = getattr(array, "shape", None)
    if shape is not None:
        return int(shape[0]) if shape else 0
    return len(array) if hasattr(array, "__len__") else 0


def index_rows(array: T, rows: Rows) -> T:
    """Return some of the rows, in a container of the same type."""
    found: Any = array
    if hasattr(found, "iloc"):
        found = found.iloc[rows]
    elif type(found).__module__.partition(".")[0] == "pyarrow":
        found = found.take(rows)
    elif issparse(found):
        check_indices(found, "X")
        found = found.tocsr()[rows]
    else:
        if not hasattr(found, "__getitem__"):
            found = np.asarray(found)
        is_list = not hasattr(found, "shape")
        found = [found[row] for row in rows] if is_list else found[rows]
    return cast(T, found)


def check_indices(X: Any, name: str) -> None:
    """Raise a ValueError if a sparse table refers to entries outside of it."""
    # scipy converts tables without looking, and would read and write other memory
    if issparse(X) and X.ndim == 2 and not _has_valid_indices(X):
        raise ValueError(
            f"{name} is a damaged sparse matrix, whose indices or their bounds point "
            f"outside of its shape {X.shape}: make it again"
        )


def _has_valid_indices(X: Any) -> bool:
    """Return whether all that a sparse table stores is inside of it."""
    n_rows, n_columns = X.shape
    if X.format == "coo":
        has_all = len(X.row) == len(X.col) == len(X.data)
        return has_all and are_below(X.row, n_rows) and are_below(X.col, n_columns)
    if X.format == "dok":
        keys = np.array(list(X.keys())).reshape(-1, 2)
        return are_below(keys[:, 0], n_rows) and are_below(keys[:, 1], n_columns)
    if X.format == "lil":
        sizes, n_stored = (list(map(len, lists)) for lists in (X.rows, X.data))
        has_all = len(sizes) == n_rows and sizes == n_stored
        return has_all and are_below([j for row in X.rows for j in row], n_columns)
    if X.format == "dia":
        has_all = X.data.ndim == 2 and X.offsets.shape == X.data.shape[:1]
        from_first = X.offsets + np.int64(n_rows - 1)
        return has_all and are_below(from_first, n_rows + n_columns - 1)
    block = X.data.shape[1:] or (1, 1)  # of BSR
    if len(block) != 2 or 0 in block or n_rows % block[0] or n_columns % block[1]:
        return False
    n_major, n_minor = n_rows // block[0], n_columns // block[1]
    if X.format == "csc":
        n_major, n_minor = n_minor, n_major
    return bool(
        len(X.indptr) == n_major + 1
        and X.indptr[0] == 0
        and (X.indptr[1:] >= X.indptr[:-1]).all()
        and are_below(X.indptr, min(len(X.indices), len(X.data)) + 1)
        and are_below(X.indices, n_minor)
    )


def are_below(indices: ArrayLike, n: int) -> bool:
    """Return whether these are whole numbers from 0 to n - 1."""
    array = np.asarray(indices)
    if array.size == 0:
        return True
    return array.dtype.kind in "iu" and bool(array.min() >= 0 and array.max() < n)


def check_table(X: Any, name: str) -> None:
    """Raise an error for dicts, one dimension, or a sparse table that is damaged."""
    check_indices(X, name)
    if issparse(X):  # of which one class is a dict
        return
    rows = X if isinstance(X, list | tuple) else ()
    first = rows[0] if rows else X
    if isinstance(first, Mapping):
        found = "a list of dicts" if rows else "a dict"
        raise TypeError(
            f"{name} is {found}, and columns would have no order: give "
            f"pandas.DataFrame({name}), or a row of numbers for each document"
        )
    is_column = len(getattr(X, "shape", ())) == 1
    if rows:
        is_column = isinstance(first, str) or not hasattr(first, "__len__")
    if is_column:
        raise ValueError(
            f"{name}: Expected 2D array, got 1D array instead, of {len(X)} values: the "
            "table of features is given first, as in fit(X, y). Reshape your data by "
            "reshape(-1, 1) if it is one feature, or by reshape(1, -1) if it is one row"
        )


def check_holds_rows(values: object, name: str, item: str = "number") -> None:
    """Raise a ValueError unless an object can hold one value per row, in order."""
    if values is None:
        raise ValueError(f"{name} is None: give one {item} per row")
    if isinstance(values, Mapping | Set):
        raise ValueError(
            f"{name} is a {type(values).__name__}, which has no order of rows: give "
            f"one {item} per row, in the order of the rows"
        )
    if isinstance(values, Iterator):
        raise ValueError(
            f"{name} is a {type(values).__name__}, which can be read only once: give "
            f"list({name})"
        )
    is_text = isinstance(values, str | bytes)
    if is_text or not (hasattr(values, "__iter__") or hasattr(values, "__array__")):
        advice = f": give the column itself, as in frame[{values!r}]" if is_text else ""
        raise ValueError(f"{name} must hold one {item} per row, got {values!r}{advice}")
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with masked values, but every row must have its "
            f"{item}: leave the other rows out"
        )


def routing_advice(name: str) -> str:
    """Return advice on metadata routing, to end an error with."""
    if get_config()["enable_metadata_routing"]:
        return f". Inside a meta-estimator: give {name} to its fit"
    return (
        f". Inside a meta-estimator, {name} only arrives after "
        "sklearn.set_config(enable_metadata_routing=True)"
    )


def count_rows(values: object, name: str) -> int:
    """Return the number of rows of an array-like of numbers."""
    check_holds_rows(values, name)
    if isinstance(values, list | tuple):
        return len(values)
    shape = getattr(values, "shape", None) or np.asarray(values).shape
    if not shape:
        raise ValueError(f"{name} must hold one number per row, got {values!r}")
    return int(shape[0])


def only_column(array: NDArray[Any]) -> NDArray[Any]:
    """Return the column of a table that has one, any other array as it is."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def numeric_column(
    values: object, name: str, *, warns_of_column: bool = False
) -> NDArray[Any]:
    """Return numbers as an array of their own type; a table of one column as 1-D."""
    check_holds_rows(values, name)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{name} must be numeric: {error} Of a list for each query, give "
            f"np.concatenate({name})"
        ) from None
    # numpy rounds integers beyond 64 bits, or of both signs, that are in a list
    is_rounded = isinstance(values, list | tuple) and array.dtype == np.float64
    if is_rounded and (np.abs(array) >= LARGEST_EXACT).any():
        array = np.array(values, dtype=object)
    if warns_of_column and only_column(array) is not array:
        warn_caller(  # in words that scikit-learn's checks look for
            f"A column-vector {name} was passed when a 1d array was expected: give an "
            f"array of shape ({len(array)},), for example numpy.ravel({name})",
            DataConversionWarning,
        )
    array = only_column(array)
    if array.dtype.kind not in "biufO":
        (first,) = array.ravel()[:1].tolist() or [None]
        advice = advice_on_text(first, name)
        raise ValueError(f"{name} must be numeric, got dtype {array.dtype}{advice}")
    return array


def advice_on_text(value: object, name: str) -> str:
    """Return how text becomes numbers, for an error's end; "" for other values."""
    if not isinstance(value, str | bytes):
        return ""
    try:
        float(value)
    except ValueError:
        first = f"{{{value!r:.22}: 0, ...}}"
        return f": give a number for each text, as in [{first}[t] for t in {name}]"
    return f": convert it, as in numpy.asarray({name}, dtype=float)"


def read_numbers(
    values: object,
    n: int,
    name: str,
    item: str = "row",
    describe: Callable[[int], str] | None = None,
    *,
    only_order: bool = False,
    warns_of_column: bool = False,
) -> FloatArray:
    """Return one number for each row (or pair, ...), (n,) float64, in their order."""
    # `describe` names an item in messages.  With `only_order`, numbers that float64
    # cannot tell apart are replaced by their ranks; otherwise they are an error.  The
    # caller refuses NaN and infinity.  The array is C-contiguous and writeable: numba
    # would compile kernels once more for strided or read-only arrays.
    describe = describe or (lambda number: f"{item} {number}")
    rows = numeric_column(values, name, warns_of_column=warns_of_column)
    if rows.shape != (n,):
        plural = "queries" if item == "query" else f"{item}s"
        raise ValueError(
            f"{name} must hold one number for each of the {n} {plural}, got shape "
            f"{rows.shape}"
        )
    for row, value in enumerate(rows) if rows.dtype.kind == "O" else ():
        is_number = isinstance(value, Real | Decimal | np.bool_)
        if not is_number or isinstance(value, np.timedelta64):  # which is Integral
            raise ValueError(
                f"{name} must be numeric, but {describe(row)} has {value!r}, of "
                f"type {type(value).__name__}{advice_on_text(value, name)}"
            )
        try:
            float(value)
        except OverflowError:
            raise ValueError(
                f"{name} must fit in float64, but {describe(row)} has a number "
                "beyond 1.8e308"
            ) from None
        except ValueError as error:  # a signalling NaN of decimal
            raise ValueError(
                f"{name} must be numeric, but {describe(row)} has {value!r}: {error}"
            ) from None
    with np.errstate(over="ignore"):  # longdouble beyond float64 becomes infinite
        numbers: FloatArray = np.require(rows, np.float64, ["C", "W"])
    if _is_exact(rows, numbers) or not np.isfinite(numbers).all():
        return numbers
    order, rises, merged = find_merged(rows, numbers)
    if not merged.any():
        return numbers
    if only_order:
        ranks = np.empty(n)
        ranks[order] = np.concatenate(([0], np.cumsum(rises)))
        return ranks
    a, b = order[np.argmax(merged) :][:2].tolist()
    raise ValueError(
        f"{name} has different numbers that are equal in float64: "
        f"{describe(a)} has {rows[a : a + 1].tolist()[0]!r} and {describe(b)} has "
        f"{rows[b : b + 1].tolist()[0]!r}: subtract a constant from all, so that they "
        "differ"
    )


def read_weights(
    values: object,
    n: int,
    name: str,
    item: str = "row",
    describe: Callable[[int], str] | None = None,
) -> FloatArray:
    """Return a weight for each row (or pair, ...), finite and >= 0."""
    describe = describe or (lambda number: f"{item} {number}")
    weights = read_numbers(values, n, name, item, describe)
    valid = (weights >= 0) & (weights < np.inf)
    check_each(valid, weights, describe, f"{name} must be finite and >= 0")
    return weights


def check_each(
    valid: NDArray[np.bool_],
    numbers: FloatArray,
    describe: Callable[[int], str],
    requirement: str,
    advice: str = "",
    form: str = "",
) -> None:
    """Raise a ValueError that names the first row (or pair, ...) that is not valid."""
    if not valid.all():
        first = int(np.argmin(valid))
        raise ValueError(
            f"{requirement}, but {describe(first)} has {numbers[first]:{form}}{advice}"
        )


def find_merged(
    rows: NDArray[Any], numbers: FloatArray
) -> tuple[Rows, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the order of rows, where they rise in it, and where numbers do not."""
    order = np.argsort(rows, kind="stable")
    rises = (rows[order][1:] != rows[order][:-1]).astype(np.bool_)
    return order, rises, rises & (numbers[order][1:] == numbers[order][:-1])


def _is_exact(rows: NDArray[Any], numbers: FloatArray) -> bool:
    """Whether it is certain at first sight that no two numbers became equal."""
    if rows.dtype.kind == "O" or rows.dtype.itemsize > 8:
        return False
    if rows.dtype.kind not in "iu" or rows.dtype.itemsize < 8 or not len(rows):
        return True
    return bool(max(numbers.max(), -numbers.min()) < LARGEST_EXACT)
