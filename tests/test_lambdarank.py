"""LambdaRank: RankNet where the swap delta is 1, and swap deltas where it is not."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr._compile import INTERPRETED
from sklearn_ltr.metrics import ERR, MAP, MRR, NDCG, Metric, get_metric
from tests.network import (
    DATA,
    FULL_BATCH,
    REPORT,
    VALIDATION,
    Lists,
    Recorder,
    curve,
    fitted,
    model,
    recorded,
    rows_of,
    small,
    validated,
    weights,
)
from tests.oracles import lambdas as lambda_oracle
from tests.oracles import networks as oracle


class EveryPairCountsOne(Metric):
    """No measure at all: the force alone."""

    def value(self, ranked_grades):
        return 0.5

    def swap_delta(self, ranked_grades):
        return np.ones((len(ranked_grades), len(ranked_grades)))


class NDCGOfAUser(Metric):
    def value(self, ranked_grades):
        discount = 1 / np.log2(np.arange(len(ranked_grades)) + 2)
        gains = 2.0**ranked_grades - 1
        return gains @ discount / (np.sort(gains)[::-1] @ discount)


# --- LambdaRank = RankNet x swap delta ----------------------------------------------


@pytest.mark.parametrize("metric", [None, EveryPairCountsOne()], ids=["none", "one"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "sgd", "learning_rate": "invscaling"},
        {"batch_size": 3, "activation": "tanh", "hidden_layer_sizes": (4, 3)},
        {"batch_size": FULL_BATCH, "sigma": 2.0, "hidden_layer_sizes": ()},
    ],
)
@pytest.mark.parametrize("validation", [False, True])
def test_a_swap_delta_of_1_makes_it_ranknet_to_the_bit(metric, options, validation):
    fit = validated if validation else fitted
    options = {"max_iter": 6, "scoring": "map"} | options
    one = fit(LambdaRankRanker, metric=metric, **options)
    other = fit(RankNetRanker, **options)
    assert model(one) == model(other)
    assert one.n_iter_ == other.n_iter_
    assert one.validation_scores_ == other.validation_scores_
    np.testing.assert_array_equal(one.predict(DATA.X), other.predict(DATA.X))


def test_weights_do_not_come_between_it_and_ranknet():
    weight = 0.5 + DATA.groups % 3
    one = fitted(LambdaRankRanker, weight=weight, metric=EveryPairCountsOne())
    assert model(one) == model(fitted(RankNetRanker, weight=weight))


def test_partial_fits_do_not_come_between_it_and_ranknet():
    one = small(LambdaRankRanker, metric=EveryPairCountsOne())
    other = small(RankNetRanker)
    for data in (DATA, VALIDATION, DATA):
        one.partial_fit(*data, groups=data.groups)
        other.partial_fit(*data, groups=data.groups)
    assert model(one) == model(other)


def test_a_metric_makes_a_difference():
    models = {
        metric: model(fitted(LambdaRankRanker, metric=metric, truncation_level=None))
        for metric in (None, "ndcg@10", "ndcg@3", "map", "mrr", "err")
    }
    assert len(set(models.values())) == len(models)


def test_the_truncation_level_is_the_cutoff_that_is_learned_from():
    def bytes_of(metric, level):
        return model(fitted(LambdaRankRanker, metric=metric, truncation_level=level))

    assert bytes_of("ndcg@3", 7) == bytes_of("ndcg@7", None) != bytes_of("ndcg@3", None)
    assert bytes_of("ndcg@7", 3) == bytes_of("ndcg@7", None)  # never a smaller one
    assert bytes_of("hit_rate@3", 7) == bytes_of("hit_rate@3", None)
    with pytest.raises(ValueError, match="truncation_level == 0, must be >= 1"):
        fitted(LambdaRankRanker, truncation_level=0)


@pytest.mark.parametrize(
    "metric", [NDCG(3), NDCG(), MAP(), MRR(4), ERR(max_grade=3), NDCGOfAUser()], ids=str
)
@pytest.mark.parametrize("batch_size", [1, 4, FULL_BATCH])
def test_the_update_is_the_sum_of_forces_times_swap_deltas(metric, batch_size):
    """Section 4.1: each pair by itself, its delta by swapping it and looking."""
    sigma, weight = 1.5, 0.5 + DATA.groups % 3
    options = REPORT | {"batch_size": batch_size, "learning_rate_init": 0.1}
    _, updates = recorded(
        LambdaRankRanker, weight=weight, metric=metric, sigma=sigma, max_iter=1,
        truncation_level=None, **options,
    )  # fmt: skip
    moving = 0
    for update in updates:
        rows = rows_of(update, DATA)
        groups = DATA.groups[rows]
        pairs = []
        for query in set(groups):
            own = np.flatnonzero(groups == query)
            s, grades = update.scores[own], DATA.y[rows[own]]
            order = lambda_oracle.ranked_against_the_model(s, grades)
            delta = lambda_oracle.deltas(metric, grades, order)
            pairs += [
                (own[i], own[j], 1.0, delta[i, j] * weight[rows[own[i]]])
                for i, j in lambda_oracle.pairs(grades)
            ]
        slopes = oracle.slopes(update.weights, update.X, "tanh")
        expected = oracle.gradient(slopes, update.scores, pairs, sigma)
        force = np.zeros(len(rows))
        for i, j, _, w in pairs:
            force[[i, j]] += w * sigma
        n_queries = len(set(groups))
        moving += force.any()
        for g, by_pair, by_w in zip(update.gradient, expected, slopes, strict=True):
            bound = np.tensordot(force, np.abs(by_w), 1) / n_queries
            assert (np.abs(g - by_pair / n_queries) <= 1e-5 * bound + 1e-7).all()
    assert moving > 0.7 * len(updates)  # the rest has two grades, both relevant


def test_a_metric_of_the_user_trains_like_its_closed_form():
    own = fitted(LambdaRankRanker, metric=NDCGOfAUser(), max_iter=6)
    built_in = fitted(LambdaRankRanker, metric="ndcg", max_iter=6)
    # deltas differ by some ulp
    for one, other in zip(weights(own), weights(built_in), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)
    np.testing.assert_allclose(own.train_scores_, built_in.train_scores_, rtol=1e-12)


# --- metrics ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metric",
    ["ndcg", "ndcg@3", "dcg@5", "cg@3", "map", "mrr@10", "err", "precision@2",
     "recall@2", "hit_rate@2", MAP(3, relevant_from=2), NDCG(gain="linear"),
     ERR(max_grade=4), NDCGOfAUser(), NDCGOfAUser(5), None],
    ids=str,
)  # fmt: skip
def test_every_metric_trains(metric):
    ranker = fitted(LambdaRankRanker, metric=metric, max_iter=15)
    assert ranker.n_iter_ == len(curve(ranker)) == 15
    assert np.isfinite(ranker.predict(DATA.X)).all()
    measure = NDCG(10) if metric is None else get_metric(metric)
    worst = measure(DATA.y, np.zeros(len(DATA.y)), groups=DATA.groups)
    assert ranker.score(*DATA, groups=DATA.groups) > worst


@pytest.mark.parametrize("weight", [None, 0.5 + DATA.groups % 3], ids=["equal", "not"])
@pytest.mark.parametrize("metric", ["ndcg@3", "map"])
def test_training_scores_are_the_metric_of_lists_as_they_were_met(metric, weight):
    ranker, updates = recorded(
        LambdaRankRanker, weight=weight, metric=metric, max_iter=2, batch_size=3
    )
    measure = get_metric(metric)
    n = len(updates) // 2
    for epoch, found in enumerate(ranker.train_scores_):
        rows, scores = [], []
        for update in updates[epoch * n : (epoch + 1) * n]:
            rows.append(rows_of(update, DATA))
            scores.append(update.scores)
        rows = np.concatenate(rows)
        expected = measure(
            DATA.y[rows], np.concatenate(scores), groups=DATA.groups[rows],
            sample_weight=None if weight is None else weight[rows],
        )  # fmt: skip
        assert found == pytest.approx(expected, rel=1e-12)
        assert set(rows) == set(rows_with_pairs())


def rows_with_pairs() -> np.ndarray:
    has = {g: np.ptp(DATA.y[DATA.groups == g]) > 0 for g in set(DATA.groups)}
    return np.flatnonzero([has[g] for g in DATA.groups])


def test_without_a_metric_it_tells_the_cost_as_ranknet_does():
    one = fitted(LambdaRankRanker, metric=None)
    assert one.loss_curve_ == fitted(RankNetRanker).loss_curve_
    assert not hasattr(one, "train_scores_")
    one.set_params(metric="map").fit(*DATA, groups=DATA.groups)
    assert one.train_scores_ == fitted(LambdaRankRanker, metric="map").train_scores_
    assert not hasattr(one, "loss_curve_")


@pytest.mark.parametrize(("first", "then"), [("map", None), (None, "map")])
def test_a_warm_start_may_go_on_with_another_metric(first, then):
    one = fitted(LambdaRankRanker, metric=first, warm_start=True)
    one.set_params(metric=then).fit(*DATA, groups=DATA.groups)
    assert one.n_iter_ == 8
    one.partial_fit(*DATA, groups=DATA.groups)
    assert one.n_iter_ == 9


def test_it_goes_on_while_the_metric_stands_still():
    ranker = fitted(LambdaRankRanker, n_iter_no_change=1, tol=2.0, max_iter=7)
    assert ranker.n_iter_ == 7


@pytest.mark.parametrize("metric", ["precision", "recall", "cg", "hit_rate@1000"])
def test_a_metric_that_no_swap_changes_is_refused(metric):
    ranker = small(LambdaRankRanker, metric=metric)
    with pytest.raises(ValueError, match="metric.*cutoff"):
        ranker.fit(*DATA, groups=DATA.groups)
    assert not hasattr(ranker, "network_")


def test_lists_that_are_ranked_well_already_are_nothing_to_complain_of():
    """Whether a swap changes a hit rate depends on what stands where at first."""
    X, y = np.array([[1.0], [2.0], [0.0], [-1.0]]), np.array([1, 1, 0, 0])
    for seed in range(10):
        data = Lists(X, y, np.zeros(4))
        ranker = fitted(
            LambdaRankRanker, data, metric="hit_rate@2", hidden_layer_sizes=(),
            random_state=seed,
        )  # fmt: skip
        assert ranker.n_iter_ == 4


@pytest.mark.parametrize("metric", ["ndcg@10", None, EveryPairCountsOne()], ids=str)
def test_learning_goes_on_when_nothing_is_left_to_learn(metric):
    # lambdas have underflowed
    X, y = np.array([[1.0], [2.0], [0.0], [-1.0]]), np.array([1, 1, 0, 0])
    ranker = small(
        LambdaRankRanker, metric=metric, hidden_layer_sizes=(), solver="sgd",
        momentum=0.0, alpha=0.0, warm_start=True, learning_rate_init=1e4,
    )  # fmt: skip
    ranker.fit(X, y, groups=[0] * 4)
    before = model(ranker)
    ranker.fit(X, y, groups=[0] * 4)
    ranker.partial_fit(X, y, groups=[0] * 4)
    assert ranker.n_iter_ == 9
    assert model(ranker) == before


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        (lambda n: np.ones(n), r"swap_delta must return \(\d+, \d+\)"),
        (lambda n: np.full((n, n), np.nan), "finite"),
        (lambda n: np.full((n, n), np.inf), "finite"),
    ],
)
def test_swap_deltas_of_a_wrong_shape_are_refused(delta, message):
    class Wrong(Metric):
        def value(self, ranked_grades):
            return 0.5

        def swap_delta(self, ranked_grades):
            return delta(len(ranked_grades))

    ranker = small(LambdaRankRanker, metric=Wrong())
    with pytest.raises(ValueError, match=f"Wrong.*{message}"):
        ranker.fit(*DATA, groups=DATA.groups)
    assert not hasattr(ranker, "network_")


def test_grades_beyond_the_gain_of_the_metric_are_refused():
    y = DATA.y.copy()
    y[5] = 2000
    query = int(DATA.groups[5])
    with pytest.raises(ValueError, match=f"gain.*query {query} has grade 2000"):
        fitted(LambdaRankRanker, Lists(DATA.X, y, DATA.groups))


# --- a list of 100,000 documents -----------------------------------------------------


def test_a_very_long_list_is_learned_from_in_little_memory():
    n = 3_000 if INTERPRETED else 100_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    y = np.clip(X[:, 0] + 0.3 * rng.normal(size=n), 0, 4).round()
    data = Lists(X, y, np.zeros(n))
    # compiled, and read from the disk
    fitted(LambdaRankRanker, data.take(slice(0, 100)), metric="ndcg@10", max_iter=1)
    before = peak_of_process()
    tracemalloc.start()
    try:
        ranker = fitted(LambdaRankRanker, data, metric="ndcg@10", max_iter=5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # some columns of 8 bytes, the table and the outputs of 5 units; n^2 bits: 1.2 GB
    assert peak < 600 * n
    assert peak_of_process() - before < 1000 * n + 50e6  # kernels allocate unseen
    assert ranker.n_iter_ == 5
    assert np.isfinite(ranker.predict(X)).all()


def peak_of_process() -> int:
    """Most memory this process has had so far, in bytes; 0 where that is not told."""
    if sys.platform == "win32":
        return 0
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def test_the_recorder_itself_learns_as_the_perceptron_does():
    """What these tests listen with changes nothing."""
    one, _ = recorded(LambdaRankRanker, network=(network := Recorder()))
    again, _ = recorded(LambdaRankRanker, network=network)
    assert model(one) == model(again)
    assert model(one) != b"".join(w.tobytes() for w in network.parameters)
