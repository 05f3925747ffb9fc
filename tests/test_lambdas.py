"""Lambdas against the pair loop, differences of the cost, and symmetries."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr._compile import INTERPRETED, ThreadTeam
from sklearn_ltr._queries import QueryGroups
from sklearn_ltr.lambdas import LambdaGradient, compute_lambdas
from sklearn_ltr.lambdas import exponential as of_lambdas
from sklearn_ltr.lambdas import gradient as of_gradient
from sklearn_ltr.lambdas._query_loop import FAINTEST
from sklearn_ltr.metrics import (
    CG,
    DCG,
    ERR,
    MAP,
    MRR,
    NDCG,
    HitRate,
    Metric,
    Precision,
    Recall,
)
from tests import from_python
from tests.oracles import lambdas as oracle
from tests.strategies import Ranking, rankings

METRICS = {
    "none": lambda k: None,
    "ndcg": NDCG,
    "ndcg, linear gain, LETOR discount": lambda k: NDCG(
        k, gain="linear", discount="letor"
    ),
    "ndcg, a table of gains": lambda k: NDCG(k, gain=[0, 0, 1, 5, 6]),
    "dcg": DCG,
    "cg": CG,
    "map": MAP,
    "map, relevant from 2": lambda k: MAP(k, relevant_from=2),
    "mrr": MRR,
    "hit rate": HitRate,
    "precision": Precision,
    "recall": Recall,
    "err": lambda k: ERR(k, max_grade=4),
}
every_metric = pytest.mark.parametrize("name", METRICS)
every_cutoff = pytest.mark.parametrize("k", [None, 1, 3, 10])
every_sigma = pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
both = pytest.mark.parametrize("on", [False, True])


class NDCGOfAUser(Metric):
    """NDCG by its definition: no closed form, so every swap is tried out."""

    def value(self, ranked_grades):
        n = len(ranked_grades) if self.k is None else self.k
        gains = [2**grade - 1 for grade in ranked_grades]
        best = sorted(gains, reverse=True)
        discounts = [1 / np.log2(2 + p) for p in range(len(gains))][:n]
        dcg = sum(g * d for g, d in zip(gains, discounts, strict=False))
        return dcg / sum(g * d for g, d in zip(best, discounts, strict=False))


class EveryPairCountsOne(Metric):
    def value(self, ranked_grades):
        return 0.0

    def swap_delta(self, ranked_grades):
        return np.ones((len(ranked_grades), len(ranked_grades)))


def ragged(seed: int = 0, n_queries: int = 14, longest: int = 12) -> Ranking:
    """Interleaved queries with ties, single documents and equal grades among them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, longest + 1, n_queries)
    sizes[:2] = 1
    groups = rng.permutation(np.repeat(np.arange(n_queries), sizes))
    y = rng.integers(0, 5, len(groups)).astype(np.float64)
    y[groups == 2] = 3.0
    y[groups == 3] = 0.0
    scores = rng.normal(size=len(groups)).round(1)
    scores[groups == 4] = 0.25
    return Ranking(y, scores, groups)


def of_queries(data: Ranking, metric, sigma=1.0, **options):
    """What the package says, and the rows of each query."""
    queries = QueryGroups.from_groups(data.groups, len(data.groups))
    gradient, hessian = compute_lambdas(
        data.scores, data.y, queries, metric, sigma, n_jobs=1, **options
    )
    rows = [np.flatnonzero(data.groups == g) for g in np.unique(data.groups)]
    return gradient, hessian, rows


def assert_alike(gradient, hessian, expected_gradient, expected_hessian, sigma):
    """Sums of the same terms in another order, from exponentials within some ulp.

    Pushes of a document may cancel, so errors are measured by the largest of the query.
    """
    most = np.abs(expected_gradient).max()
    np.testing.assert_allclose(gradient, expected_gradient, rtol=0, atol=1e-12 * most)
    np.testing.assert_allclose(
        hessian, expected_hessian, rtol=1e-11, atol=1e-12 * most * sigma
    )


# --- the pair loop ----------------------------------------------------------------


@every_metric
@every_cutoff
@every_sigma
def test_lambdas_are_the_pair_loop_of_the_report(name, k, sigma):
    data, metric = ragged(), METRICS[name](k)
    gradient, hessian, queries = of_queries(data, metric, sigma)
    for rows in queries:
        expected = oracle.lambdas_by_symmetry(
            data.scores[rows], data.y[rows], metric, sigma, brute_force=True
        )
        assert_alike(gradient[rows], hessian[rows], *expected, sigma)


@settings(max_examples=60)
@given(
    data=rankings(max_documents=5),
    name=st.sampled_from(list(METRICS)),
    k=st.sampled_from([None, 1, 2, 4]),
    sigma=st.sampled_from([0.5, 1.0, 3.0]),
    distance=st.booleans(),
    query=st.booleans(),
)
def test_lambdas_are_the_mean_over_all_orders_of_equal_documents(
    data, name, k, sigma, distance, query
):
    if name == "ndcg, a table of gains":
        name = "ndcg"  # the table has no value for the grades 0.5 and 2.5
    metric = METRICS[name](k)
    gradient, hessian, queries = of_queries(
        data,
        metric,
        sigma,
        distance_normalization=distance,
        query_normalization=query,
    )
    for rows in queries:
        expected = oracle.lambdas(
            data.scores[rows], data.y[rows], metric, sigma, distance, query, False
        )
        assert_alike(gradient[rows], hessian[rows], *expected, sigma)


@every_metric
@pytest.mark.parametrize("k", [2, 3])
def test_a_run_of_equals_across_the_cutoff_shares_its_lambdas(name, k):
    # grade 2 three times at the same score, on both sides of the cutoff; one more
    # document of that score and another of that grade belong to other runs
    y = np.array([2.0, 0, 1, 2, 0, 2, 2, 4])
    scores = np.array([1.0, 0, 3, 1, 1, 1, 0, 0])
    data = Ranking(y, scores, np.zeros(8, dtype=np.int64))
    metric = METRICS[name](k)
    gradient, hessian, _ = of_queries(data, metric)
    assert_alike(gradient, hessian, *oracle.lambdas(scores, y, metric, 1.0), 1.0)
    assert len(set(gradient[[0, 3, 5]])) == len(set(hessian[[0, 3, 5]])) == 1


@every_metric
@pytest.mark.parametrize("k", [7, 70, 130])
def test_long_lists_are_right_above_and_below_the_cutoff(name, k):
    # pairs are counted in lanes of 128; 130 is beyond these, and beyond a list
    rng = np.random.default_rng(5)
    n = 140 if INTERPRETED else 270
    groups = np.repeat([0, 1], [n, 90])
    y = rng.integers(0, 4, n + 90).astype(np.float64)
    scores = rng.normal(size=n + 90).round(2)
    metric = METRICS[name](k)
    gradient, hessian, queries = of_queries(Ranking(y, scores, groups), metric)
    for rows in queries:
        expected = oracle.lambdas_by_symmetry(scores[rows], y[rows], metric, 1.0)
        assert_alike(gradient[rows], hessian[rows], *expected, 1.0)


@pytest.mark.parametrize("name", ["none", "ndcg", "err", "user"])
@both
def test_lists_of_every_length_are_right(name, on):
    # pairs are counted in blocks: lists just shorter and longer than a block or two
    sizes = [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 31, 32, 33, 34, 47, 48, 49]
    metric = NDCGOfAUser() if name == "user" else METRICS[name](None)
    rng = np.random.default_rng(7)
    data = Ranking(
        y=rng.integers(0, 4, sum(sizes)).astype(np.float64),
        scores=rng.normal(size=sum(sizes)).round(1) + 1000,
        groups=np.repeat(np.arange(len(sizes)), sizes),
    )
    options = {"distance_normalization": on, "query_normalization": on}
    gradient, hessian, queries = of_queries(data, metric, **options)
    for rows in queries:
        expected = oracle.lambdas_by_symmetry(
            data.scores[rows], data.y[rows], metric, 1.0, on, on
        )
        assert_alike(gradient[rows], hessian[rows], *expected, 1.0)


def test_the_largest_grade_of_err_is_that_of_the_whole_data():
    y, scores = np.array([1.0, 0, 4, 0]), np.array([0.1, 0.2, 0.3, 0.4])
    data = Ranking(y, scores, np.array([0, 0, 1, 1]))
    gradient, hessian, queries = of_queries(data, "err")
    for rows in queries:
        expected = oracle.lambdas(scores[rows], y[rows], ERR(max_grade=4), 1.0)
        assert_alike(gradient[rows], hessian[rows], *expected, 1.0)


def test_the_exponential_is_exact_within_an_ulp():
    exponential = from_python(of_lambdas.exponential)
    rng = np.random.default_rng(0)
    wide, near = rng.uniform(0, 700, 400), rng.uniform(0, 2, 400)
    turns = log(2) * np.arange(0.5, 1000, 7.5)  # where the rounding of x / ln 2 changes
    with localcontext() as context:
        context.prec = 40
        for x in -np.concatenate([wide, near, 0.1**wide, turns, [0.0]]):
            exact = Decimal(float(x)).exp()
            error = abs(Decimal(float(exponential(x))) - exact)
            assert error <= Decimal(float(np.spacing(float(exact))))
    assert 0 < exponential(-np.inf) == exponential(of_lambdas.LOWEST) < FAINTEST


# --- the cost behind the lambdas --------------------------------------------------


@every_metric
@every_cutoff
@every_sigma
def test_at_fixed_deltas_lambdas_are_derivatives_of_the_cost(name, k, sigma):
    rng = np.random.default_rng(2)
    n = 7
    y, scores = rng.integers(0, 4, n).astype(float), rng.normal(size=n)
    metric = METRICS[name](k)
    order = np.argsort(-scores).tolist()
    delta = oracle.deltas(metric, y, order)
    gradient, hessian, _ = of_queries(
        Ranking(y, scores, np.zeros(n, int)), metric, sigma
    )

    def cost(i: int, by: float) -> float:
        moved = scores.copy()
        moved[i] += by
        return oracle.cost(moved, y, delta, sigma)

    size = max(delta.max(), 1e-300) * sigma
    # a step of 1e-5 leaves 1e-10 of truncation and 1e-11 of rounding;
    # 1e-4 in the second difference 1e-8 and 1e-8
    slope = [(cost(i, 1e-5) - cost(i, -1e-5)) / 2e-5 for i in range(n)]
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-8 * size * sigma**2)
    bend = [(cost(i, 1e-4) - 2 * cost(i, 0) + cost(i, -1e-4)) / 1e-8 for i in range(n)]
    np.testing.assert_allclose(
        hessian, bend, rtol=0, atol=1e-6 * size * sigma**3 + 1e-6 * size
    )


@every_metric
@every_cutoff
def test_the_lambdas_of_a_query_sum_to_zero(name, k):
    data = ragged(3)
    for options in ({}, {"distance_normalization": True, "query_normalization": True}):
        gradient, hessian, queries = of_queries(data, METRICS[name](k), **options)
        for rows in queries:
            # a dozen terms that cancel: a few ulp of their size
            most = np.abs(gradient[rows]).sum()
            assert abs(gradient[rows].sum()) <= 1e-14 * most
        assert (hessian >= 0).all()


@every_sigma
def test_without_a_metric_the_gradient_is_that_of_ranknet(sigma):
    data = ragged(4)
    gradient, _, queries = of_queries(data, None, sigma)
    for rows in queries:
        expected = oracle.ranknet_gradient(data.scores[rows], data.y[rows], sigma)
        np.testing.assert_allclose(gradient[rows], expected, rtol=1e-12, atol=1e-13)


def test_the_two_documents_of_one_pair_get_equal_and_opposite_lambdas():
    # worked by hand: the only swap changes NDCG by 1 - 1 / log2(3)
    queries = QueryGroups.single(2)
    gradient, hessian = compute_lambdas([0.5, 1.5], [1, 0], queries, "ndcg", 2.0)
    delta, rho = 1 - log(2) / log(3), 1 / (1 + exp(-2.0))
    assert gradient[0] == pytest.approx(-2 * delta * rho, rel=1e-14)
    assert gradient[1] == -gradient[0]
    assert hessian[0] == pytest.approx(4 * delta * rho * (1 - rho), rel=1e-14)
    assert hessian[1] == hessian[0]


# --- what must not matter ---------------------------------------------------------


@every_metric
@every_cutoff
def test_the_order_of_the_rows_does_not_matter(name, k):
    data, metric = ragged(6), METRICS[name](k)
    gradient, hessian, queries = of_queries(data, metric)
    shuffle = np.random.default_rng(1).permutation(len(data.y))
    moved = Ranking(data.y[shuffle], data.scores[shuffle], data.groups[shuffle])
    again, bend, _ = of_queries(moved, metric)
    for rows in queries:
        most = np.abs(gradient[rows]).max()
        # the documents below the cutoff are added up in another order
        inverse = np.argsort(shuffle)[rows]
        np.testing.assert_allclose(again[inverse], gradient[rows], atol=1e-14 * most)
        np.testing.assert_allclose(bend[inverse], hessian[rows], atol=1e-14 * most)


@every_metric
@every_cutoff
@both
def test_a_constant_added_to_the_scores_of_a_query_does_not_matter(name, k, on):
    options = {"distance_normalization": on, "query_normalization": on}
    data = ragged(7)
    scores = (data.scores * 8).round() / 8  # so that sums with integers are exact
    constant = np.array([-3.0, 1024.0, 5.0])[data.groups % 3]
    metric = METRICS[name](k)
    before = of_queries(Ranking(data.y, scores, data.groups), metric, **options)
    after = of_queries(
        Ranking(data.y, scores + constant, data.groups), metric, **options
    )
    np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1], after[1])


@every_metric
@every_cutoff
@both
def test_another_query_does_not_matter(name, k, on):
    options = {"distance_normalization": on, "query_normalization": on}
    data, other = ragged(8), ragged(9, n_queries=5, longest=30)
    metric = METRICS[name](k)
    gradient, hessian, _ = of_queries(data, metric, **options)
    n = len(data.y)
    shuffle = np.random.default_rng(2).permutation(n + len(other.y))
    shuffle = np.concatenate([np.sort(shuffle[shuffle < n]), shuffle[shuffle >= n]])
    together = Ranking(
        np.concatenate([data.y, other.y])[shuffle],
        np.concatenate([data.scores, other.scores])[shuffle],
        np.concatenate([2 * data.groups, 2 * other.groups + 1])[shuffle],
    )
    again, bend, _ = of_queries(together, metric, **options)
    np.testing.assert_array_equal(again[:n], gradient)
    np.testing.assert_array_equal(bend[:n], hessian)


@every_metric
@both
def test_equal_grades_and_single_documents_get_nothing(name, on):
    data = Ranking(
        y=np.array([2.0, 3, 3, 3, 0, 0]),
        scores=np.array([1.0, 2, 3, 3, 5, 6]),
        groups=np.array([0, 1, 1, 1, 2, 2]),
    )
    gradient, hessian, _ = of_queries(
        data, METRICS[name](None), distance_normalization=on, query_normalization=on
    )
    np.testing.assert_array_equal(gradient, 0.0)
    np.testing.assert_array_equal(hessian, 0.0)


@every_metric
@pytest.mark.parametrize("in_one_list", [0.0, 0.9])
def test_the_number_of_threads_does_not_matter(name, in_one_list, monkeypatch):
    """However little there is to share, and if one list has more than all others."""
    monkeypatch.setattr(of_gradient, "WORTH_SHARING", 0)
    data = ragged(10, n_queries=30 if INTERPRETED else 300, longest=30)
    n_rows = len(data.groups)
    data.groups[np.random.default_rng(0).random(n_rows) < in_one_list] = 9
    queries = QueryGroups.from_groups(data.groups, len(data.groups))
    results = [
        np.array(
            compute_lambdas(
                data.scores,
                data.y,
                queries,
                METRICS[name](10),
                distance_normalization=True,
                query_normalization=True,
                n_jobs=n_jobs,
            )
        ).tobytes()
        for n_jobs in (1, 2, 4, None)
    ]
    assert len(set(results)) == 1


def test_the_arguments_are_left_as_they_were():
    data = ragged(11)
    copies = data.scores.copy(), data.y.copy()
    of_queries(data, "ndcg@3", distance_normalization=True, query_normalization=True)
    np.testing.assert_array_equal(data.scores, copies[0])
    np.testing.assert_array_equal(data.y, copies[1])


# --- the cutoff -------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in METRICS if name != "none"])
@pytest.mark.parametrize("k", [1, 5, 10])
def test_no_pair_below_the_cutoff_moves_the_metric(name, k):
    """So leaving them out is exact: a pair of two documents below it gets nothing."""
    rng = np.random.default_rng(k)
    ranked = rng.integers(0, 5, 20).astype(np.float64)
    delta = METRICS[name](k).swap_delta(ranked)
    assert (delta[k:, k:] == 0).all()


# --- normalisations ---------------------------------------------------------------


@pytest.mark.parametrize("distance", [False, True])
@pytest.mark.parametrize("query", [False, True])
@pytest.mark.parametrize("name", ["none", "ndcg", "map", "user"])
@every_sigma
def test_the_normalisations_are_what_they_say(name, distance, query, sigma):
    metric = NDCGOfAUser(5) if name == "user" else METRICS[name](5)
    data = ragged(12)
    gradient, hessian, queries = of_queries(
        data, metric, sigma, distance_normalization=distance, query_normalization=query
    )
    for rows in queries:
        expected = oracle.lambdas_by_symmetry(
            data.scores[rows], data.y[rows], metric, sigma, distance, query
        )
        assert_alike(gradient[rows], hessian[rows], *expected, sigma)


@pytest.mark.parametrize("apart", [10.0, 25.0, 40.0, 300.0])
def test_the_query_normalisation_holds_for_faint_lambdas(apart):
    # log2(1 + S) / S tends to 1 / log(2): a query that is nearly done is not cut off
    queries = QueryGroups.single(2)
    scores, y = [apart, 0.0], [1, 0]
    plain, _ = compute_lambdas(scores, y, queries, None)
    gradient, hessian = compute_lambdas(
        scores, y, queries, None, query_normalization=True
    )
    expected = oracle.lambdas(scores, y, None, 1.0, query=True)
    np.testing.assert_allclose(gradient, expected[0], rtol=1e-9)
    np.testing.assert_allclose(hessian, expected[1], rtol=1e-9)
    np.testing.assert_allclose(gradient, plain / log(2), rtol=2 * exp(-apart) + 1e-14)


# --- scores far apart -------------------------------------------------------------

SPREADS = [30.0, 590.0, 610.0, 740.0, 1e4]


@every_sigma
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("name", ["none", "ndcg", "err"])
def test_scores_far_apart_agree_with_a_stable_sigmoid(name, spread, sigma):
    rng = np.random.default_rng(3)
    n = 12
    scores = rng.uniform(size=n)
    scores = (scores - scores.min()) / np.ptp(scores) * spread / sigma
    y = rng.integers(0, 4, n).astype(float)
    metric = METRICS[name](None)
    gradient, hessian, _ = of_queries(
        Ranking(y, scores, np.zeros(n, int)), metric, sigma
    )
    assert_alike(gradient, hessian, *oracle.lambdas(scores, y, metric, sigma), sigma)


@every_sigma
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("worse_first", [False, True])
def test_a_faint_hessian_has_all_its_digits(spread, sigma, worse_first):
    # it is what a gradient is divided by
    scores = np.array([spread, 0.0]) / sigma
    y = np.array([0.0, 1.0]) if worse_first else np.array([1.0, 0.0])
    gradient, hessian, _ = of_queries(Ranking(y, scores, np.zeros(2, int)), None, sigma)
    expected = oracle.lambdas(scores, y, None, sigma)
    # exp(-x) has a relative error of x ulp; below 1e-300 digits are lost
    np.testing.assert_allclose(gradient, expected[0], rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(hessian, expected[1], rtol=1e-11, atol=1e-300)


@every_metric
@both
def test_no_score_makes_a_nan(name, on):
    scores = np.array([1e300, -1e300, 0.0, 1e4, 5e-324, -1e4, 0.0])
    y = np.array([0.0, 4, 1, 2, 3, 4, 1])
    gradient, hessian, _ = of_queries(
        Ranking(y, scores, np.zeros(7, int)),
        METRICS[name](None),
        sigma=3.0,
        distance_normalization=on,
        query_normalization=on,
    )
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()
    assert (hessian >= 0).all()


# --- a user's metric, and weights -------------------------------------------------


@every_cutoff
@both
def test_a_metric_of_the_user_agrees_with_its_closed_form(k, on):
    options = {"distance_normalization": on, "query_normalization": on}
    data = ragged(13)
    own = of_queries(data, NDCGOfAUser(k), **options)
    built_in = of_queries(data, NDCG(k), **options)
    # differences of values near 1: an ulp of those
    np.testing.assert_allclose(
        own[0], built_in[0], rtol=0, atol=1e-13 / (0.01 if on else 1)
    )
    np.testing.assert_allclose(
        own[1], built_in[1], rtol=0, atol=1e-13 / (0.01 if on else 1)
    )


@every_sigma
@both
def test_a_metric_whose_every_swap_counts_one_is_ranknet_bit_for_bit(sigma, on):
    options = {"distance_normalization": on, "query_normalization": on}
    data = ragged(14)
    one = of_queries(data, EveryPairCountsOne(), sigma, **options)
    none = of_queries(data, None, sigma, **options)
    np.testing.assert_array_equal(one[0], none[0])
    np.testing.assert_array_equal(one[1], none[1])


class SwapsAreUnknown(EveryPairCountsOne):
    def swap_delta(self, ranked_grades):
        return np.full((len(ranked_grades), len(ranked_grades)), np.nan)


class SwapsOfAnotherList(EveryPairCountsOne):
    def swap_delta(self, ranked_grades):
        return np.ones((2, 2))


@pytest.mark.parametrize("metric", [SwapsAreUnknown(), SwapsOfAnotherList()])
def test_swap_deltas_that_are_no_numbers_are_refused(metric):
    with pytest.raises(ValueError, match="swap"):
        of_queries(ragged(15), metric)


def gradient_of(data: Ranking, metric, n_threads=1, **options) -> LambdaGradient:
    """The lambdas as a ranker sees them: `data` in canonical order."""
    _, sizes = np.unique(data.groups, return_counts=True)
    arguments = {
        "query_weight": None,
        "distance_normalization": False,
        "query_normalization": False,
    } | options
    return LambdaGradient(
        data.y,
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        metric,
        1.0,
        team=ThreadTeam(n_threads),
        **arguments,
    )


def in_canonical_order(data: Ranking) -> Ranking:
    order = np.argsort(data.groups, kind="stable")
    return Ranking(data.y[order], data.scores[order], data.groups[order])


@both
def test_a_weight_multiplies_the_lambdas_of_its_query(on):
    data = in_canonical_order(ragged(16))
    options = {"distance_normalization": on, "query_normalization": on}
    weights = np.array([0.0, 1.0, 0.25, 2.0] * 4)[: len(np.unique(data.groups))]
    gradient, hessian = gradient_of(data, NDCG(), **options)(data.scores)
    weighted = gradient_of(data, NDCG(), query_weight=weights, **options)
    by_row = weights[data.groups]
    again, bend = weighted(data.scores)  # powers of two: exact
    np.testing.assert_array_equal(again, by_row * gradient)
    np.testing.assert_array_equal(bend, by_row * hessian)


@pytest.mark.parametrize("metric", [None, NDCG(3), MAP(), NDCGOfAUser()])
def test_lambdas_do_not_remember_the_scores_before(metric):
    data = in_canonical_order(ragged(17))
    lambdas = gradient_of(data, metric)
    lambdas(np.random.default_rng(0).normal(size=len(data.y)))
    second = [values.copy() for values in lambdas(data.scores)]
    fresh = gradient_of(data, metric)(data.scores)
    np.testing.assert_array_equal(second[0], fresh[0])
    np.testing.assert_array_equal(second[1], fresh[1])


# --- what is refused --------------------------------------------------------------

QUERIES = QueryGroups.from_groups(["a", "a", "b"], 3)


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf])
def test_sigma_must_be_a_positive_number(sigma):
    with pytest.raises(ValueError, match="sigma"):
        compute_lambdas([1, 2, 3], [0, 1, 0], QUERIES, sigma=sigma)


@pytest.mark.parametrize(
    ("scores", "grades", "message"),
    [
        ([1, 2], [0, 1, 0], "scores .*3 rows"),
        ([1, 2, 3], [0, 1], "grades .*3 rows"),
        ([1, np.nan, 3], [0, 1, 0], "scores .*row 1 .*'a'"),
        ([1, 2, np.inf], [0, 1, 0], "scores .*row 2 .*'b'"),
        ([1, 2, 3], [0, 1, -1], "grades .*row 2 .*'b'"),
        ([1, 2, 3], [np.nan, 1, 1], "grades .*row 0 .*'a'"),
        ([1, 2, 3], [0, 1, np.inf], "grades .*row 2 .*'b'"),
        ([1, 2, 3], [0, 5000, 1], "'a' has grade 5000"),
    ],
)
def test_bad_input_is_refused_by_name(scores, grades, message):
    with pytest.raises(ValueError, match=message):
        compute_lambdas(scores, grades, QUERIES)


def test_an_unknown_metric_is_refused():
    with pytest.raises(ValueError, match="ndcgg"):
        compute_lambdas([1, 2, 3], [0, 1, 0], QUERIES, "ndcgg")
