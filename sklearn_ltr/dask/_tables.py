"""X of one worker: partitions, of which one at a time is in memory as numbers."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._data.row_hashes import HashArray, hash_values
from sklearn_ltr._data.tables import Table
from sklearn_ltr._trees.binning import (
    BinMapper,
    BinnedData,
    allocate_binned_data,
)
from sklearn_ltr.dask._partition_graphs import Partition, PartitionGraph, read_part
from sklearn_ltr.dask._partitions import take_rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PartRows:
    """The rows of X that one worker has, as they are in their partitions.

    Attributes
    ----------
    name : str
        Of X among the arguments of `fit`.
    parts : list of dict or PartitionGraph
    chosen : list of ndarrays of intp, or None
        The rows of each partition, None: all.
    sizes : list of int
        Number of these rows.
    """

    name: str
    parts: list[Partition | PartitionGraph]
    chosen: list[NDArray[np.intp] | None]
    sizes: list[int]

    @cached_property
    def offsets(self) -> IntArray:
        """Where the rows of each partition begin, (n_parts + 1,) int64."""
        return np.concatenate(([0], np.cumsum(self.sizes))).astype(np.int64)

    def read(self, number: int) -> Any:
        """Return the rows of a partition."""
        X = read_part(self.parts[number], [self.name])[self.name]
        rows = self.chosen[number]
        return X if rows is None else take_rows(X, rows)

    def read_all(self) -> Iterator[Any]:
        """Yield the rows of each partition."""
        for number in range(len(self.parts)):
            yield self.read(number)


class PartTable:
    """The same rows as numbers: a table of which one partition is in memory at a time.

    Parameters
    ----------
    rows : PartRows
    convert : callable
        Returns the rows of a partition as an ndarray or CSR matrix.
    n_features : int
    """

    def __init__(
        self, rows: PartRows, convert: Callable[[Any], Table], n_features: int
    ) -> None:
        self.shape = int(rows.offsets[-1]), n_features
        self.size = self.shape[0] * n_features
        self._rows, self._convert = rows, convert
        self._checksums: dict[int, int] = {}

    def tables(
        self, needed: NDArray[np.bool_] | None = None
    ) -> Iterator[tuple[int, Table]]:
        """Yield (number of the first row, table) of each partition.

        Those without any of the rows that are needed, (n_rows,), are left out.
        """
        offsets = self._rows.offsets.tolist()
        for number, (first, last) in enumerate(
            zip(offsets[:-1], offsets[1:], strict=True)
        ):
            if last > first and (needed is None or needed[first:last].any()):
                yield first, self._read(number)

    def map(
        self, function: Callable[..., FloatArray], values: FloatArray
    ) -> FloatArray:
        """Return ``function(table, values)`` of all rows, values of (n_rows,)."""
        found = [
            function(table, values[first : first + table.shape[0]])
            for first, table in self.tables()
        ]
        return np.concatenate(found)

    def _read(self, number: int) -> Table:
        table = self._convert(self._rows.read(number))
        if isinstance(self._rows.parts[number], PartitionGraph):
            values = table.data if issparse(table) else table
            found = zlib.crc32(np.ascontiguousarray(values).data)
            is_same = found == self._checksums.setdefault(number, found)
            if not is_same or table.shape[0] != self._rows.sizes[number]:
                raise RuntimeError(CHANGED.format(self._rows.name))
        return table

    def __getitem__(self, key: Any) -> Table:
        """Return some rows, or some features of some or all rows; by one reading."""
        rows, features = key if isinstance(key, tuple) else (key, slice(None))
        rows = np.arange(self.shape[0])[rows]
        needed = np.zeros(self.shape[0], dtype=np.bool_)
        needed[rows] = True
        found = [
            table[needed[first : first + table.shape[0]]][:, features]
            for first, table in self.tables(needed)
        ]
        # where each needed row is among those that were found
        place = (np.cumsum(needed) - 1)[rows]
        if not found:
            return np.empty((0, self.shape[1]))[:, features]
        joined = vstack(found, "csr") if issparse(found[0]) else np.concatenate(found)
        return joined[place]


CHANGED = (
    "a partition of {} had other rows when it was read again: the data are read "
    "several times during a fit, so let no one write them, make what computes them "
    "deterministic, or persist() them"
)


class PartBinMapper(BinMapper):
    """A bin mapper that reads the partitions of a table one after another."""

    def transform(
        self, X: Table, rows: NDArray[np.intp], team: ThreadTeam
    ) -> BinnedData:
        """Bin some rows of X, see `BinMapper.transform`."""
        if not isinstance(X, PartTable):
            return super().transform(X, rows, team)
        place = np.full(X.shape[0], -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        binned = allocate_binned_data(len(rows), self.n_bins, team.n_threads)
        binned.n_categories[self.categories.feature] = self.categories.n_bins
        for first, table in X.tables(place >= 0):
            to = place[first : first + table.shape[0]]
            own = np.flatnonzero(to >= 0)
            part = super().transform(table, own, team)
            binned.values[:, to[own]] = part.values
        return binned


def hash_rows(X: Table, rows: NDArray[np.intp], team: ThreadTeam) -> HashArray:
    """Return the hashes of some rows of a table, (n_rows,)."""
    if not isinstance(X, PartTable):
        return hash_values(X, rows, team)
    hashes = np.zeros(X.shape[0], dtype=np.uint64)
    for first, table in X.tables():
        own = np.arange(table.shape[0])
        hashes[first : first + len(own)] = hash_values(table, own, team)
    return hashes[rows]
