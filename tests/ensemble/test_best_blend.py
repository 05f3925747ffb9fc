"""The best blend of two rankers, over all blends."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr.ensemble import best_blend
from sklearn_ltr.metrics import (
    CG,
    DCG,
    ERR,
    MAP,
    MRR,
    NDCG,
    RBP,
    BPref,
    Metric,
    RPrecision,
    get_metric,
)
from tests.oracles import blending as oracle
from tests.strategies import rankings, scores

# of drawn grades
pytestmark = pytest.mark.filterwarnings("ignore:to .* every document is relevant")

NOISE = 1e-12  # rounding of the cumulative sum of the changes


class RelevantHigh(Metric):
    """A user-defined metric that depends on the whole list, whatever its cutoff."""

    def value(self, ranked_grades):
        relevant = np.flatnonzero(ranked_grades > 0)
        return float(1.0 / (1.0 + relevant.sum()) + 0.1 * (ranked_grades[0] > 0))


#: By the way in which the curve of a metric is computed.
METRICS = {
    "gains": [NDCG(), NDCG(3, no_relevant="one"), NDCG(3, short_lists="zero"), CG(3)],
    "precisions": [MAP(2), MAP(no_relevant="skip"), RPrecision(), BPref(2)],
    "cascade": [MRR(2), ERR(2, max_grade=4), RBP(2)],
    "user": [RelevantHigh(2)],
}

#: For multiples of 1/4, blends by an alpha with few binary digits are exact.
quarters = st.integers(-6, 6).map(lambda n: n / 4)


@dataclass(frozen=True)
class TwoRankings:
    """Rows of several queries, scored by two rankers."""

    scores_1: np.ndarray
    scores_2: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    weights: np.ndarray

    @property
    def queries(self):
        columns = (self.scores_1, self.scores_2, self.y)
        return [
            tuple(column[self.groups == g].tolist() for column in columns)
            for g in np.unique(self.groups)
        ]

    @property
    def query_weights(self):
        _, first = np.unique(self.groups, return_index=True)
        return self.weights[first].tolist()

    def sweep(self, metric):
        return best_blend(
            self.scores_1,
            self.scores_2,
            self.y,
            groups=self.groups,
            metric=metric,
            sample_weight=self.weights,
        )

    def evaluate(self, metric, alpha):
        blend = alpha * self.scores_1 + (1 - alpha) * self.scores_2
        return metric(self.y, blend, groups=self.groups, sample_weight=self.weights)


@st.composite
def two_rankings(draw, scores=quarters):
    first = draw(rankings(scores=scores))
    if draw(st.integers(0, 9)) == 0:
        scores_2 = first.scores  # two equal rankers
    else:
        n = len(first.y)
        scores_2 = np.array(draw(st.lists(scores, min_size=n, max_size=n)))
    weights = draw(st.sampled_from([(1.0, 1.0, 1.0), (1.0, 3.0, 0.0), (0.5, 2.0, 1.0)]))
    row_weights = np.array(weights)[first.groups % 3]
    if not row_weights.any():
        row_weights[:] = 1.0
    return TwoRankings(first.scores, scores_2, first.y, first.groups, row_weights)


def value_of(metric):
    """The value of a query, also if nothing in it is relevant."""

    def value(ranked_grades):
        if not any(ranked_grades):
            return {"zero": 0.0, "one": 1.0, "skip": 0.0}[metric.no_relevant]
        return metric.value(np.array(ranked_grades))

    return value


def included_weights(data, metric):
    """Weights of the queries, 0 for those that the metric skips."""
    skip = metric.no_relevant == "skip"
    return [
        0.0 if skip and not any(grades) else weight
        for weight, (*_, grades) in zip(data.query_weights, data.queries, strict=True)
    ]


# --- the curve --------------------------------------------------------------------


@pytest.mark.parametrize("way", METRICS)
@given(data=two_rankings(), drawn=st.data())
def test_the_sweep_finds_what_trying_out_every_interval_finds(way, data, drawn):
    metric = drawn.draw(st.sampled_from(METRICS[way]))
    weights = included_weights(data, metric)
    if not any(weights):
        with pytest.raises(ValueError, match="no query to average"):
            data.sweep(metric)
        return
    found = data.sweep(metric)
    points, values = oracle.curve(data.queries, value_of(metric), weights)
    middles = [float(a + b) / 2 for a, b in zip(points, points[1:], strict=False)]
    at_middles = found.values[np.searchsorted(found.change_points, middles)]
    np.testing.assert_allclose(at_middles, values, rtol=0, atol=NOISE)
    known = np.array([float(point) for point in points])
    distance = np.abs(found.change_points[:, None] - known).min(axis=1, initial=1)
    assert (distance <= 1e-15).all()
    assert (np.diff(found.change_points) > 0).all()
    assert len(found.values) == len(found.change_points) + 1

    assert found.value == pytest.approx(max(values), abs=NOISE)
    on_a_grid = [data.evaluate(metric, alpha) for alpha in np.arange(65) / 64]
    assert max(on_a_grid) <= found.value + NOISE


@given(
    metric=st.sampled_from([NDCG(3), MAP(), RelevantHigh()]),
    data=two_rankings(scores=scores),
)
def test_the_value_is_the_metric_of_the_blended_scores(metric, data):
    """For any scores: huge ones, or too close for float64 to blend."""
    found = data.sweep(metric)
    assert 0 <= found.alpha <= 1
    assert found.value == data.evaluate(metric, found.alpha)
    assert found.value >= data.evaluate(metric, 0.0)
    assert found.value >= data.evaluate(metric, 1.0)


@given(data=two_rankings(scores=scores), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_changes_no_bit(data, seed):
    rows = np.random.default_rng(seed).permutation(len(data.y))
    shuffled = TwoRankings(*(column[rows] for column in vars(data).values()))
    assert pickle.dumps(vars(shuffled.sweep(NDCG(3)))) == pickle.dumps(
        vars(data.sweep(NDCG(3)))
    )


def draw_large(n_queries=15, longest=50, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_queries), rng.integers(1, longest, n_queries))
    y = rng.integers(0, 5, len(groups)).astype(float)
    scores = y + rng.normal(0, 2, (2, len(y)))
    return TwoRankings(*scores, y, groups, np.ones(len(y)))


@pytest.mark.parametrize("name", ["ndcg@10", "map", "err@20"])
def test_on_longer_lists_a_dense_grid_finds_nothing_better(name):
    data, metric = draw_large(), get_metric(name)
    found = data.sweep(metric)
    grid = np.linspace(0, 1, 201)
    on_grid = np.array([data.evaluate(metric, alpha) for alpha in grid])
    assert on_grid.max() <= found.value
    between = found.values[np.searchsorted(found.change_points, grid[1:-1])]
    np.testing.assert_allclose(between, on_grid[1:-1], rtol=0, atol=NOISE)


@pytest.mark.parametrize("k", [3, 200])
def test_the_curve_at_a_cutoff_is_that_of_the_same_user_defined_metric(k):
    """The first sweep removes documents and updates values; the second evaluates."""

    class DCGAtK(Metric):
        def value(self, ranked_grades):
            discount = 1 / np.log2(2 + np.arange(len(ranked_grades)))
            return float((2**ranked_grades - 1)[:k] @ discount[:k])

    data = draw_large(n_queries=8)
    found, expected = data.sweep(DCG(k)), data.sweep(DCGAtK())
    assert found.alpha == pytest.approx(expected.alpha, abs=1e-15)
    np.testing.assert_allclose(
        found.change_points, expected.change_points, rtol=0, atol=1e-15
    )
    np.testing.assert_allclose(found.values, expected.values, rtol=NOISE)


def test_the_scale_of_the_scores_does_not_matter():
    """Scales are powers of two, so nothing is rounded; differences could overflow."""
    data = draw_large(n_queries=8)
    expected = data.sweep(NDCG(10))
    for scale in (2.0**-1000, 2.0**1019):
        found = best_blend(
            data.scores_1 * scale, data.scores_2 * scale, data.y, groups=data.groups
        )
        assert found.alpha == expected.alpha
        assert found.values.tolist() == expected.values.tolist()


# --- which of the best blends -----------------------------------------------------


def blend_of_two_queries(scores_1, scores_2):
    return best_blend(
        scores_1, scores_2, [1, 0, 1, 0], groups=[0, 0, 1, 1], metric="mrr@1"
    )


@pytest.mark.parametrize(
    ("scores_1", "scores_2", "change_points", "values", "alpha"),
    [
        # the first query is correct below 1/4, the second above 1/2
        ([-3, 0, 1, 0], [1, 0, 0, 1], [0.25, 0.5], [0.5, 0, 0.5], 0.75),
        ([-3, 0, 1, 0], [1, 0, -3, 0], [0.25, 0.75], [0.5, 0, 0.5], 0.125),
        ([1, 0, 2, 1], [5, 3, 1, -1], [], [1.0], 0.5),
    ],
    ids=["the widest", "the first of equal widths", "the middle if nothing changes"],
)
def test_which_of_equal_values_is_chosen(
    scores_1, scores_2, change_points, values, alpha
):
    found = blend_of_two_queries(scores_1, scores_2)
    assert found.change_points.tolist() == change_points
    assert found.values.tolist() == values
    assert (found.alpha, found.value) == (alpha, values[0])


def test_an_interval_too_narrow_for_float64_is_not_chosen():
    """Both queries are correct between 1/2 and the next float64, and there is none."""
    just_less = 1 - 2.0**-52
    found = blend_of_two_queries([0, just_less, 1, 0], [1, 0, 0, 1])
    assert found.values.max() == 1.0
    assert found.value == 0.5
    assert found.change_points[0] == 0.5
    assert found.change_points[1] == np.nextafter(0.5, 1)
    # the intervals on both sides are next best; the first is wider by one ulp
    assert found.alpha == 0.25


def test_a_very_short_interval_next_to_zero_is_found():
    """Below 1e-25 the second ranker decides; above it the huge scores of the first."""
    found = best_blend([0, 1e25], [1, 0], [1, 0], groups=[0, 0], metric="mrr@1")
    assert found.value == 1.0
    assert 0 < found.alpha < 1e-25


# --- errors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scores_1": [1, 2]}, "scores_1 must hold one number for each"),
        ({"scores_2": [1, 2, np.nan]}, "scores_2 must be finite .* row 2"),
        ({"y": [0, 1, -2]}, "y must hold finite relevance grades"),
        ({"sample_weight": [1, 2, 1]}, "constant within a query"),
        ({"metric": NDCG(no_relevant="error"), "y": [0, 0, 0]}, "query 7 has no relev"),
    ],
)
def test_an_invalid_argument_is_named(changed, message):
    rows = {"scores_1": [1, 2, 3], "scores_2": [3, 2, 1], "y": [0, 1, 2]}
    with pytest.raises(ValueError, match=message):
        best_blend(**rows | {"groups": [7, 7, 7]} | changed)
