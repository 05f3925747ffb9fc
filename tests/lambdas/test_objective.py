"""Objectives of one's own: functions of scores, grades and offsets."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.metrics import MAP, NDCG

DATA = make_ranking(n_queries=40, n_documents=12, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
HAS_PAIRS = np.array([np.ptp(Y[GROUPS == query]) > 0 for query in GROUPS])
TREES = {"n_estimators": 8, "min_samples_leaf": 5, "random_state": 0}
NETWORK = {"max_iter": 4, "hidden_layer_sizes": (5,), "random_state": 0}
#: Burges's lambdas, of the scores as they are
PLAIN = {
    "normalize_lambdas": False,
    "regression_weight": 0.0,
    "truncation_level": None,
}
both_rankers = pytest.mark.parametrize("ranker", [LambdaMARTRanker, LambdaRankRanker])


def queries(offsets):
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def lambdarank(scores, grades, offsets):
    return compute_lambdas(scores, grades, "ndcg@10", groups=queries(offsets))


def listnet(scores, grades, offsets):
    """Cross entropy of two softmax distributions, query by query."""
    gradient, hessian = np.empty((2, len(scores)))
    for start, stop in zip(offsets[:-1], offsets[1:], strict=True):
        own = slice(start, stop)
        p = np.exp(scores[own] - scores[own].max())
        p /= p.sum()
        target = 2.0 ** grades[own] - 1
        gradient[own] = p - target / target.sum()
        hessian[own] = p * (1 - p)
    return gradient, hessian


def fitted(objective, ranker=LambdaMARTRanker, weight=None, **options):
    small = TREES if ranker is LambdaMARTRanker else NETWORK
    model = ranker(objective=objective, **small | options)
    return model.fit(X, Y, groups=GROUPS, sample_weight=weight)


def scores_of(*arguments, **options):
    return fitted(*arguments, **options).predict(X)


def chance(metric):
    """The mean of a metric over all orders of the documents."""
    return metric(ties="average")(Y, np.zeros(len(Y)), groups=GROUPS)


# --- what is learned ----------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"subsample": 0.5, "init": None}])
def test_the_lambdas_of_the_report_as_a_function_give_the_same_model(options):
    weights = 1.0 + GROUPS % 2  # powers of two: the order of the factors is no matter
    built_in = scores_of("lambdarank", weight=weights, **PLAIN | options)
    own = scores_of(lambdarank, weight=weights, **PLAIN | options)
    assert own.tobytes() == built_in.tobytes()
    # they are not used with a function
    assert scores_of(lambdarank, weight=weights, **options).tobytes() == own.tobytes()


def test_lambdarank_as_a_function_gives_the_same_network():
    options = {"truncation_level": None}
    built_in = scores_of("lambdarank", LambdaRankRanker, **options)
    own = scores_of(lambdarank, LambdaRankRanker, **options)
    np.testing.assert_array_equal(own, built_in)
    # weights of queries are multiplied by us
    weights = 1.0 + GROUPS % 2
    built_in = scores_of("lambdarank", LambdaRankRanker, weights, **options)
    own = scores_of(lambdarank, LambdaRankRanker, weights, **options)
    np.testing.assert_array_equal(own, built_in)


def test_a_gradient_alone_is_followed_with_a_hessian_of_ones():
    # then a leaf's value is minus the mean gradient, times the learning rate
    model = fitted(
        lambda s, y, offsets: (-y, np.ones(len(y))),
        n_estimators=1,
        learning_rate=0.5,
        max_leaf_nodes=2,
        grow_policy="best_first",
        subsample=1,
    )
    scores = model.predict(X)
    for value in np.unique(scores):
        mean = Y[(scores == value) & HAS_PAIRS].mean()
        assert value == pytest.approx(0.5 * mean, rel=1e-12)


# --- what the function gets ---------------------------------------------------------


def recorded(calls):
    def objective(scores, grades, offsets):
        calls.append((scores, grades, offsets))
        return listnet(scores, grades, offsets)

    return objective


def test_whole_queries_of_two_grades_are_given_before_each_tree():
    calls = []
    ranker = LambdaMARTRanker(objective=recorded(calls), **TREES, subsample=0.5)
    ranker.fit(X, Y, groups=GROUPS)
    assert not HAS_PAIRS.all()
    assert len(calls) == TREES["n_estimators"]
    counts = np.unique(GROUPS[HAS_PAIRS], return_counts=True)[1]
    for scores, given, offsets in calls:
        assert scores.dtype == given.dtype == np.float64
        assert offsets.dtype == np.int64
        np.testing.assert_array_equal(np.diff(offsets), counts)
        assert len(scores) == len(given) == offsets[-1]
    first, *_, last = calls
    assert not first[0].any()
    assert last[0].any()
    # the last scores are those of all trees but the last, of the same documents
    *_, before, _ = ranker.staged_predict(X)
    found = sorted(zip(last[1], last[0], strict=True))
    expected = sorted(zip(Y[HAS_PAIRS], before[HAS_PAIRS], strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def changing_what_it_gets(scores, grades, offsets):
    result = listnet(scores, grades, offsets)
    scores[:], grades[:], offsets[:] = 7.0, -1.0, 0
    return result


BUFFER = np.empty((2, len(Y)))


def returning_one_array_for_all_calls(scores, grades, offsets):
    result = BUFFER[:, : len(scores)]
    result[:] = listnet(scores, grades, offsets)
    return result


def returning_lists(scores, grades, offsets):
    return [values.tolist() for values in listnet(scores, grades, offsets)]


def returning_float32(scores, grades, offsets):
    return tuple(v.astype(np.float32) for v in listnet(scores, grades, offsets))


@both_rankers
@pytest.mark.parametrize(
    ("objective", "rounding"),
    [
        (changing_what_it_gets, 0),
        (returning_one_array_for_all_calls, 0),
        (returning_lists, 0),
        (returning_float32, 0.05),
    ],
)
def test_functions_of_other_habits_train_the_same_ranker(objective, rounding, ranker):
    expected = scores_of(listnet, ranker)
    np.testing.assert_allclose(scores_of(objective, ranker), expected, 0, rounding)


# --- the rest of a ranker -----------------------------------------------------------


def test_no_bit_depends_on_the_order_of_rows_or_the_threads():
    whole = scores_of(listnet, n_jobs=1)
    assert scores_of(listnet, n_jobs=2).tobytes() == whole.tobytes()
    order = np.random.default_rng(0).permutation(len(Y))
    ranker = LambdaMARTRanker(objective=listnet, **TREES)
    ranker.fit(X[order], Y[order], groups=GROUPS[order])
    assert ranker.predict(X).tobytes() == whole.tobytes()


def test_a_warm_start_grows_the_trees_of_one_long_fit():
    given = {"init_score": np.arctan(X[:, 0])}
    whole = LambdaMARTRanker(objective=listnet, **TREES)
    whole.fit(X, Y, groups=GROUPS, **given)
    ranker = LambdaMARTRanker(objective=listnet, **TREES, warm_start=True)
    for n in (3, 8):
        ranker.set_params(n_estimators=n).fit(X, Y, groups=GROUPS, **given)
    found, expected = ranker.ensemble_.value, whole.ensemble_.value
    assert found.tobytes() == expected.tobytes()


@both_rankers
def test_early_stopping_follows_the_metric(ranker):
    model = fitted(listnet, ranker, early_stopping=True, metric="map")
    assert len(model.validation_score_) > 0
    assert model.score(X, Y, groups=GROUPS) > chance(MAP)


@both_rankers
def test_clones_pickles_pipelines_searches_and_bags_work(ranker):
    model = fitted(listnet, ranker)
    assert clone(model).objective is listnet
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    small = TREES if ranker is LambdaMARTRanker else NETWORK
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ranker(**small)),
        {f"{ranker.__name__.lower()}__objective": ["lambdarank", listnet]},
        cv=GroupKFold(2),
    )
    with config_context(enable_metadata_routing=True):
        search.fit(X, Y, groups=GROUPS)
    assert (search.cv_results_["mean_test_score"] > chance(partial(NDCG, 10))).all()
    bag = BaggingRanker(ranker(objective=listnet, **small), 2, random_state=0)
    bag.fit(X, Y, groups=GROUPS)
    assert bag.score(X, Y, groups=GROUPS) > chance(partial(NDCG, 10))
