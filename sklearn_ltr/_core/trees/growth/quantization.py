"""Quantized gradients: one 64-bit addition adds a gradient, a hessian and a count.

Once per tree, the gradient g and the hessian h of each row of its sample are scaled and
rounded to integers and packed, with a count of 1, into one int64::

    packed = (g << (hessian_bits + count_bits)) + (h << count_bits) + 1

A sum of packed gradients holds all three sums.  The scales are chosen so that the sums
of |g| and of h over the sample fit their bits.  Then no subset of the rows overflows,
and every sum is exact: it depends neither on the order of the rows nor on the number of
threads, and a parent's histogram minus one child's is the other child's.

Rounding is unbiased: x becomes ``floor(x + u)``, whose mean for u uniform in [0, 1) is
x.  (With a million rows and second order, an average ``|g|`` is only a few units:
rounding to the nearest would be biased.)  ``u = frac((row + tree_index) / golden
ratio)``, the same for g and h of a row, is deterministic, spread evenly over
consecutive rows, and different for each tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import (
    EXPONENT_BIAS,
    INTEGER_BITS,
    MANTISSA_BITS,
    ThreadTeam,
    float64_bits,
    float64_of_bits,
    int64,
    shared_kernel,
    subkernel,
    uint64,
)
from sklearn_ltr._core.typing import FloatArray, IntArray

GOLDEN = 2654435769  # 2**32 divided by the golden ratio
MAGNITUDE_MASK = (1 << 63) - 1  # all bits of a float64 but its sign
SMALLEST_TOTAL = 1e-270  # the scale for a smaller total might overflow


class RowDerivatives(NamedTuple):
    """First and second derivative of the cost by each row's score."""

    gradient: FloatArray  # (n_rows,)
    hessian: FloatArray  # (n_rows,), >= 0


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
    # of a quantized gradient, per unit of weight, where categories need to know it
    variance: float = 0.0


# --- how large derivatives are ----------------------------------------------------

# Magnitudes are added as integer multiples of a power of two, so that the sums depend
# neither on the order of the rows nor on which worker has which of them.


@subkernel
def find_largest(
    derivatives: RowDerivatives, first: int, last: int, found: IntArray
) -> None:
    """Find the bits of the largest ``|gradient|`` and hessian, and count the rows."""
    found[0] = _largest_magnitude(derivatives.gradient, first, last)
    found[1] = _largest_magnitude(derivatives.hessian, first, last)
    found[2] = last - first


@subkernel
def exponent_above(bits: int) -> int:
    """Return the exponent of the power of two above the magnitude of these bits."""
    return (bits >> MANTISSA_BITS) - EXPONENT_BIAS + 1


@subkernel
def sum_magnitudes(
    derivatives: RowDerivatives, magnitudes: Any, first: int, last: int, sums: IntArray
) -> None:
    """Add up ``|gradient|`` and hessian, as integers."""
    g_unit, h_unit = sum_units(magnitudes)
    sums[0] = _sum_fixed_point(derivatives.gradient, first, last, g_unit)
    sums[1] = _sum_fixed_point(derivatives.hessian, first, last, h_unit)


@subkernel
def sum_units(magnitudes: Any) -> tuple[float, float]:
    """Return the factors of gradients and hessians that are added up as integers."""
    # with these, the magnitudes of all rows sum up to less than 2^62
    exponent = 62 - bit_length(magnitudes.n_rows)
    return (
        power_of_two(exponent - magnitudes.gradient_exponent),
        power_of_two(exponent - magnitudes.hessian_exponent),
    )


@subkernel
def power_of_two(exponent: int) -> float:
    """Return 2 to the power of an exponent, but at least 2^-1000, at most 2^1000."""
    exponent = min(max(exponent, -1000), 1000)
    return float64_of_bits(int64(exponent + EXPONENT_BIAS) << MANTISSA_BITS)


@subkernel
def bit_length(number: int) -> int:
    """Return the number of bits of a positive integer, 0 of 0."""
    n_bits = int64(0)
    while number >> n_bits > 0:
        n_bits += 1
    return n_bits


@subkernel
def chunk_bounds(chunk: int, n_chunks: int, start: int, stop: int) -> tuple[int, int]:
    """Return where chunk number `chunk` of ``start:stop`` begins and ends."""
    n = stop - start
    return start + n * chunk // n_chunks, start + n * (chunk + 1) // n_chunks


@subkernel
def _largest_magnitude(values: FloatArray, first: int, last: int) -> int:
    """Return the bits of the largest ``|values[first:last]|``."""
    # the bits of positive floats are in the order of the floats, and a loop that
    # compares integers vectorizes
    largest = int64(0)
    for i in range(uint64(first), uint64(last)):
        largest = max(largest, float64_bits(values[i]) & MAGNITUDE_MASK)
    return largest


@subkernel
def _sum_fixed_point(values: FloatArray, first: int, last: int, unit: float) -> int:
    """Return the sum of ``|values[first:last]| * unit``, rounded to integers."""
    total = int64(0)
    for i in range(uint64(first), uint64(last)):
        total += int64(np.rint(abs(values[i]) * unit))
    return total


# --- packed integers --------------------------------------------------------------


@subkernel
def choose_quantization(
    magnitudes: Any, needs_hessians: bool, quantization: Any
) -> None:
    """Divide 64 bits between the sums over a sample, and choose their scales."""
    # The count gets as many bits as it needs.  Of the others, the gradient gets more
    # than the hessian: one for its sign, and three (four if their number is odd) for
    # precision.  For the sum of ``|g|`` must fit, but gradients cancel, so that the sum
    # over a leaf is much smaller and needs finer steps.  Where the gain counts rows in
    # place of hessians, the hessian gets no bits.
    count_bits, hessian_bits = bit_length(magnitudes.n_rows), int64(0)
    if needs_hessians:
        hessian_bits = (64 - count_bits) // 2 - 2
    # Rounding up makes the sums larger: a tenth is left for that.  It usually suffices;
    # if not, see `halve_scales`.
    capacity = 0.9 * power_of_two(gradient_bits(hessian_bits, count_bits))
    quantization.gradient_scale = scale_to_fit(capacity, magnitudes.gradient)
    quantization.hessian_scale = 0.0
    if needs_hessians:
        capacity = 0.9 * power_of_two(hessian_bits)
        quantization.hessian_scale = scale_to_fit(capacity, magnitudes.hessian)
    quantization.hessian_bits, quantization.count_bits = hessian_bits, count_bits


@subkernel
def gradient_bits(hessian_bits: int, count_bits: int) -> int:
    """Return of how many bits a sum of ``|g|`` is at most."""
    # no more than `float64_of_integer` takes: without hessians there are as many
    return min(int64(63 - hessian_bits - count_bits), int64(INTEGER_BITS))


@subkernel
def scale_to_fit(capacity: float, total: float) -> float:
    """Return the factor that scales `total` to `capacity`; 0 for a total of 0."""
    return capacity / max(total, SMALLEST_TOTAL) if total > 0 else 0.0


@subkernel
def halve_scales(gradient: int, hessian: int, quantization: Any) -> bool:
    """Halve both scales if a sum, of ``|g|`` or of h, has too many bits."""
    hessian_bits, count_bits = quantization.hessian_bits, quantization.count_bits
    too_large = gradient >> gradient_bits(hessian_bits, count_bits) > 0
    too_large |= hessian >> hessian_bits > 0
    if too_large:
        quantization.gradient_scale /= 2
        quantization.hessian_scale /= 2
    return bool(too_large)


@subkernel
def quantize(
    derivatives: RowDerivatives,
    row_numbers: NDArray[np.uint32],
    tree_index: int,
    quantization: Any,
    first: int,
    last: int,
    packed: IntArray,
    sums: IntArray,
) -> None:
    """Pack gradients; sum up their ``|g|``, h and packed numbers."""
    # the number of a row and the number of the tree decide how the row's gradient is
    # rounded
    gradient, hessian = derivatives.gradient, derivatives.hessian
    g_scale, h_scale = quantization.gradient_scale, quantization.hessian_scale
    hessian_bits, count_bits = quantization.hessian_bits, quantization.count_bits
    gradient_sum, hessian_sum, total = int64(0), int64(0), int64(0)
    for i in range(uint64(first), uint64(last)):
        u = (
            float(((int64(row_numbers[i]) + tree_index) * GOLDEN) & 0xFFFFFFFF)
            / 4294967296.0
        )
        g = int64(np.floor(gradient[i] * g_scale + u))
        h = int64(np.floor(hessian[i] * h_scale + u))
        packed[i] = (((g << hessian_bits) + h) << count_bits) + 1
        gradient_sum += abs(g)
        hessian_sum += h
        total += packed[i]
    sums[0], sums[1], sums[2] = gradient_sum, hessian_sum, total


def with_variance(
    quantization: Quantization,
    packed: IntArray,
    total: int,
    team: ThreadTeam,
    comm: Comm,
) -> Quantization:
    """Return the quantization with the variance of the gradients that it packs."""
    # Sums of squares are of integers, too.  Of the bits of the sum of |g|, 31 are kept,
    # so that the sum of squares has at most 62.
    _, _, hessian_bits, hessian_mask, count_bits, count_mask, _ = quantization
    n_bits = min(63 - hessian_bits - count_bits, INTEGER_BITS)  # see `gradient_bits`
    n_dropped = max(0, n_bits - 31)
    squares = np.zeros(team.n_threads, dtype=np.int64)
    shift = hessian_bits + count_bits + n_dropped
    team.share(1.0 * len(packed), _add_squares, packed, shift, squares)
    sum_of_squares = float(comm.sum(squares.sum(keepdims=True))[0]) * 4.0**n_dropped
    weight = total >> count_bits & hessian_mask if hessian_bits else total & count_mask
    return quantization._replace(variance=sum_of_squares / max(weight, 1))


@shared_kernel
def _add_squares(
    thread: int, n_threads: int, packed: IntArray, shift: int, squares: IntArray
) -> None:
    """Add up the squares of the gradients in a thread's chunk, without low bits."""
    first, last = chunk_bounds(thread, n_threads, int64(0), len(packed))
    total = int64(0)
    for i in range(uint64(first), uint64(last)):
        g = packed[i] >> shift
        total += g * g
    squares[thread] = total
