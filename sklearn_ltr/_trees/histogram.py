"""Histograms of packed gradients, one block of features at a time.

A histogram has shape (256 * 16,); ``histogram[16 * b + s]`` is the sum of bin b of the
feature in slot s.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, prefetch_row, subkernel, uint64
from sklearn_ltr._trees.binning import FEATURE_BLOCK, MISSING_BIN

PREFETCH_DISTANCE = 64  # rows between a prefetch and its use


@subkernel
def add_rows_to_histogram(
    values: NDArray[np.uint8],
    rows: NDArray[np.int32],
    gradients: NDArray[np.int64],
    histogram: NDArray[np.int64],
    n_used_slots: int,
) -> None:
    """Add ``gradients[i]`` to the bin of row ``rows[i]`` in each used slot.

    Parameters
    ----------
    values : ndarray of shape (n_rows, 16), uint8
        Binned values of a block.
    rows : ndarray of shape (n,), int32
    gradients : ndarray of shape (>= n,), int64
        Packed gradients of these rows.
    histogram : ndarray of shape (256 * 16,), int64
    n_used_slots : int in [1, 16]
        Rounded up to 4, 8 or 16.
    """
    # Loops of constant length are unrolled, and unsigned row numbers are not checked
    # for negative values.  What remains is one store per slot, which takes a cycle, or
    # less where consecutive stores are to the same cache line, as for sparse features.
    n_rows = len(rows)
    for i in range(n_rows):
        prefetch_row(values, int64(rows[min(i + PREFETCH_DISTANCE, n_rows - 1)]))
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
    """Prefetch what :func:`add_rows_to_histogram` begins with, if there is a block."""
    if block < len(values):
        for i in range(min(PREFETCH_DISTANCE, len(rows))):
            prefetch_row(values[block], int64(rows[i]))


@subkernel
def clear_histogram(histogram: NDArray[np.int64], n_bins: int) -> None:
    """Set the first bins of a block, and the missing bin, to zero."""
    for b in range(n_bins + 1):
        first = FEATURE_BLOCK * (b if b < n_bins else MISSING_BIN)
        for i in range(first, first + FEATURE_BLOCK):
            histogram[i] = 0


@subkernel
def subtract_histogram(
    histogram: NDArray[np.int64], other: NDArray[np.int64], n_bins: int
) -> None:
    """Turn a parent's histogram into one child's by subtracting the other child's."""
    for b in range(n_bins + 1):
        first = FEATURE_BLOCK * (b if b < n_bins else MISSING_BIN)
        for i in range(first, first + FEATURE_BLOCK):
            histogram[i] -= other[i]
