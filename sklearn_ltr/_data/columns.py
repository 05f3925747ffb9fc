"""Read raw group values of any type, and sort the rows by them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data.label_order import NoOrderError, sort_distinct
from sklearn_ltr._data.numbers import check_holds_rows, only_column

IntArray = NDArray[np.int64]

# numpy dtype kinds that represent a Python type exactly
EXACT_KINDS = {bool: "b", int: "iu", float: "f"}


def one_column(groups: Any, name: str) -> NDArray[Any] | list[Hashable]:
    """Return raw groups as a numeric or datetime array, or as a list of objects."""
    if groups is None:
        raise ValueError(
            f"{name} is None: give one value per row naming the row's query. Inside a "
            f"meta-estimator, {name} only arrives after "
            "sklearn.set_config(enable_metadata_routing=True)"
        )
    check_holds_rows(groups, name, "value")
    if hasattr(groups, "__array__"):
        column = np.asarray(groups)
    elif hasattr(groups, "to_numpy"):
        column = np.asarray(groups.to_numpy())
    else:
        return _from_python(list(groups))
    column = only_column(column)
    if column.ndim != 1:
        raise ValueError(
            f"{name} must have one dimension, got shape {column.shape}; give one "
            "column with one value per row"
        )
    # a list, since hashing strings in a dict is much faster than numpy's comparisons
    return column if column.dtype.kind in "biufmM" else column.tolist()


def _from_python(values: list[Hashable]) -> NDArray[Any] | list[Hashable]:
    """Return numbers of one type as an array, other values as they are.

    ``np.array`` would convert numbers among strings to strings, and tuples to a second
    dimension.
    """
    types = set(map(type, values))
    if len(types) == 1 and (kind := types.pop()) in EXACT_KINDS:
        column = np.array(values)
        # numpy converts integers beyond 64 bits to objects or to rounded floats
        if column.dtype.kind in EXACT_KINDS[kind]:
            return column
    return values


def check_none_missing(column: NDArray[Any], name: str) -> None:
    """Raise a ValueError if a number is NaN or a time is NaT."""
    if column.dtype.kind == "f":
        missing = np.isnan(column)
    elif column.dtype.kind in "mM":
        missing = np.isnat(column)
    else:
        return
    if missing.any():
        _raise_missing(int(np.argmax(missing)), column[int(np.argmax(missing))], name)


def _raise_missing(row: int, value: object, name: str) -> NoReturn:
    raise ValueError(
        f"{name} has a missing value at row {row} ({value}): every row must name its "
        "query"
    )


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA, or holds one of them.

    Containers are searched: they compare their elements by identity first, so a tuple
    with a NaN equals itself, but not another tuple with a NaN.
    """
    if isinstance(value, str | int):
        return False
    if value is None:
        return True
    if isinstance(value, tuple | frozenset):
        return any(map(_is_missing, value))
    if is_dataclass(value):
        return any(_is_missing(getattr(value, field.name)) for field in fields(value))
    try:
        return bool(value != value)  # NaN and NaT
    except TypeError:  # pandas.NA has no truth value
        return True


def encode_labels(values: list[Hashable], name: str) -> tuple[list[Hashable], IntArray]:
    """Return the sorted distinct values, and the index of each row's value in them."""
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError:
        row, kind = next(
            (row, type(value).__name__)
            for row, value in enumerate(values)
            if not _is_hashable(value)
        )
        raise TypeError(
            f"{name} must hold hashable values, but row {row} holds a {kind}"
        ) from None
    if any(map(_is_missing, distinct)):
        row = next(row for row, value in enumerate(values) if _is_missing(value))
        _raise_missing(row, values[row], name)
    try:
        labels = sort_distinct(distinct)
    except NoOrderError as error:
        row = values.index(error.value)
        raise TypeError(
            f"{name} must hold values that can be sorted, so that results do not "
            f"depend on the order of the rows, but row {row} holds {error}; give "
            "numbers, strings or tuples of them"
        ) from None
    index_of = {label: index for index, label in enumerate(labels)}
    return labels, np.fromiter(map(index_of.__getitem__, values), np.int64, len(values))


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def canonical_order(
    keys: NDArray[Any],
) -> tuple[NDArray[np.intp], IntArray, bool]:
    """Sort rows by key.

    Returns
    -------
    order : (n_rows,) intp array
        Rows in stable order of their keys.
    offsets : (n_distinct_keys + 1,) int64 array
        Where the rows of each distinct key start in `order`, and n_rows.
    in_order : bool
        Whether the rows were sorted already.
    """
    in_order = bool((keys[1:] >= keys[:-1]).all())
    if in_order:
        order = np.arange(len(keys), dtype=np.intp)
        ordered = keys
    else:
        order = np.argsort(as_uint16(keys), kind="stable")
        ordered = keys[order]
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    offsets = np.concatenate(([0], starts, [len(keys)])).astype(np.int64)
    return order, offsets, in_order


def as_uint16(keys: NDArray[Any]) -> NDArray[Any]:
    """Return integers in a range below 2^16 as uint16, which numpy radix-sorts."""
    if keys.dtype.kind in "iu" and keys.dtype.itemsize > 2:
        low = keys.min()
        if int(keys.max()) - int(low) < 2**16:
            return np.asarray(keys - low, dtype=np.uint16)
    return keys
