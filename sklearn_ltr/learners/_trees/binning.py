"""Binning: features become small integers, stored in blocks for the histograms.

A feature has one bin per distinct value if there are few, otherwise at most 255 bins of
about equal population.  Bin ``b`` holds the values
``x`` with ``bin_thresholds[b - 1] < x <= bin_thresholds[b]``; NaN is in bin 255.

Binned values are bytes, in blocks of 16 features: ``values[block, row, slot]``.  The
histogram of a block, 256 bins x 16 features of int64, is 32 KiB, so it stays in the
first-level cache.  Clearing, subtracting and scanning a block take as long as its
feature with the most bins needs (adding rows takes the same for all); therefore
features are sorted by their number of bins before they are divided into blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam, kernel, uint64
from sklearn_ltr.learners._tables import Table, columns_reader
from sklearn_ltr.learners._trees.categories import NO_CATEGORIES, CategoryBins

FEATURE_BLOCK = 16  # features of a block
MISSING_BIN = 255  # the bin of NaN
HISTOGRAM_BINS = MISSING_BIN + 1
MAX_SAMPLE_ROWS = 200_000  # rows from which the quantiles are computed
FEATURES_PER_READ = 16  # read from X together: in a row they share cache lines
ROW_TILE = 512  # rows that are binned together
COARSE_STEP = 16  # every 16th threshold is tried first, then those in between


class BinnedData(NamedTuple):
    """Binned values of a table, and where each feature is stored."""

    values: NDArray[np.uint8]  # (n_blocks, n_rows, 16)
    feature: NDArray[np.int64]  # (n_blocks, 16): feature in a slot; -1: not used
    # (n_blocks,): slots from it on hold no feature; 0: skip the block.  (A slot below
    # it may be unused, too: see restrict_features.)
    n_used_slots: NDArray[np.int64]
    n_bins: NDArray[np.int64]  # (n_blocks,): largest number of bins of its features
    block: NDArray[np.int64]  # (n_features,): block of feature j
    slot: NDArray[np.int64]  # (n_features,): its slot: values[block[j], :, slot[j]]
    # (n_features,): number of bins of a categorical feature, else 0
    n_categories: NDArray[np.int64]


def allocate_binned_data(
    n_rows: int, n_bins: NDArray[np.int64], n_threads: int
) -> BinnedData:
    """Distribute features over blocks that are equal work for each thread.

    The number of full blocks is a multiple of the number of threads.  Features left
    over are split evenly into at most one block per thread.  (Threads take blocks from
    a counter.)  So the layout depends on `n_threads`; trees do not.
    """
    order = np.argsort(-n_bins, kind="stable")
    n_full = len(order) // (FEATURE_BLOCK * n_threads) * n_threads
    rest = order[n_full * FEATURE_BLOCK :]
    blocks = list(order[: n_full * FEATURE_BLOCK].reshape(n_full, FEATURE_BLOCK))
    blocks += np.array_split(rest, min(len(rest), n_threads)) if len(rest) else []
    feature = np.full((len(blocks), FEATURE_BLOCK), -1)
    for slots, features in zip(feature, blocks, strict=True):
        slots[: len(features)] = features
    block, slot = np.nonzero(feature >= 0)
    by_feature = np.argsort(feature[block, slot])
    return BinnedData(
        values=np.zeros((len(blocks), n_rows, FEATURE_BLOCK), dtype=np.uint8),
        feature=feature,
        n_used_slots=np.array([len(features) for features in blocks]),
        n_bins=np.array([n_bins[features].max() for features in blocks]),
        block=block[by_feature],
        slot=slot[by_feature],
        n_categories=np.zeros_like(n_bins),
    )


def restrict_features(binned: BinnedData, features: NDArray[np.int64]) -> BinnedData:
    """Return the same binned values, of which only `features` are used in splits."""
    feature = np.where(np.isin(binned.feature, features), binned.feature, -1)
    n_used_slots = np.where((feature >= 0).any(axis=1), binned.n_used_slots, 0)
    return binned._replace(feature=feature, n_used_slots=n_used_slots)


def reorder_rows(binned: BinnedData, order: NDArray[np.intp], team: ThreadTeam) -> None:
    """Move row ``order[i]`` to row i, in place."""
    blocks = iter(binned.values)  # shared by the threads

    def reorder_blocks(thread: int) -> None:
        for block in blocks:
            block[...] = block[order]

    team.run(reorder_blocks)


def find_bin_thresholds(
    values: NDArray[np.floating], max_bins: int
) -> NDArray[np.float64]:
    """Return the thresholds between the bins of one feature, ascending.

    Parameters
    ----------
    values : ndarray of shape (n,), any real dtype
        A sample of the feature's values; NaN is ignored.
    max_bins : int in [2, 255]
        Maximum number of bins.

    Returns
    -------
    bin_thresholds : ndarray of shape (n_bins - 1,), float64
        Midpoints between neighbouring distinct values: between all of them if there are
        at most `max_bins`, otherwise at the quantiles.
    """
    values = np.sort(values)  # NaN last
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


def draw_sample(n_rows: int, seed: int) -> NDArray[np.int64]:
    """Return the rows of which bins are computed, where there are too many; sorted."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_rows, MAX_SAMPLE_ROWS, replace=False))


class TileBuffers(NamedTuple):
    """Memory of one thread for a tile of rows."""

    values: NDArray[np.float64]  # (ROW_TILE,)
    bins: NDArray[np.uint64]  # (ROW_TILE,)


@kernel
def bin_rows(
    X: NDArray[np.floating],
    rows: NDArray[np.intp],
    thresholds: NDArray[np.float64],
    n_thresholds: NDArray[np.int64],
    first_row: int,
    buffers: TileBuffers,
    binned: BinnedData,
) -> None:
    """Bin rows of X, and store row ``rows[i]`` as row ``first_row + i``.

    The bin of a value is the number of thresholds below it.  All rows of a tile take
    each step of the search together, which vectorises: first they count every 16th
    threshold, then they search the 15 that follow by bisection.

    Parameters
    ----------
    X : ndarray of shape (n, n_features), float32 or float64, C-contiguous, read-only
    rows : ndarray of shape (n_rows,), intp, read-only
    thresholds : ndarray of shape (n_features, 255), float64
        Bin thresholds, padded with inf: then bisection needs no bounds checks.
    n_thresholds : ndarray of shape (n_features,), int64
        Thresholds of each feature, padding not counted.
    first_row : int
        Row of `binned` that ``rows[0]`` is stored as.
    buffers : TileBuffers
    binned : BinnedData
        Receives the bins.
    """
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
            block, slot = binned.block[feature], binned.slot[feature]
            for i in range(n_rows):
                missing = values[i] != values[i]
                binned.values[block, stored_first + uint64(i), slot] = (
                    MISSING_BIN if missing else bins[i]
                )


@dataclass(frozen=True)
class BinMapper:
    """Bins of each feature, learned once, then applied to any table.

    Attributes
    ----------
    bin_thresholds : list of n_features ndarrays, float64
        Ascending; feature j has ``len(bin_thresholds[j]) + 1`` bins.  Those of a
        categorical feature are 0.5, 1.5, ...: its values are bins already.
    categories : CategoryBins
    """

    bin_thresholds: list[NDArray[np.float64]]
    categories: CategoryBins = NO_CATEGORIES

    @classmethod
    def fit(
        cls,
        X: Table,
        rows: NDArray[np.intp],
        max_bins: int,
        seed: int,
        team: ThreadTeam,
        categories: CategoryBins = NO_CATEGORIES,
    ) -> BinMapper:
        """Learn from some rows of X, or from a sample of 200,000 of them.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_features), float32 or float64
        rows : ndarray of shape (n_rows,), intp
        max_bins : int in [2, 255]
            Maximum number of bins of a feature, the missing bin not counted.
        seed : int
        team : ThreadTeam
        categories : CategoryBins
            The bins of categorical features.  If there are any, X is dense.
        """
        if len(rows) > MAX_SAMPLE_ROWS:
            rows = rows[draw_sample(len(rows), seed)]
        n_features = X.shape[1]
        thresholds: list[NDArray[np.float64]] = [np.empty(0)] * n_features
        read_features = columns_reader(X, rows)
        # shared by the threads: each takes the next features when it is done
        firsts = iter(range(0, n_features, FEATURES_PER_READ))

        def fit_features(thread: int) -> None:
            for first in firsts:
                last = min(first + FEATURES_PER_READ, n_features)
                for j, values in enumerate(read_features(first, last).T, first):
                    thresholds[j] = find_bin_thresholds(values, max_bins)

        team.run(fit_features)
        return cls.of_thresholds(thresholds, categories)

    @classmethod
    def of_thresholds(
        cls, thresholds: list[NDArray[np.float64]], categories: CategoryBins
    ) -> BinMapper:
        """Return a mapper of the thresholds of the features without categories."""
        for j, n_bins in zip(categories.feature, categories.n_bins, strict=True):
            thresholds[j] = np.arange(n_bins - 1) + 0.5
        return cls(thresholds, categories)

    @property
    def n_bins(self) -> NDArray[np.int64]:
        """Bins of each feature, missing not counted: (n_features,) int64."""
        return np.array([len(t) + 1 for t in self.bin_thresholds], dtype=np.int64)

    def transform(
        self, X: Table, rows: NDArray[np.intp], team: ThreadTeam
    ) -> BinnedData:
        """Bin some rows of X, stored for histograms made by the threads of `team`."""
        n_rows, n_features = len(rows), X.shape[1]
        binned = allocate_binned_data(n_rows, self.n_bins, team.n_threads)
        categories, n_thresholds = self.categories, self.n_bins - 1
        binned.n_categories[categories.feature] = categories.n_bins
        padded = np.full((n_features, MISSING_BIN), np.inf)
        for j, thresholds in enumerate(self.bin_thresholds):
            padded[j, : len(thresholds)] = thresholds
        n_rows_per_call = 4 * ROW_TILE
        firsts = iter(range(0, n_rows, n_rows_per_call))  # shared by the threads

        def bin_part(thread: int) -> None:
            buffers = TileBuffers(
                np.empty(ROW_TILE), np.empty(ROW_TILE, dtype=np.uint64)
            )
            for first in firsts:
                part = rows[first : first + n_rows_per_call]
                table, part = categories.encode_rows(X, part)
                bin_rows(table, part, padded, n_thresholds, first, buffers, binned)

        team.run(bin_part)
        return binned
