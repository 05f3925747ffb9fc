"""Weights: copies, a common factor, means, and who is given them.

Weights of 0 are in `test_zero_weights.py`, what weights must not be is in
`bad_inputs/test_columns.py`; formulas with weights are tested where they are computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    NothingLearnedWarning,
    RankNetRanker,
)
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.model_selection import RankerSearch
from tests.strategies import rows

DATA = make_ranking(40, n_features=6, n_informative=3, random_state=0)
X, Y, GROUPS = np.round(DATA.data, 1), DATA.target, DATA.groups  # a bin per value
X[:, 5] = X[:, 5].argsort().argsort() % 4  # codes of categories
PLACES = np.arange(len(Y)) - np.searchsorted(GROUPS, GROUPS)
WEIGHTS = 1.0 + GROUPS % 3

TREES: dict[str, Any] = {
    "n_estimators": 4, "max_leaf_nodes": 8, "min_samples_leaf": 1,
    "random_state": 0,
}  # fmt: skip
# symmetric trees count rows, too
NO_DRAWS = TREES | {"subsample": 1.0, "grow_policy": "best_first"}
NETWORK: dict[str, Any] = {"hidden_layer_sizes": (8,), "max_iter": 5, "random_state": 0}
ONE_BATCH = NETWORK | {"batch_size": 10**6}
SGD = {"solver": "sgd", "alpha": 0.1, "learning_rate_init": 2.0**-10}
MART = MARTRegressor | MARTClassifier


def fit(model, weights, rows=slice(None), copy=0):
    """Fit a clone to some rows; copies of a query are queries of their own."""
    columns: dict[str, Any] = {"sample_weight": weights}
    y = Y > 1 if isinstance(model, MARTClassifier) else Y
    if not isinstance(model, MART):
        columns["groups"] = GROUPS[rows] + 1000 * copy
    if model.get_params().get("position_bias"):
        y, columns["positions"] = Y > 1, PLACES[rows]
    return clone(model).fit(X[rows], y[rows], **columns)


def scores(model):
    return getattr(model, "decision_function", model.predict)(X)


# --- a weight of 2 is the query, or the row of MART, twice ------------------------


def assert_a_weight_counts_copies(model, other=None, **tolerance):
    column = np.arange(len(Y)) if isinstance(model, MART) else GROUPS
    times = 1 + column % 3
    rows = np.concatenate([np.flatnonzero(times > k) for k in range(3)])
    copy = np.repeat(np.arange(3), [np.count_nonzero(times > k) for k in range(3)])
    weighted = fit(model, times.astype(float))
    copied = fit(model if other is None else other, None, rows, copy)
    assert np.ptp(scores(weighted)) > 0.01
    np.testing.assert_allclose(scores(weighted), scores(copied), **tolerance)
    if hasattr(weighted, "position_bias_"):
        bias = [model.position_bias_ for model in (weighted, copied)]
        np.testing.assert_allclose(*bias, rtol=1e-5)
    if isinstance(model, LambdaMARTRanker):
        assert weighted.score(
            X, Y, groups=GROUPS, sample_weight=times
        ) == pytest.approx(
            copied.score(X[rows], Y[rows], groups=GROUPS[rows] + 1000 * copy)
        )


@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize(
    "model",
    [
        LambdaMARTRanker(**NO_DRAWS),
        LambdaMARTRanker(None, **NO_DRAWS, regression_weight=0.0),
        LambdaMARTRanker(**NO_DRAWS, position_bias="additive"),
        LambdaMARTRanker(**NO_DRAWS, position_bias="pairwise"),
        MARTRegressor(**TREES),
        MARTClassifier(**TREES),
    ],
    ids=["lambdas", "pairs", "additive bias", "pairwise bias", "regressor", "classes"],
)
def test_a_weight_of_2_is_the_query_twice_for_trees(model, l2):
    model = clone(model).set_params(l2_regularization=l2)
    assert_a_weight_counts_copies(model, rtol=1e-3, atol=1e-9)


@settings(max_examples=settings().max_examples // 2)
@given(rows)
def test_every_query_twice_with_half_its_weight_changes_no_score(d):
    found = []
    for copies in (1, 2):
        ranker = LambdaMARTRanker(
            n_estimators=4, max_leaf_nodes=6, min_samples_leaf=2 * copies,
            learning_rate=0.5, subsample=1.0, grow_policy="best_first", random_state=0,
        )  # fmt: skip
        # without base scores documents of a query have equal gradients, and splits
        # equal gains, between which the rounding of the gradients decides
        start = d.columns["init_score"]
        ranker.fit(
            np.tile(d.X, (copies, 1)),
            np.tile(d.y, copies),
            groups=np.concatenate([d.groups + 1000 * copy for copy in range(copies)]),
            sample_weight=np.tile(d.columns["sample_weight"] / copies, copies),
            init_score=np.tile(start, copies),
        )
        found.append(ranker.predict(d.X, init_score=start)[d.trained_on])
    np.testing.assert_allclose(*found, rtol=1e-9)


@pytest.mark.parametrize("kind", [LambdaRankRanker, RankNetRanker])
def test_a_weight_of_2_is_the_query_twice_in_a_batch_of_all_queries(kind):
    # adam takes steps of the same size whatever the gradients are divided by
    adam = kind(**ONE_BATCH, alpha=1.0)
    assert_a_weight_counts_copies(adam, rtol=1e-3, atol=1e-4)
    # sgd divides by the number of queries
    sgd = kind(**ONE_BATCH | SGD | {"hidden_layer_sizes": ()})
    _, first = np.unique(GROUPS, return_index=True)
    rate = SGD["learning_rate_init"] * WEIGHTS[first].mean()
    other = clone(sgd).set_params(learning_rate_init=rate)
    assert_a_weight_counts_copies(sgd, other, rtol=1e-3, atol=1e-3)


def test_min_samples_leaf_and_least_squares_gains_count_rows():
    stump = MARTRegressor(**TREES | {"min_samples_leaf": len(Y) // 2 + 1})
    with pytest.warns(NothingLearnedWarning):
        unsplit = fit(stump, np.full(len(Y), 2.0))
    assert np.ptp(scores(unsplit)) == 0
    twice = np.tile(np.arange(len(Y)), 2)
    assert np.ptp(scores(fit(stump, None, twice))) > 0
    model = LambdaMARTRanker(**NO_DRAWS, split_gain="least_squares")
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        assert_a_weight_counts_copies(model, rtol=1e-3, atol=1e-9)


# --- a common factor of all weights -----------------------------------------------


@pytest.mark.parametrize("exponent", [-160, 160])
@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize("kind", [LambdaMARTRanker, MARTClassifier, MARTRegressor])
def test_a_common_factor_of_all_weights_is_one_of_l2_regularization(kind, exponent, l2):
    model, found = kind(**TREES, categorical_features=[5]), []
    for factor in (1.0, 2.0**exponent):
        model.set_params(l2_regularization=factor * l2)
        found.append(scores(fit(model, factor * WEIGHTS)).tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("factor", [4.0, 2.0**-6])
@pytest.mark.parametrize("kind", [LambdaRankRanker, RankNetRanker])
def test_a_common_factor_of_all_weights_is_one_of_alpha_in_networks(kind, factor):
    adam, sgd = kind(**NETWORK, alpha=0.1), kind(**NETWORK, **SGD)
    params = {"epsilon": 1e-8 * factor}
    for model, scaled in (
        (adam, {"alpha": 0.1 * factor, "solver_params": params}),
        (sgd, {"alpha": 0.1 * factor, "learning_rate_init": 2.0**-10 / factor}),
    ):
        expected = scores(fit(model, WEIGHTS))
        found = scores(fit(clone(model).set_params(**scaled), factor * WEIGHTS))
        assert found.tobytes() == expected.tobytes()


SMALL = LambdaMARTRanker(**TREES)


def searched(part):
    space = {"random_state": [1]} if "random_state" in part.get_params() else {}
    return RankerSearch(
        part, param_distributions=space, time=None, n_iter=2, cv=2, blend=False
    )


MEMBERS = [SMALL, MARTRegressor(**TREES)]


@pytest.mark.parametrize("method", ["additive", "pairwise"])
def test_a_common_factor_of_all_weights_changes_no_bit_of_a_position_bias(method):
    model = clone(SMALL).set_params(position_bias=method)
    one, other = (fit(model, factor * WEIGHTS) for factor in (1.0, 8.0))
    np.testing.assert_array_equal(one.position_bias_, other.position_bias_)
    np.testing.assert_array_equal(scores(one), scores(other))


# --- the recorded means -----------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        LambdaMARTRanker(**TREES), LambdaRankRanker(**NETWORK | {"max_iter": 1}),
        RankNetRanker(**NETWORK | {"max_iter": 1}), MARTClassifier(**TREES),
        MARTRegressor(**TREES),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_weights_count_in_every_mean(model):
    data = {"X": X, "y": Y > 1 if isinstance(model, MARTClassifier) else Y}
    if not isinstance(model, MART):
        data["groups"] = GROUPS
    validation = {f"{name}_val": values for name, values in data.items()}
    weights = 1.0 + GROUPS % 2  # of validation data

    def fitted(**validation):
        return clone(model).fit(**data, sample_weight=WEIGHTS, **validation)

    model = fitted(**validation, sample_weight_val=weights)
    found = model.validation_score_
    if isinstance(model, MART):  # a weight of k is the row k times
        copies = np.repeat(np.arange(len(Y)), weights.astype(int))
        copied = {name: values[copies] for name, values in validation.items()}
        expected = fitted(**copied).validation_score_
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        expected = model.score(**data, sample_weight=weights)
        assert expected != model.score(**data)
        # of trees the first value is of none
        at = model.n_iter_ if hasattr(model, "ensemble_") else model.n_iter_ - 1
        assert found[at] == pytest.approx(expected, rel=1e-14)
    if hasattr(model, "ensemble_"):
        same = fitted(**validation, sample_weight_val=WEIGHTS)
        np.testing.assert_allclose(
            same.train_score_, same.validation_score_, rtol=1e-14
        )


def test_each_validation_set_has_weights_of_its_own():
    validation = {"X_val": (X, X), "y_val": (Y, Y), "groups_val": (GROUPS, GROUPS)}
    ranker = clone(SMALL).fit(
        X, Y, groups=GROUPS, **validation, sample_weight_val=(None, WEIGHTS)
    )
    for number, weights in enumerate((None, WEIGHTS)):
        expected = ranker.score(X, Y, groups=GROUPS, sample_weight=weights)
        curve = ranker.evals_result_[f"validation_{number}"]["ndcg@10"]
        assert curve[ranker.n_iter_] == pytest.approx(expected, rel=1e-12)


# --- models that are parts of models ----------------------------------------------

#: By name: a model with a part of its own, and the part that it has fitted
WHOLES = {
    "bag": (
        lambda part: BaggingRanker(part, n_estimators=2, random_state=0),
        lambda whole: whole.estimators_[0],
    ),
    "blend": (
        lambda part: BlendedRanker([part, Ridge()]),
        lambda whole: whole.rankers_[0],
    ),
    "calibrated": (
        lambda part: CalibratedRanker(part, cv=2),
        lambda whole: whole.ranker_,
    ),
    "searched": (searched, lambda whole: whole.best_estimator_),
    "init": (
        lambda part: LambdaMARTRanker(**TREES, init=part),
        lambda whole: whole.init_,
    ),
}
PARTS = [LinearRegression(), MARTRegressor(**TREES), RankNetRanker(**NETWORK)]
every_whole = pytest.mark.parametrize("whole", WHOLES)
every_part = pytest.mark.parametrize("part", PARTS, ids=lambda p: type(p).__name__)


def fit_alone(part, X=X, **weights):
    """Fit a clone of a part to all rows, by hand."""
    groups = {"groups": GROUPS} if isinstance(part, RankNetRanker) else {}
    return clone(part).fit(X, Y, **groups, **weights)


@pytest.mark.parametrize("routing", [False, True])
@every_part
@every_whole
def test_weights_are_passed_to_a_part_unless_it_declines_them(whole, part, routing):
    make, part_of = WHOLES[whole]
    with sklearn.config_context(enable_metadata_routing=True):
        declining = clone(part).set_fit_request(sample_weight=False)
    predictions = []
    for asked, weights in ((part, {"sample_weight": WEIGHTS}), (declining, {})):
        with sklearn.config_context(enable_metadata_routing=routing):
            model = make(asked).fit(X, Y, groups=GROUPS, sample_weight=WEIGHTS)
        found = part_of(model)
        predictions.append(found.predict(X))
        expected = fit_alone(found, **weights).predict(X)
        np.testing.assert_array_equal(predictions[-1], expected)
    assert not np.array_equal(*predictions)
    assert "sample_weight" not in vars(part).get("_metadata_request", {})


@every_part
@every_whole
def test_a_pipeline_must_say_which_steps_request_weights(whole, part):
    make, part_of = WHOLES[whole]
    columns = {"groups": GROUPS, "sample_weight": WEIGHTS}
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        steps = {
            requests: clone(part).set_fit_request(sample_weight=requests)
            for requests in (True, False)
        }
    for silent, pair in (
        ("StandardScaler", (StandardScaler(), steps[True])),
        (type(part).__name__, (scaler, part)),
    ):
        message = f"sample_weight.* for {silent}.fit"
        with pytest.raises(UnsetMetadataPassedError, match=message):
            make(make_pipeline(*pair)).fit(X, Y, **columns)
    scaled = StandardScaler().fit_transform(X)
    for requests, weights in ((True, {"sample_weight": WEIGHTS}), (False, {})):
        model = make(make_pipeline(scaler, steps[requests])).fit(X, Y, **columns)
        found = part_of(model)
        np.testing.assert_array_equal(
            found.predict(X), fit_alone(found[-1], scaled, **weights).predict(scaled)
        )
