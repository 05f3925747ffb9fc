"""A BlendedRanker does what the same steps do one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    RankNetRanker,
)
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BlendedRanker, best_blend
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import MAP, NDCG, ndcg_score
from sklearn_ltr.scorers import make_ranking_scorer

TREES = LambdaMARTRanker(
    n_estimators=4, max_leaf_nodes=4, min_samples_leaf=2, random_state=0
)
NETWORK = RankNetRanker(hidden_layer_sizes=(), max_iter=3, random_state=0)
PIPELINE = make_pipeline(StandardScaler(), clone(NETWORK))
RANKING = make_ranking(
    40,
    n_documents=8,
    n_features=5,
    n_informative=4,
    n_query_features=1,
    noise=1.0,
    random_state=0,
)
ROWS = np.random.default_rng(0).permutation(len(RANKING.target))
X, Y, GROUPS = RANKING.data[ROWS], RANKING.target[ROWS], RANKING.groups[ROWS]
METHODS = ["sweep", "lambdarank"]
every_method = pytest.mark.parametrize("method", METHODS)


def fit_alone(ranker, rows, **weights):
    """A ranker fitted to some rows, without a BlendedRanker."""
    model = clone(ranker)
    with sklearn.config_context(enable_metadata_routing=True):
        metadata = {} if isinstance(ranker, Ridge) else {"groups": GROUPS[rows]}
        if weights and not isinstance(ranker, Ridge):
            model.set_fit_request(sample_weight=True)
            metadata |= {name: values[rows] for name, values in weights.items()}
        return model.fit(X[rows], Y[rows], **metadata)


def held_out_scores(ranker, cv=None, **weights):
    scores = np.empty(len(Y))
    for train, test in (cv or GroupKFold(5)).split(X, Y, GROUPS):
        scores[test] = fit_alone(ranker, train, **weights).predict(X[test])
    return scores


def blend(*rankers, **options):
    return BlendedRanker(list(rankers or (TREES, NETWORK)), **options)


# --- the weights ------------------------------------------------------------------


@pytest.mark.parametrize(
    "rankers",
    [(TREES, PIPELINE), (NETWORK, Ridge())],
    ids=["ranker and pipeline", "ranker and regressor"],
)
def test_the_blend_is_the_best_of_held_out_scores(rankers):
    found = blend(*rankers, metric="map").fit(X, Y, groups=GROUPS)
    scores = [held_out_scores(ranker) for ranker in rankers]
    curve = best_blend(*scores, Y, groups=GROUPS, metric="map")
    assert found.weights_.tolist() == [curve.alpha, 1 - curve.alpha]
    assert found.blend_score_ == curve.value
    assert found.curve_.values.tobytes() == curve.values.tobytes()
    models = [fit_alone(ranker, np.arange(len(Y))) for ranker in rankers]
    scores = [model.predict(X) for model in models]
    expected = curve.alpha * scores[0] + (1 - curve.alpha) * scores[1]
    assert found.predict(X).tobytes() == expected.tobytes()
    assert found.score(X, Y, groups=GROUPS) == MAP()(Y, expected, groups=GROUPS)


def test_a_linear_lambdarank_learns_the_weights_of_standardised_scores():
    found = blend(method="lambdarank", random_state=3).fit(X, Y, groups=GROUPS)
    table = np.column_stack([held_out_scores(ranker) for ranker in (TREES, NETWORK)])
    learned = make_pipeline(
        StandardScaler(), LambdaRankRanker(hidden_layer_sizes=(), random_state=3)
    ).fit(table, Y, lambdarankranker__groups=GROUPS)
    scores = learned.predict(table)
    blended = table @ found.weights_
    assert np.corrcoef(scores, blended)[0, 1] == pytest.approx(1, abs=1e-9)
    assert np.abs(found.weights_).sum() == pytest.approx(1)
    assert found.blend_score_ == pytest.approx(
        ndcg_score(Y, scores, groups=GROUPS, k=10)
    )
    assert found.curve_ is None


def test_of_three_rankers_no_sweep_improves_the_blend():
    rankers = [TREES, NETWORK, Ridge(alpha=1e3)]
    found = blend(*rankers).fit(X, Y, groups=GROUPS)
    scores = [held_out_scores(ranker) for ranker in rankers]
    total = sum(w * each for w, each in zip(found.weights_, scores, strict=True))
    assert (found.weights_ >= 0).all()
    assert found.weights_.sum() == pytest.approx(1)
    assert found.blend_score_ == ndcg_score(Y, total, groups=GROUPS, k=10)
    for each in scores:
        curve = best_blend(total, each, Y, groups=GROUPS)
        assert curve.value <= found.blend_score_ + 1e-15
        assert ndcg_score(Y, each, groups=GROUPS, k=10) <= found.blend_score_
    assert found.curve_ is None


def test_a_third_ranker_that_returns_the_grades_gets_most_of_the_weight():
    noise = np.random.default_rng(0).normal(size=(2, len(Y)))
    table = np.column_stack([*noise, Y])
    rankers = [
        FrozenEstimator(
            make_pipeline(
                make_column_transformer(("passthrough", [m])),
                DecisionTreeRegressor(random_state=0),
            ).fit(table, table[:, m])
        )
        for m in range(3)
    ]
    found = blend(*rankers).fit(table, Y, groups=GROUPS)
    assert found.blend_score_ == ndcg_score(Y, Y, groups=GROUPS, k=10)
    assert found.weights_[2] > 0.5


@every_method
def test_sample_weights_are_used_by_the_rankers_and_for_the_blend(method):
    weights = np.where(GROUPS % 2, 9.0, 0.1)
    found = blend(method=method, random_state=0).fit(
        X, Y, groups=GROUPS, sample_weight=weights
    )
    scores = [
        held_out_scores(ranker, sample_weight=weights) for ranker in (TREES, NETWORK)
    ]
    metadata = {"groups": GROUPS, "sample_weight": weights}
    if method == "sweep":
        curve = best_blend(*scores, Y, **metadata)
        assert found.weights_[0] == curve.alpha
        assert found.blend_score_ == curve.value
    total = found.weights_[0] * scores[0] + found.weights_[1] * scores[1]
    assert found.blend_score_ == NDCG(10)(Y, total, **metadata)
    assert found.blend_score_ != NDCG(10)(Y, total, groups=GROUPS)
    alone = fit_alone(TREES, np.arange(len(Y)), sample_weight=weights)
    assert found.rankers_[0].predict(X).tobytes() == alone.predict(X).tobytes()


def test_regressors_are_fitted_with_weights():
    weights = np.where(GROUPS % 2 == 0, 3.0, 0.5)
    rankers = [Ridge(), MARTRegressor(n_estimators=2, random_state=0)]
    found = blend(*rankers, cv=2).fit(X, Y, groups=GROUPS, sample_weight=weights)
    for ranker, model in zip(rankers, found.rankers_, strict=True):
        expected = clone(ranker).fit(X, Y, sample_weight=weights).predict(X)
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)


def test_a_pipeline_must_say_which_steps_request_weights():
    weights = np.where(GROUPS % 2 == 0, 3.0, 0.5)
    metadata = {"groups": GROUPS, "sample_weight": weights}
    with pytest.raises(UnsetMetadataPassedError, match="for StandardScaler.fit"):
        blend(TREES, PIPELINE, cv=2).fit(X, Y, **metadata)
    pipelines = []
    with sklearn.config_context(enable_metadata_routing=True):
        for requests in (False, True):
            pipeline = make_pipeline(
                StandardScaler().set_fit_request(sample_weight=False),
                clone(NETWORK).set_fit_request(sample_weight=requests),
            )
            pipelines.append(pipeline)
    found = blend(*pipelines, cv=2).fit(X, Y, **metadata)
    scaled = StandardScaler().fit_transform(X)
    without = clone(NETWORK).fit(scaled, Y, groups=GROUPS).predict(scaled)
    with_weights = clone(NETWORK).fit(scaled, Y, **metadata).predict(scaled)
    assert (without != with_weights).any()
    np.testing.assert_array_equal(found.rankers_[0].predict(X), without)
    np.testing.assert_array_equal(found.rankers_[1].predict(X), with_weights)


# --- how queries are held out -----------------------------------------------------


def test_folds_are_a_number_a_splitter_or_splits():
    scores = [held_out_scores(ranker, GroupKFold(3)) for ranker in (TREES, NETWORK)]
    alpha = best_blend(*scores, Y, groups=GROUPS).alpha
    for cv in (3, GroupKFold(3), list(GroupKFold(3).split(X, Y, GROUPS))):
        assert blend(cv=cv).fit(X, Y, groups=GROUPS).weights_[0] == alpha


def test_all_rankers_have_the_same_folds_from_a_random_splitter():
    options = {"shuffle": True, "random_state": np.random.RandomState(5)}
    rows = np.argsort(GROUPS, kind="stable")  # each of 40 folds is then one query
    found = blend(TREES, TREES, cv=KFold(40, **options))
    with pytest.warns(UserWarning, match="groups parameter is ignored"):
        found.fit(X[rows], Y[rows], groups=GROUPS[rows])
    assert found.curve_.change_points.tolist() == []


def test_prefit_rankers_are_not_fitted_again():
    train, test = GROUPS % 2 == 0, GROUPS % 2 == 1
    models = [fit_alone(ranker, np.flatnonzero(train)) for ranker in (TREES, NETWORK)]
    found = BlendedRanker(models, cv="prefit").fit(
        X[test], Y[test], groups=GROUPS[test]
    )
    assert found.rankers_[0] is models[0]
    scores = [model.predict(X[test]) for model in models]
    curve = best_blend(*scores, Y[test], groups=GROUPS[test])
    assert found.weights_.tolist() == [curve.alpha, 1 - curve.alpha]


def test_frozen_rankers_are_not_fitted_again():
    models = [fit_alone(ranker, np.arange(len(Y))) for ranker in (TREES, NETWORK)]
    found = blend(*map(FrozenEstimator, models)).fit(X, Y, groups=GROUPS)
    prefit = blend(*models, cv="prefit").fit(X, Y, groups=GROUPS)
    assert found.weights_.tolist() == prefit.weights_.tolist()
    assert found.predict(X).tobytes() == prefit.predict(X).tobytes()


# --- as an estimator of scikit-learn ----------------------------------------------


def test_it_does_not_need_metadata_routing_and_does_not_change_the_setting():
    off = blend(TREES, PIPELINE).fit(X, Y, groups=GROUPS)
    assert not sklearn.get_config()["enable_metadata_routing"]
    with sklearn.config_context(enable_metadata_routing=True):
        on = blend(TREES, PIPELINE).fit(X, Y, groups=GROUPS)
    assert on.predict(X).tobytes() == off.predict(X).tobytes()


def test_a_grid_search_finds_the_scores_of_separate_fits():
    grid = {
        "method": METHODS,
        "rankers": [[TREES, NETWORK], [TREES, PIPELINE]],
    }
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            blend(cv=2, random_state=0), grid, scoring=make_ranking_scorer("ndcg@10"),
            cv=GroupKFold(2), error_score="raise",
        ).fit(X, Y, groups=GROUPS)  # fmt: skip
    for k, (train, test) in enumerate(GroupKFold(2).split(X, Y, GROUPS)):
        for i, setting in enumerate(search.cv_results_["params"]):
            model = blend(cv=2, random_state=0).set_params(**setting)
            model.fit(X[train], Y[train], groups=GROUPS[train])
            expected = ndcg_score(
                Y[test], model.predict(X[test]), groups=GROUPS[test], k=10
            )
            assert search.cv_results_[f"split{k}_test_score"][i] == expected


def test_n_jobs_changes_no_result():
    one = blend(TREES, PIPELINE).fit(X, Y, groups=GROUPS)
    two = blend(TREES, PIPELINE, n_jobs=2).fit(X, Y, groups=GROUPS)
    assert two.predict(X).tobytes() == one.predict(X).tobytes()
    with sklearn.config_context(enable_metadata_routing=True):
        scores = [
            cross_validate(
                blend(cv=2), X, Y, cv=GroupShuffleSplit(2, random_state=0),
                scoring=make_ranking_scorer("map"), params={"groups": GROUPS},
                n_jobs=n_jobs,
            )["test_score"].tolist()
            for n_jobs in (1, 2)
        ]  # fmt: skip
    assert scores[0] == scores[1]


def test_its_tags_allow_what_all_its_rankers_allow():
    tags = get_tags(blend(TREES, TREES))
    assert tags.estimator_type == "ranker"
    assert (tags.input_tags.allow_nan, tags.input_tags.sparse) == (True, True)
    assert not get_tags(blend(TREES, NETWORK)).input_tags.allow_nan
    stumps = clone(TREES).set_params(max_leaf_nodes=2)
    dense = blend(TREES, stumps).fit(X, Y, groups=GROUPS)
    sparse = blend(TREES, stumps).fit(csr_array(X), Y, groups=GROUPS)
    assert sparse.predict(csr_array(X)).tobytes() == dense.predict(X).tobytes()


def test_data_frames_with_text_are_passed_to_the_rankers_unchanged():
    table = pd.DataFrame(X, columns=list("abcde"))
    table["kind"] = np.where(X[:, 0] > 0, "news", "blog")
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["kind"]), remainder=StandardScaler()
    )
    rankers = [make_pipeline(encode, ranker) for ranker in (TREES, NETWORK)]
    model = blend(*rankers).fit(table, Y, groups=pd.Series(GROUPS).astype(str))
    assert model.feature_names_in_.tolist() == [*"abcde", "kind"]
    assert model.n_features_in_ == 6
    assert len(model.predict(table)) == len(Y)
    assert not hasattr(blend(), "n_features_in_")
    assert not hasattr(blend().fit(X, Y, groups=GROUPS), "feature_names_in_")


@pytest.mark.parametrize("method", [*METHODS, "equal"])
def test_the_order_of_the_rows_changes_no_bit(method):
    models = set()
    for seed in range(8):
        rows = np.random.default_rng(seed).permutation(len(Y))
        model = blend(method=method, random_state=0)
        model.fit(X[rows], Y[rows], groups=GROUPS[rows])
        models.add((model.weights_.tobytes(), model.predict(X).tobytes()))
    assert len(models) == 1


FOLDS = list(GroupKFold(3).split(X, Y, GROUPS))


@pytest.mark.parametrize("method", [*METHODS, "equal"])
@pytest.mark.parametrize("cv", [None, GroupKFold(3), FOLDS, "prefit"], ids=str)
def test_queries_of_weight_0_are_as_if_they_were_not_there(method, cv):
    kept = GROUPS % 4 > 0
    weights = np.where(kept, 1.0 + GROUPS % 3, 0.0)
    rankers, fewer = [clone(TREES), clone(NETWORK)], cv
    if cv == "prefit":
        rankers = [ranker.fit(X, Y, groups=GROUPS) for ranker in rankers]
    if cv is FOLDS:
        number = np.cumsum(kept) - 1
        fewer = [[number[of[kept[of]]] for of in fold] for fold in FOLDS]
    model = blend(*rankers, method=method, cv=cv, random_state=0)
    model.fit(X, Y, groups=GROUPS, sample_weight=weights)
    other = blend(*rankers, method=method, cv=fewer, random_state=0)
    other.fit(X[kept], Y[kept], groups=GROUPS[kept], sample_weight=weights[kept])
    assert model.weights_.tobytes() == other.weights_.tobytes()
    assert model.predict(X).tobytes() == other.predict(X).tobytes()
    assert model.blend_score_ == other.blend_score_


# --- equal weights ----------------------------------------------------------------


def test_with_equal_weights_all_scores_vary_as_much_within_queries():
    found = blend(TREES, PIPELINE, Ridge(), method="equal").fit(X, Y, groups=GROUPS)
    table = pd.DataFrame(
        [fit_alone(r, np.arange(len(Y))).predict(X) for r in (TREES, PIPELINE, Ridge())]
    ).T
    centred = table - table.groupby(GROUPS).transform("mean")
    weights = 1 / centred.std(ddof=0).to_numpy()
    np.testing.assert_allclose(found.weights_, weights / weights.sum(), rtol=1e-6)
    total = table.to_numpy() @ found.weights_
    np.testing.assert_allclose(found.predict(X), total, rtol=1e-6)
    assert found.blend_score_ == found.score(X, Y, groups=GROUPS)
    assert found.curve_ is None


def test_with_equal_weights_each_ranker_is_fitted_once_and_cv_is_not_used():
    class Counting(Ridge):
        fits = 0

        def fit(self, X, y):
            Counting.fits += 1
            return super().fit(X, y)

    blend(Counting(), Ridge(9), method="equal", cv=1000).fit(X, Y, groups=GROUPS)
    assert Counting.fits == 1
    models = [fit_alone(r, np.arange(len(Y))) for r in (TREES, NETWORK)]
    prefit = blend(*models, method="equal", cv="prefit").fit(X, Y, groups=GROUPS)
    fitted = blend(TREES, NETWORK, method="equal").fit(X, Y, groups=GROUPS)
    assert prefit.predict(X).tobytes() == fitted.predict(X).tobytes()


def test_a_ranker_without_an_order_has_no_equal_weight():
    constant = DummyRegressor()
    with pytest.raises(ValueError, match=r"rankers\[1\] gives all documents of a"):
        blend(Ridge(), constant, method="equal").fit(X, Y, groups=GROUPS)


# --- rankers with names -----------------------------------------------------------


def test_names_change_nothing_but_the_parameters():
    rankers = [("trees", clone(TREES)), ("network", clone(PIPELINE))]
    found = BlendedRanker(rankers).fit(X, Y, groups=GROUPS)
    expected = blend(TREES, PIPELINE).fit(X, Y, groups=GROUPS)
    assert found.predict(X).tobytes() == expected.predict(X).tobytes()
    assert get_tags(found).input_tags == get_tags(expected).input_tags
    params = found.get_params()
    assert params["trees"] is rankers[0][1]
    assert params["network__ranknetranker__max_iter"] == 3
    assert "trees" not in found.get_params(deep=False)
    assert clone(found).get_params()["trees__n_estimators"] == 4


def test_a_search_reaches_rankers_and_their_parameters_by_name():
    rankers = [("trees", clone(TREES)), ("other", Ridge())]
    grid = {"trees__max_leaf_nodes": [2, 3], "other": [Ridge(5), clone(NETWORK)]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(BlendedRanker(rankers, cv=2), grid, cv=GroupKFold(2))
        search.fit(X, Y, groups=GROUPS)
    assert len(search.cv_results_["params"]) == 4
    best = search.best_estimator_
    assert best.rankers[0][1].max_leaf_nodes in (2, 3)
    assert best.rankers[1][0] == "other"
    changed = BlendedRanker(rankers).set_params(rankers=[("a", Ridge()), ("b", TREES)])
    assert changed.set_params(a__alpha=3.0).rankers[0][1].alpha == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'trees'"):
        changed.set_params(trees__max_leaf_nodes=3)
