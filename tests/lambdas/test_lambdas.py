"""Lambdas against the pair loop, differences of the cost, and symmetries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import exp, log
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._core.compile import INTERPRETED, ThreadTeam
from sklearn_ltr._core.data import RowColumns, TrainingData
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.lambdas import ranked_queries
from sklearn_ltr._core.lambdas.graded_pairs import GradedLambdas
from sklearn_ltr._core.lambdas.pair import PairOptions
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.metrics import MAP, NDCG, Metric, get_metric
from tests.oracles import lambdas as oracle
from tests.oracles.metrics import DEFINITIONS
from tests.strategies import Ranking, rankings
from tests.user_metrics import NDCGOfAUser, SwapDeltaOne


def metric_of(name: str, k: int | None) -> Metric | None:
    """A metric of the package by its name, with the options that it has in tests."""
    if name == "none":
        return None
    options = DEFINITIONS[name][1]
    if name == "err":
        options = {"max_grade": 4}
    return type(get_metric(name))(k, **options)


NORMALIZED = {"normalize_lambdas": True}
every_metric = pytest.mark.parametrize("name", ["none", *DEFINITIONS])
some_metrics = pytest.mark.parametrize("name", ["none", "ndcg", "err"])
normalized_or_not = pytest.mark.parametrize("options", [{}, NORMALIZED])


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
    """What compute_lambdas returns, and the rows of each query."""
    gradient, hessian = compute_lambdas(
        data.scores, data.y, metric, sigma, groups=data.groups, n_jobs=1, **options
    )
    rows = [np.flatnonzero(data.groups == g) for g in np.unique(data.groups)]
    return gradient, hessian, rows


def assert_alike(gradient, hessian, expected_gradient, expected_hessian, sigma):
    """Sums of the same terms in another order, from exponentials within some ulp.

    Lambdas of a document may cancel, so errors are relative to the largest of the
    query.
    """
    most = np.abs(expected_gradient).max()
    np.testing.assert_allclose(gradient, expected_gradient, rtol=0, atol=1e-12 * most)
    np.testing.assert_allclose(
        hessian, expected_hessian, rtol=1e-11, atol=1e-12 * most * sigma
    )


# --- the pair loop ----------------------------------------------------------------


@every_metric
@pytest.mark.parametrize(("k", "sigma"), [(None, 1.0), (1, 3.0), (3, 0.5)])
def test_lambdas_are_the_pair_loop_of_the_report(name, k, sigma):
    data, metric = ragged(), metric_of(name, k)
    gradient, hessian, queries = of_queries(data, metric, sigma)
    for rows in queries:
        expected = oracle.lambdas_by_symmetry(
            data.scores[rows], data.y[rows], metric, sigma, brute_force=True
        )
        assert_alike(gradient[rows], hessian[rows], *expected, sigma)


@given(
    data=rankings(max_documents=5),
    name=st.sampled_from(["none", *DEFINITIONS]),
    k=st.sampled_from([None, 1, 2, 4]),
    sigma=st.sampled_from([0.5, 1.0, 3.0]),
    normalize=st.sampled_from([False, True, "distance", "query"]),
)
def test_lambdas_are_the_mean_over_all_orders_of_equal_documents(
    data, name, k, sigma, normalize
):
    metric = metric_of(name, k)
    gradient, hessian, queries = of_queries(
        data, metric, sigma, normalize_lambdas=normalize
    )
    for rows in queries:
        expected = oracle.lambdas(
            data.scores[rows], data.y[rows], metric, sigma, normalize, False
        )
        assert_alike(gradient[rows], hessian[rows], *expected, sigma)


@some_metrics
@pytest.mark.parametrize("k", [7, 70, 130])
def test_long_lists_are_right_above_and_below_the_cutoff(name, k):
    # lists are processed in lanes of 128; 130 is more than these and than one list
    rng = np.random.default_rng(5)
    n = 140 if INTERPRETED else 270
    groups = np.repeat([0, 1], [n, 90])
    y = rng.integers(0, 4, n + 90).astype(np.float64)
    scores = rng.normal(size=n + 90).round(2)
    metric = metric_of(name, k)
    gradient, hessian, queries = of_queries(Ranking(y, scores, groups), metric)
    for rows in queries:
        expected = oracle.lambdas_by_symmetry(scores[rows], y[rows], metric, 1.0)
        assert_alike(gradient[rows], hessian[rows], *expected, 1.0)


@pytest.mark.parametrize(
    ("name", "k"), [("none", None), ("ndcg", None), ("err", None), ("user", 3)]
)
def test_lists_of_every_length_are_right(name, k):
    # loops run over whole blocks: lists just shorter and longer than a block or two
    sizes = [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 31, 32, 33]
    sizes += [] if name == "user" else [34, 47, 48, 49]
    metric = NDCGOfAUser(k) if name == "user" else metric_of(name, k)
    rng = np.random.default_rng(7)
    data = Ranking(
        y=rng.integers(0, 4, sum(sizes)).astype(np.float64),
        scores=rng.normal(size=sum(sizes)).round(1) + 1000,
        groups=np.repeat(np.arange(len(sizes)), sizes),
    )
    gradient, hessian, queries = of_queries(data, metric, **NORMALIZED)
    for rows in queries:
        expected = oracle.lambdas_by_symmetry(
            data.scores[rows], data.y[rows], metric, 1.0, normalize=True
        )
        assert_alike(gradient[rows], hessian[rows], *expected, 1.0)


def test_the_two_documents_of_one_pair_get_equal_and_opposite_lambdas():
    # worked by hand: the only swap changes NDCG by 1 - 1 / log2(3)
    gradient, hessian = compute_lambdas([0.5, 1.5], [1, 0], "ndcg", 2.0, groups=[0, 0])
    delta, rho = 1 - log(2) / log(3), 1 / (1 + exp(-2.0))
    assert gradient[0] == pytest.approx(-2 * delta * rho, rel=1e-14)
    assert gradient[1] == -gradient[0]
    assert hessian[0] == pytest.approx(4 * delta * rho * (1 - rho), rel=1e-14)
    assert hessian[1] == hessian[0]


# --- what must not matter ---------------------------------------------------------


@some_metrics
@normalized_or_not
def test_a_constant_added_to_the_scores_of_a_query_does_not_matter(name, options):
    data = ragged(7)
    scores = (data.scores * 8).round() / 8  # so that sums with integers are exact
    constant = np.array([-3.0, 1024.0, 5.0])[data.groups % 3]
    metric = metric_of(name, 3)
    before = of_queries(Ranking(data.y, scores, data.groups), metric, **options)
    after = of_queries(
        Ranking(data.y, scores + constant, data.groups), metric, **options
    )
    np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1], after[1])


@pytest.mark.parametrize("name", ["none", "ndcg", "err"])
@pytest.mark.parametrize("in_one_list", [0.0, 0.9])
@pytest.mark.usefixtures("four_cores")
def test_the_number_of_threads_does_not_matter(name, in_one_list):
    """However few pairs there are, and if one list has more than all others."""
    data = ragged(10, n_queries=30 if INTERPRETED else 300, longest=30)
    n_rows = len(data.groups)
    data.groups[np.random.default_rng(0).random(n_rows) < in_one_list] = 9
    arguments = {"groups": data.groups, **NORMALIZED}
    results = [
        np.array(
            compute_lambdas(
                data.scores, data.y, metric_of(name, 10), n_jobs=n_jobs, **arguments
            )
        ).tobytes()
        for n_jobs in (1, 2, 4, None)
    ]
    assert len(set(results)) == 1


# --- normalization ----------------------------------------------------------------


@pytest.mark.parametrize("apart", [10.0, 40.0, 300.0])
def test_normalization_is_exact_for_tiny_lambdas(apart):
    # log2(1 + S) / S tends to 1 / log(2) as S, here exp(-apart), tends to 0
    scores, y = [apart, 0.0], [1, 0]
    plain, _ = compute_lambdas(scores, y, None, groups=[0, 0])
    gradient, hessian = compute_lambdas(
        scores, y, None, groups=[0, 0], normalize_lambdas="query"
    )
    expected = oracle.lambdas(scores, y, None, 1.0, normalize="query")
    np.testing.assert_allclose(gradient, expected[0], rtol=1e-9)
    np.testing.assert_allclose(hessian, expected[1], rtol=1e-9)
    np.testing.assert_allclose(gradient, plain / log(2), rtol=2 * exp(-apart) + 1e-14)


# --- scores far apart -------------------------------------------------------------

# Near the switch to an exponential per pair, where that one underflows, and beyond.
SPREADS = [590.0, 610.0, 740.0, 1e4]


@pytest.mark.parametrize("spread", SPREADS)
@some_metrics
def test_scores_far_apart_agree_with_a_stable_sigmoid(name, spread, sigma=3.0):
    rng = np.random.default_rng(3)
    scores = rng.uniform(size=12)
    scores = (scores - scores.min()) / np.ptp(scores) * spread / sigma
    y, metric = rng.integers(0, 4, 12).astype(float), metric_of(name, None)
    data = Ranking(y, scores, np.zeros(12, int))
    gradient, hessian, _ = of_queries(data, metric, sigma)
    assert_alike(gradient, hessian, *oracle.lambdas(scores, y, metric, sigma), sigma)
    # a tiny hessian, by which gradients are divided, has all its digits
    for y in (np.array([0.0, 1.0]), np.array([1.0, 0.0])):
        scores = np.array([spread, 0.0]) / sigma
        found = of_queries(Ranking(y, scores, np.zeros(2, int)), None, sigma)[:2]
        expected = oracle.lambdas(scores, y, None, sigma)
        # exp(-x) has a relative error of x ulp; below 1e-300 digits are lost
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-300)


@some_metrics
@normalized_or_not
def test_no_score_makes_a_nan(name, options):
    scores = np.array([1e300, -1e300, 0.0, 1e4, 5e-324, -1e4, 0.0])
    y = np.array([0.0, 4, 1, 2, 3, 4, 1])
    gradient, hessian, _ = of_queries(
        Ranking(y, scores, np.zeros(7, int)),
        metric_of(name, None),
        sigma=3.0,
        **options,
    )
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()
    assert (hessian >= 0).all()


# --- a user's metric, and weights -------------------------------------------------


@normalized_or_not
def test_a_metric_whose_every_swap_counts_one_is_ranknet_bit_for_bit(options):
    data = ragged(14)
    one = of_queries(data, SwapDeltaOne(), 3.0, **options)
    none = of_queries(data, None, 3.0, **options)
    np.testing.assert_array_equal(one[0], none[0])
    np.testing.assert_array_equal(one[1], none[1])


class SwapsAreUnknown(SwapDeltaOne):
    def swap_delta(self, ranked_grades):
        return np.full((len(ranked_grades), len(ranked_grades)), np.nan)


class SwapsOfAnotherList(SwapDeltaOne):
    def swap_delta(self, ranked_grades):
        return np.ones((2, 2))


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (SwapsAreUnknown(), "SwapsAreUnknown.*finite"),
        (SwapsOfAnotherList(), r"swap_delta must return \(\d+, \d+\)"),
    ],
)
def test_swap_deltas_that_are_no_numbers_are_refused(metric, message):
    with pytest.raises(ValueError, match=message):
        of_queries(ragged(15), metric)


@dataclass(frozen=True, repr=False)
class Counted(NDCGOfAUser):
    """Notes the sizes of the lists that its value is computed of."""

    sizes: ClassVar[list[int]] = []

    def value(self, ranked_grades):
        self.sizes.append(len(ranked_grades))
        return super().value(ranked_grades)


@pytest.mark.parametrize("k", [None, 1, 4, 30])
def test_swaps_of_equal_grades_and_below_the_cutoff_are_not_tried(k):
    ranked = np.array([0, 2, 1, 1, 0, 2, 0.5, 0])
    metric, counted = NDCGOfAUser(k), Counted(k)
    counted.sizes.clear()
    delta = counted.swap_delta(ranked)
    np.testing.assert_array_equal(delta, oracle.swap_by_swap(metric, ranked))
    tried = [
        (p, q)
        for p, q in combinations(range(8), 2)
        if (k is None or p < k) and ranked[p] != ranked[q]
    ]
    assert len(counted.sizes) == 1 + len(tried)


@pytest.mark.parametrize("k", [None, 3])
def test_swaps_that_take_long_are_told_of_before_the_first(k, caplog, monkeypatch):
    data, metric = in_canonical_order(ragged(15)), Counted(k)
    most = sum(
        len([q for q in range(p) if k is None or q < k])
        for size in np.bincount(data.groups).tolist()
        for p in range(size)
    )
    for seconds, n_lines in ((1.9 / most, 0), (2.6 / most, 1)):
        clock = partial(lambda each: each * len(Counted.sizes), seconds)
        monkeypatch.setattr(ranked_queries, "perf_counter", clock)
        objective_of(data, metric)
        assert len(caplog.messages) == n_lines
    assert f"up to {most} swaps, about 3 s" in caplog.messages[0]
    assert "scoring=" in caplog.messages[0]


def objective_of(data: Ranking, metric, weights=None, **options) -> GradedLambdas:
    """The objective as a ranker makes it: `data` in canonical order."""
    _, sizes = np.unique(data.groups, return_counts=True)
    training_data = TrainingData(
        LabelGrades.of_one(data.y),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        query_ids=None,
        columns=RowColumns(sample_weight=weights),
    )
    return GradedLambdas(
        training_data, metric, PairOptions.read(1.0, bool(options)), ThreadTeam(1)
    )


def in_canonical_order(data: Ranking) -> Ranking:
    order = np.argsort(data.groups, kind="stable")
    return Ranking(data.y[order], data.scores[order], data.groups[order])


@normalized_or_not
def test_a_weight_multiplies_the_lambdas_of_its_query(options):
    data = in_canonical_order(ragged(16))
    weights = np.array([0.0, 1.0, 0.25, 2.0] * 4)[: len(np.unique(data.groups))]
    gradient, hessian = objective_of(data, NDCG(), **options).derivatives(data.scores)
    weighted = objective_of(data, NDCG(), weights, **options).derivatives(data.scores)
    by_row = weights[data.groups]  # powers of two: exact
    np.testing.assert_array_equal(weighted[0], by_row * gradient)
    np.testing.assert_array_equal(weighted[1], by_row * hessian)


@pytest.mark.parametrize("metric", [None, NDCG(3), MAP(), NDCGOfAUser()])
def test_lambdas_do_not_depend_on_the_scores_before(metric):
    data = in_canonical_order(ragged(17))
    compute = objective_of(data, metric)
    compute.derivatives(np.random.default_rng(0).normal(size=len(data.y)))
    second = [values.copy() for values in compute.derivatives(data.scores)]
    fresh = objective_of(data, metric).derivatives(data.scores)
    np.testing.assert_array_equal(second[0], fresh[0])
    np.testing.assert_array_equal(second[1], fresh[1])


@pytest.mark.parametrize("metric", [None, NDCG(), NDCG(2)], ids=str)
def test_scores_that_differ_by_the_smallest_distance_have_finite_hessians(metric):
    """A lane of no pair may then have the distance 0, by which it would be divided."""
    scores = np.array([0.01, 0.0, 0.02, 0.5, 0.49])
    data = Ranking(np.array([0.0, 1, 0, 2, 0]), scores, np.zeros(5, dtype=np.int64))
    objective = objective_of(data, metric, normalize=True)
    found = objective.derivatives(scores)
    near = objective.derivatives(scores + 1e-9 * np.arange(5))
    for values, expected in zip(found, near, strict=True):
        assert np.isfinite(values).all()
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-9)
