"""Histograms of a leaf: the sum of the packed gradients of the rows in each bin.

The histogram of a block of 16 features has shape (256 * 16,); ``histogram[16 * b + s]``
is the sum of the packed gradients of the rows in bin b of the feature in slot s.  All
thresholds of its 16 features are tried together (:mod:`splitting`).

Threads share the blocks of a leaf, and where they are more than blocks, the rows of a
block, which they divide into chunks with a histogram each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import fetch_add, int64, prefetch_row, subkernel, uint64
from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.trees.growth.blocks import FEATURE_BLOCK, HISTOGRAM_BINS, Blocks
from sklearn_ltr._core.trees.growth.quantization import chunk_bounds
from sklearn_ltr._core.trees.growth.workspace import Team
from sklearn_ltr._core.typing import IntArray

HISTOGRAM_PREFETCH_DISTANCE = 64  # rows between the prefetch of a row and its use


@subkernel
def fill_histogram(
    histogram: IntArray,
    block: int,
    rows: NDArray[np.int32],
    gradients: IntArray,
    blocks: Blocks,
) -> None:
    """Make the histogram of a block; ``gradients[i]`` belongs to row ``rows[i]``."""
    clear_histogram(histogram, blocks.n_bins[block])
    add_rows_to_histogram(
        blocks.values[block], rows, gradients, histogram, blocks.n_used_slots[block]
    )


@subkernel
def add_rows_to_histogram(
    values: NDArray[np.uint8],  # (n_rows, 16): binned values of the block
    rows: NDArray[np.int32],
    gradients: IntArray,
    histogram: IntArray,
    n_used_slots: int,
) -> None:
    """Add ``gradients[i]`` to the bin of row ``rows[i]`` in each used slot."""
    # Loops of constant length are unrolled, and unsigned row numbers are not checked
    # for negative values.  So nearly all the time goes to one store per slot, which
    # takes a cycle, or less where consecutive stores are to the same cache line, as for
    # sparse features.
    n_rows = len(rows)
    for i in range(n_rows):
        prefetch_row(
            values, int64(rows[min(i + HISTOGRAM_PREFETCH_DISTANCE, n_rows - 1)])
        )
        row, gradient = uint64(rows[i]), gradients[i]
        for slot in range(4):
            histogram[int64(values[row, slot]) * FEATURE_BLOCK + slot] += gradient
        if n_used_slots > 4:
            for slot in range(4, 8):
                histogram[int64(values[row, slot]) * FEATURE_BLOCK + slot] += gradient
        if n_used_slots > 8:
            for slot in range(8, FEATURE_BLOCK):
                histogram[int64(values[row, slot]) * FEATURE_BLOCK + slot] += gradient


@subkernel
def prefetch_first_rows(
    values: NDArray[np.uint8], block: int, rows: NDArray[np.int32]
) -> None:
    """Prefetch the first rows of a block's next histogram, if there is such a block."""
    if block < len(values):
        for i in range(min(HISTOGRAM_PREFETCH_DISTANCE, len(rows))):
            prefetch_row(values[block], int64(rows[i]))


@subkernel
def clear_histogram(histogram: IntArray, n_bins: int) -> None:
    """Set the first bins of a block, and the missing bin, to zero."""
    for i in range(n_bins * FEATURE_BLOCK):
        histogram[i] = 0
    for i in range(MISSING_BIN * FEATURE_BLOCK, HISTOGRAM_BINS * FEATURE_BLOCK):
        histogram[i] = 0


@subkernel
def add_histogram(histogram: IntArray, other: IntArray, n_bins: int) -> None:
    """Add the histogram of a chunk of the rows to another one."""
    for i in range(n_bins * FEATURE_BLOCK):  # vectorises
        histogram[i] += other[i]
    for i in range(MISSING_BIN * FEATURE_BLOCK, HISTOGRAM_BINS * FEATURE_BLOCK):
        histogram[i] += other[i]


@subkernel
def subtract_histogram(histogram: IntArray, other: IntArray, n_bins: int) -> None:
    """Turn a parent's histogram into one child's by subtracting the other child's."""
    for i in range(n_bins * FEATURE_BLOCK):  # vectorises
        histogram[i] -= other[i]
    for i in range(MISSING_BIN * FEATURE_BLOCK, HISTOGRAM_BINS * FEATURE_BLOCK):
        histogram[i] -= other[i]


# --- blocks and chunks that threads share -----------------------------------------


@subkernel
def next_task(
    n_chunks: int, n_used_slots: IntArray, team: Team, counters: IntArray
) -> int:
    """Return the next task of a block in use, or a number past the last task."""
    # Task number ``c * n_blocks + b`` is chunk c of the rows in block b.  Thread t has
    # every n-th task from t on, so that mostly the same thread comes to a block, with
    # the parent's histogram in its cache; when these are done, it helps the others.
    n_blocks, n_threads = len(n_used_slots), team.n_threads
    n_tasks = n_blocks * n_chunks
    for turn in range(n_threads):
        owner = (team.thread + turn) % n_threads
        counter = counters[owner]
        task = owner + n_threads * fetch_add(counter)
        while task < n_tasks and n_used_slots[task % n_blocks] == 0:
            task = owner + n_threads * fetch_add(counter)
        if task < n_tasks:
            return task
    return n_tasks


@subkernel
def part_of_task(
    task: int, n_blocks: int, n_chunks: int, n_rows: int
) -> tuple[int, int, int, int]:
    """Return block and chunk of a task, and where its rows begin and end."""
    chunk = task // n_blocks
    first, last = chunk_bounds(chunk, n_chunks, int64(0), int64(n_rows))
    return task % n_blocks, chunk, first, last


@subkernel
def is_last_chunk(n_chunks: int, n_filled: IntArray) -> bool:
    """Count a filled histogram of a block; return whether all of its chunks are."""
    if n_chunks == 1:
        return True
    if fetch_add(n_filled) < n_chunks - 1:
        return False
    n_filled[0] = 0  # for the next leaf
    return True
