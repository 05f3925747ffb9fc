"""The best blend of two rankers, and a ranker that is a blend."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr.blending import best_blend
from sklearn_ltr.blending._crossings import changes_by_swaps, contenders, crossings
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
    get_metric,
)
from tests.oracles import blending as oracle
from tests.strategies import rankings, scores

NOISE = 1e-12  # of adding up changes


class RelevantHigh(Metric):
    """A user's measure that looks at the whole list, whatever its cutoff."""

    def value(self, ranked_grades):
        good = np.flatnonzero(ranked_grades > 0)
        return float(1.0 / (1.0 + good.sum()) + 0.1 * (ranked_grades[0] > 0))


METRICS = [
    NDCG(), NDCG(1), NDCG(3), NDCG(3, no_relevant="one"), NDCG(2, gain="linear"),
    NDCG(3, short_lists="zero"), DCG(2), CG(3), MAP(), MAP(2),
    MAP(no_relevant="skip"), MRR(), MRR(2), ERR(max_grade=4), ERR(2, max_grade=4),
    Precision(2), Recall(2), HitRate(2), RelevantHigh(), RelevantHigh(2),
]  # fmt: skip
every_metric = pytest.mark.parametrize("metric", METRICS, ids=repr)

#: Of quarters, blends by an alpha of few binary digits are exact.
quarters = st.integers(-6, 6).map(lambda n: n / 4)


@dataclass(frozen=True)
class TwoRankings:
    """Rows of several queries, scored by two rankers."""

    one: np.ndarray
    other: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    weights: np.ndarray

    @property
    def lists(self):
        return [
            (self.one[rows].tolist(), self.other[rows].tolist(), self.y[rows].tolist())
            for rows in (self.groups == g for g in np.unique(self.groups))
        ]

    @property
    def weight_of_query(self):
        _, first = np.unique(self.groups, return_index=True)
        return self.weights[first].tolist()

    def sweep(self, metric):
        return best_blend(
            self.one, self.other, self.y,
            groups=self.groups, metric=metric, sample_weight=self.weights,
        )  # fmt: skip

    def measure(self, metric, alpha):
        blend = alpha * self.one + (1 - alpha) * self.other
        return metric(self.y, blend, groups=self.groups, sample_weight=self.weights)


@st.composite
def two_rankings(draw, scores=quarters):
    first = draw(rankings(scores=scores))
    if draw(st.integers(0, 9)) == 0:
        other = first.scores  # a ranker and its twin
    else:
        n = len(first.y)
        other = np.array(draw(st.lists(scores, min_size=n, max_size=n)))
    weights = draw(st.sampled_from([(1.0, 1.0, 1.0), (1.0, 3.0, 0.0), (0.5, 2.0, 1.0)]))
    of_row = np.array(weights)[first.groups % 3]
    if not of_row.any():
        of_row[:] = 1.0
    return TwoRankings(first.scores, other, first.y, first.groups, of_row)


def value_of(metric):
    """Of one list, what the metric counts where nothing is relevant included."""

    def value(ranked_grades):
        if not any(ranked_grades):
            return {"zero": 0.0, "one": 1.0, "skip": 0.0}[metric.no_relevant]
        return metric.value(np.array(ranked_grades))

    return value


def weights_that_count(data, metric):
    skip = metric.no_relevant == "skip"
    return [
        0.0 if skip and not any(grades) else weight
        for weight, (*_, grades) in zip(data.weight_of_query, data.lists, strict=True)
    ]


# --- the curve --------------------------------------------------------------------


@every_metric
@settings(max_examples=30)
@given(data=two_rankings())
def test_the_sweep_finds_what_trying_out_every_interval_finds(metric, data):
    weights = weights_that_count(data, metric)
    if not any(weights):
        with pytest.raises(ValueError, match="no query to average"):
            data.sweep(metric)
        return
    found = data.sweep(metric)
    points, values = oracle.curve(data.lists, value_of(metric), weights)
    middles = [float(a + b) / 2 for a, b in zip(points, points[1:], strict=False)]
    of_middles = found.values[np.searchsorted(found.change_points, middles)]
    np.testing.assert_allclose(of_middles, values, rtol=0, atol=NOISE)
    known = np.array([float(point) for point in points])
    apart = np.abs(found.change_points[:, None] - known).min(axis=1, initial=1)
    assert (apart <= 1e-15).all()
    assert (np.diff(found.change_points) > 0).all()
    assert len(found.values) == len(found.change_points) + 1

    assert found.value == pytest.approx(max(values), abs=NOISE)
    on_a_grid = [data.measure(metric, alpha) for alpha in np.arange(65) / 64]
    assert max(on_a_grid) <= found.value + NOISE


@every_metric
@settings(max_examples=30)
@given(data=two_rankings(scores=scores))
def test_the_value_is_what_the_metric_says_of_the_blend(metric, data):
    """Whatever the scores: far apart, or too close for float64 to blend."""
    if not any(weights_that_count(data, metric)):
        return
    found = data.sweep(metric)
    assert 0 <= found.alpha <= 1
    assert found.value == data.measure(metric, found.alpha)
    assert found.value >= data.measure(metric, 0.0)
    assert found.value >= data.measure(metric, 1.0)


@settings(max_examples=60)
@given(data=two_rankings(scores=scores), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_changes_no_bit(data, seed):
    rows = np.random.default_rng(seed).permutation(len(data.y))
    shuffled = TwoRankings(
        data.one[rows], data.other[rows], data.y[rows], data.groups[rows],
        data.weights[rows],
    )  # fmt: skip
    assert pickle.dumps(vars(shuffled.sweep(NDCG(3)))) == pickle.dumps(
        vars(data.sweep(NDCG(3)))
    )


def draw_large(n_queries=15, longest=50, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_queries), rng.integers(1, longest, n_queries))
    y = rng.integers(0, 5, len(groups)).astype(float)
    one, other = y + rng.normal(0, 2, (2, len(y)))
    return TwoRankings(one, other, y, groups, np.ones(len(y)))


@pytest.mark.parametrize("metric", ["ndcg@10", "ndcg", "map", "map@5", "mrr", "err@20"])
def test_a_dense_grid_finds_nothing_better_on_longer_lists(metric):
    data, measure = draw_large(), get_metric(metric)
    found = data.sweep(measure)
    grid = np.linspace(0, 1, 501)
    of_grid = np.array([data.measure(measure, alpha) for alpha in grid])
    assert of_grid.max() <= found.value
    assert found.value == data.measure(measure, found.alpha)
    between = found.values[np.searchsorted(found.change_points, grid[1:-1])]
    np.testing.assert_allclose(between, of_grid[1:-1], rtol=0, atol=NOISE)


@pytest.mark.parametrize("k", [1, 3, 10, 200])
def test_a_cutoff_gives_the_curve_of_a_users_metric_that_cuts_itself(k):
    """One sweep leaves documents out and knows swaps, the other evaluates lists."""

    class Cut(Metric):
        def value(self, ranked_grades):
            discount = 1 / np.log2(2 + np.arange(len(ranked_grades)))
            return float((2**ranked_grades - 1)[:k] @ discount[:k])

    data = draw_large(n_queries=8)
    found, expected = data.sweep(DCG(k)), data.sweep(Cut())
    assert found.alpha == pytest.approx(expected.alpha, abs=1e-15)
    np.testing.assert_allclose(
        found.change_points, expected.change_points, rtol=0, atol=1e-15
    )
    np.testing.assert_allclose(found.values, expected.values, rtol=NOISE)


def test_the_scales_of_the_scores_do_not_matter():
    """Powers of two, so that nothing is rounded; differences may not overflow."""
    data = draw_large(n_queries=8)
    expected = data.sweep(NDCG(10))
    for scale in (2.0**-1000, 2.0**1019):
        found = best_blend(
            data.one * scale, data.other * scale, data.y, groups=data.groups
        )
        assert found.alpha == expected.alpha
        assert found.values.tolist() == expected.values.tolist()


# --- which of the best ------------------------------------------------------------


def blend_of_two_queries(one, other):
    return best_blend(one, other, [1, 0, 1, 0], groups=[0, 0, 1, 1], metric="mrr@1")


def test_of_equal_intervals_the_widest_is_taken():
    # the first query is won below 1/4, the second above 1/2
    found = blend_of_two_queries([-3, 0, 1, 0], [1, 0, 0, 1])
    assert found.change_points.tolist() == [0.25, 0.5]
    assert found.values.tolist() == [0.5, 0, 0.5]
    assert found.alpha == 0.75
    assert found.value == 0.5


def test_of_equal_intervals_of_one_width_the_first_is_taken():
    found = blend_of_two_queries([-3, 0, 1, 0], [1, 0, -3, 0])
    assert found.change_points.tolist() == [0.25, 0.75]
    assert found.alpha == 0.125


def test_without_any_change_alpha_is_one_half():
    found = blend_of_two_queries([1, 0, 2, 1], [5, 3, 1, -1])
    assert (found.alpha, found.value) == (0.5, 1.0)
    assert found.change_points.tolist() == []
    assert found.values.tolist() == [1.0]


def test_an_interval_too_narrow_for_float64_is_passed_over():
    """Both queries are won between 1/2 and the next number, and there is none."""
    just_less = 1 - 2.0**-52
    found = blend_of_two_queries([0, just_less, 1, 0], [1, 0, 0, 1])
    assert found.values.max() == 1.0
    assert found.value == 0.5
    edges = [0.0, *found.change_points, 1.0]
    assert edges[1] == 0.5
    assert edges[2] == np.nextafter(0.5, 1)
    # and next best are both sides, of which the first is a hair wider
    assert found.alpha == 0.25


def test_an_interval_next_to_zero_is_found_however_short():
    """Below 1e-25 the second ranker decides; above it the huge scores of the first."""
    found = best_blend([0, 1e25], [1, 0], [1, 0], groups=[0, 0], metric="mrr@1")
    assert found.value == 1.0
    assert 0 < found.alpha < 1e-25


# --- the geometry, and what a swap is worth ---------------------------------------


@settings(max_examples=100)
@given(
    pairs=st.lists(st.tuples(scores, scores), min_size=1, max_size=9),
    k=st.integers(1, 9),
)
def test_contenders_are_those_that_fewer_than_k_stand_above_everywhere(pairs, k):
    first, second = np.array(sorted(pairs, key=lambda p: (-p[1], -p[0]))).T
    expected = [
        j for j in range(len(first)) if (first[:j] >= first[j]).sum() < k
    ]  # whoever comes before has no lower `second`
    assert contenders(first.copy(), k).tolist() == expected


@settings(max_examples=100)
@given(pairs=st.lists(st.tuples(scores, scores), min_size=1, max_size=9))
def test_each_pair_that_the_rankers_order_differently_swaps_once(pairs):
    first, second = np.array(sorted(pairs, key=lambda p: (-p[1], -p[0]))).T
    identity = np.arange(len(first), dtype=float)
    last = first.copy()
    alphas, positions = crossings(last, second.copy(), identity.copy())
    n_inversions = sum((first[:j] < first[j]).sum() for j in range(len(first)))
    assert len(positions) == n_inversions
    assert (np.diff(last) <= 0).all()
    assert (np.diff(alphas) >= 0).all()
    ranked = identity.tolist()
    seen = set()
    for p in positions:
        pair = frozenset(ranked[p : p + 2])
        assert pair not in seen
        seen.add(pair)
        ranked[p], ranked[p + 1] = ranked[p + 1], ranked[p]
    assert first[np.array(ranked, dtype=int)].tolist() == last.tolist()


CLOSED_FORMS = [metric for metric in METRICS if metric.closed_form]


@pytest.mark.parametrize("metric", CLOSED_FORMS, ids=repr)
def test_a_swap_of_neighbours_changes_a_measure_as_its_file_says(metric):
    rng = np.random.default_rng(0)
    for n in range(2, 8):
        ranked = rng.choice([0.0, 1.0, 2.5, 4.0], n)
        ranked[0] = 1.0  # something is relevant
        positions = rng.integers(0, n - 1, 30)
        bound = metric.bind(ranked, np.array([0, n]))
        changes = changes_by_swaps(
            bound.worth.copy(), positions, bound.discount, *metric.from_above
        )
        for p, change in zip(positions, changes * bound.scale[0], strict=True):
            before = metric.value(ranked.copy())
            ranked[[p, p + 1]] = ranked[[p + 1, p]]
            after = metric.value(ranked.copy())
            assert change == pytest.approx(after - before, abs=NOISE)


# --- errors -----------------------------------------------------------------------

LISTS = {"scores_1": [1, 2, 3], "scores_2": [3, 2, 1], "y": [0, 1, 2]}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"scores_1": [1, 2]}, ValueError, "scores_1 must hold one number for each"),
        ({"scores_2": [1, 2, np.nan]}, ValueError, "scores_2 must be finite .* row 2"),
        ({"y": [0, 1, -2]}, ValueError, "y must hold finite relevance grades"),
        ({"groups": [1, 1]}, ValueError, "groups has 2 values for 3 rows"),
        ({"groups": None}, ValueError, "groups is None"),
        ({"sample_weight": [1, 2, 1]}, ValueError, "constant within a query"),
        ({"metric": "ndgc"}, ValueError, "Did you mean 'ndcg'"),
        ({"metric": None}, TypeError, "metric must be a name"),
        ({"metric": NDCG(ties="average")}, ValueError, 'got ties="average"'),
        ({"metric": NDCG(ties="stable")}, ValueError, "must break ties pessimist"),
        (
            {"metric": NDCG(no_relevant="error"), "y": [0, 0, 0]},
            ValueError,
            "query 7 has no relevant document",
        ),
    ],
)
def test_what_cannot_be_blended_is_named(changed, error, message):
    arguments = LISTS | {"groups": [7, 7, 7]} | changed
    with pytest.raises(error, match=message):
        best_blend(**arguments)
