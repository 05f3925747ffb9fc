"""A BaggingRanker does what fitting and averaging its members one by one does."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_regressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr._core.data.groups import QueryCopy
from sklearn_ltr._core.trees.binning import find_bin_thresholds
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.scorers import make_ranking_scorer
from tests.meta_estimators import GROUPS, ROWS, X, Y
from tests.oracles import draws

TREES = LambdaMARTRanker(n_estimators=6, max_leaf_nodes=4, min_samples_leaf=2)
NETWORK = RankNetRanker(hidden_layer_sizes=(3,), max_iter=3)
PIPELINE = make_pipeline(StandardScaler(), clone(NETWORK))
# three values in each column, so that the bins of some queries are those of all
FEW = np.clip(np.round(X), -1, 1)
LABELS = np.unique(GROUPS)
WEIGHTS = np.where(GROUPS % 3, 4.0, 0.5)
PART = GROUPS < 30
OF_PART = {"X": X[PART], "y": Y[PART], "groups": GROUPS[PART]}
OF_OTHERS = {"X_val": X[~PART], "y_val": Y[~PART], "groups_val": GROUPS[~PART]}


def bag(estimator=TREES, n_estimators=3, **options):
    return BaggingRanker(estimator, n_estimators, random_state=0, **options)


def fitted(*arguments, weights=None, table=X, **options):
    ranker = bag(*arguments, **options)
    return ranker.fit(table, Y, groups=GROUPS, sample_weight=weights)


def members(ranker):
    return zip(ranker.estimators_, ranker.estimators_queries_, strict=True)


def fit_alone(member, drawn, weights=None, table=X, columns=None, **validation):
    """Fit a clone of a member to the queries drawn, one after the other."""
    rows = [np.flatnonzero(GROUPS == LABELS[query]) for query in drawn]
    copies = np.array([*map(QueryCopy, range(len(drawn)), drawn)], dtype=object)
    groups = np.repeat(copies, [len(each) for each in rows])
    rows = np.concatenate(rows)
    columns = dict(
        columns or {}, **({} if weights is None else {"sample_weight": weights})
    )
    given = {name: column[rows] for name, column in columns.items()}
    if not is_regressor(member):
        given["groups"] = groups
    with sklearn.config_context(enable_metadata_routing=True):
        return clone(member).fit(table[rows], Y[rows], **given, **validation)


# --- the members ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (TREES, {"bootstrap": True}),
        (NETWORK, {}),
        (PIPELINE, {"max_samples": 0.5}),
        (Ridge(), {"max_samples": 7}),
    ],
    ids=str,
)
def test_scores_are_the_mean_of_members_fitted_to_the_queries_drawn(estimator, options):
    ranker = fitted(estimator, table=FEW, **options)
    total = np.zeros(len(X))
    for member, drawn in members(ranker):
        total += fit_alone(member, drawn, table=FEW).predict(FEW)
    np.testing.assert_allclose(ranker.predict(FEW), total / 3, rtol=1e-10)
    assert ranker.score(FEW, Y, groups=GROUPS) == NDCG(10)(Y, total / 3, groups=GROUPS)


def test_how_many_queries_are_drawn():
    def drawn(**options):
        queries = fitted(Ridge(), **options).estimators_queries_
        assert all((np.diff(of_member) >= 0).all() for of_member in queries)
        return queries

    assert [queries.tolist() for queries in drawn()] == 3 * [list(range(40))]
    for options, size in (({"max_samples": 0.33}, 13), ({"max_samples": 7}, 7)):
        queries = drawn(**options)
        assert all(len(q) == len(np.unique(q)) == size for q in queries)
        assert not np.array_equal(*queries[:2])
    for queries in drawn(bootstrap=True):
        assert len(queries) == 40
        # 40 (1 - (1 - 1 / 40)^40) = 25.5 are expected, with a deviation of 2
        assert 15 < len(np.unique(queries)) < 36
    assert len(drawn(bootstrap=True, max_samples=0.5)[0]) == 20


def test_members_differ_by_their_seeds_and_more_keep_the_first_ones():
    for estimator in (TREES, PIPELINE):
        scores = [
            member.predict(X).tobytes() for member in fitted(estimator).estimators_
        ]
        assert len(set(scores)) == 3
        more = fitted(estimator, 4).estimators_
        assert [member.predict(X).tobytes() for member in more[:3]] == scores
    assert TREES.random_state is None
    # without an estimator they are LambdaMARTs by default
    (member,) = BaggingRanker(n_estimators=1).fit(X, Y, groups=GROUPS).estimators_
    expected = LambdaMARTRanker(random_state=member.random_state)
    assert member.get_params() == expected.get_params()


@pytest.mark.parametrize(
    "estimator", [TREES, Ridge(), MARTRegressor(n_estimators=3, min_samples_leaf=5)]
)
def test_weights_go_to_the_members_and_to_the_estimate(estimator):
    options = {"weights": WEIGHTS, "table": FEW}
    ranker = fitted(estimator, bootstrap=True, oob_score=True, **options)
    member, drawn = next(members(ranker))
    expected = fit_alone(member, drawn, **options).predict(FEW)
    assert member.predict(FEW).tobytes() == expected.tobytes()
    known = ~np.isnan(ranker.oob_per_query_)
    of_query = np.where(LABELS % 3, 4.0, 0.5)[known]
    mean = np.average(ranker.oob_per_query_[known], weights=of_query)
    assert ranker.oob_score_ == pytest.approx(mean, rel=1e-12)


POSITIONS = pd.Series(np.random.default_rng(1).random(len(X))).groupby(GROUPS)
POSITIONS = POSITIONS.rank().to_numpy().astype(int) - 1


@pytest.mark.parametrize(
    ("estimator", "bias"),
    [(TREES, "pairwise"), (TREES, None), (NETWORK, "additive"), (NETWORK, None)],
    ids=str,
)
def test_positions_and_propensities_go_to_the_members(estimator, bias):
    shown = {"positions": POSITIONS} if bias else {"propensities": 1 / (1 + POSITIONS)}
    estimator = clone(estimator).set_params(position_bias=bias)
    ranker = bag(estimator, bootstrap=True)
    ranker.fit(FEW, Y, groups=GROUPS, sample_weight=WEIGHTS * (GROUPS < 30), **shown)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline("passthrough", bag(estimator, bootstrap=True))
        assert {*shown, "groups"} <= get_routing_for_object(pipeline).consumes(
            "fit", {*shown, "groups"}
        )
    for member, drawn in members(ranker):
        alone = fit_alone(member, drawn, WEIGHTS, FEW, shown)
        assert member.predict(FEW).tobytes() == alone.predict(FEW).tobytes()
        without = fit_alone(
            clone(member).set_params(position_bias=None), drawn, WEIGHTS
        )
        assert not np.array_equal(member.predict(FEW), without.predict(FEW))
        if bias:
            np.testing.assert_array_equal(member.position_bias_, alone.position_bias_)


@pytest.mark.parametrize("estimator", [TREES, NETWORK], ids=str)
def test_propensities_that_are_all_clipped_are_told_of_once(estimator):
    low = 0.02 / (1 + POSITIONS)
    with pytest.warns(UserWarning, match="3 of 3 members: propensities are") as caught:
        bag(estimator).fit(FEW, Y, groups=GROUPS, propensities=low)
    assert len(caught) == 1


def test_weights_of_documents_go_to_the_members_and_are_not_measured():
    surely = {"document_weight": 0.2 + 0.8 * (POSITIONS % 3 > 0)}
    ranker = bag(TREES, bootstrap=True, oob_score=True)
    ranker.fit(FEW, Y, groups=GROUPS, sample_weight=WEIGHTS, **surely)
    for member, drawn in members(ranker):
        alone = fit_alone(member, drawn, WEIGHTS, FEW, surely)
        assert member.predict(FEW).tobytes() == alone.predict(FEW).tobytes()
    # of the grades as they are
    found = ranker.oob_prediction_
    of = {"groups": GROUPS, "sample_weight": WEIGHTS}
    of = {name: values[np.isfinite(found)] for name, values in of.items()}
    score = NDCG(10)(Y[np.isfinite(found)], found[np.isfinite(found)], **of)
    assert ranker.oob_score_ == pytest.approx(score, rel=1e-12)


def test_positions_that_no_member_is_fitted_with_are_refused():
    ones = np.ones(len(X))
    for name, values in (
        ("positions", POSITIONS), ("propensities", ones), ("document_weight", ones)
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"{name} was given, but no member"):
            bag(Ridge()).fit(X, Y, groups=GROUPS, **{name: values})
    with pytest.raises(ValueError, match="positions has 0 twice in one list"):
        bag().fit(X, Y, groups=GROUPS, positions=np.zeros(len(X), dtype=int))


# --- the bins that members share --------------------------------------------------

CATEGORIES = np.array([f"c{c}" for c in range(37)])[ROWS * 7 % 37]
TABLES = {
    "few values": FEW,
    "float32": X.astype(np.float32),
    "Fortran": np.asfortranarray(X),
    "sparse": csr_matrix(X * (X > 0.5)),
    "missing": np.where(X > 1, np.nan, X),
    "frame": pd.DataFrame(X, columns=list("abcde")),
    "categories": pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(
        few=pd.Categorical(CATEGORIES), many=pd.Categorical(ROWS % 101)
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_members_of_all_queries_are_those_fitted_alone(name):
    table = TABLES[name]
    y = np.where(GROUPS % 5 == 0, 1.0, Y)  # a fifth of the queries have no pairs
    trees = clone(TREES).set_params(
        max_bins=20,
        init=clone(TREES).set_params(max_bins=20, random_state=5),
        scoring=["ndcg@3"],
    )
    for n_jobs in (None, 2):
        ranker = bag(trees, n_jobs=n_jobs)
        ranker.fit(table, y, groups=GROUPS, sample_weight=WEIGHTS)
        for member in ranker.estimators_:
            alone = clone(member).fit(table, y, groups=GROUPS, sample_weight=WEIGHTS)
            for one in (member, pickle.loads(pickle.dumps(member))):
                assert one.predict(table).tobytes() == alone.predict(table).tobytes()
            assert vars(member).keys() == vars(alone).keys()
            names = [getattr(m, "feature_names_in_", None) for m in (member, alone)]
            np.testing.assert_array_equal(*names)
    member.set_params(warm_start=True, n_estimators=8).fit(table, y, groups=GROUPS)
    assert member.n_iter_ == 8


@pytest.mark.parametrize("name", ["few values", "categories"])
@pytest.mark.parametrize("validated", [False, True])
def test_members_of_all_queries_stop_as_those_fitted_alone(name, validated):
    table, y = TABLES[name], np.where(GROUPS % 5 == 0, 1.0, Y)
    trees = clone(TREES).set_params(max_bins=20, early_stopping=True, n_estimators=20)
    of_val = {"X_val": table, "y_val": Y, "groups_val": GROUPS} if validated else {}
    for member in bag(trees).fit(table, y, groups=GROUPS, **of_val).estimators_:
        alone = clone(member).fit(table, y, groups=GROUPS, **of_val)
        np.testing.assert_array_equal(member.predict(table), alone.predict(table))
        found = [m.validation_score_ for m in (member, alone)]
        np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("options", [{"bootstrap": True}, {"max_samples": 0.4}])
def test_bin_edges_are_those_of_all_rows(options):
    trees = clone(TREES).set_params(max_bins=4)
    has_pairs = [label for label in LABELS if np.ptp(Y[label == GROUPS]) > 0]
    learned = X[np.isin(GROUPS, has_pairs)]
    of_all = [find_bin_thresholds(column, 4).tolist() for column in learned.T]
    for member in fitted(trees, **options).estimators_:
        ensemble = member.ensemble_
        inner = np.flatnonzero(ensemble.feature >= 0)
        for j, threshold in zip(
            ensemble.feature[inner], ensemble.threshold[inner], strict=True
        ):
            assert threshold in of_all[j]
    # not where bins depend on grades: those of categories
    frame = pd.DataFrame(X).assign(category=pd.Categorical(CATEGORIES))
    frame.columns = frame.columns.astype(str)
    member, drawn = next(members(fitted(trees, table=frame, **options)))
    alone = fit_alone(member, drawn, table=frame.iloc)
    assert member.predict(frame).tobytes() == alone.predict(frame).tobytes()


def test_of_many_rows_all_members_have_the_bins_of_one_sample(monkeypatch):
    monkeypatch.setattr("sklearn_ltr._core.trees.binning.MAX_SAMPLE_ROWS", 100)
    ranker = fitted()
    first, *others = (
        np.concatenate(member._mapper.bin_thresholds) for member in ranker.estimators_
    )
    for other in others:
        np.testing.assert_array_equal(first, other)
    assert len(first) < 5 * 100
    order = np.random.default_rng(2).permutation(len(X))
    shuffled = bag().fit(X[order], Y[order], groups=GROUPS[order])
    assert shuffled.predict(X).tobytes() == ranker.predict(X).tobytes()


# --- early stopping ---------------------------------------------------------------


def test_members_stop_early_on_the_validation_data():
    trees = clone(TREES).set_params(n_estimators=60, n_iter_no_change=3)
    for member in bag(trees).fit(**OF_PART, **OF_OTHERS).estimators_:
        assert len(member.validation_score_) < 61
        alone = clone(member).fit(**OF_PART, **OF_OTHERS)
        assert alone.predict(X).tobytes() == member.predict(X).tobytes()


def test_a_pipeline_must_transform_the_validation_data():
    with pytest.raises(ValueError, match=r'give the Pipeline transform_input=\["X_val'):
        bag(PIPELINE).fit(**OF_PART, **OF_OTHERS)
    transforming = clone(PIPELINE).set_params(transform_input=["X_val"])
    member = bag(transforming).fit(**OF_PART, **OF_OTHERS).estimators_[0]
    scaler = StandardScaler().fit(X[PART])
    scaled = OF_PART | {"X": scaler.transform(X[PART])}
    scaled |= OF_OTHERS | {"X_val": scaler.transform(X[~PART])}
    alone = clone(member[-1]).fit(**scaled)
    np.testing.assert_array_equal(alone.validation_score_, member[-1].validation_score_)


@pytest.mark.parametrize(
    ("estimator", "table"),
    [(TREES, FEW), (NETWORK, pd.DataFrame(FEW))],
    ids=["trees", "network, frame"],
)
def test_of_a_query_that_is_drawn_twice_both_copies_are_held_out(estimator, table):
    stopped = clone(estimator).set_params(early_stopping=True, validation_fraction=0.4)
    ranker = bag(stopped, bootstrap=True).fit(table, Y, groups=GROUPS)
    for member, drawn in members(ranker):
        originals = np.unique(drawn)
        seed = draws.seed_of(member.random_state)
        held_out = draws.held_out(len(originals), 0.4, seed)
        assert held_out.sum() == round(0.4 * len(originals))
        rows = np.isin(GROUPS, LABELS[originals[held_out]])
        of_val = {"X_val": FEW[rows], "y_val": Y[rows], "groups_val": GROUPS[rows]}
        learned = [query for query in drawn if query in originals[~held_out]]
        alone = fit_alone(member, learned, table=FEW, **of_val)
        assert alone.predict(FEW).tobytes() == member.predict(table).tobytes()
        np.testing.assert_array_equal(alone.validation_score_, member.validation_score_)
    # without copies a member holds out queries by itself
    member = fitted(stopped, table=FEW).estimators_[0]
    alone = fit_alone(member, range(40), table=FEW)
    np.testing.assert_array_equal(alone.validation_score_, member.validation_score_)


# --- what does not change the model -----------------------------------------------


@pytest.mark.parametrize("estimator", [TREES, PIPELINE], ids=["trees", "pipeline"])
def test_the_model_is_the_same_for_any_order_of_queries_and_number_of_jobs(estimator):
    options = {"bootstrap": True, "oob_score": True}
    expected = fitted(estimator, **options)
    order = np.argsort(GROUPS[::-1], kind="stable")[::-1]
    order = len(X) - 1 - order  # the queries in descending order, rows as they were
    shuffled = bag(estimator, **options)
    shuffled.fit(X[order], Y[order], groups=GROUPS[order])
    for other in (shuffled, fitted(estimator, n_jobs=2, **options)):
        assert other.predict(X).tobytes() == expected.predict(X).tobytes()
        assert other.oob_score_ == expected.oob_score_


# --- the out-of-bag estimate ------------------------------------------------------


@pytest.mark.parametrize("options", [{"bootstrap": True}, {"max_samples": 0.8}])
def test_a_query_is_scored_by_the_members_that_were_not_trained_on_it(options):
    ranker = fitted(oob_score=True, metric="map", n_estimators=4, **options)
    prediction, per_query = np.full(len(X), np.nan), np.full(40, np.nan)
    for query, label in enumerate(LABELS):
        rows = GROUPS == label
        others = [
            member.predict(X[rows])
            for member, drawn in members(ranker)
            if query not in drawn
        ]
        if others:
            prediction[rows] = sum(others) / len(others)
            per_query[query] = MAP()(Y[rows], prediction[rows], groups=GROUPS[rows])
    assert np.isnan(per_query).any()
    np.testing.assert_array_equal(ranker.oob_prediction_, prediction)
    np.testing.assert_allclose(ranker.oob_per_query_, per_query, rtol=1e-12)
    assert ranker.oob_score_ == pytest.approx(np.nanmean(per_query), rel=1e-12)
    # a fit without the estimate drops it
    ranker.set_params(oob_score=False).fit(X, Y, groups=GROUPS)
    assert not [name for name in vars(ranker) if name.startswith("oob_score_")]


def test_the_staged_estimate_is_that_of_members_with_fewer_trees():
    options = {"oob_score": True, "bootstrap": True}
    ranker = fitted(**options)
    assert ranker.oob_staged_score_.shape == (6,)
    for n_trees in (1, 4, 6):
        shorter = fitted(clone(TREES).set_params(n_estimators=n_trees), **options)
        assert ranker.oob_staged_score_[n_trees - 1] == shorter.oob_score_
    # members that stopped early keep their scores
    trees = clone(TREES).set_params(
        n_estimators=40, early_stopping=True, n_iter_no_change=4
    )
    ranker = fitted(trees, **options)
    lengths = [member.n_iter_ for member in ranker.estimators_]
    assert len(set(lengths)) > 1
    assert len(ranker.oob_staged_score_) == max(lengths)
    assert ranker.oob_staged_score_[-1] == ranker.oob_score_
    assert fitted(NETWORK, **options).oob_staged_score_ is None


def test_if_no_query_is_left_out_the_error_says_what_to_do():
    rows = np.isin(GROUPS, LABELS[:2])
    message = "members was trained on all queries: give more members"
    with pytest.raises(ValueError, match=message):
        for seed in range(20):  # half of the draws are of both queries
            ranker = BaggingRanker(
                Ridge(), 1, bootstrap=True, oob_score=True, random_state=seed
            )
            ranker.fit(X[rows], Y[rows], groups=GROUPS[rows])


# --- scores, their deviations, and searches ---------------------------------------


def test_deviations_of_scores_from_their_querys_mean():
    ranker = fitted(PIPELINE, n_estimators=4)
    table = pd.DataFrame([m.predict(X) for m in ranker.estimators_]).T
    centred = table - table.groupby(GROUPS).transform("mean")
    expected = centred.std(axis=1, ddof=0)
    np.testing.assert_allclose(ranker.predict_std(X, groups=GROUPS), expected)
    table = table[:200]
    whole = (table - table.mean()).std(axis=1, ddof=0)
    np.testing.assert_allclose(ranker.predict_std(X[:200]), whole)
    assert not fitted(n_estimators=1).predict_std(X, groups=GROUPS).any()


def test_the_merged_ranker_has_the_trees_and_the_scores_of_all_members():
    ranker = fitted(n_estimators=5, bootstrap=True)
    merged = ranker.merge()
    assert isinstance(merged, LambdaMARTRanker)
    assert merged.n_iter_ == len(merged.ensemble_) == merged.n_estimators == 30
    np.testing.assert_allclose(merged.predict(X), ranker.predict(X), atol=1e-13)
    ranks = [each.rank(X, groups=GROUPS) for each in (merged, ranker)]
    np.testing.assert_array_equal(*ranks)
    assert ranker.estimators_[0].n_iter_ == 6
    merged.set_params(warm_start=True, n_estimators=32).fit(X, Y, groups=GROUPS)
    assert merged.n_iter_ == 32


def test_importances_are_the_mean_of_the_members():
    ranker = fitted()
    expected = sum(m.feature_importances_ for m in ranker.estimators_) / 3
    np.testing.assert_allclose(ranker.feature_importances_, expected)
    assert not hasattr(fitted(NETWORK), "feature_importances_")


def test_searches_pass_groups_on():
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            bag(), {"estimator__max_leaf_nodes": [2, 4]}, cv=GroupKFold(2),
            scoring=make_ranking_scorer("ndcg@5"),
        ).fit(X, Y, groups=GROUPS)  # fmt: skip
    train, test = next(GroupKFold(2).split(X, Y, GROUPS))
    alone = bag(clone(TREES).set_params(max_leaf_nodes=2))
    alone.fit(X[train], Y[train], groups=GROUPS[train])
    expected = NDCG(5)(Y[test], alone.predict(X[test]), groups=GROUPS[test])
    assert search.cv_results_["split0_test_score"][0] == expected
