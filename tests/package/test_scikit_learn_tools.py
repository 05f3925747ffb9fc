"""The three rankers in the tools of scikit-learn, compared with the same by hand.

By hand means: no metadata routing, the steps of a Pipeline one after the other, the
groups given to `fit` and to a metric function.  Numbers must be equal, not close.
"""

from __future__ import annotations

from functools import partial

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectKBest,
    SequentialFeatureSelector,
    f_regression,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    LeaveOneGroupOut,
    ParameterGrid,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    RankNetRanker,
)
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.inspection import ScoreRegressor
from sklearn_ltr.metrics import map_score, mrr_score, ndcg_score
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
    LambdaMARTRanker: {"learning_rate": [0.1, 0.5], "max_leaf_nodes": [2, 5]},
    LambdaRankRanker: {"sigma": [0.5, 2.0], "learning_rate_init": [0.001, 0.1]},
    RankNetRanker: {"sigma": [0.5, 2.0], "learning_rate_init": [0.001, 0.1]},
}
every_ranker = pytest.mark.parametrize("ranker", list(QUICK))


def draw(n_queries=24, seed=0):
    """Small interleaved queries; features of unit scale."""
    made = make_ranking(
        n_queries, n_documents=6, n_features=5, n_informative=4, n_query_features=1,
        grade_shares=(0.5, 0.3, 0.2), random_state=seed,
    )  # fmt: skip
    rows = np.random.default_rng(seed).permutation(len(made.target))
    return made.data[rows], made.target[rows], made.groups[rows]


X, Y, GROUPS = draw()
HELD_OUT = draw(8, seed=1)
EVERYTHING = np.arange(len(Y))
INIT_SCORE = np.random.default_rng(1).normal(size=len(Y))
#: a few parts of whole queries each
PARTS = GROUPS % 3


def quick(ranker, **options):
    return ranker(**(QUICK[ranker] | {"random_state": 0} | options))


def model_of(ranker, form, **options):
    last = quick(ranker, **options)
    return last if form == "bare" else make_pipeline(StandardScaler(), last)


def grid_of(model):
    """The grid of a ranker, with the parameter names of the model."""
    ranker = steps_of(model)[-1]
    prefix = "" if ranker is model else f"{type(ranker).__name__.lower()}__"
    return {prefix + name: values for name, values in GRID[type(ranker)].items()}


def steps_of(model):
    return [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]


def rows_of(table, rows):
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def by_hand(model, train, test, table=X, init_score=None, **params):
    """Scores of the test rows by a model that has learned from the training rows."""
    *transformers, ranker = steps_of(clone(model).set_params(**params))
    learned, scored = rows_of(table, train), rows_of(table, test)
    inits = [{}, {}]
    if init_score is not None:
        inits = [{"init_score": init_score[rows]} for rows in (train, test)]
    with sklearn.config_context(enable_metadata_routing=False):
        for transformer in transformers:
            learned = transformer.fit_transform(learned, Y[train])
            scored = transformer.transform(scored)
        ranker.fit(learned, Y[train], groups=GROUPS[train], **inits[0])
        return ranker.predict(scored, **inits[1])


def ndcg_by_hand(model, train, test, **params):
    scores = by_hand(model, train, test, **params)
    return ndcg_score(Y[test], scores, groups=GROUPS[test], k=5)


def folds(cv=None):
    return list((cv or GroupKFold(3)).split(X, Y, GROUPS))


# --- searches ---------------------------------------------------------------------


ndcg_at_5, ndcg_at_10 = partial(ndcg_score, k=5), partial(ndcg_score, k=10)
MEASURES = {"ndcg@5": ndcg_at_5, "map": map_score, "mrr@3": partial(mrr_score, k=3)}
ALL = make_ranking_scorer(list(MEASURES))
ONE = {"score": ndcg_at_5}
TREES, PIPELINE = quick(LambdaMARTRanker), model_of(LambdaMARTRanker, "in a pipeline")
#: The model, scoring and what it measures, and initial scores
SEARCHES = {
    "trees": (TREES, SCORER, ONE, None),
    "network": (quick(LambdaRankRanker), SCORER, ONE, None),
    "pipeline": (model_of(RankNetRanker, "in a pipeline"), SCORER, ONE, None),
    "several metrics": (PIPELINE, ALL, MEASURES, None),
    # without scoring it is the metric of the ranker
    "MAP of trees": (quick(LambdaMARTRanker, metric="map"), None,
                     {"score": map_score}, None),
    "MAP of a network": (quick(LambdaRankRanker, metric="map"), None,
                         {"score": map_score}, None),
    "NDCG of RankNet": (quick(RankNetRanker), None, {"score": ndcg_at_10}, None),
    "init_score": (TREES, SCORER, ONE, INIT_SCORE),
    "init_score of a pipeline": (PIPELINE, None, {"score": ndcg_at_10}, INIT_SCORE),
}  # fmt: skip


@pytest.mark.parametrize("kind", SEARCHES)
def test_grid_search(kind, routing):
    model, scoring, measures, init_score = SEARCHES[kind]
    if kind == "init_score of a pipeline" and RELEASE < (1, 8):
        pytest.skip("before 1.8 a search passes nothing to Pipeline.score")
    init, (name, measure) = {}, list(measures.items())[-1]
    if init_score is not None:
        init["init_score"] = init_score
    settings = list(ParameterGrid(grid_of(model)))
    search = GridSearchCV(
        model, grid_of(model), scoring=scoring, cv=GroupKFold(3), error_score="raise",
        refit=name if scoring is ALL else True, return_train_score=scoring is ALL,
    ).fit(X, Y, groups=GROUPS, **init)  # fmt: skip
    results = search.cv_results_
    for i, setting in enumerate(settings):
        for k, (train, test) in enumerate(folds()):
            for part, rows in (("train", train), ("test", test)):
                if part == "train" and scoring is not ALL:
                    continue
                scores = by_hand(model, train, rows, **init, **setting)
                for of, measure in measures.items():
                    expected = measure(Y[rows], scores, groups=GROUPS[rows])
                    assert results[f"split{k}_{part}_{of}"][i] == expected
    means = np.mean([results[f"split{k}_test_{name}"] for k in range(3)], axis=0)
    assert len(np.unique(means)) > 2
    best = int(means.argmax())
    assert search.best_params_ == settings[best]
    assert search.best_score_ == pytest.approx(means[best], rel=1e-15)
    expected = by_hand(model, EVERYTHING, EVERYTHING, **init, **settings[best])
    if not init:  # a search passes nothing to `predict`
        np.testing.assert_array_equal(search.predict(X), expected)
    score = measure(Y, expected, groups=GROUPS)
    found = search.scorer_(search.best_estimator_, X, Y, groups=GROUPS, **init)
    assert (found[name] if scoring is ALL else found) == score
    if RELEASE >= (1, 8):  # before, a search hands no groups to its scorer in `score`
        assert search.score(X, Y, groups=GROUPS, **init) == score


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


@pytest.mark.filterwarnings("ignore")  # those of scikit-learn
@pytest.mark.parametrize("cv", [2, 3, 5])
def test_halving_by_rows_begins_with_too_few_for_any_ranker(cv, routing):
    data = make_ranking(60, random_state=0)
    search = HalvingRandomSearchCV(
        quick(LambdaMARTRanker), {"learning_rate": [0.1, 0.3, 0.5, 0.9]},
        n_candidates=4, scoring=SCORER, cv=GroupKFold(cv), random_state=0,
    )  # fmt: skip
    try:
        search.fit(data.data, data.target, groups=data.groups)
    except ValueError as error:
        assert "fits failed" in str(error)
    else:
        assert search.n_resources_[0] == 2 * cv
        assert np.isnan(search.cv_results_["mean_test_score"]).all()


def test_a_splitter_may_request_metadata_of_another_name(routing):
    """Parts of several queries are left out; the ranker requests `groups`."""
    scores = cross_val_score(
        TREES, X, Y, scoring=SCORER, params={"groups": GROUPS, "parts": PARTS},
        cv=LeaveOneGroupOut().set_split_request(groups="parts"),
    )  # fmt: skip
    sides = [(np.flatnonzero(PARTS != k), np.flatnonzero(PARTS == k)) for k in range(3)]
    assert scores.tolist() == [ndcg_by_hand(TREES, *side) for side in sides]


# --- cross-validation, curves -----------------------------------------------------


@every_ranker
def test_cross_validate(ranker, routing):
    model = model_of(ranker, "in a pipeline")
    given = {"cv": GroupKFold(3), "params": {"groups": GROUPS}}
    predicted = cross_val_predict(model, X, Y, **given)
    found = cross_validate(
        model, X, Y, scoring=SCORER, **given, return_train_score=True,
        return_estimator=True, return_indices=True,
    )  # fmt: skip
    for k, (train, test) in enumerate(folds()):
        scores = by_hand(model, train, test)
        np.testing.assert_array_equal(found["indices"]["test"][k], test)
        assert found["test_score"][k] == ndcg_by_hand(model, train, test)
        assert found["train_score"][k] == ndcg_by_hand(model, train, train)
        np.testing.assert_array_equal(found["estimator"][k].predict(X[test]), scores)
        np.testing.assert_array_equal(predicted[test], scores)


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
    if "polars" in steps and not POLARS_IS_KNOWN:
        pytest.skip("this scikit-learn does not know this polars")
    model = make_pipeline(*PIPELINES[steps], quick(LambdaRankRanker))
    table = FRAME
    if "columns" not in steps:
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
        scores = by_hand(model, EVERYTHING, EVERYTHING)
        np.testing.assert_array_equal(model.predict(X), scores)
        if routed:
            expected = ndcg_at_10(Y, scores, groups=GROUPS)
            assert model.score(X, Y, groups=GROUPS) == expected


def test_a_pipeline_passes_init_score_to_predict_and_score(routing):
    given = {"groups": GROUPS, "init_score": INIT_SCORE}
    with pytest.raises(ValueError, match="fit was given no init_score, but.*an init_"):
        clone(PIPELINE).fit(X, Y, groups=GROUPS).predict(X, init_score=INIT_SCORE)
    model = clone(PIPELINE).fit(X, Y, **given)
    for call in (
        lambda: model.predict(X),
        lambda: model.score(X, Y, groups=GROUPS),
        lambda: cross_validate(
            TREES, X, Y, cv=GroupKFold(3), params=given, error_score="raise",
            scoring=make_ranking_scorer().set_score_request(init_score=False),
        ),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="fit was given init_score, but.*no init_"):
            call()
    scores = by_hand(model, EVERYTHING, EVERYTHING, init_score=INIT_SCORE)
    assert model.score(X, Y, **given) == ndcg_at_10(Y, scores, groups=GROUPS)


# --- parallel jobs ----------------------------------------------------------------


@pytest.mark.slow
def test_two_jobs_find_the_same_numbers_and_raise_the_same_error_as_one(routing):
    def scores(ranker):
        model = model_of(ranker, "in a pipeline")
        search = GridSearchCV(
            model, grid_of(model), scoring=ALL, refit="map", cv=GroupKFold(3),
            error_score="raise",
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
            cross_val_score(
                Ridge(), X, Y, groups=GROUPS, scoring=SCORER, cv=folds(),
                error_score="raise",
            )  # fmt: skip


# --- inspection, selection, composition -------------------------------------------


def mean_ndcg_by_hand(model, columns):
    return np.mean(
        [
            ndcg_score(
                Y[test],
                by_hand(model, train, test, table=X[:, columns]),
                groups=GROUPS[test],
                k=5,
            )
            for train, test in folds()
        ]
    )


# one column is the same for all documents of a query
@pytest.mark.filterwarnings("ignore::sklearn_ltr.NothingLearnedWarning")
def test_selection_of_features(routing):
    model, given = quick(LambdaMARTRanker), {"cv": GroupKFold(3), "scoring": SCORER}
    every = list(range(X.shape[1]))
    importances = quick(LambdaMARTRanker).fit(X, Y, groups=GROUPS).feature_importances_
    kept = RFE(model, n_features_to_select=4).fit(X, Y, groups=GROUPS).support_
    assert np.flatnonzero(~kept).tolist() == [importances.argmin()]
    found = RFECV(model, **given).fit(X, Y, groups=GROUPS)
    reached = found.cv_results_["mean_test_score"][-1]  # of all features
    assert reached == mean_ndcg_by_hand(model, every)
    one = SequentialFeatureSelector(model, n_features_to_select=1, **given)
    one.fit(X, Y, groups=GROUPS)
    best = np.argmax([mean_ndcg_by_hand(model, [column]) for column in every])
    assert one.get_support(indices=True).tolist() == [best]


def test_permutation_test_score(routing):
    model = quick(LambdaMARTRanker)
    value, of_permutations, _ = permutation_test_score(
        model, X, Y, scoring=SCORER, cv=GroupKFold(3), n_permutations=3,
        params={"groups": GROUPS},
    )  # fmt: skip
    assert value == mean_ndcg_by_hand(model, list(range(X.shape[1])))
    assert np.isfinite(of_permutations).all()


@pytest.mark.parametrize("ensemble", [VotingRegressor, StackingRegressor])
def test_ensembles_of_regressors_refuse_rankers(routing, ensemble):
    """The scores of rankers have no common scale; a ranker is no regressor."""
    members = [("one", quick(LambdaMARTRanker)), ("other", Ridge())]
    with pytest.raises(ValueError, match="LambdaMARTRanker should be a regressor"):
        ensemble(members).fit(X, Y, groups=GROUPS)
    as_regressor = ScoreRegressor(quick(LambdaMARTRanker).fit(X, Y, groups=GROUPS))
    both = [("one", as_regressor), ("other", Ridge().fit(X, Y))]
    if ensemble is StackingRegressor:
        with pytest.raises(ValueError, match="use sklearn_ltr.ensemble.BlendedRanker"):
            ensemble(both).fit(X, Y)
    options = {} if ensemble is VotingRegressor else {"cv": "prefit"}
    assert ensemble(both, **options).fit(X, Y).predict(X).shape == Y.shape


@pytest.mark.parametrize(
    "loop",
    [
        partial(cross_val_score, error_score="raise", scoring="r2"),
        cross_val_predict,
    ],
    ids=["score", "predict"],
)
def test_a_fitted_ranker_as_a_regressor_is_not_cross_validated(loop):
    model = ScoreRegressor(quick(LambdaMARTRanker).fit(X, Y, groups=GROUPS))
    for estimator in (model, make_pipeline(StandardScaler(), model)):
        with pytest.raises(ValueError, match="no fold fits again"):
            loop(estimator, X, Y)
    assert make_pipeline(StandardScaler(), model).fit(X, Y).predict(X).shape == Y.shape


@pytest.mark.filterwarnings("ignore::sklearn_ltr.MissingGroupsWarning")
def test_with_routing_a_bag_of_regressors_cuts_the_queries_of_rankers(routing):
    bag = BaggingRegressor(quick(LambdaMARTRanker), 2, max_samples=0.5, random_state=0)
    bag.fit(X, Y, groups=GROUPS)
    for rows in bag.estimators_samples_:
        assert len(set(rows)) < np.isin(GROUPS, GROUPS[rows]).sum()
    with sklearn.config_context(enable_metadata_routing=False):
        with pytest.raises(ValueError, match="groups was not given|whole queries"):
            bag.fit(X, Y)
