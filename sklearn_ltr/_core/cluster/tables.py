"""X of one worker: partitions, one of which at a time is in memory as numbers.

A partition is in memory, a dict of the rows of each argument; or where its rows have no
room, it is read whenever they are needed, by whatever an engine has for that.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn.base import BaseEstimator

from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data.binned_columns import BinnedColumns
from sklearn_ltr._core.data.categories import FeatureCategories
from sklearn_ltr._core.data.feature_reader import FeatureReader, SuppliedX
from sklearn_ltr._core.data.fit_arguments import ROWS_CHANGED
from sklearn_ltr._core.data.row_hashes import HashArray
from sklearn_ltr._core.data.rows import index_rows
from sklearn_ltr._core.data.tables import (
    ColumnReader,
    Matrix,
    RowBinner,
    Table,
    hash_values,
    table_of,
)
from sklearn_ltr._core.typing import FeaturesLike, FloatArray, IntArray, MatrixLike

Partition = dict[str, Any]  # the rows of each argument of `fit` that was given


class RereadPartition(Protocol):
    """A partition whose rows are read again and again, such as from a file."""

    @property
    def names(self) -> list[str]:
        """Return the names of the arguments."""

    def read(self, names: list[str] | None = None) -> Partition:
        """Read the rows of some of the arguments; all if `names` is None."""


Part = Partition | RereadPartition


def read_part(part: Part, names: list[str] | None = None) -> Partition:
    """Return some of the arguments of a partition; all if `names` is None."""
    if not isinstance(part, dict):
        return part.read(names)
    return part if names is None else {name: part[name] for name in names}


@dataclass(eq=False)
class PartRows(SuppliedX):
    """The rows of X that one worker has, as they are in their partitions."""

    name: str  # of X among the arguments of `fit`
    parts: list[Part]
    chosen: list[NDArray[np.intp] | None]  # rows of each partition, None: all
    sizes: list[int]  # numbers of these rows
    # fitted attributes of their columns, see `learn_columns`
    known: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def offsets(self) -> IntArray:
        """Where the rows of each partition begin, (n_parts + 1,) int64."""
        return np.concatenate(([0], np.cumsum(self.sizes))).astype(np.int64)

    def as_given(self) -> MatrixLike:
        """Return the rows of the first partition."""
        first: MatrixLike = self.read(0)
        return first

    def table(self, reader: FeatureReader, name: str) -> PartTable:
        """Return the rows as a table of which one partition is in memory."""
        return PartTable(self, partial(reader.read, name=name), reader.n_features)

    def predict(self, model: BaseEstimator) -> FloatArray:
        """Return the scores of all rows by a model of the user."""
        return np.concatenate([model.predict(part) for part in self.read_all()])

    def learn_columns(
        self, owner: type[BaseEstimator], given: FeaturesLike, comm: Comm
    ) -> None:
        """Learn the columns, with the text of categories that any worker has."""
        reader = FeatureReader(owner, {})
        reader.categories = FeatureCategories.learn(self.read(0), given)
        if len(reader.categories.feature) > 0:
            parts = [FeatureCategories.learn(part, given) for part in self.read_all()]
            reader.categories = merge_categories(parts)
        reader.categories = merge_categories(comm.gather(reader.categories))
        reader.read(self.read(0))
        self.known = reader.attributes

    def read(self, number: int) -> Any:
        """Return the rows of a partition."""
        X = read_part(self.parts[number], [self.name])[self.name]
        rows = self.chosen[number]
        return X if rows is None else index_rows(X, rows)

    def read_all(self) -> Iterator[Any]:
        """Yield the rows of each partition."""
        for number in range(len(self.parts)):
            yield self.read(number)


class PartTable:
    """The same rows as numbers: a table of which one partition is in memory at a time.

    `convert` returns the rows of a partition as an ndarray or CSR matrix.
    """

    is_sparse, known_bins = False, None

    def __init__(
        self, rows: PartRows, convert: Callable[[Any], Matrix], n_features: int
    ) -> None:
        self.shape = int(rows.offsets[-1]), n_features
        self.size = self.shape[0] * n_features
        self._rows, self._convert = rows, convert
        self._checksums: dict[int, int] = {}
        self._held: dict[int, Matrix] = {}  # partitions that are in memory as numbers

    def take(self, rows: NDArray[np.intp], features: IntArray | None = None) -> Matrix:
        """Return the values of some rows, of some or of all features."""
        needed = np.zeros(self.shape[0], dtype=np.bool_)
        needed[rows] = True
        columns = slice(None) if features is None else features
        found = [
            values[needed[first : first + values.shape[0]]][:, columns]
            for first, values in self.parts(needed)
        ]
        if not found:
            return np.empty((0, self.shape[1]))[:, columns]
        joined = vstack(found, "csr") if issparse(found[0]) else np.concatenate(found)
        # where each needed row is among those that were found
        return joined[(np.cumsum(needed) - 1)[rows]]

    def columns(self, rows: NDArray[np.intp]) -> ColumnReader:
        """Return a function of (first, last) that reads these features of rows."""
        # in the order of the rows of X
        readers = [part.columns(own) for part, own in self._pieces(np.sort(rows))]
        if len(readers) == 0:
            return lambda first, last: np.empty((0, last - first))
        if len(readers) == 1:
            return readers[0]
        return lambda first, last: (
            np.concatenate([read(first, last).T for read in readers], axis=1).T
        )

    def by_column(self, rows: NDArray[np.intp]) -> None:
        """Return None: columns are read block by block."""

    def hashes(self, rows: NDArray[np.intp], team: ThreadTeam) -> HashArray:
        """Return the hash of the content of each of these rows."""
        found = np.zeros(self.shape[0], dtype=np.uint64)
        for first, values in self.parts():
            part = np.arange(values.shape[0])
            found[first : first + len(part)] = hash_values(values, part, team)
        return found[rows]

    def bin(
        self, binner: RowBinner, rows: NDArray[np.intp], team: ThreadTeam
    ) -> BinnedColumns:
        """Return the bins of some rows, all of them as columns of bytes."""
        columns = np.empty((self.shape[1], len(rows)), dtype=np.uint8)
        place = np.full(self.shape[0], -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        for first, values in self.parts(place >= 0):
            to = place[first : first + values.shape[0]]
            own = np.flatnonzero(to >= 0)
            columns[:, to[own]] = binner.bin_rows(values, own, team)
        return BinnedColumns(columns)

    def parts(
        self, needed: NDArray[np.bool_] | None = None
    ) -> Iterator[tuple[int, Matrix]]:
        """Yield (number of the first row, values) of each partition that is needed."""
        offsets = self._rows.offsets.tolist()
        for number, (first, last) in enumerate(pairwise(offsets)):
            if last > first and (needed is None or needed[first:last].any()):
                yield first, self._read(number)

    def _pieces(
        self, rows: NDArray[np.intp]
    ) -> Iterator[tuple[Table, NDArray[np.intp]]]:
        """Yield (table, rows of it), which together are the given rows, ascending."""
        ends = np.searchsorted(rows, self._rows.offsets)
        for number, (start, stop) in enumerate(pairwise(ends.tolist())):
            if stop > start:
                own = rows[start:stop] - self._rows.offsets[number]
                values = self._read(number)
                if number not in self._held:  # else nothing need be copied
                    values, own = values[own], np.arange(len(own))
                yield table_of(values), own

    def _read(self, number: int) -> Matrix:
        """Return a partition as numbers."""
        if number in self._held:
            return self._held[number]
        part, rows = self._rows.parts[number], self._rows.read(number)
        table = self._convert(rows)
        if not isinstance(part, dict):
            values = table.data if issparse(table) else table
            found = zlib.crc32(np.ascontiguousarray(values).data)
            is_same = found == self._checksums.setdefault(number, found)
            if not is_same or table.shape[0] != self._rows.sizes[number]:
                raise RuntimeError(ROWS_CHANGED.format(self._rows.name))
        elif table is rows and self._rows.chosen[number] is None:
            # a cluster may leave the arrays of a message at any byte, read slowly
            if issparse(table) or table.flags.aligned:
                self._held[number] = table
        return table


def merge_categories(parts: list[FeatureCategories]) -> FeatureCategories:
    """Return the categories of several parts of the rows."""
    text, is_text = [], np.empty(len(parts[0].feature), dtype=np.bool_)
    for number in range(len(is_text)):
        found = set().union(*(part.text[number].tolist() for part in parts))
        text.append(np.array(sorted(found), dtype=np.str_))
        # a part in which all values are missing cannot tell
        is_text[number] = bool(found) or all(part.is_text[number] for part in parts)
    return replace(parts[0], text=text, is_text=is_text)
