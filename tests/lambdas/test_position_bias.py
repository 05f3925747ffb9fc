"""Learning from clicks: the bias of positions, and known propensities."""

from __future__ import annotations

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    RankNetRanker,
    ShortClickLogWarning,
    UnusedPositionsWarning,
)
from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import QueryGroups, RowColumns, TrainingData
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.lambdas.graded_pairs import GradedLambdas
from sklearn_ltr._core.lambdas.pair import PairOptions
from sklearn_ltr._core.lambdas.position_bias import AdditiveBias, PairwiseBias
from sklearn_ltr._core.networks.training import BIAS_RATE
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.clicks import simulate_clicks
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import get_metric, ndcg_score
from sklearn_ltr.model_selection import RankerSearch
from sklearn_ltr.scorers import make_ranking_scorer
from tests import files_named
from tests.oracles.lambdas import add_up, deltas, lambdas, normalise
from tests.oracles.metrics import ranked_against_the_model
from tests.oracles.position_bias import (
    additive_step,
    normalisation,
    pair_costs,
    pairwise_step,
    weighted_cost,
)

SIZES = [7, 4, 2, 1, 5]
GROUPS = np.repeat(np.arange(5), SIZES)
N = len(GROUPS)
RNG = np.random.default_rng(0)
CLICKS = (RNG.random(N) < 0.5).astype(float)
CLICKS[[0, 7, 11, 14]] = 1.0
CLICKS[[1, 8, 12, 15]] = 0.0
POSITIONS = np.concatenate([RNG.permutation(n) for n in SIZES])
T_PLUS, T_MINUS = RNG.uniform(0.1, 1, (2, N))
SIGMA = 0.7

TREES = {"n_estimators": 6, "max_leaf_nodes": 6, "min_samples_leaf": 20}
TREES |= {"random_state": 0}
NETWORK = {"max_iter": 3, "hidden_layer_sizes": (5,), "random_state": 0}
KINDS = {
    "additive trees": partial(LambdaMARTRanker, position_bias="additive", **TREES),
    "pairwise trees": partial(LambdaMARTRanker, position_bias="pairwise", **TREES),
    "lambdarank": partial(LambdaRankRanker, position_bias="additive", **NETWORK),
    "ranknet": partial(RankNetRanker, position_bias="additive", **NETWORK),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_ranker = pytest.mark.parametrize(
    "ranker",
    [LambdaMARTRanker(**TREES), LambdaRankRanker(**NETWORK), RankNetRanker(**NETWORK)],
    ids=lambda ranker: type(ranker).__name__,
)


def simulated(n_queries, n_sessions, seed=0, **options):
    """A log by a linear ranker drawn at random: rows of X, clicks, keywords of fit."""
    data = make_ranking(
        n_queries, n_documents=12, n_features=8, n_informative=4, random_state=seed
    )
    rng = np.random.default_rng(seed)
    log = simulate_clicks(
        data.target,
        data.data @ rng.normal(size=8),
        groups=data.groups,
        n_sessions=n_sessions,
        random_state=seed,
        **options,
    )
    shown = {"groups": log.sessions, "positions": log.positions}
    return data, log, (data.data[log.documents], log.clicks), shown


@pytest.fixture(scope="module")
def small_log():
    _, log, rows, shown = simulated(15, 200)
    return log, rows, shown


def objective(metric, options, pair_weights, team, grades=CLICKS):
    queries = QueryGroups.from_groups(GROUPS, N)
    columns = RowColumns(sample_weight=np.arange(1.0, 6.0))
    data = TrainingData(
        LabelGrades.of_one(grades), queries.offsets, queries.query_ids, columns
    )
    metric = metric and get_metric(metric)
    result = GradedLambdas(data, metric, options, team, pair_weights)
    result._workspaces[0].fill(np.nan)  # what is read must have been written
    return result


def of_queries(scores, metric, options, grades):
    """Slices of the queries, and the swap deltas of their present order."""
    for query in range(5):
        own = np.flatnonzero(query == GROUPS)
        s, g = scores[own], grades[own]
        order = ranked_against_the_model(s, g)
        delta = deltas(metric and get_metric(metric), g, order)
        if options.by_distance:
            delta = normalise(delta, s, options.sigma)
        factor = query + 1.0
        if options.by_query:
            ratios = T_PLUS[own], T_MINUS[own]
            factor *= normalisation(s, g, delta, options.sigma, *ratios)
        yield own, s, g, delta, factor


@pytest.mark.parametrize("spread", [1.0, 2000.0])
@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("ndcg@3", PairOptions(SIGMA)),
        ("map", PairOptions(SIGMA, True)),
        ("bpref", PairOptions(SIGMA)),
        (None, PairOptions(SIGMA, True)),
    ],
)
def test_weighted_lambdas_are_central_differences_of_the_weighted_cost(
    metric, options, spread
):
    scores = spread * np.random.default_rng(2).normal(size=N)
    weights = np.stack((1 / T_PLUS, 1 / T_MINUS, np.zeros(N), np.zeros(N)))
    with ThreadTeam(1) as team:
        compute = objective(metric, options, weights, team)
        gradient, hessian = compute.derivatives(scores)
    for own, s, g, delta, factor in of_queries(scores, metric, options, CLICKS):
        ratios = T_PLUS[own], T_MINUS[own]

        def cost(s, g=g, delta=delta, ratios=ratios):
            return weighted_cost(s, g, delta, SIGMA, *ratios)

        step = 1e-4 * np.eye(len(s))
        first = [(cost(s + e) - cost(s - e)) / 2e-4 for e in step]
        second = [(cost(s + e) - 2 * cost(s) + cost(s - e)) / 1e-8 for e in step]
        # differences of costs of up to 1e4 have errors of about 1e-12 / 1e-4
        assert_allclose(gradient[own], factor * np.array(first), rtol=1e-5, atol=1e-6)
        atol = 1e-5 if spread == 1 else 1e-2
        assert_allclose(hessian[own], factor * np.array(second), rtol=1e-3, atol=atol)
        better, worse = pair_costs(s, g, delta, SIGMA, *ratios)
        assert_allclose(weights[2, own], factor * better, rtol=1e-9, atol=1e-300)
        assert_allclose(weights[3, own], factor * worse, rtol=1e-9, atol=1e-300)


def test_documents_of_equal_score_and_weights_get_the_mean_over_their_orders():
    scores = np.round(np.random.default_rng(2).normal(size=N))
    weights = np.full((2, N), 2.0)
    with ThreadTeam(1) as team:
        gradient, _ = objective("ndcg", PairOptions(1.0), weights, team).derivatives(
            scores
        )
    for query in range(5):
        own = query == GROUPS
        metric = get_metric("ndcg")
        expected, _ = lambdas(scores[own], CLICKS[own], metric, 1.0)
        assert_allclose(gradient[own], 4 * (query + 1) * expected, atol=1e-14)


@pytest.mark.parametrize("metric", ["ndcg@3", "map", None])
def test_pairs_of_weight_1_give_the_bytes_of_pairs_without_weights(metric):
    rng = np.random.default_rng(3)
    options = PairOptions(1.0, True)
    for scores in (np.zeros(N), np.round(rng.normal(size=N)), 1e4 * rng.normal(size=N)):
        with ThreadTeam(1) as team:
            plain = objective(metric, options, None, team).derivatives(scores)
            weighted = objective(metric, options, np.ones((2, N)), team).derivatives(
                scores
            )
        for one, other in zip(plain, weighted, strict=True):
            assert one.tobytes() == other.tobytes()


def test_the_weights_follow_the_queries_into_another_order():
    weights = np.stack((1 / T_PLUS, 1 / T_MINUS))
    scores = np.random.default_rng(4).normal(size=N)
    with ThreadTeam(1) as team:
        compute = objective("ndcg", PairOptions(1.0), weights, team)
        gradient = compute.derivatives(scores)[0].copy()
        other = compute.reordered(np.array([3, 0, 4, 2]))
        moved, _ = other.derivatives(scores[other.documents])
    assert moved.tobytes() == gradient[other.documents].tobytes()


def test_the_additive_step_is_newton_s():
    gradient, hessian = np.random.default_rng(5).normal(size=(2, N))
    start = np.append(np.linspace(0, -1, POSITIONS.max() + 1), -0.5)  # one not shown
    bias = AdditiveBias(POSITIONS, start, 0.4, ONE_PROCESS)
    bias.step(gradient, hessian**2, 0.3)
    expected = additive_step(start, POSITIONS, gradient, hessian**2, 0.3, 0.4)
    assert_allclose(bias.values, expected, rtol=1e-12)
    assert bias.values[0] == 0
    assert len(bias.path) == 2
    assert_array_equal(bias.as_shown(np.ones(N)), 1 + bias.values[POSITIONS])


@pytest.mark.parametrize("regularization", [0.0, 1.0])
def test_the_pairwise_step_is_the_ratio_of_costs(regularization):
    start = np.ones((2, POSITIONS.max() + 1))
    bias = PairwiseBias(POSITIONS, start, regularization, 0.2, ONE_PROCESS, None)
    costs = np.random.default_rng(6).random((2, N)) * [[1], [1e-3]]
    costs[1, POSITIONS == 3] = 0.0  # in no pair
    costs[:, POSITIONS == 4] *= 1e-9  # below the smallest ratio
    bias.pair_weights[2:] = costs
    bias.step(np.zeros(N), np.zeros(N), 0.1)
    expected = [pairwise_step(c, POSITIONS, regularization, 0.2) for c in costs]
    assert_allclose(bias.values, expected, rtol=1e-12)
    assert bias.values[1, 3] == 1
    assert_array_equal(bias.pair_weights[:2], 1 / bias.values[:, POSITIONS])
    bias = PairwiseBias(POSITIONS, start, regularization, 0.2, ONE_PROCESS, None)
    bias.pair_weights[2] = 1.0
    bias.pair_weights[2:, POSITIONS == 0] = 0.0  # a ratio to nothing stays 1
    bias.step(np.zeros(N), np.zeros(N), 0.1)
    assert_array_equal(bias.values, 1)


# of a whole fit


class Still:
    """A network that scores 0 for ever."""

    def __init__(self):
        self.parameters = [np.zeros(1)]

    def forward(self, X):
        return np.zeros(len(X))

    def backward(self, gradient):
        return [np.zeros(1)]


@pytest.mark.filterwarnings("ignore:.*the same score")
def test_the_first_step_of_a_fit_is_that_of_the_oracles(small_log):
    _, (X, clicks), shown = small_log
    sessions, positions = shown["groups"], shown["positions"]
    plain = TREES | {"regression_weight": 0, "n_estimators": 1}
    plain |= {"normalize_lambdas": "distance", "metric": None, "learning_rate": 0.5}
    additive, pairwise, network = (
        ranker.fit(X, clicks, **shown).position_bias_
        for ranker in (
            LambdaMARTRanker(position_bias="additive", **plain),
            LambdaMARTRanker(position_bias="pairwise", **plain),
            RankNetRanker(network=Still(), max_iter=1, position_bias="additive"),
        )
    )
    gradient, hessian, better, worse = np.zeros((4, len(clicks)))
    for session in np.unique(sessions):
        own = np.flatnonzero(session == sessions)
        n, y = len(own), clicks[own]
        delta, one = np.ones((n, n)), np.ones(n)
        gradient[own], hessian[own], _ = add_up(np.zeros(n), y, delta, 1.0)
        better[own], worse[own] = pair_costs(np.zeros(n), y, delta, 1.0, one, one)
    for found, rate in ((additive, 0.5), (network, BIAS_RATE)):
        expected = additive_step(np.zeros(10), positions, gradient, hessian, rate, 0.3)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    expected = [pairwise_step(c, positions, 1.0, 0.05) for c in (better, worse)]
    assert_allclose(pairwise, expected, rtol=1e-9)


@every_ranker
def test_propensities_of_1_and_unused_positions_give_the_bytes_of_the_plain_fit(
    ranker, small_log
):
    _, (X, clicks), shown = small_log
    plain = clone(ranker).fit(X, clicks, groups=shown["groups"]).predict(X)
    with pytest.warns(
        UnusedPositionsWarning, match="position_bias=None learns"
    ) as told:
        unused = clone(ranker).fit(X, clicks, **shown)
    assert files_named(told, __file__) == [__file__]
    known = clone(ranker).fit(
        X, clicks, groups=shown["groups"], propensities=np.ones(len(X))
    )
    for other in (unused, known):
        assert other.predict(X).tobytes() == plain.tobytes()
        assert not hasattr(other, "position_bias_")


@pytest.mark.parametrize("kind", ["additive trees", "pairwise trees", "ranknet"])
def test_without_end_regularised_bias_gives_the_bytes_of_the_plain_fit(kind, small_log):
    _, (X, clicks), shown = small_log
    method = "pairwise" if kind == "pairwise trees" else "additive"
    bias = {"method": method, "regularization": 1e50}
    ranker = KINDS[kind](position_bias=bias)
    plain = clone(ranker).set_params(position_bias=None)
    plain.fit(X, clicks, groups=shown["groups"])
    assert ranker.fit(X, clicks, **shown).predict(X).tobytes() == (
        plain.predict(X).tobytes()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_regularization_falls_with_the_number_of_lists(kind, small_log):
    _, (X, clicks), shown = small_log
    n_clicks = np.bincount(shown["groups"], clicks)
    n_lists = np.sum((n_clicks > 0) & (n_clicks < np.bincount(shown["groups"])))
    method = "pairwise" if kind == "pairwise trees" else "additive"
    for weight in (0.5, 3.0, 100.0):  # each list stands for so many
        p = 1.0 if method == "pairwise" else 0.3
        if method == "additive" and weight == 100:
            p *= 5_000 / (weight * n_lists)
        given = {"method": method, "regularization": p}
        weights = np.full(len(X), weight)
        found, expected = (
            KINDS[kind](**options).fit(X, clicks, **shown, sample_weight=weights)
            for options in ({}, {"position_bias": given})
        )
        assert_allclose(found.position_bias_, expected.position_bias_, rtol=1e-9)


def test_a_short_log_is_said_to_be_short(small_log):
    _, (X, clicks), shown = small_log
    ranker = KINDS["additive trees"]()
    counts = np.bincount(shown["groups"], clicks), np.bincount(shown["groups"])
    n_lists = np.count_nonzero((counts[0] > 0) & (counts[0] < counts[1]))
    message = f"is learned from {n_lists:,} lists with a click and a document without"
    with pytest.warns(ShortClickLogWarning, match=message) as caught:
        ranker.fit(X, clicks, **shown)
    assert files_named(caught[:1], __file__) == [__file__]
    # 3,000 lists, or the number of equal ones as their weight, are enough
    weight = np.full(len(X), 3_001 / n_lists)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(X, clicks, **shown, sample_weight=weight)
        clone(ranker).set_params(position_bias=None).fit(
            X, clicks, groups=shown["groups"]
        )
        KINDS["pairwise trees"]().fit(X, clicks, **shown)
    assert caught == []


@every_ranker
def test_propensities_below_the_smallest_count_as_it(ranker, small_log):
    log, (X, clicks), shown = small_log
    propensities = log.propensities[log.positions]
    low = clone(ranker).set_params(min_propensity=0.3)
    fit = {"groups": shown["groups"]}
    low.fit(X, clicks, propensities=propensities, **fit)
    clipped = np.maximum(propensities, 0.3)
    same = clone(low).fit(X, clicks, propensities=clipped, **fit)
    assert low.predict(X).tobytes() == same.predict(X).tobytes()
    other = clone(ranker).fit(X, clicks, propensities=propensities, **fit)
    assert low.predict(X).tobytes() != other.predict(X).tobytes()
    with pytest.warns(UserWarning, match="are all below min_propensity=0.3"):
        low.fit(X, clicks, propensities=0.2 * propensities, **fit)


@every_kind
def test_the_order_of_rows_and_the_threads_do_not_matter(kind, small_log):
    _, (X, clicks), shown = small_log
    X = np.round(X)  # rows of the same features at different positions
    first = KINDS[kind](n_jobs=1).fit(X, clicks, **shown)
    order = np.random.default_rng(7).permutation(len(X))
    moved = {name: values[order] for name, values in shown.items()}
    second = KINDS[kind](n_jobs=2).fit(X[order], clicks[order], **moved)
    assert first.position_bias_.tobytes() == second.position_bias_.tobytes()
    assert first.predict(X).tobytes() == second.predict(X).tobytes()


@pytest.mark.parametrize("kind", ["additive trees", "pairwise trees"])
def test_a_warm_start_goes_on_with_the_bias(kind, small_log):
    _, (X, clicks), shown = small_log
    at_once = KINDS[kind](warm_start=True).fit(X, clicks, **shown)
    in_two = KINDS[kind](warm_start=True, n_estimators=2).fit(X, clicks, **shown)
    in_two.set_params(n_estimators=6).fit(X, clicks, **shown)
    assert pickle.dumps(vars(at_once)) == pickle.dumps(vars(in_two))


def test_a_warm_start_may_show_further_positions_or_another_kind(small_log):
    _, (X, clicks), shown = small_log
    few = shown["positions"] < 4
    ranker = KINDS["additive trees"](warm_start=True, n_estimators=3)
    ranker.fit(X[few], clicks[few], **{n: v[few] for n, v in shown.items()})
    assert ranker.position_bias_.shape == (4,)
    ranker.set_params(n_estimators=5).fit(X, clicks, **shown)
    assert ranker.position_bias_.shape == (10,)
    ranker.set_params(n_estimators=6, position_bias="pairwise")
    assert ranker.fit(X, clicks, **shown).position_bias_.shape == (2, 10)
    ranker.set_params(n_estimators=7, position_bias=None)
    with pytest.warns(UnusedPositionsWarning):
        ranker.fit(X, clicks, **shown)
    assert not hasattr(ranker, "position_bias_")


def test_partial_fit_goes_on_with_the_bias(small_log):
    _, (X, clicks), shown = small_log
    ranker = KINDS["lambdarank"]().partial_fit(X, clicks, **shown)
    once = ranker.position_bias_[1:]
    assert (ranker.partial_fit(X, clicks, **shown).position_bias_[1:] < once).all()
    known = np.full(len(X), 0.5)
    RankNetRanker(**NETWORK).partial_fit(
        X, clicks, groups=shown["groups"], propensities=known
    )


@pytest.mark.parametrize("kind", ["additive trees", "pairwise trees", "lambdarank"])
def test_early_stopping_keeps_the_bias_of_the_best_step(kind, small_log):
    _, (X, clicks), shown = small_log
    other = np.random.default_rng(7).permutation(clicks)
    validation = {"X_val": X, "y_val": other, "groups_val": shown["groups"]}
    name = "max_iter" if kind == "lambdarank" else "n_estimators"
    options = {name: 12, "n_iter_no_change": 12}
    stopped = KINDS[kind](**options).fit(X, clicks, **shown, **validation)
    curve = stopped.evals_result_["validation"]["ndcg@10"]
    best = int(np.argmax(curve)) + (kind == "lambdarank")
    assert 1 <= best < 12
    short = KINDS[kind](**{name: best}).fit(X, clicks, **shown)
    assert_array_equal(stopped.position_bias_, short.position_bias_)
    assert_array_equal(stopped.predict(X), short.predict(X))


def test_positions_are_routed_to_pipelines_and_searches(small_log):
    _, (X, clicks), shown = small_log
    ranker = KINDS["pairwise trees"]()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), ranker),
            {"lambdamartranker__position_bias": ["pairwise"]},
            scoring=make_ranking_scorer("ndcg@10"),
            cv=GroupKFold(2),
        ).fit(X, clicks, **shown)
    alone = ranker.fit(StandardScaler().fit_transform(X), clicks, **shown)
    found = search.best_estimator_[-1].position_bias_
    assert_array_equal(found, alone.position_bias_)


PLAIN = LambdaMARTRanker(**TREES)
BIASED = LambdaMARTRanker(**TREES, position_bias="pairwise")
PIPELINE = make_pipeline(StandardScaler(), PLAIN)
GRID = {"position_bias": [None, "pairwise"]}
OPTIONS = {"scoring": make_ranking_scorer("ndcg@10"), "cv": GroupKFold(2)}


def blend_of(*rankers):
    return BlendedRanker(list(rankers))


def candidates(ranker, owner):
    """A search of scikit-learn for the position bias of a ranker within another."""
    grid = {f"{owner}__position_bias": GRID["position_bias"]}
    return GridSearchCV(ranker, grid, error_score="raise", **OPTIONS)


def searched(space, **options):
    options |= {"n_iter": 3, "cv": 2, "random_state": 0}
    return RankerSearch(PLAIN, param_distributions=space, **options)


@pytest.mark.parametrize(
    ("plain", "mixed"),
    [
        (PLAIN, clone(PLAIN).set_params(init=BIASED)),
        (PLAIN, clone(BIASED).set_params(init=PLAIN)),
        (LambdaRankRanker(**NETWORK), KINDS["lambdarank"]()),
        (PIPELINE, make_pipeline(StandardScaler(), BIASED)),
        (BaggingRanker(PLAIN, 3), BaggingRanker(BIASED, 3)),
        (BaggingRanker(PLAIN, 3, n_jobs=2), BaggingRanker(BIASED, 3, n_jobs=2)),
        (blend_of(PLAIN, PLAIN), blend_of(PLAIN, BIASED)),
        (blend_of(PLAIN, MARTRegressor(n_estimators=2)), blend_of(BIASED, PLAIN)),
        (CalibratedRanker(PLAIN, cv=2), CalibratedRanker(BIASED, cv=2)),
        (
            searched({"learning_rate": [0.2, 0.3]}),
            searched(GRID),
        ),
        (
            searched([{"learning_rate": [0.2]}], blend=False),
            searched([GRID], blend=False),
        ),
        (
            GridSearchCV(PLAIN, {"learning_rate": [0.1]}, **OPTIONS),
            GridSearchCV(PLAIN, GRID, **OPTIONS),
        ),
        (
            CalibratedRanker(PLAIN, cv=2, n_jobs=2),
            CalibratedRanker(BIASED, cv=2, n_jobs=2),
        ),
        (None, GridSearchCV(PLAIN, GRID, n_jobs=2, **OPTIONS)),
        (None, candidates(PIPELINE, "lambdamartranker")),
        (None, candidates(BaggingRanker(PLAIN, 2), "estimator")),
        (None, candidates(BaggingRanker(PIPELINE, 2), "estimator__lambdamartranker")),
        (None, candidates(BlendedRanker([("a", PLAIN), ("b", PLAIN)]), "a")),
        (None, candidates(CalibratedRanker(PLAIN, cv=2, n_jobs=2), "ranker")),
        (None, candidates(searched({"n_estimators": [1, 2]}), "ranker")),
        (None, candidates(LambdaMARTRanker(init=PLAIN, **TREES), "init")),
    ],
)
def test_positions_that_no_ranker_learns_from_are_told_of(plain, mixed, small_log):
    _, (X, clicks), shown = small_log
    with sklearn.config_context(enable_metadata_routing=True):
        clone(mixed).fit(X, clicks, **shown)  # a warning would be an error
        if plain is None:
            return
        with pytest.warns(UnusedPositionsWarning, match="position_bias=None") as told:
            clone(plain).fit(X, clicks, **shown)
        once = not isinstance(plain, GridSearchCV)  # else for each fit
        assert len(told) == 1 or not once
        propensities = np.full(len(X), 0.5)
        if once and not isinstance(plain, BlendedRanker):
            clone(plain).fit(X, clicks, **shown, propensities=propensities)


def test_what_a_search_has_set_is_known_to_clones_and_not_saved(small_log):
    _, (X, clicks), shown = small_log
    chosen = LambdaMARTRanker(**TREES).set_params(position_bias=None)
    for asked in (chosen, clone(chosen), clone(clone(chosen))):
        asked.fit(X, clicks, **shown)  # a warning would be an error
    unset = LambdaMARTRanker(**TREES).set_params(n_estimators=1)
    for plain in (pickle.loads(pickle.dumps(clone(chosen))), chosen, unset):
        with pytest.warns(UnusedPositionsWarning):  # the second fit of `chosen`
            plain.fit(X, clicks, **shown)
    assert "_set_before_fit" not in vars(chosen)


def test_options_that_meet_a_bias(small_log):
    _, (X, clicks), shown = small_log
    for options in (
        {"learning_rate": lambda m: 0.1 / (1 + m)},
        {"subsample": 0.5},
        {"metric": None},
        {"init": LambdaMARTRanker(position_bias="additive", **TREES)},
        {"objective": lambda s, y, offsets: (s - y, np.ones(len(y)))},
        {"early_stopping": True},  # positions are split, too
    ):
        ranker = KINDS["additive trees"](**options).fit(X, clicks, **shown)
        assert np.isfinite(ranker.position_bias_).all()
        assert ranker.position_bias_.shape == (10,)
        assert np.ptp(ranker.predict(X)) > 0
    start = np.random.default_rng(8).normal(size=len(X))
    ranker = KINDS["pairwise trees"]().fit(X, clicks, init_score=start, **shown)
    assert (ranker.position_bias_[0, 1:5] < 1).all()


@pytest.mark.parametrize("kind", ["additive trees", "pairwise trees"])
def test_sigma_only_scales(kind, small_log):
    _, (X, clicks), shown = small_log
    one = KINDS[kind]().fit(X, clicks, **shown)
    steep = KINDS[kind](sigma=4.0).fit(X, clicks, **shown)
    unit = 4.0 if kind == "additive trees" else 1.0
    assert_array_equal(unit * steep.position_bias_, one.position_bias_)
    assert_array_equal(4.0 * steep.predict(X), one.predict(X))


def test_far_scores_give_a_model_or_an_error_that_says_so(small_log):
    _, (X, clicks), shown = small_log
    start = np.where(clicks > 0, -700.0, 0.0)
    fitted = KINDS["pairwise trees"]().fit(X, clicks, init_score=start, **shown)
    assert np.isfinite(fitted.position_bias_).all()
    with pytest.raises(ValueError, match="the bias of a position diverges to"):
        KINDS["additive trees"]().fit(X, clicks, init_score=start, **shown)


@pytest.mark.parametrize("kind", ["additive", "pairwise", "known"])
def test_clicks_of_strong_bias_are_corrected(kind):
    data, log, (X, clicks), shown = simulated(200, 3000)
    options = {"max_leaf_nodes": 15, "min_samples_leaf": 50, "random_state": 0}
    naive = LambdaMARTRanker(**options).fit(X, clicks, groups=log.sessions)
    if kind == "known":
        propensities = log.propensities[log.positions]
        ranker = LambdaMARTRanker(**options)
        ranker.fit(X, clicks, groups=log.sessions, propensities=propensities)
    else:
        ranker = LambdaMARTRanker(position_bias=kind, **options)
        bias = np.atleast_2d(ranker.fit(X, clicks, **shown).position_bias_)[0]
        assert bias[0] > bias[1] > bias[2:].mean()
    corrected, plain = (
        ndcg_score(data.target, model.predict(data.data), groups=data.groups, k=10)
        for model in (ranker, naive)
    )
    assert corrected > plain + 0.01  # 0.03 to 0.1
