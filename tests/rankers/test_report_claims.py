"""What Burges (2010) says: when lambdas are a gradient, and what sigma changes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.metrics import get_metric
from tests.networks import DATA, REPORT, Linear, fitted, weights
from tests.oracles import lambdas as oracle
from tests.rankers.test_lambdamart import REPORT as REPORT_TREES

# --- section 4.3: when are the lambdas actually a gradient? -----------------------
#
# Functions f_1, ..., f_n of x are the partial derivatives of some F if and only if
#
#     d f_i / d x_j = d f_j / d x_i                                              (10)
#
# on a star-shaped domain.  (The report prints d f_i / d x_i = d f_j / d x_i: the first
# x_i should be an x_j.)  Here f is the lambdas of a query, x its scores.  As long as
# the order of the documents is the same, swap deltas are constants, and the cost of
# section 7 is F.  Each order has its own F.

GRADES = np.array([2.0, 0.0, 3.0, 0.0, 1.0, 0.0])
SCORES = np.array([2.9, 3.0, 2.0, 1.0, 0.0, -1.0])
MOVED, PASSED, OTHER = 0, 1, 2  # documents of the loop; 0 is 0.1 below 1
STEP, OTHER_STEP = 0.1, 0.3

#: RankNet too; sigma does not interact with the metric
with_ranknet = pytest.mark.parametrize(
    ("metric", "sigma"),
    [("ndcg@3", 0.5), ("map", 3.0), ("err", 1.0), (None, 3.0)],
)


def lambdas(scores, metric, sigma=1.0, grades=GRADES, **options) -> np.ndarray:
    options |= {"groups": np.zeros(len(scores)), "n_jobs": 1}
    return compute_lambdas(scores, grades, metric, sigma, **options)[0]


def jacobian(scores, metric, sigma=1.0, step=1e-5, **options) -> np.ndarray:
    """Central differences: [i, j] is d lambda_i / d s_j."""
    columns = []
    for by in step * np.eye(len(scores)):
        above = lambdas(scores + by, metric, sigma, **options)
        below = lambdas(scores - by, metric, sigma, **options)
        columns.append((above - below) / (2 * step))
    return np.column_stack(columns)


def line_integral(scores, moves, metric, sigma=1.0, grades=GRADES) -> float:
    """Line integral of the lambdas along moves (document, change of its score).

    The error of Gauss's rule is 1e-15 for a move that does not change the order.
    """
    nodes, shares = leggauss(12)
    at, total = np.array(scores, dtype=np.float64), 0.0
    for document, by in moves:
        for node, share in zip((1 + nodes) / 2, shares / 2, strict=True):
            between = at.copy()
            between[document] += node * by
            gradient = lambdas(between, metric, sigma, grades)[document]
            total += share * by * gradient
        at[document] += by
    return total


def cost(scores, order_of, metric, sigma=1.0, grades=GRADES) -> float:
    """Section 7's cost of scores, with the swap deltas of the order of `order_of`."""
    measure = None if metric is None else get_metric(metric)
    delta = oracle.deltas(measure, grades, np.argsort(-np.asarray(order_of)).tolist())
    return oracle.cost(scores, grades, delta, sigma)


def after(scores, *moves) -> np.ndarray:
    at = np.array(scores)
    for document, by in moves:
        at[document] += by
    return at


#: A closed loop: document 0 passes document 1, document 2 moves, and both move back.
THERE = [(MOVED, STEP), (MOVED, STEP)]
LOOP = [
    *THERE, (OTHER, OTHER_STEP), (MOVED, -STEP), (MOVED, -STEP), (OTHER, -OTHER_STEP)
]  # fmt: skip


@with_ranknet
def test_within_one_order_equation_10_holds(metric, sigma):
    matrix = jacobian(SCORES, metric, sigma)
    size = np.abs(matrix).max()
    assert (np.abs(matrix) > 1e-3 * size).sum() > len(SCORES)  # not only a diagonal
    # the differences are rounded by 1e-16 / 1e-5
    np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-10 * size)


@with_ranknet
def test_within_one_order_the_line_integral_is_the_change_of_the_cost(metric, sigma):
    moves = [(0, -0.8), (3, 0.9), (5, 0.7), (2, 0.05), (0, 0.4), (4, -0.2), (1, 5.0)]
    end = after(SCORES, *moves)
    np.testing.assert_array_equal(np.argsort(end), np.argsort(SCORES))
    change = cost(end, SCORES, metric, sigma) - cost(SCORES, SCORES, metric, sigma)
    found = line_integral(SCORES, moves, metric, sigma)
    assert found == pytest.approx(change, rel=1e-9)
    assert change != 0


@pytest.mark.parametrize("metric", ["ndcg@3", "map", "err"])
def test_a_loop_through_two_orders_does_not_integrate_to_zero(metric):
    """So no cost exists of which the lambdas are the gradient everywhere.

    Each order has its own cost.  The integral is the difference of the two costs where
    the loop enters the second order, minus that where it leaves it.
    """

    def difference_of_costs(at: np.ndarray) -> float:
        first, second = SCORES, after(SCORES, *THERE)
        return cost(at, first, metric) - cost(at, second, metric)

    enters = after(SCORES, THERE[0])
    leaves = after(SCORES, THERE[0], (OTHER, OTHER_STEP))
    expected = difference_of_costs(enters) - difference_of_costs(leaves)
    found = line_integral(SCORES, LOOP, metric)
    assert found == pytest.approx(expected, rel=1e-9)
    assert abs(expected) > 1e-2 * np.abs(lambdas(SCORES, metric)).max()


@pytest.mark.parametrize("metric", ["ndcg@3", "err"])
def test_documents_of_equal_grade_may_change_their_order(metric):
    # they exchange their swap deltas, and those of other documents stay
    grades = GRADES.copy()
    grades[PASSED] = grades[MOVED]
    most = np.abs(lambdas(SCORES, metric, grades=grades)).max()
    assert abs(line_integral(SCORES, LOOP, metric, grades=grades)) < 1e-13 * most


def test_the_lambdas_of_ranknet_are_a_gradient_everywhere():
    sigma = 3.0
    assert abs(line_integral(SCORES, LOOP, None, sigma)) < 1e-13
    # through several orders
    moves = [(0, 0.2), (5, 3.5), (1, -2.5), (3, 0.7), (2, -0.6)]
    end = after(SCORES, *moves)
    assert (np.argsort(end) != np.argsort(SCORES)).all()
    change = cost(end, SCORES, None, sigma) - cost(SCORES, SCORES, None, sigma)
    assert line_integral(SCORES, moves, None, sigma) == pytest.approx(change, rel=1e-6)


@pytest.mark.parametrize("metric", ["ndcg@3", "err", None])
def test_equation_10_holds_with_distance_but_not_with_query_normalization(metric):
    # by distance, the lambda of a pair is still a function of s_i - s_j; the factor of
    # a query is a function of the scores, but not of the cost alone
    by_distance = jacobian(SCORES, metric, normalize_lambdas="distance")
    by_query = jacobian(SCORES, metric, normalize_lambdas="query")
    atol = 1e-10 * np.abs(by_distance).max()
    np.testing.assert_allclose(by_distance, by_distance.T, rtol=0, atol=atol)
    assert np.abs(by_query - by_query.T).max() > 1e-2 * np.abs(by_query).max()


# --- section 7: "the choice of sigma will make no difference to the training" -----

both_modes = pytest.mark.parametrize(
    "mode", [{}, REPORT_TREES], ids=["default", "report"]
)


def trees(sigma: float, **options) -> LambdaMARTRanker:
    limits = {"n_estimators": 8, "max_leaf_nodes": 5, "min_samples_leaf": 3}
    ranker = LambdaMARTRanker(**limits, sigma=sigma, random_state=0, n_jobs=1)
    return ranker.set_params(**options).fit(*DATA, groups=DATA.groups)


def assert_same_splits(one: LambdaMARTRanker, other: LambdaMARTRanker) -> None:
    for part in ("first_node", "feature", "threshold"):
        expected = getattr(one.ensemble_, part)
        np.testing.assert_array_equal(getattr(other.ensemble_, part), expected)


@pytest.mark.parametrize(
    ("mode", "metric", "sigma"),
    [({}, "ndcg@3", 0.25), ({}, None, 64.0), (REPORT_TREES, "map", 64.0),
     (REPORT_TREES, None, 0.25)],
)  # fmt: skip
def test_sigma_only_scales_the_scores_of_trees(mode, metric, sigma):
    # multiplying by a power of two is exact
    one, other = trees(1.0, metric=metric, **mode), trees(sigma, metric=metric, **mode)
    np.testing.assert_array_equal(other.predict(DATA.X) * sigma, one.predict(DATA.X))
    assert_same_splits(one, other)


@both_modes
def test_a_sigma_that_is_no_power_of_two_scales_up_to_rounding(mode):
    sigma, mode = 3.0, {"subsample": 1.0} | mode  # rounding decides on a row drawn
    one, other = trees(1.0, **mode), trees(sigma, **mode)
    # lambdas are rounded to 2^-31 of their sum; no two split gains here are that close
    expected = one.predict(DATA.X)
    np.testing.assert_allclose(other.predict(DATA.X) * sigma, expected, rtol=1e-6)
    assert_same_splits(one, other)


@both_modes
def test_with_l2_regularization_sigma_changes_trees(mode):
    sigma = 4.0
    # gamma = sum of gradients / (l2 + sum of hessians); hessians grow with sigma^2
    l2 = 3.0
    expected = trees(1.0, l2_regularization=l2, **mode).predict(DATA.X)
    same_l2 = trees(sigma, l2_regularization=l2, **mode).predict(DATA.X) * sigma
    scaled = trees(sigma, l2_regularization=sigma**2 * l2, **mode)
    scaled = scaled.predict(DATA.X) * sigma
    most = np.abs(expected).max()
    assert np.abs(same_l2 - expected).max() > 0.1 * most
    np.testing.assert_array_equal(scaled, expected)


@pytest.mark.parametrize(
    ("ranker", "solver", "rate"),
    [(RankNetRanker, "adam", 0.01), (LambdaRankRanker, "sgd", 0.001)],
)
def test_sigma_changes_networks(ranker, solver, rate):
    options = {"solver": solver, "learning_rate_init": rate, "max_iter": 30}

    def lists(sigma: float) -> tuple[np.ndarray, np.ndarray]:
        one = fitted(ranker, sigma=sigma, **options)
        return one.predict(DATA.X), one.rank(DATA.X, groups=DATA.groups)

    (scores, ranks), *others = (lists(sigma) for sigma in (1.0, 0.25, 4.0))
    for sigma, (other_scores, other_ranks) in zip((0.25, 4.0), others, strict=True):
        apart = np.abs(other_scores * sigma - scores).max()
        assert apart > 0.1 * np.abs(scores).max()
        assert (other_ranks != ranks).any()


@pytest.mark.parametrize(
    ("ranker", "sigma"), [(RankNetRanker, 0.5), (LambdaRankRanker, 3.0)]
)
def test_a_learning_rate_divided_by_sigma_squared_scales_a_linear_network(
    ranker, sigma
):
    # trees divide by sigma squared themselves, with the hessians
    def w(sigma: float, rate: float) -> np.ndarray:
        options = REPORT | {"learning_rate_init": rate, "batch_size": 3, "sigma": sigma}
        return weights(fitted(ranker, network=Linear(), **options))[0]

    np.testing.assert_allclose(sigma * w(sigma, 0.1 / sigma**2), w(1.0, 0.1), rtol=1e-9)
