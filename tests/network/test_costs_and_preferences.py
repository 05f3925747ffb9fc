"""Costs and forces of pairs against section 2 of the report, and one another."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._queries import QueryGroups
from sklearn_ltr.lambdas import (
    LambdaGradient,
    compute_lambdas,
    pair_costs,
    preference_cost,
    pull_together,
    push_preferences,
)
from sklearn_ltr.metrics import ERR, MAP, NDCG, Metric
from tests.oracles import lambdas as lambda_oracle
from tests.oracles import networks as oracle
from tests.strategies import Ranking, rankings

every_sigma = pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
tied_or_not = pytest.mark.parametrize("tied", [False, True])
chances = st.floats(0, 1, allow_subnormal=False)
#: Together in reach of the products, a little beyond, and as far apart as can be.
APART = [0.0, 1e-9, 0.3, 3.0, 5.0, 39.9, 40.1, 100.0, 700.0, 1e9, 1e300]
#: In the logarithm of a product a factor near 1 is rounded to within this.
ROUNDED = 4e-16


def canonical(data: Ranking):
    """Scores, grades and offsets as the kernels take them."""
    queries = QueryGroups.from_groups(data.groups, len(data.groups))
    return queries.sort(data.scores), queries.sort(data.y), queries.offsets


def costs(data: Ranking, sigma=1.0, tied=False) -> np.ndarray:
    """Of each query; its documents are ordered from high grade to low."""
    best_first = np.lexsort((-data.y, data.groups))
    offsets = canonical(data)[2]
    found = np.full(len(offsets) - 1, np.nan)
    scores, grades = data.scores[best_first], data.y[best_first]
    pair_costs(scores, grades, offsets, sigma, tied, found)
    return found


def two(s_i, s_j, S) -> Ranking:
    """One query of two documents."""
    y = {1: [1.0, 0.0], 0: [2.0, 2.0], -1: [0.0, 3.0]}[S]
    return Ranking(np.array(y), np.array([s_i, s_j]), np.zeros(2, dtype=np.int64))


def costs_of_pairs(scores, grades, sigma, tied) -> list[float]:
    """One by one, the better (or first) document of each first: S is 1 or 0."""
    return [
        oracle.cost(scores[i], scores[j], int(grades[i] > grades[j]), sigma)
        for i in range(len(scores))
        for j in range(len(scores))
        if grades[i] > grades[j] or (tied and grades[i] == grades[j] and i < j)
    ]


def some(seed=0, n_queries=8, longest=20, spread=1.0) -> Ranking:
    """Ragged, interleaved queries with equal grades and equal scores."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest, n_queries)
    groups = rng.permutation(np.repeat(np.arange(n_queries), sizes))
    y = rng.integers(0, 4, len(groups)).astype(np.float64)
    scores = spread * rng.normal(size=len(groups)).round(1)
    return Ranking(y, scores, groups)


# --- costs ------------------------------------------------------------------------


@every_sigma
@pytest.mark.parametrize("apart", APART)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("S", [1, 0, -1])
def test_the_cost_of_a_pair_is_that_of_section_2(S, sign, apart, sigma):
    s_i, s_j = 0.125 + sign * apart, 0.125
    (found,) = costs(two(s_i, s_j, S), sigma, tied=True)
    expected = oracle.cost(s_i, s_j, S, sigma)
    # for S = -1 the formula takes sigma (s_i - s_j) away again
    rounded = ROUNDED * (1 + sigma * apart)
    assert found == pytest.approx(expected, rel=1e-14, abs=rounded)
    assert np.isfinite(found)
    if sigma * apart < 10:  # the report's first formula, before it is simplified
        P = 0.5 * (1 + S)
        expected = oracle.cross_entropy(s_i, s_j, P, sigma)
        assert found == pytest.approx(expected, rel=1e-11)
    if S == 0:
        (untied,) = costs(two(s_i, s_j, S), sigma)
        assert untied == 0.0
    # "comfortingly symmetric"
    assert costs(two(s_j, s_i, -S), sigma, tied=True)[0] == found


def test_what_the_report_says_of_the_cost():
    for S in (1, 0, -1):  # a margin
        assert costs(two(3.0, 3.0, S), 2.0, tied=True)[0] == pytest.approx(log(2))
    # "asymptotically, the cost becomes linear ... or zero"
    assert costs(two(-1e6, 1e6, 1), 3.0)[0] == 6e6
    assert costs(two(1e6, -1e6, 1), 3.0)[0] == 0.0


@every_sigma
@tied_or_not
@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0, 1e3, 1e150])
def test_the_cost_of_a_query_is_that_of_its_pairs(spread, tied, sigma):
    data = some(spread=spread)
    found = costs(data, sigma, tied)
    for query, (s, grades) in enumerate(data.lists()):
        expected = costs_of_pairs(s, grades, sigma, tied)
        rounded = ROUNDED * len(expected)
        assert found[query] == pytest.approx(sum(expected), rel=1e-12, abs=rounded)


@given(rankings(), st.sampled_from([0.5, 1.0, 3.0]), st.booleans())
def test_any_list_has_a_cost(data, sigma, tied):
    found = costs(data, sigma, tied)
    for query, (s, grades) in enumerate(data.lists()):
        expected = costs_of_pairs(s, grades, sigma, tied)
        rounded = ROUNDED * len(expected)
        assert found[query] == pytest.approx(sum(expected), rel=1e-12, abs=rounded)


def test_products_of_more_factors_than_one_logarithm_takes_stay_finite():
    # 100 factors of e^39.9 each: 1733 powers of ten
    n = 100
    y = np.r_[1.0, np.zeros(n)]
    s = np.r_[-39.9, np.zeros(n)]
    data = Ranking(y, s, np.zeros(n + 1, dtype=np.int64))
    assert costs(data)[0] == pytest.approx(n * oracle.cost(-39.9, 0, 1, 1), rel=1e-12)


# --- forces are the slopes of costs -----------------------------------------------


def slopes_of(cost, scores, step=1e-5) -> np.ndarray:
    """Central differences."""
    found = np.empty(len(scores))
    for i in range(len(scores)):
        sides = []
        for h in (step, -step):
            moved = scores.copy()
            moved[i] += h
            sides.append(cost(moved))
        found[i] = (sides[0] - sides[1]) / (2 * step)
    return found


def pulls(data: Ranking, sigma, weights=None) -> np.ndarray:
    """Of equal grades, in the order of the rows."""
    s, grades, offsets = canonical(data)
    n_queries, gradient = len(offsets) - 1, np.zeros(len(s))
    weights = np.ones(n_queries) if weights is None else weights
    pull_together(s, grades, offsets, 0, n_queries, sigma, weights, gradient)
    return QueryGroups.from_groups(data.groups, len(s)).unsort(gradient)


@every_sigma
@tied_or_not
@pytest.mark.parametrize("spread", [0.0, 1.0, 20.0])
def test_lambdas_are_the_slopes_of_the_costs(spread, tied, sigma):
    data = some(3, spread=spread)
    queries = QueryGroups.from_groups(data.groups, len(data.groups))
    gradient, _ = compute_lambdas(data.scores, data.y, queries, None, sigma, n_jobs=1)
    if tied:
        gradient = gradient + pulls(data, sigma)

    def cost(scores):
        return costs(Ranking(data.y, scores, data.groups), sigma, tied).sum()

    expected = slopes_of(cost, data.scores)
    scale = sigma * len(data.y)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-7 * scale)


@every_sigma
@pytest.mark.parametrize("apart", APART)
def test_equal_grades_pull_by_equation_3(apart, sigma):
    gradient = pulls(two(apart, 0.0, 0), sigma)
    expected = sigma * (0.5 - lambda_oracle.falling_sigmoid(sigma * apart))
    assert gradient[0] == pytest.approx(expected, rel=1e-8)
    assert gradient.sum() == 0.0
    assert (pulls(two(0.0, apart, 0), sigma) == -gradient).all()
    assert not pulls(two(apart, 0.0, 1), sigma).any()


def test_pulls_are_added_to_what_is_there_in_a_range_of_queries():
    data = some(5)
    s, grades, offsets = canonical(data)
    n_queries = len(offsets) - 1
    weights = np.arange(n_queries) * 0.5
    whole, part = np.zeros(len(s)), np.arange(len(s), dtype=np.float64)
    pull_together(s, grades, offsets, 0, n_queries, 2.0, weights, whole)
    pull_together(s, grades, offsets, 2, 5, 2.0, weights, part)
    inside = slice(offsets[2], offsets[5])
    assert whole[inside].any()
    expected = np.arange(len(s), dtype=np.float64)
    expected[inside] += whole[inside]
    np.testing.assert_allclose(part, expected, rtol=1e-14, atol=1e-14)
    ones = np.zeros(len(s))
    pull_together(s, grades, offsets, 0, n_queries, 2.0, np.ones(n_queries), ones)
    by_document = np.repeat(weights, np.diff(offsets))
    np.testing.assert_allclose(whole, ones * by_document, rtol=1e-13, atol=1e-15)


# --- preferences ------------------------------------------------------------------


def judged(scores, pairs, probabilities, weights=None, sigma=1.0):
    """Cost and forces of preferences."""
    weights = np.ones(len(pairs)) if weights is None else weights
    arguments = (
        np.array(scores, dtype=np.float64),
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        np.array(probabilities, dtype=np.float64),
        np.array(weights, dtype=np.float64),
        sigma,
    )
    gradient = np.zeros(len(scores))
    push_preferences(*arguments, gradient)
    return preference_cost(*arguments), gradient


def inconsistent(seed=0, n=6, n_pairs=30):
    """Pairs in any direction, repeated, of all probabilities and weights."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(n_pairs)])
    probabilities = rng.uniform(size=n_pairs)
    probabilities[:6] = [0, 0, 0.5, 0.5, 1, 1]
    return rng.normal(size=n), pairs, probabilities, rng.uniform(0, 2, n_pairs)


@every_sigma
@pytest.mark.parametrize("spread", [0.1, 1.0, 20.0])
def test_forces_of_preferences_are_the_slopes_of_their_cost(spread, sigma):
    scores, pairs, probabilities, weights = inconsistent()
    scores = scores * spread
    cost, gradient = judged(scores, pairs, probabilities, weights, sigma)

    def cost_of(moved):
        return judged(moved, pairs, probabilities, weights, sigma)[0]

    expected = slopes_of(cost_of, scores)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-7 * sigma)
    listed = [
        (i, j, P, w) for (i, j), P, w in zip(pairs, probabilities, weights, strict=True)
    ]
    mean = oracle.mean_cost(scores, listed, sigma)
    assert cost == pytest.approx(mean * weights.sum(), rel=1e-13)


@given(chances, st.floats(-9, 9), st.sampled_from([0.5, 1.0, 3.0]))
def test_a_measured_probability_has_the_cross_entropy_of_the_report(P, apart, sigma):
    apart /= sigma  # 1 - P_ij of the report's formula keeps some digits up to here
    cost, (force, other) = judged([apart, 0.0], [(0, 1)], [P], None, sigma)
    expected = oracle.cross_entropy(apart, 0.0, P, sigma)
    assert cost == pytest.approx(expected, rel=1e-10)
    x = sigma * apart
    lambda_ij = sigma * ((1 - P) - lambda_oracle.falling_sigmoid(x))  # equation 3
    assert force == pytest.approx(lambda_ij, rel=1e-12, abs=1e-14)
    assert other == -force


@given(chances, st.sampled_from([0.0, 0.3, 5.0, 1e3, 1e9, 1e300]), st.booleans())
def test_a_preference_may_be_told_from_either_side(P, apart, down):
    scores = [-apart if down else apart, 0.0]
    one = judged(scores, [(0, 1)], [P])
    other = judged(scores, [(1, 0)], [1 - P])
    assert np.isfinite(one[0])
    assert np.isfinite(one[1]).all()
    # 1 - P is rounded, and multiplied by the distance
    assert other[0] == pytest.approx(one[0], rel=1e-12, abs=1e-15 * (1 + apart))
    np.testing.assert_allclose(other[1], one[1], rtol=1e-12, atol=1e-15)


@every_sigma
@pytest.mark.parametrize("apart", [*APART, *(-a for a in APART)])
def test_probabilities_1_0_and_a_half_are_what_grades_say(apart, sigma):
    for P, S in ((1.0, 1), (0.5, 0), (0.0, -1)):
        cost, gradient = judged([apart, 0.0], [(0, 1)], [P], None, sigma)
        assert cost == pytest.approx(oracle.cost(apart, 0.0, S, sigma), rel=1e-13)
        assert np.isfinite(gradient).all()
        grades = two(apart, 0.0, S)
        if S == 0:
            expected = pulls(grades, sigma)
        else:
            query = QueryGroups.single(2)
            expected, _ = compute_lambdas(
                grades.scores, grades.y, query, None, sigma, n_jobs=1
            )
        # a force near zero is the difference of two halves
        np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-16 * sigma)


def test_a_force_vanishes_where_the_model_agrees():
    for P in (0.1, 0.5, 0.9):
        apart = log(P / (1 - P)) / 2.0
        _, gradient = judged([apart, 0.0], [(0, 1)], [P], None, 2.0)
        np.testing.assert_allclose(gradient, 0, atol=1e-15)


def test_a_cycle_pushes_nobody_at_equal_scores():
    _, gradient = judged([0.7, 0.7, 0.7], [(0, 1), (1, 2), (2, 0)], [1, 1, 1])
    np.testing.assert_allclose(gradient, 0, atol=1e-16)
    _, gradient = judged([0.9, 0.7, 0.5], [(0, 1), (1, 2), (2, 0)], [1, 1, 1])
    assert gradient[0] > 0 > gradient[2]  # and back to them from elsewhere


# --- lambdas of some queries, in another order ------------------------------------


class EveryPairCountsOne(Metric):
    def value(self, ranked_grades):
        return 0.0

    def swap_delta(self, ranked_grades):
        return np.ones((len(ranked_grades), len(ranked_grades)))


ORDERED_BY = [None, NDCG(3), MAP(), ERR(5, max_grade=3), EveryPairCountsOne()]


def lambdas_of(data: Ranking, metric, weight=None) -> tuple:
    s, grades, offsets = canonical(data)
    lambdas = LambdaGradient(
        grades, offsets, metric, 1.5, query_weight=weight,
        distance_normalization=False, query_normalization=False, team=ThreadTeam(1),
    )  # fmt: skip
    return lambdas, s, offsets


@pytest.mark.parametrize("metric", ORDERED_BY, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_lambdas_of_a_range_in_another_order_are_those_of_the_whole(metric, weighted):
    data = some(7, n_queries=9)
    weight = np.linspace(0.5, 2, 9) if weighted else None
    lambdas, s, offsets = lambdas_of(data, metric, weight)
    gradient, hessian = (part.copy() for part in lambdas(s))
    assert gradient.any()
    rng = np.random.default_rng(0)
    for queries in (rng.permutation(9), np.arange(9), np.array([7, 2, 5]), [4]):
        other = lambdas.in_order(np.asarray(queries))
        rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in queries])
        np.testing.assert_array_equal(other.documents, rows)
        sizes = np.diff(offsets)[queries]
        np.testing.assert_array_equal(np.diff(other.offsets), sizes)
        for first in range(len(queries)):
            for last in range(first + 1, len(queries) + 1):
                own = rows[other.offsets[first] : other.offsets[last]]
                part, bend = other(s[rows], first, last)
                np.testing.assert_array_equal(part, gradient[own])
                np.testing.assert_array_equal(bend, hessian[own])
    # and the first has not noticed
    np.testing.assert_array_equal(lambdas(s)[0], gradient)


def test_orders_of_orders_name_the_documents_of_the_first():
    lambdas, s, offsets = lambdas_of(some(7, n_queries=9), NDCG(3))
    gradient = lambdas(s)[0].copy()
    other = lambdas.in_order(np.array([5, 0, 8, 3])).in_order(np.array([3, 1]))
    rows = np.r_[offsets[3] : offsets[4], offsets[0] : offsets[1]]
    np.testing.assert_array_equal(other.documents, rows)
    np.testing.assert_array_equal(other(s[rows])[0], gradient[rows])


def test_scores_outside_of_a_range_are_not_looked_at():
    lambdas, s, offsets = lambdas_of(some(7, n_queries=9), NDCG(3))
    expected = lambdas(s, 3, 6)[0].copy()
    hidden = np.full(len(s), np.nan)
    inside = slice(offsets[3], offsets[6])
    hidden[inside] = s[inside]
    np.testing.assert_array_equal(lambdas(hidden, 3, 6)[0], expected)
