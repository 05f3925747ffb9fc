"""Scorers: the mean of a metric over queries, and an error without groups."""

from __future__ import annotations

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import BaseEstimator, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    cross_val_score,
    cross_validate,
    validation_curve,
)

from sklearn_ltr.metrics import MAP, NDCG, map_score, ndcg_score
from sklearn_ltr.scorers import MissingGroupsError, make_ranking_scorer
from tests.oracles.metrics import ndcg, ranked_against_the_model
from tests.strategies import rankings

THE_FIX = r"sklearn\.set_config\(enable_metadata_routing=True\)"


class FirstColumn(BaseEstimator):
    """Scores documents by their first feature, and counts the calls of predict."""

    def fit(self, X, y=None):
        self.n_calls_ = 0
        return self

    def predict(self, X):
        self.n_calls_ += 1
        return np.asarray(X)[:, 0]


def draw(seed=0, n_queries=12):
    """Interleaved queries; grades 0 to 2 depend on the first feature."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(n_queries), 6))
    X = rng.normal(size=(len(groups), 3))
    y = np.clip((X[:, 0] + rng.normal(size=len(groups)) + 1).round(), 0, 2)
    return X, y, groups


X, Y, GROUPS = draw()
MODEL = FirstColumn().fit(X)


# --- the score --------------------------------------------------------------------


@given(ranking=rankings())
def test_the_score_is_the_mean_over_queries(ranking):
    scorer = make_ranking_scorer("ndcg@3")
    score = scorer(MODEL, ranking.scores[:, None], ranking.y, groups=ranking.groups)
    by_hand = [
        ndcg([grades[i] for i in ranked_against_the_model(scores, grades)], 3)
        for scores, grades in ranking.lists()
    ]
    assert score == pytest.approx(np.mean(by_hand), abs=1e-12)


def test_the_default_is_ndcg_at_10_and_sample_weight_weighs_queries():
    scorer, weight = make_ranking_scorer(), 1.0 + GROUPS % 3
    plain = scorer(MODEL, X, Y, groups=GROUPS)
    assert type(plain) is float
    assert plain == ndcg_score(Y, X[:, 0], groups=GROUPS, k=10)
    score = scorer(MODEL, X, Y, groups=GROUPS, sample_weight=weight)
    expected = ndcg_score(Y, X[:, 0], groups=GROUPS, k=10, sample_weight=weight)
    assert score == expected != plain


@pytest.mark.parametrize(
    ("several", "expected"),
    [
        (["ndcg@10", MAP(3)], {"ndcg@10": NDCG(10), "map@3": MAP(3)}),
        ({"a": "map", "b": NDCG(2)}, {"a": MAP(), "b": NDCG(2)}),
        (iter(["map"]), {"map": MAP()}),
    ],
)
def test_a_collection_of_metrics_gives_a_dict_by_one_prediction(several, expected):
    model = FirstColumn().fit(X)
    assert make_ranking_scorer(several)(model, X, Y, groups=GROUPS) == {
        name: metric(Y, X[:, 0], groups=GROUPS) for name, metric in expected.items()
    }
    assert model.n_calls_ == 1


# --- the method whose result documents are ranked by ------------------------------


def test_a_classifier_ranks_by_its_expected_grade():
    grades = np.array([0, 3, 4])[Y.astype(int)]
    model = LinearDiscriminantAnalysis().fit(X, grades)
    expected_grade = sum(g * p for g, p in zip(*(
        (0, 3, 4), model.predict_proba(X).T), strict=True))  # fmt: skip
    by = {
        method: make_ranking_scorer(response_method=method)
        for method in ("predict", "predict_proba")
    }
    score = by["predict_proba"](model, X, grades, groups=GROUPS)
    assert score == ndcg_score(grades, expected_grade, groups=GROUPS, k=10)
    assert score > by["predict"](model, X, grades, groups=GROUPS)


def test_the_decision_function_of_two_classes_ranks_as_their_probability():
    model = LinearDiscriminantAnalysis().fit(X, Y > 0)
    expected = map_score(Y, model.decision_function(X), groups=GROUPS)
    for method in ("decision_function", "predict_proba"):
        scorer = make_ranking_scorer("map", response_method=method)
        assert scorer(model, X, Y > 0, groups=GROUPS) == expected


# --- as a scorer of scikit-learn --------------------------------------------------


def test_requests_can_be_set_and_belong_to_one_scorer():
    scorer = make_ranking_scorer()
    default = {"groups": True, "sample_weight": None, "init_score": True}
    assert scorer.get_metadata_routing().score.requests == default
    assert scorer.set_score_request(groups="qid") is scorer
    scorer.set_score_request(sample_weight=True, init_score="base")
    requests = {"groups": "qid", "sample_weight": True, "init_score": "base"}
    for one in (scorer, clone(scorer), pickle.loads(pickle.dumps(scorer))):
        assert one.get_metadata_routing().score.requests == requests
    copy = clone(scorer).set_score_request(groups=None)
    assert copy.get_metadata_routing().score.requests["groups"] is None
    for name in ("groups", "init_score"):
        with pytest.raises(ValueError, match=name):
            scorer.set_score_request(**{name: 3})
    assert scorer.get_metadata_routing().score.requests == requests
    assert make_ranking_scorer().get_metadata_routing().score.requests == default


def test_weights_raise_an_error_until_they_are_requested_or_declined(routing):
    weight = 1.0 + GROUPS % 3
    arguments = {"cv": GroupKFold(2), "params": {"groups": GROUPS, "w": weight}}
    scorer = make_ranking_scorer().set_score_request(sample_weight="w")
    weighted = cross_val_score(Ridge(), X, Y, scoring=scorer, **arguments)
    plain = cross_val_score(
        Ridge(), X, Y, scoring=make_ranking_scorer(), cv=GroupKFold(2),
        params={"groups": GROUPS},
    )  # fmt: skip
    assert (weighted != plain).all()
    arguments["params"]["sample_weight"] = arguments["params"].pop("w")
    ridge = Ridge().set_fit_request(sample_weight=False)
    with pytest.raises(UnsetMetadataPassedError, match="make_ranking_scorer"):
        cross_val_score(ridge, X, Y, scoring=make_ranking_scorer(), **arguments)


SCORERS = {
    "make_ranking_scorer('ndcg@10')": make_ranking_scorer(),
    "make_ranking_scorer('ndcg@5')": make_ranking_scorer("ndcg@5"),
    "make_ranking_scorer(MAP(k=3))": make_ranking_scorer(MAP(3)),
    "make_ranking_scorer(['ndcg@10'])": make_ranking_scorer(["ndcg@10"]),
    "make_ranking_scorer(['map', 'ndcg@5'], response_method='predict_proba')":
        make_ranking_scorer(["map", "ndcg@5"], response_method="predict_proba"),
    "make_ranking_scorer({'m': MAP(), 'n': 'ndcg@5'})":
        make_ranking_scorer({"m": MAP(), "n": "ndcg@5"}),
    "make_ranking_scorer('map').set_score_request(groups='qid')":
        make_ranking_scorer("map").set_score_request(groups="qid", init_score=True),
}  # fmt: skip


@pytest.mark.parametrize("shown", SCORERS)
def test_its_repr_is_the_call_that_makes_it_and_equal_ones_do_the_same(shown):
    scorer = SCORERS[shown]
    assert repr(scorer) == shown
    assert [other == scorer for other in SCORERS.values()].count(True) == 1
    for same in (clone(scorer), pickle.loads(pickle.dumps(scorer)), eval(shown)):
        assert same == scorer
        assert hash(same) == hash(scorer)
        assert repr(same) == shown
    assert scorer != "ndcg@10"
    search = clone(GridSearchCV(Ridge(), {}, scoring=scorer))
    assert search.scoring == scorer
    assert "scoring=make_ranking_scorer(" in repr(search)


def test_a_name_and_the_metric_it_stands_for_make_equal_scorers():
    assert make_ranking_scorer("ndcg@10") == make_ranking_scorer(NDCG(10))
    several = make_ranking_scorer({"map": MAP(), "err@20": "err@20"})
    assert several == make_ranking_scorer(iter(["map", "err@20"]))


# --- no groups --------------------------------------------------------------------


def search(scoring, given=(), **options):
    found = GridSearchCV(
        Ridge(), {"alpha": [1, 2]}, scoring=scoring, cv=GroupKFold(2), **options
    )
    return found.fit(X, Y, groups=GROUPS, **dict(given))


TOOLS = {  # the scores that each tool reports
    "grid search": lambda scorer, **error: search(scorer, **error).cv_results_[
        "mean_test_score"
    ],
    "several scorers": lambda scorer, **error: search(
        {"a": scorer, "b": "r2"}, refit="b", **error
    ).cv_results_["mean_test_a"],
    "weights": lambda scorer, **error: search(
        {"a": scorer}, {"sample_weight": np.ones(len(Y))}, refit="a", **error
    ).cv_results_["mean_test_a"],
    "cross_validate": lambda scorer, **error: cross_validate(
        Ridge(), X, Y, groups=GROUPS, scoring=scorer, cv=LeaveOneGroupOut(), **error
    )["test_score"],
    "validation_curve": lambda scorer, **error: validation_curve(
        Ridge(), X, Y, param_name="alpha", param_range=[1, 2], scoring=scorer,
        groups=GROUPS, cv=GroupKFold(2), **error,
    )[1],
}  # fmt: skip


@pytest.mark.parametrize("metric", ["ndcg@10", ["ndcg@10", "map"]])
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("error_score", [np.nan, 0.0, "raise"])
def test_with_routing_off_every_tool_warns_or_raises_with_the_remedy(
    tool, error_score, metric
):
    message = f"(?s)routing is off.*{THE_FIX}"
    scorer = make_ranking_scorer(metric)
    if error_score == "raise":
        with pytest.raises(MissingGroupsError, match=message):
            TOOLS[tool](scorer, error_score=error_score)
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One or more of the test scores")
        with pytest.warns(UserWarning, match=message):
            scores = TOOLS[tool](scorer, error_score=error_score)
    assert np.array_equal(scores, np.full_like(scores, error_score), equal_nan=True)


def test_with_routing_on_the_error_says_that_groups_were_not_passed(routing):
    search = GridSearchCV(
        Ridge(), {}, scoring=make_ranking_scorer("map"), cv=KFold(2),
        error_score="raise",
    )  # fmt: skip
    with pytest.raises(MissingGroupsError, match=r"'map'.*not passed.*groups=") as e:
        search.fit(X, Y)
    assert "routing is off" not in str(e.value)


def error_of(call) -> BaseException:
    with pytest.raises(MissingGroupsError) as raised:
        call()
    return raised.value


def test_anywhere_else_it_is_a_value_error(routing):
    scorer = make_ranking_scorer()
    found = search(scorer)
    calls = (
        lambda: scorer(MODEL, X, Y),
        lambda: scorer(MODEL, X, Y, groups=None),
        lambda: partial(scorer, groups=None)(MODEL, X, Y),
        lambda: found.score(X, Y),
        lambda: permutation_importance(MODEL, X, Y, scoring=scorer),
        lambda: cross_val_score(
            Ridge(), X, Y, scoring=scorer, cv=KFold(2), params={}, error_score="raise"
        ),
    )
    assert [isinstance(error_of(call), ValueError) for call in calls] == [True] * 6


class Autologged(BaseEstimator):
    """A search whose `fit` scores afterwards, in the way of mlflow's autologging."""

    def fit(self, X, y, groups=None):
        self.search_ = search(make_ranking_scorer())
        try:
            self.search_.score(X, y)
        except Exception as error:
            self.logged_ = str(error)
        return self

    def predict(self, X):
        return self.search_.predict(X)


def test_a_tool_that_scores_after_a_search_may_catch_it(routing):
    assert "got no groups" in Autologged().fit(X, Y).logged_
    found = cross_validate(
        Autologged().set_fit_request(groups=True), X, Y, params={"groups": GROUPS},
        cv=GroupKFold(2), scoring=make_ranking_scorer(), return_estimator=True,
    )  # fmt: skip
    assert all("got no groups" in model.logged_ for model in found["estimator"])
    assert np.isfinite(found["test_score"]).all()


def test_the_error_survives_a_pickle():
    error = error_of(lambda: make_ranking_scorer()(MODEL, X, Y))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert again.args == error.args


def test_a_partial_scorer_holds_the_groups_for_functions_that_pass_none_on():
    scorer = make_ranking_scorer()
    with pytest.raises(MissingGroupsError, match=r"functools\.partial"):
        permutation_importance(MODEL, X, Y, scoring=scorer)
    found = permutation_importance(
        MODEL, X, Y, scoring=partial(scorer, groups=GROUPS), random_state=0
    )
    assert found.importances_mean[0] > 0.1  # the model returns this feature
    assert found.importances_mean[1:].tolist() == [0, 0]
    with pytest.raises(ValueError, match="groups has 72 values for 36 .*max_samp"):
        permutation_importance(
            MODEL, X, Y, scoring=partial(scorer, groups=GROUPS), max_samples=0.5
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 10}, 'no argument .k.: give metric, with its options: "ndcg@10"'),
        ({"at": 10}, "no argument .at.: give metric, with its options"),
        ({"gain": "linear"}, "no argument .gain.: give metric, with its options"),
        ({"metrics": "map"}, r"did you mean metric\?"),
        ({"needs_proba": True}, "give response_method, .predict_proba."),
        ({"groups": [1]}, "they go to fit of the search"),
    ],
)
def test_arguments_that_making_a_scorer_does_not_take_are_explained(arguments, message):
    with pytest.raises(TypeError, match=message):
        make_ranking_scorer(**arguments)
    with pytest.raises(TypeError, match="takes metric by position; by name, "):
        make_ranking_scorer("ndcg", 10)
