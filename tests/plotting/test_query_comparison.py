"""Gains and losses by query are differences of the metric, query by query."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.plotting import QueryComparisonDisplay
from tests.oracles import metrics as oracle

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib.colors import to_rgb  # noqa: E402

from tests.plotting.pictures import assert_text_can_be_read  # noqa: E402

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
    def test_queries_stand_from_greatest_loss_to_greatest_gain(self):
        display = QueryComparisonDisplay(A, B, queries=QUERIES)
        assert display.queries.tolist() == ["q5", "q2", "q3", "q4", "q1"]
        assert_allclose(display.differences, [-1.0, -0.1, 0.0, 0.1, 0.4], rtol=1e-12)
        assert_array_equal(display.values_a, [1.0, 0.9, 0.5, 0.4, 0.2])
        assert_array_equal(display.values_b, [0.0, 0.8, 0.5, 0.5, 0.6])
        assert (display.n_won, display.n_lost, display.n_tied) == (2, 2, 1)

    def test_mean_and_standard_error_are_those_of_a_paired_t_test(self, ax, rows):
        y, a, b, groups = rows
        display = QueryComparisonDisplay.from_predictions(y, a, b, groups=groups, ax=ax)
        test = stats.ttest_rel(display.values_b, display.values_a)
        t = display.mean_difference / display.standard_error
        assert_allclose(t, test.statistic, rtol=1e-12)
        assert_allclose(
            display.mean_difference,
            np.mean(display.values_b) - np.mean(display.values_a),
            rtol=1e-12,
        )

    def test_values_are_those_of_the_definition(self, ax, rows):
        y, a, b, groups = rows
        display = QueryComparisonDisplay.from_predictions(y, a, b, groups=groups, ax=ax)
        of_a, of_b = ndcg_by_query(y, a, groups), ndcg_by_query(y, b, groups)
        assert_array_equal(np.sort(display.queries), np.arange(60))
        expected_a = [of_a[q] for q in display.queries]
        expected_b = [of_b[q] for q in display.queries]
        # sums of the same ten numbers
        assert_allclose(display.values_a, expected_a, rtol=1e-12)
        assert_allclose(display.values_b, expected_b, rtol=1e-12)
        differences = np.subtract(expected_b, expected_a)
        assert_allclose(display.differences, differences, rtol=1e-9, atol=1e-12)
        assert (np.diff(display.differences) >= 0).all()
        assert display.n_won == sum(differences > 1e-12)
        assert display.n_lost == sum(differences < -1e-12)
        assert display.n_tied == sum(abs(differences) <= 1e-12)
        assert min(display.n_won, display.n_lost, display.n_tied) > 0

    def test_rounding_makes_no_winner(self):
        display = QueryComparisonDisplay([0.3, 0.5], [0.1 + 0.2, 0.5 + 1e-9])
        assert (display.n_won, display.n_lost, display.n_tied) == (1, 0, 1)
        assert display.differences[0] == 0

    def test_swapped_rankers_have_the_opposite_differences(self, ax, rows):
        y, a, b, groups = rows
        one = QueryComparisonDisplay.from_predictions(y, a, b, groups=groups, ax=ax)
        other = QueryComparisonDisplay.from_predictions(y, b, a, groups=groups, ax=ax)
        assert_array_equal(one.differences, -other.differences[::-1])
        assert (one.n_won, one.n_lost) == (other.n_lost, other.n_won)
        # sums of the same numbers in another order
        assert_allclose(one.mean_difference, -other.mean_difference, rtol=1e-12)
        assert_allclose(one.standard_error, other.standard_error, rtol=1e-12)

    def test_the_order_of_rows_changes_nothing(self, ax, rows):
        shuffled = np.random.default_rng(1).permutation(len(rows[0]))
        displays = [
            QueryComparisonDisplay.from_predictions(y, a, b, groups=groups, ax=ax)
            for y, a, b, groups in (rows, [column[shuffled] for column in rows])
        ]
        for name in ("queries", "differences", "values_a", "values_b"):
            assert_array_equal(*(getattr(display, name) for display in displays))
        assert displays[0].standard_error == displays[1].standard_error

    def test_skipped_queries_are_not_compared(self, ax, rows):
        y, a, b, groups = rows
        display = QueryComparisonDisplay.from_predictions(
            y, a, b, groups=groups, metric=NDCG(5, no_relevant="skip"), ax=ax
        )
        relevant = [q for q in range(60) if y[groups == q].any()]
        assert 0 < len(relevant) < 60
        assert_array_equal(np.sort(display.queries), relevant)
        of_a = ndcg_by_query(y, a, groups, 5)
        assert_allclose(display.values_a, [of_a[q] for q in display.queries])

    def test_weights_weigh_the_mean_and_not_the_counts(self, ax, rows):
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
        # queries with equal differences may stand in any order
        of_query = dict(zip(display.queries, display.differences, strict=True))
        d = np.array([of_query[q] for q in range(60)])
        w = weights / weights.sum()
        mean = (w * d).sum()
        n = np.count_nonzero(w)
        error = np.sqrt(n / (n - 1) * (w**2 * (d - mean) ** 2).sum())
        assert_allclose(display.mean_difference, mean, rtol=1e-12)
        assert_allclose(display.standard_error, error, rtol=1e-12)

    @pytest.mark.parametrize(
        "labels",
        [["how", "what", "why"], [("a", 1), ("b", 0), ("b", 2)], [3.5, -1.0, 2.0]],
        ids=["text", "tuples", "numbers"],
    )
    def test_queries_have_the_values_of_groups(self, ax, labels):
        y, a = [1, 0] * 3, [1, 0] * 3
        b = [0, 1, 1, 0, 1, 0]  # worse on the first query
        groups = [label for label in labels for _ in range(2)]
        display = QueryComparisonDisplay.from_predictions(y, a, b, groups=groups, ax=ax)
        assert display.queries[0] == labels[0]
        assert sorted(display.queries.tolist()) == sorted(labels)
        assert display.differences[0] < 0 == display.differences[1]

    def test_two_fitted_rankers(self, ax, data, mart, ranknet):
        test = data.test
        display = QueryComparisonDisplay.from_estimators(
            ranknet, mart, test.X, test.y, groups=test.groups, metric="map", ax=ax
        )
        assert display.names == ("RankNetRanker", "LambdaMARTRanker")
        for ranker, values in ((ranknet, display.values_a), (mart, display.values_b)):
            expected = MAP().per_query(
                test.y, ranker.predict(test.X), groups=test.groups
            )
            place = np.searchsorted(np.unique(test.groups), display.queries)
            assert_array_equal(values, expected[place])
        assert ax.get_title().startswith("LambdaMARTRanker − RankNetRanker\n")
        assert ax.get_ylabel() == "difference in MAP"
        assert_text_can_be_read(display.figure_)

    def test_two_rankers_of_one_class_are_told_apart(self, ax, data, mart):
        test = data.test
        display = QueryComparisonDisplay.from_estimators(
            mart, mart, test.X, test.y, groups=test.groups, ax=ax
        )
        assert display.names == ("LambdaMARTRanker a", "LambdaMARTRanker b")
        assert display.n_tied == len(display.queries) == 30
        assert display.mean_difference == display.standard_error == 0


class TestPicture:
    @pytest.mark.parametrize("n", [5, 200])
    def test_bars_reach_from_zero_to_the_differences(self, ax, n):
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

    @pytest.mark.parametrize(
        ("differences", "corner"),
        [
            ([-0.2, 0.1, 0.5], "upper left"),
            ([-0.5, 0.1, 0.2], "lower right"),
            ([-0.3, -0.2, -0.1], "lower right"),
        ],
    )
    def test_the_legend_stands_where_no_bars_are(self, ax, differences, corner):
        display = QueryComparisonDisplay([0.5] * 30, np.repeat(differences, 10) + 0.5)
        display.plot(ax)
        ax.figure.draw_without_rendering()
        legend = display.legend_.get_window_extent()
        for path in display.bars_.get_paths():
            box = path.get_extents(ax.transData)
            assert not legend.overlaps(box), corner

    def test_it_says_who_won_and_by_how_much(self, ax):
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

    def test_many_queries_are_counted_and_not_named(self, ax):
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
            ([0.5], [0.5], None),
            (np.zeros(40), np.linspace(-1, 1, 40), [f"query {i}" for i in range(40)]),
            (np.zeros(3000), np.random.default_rng(0).normal(size=3000), None),
            (np.zeros(30), np.zeros(30), None),
        ],
        ids=["long text", "one query", "as many as have names", "many", "all tied"],
    )
    def test_text_can_be_read(self, a, b, queries):
        display = QueryComparisonDisplay(
            a, b, queries=queries, names=("HistGradientBoosting", "LambdaMARTRanker")
        ).plot()
        assert_text_can_be_read(display.figure_)

    def test_style_reaches_matplotlib(self, ax):
        display = QueryComparisonDisplay(A, B).plot(ax, bar_kwargs={"alpha": 0.5})
        assert display.bars_.get_alpha() == 0.5


class TestErrors:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"metric": "ncdg"}, r"unknown metric 'ncdg'. Did you mean 'ndcg'"),
            ({"groups": [1, 1]}, r"groups has 2 values for 3 rows"),
            ({"groups": None}, r"groups is None"),
            (
                {"y_score_a": [1, 2]},
                r"y_score_a must hold one number for each of the 3",
            ),
            ({"y_score_b": [1, 2, np.inf]}, r"y_score_b must be finite"),
            ({"y_true": [1, -1, 0]}, r"y_true must hold .* grades >= 0, but row 1"),
            ({"y_true": 1}, r"groups has 3 values for 1 rows"),
            ({"sample_weight": [1, 2, 1]}, r"sample_weight weighs whole queries"),
            ({"names": ("a", "a")}, r"names must be two names that differ, got \('a'"),
            ({"names": "ab"}, r"names must be two names"),
            ({"names": ("a",)}, r"names must be two names"),
            (
                {"metric": MAP(no_relevant="skip"), "y_true": [0, 0, 0]},
                r"map has no query to compare: no_relevant=\"skip\" left out",
            ),
        ],
    )
    def test_it_is_named_what_is_wrong(self, ax, change, message):
        given = {
            "y_true": [1, 0, 0],
            "y_score_a": [1, 2, 3],
            "y_score_b": [3, 2, 1],
            "groups": [7, 7, 8],
            "ax": ax,
        }
        with pytest.raises(ValueError, match=message):
            QueryComparisonDisplay.from_predictions(**given | change)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"values_a": []}, r"values_a must hold one number for each query, got"),
            ({"values_a": [[1, 2]]}, r"values_a must hold one number for each query"),
            ({"values_b": [1]}, r"values_b .* each query, 2 in all, got shape \(1,\)"),
            (
                {"values_b": [1, np.nan]},
                r"values_b must be finite, but query 1 has nan",
            ),
            ({"values_b": ["x", "y"]}, r"values_b must be numeric"),
            ({"weights": [1]}, r"weights must hold"),
            ({"weights": [1, -1]}, r"weights must be >= 0"),
            ({"weights": [0, 0]}, r"weights must be >= 0, and one of them above"),
            ({"queries": ["a"]}, r"queries has 1 names for 2 queries"),
        ],
    )
    def test_there_is_a_value_for_each_query(self, change, message):
        given = {"values_a": [0.5, 0.6], "values_b": [0.5, 0.7]}
        with pytest.raises(ValueError, match=message):
            QueryComparisonDisplay(**given | change)

    def test_a_metric_is_a_name_or_an_object(self, ax):
        with pytest.raises(TypeError, match="metric must be a name"):
            QueryComparisonDisplay.from_predictions(
                [1], [1], [1], groups=[1], metric=None, ax=ax
            )
