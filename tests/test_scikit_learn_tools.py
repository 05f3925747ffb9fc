"""The three rankers in the tools of scikit-learn, compared with the same by hand.

By hand means: no metadata routing, the steps of a Pipeline one after the other, the
groups given to `fit` and to a metric function.  Numbers must be equal, not close.

What a tool does is the same for all rankers; a ranker differs by its own `fit`, and a
Pipeline by its routing.  So most tests run for LambdaMART alone and for one network in
a Pipeline, the most important ones for all.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import StackingRegressor, VotingRegressor
from sklearn.exceptions import FitFailedWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    HalvingGridSearchCV,
    KFold,
    LeaveOneGroupOut,
    ParameterGrid,
    PredefinedSplit,
    RandomizedSearchCV,
    StratifiedGroupKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import estimator_html_repr

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    MissingGroupsWarning,
    RankNetRanker,
)
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.metrics import NDCG, map_score, mrr_score, ndcg_score
from sklearn_ltr.scorers import MissingGroupsError, make_ranking_scorer

RELEASE = tuple(map(int, sklearn.__version__.split(".")[:2]))
#: up to 1.8 by a protocol that polars has dropped, with a warning from 1.40 on
POLARS_IS_KNOWN = RELEASE >= (1, 9) or (
    tuple(map(int, pl.__version__.split(".")[:2])) < (1, 40)
)
SCORER = make_ranking_scorer("ndcg@5")
QUICK = {
    LambdaMARTRanker: {"n_estimators": 3, "max_leaf_nodes": 4, "min_samples_leaf": 2},
    LambdaRankRanker: {"hidden_layer_sizes": (4,), "max_iter": 3},
    RankNetRanker: {"hidden_layer_sizes": (4,), "max_iter": 3},
}
GRID = {
    LambdaMARTRanker: {
        "sigma": [0.5, 1.0], "learning_rate": [0.1, 0.5], "max_leaf_nodes": [2, 5],
    },
    LambdaRankRanker: {
        "sigma": [0.5, 2.0], "learning_rate_init": [0.001, 0.1],
        "hidden_layer_sizes": [(), (3,)],
    },
    RankNetRanker: {
        "sigma": [0.5, 2.0], "learning_rate_init": [0.001, 0.1],
        "hidden_layer_sizes": [(), (3,)],
    },
}  # fmt: skip

every_ranker = pytest.mark.parametrize("ranker", list(QUICK))
every_ranker_and_form = pytest.mark.parametrize(
    ("ranker", "form"),
    [
        (LambdaMARTRanker, "bare"),
        (LambdaRankRanker, "bare"),
        (RankNetRanker, "in a pipeline"),
    ],
)
trees_and_network = pytest.mark.parametrize(
    ("ranker", "form"),
    [(LambdaMARTRanker, "bare"), (LambdaRankRanker, "in a pipeline")],
)


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


def draw(n_queries=24, seed=0) -> Data:
    """Small interleaved queries; features of unit scale."""
    made = make_ranking(
        n_queries, n_documents=6, n_features=5, n_informative=4, n_query_features=1,
        grade_shares=(0.5, 0.3, 0.2), random_state=seed,
    )  # fmt: skip
    rows = np.random.default_rng(seed).permutation(len(made.target))
    return Data(made.data[rows], made.target[rows], made.groups[rows])


X, Y, GROUPS = DATA = draw()
HELD_OUT = draw(8, seed=1)
#: a few parts of whole queries each
PARTS = GROUPS % 3


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def quick(ranker, **options):
    return ranker(**(QUICK[ranker] | {"random_state": 0} | options))


def model_of(ranker, form, **options):
    last = quick(ranker, **options)
    return last if form == "bare" else make_pipeline(StandardScaler(), last)


def grid_of(ranker, form, names=None):
    """The grid of a ranker, or part of it, with the parameter names of the model."""
    prefix = "" if form == "bare" else f"{ranker.__name__.lower()}__"
    return {
        prefix + name: values
        for name, values in GRID[ranker].items()
        if names is None or name in names
    }


def steps_of(model):
    return [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]


def rows_of(table, rows):
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def by_hand(model, train, test, table=X, **params):
    """Scores of the test rows by a model that has learned from the training rows."""
    *transformers, ranker = steps_of(clone(model).set_params(**params))
    learned, scored = rows_of(table, train), rows_of(table, test)
    with sklearn.config_context(enable_metadata_routing=False):
        for transformer in transformers:
            learned = transformer.fit_transform(learned, Y[train])
            scored = transformer.transform(scored)
        ranker.fit(learned, Y[train], groups=GROUPS[train])
        return ranker.predict(scored)


def ndcg_by_hand(model, train, test, **params):
    scores = by_hand(model, train, test, **params)
    return ndcg_score(Y[test], scores, groups=GROUPS[test], k=5)


def folds(cv=None):
    return list((cv or GroupKFold(3)).split(X, Y, GROUPS))


# --- searches ---------------------------------------------------------------------


@every_ranker_and_form
def test_grid_search(ranker, form, routing):
    model, grid = model_of(ranker, form), grid_of(ranker, form)
    search = GridSearchCV(model, grid, scoring=SCORER, cv=GroupKFold(3))
    search.fit(X, Y, groups=GROUPS)
    settings = list(ParameterGrid(grid))
    table = np.array(
        [[ndcg_by_hand(model, *fold, **setting) for fold in folds()]
         for setting in settings]
    )  # fmt: skip
    for k in range(3):
        np.testing.assert_array_equal(
            search.cv_results_[f"split{k}_test_score"], table[:, k]
        )
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], table.mean(axis=1)
    )
    assert len(np.unique(table.mean(axis=1))) > 2
    best = int(table.mean(axis=1).argmax())
    assert search.best_params_ == settings[best]
    assert search.best_score_ == table.mean(axis=1)[best]
    everything = np.arange(len(Y))
    expected = by_hand(model, everything, everything, **settings[best])
    np.testing.assert_array_equal(search.predict(X), expected)
    score = SCORER(search, X, Y, groups=GROUPS)
    assert score == ndcg_score(Y, expected, groups=GROUPS, k=5)
    if RELEASE >= (1, 8):  # before, a search hands no groups to its scorer in `score`
        assert search.score(X, Y, groups=GROUPS) == score


@trees_and_network
@pytest.mark.parametrize("halving", [False, True], ids=["randomized", "halving"])
def test_searches_that_try_some_settings(ranker, form, halving, routing):
    """The resource is trees or epochs; rows would be drawn without their queries."""
    model = model_of(ranker, form)
    options = {"scoring": SCORER, "cv": GroupKFold(3), "random_state": 1}
    if halving:
        resource = "n_estimators" if ranker is LambdaMARTRanker else "max_iter"
        if form != "bare":
            resource = f"{ranker.__name__.lower()}__{resource}"
        grid = grid_of(ranker, form, ["sigma", "learning_rate", "learning_rate_init"])
        search = HalvingGridSearchCV(
            model, grid, resource=resource, max_resources=8, min_resources=2, factor=2,
            **options,
        )  # fmt: skip
    else:
        search = RandomizedSearchCV(model, grid_of(ranker, form), n_iter=3, **options)
    found = search.fit(X, Y, groups=GROUPS).cv_results_
    if halving:
        assert found["n_resources"].tolist() == [2] * 4 + [4] * 2 + [8]
    expected = [
        np.mean([ndcg_by_hand(model, *fold, **setting) for fold in folds()])
        for setting in found["params"]
    ]
    assert len(expected) == 7 if halving else 3
    np.testing.assert_array_equal(found["mean_test_score"], expected)


@every_ranker
def test_without_scoring_a_search_reports_the_metric_of_the_ranker(ranker, routing):
    model = quick(ranker)
    if ranker is not RankNetRanker:
        model.set_params(metric="map")
    measure = ndcg_score if ranker is RankNetRanker else map_score
    cutoff = {"k": 10} if ranker is RankNetRanker else {}
    search = GridSearchCV(model, {"sigma": [0.5, 2]}, cv=GroupKFold(3), refit=False)
    search.fit(X, Y, groups=GROUPS)
    for k, (train, test) in enumerate(folds()):
        scores = by_hand(model, train, test, sigma=2)
        expected = measure(Y[test], scores, groups=GROUPS[test], **cutoff)
        assert search.cv_results_[f"split{k}_test_score"][1] == expected


needs_routed_score = pytest.mark.skipif(
    RELEASE < (1, 8), reason="before 1.8 a search passes nothing to Pipeline.score"
)


def test_nested_cross_validation(routing):
    ranker = LambdaMARTRanker
    names = ["sigma", "learning_rate", "learning_rate_init"]
    grid = grid_of(ranker, "bare", names)
    inner = GridSearchCV(quick(ranker), grid, scoring=SCORER, cv=GroupKFold(2))
    found = cross_validate(
        inner, X, Y, scoring=SCORER, cv=GroupKFold(3), params={"groups": GROUPS},
        return_estimator=True,
    )  # fmt: skip
    for k, (train, test) in enumerate(folds()):
        inside = [
            (train[one], train[other])
            for one, other in GroupKFold(2).split(X[train], Y[train], GROUPS[train])
        ]
        means = [
            np.mean([ndcg_by_hand(quick(ranker), *fold, **setting) for fold in inside])
            for setting in ParameterGrid(grid)
        ]
        best = list(ParameterGrid(grid))[int(np.argmax(means))]
        assert found["estimator"][k].best_params_ == best
        assert found["estimator"][k].best_score_ == max(means)
        assert found["test_score"][k] == ndcg_by_hand(
            quick(ranker), train, test, **best
        )


def test_a_search_inside_a_pipeline(routing):
    ranker = LambdaMARTRanker
    search = GridSearchCV(
        quick(ranker), {"sigma": [0.5, 2]}, scoring=SCORER, cv=GroupKFold(2)
    )
    model = make_pipeline(StandardScaler(), search).fit(X, Y, groups=GROUPS)
    scaled = StandardScaler().fit_transform(X)
    alone = clone(search).fit(scaled, Y, groups=GROUPS)
    np.testing.assert_array_equal(model.predict(X), alone.predict(scaled))


# --- several metrics --------------------------------------------------------------

MEASURES = {
    "ndcg@5": partial(ndcg_score, k=5),
    "map": map_score,
    "mrr@3": partial(mrr_score, k=3),
}
TOGETHER = {
    "one scorer": make_ranking_scorer(list(MEASURES)),
    "a dict of scorers": {name: make_ranking_scorer(name) for name in MEASURES},
}


@pytest.mark.parametrize("scoring", TOGETHER)
def test_several_metrics_in_a_search(scoring, routing):
    ranker = LambdaMARTRanker
    model = model_of(ranker, "in a pipeline")
    grid = grid_of(ranker, "in a pipeline", ["sigma"])
    search = GridSearchCV(
        model, grid, scoring=TOGETHER[scoring], refit="map", cv=GroupKFold(3),
        return_train_score=True,
    ).fit(X, Y, groups=GROUPS)  # fmt: skip
    for i, setting in enumerate(ParameterGrid(grid)):
        for k, (train, test) in enumerate(folds()):
            for part, rows in (("train", train), ("test", test)):
                scores = by_hand(model, train, rows, **setting)
                for name, measure in MEASURES.items():
                    found = search.cv_results_[f"split{k}_{part}_{name}"][i]
                    assert found == measure(Y[rows], scores, groups=GROUPS[rows])
    assert search.best_score_ == search.cv_results_["mean_test_map"].max()


def test_ranking_scorers_and_those_of_scikit_learn_may_be_used_together(routing):
    scoring = {"ndcg": SCORER, "r2": "r2"}
    found = cross_validate(
        Ridge(), X, Y, scoring=scoring, cv=GroupKFold(3), params={"groups": GROUPS}
    )
    alone = cross_validate(Ridge(), X, Y, cv=folds(), scoring="r2", params={})
    np.testing.assert_array_equal(found["test_r2"], alone["test_score"])
    for k, (train, test) in enumerate(folds()):
        scores = Ridge().fit(X[train], Y[train]).predict(X[test])
        expected = ndcg_score(Y[test], scores, groups=GROUPS[test], k=5)
        assert found["test_ndcg"][k] == expected


def test_a_candidate_whose_fit_fails_does_not_affect_the_others(routing):
    scoring = "one scorer"
    search = GridSearchCV(
        quick(LambdaMARTRanker), {"sigma": [1, -1]}, scoring=TOGETHER[scoring],
        refit="map", cv=GroupKFold(3),
    )  # fmt: skip
    with (
        pytest.warns(FitFailedWarning, match="sigma"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        search.fit(X, Y, groups=GROUPS)
    assert np.isnan(search.cv_results_["mean_test_map"][1])
    assert search.best_params_ == {"sigma": 1}
    assert search.best_score_ == np.mean(
        [map_score(Y[test], by_hand(quick(LambdaMARTRanker), train, test),
                   groups=GROUPS[test]) for train, test in folds()]
    )  # fmt: skip


# --- splitters --------------------------------------------------------------------


@pytest.mark.parametrize(
    "cv",
    [
        GroupKFold(4),
        StratifiedGroupKFold(3, shuffle=True, random_state=0),
        LeaveOneGroupOut(),
        GroupShuffleSplit(3, test_size=0.3, random_state=0),
        PredefinedSplit(PARTS),
        folds(),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_splitters(cv, routing):
    model = quick(LambdaMARTRanker)
    scores = cross_val_score(
        model, X, Y, scoring=SCORER, cv=cv, params={"groups": GROUPS}
    )
    if isinstance(cv, PredefinedSplit):
        pairs = list(cv.split())
    else:
        pairs = cv if isinstance(cv, list) else folds(cv)
    assert scores.tolist() == [ndcg_by_hand(model, *pair) for pair in pairs]


def test_a_splitter_may_request_metadata_of_another_name(routing):
    """Parts of several queries are left out; the ranker requests `groups`."""
    ranker = LambdaMARTRanker
    cv = LeaveOneGroupOut().set_split_request(groups="parts")
    scores = cross_val_score(
        quick(ranker), X, Y, scoring=SCORER, cv=cv,
        params={"groups": GROUPS, "parts": PARTS},
    )  # fmt: skip
    expected = [
        ndcg_by_hand(
            quick(ranker), np.flatnonzero(PARTS != part), np.flatnonzero(PARTS == part)
        )
        for part in range(3)
    ]
    assert scores.tolist() == expected


# --- cross-validation, curves -----------------------------------------------------


@every_ranker_and_form
def test_cross_validate(ranker, form, routing):
    model = model_of(ranker, form)
    found = cross_validate(
        model, X, Y, scoring=SCORER, cv=GroupKFold(3), params={"groups": GROUPS},
        return_train_score=True, return_estimator=True, return_indices=True,
    )  # fmt: skip
    for k, (train, test) in enumerate(folds()):
        np.testing.assert_array_equal(found["indices"]["test"][k], test)
        assert found["test_score"][k] == ndcg_by_hand(model, train, test)
        assert found["train_score"][k] == ndcg_by_hand(model, train, train)
        np.testing.assert_array_equal(
            found["estimator"][k].predict(X[test]), by_hand(model, train, test)
        )


@every_ranker_and_form
def test_cross_val_predict(ranker, form, routing):
    model = model_of(ranker, form)
    scores = cross_val_predict(model, X, Y, cv=GroupKFold(3), params={"groups": GROUPS})
    for train, test in folds():
        np.testing.assert_array_equal(scores[test], by_hand(model, train, test))
    # a query is scored by one model, so that its metric can be computed
    assert NDCG(5).per_query(Y, scores, groups=GROUPS).shape == (24,)


@trees_and_network
def test_learning_curve(ranker, form, routing):
    """Of rows sorted by query the first ones hold at most one part of a query."""
    model, rows = model_of(ranker, form), np.argsort(GROUPS, kind="stable")
    sizes, train_scores, test_scores = learning_curve(
        model, X[rows], Y[rows], train_sizes=[40, 80], scoring=SCORER,
        cv=GroupKFold(3), params={"groups": GROUPS[rows]},
    )  # fmt: skip
    assert sizes.tolist() == [40, 80]
    for k, (train, test) in enumerate(
        GroupKFold(3).split(X[rows], Y[rows], GROUPS[rows])
    ):
        for i, size in enumerate(sizes):
            first, held_out = rows[train[:size]], rows[test]
            assert train_scores[i, k] == ndcg_by_hand(model, first, first)
            assert test_scores[i, k] == ndcg_by_hand(model, first, held_out)


@trees_and_network
def test_validation_curve(ranker, form, routing):
    model = model_of(ranker, form)
    ((name, values),) = grid_of(ranker, form, ["sigma"]).items()
    train_scores, test_scores = validation_curve(
        model, X, Y, param_name=name, param_range=values, scoring=SCORER,
        cv=GroupKFold(3), params={"groups": GROUPS},
    )  # fmt: skip
    for k, (train, test) in enumerate(folds()):
        for i, value in enumerate(values):
            setting = {name: value}
            assert train_scores[i, k] == ndcg_by_hand(model, train, train, **setting)
            assert test_scores[i, k] == ndcg_by_hand(model, train, test, **setting)


# --- pipelines --------------------------------------------------------------------


def frame_with_gaps() -> pd.DataFrame:
    """Numbers with missing values, one column of text, rows named out of order."""
    table = pd.DataFrame(X, columns=list("abcde"), index=np.arange(len(Y))[::-1])
    table = table.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    return table.assign(kind=np.where(X[:, 0] > 0, "news", "blog"))


FRAME = frame_with_gaps()


def columns():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include="number")),
            ("kind", OneHotEncoder(sparse_output=False), ["kind"]),
        ]
    )


PIPELINES = {
    "imputer and scaler": [SimpleImputer(add_indicator=True), StandardScaler()],
    "feature selection": [SelectKBest(f_regression, k=3), StandardScaler()],
    "columns": [columns()],
    "columns as pandas": [columns().set_output(transform="pandas")],
    "columns as polars": [columns().set_output(transform="polars")],
    "union": [
        columns(),
        FeatureUnion(
            [("best", SelectKBest(f_regression, k=2)), ("all", "passthrough")]
        ),
    ],
}


@pytest.mark.parametrize("steps", PIPELINES)
def test_pipelines(steps, routing):
    ranker = LambdaRankRanker
    if "polars" in steps and not POLARS_IS_KNOWN:
        pytest.skip("this scikit-learn does not know this polars")
    model = make_pipeline(*PIPELINES[steps], quick(ranker))
    if "columns" in steps or steps == "union":
        table = FRAME
    else:
        table = FRAME.drop(columns="kind").to_numpy()
        table = np.nan_to_num(table) if steps == "feature selection" else table
    scores = cross_val_score(
        model, table, Y, scoring=SCORER, cv=GroupKFold(3), params={"groups": GROUPS}
    )
    for found, (train, test) in zip(scores, folds(), strict=True):
        assert found == ndcg_by_hand(model, train, test, table=table)
    if "as " in steps:
        fitted = model.fit(table, Y, groups=GROUPS)[-1]
        assert fitted.feature_names_in_[0] == "numbers__a"


@every_ranker
def test_early_stopping_inside_a_pipeline(ranker, routing):
    """The Pipeline transforms X_val."""
    stop = {"n_iter_no_change": 1, "tol": 0.0}
    if ranker is LambdaMARTRanker:
        stop |= {"n_estimators": 40, "learning_rate": 1.0}
    else:
        stop |= {"max_iter": 40, "learning_rate_init": 0.3, "early_stopping": True}
    model = Pipeline(
        [("scale", StandardScaler()), ("rank", quick(ranker, **stop))],
        transform_input=["X_val"],
    )
    X_val, y_val, groups_val = HELD_OUT
    model.fit(
        X, Y, groups=GROUPS, X_val=X_val * 2 + 1, y_val=y_val, groups_val=groups_val
    )
    scaler = StandardScaler().fit(X)
    alone = quick(ranker, **stop).fit(
        scaler.transform(X), Y, groups=GROUPS,
        X_val=scaler.transform(X_val * 2 + 1), y_val=y_val, groups_val=groups_val,
    )  # fmt: skip
    assert alone.n_iter_ < 40
    assert model[-1].n_iter_ == alone.n_iter_
    np.testing.assert_array_equal(
        model.predict(X_val), alone.predict(scaler.transform(X_val))
    )


@every_ranker
def test_a_pipeline_passes_groups_to_fit_and_score(ranker, routing):
    model = model_of(ranker, "in a pipeline").fit(X, Y, groups=GROUPS)
    everything = np.arange(len(Y))
    scores = by_hand(model, everything, everything)
    np.testing.assert_array_equal(model.predict(X), scores)
    assert model.score(X, Y, groups=GROUPS) == ndcg_score(
        Y, scores, groups=GROUPS, k=10
    )


# --- init_score -------------------------------------------------------------------

INIT_SCORE = np.random.default_rng(1).normal(size=len(Y))


def score_on_init_scores(model, train, test, measure, **params):
    """Score of a model that is fitted, and evaluated, on initial scores, by hand."""
    *transformers, ranker = steps_of(clone(model).set_params(**params))
    learned, scored = X[train], X[test]
    with sklearn.config_context(enable_metadata_routing=False):
        for transformer in transformers:
            learned = transformer.fit_transform(learned, Y[train])
            scored = transformer.transform(scored)
        ranker.fit(
            learned, Y[train], groups=GROUPS[train], init_score=INIT_SCORE[train]
        )
        scores = ranker.predict(scored, init_score=INIT_SCORE[test])
    return measure(Y[test], scores, groups=GROUPS[test])


ndcg_at_10 = partial(ndcg_score, k=10)  # what the ranker's own `score` reports
WITH_INIT_SCORE = {
    "scorer": (SCORER, partial(ndcg_score, k=5), "bare"),
    "scorer, in a pipeline": (SCORER, partial(ndcg_score, k=5), "in a pipeline"),
    "score": (None, ndcg_at_10, "bare"),
    "score, in a pipeline": (None, ndcg_at_10, "in a pipeline"),
}
with_init_score = pytest.mark.parametrize(
    ("scoring", "measure", "form"),
    [
        pytest.param(*case, marks=needs_routed_score if case[0] is None else ())
        for case in WITH_INIT_SCORE.values()
    ],
    ids=WITH_INIT_SCORE,
)


@with_init_score
def test_grid_search_passes_init_score_to_fit_predict_and_the_scorer(
    scoring, measure, form, routing
):
    model = model_of(LambdaMARTRanker, form)
    grid = grid_of(LambdaMARTRanker, form, ["learning_rate"])
    search = GridSearchCV(
        model, grid, scoring=scoring, cv=GroupKFold(3), error_score="raise"
    ).fit(X, Y, groups=GROUPS, init_score=INIT_SCORE)
    for i, setting in enumerate(ParameterGrid(grid)):
        for k, (train, test) in enumerate(folds()):
            expected = score_on_init_scores(model, train, test, measure, **setting)
            assert search.cv_results_[f"split{k}_test_score"][i] == expected
    everything = np.arange(len(Y))
    expected = score_on_init_scores(
        model, everything, everything, measure, **search.best_params_
    )
    scorer = search.scorer_
    found = scorer(search.best_estimator_, X, Y, groups=GROUPS, init_score=INIT_SCORE)
    assert found == expected
    if RELEASE >= (1, 8):
        found = search.score(X, Y, groups=GROUPS, init_score=INIT_SCORE)
        assert found == expected


@pytest.mark.parametrize("form", ["bare", "in a pipeline"])
def test_a_scorer_that_declines_init_score_fails_on_a_model_that_needs_it(
    form, routing
):
    scorer = make_ranking_scorer("ndcg@5").set_score_request(init_score=False)
    with pytest.raises(ValueError, match="fit was given init_score, and.*no init_sc"):
        cross_validate(
            model_of(LambdaMARTRanker, form), X, Y, scoring=scorer, cv=GroupKFold(3),
            params={"groups": GROUPS, "init_score": INIT_SCORE}, error_score="raise",
        )  # fmt: skip


def test_several_metrics_of_one_scorer_use_init_score(routing):
    model = quick(LambdaMARTRanker)
    found = cross_validate(
        model, X, Y, scoring=TOGETHER["one scorer"], cv=GroupKFold(3),
        params={"groups": GROUPS, "init_score": INIT_SCORE},
    )  # fmt: skip
    for k, fold in enumerate(folds()):
        for name, measure in MEASURES.items():
            expected = score_on_init_scores(model, *fold, measure)
            assert found[f"test_{name}"][k] == expected


def test_a_pipeline_passes_init_score_to_predict_and_score(routing):
    model = model_of(LambdaMARTRanker, "in a pipeline")
    with pytest.raises(ValueError, match="fit was given no init_score, and.*an init_"):
        clone(model).fit(X, Y, groups=GROUPS).predict(X, init_score=INIT_SCORE)
    model.fit(X, Y, groups=GROUPS, init_score=INIT_SCORE)
    with pytest.raises(ValueError, match="fit was given init_score, and.*no init_sc"):
        model.predict(X)
    with pytest.raises(ValueError, match="fit was given init_score, and.*no init_sc"):
        model.score(X, Y, groups=GROUPS)
    everything = np.arange(len(Y))
    expected = score_on_init_scores(model, everything, everything, ndcg_at_10)
    found = model.score(X, Y, groups=GROUPS, init_score=INIT_SCORE)
    assert found == expected


# --- kinds of input ---------------------------------------------------------------

NAMES = list("abcde")
KINDS = {
    "lists": (X.tolist(), Y.tolist(), GROUPS.tolist()),
    "pandas": (
        pd.DataFrame(X, columns=NAMES), pd.Series(Y), pd.Series(GROUPS),
    ),
    "pandas on pyarrow": tuple(
        pd.DataFrame(column).convert_dtypes(dtype_backend="pyarrow")
        for column in (pd.DataFrame(X, columns=NAMES),)
    ) + tuple(
        pd.Series(column).convert_dtypes(dtype_backend="pyarrow")
        for column in (Y, GROUPS)
    ),
    "polars": (pl.DataFrame(X, schema=NAMES), pl.Series(Y), pl.Series(GROUPS)),
    "pyarrow columns": (X, pa.array(Y), pa.array(GROUPS)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_tables_and_columns_of_every_kind(kind, routing):
    ranker = LambdaMARTRanker
    if kind == "polars" and not POLARS_IS_KNOWN:
        pytest.skip("this scikit-learn does not know this polars")
    if kind == "pyarrow columns" and RELEASE < (1, 8):
        pytest.skip("scikit-learn indexes no pyarrow columns before 1.8")
    table, y, groups = KINDS[kind]
    search = GridSearchCV(
        quick(ranker), {"sigma": [1.0]}, scoring=SCORER, cv=folds()
    ).fit(table, y, groups=groups)
    expected = [ndcg_by_hand(quick(ranker), *fold) for fold in folds()]
    found = [search.cv_results_[f"split{k}_test_score"][0] for k in range(3)]
    assert found == expected
    if kind.startswith(("pandas", "polars")):
        assert search.feature_names_in_.tolist() == NAMES


# --- parallel jobs ----------------------------------------------------------------


def scores_of_all_rankers(n_jobs):
    """All scores of a small search for each ranker, as one array."""
    searches = [
        GridSearchCV(
            model_of(ranker, "in a pipeline"), grid_of(ranker, "in a pipeline"),
            scoring=TOGETHER["one scorer"], refit="map", cv=GroupKFold(3),
            n_jobs=n_jobs, error_score="raise",
        ).fit(X, Y, groups=GROUPS)
        for ranker in QUICK
    ]  # fmt: skip
    return np.array(
        [
            [*search.cv_results_[f"split{k}_test_{name}"], search.predict(X).sum()]
            for search in searches
            for k in range(3)
            for name in MEASURES
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_two_jobs_find_the_same_numbers_as_one(backend, routing):
    with joblib.parallel_config(backend):
        found = scores_of_all_rankers(n_jobs=2)
    assert found.tobytes() == scores_of_all_rankers(n_jobs=None).tobytes()


@pytest.mark.slow
def test_dask_workers_find_the_same_numbers(routing):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        found = scores_of_all_rankers(n_jobs=None)
    assert found.tobytes() == scores_of_all_rankers(n_jobs=None).tobytes()


# --- routing disabled, groups not given -------------------------------------------


def test_with_routing_off_a_search_warns_and_ends_with_an_error():
    search = GridSearchCV(
        quick(LambdaMARTRanker), {"sigma": [0.5, 2]}, scoring=SCORER, cv=GroupKFold(3)
    )
    with (
        pytest.warns(MissingGroupsWarning, match="enable_metadata_routing=True"),
        pytest.raises(MissingGroupsError, match="enable_metadata_routing=True"),
    ):
        search.fit(X, Y, groups=GROUPS)
    assert not hasattr(search, "best_score_")


@every_ranker
def test_with_routing_off_a_pipeline_accepts_groups_prefixed_by_its_step(ranker):
    model = model_of(ranker, "in a pipeline")
    model.fit(X, Y, **{f"{ranker.__name__.lower()}__groups": GROUPS})
    everything = np.arange(len(Y))
    expected = by_hand(model, everything, everything)
    np.testing.assert_array_equal(model.predict(X), expected)


def test_with_routing_on_and_no_groups_a_search_ends_with_an_error(routing):
    search = GridSearchCV(quick(LambdaMARTRanker), {}, scoring=SCORER, cv=KFold(3))
    with (
        pytest.warns(MissingGroupsWarning),
        pytest.raises(MissingGroupsError, match="not passed: give groups="),
    ):
        search.fit(X, Y)


# --- inspection, selection, composition -------------------------------------------


def test_permutation_importance():
    model = quick(LambdaRankRanker).fit(X, Y, groups=GROUPS)
    found = permutation_importance(
        model, X, Y, scoring=partial(SCORER, groups=GROUPS), n_repeats=2, random_state=0
    )
    before = ndcg_score(Y, model.predict(X), groups=GROUPS, k=5)
    rng = np.random.RandomState(np.random.RandomState(0).randint(2**31 - 1))
    shuffled, order = X.copy(), np.arange(len(Y))
    for repeat in range(2):
        rng.shuffle(order)
        shuffled[:, 0] = shuffled[order, 0]
        after = ndcg_score(Y, model.predict(shuffled), groups=GROUPS, k=5)
        assert found.importances[0, repeat] == before - after


def test_recursive_feature_elimination(routing):
    selector = RFE(quick(LambdaMARTRanker), n_features_to_select=4)
    selector.fit(X, Y, groups=GROUPS)
    ranker = quick(LambdaMARTRanker).fit(X, Y, groups=GROUPS)
    weakest = int(ranker.feature_importances_.argmin())
    assert np.flatnonzero(~selector.support_).tolist() == [weakest]
    rest = np.delete(X, weakest, axis=1)
    expected = quick(LambdaMARTRanker).fit(rest, Y, groups=GROUPS).predict(rest)
    np.testing.assert_array_equal(selector.predict(X), expected)


@pytest.mark.parametrize("ensemble", [VotingRegressor, StackingRegressor])
def test_ensembles_of_regressors_refuse_rankers(ensemble, routing):
    """The scores of rankers have no common scale; a ranker is no regressor."""
    ranker = LambdaMARTRanker
    members = [("one", quick(ranker)), ("other", Ridge())]
    with pytest.raises(ValueError, match=f"{ranker.__name__} should be a regressor"):
        ensemble(members).fit(X, Y, groups=GROUPS)


# --- the conventions of an estimator ----------------------------------------------


def test_clones_keep_their_requests(routing):
    ranker = LambdaMARTRanker
    changed = quick(ranker).set_fit_request(sample_weight="w", groups="qid")
    requests = clone(changed).get_metadata_routing().fit.requests
    assert requests["sample_weight"] == "w"
    assert requests["groups"] == "qid"
    assert quick(ranker).get_metadata_routing().fit.requests["groups"] is True


@pytest.mark.parametrize("form", ["bare", "in a pipeline"])
def test_the_html_repr_names_the_ranker_and_whether_it_is_fitted(form):
    model = model_of(LambdaMARTRanker, form)
    prefix = "" if form == "bare" else "lambdamartranker__"
    page = estimator_html_repr(model)
    assert "LambdaMARTRanker" in page
    assert "Not fitted" in page
    model.fit(X, Y, **{f"{prefix}groups": GROUPS})
    page = estimator_html_repr(model)
    assert "LambdaMARTRanker" in page
    assert "Not fitted" not in page


class RecordsGroups(BaseEstimator):
    """A step of the user's own that requests groups too."""

    __metadata_request__fit = {"groups": True}

    def fit(self, X, y=None, *, groups=None):
        self.groups_ = groups
        return self

    def transform(self, X):
        return X


def test_other_steps_may_request_groups_too(routing):
    model = make_pipeline(RecordsGroups(), quick(LambdaMARTRanker))
    model.fit(X, Y, groups=GROUPS)
    np.testing.assert_array_equal(model[0].groups_, GROUPS)
