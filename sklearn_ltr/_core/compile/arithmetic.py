"""What kernels compute with: arrays in registers, exponentials, bits and memory.

**Intrinsics** are operations that numba lacks: prefetching, the bits of floats, and
arrays on the stack, which stay in registers.

**Exponentials and logarithms** are in plain arithmetic.
Those of the C library and of numpy have other last bits on other CPUs; these do not.
LLVM can vectorize them inside a loop.

    e^x = 2^m e^r,           m = x / ln 2, rounded,    r = x - m ln 2, |r| <= ln 2 / 2
    ln x = m ln 2 + ln(1 + f),     x = 2^m (1 + f),    sqrt(1/2) <= 1 + f < sqrt(2)

e^r is its Taylor series up to r^13 / 13!, whose truncation error is below 1e-17.
ln(1 + f) = 2 artanh(s) with s = f / (2 + f), of which the series is taken up to
s^21 / 21, with a truncation error below 1e-18.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sklearn_ltr._core.compile.kernels import (
    INTERPRETED,
    USES_INTERNALS,
    int64,
    kernel,
    subkernel,
)
from sklearn_ltr._core.typing import FloatArray

if USES_INTERNALS:
    from sklearn_ltr._core.compile.numba_internals import let_vectors_be_long

CACHE_LINE = 64  # bytes

# Elements of an array that the lanes functions make: with 32 bits each, they fill
# eight registers of 64 bytes, with 64 bits sixteen.
REGISTER_LANES = 128
SUM_LANES = 8  # a register of 64 bytes, or two or four smaller ones

LN_2 = 0.6931471805599453
LOG2_E = 1.4426950408889634
# ln 2 in two parts.  The first has so few bits that m times it is exact.
LN_2_HIGH, LN_2_LOW = 1488522236 / 2**31, -4.2009150726810846e-11
LOWEST, HIGHEST = -746.0, 710.0  # e^x is 0 below and infinite above
EXPONENT_BIAS, MANTISSA_BITS = 1023, 52
MANTISSA_MASK = (1 << MANTISSA_BITS) - 1
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD  # those of sqrt(1/2)
ONE_BITS = EXPONENT_BIAS << MANTISSA_BITS
# 1.5 times 2^52: around it, the last bit of a float64 stands for 1
INTEGERS = 3.0 * 2.0 ** (MANTISSA_BITS - 1)
INTEGERS_BITS = ((EXPONENT_BIAS + MANTISSA_BITS) << MANTISSA_BITS) + (1 << 51)
INTEGER_BITS = 51  # those of a number that `float64_of_integer` takes, without its sign


# --- arrays for kernels ---------------------------------------------------------------


def allocate_aligned(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array, not filled, whose memory begins at a cache line."""
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(n_bytes + CACHE_LINE, dtype=np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    array: NDArray[Any] = memory[start : start + n_bytes].view(dtype)
    return array.reshape(shape)


def is_plain(array: NDArray[Any]) -> bool:
    """Return whether an array is C-contiguous, aligned and native."""
    flags = array.flags
    return flags.c_contiguous and flags.aligned and array.dtype.isnative


def as_kernel_argument(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as C-contiguous, aligned, native and read-only."""
    # It is copied only if needed.  Numba compiles a kernel anew for each type of array,
    # to which the layout and the flags belong; all arrays returned here that have the
    # same dtype and number of dimensions are of one type.
    if is_plain(array):
        argument = array.view()
    else:
        argument = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    argument.flags.writeable = False
    return argument


# --- intrinsics -----------------------------------------------------------------------


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch_row(typing: Any, table: Any, row: Any) -> Any:
    """Make the code of `prefetch_row`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        stride = builder.extract_value(array.strides, 0)
        address = builder.add(
            builder.ptrtoint(array.data, ir.IntType(64)), builder.mul(args[1], stride)
        )
        pointer = ir.IntType(8).as_pointer()
        int32 = ir.IntType(32)
        prefetch = builder.module.declare_intrinsic(
            "llvm.prefetch.p0",
            (),
            ir.FunctionType(ir.VoidType(), [pointer, int32, int32, int32]),
        )
        # for reading, into every level of the cache, the data cache
        read, locality, data = (ir.Constant(int32, flag) for flag in (0, 3, 1))
        builder.call(
            prefetch, [builder.inttoptr(address, pointer), read, locality, data]
        )
        return context.get_dummy_value()

    return types.void(table, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _float64_bits(typing: Any, value: Any) -> Any:
    """Make the code of `float64_bits`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _float64_of_bits(typing: Any, bits: Any) -> Any:
    """Make the code of `float64_of_bits`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _sum_of_lanes(typing: Any, lanes: Any, first: Any, stop: Any) -> Any:
    """Make the code of `sum_of_lanes`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.DoubleType(), SUM_LANES)
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        sums = cgutils.alloca_once(builder, vector)
        builder.store(ir.Constant(vector, [0.0] * SUM_LANES), sums)
        step = ir.Constant(ir.IntType(64), SUM_LANES)
        with cgutils.for_range_slice(builder, args[1], args[2], step) as (index, _):
            address = builder.bitcast(builder.gep(data, [index]), vector.as_pointer())
            part = builder.load(address, align=8)
            builder.store(builder.fadd(builder.load(sums), part), sums)
        total = builder.load(sums)
        width = SUM_LANES
        while width > 1:  # add the upper half of the lanes to the lower
            width //= 2
            upper = ir.Constant(
                ir.VectorType(ir.IntType(32), SUM_LANES),
                [(lane + width) % SUM_LANES for lane in range(SUM_LANES)],
            )
            total = builder.fadd(total, builder.shuffle_vector(total, total, upper))
        return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

    return types.float64(lanes, types.uint64, types.uint64), generate


def stack_array(dtype: DTypeLike, size: int) -> Callable[[], NDArray[Any]]:
    """Return the function that makes an array of this size in a kernel, not filled."""
    # The array is on the stack, so LLVM knows that nothing else refers to it: loops
    # that write to it only need not check whether they overwrite other arrays.  And
    # while every loop runs over all elements, these stay in registers.
    if INTERPRETED:
        return functools.partial(np.empty, size, dtype)
    element_type = numba.from_dtype(np.dtype(dtype))
    array_type = types.Array(element_type, 1, "C")

    @intrinsic  # type: ignore[untyped-decorator]
    def make_array(typing: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            element = context.get_data_type(element_type)
            with builder.goto_entry_block():  # numba's `alloca_once` fills with zeros
                memory = builder.alloca(ir.ArrayType(element, size))
            memory.align = CACHE_LINE
            array = context.make_array(array_type)(context, builder)
            n, step = (
                context.get_constant(types.intp, number)
                for number in (size, np.dtype(dtype).itemsize)
            )
            array.data = builder.bitcast(memory, array.data.type)
            array.nitems, array.itemsize = n, step
            array.shape = cgutils.pack_array(builder, [n])
            array.strides = cgutils.pack_array(builder, [step])
            for owner in ("meminfo", "parent"):  # none: it is on the stack
                none = cgutils.get_null_value(getattr(array, owner).type)
                setattr(array, owner, none)
            return array._getvalue()

        return array_type(), generate

    return cast(Callable[[], NDArray[Any]], make_array)


@intrinsic  # type: ignore[untyped-decorator]
def _prefer_long_vectors(typing: Any) -> Any:
    """Let loops of the function use vectors of 512 bits, on CPUs that gain by it."""
    # LLVM prefers 256 bits, since CPUs before Ice Lake lower their frequency for 512.
    # Loops of few, long chains of arithmetic gain a quarter; others lose, so that this
    # is for single functions.

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, cpu, features = context.codegen().magic_tuple()
        gains = cpu == "x86-64-v4" or "+avx512vbmi2" in features.split(",")
        if USES_INTERNALS and gains:
            let_vectors_be_long(builder.function)
        return context.get_dummy_value()

    return types.none(), generate


if INTERPRETED:

    def prefer_long_vectors() -> None:
        """Do nothing: plain Python has no vectors."""

    def prefetch_row(table: Any, row: int) -> None:
        """Do nothing: plain Python has no cache hints."""

    def float64_bits(value: float) -> int:
        """Return the bits of a float64 as an int64."""
        return int(np.float64(value).view(np.int64))

    def float64_of_bits(bits: int) -> float:
        """Return the float64 of these bits."""
        return float(np.int64(bits).view(np.float64))

    def sum_of_lanes(lanes: Any, first: int, stop: int) -> float:
        """Return the sum of ``lanes[first:stop]``, a multiple of SUM_LANES."""
        # It is added in an order that is the same on every CPU: every eighth element to
        # one of eight sums, then the upper half of the sums to the lower.
        sums = np.zeros(SUM_LANES)
        for start in range(first, stop, SUM_LANES):
            sums += lanes[start : start + SUM_LANES]
        while len(sums) > 1:
            sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
        return float(sums[0])

else:
    prefer_long_vectors = _prefer_long_vectors
    prefetch_row = _prefetch_row
    float64_bits = _float64_bits
    float64_of_bits = _float64_of_bits
    sum_of_lanes = _sum_of_lanes

uint32_lanes = stack_array(np.uint32, REGISTER_LANES)
float32_lanes = stack_array(np.float32, REGISTER_LANES)
float64_lanes = stack_array(np.float64, REGISTER_LANES)


# --- numbers --------------------------------------------------------------------------


@subkernel
def float64_of_integer(n: int) -> float:
    """Return an integer as a float64, for ``|n| < 2^51``."""
    # By an addition of bits and one of floats, which every CPU has for vectors, too; a
    # conversion of 64 bits only those with AVX-512
    return float64_of_bits(n + INTEGERS_BITS) - INTEGERS


# --- exponentials and logarithms ------------------------------------------------------


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
    # The error of `rounded` cancels in the quotient, which is computed in any case:
    # without a branch, LLVM can vectorize.
    quotient = log(rounded) * (x / added)
    return x if added == 0.0 else quotient


@subkernel
def expit(x: float) -> float:
    """Return 1 / (1 + e^-x) within 2.5 ulp."""
    return 1.0 / (1.0 + exp(-x))


@subkernel
def softplus(x: float) -> float:
    """Return ln(1 + e^x) within 3 ulp."""
    return max(x, 0.0) + log1p(exp(-abs(x)))


@kernel
def _exp2_of(x: FloatArray, result: FloatArray) -> None:
    """Write 2^x."""
    for i in range(len(x)):
        result[i] = exp2(x[i])


@kernel
def _log2_of(x: FloatArray, result: FloatArray) -> None:
    """Write log2 x."""
    for i in range(len(x)):
        result[i] = log2(x[i])


@kernel
def _expit_of(x: FloatArray, result: FloatArray) -> None:
    """Write 1 / (1 + e^-x)."""
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
    """Return what a kernel writes for each element."""
    values = np.asarray(x, dtype=np.float64)
    result = np.empty(values.shape)
    function(as_kernel_argument(values.ravel()), result.reshape(-1))
    return result
