"""A learning rate of each tree, by a callable of its index."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

DATA = make_ranking(n_queries=30, n_documents=10, random_state=0)
TREES = {"n_estimators": 6, "min_samples_leaf": 5, "random_state": 0}


def decay(tree_index):
    return 0.3 * 0.5**tree_index


def fitted(estimator=LambdaMARTRanker, **options):
    model = estimator(**TREES | options)
    if estimator is LambdaMARTRanker:
        return model.fit(DATA.data, DATA.target, groups=DATA.groups)
    target = DATA.target > 1 if estimator is MARTClassifier else DATA.target
    return model.fit(DATA.data, target)


@pytest.mark.parametrize("estimator", [LambdaMARTRanker, MARTRegressor, MARTClassifier])
def test_a_callable_that_is_constant_gives_the_model_of_the_number(estimator):
    one = fitted(estimator, learning_rate=0.2)
    other = fitted(estimator, learning_rate=lambda tree_index: 0.2)
    for name in ("feature", "threshold", "value"):
        found, expected = getattr(other.ensemble_, name), getattr(one.ensemble_, name)
        assert found.tobytes() == expected.tobytes()


def test_each_tree_has_the_rate_of_its_index():
    # the gradient of the least-squares tree m + 1 is what the steps before left
    rates = [0.5, 0.25, 2.0, 0.125]
    options = {"max_leaf_nodes": 4, "min_samples_leaf": 1}
    X = np.repeat(np.arange(4.0), 3).reshape(-1, 1)
    y = X[:, 0] ** 2
    model = MARTRegressor(n_estimators=4, learning_rate=rates.__getitem__, **options)
    left = y - y.mean()
    for rate, stage in zip(rates, model.fit(X, y).staged_predict(X), strict=True):
        left *= 1 - rate
        np.testing.assert_allclose(y - stage, left, atol=1e-12)


def test_a_leaf_value_is_the_step_times_the_rate_to_the_last_bit():
    whole = fitted(learning_rate=1.0, n_estimators=1).ensemble_.value
    tenth = fitted(learning_rate=lambda tree_index: 0.1, n_estimators=1).ensemble_.value
    assert tenth.tobytes() == (0.1 * whole).tobytes()


def test_the_indices_are_those_of_the_model_in_a_warm_start_too():
    asked = []

    def rate(tree_index):
        asked.append(tree_index)
        return decay(tree_index)

    whole = fitted(learning_rate=rate)
    assert asked == list(range(6))
    assert all(type(index) is int for index in asked)
    asked.clear()
    model = LambdaMARTRanker(**TREES, learning_rate=rate, warm_start=True)
    for n in (2, 6):
        model.set_params(n_estimators=n)
        model.fit(DATA.data, DATA.target, groups=DATA.groups)
    assert asked == list(range(6))
    assert model.ensemble_.value.tobytes() == whole.ensemble_.value.tobytes()


def test_trees_that_early_stopping_drops_are_asked_again_by_a_warm_start():
    asked = []

    def rate(tree_index):
        asked.append(tree_index)
        return 2.0

    options = {"n_estimators": 30, "n_iter_no_change": 2, "early_stopping": True}
    model = LambdaMARTRanker(
        **TREES | options, learning_rate=rate, warm_start=True
    ).fit(DATA.data, DATA.target, groups=DATA.groups)
    n_kept = model.n_iter_
    assert n_kept < len(asked) < 30
    asked.clear()
    model.fit(DATA.data, DATA.target, groups=DATA.groups)
    assert asked[0] == n_kept


def test_clones_pickles_searches_and_ensembles_keep_the_function():
    model = fitted(learning_rate=decay)
    scores = model.predict(DATA.data)
    assert clone(model).learning_rate is decay
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(DATA.data).tobytes() == scores.tobytes()
    assert again.learning_rate is decay
    search = GridSearchCV(
        LambdaMARTRanker(**TREES), {"learning_rate": [0.1, decay]}, cv=GroupKFold(2)
    )
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        search.fit(DATA.data, DATA.target, groups=DATA.groups)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    bagged = BaggingRanker(LambdaMARTRanker(**TREES, learning_rate=decay), 2)
    bagged.fit(DATA.data, DATA.target, groups=DATA.groups)
    np.testing.assert_allclose(
        bagged.merge().predict(DATA.data), bagged.predict(DATA.data), rtol=1e-12
    )


@pytest.mark.parametrize(("value", "error"), [(np.nan, ValueError), ("0.1", TypeError)])
def test_a_value_that_is_no_rate_names_the_tree(value, error):
    model = fitted(n_estimators=1)
    before = vars(model).copy()
    model.set_params(
        n_estimators=6,
        learning_rate=lambda tree_index: value if tree_index == 3 else 0.1,
    )
    with pytest.raises(error) as raised:
        model.fit(DATA.data, DATA.target, groups=DATA.groups)
    assert raised.type is error
    message = r"learning_rate(3) must be a number in [1e-50, 1e+50], got "
    assert str(raised.value) == f"{message}{value!r}"
    assert model.ensemble_ is before["ensemble_"]
