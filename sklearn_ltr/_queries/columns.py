"""Raw group values of any kind: distinct values in order, and the order of the rows."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

DTYPES_OF = {bool: "b", int: "iu", float: "f"}


def one_column(groups: Any, name: str) -> NDArray[Any] | list[Hashable]:
    """Raw groups as a numeric or time array, or else as a list of objects."""
    if groups is None:
        raise ValueError(
            f"{name} is None: give one value per row naming the row's query. Inside a "
            f"meta-estimator, {name} only arrives after "
            "sklearn.set_config(enable_metadata_routing=True)"
        )
    if isinstance(groups, str | bytes) or not hasattr(groups, "__iter__"):
        raise ValueError(f"{name} must hold one value per row, got {groups!r}")
    if hasattr(groups, "__array__"):
        column = np.asarray(groups)
    elif hasattr(groups, "to_numpy"):
        column = np.asarray(groups.to_numpy())
    else:
        return _from_python(list(groups))
    if column.ndim != 1:
        raise ValueError(
            f"{name} must have one dimension, got shape {column.shape}; give one "
            "column with one value per row"
        )
    # numpy would compare strings far slower than a dict hashes them
    return column if column.dtype.kind in "biufmM" else column.tolist()


def _from_python(values: list[Hashable]) -> NDArray[Any] | list[Hashable]:
    """Plain numbers become an array; anything else stays as it is.

    (``np.array`` of mixed values would turn numbers into strings and tuples into a
    second dimension.)
    """
    kinds = set(map(type, values))
    if len(kinds) == 1 and (kind := kinds.pop()) in DTYPES_OF:
        column = np.array(values)
        # integers too large for 64 bits come out as objects or as rounded floats
        if column.dtype.kind in DTYPES_OF[kind]:
            return column
    return values


def refuse_missing_number(column: NDArray[Any], name: str) -> None:
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


def _is_missing(value: Hashable) -> bool:
    """None, or unequal to itself (NaN, NaT), or with no truth value (pandas' NA)."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True


def label_codes(values: list[Hashable], name: str) -> tuple[list[Hashable], IntArray]:
    """Sorted distinct values, and for each row the index of its value among them."""
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
        labels = sorted(distinct)  # type: ignore[type-var]
    except TypeError:
        labels = sorted(distinct, key=lambda label: (type(label).__name__, repr(label)))
    code = {label: index for index, label in enumerate(labels)}
    return labels, np.fromiter(map(code.__getitem__, values), np.int64, len(values))


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def canonical_order(
    keys: NDArray[Any],
) -> tuple[NDArray[np.intp], IntArray, bool]:
    """Stable order of the rows by key, where each key starts, and if it is identity."""
    in_order = bool((keys[1:] >= keys[:-1]).all())
    if in_order:
        order = np.arange(len(keys), dtype=np.intp)
        ordered = keys
    else:
        order = np.argsort(_narrow(keys), kind="stable")
        ordered = keys[order]
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    offsets = np.concatenate(([0], starts, [len(keys)])).astype(np.int64)
    return order, offsets, in_order


def _narrow(keys: NDArray[Any]) -> NDArray[Any]:
    """Integers spanning less than 2^16 as uint16, which numpy sorts by radix."""
    if keys.dtype.kind in "iu" and keys.dtype.itemsize > 2:
        low = keys.min()
        if int(keys.max()) - int(low) < 2**16:
            return np.asarray(keys - low, dtype=np.uint16)
    return keys
