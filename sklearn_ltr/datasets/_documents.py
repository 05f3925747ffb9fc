"""Read the names of topics and documents: strings or integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_ltr._data import check_holds_rows

Name = str | int


def read_names(
    groups: Any, documents: Any, prefix: str = ""
) -> tuple[list[Name], list[Name]]:
    """Return topic and document of each row, checked; `prefix` is for messages.

    Raises
    ------
    ValueError
        If there is no row, they differ in length, a name is empty or has white space,
        or a document is twice in a topic.
    TypeError
        If a name is neither a string nor an integer, or names are of both types.
    """
    topics = _column(groups, f"{prefix}groups")
    names = _column(documents, f"{prefix}documents")
    if len(topics) != len(names):
        raise ValueError(
            f"{prefix}groups has {len(topics)} values for the {len(names)} of "
            f"{prefix}documents; give one of each per row"
        )
    if not names:
        raise ValueError(f"{prefix}documents is empty: there are no rows")
    first: dict[tuple[str, str], int] = {}
    for row, (topic, name) in enumerate(zip(topics, names, strict=True)):
        before = first.setdefault((str(topic), str(name)), row)
        if before != row:
            raise ValueError(
                f"{prefix}documents has {name!r} twice for query {topic!r}, at rows "
                f"{before} and {row}"
            )
    return topics, names


def _column(values: Any, name: str) -> list[Name]:
    check_holds_rows(values, name, "name")
    array = values if isinstance(values, list | tuple) else np.asarray(values)
    if isinstance(array, np.ndarray):
        if array.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got shape {array.shape}")
        array = array.tolist()
    column = [
        value.item() if isinstance(value, np.generic) else value for value in array
    ]
    for row, value in enumerate(column):
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise TypeError(
                f"{name} must hold strings or integers, but row {row} has {value!r}"
            )
        if isinstance(value, str) and value.split() != [value]:
            raise ValueError(
                f"{name} must hold names without white space, but row {row} has "
                f"{value!r}"
            )
        if isinstance(value, str) != isinstance(column[0], str):
            raise TypeError(
                f"{name} has both strings and integers, {column[0]!r} at row 0 and "
                f"{value!r} at row {row}: give one type"
            )
    return column
