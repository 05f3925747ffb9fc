"""What numba lacks: hints to the cache, powers of two, numbers kept in uint32_lanes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from sklearn_ltr._compile.kernels import INTERPRETED


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch_row(typing: Any, table: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        stride = builder.extract_value(array.strides, 0)
        address = builder.add(
            builder.ptrtoint(array.data, ir.IntType(64)), builder.mul(args[1], stride)
        )
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        hint = builder.module.declare_intrinsic(
            "llvm.prefetch.p0",
            (),
            ir.FunctionType(ir.VoidType(), [byte, word, word, word]),
        )
        read, keep, data = (ir.Constant(word, flag) for flag in (0, 3, 1))
        builder.call(hint, [builder.inttoptr(address, byte), read, keep, data])
        return context.get_dummy_value()

    return types.void(table, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _two_to_the(typing: Any, power: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, bias = ir.IntType(64), ir.Constant(ir.IntType(64), 1023)
        exponent = builder.add(builder.fptosi(args[0], word), bias)
        bits = builder.shl(exponent, ir.Constant(word, 52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64), generate


REGISTER_LANES = (
    128  # 32-bit numbers in eight uint32_lanes of 64 bytes, float64 in sixteen
)


def _lanes(dtype: Any, number: Any) -> Any:
    """Make an intrinsic: REGISTER_LANES numbers that nobody else can look at, as LLVM sees.

    Loops that write nothing else need not check what they might overwrite; and as long
    as all loops are over all of the numbers, these stay in uint32_lanes.
    """
    kind = types.Array(dtype, 1, "C")

    @intrinsic  # type: ignore[untyped-decorator]
    def lanes(typing: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            memory = cgutils.alloca_once(builder, ir.ArrayType(number, REGISTER_LANES))
            memory.align = 64
            array = context.make_array(kind)(context, builder)
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

        return kind(), generate

    return lanes


_registers = _lanes(types.uint32, ir.IntType(32))
_floats = _lanes(types.float32, ir.FloatType())
_doubles = _lanes(types.float64, ir.DoubleType())


if INTERPRETED:

    def prefetch_row(table: Any, row: int) -> None:
        """Do nothing: plain Python has no cache hints."""

    def exp2_integer(power: float) -> float:
        """Return 2 to a whole number between -1022 and 1023."""
        return math.ldexp(1.0, int(power))

    def uint32_lanes() -> Any:
        """Return REGISTER_LANES words."""
        return np.empty(REGISTER_LANES, dtype=np.uint32)

    def float32_lanes() -> Any:
        """Return REGISTER_LANES float32."""
        return np.empty(REGISTER_LANES, dtype=np.float32)

    def float64_lanes() -> Any:
        """Return REGISTER_LANES numbers."""
        return np.empty(REGISTER_LANES)

else:
    prefetch_row = _prefetch_row
    uint32_lanes = _registers
    float32_lanes = _floats
    float64_lanes = _doubles
    exp2_integer = _two_to_the
