"""Several labels in bags, blends, searches and calibrated rankers."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.calibration._maps import fit_mean_weight
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.export import from_json, to_json
from sklearn_ltr.metrics import ERR, NDCG, get_metric
from sklearn_ltr.model_selection import RankerSearch
from sklearn_ltr.scorers import make_ranking_scorer
from tests import meta_estimators

RNG = np.random.default_rng(1)
# three values in each column, so that the bins of some queries are those of all
X = np.clip(np.round(meta_estimators.X), -1, 1)
CLICKS, GROUPS = meta_estimators.Y.astype(float), meta_estimators.GROUPS
Y = np.column_stack([CLICKS, (CLICKS > 1) * (X[:, 0] >= 0)])
Y[RNG.random(len(X)) < 0.3, 1] = np.nan
Y[GROUPS == 3, 1] = np.nan
NAMED = pd.DataFrame(Y, columns=["clicks", "purchases"])
WEIGHTS = np.where(GROUPS % 3, 4.0, 0.5)
SHARES = [0.25, 0.75]
SMALL = {"n_estimators": 6, "max_leaf_nodes": 4, "min_samples_leaf": 2}
TREES = LambdaMARTRanker(**SMALL, label_weights=[1, 3], random_state=0)
PLAIN = LambdaMARTRanker(**SMALL, random_state=0)
NETWORK = RankNetRanker(
    hidden_layer_sizes=(3,), max_iter=3, label_weights=[1, 3], random_state=0
)
PIPELINE = make_pipeline(StandardScaler(), clone(NETWORK))
FOLDS = GroupKFold(3)


def mean_by_hand(metric, scores, y=Y, groups=GROUPS, shares=SHARES, **weights):
    """Mean over labels of the metric of the documents that each has judged."""
    total = 0.0
    for label, share in enumerate(shares):
        judged = ~np.isnan(y[:, label])
        given = {name: column[judged] for name, column in weights.items()}
        total += share * get_metric(metric)(
            y[judged, label], scores[judged], groups=groups[judged], **given
        )
    return total


def out_of_fold(ranker, y=Y):
    scores = np.empty(len(X))
    for train, test in FOLDS.split(X, y, GROUPS):
        model = clone(ranker).fit(X[train], y[train], groups=GROUPS[train])
        scores[test] = model.predict(X[test])
    return scores


METAS = {
    "bag": BaggingRanker(TREES, 3, max_samples=0.6, oob_score=True, random_state=0),
    "blend": BlendedRanker([TREES, NETWORK], method="sweep", cv=FOLDS),
    "blend by LambdaRank": BlendedRanker(
        [TREES, NETWORK], method="lambdarank", cv=FOLDS, random_state=0
    ),
    "search": RankerSearch(
        TREES, param_distributions={"max_leaf_nodes": [3, 5]}, time=None, n_iter=3,
        cv=FOLDS, random_state=0,
    ),
    "calibrated": CalibratedRanker(TREES, cv=FOLDS, label=1),
}  # fmt: skip
every_meta = pytest.mark.parametrize("name", METAS)
MEASURED = (
    "oob_score_", "oob_staged_score_", "weights_", "blend_score_", "best_score_",
)  # fmt: skip


def outcome(name, X=X, y=Y, groups=GROUPS, weights=WEIGHTS, at=X, **options):
    """Return all numbers of a fit."""
    model = clone(METAS[name]).set_params(**options)
    model.fit(X, y, groups=groups, sample_weight=weights)
    found = [model.predict(at), *(vars(model).get(n, 0.0) for n in MEASURED)]
    if name == "calibrated":
        found += [model.predict_grade(at), model.grades_]
    return np.concatenate([np.ravel(values) for values in found])


# --- all of them --------------------------------------------------------------------


@pytest.mark.parametrize("model", [TREES, NETWORK], ids=["trees", "network"])
def test_weights_by_name_are_those_by_number(model):
    y = pd.DataFrame(Y, columns=["clicks", "purchases"])
    expected = clone(model).fit(X, Y, groups=GROUPS)
    for weights in ({"purchases": 3, "clicks": 1}, {1: 3.0, "clicks": 1}):
        found = clone(model).set_params(label_weights=weights)
        found.fit(X, y, groups=GROUPS)
        assert_array_equal(found.predict(X), expected.predict(X))
        assert found.score(X, y, groups=GROUPS) == expected.score(X, Y, groups=GROUPS)
    assert BaggingRanker(found, 2).fit(X, y, groups=GROUPS).estimators_


@every_meta
def test_order_of_rows_containers_and_threads_change_no_bit(name):
    expected = outcome(name)
    order = np.random.default_rng(1).permutation(len(X))
    moved = X[order], Y[order], GROUPS[order], WEIGHTS[order]
    assert_array_equal(outcome(name, *moved), expected)
    with joblib.parallel_config("threading"):
        assert_array_equal(outcome(name, y=Y.tolist(), n_jobs=2), expected)
    label = {"label": "purchases"} if name == "calibrated" else {}
    assert_array_equal(outcome(name, y=NAMED, **label), expected)


@every_meta
def test_rows_of_weight_0_are_as_if_they_were_not_there(name):
    counts = GROUPS % 4 > 0
    kept = X[counts], Y[counts], GROUPS[counts], WEIGHTS[counts]
    strange = np.where(counts[:, None], Y, 7.0)
    for y in (strange, pd.DataFrame(strange), strange.tolist()):
        expected = outcome(name, *kept)
        assert_array_equal(outcome(name, y=y, weights=WEIGHTS * counts), expected)


@every_meta
def test_the_same_label_twice_is_one_label(name):
    options = {"label": 0} if name == "calibrated" else {}
    prefix = {"bag": "estimator__", "search": "ranker__"}.get(name, "ranker__")
    equal = [PLAIN, clone(NETWORK).set_params(label_weights=None)]
    if name.startswith("blend"):
        options["rankers"] = equal
    else:
        options[f"{prefix}label_weights"] = None
    twice = outcome(name, y=np.column_stack([CLICKS, CLICKS]), **options)
    if name == "calibrated":
        options["label"] = None
    assert_allclose(twice, outcome(name, y=CLICKS, **options), rtol=1e-9, atol=1e-12)


@every_meta
def test_score_is_the_mean_over_labels_or_that_of_one(name):
    model = clone(METAS[name]).fit(X, Y, groups=GROUPS)
    scores = model.predict(X)
    expected = mean_by_hand("ndcg@10", scores, sample_weight=WEIGHTS)
    own = model.score(X, Y, groups=GROUPS, sample_weight=WEIGHTS)
    assert own == pytest.approx(expected, rel=1e-12)
    for label in (0, 1):
        shares = np.eye(2)[label]
        expected = mean_by_hand("ndcg@10", scores, shares=shares)
        assert model.score(X, Y, groups=GROUPS, label=label) == pytest.approx(expected)
        scorer = make_ranking_scorer("ndcg@10", label=label)
        assert scorer(model, X, Y, groups=GROUPS) == pytest.approx(expected)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.predict(X), scores)
    assert copy.score(X, Y, groups=GROUPS) == model.score(X, Y, groups=GROUPS)


@every_meta
def test_a_search_hands_on_all_labels(name):
    scorer = make_ranking_scorer("ndcg@10", label="purchases")
    model = clone(METAS[name])
    if name == "calibrated":
        model.set_params(label="purchases")
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(model, {}, scoring=scorer, cv=GroupKFold(2))
        search.fit(X, NAMED, groups=GROUPS)
    train, test = next(GroupKFold(2).split(X, Y, GROUPS))
    model = clone(model).fit(X[train], NAMED.iloc[train], groups=GROUPS[train])
    expected = scorer(model, X[test], NAMED.iloc[test], groups=GROUPS[test])
    assert search.cv_results_["split0_test_score"][0] == expected


# --- bags ---------------------------------------------------------------------------


@pytest.mark.parametrize("y", [Y, NAMED], ids=["array", "frame"])
@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (TREES, {"bootstrap": True}),
        (clone(TREES).set_params(scoring={1: "map"}, early_stopping=True),
         {"max_samples": 0.7}),
        (NETWORK, {"max_samples": 0.5}),
        (PIPELINE, {"bootstrap": True}),
    ],
    ids=["trees", "stopped", "network", "pipeline"],
)  # fmt: skip
def test_members_are_rankers_fitted_to_the_queries_drawn(estimator, options, y):
    bag = BaggingRanker(estimator, 3, random_state=0, **options)
    bag.fit(X, y, groups=GROUPS)
    labels = np.unique(GROUPS)
    for member, drawn in zip(bag.estimators_, bag.estimators_queries_, strict=True):
        rows = [np.flatnonzero(GROUPS == labels[query]) for query in drawn]
        groups = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
        rows = np.concatenate(rows)
        with sklearn.config_context(enable_metadata_routing=True):
            alone = clone(member).fit(X[rows], np.asarray(y)[rows], groups=groups)
        assert_allclose(member.predict(X), alone.predict(X), rtol=1e-12)


def test_copies_of_a_query_are_held_out_with_all_labels():
    stopped = clone(TREES).set_params(early_stopping=True, validation_fraction=0.3)
    bag = BaggingRanker(stopped, 2, bootstrap=True, random_state=0)
    bag.fit(X, NAMED, groups=GROUPS)
    for member in bag.estimators_:
        assert set(member.evals_result_["validation"]) == {
            "mean ndcg@10", "clicks: ndcg@10", "purchases: ndcg@10",
        }  # fmt: skip


@pytest.mark.parametrize("metric", ["ndcg@3", "err", NDCG(no_relevant="skip")], ids=str)
def test_queries_out_of_the_bag_are_measured_label_by_label(metric):
    bag = clone(METAS["bag"]).set_params(metric=metric, n_estimators=2)
    bag.fit(X, NAMED, groups=GROUPS, sample_weight=WEIGHTS)
    known = ~np.isnan(bag.oob_prediction_)
    assert 0 < known.sum() < len(X)
    y, groups, scores = Y[known], GROUPS[known], bag.oob_prediction_[known]
    expected = mean_by_hand(metric, scores, y, groups, sample_weight=WEIGHTS[known])
    assert bag.oob_score_ == pytest.approx(expected, rel=1e-12)
    assert bag.oob_staged_score_[-1] == pytest.approx(expected, rel=1e-12)
    assert bag.oob_per_query_.shape == (len(np.unique(GROUPS)), 2)
    for label in (0, 1):
        judged = ~np.isnan(y[:, label])
        own = groups[judged]
        values = get_metric(metric).per_query(
            y[judged, label], scores[judged], groups=own
        )
        expected = np.full(len(bag.oob_per_query_), np.nan)
        expected[np.searchsorted(np.unique(GROUPS), np.unique(own))] = values
        assert_allclose(bag.oob_per_query_[:, label], expected)


def test_members_are_merged_into_one_model():
    bag = clone(METAS["bag"]).fit(X, Y, groups=GROUPS)
    merged = bag.merge()
    assert_allclose(merged.predict(X), bag.predict(X), atol=1e-12)
    assert not hasattr(merged, "label_forces_")
    again = from_json(to_json(merged))
    assert_array_equal(again.predict(X), merged.predict(X))


# --- blends -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metric", ["ndcg@3", "map", ERR(5), NDCG(no_relevant="skip")], ids=str
)
def test_a_sweep_finds_the_best_blend_for_the_mean_over_labels(metric):
    rankers = [
        ranker.fit(X, Y, groups=GROUPS)
        for ranker in (clone(TREES), clone(NETWORK).set_params(max_iter=1))
    ]
    blend = BlendedRanker(rankers, metric=metric, method="sweep", cv="prefit")
    blend.fit(X, Y, groups=GROUPS, sample_weight=WEIGHTS)
    scores = [ranker.predict(X) for ranker in rankers]

    def mean(alpha):
        blended = alpha * scores[0] + (1 - alpha) * scores[1]
        return mean_by_hand(metric, blended, sample_weight=WEIGHTS)

    curve = blend.curve_
    assert blend.blend_score_ == pytest.approx(mean(curve.alpha), rel=1e-12)
    edges = np.concatenate(([0], curve.change_points, [1]))
    middles = (edges[1:] + edges[:-1]) / 2
    assert len(middles) > 10
    assert_allclose(curve.values, [mean(alpha) for alpha in middles], atol=1e-12)
    assert curve.value == pytest.approx(curve.values.max(), abs=1e-12)


def test_weights_are_chosen_on_queries_that_no_ranker_has_seen():
    rankers = [TREES, NETWORK]
    blend = clone(METAS["blend"]).fit(X, Y, groups=GROUPS)
    blended = sum(
        weight * out_of_fold(ranker)
        for weight, ranker in zip(blend.weights_, rankers, strict=True)
    )
    expected = mean_by_hand("ndcg@10", blended)
    assert blend.blend_score_ == pytest.approx(expected, rel=1e-12)
    for ranker, fitted in zip(rankers, blend.rankers_, strict=True):
        alone = clone(ranker).fit(X, Y, groups=GROUPS)
        assert_array_equal(fitted.predict(X), alone.predict(X))


def test_a_model_of_each_label_can_be_blended_with_equal_weights():
    clicks, purchases = (
        clone(PLAIN).set_params(label_weights=weights) for weights in ([1, 0], [0, 1])
    )
    blend = BlendedRanker([clicks, purchases]).fit(X, Y, groups=GROUPS)
    for ranker, fitted in zip([clicks, purchases], blend.rankers_, strict=True):
        alone = clone(ranker).fit(X, Y, groups=GROUPS)
        assert_array_equal(fitted.predict(X), alone.predict(X))
    bag = BaggingRanker(BlendedRanker([clicks, purchases]), 1, random_state=0)
    assert len(bag.fit(X, Y, groups=GROUPS).predict(X)) == len(X)
    assert 0 < blend.score(X, Y, groups=GROUPS, label=1) <= 1


def test_the_default_blend_takes_several_labels():
    blend = BlendedRanker(random_state=0).fit(X, Y, groups=GROUPS)
    expected = mean_by_hand("ndcg@10", blend.predict(X), shares=[0.5, 0.5])
    assert blend.score(X, Y, groups=GROUPS) == pytest.approx(expected)


# --- searches -----------------------------------------------------------------------


def test_candidates_are_compared_by_the_weights_of_the_ranker():
    """Whichever label_weights they have themselves."""
    space = {"label_weights": [[1, 0], [1, 1]]}
    search = RankerSearch(
        TREES, param_distributions=space, time=None, n_iter=3, cv=FOLDS, blend=False,
        random_state=0,
    ).fit(X, Y, groups=GROUPS)  # fmt: skip
    results = search.cv_results_
    for params, value in zip(
        results["params"], results["mean_test_score"], strict=True
    ):
        scores = out_of_fold(clone(TREES).set_params(**params))
        assert value == pytest.approx(mean_by_hand("ndcg@10", scores), rel=1e-12)
        of_fold = next(FOLDS.split(X, Y, GROUPS))[1]
        expected = mean_by_hand("ndcg@10", scores[of_fold], Y[of_fold], GROUPS[of_fold])
        number = results["params"].index(params)
        assert results["split0_test_score"][number] == pytest.approx(expected)


def test_a_fold_in_which_a_label_has_judged_nothing_has_no_value():
    of_first = np.isin(GROUPS, GROUPS[next(FOLDS.split(X, Y, GROUPS))[1]])
    y = np.where(of_first[:, None] & [False, True], np.nan, Y)
    search = clone(METAS["search"]).set_params(blend=True).fit(X, y, groups=GROUPS)
    assert np.isnan(search.cv_results_["split0_test_score"]).all()
    assert np.isfinite(search.cv_results_["split1_test_score"]).all()
    assert np.isfinite(search.best_score_)


# --- calibrated rankers -------------------------------------------------------------


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_maps_are_those_of_the_documents_that_the_label_has_judged(method):
    ranker = clone(TREES).fit(X, Y, groups=GROUPS)
    model = CalibratedRanker(ranker, method=method, cv="prefit", label=1)
    model.fit(X, Y, groups=GROUPS, sample_weight=WEIGHTS)
    judged = ~np.isnan(Y[:, 1])
    alone = CalibratedRanker(ranker, method=method, cv="prefit").fit(
        X[judged], Y[judged, 1], groups=GROUPS[judged], sample_weight=WEIGHTS[judged]
    )
    assert_array_equal(model.grades_, alone.grades_)
    assert_array_equal(model.predict_grade(X), alone.predict_grade(X))
    assert_array_equal(model.predict_relevance(X), alone.predict_relevance(X))


def test_the_mean_score_of_a_query_is_that_of_all_its_documents():
    """As where grades are predicted, of documents that nothing is known of."""
    network = clone(NETWORK).fit(X, Y, groups=GROUPS)
    model = CalibratedRanker(network, method="query_isotonic", cv="prefit", label=1)
    model.fit(X, Y, groups=GROUPS)
    scores, judged = network.predict(X), ~np.isnan(Y[:, 1])
    means = np.array([scores[group == GROUPS].mean() for group in GROUPS])[judged]
    expected = fit_mean_weight(
        scores[judged], means, Y[judged, 1] >= 1, np.ones(judged.sum())
    )
    assert expected != 0
    assert model.mean_weights_ == pytest.approx([expected], rel=1e-6)
