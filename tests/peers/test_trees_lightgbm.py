"""One tree against one of LightGBM's on the same gradients and hessians."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr.inspection import compute_lambdas
from tests.trees import Grown, grow_on

lightgbm = pytest.importorskip("lightgbm")


def lightgbm_scores(X, gradient, hessian, **options) -> np.ndarray:
    """Predictions of LightGBM's tree on the training rows."""
    parameters = {
        "objective": lambda scores, data: (gradient, hessian),
        "learning_rate": 1.0,
        "min_sum_hessian_in_leaf": 0.0,
        "min_data_in_bin": 1,  # every distinct value its own bin, as here
        "min_data_in_leaf": 0,  # counted by hessians, which is exact where all are 1
        "feature_pre_filter": False,
        "num_threads": 1,
        "verbosity": -1,
    } | options
    data = lightgbm.Dataset(X, label=np.zeros(len(X)))
    return lightgbm.train(parameters, data, num_boost_round=1).predict(X)


def draw(missing: float, n: int, seed: int = 0):
    """Features of few values, and gradients that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (n, 5)).astype(np.float64)
    X[rng.uniform(size=X.shape) < missing] = np.nan
    signal = np.nan_to_num(X) @ [-0.2, 0.1, 0.05, 0, 0] + np.isnan(X[:, 1])
    return X, rng.normal(size=n) + signal, rng.uniform(0.5, 1.0, n)


def assert_same_tree(ours: Grown, predictions: np.ndarray) -> None:
    # LightGBM keeps gradients in float32
    np.testing.assert_allclose(ours.scores, predictions, rtol=1e-5, atol=1e-6)
    assert len(np.unique(predictions)) == len(ours.leaves)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize(
    ("max_leaf_nodes", "max_depth"), [(2, None), (8, None), (31, 3), (12, 4)]
)
def test_second_order_trees_are_the_same(max_leaf_nodes, max_depth, l2, missing):
    # leaves are large: LightGBM estimates the counts, and avoids leaves of few rows
    X, gradient, hessian = draw(missing, n=1000 if INTERPRETED else 4000)
    ours = grow_on(
        X,
        gradient,
        hessian,
        max_leaf_nodes=max_leaf_nodes,
        max_depth=2**31 if max_depth is None else max_depth,
        l2=l2,
    )
    predictions = lightgbm_scores(
        X,
        gradient,
        hessian,
        num_leaves=max_leaf_nodes,
        max_depth=max_depth or -1,
        lambda_l2=l2,
    )
    assert_same_tree(ours, predictions)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("min_samples_leaf", [4, 25])
def test_least_squares_trees_are_the_same(min_samples_leaf, missing):
    """Hessians of 1 make their gain least squares, and leaves the mean gradient."""
    X, gradient, _ = draw(missing, n=300, seed=1)
    hessian = np.ones(len(X))
    size = {"max_leaf_nodes": 12, "min_samples_leaf": min_samples_leaf}
    ours = grow_on(X, gradient, hessian, second_order=False, **size)
    predictions = lightgbm_scores(
        X, gradient, hessian, num_leaves=12, min_data_in_leaf=min_samples_leaf
    )
    assert_same_tree(ours, predictions)


@pytest.mark.parametrize("metric", ["ndcg@10", None])
def test_trees_on_lambdas_are_the_same(metric):
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(40), 12)
    X = rng.integers(0, 20, (480, 6)).astype(np.float64)
    y = np.clip(X[:, 0] / 5 + rng.normal(size=480), 0, 4).round()
    scores = rng.normal(size=480)
    gradient, hessian = compute_lambdas(scores, y, metric, groups=groups)
    # without a pair both are 0, and LightGBM does not split leaves of weight 0
    used = hessian > 0
    X, gradient, hessian = X[used], gradient[used], hessian[used]
    ours = grow_on(X, gradient, hessian, max_leaf_nodes=10)
    predictions = lightgbm_scores(X, gradient, hessian, num_leaves=10)
    assert_same_tree(ours, predictions)


@pytest.mark.parametrize("path_smooth", [2.0, 300.0])
@pytest.mark.parametrize("max_leaf_nodes", [2, 4])
def test_values_drawn_towards_those_of_parents_are_the_same(
    max_leaf_nodes, path_smooth
):
    """On columns of which two divide the rows so clearly that splits are the same."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (1000, 2)).astype(np.float64)
    gradient = 5 * X[:, 0] + X[:, 1] * (1 + X[:, 0]) + rng.normal(scale=0.1, size=1000)
    hessian = np.ones(1000)
    ours = grow_on(
        X, gradient, hessian, max_leaf_nodes=max_leaf_nodes, path_smooth=path_smooth
    )
    predictions = lightgbm_scores(
        X, gradient, hessian, num_leaves=max_leaf_nodes, path_smooth=path_smooth,
        min_data_in_leaf=2,
    )  # fmt: skip
    assert_same_tree(ours, predictions)
