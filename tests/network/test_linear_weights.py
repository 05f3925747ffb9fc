"""`coef_` and `intercept_` of networks without hidden layers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from tests.network import Linear

DATA = make_ranking(24, n_features=5, n_informative=2, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
WEIGHTS = ["coef_", "intercept_"]

both = pytest.mark.parametrize("ranker", [LambdaRankRanker, RankNetRanker])


def linear(ranker=LambdaRankRanker, **options):
    options = {"hidden_layer_sizes": (), "max_iter": 3, "random_state": 0} | options
    return ranker(**options).fit(X, Y, groups=GROUPS)


def assert_scores_are_linear(model):
    assert model.coef_.shape == (5,)
    assert model.coef_.dtype == np.float64
    assert model.intercept_ == 0.0
    scores = X @ model.coef_ + model.intercept_
    # the network computes in float32
    np.testing.assert_allclose(model.predict(X), scores, rtol=1e-5, atol=1e-6)


@both
def test_scores_are_x_times_coef(ranker):
    model = linear(ranker)
    assert np.abs(model.coef_).min() > 0
    assert_scores_are_linear(model)


@both
def test_they_follow_warm_starts_and_partial_fits(ranker):
    model = linear(ranker, warm_start=True)
    before = model.coef_
    model.fit(X, Y, groups=GROUPS)
    again = model.coef_
    assert (again != before).all()
    assert_scores_are_linear(model)
    model.partial_fit(X, Y, groups=GROUPS)
    assert (model.coef_ != again).all()
    assert_scores_are_linear(model)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


def test_a_change_of_coef_changes_no_model():
    model = linear()
    before = model.predict(X)
    model.coef_[:] = 0
    np.testing.assert_array_equal(model.predict(X), before)


@both
def test_before_fit_there_are_none(ranker):
    model = ranker(hidden_layer_sizes=())
    for name in WEIGHTS:
        assert not hasattr(model, name)
        with pytest.raises(NotFittedError):
            getattr(model, name)


@pytest.mark.parametrize(
    "network", [{"hidden_layer_sizes": (2,)}, {"network": Linear(5)}]
)
@pytest.mark.parametrize("name", WEIGHTS)
def test_other_networks_have_none(network, name):
    model = linear(**network)
    assert not hasattr(model, name)
    with pytest.raises(AttributeError, match=rf"{name} exists .* hidden_layer_sizes"):
        getattr(model, name)
    assert not hasattr(LambdaMARTRanker(), name)


def test_the_network_decides_not_the_parameter():
    model = linear().set_params(hidden_layer_sizes=(7,))
    assert_scores_are_linear(model)


def test_features_are_selected_by_their_weights():
    model = linear(max_iter=20)
    weakest = int(np.abs(model.coef_).argmin())
    selector = RFE(model, n_features_to_select=4).fit(X, Y, groups=GROUPS)
    assert np.flatnonzero(~selector.support_).tolist() == [weakest]
    selector = SelectFromModel(model, prefit=True, max_features=1, threshold=-np.inf)
    best = int(np.abs(model.coef_).argmax())
    assert np.flatnonzero(selector.get_support()).tolist() == [best]
