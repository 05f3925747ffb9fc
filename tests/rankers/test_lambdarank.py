"""LambdaRank: RankNet's force times the swap delta of the metric.

What judged pairs are to all rankers is in `test_judged_pairs.py`.
"""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr.metrics import ERR, MAP, MRR, NDCG, get_metric
from tests.networks import (
    DATA,
    FULL_BATCH,
    REPORT,
    VALIDATION,
    Lists,
    Recorder,
    assert_gradient,
    fitted,
    model,
    recorded,
    rows_of,
    small,
    validated,
)
from tests.oracles import lambdas as lambda_oracle
from tests.user_metrics import NDCGOfAUser, SwapDeltaOne

WEIGHT = 0.5 + DATA.groups % 3


# --- LambdaRank = RankNet x swap delta --------------------------------------------


@pytest.mark.parametrize(
    ("metric", "options", "validation"),
    [
        (None, {}, True),
        (SwapDeltaOne(), {"solver": "sgd", "learning_rate": "invscaling"}, True),
        (SwapDeltaOne(), {"batch_size": FULL_BATCH, "weight": WEIGHT}, False),
    ],
)
def test_with_swap_deltas_of_1_it_is_ranknet_bit_for_bit(metric, options, validation):
    fit = validated if validation else fitted
    options = {"max_iter": 6, "scoring": "map"} | options
    one = fit(LambdaRankRanker, metric=metric, **options)
    other = fit(RankNetRanker, **options)
    assert model(one) == model(other)
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_array_equal(one.validation_score_, other.validation_score_)
    np.testing.assert_array_equal(one.predict(DATA.X), other.predict(DATA.X))
    for data in (VALIDATION, DATA):  # and so do partial fits
        one.partial_fit(*data, groups=data.groups)
        other.partial_fit(*data, groups=data.groups)
    assert model(one) == model(other)


def test_the_truncation_level_deepens_the_cutoff_of_the_swap_deltas():
    def bytes_of(metric, level):
        return model(fitted(LambdaRankRanker, metric=metric, truncation_level=level))

    assert bytes_of("ndcg@3", 7) == bytes_of("ndcg@7", None) != bytes_of("ndcg@3", None)
    assert bytes_of("ndcg@7", 3) == bytes_of("ndcg@7", None)  # it only deepens
    assert bytes_of("hit_rate@3", 7) == bytes_of("hit_rate@3", None)
    with pytest.raises(ValueError, match="truncation_level must be an integer >= 1"):
        fitted(LambdaRankRanker, truncation_level=0)


@pytest.mark.parametrize(
    ("metric", "batch_size"),
    [(NDCG(3), 1), (NDCG(), 4), (MAP(), FULL_BATCH), (MRR(4), 1),
     (ERR(max_grade=3), 4), (NDCGOfAUser(), FULL_BATCH)],
    ids=str,
)  # fmt: skip
def test_the_update_is_the_sum_of_forces_times_swap_deltas(metric, batch_size):
    """Section 4.1, pair by pair; each delta by evaluating the swapped list."""
    sigma, weight = 1.5, WEIGHT
    options = REPORT | {"batch_size": batch_size, "learning_rate_init": 0.1}
    _, updates = recorded(
        LambdaRankRanker, weight=weight, metric=metric, sigma=sigma, max_iter=1,
        truncation_level=None, **options,
    )  # fmt: skip
    n_not_zero = 0
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
        assert_gradient(update, pairs, sigma, "tanh", len(set(groups)))
        n_not_zero += any(w for *_, w in pairs)
    # in the other batches all documents are relevant, and no swap changes the metric
    assert n_not_zero > 0.7 * len(updates)


# --- judged pairs -----------------------------------------------------------------

GRADED = np.argwhere((DATA.groups[:, None] == DATA.groups) & (DATA.y[:, None] > DATA.y))
PAIRS = np.random.default_rng(0).permutation(GRADED)[: len(GRADED) // 2]
PAIRS[::7] = PAIRS[::7, ::-1]  # against the grades
CHANCES = np.random.default_rng(1).choice([0.3, 0.8, 1.0], len(PAIRS))
OF_PAIRS = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], len(PAIRS))
JUDGED = {"groups": DATA.groups, "pairs": PAIRS, "pair_probabilities": CHANCES}
WEIGHTED = JUDGED | {"pair_weights": OF_PAIRS}


@pytest.mark.parametrize("grouped", [True, False])
def test_without_a_metric_judged_pairs_are_those_of_ranknet(grouped):
    given = JUDGED | {"groups": DATA.groups if grouped else None}
    one = small(LambdaRankRanker, metric=None).fit(DATA.X, **given)
    other = small(RankNetRanker).fit(DATA.X, **given)
    assert model(one) == model(other)
    np.testing.assert_array_equal(one.loss_curve_, other.loss_curve_)


@pytest.mark.parametrize(
    ("metric", "batch_size"),
    [(NDCG(3), 1), (MAP(), 4), (NDCGOfAUser(), FULL_BATCH)],
    ids=str,
)
def test_the_update_by_judged_pairs_has_the_swap_deltas_of_the_grades(
    metric, batch_size
):
    network = Recorder()
    options = REPORT | {"batch_size": batch_size, "learning_rate_init": 0.1}
    ranker = small(
        LambdaRankRanker, metric=metric, network=network, sigma=1.5, max_iter=1,
        truncation_level=None, **options,
    )  # fmt: skip
    ranker.fit(*DATA, **WEIGHTED, sample_weight=WEIGHT)
    n_not_zero = 0
    for update in network.updates:
        rows = rows_of(update, DATA)
        groups, pairs = DATA.groups[rows], []
        for query in set(groups):
            own = np.flatnonzero(groups == query)
            s, grades = update.scores[own], DATA.y[rows[own]]
            order = lambda_oracle.ranked_against_the_model(s, grades)
            delta = lambda_oracle.deltas(metric, grades, order)
            index = {row: place for place, row in enumerate(rows[own])}
            pairs += [
                (
                    own[index[i]], own[index[j]], P,
                    delta[index[i], index[j]] * WEIGHT[i] * weight,
                )
                for (i, j), P, weight in zip(PAIRS, CHANCES, OF_PAIRS, strict=True)
                if i in index
            ]  # fmt: skip
        assert_gradient(update, pairs, 1.5, "tanh", len(set(groups)))
        n_not_zero += any(w for *_, w in pairs)
    assert n_not_zero > 0.6 * len(network.updates)


# --- metrics ----------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "weight"), [("ndcg@3", WEIGHT), ("map", None)])
def test_the_train_score_is_the_metric_at_the_scores_of_the_updates(metric, weight):
    ranker, updates = recorded(
        LambdaRankRanker, weight=weight, metric=metric, max_iter=2, batch_size=3
    )
    measure = get_metric(metric)
    n = len(updates) // 2
    for epoch, found in enumerate(ranker.train_score_):
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
        assert len(rows) == len(DATA.with_pairs().y)


def test_without_a_metric_the_cost_is_recorded_in_place_of_the_metric():
    one = fitted(LambdaRankRanker, metric=None)
    np.testing.assert_array_equal(one.loss_curve_, fitted(RankNetRanker).loss_curve_)
    assert not hasattr(one, "train_score_")
    one.set_params(metric="map").fit(*DATA, groups=DATA.groups)
    expected = fitted(LambdaRankRanker, metric="map").train_score_
    np.testing.assert_array_equal(one.train_score_, expected)
    assert not hasattr(one, "loss_curve_")


def test_a_chunk_of_which_no_swap_changes_the_metric_is_not_refused_later():
    first_two = [np.flatnonzero(DATA.groups == g)[:2] for g in set(DATA.groups)]
    short = DATA.take(np.concatenate(first_two))
    ranker = small(LambdaRankRanker, metric="hit_rate@2", truncation_level=None)
    with pytest.raises(ValueError, match="no swap of two documents changes"):
        ranker.partial_fit(*short, groups=short.groups)
    ranker.partial_fit(*DATA, groups=DATA.groups)
    assert ranker.partial_fit(*short, groups=short.groups).n_iter_ == 2


def test_queries_that_are_ranked_perfectly_at_first_raise_no_error():
    """Whether any swap changes a hit rate depends on the initial ranking."""
    X, y = np.array([[1.0], [2.0], [0.0], [-1.0]]), np.array([1, 1, 0, 0])
    for seed in range(4):
        data = Lists(X, y, np.zeros(4))
        ranker = fitted(
            LambdaRankRanker, data, metric="hit_rate@2", hidden_layer_sizes=(),
            random_state=seed,
        )  # fmt: skip
        assert ranker.n_iter_ == ranker.max_iter


@pytest.mark.parametrize("metric", ["ndcg@10", None], ids=str)
def test_training_continues_when_all_lambdas_have_underflowed(metric):
    X, y = np.array([[1.0], [2.0], [0.0], [-1.0]]), np.array([1, 1, 0, 0])
    ranker = small(
        LambdaRankRanker, metric=metric, hidden_layer_sizes=(), solver="sgd",
        solver_params={"momentum": 0.0}, alpha=0.0, warm_start=True,
        learning_rate_init=1e4,
    )  # fmt: skip
    ranker.fit(X, y, groups=[0] * 4)
    before = model(ranker)
    ranker.fit(X, y, groups=[0] * 4)
    ranker.partial_fit(X, y, groups=[0] * 4)
    assert ranker.n_iter_ == 2 * ranker.max_iter + 1  # two fits and a partial_fit
    assert model(ranker) == before


# --- one query of 100,000 documents -----------------------------------------------


def test_memory_grows_linearly_with_the_documents_of_a_query():
    n = 3_000 if INTERPRETED else 100_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    y = np.clip(X[:, 0] + 0.3 * rng.normal(size=n), 0, 4).round()
    data = Lists(X, y, np.zeros(n))
    # compiles, or reads from the disk
    fitted(LambdaRankRanker, data.take(slice(0, 100)), metric="ndcg@10", max_iter=1)
    before = peak_of_process()
    tracemalloc.start()
    try:
        ranker = fitted(LambdaRankRanker, data, metric="ndcg@10", max_iter=5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # some float64 columns, X and the outputs of 5 units; n^2 bits would be 1.2 GB
    assert peak < 600 * n
    # tracemalloc does not see the allocations of kernels
    assert peak_of_process() - before < 1000 * n + 50e6
    assert ranker.n_iter_ == 5
    assert np.isfinite(ranker.predict(X)).all()


def peak_of_process() -> int:
    """Peak memory of this process in bytes; 0 where it cannot be read."""
    if sys.platform == "win32":
        return 0
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
