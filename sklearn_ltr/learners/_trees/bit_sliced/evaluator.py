"""Scores of many rows from circuits: every instruction works on one bit of 512 rows.

A block of 512 rows answers all questions, a word of 512 bits for each.  Then, tree by
tree, words are chosen between words until those of the leaf's number are there; the
numbers are joined, one byte for each row; and each row's leaf adds its value to the
row's score.

Between rows and bits stand two transpositions.  The values of a column are put in the
order in which their bits will stand in a word; and 8 words, each of the same bit of all
rows, become bytes, each of all bits of a row, by swapping blocks of 1, 2 and 4 bits:
Warren, Hacker's Delight, 2nd ed., section 7-3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import (
    ROW_BLOCK,
    VECTOR_LANES,
    allocate_aligned,
    evaluate_condition as answer,
    kernel,
    missing_bits,
    select_bits,
    subkernel,
    subkernel_strict,
    transpose_bits,
)
from sklearn_ltr.learners._trees.bit_sliced.circuits import Circuits, circuits_of
from sklearn_ltr.learners._trees.bit_sliced.conditions import (
    Questions,
    Trees,
    questions_of,
)
from sklearn_ltr.learners._trees.bit_sliced.leaf_codes import (
    FIRST_ANSWER,
    MISSING,
    ONE,
    ZERO,
)

ALL = np.uint32(2**32 - 1)
GROUP = 32  # pieces whose values are added at a time


class Memory(NamedTuple):
    """What one thread writes on."""

    columns: NDArray[np.floating]  # (n_columns, ROW_BLOCK): those asked about, by place
    words: NDArray[np.uint32]  # constants, answers, and what is chosen between them
    leaves: NDArray[np.int64]  # (GROUP, ROW_BLOCK / 8): their numbers, a byte for a row
    scores: NDArray[np.float64]  # (ROW_BLOCK,)


class Scorer:
    """Trees, made ready once to score many rows.

    Parameters
    ----------
    trees : Trees
        Their nodes; a child comes after its parent.
    """

    def __init__(self, trees: Trees) -> None:
        self._questions = questions_of(trees)
        self._circuits, self._n_words = circuits_of(trees, self._questions)
        threshold = self._questions.threshold
        self._threshold: dict[Any, NDArray[Any]] = {
            np.dtype(np.float64): threshold,
            np.dtype(np.float32): rounded_down(threshold),
        }
        # what no thread writes on
        self._spare: dict[Any, list[Memory]] = {kind: [] for kind in self._threshold}

    def add_to(self, scores: NDArray[np.float64], X: NDArray[np.floating]) -> None:
        """Add the trees, one after another, to the scores of the rows.

        A row with an infinite value has no score: it becomes NaN.
        """
        rows = np.ascontiguousarray(X)
        threshold, spare = self._threshold[X.dtype], self._spare[X.dtype]
        try:
            memory = spare.pop()
        except IndexError:
            memory = self._memory(X.dtype)
        add_trees(rows, self._questions, threshold, self._circuits, memory, scores)
        spare.append(memory)

    def _memory(self, dtype: Any) -> Memory:
        words = allocate_aligned((self._n_words, VECTOR_LANES), np.uint32)
        words[ZERO], words[ONE] = 0, ALL
        return Memory(
            allocate_aligned((len(self._questions.feature), ROW_BLOCK), dtype),
            words.ravel(),
            allocate_aligned((GROUP, ROW_BLOCK // 8), np.int64),
            np.zeros(ROW_BLOCK),
        )


def rounded_down(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest float32 t' <= t: x <= t' just where x <= t, x a float32."""
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest > threshold, below, nearest)


@subkernel
def mark_infinite(rows: NDArray[np.floating], scores: NDArray[np.float64]) -> None:
    """Score rows with an infinite value NaN.

    This is also what reads rows from memory in order, so that they are close at hand.
    """
    for i in range(len(rows)):
        is_infinite = False
        for j in range(rows.shape[1]):
            is_infinite |= abs(rows[i, j]) == np.inf
        if is_infinite:
            scores[i] = np.nan


@subkernel
def turn(
    rows: NDArray[np.floating], feature: NDArray[np.int64], columns: NDArray[Any]
) -> None:
    """Write some columns of up to 512 rows, each value to its row's place."""
    for first in range(0, len(rows), 64):
        part = rows[first : first + 64]
        for number in range(len(feature)):
            j, column = feature[number], columns[number, first // 64 * VECTOR_LANES :]
            if len(part) == 64:
                for lane in range(VECTOR_LANES):
                    for byte in range(4):
                        column[8 * VECTOR_LANES * byte + lane] = part[
                            4 * lane + byte, j
                        ]
            else:
                for i in range(len(part)):
                    column[8 * VECTOR_LANES * (i % 4) + i // 4] = part[i, j]


@subkernel_strict
def ask(
    questions: Questions,
    threshold: NDArray[np.floating],
    columns: NDArray[np.floating],
    n_rows: int,
    words: NDArray[np.uint32],
) -> None:
    """Write the answers of the first `n_rows` rows: 1, where a row goes right.

    (In order: without that, a difference of 0 might have any sign.)
    """
    n_parts, missing = (n_rows + 63) // 64, VECTOR_LANES * MISSING
    for number in range(len(questions.feature)):
        column = columns[number]
        missing_bits(column, n_parts, words, missing)
        for q in range(questions.first[number], questions.first[number + 1]):
            side = VECTOR_LANES * (ZERO if q < questions.middle[number] else ONE)
            word = VECTOR_LANES * (FIRST_ANSWER + q)
            answer(column, n_parts, threshold[q], words, missing, side, word)


@subkernel_strict
def add_values(
    value: NDArray[np.float64],
    leaves: NDArray[np.int64],
    n_rows: int,
    scores: NDArray[np.float64],
) -> None:
    """Add to each score the values of its leaves, in order of the pieces.

    Eight rows at a time, up to the next multiple of eight: the numbers of their leaves
    are the bytes of one integer, which is quicker to take apart than bytes to load.
    """
    for i in range((n_rows + 7) // 8):
        own = scores[8 * i : 8 * i + 8]
        s0, s1, s2, s3 = own[0], own[1], own[2], own[3]
        s4, s5, s6, s7 = own[4], own[5], own[6], own[7]
        for piece in range(len(value)):
            v, leaf = value[piece], leaves[piece, i]
            s0 += v[leaf & 255]
            s1 += v[leaf >> 8 & 255]
            s2 += v[leaf >> 16 & 255]
            s3 += v[leaf >> 24 & 255]
            s4 += v[leaf >> 32 & 255]
            s5 += v[leaf >> 40 & 255]
            s6 += v[leaf >> 48 & 255]
            s7 += v[leaf >> 56 & 255]
        own[0], own[1], own[2], own[3] = s0, s1, s2, s3
        own[4], own[5], own[6], own[7] = s4, s5, s6, s7


@subkernel
def make_choices(circuits: Circuits, piece: int, words: NDArray[np.uint32]) -> None:
    """Write the words that the choices of a piece make."""
    first, last = circuits.first_choice[piece], circuits.first_choice[piece + 1]
    choice, word = circuits.choice[first:last], circuits.first_result[piece]
    for n in range(len(choice)):
        select_bits(words, choice[n, 0], choice[n, 1], choice[n, 2], word)
        word += VECTOR_LANES


@subkernel
def follow(circuits: Circuits, memory: Memory, n_rows: int) -> None:
    """Add the values of the leaves that the answers of the first rows lead to."""
    words, leaves = memory.words, memory.leaves
    bit, value = circuits.bit, circuits.value
    for first in range(0, len(bit), GROUP):
        last = min(first + GROUP, len(bit))
        for piece in range(first, last):
            make_choices(circuits, piece, words)
            transpose_bits(words, bit[piece], leaves[piece - first])
        add_values(value[first:last], leaves, n_rows, memory.scores)


@kernel
def add_trees(
    X: NDArray[np.floating],
    questions: Questions,
    threshold: NDArray[np.floating],
    circuits: Circuits,
    memory: Memory,
    scores: NDArray[np.float64],
) -> None:
    """Add the value of its leaf in every tree to the score of each row, in tree order.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64, C-contiguous
    questions : Questions
    threshold : ndarray of shape (n_questions,), of the dtype of the rows
        ``x <= threshold`` goes left.
    circuits : Circuits
    memory : Memory
    scores : ndarray of shape (n_rows,), float64
        Changed in place.
    """
    for start in range(0, len(X), ROW_BLOCK):
        rows, own = X[start : start + ROW_BLOCK], scores[start : start + ROW_BLOCK]
        mark_infinite(rows, own)
        turn(rows, questions.feature, memory.columns)
        ask(questions, threshold, memory.columns, len(rows), memory.words)
        for i in range(len(rows)):  # numba takes 3 s to compile this as slices
            memory.scores[i] = own[i]
        follow(circuits, memory, len(rows))
        for i in range(len(rows)):
            own[i] = memory.scores[i]
