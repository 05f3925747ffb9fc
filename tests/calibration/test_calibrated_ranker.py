"""A CalibratedRanker ranks as its ranker, and its maps are those of held-out scores."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.calibration._maps import IsotonicMap, fit_isotonic, fit_sigmoid
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import NDCG
from sklearn_ltr.scorers import make_ranking_scorer
from tests.meta_estimators import GROUPS, WEIGHTS, Column, X, Y, held_out_scores
from tests.oracles import calibration as oracle

TREES = LambdaMARTRanker(
    n_estimators=4, max_leaf_nodes=4, min_samples_leaf=2, random_state=0
)
NETWORK = RankNetRanker(hidden_layer_sizes=(), max_iter=3, random_state=0)
METHODS = ("isotonic", "sigmoid", "query_isotonic")
every_method = pytest.mark.parametrize("method", METHODS)


def fitted(ranker=TREES, **options):
    weight = options.pop("sample_weight", None)
    model = CalibratedRanker(ranker, **options)
    return model.fit(X, Y, groups=GROUPS, sample_weight=weight)


# --- the maps ---------------------------------------------------------------------


@st.composite
def samples(draw):
    n = draw(st.integers(1, 12))
    scores = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    reached = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    weight = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n))
    return np.array(scores) / 3, np.array(reached), np.array(weight)


@settings(max_examples=60, deadline=None)
@given(samples(), st.sampled_from([0, 200, -200]))
def test_an_isotonic_map_is_the_regression_joined_by_lines(sample, exponent):
    scores, reached, weight = sample
    points, values = oracle.isotonic_points(*sample)
    found = fit_isotonic(np.ldexp(scores, exponent), reached, weight)
    new = np.linspace(-2, 2, 23)
    expected = [oracle.joined(points, values, score) for score in new]
    probabilities = found(np.ldexp(new, exponent))
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-12)
    assert (np.diff(probabilities) >= 0).all()
    assert probabilities.min() >= 0 and probabilities.max() <= 1


@settings(max_examples=30, deadline=None)
@given(samples())
@example((np.ones(3), np.zeros(3, dtype=bool), np.full(3, 0.5)))
def test_a_sigmoid_is_the_best_for_platts_targets(sample):
    scores, reached, weight = sample
    slope, intercept = oracle.sigmoid(*sample)
    found = fit_sigmoid(*sample)
    if slope < -1e-6:  # scores that are worse than none: the best constant
        assert found.slope == 0.0
        slope, intercept = 0.0, oracle.sigmoid(0 * scores, reached, weight)[1]
    expected = expit(slope * scores + intercept)
    np.testing.assert_allclose(found(scores), expected, rtol=0, atol=1e-5)
    for other in (1e30 * scores, scores + 2.0**30):
        moved = fit_sigmoid(other, reached, weight)
        np.testing.assert_allclose(moved(other), found(scores), atol=1e-6)


def test_lines_between_close_points_never_fall():
    rng = np.random.default_rng(0)
    scores = np.sort(rng.normal(size=300))
    found = fit_isotonic(scores, rng.random(300) < expit(scores), np.ones(300))
    near = np.concatenate([np.nextafter(found.scores, s) for s in (-9, 0, 9)])
    near = np.sort(np.concatenate((near, found.scores, rng.normal(size=5000))))
    assert (np.diff(found(near)) >= 0).all()
    reference = IsotonicRegression(out_of_bounds="clip")
    reference.fit(found.scores, found.probabilities)
    np.testing.assert_allclose(found(near), reference.predict(near), atol=1e-9)


def test_a_rounded_line_ends_below_its_right_point():
    scores, probabilities = np.array([-1.07, -0.16]), np.array([0.44, 0.93])
    left_of_end = np.nextafter(-0.16, -9)
    assert np.interp(left_of_end, scores, probabilities) > 0.93
    assert IsotonicMap(scores, probabilities)(left_of_end) == 0.93


@pytest.mark.parametrize("ranker", [TREES, NETWORK])
@pytest.mark.parametrize("weights", [{}, {"sample_weight": WEIGHTS}])
def test_maps_are_fitted_to_scores_of_held_out_queries(ranker, weights):
    found = fitted(ranker, **weights)
    scores = held_out_scores(ranker, **weights)
    assert found.grades_.tolist() == np.unique(Y).tolist()
    assert len(found.maps_) == len(found.grades_) - 1
    weight = weights.get("sample_weight", np.ones(len(Y)))
    for grade, score_map in zip(found.grades_[1:], found.maps_, strict=True):
        points, values = oracle.isotonic_points(scores, grade <= Y, weight)
        expected = [oracle.joined(points, values, score) for score in scores]
        np.testing.assert_allclose(score_map(scores), expected, atol=1e-9)
    sigmoids = fitted(ranker, method="sigmoid", **weights)
    for grade, score_map in zip(found.grades_[1:], sigmoids.maps_, strict=True):
        expected = oracle.sigmoid(scores, grade <= Y, weight)
        intercept = score_map.intercept - score_map.slope * score_map.center
        found_ = score_map.slope, intercept
        np.testing.assert_allclose(found_, expected, rtol=1e-3, atol=1e-4)


# --- what is predicted ------------------------------------------------------------


RANKERS = {
    "trees": TREES,
    "network": NETWORK,
    "pipeline": make_pipeline(StandardScaler(), clone(NETWORK)),
    "regressor": Ridge(),
    "bag": BaggingRanker(TREES, 2, random_state=0),
    "blend": BlendedRanker([TREES, Ridge()]),
    "on grades": LambdaMARTRanker(
        n_estimators=3, min_samples_leaf=2, random_state=0,
        init=MARTRegressor(n_estimators=3, min_samples_leaf=2, random_state=0),
    ),
}  # fmt: skip


@every_method
@pytest.mark.parametrize("name", RANKERS)
def test_it_ranks_as_its_ranker_bit_for_bit(name, method):
    found = fitted(RANKERS[name], method=method, cv=2)
    with sklearn.config_context(enable_metadata_routing=True):
        by_group = {} if name == "regressor" else {"groups": GROUPS}
        alone = clone(RANKERS[name]).fit(X, Y, **by_group)
    scores = found.predict(X)
    assert scores.tobytes() == alone.predict(X).tobytes()
    assert found.score(X, Y, groups=GROUPS) == NDCG(10)(Y, scores, groups=GROUPS)
    grades = found.predict_grade(X, groups=GROUPS)
    relevance = found.predict_relevance(X, groups=GROUPS)
    for values in (grades, relevance):
        assert values.dtype == np.float64
        for query in np.unique(GROUPS):
            order = np.argsort(scores[query == GROUPS], kind="stable")
            assert (np.diff(values[query == GROUPS][order]) >= 0).all()
    assert grades.min() >= Y.min() and grades.max() <= Y.max()
    assert 0 <= relevance.min() < relevance.max() <= 1


@every_method
def test_the_expected_grade_is_that_of_the_probabilities(method):
    target = np.choose(Y, [0.5, 1, 2.5, 3, 7])
    found = CalibratedRanker(TREES, method=method).fit(X, target, groups=GROUPS)
    scores = found.predict(X)
    means = pd.Series(scores).groupby(GROUPS).transform("mean").to_numpy()
    assert found.mean_weights_.any() == (method == "query_isotonic")
    reached = [
        score_map(scores + mean_weight * means)
        for mean_weight, score_map in zip(found.mean_weights_, found.maps_, strict=True)
    ]
    lowest = np.minimum.accumulate(reached)
    for grade, k in ((0, None), (0.5, None), (0.6, 0), (1, 0), (2, 1), (3, 2), (7, 3)):
        expected = np.ones(len(Y)) if k is None else lowest[k]
        relevance = found.predict_relevance(X, groups=GROUPS, grade=grade)
        np.testing.assert_allclose(relevance, expected, rtol=0, atol=1e-9)
    with pytest.raises(
        ValueError, match="grade=7.1 is above the highest grade of fit, "
    ):
        found.predict_relevance(X, groups=GROUPS, grade=7.1)
    probability = -np.diff(lowest, axis=0, prepend=1, append=0)
    assert (probability >= 0).all()
    expected = found.grades_ @ probability
    grades = found.predict_grade(X, groups=GROUPS)
    np.testing.assert_allclose(grades, expected, rtol=1e-9)
    relevance = found.predict_relevance(X, groups=GROUPS)
    first = found.predict_relevance(X, groups=GROUPS, grade=1.0)
    np.testing.assert_array_equal(relevance, first)


def test_sigmoids_that_cross_keep_better_grades_less_probable():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(400, 1))
    # the best grade is at random, so its sigmoid is flat and crosses the others below
    y = np.where(rng.random(400) < 0.3, 2, table[:, 0] > 0)
    found = CalibratedRanker(Column(), method="sigmoid", cv=2)
    found.fit(table, y, groups=np.arange(400) // 10)
    one, two = (score_map(table[:, 0]) for score_map in found.maps_)
    assert (two > one).any() or found.maps_[1].slope < found.maps_[0].slope
    far = np.array([[-50.0], [50.0]])
    first, second = (found.predict_relevance(far, grade=g) for g in (1, 2))
    assert (second <= first).all()
    assert found.maps_[1](far[:, 0])[0] > found.maps_[0](far[:, 0])[0]


@every_method
def test_of_documents_of_like_predictions_as_many_are_relevant(method):
    """Scores in other units, and a curve that is no sigmoid only for isotonic maps."""
    rng = np.random.default_rng(1)
    score = rng.normal(size=(20_000, 1))
    chance = expit(2 * score[:, 0] - 1)
    y = (rng.random(20_000) < chance).astype(int)
    groups = np.arange(20_000) // 10
    table = 1e4 * score + 7
    model = CalibratedRanker(Column(), method=method, cv=2)
    model.fit(table, y, groups=groups)
    found = model.predict_relevance(table, groups=groups)
    assert np.abs(found - chance).mean() < 0.02
    np.testing.assert_array_equal(model.predict_grade(table, groups=groups), found)


def test_queries_of_equal_means_have_no_mean_weight():
    table = np.tile([[0.3], [-0.1], [-0.2]], (60, 1))
    table = np.vstack((table, table[:2] - 0.1, [[0.0]]))  # means of 0, but for rounding
    y, groups = table[:, 0] > 0, np.arange(183) // 3
    found = CalibratedRanker(Column(), method="query_isotonic")
    found.fit(table, y, groups=groups)
    assert abs(found.mean_weights_[0]) < 2
    assert len(found.predict_grade(table, groups=groups)) == 183


def test_grades_that_add_up_to_more_by_rounding_stay_within_the_grades():
    grades = np.array([0.3, 0.6, 1.7, 1.8, 1.9, 2.1])
    y = np.repeat(grades, 20)
    found = CalibratedRanker(Column(), cv=2)
    found.fit(y[:, np.newaxis], y, groups=np.arange(120) % 10)
    assert found.predict_grade([[0.0], [9.0]]).tolist() == [0.3, 2.1]


@every_method
def test_of_a_ranker_that_errs_grades_do_not_rise_where_scores_fall(method):
    found = CalibratedRanker(Column(), method=method, cv=2)
    found.fit(-Y[:, np.newaxis] + X[:, :1] / 9, Y, groups=GROUPS)
    grades = found.predict_grade(np.linspace(-4, 0, 50)[:, np.newaxis])
    np.testing.assert_allclose(grades, Y.mean(), atol=0.1)
    assert (np.diff(grades) >= 0).all()
    assert not found.mean_weights_.any()


def test_one_grade_alone_is_predicted_for_all():
    found = CalibratedRanker(Ridge()).fit(X, np.full(len(Y), 2), groups=GROUPS)
    assert found.maps_ == []
    assert (found.predict_grade(X) == 2).all()
    assert (found.predict_relevance(X) == 1).all()
    with pytest.raises(ValueError, match="grade=3 is above the highest grade of fit, "):
        found.predict_relevance(X, grade=3)


@every_method
def test_a_ranker_of_no_order_predicts_the_mean(method):
    found = CalibratedRanker(Column(), method=method)
    found.fit(np.ones((len(Y), 1)), Y, groups=GROUPS)
    share = (Y >= 1).mean()
    tolerance = 0.01 if method == "sigmoid" else 1e-12  # Platt's targets
    assert found.predict_relevance([[1.0], [5.0]]) == pytest.approx(
        share, abs=tolerance
    )


# --- as an estimator of scikit-learn ----------------------------------------------


def grades_of(model, rows=slice(None)):
    return model.predict_grade(X[rows], groups=GROUPS[rows])


@every_method
def test_neither_the_order_of_rows_nor_jobs_nor_routing_change_a_bit(method):
    expected = grades_of(fitted(method=method))
    rows = np.random.default_rng(0).permutation(len(Y))
    model = CalibratedRanker(TREES, method=method)
    model.fit(X[rows], Y[rows], groups=GROUPS[rows])
    assert grades_of(model).tobytes() == expected.tobytes()
    assert grades_of(model, rows).tobytes() == expected[rows].tobytes()
    assert grades_of(fitted(method=method, n_jobs=2)).tobytes() == expected.tobytes()
    with sklearn.config_context(enable_metadata_routing=True):
        assert grades_of(fitted(method=method)).tobytes() == expected.tobytes()
    copy = pickle.loads(pickle.dumps(fitted(method=method)))
    copy.set_params(method="isotonic" if method == "sigmoid" else "sigmoid")
    assert grades_of(copy).tobytes() == expected.tobytes()
    part = GROUPS < 7
    assert grades_of(copy, part).tobytes() == expected[part].tobytes()


@every_method
def test_scaled_weights_and_queries_of_weight_0_change_nothing(method):
    kept = GROUPS % 4 > 0
    found = fitted(method=method, sample_weight=np.where(kept, 1.0, 0.0))
    expected = CalibratedRanker(TREES, method=method)
    expected.fit(X[kept], Y[kept], groups=GROUPS[kept])
    assert grades_of(found).tobytes() == grades_of(expected).tobytes()
    scaled, whole = (
        fitted(Column(), method=method, sample_weight=factor * WEIGHTS)
        for factor in (2.0**-20, 1.0)
    )
    assert grades_of(scaled).tobytes() == grades_of(whole).tobytes()
    assert grades_of(whole).tobytes() != grades_of(fitted(Column())).tobytes()


def test_the_mean_of_a_query_counts_as_much_as_it_tells():
    rng = np.random.default_rng(0)
    groups = np.arange(40_000) // 20
    level = rng.normal(size=2000)[groups]
    table = np.column_stack((rng.normal(size=40_000), level))
    table[:, 0] += level  # of a document and of its query, in one score
    chance = expit(2 * (table[:, 0] - level) + 6 * level - 1)  # 2 s + 4 level - 1
    y = (rng.random(40_000) < chance).astype(int)
    plain, by_query = (
        CalibratedRanker(Column(), method=method, cv=2).fit(table, y, groups=groups)
        for method in ("isotonic", "query_isotonic")
    )
    assert by_query.mean_weights_[0] == pytest.approx(2, rel=0.15)
    found = by_query.predict_relevance(table, groups=groups)
    assert np.abs(found - chance).mean() < 0.06
    assert np.abs(plain.predict_relevance(table) - chance).mean() > 0.1
    # a query alone, and one of equal scores everywhere
    rows = groups == 3
    np.testing.assert_array_equal(by_query.predict_relevance(table[rows]), found[rows])
    with pytest.raises(ValueError, match="groups was not given"):
        by_query.predict_grade(table)


def test_folds_are_a_number_a_splitter_or_splits():
    folds = list(GroupKFold(3).split(X, Y, GROUPS))
    found = {
        fitted(cv=cv).predict_grade(X).tobytes() for cv in (3, GroupKFold(3), folds)
    }
    assert len(found) == 1
    assert fitted().predict_grade(X).tobytes() not in found


def test_prefit_and_frozen_rankers_are_not_fitted_again():
    train, test = np.flatnonzero(GROUPS % 2 == 0), np.flatnonzero(GROUPS % 2)
    ranker = clone(TREES).fit(X[train], Y[train], groups=GROUPS[train])
    data = {"X": X[test], "y": Y[test], "groups": GROUPS[test]}
    found = CalibratedRanker(ranker, cv="prefit").fit(**data)
    assert found.ranker_ is ranker
    points, values = oracle.isotonic_points(
        ranker.predict(X[test]), Y[test] >= 1, np.ones(len(test))
    )
    expected = [oracle.joined(points, values, score) for score in ranker.predict(X)]
    np.testing.assert_allclose(found.predict_relevance(X), expected, atol=1e-9)
    frozen = CalibratedRanker(FrozenEstimator(ranker)).fit(**data)
    assert frozen.predict_grade(X).tobytes() == found.predict_grade(X).tobytes()


def test_sparse_tables_and_data_frames_give_the_same():
    expected = fitted().predict_grade(X).tobytes()
    names = list("abcde")
    for table in (csr_array(X), pd.DataFrame(X, columns=names)):
        model = CalibratedRanker(TREES).fit(
            table, pd.Series(Y), groups=pd.Series(GROUPS)
        )
        assert model.predict_grade(table).tobytes() == expected
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == 5
    assert not hasattr(CalibratedRanker(), "n_features_in_")
    assert found_shapes(model, pd.DataFrame(X[:0], columns=names)) == {(0,)}
    with pytest.raises(ValueError, match="groups has 3 values for 320 rows"):
        model.predict_grade(pd.DataFrame(X, columns=names), groups=[1, 2, 3])


def found_shapes(model, table):
    methods = model.predict, model.predict_grade, model.predict_relevance
    return {method(table).shape for method in methods}


def test_its_tags_are_those_of_the_ranker():
    tags = get_tags(CalibratedRanker())
    assert tags.estimator_type == "ranker"
    assert (tags.input_tags.allow_nan, tags.input_tags.sparse) == (True, True)
    assert not get_tags(CalibratedRanker(NETWORK)).input_tags.allow_nan


def test_columns_go_to_the_ranker():
    positions = pd.Series(X[:, 0]).groupby(GROUPS).rank().to_numpy().astype(int) - 1
    biased = clone(TREES).set_params(position_bias="pairwise")
    columns = {"groups": GROUPS, "positions": positions}
    found = CalibratedRanker(biased).fit(X, Y, **columns)
    alone = clone(biased).fit(X, Y, **columns)
    assert found.predict(X).tobytes() == alone.predict(X).tobytes()
    assert found.predict(X).tobytes() != fitted().predict(X).tobytes()
    for ranker, options in ((alone, {"cv": "prefit"}), (Ridge(), {})):
        with pytest.raises(ValueError, match="positions was given, but no member"):
            CalibratedRanker(ranker, **options).fit(X, Y, **columns)


def test_a_search_reaches_the_parameters_of_the_ranker():
    model = CalibratedRanker(TREES, cv=2)
    grid = {"ranker__learning_rate": [0.05, 0.5], "method": METHODS}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            model, grid, cv=GroupKFold(2), scoring=make_ranking_scorer("ndcg@10"),
            error_score="raise",
        ).fit(X, Y, groups=GROUPS)  # fmt: skip
        pipeline = make_pipeline(StandardScaler(), clone(model))
        pipeline.fit(X, Y, groups=GROUPS)
    train, test = next(GroupKFold(2).split(X, Y, GROUPS))
    for i, setting in enumerate(search.cv_results_["params"]):
        alone = clone(TREES).set_params(learning_rate=setting["ranker__learning_rate"])
        alone.fit(X[train], Y[train], groups=GROUPS[train])
        expected = NDCG(10)(Y[test], alone.predict(X[test]), groups=GROUPS[test])
        assert search.cv_results_["split0_test_score"][i] == expected
    best = search.best_estimator_
    assert len(best.predict_grade(X)) == len(Y)
    scaled = pipeline[:-1].transform(X)
    assert pipeline.predict(X).tobytes() == pipeline[-1].predict(scaled).tobytes()


def test_without_a_ranker_it_is_lambdamart():
    found = CalibratedRanker().fit(X, Y, groups=GROUPS)
    assert type(found.ranker_) is LambdaMARTRanker
    assert found.ranker_.get_params() == LambdaMARTRanker().get_params()
