"""The data of a fit, from their reader to the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data.columns import COLUMNS, ReadColumns, RowColumns
from sklearn_ltr._data.groups import Labels, as_uint16
from sklearn_ltr._data.labels import LabelGrades, select_rows
from sklearn_ltr._data.pairs import JudgedPairs
from sklearn_ltr._data.row_hashes import FACTOR_1, HashArray
from sklearn_ltr._data.tables import DenseTable, Table
from sklearn_ltr._parameters import LARGEST, SMALLEST
from sklearn_ltr._typing import FloatArray, IntArray

NO_FEATURES = DenseTable(np.empty((0, 0)))
NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows of X with their targets, queries and further columns, in canonical order.

    The queries are sorted by their labels.  The rows of a query are in the order in
    which they were given until `reordered` by content.

    Training data and validation data are objects of this class.  Where rows belong to
    no query (MART), each row is its own query.

    Attributes
    ----------
    y : ndarray of shape (n_rows,), float64
        Grades of documents; targets of MART.  Of several labels, their weighted mean.
    offsets : ndarray of shape (n_queries + 1,), int64
        Query q owns the entries ``offsets[q]`` to ``offsets[q + 1] - 1``, at least one.
    labels : sequence of length n_queries, or None
        Group value of each query; None: each row is its own query.
    columns : RowColumns
        The other columns, those that were given.
    X : Table
        The features as given; they are never sorted or copied.  Without rows where only
        targets are needed.
    rows : ndarray of shape (n_rows,), intp
        Row of X that each entry of the other arrays refers to.
    numbers : ndarray of shape (n_queries,), int64, or None
        Where several workers have queries: numbers that rise with the labels of all.
    pairs : JudgedPairs or None
        The pairs to learn from; None: those of different y.
    label_grades : LabelGrades or None
        The grades of several labels, where y has a column for each.
    """

    y: FloatArray
    offsets: IntArray
    labels: Labels | None
    columns: ReadColumns = RowColumns()
    X: Table = NO_FEATURES
    rows: NDArray[np.intp] = field(default_factory=lambda: NO_ROWS)
    numbers: IntArray | None = None
    pairs: JudgedPairs | None = None
    label_grades: LabelGrades | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.offsets) - 1

    @property
    def sample_weight(self) -> FloatArray:
        """Weight of each query, (n_queries,) float64; 1 where none were given."""
        given = self.columns.sample_weight
        return np.ones(self.n_queries) if given is None else given

    @property
    def init_score(self) -> FloatArray:
        """F_0 of each row, (n_rows,) float64; 0 where none was given."""
        given = self.columns.init_score
        return np.zeros(self.n_rows) if given is None else given

    @property
    def weights_of_pairs(self) -> FloatArray:
        """Weight of each judged pair times that of its query, (n_pairs,) float64."""
        assert self.pairs is not None
        n_pairs = np.diff(self.pairs.offsets)
        return np.repeat(self.sample_weight, n_pairs) * self.pairs.weights

    @property
    def sizes(self) -> IntArray:
        """Rows per query, (n_queries,) int64."""
        return np.diff(self.offsets)

    @property
    def has_pairs(self) -> NDArray[np.bool_]:
        """Whether a query has pairs: judged ones, or rows of different y."""
        if self.pairs is not None:
            return np.diff(self.pairs.offsets) > 0
        starts = self.offsets[:-1]
        if self.label_grades is not None:
            return self.label_grades.have_pairs(np.ones(self.n_rows, bool), starts)
        highest = np.maximum.reduceat(self.y, starts)
        return highest > np.minimum.reduceat(self.y, starts)

    @property
    def has_weighted_pairs(self) -> NDArray[np.bool_]:
        """Whether a query has rows of different y and weights above 0, (n_queries,)."""
        weights = self.columns.document_weight
        if weights is None:
            return self.has_pairs
        starts, counts = self.offsets[:-1], weights > 0
        if self.label_grades is not None:
            return self.label_grades.have_pairs(counts, starts)
        highest = np.maximum.reduceat(np.where(counts, self.y, -np.inf), starts)
        lowest = np.minimum.reduceat(np.where(counts, self.y, np.inf), starts)
        return np.asarray(highest > lowest)

    def content_order(self, hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return the order of the rows by their content, within queries, (n_rows,)."""
        # Content is the hash of the features first; where hashes are equal, the
        # targets and the other columns. Where each row is a query, all rows are sorted.
        order = np.argsort(hashes)
        is_equal = hashes[order[1:]] == hashes[order[:-1]]
        tied = np.append(is_equal, False) | np.append(False, is_equal)
        rows = order[tied]
        columns = self.columns.by_row(self.sizes)
        keys = [*reversed(columns.values()), self.y, hashes]
        if self.label_grades is not None:
            keys = [*self.label_grades.values.T, *keys]
        if self.pairs is not None and len(rows) > 0:
            # without what is the same for all rows of a query: a common factor of the
            # weights must not change the order
            own = [v for name, v in columns.items() if not COLUMNS[name].per_query]
            contents = hash_together([*own, self.y, hashes])
            keys.insert(0, self.pairs.hashes(contents))
        order[tied] = rows[np.lexsort([key[rows] for key in keys])]
        if self.labels is None:
            return order
        query = np.repeat(np.arange(self.n_queries), self.sizes)
        return order[np.argsort(as_uint16(query[order]), kind="stable")]

    def reordered(self, order: NDArray[np.intp]) -> Self:
        """Return the data with entry ``order[i]`` as entry i, see `content_order`."""
        queries = slice(None) if self.labels is not None else order
        grades = self.label_grades
        return replace(
            self,
            rows=self.rows[order],
            y=self.y[order],
            columns=self.columns.select(order, queries),
            pairs=self.pairs and self.pairs.reordered(order, self.offsets),
            label_grades=None if grades is None else grades[order],
        )

    def subset(self, selected: NDArray[np.bool_]) -> Self:
        """Return the selected queries, given as a mask of shape (n_queries,)."""
        if selected.all():  # most often: nothing is copied
            return self
        kept = np.repeat(selected, self.sizes)
        labels, grades = self.labels, self.label_grades
        if labels is not None:
            labels = [labels[query] for query in np.flatnonzero(selected).tolist()]
        offsets = np.concatenate(([0], np.cumsum(self.sizes[selected])))
        return replace(
            self,
            rows=self.rows[kept],
            y=self.y[kept],
            offsets=offsets,
            labels=labels,
            columns=self.columns.select(kept, selected),
            numbers=None if self.numbers is None else self.numbers[selected],
            pairs=self.pairs and self.pairs.select(kept, offsets),
            label_grades=None if grades is None else grades[kept],
        )

    def compared(self) -> Self:
        """Return the rows that judged pairs compare, without all others."""
        assert self.pairs is not None
        data = self.subset(self.has_pairs)
        assert data.pairs is not None
        kept = np.zeros(data.n_rows, dtype=np.bool_)
        kept[data.pairs.rows] = True
        offsets = np.concatenate(([0], np.cumsum(kept)))[data.offsets]
        return replace(
            data,
            rows=data.rows[kept],
            y=data.y[kept],
            offsets=offsets,
            columns=data.columns.select(kept, slice(None)),
            pairs=data.pairs.select(kept, offsets),
        )

    def of_label(self, number: int) -> tuple[Self, NDArray[np.intp]]:
        """Return the data of one of several labels, and which rows these are."""
        # the rows that it has judged, and the queries that have any
        assert self.label_grades is not None
        grades = self.label_grades.values[:, number]
        judged = ~np.isnan(grades)
        offsets, labels, has_rows = select_rows(judged, self.offsets, self.labels)
        data = replace(
            self,
            rows=self.rows[judged],
            y=grades[judged],
            offsets=offsets,
            labels=labels,
            columns=self.columns.select(judged, has_rows),
            numbers=None if self.numbers is None else self.numbers[has_rows],
            label_grades=None,
        )
        return data, np.flatnonzero(judged)

    def with_init_score(self, init_score: FloatArray) -> Self:
        """Return the data with F_0 of each row."""
        return replace(self, columns=replace(self.columns, init_score=init_score))

    def without_features(self) -> Self:
        """Return the targets and columns alone, from which a cost is computed."""
        return replace(self, X=NO_FEATURES)


def hash_together(keys: Sequence[NDArray[Any]]) -> HashArray:
    """Return one hash for each row of several columns, each (n_rows,)."""
    hashes = np.zeros(len(keys[0]), dtype=np.uint64)
    for key in keys:
        is_hash = key.dtype == np.uint64
        bits = key if is_hash else (key + 0.0).view(np.uint64)  # -0.0 is 0.0
        hashes = (hashes ^ bits) * FACTOR_1
        hashes ^= hashes >> np.uint64(31)
    return hashes


class FitData(NamedTuple):
    """The data that a fit learns from, and its validation sets.

    Attributes
    ----------
    train : TrainingData
    validation : list of TrainingData
        The sets that were given, or the part of the training data that is held out.
    """

    train: TrainingData
    validation: list[TrainingData]


def without_zero_weights(data: TrainingData, name: str) -> TrainingData:
    """Return the queries of a weight above zero: the others are as if not given."""
    check_weights(data.sample_weight, name)
    return data.subset(data.sample_weight > 0)


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


def check_document_weights(
    data: TrainingData, bounds: tuple[float, float] = (SMALLEST, LARGEST)
) -> None:
    """Raise a ValueError if products of two weights of documents are out of bounds."""
    weights = data.columns.document_weight
    if weights is not None:
        low, high = bounds
        check_weights(weights, "document_weight", (low**0.5, high**0.5))


def check_judged_weights(
    data: TrainingData, bounds: tuple[float, float] = (SMALLEST, LARGEST)
) -> None:
    """Raise a ValueError if weights of judged pairs are out of bounds."""
    if data.pairs is not None:
        check_weights(data.pairs.weights, "pair_weights", bounds)
        product = "sample_weight times pair_weights"
        check_weights(data.weights_of_pairs, product, bounds)
