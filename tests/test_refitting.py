"""A model is one thing: neither parameters nor a fit that is under way change it."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

DATA = make_ranking(10, n_documents=8, n_features=6, n_informative=3, random_state=0)
X, Y, GROUPS = np.arctan(DATA.data), DATA.target, DATA.groups
TREES = {"n_estimators": 3, "min_samples_leaf": 5, "random_state": 0}
NETWORK = {"max_iter": 3, "hidden_layer_sizes": (4,), "random_state": 0}
ESTIMATORS = (
    LambdaMARTRanker, LambdaRankRanker, RankNetRanker, MARTClassifier, MARTRegressor,
)  # fmt: skip
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def make(estimator, **options):
    is_network = estimator in (LambdaRankRanker, RankNetRanker)
    return estimator(**(NETWORK if is_network else TREES) | options)


def refit(model, columns=slice(None)):
    """Fit to some of the columns."""
    if isinstance(model, MARTClassifier):
        return model.fit(X[:, columns], Y > 1)
    if isinstance(model, MARTRegressor):
        return model.fit(X[:, columns], Y)
    return model.fit(X[:, columns], Y, groups=GROUPS)


def outputs(model, columns=slice(None)):
    """The results of all methods of a fitted model that take X."""
    table = X[:, columns]
    found = {"predict": model.predict(table)}
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(table)
    for name in ("staged_predict", "staged_predict_proba"):
        if hasattr(model, name):
            found[name] = np.array(list(getattr(model, name)(table)))
    if hasattr(model, "predict_pair_proba"):
        found["pairs"] = model.predict_pair_proba(table[:-1], table[1:])
    if hasattr(model, "feature_importances_"):
        found["importances"] = model.feature_importances_
    if hasattr(model, "rank"):
        found["rank"] = model.rank(table, groups=GROUPS)
    return {name: np.asarray(values).tobytes() for name, values in found.items()}


@every_estimator
def test_no_parameter_changes_what_a_fitted_model_returns(estimator):
    model = refit(make(estimator))
    before = outputs(model)
    numbers = {"sigma": 5.0, "learning_rate": 0.9, "n_estimators": 1}
    for name in model.get_params(deep=False):
        if name != "n_jobs":
            model.set_params(**{name: numbers.get(name)})
            assert outputs(model) == before, name


def test_probabilities_are_those_of_the_sigma_of_the_fit():
    model = refit(make(MARTClassifier, sigma=2.0))
    expected = 1 / (1 + np.exp(-2 * 2.0 * model.decision_function(X)))
    model.set_params(sigma=5.0)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
    ranker = refit(make(RankNetRanker, sigma=2.0)).set_params(sigma=5.0)
    scores = ranker.predict(X)
    expected = 1 / (1 + np.exp(-2.0 * (scores[:-1] - scores[1:])))
    found = ranker.predict_pair_proba(X[:-1], X[1:])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_network_that_continues_with_another_sigma_has_that_one():
    for method in ("fit", "partial_fit"):
        ranker = refit(make(RankNetRanker, warm_start=True)).set_params(sigma=3.0)
        getattr(ranker, method)(X, Y, groups=GROUPS)
        scores = ranker.predict(X)
        found = ranker.predict_pair_proba(X[:-1], X[1:])
        expected = 1 / (1 + np.exp(-3.0 * (scores[:-1] - scores[1:])))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@every_estimator
@pytest.mark.parametrize("warm_start", [False, True])
def test_during_a_fit_the_old_model_predicts(estimator, warm_start, monkeypatch):
    model = refit(make(estimator, warm_start=warm_start))
    before, seen = outputs(model), []
    more = {"max_iter": 6} if hasattr(model, "network_") else {"n_estimators": 6}
    model.set_params(verbose=1, **more)
    with monkeypatch.context() as patch:
        patch.setattr("builtins.print", lambda *a, **k: seen.append(outputs(model)))
        refit(model)
    assert len(seen) >= 3
    assert all(found == before for found in seen)
    assert outputs(model) != before


@every_estimator
def test_during_the_first_fit_there_is_no_model(estimator, monkeypatch):
    model, raised = make(estimator, verbose=1), []

    def predict(*args, **kwargs):
        with pytest.raises(NotFittedError) as error:
            model.predict(X)
        raised.append(error)

    with monkeypatch.context() as patch:
        patch.setattr("builtins.print", predict)
        refit(model)
    assert len(raised) >= 3


@pytest.mark.parametrize("estimator", [LambdaRankRanker, RankNetRanker])
def test_during_a_partial_fit_the_old_model_predicts(estimator, monkeypatch):
    model = refit(make(estimator)).set_params(verbose=1)
    before, seen = outputs(model), []
    with monkeypatch.context() as patch:
        patch.setattr("builtins.print", lambda *a, **k: seen.append(outputs(model)))
        model.partial_fit(X, Y, groups=GROUPS)
    assert len(seen) == 1
    assert seen[0] == before != outputs(model)


@every_estimator
def test_a_prediction_in_another_thread_is_by_the_old_or_the_new_model(estimator):
    """They have different columns, so that parts of both would not fit together."""
    model, parts = make(estimator), (slice(0, 6), slice(0, 3))
    expected = [refit(make(estimator), p).predict(X[:, p]) for p in parts]
    refit(model, parts[0])
    found, ended = [], threading.Event()

    def predict():
        while not ended.wait(0.001):  # so that the fits get on, too
            for number, part in enumerate(parts):
                try:
                    found.append((number, model.predict(X[:, part])))
                except ValueError as error:  # the model has the other columns now
                    assert "features" in str(error)

    thread = threading.Thread(target=predict)
    thread.start()
    for number in range(8):
        refit(model, parts[number % 2])
    ended.set()
    thread.join()
    assert {number for number, _ in found} == {0, 1}
    for number, scores in found:
        np.testing.assert_array_equal(scores, expected[number])


@every_estimator
def test_callbacks_know_the_estimator_as_it_was_and_the_model_so_far(estimator):
    pytest.importorskip("sklearn.callback", reason="since scikit-learn 1.9")
    expected = refit(make(estimator)).predict(X).tobytes()

    class Recorder:
        found = []

        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_begin = setup

        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            self.found.append((estimator.predict(X), fitted_estimator.predict(X)))

    model = refit(make(estimator, random_state=1))
    old = model.predict(X).tobytes()
    refit(model.set_params(random_state=0).set_callbacks(Recorder()))
    *steps, (last, _) = Recorder.found
    assert [known.tobytes() for known, _ in steps] == [old] * 3
    assert steps[-1][1].tobytes() == last.tobytes() == expected


@every_estimator
def test_parameters_set_during_a_fit_are_kept(estimator, monkeypatch):
    model = make(estimator, verbose=1)
    with monkeypatch.context() as patch:
        patch.setattr(
            "builtins.print", lambda *a, **k: model.set_params(random_state=7)
        )
        refit(model)
    assert model.random_state == 7
    same = make(estimator)
    assert refit(same).predict(X).tobytes() == model.predict(X).tobytes()
