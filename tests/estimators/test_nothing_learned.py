"""Few rows: they are learned from by default; if nothing is learned, a warning."""

from __future__ import annotations

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, NothingLearnedWarning
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import NDCG
from sklearn_ltr.model_selection import RankerSearch
from tests import files_named

RNG = np.random.default_rng(0)
X, Y, GROUPS = RNG.normal(size=(300, 3)), RNG.integers(0, 3, 300), np.arange(300) // 10
MANY = {"min_samples_leaf": 200}
OF_TREES = (LambdaMARTRanker, MARTClassifier, MARTRegressor)


def make(estimator=LambdaMARTRanker, **options):
    return estimator(**{"n_estimators": 3, "random_state": 0} | options)


def warned(model, X=X, y=Y, **columns):
    """The message of the only warning of a fit, which names the line that calls it."""
    if isinstance(model, MARTClassifier):
        y = y > 0
    if not isinstance(model, (MARTClassifier, MARTRegressor)):
        columns = {"groups": GROUPS[: len(X)]} | columns
    with pytest.warns(NothingLearnedWarning) as caught:
        model.fit(X, y[: len(X)], **columns)
    assert files_named(caught, __file__) == [__file__]
    return str(caught[0].message)


@pytest.mark.parametrize("estimator", OF_TREES)
def test_too_few_rows_for_two_leaves(estimator):
    message = warned(make(estimator, **MANY))
    assert "no tree has a split" in message
    assert "min_samples_leaf=200, and of the 300 rows" in message
    assert "more than 150 in its smaller leaf; give a lower min_samples_leaf" in message


@pytest.mark.parametrize("estimator", OF_TREES)
@pytest.mark.parametrize("value", [1.0, np.nan])
def test_features_that_are_constant_or_missing(estimator, value):
    message = warned(make(estimator), np.full_like(X, value))
    assert "all features (3) are constant in the 300 rows" in message


@pytest.mark.parametrize("estimator", OF_TREES)
def test_features_that_differ_in_a_few_rows(estimator):
    message = warned(make(estimator, min_samples_leaf=20), np.eye(300)[:, :5])
    assert "no split has more than 1 in its smaller leaf" in message
    missing = np.where(np.arange(300) < 7, np.nan, 1.0)[:, None]
    message = warned(make(estimator, min_samples_leaf=20), missing)
    assert "no split has more than 7 in its smaller leaf" in message


@pytest.mark.parametrize("estimator", OF_TREES)
def test_categories_of_few_rows(estimator):
    codes = np.arange(300) % 30
    frame = pd.DataFrame({"shop": pd.Categorical(codes)})
    message = warned(make(estimator, min_samples_leaf=20), frame)
    assert "no split has more than 10 in its smaller leaf" in message
    alone = warned(make(estimator, categorical_features=[0]), np.arange(300.0)[:, None])
    assert "categories that are seen once" in alone


def test_features_of_queries_alone():
    of_queries = np.repeat(RNG.normal(size=(30, 2)), 10, axis=0)
    message = warned(make(), of_queries)
    assert "the same for all documents of a query" in message
    assert "300 rows of the 30 queries" in message
    # on top of scores that differ within queries, too few trees may leave them alone
    make().fit(of_queries, Y, groups=GROUPS, init_score=X[:, 0])


def test_constraints_that_forbid_every_split():
    message = warned(make(monotonic_cst=[-1]), Y[:, None].astype(float))
    assert "no split of the 300 rows" in message and "monotonic_cst" in message


def test_targets_that_are_all_equal():
    message = warned(make(MARTRegressor), y=np.full(300, 4.0))
    assert "y is 4 in all 300 rows" in message


def test_samples_of_no_row():
    message = warned(make(subsample=1e-9))
    assert "subsample=1e-09 draws 3e-07 of the 300 rows" in message


def test_rows_that_are_not_learned_from_do_not_count():
    y = np.where(GROUPS < 25, 1, Y)
    message = warned(make(min_samples_leaf=30), y=y)
    assert "of the 50 rows to learn from" in message


@pytest.mark.parametrize("estimator", OF_TREES)
def test_a_warm_start_warns_unless_one_of_all_trees_has_a_split(estimator):
    model = make(estimator, warm_start=True, **MANY)
    warned(model)
    warned(model.set_params(n_estimators=5))
    y = Y > 0 if estimator is MARTClassifier else Y
    groups = {"groups": GROUPS} if estimator is LambdaMARTRanker else {}
    model.set_params(n_estimators=6, min_samples_leaf=5).fit(X, y, **groups)
    model.set_params(n_estimators=7, **MANY).fit(X, y, **groups)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("bootstrap", [False, True])
def test_a_bag_warns_once(n_jobs, bootstrap):
    bag = BaggingRanker(
        make(**MANY), 4, bootstrap=bootstrap, random_state=0, n_jobs=n_jobs
    )
    assert warned(bag).startswith("4 of 4 members: no tree has a split")


@pytest.mark.parametrize("cv", [None, 3])
def test_a_blend_warns_once(cv):
    members = [make(), make_pipeline(StandardScaler(), make(**MANY)), make(**MANY)]
    method = {"method": "equal"} if cv is None else {"method": "sweep", "cv": cv}
    message = warned(BlendedRanker(members, random_state=0, **method))
    assert message.startswith("2 of 3 members: no tree has a split")


@pytest.mark.parametrize(
    "model",
    [
        CalibratedRanker(make(**MANY), cv=3, n_jobs=2),
        BlendedRanker([make(**MANY)] * 2, method="sweep", cv=3, n_jobs=2),
        RankerSearch(
            make(**MANY),
            param_distributions={"max_leaf_nodes": [3]},
            n_iter=2,
            cv=3,
            n_jobs=2,
            random_state=0,
        ),
        BaggingRanker(make(**MANY), 2, n_jobs=2, random_state=0),
    ],
)
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_what_workers_warn_of_is_said_once_and_where_the_user_is(model, backend):
    with joblib.parallel_config(backend):
        assert "no tree has a split" in warned(clone(model))


def test_a_base_model_is_named_apart():
    ranker = make(init=make().fit(X, Y, groups=GROUPS), **MANY)
    assert "so the trees give all rows the same score" in warned(ranker)
    assert np.ptp(ranker.predict(X)) > 0


def test_early_stopping_may_keep_trees_without_a_split():
    # a tree is grown on one feature, and that of the first is constant
    features = np.c_[np.zeros((300, 7)), Y]
    model = make(n_estimators=40, colsample_bytree=1, n_iter_no_change=40)
    against = {"X_val": features, "y_val": 2 - Y, "groups_val": GROUPS}
    message = warned(model, features, **against)
    assert "early stopping keeps 1 of 40 trees" in message


@pytest.mark.parametrize("estimator", OF_TREES)
@pytest.mark.parametrize("n_rows", [10, 40, 99, 100, 300])
def test_by_default_few_rows_have_small_leaves(estimator, n_rows):
    of_queries = {"groups": GROUPS[:n_rows]} if estimator is LambdaMARTRanker else {}
    y = (Y > 0 if estimator is MARTClassifier else Y)[:n_rows]
    shop = pd.Categorical(RNG.integers(0, 290, n_rows))  # they share bins of 40 rows
    frame = pd.DataFrame({"a": X[:n_rows, 0], "b": X[:n_rows, 1], "shop": shop})
    smallest = {10: 2, 40: 8, 99: 19, 100: 20, 300: 20}[n_rows]
    scores = [
        make(estimator, **options).fit(frame, y, **of_queries).predict(frame).tolist()
        for options in ({}, {"min_samples_leaf": smallest})
    ]
    assert scores[0] == scores[1]


def test_rows_that_are_not_learned_from_make_no_leaf_larger():
    y = np.where(GROUPS < 25, 1, Y)  # 50 rows are learned from
    models = [
        make(**options).fit(X, y, groups=GROUPS)
        for options in ({}, {"min_samples_leaf": 50 // 5})
    ]
    assert models[0].predict(X).tolist() == models[1].predict(X).tolist()


def test_twenty_rows_are_learned_from_by_default():
    y = np.arange(20)
    features = np.c_[RNG.normal(size=20), y]
    model = LambdaMARTRanker(NDCG(10, gain="linear"), random_state=0)
    scores = model.fit(features, y, groups=np.zeros(20)).predict(features)
    assert np.corrcoef(scores, y)[0, 1] > 0.9


@pytest.mark.parametrize("n_queries", [1, 2, 5, 20])
def test_pairs_of_documents_are_learned_from_by_default(n_queries):
    features = np.tile([[1, 0], [0, 1]], (n_queries, 1))
    groups, y = np.repeat(np.arange(n_queries), 2), np.tile([1, 2], n_queries)
    model = LambdaMARTRanker(random_state=0).fit(features, y, groups=groups)
    low, high = model.predict(features[:2])
    assert high > low


def test_ordinary_fits_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in OF_TREES:
            groups = {"groups": GROUPS} if estimator is LambdaMARTRanker else {}
            y = Y > 0 if estimator is MARTClassifier else Y
            make(estimator, n_estimators=1).fit(X, y, **groups)


def test_two_rows_of_which_a_tree_is_given_less():
    found = []
    for seed in range(20):  # in some of these fits a tree is given one row
        ranker = LambdaMARTRanker(n_estimators=1, random_state=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ranker.fit([[1.0], [2.0]], [0, 1], groups=[7, 7])
        found += [str(w.message) for w in caught]
    assert found and all("subsample='auto' draws" in message for message in found)
