"""What the tools around rankers cannot use: splits, scorers, inspection, exports."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.export import (
    to_elasticsearch_ltr,
    to_elasticsearch_ml,
    to_onnx,
    to_ranklib,
    to_solr,
    to_treelite,
)
from sklearn_ltr.inspection import (
    ScoreRegressor,
    local_optimality,
    shap_values,
    split_counts,
    trees_to_dataframe,
    weight_curves,
)
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.model_selection import (
    GroupTimeSeriesSplit,
    LetorFolds,
    RankerSearch,
    UserKFold,
    compare_rankers,
    group_train_test_split,
)
from sklearn_ltr.scorers import make_ranking_scorer
from tests.bad_inputs import (
    GROUPS,
    HUGE,
    INF,
    NAN,
    TREES,
    N,
    X,
    Y,
    fit,
    fitted,
    refused,
)

QUERIES = {"groups": GROUPS}
Row = tuple[dict[str, Any], type[Exception], str]

# --- splits and scorers ---------------------------------------------------------------


def split(*arrays: Any, **given: Any) -> Any:
    return group_train_test_split(X, *arrays, **QUERIES | given)


class Told(BaseEstimator):
    """Answers what it is told to."""

    def __init__(self, answer: Any = None, classes: Any = (0, 1)) -> None:
        self.answer = answer
        self.classes_ = classes

    def fit(self, X: Any, y: Any = None) -> Told:
        return self

    def predict(self, X: Any) -> Any:
        return self.answer

    predict_proba = predict


def score_of(answer: Any, classes: Any = (0, 1), method: str = "predict") -> Any:
    scorer = make_ranking_scorer(response_method=method)
    return scorer(Told(answer, classes), X, Y, **QUERIES)


def score_trees(y: Any, **given: Any) -> Any:
    return make_ranking_scorer("map")(fitted(LambdaMARTRanker), X, y, **given)


def time_folds(order: Any, groups: Any = GROUPS, X: Any = X, **options: Any) -> Any:
    return list(GroupTimeSeriesSplit(**options).split(X, Y, groups, order))


def user_folds(users: Any, groups: Any = GROUPS, X: Any = X, **options: Any) -> Any:
    return list(UserKFold(**options).split(X, Y, groups, users))


PARTS, HALVES = GROUPS % 3, np.full((N, 2), 0.5)
NO_METRIC, NO_ROWS = "metric must be a name such as", "which has no rows to"
of_proba = partial(score_of, method="predict_proba")
CALLS: list[tuple[Any, type[Exception], str]] = [
    *((partial(split, test_size=v), ValueError, "test_size")
      for v in (0, 1.0, 1.5, NAN, "half")),
    *((partial(split, **{name: v}), ValueError, "there are 6")
      for name, v in (("test_size", 7), ("train_size", 6))),
    (partial(split, test_size=0.5, train_size=0.7), ValueError, "sum of test_size and"),
    *((partial(split, shuffle=v), ValueError, f"shuffle must be True or False, got {v}")
      for v in (None, 1)),
    (partial(split, users=GROUPS, order=GROUPS), ValueError, "users and order were bo"),
    *((partial(call, users=users), error, message)
      for call in (user_folds, split)
      for users, error, message in (
          (np.arange(N), ValueError, "query 0 of groups has the users "),
          (GROUPS[1:], ValueError, "users has 29 values for 30 rows"),
          ([NAN, *PARTS[1:]], ValueError, "users has a missing value at row 0 (nan)"),
          ("user", ValueError, "users must hold one value per row, got 'user'"),
          ([[1]] * N, TypeError, "users must hold numbers, text, dates"),
      )),
    (partial(split, users=GROUPS // 3, test_size=3), ValueError,
     "(The sizes count whole users, and there are 2.)"),
    (partial(user_folds, None), ValueError, "users is None: give one value per row"),
    (partial(user_folds, GROUPS, groups=None), ValueError, "groups is None: give one"),
    (partial(user_folds, GROUPS, X=X[1:]), ValueError, "X has 29 rows, but groups has"),
    (partial(user_folds, GROUPS, n_splits=7), ValueError,
     "number of groups: 6. (The sizes count whole users, and there are 6.)"),
    (partial(UserKFold, 1), ValueError, "n_splits must be an integer"),
    (partial(UserKFold, 2.5), TypeError, "n_splits must be an integer"),
    (partial(UserKFold, shuffle="yes"), ValueError, "shuffle must be "),
    (partial(UserKFold, random_state=0), ValueError, "since shuffle is False"),
    (partial(split, shuffle=False, stratify=Y), ValueError,
     "stratify draws queries at random, but shuffle is False"),
    (partial(split, stratify=Y[1:]), ValueError, "stratify "),
    (partial(split, stratify=-Y - 1), ValueError, "stratify must hold finite"),
    (partial(split, groups=np.zeros(N)), ValueError, "train set will be empty"),
    (partial(split, groups=[]), ValueError, "groups is empty"),
    (partial(split, groups=GROUPS[1:]), ValueError, "array number 0 (from 0), a"),
    *((partial(split, random_state="seed", **how), ValueError, "seed")
      for how in ({}, {"stratify": Y})),
    *((partial(split, array), ValueError, f"array number 1 (from 0){message}")
      for array, message in (
          (X[1:], ", a ndarray, has 29 rows for the 30 values of groups"),
          (X[1:].tolist(), ", a list, has 29 rows for the 30 values of groups"),
          (None, ", a NoneType, has 0 rows for the 30 values"),
          (np.array(3), ", a ndarray, has 0 rows for the 30 values"),
          ((x for x in X), ", a generator, has 0 rows for the 30 values"),
          (dict(enumerate(Y)), f" is a dict, {NO_ROWS}"),
          ("a" * N, f" is a str, {NO_ROWS}"))),
    (lambda: LetorFolds(None), ValueError, "parts is None: give one value per row"),
    (lambda: LetorFolds([]), ValueError, "parts is empty"),
    (lambda: LetorFolds([1, 2, 1]), ValueError,
     "parts must have at least three different values"),
    (lambda: LetorFolds(PARTS, score_on="train"), ValueError,
     'score_on must be "validation" or "test", got \'train\''),
    (lambda: list(LetorFolds(PARTS).split(X[1:])), ValueError,
     "X has 29 rows, but parts has 30 values"),
    (lambda: cross_val_score(
        GridSearchCV(Ridge(), {}, cv=LetorFolds(PARTS)), X, Y, cv=2,
        error_score="raise"), ValueError, "cannot be nested"),
    (lambda: list(LetorFolds(PARTS).split(X, Y, GROUPS // 2)), ValueError,
     "put all rows of"),
    *((partial(GroupTimeSeriesSplit, **{name: v}), error, f"{name} must be an integer")
      for name, least in (
          ("n_splits", 2), ("max_train_size", 1), ("test_size", 1), ("gap", 0))
      for v, error in ((least - 1, ValueError), (2.5, TypeError), ("2", TypeError))),
    (partial(time_folds, None, None), ValueError, "groups is None: give one value per"),
    (partial(time_folds, None, X=X[1:]), ValueError, "X has 29 rows, but groups has "),
    (partial(time_folds, None, n_splits=6), ValueError,
     "number of samples=6. (The sizes count whole queries, and there are 6.)"),
    (partial(time_folds, None, n_splits=2, test_size=2, gap=2), ValueError,
     "(The sizes count whole queries, and there are 6.)"),
    *((partial(call, order=order), error, message)
      for call in (time_folds, split)
      for order, error, message in (
          (PARTS[1:], ValueError, "order has 29 values for 30 rows"),
          ({"a": 1}, ValueError, "order is a dict, which has no order of rows: give "
           "one date per row"),
          ("date", ValueError, "order must hold one date per row, got 'date'"),
          ([NAN, *PARTS[1:]], ValueError,
           "order has a missing value at row 0 (nan): every row must have a value"),
          (["2026-01-01"] * N, TypeError, "order must hold dates or numbers, but has "
           "text such as '2026-01-01', which may sort differently: convert it"),
          ([1, "a"] * (N // 2), TypeError, "order must hold dates or numbers, but has "
           "text such as 'a'"),
          ([(1, "a")] * N, TypeError, "order must hold dates or numbers, but has "
           "text such as 'a'"),
          (pd.MultiIndex.from_product([[2026], ["9", "10"], range(N // 2)]), TypeError,
           "order must hold dates or numbers, but has text such as '"),
          *((order, TypeError, "order holds values of several kinds, such as ")
            for days in ([dt.date(2026, 1, 2), dt.datetime(2026, 1, 1)],
                         [dt.date(2026, 1, 2), 1], [dt.timedelta(1), 1.5],
                         [np.datetime64("2026-01-02"), dt.datetime(2026, 1, 1)],
                         [(2026, 1), (2026,)], [(2026, 1), (2026, dt.time(1))])
            for order in (days * (N // 2), [(1, day) for day in days * (N // 2)])),
          ([{1}] * N, TypeError, "row 0 holds a set"),
          (np.arange(N), ValueError, "query 0 of groups has the dates 0 and "),
          (np.array(["2026-01-01", "2026-01-02"] * (N // 2), "M8[D]"), ValueError,
           "has the dates 2026-01-01 and 2026-01-02 in order: give one"))),
    (partial(split, order=PARTS, stratify=Y), ValueError, "give one of the two"),
    # scorers
    (lambda: make_ranking_scorer("auc"), ValueError, "unknown metric 'auc'"),
    *((partial(make_ranking_scorer, metric), TypeError, NO_METRIC)
      for metric in (None, NDCG, ["map", None])),
    *((partial(make_ranking_scorer, metric), ValueError, "metric is empty")
      for metric in ([], {})),
    (lambda: make_ranking_scorer(["map", MAP()]), ValueError, "two of one name"),
    *((partial(make_ranking_scorer, response_method=method), ValueError,
       "response_method must be") for method in ("transform", None)),
    (partial(of_proba, HALVES, ["a", "b"]), ValueError,
     "Told.classes_, the grades, must be numeric"),
    *((partial(of_proba, answer, list(range(n))), ValueError,
       f"one probability for each of the {n} classes, got shape {shape}")
      for answer, n, shape in (
          (HALVES, 3, "(30, 2)"), (HALVES[:, 0], 2, "(30,)"), (None, 2, "()"))),
    (partial(of_proba, HALVES, [0, NAN]), ValueError,
     "Told.predict_proba(X) must be finite to be ranked"),
    (partial(score_of, [NAN, *range(N - 1)]), ValueError,
     "Told.predict(X) must be finite to be ranked, but"),
    (partial(score_of, X), ValueError, "Told.predict(X) must hold one number for each"),
    (partial(score_of, None), ValueError, "Told.predict(X) is None"),
    (partial(score_of, 3.0), ValueError, "Told.predict(X) must hold one number"),
    (partial(score_of, list(range(N - 1))), ValueError,
     "groups has 30 values for 29 rows"),
    (partial(score_trees, None, **QUERIES), ValueError, "y is None"),
    (partial(score_trees, Y, init_score=[1], **QUERIES), ValueError, "init_score"),
    (lambda: make_ranking_scorer()(RankNetRanker(), X, Y, **QUERIES), NotFittedError,
     "not fitted"),
    (lambda: make_ranking_scorer()(object(), X, Y, **QUERIES), AttributeError,
     "predict"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), CALLS)
def test_what_splits_and_scorers_cannot_use_is_refused(call, error, message):
    refused(call, error, message)


# --- comparisons ----------------------------------------------------------------------

TWO = [X[:, 0], X[:, 1]]
COMPARED: list[Row] = [
    *(({"rankers": v}, TypeError, "rankers must be a dict of names to fitted rankers o")
      for v in (None, "two", X[:, :2], 3)),
    *(({"rankers": v}, ValueError, "at least two rankers to compare, got ")
      for v in ([], TWO[:1], {"a": TWO[0]})),
    ({"rankers": {1: TWO[0], 2: TWO[1]}}, TypeError, "must have text as names, got 1"),
    ({"rankers": [TWO[0], LambdaMARTRanker]}, TypeError,
     "rankers[1] is a class: give a fitted LambdaMARTRanker"),
    ({"rankers": [TWO[0], LambdaMARTRanker()], "X": X}, NotFittedError, "not fitted"),
    ({"rankers": [TWO[0], Told()]}, ValueError, "X is None, but rankers[1] is a ran"),
    ({"rankers": {"a": TWO[0], "b": Told(X)}, "X": X}, ValueError,
     "rankers['b'] must hold one number for each"),
    ({"rankers": {"a": TWO[0], "b": [NAN, *range(N - 1)]}}, ValueError,
     "rankers['b'] must be finite to be ranked"),
    ({"rankers": [TWO[0], TWO[1][1:]]}, ValueError,
     "rankers[1] must hold one number for each of the 30 rows"),
    *(({"difference": v}, ValueError, "difference must be a number in")
      for v in (0, -0.01, NAN, INF, HUGE)),
    *(({"difference": v}, TypeError, "difference must be a number in")
      for v in (None, "small", True)),
    *(({"confidence_level": v}, ValueError, "confidence_level must be a number in (0")
      for v in (0, 1, 95, NAN)),
    ({"confidence_level": "95%"}, TypeError, "confidence_level must be a number in (0"),
    ({"n_resamples": 99}, ValueError, "n_resamples must be an integer >= 100, got 99"),
    ({"n_resamples": 999.0}, TypeError, "n_resamples must be an integer >= 100"),
    ({"random_state": "seed"}, ValueError, "seed"),
    ({"metric": "auc"}, ValueError, "unknown metric 'auc'"),
    ({"metric": 3}, TypeError, NO_METRIC),
    ({"groups": np.zeros(N)}, ValueError,
     "a comparison needs at least two queries that count for ndcg@10, got 1"),
    ({"sample_weight": (GROUPS == 0) * 1.0}, ValueError, "two queries that count for"),
    ({"y": np.zeros(N), "metric": NDCG(no_relevant="skip")}, ValueError,
     "ndcg has no query to compare"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "error", "message"), COMPARED)
def test_what_cannot_be_compared_is_refused(given, error, message):
    arguments = {"rankers": TWO, "X": None, "y": Y} | QUERIES | given
    refused(lambda: compare_rankers(**arguments), error, message)


# --- inspection -----------------------------------------------------------------------


def of_trees(call: Any) -> Any:
    """Return a function of a model, which takes X, too."""
    return lambda model, X: call(model)


@pytest.mark.parametrize(
    ("call", "model", "error", "message"),
    [
        (shap_values, lambda: fitted(RankNetRanker), TypeError,
         "RankNetRanker is not made of boosted trees"),
        (shap_values, LambdaMARTRanker, NotFittedError, "not fitted"),
        (shap_values, lambda: LambdaMARTRanker, TypeError, "is a class, not an instan"),
        *((of_trees(call), *row)
          for call in (split_counts, trees_to_dataframe)
          for row in (
              (lambda: fitted(RankNetRanker), TypeError, "RankNetRanker is not made of "
               "boosted trees of this package: permutation_importance of sklearn"),
              (LambdaMARTRanker, NotFittedError, "not fitted"),
              (lambda: LambdaMARTRanker, TypeError, "is a class, not an instan"))),
        *((partial(call, y=Y, **QUERIES), *row)
          for call in (local_optimality, weight_curves)
          for row in (
              (lambda: fitted(LambdaMARTRanker), TypeError,
               "not a network, so it has no weights"),
              (lambda: Ridge().fit(X, Y), TypeError, "is a Ridge, not a network"),
              (RankNetRanker, NotFittedError, "not fitted"))),
    ],
)  # fmt: skip
def test_models_that_have_nothing_to_inspect_are_refused(call, model, error, message):
    refused(lambda: call(model(), X=X), error, message)


NUMBER = "must be the number of a row of X, got "
DIRECTIONS, CHANCE = "n_directions must be an integer >= 1 or None, got", "in (0, 1)"
MOVES, WEIGHTS = "moves must be a list of finite numbers", "weights must be a list of i"
OF_NETWORK: dict[str, tuple[Any, list[Row]]] = {
    "local_optimality": (local_optimality, [
        *(({"n_directions": v}, ValueError, DIRECTIONS) for v in (0, -1)),
        *(({"n_directions": v}, TypeError, DIRECTIONS) for v in (2.0, "3", True, NAN)),
        *(({name: v}, ValueError, f"{name} must be a number {CHANCE}, got ")
          for name in ("delta", "p0") for v in (0, 1, NAN, HUGE)),
        *(({name: None}, TypeError, f"{name} must be a number {CHANCE}, got ")
          for name in ("delta", "p0")),
        *(({"step_size": v}, ValueError, "step_size must be a number")
          for v in (0, NAN, HUGE)),
        ({"step_size": "1"}, TypeError, "step_size must be a number"),
        ({"metric": "auc"}, ValueError, "unknown metric 'auc'"),
        ({"metric": 3}, TypeError, NO_METRIC),
    ]),
    "weight_curves": (weight_curves, [
        ({"moves": []}, ValueError, f"{MOVES}, at least one"),
        *(({"moves": v}, ValueError, MOVES) for v in ([0, NAN], [INF])),
        ({"moves": ["1"]}, ValueError, "moves must be numeric"),
        *(({"moves": v}, ValueError, f"moves must hold one number per row, got {v!r}")
          for v in ("1", 1)),
        ({"moves": np.eye(2)}, ValueError, "moves must hold one number for each of"),
        ({"moves": [0, None]}, ValueError, "moves must be numeric, but point 1 has No"),
        ({"weights": []}, ValueError, "weights is empty"),
        *(({"weights": v}, ValueError, WEIGHTS) for v in ("x0", 0, {0: 1}, {0})),
        *(({"weights": [v]}, ValueError, f"weights holds {v!r}: give indices")
          for v in (99, -1, True, 0.0, None, "bm25")),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_NETWORK)
def test_options_of_inspection_are_read(name):
    call, rows = OF_NETWORK[name]
    linear = fit(RankNetRanker, hidden_layer_sizes=())
    for given, error, message in rows:
        refused(lambda g=given: call(linear, X, Y, **QUERIES, **g), error, message)
    curves = weight_curves(
        linear, X, Y, weights=iter([0, 1]), moves=[0, 1], **QUERIES
    )  # fmt: skip
    assert curves.names == ["x0", "x1"]


@pytest.mark.parametrize("name", ["document", "other"])
def test_rows_of_shap_values_are_counted(name):
    explained = shap_values(fitted(LambdaMARTRanker), X)
    for error, values, message in (
        (ValueError, (N, -N - 1, HUGE), f"{name} is row {{}}, but X has {N} rows"),
        (TypeError, (1.0, "0", None, True), f"{name} {NUMBER}"),
    ):
        for value in values:
            given = {"document": 0, "other": 0, name: value}
            call = lambda g=given: explained.difference(**g)  # noqa: E731
            refused(call, error, message.format(value))


def test_partial_dependence_is_of_a_fitted_score_regressor():
    ranker = fitted(LambdaMARTRanker)
    depend = partial(partial_dependence, features=[0])
    message = "must be a fitted regressor or classifier"
    refused(lambda: depend(ranker, X=X), ValueError, message)
    assert depend(ScoreRegressor(ranker), X=X)
    unfitted = ScoreRegressor(LambdaMARTRanker())
    refused(lambda: depend(unfitted, X=X), NotFittedError, "is not fitted yet")
    regressor = ScoreRegressor(ranker)
    refused(lambda: depend(regressor, X=X[:, 1:]), ValueError, "features, but ")


# --- blends and bags ------------------------------------------------------------------

NO_LIST, NO_MODEL = "rankers must be a list of rankers, got", "must be an estimator"
TWO_RANKERS = "rankers must hold at least two rankers, got"
ENSEMBLES: list[tuple[type, dict[str, Any], type[Exception], str]] = [
    (BlendedRanker, {"rankers": "two"}, TypeError, f"{NO_LIST} 'two'"),
    (BlendedRanker, {"rankers": None, "cv": "prefit"}, ValueError,
     "cv='prefit' needs fitted rankers"),
    (BlendedRanker, {"rankers": []}, ValueError, f"{TWO_RANKERS} 0"),
    (BlendedRanker, {"rankers": [Ridge()]}, ValueError, f"{TWO_RANKERS} 1"),
    *((BlendedRanker, {"rankers": v}, TypeError, f"rankers[1] {NO_MODEL}")
      for v in ([Ridge(), Ridge], [("a", Ridge()), ("b", 3)], [Ridge(), None])),
    *((BlendedRanker, {"rankers": [(name, Ridge()), other]}, ValueError,
       f"no '__'; got '{name}'")
      for name, other in (("a", ("a", Ridge())), ("cv", Ridge()), ("a__b", Ridge()))),
    (BlendedRanker, {"metric": NDCG(ties="average")}, ValueError,
     "metric must break ties pessimistically"),
    (BlendedRanker, {"cv": 1}, ValueError, "cv must be at least 2 folds and no more"),
    (BlendedRanker, {"cv": 7}, ValueError, "got 7 folds for 6 queries"),
    (BlendedRanker, {"cv": "none"}, ValueError,
     "cv must be a number of folds, a splitter, splits or"),
    (BlendedRanker, {"rankers": [Ridge(), Ridge()], "cv": "prefit"}, NotFittedError,
     "rankers[0], a Ridge, is not fitted, as cv='prefit' says it is"),
    (CalibratedRanker, {"cv": 7}, ValueError, "got 7 folds for 6 queries"),
    (CalibratedRanker, {"cv": "none"}, ValueError,
     "cv must be a number of folds, a splitter, splits or"),
    (CalibratedRanker, {"ranker": None, "cv": "prefit"}, ValueError,
     "cv='prefit' needs a fitted ranker"),
    (CalibratedRanker, {"ranker": Ridge(), "cv": "prefit"}, NotFittedError,
     "ranker, a Ridge, is not fitted, as cv='prefit' says it is"),
    *((CalibratedRanker, {"ranker": v}, TypeError,
       "ranker must be an estimator with fit and predict")
      for v in (Ridge, "ridge", 3)),
    (RankerSearch, {"n_iter": None}, ValueError,
     "time and n_iter are both None, so the search would not end"),
    (RankerSearch, {"time": 0}, ValueError, "time must be a number > 0"),
    (RankerSearch, {"n_iter": 0}, ValueError, "n_iter must be an integer >= 1"),
    (RankerSearch, {"cv": 7}, ValueError, "got 7 folds for 6 queries"),
    (RankerSearch, {"cv": "prefit"}, ValueError,
     "cv='prefit' is for fitted models"),
    (RankerSearch, {"cv": "none"}, ValueError,
     "cv must be a number of folds, a splitter, splits or"),
    *((RankerSearch, {"param_distributions": v}, TypeError,
       "param_distributions is no search space") for v in (3, {"max_leaf_nodes": 3})),
    (RankerSearch, {"param_distributions": {"max_leaf_nodes": []}}, ValueError,
     "param_distributions is no search space"),
    (RankerSearch, {"param_distributions": dict.fromkeys(
        ("sigma", "alpha", "beta_1", "beta_2", "tol"), range(10**4))}, ValueError,
     "param_distributions has more than 2^63 settings: give shorter lists, or distr"),
    (RankerSearch, {"param_distributions": {"num_leaves": [3]}}, ValueError,
     "param_distributions has 'num_leaves', but the ranker has no such parameter"),
    (RankerSearch, {"ranker": Ridge(), "param_distributions": None}, ValueError,
     "and ranker is a Ridge: give its parameters and their values"),
    *((RankerSearch, {"ranker": v}, TypeError,
       "ranker must be an estimator with fit and predict")
      for v in (Ridge, "ridge", 3)),
    *((BaggingRanker, {"estimator": v}, TypeError,
       "estimator must be an estimator with fit and predict")
      for v in (Ridge, "ridge", 3)),
    (BaggingRanker, {"max_samples": 7}, ValueError,
     "max_samples=7 is more than the 6 queries"),
    (BaggingRanker, {"oob_score": True, "bootstrap": False}, ValueError,
     "oob_score=True needs queries that a member is not"),
]  # fmt: skip


@pytest.mark.parametrize(("estimator", "parameters", "error", "message"), ENSEMBLES)
def test_ensembles_that_cannot_be_made_are_refused(
    estimator, parameters, error, message
):
    refused(lambda: fit(estimator, **parameters), error, message)


def test_more_grades_than_maps_are_refused():
    many = {"X": np.ones((1001, 1)), "y": np.arange(1001), "groups": np.arange(1001)}
    refused(lambda: fit(CalibratedRanker, many), ValueError, "y has 1,001 different")
    model = fitted(CalibratedRanker)
    for bad, error, message in (
        (-1, ValueError, "grade must be a number >= 0, got -1"),
        (INF, ValueError, "grade must be a number >= 0, got inf"),
        ("1", TypeError, "grade must be a number >= 0, got '1'"),
    ):
        call = lambda g=bad: model.predict_relevance(X, grade=g)  # noqa: E731
        refused(call, error, message)


def test_bags_of_other_models_cannot_be_merged():
    call = lambda: fit(BaggingRanker, {"X": X[1:]}, bootstrap=True)  # noqa: E731
    refused(call, ValueError, f"X has {N - 1} rows and y {N} values")
    bag = fit(BaggingRanker, estimator=Ridge())
    refused(bag.merge, TypeError, "estimators_[0] is a Ridge")
    on_base = LambdaMARTRanker(**TREES, init=Ridge())
    bag = fit(BaggingRanker, estimator=on_base)
    refused(bag.merge, ValueError, "estimators_[0] adds trees to a base model (init)")


# --- exports --------------------------------------------------------------------------

NAMES = [f"Column_{j}" for j in range(X.shape[1])]
PLUGIN = partial(to_elasticsearch_ltr, name="m", feature_set="f")
ELASTIC = partial(to_elasticsearch_ml, name="m", features={n: {} for n in NAMES})
SOLR = partial(to_solr, name="m")


def on_codes(codes: list[float]) -> MARTRegressor:
    """Return a regressor of one column of categories that are numbers."""
    x = np.resize(np.array(codes), (40, 1))
    model = MARTRegressor(n_estimators=2, categorical_features=[0], min_samples_leaf=1)
    return model.fit(x, x[:, 0])


def trees() -> Any:
    return fitted(LambdaMARTRanker)


TEXT = "must be text and not empty, got"
EXPORTS: list[tuple[Any, type[Exception], str]] = [
    (lambda: to_onnx(on_codes([-1, 0, 1])), ValueError, "make the column text"),
    (lambda: to_onnx(on_codes([1, 2, 2**30])), ValueError, "make the column text"),
    (lambda: to_treelite(on_codes([0.5, 1, 2])), ValueError, "make the column text"),
    (lambda: to_ranklib(trees(), missing="nan"), ValueError,
     "missing must be one of ('error', 'zero'), got 'nan'"),
    (lambda: SOLR(trees(), missing="nan"), ValueError,
     "missing must be one of ('branch', 'zero'), got 'nan'"),
    (lambda: to_solr(trees(), name=""), ValueError, f"name {TEXT} ''"),
    (lambda: PLUGIN(trees(), features=NAMES), TypeError,
     "must be a dict from the names of the columns"),
    (lambda: PLUGIN(trees(), features={"title": {}, NAMES[0]: {}}), ValueError,
     "1 are no such columns, ['title']"),
    (lambda: SOLR(trees(), features=dict.fromkeys(NAMES, "price")), TypeError,
     "features['Column_0'] must be a dict, got str"),
    (lambda: ELASTIC(trees(), features={}), ValueError, "are missing, ['Column_0'"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), EXPORTS)
def test_what_an_export_cannot_use_is_refused(call, error, message):
    refused(call, error, message)
