"""Binning: features become small integers.

A feature has one bin per distinct value if there are few, otherwise at most 255 bins of
about equal population.  Bin ``b`` holds the values
``x`` with ``bin_thresholds[b - 1] < x <= bin_thresholds[b]``; NaN is in bin 255.

Binned values are bytes, column by column
(:mod:`sklearn_ltr._core.data.binned_columns`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import ThreadTeam, kernel, uint64
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.data.binned_columns import (
    BIN_MASK,
    COLUMN_SHIFT,
    ROW_BITS,
    ROW_MASK,
    BinnedColumns,
    SparseColumns,
    sort_entries,
    stored_by_entries,
)
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.data.row_hashes import (
    ROWS_PER_HASH_TASK,
    HashArray,
    keys_of_columns,
    mix_bits,
)
from sklearn_ltr._core.data.tables import (
    Matrix,
    Table,
    nonzeros_by_column,
)
from sklearn_ltr._core.saving import saved_part
from sklearn_ltr._core.trees.categories import (
    NO_CATEGORY_BINS,
    CategoryBins,
    TrainingCategories,
)
from sklearn_ltr._core.typing import FloatArray, IntArray

MISSING_BIN = 255  # the bin of NaN
MAX_SAMPLE_ROWS = 200_000  # rows from which the quantiles are computed
FEATURES_PER_READ = 16  # read from X together: in a row they share cache lines
ROW_TILE = 512  # rows that are binned together
COARSE_STEP = 16  # every 16th threshold is tried first, then those in between


class BinnedData(NamedTuple):
    """Binned values of a table."""

    stored: BinnedColumns
    n_bins: IntArray  # (n_features,): missing not counted
    n_categories: IntArray  # (n_features,): bins of a categorical one, else 0


def find_bin_thresholds(values: NDArray[np.floating], max_bins: int) -> FloatArray:
    """Return the ascending thresholds, (n_bins - 1,), between bins of a feature."""
    # NaN has a bin of its own; the values are sorted in place
    values.sort()  # NaN last
    values = values[: np.searchsorted(values, np.nan)]
    first = np.append(0, np.flatnonzero(values[1:] != values[:-1]) + 1)
    starts = first[1:][choose_starts(first, len(values), max_bins)]
    return midpoints(values[starts - 1], values[starts])


def choose_starts(
    first: NDArray[np.intp], n_values: int, max_bins: int
) -> NDArray[np.intp] | slice:
    """Choose the distinct values, but for the lowest, with which bins start."""
    # `first` are the places of the distinct values among all values, ascending.  If
    # there are at most `max_bins`, each has a bin; otherwise bins start at the first
    # new value at or after each quantile, so that no bin is empty.
    if len(first) <= max_bins:
        return slice(None)
    quantiles = np.ceil(np.arange(1, max_bins) * n_values / max_bins)
    starts = np.unique(np.searchsorted(first, quantiles.astype(np.intp)))
    return starts[starts < len(first)] - 1


def midpoints(below: NDArray[np.floating], above: NDArray[np.floating]) -> FloatArray:
    """Return thresholds half-way between values, which no value above reaches."""
    below, above = below.astype(np.float64), above.astype(np.float64)
    middle = below / 2 + above / 2  # (below + above) / 2 might overflow
    return np.where((below <= middle) & (middle < above), middle, below)


def find_sparse_thresholds(
    X: Matrix, max_bins: int, team: ThreadTeam
) -> list[FloatArray]:
    """Return the thresholds of each column of a CSC matrix of nonzeros."""
    # as `find_bin_thresholds` of all values; the nonzeros are sorted in place
    n_rows, n_features = X.shape
    sizes = np.diff(X.indptr)
    by_entries = stored_by_entries(sizes, n_rows)
    dense, sparse = np.flatnonzero(~by_entries), np.flatnonzero(by_entries)

    def find_in_all_rows(j: int) -> FloatArray:
        values = np.zeros(n_rows, dtype=X.data.dtype)
        values[: sizes[j]] = X.data[X.indptr[j] : X.indptr[j + 1]]
        return find_bin_thresholds(values, max_bins)

    found = team.map(find_in_all_rows, dense)
    if len(sparse) > 0:
        found += thresholds_of_few(X[:, sparse], max_bins)
    thresholds = dict(zip([*dense, *sparse], found, strict=True))
    return [thresholds[j] for j in range(n_features)]


def thresholds_of_few(X: Matrix, max_bins: int) -> Iterator[FloatArray]:
    """Yield the thresholds of each column of a CSC matrix of few nonzeros."""
    n_rows, n_features = X.shape
    sizes = np.diff(X.indptr)
    for first, last in pairwise(X.indptr.tolist()):
        if last - first > 1:
            X.data[first:last].sort()  # NaN last
    is_value = ~np.isnan(X.data)
    values = X.data[is_value].astype(np.float64)
    column = np.arange(n_features).repeat(sizes)[is_value]
    # the distinct values of all columns, and how often each occurs
    is_new = (values[1:] != values[:-1]) | (column[1:] != column[:-1])
    first = np.append(0, np.flatnonzero(is_new) + 1)[: len(values)]
    counts = np.diff(first, append=len(values))
    values, column = values[first], column[first]
    # 0 is one of them, since some rows of each column are not stored
    columns = np.arange(n_features)
    n_negative = np.bincount(column[values < 0], minlength=n_features)
    place = np.searchsorted(column, columns) + n_negative
    counts = np.insert(counts, place, n_rows - sizes)
    values = np.insert(values, place, 0.0)
    column = np.insert(column, place, columns)
    middles = midpoints(values[:-1], values[1:])  # also between columns, not used
    bounds = np.searchsorted(column, np.arange(n_features + 1)).tolist()
    for start, stop in pairwise(bounds):
        own = middles[start : stop - 1]
        if stop - start > max_bins:
            ends = np.cumsum(counts[start:stop])
            firsts = ends - counts[start:stop]
            own = own[choose_starts(firsts, int(ends[-1]), max_bins)]
        yield own.copy()


@kernel
def write_bins(
    X: NDArray[np.floating],
    rows: NDArray[np.intp],
    thresholds: FloatArray,
    n_thresholds: IntArray,
    first_row: int,
    columns: NDArray[np.uint8],
) -> None:
    """Bin rows of X, and store row ``rows[i]`` as row ``first_row + i``."""
    # The bin of a value is the number of thresholds below it.  All rows of a tile take
    # each step of the search together, which vectorises: first they count every 16th
    # threshold, then they search the 15 that follow by bisection.  `thresholds`,
    # (n_features, 255), are padded with inf, so bisection needs no bounds checks;
    # `n_thresholds` does not count the padding.
    values, bins = np.empty(ROW_TILE), np.empty(ROW_TILE, np.uint64)
    # unsigned, since numba checks signed indices for negative values
    zero, one, step = uint64(0), uint64(1), uint64(COARSE_STEP)
    for start in range(0, len(rows), ROW_TILE):
        n_rows = uint64(min(ROW_TILE, len(rows) - start))
        first, stored_first = uint64(start), uint64(first_row + start)
        for feature in range(X.shape[1]):
            for i in range(n_rows):
                values[i] = X[uint64(rows[first + uint64(i)]), feature]
                bins[i] = zero
            for k in range(COARSE_STEP - 1, n_thresholds[feature], COARSE_STEP):
                threshold = thresholds[feature, k]
                for i in range(n_rows):
                    bins[i] += step if values[i] > threshold else zero
            width = step >> one
            while width >= one:
                for i in range(n_rows):
                    threshold = thresholds[feature, bins[i] + width - one]
                    bins[i] += width if values[i] > threshold else zero
                width >>= one
            for i in range(n_rows):
                missing = values[i] != values[i]
                columns[feature, stored_first + uint64(i)] = (
                    MISSING_BIN if missing else bins[i]
                )


@saved_part
@dataclass(frozen=True)
class BinMapper:
    """Bins of each feature, learned once, then applied to any table.

    Attributes
    ----------
    bin_thresholds : list of n_features ndarrays, float64
        Ascending; feature j has ``len(bin_thresholds[j]) + 1`` bins.  A
        categorical feature has 0.5, 1.5, ...: its values are bins already.
    categories : CategoryBins
    """

    bin_thresholds: list[FloatArray]
    categories: CategoryBins = NO_CATEGORY_BINS

    @property
    def n_bins(self) -> IntArray:
        """Bins of each feature, missing not counted: (n_features,) int64."""
        return np.array([len(t) + 1 for t in self.bin_thresholds], dtype=np.int64)

    def transform(
        self, X: Table, rows: NDArray[np.intp], team: ThreadTeam
    ) -> BinnedData:
        """Return the bins of some rows of X."""
        n_categories = np.zeros_like(self.n_bins)
        n_categories[self.categories.feature] = self.categories.n_bins
        return BinnedData(X.bin(self, rows, team), self.n_bins, n_categories)

    def bin_rows(
        self, X: Matrix, rows: NDArray[np.intp], team: ThreadTeam
    ) -> NDArray[np.uint8]:
        """Return the bins of some rows of a matrix, (n_features, n_rows)."""
        columns = np.empty((X.shape[1], len(rows)), dtype=np.uint8)
        n_thresholds = self.n_bins - 1
        padded = np.full((X.shape[1], MISSING_BIN), np.inf)
        for j, thresholds in enumerate(self.bin_thresholds):
            padded[j, : len(thresholds)] = thresholds
        n_rows_per_call = 4 * ROW_TILE

        def bin_part(first: int) -> None:
            part = rows[first : first + n_rows_per_call]
            table, part = self.categories.encode_rows(X, part)
            write_bins(table, part, padded, n_thresholds, first, columns)

        team.map(bin_part, range(0, len(rows), n_rows_per_call))
        return columns

    def bin_nonzeros(self, X: Matrix, team: ThreadTeam) -> BinnedColumns:
        """Return the bins of a CSR matrix, which has no categorical features."""
        X, n_rows = nonzeros_by_column(X), X.shape[0]
        sizes = np.diff(X.indptr)
        by_entries = stored_by_entries(sizes, n_rows)
        zeros = [thresholds.searchsorted(0.0) for thresholds in self.bin_thresholds]
        zero_bin = np.array(zeros, dtype=np.uint8)
        dense, sparse = np.flatnonzero(~by_entries), np.flatnonzero(by_entries)
        columns = np.empty((len(dense), n_rows), dtype=np.uint8)

        def bin_column(j: int, column: NDArray[np.uint8]) -> None:
            own = slice(X.indptr[j], X.indptr[j + 1])
            column[:] = zero_bin[j]
            column[X.indices[own]] = self._bins_of(j, X.data[own])

        team.map(bin_column, dense, columns)
        if len(sparse) == 0:
            return BinnedColumns(columns)
        X = X[:, sparse]
        bins = np.empty(len(X.data), dtype=np.uint8)
        for j, (first, last) in zip(
            sparse.tolist(), pairwise(X.indptr.tolist()), strict=True
        ):
            bins[first:last] = self._bins_of(j, X.data[first:last])
        column = np.arange(len(sparse)).repeat(np.diff(X.indptr))
        default_bin = zero_bin[sparse]
        differs = bins != default_bin[column]
        entries = sort_entries(column[differs], bins[differs], X.indices[differs])
        found = SparseColumns(sparse, default_bin, entries, n_rows)
        return BinnedColumns(columns, found)

    def _bins_of(
        self, feature: int, values: NDArray[np.floating]
    ) -> NDArray[np.integer]:
        """Return the bins of values of a feature."""
        bins = self.bin_thresholds[feature].searchsorted(values)
        bins[np.isnan(values)] = MISSING_BIN
        return bins

    def check(self, n_features: int) -> None:
        """Raise a ValueError unless there are ascending thresholds for each feature."""
        bin_thresholds = self.bin_thresholds
        if len(bin_thresholds) != n_features:
            raise ValueError(
                f"only {len(bin_thresholds)} of {n_features} features have bins"
            )
        for thresholds in bin_thresholds:
            if thresholds.dtype != np.float64 or thresholds.ndim != 1:
                raise ValueError("bin_thresholds are not float64")
            ascend = np.isfinite(thresholds).all() and (np.diff(thresholds) > 0).all()
            if not ascend or len(thresholds) >= MISSING_BIN:
                raise ValueError("bin_thresholds do not ascend, or are too many")
        self.categories.check(self.n_bins)


class KnownBins(NamedTuple):
    """Bins of rows that several fits share."""

    mapper: BinMapper
    stored: BinnedColumns  # of n_binned_rows
    hashes: HashArray  # (n_binned_rows,), see `hash_bins`
    place: NDArray[np.intp]  # (n_rows,): where each row is among these; -1: nowhere


def sample_rows(
    data: TrainingData, index: QueryIndex, seed: int, team: ThreadTeam
) -> NDArray[np.intp]:
    """Return which of this worker's rows are used to learn bins."""
    # up to 200,000 of the rows of all workers are drawn, in the order of their content
    if index.n_rows <= MAX_SAMPLE_ROWS:
        return data.rows
    order = data.content_order(data.X.hashes(data.rows, team), team)
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.choice(index.n_rows, MAX_SAMPLE_ROWS, replace=False))
    sampled: NDArray[np.intp] = data.rows[order][index.own_rows(drawn)]
    return sampled


def fit_bins(
    X: Table,
    sampled: NDArray[np.intp],
    max_bins: int,
    categories: CategoryBins,
    comm: Comm,
    team: ThreadTeam,
) -> BinMapper:
    """Learn the bins of each feature from the sampled rows of all workers."""
    nonzeros = X.by_column(sampled) if comm.n_workers == 1 else None
    if nonzeros is not None:
        return BinMapper(find_sparse_thresholds(nonzeros, max_bins, team), categories)

    # Each block of 16 features is sent to one worker, which sorts its values.
    def find_thresholds(
        first: int, read_values: Callable[[], NDArray[np.floating]]
    ) -> Iterable[tuple[int, FloatArray]]:
        learned = [find_bin_thresholds(each, max_bins) for each in read_values().T]
        return enumerate(learned, first)

    blocks = zip(*own_features(X, sampled, comm), strict=True)
    own = dict(chain(*team.map(find_thresholds, *blocks)))
    found: dict[int, FloatArray] = {}
    for part in comm.gather(own):
        found |= part
    # copied: arrays of another process may be read-only
    thresholds = [np.array(found[j]) for j in range(X.shape[1])]
    for j, n_bins in zip(categories.feature, categories.n_bins, strict=True):
        thresholds[j] = np.arange(n_bins - 1) + 0.5
    return BinMapper(thresholds, categories)


def own_features(
    X: Table, sampled: NDArray[np.intp], comm: Comm
) -> Iterator[tuple[int, Callable[[], NDArray[np.floating]]]]:
    """Yield (first feature, function that returns the values) of each own block."""
    # with one worker, a thread reads the values when it needs them; else they are
    # gathered here, as workers must exchange in the same order
    n_features = X.shape[1]
    read_columns = X.columns(sampled)
    for turn, first in enumerate(range(0, n_features, FEATURES_PER_READ)):
        last = min(first + FEATURES_PER_READ, n_features)
        if comm.n_workers == 1:
            yield first, partial(read_columns, first, last)
            continue
        root = turn % comm.n_workers
        gathered = comm.gather_to(root, read_columns(first, last))
        if comm.rank == root:
            yield first, partial(np.concatenate, gathered)


def bin_training(
    mapper: BinMapper,
    data: TrainingData,
    trained: TrainingCategories,
    smoothing: float,
    team: ThreadTeam,
) -> BinnedData:
    """Bin the rows; where categories share bins, by the targets of other folds."""
    binned = mapper.transform(data.X, data.rows, team)
    of_features = mapper.categories.bins_in_training(
        data.X, data.rows, trained, smoothing, team
    )
    for j, bins in of_features:  # there are none if X is sparse
        binned.stored.columns[j] = bins
    return binned


@kernel
def add_bin_hashes(
    column: NDArray[np.uint8], key: int, first: int, last: int, hashes: HashArray
) -> None:
    """Add the hashes of rows ``first`` to ``last - 1`` of a column."""
    for row in range(uint64(first), uint64(last)):
        hashes[row] += mix_bits(uint64(column[row]) + key)


@kernel
def add_entry_hashes(
    entries: IntArray,
    default_bin: NDArray[np.uint8],
    keys: HashArray,
    hashes: HashArray,
) -> None:
    """Add the hashes of sparse columns, given the key of each."""
    of_defaults = uint64(0)  # of a row without entries
    for column in range(len(keys)):
        of_defaults += mix_bits(uint64(default_bin[column]) + keys[column])
    for row in range(len(hashes)):
        hashes[row] += of_defaults
    for entry in entries:
        column, b = entry >> COLUMN_SHIFT, entry >> ROW_BITS & BIN_MASK
        key = keys[column]
        differs = mix_bits(uint64(b) + key) - mix_bits(
            uint64(default_bin[column]) + key
        )
        hashes[entry & ROW_MASK] += differs


def hash_bins(binned: BinnedData, team: ThreadTeam) -> HashArray:
    """Return the hashes of the rows of a binned table, (n_rows,)."""
    (columns, sparse), n_rows = binned.stored, binned.stored.n_rows
    keys = keys_of_columns(np.arange(len(binned.n_bins)))
    hashes = np.zeros(n_rows, dtype=np.uint64)
    if sparse is not None:
        own = keys[sparse.feature]
        add_entry_hashes(sparse.entries, sparse.default_bin, own, hashes)
        keys = np.delete(keys, sparse.feature)

    def hash_part(first: int) -> None:
        last = min(first + ROWS_PER_HASH_TASK, n_rows)
        with np.errstate(over="ignore"):
            for column, key in zip(columns, keys, strict=True):
                add_bin_hashes(column, key, first, last, hashes)

    team.map(hash_part, range(0, n_rows, ROWS_PER_HASH_TASK))
    return hashes
