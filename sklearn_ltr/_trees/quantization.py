"""Quantized gradients: one 64-bit addition adds a gradient, a hessian and a count.

Once per tree, the gradient g and the hessian h of every row are scaled and rounded to
integers and packed, with a count of 1, into one int64::

    packed = (g << (hessian_bits + count_bits)) + (h << count_bits) + 1

A sum of packed gradients holds all three sums.  The scales are chosen so that the sums
of |g| and of h over all rows fit their bits.  Then no subset of the rows overflows, and
every sum is exact: it depends neither on the order of the rows nor on the number of
threads, and a parent's histogram minus one child's is the other child's.  All rows are
packed, but the bits of the count need only suffice for the sampled rows.

Rounding is unbiased: x becomes ``floor(x + u)``, whose mean for u uniform in [0, 1) is
x.  (With a million rows and second order, an average ``|g|`` is only a few units:
rounding to the nearest would be biased.)  ``u = frac((row + tree_index) / golden
ratio)``, the same for g and h of a row, is deterministic, spread evenly over
consecutive rows, and another for each tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import (
    EXPONENT_BIAS,
    MANTISSA_BITS,
    exp2_integer,
    float64_bits,
    int64,
    subkernel,
    uint64,
)
from sklearn_ltr._data.query_index import RowNumbers
from sklearn_ltr._trees.workspace import Record, Records, Team, chunk_bounds

GOLDEN = 2654435769  # 2**32 divided by the golden ratio
MAGNITUDE_MASK = (1 << 63) - 1  # all bits of a float64 but its sign
SMALLEST_TOTAL = 1e-270  # the scale for a smaller total might overflow


class Derivatives(NamedTuple):
    """First and second derivative of the cost by each row's score."""

    gradient: NDArray[np.float64]  # (n_rows,)
    hessian: NDArray[np.float64]  # (n_rows,), >= 0


class Magnitudes(NamedTuple):
    """Sums over all rows."""

    gradient: float  # of |gradient|
    hessian: float


class Quantization(NamedTuple):
    """How the gradients of a tree are quantized and where they are in a packed sum.

    ``count = packed & count_mask``; with ``pair = packed >> count_bits``,
    ``h = pair & hessian_mask`` and ``g = pair >> hessian_bits``.
    """

    gradient_scale: float  # g is gradient * gradient_scale, rounded
    hessian_scale: float
    hessian_bits: int
    hessian_mask: int
    count_bits: int
    count_mask: int


@subkernel
def choose_quantization(
    n_rows: int, second_order: bool, totals: Magnitudes
) -> Quantization:
    """Divide 64 bits between two sums over `n_rows` rows, and choose their scales."""
    # `n_rows` are those of the sample; `totals` are over all rows, sampled or not
    # The count gets what it needs.  The gradient gets more bits than the hessian: one
    # for its sign, and three (four if the number of bits left is odd) for precision.
    # For the sum of ``|g|`` must fit, but gradients cancel, so that the sum over a leaf
    # is much smaller and needs finer steps.  Without second-order splits the hessian
    # gets none.
    count_bits, hessian_bits = int64(0), int64(0)
    while n_rows >> count_bits > 0:
        count_bits += 1
    if second_order:
        hessian_bits = (64 - count_bits) // 2 - 2
    # A tenth is left for rounding, which usually suffices; see `fits`.
    gradient_capacity = 0.9 * float(1 << 63 - hessian_bits - count_bits)
    hessian_capacity = 0.9 * float(1 << hessian_bits)
    hessian_scale = scale_to_fit(hessian_capacity, totals.hessian)
    return Quantization(
        scale_to_fit(gradient_capacity, totals.gradient),
        hessian_scale if second_order else 0.0,
        hessian_bits,
        (1 << hessian_bits) - 1,
        count_bits,
        (1 << count_bits) - 1,
    )


@subkernel
def scale_to_fit(capacity: float, total: float) -> float:
    """Return the factor that scales `total` to `capacity`; 0 for a total of 0."""
    return capacity / max(total, SMALLEST_TOTAL) if total > 0 else 0.0


@subkernel
def choose_scales(
    growth: Record, n_rows: int, differ: bool, second_order: bool, magnitudes: Records
) -> None:
    """Choose how gradients are turned into integers, for leaf values and for splits."""
    totals = sum_magnitudes(magnitudes[0], n_rows)
    growth.leaf_gradient_scale = scale_to_fit(2.0**61, totals.gradient)
    growth.leaf_hessian_scale = scale_to_fit(2.0**61, totals.hessian)
    if differ:
        totals = sum_magnitudes(magnitudes[1], n_rows)
    quantization = choose_quantization(growth.n_sampled, second_order, totals)
    growth.gradient_scale = quantization.gradient_scale
    growth.hessian_scale = quantization.hessian_scale
    growth.hessian_bits = quantization.hessian_bits
    growth.count_bits = quantization.count_bits


@subkernel
def chosen_quantization(growth: Record) -> Quantization:
    """Return the quantization that has been chosen."""
    hessian_bits, count_bits = growth.hessian_bits, growth.count_bits
    return Quantization(
        growth.gradient_scale,
        growth.hessian_scale,
        hessian_bits,
        (1 << hessian_bits) - 1,
        count_bits,
        (1 << count_bits) - 1,
    )


@subkernel
def find_largest(derivatives: Derivatives, team: Team, found: Records) -> None:
    """Find the largest ``|gradient|`` and hessian, each thread in its chunk of rows."""
    own, n_rows = found[team.thread], len(derivatives.gradient)
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), n_rows)
    own.largest_gradient = largest_magnitude(derivatives.gradient, first, last)
    own.largest_hessian = largest_magnitude(derivatives.hessian, first, last)


@subkernel
def add_up(derivatives: Derivatives, n_rows: int, team: Team, found: Records) -> None:
    """Add up ``|gradient|`` and hessian, each thread in its chunk of rows."""
    # The terms are added as integers, multiples of a power of two, so that the result
    # depends neither on the order of the rows nor on how they are divided.  `n_rows` is
    # the number of rows of all workers.
    gradient, hessian = derivatives.gradient, derivatives.hessian
    own, n_own = found[team.thread], len(gradient)
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), n_own)
    units = fixed_point_units(found, n_rows)
    own.total_gradient = sum_fixed_point(gradient, first, last, units.gradient)
    own.total_hessian = sum_fixed_point(hessian, first, last, units.hessian)


@subkernel
def fixed_point_units(found: Records, n_rows: int) -> Magnitudes:
    """Return the unit of each sum, given the largest values of all threads."""
    gradient, hessian = int64(0), int64(0)
    for thread in range(len(found)):
        gradient = max(gradient, found[thread].largest_gradient)
        hessian = max(hessian, found[thread].largest_hessian)
    return Magnitudes(
        fixed_point_unit(gradient, n_rows), fixed_point_unit(hessian, n_rows)
    )


@subkernel
def sum_magnitudes(found: Records, n_rows: int) -> Magnitudes:
    """Return the sums over all rows: those of the threads, added up."""
    gradient, hessian = int64(0), int64(0)
    for thread in range(len(found)):
        gradient += found[thread].total_gradient
        hessian += found[thread].total_hessian
    units = fixed_point_units(found, n_rows)
    return Magnitudes(gradient / units.gradient, hessian / units.hessian)


@subkernel
def largest_magnitude(values: NDArray[np.float64], first: int, last: int) -> int:
    """Return the bits of the largest ``|values[first:last]|``."""
    # the bits of positive floats are in the order of the floats, and a loop that
    # compares integers vectorizes
    largest = int64(0)
    for i in range(uint64(first), uint64(last)):
        largest = max(largest, float64_bits(values[i]) & MAGNITUDE_MASK)
    return largest


@subkernel
def fixed_point_unit(largest: int, n_rows: int) -> float:
    """Return the power of two with which `n_rows` values sum up to less than 2^62."""
    # `largest` is the bits of the largest magnitude among them
    exponent = 62 - ((largest >> MANTISSA_BITS) - EXPONENT_BIAS + 1)
    while n_rows > 0:
        exponent -= 1
        n_rows >>= 1
    return exp2_integer(float(max(min(exponent, 1000), -1000)))  # a normal number


@subkernel
def sum_fixed_point(
    values: NDArray[np.float64], first: int, last: int, unit: float
) -> int:
    """Return the sum of ``|values[first:last]| * unit``, rounded to integers."""
    total = int64(0)
    for i in range(uint64(first), uint64(last)):
        total += int64(np.rint(abs(values[i]) * unit))
    return total


@subkernel
def pack_gradients(
    derivatives: Derivatives,
    first: int,
    last: int,
    quantization: Quantization,
    shift: int,
    packed: NDArray[np.int64],
) -> tuple[int, int]:
    """Quantize and pack rows ``first`` to ``last - 1``; return sums of |g| and h."""
    # row i takes number ``i + shift`` of the sequence of roundings
    gradient, hessian = derivatives.gradient, derivatives.hessian
    gradient_sum, hessian_sum = int64(0), int64(0)
    for row in range(first, last):
        i = uint64(row)
        u = float(((row + shift) * GOLDEN) & 0xFFFFFFFF) / 4294967296.0
        g = int64(np.floor(gradient[i] * quantization.gradient_scale + u))
        h = int64(np.floor(hessian[i] * quantization.hessian_scale + u))
        packed[i] = (
            ((g << quantization.hessian_bits) + h) << quantization.count_bits
        ) + 1
        gradient_sum += abs(g)
        hessian_sum += h
    return gradient_sum, hessian_sum


@subkernel
def quantize(
    derivatives: Derivatives,
    tree_index: int,
    numbers: RowNumbers,
    packed: NDArray[np.int64],
    growth: Record,
    team: Team,
) -> None:
    """Quantize and pack the gradients of all rows, each thread a chunk of them."""
    own, offsets = team.sums[team.thread], numbers.offsets
    quantization = chosen_quantization(growth)
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), len(packed))
    own.gradient = own.hessian = run = 0
    while first < last:
        while offsets[run + 1] <= first:
            run += 1
        stop = min(last, offsets[run + 1])
        # the rounding of a row depends on its number among the rows of all workers
        shift = tree_index + numbers.first[run] - offsets[run]
        g, h = pack_gradients(derivatives, first, stop, quantization, shift, packed)
        own.gradient += g
        own.hessian += h
        first = stop


@subkernel
def fits(growth: Record, sums: Records) -> bool:
    """Return whether the sums of all threads fit their bits in spite of rounding."""
    gradient, hessian = int64(0), int64(0)
    for thread in range(len(sums)):
        gradient += sums[thread].gradient
        hessian += sums[thread].hessian
    gradient_bits = 63 - growth.hessian_bits - growth.count_bits
    return bool(gradient < 1 << gradient_bits and hessian < 1 << growth.hessian_bits)
