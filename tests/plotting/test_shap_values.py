"""Bars and colors are the SHAP values of the features that they are labelled with."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.plotting import ShapHeatmapDisplay, ShapValuesDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from tests.plotting.layout import assert_text_is_readable  # noqa: E402

ROUNDING = {"rtol": 1e-9, "atol": 1e-12}


def labels(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


class TestBars:
    def test_bars_lead_from_the_bias_to_the_score(self, ax):
        display = ShapValuesDisplay([0.1, 0.7, -0.2, 0.0], bias=0.5)
        assert_array_equal(display.order, [1, 2, 0, 3])
        display.plot(ax)
        bars = display.bars_
        assert_allclose([bar.get_width() for bar in bars], [0.7, -0.2, 0.1, 0.0])
        starts = [bar.get_x() for bar in bars]
        ends = [bar.get_x() + bar.get_width() for bar in bars]
        assert_allclose(ends[0], display.score, **ROUNDING)
        assert_allclose(starts[:-1], ends[1:], **ROUNDING)
        assert_allclose(starts[-1], 0.5, **ROUNDING)
        colors = [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in bars]
        assert colors[0] == colors[2] != colors[1]
        assert ax.get_title() == "from 0.5 to 1.1"

    def test_small_effects_have_one_bar_together(self, ax):
        values = np.array([5.0, -4.0, 0.3, -0.1, 0.2])
        display = ShapValuesDisplay(values).plot(ax, n_features=2)
        widths = [bar.get_width() for bar in display.bars_]
        assert_allclose(widths, [5.0, -4.0, 0.4], **ROUNDING)
        assert labels(ax.yaxis) == ["x0", "x1", "3 other features"]
        assert len(display.plot(n_features=None).bars_) == 5

    def test_a_document_of_a_ranker(self, ax, data, mart):
        X = data.test.X
        display = ShapValuesDisplay.from_estimator(mart, X, document=-2, ax=ax)
        result, row = shap_values(mart, X), len(X) - 2
        assert_array_equal(display.values, result.values[row])
        assert_allclose(display.score, mart.predict(X)[row], **ROUNDING)
        first = display.order[0]
        assert labels(ax.yaxis)[0] == f"x{first} = {X[row, first]:.4g}"
        assert ax.get_xlabel() == "score"
        assert_text_is_readable(display.figure_)

    def test_a_pair_of_a_ranker(self, ax, data, mart):
        X, scores = data.test.X, mart.predict(data.test.X)
        options = {"background": data.train.X[:20], "ax": ax}
        display = ShapValuesDisplay.from_estimator(
            mart, csr_matrix(X), document=4, other=1, **options
        )
        assert display.bias == 0
        assert_allclose(display.score, scores[4] - scores[1], **ROUNDING)
        first = display.order[0]
        expected = f"x{first} = {X[4, first]:.4g}, {X[1, first]:.4g}"
        assert labels(ax.yaxis)[0] == expected
        assert ax.get_xlabel() == "score of document 4 minus that of document 1"
        assert_text_is_readable(display.figure_)

    def test_names_and_text_values_of_a_frame_are_shown(self, ax):
        pandas = pytest.importorskip("pandas")
        site = np.tile(["news", "a site with a very long name"], 30)
        frame = pandas.DataFrame({"a": np.arange(60.0), "site$": site})
        y = (site == "news").astype(int)
        ranker = LambdaMARTRanker(
            n_estimators=2, min_samples_leaf=2, categorical_features=["site$"]
        )
        ranker.fit(frame, y, groups=np.repeat([1, 2, 3], 20))
        display = ShapValuesDisplay.from_estimator(ranker, frame, document=1, ax=ax)
        assert labels(ax.yaxis)[0] == r"site\$ = a sit…name"
        assert_text_is_readable(display.figure_)

    @pytest.mark.parametrize("n_features", [1, 3, 300])
    def test_text_is_readable(self, n_features):
        values = np.random.default_rng(0).normal(size=n_features)
        names = [f"a feature with the long name {i} of it" for i in range(n_features)]
        display = ShapValuesDisplay(
            values, feature_names=names, feature_values=1e9 * values, score_name="s"
        )
        assert_text_is_readable(display.plot().figure_)
        assert len(display.plot(n_features=None).bars_) == min(201, n_features)

    def test_a_style_can_be_given(self, ax):
        display = ShapValuesDisplay([1, 2]).plot(ax, bar_kwargs={"color": "green"})
        for bar in display.bars_:
            assert matplotlib.colors.to_hex(bar.get_facecolor()) == "#008000"

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"values": []}, "values must hold one number for each feature"),
            ({"values": [1, np.nan]}, "values must be finite, but feature 1"),
            ({"bias": np.inf}, "bias must be finite"),
            ({"feature_names": ["a"]}, "feature_names .* each of the 2 features, got"),
            ({"feature_values": [1]}, "feature_values .* each of the 2 features, for"),
            ({"feature_values": np.ones((3, 2))}, "one or two documents, got shape"),
        ],
    )
    def test_an_invalid_argument_is_named(self, change, message):
        with pytest.raises(ValueError, match=message):
            ShapValuesDisplay(**{"values": [1, 2]} | change)

    def test_documents_out_of_range_are_refused(self, ax, data, mart):
        n = len(data.test.X)
        for rows in ({"document": n}, {"document": 0, "other": n}):
            with pytest.raises(ValueError, match=f"is row {n}, but X has {n} rows"):
                ShapValuesDisplay.from_estimator(mart, data.test.X, ax=ax, **rows)
        with pytest.raises(ValueError, match="n_features must be an integer >= 1"):
            ShapValuesDisplay([1, 2]).plot(ax, n_features=0)


class TestHeatmap:
    def test_documents_are_ranked_and_features_sorted(self, ax):
        values = np.array([[0.1, -0.5, 0.0], [0.2, 0.6, 0.1], [0.3, 0.0, 0.0]])
        display = ShapHeatmapDisplay(values).plot(ax)
        assert_array_equal(display.ranking, [1, 2, 0])
        assert_array_equal(display.order, [1, 0, 2])
        assert_array_equal(
            display.image_.get_array(), values[np.ix_([1, 2, 0], [1, 0, 2])]
        )
        assert display.image_.get_clim() == (-0.6, 0.6)
        assert labels(ax.xaxis) == ["x1", "x0", "x2"]

    def test_a_query_of_a_ranker(self, ax, data, mart):
        X = data.test.X[data.test.groups == data.test.groups[0]]
        display = ShapHeatmapDisplay.from_estimator(mart, X, ax=ax, n_features=3)
        ranks = mart.rank(X)
        assert_array_equal(ranks[display.ranking], np.arange(1, len(X) + 1))
        assert_array_equal(display.values, shap_values(mart, X).values)
        assert ax.get_title() == "3 of 8 features"
        assert_text_is_readable(display.figure_)

    @pytest.mark.parametrize("shape", [(1, 1), (200, 40), (3, 300)])
    def test_text_is_readable(self, shape):
        values = np.random.default_rng(0).normal(size=shape)
        names = [f"a long name of feature {i}, with $" for i in range(shape[1])]
        display = ShapHeatmapDisplay(values, feature_names=names).plot()
        assert_text_is_readable(display.figure_)
        ShapHeatmapDisplay(np.zeros(shape)).plot()

    def test_a_style_can_be_given(self, ax):
        display = ShapHeatmapDisplay([[1, 2]]).plot(ax, image_kwargs={"cmap": "PiYG"})
        assert display.image_.get_cmap().name == "PiYG"

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ([1, 2], r"a row for each document .* got shape \(2,\)"),
            (np.empty((0, 2)), r"a row for each document .* got shape \(0, 2\)"),
            ([[1, 2], [np.nan, 0]], r"values\[1\] must be finite, but feature 0"),
        ],
    )
    def test_invalid_values_are_named(self, values, message):
        with pytest.raises(ValueError, match=message):
            ShapHeatmapDisplay(values)

    def test_names_must_be_as_many_as_features(self):
        with pytest.raises(ValueError, match="feature_names .* each of the 2 features"):
            ShapHeatmapDisplay([[1, 2]], feature_names=["a"])
