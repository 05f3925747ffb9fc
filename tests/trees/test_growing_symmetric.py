"""Symmetric trees against their definition on raw values, and what they respect."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr._core.trees.constraints import NO_CONSTRAINTS
from sklearn_ltr._core.trees.growth.symmetric import RIDGE, SYMMETRIC
from tests.oracles import trees as oracle
from tests.trees import grow_on
from tests.trees.test_growing import assert_partition, depths, draw, rows_of_leaves

both_gains = pytest.mark.parametrize("second_order", [False, True])
N_THREADS = (1,) if INTERPRETED else (1, 2, 3)


def conditions(tree) -> list[tuple]:
    """The different conditions of a tree, in the order of their levels."""
    splits = np.flatnonzero(tree.feature >= 0)
    splits = splits[np.argsort(tree.left[splits])]  # in the order of splitting
    of_nodes = zip(
        tree.feature[splits].tolist(),
        tree.threshold[splits].tolist(),
        tree.missing_left[splits].tolist(),
        strict=True,
    )
    return list(dict.fromkeys(of_nodes))


@both_gains
@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize("max_depth", [1, 3, 4])
@pytest.mark.parametrize("min_samples_leaf", [1, 6])
def test_a_level_is_split_by_the_condition_of_the_highest_gain(
    max_depth, min_samples_leaf, l2, second_order
):
    X, gradient, hessian = draw()
    options = {
        "max_depth": max_depth,
        "min_samples_leaf": min_samples_leaf,
        "second_order": second_order,
    }
    whole = l2 + RIDGE * hessian.mean()
    levels, leaves = oracle.grow_symmetric(X, gradient, hessian, l2=whole, **options)
    grown = grow_on(X, gradient, hessian, l2=l2, policy=SYMMETRIC, **options)
    assert len(conditions(grown.tree)) == len(levels) == max_depth
    assert [f for f, _, _ in conditions(grown.tree)] == [s.feature for _, s in levels]
    assert sum(grown.gains) == pytest.approx(sum(g for g, _ in levels), rel=1e-5)
    found = {frozenset(rows) for rows in rows_of_leaves(grown).values()}
    assert found == {frozenset(leaf) for leaf in leaves}
    for leaf in leaves:
        value = oracle.leaf_value(leaf, gradient, hessian, whole)
        np.testing.assert_allclose(grown.scores[leaf], value, rtol=1e-11)


@both_gains
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 80),
    n_features=st.integers(1, 18),
    missing=st.sampled_from([0.0, 0.3, 0.9]),
    max_depth=st.integers(1, 6),
    min_samples_leaf=st.integers(1, 20),
)
def test_leaves_partition_the_rows_and_respect_the_parameters(
    second_order, seed, n, n_features, missing, max_depth, min_samples_leaf
):
    X, gradient, hessian = draw(n, n_features, missing, seed)
    options = {"second_order": second_order, "max_bins": 16, "policy": SYMMETRIC}
    size = {"max_depth": max_depth, "min_samples_leaf": min_samples_leaf}
    grown = grow_on(X, gradient, hessian, **size, **options)
    assert len(conditions(grown.tree)) <= max_depth
    assert_partition(grown, n, max_depth, min_samples_leaf)


@both_gains
@pytest.mark.parametrize("n", [36, 45_000])
def test_growth_stops_when_no_condition_has_a_gain(n, second_order):
    if INTERPRETED and n > 1000:
        pytest.skip("loops over many rows")
    X = np.random.default_rng(0).integers(0, 50, (n, 2)).astype(np.float64)
    side = np.repeat([0, 1], n // 2)
    X = np.column_stack([side, X])
    gradient = np.array([-1.0, 2.0])[side]
    grown = grow_on(
        X,
        gradient,
        np.ones(n),
        second_order=second_order,
        max_depth=5,
        policy=SYMMETRIC,
    )
    assert grown.tree.feature.tolist() == [0, -1, -1]


def test_a_leaf_that_stays_whole_may_be_divided_by_a_later_level():
    # feature 1 divides the left half of feature 0 alone, feature 2 all leaves
    corners = [(0, 0), (0, 1), (1, 0), (1, 0)]
    X = np.array([(a, b, c) for a, b in corners for c in (0, 1)] * 100, dtype=float)
    gradient = 4 * X[:, 0] + 2 * X[:, 1] + X[:, 2] - 3
    grown = grow_on(
        X, gradient, np.ones(800), max_depth=3, min_samples_leaf=2, policy=SYMMETRIC
    )
    assert [feature for feature, _, _ in conditions(grown.tree)] == [0, 1, 2]
    assert sorted(depths(grown.tree)[grown.leaves]) == [2, 2, 3, 3, 3, 3]


@both_gains
@pytest.mark.parametrize("n_threads", N_THREADS)
def test_a_level_is_split_by_a_feature_that_may(n_threads, second_order):
    n_features = 40
    X, gradient, hessian = draw(n=300, n_features=n_features, seed=4)
    allowed = np.random.default_rng(5).uniform(size=(63, n_features)) < 0.2
    options = {"second_order": second_order, "n_threads": n_threads}
    options |= {"max_depth": 5, "policy": SYMMETRIC}
    tree = grow_on(X, gradient, hessian, allowed=allowed.copy(), **options).tree
    used = [feature for feature, _, _ in conditions(tree)]
    assert len(used) == 5
    assert all(allowed[level, feature] for level, feature in enumerate(used))
    allowed[2] = False  # a level without a feature is the last
    tree = grow_on(X, gradient, hessian, allowed=allowed, **options).tree
    assert len(conditions(tree)) == 2


def test_the_first_of_equal_features_is_used():
    X, gradient, hessian = draw(n_features=2)
    X = np.hstack([np.zeros((60, 20)), X, np.zeros((60, 20)), X])
    for n_threads in N_THREADS:
        grown = grow_on(
            X, gradient, hessian, max_depth=4, policy=SYMMETRIC, n_threads=n_threads
        )
        assert set(grown.tree.feature) == {-1, 20, 21}


@pytest.mark.parametrize("missing_left", [False, True])
def test_missing_values_go_to_the_better_side_of_the_level(missing_left):
    X = np.tile([0.0, 1.0, 2.0, 3.0, np.nan], 8)[:, np.newaxis]
    gradient = np.tile([1.0, 1.0, -1.0, -1.0, 1.0 if missing_left else -1.0], 8)
    grown = grow_on(X, gradient, np.ones(40), max_depth=1, policy=SYMMETRIC)
    assert grown.tree.missing_left[0] == missing_left
    assert grown.tree.threshold[0] == 1


def test_missing_values_that_training_lacks_go_to_the_larger_side():
    X = np.repeat([0.0, 1.0], [10, 30])[:, np.newaxis]
    for column, missing_left in ((X, False), (1 - X, True)):
        gradient = X[:, 0] - 0.75
        grown = grow_on(column, gradient, np.ones(40), max_depth=1, policy=SYMMETRIC)
        assert grown.tree.missing_left[0] == missing_left


def test_categories_are_divided_alike_in_all_leaves():
    # in both leaves by feature 0, categories 1 and 3 have other gradients
    X = np.array([(a, c) for a in (0, 1) for c in range(5)] * 100, dtype=float)
    gradient = 4 * X[:, 0] - 2 + np.isin(X[:, 1], [1, 3])
    tree = grow_on(
        X, gradient, np.ones(1000), max_depth=2, policy=SYMMETRIC, categorical=[1]
    ).tree
    by_set = np.flatnonzero(tree.feature == 1)
    bins = np.unpackbits(tree.category_set[by_set], axis=1, bitorder="little")
    assert bins[:, :5].tolist() == [[1, 0, 1, 0, 1]] * 2


def test_a_leaf_against_a_monotonic_constraint_stays_whole():
    # the score must not fall along feature 1; where feature 0 is 1 it would
    X = np.array([(a, b) for a in (0, 1) for b in (0, 1)] * 100, dtype=float)
    gradient = 4 * X[:, 0] - 2 + np.where(X[:, 0] == 0, -X[:, 1], X[:, 1])
    constraints = NO_CONSTRAINTS._replace(monotonic=np.array([0, 1], dtype=np.int8))
    options = {"max_depth": 2, "policy": SYMMETRIC}
    assert len(grow_on(X, gradient, np.ones(400), **options).leaves) == 4
    grown = grow_on(X, gradient, np.ones(400), constraints=constraints, **options)
    assert len(grown.leaves) == 3
    assert grown.scores[0] < grown.scores[1]
    assert grown.scores[2] == grown.scores[3]


def test_interaction_constraints_hold_for_the_features_of_all_levels():
    X, gradient, hessian = draw(n=200, n_features=6, seed=2)
    gradient = gradient + X[:, 3].round() + 2 * np.nan_to_num(X[:, 5])
    gradient = np.nan_to_num(gradient)
    sets = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], dtype=bool)
    constraints = NO_CONSTRAINTS._replace(interaction_sets=sets)
    grown = grow_on(
        X, gradient, hessian, constraints=constraints, max_depth=4, policy=SYMMETRIC
    )
    used = [feature for feature, _, _ in conditions(grown.tree)]
    assert len(used) == 4
    assert set(used) <= {3, 4, 5}


@pytest.mark.skipif(INTERPRETED, reason="loops over many rows")
def test_threads_grow_the_same_tree():
    X, gradient, hessian = draw(n=20_000, n_features=40, seed=3)
    gradient += np.nan_to_num(X[:, 1:6] ** 2).sum(axis=1) - 5
    found = [
        grow_on(
            X, gradient, hessian, max_depth=6, policy=SYMMETRIC, n_threads=n_threads,
            subsample=0.5,
        ).tree
        for n_threads in N_THREADS
    ]  # fmt: skip
    assert len(found[0].feature) > 30
    for tree in found[1:]:
        for one, other in zip(found[0], tree, strict=True):
            np.testing.assert_array_equal(one, other)
