"""The judged documents of queries: the rows, and those missing from the ranked lists.

A measure such as recall counts relevant documents which a ranker did not retrieve.
These have a grade and a query, but neither a row nor a score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data.columns import encode_labels, one_column
from sklearn_ltr._data.groups import Labels, QueryGroups
from sklearn_ltr._data.numbers import count_rows

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """The queries of rows and of missing documents, under common labels.

    In canonical order the rows of a query come first, then its missing documents.

    Attributes
    ----------
    rows, missing : QueryGroups
        Their labels are those of all queries, so a query may have no document in one
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
    def read(cls, rows: QueryGroups, groups_missing: Any, n_missing: int) -> Self:
        """Read the queries of `n_missing` documents, at least one.

        Raises
        ------
        ValueError, TypeError
            As `QueryGroups.from_groups`; or if they name queries by another type than
            the groups of the rows, and have none in common with them.
        """
        name = "groups_missing"
        missing = QueryGroups.from_groups(groups_missing, n_missing, name)
        labels, index = _merge_labels(rows.labels, missing.labels)
        of_rows, of_missing = index[: rows.n_queries], index[rows.n_queries :]
        one, other = rows.labels[0], missing.labels[0]
        is_text = isinstance(one, str), isinstance(other, str)
        if is_text[0] != is_text[1] and not np.isin(of_missing, of_rows).any():
            raise ValueError(
                f"{name} has queries such as {missing.describe(0)}, but groups such as "
                f"{rows.describe(0)}, and none in common: name the same query by the "
                "same value in both"
            )
        sizes = np.zeros((len(labels), 2), dtype=np.int64)
        sizes[of_rows, 0], sizes[of_missing, 1] = rows.sizes, missing.sizes
        rows_offsets, missing_offsets, offsets = (
            np.append(0, np.cumsum(counts)) for counts in (*sizes.T, sizes.sum(axis=1))
        )
        return cls(
            replace(rows, labels=labels, offsets=rows_offsets),
            replace(missing, labels=labels, offsets=missing_offsets),
            offsets,
            np.repeat(np.arange(sizes.size) % 2 == 0, sizes.ravel()),
        )

    def merge(self, rows: NDArray[Any], missing: NDArray[Any]) -> NDArray[Any]:
        """Return one array of two in canonical order."""
        merged = np.empty(len(self.is_row), dtype=rows.dtype)
        merged[self.is_row], merged[~self.is_row] = rows, missing
        return merged


def count_missing(y_missing: Any, groups_missing: Any) -> int:
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
                f"groups_missing has {n_groups} values, but y_missing has none"
            )
    return n_missing


def _merge_labels(a: Labels, b: Labels) -> tuple[Labels, IntArray]:
    """Return the sorted distinct labels of both, and where each of a, then b, is."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype == b.dtype or a.dtype.kind == b.dtype.kind == "M":
            return np.unique(np.concatenate((a, b)), return_inverse=True)
    listed = [x.tolist() if isinstance(x, np.ndarray) else list(x) for x in (a, b)]
    return encode_labels(listed[0] + listed[1], "groups and groups_missing")
