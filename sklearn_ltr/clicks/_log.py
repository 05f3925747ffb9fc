"""Read a click log: one row per shown document, in any order of the rows.

All click models read the same columns.  A session is one list, shown once for one
query; its rows are the documents of that list.  In a `ClickLog` the rows are in
canonical order, by session and position, and labels are replaced by numbers that follow
the order of the sorted labels.  So no result depends on the order of the rows.

Models that need whole lists read the `Patterns` of a log: its distinct sessions.
Clicks of one query are not independent: its documents, and often its users, are the
same.  So standard errors use sums over the rows of a query.  Over Q queries, a ratio
R = sum_q A_q / sum_q B_q has

    SE^2 = Q / (Q - 1)  sum_q (A_q - R B_q)^2 / (sum_q B_q)^2.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.data import (
    QueryGroups,
    as_array,
    check_holds_rows,
    count_rows,
    read_numbers,
    read_positions,
)
from sklearn_ltr._core.typing import BoolArray, FloatArray, IdsLike, IntArray

OF_COUNTS = (
    ": if these are the clicks of one user on one list, give numpy.minimum(clicks, 1); "
    "sums over lists are no log, which has a row for each document of each list"
)


@dataclass(frozen=True, eq=False)
class Lists:
    """Which rows form the list of a session."""

    order: IntArray  # (n_rows,): canonical order, by session, then by position
    positions: IntArray  # (n_rows,), in that order; each at most once in a session
    offsets: IntArray  # (n_sessions + 1,): where the rows of each session start
    query: IntArray  # (n_sessions,): index of the session's query
    queries: QueryGroups
    sessions: QueryGroups

    @property
    def session_of_row(self) -> IntArray:
        """Index of each row's session, (n_rows,), in canonical order."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @property
    def n_positions(self) -> int:
        """One more than the last position."""
        return int(self.positions.max()) + 1


@dataclass(frozen=True, eq=False)
class ClickLog:
    """A log in canonical order."""

    lists: Lists
    clicks: IntArray  # (n_rows,), 0 or 1
    pair: IntArray  # (n_rows,): index of its (query, document) pair, sorted by both
    query_of_pair: IntArray  # (n_pairs,)
    groups: NDArray[Any]  # (n_pairs,): label of the query
    documents: NDArray[Any]  # (n_pairs,): label of the document

    @property
    def n_pairs(self) -> int:
        """Number of (query, document) pairs."""
        return len(self.query_of_pair)

    @property
    def query_of_row(self) -> IntArray:
        """Index of each row's query, (n_rows,)."""
        return self.query_of_pair[self.pair]


def read_labels(values: IdsLike, n: int, name: str, thing: str) -> QueryGroups:
    """Return the distinct values of a column of labels, and the rows of each."""
    if values is None:
        raise ValueError(f"{name} is None: give the {thing} of each row")
    check_holds_rows(values, name, thing)
    if isinstance(values, Sized) and len(values) != n:
        raise ValueError(
            f"{name} has {len(values)} values for the {n} rows of the log: give the "
            f"{thing} of each row"
        )
    return QueryGroups.from_groups(values, n, name)


def read_clicks(clicks: ArrayLike, n: int, describe: Callable[[int], str]) -> IntArray:
    """Return clicks, (n,) int64 of 0 and 1 in the order of the rows."""
    numbers = read_numbers(clicks, n, "clicks", describe=describe)
    valid = (numbers == 0) | (numbers == 1)
    if not valid.all():
        row = int(np.argmin(valid))
        are_counts = ((numbers >= 0) & (numbers == np.floor(numbers))).all()
        raise ValueError(
            "clicks must be 1 for a clicked and 0 for another document, but "
            f"{describe(row)} has {numbers[row]:g}" + (OF_COUNTS if are_counts else "")
        )
    return numbers.astype(np.int64)


def count_clicks(clicks: ArrayLike) -> int:
    """Return the number of rows of a log, at least one."""
    n = count_rows(clicks, "clicks")
    if n == 0:
        raise ValueError("clicks is empty: give at least one row")
    return n


def read_lists(
    clicks: ArrayLike, groups: IdsLike, positions: ArrayLike, sessions: IdsLike
) -> tuple[Lists, IntArray, Callable[[int], str]]:
    """Return lists of sessions, clicks in their order, and a function that names rows.

    The function is for messages.
    """
    n = count_clicks(clicks)
    queries = read_labels(groups, n, "groups", "query")
    by_session = read_labels(sessions, n, "sessions", "session")
    query, session = queries.query_of_row, by_session.query_of_row

    def describe(row: int) -> str:
        of = by_session.describe(int(session[row]))
        return f"row {row} (query {queries.describe(int(query[row]))}, session {of})"

    shown = read_positions(positions, n, describe)
    order = np.lexsort((shown, session)).astype(np.int64)
    offsets = by_session.offsets
    first = order[offsets[:-1]]  # the first row of each session
    other = query[order] != np.repeat(query[first], np.diff(offsets))
    if other.any():
        row = int(order[np.argmax(other)])
        a, b = first[session[row]], row
        raise ValueError(
            f"session {by_session.describe(int(session[row]))} has rows of the queries "
            f"{queries.describe(int(query[a]))} and {queries.describe(int(query[b]))}: "
            "give each list its own session"
        )
    if (twice := equals_next(session[order], shown[order])).any():
        row_a, row_b = order[np.argmax(twice) :][:2].tolist()
        raise ValueError(
            f"position {shown[row_a]} is repeated by {describe(row_a)} and row {row_b} "
            "of the same session: give each list, shown once, its own session"
        )
    clicked = read_clicks(clicks, n, describe)
    if not clicked.any():
        raise ValueError("clicks has no 1: give a log with clicks")
    lists = Lists(order, shown[order], offsets, query[first], queries, by_session)
    return lists, clicked[order], describe


def equals_next(sessions: IntArray, values: IntArray) -> BoolArray:
    """Return whether each row but the last has the session and value of the next."""
    found: BoolArray = (sessions[1:] == sessions[:-1]) & (values[1:] == values[:-1])
    return found


def check_from_zero(lists: Lists) -> None:
    """Raise a ValueError unless a document was shown at position 0."""
    if lists.positions.min() > 0:
        raise ValueError(
            "positions: no row is at position 0, but propensities are relative to "
            "position 0: number positions from 0"
        )


def read_click_log(
    clicks: ArrayLike,
    groups: IdsLike,
    documents: IdsLike,
    positions: ArrayLike,
    sessions: IdsLike,
) -> ClickLog:
    """Read and check the columns of a log."""
    lists, clicked, describe = read_lists(clicks, groups, positions, sessions)
    shown = read_labels(documents, len(clicked), "documents", "document")
    n_documents = shown.n_queries
    key = lists.queries.query_of_row * n_documents + shown.query_of_row
    keys, pair = np.unique(key, return_inverse=True)
    order, session = lists.order, lists.session_of_row
    by_pair = np.lexsort((pair[order], session))
    if (twice := equals_next(session[by_pair], pair[order][by_pair])).any():
        row_a, row_b = order[by_pair][np.argmax(twice) :][:2].tolist()
        name = shown.describe(int(shown.query_of_row[row_a]))
        raise ValueError(
            f"documents has {name} twice in one list, {describe(row_a)} and row "
            f"{row_b}: drop one"
        )
    query_of_pair = (keys // n_documents).astype(np.int64)
    queries = as_array(lists.queries.query_ids)[query_of_pair]
    names = as_array(shown.query_ids)[keys % n_documents]
    pair = pair[order].astype(np.int64)
    return ClickLog(lists, clicked, pair, query_of_pair, queries, names)


class Patterns(NamedTuple):
    """Distinct sessions; equal ones (documents and clicks) are counted, not repeated.

    Lists are padded with the pair `n_pairs`, which is never clicked.
    """

    pair: IntArray  # (n_patterns, n_positions)
    clicked: BoolArray  # (n_patterns, n_positions)
    n_sessions: FloatArray  # (n_patterns, 1) of each pattern
    length: IntArray  # (n_patterns, 1) documents of the list
    last_click: IntArray  # (n_patterns, 1) position, -1 if there is none
    n_pairs: int

    @property
    def position(self) -> IntArray:
        """Positions, (1, n_positions)."""
        return np.arange(self.pair.shape[1])[None, :]


def count_patterns(log: ClickLog) -> Patterns:
    """Return the distinct sessions of a log, sorted by their documents and clicks."""
    lists = log.lists
    n_sessions, width = len(lists.offsets) - 1, lists.n_positions
    absent = 2 * log.n_pairs
    coded = np.full((n_sessions, width), absent)
    coded[lists.session_of_row, lists.positions] = 2 * log.pair + log.clicks
    pattern = np.zeros(n_sessions, dtype=np.int64)
    for column in coded.T:  # sort by one position after another
        _, pattern = np.unique(pattern * (absent + 1) + column, return_inverse=True)
    _, first, count = np.unique(pattern, return_index=True, return_counts=True)
    coded = coded[first]
    clicked = coded % 2 == 1
    number = count[:, None].astype(np.float64)
    length = (coded < absent).sum(axis=1, keepdims=True)
    last = np.where(clicked, np.arange(width), -1).max(axis=1, keepdims=True)
    return Patterns(coded // 2, clicked, number, length, last, log.n_pairs)


def sum_by(key: IntArray, values: NDArray[np.generic], n: int = 0) -> FloatArray:
    """Return the sums of values by key, in their order; at least n of them."""
    sums = np.bincount(key, weights=values, minlength=n)
    return sums.astype(np.float64, copy=False)


def ratio_and_error(
    numerators: FloatArray, denominators: FloatArray
) -> tuple[float, float]:
    """Return the ratio of two sums over queries, and its standard error."""
    total = float(denominators.sum())
    ratio = float(numerators.sum()) / total
    n = int(np.count_nonzero(denominators))  # the error of one query is NaN
    if n < 2:
        return ratio, np.nan
    rest = numerators - ratio * denominators
    variance = n / (n - 1) * float((rest * rest).sum())
    return ratio, float(np.sqrt(variance)) / total
