"""A BaggingRanker does what fitting and averaging its members one by one does."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_regressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr._rankers.reading import draw_held_out
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.scorers import make_ranking_scorer

TREES = LambdaMARTRanker(n_estimators=6, max_leaf_nodes=4, min_samples_leaf=2)
NETWORK = RankNetRanker(hidden_layer_sizes=(3,), max_iter=3)
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
LABELS = np.unique(GROUPS)


def bag(estimator=TREES, n_estimators=3, **options):
    return BaggingRanker(estimator, n_estimators, random_state=0, **options)


def fit_alone(member, drawn, weights=None):
    """Fit a clone of a member to the queries drawn, one after the other."""
    rows = [np.flatnonzero(GROUPS == LABELS[query]) for query in drawn]
    groups = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    rows = np.concatenate(rows)
    given = {} if weights is None else {"sample_weight": weights[rows]}
    if not is_regressor(member):
        given["groups"] = groups
    with sklearn.config_context(enable_metadata_routing=True):
        return clone(member).fit(X[rows], Y[rows], **given)


# --- the members ------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [TREES, NETWORK, PIPELINE, Ridge()])
@pytest.mark.parametrize(
    "options",
    [{}, {"max_samples": 0.5}, {"max_samples": 7}, {"bootstrap": True}],
    ids=str,
)
def test_scores_are_the_mean_of_members_fitted_to_the_queries_drawn(estimator, options):
    ranker = bag(estimator, **options).fit(X, Y, groups=GROUPS)
    total = np.zeros(len(X))
    for member, drawn in zip(
        ranker.estimators_, ranker.estimators_queries_, strict=True
    ):
        total += fit_alone(member, drawn).predict(X)
    np.testing.assert_allclose(ranker.predict(X), total / 3, rtol=1e-10)
    assert ranker.score(X, Y, groups=GROUPS) == NDCG(10)(Y, total / 3, groups=GROUPS)


def test_how_many_queries_are_drawn():
    def drawn(**options):
        fitted = bag(**options).fit(X, Y, groups=GROUPS).estimators_queries_
        assert all((np.diff(queries) >= 0).all() for queries in fitted)
        return fitted

    assert [queries.tolist() for queries in drawn()] == 3 * [list(range(40))]
    for options, size in (({"max_samples": 0.33}, 13), ({"max_samples": 7}, 7)):
        members = drawn(**options)
        assert all(len(queries) == size for queries in members)
        assert all(len(np.unique(queries)) == size for queries in members)
        assert not np.array_equal(*members[:2])
    for queries in drawn(bootstrap=True):
        assert len(queries) == 40
        assert 15 < len(np.unique(queries)) < 36
    assert len(drawn(bootstrap=True, max_samples=0.5)[0]) == 20


def test_members_differ_by_their_seeds_also_within_a_pipeline():
    for estimator in (TREES, PIPELINE):
        members = bag(estimator).fit(X, Y, groups=GROUPS).estimators_
        scores = {member.predict(X).tobytes() for member in members}
        assert len(scores) == 3
    seeds = [m.random_state for m in bag().fit(X, Y, groups=GROUPS).estimators_]
    assert len(set(seeds)) == 3
    assert TREES.random_state is None


def test_more_members_keep_the_first_ones():
    few = bag(n_estimators=2, bootstrap=True).fit(X, Y, groups=GROUPS)
    many = bag(n_estimators=4, bootstrap=True).fit(X, Y, groups=GROUPS)
    for one, other in zip(few.estimators_, many.estimators_[:2], strict=True):
        assert one.predict(X).tobytes() == other.predict(X).tobytes()


def test_without_an_estimator_members_are_default_lambdamarts():
    ranker = BaggingRanker(n_estimators=1, random_state=0).fit(X, Y, groups=GROUPS)
    (member,) = ranker.estimators_
    seed = {"random_state": member.random_state}
    assert member.get_params() == LambdaMARTRanker(**seed).get_params()


@pytest.mark.parametrize(
    "estimator", [TREES, Ridge(), MARTRegressor(n_estimators=3, min_samples_leaf=5)]
)
def test_weights_go_to_the_members_and_to_the_estimate(estimator):
    weights = np.where(GROUPS % 3, 4.0, 0.5)
    ranker = bag(estimator, bootstrap=True, oob_score=True)
    ranker.fit(X, Y, groups=GROUPS, sample_weight=weights)
    drawn = ranker.estimators_queries_[0]
    expected = fit_alone(ranker.estimators_[0], drawn, weights).predict(X)
    assert ranker.estimators_[0].predict(X).tobytes() == expected.tobytes()
    known = ~np.isnan(ranker.oob_per_query_)
    of_query = np.where(LABELS % 3, 4.0, 0.5)[known]
    mean = np.average(ranker.oob_per_query_[known], weights=of_query)
    assert ranker.oob_score_ == pytest.approx(mean, rel=1e-12)


def test_a_pipeline_must_say_which_steps_request_weights():
    weights = np.where(GROUPS % 3, 4.0, 0.5)
    with pytest.raises(UnsetMetadataPassedError, match="for StandardScaler.fit"):
        bag(PIPELINE).fit(X, Y, groups=GROUPS, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            clone(NETWORK).set_fit_request(sample_weight=True),
        )
    ranker = bag(pipeline).fit(X, Y, groups=GROUPS, sample_weight=weights)
    expected = fit_alone(ranker.estimators_[0], range(40), weights).predict(X)
    np.testing.assert_allclose(ranker.estimators_[0].predict(X), expected, rtol=1e-9)
    assert not np.array_equal(
        expected, fit_alone(ranker.estimators_[0], range(40)).predict(X)
    )


def test_members_stop_early_on_the_validation_data():
    part = GROUPS < 30
    given = {"X_val": X[~part], "y_val": Y[~part], "groups_val": GROUPS[~part]}
    trees = clone(TREES).set_params(n_estimators=60, n_iter_no_change=3)
    ranker = bag(trees).fit(X[part], Y[part], groups=GROUPS[part], **given)
    for member in ranker.estimators_:
        assert len(member.validation_score_) < 61
        alone = clone(member).fit(X[part], Y[part], groups=GROUPS[part], **given)
        assert alone.predict(X).tobytes() == member.predict(X).tobytes()


def test_a_pipeline_must_transform_the_validation_data():
    part = GROUPS < 30
    given = {"X_val": X[~part], "y_val": Y[~part], "groups_val": GROUPS[~part]}
    data = X[part], Y[part]
    with pytest.raises(ValueError, match=r'give the Pipeline transform_input=\["X_val'):
        bag(PIPELINE).fit(*data, groups=GROUPS[part], **given)
    transforming = clone(PIPELINE).set_params(transform_input=["X_val"])
    member = bag(transforming).fit(*data, groups=GROUPS[part], **given).estimators_[0]
    scaler = StandardScaler().fit(X[part])
    given["X_val"] = scaler.transform(X[~part])
    alone = clone(member[-1]).fit(
        scaler.transform(X[part]), Y[part], groups=GROUPS[part], **given
    )
    np.testing.assert_array_equal(alone.validation_score_, member[-1].validation_score_)


class EarlyStopping(Ridge):
    """A regressor that holds out rows, and remembers those that it was given."""

    def __init__(self, alpha=1.0, early_stopping=True, random_state=None):
        super().__init__(alpha)
        self.early_stopping = early_stopping
        self.random_state = random_state
        self.validation_fraction = 0.3

    def fit(self, X, y, X_val=None, y_val=None):
        self.learned, self.held_out = X, X_val
        return super().fit(X, y)


@pytest.mark.parametrize("frame", [False, True], ids=["array", "frame"])
def test_of_a_query_that_is_drawn_twice_both_copies_are_held_out(frame):
    table = pd.DataFrame(X) if frame else X
    ranker = bag(EarlyStopping(), bootstrap=True).fit(table, Y, groups=GROUPS)
    for member, drawn in zip(
        ranker.estimators_, ranker.estimators_queries_, strict=True
    ):
        learned = {row.tobytes() for row in np.asarray(member.learned)}
        held_out = [row.tobytes() for row in np.asarray(member.held_out)]
        assert learned.isdisjoint(held_out)
        of_drawn = X[np.isin(GROUPS, LABELS[drawn])]
        assert learned | set(held_out) == {row.tobytes() for row in of_drawn}
        query_of = {row.tobytes(): g for row, g in zip(X, GROUPS, strict=True)}
        n_held_out = len({query_of[row] for row in held_out})
        assert n_held_out == round(0.3 * len(np.unique(drawn)))
    plain = bag(EarlyStopping()).fit(X, Y, groups=GROUPS)
    assert plain.estimators_[0].held_out is None


@pytest.mark.parametrize("estimator", [TREES, NETWORK], ids=["trees", "network"])
def test_a_member_stops_early_by_queries_that_it_does_not_learn(estimator):
    stopped = clone(estimator).set_params(early_stopping=True, validation_fraction=0.5)
    ranker = bag(stopped, bootstrap=True).fit(X, Y, groups=GROUPS)
    for member, drawn in zip(
        ranker.estimators_, ranker.estimators_queries_, strict=True
    ):
        originals = np.unique(drawn)
        held_out = draw_held_out(len(originals), 0.5, member.random_state)
        learned = [query for query in drawn if query in originals[~held_out]]
        rows = np.isin(GROUPS, LABELS[originals[held_out]])
        parts = [np.flatnonzero(GROUPS == LABELS[query]) for query in learned]
        alone = clone(member).fit(
            X[np.concatenate(parts)],
            Y[np.concatenate(parts)],
            groups=np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
            X_val=X[rows],
            y_val=Y[rows],
            groups_val=GROUPS[rows],
        )
        assert alone.predict(X).tobytes() == member.predict(X).tobytes()
        np.testing.assert_array_equal(alone.validation_score_, member.validation_score_)


def test_a_bootstrap_of_members_that_hold_out_rows_of_their_own_is_refused():
    pipeline = clone(PIPELINE).set_params(ranknetranker__early_stopping=True)
    with pytest.raises(ValueError, match=r"a Pipeline, holds out .* bootstrap=False"):
        bag(pipeline, bootstrap=True).fit(X, Y, groups=GROUPS)
    bag(pipeline, max_samples=0.63).fit(X, Y, groups=GROUPS)


# --- what does not change the model -----------------------------------------------


@pytest.mark.parametrize("estimator", [TREES, PIPELINE])
def test_the_model_is_the_same_for_any_order_of_queries_and_number_of_jobs(estimator):
    options = {"bootstrap": True, "oob_score": True}
    ranker = bag(estimator, **options).fit(X, Y, groups=GROUPS)
    parallel = bag(estimator, n_jobs=2, **options).fit(X, Y, groups=GROUPS)
    order = np.argsort(GROUPS[::-1], kind="stable")[::-1]
    order = len(X) - 1 - order  # the queries in descending order, rows as they were
    shuffled = bag(estimator, **options)
    shuffled.fit(X[order], Y[order], groups=GROUPS[order])
    for other in (parallel, shuffled):
        assert other.predict(X).tobytes() == ranker.predict(X).tobytes()
        assert other.oob_score_ == ranker.oob_score_
    with joblib.parallel_config("loky", n_jobs=2):
        processes = bag(estimator, **options).fit(X, Y, groups=GROUPS)
    assert processes.predict(X).tobytes() == ranker.predict(X).tobytes()


@pytest.mark.parametrize("estimator", [TREES, PIPELINE, Ridge()])
@pytest.mark.parametrize(
    "options", [{}, {"bootstrap": True}, {"max_samples": 0.5}], ids=str
)
@pytest.mark.parametrize("groups", [GROUPS, [f"q{g:03}" for g in GROUPS]])
def test_queries_of_weight_0_are_as_if_they_were_not_there(estimator, options, groups):
    kept = GROUPS % 4 > 0
    weights = np.where(kept, 1.0 + GROUPS % 3, 0.0)
    if estimator is PIPELINE:
        estimator = make_pipeline(clone(NETWORK))
        with sklearn.config_context(enable_metadata_routing=True):
            estimator[-1].set_fit_request(sample_weight=True)
    options = options | {"oob_score": options != {}}
    ranker = bag(estimator, **options).fit(X, Y, groups=groups, sample_weight=weights)
    other = bag(estimator, **options).fit(
        X[kept],
        Y[kept],
        groups=np.asarray(groups)[kept],
        sample_weight=weights[kept],
    )
    assert ranker.predict(X).tobytes() == other.predict(X).tobytes()
    of_kept = np.flatnonzero(LABELS % 4 > 0)
    for drawn, expected in zip(
        ranker.estimators_queries_, other.estimators_queries_, strict=True
    ):
        np.testing.assert_array_equal(drawn, of_kept[expected])
    if options["oob_score"]:
        assert ranker.oob_score_ == other.oob_score_
        np.testing.assert_array_equal(
            ranker.oob_prediction_[kept], other.oob_prediction_
        )
        assert np.isnan(ranker.oob_prediction_[~kept]).all()
        np.testing.assert_array_equal(
            ranker.oob_per_query_[of_kept], other.oob_per_query_
        )
        assert np.isnan(np.delete(ranker.oob_per_query_, of_kept)).all()


# --- the out-of-bag estimate ------------------------------------------------------


@pytest.mark.parametrize("options", [{"bootstrap": True}, {"max_samples": 0.8}])
def test_a_query_is_scored_by_the_members_that_were_not_trained_on_it(options):
    ranker = bag(oob_score=True, metric="map", n_estimators=4, **options)
    ranker.fit(X, Y, groups=GROUPS)
    prediction, per_query = np.full(len(X), np.nan), np.full(40, np.nan)
    for query, label in enumerate(LABELS):
        rows = GROUPS == label
        others = [
            member.predict(X[rows])
            for member, drawn in zip(
                ranker.estimators_, ranker.estimators_queries_, strict=True
            )
            if query not in drawn
        ]
        if others:
            prediction[rows] = sum(others) / len(others)
            per_query[query] = MAP()(
                Y[rows], prediction[rows], groups=np.zeros(rows.sum())
            )
    assert np.isnan(per_query).any()
    np.testing.assert_array_equal(ranker.oob_prediction_, prediction)
    np.testing.assert_allclose(ranker.oob_per_query_, per_query, rtol=1e-12)
    assert ranker.oob_score_ == pytest.approx(np.nanmean(per_query), rel=1e-12)


def test_the_staged_estimate_is_that_of_members_with_fewer_trees():
    ranker = bag(oob_score=True, bootstrap=True).fit(X, Y, groups=GROUPS)
    assert ranker.oob_staged_score_.shape == (6,)
    assert ranker.oob_staged_score_[-1] == ranker.oob_score_
    for n_trees in (1, 4):
        few = clone(TREES).set_params(n_estimators=n_trees)
        shorter = bag(few, oob_score=True, bootstrap=True).fit(X, Y, groups=GROUPS)
        assert ranker.oob_staged_score_[n_trees - 1] == shorter.oob_score_


def test_members_that_stopped_early_keep_their_scores_in_the_staged_estimate():
    trees = clone(TREES).set_params(
        n_estimators=40, early_stopping=True, n_iter_no_change=2
    )
    ranker = bag(trees, oob_score=True, bootstrap=True).fit(X, Y, groups=GROUPS)
    lengths = [member.n_iter_ for member in ranker.estimators_]
    assert len(set(lengths)) > 1
    assert len(ranker.oob_staged_score_) == max(lengths)
    assert ranker.oob_staged_score_[-1] == ranker.oob_score_


def test_members_without_trees_have_no_stages():
    ranker = bag(NETWORK, oob_score=True, bootstrap=True).fit(X, Y, groups=GROUPS)
    assert ranker.oob_staged_score_ is None


def test_if_no_query_is_left_out_the_error_says_what_to_do():
    rows = np.isin(GROUPS, LABELS[:2])
    ranker = BaggingRanker(Ridge(), 1, bootstrap=True, oob_score=True)
    errors = set()
    for seed in range(20):
        try:
            ranker.set_params(random_state=seed)
            ranker.fit(X[rows], Y[rows], groups=GROUPS[rows])
        except ValueError as error:
            errors.add(str(error))
    (message,) = errors
    assert "members was trained on all queries: give more members" in message


def test_a_fit_without_the_estimate_drops_that_of_the_last_fit():
    ranker = bag(bootstrap=True, oob_score=True).fit(X, Y, groups=GROUPS)
    ranker.set_params(oob_score=False).fit(X, Y, groups=GROUPS)
    assert not [name for name in vars(ranker) if name.startswith("oob_score_")]


# --- scores and their deviations --------------------------------------------------


def test_deviations_of_scores_from_their_querys_mean():
    ranker = bag(PIPELINE, n_estimators=4).fit(X, Y, groups=GROUPS)
    table = pd.DataFrame([m.predict(X) for m in ranker.estimators_]).T
    centred = table - table.groupby(GROUPS).transform("mean")
    expected = centred.std(axis=1, ddof=0)
    np.testing.assert_allclose(ranker.predict_std(X, groups=GROUPS), expected)
    np.testing.assert_allclose(
        ranker.predict_std(X), (table - table.mean()).std(axis=1, ddof=0)
    )
    one = bag(n_estimators=1).fit(X, Y, groups=GROUPS)
    assert not one.predict_std(X, groups=GROUPS).any()


def test_the_merged_ranker_has_the_trees_and_the_scores_of_all_members():
    ranker = bag(n_estimators=5, bootstrap=True).fit(X, Y, groups=GROUPS)
    merged = ranker.merge()
    assert isinstance(merged, LambdaMARTRanker)
    assert merged.n_iter_ == len(merged.ensemble_) == merged.n_estimators == 30
    np.testing.assert_allclose(merged.predict(X), ranker.predict(X), atol=1e-13)
    np.testing.assert_array_equal(
        merged.rank(X, groups=GROUPS), ranker.rank(X, groups=GROUPS)
    )
    loaded = pickle.loads(pickle.dumps(merged))
    assert loaded.predict(X).tobytes() == merged.predict(X).tobytes()
    assert ranker.estimators_[0].n_iter_ == 6
    merged.set_params(warm_start=True, n_estimators=32).fit(X, Y, groups=GROUPS)
    assert merged.n_iter_ == 32


def test_importances_are_the_mean_of_the_members():
    ranker = bag().fit(X, Y, groups=GROUPS)
    expected = sum(m.feature_importances_ for m in ranker.estimators_) / 3
    np.testing.assert_allclose(ranker.feature_importances_, expected)
    assert not hasattr(bag(NETWORK).fit(X, Y, groups=GROUPS), "feature_importances_")


# --- as a part of scikit-learn ----------------------------------------------------


def test_searches_and_cross_validation_pass_groups_on():
    scorer = make_ranking_scorer("ndcg@5")
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            bag(), {"estimator__max_leaf_nodes": [2, 4]}, scoring=scorer,
            cv=GroupKFold(3),
        ).fit(X, Y, groups=GROUPS)  # fmt: skip
        scores = cross_validate(
            bag(PIPELINE), X, Y, scoring=scorer, cv=GroupKFold(3),
            params={"groups": GROUPS},
        )["test_score"]  # fmt: skip
    assert search.best_estimator_.estimator.max_leaf_nodes in (2, 4)
    train, test = next(GroupKFold(3).split(X, Y, GROUPS))
    alone = bag(PIPELINE).fit(X[train], Y[train], groups=GROUPS[train])
    expected = NDCG(5)(Y[test], alone.predict(X[test]), groups=GROUPS[test])
    assert scores[0] == expected
