"""Users and dates of queries, which decide what is held out together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.data.groups import (
    QueryGroups,
    describe_query,
    elements,
    sort_key,
)
from sklearn_ltr._core.data.rows import check_holds_rows
from sklearn_ltr._core.typing import IdsLike, IntArray


def units_of_queries(
    values: IdsLike | None, queries: QueryGroups, name: str = "users"
) -> tuple[QueryGroups, IntArray]:
    """Return users, or periods, as groups of rows, and the number of each query's."""
    units, unit = QueryGroups.from_groups(values, queries.n_documents, name), name[:-1]
    number = value_of_query(
        units,
        queries,
        f"has the {name} {{}} and {{}} in {name}: a {unit} is one of whole queries, "
        f"so give each query one, such as by groups of ({unit}, query)",
    )
    return units, number


def number_users(
    users: IdsLike | None, queries: QueryGroups, name: str = "users"
) -> IntArray:
    """Return the number of each query's user, in the order of ids, (n_queries,)."""
    return units_of_queries(users, queries, name)[1]


def number_dates(order: IdsLike, queries: QueryGroups, name: str = "order") -> IntArray:
    """Return the rank of each query's date, 0 is the earliest, (n_queries,)."""
    check_holds_rows(order, name, "date")
    dates = QueryGroups.from_groups(order, queries.n_documents, name)
    # ids of several kinds have an order, too, but not one of time
    first: dict[Any, int] = {}  # of each kind, where a tuple has those of its elements
    is_array = isinstance(dates.query_ids, np.ndarray)
    for number, label in enumerate([] if is_array else dates.query_ids):
        text = next((x for x in elements(label) if isinstance(x, str | bytes)), None)
        if text is not None:
            raise TypeError(
                f"{name} must hold dates or numbers, but has text such as {text!r}, "
                f"which may sort differently: convert it, by pandas.to_datetime({name})"
                ", or to numbers"
            )
        first.setdefault(kind_of_key(sort_key(label)), number)
    if len(first) > 1:
        a, b = (dates.query_ids[number] for number in list(first.values())[:2])
        raise TypeError(
            f"{name} holds values of several kinds, such as {a!r} and {b!r}, of which "
            "none is the earlier one: convert all to one kind, for dates and times by "
            f"pandas.to_datetime({name})"
        )
    return value_of_query(
        dates,
        queries,
        f"has the dates {{}} and {{}} in {name}: give one date, such as the first, by "
        f"pandas.Series({name}).groupby(groups).transform('min')",
    )


def value_of_query(values: QueryGroups, queries: QueryGroups, fault: str) -> IntArray:
    """Return the value of each query; a ValueError names a query that has two."""
    # the "queries" of `values` are users, or dates
    rows = queries.sort(values.query_of_row)
    low = np.minimum.reduceat(rows, queries.offsets[:-1])
    high = np.maximum.reduceat(rows, queries.offsets[:-1])
    if (low < high).any():
        query = int(np.argmax(low < high))
        two = (describe_query(values.query_ids, int(x[query])) for x in (low, high))
        raise ValueError(
            f"query {queries.describe(query)} of groups {fault.format(*two)}"
        )
    return low.astype(np.int64)


def kind_of_key(key: tuple[str, Any]) -> Any:
    """Return the kind of a sort key; for a tuple, the kinds of its elements."""
    kind, value = key
    return tuple(map(kind_of_key, value)) if kind == "tuple" else kind


def check_one_way(users: object, order: object) -> None:
    """Raise a ValueError if queries would be held out by users and by dates."""
    if users is not None and order is not None:
        raise ValueError(
            "users and order were both given, and queries are held out by one of them:"
            " by users, whose queries stay together, or by order, the latest: leave "
            "the other out"
        )


def forward_folds(
    dates: IntArray,
    bounds: Sequence[int],
    *,
    gap: int = 0,
    max_train_size: int | None = None,
) -> list[tuple[IntArray, IntArray]]:
    """Return the queries that train, and the later ones that test, of each fold.

    `bounds` are places in the order of time: where each test part would begin, and the
    last one end.  Queries of one date stay together, so each moves to the nearest place
    where a date begins, of two the earlier one.
    """
    earliest_first, n = np.argsort(dates, kind="stable"), len(dates)
    begins = np.flatnonzero(np.diff(dates[earliest_first])) + 1  # but the first date
    inner = [bound for bound in bounds if bound < n]
    if len(begins) < len(inner):
        n_dates, n_parts = len(begins) + 1, len(inner) + 1
        raise ValueError(
            f"order has {n_dates} different date{'s' * (n_dates > 1)} for {n} queries, "
            f"and queries of one date stay together, so that {n_parts} parts, each "
            f"later than the one before, need {n_parts} dates: give dates with a time, "
            "fewer parts, or (date, number) tuples to divide a date"
        )
    moved, first = [], 0
    for number, bound in enumerate(inner, 1 - len(inner)):
        left = begins[first : len(begins) + number]  # some remain for the next bounds
        first += int(np.argmin(np.abs(left - bound)))
        moved.append(int(begins[first]))
        first += 1
    moved += [n] * (len(bounds) - len(inner))
    places, folds = np.concatenate(([0], begins, [n])), []
    for start, end in pairwise(moved):
        end_of_train = max(0, start - gap)
        last = places[np.searchsorted(places, end_of_train, side="right") - 1]
        least = 0 if max_train_size is None else last - max_train_size
        first = int(places[np.searchsorted(places, least)])
        if first >= last:
            raise ValueError(
                f"max_train_size={max_train_size} and gap={gap} leave a fold no "
                "queries to learn from, as those of one date in order stay together: "
                "give a larger max_train_size, a smaller gap, or dates with a time"
            )
        folds.append((earliest_first[first:last], earliest_first[start:end]))
    return folds


def draw_held_out(
    unit: IntArray,
    fraction: float,
    seed: int,
    dates: IntArray | None = None,
    what: str = "queries",
) -> NDArray[np.bool_]:
    """Return whether each query is held out, by units that are drawn, or the latest.

    `unit` is the number of what each query is held out with.
    """
    _, unit = np.unique(unit, return_inverse=True)
    n_units = int(unit.max()) + 1
    n_held_out = max(1, round(fraction * n_units))
    if n_held_out >= n_units:
        raise ValueError(
            f"validation_fraction={fraction} of {n_units} {what} leaves "
            "none to learn from: give X_val, y_val and groups_val, or more queries"
        )
    if dates is not None:
        of_unit = np.zeros(n_units, dtype=np.int64)
        of_unit[unit] = dates
        ((_, chosen),) = forward_folds(of_unit, [n_units - n_held_out, n_units])
    else:
        chosen = np.random.default_rng([seed, 1]).permutation(n_units)[:n_held_out]
    held_out = np.zeros(n_units, dtype=np.bool_)
    held_out[chosen] = True
    return held_out[unit]
