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
    wait_at_barrier,
)
from sklearn_ltr._trees.workspace import Team, chunk_bounds

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


class BitLayout(NamedTuple):
    """Bits of a packed sum; one more is the sign of the gradient."""

    gradient_bits: int
    hessian_bits: int
    count_bits: int


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


def choose_bit_layout(n_rows: int, *, second_order: bool) -> BitLayout:
    """Divide 64 bits between the three sums over `n_rows` rows.

    The count gets what it needs.  The gradient gets more bits than the hessian: one for
    its sign, and three (four if the number of bits left is odd) for precision.  For the
    sum of ``|g|`` must fit, but gradients cancel, so that the sum over a leaf is much
    smaller and needs finer steps.  Without second-order splits the hessian gets none.
    """
    count_bits = n_rows.bit_length()
    hessian_bits = (64 - count_bits) // 2 - 2 if second_order else 0
    return BitLayout(64 - count_bits - hessian_bits - 1, hessian_bits, count_bits)


@subkernel
def choose_quantization(layout: BitLayout, totals: Magnitudes) -> Quantization:
    """Choose the scales so that the sums over all rows fit their bits.

    A tenth is left for rounding, which usually suffices; otherwise `quantize` halves
    the scales.
    """
    gradient_capacity = 0.9 * float(1 << layout.gradient_bits)
    hessian_capacity = 0.9 * float(1 << layout.hessian_bits)
    hessian_scale = scale_to_fit(hessian_capacity, totals.hessian)
    return Quantization(
        scale_to_fit(gradient_capacity, totals.gradient),
        hessian_scale if layout.hessian_bits > 0 else 0.0,
        layout.hessian_bits,
        (1 << layout.hessian_bits) - 1,
        layout.count_bits,
        (1 << layout.count_bits) - 1,
    )


@subkernel
def halve_scales(quantization: Quantization) -> Quantization:
    """Return the quantization with both scales halved."""
    return Quantization(
        quantization.gradient_scale / 2,
        quantization.hessian_scale / 2,
        quantization.hessian_bits,
        quantization.hessian_mask,
        quantization.count_bits,
        quantization.count_mask,
    )


@subkernel
def scale_to_fit(capacity: float, total: float) -> float:
    """Return the factor that scales `total` to `capacity`; 0 for a total of 0."""
    return capacity / max(total, SMALLEST_TOTAL) if total > 0 else 0.0


@subkernel
def pack_gradients(
    derivatives: Derivatives,
    first: int,
    last: int,
    quantization: Quantization,
    tree_index: int,
    packed: NDArray[np.int64],
) -> tuple[int, int]:
    """Quantize and pack rows ``first`` to ``last - 1``; return their sums of |g| and h.

    The rounding sequence starts at `tree_index`, so that a row is rounded differently
    in each tree.
    """
    gradient, hessian = derivatives.gradient, derivatives.hessian
    gradient_sum, hessian_sum = int64(0), int64(0)
    for row in range(first, last):
        i = uint64(row)
        u = float(((row + tree_index) * GOLDEN) & 0xFFFFFFFF) / 4294967296.0
        g = int64(np.floor(gradient[i] * quantization.gradient_scale + u))
        h = int64(np.floor(hessian[i] * quantization.hessian_scale + u))
        packed[i] = (
            ((g << quantization.hessian_bits) + h) << quantization.count_bits
        ) + 1
        gradient_sum += abs(g)
        hessian_sum += h
    return gradient_sum, hessian_sum


@subkernel
def sum_magnitudes(derivatives: Derivatives, team: Team) -> Magnitudes:
    """Sum |gradient| and hessian over all rows, each thread a chunk of them.

    The terms are added as integers, multiples of a power of two, so that the result
    depends neither on the order of the rows nor on how they are divided.
    """
    gradient, hessian = derivatives.gradient, derivatives.hessian
    own, n_rows = team.sums[team.thread], len(gradient)
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), n_rows)
    own.largest_gradient = largest_magnitude(gradient, first, last)
    own.largest_hessian = largest_magnitude(hessian, first, last)
    wait_at_barrier(team.barrier, team.n_threads)
    largest_gradient, largest_hessian = int64(0), int64(0)
    for thread in range(team.n_threads):
        largest_gradient = max(largest_gradient, team.sums[thread].largest_gradient)
        largest_hessian = max(largest_hessian, team.sums[thread].largest_hessian)
    gradient_unit = fixed_point_unit(largest_gradient, n_rows)
    hessian_unit = fixed_point_unit(largest_hessian, n_rows)
    own.total_gradient = sum_fixed_point(gradient, first, last, gradient_unit)
    own.total_hessian = sum_fixed_point(hessian, first, last, hessian_unit)
    wait_at_barrier(team.barrier, team.n_threads)
    total_gradient, total_hessian = int64(0), int64(0)
    for thread in range(team.n_threads):
        total_gradient += team.sums[thread].total_gradient
        total_hessian += team.sums[thread].total_hessian
    return Magnitudes(total_gradient / gradient_unit, total_hessian / hessian_unit)


@subkernel
def largest_magnitude(values: NDArray[np.float64], first: int, last: int) -> int:
    """Return the bits of the largest ``|values[first:last]|``.

    The bits of positive floats are in the order of the floats, and a loop that compares
    integers vectorizes.
    """
    largest = int64(0)
    for i in range(uint64(first), uint64(last)):
        largest = max(largest, float64_bits(values[i]) & MAGNITUDE_MASK)
    return largest


@subkernel
def fixed_point_unit(largest: int, n_rows: int) -> float:
    """Return the power of two with which `n_rows` values sum up to less than 2^62.

    `largest` is the bits of the largest magnitude among them.
    """
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
def quantize(
    derivatives: Derivatives,
    tree_index: int,
    quantization: Quantization,
    packed: NDArray[np.int64],
    team: Team,
) -> Quantization:
    """Quantize and pack the gradients of all rows, each thread a chunk of them.

    If rounding has made a sum too large for its bits, both scales are halved.  Returns
    the quantization that was used.
    """
    own, n_rows = team.sums[team.thread], len(packed)
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), n_rows)
    hessian_capacity = 1 << quantization.hessian_bits
    gradient_capacity = 1 << (63 - quantization.hessian_bits - quantization.count_bits)
    while True:
        own.gradient, own.hessian = pack_gradients(
            derivatives, first, last, quantization, tree_index, packed
        )
        wait_at_barrier(team.barrier, team.n_threads)
        gradient_sum, hessian_sum = int64(0), int64(0)
        for thread in range(team.n_threads):
            gradient_sum += team.sums[thread].gradient
            hessian_sum += team.sums[thread].hessian
        wait_at_barrier(team.barrier, team.n_threads)
        if gradient_sum < gradient_capacity and hessian_sum < hessian_capacity:
            return quantization
        quantization = halve_scales(quantization)
