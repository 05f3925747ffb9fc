"""Trees as circuits: every bit of a leaf's number, computed by choices between bits.

A row answers each question of a tree by one bit, 0: left, 1: right.  Give the leaves
of a tree numbers, and let bit k of the number be c(k, leaf).  The bit of the leaf that
a row reaches is found from the bottom of the tree to its top:

    bit(k, leaf) = c(k, leaf)
    bit(k, node) = bit(k, right) if answer(node) else bit(k, left)

A choice costs nothing where both sides are the same constant, nor where they are the
constants 0 and 1: it is the answer itself; nor where one side is of no concern, because
higher bits tell it from the other.  In a perfect tree of n leaves n - 1 - log2 n
choices are left, if the numbers are dealt out well (numbering.py).

The bits of many rows are computed together, a word of bits by one instruction:
Biham, A Fast New DES Implementation in Software, FSE 1997 ("bit-slicing").
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import VECTOR_LANES, int64, kernel, subkernel
from sklearn_ltr.learners._trees.bit_sliced.conditions import Questions, Trees
from sklearn_ltr.learners._trees.bit_sliced.leaf_codes import (
    ANY,
    BITS,
    FIRST_ANSWER,
    NOTHING,
    ONE,
    ZERO,
    Plan,
    deal_all,
    plan_of,
)


class Circuits(NamedTuple):
    """The pieces of all trees."""

    choice: NDArray[np.uint32]  # (n_choices, 3): words of an answer, of 0 and of 1
    first_choice: NDArray[np.int64]  # (n_pieces + 1,): those of a piece
    first_result: NDArray[np.int64]  # (n_pieces,): the words that they make
    bit: NDArray[np.uint32]  # (n_pieces, 8): the words of the leaves' numbers
    value: NDArray[np.float64]  # (n_pieces, 2 ** n_bits), of a leaf, by its number


def circuits_of(trees: Trees, questions: Questions) -> tuple[Circuits, int]:
    """Return the trees as circuits, and how many words they need."""
    plan = plan_of(trees, questions)
    n_pieces = len(plan.top)
    # a bit more than the numbers need: with room to spare fewer choices are left
    n_bits = min(BITS, int(plan.size.max() - 1).bit_length() + 1)
    circuits = Circuits(
        choice=np.empty((2 * BITS * len(trees.feature), 3), dtype=np.uint32),
        first_choice=np.zeros(n_pieces + 1, dtype=np.int64),
        first_result=np.empty(n_pieces, dtype=np.int64),
        bit=np.full((n_pieces, BITS), ZERO, dtype=np.uint32),
        value=np.full((n_pieces, 1 << n_bits), NOTHING),
    )
    deal_all(plan, n_bits, circuits.value)
    first_result = FIRST_ANSWER + len(questions.threshold)
    wire(trees.first_node, n_bits, first_result, plan, circuits)
    circuits = by_level(circuits, first_result)
    n_words = np.max(circuits.first_result + np.diff(circuits.first_choice))
    by_lane = circuits._replace(
        choice=VECTOR_LANES * circuits.choice,
        first_result=VECTOR_LANES * circuits.first_result,
        bit=VECTOR_LANES * circuits.bit,
    )
    return by_lane, int(n_words)


@subkernel
def choose(
    answer: int, zero: int, one: int, new: int, choice: NDArray[np.uint32], n: int
) -> tuple[int, int]:
    """Return the word of ``one if answer else zero``, and the number of choices.

    Where it takes a choice, that is number `n`, and makes the word `new`.
    """
    if one == ANY or zero == one:
        return zero, n
    if zero == ANY:
        return one, n
    if zero == ZERO and one == ONE:
        return answer, n
    choice[n, 0], choice[n, 1], choice[n, 2] = answer, zero, one
    return new, n + 1


@subkernel
def name_bits(
    first: int,
    end: int,
    n_bits: int,
    plan: Plan,
    shift: int,
    choice: NDArray[np.uint32],
    n: int,
) -> int:
    """Find the words of the leaf's number for nodes that ask, children first."""
    left, right, answer, word = plan.left, plan.right, plan.answer, plan.word
    for node in range(end - 1, first - 1, -1):
        if left[node] >= 0:
            for k in range(n_bits):
                zero, one = word[left[node], k], word[right[node], k]
                word[node, k], n = choose(answer[node], zero, one, n + shift, choice, n)
    return n


@kernel
def wire(
    first_node: NDArray[np.int64],
    n_bits: int,
    first_result: int,
    plan: Plan,
    circuits: Circuits,
) -> None:
    """Write down the choices, tree by tree: from the leaves up, then piece by piece."""
    choice, reached = circuits.choice, plan.reached
    n_nodes, n_pieces = len(plan.parent), len(plan.top)
    n, piece = int64(0), int64(0)
    for tree in range(len(first_node) - 1):
        shift = first_result - n  # nothing that was made is needed any more
        root, end = first_node[tree], first_node[tree + 1]
        n = name_bits(root, end, n_bits, plan, shift, choice, n)
        while piece < n_pieces and plan.top[piece] < end:
            circuits.first_result[piece] = circuits.first_choice[piece] + shift
            top, outside = plan.top[piece], n_nodes + n_pieces + piece
            # rows get to a top that is no root by all the answers above: a & b & ...
            node, word = top, int64(ONE)
            while reached[node] == ANY:
                parent, zero, one = plan.parent[node], int64(ZERO), word
                if plan.left[parent] == plan.stands_for[node]:
                    zero, one = one, zero
                word, n = choose(plan.answer[parent], zero, one, n + shift, choice, n)
                node = parent
            if node != top:
                zero, one = int64(ZERO), word
                word, n = choose(reached[node], zero, one, n + shift, choice, n)
                reached[top] = word
            for k in range(n_bits):
                zero, one = plan.word[outside, k], plan.word[top, k]
                bit, n = choose(reached[top], zero, one, n + shift, choice, n)
                circuits.bit[piece, k] = max(bit, int64(ZERO))
            piece += 1
            circuits.first_choice[piece] = n


def by_level(circuits: Circuits, first_result: int) -> Circuits:
    """Put a piece's choices in an order in which none waits for those just before it.

    In the order in which they were wired they take a tenth longer.
    """
    first_choice, bit = circuits.first_choice, circuits.bit
    choice = circuits.choice[: first_choice[-1]]
    piece = np.repeat(np.arange(len(bit)), np.diff(first_choice))
    shift = circuits.first_result - first_choice[:-1]  # choice n makes word n + shift
    shift_of_choice = shift[piece]
    level = np.zeros(len(choice), dtype=np.int64)
    find_levels(choice, first_result, shift_of_choice, level)
    order = np.lexsort((level, piece))
    number = np.empty_like(order)
    number[order] = np.arange(len(order))

    def renamed(words: NDArray[np.uint32], shift: NDArray[np.int64]) -> NDArray[Any]:
        made, new = words >= first_result, words.copy()
        shift = np.broadcast_to(shift[:, np.newaxis], words.shape)[made]
        new[made] = number[words[made] - shift] + shift
        return new

    return circuits._replace(
        choice=renamed(choice, shift_of_choice)[order], bit=renamed(bit, shift)
    )


@kernel
def find_levels(
    choice: NDArray[np.uint32],
    first_result: int,
    shift: NDArray[np.int64],
    level: NDArray[np.int64],
) -> None:
    """Find how many choices wait for each other in a row before a choice is made."""
    for n in range(len(choice)):
        for word in choice[n]:
            if word >= first_result:
                level[n] = max(level[n], level[word - shift[n]] + 1)
