"""Weights of documents: a pair counts by the product of its documents' weights."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import QueryGroups, RowColumns, TrainingData
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.lambdas.graded_pairs import GradedLambdas
from sklearn_ltr._core.lambdas.pair import PairOptions
from sklearn_ltr._core.lambdas.position_bias import PairwiseBias, pair_weights_of
from sklearn_ltr._core.lambdas.regression import Regression
from sklearn_ltr._core.ranking.measures import PairCostMeasure
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.metrics import ERR, NDCG, get_metric
from sklearn_ltr.scorers import make_ranking_scorer
from tests.oracles.lambdas import add_up, deltas, normalise, query_factor, softplus
from tests.oracles.metrics import ranked_against_the_model
from tests.oracles.position_bias import pairwise_step
from tests.user_metrics import FirstGrade

SIZES = [7, 4, 2, 60, 5]
GROUPS = np.repeat(np.arange(5), SIZES)
N = len(GROUPS)
RNG = np.random.default_rng(0)
GRADES = RNG.integers(0, 4, N).astype(float)
GRADES[[7, 11]] = 5.0
SCORES = RNG.normal(size=N)
WEIGHTS = RNG.choice([0.0, 0.2, 0.7, 1.0, 3.0], N)
WEIGHTS[[7, 11, 12]] = 0.3
SIGMA = 0.7

DATA = make_ranking(60, n_features=14, random_state=0)
X, Y = np.round(np.arctan(DATA.data), 2), DATA.target
SURE = np.random.default_rng(1).choice([0.25, 0.5, 1.0, 2.0], len(Y))
PLACES = np.arange(len(Y)) - np.searchsorted(DATA.groups, DATA.groups)
TREES = {"n_estimators": 4, "max_leaf_nodes": 8, "random_state": 0}
NETWORK = {"max_iter": 3, "hidden_layer_sizes": (5,), "random_state": 0}
MODELS = {
    "trees": LambdaMARTRanker(**TREES),
    "published": LambdaMARTRanker(
        **TREES, subsample=1, regression_weight=0, normalize_lambdas=False
    ),
    "pairs": LambdaMARTRanker(None, **TREES, normalize_lambdas="distance"),
    "additive": LambdaMARTRanker(**TREES, position_bias="additive"),
    "pairwise": LambdaMARTRanker(**TREES, position_bias="pairwise"),
    "lambdarank": LambdaRankRanker(**NETWORK),
    "ranknet": RankNetRanker(**NETWORK),
    "tied pairs": RankNetRanker(**NETWORK, tied_pairs=True),
}


def training_data(weights=WEIGHTS, grades=GRADES):
    queries = QueryGroups.from_groups(GROUPS, N)
    columns = RowColumns(sample_weight=np.arange(1.0, 6.0), document_weight=weights)
    return TrainingData(
        LabelGrades.of_one(grades), queries.offsets, queries.query_ids, columns
    )


def weighted_lambdas(scores, grades, weights, metric, options):
    """The lambdas of one list: swap deltas times products of weights, pair by pair."""
    order = ranked_against_the_model(scores, grades)
    delta = deltas(metric, grades, order)  # of the metric, whose ideal is unweighted
    if options.by_distance:
        delta = normalise(delta, scores, options.sigma)
    delta = delta * np.outer(weights, weights)
    gradient, hessian, total = add_up(scores, grades, delta, options.sigma)
    factor = query_factor(total) if options.by_query else 1.0
    return gradient * factor, hessian * factor


@pytest.mark.parametrize("spread", [1.0, 2000.0])
@pytest.mark.parametrize(
    "options", [PairOptions(SIGMA), PairOptions(SIGMA, True, True)], ids=["", "norm"]
)
@pytest.mark.parametrize("name", ["ndcg@3", "ndcg", "map", "err", "bpref", None, "own"])
def test_lambdas_are_sums_over_pairs_of_products_of_weights(name, options, spread):
    others = {"own": FirstGrade(), "err": ERR(max_grade=5)}
    metric = others.get(name) or (name and get_metric(name))
    data, scores = training_data(), spread * SCORES
    weights = pair_weights_of(data, None, 0.05)
    with ThreadTeam(1) as team:
        found = GradedLambdas(data, metric, options, team, weights).derivatives(scores)
    for query in range(5):
        own = query == GROUPS
        expected = weighted_lambdas(
            scores[own], GRADES[own], WEIGHTS[own], metric, options
        )
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one[own], (query + 1) * other, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", ["ndcg@3", "err", None])
@pytest.mark.parametrize("normalize", [False, True])
def test_the_public_function_takes_weights_of_documents(name, normalize):
    metric = name and get_metric(name)
    given = {"groups": GROUPS, "normalize_lambdas": normalize}
    found = compute_lambdas(
        SCORES, GRADES, metric, SIGMA, document_weight=WEIGHTS, **given
    )
    options = PairOptions.read(SIGMA, normalize)
    trained = ERR(max_grade=5) if name == "err" else metric
    for query in range(5):
        own = query == GROUPS
        expected = weighted_lambdas(
            SCORES[own], GRADES[own], WEIGHTS[own], trained, options
        )
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one[own], other, rtol=1e-9, atol=1e-13)
    of_ones = compute_lambdas(
        SCORES, GRADES, metric, SIGMA, document_weight=np.ones(N), **given
    )
    without = compute_lambdas(SCORES, GRADES, metric, SIGMA, **given)
    assert_allclose(of_ones, without, rtol=1e-13, atol=1e-15)


def test_weights_multiply_those_of_propensities():
    data = training_data()
    known = np.linspace(0.01, 1, N)
    columns = RowColumns(document_weight=WEIGHTS, propensities=known)
    better, worse = pair_weights_of(
        TrainingData(data.grades, data.offsets, data.query_ids, columns), None, 0.05
    )
    assert_allclose(better, WEIGHTS / np.maximum(known, 0.05), rtol=1e-15)
    assert_array_equal(worse, WEIGHTS)


# --- the regression on the grades --------------------------------------------------


def means(values, weights=WEIGHTS):
    """The weighted mean of each query, at its rows."""
    return (np.bincount(GROUPS, weights * values) / np.bincount(GROUPS, weights))[
        GROUPS
    ]


def regression(scores, hessian, data):
    gradient, total = np.zeros(N), hessian.copy()
    index = QueryIndex.locate(data, ONE_PROCESS)
    Regression(data, 2.0, SIGMA, index, ThreadTeam(1)).add(scores, gradient, total)
    return gradient, total - hessian


def test_the_regression_is_that_of_weighted_squares():
    hessian = np.random.default_rng(1).random(N)
    mean_hessian = (np.bincount(GROUPS, hessian) / np.bincount(GROUPS, WEIGHTS))[GROUPS]
    centred, counts = GRADES - means(GRADES), WEIGHTS * (GROUPS + 1)
    targets = centred / np.sqrt(np.sum(counts * centred**2) / np.sum(counts))

    def cost(scores):
        residual = SIGMA * (scores - means(scores)) - targets
        return np.sum(2.0 * mean_hessian / SIGMA**2 * WEIGHTS * residual**2 / 2)

    step = 1e-6 * np.eye(N)
    expected = [(cost(SCORES + e) - cost(SCORES - e)) / 2e-6 for e in step]
    gradient, added = regression(SCORES, hessian, training_data())
    assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)
    assert_allclose(added, 2.0 * mean_hessian * WEIGHTS, rtol=1e-12)
    # curvature is a multiple of that of the pairs, whatever the weights are
    sums = np.bincount(GROUPS, added), np.bincount(GROUPS, hessian)
    assert_allclose(sums[0], 2.0 * sums[1], rtol=1e-12)
    # hessians of pairs have products of two weights
    scaled = regression(SCORES, 9.0 * hessian, training_data(3.0 * WEIGHTS))
    assert_allclose(scaled[0], 9.0 * gradient, rtol=1e-10, atol=1e-12)
    assert_allclose(scaled[1], 9.0 * added, rtol=1e-12)


def test_a_leaf_makes_a_newton_step_of_weighted_pairs_and_squares():
    options = PairOptions(1.0)
    start = np.random.default_rng(2).normal(size=len(Y))
    ranker = LambdaMARTRanker(
        "ndcg", n_estimators=1, max_leaf_nodes=2, min_samples_leaf=1, subsample=1.0,
        learning_rate=1.0, regression_weight=3.0, normalize_lambdas=False,
        grow_policy="best_first",
    )  # fmt: skip
    given = {"groups": DATA.groups, "init_score": start, "document_weight": SURE}
    ranker.fit(X, Y, **given)
    gradient, hessian, centred = np.zeros((3, len(Y)))
    has_pairs = np.zeros(len(Y), dtype=bool)
    for query in range(60):
        own = query == DATA.groups
        gradient[own], hessian[own] = weighted_lambdas(
            start[own], Y[own], SURE[own], NDCG(), options
        )
        centred[own] = Y[own] - np.average(Y[own], weights=SURE[own])
        has_pairs[own] = np.ptp(Y[own]) > 0
    counts = SURE * has_pairs
    deviation = np.sqrt(np.average(centred**2, weights=counts))
    for query in np.unique(DATA.groups[has_pairs]):
        own = query == DATA.groups
        curvature = 3.0 * hessian[own].sum() / SURE[own].sum() * SURE[own]
        s = start[own] - np.average(start[own], weights=SURE[own])
        gradient[own] += curvature * (s - centred[own] / deviation)
        hessian[own] += curvature
    left = X[:, ranker.ensemble_.feature[0]] <= ranker.ensemble_.threshold[0]
    steps = ranker.predict(X, init_score=start) - start
    for side in (left & has_pairs, ~left & has_pairs):
        assert_allclose(
            steps[side], -gradient[side].sum() / hessian[side].sum(), rtol=1e-5
        )


# --- clicks, tied pairs, costs ------------------------------------------------------


def test_ratios_of_a_pairwise_bias_are_those_of_weighted_costs():
    rng = np.random.default_rng(3)
    positions = np.concatenate([rng.permutation(n) for n in SIZES])
    start = np.ones((2, 60))
    bias = PairwiseBias(positions, start, 0.5, 0.05, ONE_PROCESS, WEIGHTS)
    assert_array_equal(bias.pair_weights[:2], [WEIGHTS, WEIGHTS])
    # what the objective writes: costs weighted by the other document of each pair
    costs = bias.pair_weights[2:] = rng.uniform(0.5, 1, (2, N))
    bias.step(np.zeros(N), np.zeros(N), 1.0)
    for ratios, cost in zip(bias.values, costs, strict=True):
        expected = pairwise_step(cost * WEIGHTS, positions, 0.5, 0.05)
        assert_allclose(ratios, expected, rtol=1e-12)
    expected = WEIGHTS / bias.values[:, positions]
    assert_array_equal(bias.pair_weights[:2], expected)


def pair_cost(scores, query, tied):
    """Weighted cost of the pairs of a query, and their weight."""
    cost, weight = 0.0, 0.0
    own = np.flatnonzero(query == GROUPS)
    for i in own:
        for j in own:
            x = SIGMA * (scores[i] - scores[j])
            if GRADES[i] > GRADES[j]:
                cost += WEIGHTS[i] * WEIGHTS[j] * softplus(-x)
                weight += WEIGHTS[i] * WEIGHTS[j]
            elif tied and i < j and GRADES[i] == GRADES[j]:
                cost += WEIGHTS[i] * WEIGHTS[j] * (softplus(x) + softplus(-x)) / 2
                weight += WEIGHTS[i] * WEIGHTS[j]
    return cost, weight


@pytest.mark.parametrize("tied", [False, True])
def test_the_measured_cost_is_the_one_whose_gradient_is_followed(tied):
    data = training_data()
    cost, weight = np.transpose([pair_cost(SCORES, q, tied) for q in range(5)])
    by_query = np.arange(1, 6)
    measure = PairCostMeasure(
        data, SIGMA, tied, QueryIndex.locate(data, ONE_PROCESS), None
    )
    measure.update(SCORES)
    expected = (by_query * cost).sum() / (by_query * weight).sum()
    assert measure.value() == pytest.approx(expected, rel=1e-12)
    with ThreadTeam(1) as team:
        weights = pair_weights_of(data, None, 0.05)
        lambdas = GradedLambdas(
            data, None, PairOptions(SIGMA), team, weights, tied_pairs=tied
        )
        gradient, _ = lambdas.derivatives(SCORES)
    for i in range(0, N, 5):
        step, query = 1e-5 * (np.arange(N) == i), GROUPS[i]
        change = [pair_cost(SCORES + e, query, tied)[0] for e in (step, -step)]
        slope = (query + 1) * (change[0] - change[1]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-7)


# --- what holds of fits -------------------------------------------------------------

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def fit(model, weights=None, rows=slice(None), **given):
    y = Y > 0 if model.position_bias else Y
    if model.position_bias:
        given["positions"] = PLACES[rows]
    if weights is not None:
        given["document_weight"] = weights
    return clone(model).fit(X[rows], y[rows], groups=DATA.groups[rows], **given)


pytestmark = pytest.mark.filterwarnings("ignore::sklearn_ltr.ShortClickLogWarning")


@every_model
def test_weights_of_1_change_no_bit_and_others_change_the_model(model):
    plain = fit(model).predict(X)
    assert fit(model, np.ones(len(Y))).predict(X).tobytes() == plain.tobytes()
    assert not np.allclose(fit(model, SURE).predict(X), plain)


@pytest.mark.parametrize("name", ["published", "pairs"])
def test_a_common_factor_changes_no_bit_where_lambdas_are_not_scaled_by_query(name):
    one, other = (fit(MODELS[name], c * SURE).predict(X) for c in (1.0, 2.0**-7))
    assert one.tobytes() == other.tobytes()
    scaled = [
        fit(clone(MODELS[name]).set_params(l2_regularization=c**2), c * SURE)
        for c in (1.0, 4.0)
    ]
    assert_array_equal(scaled[0].predict(X), scaled[1].predict(X))


@pytest.mark.parametrize("name", ["lambdarank", "ranknet", "tied pairs"])
def test_the_square_of_a_common_factor_is_one_of_alpha_in_networks(name):
    found = []
    for c in (1.0, 4.0):
        model = clone(MODELS[name]).set_params(
            alpha=0.1 * c**2, solver_params={"epsilon": 1e-8 * c**2}
        )
        found.append(fit(model, c * SURE).predict(X).tobytes())
    assert found[0] == found[1]


def test_weights_constant_within_queries_are_square_roots_of_sample_weight():
    weights = (1.0 + DATA.groups % 3) ** 2
    for name in ("published", "ranknet", "tied pairs"):
        by_document = fit(MODELS[name], np.sqrt(weights)).predict(X)
        by_query = fit(MODELS[name], sample_weight=weights).predict(X)
        assert_allclose(by_document, by_query, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("regression_weight", [0.0, 5.0])
def test_of_pairs_alone_a_document_of_weight_0_is_as_if_it_were_not_there(
    regression_weight,
):
    # rows of the same values, of which bins and the sizes of leaves know nothing new
    model = LambdaMARTRanker(
        None, **TREES, subsample=1.0, min_samples_leaf=1, grow_policy="best_first",
        regression_weight=regression_weight,
    )  # fmt: skip
    rows = np.concatenate((np.arange(len(Y)), np.arange(0, len(Y), 3)))
    weights = np.append(SURE, np.zeros(len(rows) - len(Y)))
    grades = np.append(Y, Y[::3] + 3)  # which would change all
    given = {"groups": DATA.groups[rows], "document_weight": weights}
    with_them = clone(model).fit(X[rows], grades, **given)
    assert_allclose(with_them.predict(X), fit(model, SURE).predict(X), rtol=1e-6)
    assert_allclose(with_them.loss_curve_, fit(model, SURE).loss_curve_, rtol=1e-9)


def test_a_document_of_weight_0_keeps_its_place_in_the_list():
    scores, grades = np.array([3.0, 2.0, 1.0]), np.array([0.0, 0.0, 1.0])
    columns = RowColumns(document_weight=np.array([0.0, 1.0, 1.0]))
    data = TrainingData(LabelGrades.of_one(grades), np.array([0, 3]), [0], columns)
    weights = pair_weights_of(data, None, 0.05)
    with ThreadTeam(1) as team:
        gradient, _ = GradedLambdas(
            data, NDCG(), PairOptions(1.0), team, weights
        ).derivatives(scores)
    swap = 1 / np.log2(3) - 1 / 2  # of the second and the third place, not the first
    assert_allclose(gradient, [0, swap / (1 + np.exp(-1)), -swap / (1 + np.exp(-1))])


@every_model
def test_the_order_of_the_rows_does_not_matter(model):
    order = np.random.default_rng(5).permutation(len(Y))
    shuffled = fit(model, SURE[order], order)
    assert_array_equal(shuffled.predict(X), fit(model, SURE).predict(X))


@every_model
def test_early_stopping_and_curves_measure_the_grades_as_they_are(model):
    validation = {"X_val": X, "y_val": Y, "groups_val": DATA.groups}
    ranker = fit(model, SURE, **validation)
    at = ranker.n_iter_ - (not hasattr(ranker, "ensemble_"))
    expected = ranker.score(X, Y, groups=DATA.groups)
    assert ranker.validation_score_[at] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["trees", "ranknet"])
def test_searches_warm_starts_and_partial_fits_hand_weights_on(name):
    model, given = MODELS[name], {"groups": DATA.groups, "document_weight": SURE}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            model, {"sigma": [1.0]}, cv=GroupKFold(2), error_score="raise",
            scoring=make_ranking_scorer("ndcg@10"),
        ).fit(X, Y, **given)  # fmt: skip
    assert_array_equal(search.predict(X), fit(model, SURE).predict(X))
    if name == "trees":
        half = clone(model).set_params(n_estimators=2, warm_start=True)
        again = half.fit(X, Y, **given).set_params(n_estimators=4).fit(X, Y, **given)
        assert_array_equal(again.predict(X), fit(model, SURE).predict(X))
    else:
        ones = np.ones(len(Y))
        one, other, plain = (
            clone(model).partial_fit(X, Y, groups=DATA.groups, document_weight=w)
            for w in (SURE, ones, None)
        )
        assert_array_equal(other.predict(X), plain.predict(X))
        assert not np.array_equal(one.predict(X), plain.predict(X))
