"""Bit vectors: one bit for each of 512 rows, in 16 lanes of 32 bits.

Numba has no vector types, and LLVM does not vectorize loops as short as these.  So the
vector instructions are written here in LLVM's intermediate language, without reference
to a particular CPU: LLVM splits a vector of 16 lanes into registers of the CPU's width.

A kernel keeps all its bit vectors in one flat uint32 array, `vectors`, and names a
vector by the offset of its first lane.  A transposed feature is an array of 512 values,
one of each row, in the order of :func:`bit_of_row`.

The operations are documented at their plain Python forms, at the end of this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from sklearn_ltr._core.compile.kernels import INTERPRETED

VECTOR_LANES = 16
ROW_BLOCK = 32 * VECTOR_LANES  # rows, one for each bit of a bit vector
_VECTOR = ir.VectorType(ir.IntType(32), VECTOR_LANES)


def bit_of_row(row: int) -> int:
    """Return the position of a row's bit: p is bit ``p // 16`` of lane ``p % 16``."""
    # 64 consecutive rows share bits b, b + 8, b + 16 and b + 24 of all lanes, so that
    # the first 64 n rows need only 4 n comparisons of 16 values.  Rows 4 i to 4 i + 3
    # share a lane, 8 bits apart, which after :func:`transpose_bits` makes their codes
    # consecutive bytes.
    return row % 4 * 128 + row // 64 * VECTOR_LANES + row % 64 // 4


def _lanes(context: Any, builder: Any, kind: Any, array: Any, first: Any) -> Any:
    """Return a pointer to VECTOR_LANES elements of a C-contiguous array."""
    data = context.make_array(kind)(context, builder, array).data
    lanes = ir.VectorType(context.get_value_type(kind.dtype), VECTOR_LANES)
    return builder.bitcast(builder.gep(data, [first]), lanes.as_pointer())


def _load(builder: Any, pointer: Any) -> Any:
    """Return the vector at a pointer, which need not be aligned to its width."""
    return builder.load(pointer, align=4)


def _broadcast(builder: Any, value: Any) -> Any:
    """Return a vector of VECTOR_LANES copies of a value."""
    one = ir.Constant(ir.VectorType(value.type, VECTOR_LANES), ir.Undefined)
    one = builder.insert_element(one, value, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, ir.Constant(_VECTOR, [0] * VECTOR_LANES))


def _constant(value: int) -> Any:
    """Return a vector of VECTOR_LANES copies of a number."""
    return ir.Constant(_VECTOR, [value] * VECTOR_LANES)


def _select(builder: Any, condition: Any, zero: Any, one: Any) -> Any:
    """Return ``one if condition else zero``, bit by bit."""
    return builder.xor(zero, builder.and_(condition, builder.xor(zero, one)))


@intrinsic  # type: ignore[untyped-decorator]
def _select_bits(
    typing: Any, vectors: Any, condition: Any, zero: Any, one: Any, result: Any
) -> Any:
    """Make the code of `select_bits`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = [
            _lanes(context, builder, signature.args[0], args[0], first)
            for first in args[1:]
        ]
        condition, zero, one = (_load(builder, pointer) for pointer in pointers[:3])
        selected = _select(builder, condition, zero, one)
        builder.store(selected, pointers[3], align=4)
        return context.get_dummy_value()

    index = types.int64
    return types.void(vectors, index, index, index, index), generate


@contextmanager
def _descending_loop(builder: Any, n: Any) -> Iterator[Any]:
    """Loop over n - 1, ..., 0, where n > 0, not unrolled: unrolled, it is slower."""
    body, after = (builder.append_basic_block(name) for name in ("body", "after"))
    counter = cgutils.alloca_once_value(builder, n)
    builder.branch(body)
    builder.position_at_end(body)
    i = builder.sub(builder.load(counter), n.type(1))
    builder.store(i, counter)
    yield i
    back = builder.cbranch(builder.icmp_signed(">", i, n.type(0)), body, after)
    hint = builder.module.add_metadata(["llvm.loop.unroll.disable"])
    hints = builder.module.add_metadata([hint, hint])
    hints.operands = hints, hint  # a loop's metadata refers to itself first
    back.set_metadata("llvm.loop", hints)
    builder.position_at_end(after)


def _collect_signs(
    context: Any, builder: Any, kind: Any, feature: Any, n_parts: Any, function: Any
) -> Any:
    """Return the bit vector of the sign bits of a function of a feature's values."""
    # A part is 64 rows.  Each pass of the loop shifts one bit into each of the 4 bytes
    # of a lane; the function returns 16 integers of 32 bits.
    bits = [cgutils.alloca_once_value(builder, _constant(0)) for _ in range(4)]
    with _descending_loop(builder, n_parts) as part:
        for byte in range(4):
            first = builder.mul(part, part.type(VECTOR_LANES))
            first = builder.add(first, part.type(8 * VECTOR_LANES * byte))
            values = _load(builder, _lanes(context, builder, kind, feature, first))
            sign = builder.lshr(function(builder, values), _constant(31))
            before = builder.shl(builder.load(bits[byte]), _constant(1))
            builder.store(builder.or_(before, sign), bits[byte])
    vector = builder.load(bits[0])
    for byte in range(1, 4):
        shifted = builder.shl(builder.load(bits[byte]), _constant(8 * byte))
        vector = builder.or_(vector, shifted)
    return vector


@intrinsic  # type: ignore[untyped-decorator]
def _missing_bits(
    typing: Any, feature: Any, n_parts: Any, vectors: Any, result: Any
) -> Any:
    """Make the code of `missing_bits`."""

    def is_missing(builder: Any, values: Any) -> Any:
        return builder.sext(builder.fcmp_unordered("uno", values, values), _VECTOR)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        feature, n_parts = args[:2]
        bits = _collect_signs(
            context, builder, signature.args[0], feature, n_parts, is_missing
        )
        target = _lanes(context, builder, signature.args[2], *args[2:])
        builder.store(bits, target, align=4)
        return context.get_dummy_value()

    return types.void(feature, types.int64, vectors, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _evaluate_condition(
    typing: Any,
    feature: Any,
    n_parts: Any,
    threshold: Any,
    vectors: Any,
    missing: Any,
    side: Any,
    result: Any,
) -> Any:
    """Make the code of `evaluate_condition`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        feature, n_parts, threshold, vectors = args[:4]
        threshold = _broadcast(builder, threshold)

        def threshold_minus_x(builder: Any, values: Any) -> Any:
            # The sign of this difference is the bit we need.  A comparison would give
            # a mask register instead, and moving that to a vector takes longer.
            difference = builder.fsub(threshold, values)
            if difference.type.element == ir.DoubleType():
                halves = ir.VectorType(ir.IntType(32), 2 * VECTOR_LANES)
                upper = ir.Constant(_VECTOR, list(range(1, 2 * VECTOR_LANES, 2)))
                difference = builder.bitcast(difference, halves)
                return builder.shuffle_vector(difference, difference, upper)
            return builder.bitcast(difference, _VECTOR)

        above = _collect_signs(
            context, builder, signature.args[0], feature, n_parts, threshold_minus_x
        )
        missing, side, target = (
            _lanes(context, builder, signature.args[3], vectors, first)
            for first in args[4:]
        )
        missing, side = _load(builder, missing), _load(builder, side)
        builder.store(_select(builder, missing, above, side), target, align=4)
        return context.get_dummy_value()

    index = types.int64
    return types.void(feature, index, threshold, vectors, index, index, index), generate


@intrinsic  # type: ignore[untyped-decorator]
def _transpose_bits(typing: Any, vectors: Any, code_bits: Any, codes: Any) -> Any:
    """Make the code of `transpose_bits`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vectors, code_bits, codes = signature.args
        index = ir.IntType(64)
        first = context.make_array(code_bits)(context, builder, args[1]).data
        row = []
        for k in range(8):
            at = builder.zext(builder.load(builder.gep(first, [index(k)])), index)
            row.append(_load(builder, _lanes(context, builder, vectors, args[0], at)))
        # transpose each 8 x 8 matrix of bits: swap blocks of 1, then 2, then 4 bits
        for step, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F)):
            for k in range(8):
                if not k & step:
                    moved = builder.lshr(row[k], _constant(step))
                    moved = builder.xor(moved, row[k + step])
                    moved = builder.and_(moved, _constant(mask))
                    row[k + step] = builder.xor(row[k + step], moved)
                    back = builder.shl(moved, _constant(step))
                    row[k] = builder.xor(row[k], back)
        for k in range(8):
            target = _lanes(context, builder, codes, args[2], index(8 * k))
            target = builder.bitcast(target, _VECTOR.as_pointer())
            builder.store(row[k], target, align=4)
        return context.get_dummy_value()

    return types.void(vectors, code_bits, codes), generate


if INTERPRETED:
    BIT = np.arange(32, dtype=np.uint32)

    def select_bits(
        vectors: Any, condition: int, zero: int, one: int, result: int
    ) -> None:
        """Write ``one if condition else zero``, bit by bit, to the vector `result`."""
        c, z, o = (
            vectors[first : first + VECTOR_LANES] for first in (condition, zero, one)
        )
        vectors[result : result + VECTOR_LANES] = z & ~c | o & c

    def missing_bits(feature: Any, n_parts: int, vectors: Any, result: int) -> None:
        """Write where a feature is missing, for the first 64 n_parts rows."""
        missing = np.isnan(feature).reshape(32, VECTOR_LANES)
        vectors[result : result + VECTOR_LANES] = (missing << BIT[:, None]).sum(axis=0)

    def evaluate_condition(
        feature: Any,
        n_parts: int,
        threshold: Any,
        vectors: Any,
        missing: int,
        side: int,
        result: int,
    ) -> None:
        """Write where a feature exceeds a threshold, and `side` where it is missing."""
        # `missing`, `side` and `result` are offsets of vectors; 64 n_parts rows are
        # read.  The threshold must not be -0.0: compiled, ``-0.0 - 0.0`` is negative.
        above = (feature > threshold).reshape(32, VECTOR_LANES)
        vectors[result : result + VECTOR_LANES] = (above << BIT[:, None]).sum(axis=0)
        select_bits(vectors, missing, result, side, result)

    def transpose_bits(vectors: Any, code_bits: Any, codes: Any) -> None:
        """Write an 8-bit code for each of 512 rows, in the order of the rows."""
        # Bit k of the codes is in the vector at offset ``code_bits[k]``.  `codes` has
        # 64 elements of int64, which hold 8 codes each.
        planes = [
            vectors[first : first + VECTOR_LANES] >> BIT[:, None] & 1
            for first in code_bits
        ]
        by_bit = sum(plane.ravel() << k for k, plane in enumerate(planes))
        codes.view(np.uint8)[:] = by_bit[[bit_of_row(row) for row in range(ROW_BLOCK)]]

else:
    select_bits = _select_bits
    missing_bits = _missing_bits
    evaluate_condition = _evaluate_condition
    transpose_bits = _transpose_bits
