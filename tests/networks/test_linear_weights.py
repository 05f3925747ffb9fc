"""`coef_` and `intercept_` of networks without hidden layers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from tests.networks import Linear

DATA = make_ranking(24, n_features=5, n_informative=2, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups


def linear(ranker=LambdaRankRanker, **options):
    options = {"hidden_layer_sizes": (), "max_iter": 3, "random_state": 0} | options
    return ranker(**options).fit(X, Y, groups=GROUPS)


def assert_scores_are_linear(model):
    assert model.coef_.shape == (5,)
    assert model.coef_.dtype == np.float64
    assert np.abs(model.coef_).min() > 0
    assert model.intercept_ == 0.0
    scores = X @ model.coef_ + model.intercept_
    # the network computes in float32
    np.testing.assert_allclose(model.predict(X), scores, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ranker", [LambdaRankRanker, RankNetRanker])
def test_scores_are_x_times_coef_after_every_fit(ranker):
    model = linear(ranker, warm_start=True)
    seen = []
    for method in ("fit", "partial_fit"):
        assert_scores_are_linear(model)
        seen.append(model.coef_)
        getattr(model, method)(X, Y, groups=GROUPS)
        assert (model.coef_ != seen[-1]).all()
    # the network decides, not the parameter; and its coef_ is a copy
    model.set_params(hidden_layer_sizes=(7,))
    model.coef_[:] = 0
    assert_scores_are_linear(model)


@pytest.mark.parametrize("name", ["coef_", "intercept_"])
def test_before_fit_and_for_other_networks_there_are_none(name):
    model = LambdaRankRanker(hidden_layer_sizes=())
    assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        getattr(model, name)
    for network in ({"hidden_layer_sizes": (2,)}, {"network": Linear(5)}):
        model = linear(**network)
        assert not hasattr(model, name)
        message = rf"{name} exists .* hidden_layer_sizes"
        with pytest.raises(AttributeError, match=message):
            getattr(model, name)
    assert not hasattr(LambdaMARTRanker(), name)


def test_features_are_selected_by_their_weights():
    model = linear(max_iter=20)
    weakest = int(np.abs(model.coef_).argmin())
    selector = RFE(model, n_features_to_select=4).fit(X, Y, groups=GROUPS)
    assert np.flatnonzero(~selector.support_).tolist() == [weakest]
