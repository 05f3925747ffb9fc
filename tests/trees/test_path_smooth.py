"""Values of leaves that are drawn towards those of the nodes above, by definition."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr._core.trees.growth import POLICIES
from sklearn_ltr._core.trees.growth.leaf_values import add_binned
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.oracles.trees import smoothed_values
from tests.trees import ONE_THREAD, grow_on

both_policies = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
N = 150
RNG = np.random.default_rng(1)
X = RNG.normal(size=(N, 4))
X[RNG.random(X.shape) < 0.1] = np.nan
GRADIENT = np.nan_to_num(X[:, 0]) + RNG.normal(size=N)
HESSIAN = RNG.uniform(0.1, 1.0, N)


def rows_by_leaf(grown) -> dict[int, list[int]]:
    """The rows that reach each leaf."""
    marked = grown.tree._replace(value=np.arange(float(len(grown.tree.value))))
    scores = np.zeros(len(X))
    add_binned(grown.binned, marked, scores, ONE_THREAD)
    return {leaf: np.flatnonzero(scores == leaf).tolist() for leaf in grown.leaves}


def expected_values(grown, l2, path_smooth):
    tree = grown.tree
    children = {
        node: (tree.left[node], tree.right[node])
        for node in np.flatnonzero(tree.feature >= 0)
    }
    return smoothed_values(
        children, rows_by_leaf(grown), GRADIENT, HESSIAN, l2, path_smooth
    )


@both_policies
@pytest.mark.parametrize("subsample", [1.0, 0.5])
@pytest.mark.parametrize("path_smooth", [0.3, 20.0, 1e6])
def test_leaves_have_the_values_of_the_oracle(path_smooth, subsample, policy):
    options = {"policy": policy, "subsample": subsample, "max_depth": 4, "l2": 0.5}
    options["min_samples_leaf"] = 3
    grown = grow_on(X, GRADIENT, HESSIAN, path_smooth=path_smooth, **options)
    assert len(grown.leaves) > 4
    ridge = policy.ridge * HESSIAN.mean()
    expected = expected_values(grown, 0.5 + ridge, path_smooth)
    for leaf, value in expected.items():
        # sums of gradients and hessians are of numbers scaled to 2^61
        assert grown.tree.value[leaf] == pytest.approx(value, rel=1e-12)
    # splits, and what else a tree has, are those of a tree without smoothing
    plain = grow_on(X, GRADIENT, HESSIAN, **options)
    for name, found, other in zip(
        grown.tree._fields, grown.tree, plain.tree, strict=True
    ):
        if name != "value":
            np.testing.assert_array_equal(found, other)


@both_policies
def test_without_smoothing_and_with_the_most_values_are_those_of_the_ends(policy):
    options = {"policy": policy, "max_depth": 3}
    plain = grow_on(X, GRADIENT, HESSIAN, **options)
    hardly = grow_on(X, GRADIENT, HESSIAN, path_smooth=1e-40, **options)
    np.testing.assert_array_equal(plain.tree.value, hardly.tree.value)
    all_one = grow_on(X, GRADIENT, HESSIAN, path_smooth=1e50, **options)
    root = -GRADIENT.sum() / (HESSIAN.sum() + policy.ridge * HESSIAN.mean())
    leaves = all_one.tree.value[all_one.leaves]
    np.testing.assert_allclose(leaves, root, rtol=1e-12)


def test_a_tree_of_one_leaf_has_its_newton_step():
    grown = grow_on(X, GRADIENT, HESSIAN, path_smooth=9.0, min_samples_leaf=N)
    expected = -GRADIENT.sum() / HESSIAN.sum()
    assert grown.tree.value.tolist() == [pytest.approx(expected, rel=1e-12)]


def test_a_leaf_without_gradients_takes_a_part_of_its_parents_value():
    column = np.repeat([0.0, 1.0], 20)[:, np.newaxis]
    gradient = np.repeat([0.0, 1.0], 20)
    grown = grow_on(column, gradient, np.ones(40), max_leaf_nodes=2, path_smooth=20.0)
    assert grown.tree.value[1:].tolist() == [-0.25, -0.75]


@both_policies
def test_threads_do_not_change_the_values(policy):
    options = {"policy": policy, "max_depth": 4, "path_smooth": 7.0}
    one = grow_on(X, GRADIENT, HESSIAN, **options)
    for n_threads in (1,) if INTERPRETED else (2, 3):
        other = grow_on(X, GRADIENT, HESSIAN, n_threads=n_threads, **options)
        np.testing.assert_array_equal(one.tree.value, other.tree.value)


# --- estimators -------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("estimator", [MARTRegressor, MARTClassifier, LambdaMARTRanker])
def test_estimators_take_it_and_order_and_threads_change_nothing(estimator, policy):
    data = make_ranking(30, random_state=0)
    y = data.target > 1 if estimator is MARTClassifier else data.target
    given = {"y": y}
    if estimator is LambdaMARTRanker:
        given["groups"] = data.groups
    order = np.random.default_rng(0).permutation(len(y))
    models = [
        estimator(
            n_estimators=5, path_smooth=s, grow_policy=policy, random_state=0,
            n_jobs=n_jobs,
        ).fit(data.data[rows], **{name: v[rows] for name, v in given.items()})
        for s, rows, n_jobs in (
            (8.0, np.arange(len(y)), 1), (8.0, order, 2), (0.0, order, 1)
        )
    ]  # fmt: skip
    one, other, plain = (pickle.dumps(model.ensemble_) for model in models)
    assert one == other != plain
    smooth, rough = (np.abs(models[m].ensemble_.value).max() for m in (0, 2))
    assert smooth < rough


def test_leaves_of_constrained_trees_are_in_order():
    # smoothed values of two nodes of other parents may be out of order
    rng = np.random.default_rng(3)
    table = rng.normal(size=(400, 2))
    y = table[:, 0] + 3 * (table[:, 1] > 0) * rng.normal(size=400)
    options = {"min_samples_leaf": 1, "learning_rate": 1.0, "random_state": 0}
    for policy in POLICIES:
        model = MARTRegressor(**options, grow_policy=policy, monotonic_cst=[1, 0])
        model.set_params(n_estimators=20, path_smooth=30.0).fit(table, y)
        grid = np.linspace(-3, 3, 200)
        for other in np.linspace(-2, 2, 9):
            rows = np.column_stack([grid, np.full(200, other)])
            assert (np.diff(model.predict(rows)) >= 0).all()
