"""Bars and colors show the features that they are labelled with."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.metrics import ndcg_score
from sklearn_ltr.plotting import (
    FeatureImportancesDisplay,
    ShapHeatmapDisplay,
    ShapValuesDisplay,
)
from tests.plotting.layout import assert_text_is_readable

ROUNDING = {"rtol": 1e-9, "atol": 1e-12}
SMALL = LambdaMARTRanker(
    n_estimators=3, max_leaf_nodes=4, min_samples_leaf=5, random_state=0, n_jobs=1
)


def labels(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


class TestImportancesNumbers:
    def test_features_are_sorted_by_importance_and_then_by_index(self):
        display = FeatureImportancesDisplay([0.1, -0.2, 0.7, 0.1, 0.3])
        assert_array_equal(display.order, [2, 4, 0, 3, 1])
        assert_array_equal(display.feature_names, ["x0", "x1", "x2", "x3", "x4"])

    def test_the_importances_of_a_ranker_are_its_fractions_of_the_gain(self, ax, mart):
        display = FeatureImportancesDisplay.from_estimator(mart, ax=ax)
        importances = mart.feature_importances_
        assert_allclose(importances.sum(), 1, rtol=1e-12)
        widths = [bar.get_width() for bar in display.bars_]
        assert_array_equal(widths, np.sort(importances)[::-1])
        assert labels(ax.yaxis)[0] == f"x{np.argmax(importances)}"
        assert ax.get_xlabel() == "fraction of the gain of all splits"
        assert ax.get_title() == ""

    def test_permutation_importances_have_error_bars(self, ax, data, mart):
        test = data.test

        def score(ranker, X, y):
            return ndcg_score(y, ranker.predict(X), groups=test.groups, k=5)

        result = permutation_importance(
            mart, test.X, test.y, scoring=score, n_repeats=4, random_state=0
        )
        names = [f"feature {i}" for i in range(8)]
        display = FeatureImportancesDisplay.from_importances(
            result, feature_names=names, ax=ax
        )
        means, deviations = result.importances.mean(axis=1), result.importances.std(1)
        order = np.argsort(-means, kind="stable")
        assert_array_equal(display.order, order)
        assert labels(ax.yaxis) == [names[feature] for feature in order]
        assert_allclose([bar.get_width() for bar in display.bars_], means[order])
        segments = display.bars_.errorbar.lines[2][0].get_segments()
        ends = [segment[:, 0] for segment in segments]
        expected = np.stack([means - deviations, means + deviations], axis=1)[order]
        assert_allclose(ends, expected, rtol=1e-12, atol=1e-15)
        assert "shuffled" in ax.get_xlabel()
        assert_text_is_readable(display.figure_)


class TestImportancesNames:
    def test_names_come_through_pipelines_and_searches(self, ax, data):
        pandas = pytest.importorskip("pandas")
        X = pandas.DataFrame(data.train.X, columns=list("abcdefgh"))
        selected = ColumnTransformer(
            [("scaled", StandardScaler(), ["d", "b"]), ("as_is", "passthrough", ["a"])]
        )
        inner = make_pipeline(StandardScaler(), clone(SMALL))
        pipeline = make_pipeline(selected, inner)
        pipeline[0].fit(X)
        inner.fit(
            pipeline[0].transform(X),
            data.train.y,
            lambdamartranker__groups=data.train.groups,
        )
        search = Bunch(best_estimator_=pipeline)
        for estimator in (pipeline, search):
            display = FeatureImportancesDisplay.from_estimator(estimator, ax=ax)
            expected = ["scaled__d", "scaled__b", "as_is__a"]
            assert_array_equal(display.feature_names, expected)


class TestImportancesPlot:
    def test_only_the_most_important_features_are_shown(self, ax):
        importances = np.random.default_rng(0).random(30)
        display = FeatureImportancesDisplay(importances)
        options = {20: {}, 3: {"n_features": 3}, 30: {"n_features": None}}
        for n_bars, chosen in options.items():
            display.plot(ax, **chosen)
            widths = [bar.get_width() for bar in display.bars_]
            assert_array_equal(widths, np.sort(importances)[::-1][:n_bars])
            title = f"{n_bars} of 30 features" if n_bars < 30 else ""
            assert ax.get_title() == title
            tops = [bar.get_window_extent().y1 for bar in display.bars_]
            assert tops == sorted(tops, reverse=True)
            ax.clear()

    @pytest.mark.parametrize(
        ("importances", "names"),
        [
            (np.zeros(3), None),
            ([0.2, -0.1], ["from $} to ${", "a name " * 20]),
            (np.linspace(1, 0, 300), None),
        ],
        ids=["no splits", "special characters and a long name", "300 features"],
    )
    def test_text_is_readable(self, importances, names):
        display = FeatureImportancesDisplay(importances, feature_names=names)
        display.plot(n_features=None)
        assert_text_is_readable(display.figure_)
        assert display.figure_.get_figheight() < 62
        assert len(display.bars_) == len(importances)

    def test_a_long_name_is_shortened_in_the_middle(self, ax):
        name = "term frequency of the query in the body, normalised by its length"
        display = FeatureImportancesDisplay([1.0], feature_names=[name]).plot(ax)
        (shown,) = labels(ax.yaxis)
        head, tail = shown.split("…")
        assert len(shown) == 32
        assert name.startswith(head) and name.endswith(tail)
        assert len(head) - len(tail) in (0, 1)
        assert display.feature_names[0] == name


class TestImportancesErrors:
    def test_the_number_of_features_is_a_positive_integer_or_none(self, ax):
        for n_features in (0, -1, 2.5, "all", True):
            message = "n_features must be an integer >= 1 or None, got"
            with pytest.raises(ValueError, match=message):
                FeatureImportancesDisplay([1, 2]).plot(ax, n_features=n_features)

    def test_a_network_has_no_importances_of_its_own(self, ranknet):
        message = (
            "RankNetRanker has no feature_importances_; call "
            "sklearn.inspection.permutation_importance, .* "
            "FeatureImportancesDisplay.from_importances"
        )
        with pytest.raises(TypeError, match=message):
            FeatureImportancesDisplay.from_estimator(ranknet)

    def test_results_other_than_of_one_scorer_are_refused(self):
        one = Bunch(importances_mean=[1.0], importances_std=[0.1])
        message = r"give the result of one of \['ndcg', 'map'\]"
        with pytest.raises(TypeError, match=message):
            FeatureImportancesDisplay.from_importances({"ndcg": one, "map": one})
        message = "result must be what .* got <class 'list'>"
        with pytest.raises(TypeError, match=message):
            FeatureImportancesDisplay.from_importances([1.0])


class TestShapValues:
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

    @pytest.mark.parametrize("n_features", [1, 3, 210])
    def test_text_is_readable(self, n_features):
        values = np.random.default_rng(0).normal(size=n_features)
        names = [f"a feature with the long name {i} of it" for i in range(n_features)]
        display = ShapValuesDisplay(
            values, feature_names=names, feature_values=1e9 * values, score_name="s"
        )
        assert_text_is_readable(display.plot().figure_)
        assert len(display.plot(n_features=None).bars_) == min(201, n_features)

    def test_documents_out_of_range_are_refused(self, ax, data, mart):
        n = len(data.test.X)
        for rows in ({"document": n}, {"document": 0, "other": n}):
            with pytest.raises(ValueError, match=f"is row {n}, but X has {n} rows"):
                ShapValuesDisplay.from_estimator(mart, data.test.X, ax=ax, **rows)
        with pytest.raises(ValueError, match="n_features must be an integer >= 1"):
            ShapValuesDisplay([1, 2]).plot(ax, n_features=0)


class TestShapHeatmap:
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
