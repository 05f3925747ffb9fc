"""The bars are the differences of a metric between two rankers, query by query."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.plotting import QueryComparisonDisplay
from sklearn_ltr.plotting._colors import BETTER, WORSE
from tests.oracles import metrics as oracle
from tests.plotting.conftest import assert_text_is_readable, labels, legend_of

A = [0.2, 0.9, 0.5, 0.4, 1.0]
B = [0.6, 0.8, 0.5, 0.5, 0.0]
# sixty queries of 1 to 12 documents, interleaved, some with nothing relevant
RNG = np.random.default_rng(0)
GROUPS = RNG.permutation(np.repeat(np.arange(60), RNG.integers(1, 13, 60)))
Y = RNG.choice([0, 0, 0, 1, 2], len(GROUPS))
SCORES = RNG.random(len(Y)), Y + RNG.normal(size=len(Y))
RELEVANT = np.array([query for query in range(60) if Y[GROUPS == query].any()])


def ndcg_by_query(scores, k):
    values = []
    for query in range(60):
        s, grades = scores[GROUPS == query].tolist(), Y[GROUPS == query].tolist()
        order = oracle.ranked_against_the_model(s, grades)
        values.append(oracle.ndcg([grades[i] for i in order], k))
    return np.array(values)


def compare(**options):
    return QueryComparisonDisplay.from_predictions(Y, *SCORES, groups=GROUPS, **options)


def test_values_are_those_of_the_definition_and_sorted_by_their_difference(ax):
    display = compare(ax=ax)
    assert_array_equal(np.sort(display.queries), np.arange(60))
    of_a, of_b = (ndcg_by_query(scores, 10)[display.queries] for scores in SCORES)
    # sums of the same ten numbers
    assert_allclose(display.values_a, of_a, rtol=1e-12)
    assert_allclose(display.values_b, of_b, rtol=1e-12)
    differences = of_b - of_a
    assert_allclose(display.differences, differences, rtol=1e-9, atol=1e-12)
    assert (np.diff(display.differences) >= 0).all()
    assert display.n_won == sum(differences > 1e-12) > 0
    assert display.n_lost == sum(differences < -1e-12) > 0
    assert display.n_tied == sum(abs(differences) <= 1e-12) > 0
    assert_allclose(display.mean_difference, differences.mean(), rtol=1e-12)
    t = display.mean_difference / display.standard_error
    assert_allclose(t, stats.ttest_rel(of_b, of_a).statistic, rtol=1e-9)
    # without the queries that the metric skips
    skipping = compare(metric=NDCG(5, no_relevant="skip"), ax=ax)
    assert_array_equal(np.sort(skipping.queries), RELEVANT)
    of_a = ndcg_by_query(SCORES[0], 5)[skipping.queries]
    assert_allclose(skipping.values_a, of_a, rtol=1e-12)
    # weights change the mean and not the counts
    weights = (np.arange(60) % 3).astype(float)
    weighted = compare(sample_weight=weights[GROUPS], ax=ax)
    assert_array_equal(weighted.differences, display.differences)
    assert (weighted.n_won, weighted.n_lost) == (display.n_won, display.n_lost)
    d, w = weighted.differences, weights[weighted.queries] / weights.sum()
    mean, n = sum(w * d), np.count_nonzero(w)
    error = np.sqrt(n / (n - 1) * sum(w**2 * (d - mean) ** 2))
    assert_allclose(weighted.mean_difference, mean, rtol=1e-12)
    assert_allclose(weighted.standard_error, error, rtol=1e-12)


def test_weights_and_values_of_any_size_give_the_same_mean_and_error():
    values, weights = np.array([[0.5, 0.25, 0.0], [1.0, 0.25, 0.75]]), [1.0, 3.0, 2.0]
    expected = QueryComparisonDisplay(*values, weights=weights)
    for e in (-1074, 1022):
        scaled = np.ldexp(weights, e)
        found = QueryComparisonDisplay(*values, weights=scaled)
        assert found.mean_difference == expected.mean_difference
        assert found.standard_error == expected.standard_error
        found = QueryComparisonDisplay(*np.ldexp(values, e), weights=weights)
        assert_allclose(found.mean_difference, np.ldexp(expected.mean_difference, e))
    assert found.standard_error == np.ldexp(expected.standard_error, e)


def test_values_that_differ_by_rounding_are_tied():
    display = QueryComparisonDisplay([0.3, 0.5], [0.1 + 0.2, 0.5 + 1e-9])
    assert (display.n_won, display.n_lost, display.n_tied) == (1, 0, 1)
    assert display.differences[0] == 0


@pytest.mark.parametrize(
    "names", [["how", "what", "why"], [("a", 1), ("b", 0), ("b", 2)]]
)
def test_queries_are_labelled_with_the_values_of_groups(ax, names):
    better, worse_on_the_first = [1, 0, 1, 0, 1, 0], [0, 1, 1, 0, 1, 0]
    display = QueryComparisonDisplay.from_predictions(
        better, better, worse_on_the_first, groups=np.repeat(
            np.array([*names, None], dtype=object)[:-1], 2
        ).tolist(), ax=ax,
    )  # fmt: skip
    assert display.queries.tolist() == names
    assert display.differences[0] < 0 == display.differences[1]


def test_two_fitted_rankers_are_compared(ax, data, mart, ranknet):
    X, y, groups = data.test.values()
    display = QueryComparisonDisplay.from_estimators(
        ranknet, mart, X, y, groups=groups, metric="map", ax=ax
    )
    assert display.names == ("RankNetRanker", "LambdaMARTRanker")
    index = np.searchsorted(np.unique(groups), display.queries)
    for ranker, values in ((ranknet, display.values_a), (mart, display.values_b)):
        expected = MAP().per_query(y, ranker.predict(X), groups=groups)
        assert_array_equal(values, expected[index])
    assert ax.get_title().startswith("LambdaMARTRanker − RankNetRanker\n")
    assert ax.get_ylabel() == "difference in MAP"
    assert_text_is_readable(display.figure_)
    display = QueryComparisonDisplay.from_estimators(
        mart, mart, X, y, groups=groups, ax=ax
    )
    assert display.names == ("LambdaMARTRanker a", "LambdaMARTRanker b")
    assert display.n_tied == len(display.queries) == 20
    assert display.mean_difference == display.standard_error == 0


# --- the plot ---------------------------------------------------------------------


@pytest.mark.parametrize("n", [5, 200])
def test_bars_extend_from_zero_to_the_differences(ax, n):
    values = np.random.default_rng(0).integers(-3, 4, n) / 10
    display = QueryComparisonDisplay(np.zeros(n), values).plot(ax)
    colors = display.bars_.get_facecolors()
    for i, (path, difference) in enumerate(
        zip(display.bars_.get_paths(), np.sort(values), strict=True)
    ):
        x, y = path.vertices.T
        assert set(y) == {0, difference}
        assert_allclose((x.min() + x.max()) / 2, i + 1)
        assert 0.8 <= np.ptp(x).round(9) <= 1
        if difference:
            expected = BETTER if difference > 0 else WORSE
            assert_array_equal(colors[i, :3], to_rgb(expected))
    low, high = ax.get_ylim()
    assert low < values.min() and values.max() < high
    mean = display.mean_line_.get_ydata()
    assert_allclose(mean, [values.mean()] * 2, atol=1e-15)


@pytest.mark.parametrize(
    "differences", [[-0.2, 0.1, 0.5], [-0.5, 0.1, 0.2], [-0.3, -0.2, -0.1]]
)
def test_the_legend_covers_no_bars(differences):
    display = QueryComparisonDisplay(np.zeros(30), np.repeat(differences, 10)).plot()
    display.figure_.draw_without_rendering()
    legend = display.legend_.get_window_extent()
    for path in display.bars_.get_paths():
        assert not legend.overlaps(path.get_extents(display.ax_.transData))


def test_title_legend_and_ticks_have_numbers_and_names(ax):
    names = {"names": ("old", "new"), "queries": ["q1", "q2", "q3", "q4", "q5"]}
    display = QueryComparisonDisplay(A, B, metric_name="NDCG@10", **names).plot(ax)
    d = np.subtract(B, A)
    assert ax.get_title() == (
        f"new − old\nmean {d.mean():+.4f}, standard error {stats.sem(d):.4f}"
    )
    assert ax.get_ylabel() == "difference in NDCG@10"
    assert legend_of(display) == ["2 won", "2 lost", "1 tied", "mean ± standard error"]
    assert labels(ax.xaxis) == ["q5", "q2", "q3", "q4", "q1"]
    # more than forty queries are counted and not named
    display = QueryComparisonDisplay(np.zeros(41), np.arange(41) - 20.0).plot()
    assert display.ax_.get_xlabel() == "41 queries, from greatest loss to greatest gain"
    assert display.bars_.get_paths()[-1].vertices[:, 0].max() == 41.5
    # a single query has no standard error
    display = QueryComparisonDisplay([0.5], [0.75]).plot()
    assert np.isnan(display.standard_error)
    assert display.ax_.get_title() == "b − a\nmean +0.2500"
    assert legend_of(display)[-1] == "mean"


@pytest.mark.parametrize(
    ("a", "b", "queries"),
    [
        (A, B, ["what do $} and ${ mean"] * 4 + ["x" * 90]),
        (np.zeros(40), np.linspace(-1, 1, 40), [f"query {i}" for i in range(40)]),
        (np.zeros(3000), np.random.default_rng(0).normal(size=3000), None),
        (np.zeros(30), np.zeros(30), None),
    ],
    ids=["special characters and long text", "40 names", "3000 queries", "ties"],
)
def test_text_is_readable(a, b, queries):
    display = QueryComparisonDisplay(
        a, b, queries=queries, names=("HistGradientBoosting", "LambdaMARTRanker")
    ).plot()
    assert_text_is_readable(display.figure_)


def test_without_a_query_to_compare_an_error_says_so(ax):
    message = r"map has no query to compare: no_relevant=\"skip\" leaves out"
    with pytest.raises(ValueError, match=message):
        QueryComparisonDisplay.from_predictions(
            [0, 0], [1, 2], [2, 1], groups=[7, 7], metric=MAP(no_relevant="skip"), ax=ax
        )
