"""How documents were shown: their positions, and how probably users examined them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data.groups import QueryGroups
from sklearn_ltr._data.numbers import read_numbers

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_POSITIONS = 1000  # click models hold dense matrices of (position, position)


class Exposure(NamedTuple):
    """The two columns of rows, as given to `fit`; None: not given."""

    positions: Any = None
    propensities: Any = None


NO_EXPOSURE = Exposure()


def read_positions(
    positions: Any, n: int, describe: Callable[[int], str], name: str = "positions"
) -> IntArray:
    """Return positions, (n,) int64 in the order of the rows, each checked alone."""
    numbers = read_numbers(positions, n, name, describe=describe)
    valid = (numbers >= 0) & (numbers < MOST_POSITIONS)
    valid &= numbers == np.floor(np.where(valid, numbers, 0.0))
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            f"{name} must be integers from 0 (shown first) to {MOST_POSITIONS - 1}, "
            f"but {describe(row)} has {numbers[row]:g}; leave rows that were not "
            "shown, or far below, out of the log"
        )
    return numbers.astype(np.int64)


def check_positions(positions: Any, queries: QueryGroups) -> IntArray | None:
    """Return positions in canonical order, (n_documents,) int64; None if None.

    Raises
    ------
    ValueError
        If they are not one integer >= 0 per row, or a query has one of them twice.
    """
    if positions is None:
        return None
    shown = read_positions(positions, queries.n_documents, queries.describe_row)
    canonical = queries.sort(shown)
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    order = np.lexsort((canonical, query))
    same_query = query[order][1:] == query[order][:-1]
    twice = same_query & (canonical[order][1:] == canonical[order][:-1])
    if twice.any():
        a, b = sorted(queries.order[order[np.argmax(twice) :][:2]].tolist())
        raise ValueError(
            f"positions has {shown[a]} twice in one list: {queries.describe_row(a)} "
            f"and row {b} have it; groups must name each list that was shown (a "
            "session), not only its query"
        )
    return canonical


def check_propensities(propensities: Any, queries: QueryGroups) -> FloatArray | None:
    """Return propensities in canonical order, (n_documents,) float64; None if None.

    Raises
    ------
    ValueError
        If they are not one number in (0, 1] per row.
    """
    if propensities is None:
        return None
    rows = read_numbers(
        propensities,
        queries.n_documents,
        "propensities",
        describe=queries.describe_row,
    )
    valid = (rows > 0) & (rows <= 1)
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            "propensities are probabilities of examination, in (0, 1], but "
            f"{queries.describe_row(row)} has {rows[row]:g}"
        )
    return queries.sort(rows)
