"""Operations that numba lacks: prefetching, powers of two, arrays in registers."""

from __future__ import annotations

import math
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
def _exp2_integer(typing: Any, power: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        # a float64 with a mantissa of zero, and with `power` as its exponent
        int64, bias = ir.IntType(64), ir.Constant(ir.IntType(64), 1023)
        exponent = builder.add(builder.fptosi(args[0], int64), bias)
        bits = builder.shl(exponent, ir.Constant(int64, 52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64), generate


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

    def exp2_integer(power: float) -> float:
        """Return 2 to the power of a whole number between -1022 and 1023."""
        return math.ldexp(1.0, int(power))

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
    exp2_integer = _exp2_integer
    uint32_lanes = _lanes(types.uint32, ir.IntType(32))
    float32_lanes = _lanes(types.float32, ir.FloatType())
    float64_lanes = _lanes(types.float64, ir.DoubleType())
