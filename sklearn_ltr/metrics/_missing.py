"""Judged documents that are not among the rows: they count, but have no scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.data import QueryGroups, QueryIds, count_rows
from sklearn_ltr._core.data.groups import encode_ids, one_column
from sklearn_ltr._core.typing import IdsLike, IntArray


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """The queries of rows and of missing documents, under common ids.

    A measure such as recall counts relevant documents which a ranker did not retrieve.
    These have a grade and a query, but neither a row nor a score.  In canonical order
    the rows of a query come first, then its missing documents.

    Attributes
    ----------
    rows, missing : QueryGroups
        Both have the ids of all queries, so a query may have no document in one
        of the two: its offsets are equal then.
    offsets : (n_queries + 1,) int64 array
        Query q owns the entries ``offsets[q]`` to ``offsets[q + 1] - 1`` of a merged
        array; there is at least one.
    is_row : (n_documents,) bool array
        Whether an entry of a merged array is a row.
    """

    rows: QueryGroups
    missing: QueryGroups
    offsets: IntArray
    is_row: NDArray[np.bool_]

    @classmethod
    def read(
        cls, rows: QueryGroups, groups_missing: IdsLike | None, n_missing: int
    ) -> Self:
        """Read the queries of `n_missing` >= 1 documents that no row stands for."""
        name = "groups_missing"
        missing = QueryGroups.from_groups(groups_missing, n_missing, name)
        a, b = rows.query_ids, missing.query_ids
        query_ids: QueryIds
        if (
            isinstance(a, np.ndarray)
            and isinstance(b, np.ndarray)
            and (a.dtype == b.dtype or a.dtype.kind == b.dtype.kind == "M")
        ):
            query_ids, index = np.unique(np.concatenate((a, b)), return_inverse=True)
        else:
            listed = [x.tolist() if isinstance(x, np.ndarray) else [*x] for x in (a, b)]
            both = "groups and groups_missing"
            query_ids, index = encode_ids(listed[0] + listed[1], both)
        row_queries, missing_queries = index[: rows.n_queries], index[rows.n_queries :]
        is_text = isinstance(a[0], str), isinstance(b[0], str)
        if is_text[0] != is_text[1] and not np.isin(missing_queries, row_queries).any():
            raise ValueError(
                f"{name} has queries such as {missing.describe(0)}, but groups such as "
                f"{rows.describe(0)}, and none in common: name a query by the same "
                "value in both"
            )
        sizes = np.zeros((len(query_ids), 2), dtype=np.int64)
        sizes[row_queries, 0], sizes[missing_queries, 1] = rows.sizes, missing.sizes
        rows_offsets, missing_offsets, offsets = (
            np.append(0, np.cumsum(counts)) for counts in (*sizes.T, sizes.sum(axis=1))
        )
        return cls(
            replace(rows, query_ids=query_ids, offsets=rows_offsets),
            replace(missing, query_ids=query_ids, offsets=missing_offsets),
            offsets,
            np.repeat(np.arange(sizes.size) % 2 == 0, sizes.ravel()),
        )

    def merge(self, rows: NDArray[Any], missing: NDArray[Any]) -> NDArray[Any]:
        """Return one array of two in canonical order."""
        merged = np.empty(len(self.is_row), dtype=rows.dtype)
        merged[self.is_row], merged[~self.is_row] = rows, missing
        return merged


def count_missing(y_missing: ArrayLike | None, groups_missing: IdsLike | None) -> int:
    """Return the number of missing documents; a ValueError if one has no query."""
    if y_missing is None and groups_missing is None:
        return 0
    if y_missing is None or groups_missing is None:
        absent = "y_missing" if y_missing is None else "groups_missing"
        raise ValueError(
            f"{absent} is None: give each missing document a grade in y_missing and a "
            "query in groups_missing"
        )
    n_missing = count_rows(y_missing, "y_missing")
    if n_missing == 0:
        n_groups = len(one_column(groups_missing, "groups_missing"))
        if n_groups:
            raise ValueError(
                f"groups_missing has {n_groups} values, but y_missing has none: give "
                "one grade for each"
            )
    return n_missing
