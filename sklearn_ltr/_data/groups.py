"""The queries of rows: their canonical order, and where each query starts in it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data.columns import (
    canonical_order,
    check_none_missing,
    encode_labels,
    one_column,
)

IntArray = NDArray[np.int64]
Labels = Sequence[Hashable] | NDArray[Any]


@dataclass(frozen=True, eq=False)
class QueryGroups:
    """Which rows belong to which query.

    Attributes
    ----------
    order : (n_documents,) intp array
        Canonical order: in ``rows[order]`` the rows of each query are adjacent.
    offsets : (n_queries + 1,) int64 array
        In canonical order, the rows of query ``q`` are ``offsets[q]`` to
        ``offsets[q + 1] - 1``; there is at least one.
    labels : sequence of length n_queries
        The group value of each query, sorted.
    in_order : bool
        Whether the rows are in canonical order already; sorting copies nothing then.
    """

    order: NDArray[np.intp]
    offsets: IntArray
    labels: Labels
    in_order: bool

    @classmethod
    def from_groups(
        cls, groups: Any, n_documents: int, name: str = "groups"
    ) -> QueryGroups:
        """Read one group value per row.

        Parameters
        ----------
        groups : sequence of length n_documents
            Any hashable values that can be sorted, in any row order: numbers, strings,
            dates, tuples, a numpy array, a pandas, polars or pyarrow column, or a
            table with one column.  Values that cannot be compared with each other are
            sorted as :mod:`sklearn_ltr._data.label_order` says.
        n_documents : int
            Expected number of rows.
        name : str, default="groups"
            Name of the argument in error messages.

        Raises
        ------
        ValueError
            If ``groups`` is None, a dict, set or iterator, empty, of another length,
            not one column, or has a missing value (None, NaN, NaT, NA), also inside of
            tuples.
        TypeError
            If a value is not hashable, or has no order that its value determines.
        """
        column = one_column(groups, name)
        if len(column) != n_documents:
            what = f"{name} has {len(column)} values for {n_documents} rows"
            if _add_up_to(column, n_documents):
                raise ValueError(
                    f"{what} and these add up to {n_documents}, so they are the sizes "
                    "of the queries; give one value per row, such as "
                    "np.repeat(np.arange(len(sizes)), sizes)"
                )
            raise ValueError(
                f"{what}; give one value per row (not the sizes of the queries)"
            )
        if n_documents == 0:
            raise ValueError(f"{name} is empty: there are no rows to rank")
        if isinstance(column, np.ndarray):
            check_none_missing(column, name)
            order, offsets, in_order = canonical_order(column)
            return cls(order, offsets, column[order[offsets[:-1]]], in_order)
        labels, label_of_row = encode_labels(column, name)
        order, offsets, in_order = canonical_order(label_of_row)
        return cls(order, offsets, labels, in_order)

    @classmethod
    def single(cls, n_documents: int) -> QueryGroups:
        """Return all rows as one query."""
        return cls.from_groups(np.zeros(n_documents, dtype=np.int64), n_documents)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        """Number of rows."""
        return len(self.order)

    @property
    def sizes(self) -> IntArray:
        """Number of documents of each query, (n_queries,)."""
        return np.diff(self.offsets)

    @property
    def query_of_row(self) -> NDArray[np.intp]:
        """Index of each row's query, (n_documents,)."""
        return self.unsort(np.repeat(np.arange(self.n_queries), self.sizes))

    @property
    def column(self) -> Labels:
        """The group value of each row, of length n_documents."""
        if isinstance(self.labels, np.ndarray):
            return self.labels[self.query_of_row]
        return [self.labels[query] for query in self.query_of_row.tolist()]

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

    def describe(self, query: int) -> str:
        """Return the name of a query for error messages: its group value."""
        return describe_query(self.labels, query)

    def describe_row(self, row: int) -> str:
        """Return the name of a row and of its query for error messages."""
        position = int(np.flatnonzero(self.order == row)[0])
        query = int(np.searchsorted(self.offsets, position, side="right")) - 1
        return f"row {row} (query {self.describe(query)})"


def _add_up_to(column: Any, n_documents: int) -> bool:
    """Whether group values are numbers that could be the sizes of all queries."""
    if not isinstance(column, np.ndarray) or column.dtype.kind not in "iuf":
        return False
    return bool((column >= 0).all() and column.sum() == n_documents)


def describe_query(labels: Labels | None, query: int) -> str:
    """Return a query's name for error messages: its label, else its number."""
    if labels is None:
        return f"number {query}"
    label = labels[query]
    return str(label) if isinstance(label, np.generic) else repr(label)
