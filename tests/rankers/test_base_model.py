"""LambdaMART on a base model or on initial scores, and RankNet on trees."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.metrics import ndcg_score, rank_scores
from sklearn_ltr.scorers import make_ranking_scorer
from tests.oracles.lambdas import softplus
from tests.rankers.test_lambdamart import (
    DATA,
    NO_DRAWS,
    OF_VAL,
    VALIDATION,
    draw,
    fitted,
    model,
    small,
)

OTHER = draw(12, seed=7)
GROUPS = {"groups": DATA.groups}


def base_model(**options) -> LambdaMARTRanker:
    return fitted(OTHER, n_estimators=3, **options)


def network() -> LambdaRankRanker:
    return LambdaRankRanker(hidden_layer_sizes=(), max_iter=3, random_state=0)


# --- section 7: F_0(x) = Estimator(x) ---------------------------------------------


def test_trees_on_top_of_trees_are_the_trees_of_one_long_fit():
    # without random draws the 4th tree depends on the scores alone
    plain = NO_DRAWS | {"max_bins": 255}
    first = fitted(n_estimators=3, **plain)
    adapted = fitted(n_estimators=4, init=first, **plain)
    whole = fitted(n_estimators=7, **plain)
    # the scores are summed in another order
    np.testing.assert_allclose(
        adapted.predict(DATA.X), whole.predict(DATA.X), rtol=1e-6
    )
    assert len(adapted.ensemble_) == adapted.n_iter_ == 4
    assert adapted.init_ is first


def test_a_base_model_and_its_scores_train_the_same_trees():
    base = base_model()
    by_model = fitted(init=base)
    scores = base.predict(DATA.X)
    by_scores = small().fit(*DATA, **GROUPS, init_score=scores)
    assert model(by_model) == model(by_scores)
    expected = by_model.predict(DATA.X)
    predicted = by_scores.predict(DATA.X, init_score=scores)
    np.testing.assert_array_equal(predicted, expected)
    assert model(by_model) != model(fitted())
    assert by_scores.init_ is None


def test_every_stage_includes_the_base_scores():
    ranker = fitted(init=base_model())
    *_, last = stages = list(ranker.staged_predict(DATA.X))
    assert len(stages) == ranker.n_iter_
    np.testing.assert_array_equal(last, ranker.predict(DATA.X))
    one_tree = fitted(init=ranker.init_, n_estimators=1)
    np.testing.assert_array_equal(stages[0], one_tree.predict(DATA.X))
    apart = stages[0] - ranker.init_.predict(DATA.X)
    assert 1 < len(np.unique(apart.round(9))) <= 5  # values of one tree's leaves
    given = {"init_score": np.arange(len(DATA.y)) / 7}
    on_scores = small().fit(*DATA, **GROUPS, **given)
    *_, last = on_scores.staged_predict(DATA.X, **given)
    np.testing.assert_array_equal(last, on_scores.predict(DATA.X, **given))


def test_recorded_scores_include_the_base_scores():
    base = base_model()
    ranker = small(init=base, verbose=0).fit(*DATA, **GROUPS, **OF_VAL)
    before = base.score(*VALIDATION, groups=VALIDATION.groups)
    assert ranker.validation_score_[0] == before
    assert ranker.train_score_[0] == base.score(*DATA, **GROUPS)
    assert ranker.validation_score_[ranker.n_iter_] == ranker.score(
        *VALIDATION, groups=VALIDATION.groups
    )


def test_init_score_val_holds_the_base_scores_of_the_validation_data():
    base = base_model()
    by_model = small(init=base).fit(*DATA, **GROUPS, **OF_VAL)
    by_scores = small().fit(
        *DATA,
        **GROUPS,
        **OF_VAL,
        init_score=base.predict(DATA.X),
        init_score_val=base.predict(VALIDATION.X),
    )
    assert model(by_scores) == model(by_model)
    np.testing.assert_array_equal(
        by_scores.validation_score_, by_model.validation_score_
    )


def test_held_out_queries_keep_their_base_scores():
    base = base_model()
    ranker = small(init=base, early_stopping=True, validation_fraction=0.3)
    ranker.fit(*DATA, **GROUPS)
    scores = base.predict(DATA.X)
    by_scores = clone(ranker).set_params(init=None)
    by_scores.fit(*DATA, **GROUPS, init_score=scores)
    assert model(by_scores) == model(ranker)
    np.testing.assert_array_equal(by_scores.validation_score_, ranker.validation_score_)


# --- which models may be the base model -------------------------------------------


@pytest.mark.parametrize(
    "init",
    [LinearRegression(), network(), make_pipeline(StandardScaler(), network())],
    ids=["regressor", "ranker", "pipeline"],
)
def test_an_unfitted_base_model_is_fitted_on_the_same_data(init):
    ranker = small(init=init).fit(*DATA, **GROUPS)
    assert not hasattr(init, "n_features_in_")  # a clone was fitted
    with sklearn.config_context(enable_metadata_routing=True):
        given = {} if isinstance(init, LinearRegression) else GROUPS
        by_hand = clone(init).fit(*DATA, **given)
    np.testing.assert_array_equal(ranker.init_.predict(DATA.X), by_hand.predict(DATA.X))
    again = small(init=by_hand).fit(*DATA, **GROUPS)
    assert again.init_ is by_hand
    assert model(again) == model(ranker)


def test_a_frozen_base_model_is_not_refitted_after_a_clone():
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator(base_model())
    ranker = clone(small(init=frozen))
    ranker.fit(*DATA, **GROUPS)
    expected = base_model().predict(DATA.X)
    np.testing.assert_array_equal(ranker.init_.predict(DATA.X), expected)


# --- errors -----------------------------------------------------------------------


class Constant(BaseEstimator):
    """A base model that predicts one value for all rows, which need not be a score."""

    def __init__(self, value) -> None:
        self.value = value

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.resize(self.value, len(X))


N = len(DATA.y)


@pytest.mark.parametrize(
    ("init", "error", "message"),
    [
        ("ndcg", TypeError, "init must be a ranker, a regressor or None, got str"),
        (StandardScaler(), TypeError, "init must be a ranker"),
        (Constant([np.nan]), ValueError, "what init predicts must be finite"),
        (Constant(["a"]), ValueError, "what init predicts must be numeric, got dtype"),
    ],
)
def test_an_invalid_base_model_raises_an_error(init, error, message):
    ranker = small(init=init)
    with pytest.raises(error, match=message):
        ranker.fit(*DATA, **GROUPS)
    assert not [name for name in vars(ranker) if name.endswith("_")]


def test_a_base_model_and_init_score_together_raise_an_error():
    with pytest.raises(ValueError, match="init and init_score were both given"):
        small(init=network()).fit(*DATA, **GROUPS, init_score=np.zeros(N))


SCORES = np.arange(N) / 9
METHODS = {
    "predict": lambda ranker, **given: ranker.predict(DATA.X, **given),
    "staged_predict": lambda ranker, **given: list(
        ranker.staged_predict(DATA.X, **given)
    )[-1],
    "rank": lambda ranker, **given: ranker.rank(DATA.X, **GROUPS, **given),
    "score": lambda ranker, **given: ranker.score(*DATA, **GROUPS, **given),
    "scorer": lambda ranker, **given: make_ranking_scorer("ndcg@10")(
        ranker, *DATA, **GROUPS, **given
    ),
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_needs_init_score_exactly_if_fit_was_given_it(method):
    call = METHODS[method]
    on_scores = small().fit(*DATA, **GROUPS, init_score=SCORES)
    with pytest.raises(ValueError, match="fit was given init_score, but.*no init_sc"):
        call(on_scores)
    with pytest.raises(ValueError, match="fit was given no init_score, but.*an init_"):
        call(fitted(), init_score=SCORES)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_adds_the_trees_to_the_init_score_it_is_given(method):
    on_scores = small().fit(*DATA, **GROUPS, init_score=SCORES)
    trees = on_scores.predict(DATA.X, init_score=np.zeros(N))
    other = np.random.default_rng(0).normal(size=N)  # not those given to fit
    expected = {
        "rank": rank_scores(trees + other, groups=DATA.groups),
        "score": ndcg_score(DATA.y, trees + other, **GROUPS, k=10),
        "scorer": ndcg_score(DATA.y, trees + other, **GROUPS, k=10),
    }.get(method, trees + other)
    found = METHODS[method](on_scores, init_score=other)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_validation_data_needs_init_score_val_exactly_if_fit_is_given_init_score():
    with pytest.raises(ValueError, match="no init_score_val"):
        small().fit(*DATA, **GROUPS, init_score=SCORES, **OF_VAL)
    with pytest.raises(ValueError, match="an init_score_val"):
        small().fit(
            *DATA, **GROUPS, **OF_VAL, init_score_val=np.zeros(len(VALIDATION.y))
        )


# --- section 2: RankNet on boosted trees ------------------------------------------


def mean_pair_cost(scores, sigma, weight=None) -> float:
    """The mean cost of a pair, weighted like its query."""
    total = count = 0.0
    for i in range(N):
        for j in range(N):
            if DATA.groups[i] == DATA.groups[j] and DATA.y[i] > DATA.y[j]:
                w = 1.0 if weight is None else weight[i]
                total += w * softplus(-sigma * (scores[i] - scores[j]))
                count += w
    return total / count


@pytest.mark.parametrize(("sigma", "weighted"), [(1.0, False), (2.5, True)])
def test_the_cost_after_every_tree_is_recorded(sigma, weighted):
    weight = 1.0 + DATA.groups % 3 if weighted else None
    ranker = fitted(weight=weight, metric=None, sigma=sigma)
    stages = [np.zeros(N), *ranker.staged_predict(DATA.X)]
    expected = [mean_pair_cost(s, sigma, weight) for s in stages]
    np.testing.assert_allclose(ranker.loss_curve_, expected, rtol=1e-12)
    assert ranker.loss_curve_[0] == pytest.approx(np.log(2))
    assert (np.diff(ranker.loss_curve_) < 0).all()
    assert not hasattr(ranker, "train_score_")


def test_a_warm_start_continues_the_loss_curve():
    whole = fitted(metric=None, n_estimators=6)
    ranker = fitted(metric=None, n_estimators=2, warm_start=True)
    ranker.set_params(n_estimators=6).fit(*DATA, **GROUPS)
    np.testing.assert_array_equal(ranker.loss_curve_, whole.loss_curve_)


def test_with_a_metric_there_is_no_loss_curve():
    assert not hasattr(fitted(), "loss_curve_")
    ranker = fitted(metric=None)
    ranker.set_params(metric="ndcg").fit(*DATA, **GROUPS)
    assert not hasattr(ranker, "loss_curve_")


def test_verbose_prints_the_cost_without_a_metric(capsys):
    fitted(metric=None, verbose=2, n_estimators=2)
    assert capsys.readouterr().out.splitlines()[0] == "tree 0 of 2: train cost 0.6931"
