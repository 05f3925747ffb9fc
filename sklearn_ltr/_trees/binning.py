"""Binning: features become small integers.

A feature has one bin per distinct value if there are few, otherwise at most 255 bins of
about equal population.  Bin ``b`` holds the values
``x`` with ``bin_thresholds[b - 1] < x <= bin_thresholds[b]``; NaN is in bin 255.

Binned values are bytes, column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import ThreadTeam, kernel, uint64
from sklearn_ltr._data import TrainingData
from sklearn_ltr._data.query_index import QueryIndex
from sklearn_ltr._data.row_hashes import (
    ROWS_PER_HASH_TASK,
    HashArray,
    keys_of_columns,
    mix_bits,
)
from sklearn_ltr._data.tables import ColumnReader, Matrix, RowBinner, Table
from sklearn_ltr._saved import saved_part
from sklearn_ltr._trees.categories import (
    NO_CATEGORY_BINS,
    CategoryBins,
    TrainingCategories,
)

MISSING_BIN = 255  # the bin of NaN
MAX_SAMPLE_ROWS = 200_000  # rows from which the quantiles are computed
FEATURES_PER_READ = 16  # read from X together: in a row they share cache lines
ROW_TILE = 512  # rows that are binned together
COARSE_STEP = 16  # every 16th threshold is tried first, then those in between


class BinnedData(NamedTuple):
    """Binned values of a table."""

    columns: NDArray[np.uint8]  # (n_features, n_rows)
    n_bins: NDArray[np.int64]  # (n_features,): missing not counted
    n_categories: NDArray[np.int64]  # (n_features,): bins of a categorical one, else 0


def reorder_rows(binned: BinnedData, order: NDArray[np.intp], team: ThreadTeam) -> None:
    """Move row ``order[i]`` to row i, in place."""
    columns = iter(binned.columns)  # shared by the threads

    def reorder_columns(thread: int) -> None:
        for column in columns:
            column[...] = column[order]

    team.run(reorder_columns)


def find_bin_thresholds(
    values: NDArray[np.floating], max_bins: int
) -> NDArray[np.float64]:
    """Return the ascending thresholds, (n_bins - 1,), between bins of a feature."""
    # midpoints between neighbouring distinct values: between all if there are at most
    # `max_bins` of them, otherwise at the quantiles; NaN has a bin of its own.  The
    # values are sorted in place.
    values.sort()  # NaN last
    values = values[: np.searchsorted(values, np.nan)]
    is_new = values[1:] != values[:-1]
    if np.count_nonzero(is_new) < max_bins:
        starts = np.flatnonzero(is_new) + 1
    else:
        # the first new value at or after each quantile, so that no bin is empty
        quantiles = np.ceil(np.arange(1, max_bins) * len(values) / max_bins)
        starts = quantiles.astype(np.intp)
        at_quantile = values[starts]
        next_value = np.searchsorted(values, at_quantile, side="right")
        starts = np.where(at_quantile != values[starts - 1], starts, next_value)
        starts = np.unique(starts[starts < len(values)])
    below = values[starts - 1].astype(np.float64)
    above = values[starts].astype(np.float64)
    middle = below / 2 + above / 2  # (below + above) / 2 might overflow
    return np.where((below <= middle) & (middle < above), middle, below)


class TileBuffers(NamedTuple):
    """Memory of one thread for a tile of rows."""

    values: NDArray[np.float64]  # (ROW_TILE,)
    bins: NDArray[np.uint64]  # (ROW_TILE,)


@kernel
def write_bins(
    X: NDArray[np.floating],
    rows: NDArray[np.intp],
    thresholds: NDArray[np.float64],
    n_thresholds: NDArray[np.int64],
    first_row: int,
    buffers: TileBuffers,
    columns: NDArray[np.uint8],
) -> None:
    """Bin rows of X, and store row ``rows[i]`` as row ``first_row + i``."""
    # The bin of a value is the number of thresholds below it.  All rows of a tile take
    # each step of the search together, which vectorises: first they count every 16th
    # threshold, then they search the 15 that follow by bisection.  `thresholds`,
    # (n_features, 255), are padded with inf, so bisection needs no bounds checks;
    # `n_thresholds` does not count the padding.
    values, bins = buffers.values, buffers.bins
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

    bin_thresholds: list[NDArray[np.float64]]
    categories: CategoryBins = NO_CATEGORY_BINS

    @property
    def n_bins(self) -> NDArray[np.int64]:
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
        firsts = iter(range(0, len(rows), n_rows_per_call))  # shared by the threads

        def bin_part(thread: int) -> None:
            buffers = TileBuffers(
                np.empty(ROW_TILE), np.empty(ROW_TILE, dtype=np.uint64)
            )
            for first in firsts:
                part = rows[first : first + n_rows_per_call]
                table, part = self.categories.encode_rows(X, part)
                write_bins(table, part, padded, n_thresholds, first, buffers, columns)

        team.run(bin_part)
        return columns

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
            finite = np.isfinite(thresholds).all()
            if (
                not finite
                or len(thresholds) >= MISSING_BIN
                or (np.diff(thresholds) <= 0).any()
            ):
                raise ValueError("bin_thresholds do not ascend, or are too many")
        self.categories.check(self.n_bins)


class KnownBins(NamedTuple):
    """Bins of rows that several fits share."""

    mapper: BinMapper
    columns: NDArray[np.uint8]  # (n_features, n_binned_rows)
    hashes: HashArray  # (n_binned_rows,), see `hash_bins`
    place: NDArray[np.intp]  # (n_rows,): where each row is among these; -1: nowhere

    def take(self, places: NDArray[np.intp], team: ThreadTeam) -> NDArray[np.uint8]:
        """Return the bins at some places; if these are all in order, without a copy."""
        columns = self.columns
        if np.array_equal(places, np.arange(columns.shape[1])):
            return columns
        taken = np.empty((len(columns), len(places)), dtype=np.uint8)
        pairs = iter(list(zip(columns, taken, strict=True)))  # shared by the threads

        def take_columns(thread: int) -> None:
            for column, target in pairs:
                target[...] = column[places]

        team.run(take_columns)
        return taken


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Some rows of a table, whose bins are known.

    Attributes
    ----------
    source : Table
    index : ndarray of shape (n_rows,), intp
        Row of the source that each row is.
    known_bins : KnownBins
        Of these rows.
    """

    source: Table
    index: NDArray[np.intp]
    known_bins: KnownBins

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return len(self.index), self.source.shape[1]

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.index) * self.source.shape[1]

    def __getitem__(self, rows: NDArray[np.intp]) -> BinnedTable:
        """Return a table of some rows."""
        known = self.known_bins._replace(place=self.known_bins.place[rows])
        return BinnedTable(self.source, self.index[rows], known)

    def take(
        self, rows: NDArray[np.intp], features: NDArray[np.int64] | None = None
    ) -> Matrix:
        """Return the values of some rows, of some or of all features."""
        return self.source.take(self.index[rows], features)

    def columns(self, rows: NDArray[np.intp]) -> ColumnReader:
        """Return a function of (first, last) that reads these features of rows."""
        return self.source.columns(self.index[rows])

    def hashes(self, rows: NDArray[np.intp], team: ThreadTeam) -> HashArray:
        """Return the hash of the content of each of these rows."""
        return self.source.hashes(self.index[rows], team)

    def bin(
        self, binner: RowBinner, rows: NDArray[np.intp], team: ThreadTeam
    ) -> NDArray[np.uint8]:
        """Return the known bins of some rows, (n_features, n_rows)."""
        return self.known_bins.take(self.known_bins.place[rows], team)

    def parts(self) -> Iterator[tuple[int, Matrix]]:
        """Yield (0, values): there is one part."""
        yield 0, self.source.take(self.index)


def sample_rows(
    data: TrainingData, index: QueryIndex, seed: int, team: ThreadTeam
) -> NDArray[np.intp]:
    """Return which of this worker's rows are used to learn bins."""
    # up to 200,000 of the rows of all workers are drawn, in the order of their content
    if index.n_rows <= MAX_SAMPLE_ROWS:
        return data.rows
    order = data.content_order(data.X.hashes(data.rows, team))
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
    # Each block of 16 features is sent to one worker, which sorts its values.
    own: dict[int, NDArray[np.float64]] = {}
    blocks = iter(list(own_features(X, sampled, comm)))  # shared by the threads

    def find_thresholds(thread: int) -> None:
        for first, read_values in blocks:
            # no name refers to the values while the next ones are read
            learned = [find_bin_thresholds(each, max_bins) for each in read_values().T]
            own.update(enumerate(learned, first))

    team.run(find_thresholds)
    found: dict[int, NDArray[np.float64]] = {}
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
    bins_of_features = mapper.categories.bins_in_training(
        data.X, data.rows, *trained, smoothing
    )
    for j, bins in bins_of_features:
        binned.columns[j] = bins
    return binned


def shared_category_bins(
    binned: BinnedData, categories: CategoryBins
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the features whose categories share bins, and these bins."""
    # (n_rows, n_shared), NaN if missing
    features = categories.feature[categories.has_shared]
    bins = binned.columns[features].T.astype(np.float64)
    return features, np.where(bins == MISSING_BIN, np.nan, bins)


@kernel
def add_bin_hashes(
    column: NDArray[np.uint8], key: int, first: int, last: int, hashes: HashArray
) -> None:
    """Add the hashes of rows ``first`` to ``last - 1`` of a column."""
    for row in range(uint64(first), uint64(last)):
        hashes[row] += mix_bits(uint64(column[row]) + key)


def hash_bins(binned: BinnedData, team: ThreadTeam) -> HashArray:
    """Return the hashes of the rows of a binned table, (n_rows,)."""
    n_features, n_rows = binned.columns.shape
    keys = keys_of_columns(np.arange(n_features))
    hashes = np.zeros(n_rows, dtype=np.uint64)
    firsts = iter(range(0, n_rows, ROWS_PER_HASH_TASK))  # shared by the threads

    def hash_part(thread: int) -> None:
        with np.errstate(over="ignore"):
            for first in firsts:
                last = min(first + ROWS_PER_HASH_TASK, n_rows)
                for column, key in zip(binned.columns, keys, strict=True):
                    add_bin_hashes(column, key, first, last, hashes)

    team.run(hash_part)
    return hashes
