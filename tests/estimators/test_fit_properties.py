"""What must hold for any fit, on data that hypothesis draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.oracles.trees import leaves_of
from tests.strategies import rows

TREES = {
    "n_estimators": 4,
    "max_leaf_nodes": 6,
    "min_samples_leaf": 2,
    "learning_rate": 0.5,
    "random_state": 0,
}
NETWORK = {"hidden_layer_sizes": (4,), "max_iter": 2, "random_state": 0}
# no draws, which depend on a feature's number and on a row's place
EXACT = TREES | {"subsample": 1.0}


def no_nan(X):
    return np.clip(np.nan_to_num(X), -1, 1)


def fit_ranker(kind, options, X, y, groups, weights):
    if kind is not LambdaMARTRanker:
        X = no_nan(X)
    ranker = kind(**options).fit(X, y, groups=groups, sample_weight=weights)
    return ranker.predict(X)


def fit_mart(kind, options, X, y, groups, weights):
    y = y > 1 if kind is MARTClassifier else y
    model = kind(**options).fit(X, y, sample_weight=weights)
    return model.predict_proba(X)[:, 1] if kind is MARTClassifier else model.predict(X)


STOPPED = {"early_stopping": True, "validation_fraction": 0.3}
MODELS = {
    "LambdaMART": (fit_ranker, LambdaMARTRanker, TREES),
    "LambdaMART, all drawn": (
        fit_ranker,
        LambdaMARTRanker,
        TREES | {"subsample": 0.7, "max_features": 0.5, "metric": "map"},
    ),
    "LambdaMART, cost": (
        fit_ranker,
        LambdaMARTRanker,
        TREES
        | {"metric": None, "split_gain": "least_squares"}
        | {"grow_policy": "best_first"},
    ),
    "LambdaRank": (fit_ranker, LambdaRankRanker, NETWORK),
    "RankNet": (fit_ranker, RankNetRanker, NETWORK | {"tied_pairs": True}),
    "MARTClassifier": (fit_mart, MARTClassifier, TREES | STOPPED),
    "MARTRegressor": (fit_mart, MARTRegressor, TREES | STOPPED | {"subsample": 0.7}),
}
of_every_model = pytest.mark.parametrize("model", MODELS)
some_examples = settings(max_examples=settings().max_examples // 2)


def scores(model, d, X=None, y=None, groups=None, weights=None):
    """Fit on the data, some of them replaced, and score the training rows."""
    fit, kind, options = MODELS[model]
    given_or = lambda value, default: default if value is None else value  # noqa: E731
    return fit(
        kind,
        options,
        given_or(X, d.X),
        given_or(y, d.y),
        given_or(groups, d.groups),
        given_or(weights, d.columns["sample_weight"]),
    )


@of_every_model
@some_examples
@given(rows)
def test_other_names_of_the_queries_change_no_bit(model, d):
    names = np.array([f"query {group:03d}" for group in d.groups])
    np.testing.assert_array_equal(scores(model, d, groups=names), scores(model, d))


@pytest.mark.parametrize("model", ["LambdaMART", "LambdaMART, all drawn"])
@some_examples
@given(rows)
def test_a_monotone_transform_of_a_feature_changes_no_bit(model, d):
    X = d.X.copy()
    X[:, 0] = np.exp(X[:, 0])
    X[:, 2] = 7 * X[:, 2] - 3
    X[:, 3] = np.cbrt(X[:, 3])
    trained_on = d.trained_on
    np.testing.assert_array_equal(
        scores(model, d, X)[trained_on], scores(model, d)[trained_on]
    )


@of_every_model
@some_examples
@given(rows)
def test_single_precision_that_is_exact_changes_no_bit(model, d):
    single = d.X.astype(np.float32)
    np.testing.assert_array_equal(
        scores(model, d, single), scores(model, d, single.astype(np.float64))
    )


def trees_of(d, X):
    """Fit exact trees on top of random scores, and score the rows of X.

    Without these scores documents of a query would have equal gradients, and splits
    equal gains, between which the rounding of the gradients decides.
    """
    scores = d.columns["init_score"]
    weights = d.columns["sample_weight"]
    ranker = LambdaMARTRanker(**EXACT)
    ranker.fit(X, d.y, groups=d.groups, sample_weight=weights, init_score=scores)
    return ranker.predict(X, init_score=scores)[d.trained_on]


@some_examples
@given(rows)
def test_the_order_of_the_features_changes_no_score(d):
    order = d.rng.permutation(d.X.shape[1])
    expected = trees_of(d, d.X)
    np.testing.assert_allclose(trees_of(d, d.X[:, order]), expected, rtol=1e-9)


@some_examples
@given(rows, st.sampled_from([0.0, 3.5, np.nan]), st.integers(0, 4))
def test_a_constant_feature_changes_no_score(d, constant, position):
    X = np.insert(d.X, position, constant, axis=1)
    np.testing.assert_allclose(trees_of(d, X), trees_of(d, d.X), rtol=1e-9)


@some_examples
@given(rows)
def test_a_prediction_is_the_sum_of_the_leaves_of_a_plain_walk(d):
    ranker = LambdaMARTRanker(**TREES).fit(d.X, d.y, groups=d.groups)
    trees = ranker.ensemble_
    leaves = [trees.first_node + leaves_of(trees, row) for row in d.X]
    found = [sum(trees.value[of_row]) for of_row in leaves]
    np.testing.assert_array_equal(found, ranker.predict(d.X))
