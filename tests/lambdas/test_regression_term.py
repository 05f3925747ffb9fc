"""The regression on the grades that `regression_weight` adds to the lambdas."""

from __future__ import annotations

import numpy as np

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import QueryGroups, RowColumns, TrainingData
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.lambdas.regression import Regression
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.inspection import compute_lambdas

OFFSETS = np.array([0, 4, 6, 11])
QUERY = np.repeat([0, 1, 2], np.diff(OFFSETS))
GRADES = np.array([2.0, 0, 1, 1, 0, 3, 0.5, 0, 4, 0, 0])
WEIGHTS = np.array([1.0, 3.0, 0.5])
SCORES = np.random.default_rng(0).normal(size=11)
DATA = make_ranking(60, n_features=6, n_informative=3, random_state=0)


def training_data(grades=GRADES, weights=WEIGHTS):
    queries = QueryGroups.from_groups(QUERY, 11)
    columns = RowColumns(sample_weight=weights)
    return TrainingData(LabelGrades.of_one(grades), OFFSETS, queries.query_ids, columns)


def added(scores, hessian, *, weight=2.0, sigma=0.7, data=None):
    """What is added to a gradient of zero and to these hessians."""
    gradient, total = np.zeros(11), hessian.copy()
    data = data or training_data()
    index = QueryIndex.locate(data, ONE_PROCESS)
    Regression(data, weight, sigma, index, ThreadTeam(1)).add(scores, gradient, total)
    return gradient, total - hessian


def targets():
    centred = GRADES - (np.bincount(QUERY, GRADES) / np.bincount(QUERY))[QUERY]
    weights = WEIGHTS[QUERY]
    return centred / np.sqrt(np.sum(weights * centred**2) / np.sum(weights))


def test_the_gradient_is_that_of_the_cost_by_central_differences():
    hessian = np.random.default_rng(1).random(11)
    weight, sigma = 2.0, 0.7
    mean_hessian = (np.bincount(QUERY, hessian) / np.bincount(QUERY))[QUERY]

    def cost(scores):
        mean = (np.bincount(QUERY, scores) / np.bincount(QUERY))[QUERY]
        residual = sigma * (scores - mean) - targets()
        return np.sum(weight * mean_hessian / sigma**2 * residual**2 / 2)

    step = 1e-6 * np.eye(11)
    expected = [(cost(SCORES + e) - cost(SCORES - e)) / 2e-6 for e in step]
    gradient, added_hessian = added(SCORES, hessian)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(added_hessian, weight * mean_hessian, rtol=1e-12)


def test_the_gradients_of_a_query_sum_to_zero_and_ignore_a_constant():
    hessian = np.ones(11)
    gradient, _ = added(SCORES, hessian)
    assert np.abs(np.bincount(QUERY, gradient)).max() < 1e-12
    shifted, _ = added(SCORES + np.array([5.0, -2.0, 1.0])[QUERY], hessian)
    np.testing.assert_allclose(shifted, gradient, atol=1e-12)


def test_neither_the_scale_of_the_grades_nor_that_of_the_weights_matters():
    hessian = np.ones(11)
    gradient, _ = added(SCORES, hessian)
    for data in (
        training_data(GRADES * 1e200),
        training_data(GRADES * 1e-3 + 7.0),
        training_data(weights=WEIGHTS * 1e9),
    ):
        other, _ = added(SCORES, hessian, data=data)
        np.testing.assert_allclose(other, gradient, rtol=1e-10)


def test_a_tree_steps_down_the_sum_of_both():
    X, y, groups = DATA.data, DATA.target, DATA.groups
    ranker = LambdaMARTRanker(
        n_estimators=1, max_leaf_nodes=2, min_samples_leaf=1, learning_rate=1.0,
        regression_weight=3.0, truncation_level=None, normalize_lambdas=False,
        subsample=1.0, grow_policy="best_first", random_state=0,
    ).fit(X, y, groups=groups)  # fmt: skip
    gradient, hessian = compute_lambdas(np.zeros(len(y)), y, "ndcg@10", groups=groups)
    size = np.bincount(groups)
    mean_hessian = (np.bincount(groups, hessian) / size)[groups]
    centred = y - (np.bincount(groups, y) / size)[groups]
    has_pairs = (np.bincount(groups, np.abs(centred)) > 0)[groups]
    deviation = np.sqrt(np.mean(centred[has_pairs] ** 2))
    gradient -= 3.0 * mean_hessian * centred / deviation
    hessian += 3.0 * mean_hessian
    left = X[:, ranker.ensemble_.feature[0]] <= ranker.ensemble_.threshold[0]
    for side in (left, ~left):
        rows = side & has_pairs
        value = -gradient[rows].sum() / hessian[rows].sum()
        np.testing.assert_allclose(ranker.predict(X[side]), value, rtol=1e-6)
