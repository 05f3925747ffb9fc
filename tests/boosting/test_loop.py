"""The boosting loop on objectives whose result is known, and what it draws."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.growth.sampling import TreeSampler
from tests.boosting import MAX_LEAF_NODES, N, SquaredError, X, run
from tests.trees import ONE_THREAD


class FirstGradient(SquaredError):
    """The derivatives at scores of 0, whatever the scores are."""

    def derivatives(self, scores):
        return super().derivatives(scores)[0] * 0 - self.target, np.ones(len(scores))

    def after_step(self, gradient, hessian, rate):
        self.n_steps += 1


def sampler_of(table, **options) -> TreeSampler:
    n_features = table.shape[1]
    everything = {
        "subsample": 1.0,
        "n_features": n_features,
        "n_tree_features": options.get("n_tree_features", n_features),
        "n_split_features": options.get("n_tree_features", n_features),
        "n_nodes": 2 * MAX_LEAF_NODES - 1,
        "seed": 0,
    }
    return TreeSampler(**everything | options)


# --- the loop ---------------------------------------------------------------------


@pytest.mark.parametrize("subsample", [1.0, 0.4])
def test_the_scores_are_the_predictions_of_the_trees_bit_for_bit(subsample):
    trees, rows, scores, _ = run(12, subsample=subsample)
    # rows that were not drawn for a tree are in its leaves, too
    assert {tree.n_rows.sum() for tree in each(trees)} == {N}
    np.testing.assert_array_equal(trees.predict(rows, ONE_THREAD), scores)


def test_the_objective_is_called_with_the_scores_of_the_trees_so_far():
    trees, rows, scores, objective = run(5)
    stages = [np.zeros(N), *trees.staged_predict(rows)]
    for found, stage in zip([*objective.asked, scores], stages, strict=True):
        np.testing.assert_array_equal(found, stage)
    assert objective.n_steps == 5


def each(trees) -> list[TreeEnsemble]:
    return [trees.part(m, m + 1) for m in range(len(trees))]


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
    alone = {
        feature: run(1, FirstGradient, (feature,))[0].gain[0] for feature in range(3)
    }
    trees, *_ = run(12, FirstGradient, max_features=2)
    sampler = sampler_of(X, n_split_features=2)
    for m, tree in enumerate(each(trees)):
        best = max(drawn_at_each_node(sampler, m)[0], key=alone.__getitem__)
        assert tree.feature[0] == best
        # gradients are rounded at random for each tree
        assert tree.gain[0] == pytest.approx(alone[best], rel=1e-6)
