"""Exponentials and logarithms in plain arithmetic.

Those of the C library and of numpy have other last bits on other CPUs; these do not.
LLVM can vectorize them inside a loop.

    e^x = 2^m e^r,           m = x / ln 2, rounded,    r = x - m ln 2, |r| <= ln 2 / 2
    ln x = m ln 2 + ln(1 + f),     x = 2^m (1 + f),    sqrt(1/2) <= 1 + f < sqrt(2)

e^r is its Taylor series up to r^13 / 13!, whose truncation error is below 1e-17.
ln(1 + f) = 2 artanh(s) with s = f / (2 + f), of which the series is taken up to
s^21 / 21, with a truncation error below 1e-18.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._compile.intrinsics import float64_bits, float64_of_bits
from sklearn_ltr._compile.kernels import int64, kernel, subkernel
from sklearn_ltr._compile.memory import as_kernel_argument

FloatArray = NDArray[np.float64]

LN_2 = 0.6931471805599453
LOG2_E = 1.4426950408889634
# ln 2 in two parts.  The first has so few bits that m times it is exact.
LN_2_HIGH, LN_2_LOW = 1488522236 / 2**31, -4.2009150726810846e-11
LOWEST, HIGHEST = -746.0, 710.0  # e^x is 0 below and infinite above
EXPONENT_BIAS, MANTISSA_BITS = 1023, 52
MANTISSA_MASK = (1 << MANTISSA_BITS) - 1
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD  # those of sqrt(1/2)
ONE_BITS = EXPONENT_BIAS << MANTISSA_BITS


@subkernel
def exp2_integer(m: float) -> float:
    """Return 2 to the power of a whole number between -1022 and 1023."""
    return float64_of_bits((int64(m) + EXPONENT_BIAS) << MANTISSA_BITS)


@subkernel
def scaled_exp(r: float, m: float) -> float:
    """Return 2^m e^r for ``|r| <= ln 2 / 2`` and a whole number m."""
    series = 1 / 6227020800
    series = series * r + 1 / 479001600
    series = series * r + 1 / 39916800
    series = series * r + 1 / 3628800
    series = series * r + 1 / 362880
    series = series * r + 1 / 40320
    series = series * r + 1 / 5040
    series = series * r + 1 / 720
    series = series * r + 1 / 120
    series = series * r + 1 / 24
    series = series * r + 1 / 6
    series = series * r + 1 / 2
    # 2^m in two factors: near the ends of the range one would not be a normal number
    most = min(max(m, -1000.0), 1000.0)
    power = 1.0 + (r + r * r * series)
    return power * exp2_integer(most) * exp2_integer(m - most)


@subkernel
def exp(x: float) -> float:
    """Return e^x within one ulp (two where it is subnormal)."""
    x = min(max(x, LOWEST), HIGHEST)
    m = np.rint(x * LOG2_E)
    return scaled_exp((x - m * LN_2_HIGH) - m * LN_2_LOW, m)


@subkernel
def exp2(x: float) -> float:
    """Return 2^x within one ulp; exactly if x is a whole number."""
    x = min(max(x, LOWEST * LOG2_E), HIGHEST * LOG2_E)
    m = np.rint(x)
    return scaled_exp((x - m) * LN_2, m)


@subkernel
def split_number(x: float) -> tuple[float, float]:
    """Return m and f with x = 2^m (1 + f), for a normal number x > 0."""
    bits = float64_bits(x) + (ONE_BITS - SQRT_HALF_BITS)
    m = float((bits >> MANTISSA_BITS) - EXPONENT_BIAS)
    return m, float64_of_bits((bits & MANTISSA_MASK) + SQRT_HALF_BITS) - 1.0


@subkernel
def log_mantissa(f: float) -> float:
    """Return ln(1 + f) for sqrt(1/2) <= 1 + f < sqrt(2)."""
    s = f / (2.0 + f)
    z = s * s
    series = 2 / 21
    series = series * z + 2 / 19
    series = series * z + 2 / 17
    series = series * z + 2 / 15
    series = series * z + 2 / 13
    series = series * z + 2 / 11
    series = series * z + 2 / 9
    series = series * z + 2 / 7
    series = series * z + 2 / 5
    series = series * z + 2 / 3
    # 2 s = f - s f = f - f^2 / 2 + s f^2 / 2, of which f is exact
    half_square = 0.5 * f * f
    return f - (half_square - s * (half_square + series * z))


@subkernel
def log(x: float) -> float:
    """Return ln x within 1.25 ulp, for a normal number x > 0."""
    m, f = split_number(x)
    return m * LN_2_HIGH + (log_mantissa(f) + m * LN_2_LOW)


@subkernel
def log2(x: float) -> float:
    """Return log2 x within 1.5 ulp, for a normal number x > 0; exactly for 2^m."""
    m, f = split_number(x)
    return m + log_mantissa(f) * LOG2_E


@subkernel
def log1p(x: float) -> float:
    """Return ln(1 + x) within 2.5 ulp, for x >= 0."""
    rounded = 1.0 + x
    added = rounded - 1.0
    # the error of `rounded` cancels in the quotient
    return x if added == 0.0 else log(rounded) * (x / added)


@subkernel
def expit(x: float) -> float:
    """Return 1 / (1 + e^-x) within 2.5 ulp."""
    return 1.0 / (1.0 + exp(-x))


@kernel
def _exp2_of(x: FloatArray, result: FloatArray) -> None:
    for i in range(len(x)):
        result[i] = exp2(x[i])


@kernel
def _log2_of(x: FloatArray, result: FloatArray) -> None:
    for i in range(len(x)):
        result[i] = log2(x[i])


@kernel
def _expit_of(x: FloatArray, result: FloatArray) -> None:
    for i in range(len(x)):
        result[i] = expit(x[i])


def exp2_of(x: ArrayLike) -> FloatArray:
    """Return 2^x of each element, float64; see `exp2`."""
    return _of_each(_exp2_of, x)


def log2_of(x: ArrayLike) -> FloatArray:
    """Return log2 x of each element, float64; see `log2`."""
    return _of_each(_log2_of, x)


def expit_of(x: ArrayLike) -> FloatArray:
    """Return 1 / (1 + e^-x) of each element, float64; see `expit`."""
    return _of_each(_expit_of, x)


def _of_each(
    function: Callable[[FloatArray, FloatArray], None], x: ArrayLike
) -> FloatArray:
    values = np.asarray(x, dtype=np.float64)
    result = np.empty(values.shape)
    function(as_kernel_argument(values.ravel()), result.reshape(-1))
    return result
