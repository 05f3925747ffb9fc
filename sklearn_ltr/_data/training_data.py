"""The one object that holds training data, from the reader of `fit` to the kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data.groups import Labels, as_uint16
from sklearn_ltr._parameters import LARGEST, SMALLEST

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows of X with their targets, weights and queries, in canonical order.

    The queries are sorted by their labels.  The rows of a query are in the order in
    which they were given until `reordered` by content.

    The same object holds what is trained on and what is evaluated.  Where rows belong
    to no query (MART), each row is a query of its own.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows_of_X, n_features), float32 or float64
        The feature table as given; it is never sorted or copied.
    rows : ndarray of shape (n_rows,), intp
        Row of X that each entry of the other arrays refers to.
    y : ndarray of shape (n_rows,), float64
        Grades of documents; targets of MART.
    offsets : ndarray of shape (n_queries + 1,), int64
        Query q owns the entries ``offsets[q]`` to ``offsets[q + 1] - 1``, at least one.
    weights : ndarray of shape (n_queries,), float64
        Weight of each query.
    labels : sequence of length n_queries, or None
        Group value of each query; None: each row is a query of its own.
    positions : ndarray of shape (n_rows,), int64, or None
        Where each document was shown, 0 is first.
    propensities : ndarray of shape (n_rows,), float64, or None
        How probably users examined each document, in (0, 1].
    numbers : ndarray of shape (n_queries,), int64, or None
        Where several workers have queries: numbers that rise with the labels of all.
    """

    X: Any
    rows: NDArray[np.intp]
    y: FloatArray
    offsets: IntArray
    weights: FloatArray
    labels: Labels | None
    positions: IntArray | None = None
    propensities: FloatArray | None = None
    numbers: IntArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.weights)

    @property
    def sizes(self) -> IntArray:
        """Rows per query, (n_queries,) int64."""
        return np.diff(self.offsets)

    @property
    def has_pairs(self) -> NDArray[np.bool_]:
        """Whether a query has rows of different y, (n_queries,) bool."""
        starts = self.offsets[:-1]
        highest = np.maximum.reduceat(self.y, starts)
        return highest > np.minimum.reduceat(self.y, starts)

    def content_order(
        self, hashes: NDArray[np.uint64], *others: FloatArray
    ) -> NDArray[np.intp]:
        """Return the order of the rows by their content, within queries, (n_rows,)."""
        # Content is the hash of the features first; where hashes are equal, the
        # targets, weights, positions, propensities and `others`, of which only the
        # order counts. Where each row is a query, all rows are sorted.
        order = np.argsort(hashes)
        is_equal = hashes[order[1:]] == hashes[order[:-1]]
        tied = np.append(is_equal, False) | np.append(False, is_equal)
        rows = order[tied]
        weights = np.repeat(self.weights, self.sizes)
        shown = [c for c in (self.positions, self.propensities) if c is not None]
        keys = (*others, *shown, weights, self.y, hashes)
        order[tied] = rows[np.lexsort([key[rows] for key in keys])]
        if self.labels is None:
            return order
        query = np.repeat(np.arange(self.n_queries), self.sizes)
        return order[np.argsort(as_uint16(query[order]), kind="stable")]

    def reordered(self, order: NDArray[np.intp]) -> Self:
        """Return the data with entry ``order[i]`` as entry i, see `content_order`."""
        weights = self.weights if self.labels is not None else self.weights[order]
        return replace(self, weights=weights, **self._columns(order))

    def subset(self, selected: NDArray[np.bool_]) -> Self:
        """Return the selected queries, given as a mask of shape (n_queries,)."""
        if selected.all():  # most often: nothing is copied
            return self
        kept = np.repeat(selected, self.sizes)
        labels = self.labels
        if labels is not None:
            labels = [labels[query] for query in np.flatnonzero(selected).tolist()]
        return replace(
            self,
            offsets=np.concatenate(([0], np.cumsum(self.sizes[selected]))),
            weights=self.weights[selected],
            labels=labels,
            numbers=None if self.numbers is None else self.numbers[selected],
            **self._columns(kept),
        )

    def _columns(self, index: NDArray[Any]) -> dict[str, Any]:
        """Return the arrays of entries, indexed."""
        columns = {
            "rows": self.rows,
            "y": self.y,
            "positions": self.positions,
            "propensities": self.propensities,
        }
        return {name: c if c is None else c[index] for name, c in columns.items()}


def with_weight(data: TrainingData, name: str) -> TrainingData:
    """Return the queries of a weight above zero: the others are as if not given."""
    check_weights(data.weights, name)
    return data.subset(data.weights > 0)


def check_weights(
    weights: FloatArray, name: str, bounds: tuple[float, float] = (SMALLEST, LARGEST)
) -> None:
    """Raise a ValueError if sums of the weights would be infinite, or zero."""
    largest, (low, high) = weights.max(), bounds
    if not low <= largest <= high:
        raise ValueError(
            f"{name} has a largest value of {largest:.3g}, out of [{low:g}, {high:g}]: "
            "divide all weights by it"
        )
