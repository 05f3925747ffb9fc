"""The data of a fit, from their reader to the kernels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.compile import ONE_THREAD, ThreadTeam
from sklearn_ltr._core.data.columns import (
    COLUMNS,
    GivenColumns,
    ReadColumns,
    RowColumns,
    check_grades,
)
from sklearn_ltr._core.data.feature_reader import FeatureReader
from sklearn_ltr._core.data.groups import ByQuery, QueryGroups, QueryIds, as_uint16
from sklearn_ltr._core.data.labels import (
    LabelGrades,
    check_several,
    label_number,
    n_label_columns,
    read_label_grades,
    select_rows,
)
from sklearn_ltr._core.data.pairs import GRADED_PAIRS, GradedPairs, JudgedPairs
from sklearn_ltr._core.data.tables import DenseTable, Table
from sklearn_ltr._core.parameters import LARGEST, SMALLEST
from sklearn_ltr._core.typing import FloatArray, IntArray

NO_FEATURES = DenseTable(np.empty((0, 0)))
ROWS_TO_SHARE = 50_000  # threads sort so many rows in less time than one does
NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class TrainingData(ByQuery):
    """Rows of X with their targets, queries and further columns, in canonical order.

    The queries are sorted by their ids.  The rows of a query are in the order in
    which they were given until `reordered` by content.

    Training data and validation data are objects of this class.  Where rows belong to
    no query (MART), each row is its own query.

    Attributes
    ----------
    grades : LabelGrades
        Grades of documents by one or several labels; targets of MART.
    offsets : ndarray of shape (n_queries + 1,), int64
        Query q owns the entries ``offsets[q]`` to ``offsets[q + 1] - 1``, at least one.
    query_ids : sequence of length n_queries, or None
        Group value of each query; None: each row is its own query.
    columns : RowColumns
        The other columns, those that were given.
    X : Table
        The features as given; they are never sorted or copied.  Without rows where only
        targets are needed.
    rows : ndarray of shape (n_rows,), intp
        Row of X that each entry of the other arrays refers to.
    numbers : ndarray of shape (n_queries,), int64, or None
        Where several workers have queries: numbers that rise with the ids of all.
    pairs : GradedPairs or JudgedPairs
        The pairs to learn from.
    """

    grades: LabelGrades
    offsets: IntArray
    query_ids: QueryIds | None
    columns: ReadColumns = RowColumns()
    X: Table = NO_FEATURES
    rows: NDArray[np.intp] = field(default_factory=lambda: NO_ROWS)
    numbers: IntArray | None = None
    pairs: GradedPairs | JudgedPairs = GRADED_PAIRS

    @classmethod
    def of(
        cls,
        grades: LabelGrades,
        queries: QueryGroups,
        columns: ReadColumns,
    ) -> Self:
        """Return rows without features, given what was read of them."""
        ids = queries.query_ids
        return cls(grades, queries.offsets, ids, columns, rows=queries.order)

    @property
    def y(self) -> FloatArray:
        """Grades or targets, (n_rows,) float64; with several labels, their mean."""
        return self.grades.mean

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def sample_weight(self) -> FloatArray:
        """Weight of each query, (n_queries,) float64; 1 where none were given."""
        given = self.columns.sample_weight
        return np.ones(self.n_queries) if given is None else given

    @property
    def in_words(self) -> str:
        """Which queries these are, for messages: nothing if no weights were given."""
        given = self.columns.sample_weight
        return "" if given is None else " among those of a sample_weight above zero"

    @property
    def init_score(self) -> FloatArray:
        """F_0 of each row, (n_rows,) float64; 0 where none was given."""
        given = self.columns.init_score
        return np.zeros(self.n_rows) if given is None else given

    @property
    def judged_pairs(self) -> JudgedPairs:
        """The pairs of data whose pairs are judged."""
        assert isinstance(self.pairs, JudgedPairs)
        return self.pairs

    @property
    def has_pairs(self) -> NDArray[np.bool_]:
        """Whether a query has pairs: judged ones, or rows of different y."""
        return self.pairs.in_queries(self.grades, self.offsets)

    @property
    def has_weighted_pairs(self) -> NDArray[np.bool_]:
        """Whether a query has rows of different y and weights above 0, (n_queries,)."""
        weights = self.columns.document_weight
        if weights is None:
            return self.has_pairs
        return self.grades.have_pairs(self.offsets[:-1], weights > 0)

    def content_order(
        self, hashes: NDArray[np.uint64], team: ThreadTeam = ONE_THREAD
    ) -> NDArray[np.intp]:
        """Return the order of the rows by their content, within queries, (n_rows,)."""
        # Content is the hash of the features first; where hashes are equal, the
        # targets and the other columns. Where each row is a query, all rows are sorted.
        query = np.repeat(np.arange(self.n_queries, dtype=np.int32), self.sizes)

        def sort_range(first: int, last: int) -> NDArray[np.intp]:
            order = first + np.argsort(hashes[first:last])
            return order[np.argsort(as_uint16(query[order]), kind="stable")]

        if self.query_ids is None:
            order = np.argsort(hashes)
        elif self.n_rows < ROWS_TO_SHARE:
            order = sort_range(0, self.n_rows)
        else:
            bounds = self.offsets[np.unique(team.divide(self.offsets))].tolist()
            order = np.concatenate(team.map(sort_range, bounds[:-1], bounds[1:]))
        is_equal = np.diff(hashes[order]) == 0
        tied = np.append(is_equal, False) | np.append(False, is_equal)
        rows = order[tied]
        if len(rows) > 0:
            columns = self.columns.by_row(self.sizes)
            # without what is the same for all rows of a query: a common factor of the
            # weights must not change the order
            own = [v for name, v in columns.items() if not COLUMNS[name].per_query]
            keys = [
                *self.pairs.content_keys([*own, self.y, hashes]),
                *self.grades.counted,
                *reversed(columns.values()),
                self.y,
                hashes,
            ]
            if self.query_ids is not None:
                keys.append(query)
            order[tied] = rows[np.lexsort([key[rows] for key in keys])]
        return order

    def reordered(self, order: NDArray[np.intp]) -> Self:
        """Return the data with entry ``order[i]`` as entry i, see `content_order`."""
        queries = slice(None) if self.query_ids is not None else order
        return replace(
            self,
            rows=self.rows[order],
            grades=self.grades[order],
            columns=self.columns.select(order, queries),
            pairs=self.pairs.reordered(order, self.offsets),
        )

    def subset(self, selected: NDArray[np.bool_]) -> Self:
        """Return the selected queries, given as a mask of shape (n_queries,)."""
        if selected.all():  # most often: nothing is copied
            return self
        return self._keep(np.repeat(selected, self.sizes))

    def compared(self) -> Self:
        """Return the rows that judged pairs compare, without all others."""
        kept = np.zeros(self.n_rows, dtype=np.bool_)
        kept[self.judged_pairs.rows] = True
        return self._keep(kept)

    def _keep(self, kept: NDArray[np.bool_]) -> Self:
        """Return some rows, given as a mask, and the queries that have any."""
        offsets, query_ids, has_rows = select_rows(kept, self.offsets, self.query_ids)
        return replace(
            self,
            rows=self.rows[kept],
            grades=self.grades[kept],
            offsets=offsets,
            query_ids=query_ids,
            columns=self.columns.select(kept, has_rows),
            numbers=None if self.numbers is None else self.numbers[has_rows],
            pairs=self.pairs.select(kept, offsets),
        )

    def each_pair_alone(self) -> Self:
        """Return judged pairs, each as a query of its two rows."""
        given = self.judged_pairs
        rows, n_pairs = given.rows.ravel(), len(given.rows)
        pairs = replace(
            given,
            rows=np.arange(2 * n_pairs).reshape(-1, 2),
            offsets=np.arange(n_pairs + 1),
        )
        return replace(
            self,
            rows=self.rows[rows],
            grades=self.grades[rows],
            offsets=2 * pairs.offsets,
            query_ids=list(range(n_pairs)),
            columns=RowColumns(),
            pairs=pairs,
        )

    def of_label(self, number: int) -> LabelRows:
        """Return what one of the labels has judged."""
        grades = self.grades.values[number]
        name, weight = self.grades.names[number], float(self.grades.weights[number])
        if self.grades.n_labels == 1:  # which has judged all
            return LabelRows(number, name, weight, self, None)
        judged = ~np.isnan(grades)
        own = LabelGrades.of_one(grades[judged])
        data = replace(self._keep(judged), grades=own)
        return LabelRows(number, name, weight, data, np.flatnonzero(judged))

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.grades.n_labels

    def counted_labels(self) -> list[LabelRows]:
        """Return what each label of a weight above 0 has judged."""
        numbers = np.flatnonzero(self.grades.weights).tolist()
        return [self.of_label(number) for number in numbers]

    def with_init_score(self, init_score: FloatArray) -> Self:
        """Return the data with F_0 of each row."""
        return replace(self, columns=replace(self.columns, init_score=init_score))


class LabelRows(NamedTuple):
    """The documents that one label has judged, and the queries that have any.

    Attributes
    ----------
    number : int
        Column of y.
    name : str
    weight : float
        Share of the label among all, which sum to 1.
    data : TrainingData
        With the grades of this label alone.
    judged : ndarray of shape (n_judged,), intp, or None
        Which entries of the data of all labels these are, ascending; None: all, as
        there is no other label.
    """

    number: int
    name: str
    weight: float
    data: TrainingData
    judged: NDArray[np.intp] | None

    @property
    def is_only(self) -> bool:
        """Whether there is no other label."""
        return self.judged is None

    @property
    def rows(self) -> NDArray[np.intp]:
        """Which entries of the data of all labels these are, (n_judged,)."""
        return np.arange(self.data.n_rows) if self.judged is None else self.judged

    def queries_of(self, data: TrainingData) -> NDArray[np.intp]:
        """Return which queries of the data of all labels these are, ascending."""
        return data.query[self.rows[self.data.offsets[:-1]]]

    def title(self, measure: str) -> str:
        """Return the name of a measure of this label."""
        return measure if self.is_only else f"{self.name}: {measure}"

    def select(self, queries: NDArray[np.bool_]) -> LabelRows:
        """Return the selected ones of its queries, given as a mask."""
        judged = self.judged
        if judged is not None:
            judged = judged[np.repeat(queries, self.data.sizes)]
        return self._replace(data=self.data.subset(queries), judged=judged)


class FitData(NamedTuple):
    """The data that a fit learns from, and its validation sets.

    Attributes
    ----------
    train : TrainingData
        All training data, on which a model may be measured.
    learned : TrainingData
        Those that it learns from: of rankers, the queries that have pairs.
    validation : list of TrainingData
        The sets that were given, or the part of the training data that is held out.
    reader : FeatureReader
        With what is known of the columns of X.
    attributes : dict of str to object
        Fitted attributes that were found while the data were read.
    """

    train: TrainingData
    learned: TrainingData
    validation: list[TrainingData]
    reader: FeatureReader
    attributes: dict[str, Any]


def read_one_label(
    y: Any,
    queries: QueryGroups,
    label: int | str | None,
    sample_weight: ArrayLike | None,
    name: str = "y",
) -> tuple[TrainingData, LabelRows]:
    """Return the rows of all labels, and those that one of them has judged."""
    n_labels = n_label_columns(y)
    if label is None and n_labels > 1:
        raise ValueError(
            f"{name} has {n_labels} columns, one for each label: name one of them, "
            "as in label=0"
        )
    if label is None:
        grades, number = LabelGrades.of_one(check_grades(y, queries, name)), 0
    else:
        check_several(label, n_labels, name)
        grades = read_label_grades(y, queries, None, name)
        number = label_number(label, grades.names, "label")
    weights: GivenColumns = RowColumns(sample_weight=sample_weight)
    data = TrainingData.of(grades, queries, weights.read(queries))
    return data, data.of_label(number)


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
