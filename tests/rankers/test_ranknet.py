"""RankNet: its updates pair by pair, its cost, and those of judged pairs.

What judged pairs are to all rankers is in `test_judged_pairs.py`.
"""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from sklearn_ltr import RankNetRanker
from tests.networks import (
    DATA,
    FULL_BATCH,
    REPORT,
    Linear,
    Lists,
    Recorder,
    assert_gradient,
    drawn_perceptron,
    fitted,
    model,
    recorded,
    rows_of,
    small,
    weights,
    weights_before,
)
from tests.oracles import networks as oracle

#: Many small steps, until the minimum of the cost.
CONVERGE = {
    "hidden_layer_sizes": (),
    "solver": "sgd",
    "alpha": 0.0,
    "tol": 0.0,
    "learning_rate_init": 0.1,
    "max_iter": 300,
    "n_iter_no_change": 300,
}


def weight_of(data: Lists = DATA) -> np.ndarray:
    return 0.5 + data.groups % 3


# --- the update of a batch --------------------------------------------------------


@pytest.mark.parametrize(
    ("batch_size", "activation", "sigma", "tied"),
    [
        (1, "tanh", 0.5, False),
        (4, "relu", 2.0, True),
        (FULL_BATCH, "relu", 0.5, False),
        (FULL_BATCH, "tanh", 2.0, True),
    ],
)
def test_the_factored_update_is_the_sum_of_the_updates_of_pairs(
    batch_size, activation, sigma, tied
):
    """Section 2.1: as if every pair were presented to the model by itself."""
    weight = weight_of()
    options = REPORT | {"batch_size": batch_size, "learning_rate_init": 0.02}
    _, updates = recorded(
        RankNetRanker, weight=weight, network=Recorder(activation=activation),
        sigma=sigma, tied_pairs=tied, max_iter=2, **options,
    )  # fmt: skip
    for update in updates:
        rows = rows_of(update, DATA)
        groups = DATA.groups[rows]
        pairs = oracle.pairs_of_grades(DATA.y[rows], groups, weight[rows], tied)
        assert_gradient(update, pairs, sigma, activation, len(set(groups)))
    seen = np.concatenate([rows_of(update, DATA) for update in updates])
    learned = DATA if tied else DATA.with_pairs()
    assert len(seen) == 2 * len(learned.y)  # every document once an epoch
    assert len(updates) == 2 * -(-learned.n_queries // batch_size)


@pytest.mark.parametrize(
    ("batch_size", "weight", "tied"),
    [
        (1, None, True),
        (3, weight_of(), False),
        (3, weight_of(), True),
        (FULL_BATCH, None, False),
    ],
)
def test_the_loss_curve_is_the_mean_cost_of_pairs_at_the_scores_of_the_updates(
    batch_size, weight, tied
):
    sigma = 1.5
    ranker, updates = recorded(
        RankNetRanker, weight=weight, sigma=sigma, tied_pairs=tied, max_iter=3,
        batch_size=batch_size, learning_rate_init=0.05,
    )  # fmt: skip
    pairs = oracle.pairs_of_grades(DATA.y, DATA.groups, weight, tied)
    n = len(updates) // 3
    expected = []
    for epoch in range(3):
        s = np.full(len(DATA.y), np.nan)
        for update in updates[epoch * n : (epoch + 1) * n]:
            s[rows_of(update, DATA)] = update.scores
        expected.append(oracle.mean_cost(s, pairs, sigma))
    np.testing.assert_allclose(ranker.loss_curve_, expected, rtol=1e-12)


def test_tied_pairs_alone_make_all_scores_equal():
    data = Lists(DATA.X, np.ones(len(DATA.y)), DATA.groups)
    network = drawn_perceptron(np.random.default_rng(0), hidden=())
    options = CONVERGE | {"batch_size": FULL_BATCH, "network": network}
    ranker = fitted(RankNetRanker, data, tied_pairs=True, **options)
    assert np.ptp(ranker.predict(DATA.X)) < 1e-3
    assert ranker.loss_curve_[-1] == pytest.approx(log(2), abs=1e-5)
    assert ranker.loss_curve_[0] > log(2) + 0.05


def test_training_stops_when_the_cost_no_longer_decreases_by_tol():
    n_iter_no_change = 3
    options = {"n_iter_no_change": n_iter_no_change, "max_iter": 50}
    never_better = fitted(RankNetRanker, tol=100.0, **options)
    assert never_better.n_iter_ == 1 + n_iter_no_change
    ranker = fitted(RankNetRanker, tol=0.01, **options)
    best, losses = 0, ranker.loss_curve_
    for n, loss in enumerate(losses):
        if loss < losses[best] - 0.01:
            best = n
    assert 1 + n_iter_no_change < len(losses) == best + n_iter_no_change + 1 < 50


# --- judged pairs -----------------------------------------------------------------


def pairs_of(data: Lists = DATA) -> np.ndarray:
    """(better, worse) rows of every query."""
    listed = oracle.pairs_of_grades(data.y, data.groups)
    return np.array([(i, j) for i, j, _, _ in listed])


PAIRS = pairs_of()
PROBABILITIES = np.random.default_rng(2).uniform(size=len(PAIRS))
OF_PAIRS = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.0], len(PAIRS))


def judging(
    X=DATA.X, pairs=PAIRS, probabilities=None, of_pairs=None, *, data=None, **options
):
    """Fit to judged pairs."""
    passed = {"pair_weights": of_pairs} | ({} if data is None else data)
    return small(RankNetRanker, **options).fit(
        X, pairs=pairs, pair_probabilities=probabilities, **passed
    )


@pytest.mark.parametrize("batch_size", [3, FULL_BATCH])
def test_tied_pairs_are_judged_pairs_of_probability_one_half(batch_size):
    options = {"batch_size": batch_size, "max_iter": 3, "tied_pairs": True}
    weight = weight_of()
    graded = fitted(RankNetRanker, weight=weight, **options)
    listed = oracle.pairs_of_grades(DATA.y, DATA.groups, None, True)
    pairs = np.array([(i, j) for i, j, _, _ in listed])
    probabilities = np.array([P for _, _, P, _ in listed])
    judged = judging(
        pairs=pairs, probabilities=probabilities,
        data={"groups": DATA.groups, "sample_weight": weight}, **options,
    )  # fmt: skip
    before = weights_before(RankNetRanker)
    for one, other, start in zip(weights(graded), weights(judged), before, strict=True):
        # lambdas are summed in another order
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
        assert np.abs(one - start).max() > 1e-2
    np.testing.assert_allclose(graded.loss_curve_, judged.loss_curve_, rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("batch_size", "grouped"), [(1, False), (FULL_BATCH, False), (1, True), (4, True)]
)
def test_an_update_by_judged_pairs_is_the_sum_of_those_of_its_pairs(
    batch_size, grouped, weighted
):
    sigma, network = 1.5, Recorder()
    given = OF_PAIRS if weighted else np.ones(len(PAIRS))
    options = REPORT | {"batch_size": batch_size, "learning_rate_init": 0.02}
    ranker = judging(
        probabilities=PROBABILITIES, of_pairs=given if weighted else None,
        network=network, sigma=sigma, max_iter=2,
        data={"groups": DATA.groups} if grouped else None, **options,
    )  # fmt: skip
    costs, counted = [], []
    for update in network.updates:
        rows = rows_of(update, DATA)
        index = {row: p for p, row in enumerate(rows)}
        # two documents of a batch are a pair only if that pair is in the batch
        listed = [
            (index[i], index[j], P, weight)
            for (i, j), P, weight in zip(PAIRS, PROBABILITIES, given, strict=True)
            if i in index and j in index and weight > 0
        ]
        n_units = len(set(DATA.groups[rows])) if grouped else len(listed)
        assert_gradient(update, listed, sigma, "tanh", n_units)
        costs += [oracle.mean_cost(update.scores, [pair], sigma) for pair in listed]
        counted += [weight for *_, weight in listed]
    assert len(costs) == 2 * (given > 0).sum()
    costs, counted = np.reshape([costs, counted], (2, 2, -1))
    by_epoch = np.average(costs, weights=counted, axis=1)
    np.testing.assert_allclose(ranker.loss_curve_, by_epoch, rtol=1e-12)


def test_an_automatic_batch_is_200_pairs_or_a_query():
    rng = np.random.default_rng(0)
    pairs = np.concatenate([PAIRS, PAIRS, rng.permutation(PAIRS)])[:401]
    assert len(pairs) == 401
    automatic = judging(pairs=pairs, batch_size="auto")
    assert model(automatic) == model(judging(pairs=pairs, batch_size=200))
    assert model(automatic) != model(judging(pairs=pairs, batch_size=201))
    grouped = {"groups": DATA.groups}
    automatic = judging(data=grouped, batch_size="auto")
    assert model(automatic) == model(judging(data=grouped, batch_size=1))


@pytest.mark.parametrize(
    ("pairs", "P", "sigma", "expected"),
    [
        ([(0, 1)], [0.0], 2.0, 0.0),
        ([(0, 1)], [0.3], 0.5, 0.3),
        ([(0, 1)], [0.5], 0.5, 0.5),
        # of a pair that is given several times the mean
        ([(0, 1)] * 2, [0.9, 0.6], 1.0, 0.75),
        ([(0, 1), (0, 1), (1, 0), (0, 1)], None, 1.0, 0.75),
    ],
)
def test_the_model_learns_a_given_probability(pairs, P, sigma, expected):
    X = np.array([[0.2, 1.0], [-0.4, 0.5]])
    options = CONVERGE | {"learning_rate_init": 0.5, "batch_size": 4}
    ranker = judging(X, pairs, P, sigma=sigma, **options)
    (found,) = ranker.predict_pair_proba(X[:1], X[1:])
    # 0 is reached in the limit only
    assert found == pytest.approx(expected, abs=0.03 if expected == 0 else 2e-3)
    (other,) = ranker.predict_pair_proba(X[1:], X[:1])
    assert other == pytest.approx(1 - found, rel=1e-12)


# --- probabilities ----------------------------------------------------------------


def test_pair_probabilities_are_the_sigmoid_of_section_2():
    ranker = fitted(RankNetRanker, sigma=3.0)
    X_i, X_j = DATA.X[:20], DATA.X[20:40]
    found = ranker.predict_pair_proba(X_i, X_j)
    s_i, s_j = ranker.predict(X_i), ranker.predict(X_j)
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-3.0 * (s_i - s_j))), 1e-12)
    assert (found.dtype, found.shape) == (np.float64, (20,))
    assert (ranker.predict_pair_proba(X_i, X_i) == 0.5).all()
    with pytest.raises(ValueError, match=r"X_i and X_j.*3 and 2"):
        ranker.predict_pair_proba(DATA.X[:3], DATA.X[:2])
    with pytest.raises(ValueError, match="features"):
        ranker.predict_pair_proba(DATA.X[:3], DATA.X[:3, :2])
    # of scores far apart they are 0 and 1
    ranker = small(RankNetRanker, network=Linear(1)).fit([[0], [1]], pairs=[(1, 0)])
    ranker.network_.w[:] = 1e30
    found = ranker.predict_pair_proba([[1.0], [-1.0]], [[-1.0], [1.0]])
    assert found.tolist() == [1.0, 0.0]


# --- one epoch after another ------------------------------------------------------


def test_training_may_continue_from_grades_to_judged_pairs():
    ranker = small(RankNetRanker).partial_fit(*DATA, groups=DATA.groups)
    first = model(ranker)
    ranker.partial_fit(DATA.X, pairs=PAIRS[:4])
    assert model(ranker) != first
    assert ranker.n_iter_ == len(ranker.loss_curve_) == 2


def test_a_fit_to_judged_pairs_drops_the_bias_of_positions():
    shown = np.zeros(len(DATA.y))
    for query in np.unique(DATA.groups):
        rows = DATA.groups == query
        shown[rows] = np.arange(rows.sum())
    ranker = small(RankNetRanker, position_bias="additive")
    ranker.fit(*DATA, groups=DATA.groups, positions=shown)
    assert ranker.position_bias_.any()
    ranker.set_params(position_bias=None).fit(DATA.X, pairs=PAIRS)
    assert not hasattr(ranker, "position_bias_")
    assert model(ranker) == model(judging())


# --- errors name the argument -----------------------------------------------------


def test_the_metric_of_ranknet_is_none_and_cannot_be_set():
    ranker = small(RankNetRanker)
    assert ranker.metric is None
    message = r"no metric.*LambdaRankRanker\(metric='map'\)"
    with pytest.raises(AttributeError, match=message):
        ranker.metric = "map"
    assert "metric" not in ranker.get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'metric'"):
        ranker.set_params(metric="map")
    assert ranker.metric is None


def test_tied_pairs_without_any_pair_raise_an_error_that_says_so():
    ranker = small(RankNetRanker, tied_pairs=True)
    with pytest.raises(ValueError, match="pairs"):
        ranker.fit(*DATA, groups=np.arange(len(DATA.y)))
    groups = np.where(DATA.groups < 10, np.arange(len(DATA.y)) + 100, DATA.groups)
    weight = 1.0 * (DATA.groups < 10)  # of the single documents alone
    with pytest.raises(ValueError, match=r"pairs|sample_weight"):
        ranker.fit(*DATA, groups=groups, sample_weight=weight)
    assert not hasattr(ranker, "network_")


@pytest.mark.parametrize("grade", [1e300, 5e-324])
def test_only_the_order_of_grades_matters(grade):
    y = DATA.y * grade
    ranker = fitted(RankNetRanker, Lists(DATA.X, y, DATA.groups))
    assert model(ranker) == model(fitted(RankNetRanker))
