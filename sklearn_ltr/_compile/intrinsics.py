"""Operations that numba lacks: prefetching, bits of floats, arrays in registers."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from sklearn_ltr._compile.kernels import INTERPRETED

# Elements of an array that the lanes functions make: with 32 bits each, they fill
# eight registers of 64 bytes, with 64 bits sixteen.
REGISTER_LANES = 128
SUM_LANES = 8  # a register of 64 bytes, or two or four smaller ones


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch_row(typing: Any, table: Any, row: Any) -> Any:
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
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _float64_of_bits(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _sum_of_lanes(typing: Any, lanes: Any, first: Any, stop: Any) -> Any:
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


def _lanes(dtype: Any, element: Any) -> Any:
    """Make the intrinsic that returns a new array of REGISTER_LANES elements.

    Parameters
    ----------
    dtype : numba type
        Type of the elements.
    element : llvmlite type
        The same type for LLVM.

    Notes
    -----
    The array is on the stack, so LLVM knows that nothing else refers to it.  Loops
    that write to it only need not check whether they overwrite other arrays; and while
    every loop runs over all elements, these stay in registers.
    """
    array_type = types.Array(dtype, 1, "C")

    @intrinsic  # type: ignore[untyped-decorator]
    def lanes(typing: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            memory = cgutils.alloca_once(builder, ir.ArrayType(element, REGISTER_LANES))
            memory.align = 64
            array = context.make_array(array_type)(context, builder)
            size, step = (
                context.get_constant(types.intp, n)
                for n in (REGISTER_LANES, dtype.bitwidth // 8)
            )
            populate_array(
                array,
                data=builder.bitcast(memory, array.data.type),
                shape=[size],
                strides=[step],
                itemsize=step,
                meminfo=None,
            )
            return array._getvalue()

        return array_type(), generate

    return lanes


if INTERPRETED:

    def prefetch_row(table: Any, row: int) -> None:
        """Do nothing: plain Python has no cache hints."""

    def float64_bits(value: float) -> int:
        """Return the bits of a float64 as an int64."""
        return int(np.float64(value).view(np.int64))

    def float64_of_bits(bits: int) -> float:
        """Return the float64 of these bits."""
        return float(np.int64(bits).view(np.float64))

    def sum_of_lanes(lanes: Any, first: int, stop: int) -> float:
        """Return the sum of ``lanes[first:stop]``, a multiple of SUM_LANES.

        It is added in an order that is the same on every CPU: every eighth element to
        one of eight sums, then the upper half of the sums to the lower.
        """
        sums = np.zeros(SUM_LANES)
        for start in range(first, stop, SUM_LANES):
            sums += lanes[start : start + SUM_LANES]
        while len(sums) > 1:
            sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
        return float(sums[0])

    def uint32_lanes() -> Any:
        """Return an array of REGISTER_LANES uint32, not filled."""
        return np.empty(REGISTER_LANES, dtype=np.uint32)

    def float32_lanes() -> Any:
        """Return an array of REGISTER_LANES float32, not filled."""
        return np.empty(REGISTER_LANES, dtype=np.float32)

    def float64_lanes() -> Any:
        """Return an array of REGISTER_LANES float64, not filled."""
        return np.empty(REGISTER_LANES)

else:
    prefetch_row = _prefetch_row
    float64_bits = _float64_bits
    float64_of_bits = _float64_of_bits
    sum_of_lanes = _sum_of_lanes
    uint32_lanes = _lanes(types.uint32, ir.IntType(32))
    float32_lanes = _lanes(types.float32, ir.FloatType())
    float64_lanes = _lanes(types.float64, ir.DoubleType())
