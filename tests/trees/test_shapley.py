"""Shapley values of random trees are those of the definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from sklearn_ltr._core.compile import INTERPRETED, ThreadTeam
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.explain import shapley, shapley_kernels
from sklearn_ltr._core.trees.explain.shapley import explain_trees
from sklearn_ltr._core.trees.explain.shapley_kernels import LANES, gauss_legendre
from tests.oracles import shapley as oracle
from tests.trees.forests import (
    N_FEATURES,
    SHAPES,
    by_walking_sets,
    grow,
    table,
    table_with_bins,
    with_sets,
)

ROUNDING = {"rtol": 1e-12, "atol": 1e-13}  # some hundred additions of numbers about 1


@pytest.mark.parametrize("n", [1, 2, 3, 6, 17, 127])
def test_a_rule_integrates_every_power_below_twice_its_points(n):
    points, weights = gauss_legendre(n)
    powers = np.arange(2 * n)
    sums = weights @ points[:, np.newaxis] ** powers
    assert_allclose(sums, np.where(powers % 2, 0, 2 / (powers + 1)), atol=1e-14)


def tree_of(n_leaves, shape, rng, n_features=N_FEATURES) -> TreeEnsemble:
    """A tree whose leaves have training rows, that may test more features."""
    tree = grow(n_leaves, shape, rng)
    inner = tree.feature >= 0
    size = len(tree.feature)
    return replace(
        tree,
        feature=np.where(inner, rng.integers(n_features, size=size), -1).astype("i4"),
        n_rows=np.where(inner, 0, rng.integers(1, 50, size=size)),
    )


def forest_of(trees) -> TreeEnsemble:
    forest = TreeEnsemble.empty()
    for tree in trees:
        forest += tree
    return forest


def by_definition(forest, X, background=None) -> np.ndarray:
    values = np.zeros(X.shape)
    for number in range(len(forest)):
        tree = forest.part(number, number + 1)
        for row, x in enumerate(X):
            if background is None:
                values[row] += oracle.path_dependent(tree, x)
            else:
                values[row] += oracle.interventional(tree, x, background)
    return values


@pytest.mark.parametrize("kind", ["path-dependent", "interventional"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [1, 2, 3, 8, 20])
def test_values_are_those_of_the_definition(n_leaves, shape, kind):
    rng = np.random.default_rng(n_leaves)
    forest = forest_of(tree_of(n_leaves, shape, rng) for _ in range(3))
    X = table(4, np.float64, rng)
    background = table(3, np.float64, rng) if kind == "interventional" else None
    values, bias = explain_trees(forest, X, ThreadTeam(1), background)
    assert_allclose(values, by_definition(forest, X, background), **ROUNDING)
    scores = by_walking_sets(forest, X)
    assert_allclose(values.sum(axis=1) + bias, scores, **ROUNDING)


@pytest.mark.parametrize("kind", ["path-dependent", "interventional"])
def test_values_of_category_sets_are_those_of_the_definition(kind):
    rng = np.random.default_rng(0)
    features, n_bins = [1, 3], 6
    forest = forest_of(
        with_sets(tree_of(12, "any", rng), features, n_bins, rng) for _ in range(3)
    )
    X = table_with_bins(5, np.float64, features, n_bins, rng)
    background = None
    if kind == "interventional":
        background = table_with_bins(4, np.float64, features, n_bins, rng)
    values, _ = explain_trees(forest, X, ThreadTeam(1), background)
    assert_allclose(values, by_definition(forest, X, background), **ROUNDING)


@pytest.mark.parametrize("kind", ["path-dependent", "interventional"])
def test_long_paths_are_those_of_the_definition(kind, monkeypatch):
    """With a background: by pairs of rows, beyond the length that has tables."""
    monkeypatch.setattr(shapley_kernels, "MOST_TABLE_SLOTS", 3)
    rng = np.random.default_rng(1)
    n_features = 5 if INTERPRETED else 8
    forest = tree_of(14, "right", rng, n_features)
    X = rng.normal(size=(3, n_features))
    # rows that take the long path, but for some features
    X[:2] = 3.0
    X[1, ::3] = -3.0
    background = None
    if kind == "interventional":
        background = np.concatenate([X[[0, 0]], rng.normal(size=(3, n_features))])
        background[1, 1] = -3.0
    values, _ = explain_trees(forest, X, ThreadTeam(1), background)
    assert_allclose(values, by_definition(forest, X, background), **ROUNDING)


def chain(n_features) -> TreeEnsemble:
    """A tree that tests one feature after another: only the last leaf is not 0."""
    size = 2 * n_features + 1
    inner = np.arange(size) % 2 == 0
    inner[-1] = False
    node = np.arange(size)
    return TreeEnsemble(
        first_node=np.zeros(1, dtype=np.int64),
        feature=np.where(inner, node // 2, -1).astype(np.int32),
        threshold=np.zeros(size),
        missing_left=np.zeros(size, dtype=np.bool_),
        left=np.where(inner, node + 1, -1).astype(np.int32),
        right=np.where(inner, node + 2, -1).astype(np.int32),
        value=np.where(node == size - 1, 1.0, 0.0),
        gain=np.zeros(size),
        n_rows=np.where(inner, 0, 7),
    )


@pytest.mark.parametrize("n_features", [11, 33, 64])
def test_all_features_of_one_long_path_share_its_value(n_features):
    """By symmetry, if the background takes the other side of each of its nodes."""
    tree, X = chain(n_features), np.ones((1, n_features))
    values, bias = explain_trees(tree, X, ThreadTeam(1), -X)
    assert bias == 0.0
    assert_allclose(values, np.full(X.shape, 1 / n_features), rtol=1e-12)
    values, bias = explain_trees(tree, X, ThreadTeam(1))
    assert_allclose(bias, 1 / (n_features + 1), rtol=1e-12)
    assert_allclose(values.sum() + bias, 1.0, rtol=1e-12)
    # those at the end of the path lead away from fewer training rows
    assert (np.diff(values[0]) > 0).all() if n_features == 11 else True


def test_too_long_a_path_is_refused_with_a_background_only():
    tree, X = chain(65), np.ones((1, 65))
    message = "a path of a tree tests 65 features, but a background allows at most 64"
    with pytest.raises(ValueError, match=message):
        explain_trees(tree, X, ThreadTeam(1), X)
    values, bias = explain_trees(tree, X, ThreadTeam(1))
    assert_allclose(values.sum() + bias, 1.0, rtol=1e-12)


def test_without_training_rows_a_background_is_needed():
    rng = np.random.default_rng(0)
    tree = grow(4, "any", rng)
    X = table(5, np.float64, rng)
    with pytest.raises(ValueError, match=r"a leaf has n_rows=0, .* give a background"):
        explain_trees(tree, X, ThreadTeam(1))
    values, bias = explain_trees(tree, X, ThreadTeam(1), X)
    assert_allclose(values.sum(axis=1) + bias, by_walking_sets(tree, X), **ROUNDING)


@pytest.mark.parametrize("kind", ["path-dependent", "interventional"])
def test_a_row_has_the_same_bits_whatever_else_is_explained(kind, monkeypatch):
    """Other rows, threads, parts of the ensemble, float32 and sparse tables."""
    rng = np.random.default_rng(2)
    forest = forest_of(tree_of(9, "any", rng) for _ in range(7))
    n_rows = LANES + 3 if INTERPRETED else 9 * LANES + 5
    X = table(n_rows, np.float32, rng).astype(np.float64)
    background = X[:10] if kind == "interventional" else None
    expected, bias = explain_trees(forest, X, ThreadTeam(1), background)
    with ThreadTeam(1 if INTERPRETED else 3) as team:
        for same in (X.astype(np.float32), np.asfortranarray(X), csr_matrix(X)):
            values, same_bias = explain_trees(forest, same, team, background)
            assert_array_equal(values, expected)
            assert same_bias == bias
        values, _ = explain_trees(forest, X[5:9], team, background)
    assert_array_equal(values, expected[5:9])
    monkeypatch.setattr(shapley, "NODES_PER_PART", 40)
    assert len(list(shapley.parts_of(forest))) > 2
    values, _ = explain_trees(forest, X, ThreadTeam(1), background)
    assert_allclose(values, expected, **ROUNDING)


@pytest.mark.parametrize("background", [None, np.zeros((2, 3))])
def test_trees_without_a_split_explain_nothing(background):
    rng = np.random.default_rng(0)
    single = tree_of(1, "any", rng)
    for forest in (TreeEnsemble.empty(), single, single + single):
        X = np.zeros((3, 3))
        values, bias = explain_trees(forest, X, ThreadTeam(1), background)
        assert not values.any()
        assert_allclose(bias, forest.value.sum(), rtol=1e-15)
