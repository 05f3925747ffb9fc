"""What the report claims in passing: lambdas as a gradient, and what sigma is for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._queries import QueryGroups
from sklearn_ltr.lambdas import compute_lambdas
from sklearn_ltr.metrics import get_metric
from tests.network import DATA, REPORT, Linear, both_rankers, fitted, weights
from tests.oracles import lambdas as oracle

# --- section 4.3: when are the lambdas actually a gradient? -----------------------
#
# Functions f_1, ..., f_n of x are the partial derivatives of some F if and only if
#
#     d f_i / d x_j = d f_j / d x_i                                              (10)
#
# on a star-shaped domain.  (The report prints d f_i / d x_i = d f_j / d x_i: the first
# x_i should be an x_j.)  Here f is the lambdas of a query, x its scores.  As long as
# no two documents change places, swap deltas are constants, and the cost of section 7
# is F.  Where two do, it is another F.

GRADES = np.array([2.0, 0.0, 3.0, 0.0, 1.0, 0.0])
SCORES = np.array([2.9, 3.0, 2.0, 1.0, 0.0, -1.0])  # 0.1 below document 1 is document 0
MOVED, PASSED, OTHER = 0, 1, 2  # documents of a loop
STEP, ASIDE = 0.1, 0.3

METRICS = ["ndcg", "ndcg@3", "dcg", "map", "mrr", "err"]
every_metric = pytest.mark.parametrize("metric", METRICS)
with_ranknet = pytest.mark.parametrize("metric", [*METRICS, None])
every_sigma = pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])


def lambdas(scores, metric, sigma=1.0, grades=GRADES, **options) -> np.ndarray:
    query = QueryGroups.single(len(scores))
    return compute_lambdas(scores, grades, query, metric, sigma, n_jobs=1, **options)[0]


def jacobian(scores, metric, sigma=1.0, step=1e-5, **options) -> np.ndarray:
    """Central differences: [i, j] is d lambda_i / d s_j."""
    columns = []
    for by in step * np.eye(len(scores)):
        up = lambdas(scores + by, metric, sigma, **options)
        down = lambdas(scores - by, metric, sigma, **options)
        columns.append((up - down) / (2 * step))
    return np.column_stack(columns)


def work(scores, moves, metric, sigma=1.0, grades=GRADES) -> float:
    """Line integral of the lambdas while documents move, each by so much.

    Gauss's rule leaves 1e-15 on a move that changes no order until it ends.
    """
    nodes, shares = leggauss(12)
    at, total = np.array(scores, dtype=np.float64), 0.0
    for document, by in moves:
        for node, share in zip((1 + nodes) / 2, shares / 2, strict=True):
            between = at.copy()
            between[document] += node * by
            push = lambdas(between, metric, sigma, grades)[document]
            total += share * by * push
        at[document] += by
    return total


def cost(scores, order_of, metric, sigma=1.0, grades=GRADES) -> float:
    """Section 7's cost of scores, at the swap deltas of the order of other scores."""
    measure = None if metric is None else get_metric(metric)
    delta = oracle.deltas(measure, grades, np.argsort(-np.asarray(order_of)).tolist())
    return oracle.cost(scores, grades, delta, sigma)


def after(scores, *moves) -> np.ndarray:
    at = np.array(scores)
    for document, by in moves:
        at[document] += by
    return at


#: There and back; in the middle of each way document 0 passes document 1.
THERE = [(MOVED, STEP), (MOVED, STEP)]
LOOP = [*THERE, (OTHER, ASIDE), (MOVED, -STEP), (MOVED, -STEP), (OTHER, -ASIDE)]
BELOW = after(SCORES, (MOVED, -0.5))  # from here the same loop passes nobody


@with_ranknet
@every_sigma
def test_while_the_order_stands_equation_10_holds(metric, sigma):
    slopes = jacobian(SCORES, metric, sigma)
    size = np.abs(slopes).max()
    assert (np.abs(slopes) > 1e-3 * size).sum() > len(SCORES)  # not only a diagonal
    # both differences of a pair are at the same distances: 1e-16 / 1e-5 of rounding
    np.testing.assert_allclose(slopes, slopes.T, rtol=0, atol=1e-10 * size)


@with_ranknet
@every_sigma
def test_while_the_order_stands_their_work_is_what_the_cost_changes_by(metric, sigma):
    moves = [(0, -0.8), (3, 0.9), (5, 0.7), (2, 0.05), (0, 0.4), (4, -0.2), (1, 5.0)]
    end = after(SCORES, *moves)
    np.testing.assert_array_equal(np.argsort(end), np.argsort(SCORES))
    change = cost(end, SCORES, metric, sigma) - cost(SCORES, SCORES, metric, sigma)
    done = work(SCORES, moves, metric, sigma)
    assert done == pytest.approx(change, rel=1e-9)
    assert change != 0


@with_ranknet
def test_a_loop_that_changes_no_order_costs_nothing(metric):
    most = np.abs(lambdas(BELOW, metric)).max()
    assert abs(work(BELOW, LOOP, metric)) < 1e-13 * most


@every_metric
@every_sigma
def test_a_loop_through_a_change_of_order_does_not_add_up_to_zero(metric, sigma):
    """So no cost exists of which the lambdas are the gradient everywhere.

    Each order has a cost of its own.  What is left of the loop is how much the two
    differ where one takes over, less how much they differ where it gives back.
    """

    def step_between_costs(at: np.ndarray) -> float:
        before, behind = SCORES, after(SCORES, *THERE)
        return cost(at, before, metric, sigma) - cost(at, behind, metric, sigma)

    over, back = after(SCORES, THERE[0]), after(SCORES, THERE[0], (OTHER, ASIDE))
    left = step_between_costs(over) - step_between_costs(back)
    assert work(SCORES, LOOP, metric, sigma) == pytest.approx(left, rel=1e-9)
    assert abs(left) > 1e-2 * np.abs(lambdas(SCORES, metric, sigma)).max()


@every_metric
def test_documents_of_one_grade_may_change_places(metric):
    # they take over each other's swap deltas, and nobody else feels it
    grades = GRADES.copy()
    grades[PASSED] = grades[MOVED]
    most = np.abs(lambdas(SCORES, metric, grades=grades)).max()
    assert abs(work(SCORES, LOOP, metric, grades=grades)) < 1e-13 * most


@every_sigma
def test_the_forces_of_ranknet_are_a_gradient_everywhere(sigma):
    assert abs(work(SCORES, LOOP, None, sigma)) < 1e-13
    moves = [(0, 0.2), (5, 3.5), (1, -2.5), (3, 0.7), (2, -0.6)]  # to and fro
    end = after(SCORES, *moves)
    assert (np.argsort(end) != np.argsort(SCORES)).all()
    change = cost(end, SCORES, None, sigma) - cost(SCORES, SCORES, None, sigma)
    assert work(SCORES, moves, None, sigma) == pytest.approx(change, rel=1e-6)


@with_ranknet
def test_dividing_by_the_distance_of_scores_leaves_equation_10_alone(metric):
    # a pair's force is still a function of s_i - s_j
    slopes = jacobian(SCORES, metric, distance_normalization=True)
    atol = 1e-10 * np.abs(slopes).max()
    np.testing.assert_allclose(slopes, slopes.T, rtol=0, atol=atol)


@with_ranknet
def test_normalised_by_query_the_lambdas_are_no_gradient_even_in_one_order(metric):
    # each is multiplied by a function of all scores that is none of the cost alone
    slopes = jacobian(SCORES, metric, query_normalization=True)
    assert np.abs(slopes - slopes.T).max() > 1e-2 * np.abs(slopes).max()


# --- section 7: "the choice of sigma will make no difference to the training" -----

AS_IN_THE_REPORT = {
    "split_gain": "least_squares",
    "split_noise": 0.0,
    "truncation_level": None,
    "distance_normalization": False,
    "query_normalization": False,
}
both_modes = pytest.mark.parametrize(
    "mode", [{}, AS_IN_THE_REPORT], ids=["default", "report"]
)


def trees(sigma: float, **options) -> LambdaMARTRanker:
    limits = {"n_estimators": 8, "max_leaf_nodes": 5, "min_samples_leaf": 3}
    ranker = LambdaMARTRanker(**limits, sigma=sigma, random_state=0, n_jobs=1)
    return ranker.set_params(**options).fit(*DATA, groups=DATA.groups)


def assert_same_splits(one: LambdaMARTRanker, other: LambdaMARTRanker) -> None:
    for part in ("first_node", "feature", "threshold"):
        expected = getattr(one.ensemble_, part)
        np.testing.assert_array_equal(getattr(other.ensemble_, part), expected)


@both_modes
@pytest.mark.parametrize("metric", ["ndcg@3", "map", None])
@pytest.mark.parametrize("sigma", [0.25, 2.0, 4.0, 64.0])
def test_sigma_only_scales_the_scores_of_trees(mode, metric, sigma):
    # a power of two changes no digit
    one, other = trees(1.0, metric=metric, **mode), trees(sigma, metric=metric, **mode)
    np.testing.assert_array_equal(other.predict(DATA.X) * sigma, one.predict(DATA.X))
    assert_same_splits(one, other)


@both_modes
@pytest.mark.parametrize("sigma", [0.3, 3.0])
def test_a_sigma_that_is_no_power_of_two_scales_up_to_rounding(mode, sigma):
    one, other = trees(1.0, **mode), trees(sigma, **mode)
    # lambdas are rounded to a 2^31st of their sum, and no two cuts here are that close
    expected = one.predict(DATA.X)
    np.testing.assert_allclose(other.predict(DATA.X) * sigma, expected, rtol=1e-6)
    assert_same_splits(one, other)


@both_modes
@pytest.mark.parametrize("sigma", [0.25, 4.0])
def test_what_regularises_leaves_makes_sigma_matter_to_trees(mode, sigma):
    # gamma = sum of gradients / (l2 + sum of hessians); hessians grow with sigma^2
    expected = trees(1.0, l2_regularization=1.0, **mode).predict(DATA.X)
    same_l2 = trees(sigma, l2_regularization=1.0, **mode).predict(DATA.X) * sigma
    scaled = trees(sigma, l2_regularization=sigma**2, **mode).predict(DATA.X) * sigma
    most = np.abs(expected).max()
    assert np.abs(same_l2 - expected).max() > 0.1 * most
    np.testing.assert_array_equal(scaled, expected)


@both_rankers
@pytest.mark.parametrize(("solver", "rate"), [("adam", 0.01), ("sgd", 0.001)])
def test_sigma_matters_to_networks(ranker, solver, rate):
    options = {"solver": solver, "learning_rate_init": rate, "max_iter": 20}

    def lists(sigma: float) -> tuple[np.ndarray, np.ndarray]:
        one = fitted(ranker, sigma=sigma, **options)
        return one.predict(DATA.X), one.rank(DATA.X, groups=DATA.groups)

    (scores, ranks), *others = (lists(sigma) for sigma in (1.0, 0.25, 4.0))
    for sigma, (other_scores, other_ranks) in zip((0.25, 4.0), others, strict=True):
        apart = np.abs(other_scores * sigma - scores).max()
        assert apart > 0.1 * np.abs(scores).max()
        assert (other_ranks != ranks).any()


@both_rankers
@pytest.mark.parametrize("sigma", [0.5, 2.0, 3.0])
def test_steps_divided_by_sigma_squared_undo_it_in_a_linear_network(ranker, sigma):
    # the division by hessians, which a tree makes by itself
    def w(sigma: float, rate: float) -> np.ndarray:
        options = REPORT | {"learning_rate_init": rate, "batch_size": 3, "sigma": sigma}
        return weights(fitted(ranker, network=Linear(), **options))[0]

    np.testing.assert_allclose(sigma * w(sigma, 0.1 / sigma**2), w(1.0, 0.1), rtol=1e-9)
