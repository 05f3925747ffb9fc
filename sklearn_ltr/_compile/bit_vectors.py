"""Words of 512 bits: one for each of 512 rows, in 16 lanes of 32.

Numba has no vectors, and LLVM finds none in loops as short as these; so they are
written for it here, without a word about the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from sklearn_ltr._compile.kernels import INTERPRETED

VECTOR_LANES = 16
ROW_BLOCK = 32 * VECTOR_LANES
_WORD = ir.VectorType(ir.IntType(32), VECTOR_LANES)


def place(row: int) -> int:
    """Return the place of a row in a column: p is bit ``p // 16`` of lane ``p % 16``.

    Of 64 rows that follow each other, 4 belong to a lane, 8 bits apart.
    """
    return row % 4 * 128 + row // 64 * VECTOR_LANES + row % 64 // 4


def _lanes(context: Any, builder: Any, kind: Any, array: Any, first: Any) -> Any:
    """Return a pointer to VECTOR_LANES elements of a one-dimensional array."""
    data = context.make_array(kind)(context, builder, array).data
    lanes = ir.VectorType(context.get_value_type(kind.dtype), VECTOR_LANES)
    return builder.bitcast(builder.gep(data, [first]), lanes.as_pointer())


def _load(builder: Any, pointer: Any) -> Any:
    return builder.load(pointer, align=4)


def _everywhere(builder: Any, value: Any) -> Any:
    """Return VECTOR_LANES copies of a value."""
    one = ir.Constant(ir.VectorType(value.type, VECTOR_LANES), ir.Undefined)
    one = builder.insert_element(one, value, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, ir.Constant(_WORD, [0] * VECTOR_LANES))


def _constant(value: int) -> Any:
    return ir.Constant(_WORD, [value] * VECTOR_LANES)


def _choice(builder: Any, answer: Any, zero: Any, one: Any) -> Any:
    """Return ``one if answer else zero``, bit by bit."""
    return builder.xor(zero, builder.and_(answer, builder.xor(zero, one)))


@intrinsic  # type: ignore[untyped-decorator]
def _choose_word(
    typing: Any, words: Any, answer: Any, zero: Any, one: Any, result: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        places = [
            _lanes(context, builder, signature.args[0], args[0], first)
            for first in args[1:]
        ]
        answer, zero, one = (_load(builder, place) for place in places[:3])
        builder.store(_choice(builder, answer, zero, one), places[3], align=4)
        return context.get_dummy_value()

    index = types.int64
    return types.void(words, index, index, index, index), generate


@contextmanager
def _falling(builder: Any, n: Any) -> Iterator[Any]:
    """Loop over n - 1, ..., 0, where n > 0, as written: unrolled, it takes longer."""
    body, after = (builder.append_basic_block(name) for name in ("body", "after"))
    number = cgutils.alloca_once_value(builder, n)
    builder.branch(body)
    builder.position_at_end(body)
    i = builder.sub(builder.load(number), n.type(1))
    builder.store(i, number)
    yield i
    back = builder.cbranch(builder.icmp_signed(">", i, n.type(0)), body, after)
    rule = builder.module.add_metadata(["llvm.loop.unroll.disable"])
    rules = builder.module.add_metadata([rule, rule])
    rules.operands = rules, rule  # how LLVM knows the rules of a loop
    back.set_metadata("llvm.loop", rules)
    builder.position_at_end(after)


def _collect_signs(
    context: Any, builder: Any, kind: Any, column: Any, n_parts: Any, function: Any
) -> Any:
    """Return the word of the sign bits of a function of a column's values."""
    bits = [cgutils.alloca_once_value(builder, _constant(0)) for _ in range(4)]
    with _falling(builder, n_parts) as part:
        for byte in range(4):
            first = builder.mul(part, part.type(VECTOR_LANES))
            first = builder.add(first, part.type(8 * VECTOR_LANES * byte))
            values = _load(builder, _lanes(context, builder, kind, column, first))
            sign = builder.lshr(function(builder, values), _constant(31))
            before = builder.shl(builder.load(bits[byte]), _constant(1))
            builder.store(builder.or_(before, sign), bits[byte])
    word = builder.load(bits[0])
    for byte in range(1, 4):
        own = builder.shl(builder.load(bits[byte]), _constant(8 * byte))
        word = builder.or_(word, own)
    return word


@intrinsic  # type: ignore[untyped-decorator]
def _find_missing(
    typing: Any, column: Any, n_parts: Any, words: Any, result: Any
) -> Any:
    def is_missing(builder: Any, values: Any) -> Any:
        return builder.sext(builder.fcmp_unordered("uno", values, values), _WORD)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        column, n_parts = args[:2]
        word = _collect_signs(
            context, builder, signature.args[0], column, n_parts, is_missing
        )
        target = _lanes(context, builder, signature.args[2], *args[2:])
        builder.store(word, target, align=4)
        return context.get_dummy_value()

    return types.void(column, types.int64, words, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _answer(
    typing: Any,
    column: Any,
    n_parts: Any,
    threshold: Any,
    words: Any,
    missing: Any,
    side: Any,
    result: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        column, n_parts, threshold, words = args[:4]
        threshold = _everywhere(builder, threshold)

        def gap(builder: Any, values: Any) -> Any:
            # negative where a value is above the threshold: a mask of bits would have
            # to be made from each comparison
            gap = builder.fsub(threshold, values)
            if gap.type.element == ir.DoubleType():
                halves = ir.VectorType(ir.IntType(32), 2 * VECTOR_LANES)
                upper = ir.Constant(_WORD, list(range(1, 2 * VECTOR_LANES, 2)))
                gap = builder.bitcast(gap, halves)
                return builder.shuffle_vector(gap, gap, upper)
            return builder.bitcast(gap, _WORD)

        above = _collect_signs(
            context, builder, signature.args[0], column, n_parts, gap
        )
        missing, side, target = (
            _lanes(context, builder, signature.args[3], words, first)
            for first in args[4:]
        )
        missing, side = _load(builder, missing), _load(builder, side)
        builder.store(_choice(builder, missing, above, side), target, align=4)
        return context.get_dummy_value()

    index = types.int64
    return types.void(column, index, threshold, words, index, index, index), generate


@intrinsic  # type: ignore[untyped-decorator]
def _join_bits(typing: Any, words: Any, bits: Any, numbers: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words, bits, numbers = signature.args
        index = ir.IntType(64)
        first = context.make_array(bits)(context, builder, args[1]).data
        row = []
        for k in range(8):
            at = builder.zext(builder.load(builder.gep(first, [index(k)])), index)
            row.append(_load(builder, _lanes(context, builder, words, args[0], at)))
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
            place = _lanes(context, builder, numbers, args[2], index(8 * k))
            place = builder.bitcast(place, _WORD.as_pointer())
            builder.store(row[k], place, align=4)
        return context.get_dummy_value()

    return types.void(words, bits, numbers), generate


if INTERPRETED:
    BIT = np.arange(32, dtype=np.uint32)

    def select_bits(words: Any, answer: int, zero: int, one: int, result: int) -> None:
        """Write ``one if answer else zero``, bit by bit, to the word at `result`."""
        a, z, o = (words[first : first + VECTOR_LANES] for first in (answer, zero, one))
        words[result : result + VECTOR_LANES] = z & ~a | o & a

    def missing_bits(column: Any, n_parts: int, words: Any, result: int) -> None:
        """Write where values are missing, of the first 64 n_parts rows."""
        missing = np.isnan(column).reshape(32, VECTOR_LANES)
        words[result : result + VECTOR_LANES] = (missing << BIT[:, None]).sum(axis=0)

    def answer(
        column: Any,
        n_parts: int,
        threshold: Any,
        words: Any,
        missing: int,
        side: int,
        result: int,
    ) -> None:
        """Write where a column is above a threshold; where it is missing, the side.

        The threshold is not -0.0: compiled, its difference from 0.0 has a sign.
        """
        above = (column > threshold).reshape(32, VECTOR_LANES)
        words[result : result + VECTOR_LANES] = (above << BIT[:, None]).sum(axis=0)
        select_bits(words, missing, result, side, result)

    def transpose_bits(words: Any, bits: Any, numbers: Any) -> None:
        """Write the numbers of 512 rows, as bytes; bit k is in the word at bits[k].

        The bytes are those of 64 integers.
        """
        planes = [
            words[first : first + VECTOR_LANES] >> BIT[:, None] & 1 for first in bits
        ]
        by_place = sum(plane.ravel() << k for k, plane in enumerate(planes))
        numbers.view(np.uint8)[:] = by_place[[place(row) for row in range(ROW_BLOCK)]]

else:
    select_bits = _choose_word
    missing_bits = _find_missing
    answer = _answer
    transpose_bits = _join_bits
