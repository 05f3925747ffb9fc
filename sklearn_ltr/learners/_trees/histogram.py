"""Integer histograms: one 64-bit addition adds a gradient, a hessian and a count.

A document's gradient g and hessian h are scaled and rounded to integers once per tree
and packed, with the number 1, into one word::

    word = (g << (hessian_bits + count_bits)) + (h << count_bits) + 1

Sums of words are then sums of all three.  The scales are chosen so that the sums of |g|
and of h over all rows fit their fields; then no subset can overflow and every sum is
exact: neither the order of the rows nor the number of threads can change it, and a
parent's histogram minus one child's is the other child's.

Rounding is unbiased: with u the row's place in a golden-ratio sequence, a value x
becomes ``floor(x + u)``, which is x on average.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, prefetch_row, subkernel, uint64
from sklearn_ltr.learners._trees.binning import BLOCK, MISSING

GOLDEN = 2654435769  # 2**32 divided by the golden ratio
FAINTEST = 1e-270  # sums below are not scaled up to full precision: it might overflow
LOOK_AHEAD = 64  # rows between a prefetch and its use


class Fields(NamedTuple):
    """The bits of a word that each of the three sums has, the sign not counted."""

    gradient_bits: int
    hessian_bits: int
    count_bits: int


class Packing(NamedTuple):
    """The fields of a word and the scales of what they hold."""

    gradient_scale: float
    hessian_scale: float
    hessian_bits: int
    count_bits: int


def choose_fields(n_rows: int, *, second_order: bool) -> Fields:
    """Share 64 bits between the three sums over the rows.

    The count gets what it needs, and the gradient four bits more than the hessian: one
    for its sign, and because gradients of a leaf cancel each other.  Splits that do not
    look at the hessian leave it no bits.
    """
    count_bits = n_rows.bit_length()
    hessian_bits = (64 - count_bits) // 2 - 2 if second_order else 0
    return Fields(64 - count_bits - hessian_bits - 1, hessian_bits, count_bits)


@subkernel
def choose_packing(
    fields: Fields, total_gradient: float, total_hessian: float
) -> Packing:
    """Scale gradients and hessians so that the sums of their magnitudes fit."""
    of_hessian = scale_to_fit(0.9 * 2.0**fields.hessian_bits, total_hessian)
    return Packing(
        scale_to_fit(0.9 * 2.0**fields.gradient_bits, total_gradient),
        of_hessian if fields.hessian_bits > 0 else 0.0,
        fields.hessian_bits,
        fields.count_bits,
    )


@subkernel
def scale_to_fit(capacity: float, total: float) -> float:
    """Return the factor that makes `total` the capacity at most; 0 for a total of 0."""
    return capacity / max(total, FAINTEST) if total > 0 else 0.0


@subkernel
def magnitude(values: NDArray[np.float64]) -> float:
    """Return the sum of ``|values|``."""
    total = 0.0
    for i in range(len(values)):
        total += abs(values[i])
    return total


@subkernel
def pack_rows(
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    first: int,
    packing: Packing,
    shift: int,
    words: NDArray[np.int64],
) -> tuple[int, int]:
    """Write the words of some rows from number `first` on.

    `shift` turns the rounding sequence from tree to tree.

    Returns the sums of |g| and of h.
    """
    total_gradient, total_hessian = int64(0), int64(0)
    for i in range(len(words)):
        u = float(((first + i + shift) * GOLDEN) & 0xFFFFFFFF) / 4294967296.0
        g = int64(np.floor(gradient[i] * packing.gradient_scale + u))
        h = int64(np.floor(hessian[i] * packing.hessian_scale + u))
        words[i] = (((g << packing.hessian_bits) + h) << packing.count_bits) + 1
        total_gradient += abs(g)
        total_hessian += h
    return total_gradient, total_hessian


@subkernel
def add_rows(
    codes: NDArray[np.uint8],
    rows: NDArray[np.int32],
    words: NDArray[np.int64],
    histogram: NDArray[np.int64],
    n_columns: int,
) -> None:
    """Add word i to the bin of row ``rows[i]``, at every place in use.

    `codes` is one block (n_rows, 16), its histogram (256 * 16,): the columns of a bin
    side by side; ``0 < n_columns <= 16``.

    (Loops of constant length are unrolled; an unsigned row is not checked for
    negatives.  What is left is one store a column, and a store takes a cycle: less
    where two neighbours fall into the same cache line, as those do that are mostly
    zero.)
    """
    n_rows = len(rows)
    for i in range(n_rows):
        prefetch_row(codes, int64(rows[min(i + LOOK_AHEAD, n_rows - 1)]))
        row, word = uint64(rows[i]), words[i]
        for place in range(4):
            histogram[int64(codes[row, place]) * BLOCK + place] += word
        if n_columns > 4:
            for place in range(4, 8):
                histogram[int64(codes[row, place]) * BLOCK + place] += word
        if n_columns > 8:
            for place in range(8, BLOCK):
                histogram[int64(codes[row, place]) * BLOCK + place] += word


@subkernel
def fetch_first(codes: NDArray[np.uint8], block: int, rows: NDArray[np.int32]) -> None:
    """Ask memory for the rows that :func:`add_rows` begins with, if it is a block."""
    if block < len(codes):
        for i in range(min(LOOK_AHEAD, len(rows))):
            prefetch_row(codes[block], int64(rows[i]))


@subkernel
def clear(histogram: NDArray[np.int64], n_bins: int) -> None:
    """Set the first bins of a block, and that of missing values, to zero."""
    for b in range(n_bins + 1):
        first = BLOCK * (b if b < n_bins else MISSING)
        for i in range(first, first + BLOCK):
            histogram[i] = 0


@subkernel
def subtract(
    histogram: NDArray[np.int64], other: NDArray[np.int64], n_bins: int
) -> None:
    """Turn a leaf's histogram into that of its other child, in the same bins."""
    for b in range(n_bins + 1):
        first = BLOCK * (b if b < n_bins else MISSING)
        for i in range(first, first + BLOCK):
            histogram[i] -= other[i]
