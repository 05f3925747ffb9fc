"""Judged pairs in bags, blends, searches and calibrated rankers."""

from __future__ import annotations

import pickle
from collections import Counter

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.data.pairs import GivenPairs
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker, best_blend
from sklearn_ltr.metrics import NDCG
from sklearn_ltr.model_selection import RankerSearch
from tests.meta_estimators import draw

RNG = np.random.default_rng(1)
X, Y, GROUPS, _ = draw(30)
N = len(Y)
WEIGHTS = np.where(GROUPS % 3, 4.0, 0.5)
PAIRS = np.argwhere((GROUPS[:, None] == GROUPS) & (Y[:, None] > Y))
PAIRS = RNG.permutation(PAIRS)[:200]
PAIRS[::9] = PAIRS[::9, ::-1]
CHANCES = RNG.choice([0.6, 0.9, 1.0], len(PAIRS))
COUNTS = RNG.choice([0.0, 0.5, 1.0, 3.0], len(PAIRS))
JUDGED = {"pairs": PAIRS, "pair_probabilities": CHANCES, "pair_weights": COUNTS}
GIVEN = {"groups": GROUPS, **JUDGED}
SMALL = {"n_estimators": 5, "max_leaf_nodes": 4, "min_samples_leaf": 2}
TREES = LambdaMARTRanker(**SMALL, random_state=0)
OF_PAIRS = LambdaMARTRanker(None, **SMALL, random_state=0)
NETWORK = LambdaRankRanker(hidden_layer_sizes=(3,), max_iter=3, random_state=0)
NET_OF_PAIRS = RankNetRanker(hidden_layer_sizes=(3,), max_iter=3, random_state=0)
FOLDS = GroupKFold(3)


def pairs_within(rows):
    """Pairs of rows in their new places, one by one; of copies of a query, each."""
    found, kept = [], []
    for copy in range(max(Counter(rows.tolist()).values())):
        places, seen = {}, Counter()
        for place, row in enumerate(rows.tolist()):
            if seen[row] == copy:
                places[row] = place
            seen[row] += 1
        for number, (i, j) in enumerate(PAIRS.tolist()):
            if i in places and j in places and COUNTS[number] > 0:
                found.append([places[i], places[j]])
                kept.append(number)
    return {
        "pairs": found,
        "pair_probabilities": CHANCES[kept],
        "pair_weights": COUNTS[kept],
    }


def fit_on(ranker, rows, *, groups=None, graded=True, **columns):
    """Fit a clone to some rows, with the pairs within them."""
    y = Y[rows] if graded else None
    groups = GROUPS[rows] if groups is None else groups
    given = {name: column[rows] for name, column in columns.items()}
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(ranker)
        return model.fit(X[rows], y, groups=groups, **given, **pairs_within(rows))


def out_of_fold(ranker, **columns):
    scores = np.empty(N)
    for train, test in FOLDS.split(X, Y, GROUPS):
        scores[test] = fit_on(ranker, train, **columns).predict(X[test])
    return scores


def test_pairs_of_rows_are_numbered_by_their_places():
    for rows in (
        RNG.permutation(N)[:100],
        RNG.integers(0, N, 150),
        np.repeat(np.arange(N), 2),
    ):
        found = GivenPairs(PAIRS.tolist(), pd.Series(CHANCES), COUNTS).select(rows)
        expected = pairs_within(rows)
        assert len(expected["pairs"]) > 0
        assert_array_equal(found.pairs, expected["pairs"])
        assert_array_equal(found.probabilities, expected["pair_probabilities"])
        assert_array_equal(found.weights, expected["pair_weights"])
        assert GivenPairs(PAIRS).select(rows).given().keys() == {"pairs"}
    assert GivenPairs().select(np.arange(9)) == GivenPairs()


# --- bags ---------------------------------------------------------------------------


def drawn_rows(drawn):
    labels = np.unique(GROUPS)
    rows = [np.flatnonzero(GROUPS == labels[query]) for query in drawn]
    groups = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    return np.concatenate(rows), groups


with sklearn.config_context(enable_metadata_routing=True):
    STEPS = make_pipeline(
        StandardScaler().set_fit_request(sample_weight=False),
        clone(NETWORK).set_fit_request(
            pairs=True, pair_probabilities=True, pair_weights=True, sample_weight=True
        ),
    )


@pytest.mark.parametrize("weights", [{}, {"sample_weight": WEIGHTS}], ids=len)
@pytest.mark.parametrize(
    "options", [{"bootstrap": True}, {"max_samples": 0.6}, {}], ids=str
)
@pytest.mark.parametrize(
    ("estimator", "graded"),
    [(TREES, True), (OF_PAIRS, False), (NETWORK, True), (NET_OF_PAIRS, False),
     (STEPS, True)],
    ids=["trees", "trees of pairs", "network", "network of pairs", "pipeline"],
)  # fmt: skip
def test_members_are_rankers_fitted_to_the_pairs_of_their_queries(
    estimator, graded, options, weights
):
    bag = BaggingRanker(estimator, 2, random_state=0, **options)
    bag.fit(X, Y if graded else None, **GIVEN, **weights)
    for member, drawn in zip(bag.estimators_, bag.estimators_queries_, strict=True):
        rows, groups = drawn_rows(drawn)
        if not options:
            rows, groups = np.arange(N), GROUPS
        alone = fit_on(member, rows, groups=groups, graded=graded, **weights)
        assert_array_equal(member.predict(X), alone.predict(X))


def test_queries_out_of_the_bag_are_measured_by_their_grades():
    bag = BaggingRanker(TREES, 3, bootstrap=True, oob_score=True, random_state=0)
    bag.fit(X, Y, **GIVEN)
    known = ~np.isnan(bag.oob_prediction_)
    scores, groups = bag.oob_prediction_[known], GROUPS[known]
    assert bag.oob_score_ == pytest.approx(NDCG(10)(Y[known], scores, groups=groups))


def test_queries_that_members_hold_out_have_no_part_in_their_pairs():
    stopped = clone(TREES).set_params(early_stopping=True, validation_fraction=0.3)
    bag = BaggingRanker(stopped, 3, bootstrap=True, random_state=0)
    bag.fit(X, Y, **GIVEN)
    for member in bag.estimators_:
        assert len(member.evals_result_["validation"]["ndcg@10"]) > 1


def test_pairs_alone_need_no_queries():
    bag = BaggingRanker(OF_PAIRS, 2, bootstrap=True, random_state=0).fit(X, **JUDGED)
    alone = [clone(member).fit(X, **JUDGED).predict(X) for member in bag.estimators_]
    assert_array_equal(bag.predict(X), (alone[0] + alone[1]) / 2)
    assert bag.score(X, Y, groups=GROUPS) > 0.5


# --- blends, searches and calibrated rankers ------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_weights_are_chosen_by_rankers_of_the_pairs_of_the_other_folds(n_jobs):
    rankers = [TREES, NETWORK]
    blend = BlendedRanker(rankers, method="sweep", cv=FOLDS, n_jobs=n_jobs)
    with joblib.parallel_config("threading"):
        blend.fit(X, Y, sample_weight=WEIGHTS, **GIVEN)
    curve = best_blend(
        *(out_of_fold(ranker, sample_weight=WEIGHTS) for ranker in rankers),
        Y, groups=GROUPS, sample_weight=WEIGHTS, metric="ndcg@10",
    )  # fmt: skip
    assert blend.blend_score_ == curve.value
    assert blend.weights_[0] == curve.alpha
    for ranker, fitted in zip(rankers, blend.rankers_, strict=True):
        alone = fit_on(ranker, np.arange(N), sample_weight=WEIGHTS)
        assert_array_equal(fitted.predict(X), alone.predict(X))


def test_rankers_of_pairs_alone_are_blended_with_equal_weights():
    rankers = [OF_PAIRS, NET_OF_PAIRS]
    blend = BlendedRanker(rankers).fit(X, **GIVEN)
    scores = [fit_on(r, np.arange(N), graded=False).predict(X) for r in rankers]
    expected = sum(w * s for w, s in zip(blend.weights_, scores, strict=True))
    assert_array_equal(blend.predict(X), expected)


def test_rankers_that_take_no_pairs_learn_from_the_grades():
    blend = BlendedRanker([TREES, Ridge()]).fit(X, Y, **GIVEN)
    assert_allclose(blend.rankers_[1].coef_, Ridge().fit(X, Y).coef_)
    graded = clone(TREES).fit(X, Y, groups=GROUPS)
    assert (blend.rankers_[0].predict(X) != graded.predict(X)).any()


def test_the_default_blend_takes_pairs():
    blend = BlendedRanker(random_state=0).fit(X, Y, **GIVEN)
    network = blend.rankers_[1]
    alone = fit_on(network, np.arange(N))
    assert_array_equal(network.predict(X), alone.predict(X))


def test_candidates_are_measured_on_folds_whose_pairs_they_have_not_seen():
    space = {"max_leaf_nodes": [3, 5]}
    search = RankerSearch(
        TREES, param_distributions=space, time=None, n_iter=3, cv=FOLDS, random_state=0
    ).fit(X, Y, **GIVEN)
    results = search.cv_results_
    for params, value in zip(
        results["params"], results["mean_test_score"], strict=True
    ):
        scores = out_of_fold(clone(TREES).set_params(**params))
        assert value == NDCG(10)(Y, scores, groups=GROUPS)


def test_maps_are_fitted_to_scores_of_folds_whose_pairs_are_unseen():
    model = CalibratedRanker(TREES, cv=FOLDS).fit(X, Y, **GIVEN)
    alone = fit_on(TREES, np.arange(N))
    assert_array_equal(model.predict(X), alone.predict(X))
    by_hand = CalibratedRanker(Known(out_of_fold(TREES)), cv="prefit")
    by_hand.fit(X, Y, groups=GROUPS)
    for one, other in zip(model.maps_, by_hand.maps_, strict=True):
        assert_array_equal(one.scores, other.scores)
        assert_array_equal(one.probabilities, other.probabilities)


class Known(BaseEstimator):
    """Predicts these scores."""

    n_features_in_ = X.shape[1]

    def __init__(self, scores):
        self.scores = scores

    def fit(self, X, y):
        raise NotImplementedError

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return self.scores


# --- all of them --------------------------------------------------------------------

METAS = {
    "bag": BaggingRanker(TREES, 3, bootstrap=True, oob_score=True, random_state=0),
    "bag of networks": BaggingRanker(NETWORK, 2, max_samples=0.7, random_state=0),
    "blend": BlendedRanker([TREES, NETWORK], method="sweep", cv=FOLDS),
    "search": RankerSearch(
        TREES, param_distributions={"max_leaf_nodes": [3, 5]}, time=None, n_iter=3,
        cv=FOLDS, random_state=0,
    ),
    "calibrated": CalibratedRanker(TREES, cv=FOLDS),
}  # fmt: skip


@pytest.mark.parametrize("name", METAS)
def test_neither_order_nor_weights_of_0_matter(name):
    counts = GROUPS % 4 > 0
    weighted = {"sample_weight": WEIGHTS * counts}
    model = clone(METAS[name]).fit(X, Y, **GIVEN, **weighted)
    expected = model.predict(X)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)

    order, of_pairs = RNG.permutation(N), RNG.permutation(len(PAIRS))
    moved = clone(model).fit(
        pd.DataFrame(X[order]).to_numpy(), Y[order], groups=GROUPS[order],
        sample_weight=weighted["sample_weight"][order],
        pairs=np.argsort(order)[PAIRS][of_pairs].tolist(),
        pair_probabilities=pd.Series(CHANCES[of_pairs]),
        pair_weights=COUNTS[of_pairs].tolist(),
    )  # fmt: skip
    assert_array_equal(moved.predict(X), expected)

    kept = fit_on(model, np.flatnonzero(counts), sample_weight=WEIGHTS)
    assert_array_equal(kept.predict(X), expected)


@pytest.mark.parametrize("name", METAS)
def test_a_pipeline_hands_on_pairs(name):
    with sklearn.config_context(enable_metadata_routing=True):
        requested = clone(METAS[name]).set_fit_request(
            pairs=True, pair_probabilities=True, pair_weights=True
        )
        pipeline = make_pipeline(StandardScaler(), requested).fit(X, Y, **GIVEN)
    scaled = StandardScaler().fit_transform(X)
    alone = clone(METAS[name]).fit(scaled, Y, **GIVEN)
    assert_array_equal(pipeline.predict(X), alone.predict(scaled))


def test_parts_within_parts_are_given_the_pairs_of_their_rows():
    bag = BaggingRanker(METAS["search"], 2, max_samples=0.8, random_state=0)
    bag.fit(X, Y, **GIVEN)
    for member, drawn in zip(bag.estimators_, bag.estimators_queries_, strict=True):
        rows, groups = drawn_rows(drawn)
        alone = fit_on(member, rows, groups=groups)
        assert_array_equal(member.predict(X), alone.predict(X))
