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

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import (
    EXPONENT_BIAS,
    MANTISSA_BITS,
    ThreadTeam,
    float64_bits,
    int64,
    shared_kernel,
    subkernel,
    uint64,
)

GOLDEN = 2654435769  # 2**32 divided by the golden ratio
MAGNITUDE_MASK = (1 << 63) - 1  # all bits of a float64 but its sign
SMALLEST_TOTAL = 1e-270  # the scale for a smaller total might overflow


class RowDerivatives(NamedTuple):
    """First and second derivative of the cost by each row's score."""

    gradient: NDArray[np.float64]  # (n_rows,)
    hessian: NDArray[np.float64]  # (n_rows,), >= 0


class Magnitudes(NamedTuple):
    """How large the derivatives are, over the rows of all workers."""

    n_rows: int
    # powers of two that no |gradient|, and no hessian, is above
    largest: tuple[float, float]
    total: tuple[float, float]  # sums of |gradient| and of hessians


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


def measure(derivatives: RowDerivatives, team: ThreadTeam, comm: Comm) -> Magnitudes:
    """Return how large the derivatives of the rows of all workers are."""
    # Magnitudes are added as integer multiples of a power of two, so that the sums
    # depend neither on the order of the rows nor on which worker has which of them.
    n_own = len(derivatives.gradient)
    largest = np.zeros((team.n_threads, 2), dtype=np.int64)
    totals = np.zeros((team.n_threads, 2), dtype=np.int64)
    team.share(0.4 * n_own, _find_largest, *derivatives, largest)
    # Each worker fills the row of its rank and leaves the others 0; so the sum over all
    # workers has the numbers of each.
    by_rank = np.zeros((comm.n_workers, 3), dtype=np.int64)
    by_rank[comm.rank] = n_own, *largest.max(axis=0)
    by_rank = comm.sum(by_rank)
    n_rows = int(by_rank[:, 0].sum())
    bits_of_g, bits_of_h = by_rank[:, 1:].max(axis=0).tolist()
    g_exponent = (bits_of_g >> MANTISSA_BITS) - EXPONENT_BIAS + 1
    h_exponent = (bits_of_h >> MANTISSA_BITS) - EXPONENT_BIAS + 1
    # with this unit, n_rows values sum up to less than 2^62
    unit_exponent = 62 - n_rows.bit_length()
    g_unit = _power_of_two(unit_exponent - g_exponent)
    h_unit = _power_of_two(unit_exponent - h_exponent)
    team.share(0.4 * n_own, _sum_magnitudes, *derivatives, g_unit, h_unit, totals)
    g_total, h_total = comm.sum(totals.sum(axis=0)).tolist()
    return Magnitudes(
        n_rows,
        (_power_of_two(g_exponent), _power_of_two(h_exponent)),
        (g_total / g_unit, h_total / h_unit),
    )


def _power_of_two(exponent: int) -> float:
    """Return 2 to the power of an exponent, but at least 2^-1000, at most 2^1000."""
    return math.ldexp(1.0, min(max(exponent, -1000), 1000))


@shared_kernel
def _find_largest(
    thread: int,
    n_threads: int,
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    largest: NDArray[np.int64],
) -> None:
    """Find the bits of the largest ``|gradient|`` and hessian in a thread's chunk."""
    first, last = chunk_bounds(thread, n_threads, int64(0), len(gradient))
    largest[thread, 0] = _largest_magnitude(gradient, first, last)
    largest[thread, 1] = _largest_magnitude(hessian, first, last)


@shared_kernel
def _sum_magnitudes(
    thread: int,
    n_threads: int,
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    gradient_unit: float,
    hessian_unit: float,
    totals: NDArray[np.int64],
) -> None:
    """Add up ``|gradient|`` and hessian in a thread's chunk, as integers."""
    first, last = chunk_bounds(thread, n_threads, int64(0), len(gradient))
    totals[thread, 0] = _sum_fixed_point(gradient, first, last, gradient_unit)
    totals[thread, 1] = _sum_fixed_point(hessian, first, last, hessian_unit)


@subkernel
def chunk_bounds(chunk: int, n_chunks: int, start: int, stop: int) -> tuple[int, int]:
    """Return where chunk number `chunk` of ``start:stop`` begins and ends."""
    n = stop - start
    return start + n * chunk // n_chunks, start + n * (chunk + 1) // n_chunks


@subkernel
def _largest_magnitude(values: NDArray[np.float64], first: int, last: int) -> int:
    """Return the bits of the largest ``|values[first:last]|``."""
    # the bits of positive floats are in the order of the floats, and a loop that
    # compares integers vectorizes
    largest = int64(0)
    for i in range(uint64(first), uint64(last)):
        largest = max(largest, float64_bits(values[i]) & MAGNITUDE_MASK)
    return largest


@subkernel
def _sum_fixed_point(
    values: NDArray[np.float64], first: int, last: int, unit: float
) -> int:
    """Return the sum of ``|values[first:last]| * unit``, rounded to integers."""
    total = int64(0)
    for i in range(uint64(first), uint64(last)):
        total += int64(np.rint(abs(values[i]) * unit))
    return total


# --- packed integers --------------------------------------------------------------


def choose_quantization(magnitudes: Magnitudes, needs_hessians: bool) -> Quantization:
    """Divide 64 bits between the sums over a sample, and choose their scales."""
    # The count gets as many bits as it needs.  Of the others, the gradient gets more
    # than the hessian: one for its sign, and three (four if their number is odd) for
    # precision.  For the sum of ``|g|`` must fit, but gradients cancel, so that the sum
    # over a leaf is much smaller and needs finer steps.  Where the gain counts rows in
    # place of hessians, the hessian gets no bits.
    count_bits = magnitudes.n_rows.bit_length()
    hessian_bits = (64 - count_bits) // 2 - 2 if needs_hessians else 0
    # Rounding up makes the sums larger: a tenth is left for that.  It usually suffices;
    # if not, see `quantize`.
    gradient, hessian = magnitudes.total
    hessian_scale = scale_to_fit(0.9 * 2.0**hessian_bits, hessian)
    return Quantization(
        scale_to_fit(0.9 * 2.0 ** (63 - hessian_bits - count_bits), gradient),
        hessian_scale if needs_hessians else 0.0,
        hessian_bits,
        (1 << hessian_bits) - 1,
        count_bits,
        (1 << count_bits) - 1,
    )


def scale_to_fit(capacity: float, total: float) -> float:
    """Return the factor that scales `total` to `capacity`; 0 for a total of 0."""
    return capacity / max(total, SMALLEST_TOTAL) if total > 0 else 0.0


def quantize(
    derivatives: RowDerivatives,
    row_numbers: NDArray[np.uint32],
    tree_index: int,
    quantization: Quantization,
    packed: NDArray[np.int64],
    team: ThreadTeam,
    comm: Comm,
) -> tuple[Quantization, int]:
    """Pack gradients; return the quantization, and the packed sum over all workers."""
    # The number of a row and the number of the tree decide how the row's gradient is
    # rounded.  Where rounding makes a sum too large, the scales are halved.
    while True:
        sums = np.zeros((team.n_threads, 3), dtype=np.int64)
        arguments = (*derivatives, row_numbers, tree_index, quantization)
        team.share(2.0 * len(row_numbers), _pack, *arguments, packed, sums)
        gradient, hessian, total = comm.sum(sums.sum(axis=0)).tolist()
        _, _, hessian_bits, _, count_bits, *_ = quantization
        if gradient >> 63 - hessian_bits - count_bits == hessian >> hessian_bits == 0:
            return quantization, total
        quantization = quantization._replace(
            gradient_scale=quantization.gradient_scale / 2,
            hessian_scale=quantization.hessian_scale / 2,
        )


@shared_kernel
def _pack(
    thread: int,
    n_threads: int,
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    row_numbers: NDArray[np.uint32],
    tree_index: int,
    quantization: Quantization,
    packed: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Quantize and pack a thread's chunk; sum up its ``|g|``, h and packed numbers."""
    first, last = chunk_bounds(thread, n_threads, int64(0), len(gradient))
    gradient_sum, hessian_sum, total = int64(0), int64(0), int64(0)
    for i in range(uint64(first), uint64(last)):
        u = (
            float(((int64(row_numbers[i]) + tree_index) * GOLDEN) & 0xFFFFFFFF)
            / 4294967296.0
        )
        g = int64(np.floor(gradient[i] * quantization.gradient_scale + u))
        h = int64(np.floor(hessian[i] * quantization.hessian_scale + u))
        packed[i] = (
            ((g << quantization.hessian_bits) + h) << quantization.count_bits
        ) + 1
        gradient_sum += abs(g)
        hessian_sum += h
        total += packed[i]
    thread_sums = sums[thread]
    thread_sums[0], thread_sums[1], thread_sums[2] = gradient_sum, hessian_sum, total


def with_variance(
    quantization: Quantization,
    packed: NDArray[np.int64],
    total: int,
    team: ThreadTeam,
    comm: Comm,
) -> Quantization:
    """Return the quantization with the variance of the gradients that it packs."""
    # Sums of squares are of integers, too.  The sum of |g| has at most so many bits; 31
    # of them are kept, so that the sum of squares has at most 62.
    _, _, hessian_bits, hessian_mask, count_bits, count_mask, _ = quantization
    n_dropped = max(0, 63 - hessian_bits - count_bits - 31)
    squares = np.zeros(team.n_threads, dtype=np.int64)
    shift = hessian_bits + count_bits + n_dropped
    team.share(1.0 * len(packed), _add_squares, packed, shift, squares)
    sum_of_squares = float(comm.sum(squares.sum(keepdims=True))[0]) * 4.0**n_dropped
    weight = total >> count_bits & hessian_mask if hessian_bits else total & count_mask
    return quantization._replace(variance=sum_of_squares / max(weight, 1))


@shared_kernel
def _add_squares(
    thread: int,
    n_threads: int,
    packed: NDArray[np.int64],
    shift: int,
    squares: NDArray[np.int64],
) -> None:
    """Add up the squares of the gradients in a thread's chunk, without low bits."""
    first, last = chunk_bounds(thread, n_threads, int64(0), len(packed))
    total = int64(0)
    for i in range(uint64(first), uint64(last)):
        g = packed[i] >> shift
        total += g * g
    squares[thread] = total
