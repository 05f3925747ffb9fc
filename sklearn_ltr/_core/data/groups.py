"""Read the queries of rows from raw `groups`, and sort the rows by them.

Rows may come in any order.  A stable sort by the ids of their queries brings them to
the canonical order, in which the rows of a query are adjacent.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from numbers import Real
from typing import Any, NoReturn, Self, cast

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.data.features import DATES, PERIOD
from sklearn_ltr._core.data.rows import (
    check_holds_rows,
    only_column,
    routing_advice,
)
from sklearn_ltr._core.typing import IdsLike, IntArray

QueryIds = Sequence[Hashable] | NDArray[Any]

# Types of the ids of queries; tuples of these and the periods of pandas are ids, too
ID_TYPES = (str, bytes, Real, np.bool_, Decimal, *DATES)
# Kinds of ids whose types are derived from these, and may be equal to one another
KINDS = {str: "str", bytes: "bytes", datetime: "datetime"}
# What to give in place of sizes, and of those that pandas has counted
SIZES = "for sizes in the order of the rows, np.repeat(np.arange(len(sizes)), sizes)"
COUNTED = (
    "the column of ids itself, since value_counts() and groupby() put queries in "
    "another order than the rows"
)
# numpy dtype kinds that represent a Python type exactly
EXACT_KINDS = {bool: "b", int: "iu", float: "f"}


class QueryCopy(int):
    """The id of a copy of a query, which a bag has drawn several times.

    The copies are queries of their own, but what holds queries out, or divides them,
    keeps those of one `original` together (`first_copies`).
    """

    original: int

    def __new__(cls, number: int, original: int) -> Self:
        """Return the id of copy `number` of all that were drawn."""
        copy = super().__new__(cls, number)
        copy.original = original
        return copy

    def __reduce__(self) -> tuple[type[Self], tuple[int, int]]:
        """Return what makes the id again, in another process."""
        return type(self), (int(self), self.original)


def first_copies(query_ids: QueryIds) -> IntArray:
    """Return the number of each query; of copies, that of the first of them."""
    numbers = np.arange(len(query_ids))
    if len(query_ids) == 0 or not isinstance(query_ids[0], QueryCopy):
        return numbers  # no id is one of a copy, as all are, or none
    originals = [cast(QueryCopy, copy).original for copy in query_ids]
    _, first, copied = np.unique(originals, return_index=True, return_inverse=True)
    return np.asarray(numbers[first][copied])


class ByQuery:
    """Rows in canonical order, which `offsets` divide into queries."""

    offsets: IntArray

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> IntArray:
        """Number of documents of each query, (n_queries,)."""
        return np.diff(self.offsets)

    @property
    def query(self) -> NDArray[np.intp]:
        """Index of each document's query, (n_documents,) in canonical order."""
        return np.repeat(np.arange(self.n_queries), self.sizes)


@dataclass(frozen=True, eq=False)
class QueryGroups(ByQuery):
    """Which rows belong to which query.

    Attributes
    ----------
    order : (n_documents,) intp array
        Canonical order: in ``rows[order]`` the rows of each query are adjacent.
    offsets : (n_queries + 1,) int64 array
        In canonical order, the rows of query ``q`` are ``offsets[q]`` to
        ``offsets[q + 1] - 1``; there is at least one.
    query_ids : sequence of length n_queries
        The id of each query, sorted.
    in_order : bool
        Whether the rows are in canonical order already; sorting copies nothing then.
    """

    order: NDArray[np.intp]
    offsets: IntArray
    query_ids: QueryIds
    in_order: bool

    @classmethod
    def from_groups(
        cls, groups: IdsLike | None, n_documents: int, name: str = "groups"
    ) -> QueryGroups:
        """Read the id of each row's query, in any order; `name` is for messages."""
        # An id is a number, text, a date, a boolean, or a tuple of these.  A ValueError
        # refuses missing ids, other lengths and several columns; a TypeError ids of
        # other types, and ids without an order (times with and without a zone).
        column = one_column(groups, name)
        if len(column) != n_documents:
            what = f"{name} has {len(column)} values for {n_documents} rows"
            if (
                isinstance(column, np.ndarray)
                and column.dtype.kind in "iuf"
                and (column >= 0).all()
                and column.sum() == n_documents
            ):
                advice = COUNTED if hasattr(groups, "iloc") else SIZES  # of pandas
                raise ValueError(
                    f"{what} that add up to {n_documents}, so they are the sizes of "
                    f"the queries: give one value per row ({advice})"
                )
            raise ValueError(
                f"{what}: give one value per row (not the sizes of the queries)"
            )
        if n_documents == 0:
            raise ValueError(f"{name} is empty: give at least one row to rank")
        query_ids: QueryIds
        if isinstance(column, np.ndarray):
            if column.dtype.kind in "fmM" and (missing := column != column).any():
                row = int(np.argmax(missing))
                _raise_missing(row, column[row], name)
            keys = column
        else:
            query_ids, keys = encode_ids(column, name)
        in_order = bool((keys[1:] >= keys[:-1]).all())
        order, ordered = np.arange(n_documents, dtype=np.intp), keys
        if not in_order:
            order = np.argsort(as_uint16(keys), kind="stable")
            ordered = keys[order]
        starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        offsets = np.concatenate(([0], starts, [n_documents])).astype(np.int64)
        if isinstance(column, np.ndarray):
            query_ids = ordered[offsets[:-1]]
        return cls(order, offsets, query_ids, in_order)

    @classmethod
    def single(cls, n_documents: int) -> QueryGroups:
        """Return all rows as one query."""
        return cls.from_groups(np.zeros(n_documents, dtype=np.int64), n_documents)

    @property
    def n_documents(self) -> int:
        """Number of rows."""
        return len(self.order)

    @property
    def query_of_row(self) -> NDArray[np.intp]:
        """Index of each row's query, (n_documents,)."""
        return self.unsort(self.query)

    @property
    def column(self) -> QueryIds:
        """The id of each row's query, of length n_documents."""
        if isinstance(self.query_ids, np.ndarray):
            return self.query_ids[self.query_of_row]
        return [self.query_ids[query] for query in self.query_of_row.tolist()]

    def sort(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return an array of rows in canonical order; itself if `in_order`."""
        return rows if self.in_order else rows[self.order]

    def unsort(self, canonical: NDArray[Any]) -> NDArray[Any]:
        """Return an array in canonical order in the order of the rows."""
        if self.in_order:
            return canonical
        rows = np.empty_like(canonical)
        rows[self.order] = canonical
        return rows

    def subset(self, selected: NDArray[np.bool_]) -> QueryGroups:
        """Return the rows of some queries, given as a mask, numbered anew."""
        if selected.all():
            return self
        rows = self.order[np.repeat(selected, self.sizes)]
        query_ids: QueryIds = as_array(self.query_ids)[selected]
        if not isinstance(self.query_ids, np.ndarray):
            query_ids = list(query_ids)
        offsets = np.append(0, np.cumsum(self.sizes[selected]))
        order = np.searchsorted(np.sort(rows), rows)
        return QueryGroups(order, offsets, query_ids, self.in_order)

    def rows_of(self, part: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows of some queries, ascending."""
        return np.flatnonzero(np.isin(self.query_of_row, part))

    def describe(self, query: int) -> str:
        """Return the name of a query for error messages: its id."""
        return describe_query(self.query_ids, query)

    def describe_row(self, row: int) -> str:
        """Return the name of a row and of its query for error messages."""
        query = query_at(int(np.flatnonzero(self.order == row)[0]), self.offsets)
        return f"row {row} (query {self.describe(query)})"


def places_in_queries(offsets: IntArray) -> IntArray:
    """Return the place of each row in its query, from 0: (n_rows,) int64."""
    places: IntArray = np.arange(offsets[-1])
    return places - np.repeat(offsets[:-1], np.diff(offsets))


def query_at(position: int, offsets: IntArray) -> int:
    """Return the query that owns a position in canonical order."""
    return int(np.searchsorted(offsets, position, side="right")) - 1


def describe_query(query_ids: QueryIds | None, query: int) -> str:
    """Return a query's name for error messages: its id, else its number."""
    if query_ids is None:
        return f"number {query}"
    own = query_ids[query]
    return str(own) if isinstance(own, np.generic) else repr(own)


def as_array(query_ids: QueryIds) -> NDArray[Any]:
    """Return ids as an array; a list becomes one of objects, with tuples whole."""
    if isinstance(query_ids, np.ndarray):
        return query_ids
    return np.fromiter(query_ids, dtype=object, count=len(query_ids))


# --- raw ids: one column of them, and their order -------------------------------------


def one_column(groups: IdsLike | None, name: str) -> NDArray[Any] | list[Hashable]:
    """Return raw ids as an array of numbers or dates, or as a list of objects."""
    if groups is None:
        of_query = " naming the row's query" if name.startswith("groups") else ""
        raise ValueError(
            f"{name} is None: give one value per row{of_query}{routing_advice(name)}"
        )
    check_holds_rows(groups, name, "value")
    if hasattr(groups, "__array__"):
        column = np.asarray(groups)
    elif hasattr(groups, "to_numpy"):
        column = np.asarray(groups.to_numpy())
    else:
        # np.array would turn numbers among strings into strings, tuples into rows
        values = list(cast(Sequence[Hashable], groups))
        types = set(map(type, values))
        if len(types) == 1 and (kind := types.pop()) in EXACT_KINDS:
            column = np.array(values)
            # numpy converts integers beyond 64 bits to objects or to rounded floats
            if column.dtype.kind in EXACT_KINDS[kind]:
                return column
        return values
    column = only_column(column)
    if column.ndim != 1:
        raise ValueError(
            f"{name} must have one dimension, got shape {column.shape}: give one "
            "column with one value per row"
        )
    # a list, since hashing strings in a dict is much faster than numpy's comparisons
    return column if column.dtype.kind in "biufmM" else column.tolist()


def _raise_missing(row: int, value: object, name: str) -> NoReturn:
    """Raise the error for a row without an id."""
    needed = "name its query" if name.startswith("groups") else "have a value"
    raise ValueError(
        f"{name} has a missing value at row {row} ({value}): every row must {needed}"
    )


def encode_ids(ids: list[Hashable], name: str) -> tuple[list[Hashable], IntArray]:
    """Return the sorted distinct ids, and the index of each row's id in them."""
    try:
        distinct = list(dict.fromkeys(ids))
    except TypeError:  # an id that cannot be hashed is of no type that names queries
        distinct = ids
    for value in () if set(map(type, distinct)) <= {str, int} else distinct:
        for part in elements(value):
            is_id = isinstance(part, ID_TYPES) or type(part).__name__ == PERIOD
            is_na = part is None or type(part).__name__ in ("NAType", "NaTType")
            if isinstance(part, Decimal):  # a signalling NaN cannot be compared
                is_na = part.is_nan()
            if is_id and not is_na and part == part:  # NaN and NaT are not themselves
                continue
            row = next(row for row, other in enumerate(ids) if other is value)
            if is_id or is_na:
                _raise_missing(row, value, name)
            kind = type(part).__name__
            found = f"a {kind}" if part is value else f"a tuple with a {kind}"
            raise TypeError(
                f"{name} must hold numbers, text, dates, booleans or tuples of these, "
                f"but row {row} holds {found}: name each query by a number or by text, "
                "or by a tuple of what tells it from the others"
            )
    # Ids that Python can compare are sorted as they are.  Where it cannot, as text and
    # numbers, they are sorted by the name of their kind; numbers of all types by value;
    # tuples by the first element that differs.
    try:
        query_ids: list[Any] = sorted(distinct)
        # numbers of numpy compare with each element of a tuple
        is_sorted = all(a < b for a, b in pairwise(query_ids))
    except (TypeError, ValueError):
        is_sorted = False
    if not is_sorted:
        try:
            query_ids = sorted(distinct, key=sort_key)
        except TypeError as error:
            raise TypeError(
                f"{name} holds values that have no order ({error}), so results would "
                "depend on the order of the rows: name all queries alike"
            ) from None
    index_of = {label: index for index, label in enumerate(query_ids)}
    return query_ids, np.fromiter(map(index_of.__getitem__, ids), np.int64, len(ids))


def elements(value: object) -> Iterator[object]:
    """Yield a value, or the elements of a tuple and of the tuples in it."""
    if isinstance(value, tuple):
        for element in value:
            yield from elements(element)
    else:
        yield value


def sort_key(value: Any) -> tuple[str, Any]:
    """Return the kind of an id, and a key that orders the ids of one kind."""
    if isinstance(value, tuple):
        return "tuple", tuple(map(sort_key, value))
    if isinstance(value, Real | Decimal | np.bool_) and not isinstance(value, DATES):
        # numbers of numpy would not compare exactly with large integers
        return "number", value.item() if isinstance(value, np.generic) else value
    for kind, name in KINDS.items():
        if isinstance(value, kind):
            return name, value
    return f"{type(value).__module__}.{type(value).__qualname__}", value


def as_uint16(keys: NDArray[Any]) -> NDArray[Any]:
    """Return integers in a range below 2^16 as uint16, which numpy radix-sorts."""
    if keys.dtype.kind in "iu" and keys.dtype.itemsize > 2:
        low = keys.min()
        if int(keys.max()) - int(low) < 2**16:
            return np.asarray(keys - low, dtype=np.uint16)
    return keys
