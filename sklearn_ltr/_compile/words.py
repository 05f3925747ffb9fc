"""Words of 512 bits: one for each of 512 rows, in 16 lanes of 32.

Numba has no vectors, and LLVM finds none in loops as short as these; so they are
written for it here, without a word about the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from sklearn_ltr._compile.kernels import INTERPRETED

WORD_LANES = 16
ROWS = 32 * WORD_LANES
_WORD = ir.VectorType(ir.IntType(32), WORD_LANES)


def place(row: int) -> int:
    """Return the place of a row in a column: p is bit ``p // 16`` of lane ``p % 16``.

    Of 64 rows that follow each other, 4 belong to a lane, 8 bits apart.
    """
    return row % 4 * 128 + row // 64 * WORD_LANES + row % 64 // 4


def _lanes(context: Any, builder: Any, kind: Any, array: Any, first: Any) -> Any:
    """Return a pointer to WORD_LANES elements of a one-dimensional array."""
    data = context.make_array(kind)(context, builder, array).data
    lanes = ir.VectorType(context.get_value_type(kind.dtype), WORD_LANES)
    return builder.bitcast(builder.gep(data, [first]), lanes.as_pointer())


def _load(builder: Any, pointer: Any) -> Any:
    return builder.load(pointer, align=4)


def _everywhere(builder: Any, value: Any) -> Any:
    """Return WORD_LANES copies of a value."""
    one = ir.Constant(ir.VectorType(value.type, WORD_LANES), ir.Undefined)
    one = builder.insert_element(one, value, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, ir.Constant(_WORD, [0] * WORD_LANES))


def _constant(value: int) -> Any:
    return ir.Constant(_WORD, [value] * WORD_LANES)


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
        chosen = builder.xor(zero, builder.and_(answer, builder.xor(zero, one)))
        builder.store(chosen, places[3], align=4)
        return context.get_dummy_value()

    index = types.int64
    return types.void(words, index, index, index, index), generate


def _answer(compare: str) -> Any:
    """Return what compares a column: ``fcmp_unordered`` is true of NaN."""

    @intrinsic  # type: ignore[untyped-decorator]
    def answer(
        typing: Any, column: Any, n_parts: Any, threshold: Any, words: Any, result: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            column, n_parts, threshold, words, result = args
            threshold = _everywhere(builder, threshold)
            word = cgutils.alloca_once_value(builder, _constant(0))
            with cgutils.for_range_slice(
                builder,
                builder.sub(n_parts, n_parts.type(1)),
                n_parts.type(-1),
                n_parts.type(-1),
                inc=False,
            ) as (part, _):
                bits = _constant(0)
                for byte in range(4):
                    first = builder.mul(part, part.type(WORD_LANES))
                    first = builder.add(first, part.type(8 * WORD_LANES * byte))
                    kind = signature.args[0]
                    values = _lanes(context, builder, kind, column, first)
                    above = getattr(builder, compare)(
                        ">", _load(builder, values), threshold
                    )
                    with_bit = builder.or_(bits, _constant(1 << 8 * byte))
                    bits = builder.select(above, with_bit, bits)
                shifted = builder.shl(builder.load(word), _constant(1))
                builder.store(builder.or_(shifted, bits), word)
            target = _lanes(context, builder, signature.args[3], words, result)
            builder.store(builder.load(word), target, align=4)
            return context.get_dummy_value()

        return types.void(column, types.int64, threshold, words, types.int64), generate

    return answer


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
            place = _lanes(context, builder, numbers, args[2], index(64 * k))
            place = builder.bitcast(place, _WORD.as_pointer())
            builder.store(row[k], place, align=4)
        return context.get_dummy_value()

    return types.void(words, bits, numbers), generate


if INTERPRETED:
    BIT = np.arange(32, dtype=np.uint32)

    def choose_word(words: Any, answer: int, zero: int, one: int, result: int) -> None:
        """Write ``one if answer else zero``, bit by bit, to the word at `result`."""
        a, z, o = (words[first : first + WORD_LANES] for first in (answer, zero, one))
        words[result : result + WORD_LANES] = z & ~a | o & a

    def answer_missing_left(
        column: Any, n_parts: int, threshold: Any, words: Any, result: int
    ) -> None:
        """Write where a column is above a threshold, for the first 64 n_parts rows."""
        above = (column > threshold).reshape(32, WORD_LANES)
        words[result : result + WORD_LANES] = (above << BIT[:, None]).sum(axis=0)

    def answer_missing_right(
        column: Any, n_parts: int, threshold: Any, words: Any, result: int
    ) -> None:
        """Write where a column is above a threshold, or missing."""
        above = (~(column <= threshold)).reshape(32, WORD_LANES)
        words[result : result + WORD_LANES] = (above << BIT[:, None]).sum(axis=0)

    def join_bits(words: Any, bits: Any, numbers: Any) -> None:
        """Write the numbers of 512 rows, as bytes; bit k is in the word at bits[k]."""
        planes = [
            words[first : first + WORD_LANES] >> BIT[:, None] & 1 for first in bits
        ]
        by_place = sum(plane.ravel() << k for k, plane in enumerate(planes))
        numbers[:] = by_place[[place(row) for row in range(ROWS)]]

else:
    choose_word = _choose_word
    answer_missing_left = _answer("fcmp_ordered")
    answer_missing_right = _answer("fcmp_unordered")
    join_bits = _join_bits
