"""The bars are the differences of a metric between two rankers, query by query."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.plotting import QueryComparisonDisplay
from tests.oracles import metrics as oracle
from tests.plotting.layout import assert_text_is_readable

A = [0.2, 0.9, 0.5, 0.4, 1.0]
B = [0.6, 0.8, 0.5, 0.5, 0.0]
QUERIES = ["q1", "q2", "q3", "q4", "q5"]


def ndcg_by_query(y, scores, groups, k=10):
    values = {}
    for group in set(groups.tolist()):
        s, g = scores[groups == group].tolist(), y[groups == group].tolist()
        ranked = [g[i] for i in oracle.ranked_against_the_model(s, g)]
        values[group] = oracle.ndcg(ranked, k)
    return values


@pytest.fixture(scope="module")
def rows():
    """Sixty queries of 1 to 12 documents, interleaved, some with nothing relevant."""
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(60), rng.integers(1, 13, 60)))
    y = rng.choice([0, 0, 0, 1, 2], len(groups))
    return y, rng.random(len(y)), y + rng.normal(size=len(y)), groups


class TestNumbers:
    def test_queries_are_sorted_by_their_difference(self):
        display = QueryComparisonDisplay(A, B, queries=QUERIES)
        assert display.queries.tolist() == ["q5", "q2", "q3", "q4", "q1"]
        assert_allclose(display.differences, [-1.0, -0.1, 0.0, 0.1, 0.4], rtol=1e-12)
        assert_array_equal(display.values_a, [1.0, 0.9, 0.5, 0.4, 0.2])
        assert_array_equal(display.values_b, [0.0, 0.8, 0.5, 0.5, 0.6])
        assert (display.n_won, display.n_lost, display.n_tied) == (2, 2, 1)

    def test_mean_and_standard_error_are_those_of_a_paired_t_test(self):
        display = QueryComparisonDisplay(A, B)
        assert_allclose(display.mean_difference, np.mean(B) - np.mean(A), rtol=1e-12)
        t = display.mean_difference / display.standard_error
        assert_allclose(t, stats.ttest_rel(B, A).statistic, rtol=1e-12)

    def test_values_are_those_of_the_definition(self, ax, rows):
        y, a, b, groups = rows
        display = QueryComparisonDisplay.from_predictions(y, a, b, groups=groups, ax=ax)
        of_a, of_b = ndcg_by_query(y, a, groups), ndcg_by_query(y, b, groups)
        assert_array_equal(np.sort(display.queries), np.arange(60))
        # sums of the same ten numbers
        expected_a = [of_a[q] for q in display.queries]
        expected_b = [of_b[q] for q in display.queries]
        assert_allclose(display.values_a, expected_a, rtol=1e-12)
        assert_allclose(display.values_b, expected_b, rtol=1e-12)
        differences = np.subtract(expected_b, expected_a)
        assert_allclose(display.differences, differences, rtol=1e-9, atol=1e-12)
        assert display.n_won == sum(differences > 1e-12) > 0
        assert display.n_lost == sum(differences < -1e-12) > 0
        assert display.n_tied == sum(abs(differences) <= 1e-12) > 0

    def test_values_that_differ_by_rounding_are_tied(self):
        display = QueryComparisonDisplay([0.3, 0.5], [0.1 + 0.2, 0.5 + 1e-9])
        assert (display.n_won, display.n_lost, display.n_tied) == (1, 0, 1)
        assert display.differences[0] == 0

    def test_queries_that_the_metric_skips_are_left_out(self, ax, rows):
        y, a, b, groups = rows
        display = QueryComparisonDisplay.from_predictions(
            y, a, b, groups=groups, metric=NDCG(5, no_relevant="skip"), ax=ax
        )
        relevant = [q for q in range(60) if y[groups == q].any()]
        assert 0 < len(relevant) < 60
        assert_array_equal(np.sort(display.queries), relevant)
        of_a = ndcg_by_query(y, a, groups, 5)
        assert_allclose(display.values_a, [of_a[q] for q in display.queries])

    def test_weights_change_the_mean_and_not_the_counts(self, ax, rows):
        y, a, b, groups = rows
        weights = (np.arange(60) % 3).astype(float)
        display, unweighted = (
            QueryComparisonDisplay.from_predictions(
                y, a, b, groups=groups, sample_weight=weight, ax=ax
            )
            for weight in (weights[groups], None)
        )
        assert_array_equal(display.differences, unweighted.differences)
        assert (display.n_won, display.n_lost) == (unweighted.n_won, unweighted.n_lost)
        d, w = display.differences, weights[display.queries] / weights.sum()
        mean, n = sum(w * d), np.count_nonzero(w)
        error = np.sqrt(n / (n - 1) * sum(w**2 * (d - mean) ** 2))
        assert_allclose(display.mean_difference, mean, rtol=1e-12)
        assert_allclose(display.standard_error, error, rtol=1e-12)

    def test_queries_are_labelled_with_the_values_of_groups(self, ax):
        y, a = [1, 0] * 3, [1, 0] * 3
        b = [0, 1, 1, 0, 1, 0]  # worse on the first query
        for labels in (["how", "what", "why"], [("a", 1), ("b", 0), ("b", 2)]):
            groups = [label for label in labels for _ in range(2)]
            display = QueryComparisonDisplay.from_predictions(
                y, a, b, groups=groups, ax=ax
            )
            assert display.queries.tolist() == labels
            assert display.differences[0] < 0 == display.differences[1]

    def test_two_fitted_rankers_are_compared(self, ax, data, mart, ranknet):
        test = data.test
        display = QueryComparisonDisplay.from_estimators(
            ranknet, mart, test.X, test.y, groups=test.groups, metric="map", ax=ax
        )
        assert display.names == ("RankNetRanker", "LambdaMARTRanker")
        for ranker, values in ((ranknet, display.values_a), (mart, display.values_b)):
            scores = ranker.predict(test.X)
            expected = MAP().per_query(test.y, scores, groups=test.groups)
            index = np.searchsorted(np.unique(test.groups), display.queries)
            assert_array_equal(values, expected[index])
        assert ax.get_title().startswith("LambdaMARTRanker − RankNetRanker\n")
        assert ax.get_ylabel() == "difference in MAP"
        assert_text_is_readable(display.figure_)

    def test_two_rankers_of_one_class_are_named_a_and_b(self, ax, data, mart):
        test = data.test
        display = QueryComparisonDisplay.from_estimators(
            mart, mart, test.X, test.y, groups=test.groups, ax=ax
        )
        assert display.names == ("LambdaMARTRanker a", "LambdaMARTRanker b")
        assert display.n_tied == len(display.queries) == 30
        assert display.mean_difference == display.standard_error == 0


class TestPlot:
    @pytest.mark.parametrize("n", [5, 200])
    def test_bars_extend_from_zero_to_the_differences(self, ax, n):
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
                expected = "tab:blue" if difference > 0 else "tab:red"
                assert_array_equal(colors[i, :3], to_rgb(expected))
        low, high = ax.get_ylim()
        assert low < values.min() and values.max() < high
        mean = display.mean_line_.get_ydata()
        assert_allclose(mean, [values.mean()] * 2, atol=1e-15)

    def test_the_legend_covers_no_bars(self):
        for differences in ([-0.2, 0.1, 0.5], [-0.5, 0.1, 0.2], [-0.3, -0.2, -0.1]):
            values = np.repeat(differences, 10)
            display = QueryComparisonDisplay(np.zeros(30), values).plot()
            display.figure_.draw_without_rendering()
            legend = display.legend_.get_window_extent()
            for path in display.bars_.get_paths():
                assert not legend.overlaps(path.get_extents(display.ax_.transData))

    def test_title_and_legend_have_the_numbers(self, ax):
        display = QueryComparisonDisplay(
            A, B, queries=QUERIES, names=("old", "new"), metric_name="NDCG@10"
        ).plot(ax)
        d = np.subtract(B, A)
        assert ax.get_title() == (
            f"new − old\nmean {d.mean():+.4f}, standard error {stats.sem(d):.4f}"
        )
        assert ax.get_ylabel() == "difference in NDCG@10"
        texts = [text.get_text() for text in display.legend_.get_texts()]
        assert texts == ["2 won", "2 lost", "1 tied", "mean ± standard error"]
        labels = [label.get_text() for label in ax.get_xticklabels()]
        assert labels == ["q5", "q2", "q3", "q4", "q1"]

    def test_more_than_forty_queries_are_counted_and_not_named(self, ax):
        display = QueryComparisonDisplay(np.zeros(41), np.arange(41) - 20.0).plot(ax)
        assert ax.get_xlabel() == "41 queries, from greatest loss to greatest gain"
        assert display.bars_.get_paths()[-1].vertices[:, 0].max() == 41.5

    def test_a_single_query_has_no_standard_error(self, ax):
        display = QueryComparisonDisplay([0.5], [0.75]).plot(ax)
        assert np.isnan(display.standard_error)
        assert ax.get_title() == "b − a\nmean +0.2500"
        assert display.legend_.get_texts()[-1].get_text() == "mean"

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
    def test_text_is_readable(self, a, b, queries):
        display = QueryComparisonDisplay(
            a, b, queries=queries, names=("HistGradientBoosting", "LambdaMARTRanker")
        ).plot()
        assert_text_is_readable(display.figure_)


class TestErrors:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"names": ("a", "a")}, r"names must be two different names, got \('a'"),
            ({"names": "ab"}, r"names must be two different names"),
            (
                {"metric": MAP(no_relevant="skip"), "y_true": [0, 0, 0]},
                r"map has no query to compare: no_relevant=\"skip\" left out",
            ),
        ],
    )
    def test_an_invalid_argument_is_named(self, ax, change, message):
        rows = {
            "y_true": [1, 0, 0],
            "y_score_a": [1, 2, 3],
            "y_score_b": [3, 2, 1],
            "groups": [7, 7, 8],
        }
        with pytest.raises(ValueError, match=message):
            QueryComparisonDisplay.from_predictions(**rows | {"ax": ax} | change)
