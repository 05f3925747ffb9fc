"""The boosting loop on objectives whose result is known, and what it draws."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._core.boosting.loop import boost
from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data.tables import table_of
from sklearn_ltr._core.trees.binning import fit_bins
from sklearn_ltr._core.trees.categories import NO_CATEGORY_BINS
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.growth.sampling import TreeSampler
from sklearn_ltr._core.trees.parameters import GrowthParameters
from tests.trees import ONE_THREAD, grower_of

MAX_LEAF_NODES = 4


class SquaredError:
    """Half the squared error, and the scores of which it has been asked."""

    def __init__(self, target):
        self.target, self.asked = target, []

    def derivatives(self, scores):
        self.asked.append(scores.copy())
        return scores - self.target, np.ones(len(scores))

    def after_step(self, gradient, hessian, rate):
        assert rate == 0.5


def sampler_of(X, **options) -> TreeSampler:
    n_features = X.shape[1]
    everything = {
        "subsample": 1.0,
        "n_features": n_features,
        "n_tree_features": options.get("n_tree_features", n_features),
        "n_split_features": options.get("n_tree_features", n_features),
        "n_nodes": 2 * MAX_LEAF_NODES - 1,
        "seed": 0,
    }
    return TreeSampler(**everything | options)


def growth(second_order=True) -> GrowthParameters:
    return GrowthParameters(
        max_leaf_nodes=MAX_LEAF_NODES,
        max_depth=2**31,
        min_samples_leaf=2,
        l2_regularization=0.0,
        second_order=second_order,
    )


def run(
    X, objective, tree_indices, *, parameters=None, scores=None, n_threads=1, **drawn
):
    """Return the trees, their bin mapper, and the final scores."""
    rows = np.arange(len(X))
    parameters = growth() if parameters is None else parameters
    steps = [(index, 0.5) for index in tree_indices]
    table = table_of(X)
    mapper = fit_bins(table, rows, 32, NO_CATEGORY_BINS, ONE_PROCESS, ONE_THREAD)
    scores = np.zeros(len(X)) if scores is None else scores
    with ThreadTeam(n_threads) as team:
        binned = mapper.transform(table, rows, team)
        grower = grower_of(binned, parameters, team)
        sampler = sampler_of(X, **drawn)
        trees = list(boost(grower, objective, sampler, scores, steps))
    return trees, mapper, scores


def regression(n=80, seed=0):
    """Features, a target, and the derivatives of half the squared error."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    target = 2 * X[:, 0] + np.sin(3 * X[:, 1])
    return X, target, SquaredError(target)


# --- the loop ---------------------------------------------------------------------


@pytest.mark.parametrize("subsample", [1.0, 0.4])
def test_the_scores_are_the_predictions_of_the_trees_bit_for_bit(subsample):
    X, _, objective = regression()
    trees, mapper, scores = run(X, objective, range(12), subsample=subsample)
    # rows that were not drawn for a tree are in its leaves, too
    assert {tree.n_rows.sum() for tree in trees} == {80}
    ensemble = TreeEnsemble.from_grown(trees, mapper)
    np.testing.assert_array_equal(ensemble.predict(X, ONE_THREAD), scores)


def test_the_objective_is_called_with_the_scores_of_the_trees_so_far():
    X, _, objective = regression()
    trees, mapper, scores = run(X, objective, range(5))
    ensemble = TreeEnsemble.from_grown(trees, mapper)
    stages = [np.zeros(80), *ensemble.staged_predict(X)]
    for found, stage in zip([*objective.asked, scores], stages, strict=True):
        np.testing.assert_array_equal(found, stage)


# --- what is drawn ----------------------------------------------------------------

WIDE = np.zeros((30, 10))


def test_the_features_of_a_tree_are_drawn_by_the_seed_and_its_index():
    def features(seed):
        sampler = sampler_of(WIDE, n_tree_features=4, seed=seed)
        return [tuple(sampler.draw(m).features) for m in range(20)]

    drawn = features(0)
    assert all(len(set(one)) == 4 and list(one) == sorted(one) for one in drawn)
    assert set().union(*drawn) == set(range(10))
    assert len(set(drawn)) > 10
    assert drawn == features(0)
    assert drawn != features(1)


def drawn_at_each_node(sampler, m) -> list[set[int]]:
    """The features that may split each node of tree m."""
    sample = sampler.draw(m)
    return [
        set(sample.features[allowed[sample.features]].tolist())
        for allowed in sample.allowed
    ]


@pytest.mark.parametrize("n_tree_features", [10, 6])
def test_the_features_of_a_node_are_drawn_among_those_of_its_tree(n_tree_features):
    options = {"n_tree_features": n_tree_features, "n_split_features": 3}
    sampler = sampler_of(WIDE, **options)
    for m in range(10):
        nodes = drawn_at_each_node(sampler, m)
        assert [len(drawn) for drawn in nodes] == [3] * (2 * MAX_LEAF_NODES - 1)
        assert len(set(map(frozenset, nodes))) > 1
        assert set().union(*nodes) <= set(sampler.draw(m).features.tolist())
    assert drawn_at_each_node(sampler, 0) != drawn_at_each_node(sampler, 1)
    again = sampler_of(WIDE, **options, seed=1)
    assert drawn_at_each_node(sampler, 0) != drawn_at_each_node(again, 0)


def test_every_feature_is_drawn_for_a_node_equally_often():
    sampler = sampler_of(WIDE, n_split_features=3)
    nodes = [one for m in range(300) for one in drawn_at_each_node(sampler, m)]
    counts = [sum(feature in drawn for drawn in nodes) for feature in range(10)]
    expected = 0.3 * len(nodes)
    # five standard deviations of a binomial distribution
    assert np.abs(np.array(counts) - expected).max() < 5 * np.sqrt(0.7 * expected)


def test_a_node_has_the_best_gain_among_the_features_drawn_for_it():
    X, target, same = regression()
    same.derivatives = lambda scores: (-target, np.ones(80))
    alone = {
        feature: run(X[:, [feature]], same, range(1))[0][0].gain[0]
        for feature in range(3)
    }
    trees, _, _ = run(X, same, range(12), n_split_features=2)
    sampler = sampler_of(X, n_split_features=2)
    for m, tree in enumerate(trees):
        best = max(drawn_at_each_node(sampler, m)[0], key=alone.__getitem__)
        assert tree.feature[0] == best
        # gradients are rounded at random for each tree
        assert tree.gain[0] == pytest.approx(alone[best], rel=1e-6)
