"""Rows in blocks of 16 features, from which the histograms of a tree are made.

``values[block, i, slot]`` is the bin of row i of the sample that a tree is grown on.
The histogram of a block, 256 bins x 16 features of int64, is 32 KiB, so it stays in the
first-level cache.  Clearing, subtracting and scanning a block take as long as its
feature with the most bins needs (adding rows takes the same for all); therefore
features are sorted by their number of bins before they are divided into blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import (
    ThreadTeam,
    int64,
    shared_kernel,
    subkernel,
    uint64,
)
from sklearn_ltr._core.trees.binning import MISSING_BIN, BinnedData
from sklearn_ltr._core.trees.growth.quantization import chunk_bounds
from sklearn_ltr._core.typing import IntArray

FEATURE_BLOCK = 16  # features of a block
HISTOGRAM_BINS = MISSING_BIN + 1
PACKED_TILE = 1024  # rows that are packed together
PACKING_TIME = 5.0  # nanoseconds for a row in a block


class Blocks(NamedTuple):
    """The bins of the rows of a sample, and the block and slot of each feature."""

    values: NDArray[np.uint8]  # (n_blocks, n_rows, 16); a sample uses the first rows
    feature: IntArray  # (n_blocks, 16): feature in a slot; -1: not used
    # (n_blocks,): slots from this number on hold no feature; 0: the block is skipped.
    # (A lower slot may be unused, too: see restrict_features.)
    n_used_slots: IntArray
    in_use: IntArray  # (n_blocks_in_use,): those that are not skipped
    n_bins: IntArray  # (n_blocks,): largest number of bins of its features
    # (n_features,): feature j is in ``values[block, :, slot]`` with
    # ``block, slot = divmod(place[j], 16)``, or if place[j] is below 0, it is the
    # sparse column ``-1 - place[j]``
    place: IntArray
    column: IntArray  # (n_blocks, 16): of bytes, of the feature in a slot


def allocate_blocks(binned: BinnedData) -> Blocks:
    """Distribute features over blocks, those of the most bins first."""
    n_bins, n_rows = binned.n_bins, binned.stored.n_rows
    places = binned.stored.places(np.arange(len(n_bins)))
    order = np.argsort(-n_bins, kind="stable")
    order = order[places[order] >= 0]
    starts = range(0, len(order), FEATURE_BLOCK)
    blocks = [order[start : start + FEATURE_BLOCK] for start in starts]
    feature = np.full((len(blocks), FEATURE_BLOCK), -1)
    for slots, features in zip(feature, blocks, strict=True):
        slots[: len(features)] = features
    block, slot = np.nonzero(feature >= 0)
    column = np.where(feature >= 0, places[feature], 0)  # unused slots take any bins
    places[feature[block, slot]] = FEATURE_BLOCK * block + slot
    return Blocks(
        # the system gives memory to a page when it is first written, so that a sample
        # takes memory for its own rows only
        values=np.empty((len(blocks), n_rows, 2), dtype=np.uint64).view(np.uint8),
        feature=feature,
        n_used_slots=np.array([len(features) for features in blocks]),
        in_use=np.arange(len(blocks)),
        n_bins=np.array([n_bins[features].max() for features in blocks]),
        place=places,
        column=column,
    )


def restrict_features(blocks: Blocks, features: IntArray) -> Blocks:
    """Return the same blocks, with only `features` to split by."""
    feature = np.where(np.isin(blocks.feature, features), blocks.feature, -1)
    n_used_slots = np.where((feature >= 0).any(axis=1), blocks.n_used_slots, 0)
    in_use = np.flatnonzero(n_used_slots)
    return blocks._replace(feature=feature, n_used_slots=n_used_slots, in_use=in_use)


def pack_rows(
    blocks: Blocks,
    columns: NDArray[np.uint8],
    rows: NDArray[np.int32],
    team: ThreadTeam,
) -> None:
    """Copy the bins of `rows` to the blocks in use."""
    words = blocks.values.view(np.uint64)
    time = PACKING_TIME * len(rows) * len(blocks.in_use)
    team.share(time, _pack_blocks, columns, rows, blocks.column, blocks.in_use, words)


@shared_kernel
def _pack_blocks(
    thread: int,
    n_threads: int,
    columns: NDArray[np.uint8],
    rows: NDArray[np.int32],
    column: IntArray,
    in_use: IntArray,
    words: NDArray[np.uint64],
) -> None:
    """Copy the bins of a thread's share of `rows` and blocks to the blocks in use."""
    # if it can be, of the blocks whose histograms this thread makes, for its cache
    n_blocks = len(in_use)
    n_chunks = int64(1) if n_blocks % n_threads == 0 else n_threads
    for task in range(thread, n_blocks * n_chunks, n_threads):
        block, chunk = in_use[task % n_blocks], task // n_blocks
        first, last = chunk_bounds(chunk, n_chunks, int64(0), len(rows))
        _pack_block(columns, rows[first:last], column[block], words[block, first:last])


@subkernel
def _pack_block(
    columns: NDArray[np.uint8],
    rows: NDArray[np.int32],
    numbers: IntArray,
    words: NDArray[np.uint64],
) -> None:
    """Copy the bins of `rows` in the columns of a block, (16,), eight to a word."""
    # tile by tile, so that rows and words are still in the cache for the second half of
    # the slots
    for start in range(0, len(rows), PACKED_TILE):
        first, n = uint64(start), uint64(min(PACKED_TILE, len(rows) - start))
        for half in range(2):
            slot = uint64(8 * half)
            c0, c1 = columns[numbers[slot]], columns[numbers[slot + uint64(1)]]
            c2 = columns[numbers[slot + uint64(2)]]
            c3 = columns[numbers[slot + uint64(3)]]
            c4 = columns[numbers[slot + uint64(4)]]
            c5 = columns[numbers[slot + uint64(5)]]
            c6 = columns[numbers[slot + uint64(6)]]
            c7 = columns[numbers[slot + uint64(7)]]
            for i in range(n):
                row = uint64(rows[first + uint64(i)])
                words[first + uint64(i), half] = (
                    uint64(c0[row])
                    | uint64(c1[row]) << uint64(8)
                    | uint64(c2[row]) << uint64(16)
                    | uint64(c3[row]) << uint64(24)
                    | uint64(c4[row]) << uint64(32)
                    | uint64(c5[row]) << uint64(40)
                    | uint64(c6[row]) << uint64(48)
                    | uint64(c7[row]) << uint64(56)
                )
