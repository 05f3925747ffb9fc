"""Lambdas of judged pairs: each weighs what a swap of its documents changes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import QueryGroups, RowColumns, TrainingData
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.data.pairs import JudgedPairs
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.lambdas.graded_pairs import GradedLambdas
from sklearn_ltr._core.lambdas.judged_pairs import JudgedLambdas
from sklearn_ltr._core.lambdas.pair import PairOptions
from sklearn_ltr._core.ranking.measures import JudgedCostMeasure
from sklearn_ltr.metrics import ERR, get_metric
from tests.oracles import lambdas as oracle
from tests.user_metrics import FirstGrade

SIZES = [6, 4, 2, 7, 1]
GROUPS = np.repeat(np.arange(5), SIZES)
N = len(GROUPS)
RNG = np.random.default_rng(0)
GRADES = RNG.integers(0, 3, N).astype(float)
GRADES[[0, 1, 10, 11]] = [2, 0, 2, 0]
#: Of few values, so that some documents have equal scores and grades
SCORES = RNG.choice([-0.5, 0.2, 1.0], N)
SIGMA = 0.7


OTHERS = {"own": FirstGrade(), "err": ERR(max_grade=2)}
NAMES = ["ndcg@3", "ndcg", "dcg@2", "map", "err", "mrr", "bpref", None, "own"]
#: In and against the order of the grades, of equal grades, twice, contradictory
PAIRS = np.array(
    [(i, j) for i in range(N) for j in range(N) if i != j and GROUPS[i] == GROUPS[j]]
)
PAIRS = np.concatenate([PAIRS[RNG.uniform(size=len(PAIRS)) < 0.4], PAIRS[:2]])
CHANCES = RNG.choice([0.0, 0.3, 0.5, 0.9, 1.0], len(PAIRS))
WEIGHTS = RNG.choice([0.25, 1.0, 3.0], len(PAIRS))


def metric_of(name):
    return OTHERS.get(name) or (name and get_metric(name))


def judged(pairs=PAIRS, chances=CHANCES, weights=None):
    queries = QueryGroups.from_groups(GROUPS, N)
    offsets, weights = (
        queries.offsets,
        np.ones(len(pairs)) if weights is None else weights,
    )
    columns = RowColumns(sample_weight=np.arange(1.0, 6.0))
    return TrainingData(
        LabelGrades.of_one(GRADES), offsets, queries.query_ids, columns,
        pairs=JudgedPairs(pairs, chances, weights, offsets).sorted(offsets),
    )  # fmt: skip


def mean_deltas(scores, grades, metric):
    """Swap deltas of one list, the mean over all orders of equal documents."""
    orders = oracle.orders_of_equals(scores, grades)
    return np.mean([oracle.deltas(metric, grades, order) for order in orders], axis=0)


def cost(scores, delta, pairs, chances, sigma=SIGMA):
    """The sum of |Delta| times the cross entropy of section 2 of Burges (2010)."""
    total = 0.0
    for (i, j), chance in zip(pairs, chances, strict=True):
        won = 1 / (1 + np.exp(-sigma * (scores[i] - scores[j])))
        entropy = -chance * np.log(won) - (1 - chance) * np.log(1 - won)
        total += delta[i, j] * entropy
    return total


def by_hand(scores, delta, pairs, chances, weights, options):
    """Gradient and hessian of one list, pair by pair."""
    gradient, hessian, total = np.zeros(len(scores)), np.zeros(len(scores)), 0.0
    if options.by_distance:
        delta = oracle.normalise(delta, scores, options.sigma)
    for (i, j), chance, weight in zip(pairs, chances, weights, strict=True):
        rho = oracle.falling_sigmoid(options.sigma * (scores[i] - scores[j]))
        force = weight * delta[i, j] * (1 - chance - rho)
        gradient[i] += options.sigma * force
        gradient[j] -= options.sigma * force
        curvature = options.sigma**2 * delta[i, j] * rho * (1 - rho)
        hessian[[i, j]] += weight * curvature
        total += abs(force)
    factor = oracle.query_factor(total) if options.by_query else 1.0
    return gradient * factor, hessian * factor


@pytest.mark.parametrize("weights", [np.ones(len(PAIRS)), WEIGHTS], ids=["", "weights"])
@pytest.mark.parametrize(
    "options", [PairOptions(SIGMA), PairOptions(SIGMA, True, True)], ids=["", "norm"]
)
@pytest.mark.parametrize("name", NAMES)
def test_a_pair_weighs_what_a_swap_of_its_documents_changes(name, options, weights):
    metric, data = metric_of(name), judged(weights=weights)
    with ThreadTeam(1) as team:
        found = JudgedLambdas(data, metric, options, team).derivatives(SCORES)
    assert np.abs(found[0]).sum() > 0.1
    for query, start in enumerate(np.cumsum(SIZES) - SIZES):
        own, of_query = query == GROUPS, GROUPS[PAIRS[:, 0]] == query
        delta = mean_deltas(SCORES[own], GRADES[own], metric)
        given = PAIRS[of_query] - start, CHANCES[of_query], weights[of_query]
        expected = by_hand(SCORES[own], delta, *given, options)
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one[own], (query + 1) * other, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", ["ndcg@3", "map", None])
def test_the_lambdas_are_the_derivatives_of_the_cross_entropy(name):
    scores = np.arange(6.0)[[3, 0, 5, 1, 4, 2]] / 3
    pairs = PAIRS[GROUPS[PAIRS[:, 0]] == 0]
    chances = CHANCES[: len(pairs)]
    delta = mean_deltas(scores, GRADES[:6], metric_of(name))
    step = 1e-6 * np.eye(6)
    given = delta, pairs, chances
    expected = [
        (cost(scores + e, *given) - cost(scores - e, *given)) / 2e-6 for e in step
    ]
    data = judged(pairs, chances)
    every = np.concatenate([scores, SCORES[6:]])
    objective = JudgedLambdas(data, metric_of(name), PairOptions(SIGMA), ThreadTeam(1))
    gradient, _ = objective.derivatives(every)
    assert_allclose(gradient[:6], expected, rtol=1e-6, atol=1e-8)
    assert_array_equal(gradient[6:], 0)


@pytest.mark.parametrize("spread", [0.0, 1.0, 2000.0])
@pytest.mark.parametrize("name", NAMES)
def test_all_pairs_of_the_grades_are_the_lambdas_of_the_grades(name, spread):
    everywhere = np.argwhere((GROUPS[:, None] == GROUPS) & (GRADES[:, None] > GRADES))
    data, options = (
        judged(everywhere, np.ones(len(everywhere))),
        PairOptions(SIGMA, True, True),
    )
    with ThreadTeam(1) as team:
        found = JudgedLambdas(data, metric_of(name), options, team).derivatives(
            spread * SCORES
        )
        graded = GradedLambdas(data, metric_of(name), options, team).derivatives(
            spread * SCORES
        )
    for one, other in zip(found, graded, strict=True):
        assert_allclose(one, other, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", ["ndcg@3", None])
def test_a_pair_of_equal_grades_counts_for_no_metric(name):
    i, j = next((i, j) for i, j in PAIRS if GRADES[i] == GRADES[j])
    data = judged(np.array([[i, j]]), np.ones(1))
    objective = JudgedLambdas(data, metric_of(name), PairOptions(SIGMA), ThreadTeam(1))
    gradient, _ = objective.derivatives(np.linspace(0, 1, N))
    assert (gradient[[i, j]] != 0).all() == (name is None)


@pytest.mark.parametrize("name", ["ndcg@3", "map", None, "own"])
def test_queries_in_another_order_have_the_same_lambdas(name):
    queries = np.array([3, 0, 4])
    with ThreadTeam(1) as team:
        objective = JudgedLambdas(
            judged(weights=WEIGHTS), metric_of(name), PairOptions(SIGMA), team
        )
        whole = [values.copy() for values in objective.derivatives(SCORES)]
        moved = objective.reordered(queries)
        found = moved.derivatives(SCORES[moved.documents], 0, 3)
    assert_array_equal(GROUPS[moved.documents], np.repeat([3, 0, 4], [7, 6, 1]))
    for one, other in zip(found, whole, strict=True):
        assert_array_equal(one, other[moved.documents])


@pytest.mark.parametrize("name", ["ndcg", None])
def test_threads_compute_the_same_bits(name):
    rng = np.random.default_rng(0)
    n_queries = 400
    groups = np.repeat(np.arange(n_queries), 10)
    grades = rng.integers(0, 3, len(groups)).astype(float)
    offsets = np.arange(0, len(groups) + 1, 10)
    first = rng.integers(0, 10, (40_000, 2))
    pairs = first[first[:, 0] != first[:, 1]]
    pairs = pairs + 10 * rng.integers(0, n_queries, len(pairs))[:, None]
    data = TrainingData(
        LabelGrades.of_one(grades), offsets, np.arange(n_queries),
        pairs=JudgedPairs(
            pairs, *rng.uniform(size=(2, len(pairs))), offsets
        ).sorted(offsets),
    )  # fmt: skip
    scores, results = rng.normal(size=len(groups)), []
    for n_threads in (1, 3):
        with ThreadTeam(n_threads) as team:
            objective = JudgedLambdas(
                data, metric_of(name), PairOptions(1.0, True, True), team
            )
            results.append([values.copy() for values in objective.derivatives(scores)])
    assert_array_equal(*results)


def test_the_cost_is_the_mean_over_pairs_by_their_weights_and_those_of_queries():
    data = judged(weights=WEIGHTS)
    evaluation = JudgedCostMeasure(data, SIGMA, QueryIndex.locate(data, ONE_PROCESS))
    evaluation.update(SCORES)
    weights = (GROUPS[PAIRS[:, 0]] + 1.0) * WEIGHTS
    ones = np.ones((N, N))
    costs = [
        cost(SCORES, ones, [pair], [chance])
        for pair, chance in zip(PAIRS, CHANCES, strict=True)
    ]
    expected = np.average(costs, weights=weights)
    assert evaluation.value() == pytest.approx(expected, rel=1e-12)


def test_equal_rows_are_told_apart_by_their_pairs():
    """Rows of equal content come in the order of what they are compared with."""
    data = judged(weights=WEIGHTS)
    contents = np.arange(N).astype(np.uint64) * np.uint64(977)
    contents[1] = contents[0]
    expected = data.pairs.content_keys([contents])[0]
    order = RNG.permutation(N)
    place = np.argsort(order)
    every = np.array([0, len(PAIRS)])
    moved = JudgedPairs(place[PAIRS], CHANCES, 0.25 * WEIGHTS, every)
    assert_array_equal(moved.content_keys([contents[order]])[0], expected[order])
    assert len(np.unique(expected)) == N - np.sum(~np.isin(np.arange(N), PAIRS)) + 1


@pytest.mark.parametrize("weights", [[2.0, 1.0], [3.5, 3.0]])
def test_equal_rows_are_told_apart_by_the_weights_of_their_pairs(weights):
    pairs, offsets = np.array([[0, 1], [2, 3]]), np.array([0, 4])
    contents = np.array([5, 9, 5, 9]).astype(np.uint64)
    found, equal = (
        JudgedPairs(pairs, np.ones(2), np.array(given), offsets).content_keys(
            [contents]
        )[0]
        for given in (weights, [3.0, 3.0])
    )
    assert len(set(found)) == 4
    assert len(set(equal)) == 2


def test_a_factor_of_weights_does_not_change_the_order_of_equal_rows():
    judged = np.array([[0, 1], [2, 3], [2, 1]])
    offsets = np.array([0, 4])
    pairs = JudgedPairs(judged, *np.ones((2, 3)), offsets).sorted(offsets)
    orders = {
        tuple(
            TrainingData(
                LabelGrades.of_one(np.zeros(4)),
                offsets,
                ["a"],
                RowColumns(sample_weight=np.array([2.0**-k])),
                rows=np.arange(4),
                pairs=pairs,
            ).content_order(np.zeros(4, dtype=np.uint64))
        )
        for k in range(20)
    }
    assert len(orders) == 1


def test_the_share_of_pairs_that_a_row_wins_is_by_their_weights():
    kept = np.isin(np.arange(N), PAIRS)
    found = []
    for order in (np.arange(N), RNG.permutation(N)):  # entries in another order
        place = np.argsort(order)
        pairs = JudgedPairs(place[PAIRS], CHANCES, WEIGHTS, np.array([0, N]))
        with np.errstate(invalid="ignore"):  # rows without pairs
            found.append(pairs.shares_won(N)[place][kept])
    assert_array_equal(*found)
    expected = []
    for row in np.flatnonzero(kept):
        wins, loses = (row == PAIRS).T
        won = np.append(CHANCES[wins], 1 - CHANCES[loses])
        weights = np.append(WEIGHTS[wins], WEIGHTS[loses])
        expected.append(np.average(won, weights=weights))
    assert_allclose(found[0], expected, rtol=1e-9, atol=1e-12)
