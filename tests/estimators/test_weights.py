"""What a weight means: a weight of 2 is the query, or the row of MART, twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

DATA = make_ranking(40, n_features=6, n_informative=3, random_state=0)
X, Y, GROUPS = np.round(DATA.data, 1), DATA.target, DATA.groups  # a bin per value
TIMES = 1 + GROUPS % 3
ROWS = np.concatenate([np.flatnonzero(TIMES > k) for k in range(3)])
COPY = np.concatenate([np.full(np.count_nonzero(TIMES > k), k) for k in range(3)])

TREES: dict[str, Any] = {
    "n_estimators": 4, "max_leaf_nodes": 8, "min_samples_leaf": 1,
    "random_state": 0,
}  # fmt: skip
NO_DRAWS = TREES | {"subsample": 1.0}
NETWORK: dict[str, Any] = {"hidden_layer_sizes": (8,), "max_iter": 5, "random_state": 0}
ONE_BATCH = NETWORK | {"batch_size": 10**6}
SGD = {"solver": "sgd", "alpha": 0.1, "learning_rate_init": 2.0**-10}


def fit(model, weights, rows=slice(None), copy=0):
    """Fit a clone to some rows; copies of a query are queries of their own."""
    given = {"sample_weight": weights}
    if not isinstance(model, MARTRegressor | MARTClassifier):
        given["groups"] = GROUPS[rows] + 1000 * copy
    y = Y > 1 if isinstance(model, MARTClassifier) else Y
    return clone(model).fit(X[rows], y[rows], **given)


def scores(model):
    return getattr(model, "decision_function", model.predict)(X)


def assert_a_weight_counts_copies(model, other=None, **tolerance):
    weighted = fit(model, TIMES.astype(float))
    copied = fit(model if other is None else other, None, ROWS, COPY)
    assert np.ptp(scores(weighted)) > 0.01
    np.testing.assert_allclose(scores(weighted), scores(copied), **tolerance)
    return weighted, copied


@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize(
    "model",
    [
        LambdaMARTRanker(**NO_DRAWS),
        LambdaMARTRanker(None, **NO_DRAWS, regression_weight=0.0),
        MARTRegressor(**TREES),
        MARTClassifier(**TREES),
    ],
    ids=["lambdas", "pairs", "regressor", "classifier"],
)
def test_a_weight_of_2_is_the_query_twice_for_trees(model, l2):
    model = clone(model).set_params(l2_regularization=l2)
    weighted, copied = assert_a_weight_counts_copies(model, rtol=1e-3, atol=1e-9)
    if isinstance(model, LambdaMARTRanker):
        assert weighted.score(
            X, Y, groups=GROUPS, sample_weight=TIMES
        ) == pytest.approx(
            copied.score(X[ROWS], Y[ROWS], groups=GROUPS[ROWS] + 1000 * COPY)
        )


@pytest.mark.parametrize("kind", [LambdaRankRanker, RankNetRanker])
def test_a_weight_of_2_is_the_query_twice_in_a_batch_of_all_queries(kind):
    # adam takes steps of the same size whatever the gradients are divided by
    adam = kind(**ONE_BATCH, alpha=1.0)
    assert_a_weight_counts_copies(adam, rtol=1e-3, atol=1e-4)
    # sgd divides by the number of queries
    sgd = kind(**ONE_BATCH | SGD | {"hidden_layer_sizes": ()})
    _, first = np.unique(GROUPS, return_index=True)
    rate = SGD["learning_rate_init"] * TIMES[first].mean()
    other = clone(sgd).set_params(learning_rate_init=rate)
    assert_a_weight_counts_copies(sgd, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("factor", [4.0, 2.0**-6])
@pytest.mark.parametrize("kind", [LambdaRankRanker, RankNetRanker])
def test_a_common_factor_of_all_weights_is_one_of_alpha_in_networks(kind, factor):
    adam, sgd = kind(**NETWORK, alpha=0.1), kind(**NETWORK, **SGD)
    params = {"epsilon": 1e-8 * factor}
    for model, scaled in (
        (adam, {"alpha": 0.1 * factor, "solver_params": params}),
        (sgd, {"alpha": 0.1 * factor, "learning_rate_init": 2.0**-10 / factor}),
    ):
        expected = scores(fit(model, 1.0 * TIMES))
        found = scores(fit(clone(model).set_params(**scaled), factor * TIMES))
        assert found.tobytes() == expected.tobytes()


SMALL = LambdaMARTRanker(**TREES)
MEMBERS = [SMALL, MARTRegressor(**TREES)]


@pytest.mark.parametrize(
    "model",
    [
        BaggingRanker(SMALL, n_estimators=2, bootstrap=True, random_state=0),
        BlendedRanker(MEMBERS, cv=2, method="sweep"),
        BlendedRanker(MEMBERS),
        clone(SMALL).set_params(init=MEMBERS[1], early_stopping=True),
    ],
    ids=["bag", "sweep", "equal", "init"],
)
def test_a_common_factor_of_all_weights_changes_no_bit_of_combined_trees(model):
    one, other = (scores(fit(model, factor * TIMES)) for factor in (1.0, 2.0**-6))
    assert one.tobytes() == other.tobytes()


def test_min_samples_leaf_and_least_squares_gains_count_rows():
    stump = MARTRegressor(**TREES | {"min_samples_leaf": len(Y) // 2 + 1})
    assert np.ptp(scores(fit(stump, np.full(len(Y), 2.0)))) == 0
    twice = np.tile(np.arange(len(Y)), 2)
    assert np.ptp(scores(fit(stump, None, twice))) > 0
    model = LambdaMARTRanker(**NO_DRAWS, split_gain="least_squares")
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        assert_a_weight_counts_copies(model, rtol=1e-3, atol=1e-9)
