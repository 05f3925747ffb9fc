"""Costs of pairs and their gradients, against section 2 of Burges (2010)."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import QueryGroups, RowColumns, TrainingData
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.data.pairs import JudgedPairs
from sklearn_ltr._core.lambdas.graded_pairs import GradedLambdas
from sklearn_ltr._core.lambdas.judged_pairs import JudgedLambdas
from sklearn_ltr._core.lambdas.pair import PairOptions
from sklearn_ltr._core.lambdas.ranknet import (
    add_tied_pairs,
    judged_pair_cost,
    pair_costs,
)
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.metrics import ERR, NDCG
from tests.oracles import networks as oracle
from tests.strategies import Ranking
from tests.user_metrics import SwapDeltaOne

SIGMAS = [0.5, 1.0, 3.0]
#: Differences of scores: below and just above the limit of products, and the largest.
DIFFERENCES = [0.0, 1e-9, 0.3, 3.0, 5.0, 39.9, 40.1, 100.0, 700.0, 1e9, 1e300]
#: A factor near 1 of a product is rounded to within this before its logarithm.
ROUNDED = 4e-16


def canonical(data: Ranking):
    """Scores, grades and offsets in canonical order."""
    queries = QueryGroups.from_groups(data.groups, len(data.groups))
    return queries.sort(data.scores), queries.sort(data.y), queries.offsets


def costs(data: Ranking, sigma=1.0, tied=False) -> np.ndarray:
    """Cost of each query; the kernel wants documents from high grade to low."""
    best_first = np.lexsort((-data.y, data.groups))
    offsets = canonical(data)[2]
    found = np.full(len(offsets) - 1, np.nan)
    scores, grades = data.scores[best_first], data.y[best_first]
    pair_costs((scores, grades, offsets), sigma, tied, found)
    return found


def one_pair(s_i, s_j, S) -> Ranking:
    """One query of two documents; S: 1 if the first is better, 0 if equal, else -1."""
    y = {1: [1.0, 0.0], 0: [2.0, 2.0], -1: [0.0, 3.0]}[S]
    return Ranking(np.array(y), np.array([s_i, s_j]), np.zeros(2, dtype=np.int64))


def draw(seed=0, n_queries=8, longest=20, spread=1.0) -> Ranking:
    """Interleaved queries of different lengths, with equal grades and equal scores."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest, n_queries)
    groups = rng.permutation(np.repeat(np.arange(n_queries), sizes))
    y = rng.integers(0, 4, len(groups)).astype(np.float64)
    scores = spread * rng.normal(size=len(groups)).round(1)
    return Ranking(y, scores, groups)


# --- costs ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "S", [1, 0, -1], ids=["the first is better", "equal", "the second is better"]
)
def test_the_cost_of_a_pair_is_that_of_section_2(S):
    for sigma in SIGMAS:
        for difference in (*DIFFERENCES, *(-d for d in DIFFERENCES)):
            s_i, s_j = 0.125 + difference, 0.125
            (found,) = costs(one_pair(s_i, s_j, S), sigma, tied=True)
            expected = oracle.cost(s_i, s_j, S, sigma)
            # for S = -1 the formula subtracts sigma (s_i - s_j)
            rounded = ROUNDED * (1 + sigma * abs(difference))
            assert found == pytest.approx(expected, rel=1e-14, abs=rounded)
            assert np.isfinite(found)
            if abs(sigma * difference) < 10:  # Burges's formula, not simplified
                P = 0.5 * (1 + S)
                expected = oracle.cross_entropy(s_i, s_j, P, sigma)
                assert found == pytest.approx(expected, rel=1e-11)
            if S == 0:
                (untied,) = costs(one_pair(s_i, s_j, S), sigma)
                assert untied == 0.0
            # "comfortingly symmetric"
            assert costs(one_pair(s_j, s_i, -S), sigma, tied=True)[0] == found


@pytest.mark.parametrize("tied", [False, True])
def test_the_cost_of_a_query_is_that_of_its_pairs(tied):
    for spread in (0.0, 1.0, 8.0, 1e3, 1e150):
        for sigma in SIGMAS:
            data = draw(spread=spread)
            found = costs(data, sigma, tied)
            for query, (s, grades) in enumerate(data.lists()):
                pairs = oracle.pairs_of_grades(grades, [0] * len(grades), None, tied)
                expected = sum(
                    oracle.cost(s[i], s[j], int(P == 1.0), sigma)
                    for i, j, P, _ in pairs
                )
                rounded = ROUNDED * len(pairs)
                assert found[query] == pytest.approx(expected, rel=1e-12, abs=rounded)


def test_products_of_more_factors_than_one_logarithm_takes_stay_finite():
    # 100 factors of e^39.9: a number of 1733 digits
    n = 100
    y = np.r_[1.0, np.zeros(n)]
    s = np.r_[-39.9, np.zeros(n)]
    data = Ranking(y, s, np.zeros(n + 1, dtype=np.int64))
    assert costs(data)[0] == pytest.approx(n * oracle.cost(-39.9, 0, 1, 1), rel=1e-12)


# --- gradients of costs -----------------------------------------------------------


def tied_gradient(data: Ranking, sigma) -> np.ndarray:
    """Gradient of the pairs of equal grade, in the order of the rows."""
    s, grades, offsets = canonical(data)
    n_queries, gradient = len(offsets) - 1, np.zeros(len(s))
    lists, weights = (s, grades, offsets), np.ones(n_queries)
    add_tied_pairs(0, n_queries, lists, sigma, weights, None, gradient)
    return QueryGroups.from_groups(data.groups, len(s)).unsort(gradient)


def ranknet_gradient(data: Ranking, sigma) -> np.ndarray:
    gradient, _ = compute_lambdas(
        data.scores, data.y, None, sigma, groups=data.groups, n_jobs=1
    )
    return gradient


# --- judged pairs -----------------------------------------------------------------


def cost_and_gradient(scores, pairs, probabilities, weights=None, sigma=1.0):
    """Cost of judged pairs and dC/ds."""
    weights = np.ones(len(pairs)) if weights is None else weights
    arguments = (
        np.array(scores, dtype=np.float64),
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        np.array(probabilities, dtype=np.float64),
        np.array(weights, dtype=np.float64),
        sigma,
    )
    options = PairOptions(sigma)
    offsets = np.array([0, len(scores)])
    judged = JudgedPairs(*arguments[1:4], np.array([0, len(pairs)]))
    data = TrainingData(
        LabelGrades.of_one(np.zeros(len(scores))), offsets, [0], pairs=judged
    )
    lambdas = JudgedLambdas(data, None, options, ThreadTeam(1))
    gradient, _ = lambdas.derivatives(arguments[0])
    return judged_pair_cost(*arguments), gradient


def test_probabilities_1_and_0_and_a_half_are_the_same_as_grades():
    for sigma in SIGMAS:
        for difference in (*DIFFERENCES, *(-d for d in DIFFERENCES)):
            for P, S in ((1.0, 1), (0.5, 0), (0.0, -1)):
                cost, gradient = cost_and_gradient(
                    [difference, 0.0], [(0, 1)], [P], None, sigma
                )
                expected = oracle.cost(difference, 0.0, S, sigma)
                assert cost == pytest.approx(expected, rel=1e-13)
                assert np.isfinite(gradient).all()
                grades = one_pair(difference, 0.0, S)
                of_grades = tied_gradient if S == 0 else ranknet_gradient
                # a gradient near zero is the difference of two halves
                np.testing.assert_allclose(
                    gradient, of_grades(grades, sigma), rtol=1e-12, atol=1e-16 * sigma
                )


# --- lambdas of some queries, in another order ------------------------------------


METRICS = [None, NDCG(3), ERR(5, max_grade=3), SwapDeltaOne()]


def objective_of(data: Ranking, metric) -> tuple:
    s, grades, offsets = canonical(data)
    columns = RowColumns(sample_weight=np.linspace(0.5, 2, len(offsets) - 1))
    training_data = TrainingData(LabelGrades.of_one(grades), offsets, None, columns)
    options = PairOptions(1.5, False)
    return GradedLambdas(training_data, metric, options, ThreadTeam(1)), s, offsets


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_lambdas_of_reordered_queries_are_those_of_the_whole(metric):
    objective, s, offsets = objective_of(draw(7, n_queries=9), metric)
    gradient, hessian = (part.copy() for part in objective.derivatives(s))
    assert gradient.any()
    for queries in (np.random.default_rng(0).permutation(9), np.array([7, 2, 5])):
        other = objective.reordered(queries)
        rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in queries])
        np.testing.assert_array_equal(other.documents, rows)
        sizes = np.diff(offsets)[queries]
        np.testing.assert_array_equal(np.diff(other.offsets), sizes)
        for first in range(len(queries)):
            own = slice(other.offsets[first], other.offsets[-1])
            scores = np.full(len(rows), np.nan)  # others are not read
            scores[own] = s[rows[own]]
            found = other.derivatives(scores, first, len(queries))
            np.testing.assert_array_equal(found[0], gradient[rows[own]])
            np.testing.assert_array_equal(found[1], hessian[rows[own]])
    # the first objective is unchanged
    np.testing.assert_array_equal(objective.derivatives(s)[0], gradient)
