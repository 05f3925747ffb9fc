"""The curve of a metric against its cutoff is the metric at each cutoff."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr.metrics import MAP, NDCG, Metric, Recall
from sklearn_ltr.plotting import CutoffCurveDisplay
from tests.oracles import metrics as oracle

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from tests.plotting.pictures import assert_text_can_be_read  # noqa: E402

ORACLES = {
    "ndcg": oracle.ndcg,
    "recall": oracle.recall,
    "precision": oracle.precision,
    "mrr": oracle.reciprocal_rank,
}
K = [1, 2, 3, 5, 8]


def values_of_queries(value, y, scores, groups, k):
    """Value of each query by the definition, in the order of the sorted groups."""
    values = []
    for group in np.unique(groups):
        s, g = scores[groups == group].tolist(), y[groups == group].tolist()
        ranked = [g[i] for i in oracle.ranked_against_the_model(s, g)]
        values.append(value(ranked, k))
    return np.array(values)


@pytest.fixture(scope="module")
def rows():
    """Forty queries of 1 to 12 documents, interleaved, some with nothing relevant."""
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(40), rng.integers(1, 13, 40)))
    y = rng.choice([0, 0, 0, 1, 2], len(groups))
    return (
        y,
        {"noisy": y + rng.normal(size=len(y)), "random": rng.random(len(y))},
        groups,
    )


class TestNumbers:
    @pytest.mark.parametrize("metric", ORACLES)
    def test_means_and_standard_errors_are_those_of_the_definition(
        self, ax, rows, metric
    ):
        y, scores, groups = rows
        display = CutoffCurveDisplay.from_predictions(
            y, scores, groups=groups, metric=metric, k=K, ax=ax
        )
        assert list(display.means) == ["noisy", "random"]
        for name in scores:
            for i, k in enumerate(K):
                values = values_of_queries(ORACLES[metric], y, scores[name], groups, k)
                # sums of forty numbers, in another order
                assert_allclose(display.means[name][i], values.mean(), rtol=1e-12)
                error = values.std(ddof=1) / np.sqrt(40)
                assert_allclose(display.standard_errors[name][i], error, rtol=1e-12)

    def test_lines_and_bands_are_drawn_where_the_numbers_are(self, ax, rows):
        y, scores, groups = rows
        display = CutoffCurveDisplay.from_predictions(
            y, scores, groups=groups, k=K, ax=ax
        )
        for name, line, band in zip(
            scores, display.lines_, display.bands_, strict=True
        ):
            mean, error = display.means[name], display.standard_errors[name]
            assert_array_equal(line.get_xdata(), K)
            assert_array_equal(line.get_ydata(), mean)
            corners = band.get_paths()[0].vertices
            for k, low, high in zip(K, mean - error, mean + error, strict=True):
                at_k = corners[corners[:, 0] == k, 1]
                assert_allclose([at_k.min(), at_k.max()], [low, high], rtol=1e-12)
            assert_array_equal(
                band.get_facecolor()[0, :3], matplotlib.colors.to_rgb(line.get_color())
            )

    def test_weights_weigh_whole_queries(self, ax, rows):
        y, scores, groups = rows
        weights = (np.arange(40) % 4).astype(float)  # every fourth query: 0
        display = CutoffCurveDisplay.from_predictions(
            y, scores, groups=groups, k=K, sample_weight=weights[groups], ax=ax
        )
        values = values_of_queries(oracle.ndcg, y, scores["noisy"], groups, 5)
        mean = sum(w * x for w, x in zip(weights, values, strict=True)) / weights.sum()
        n = np.count_nonzero(weights)
        squares = sum(
            w**2 * (x - mean) ** 2 for w, x in zip(weights, values, strict=True)
        )
        error = np.sqrt(n / (n - 1) * squares) / weights.sum()
        assert_allclose(display.means["noisy"][3], mean, rtol=1e-12)
        assert_allclose(display.standard_errors["noisy"][3], error, rtol=1e-12)

    def test_equal_weights_change_nothing(self, ax, rows):
        y, scores, groups = rows
        one, other = (
            CutoffCurveDisplay.from_predictions(
                y, scores, groups=groups, k=K, sample_weight=weight, ax=ax
            )
            for weight in (None, np.full(len(y), 3.0))
        )
        for name in scores:
            assert_allclose(one.means[name], other.means[name], rtol=1e-12)
            assert_allclose(
                one.standard_errors[name], other.standard_errors[name], rtol=1e-12
            )

    def test_skipped_queries_are_not_counted(self, ax, rows):
        y, scores, groups = rows
        metric = NDCG(no_relevant="skip")
        display = CutoffCurveDisplay.from_predictions(
            y, scores["noisy"], groups=groups, metric=metric, k=K, ax=ax
        )
        values = values_of_queries(oracle.ndcg, y, scores["noisy"], groups, 5)
        has_relevant = np.array([y[groups == q].any() for q in range(40)])
        assert not has_relevant.all()
        values = values[has_relevant]
        assert_allclose(display.means["Ranker"][3], values.mean(), rtol=1e-12)
        assert_allclose(
            display.standard_errors["Ranker"][3],
            values.std(ddof=1) / np.sqrt(len(values)),
            rtol=1e-12,
        )

    def test_a_single_query_has_no_standard_error(self, ax):
        display = CutoffCurveDisplay.from_predictions(
            [0, 1, 2], [3, 2, 1], groups=[7, 7, 7], k=[1, 2], ax=ax
        )
        assert_array_equal(display.standard_errors["Ranker"], [np.nan, np.nan])
        assert display.bands_ == []
        assert ax.get_ylabel() == "NDCG@k (mean)"

    def test_options_of_a_metric_object_hold_at_every_cutoff(self, ax, rows):
        y, scores, groups = rows
        display = CutoffCurveDisplay.from_predictions(
            y, scores["noisy"], groups=groups, metric=NDCG(gain="linear"), k=K, ax=ax
        )
        linear = [
            values_of_queries(
                lambda ranked, k: oracle.ndcg(ranked, k, gain=oracle.linear),
                y,
                scores["noisy"],
                groups,
                k,
            ).mean()
            for k in K
        ]
        assert_allclose(display.means["Ranker"], linear, rtol=1e-12)

    def test_a_metric_of_ones_own(self, ax, rows):
        class ShareOfGrades(Metric):
            def value(self, ranked_grades):
                return ranked_grades[: self.k].sum() / ranked_grades.sum()

        y, scores, groups = rows
        display = CutoffCurveDisplay.from_predictions(
            y, scores["noisy"], groups=groups, metric=ShareOfGrades(), k=[1, 12], ax=ax
        )
        first, all_of_it = display.means["Ranker"]
        assert 0 < first < all_of_it
        relevant = [y[groups == q].any() for q in range(40)]
        assert_allclose(all_of_it, np.mean(relevant), rtol=1e-12)
        assert ax.get_ylabel() == "ShareOfGrades@k (mean ± standard error)"

    def test_fitted_rankers_under_their_names(self, ax, data, mart, ranknet):
        test = data.test
        pipeline = make_pipeline(StandardScaler(), LinearRegression())
        pipeline.fit(data.train.X, data.train.y)
        rankers = {"trees": mart, "network": ranknet, "squares": pipeline}
        display = CutoffCurveDisplay.from_estimator(
            rankers, test.X, test.y, groups=test.groups, metric=MAP(), k=K, ax=ax
        )
        for name, ranker in rankers.items():
            expected = [
                MAP(k)(test.y, ranker.predict(test.X), groups=test.groups) for k in K
            ]
            assert_allclose(display.means[name], expected, rtol=1e-12)
        texts = [text.get_text() for text in display.legend_.get_texts()]
        assert texts == ["trees", "network", "squares"]
        assert_text_can_be_read(display.figure_)

    def test_the_default_looks_at_ndcg_from_1_to_20(self, ax, rows):
        y, scores, groups = rows
        display = CutoffCurveDisplay.from_predictions(
            y, scores["noisy"], groups=groups, ax=ax
        )
        assert_array_equal(display.k, np.arange(1, 21))
        whole = values_of_queries(oracle.ndcg, y, scores["noisy"], groups, None)
        assert_allclose(display.means["Ranker"][-1], whole.mean(), rtol=1e-12)


class TestPicture:
    def test_another_display_adds_its_curve_in_another_colour(self, rows, data, mart):
        test = data.test
        one = CutoffCurveDisplay.from_estimator(
            mart, test.X, test.y, groups=test.groups, k=K
        )
        other = CutoffCurveDisplay.from_predictions(
            test.y, test.X[:, 0], groups=test.groups, k=K, name="one column", ax=one.ax_
        )
        assert other.ax_ is one.ax_
        assert len(one.ax_.get_lines()) == 2
        texts = [text.get_text() for text in other.legend_.get_texts()]
        assert texts == ["LambdaMARTRanker", "one column"]
        assert one.lines_[0].get_color() != other.lines_[0].get_color()
        assert_text_can_be_read(one.figure_)

    def test_without_a_band(self, ax, rows):
        y, scores, groups = rows
        display = CutoffCurveDisplay.from_predictions(
            y, scores, groups=groups, ax=ax, band=False, metric=Recall()
        )
        assert display.bands_ == []
        assert not ax.collections
        assert ax.get_ylabel() == "Recall@k (mean)"

    def test_without_standard_errors_there_is_no_band(self, ax):
        display = CutoffCurveDisplay(k=[1, 2], means={"a": [0.1, 0.2]}).plot(ax)
        assert display.bands_ == [] and display.standard_errors is None

    @pytest.mark.parametrize(
        ("k", "scale", "ticks"),
        [
            (range(1, 21), "linear", [1, 5, 10, 15, 20]),
            (range(1, 11), "linear", range(1, 11)),
            ([1, 3, 5, 10], "linear", range(1, 11)),
            (range(4, 31), "linear", [4, 10, 15, 20, 25, 30]),
            (range(9, 110), "linear", [9, 50, 100]),
            ([1, 2, 7], "linear", range(1, 8)),
            ([1, 2, 8], "log", [1, 2, 8]),
            ([7], "linear", [7]),
            ([1, 3, 5, 10, 20, 50, 100], "log", [1, 3, 5, 10, 20, 50, 100]),
            ([1, 2, 3, 8, 9, 10, 1000], "log", [1, 2, 8, 1000]),
        ],
    )
    def test_cutoffs_far_apart_are_on_a_logarithmic_scale(self, k, scale, ticks):
        k = list(k)
        display = CutoffCurveDisplay(k=k, means={"a": np.linspace(0, 1, len(k))})
        display.plot()
        assert display.ax_.get_xscale() == scale
        assert_array_equal(display.ax_.get_xticks(), list(ticks))
        assert_text_can_be_read(display.figure_)

    def test_style_reaches_matplotlib_by_its_short_names_too(self, ax, rows):
        y, scores, groups = rows
        display = CutoffCurveDisplay.from_predictions(
            y,
            scores,
            groups=groups,
            ax=ax,
            curve_kwargs=[{"c": "red", "ls": ":"}, {"color": "black", "marker": "s"}],
            band_kwargs={"alpha": 0.5},
        )
        one, other = display.lines_
        assert (one.get_color(), one.get_linestyle()) == ("red", ":")
        assert (other.get_color(), other.get_marker()) == ("black", "s")
        assert {band.get_alpha() for band in display.bands_} == {0.5}
        display.plot(ax, curve_kwargs={"lw": 4})
        assert {line.get_linewidth() for line in display.lines_} == {4}


class TestErrors:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"metric": "ndcg@10"}, r"metric 'ndcg@10' has a cutoff, .* give 'ndcg'"),
            ({"metric": MAP(3)}, r"metric 'map@3' has a cutoff"),
            ({"metric": "ncdg"}, r"unknown metric 'ncdg'. Did you mean 'ndcg'"),
            ({"k": 10}, r"k must hold .* such as range\(1, 21\), got 10"),
            ({"k": []}, r"k must hold the cutoffs"),
            ({"k": [0, 1]}, r"k must hold .* integers >= 1 that rise, .* got \[0, 1\]"),
            ({"k": [1, 3, 2]}, r"k must hold"),
            ({"k": np.array([3, 2], dtype=np.uint64)}, r"k must hold"),
            ({"k": [1, 1]}, r"k must hold"),
            ({"k": [1.5]}, r"k must hold"),
            ({"k": [True]}, r"k must hold"),
            ({"k": [[1, 2]]}, r"k must hold"),
            ({"groups": [1, 1]}, r"groups has 2 values for 3 rows"),
            ({"groups": None}, r"groups is None"),
            ({"y_score": [1, 2]}, r"y_score must hold one number for each of the 3"),
            ({"y_score": {"m": [1, 2, np.inf]}}, r"y_score\['m'\] must be finite"),
            ({"y_score": {}}, r"y_score is an empty dict"),
            (
                {"y_score": {"m": [1, 2, 3]}, "name": "n"},
                r"name='n' was given, but the",
            ),
            ({"y_true": [1, -1, 0]}, r"y_true must hold .* grades >= 0, but row 1"),
            ({"sample_weight": [1, 2, 1]}, r"sample_weight weighs whole queries"),
            (
                {"metric": NDCG(no_relevant="skip"), "y_true": [0, 0, 0]},
                r"no query to average",
            ),
            ({"curve_kwargs": [{}, {}]}, r"curve_kwargs must .* a list of 1, .* got 2"),
        ],
    )
    def test_it_is_named_what_is_wrong(self, ax, change, message):
        given = {
            "y_true": [1, 0, 0],
            "y_score": [1, 2, 3],
            "groups": [7, 7, 8],
            "ax": ax,
        }
        with pytest.raises(ValueError, match=message):
            CutoffCurveDisplay.from_predictions(**given | change)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"means": {}}, r"means must be a dict"),
            ({"means": [0.5, 0.6]}, r"means must be a dict"),
            ({"means": {"a": [0.5]}}, r"means\['a'\] .* each cutoff, 2 in all, got"),
            ({"means": {"a": [0.5, np.nan]}}, r"means\['a'\] must be finite, .* 1 has"),
            ({"means": {"a": ["x", "y"]}}, r"means\['a'\] must be numeric"),
            ({"standard_errors": {"b": [0, 0]}}, r"has the names \['b'\], but means"),
            ({"standard_errors": {"a": [0]}}, r"standard_errors\['a'\] must hold"),
        ],
    )
    def test_curves_have_a_number_for_each_cutoff(self, change, message):
        given = {"k": [1, 2], "means": {"a": [0.5, 0.6]}}
        with pytest.raises(ValueError, match=message):
            CutoffCurveDisplay(**given | change)

    def test_a_metric_is_a_name_or_an_object(self):
        with pytest.raises(TypeError, match="metric must be a name"):
            CutoffCurveDisplay.from_predictions([1], [1], groups=[1], metric=None)

    def test_an_estimator_and_a_name_for_several(self, data, mart):
        test = data.test
        with pytest.raises(
            ValueError, match="keys of the dict estimator are the names"
        ):
            CutoffCurveDisplay.from_estimator(
                {"a": mart}, test.X, test.y, groups=test.groups, name="b"
            )
