"""The additive loop on costs whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._compile import INTERPRETED, ThreadTeam
from sklearn_ltr.learners._boosting import Boosting
from sklearn_ltr.learners._trees.ensemble import TreeEnsemble
from sklearn_ltr.learners._trees.workspace import Limits
from tests.trees import ALONE, bins

both_gains = pytest.mark.parametrize("second_order", [False, True])


def boosting(**options) -> Boosting:
    limits = {
        "max_leaf_nodes": 4,
        "max_depth": 2**31,
        "min_samples_leaf": 2,
        "l2": 0.0,
        "learning_rate": 0.5,
    }
    limits |= {name: options.pop(name) for name in list(options) if name in limits}
    arguments = {
        "second_order": True,
        "n_split_features": 3,
        "split_noise": 0.0,
        "seed": 0,
    } | options
    return Boosting(limits=Limits(**limits), **arguments)


def run(
    X,
    derivatives,
    how,
    n_trees,
    *,
    rows_of_tree=None,
    scores=None,
    first=0,
    n_threads=1,
):
    """Trees, their bins and the scores they leave behind."""
    mapper, table = bins(X, 32)
    scores = np.zeros(len(X)) if scores is None else scores
    every = np.arange(len(X), dtype=np.int32)
    with ThreadTeam(n_threads) as team:
        trees = list(
            how.trees(
                table,
                derivatives,
                rows_of_tree or (lambda number: every),
                scores,
                first,
                n_trees,
                team,
            )
        )
    return trees, mapper, scores


def regression(n=80, seed=0):
    """A table, and the derivatives of half the squared error from a target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    target = 2 * X[:, 0] + np.sin(3 * X[:, 1])
    return X, target, lambda scores: (scores - target, np.ones(n))


@both_gains
def test_one_full_step_on_squared_error_sets_each_leaf_to_its_mean(second_order):
    X, target, derivatives = regression()
    how = boosting(learning_rate=1.0, second_order=second_order)
    (tree,), _, scores = run(X, derivatives, how, 1)
    for value in np.unique(scores):
        members = scores == value
        assert target[members].mean() == pytest.approx(value, rel=1e-12)
    assert len(np.unique(scores)) == 4


@both_gains
def test_squared_error_falls_with_every_tree(second_order):
    X, target, derivatives = regression()
    errors = [np.mean(target**2)]
    for n_trees in range(1, 15):
        _, _, scores = run(X, derivatives, boosting(second_order=second_order), n_trees)
        errors.append(np.mean((scores - target) ** 2))
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 0.1 * errors[0]


def test_both_gains_make_the_same_trees_of_equal_hessians():
    X, _, derivatives = regression()
    _, _, one = run(X, derivatives, boosting(second_order=True), 10)
    _, _, other = run(X, derivatives, boosting(second_order=False), 10)
    # the same cuts; sums are rounded alike
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_scores_are_those_of_the_trees_bit_for_bit():
    X, _, derivatives = regression()
    how = boosting(learning_rate=0.3)
    trees, mapper, scores = run(X, derivatives, how, 12)
    ensemble = TreeEnsemble.from_grown(trees, mapper)
    np.testing.assert_array_equal(ensemble.predict(X, ALONE), scores)


def test_rows_left_out_of_a_tree_are_scored_by_it():
    X, _, derivatives = regression()
    drawn = [
        np.sort(np.random.default_rng(t).permutation(80)[:30]).astype(np.int32)
        for t in range(6)
    ]
    how = boosting(learning_rate=0.3)
    trees, mapper, scores = run(X, derivatives, how, 6, rows_of_tree=drawn.__getitem__)
    assert all(tree.n_rows.sum() == 30 for tree in trees)
    ensemble = TreeEnsemble.from_grown(trees, mapper)
    np.testing.assert_array_equal(ensemble.predict(X, ALONE), scores)


def test_each_tree_sees_the_scores_of_those_before():
    X, target, derivatives = regression()
    seen = []

    def recorded(scores):
        seen.append(scores.copy())
        return derivatives(scores)

    trees, mapper, scores = run(X, recorded, boosting(), 5)
    ensemble = TreeEnsemble.from_grown(trees, mapper)
    stages = [np.zeros(80), *ensemble.staged_predict(X)]
    for before, stage in zip([*seen, scores], stages, strict=True):
        np.testing.assert_array_equal(before, stage)


@pytest.mark.parametrize("options", [{}, {"n_split_features": 2}, {"split_noise": 1.0}])
def test_trees_grown_in_two_runs_are_those_of_one(options):
    X, _, derivatives = regression()
    how = boosting(**options)
    whole, _, scores = run(X, derivatives, how, 10)
    start, _, halfway = run(X, derivatives, how, 4)
    rest, _, end = run(X, derivatives, how, 10, scores=halfway, first=4)
    np.testing.assert_array_equal(end, scores)
    for one, other in zip(whole, start + rest, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_columns_are_drawn_anew_for_each_tree_by_the_seed():
    X, _, derivatives = regression()

    def columns_of_trees(seed):
        how = boosting(n_split_features=1, seed=seed)
        trees, _, _ = run(X, derivatives, how, 20)
        return [tuple(set(tree.feature[tree.feature >= 0])) for tree in trees]

    drawn = columns_of_trees(0)
    assert all(len(columns) == 1 for columns in drawn)
    assert len(set(drawn)) == 3
    assert drawn == columns_of_trees(0)
    assert drawn != columns_of_trees(1)


def test_split_noise_is_drawn_by_the_seed():
    X, _, derivatives = regression()
    _, _, plain = run(X, derivatives, boosting(), 5)
    _, _, one = run(X, derivatives, boosting(split_noise=1.0, seed=1), 5)
    _, _, again = run(X, derivatives, boosting(split_noise=1.0, seed=1), 5)
    _, _, other = run(X, derivatives, boosting(split_noise=1.0, seed=2), 5)
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    assert (one != plain).any()


def test_split_noise_is_drawn_anew_for_each_tree():
    # with a gradient that stays the same, nothing else tells the trees apart
    X, target, _ = regression()
    same = lambda scores: (-target, np.ones(80))  # noqa: E731
    trees, _, _ = run(X, same, boosting(split_noise=3.0), 8)
    assert len({tree.feature.tobytes() for tree in trees}) > 1
    trees, _, _ = run(X, same, boosting(), 8)
    assert len({tree.feature.tobytes() for tree in trees}) == 1


@pytest.mark.parametrize("options", [{}, {"n_split_features": 2}, {"split_noise": 1.0}])
def test_the_number_of_threads_does_not_matter(options):
    X, _, derivatives = regression(n=200 if INTERPRETED else 6000)
    X = np.hstack([X, np.random.default_rng(1).normal(size=(len(X), 30))])
    results = {
        run(X, derivatives, boosting(**options), 5, n_threads=n_threads)[2].tobytes()
        for n_threads in ((1,) if INTERPRETED else (1, 2, 4))
    }
    assert len(results) == 1
