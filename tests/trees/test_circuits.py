"""Circuits find the leaf at the end of a walk, with few choices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr._compile import VECTOR_LANES
from sklearn_ltr.learners._trees.bit_sliced.circuits import circuits_of
from sklearn_ltr.learners._trees.bit_sliced.conditions import questions_of
from sklearn_ltr.learners._trees.bit_sliced.leaf_codes import (
    FIRST_ANSWER,
    ONE,
    ZERO,
    cut,
    plan_of,
)
from sklearn_ltr.learners._trees.ensemble import TreeEnsemble
from tests.oracles import trees as oracle
from tests.trees.forests import SHAPES, grow, nodes_of, table


def wired(ensemble):
    trees = nodes_of(ensemble)
    questions = questions_of(trees)
    return questions, *circuits_of(trees, questions)


def values_found(questions, circuits, n_words, x) -> list[float]:
    """What each piece adds to the score of a row: one bit at a time."""
    words = [0] * n_words
    words[ONE] = 1
    for q in range(len(questions.threshold)):
        column = np.searchsorted(questions.first, q, side="right") - 1
        value = x[questions.feature[column]]
        to_right = bool(q >= questions.middle[column])
        right = to_right if value != value else value > questions.threshold[q]
        words[FIRST_ANSWER + q] = int(right)
    found = []
    for piece, result in enumerate((circuits.first_result // VECTOR_LANES).tolist()):
        choices = slice(*circuits.first_choice[piece : piece + 2])
        for answer, zero, one in (circuits.choice[choices] // VECTOR_LANES).tolist():
            words[result] = words[one] if words[answer] else words[zero]
            result += 1
        bits = [words[word] for word in (circuits.bit[piece] // VECTOR_LANES).tolist()]
        number = sum(bit << k for k, bit in enumerate(bits))
        found.append(float(circuits.value[piece, number]))
    assert (words[ZERO], words[ONE]) == (0, 1)
    return found


def perfect(depth) -> TreeEnsemble:
    """A tree whose leaves are all equally deep."""
    rng = np.random.default_rng(depth)
    tree = grow(2**depth, "any", rng)
    size, n_inner = 2 ** (depth + 1) - 1, 2**depth - 1
    nodes = np.arange(n_inner)
    left, right = np.full((2, size), -1, dtype=np.int32)
    left[:n_inner], right[:n_inner] = 2 * nodes + 1, 2 * nodes + 2
    return TreeEnsemble(
        **{
            **vars(tree),
            "left": left,
            "right": right,
            "feature": np.where(left >= 0, rng.integers(5, size=size), -1).astype("i4"),
            "threshold": rng.normal(size=size),
            "value": np.where(left >= 0, 0, rng.normal(size=size)),
        }
    )


# --- questions --------------------------------------------------------------------


def test_every_question_is_there_once_and_a_node_knows_its_own():
    rng = np.random.default_rng(0)
    ensemble = grow(80, "any", rng) + grow(1, "any", rng) + grow(50, "left", rng)
    questions = questions_of(nodes_of(ensemble))
    asked = {
        (int(feature), not left, float(threshold))
        for feature, threshold, left in zip(
            ensemble.feature, ensemble.threshold, ensemble.missing_left, strict=True
        )
        if feature >= 0
    }
    column = np.searchsorted(
        questions.first, np.arange(len(questions.threshold)), side="right"
    )
    there = [
        (int(questions.feature[c]), bool(q >= questions.middle[c]), float(threshold))
        for q, (c, threshold) in enumerate(
            zip(column - 1, questions.threshold, strict=True)
        )
    ]
    assert there == sorted(asked)
    for node in np.flatnonzero(ensemble.feature >= 0):
        assert there[questions.of_node[node]] == (
            ensemble.feature[node],
            not ensemble.missing_left[node],
            ensemble.threshold[node],
        )


# --- circuits ---------------------------------------------------------------------


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=3),
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 10_000),
)
def test_the_bits_are_the_number_of_the_leaf_at_the_end_of_a_walk(sizes, shape, seed):
    rng = np.random.default_rng(seed)
    trees = [grow(size, shape, rng) for size in sizes]
    circuits = wired(sum(trees, TreeEnsemble.empty()))
    X = table(5, np.float64, rng)
    for row in range(len(X)):
        found = values_found(*circuits, X[row])
        leaves = [oracle.route(X, row, tree) for tree in trees]
        walks = [
            float(tree.value[leaf]) for tree, leaf in zip(trees, leaves, strict=True)
        ]
        assert found == walks


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [257, 600, 2000])
def test_just_one_piece_of_a_tree_adds_something(n_leaves, shape):
    rng = np.random.default_rng(n_leaves)
    trees = [grow(n_leaves, shape, rng), grow(n_leaves, shape, rng)]
    circuits = wired(trees[0] + trees[1])
    X = table(20, np.float64, rng)
    for row in range(len(X)):
        found = [v for v in values_found(*circuits, X[row]) if v != 0]
        assert found == [tree.value[oracle.route(X, row, tree)] for tree in trees]


@pytest.mark.parametrize("depth", [1, 2, 3, 6, 7])
def test_a_perfect_tree_leaves_one_choice_to_each_node_but_a_few(depth):
    _, circuits, _ = wired(perfect(depth))
    assert len(circuits.choice) == 2**depth - 1 - depth


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [31, 256, 700])
def test_choices_that_wait_for_more_come_later(n_leaves, shape):
    rng = np.random.default_rng(n_leaves)
    _, circuits, n_words = wired(grow(n_leaves, shape, rng) + grow(20, "any", rng))
    level = [0] * n_words
    for piece, result in enumerate((circuits.first_result // VECTOR_LANES).tolist()):
        choices = slice(*circuits.first_choice[piece : piece + 2])
        levels = []
        for word in (circuits.choice[choices] // VECTOR_LANES).tolist():
            levels.append(1 + max(level[w] for w in word))
            level[result] = levels[-1]
            result += 1
        assert levels == sorted(levels)
        if piece == 0 and shape == "any":
            assert levels[0] == 1 and len(set(levels)) > 3


@pytest.mark.parametrize("n_leaves", [2, 5, 16, 100, 255, 256])
def test_each_number_belongs_to_one_leaf(n_leaves):
    tree = grow(n_leaves, "any", np.random.default_rng(n_leaves))
    _, circuits, _ = wired(tree)
    numbers = circuits.value[0].tolist()
    runs = [
        value
        for value, before in zip(numbers, [None, *numbers], strict=False)
        if value != before and value != 0
    ]
    assert sorted(runs) == sorted(tree.value[tree.feature < 0].tolist())
    assert len(numbers) == min(256, 2 ** int(np.ceil(np.log2(n_leaves)) + 1))


# --- pieces -----------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [1, 255, 256, 257, 1000, 3000])
def test_a_piece_and_what_lies_outside_have_at_most_256_leaves(n_leaves, shape):
    tree = grow(n_leaves, shape, np.random.default_rng(n_leaves))
    trees = nodes_of(tree)
    plan = plan_of(trees, questions_of(trees))
    sizes = plan.size[plan.top].tolist()
    assert plan.top[0] == 0 and sizes[0] <= 256
    assert all(127 < size <= 255 for size in sizes[1:])
    # a leaf of a piece is one of the tree, or stands for one of the other pieces
    assert sum(sizes) == n_leaves + len(sizes) - 1


def test_two_children_as_large_as_can_be_are_both_cut_off():
    left, right = np.array([[1, -1, 3, -1, -1], [2, -1, 4, -1, -1]])
    size, is_top = np.array([1, 1, 1, 255, 255]), np.array([True] + 4 * [False])
    cut(left, right, size, is_top)
    assert size.tolist() == [3, 1, 2, 255, 255]
    assert is_top.tolist() == [True, False, False, True, True]
