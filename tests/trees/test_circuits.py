"""Circuits find the leaf at the end of a walk, with few gates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr._compile import VECTOR_LANES
from sklearn_ltr._trees.bit_sliced.circuits import (
    build_circuits,
    cut_off_subtrees,
    divide_into_subtrees,
)
from sklearn_ltr._trees.bit_sliced.conditions import (
    FIRST_CONDITION,
    ONE,
    ZERO,
    collect_conditions,
)
from sklearn_ltr._trees.ensemble import TreeEnsemble
from tests.oracles import trees as oracle
from tests.trees.forests import SHAPES, grow, nodes_of, table


def built(ensemble):
    nodes = nodes_of(ensemble)
    conditions, condition_of_node = collect_conditions(nodes)
    circuits, n_vectors = build_circuits(
        nodes, condition_of_node, len(conditions.threshold)
    )
    return conditions, circuits, n_vectors


def values_found(conditions, circuits, n_vectors, x) -> list[float]:
    """Return what each subtree adds to the score of a row, computed bit by bit."""
    bits = [0] * n_vectors
    bits[ONE] = 1
    for c in range(len(conditions.threshold)):
        number = np.searchsorted(conditions.first, c, side="right") - 1
        value = x[conditions.feature[number]]
        missing_right = bool(c >= conditions.first_missing_right[number])
        right = missing_right if value != value else value > conditions.threshold[c]
        bits[FIRST_CONDITION + c] = int(right)
    found = []
    first_output = (circuits.first_output // VECTOR_LANES).tolist()
    for subtree, output in enumerate(first_output):
        gates = slice(*circuits.first_gate[subtree : subtree + 2])
        for condition, zero, one in (circuits.gate[gates] // VECTOR_LANES).tolist():
            bits[output] = bits[one] if bits[condition] else bits[zero]
            output += 1
        code_bits = (circuits.code_bit[subtree] // VECTOR_LANES).tolist()
        code = sum(bits[vector] << k for k, vector in enumerate(code_bits))
        found.append(float(circuits.value[subtree, code]))
    assert (bits[ZERO], bits[ONE]) == (0, 1)
    return found


def perfect(depth) -> TreeEnsemble:
    """Return a tree whose leaves are all equally deep."""
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


# --- conditions -------------------------------------------------------------------


def test_every_condition_is_there_once_and_a_node_knows_its_own():
    rng = np.random.default_rng(0)
    ensemble = grow(80, "any", rng) + grow(1, "any", rng) + grow(50, "left", rng)
    conditions, condition_of_node = collect_conditions(nodes_of(ensemble))
    tested = {
        (int(feature), not left, float(threshold))
        for feature, threshold, left in zip(
            ensemble.feature, ensemble.threshold, ensemble.missing_left, strict=True
        )
        if feature >= 0
    }
    number = np.searchsorted(
        conditions.first, np.arange(len(conditions.threshold)), side="right"
    )
    collected = [
        (
            int(conditions.feature[n]),
            bool(c >= conditions.first_missing_right[n]),
            float(threshold),
        )
        for c, (n, threshold) in enumerate(
            zip(number - 1, conditions.threshold, strict=True)
        )
    ]
    assert collected == sorted(tested)
    for node in np.flatnonzero(ensemble.feature >= 0):
        assert collected[condition_of_node[node]] == (
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
def test_the_bits_are_the_code_of_the_leaf_at_the_end_of_a_walk(sizes, shape, seed):
    rng = np.random.default_rng(seed)
    trees = [grow(size, shape, rng) for size in sizes]
    circuits = built(sum(trees, TreeEnsemble.empty()))
    X = table(5, np.float64, rng)
    for row in range(len(X)):
        found = values_found(*circuits, X[row])
        leaves = [oracle.route(X, row, tree) for tree in trees]
        walks = [
            float(tree.value[leaf]) for tree, leaf in zip(trees, leaves, strict=True)
        ]
        assert found == walks


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [257, 600])
def test_just_one_subtree_of_a_tree_adds_something(n_leaves, shape):
    rng = np.random.default_rng(n_leaves)
    trees = [grow(n_leaves, shape, rng), grow(n_leaves, shape, rng)]
    circuits = built(trees[0] + trees[1])
    X = table(20, np.float64, rng)
    for row in range(len(X)):
        found = [v for v in values_found(*circuits, X[row]) if v != 0]
        assert found == [tree.value[oracle.route(X, row, tree)] for tree in trees]


@pytest.mark.parametrize("depth", [1, 2, 3, 6, 7])
def test_a_perfect_tree_takes_a_gate_for_each_node_but_a_few(depth):
    _, circuits, _ = built(perfect(depth))
    assert len(circuits.gate) == 2**depth - 1 - depth


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [31, 256, 700])
def test_gates_that_wait_for_more_gates_come_later(n_leaves, shape):
    rng = np.random.default_rng(n_leaves)
    _, circuits, n_vectors = built(grow(n_leaves, shape, rng) + grow(20, "any", rng))
    level = [0] * n_vectors
    for subtree, output in enumerate((circuits.first_output // VECTOR_LANES).tolist()):
        gates = slice(*circuits.first_gate[subtree : subtree + 2])
        levels = []
        for vectors in (circuits.gate[gates] // VECTOR_LANES).tolist():
            levels.append(1 + max(level[v] for v in vectors))
            level[output] = levels[-1]
            output += 1
        assert levels == sorted(levels)
        if subtree == 0 and shape == "any":
            assert levels[0] == 1 and len(set(levels)) > 3


@pytest.mark.parametrize("n_leaves", [2, 5, 16, 100, 255, 256])
def test_each_code_belongs_to_one_leaf(n_leaves):
    tree = grow(n_leaves, "any", np.random.default_rng(n_leaves))
    _, circuits, _ = built(tree)
    values = circuits.value[0].tolist()
    runs = [
        value
        for value, before in zip(values, [None, *values], strict=False)
        if value != before and value != 0
    ]
    assert sorted(runs) == sorted(tree.value[tree.feature < 0].tolist())
    assert len(values) == min(256, 2 ** int(np.ceil(np.log2(n_leaves)) + 1))


# --- subtrees ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [1, 255, 256, 257, 1000, 3000])
def test_a_subtree_has_at_most_256_leaves_with_the_one_outside(n_leaves, shape):
    tree = grow(n_leaves, shape, np.random.default_rng(n_leaves))
    subtrees = divide_into_subtrees(nodes_of(tree))
    sizes = subtrees.n_leaves[subtrees.root].tolist()
    assert subtrees.root[0] == 0 and sizes[0] <= 256
    assert all(127 < size <= 255 for size in sizes[1:])
    # a leaf of a subtree is one of the tree, or the alias leaf of another subtree
    assert sum(sizes) == n_leaves + len(sizes) - 1


def test_two_children_as_large_as_can_be_are_both_cut_off():
    left, right = np.array([[1, -1, 3, -1, -1], [2, -1, 4, -1, -1]])
    n_leaves, is_root = np.array([1, 1, 1, 255, 255]), np.array([True] + 4 * [False])
    cut_off_subtrees(left, right, n_leaves, is_root)
    assert n_leaves.tolist() == [3, 1, 2, 255, 255]
    assert is_root.tolist() == [True, False, False, True, True]
