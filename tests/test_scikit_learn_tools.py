"""The three rankers in the tools of scikit-learn, compared with the same by hand.

By hand means: no metadata routing, the steps of a Pipeline one after the other, the
groups given to `fit` and to a metric function.  Numbers must be equal, not close.
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
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import VotingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    LeaveOneGroupOut,
    ParameterGrid,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
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
        "learning_rate": [0.1, 0.5], "max_leaf_nodes": [2, 5],
    },
    LambdaRankRanker: {"sigma": [0.5, 2.0], "learning_rate_init": [0.001, 0.1]},
    RankNetRanker: {"sigma": [0.5, 2.0], "learning_rate_init": [0.001, 0.1]},
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


def test_halving_adds_trees(routing):
    """Rows would be drawn without their queries."""
    model, grid = quick(LambdaMARTRanker), {"learning_rate": [0.1, 0.3, 0.5, 0.9]}
    search = HalvingGridSearchCV(
        model, grid, resource="n_estimators", max_resources=8, min_resources=2,
        factor=2, scoring=SCORER, cv=GroupKFold(3), random_state=1,
    )  # fmt: skip
    found = search.fit(X, Y, groups=GROUPS).cv_results_
    assert found["n_resources"].tolist() == [2] * 4 + [4] * 2 + [8]
    expected = [
        np.mean([ndcg_by_hand(model, *fold, **setting) for fold in folds()])
        for setting in found["params"]
    ]
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
    ranker, grid = LambdaMARTRanker, grid_of(LambdaMARTRanker, "bare")
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


# --- several metrics --------------------------------------------------------------

MEASURES = {
    "ndcg@5": partial(ndcg_score, k=5),
    "map": map_score,
    "mrr@3": partial(mrr_score, k=3),
}
ALL = make_ranking_scorer(list(MEASURES))


def test_several_metrics_in_a_search(routing):
    ranker = LambdaMARTRanker
    model = model_of(ranker, "in a pipeline")
    grid = grid_of(ranker, "in a pipeline", ["learning_rate"])
    search = GridSearchCV(
        model, grid, scoring=ALL, refit="map", cv=GroupKFold(3),
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


# --- splitters --------------------------------------------------------------------


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


def test_cross_val_predict(routing):
    model = model_of(LambdaRankRanker, "in a pipeline")
    scores = cross_val_predict(model, X, Y, cv=GroupKFold(3), params={"groups": GROUPS})
    for train, test in folds():
        np.testing.assert_array_equal(scores[test], by_hand(model, train, test))
    # a query is scored by one model, so that its metric can be computed
    assert NDCG(5).per_query(Y, scores, groups=GROUPS).shape == (24,)


def test_learning_curve(routing):
    """Of rows sorted by query the first ones hold at most one part of a query."""
    model, rows = quick(LambdaMARTRanker), np.argsort(GROUPS, kind="stable")
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
    "feature selection": [SelectKBest(f_regression, k=3), StandardScaler()],
    "columns as pandas": [columns().set_output(transform="pandas")],
    "columns as polars": [columns().set_output(transform="polars")],
}


@pytest.mark.parametrize("steps", PIPELINES)
def test_pipelines(steps, routing):
    ranker = LambdaRankRanker
    if "polars" in steps and not POLARS_IS_KNOWN:
        pytest.skip("this scikit-learn does not know this polars")
    model = make_pipeline(*PIPELINES[steps], quick(ranker))
    if "columns" in steps:
        table = FRAME
    else:
        table = np.nan_to_num(FRAME.drop(columns="kind").to_numpy())
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
@pytest.mark.parametrize("routed", [True, False])
def test_a_pipeline_passes_groups_to_fit_and_score(ranker, routed):
    name = "groups" if routed else f"{ranker.__name__.lower()}__groups"
    with sklearn.config_context(enable_metadata_routing=routed):
        model = model_of(ranker, "in a pipeline").fit(X, Y, **{name: GROUPS})
        everything = np.arange(len(Y))
        scores = by_hand(model, everything, everything)
        np.testing.assert_array_equal(model.predict(X), scores)
        if routed:
            expected = ndcg_score(Y, scores, groups=GROUPS, k=10)
            assert model.score(X, Y, groups=GROUPS) == expected


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


def test_a_scorer_that_declines_init_score_fails_on_a_model_that_needs_it(routing):
    scorer = make_ranking_scorer("ndcg@5").set_score_request(init_score=False)
    with pytest.raises(ValueError, match="fit was given init_score, and.*no init_sc"):
        cross_validate(
            quick(LambdaMARTRanker), X, Y, scoring=scorer, cv=GroupKFold(3),
            params={"groups": GROUPS, "init_score": INIT_SCORE}, error_score="raise",
        )  # fmt: skip


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


@pytest.mark.slow
def test_two_jobs_find_the_same_numbers_and_raise_the_same_error_as_one(routing):
    def scores(ranker):
        search = GridSearchCV(
            model_of(ranker, "in a pipeline"), grid_of(ranker, "in a pipeline"),
            scoring=ALL, refit="map", cv=GroupKFold(3), error_score="raise",
        ).fit(X, Y, groups=GROUPS)  # fmt: skip
        return search.cv_results_["mean_test_map"].tolist(), search.predict(X).tolist()

    rankers = LambdaMARTRanker, LambdaRankRanker
    expected = list(map(scores, rankers))
    with joblib.parallel_config("loky", n_jobs=2):
        assert list(map(scores, rankers)) == expected
        with (
            sklearn.config_context(enable_metadata_routing=False),
            pytest.raises(MissingGroupsError, match="enable_metadata_routing=True"),
        ):
            cross_val_score(Ridge(), X, Y, groups=GROUPS, scoring=SCORER, cv=folds())


# --- inspection, selection, composition -------------------------------------------


def test_recursive_feature_elimination(routing):
    selector = RFE(quick(LambdaMARTRanker), n_features_to_select=4)
    selector.fit(X, Y, groups=GROUPS)
    ranker = quick(LambdaMARTRanker).fit(X, Y, groups=GROUPS)
    weakest = int(ranker.feature_importances_.argmin())
    assert np.flatnonzero(~selector.support_).tolist() == [weakest]
    rest = np.delete(X, weakest, axis=1)
    expected = quick(LambdaMARTRanker).fit(rest, Y, groups=GROUPS).predict(rest)
    np.testing.assert_array_equal(selector.predict(X), expected)


def test_ensembles_of_regressors_refuse_rankers(routing):
    """The scores of rankers have no common scale; a ranker is no regressor."""
    members = [("one", quick(LambdaMARTRanker)), ("other", Ridge())]
    with pytest.raises(ValueError, match="LambdaMARTRanker should be a regressor"):
        VotingRegressor(members).fit(X, Y, groups=GROUPS)
