"""Monotonic and interaction constraints, against slow definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.isotonic import isotonic_regression
from sklearn.model_selection import cross_val_score
from threadpoolctl import threadpool_limits

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.trees.growth.leaf_values import pool_leaves
from sklearn_ltr._core.trees.parameters import Constraints
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.trees import ONE_THREAD, grow_on

SIGNS = [1, -1, 0, 1, 0, -1]
RANKING = make_ranking(60, n_features=6, n_informative=4, random_state=0)
RNG = np.random.default_rng(0)
X, Y, GROUPS = RANKING.data.copy(), RANKING.target, RANKING.groups
X[RNG.random(X.shape) < 0.05] = np.nan
TREES = {"n_estimators": 15, "min_samples_leaf": 5, "random_state": 0}
NONE = np.empty(0, dtype=np.int8)


def constraints(monotonic=NONE, sets=None, n_features=3):
    sets = np.empty((0, n_features), bool) if sets is None else np.array(sets, bool)
    return Constraints(np.array(monotonic, dtype=np.int8), sets)


def ranker(**options):
    return LambdaMARTRanker(**TREES | options).fit(X, Y, groups=GROUPS)


def violations(predict, ensemble, table, signs):
    """Sweep each constrained column over all thresholds; count wrong steps."""
    rows = table[np.random.default_rng(1).integers(len(table), size=40)]
    wrong, n_steps = 0, 0
    for j in np.flatnonzero(signs):
        cuts = ensemble.threshold[ensemble.feature == j]
        cuts = np.unique(np.append(cuts[np.isfinite(cuts)], [-1e9, 1e9]))
        swept = np.repeat(rows, len(cuts), axis=0)
        swept[:, j] = np.tile(cuts, len(rows))
        steps = np.diff(predict(swept).reshape(len(rows), -1), axis=1)
        wrong += np.count_nonzero(signs[j] * steps < 0)
        n_steps += steps.size
    assert n_steps > 100
    return wrong


# --- monotonic constraints --------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split_gain": "least_squares"},
        {"subsample": 0.6, "max_features": 0.5, "max_depth": 4},
        {"max_leaf_nodes": 100, "min_samples_leaf": 1, "learning_rate": 1.0},
        {"max_leaf_nodes": 2},
        {"interaction_cst": "pairwise"},
    ],
    ids=str,
)
def test_scores_never_step_the_wrong_way(options):
    free, bound = ranker(**options), ranker(monotonic_cst=SIGNS, **options)
    assert violations(free.predict, free.ensemble_, X, SIGNS) > 0
    assert violations(bound.predict, bound.ensemble_, X, SIGNS) == 0
    assert bound.score(X, Y, groups=GROUPS) > 0.6
    assert len(np.unique(bound.predict(X))) > 10


def test_also_beside_categories_and_in_mart():
    rng = np.random.default_rng(2)
    table = np.column_stack([rng.integers(0, 6, 800), rng.normal(size=(800, 3))])
    y = np.sin(3 * table[:, 1]) + table[:, 0] % 3 * table[:, 2] + table[:, 1]
    signs = [0, 1, -1, 0]
    options = {"n_estimators": 20, "random_state": 0, "categorical_features": [0]}
    for kind, target in ((MARTRegressor, y), (MARTClassifier, y > 1)):
        for cst, expected in ((None, False), (signs, True)):
            model = kind(monotonic_cst=cst, **options).fit(table, target)
            predict = model.predict
            if kind is MARTClassifier:
                predict = lambda Z, m=model: m.predict_proba(Z)[:, 1]  # noqa: E731
            wrong = violations(predict, model.ensemble_, table, signs)
            assert (int(wrong) == 0) is expected


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("second_order", [True, False])
def test_the_first_split_is_the_best_of_the_allowed_ones(sign, second_order):
    rng = np.random.default_rng(3)
    for _ in range(30):
        table = rng.integers(0, 8, (40, 1)).astype(float)
        table[rng.random(40) < 0.1] = np.nan
        gradient, hessian = rng.normal(size=40), rng.uniform(0.5, 2, 40)
        weight = hessian if second_order else np.ones(40)
        best = 0.0
        for cut in range(8):
            for missing_left in (False, True):
                left = np.where(np.isnan(table[:, 0]), missing_left, table[:, 0] <= cut)
                if not 0 < left.sum() < 40:
                    continue
                g, w = [[a[s].sum() for s in (left, ~left)] for a in (gradient, weight)]
                gain = g[0] ** 2 / w[0] + g[1] ** 2 / w[1]
                gain -= sum(g) ** 2 / sum(w)
                if sign * (-g[1] / w[1] + g[0] / w[0]) >= 0:
                    best = max(best, gain)
        grown = grow_on(
            table, gradient, hessian, max_leaf_nodes=2, second_order=second_order,
            constraints=constraints([sign]),
        )  # fmt: skip
        found = grown.gains[0] if grown.gains else 0.0
        assert found == pytest.approx(best, abs=0.02 * (best + 0.1))
        left = grown.scores == grown.tree.value[-1]
        if 0 < left.sum() < 40:  # as the rows were divided
            g, w = [[a[s].sum() for s in (left, ~left)] for a in (gradient, weight)]
            gain = g[0] ** 2 / w[0] + g[1] ** 2 / w[1] - sum(g) ** 2 / sum(w)
            assert found == pytest.approx(gain, rel=1e-3, abs=1e-6)


def pooled(pairs, values, weights):
    v, w = np.array(values, float), np.array(weights, float)
    getattr(pool_leaves, "py_func", pool_leaves)(np.array(pairs, bool), v, w)
    return v


def test_pools_of_a_chain_are_isotonic_regression():
    rng = np.random.default_rng(4)
    for n in (1, 2, 5, 30):
        values, weights = rng.normal(size=n), rng.uniform(0.1, 3, n)
        chain = np.triu(np.ones((n, n)), 1)
        expected = isotonic_regression(values, sample_weight=weights)
        np.testing.assert_allclose(pooled(chain, values, weights), expected)


def test_pools_of_a_partial_order_are_in_order_and_near_the_minimum():
    rng = np.random.default_rng(5)
    excess = []
    for _ in range(40):
        n = 7
        values, weights = rng.normal(size=n), rng.uniform(0.5, 2, n)
        pairs = np.triu(rng.random((n, n)) < 0.3, 1)
        found = pooled(pairs, values, weights)
        for i, j in zip(*np.nonzero(pairs), strict=True):
            assert found[i] <= found[j]

        def cost(v, values=values, weights=weights):
            return np.sum(weights * (v - values) ** 2)

        rows = [np.eye(n)[j] - np.eye(n)[i] for i, j in zip(*np.nonzero(pairs),
                                                            strict=True)]  # fmt: skip
        if not rows:
            continue
        best = minimize(
            cost, np.sort(values), constraints=LinearConstraint(rows, lb=0)
        ).fun  # fmt: skip
        excess.append(cost(found) / max(best, 1e-9) - 1 if best > 1e-6 else 0.0)
    assert min(excess) > -1e-3
    assert np.mean(excess) < 0.05


def test_constraints_cost_about_what_those_of_scikit_learn_cost():
    rng = np.random.default_rng(6)
    table = rng.normal(size=(2000, 4))
    y = table[:, 0] + np.exp(table[:, 1]) * (table[:, 2] > 0) + rng.normal(size=2000)
    signs = [1, 1, 1, 0]
    shared = {"learning_rate": 0.1, "max_leaf_nodes": 31, "random_state": 0}
    ours = MARTRegressor(n_estimators=30, monotonic_cst=signs, **shared)
    theirs = HistGradientBoostingRegressor(
        max_iter=30, early_stopping=False, monotonic_cst=signs, **shared
    )
    with threadpool_limits(1):  # of OpenMP, whose threads wait for busy cores
        found, expected = (cross_val_score(m, table, y, cv=3) for m in (ours, theirs))
    assert np.mean(found) > np.mean(expected) - 0.005


# --- interaction constraints ------------------------------------------------------


def features_on_paths(ensemble):
    """The set of features on the path to each leaf."""
    bounds = [*ensemble.first_node, len(ensemble.feature)]
    for first, last in zip(bounds[:-1], bounds[1:], strict=True):
        paths = {0: frozenset()}
        for node in range(last - first):
            feature = ensemble.feature[first + node]
            if feature < 0:
                yield paths[node]
                continue
            for child in (ensemble.left[first + node], ensemble.right[first + node]):
                paths[child] = paths[node] | {int(feature)}


@pytest.mark.parametrize(
    ("given", "sets"),
    [
        ("no_interactions", [{j} for j in range(6)]),
        ("pairwise", [{i, j} for i in range(6) for j in range(6)]),
        ([{0, 1, 2}, {2, 3}], [{0, 1, 2}, {2, 3}, {4, 5}]),
        ([[5, 0]], [{0, 5}, {1, 2, 3, 4}]),
    ],
    ids=str,
)
def test_the_features_of_a_path_are_in_one_set(given, sets):
    found = set(features_on_paths(ranker(interaction_cst=given).ensemble_))
    assert all(any(path <= allowed for allowed in sets) for path in found)
    assert max(map(len, found)) == min(max(map(len, sets)), max(map(len, found)))
    free = set(features_on_paths(ranker().ensemble_))
    assert any(not any(path <= allowed for allowed in sets) for path in free)


# --- both, in the estimators ------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"monotonic_cst": [0] * 6},
        {"monotonic_cst": {}},
        {"interaction_cst": [range(6)]},
        {"interaction_cst": [{0, 1}, {5, 4, 3, 2, 1, 0}]},
    ],
    ids=str,
)
def test_constraints_that_allow_everything_change_no_byte(options):
    assert ranker(**options).predict(X).tobytes() == ranker().predict(X).tobytes()


def test_the_trees_that_a_warm_start_adds_obey_the_constraints_of_now():
    model = ranker(warm_start=True, n_estimators=5)
    model.set_params(n_estimators=15, monotonic_cst=SIGNS).fit(X, Y, groups=GROUPS)
    old, new = model.ensemble_.part(0, 5), model.ensemble_.part(5, 15)
    for trees, obey in ((old, False), (new, True)):
        wrong = violations(lambda Z, t=trees: t.predict(Z, ONE_THREAD), trees, X, SIGNS)
        assert (int(wrong) == 0) is obey
