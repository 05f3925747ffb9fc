"""Bars are the importances of the columns that they name."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import Bunch

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.metrics import ndcg_score
from sklearn_ltr.plotting import FeatureImportancesDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from tests.plotting.pictures import assert_text_can_be_read  # noqa: E402

SMALL = LambdaMARTRanker(
    n_estimators=3, max_leaf_nodes=4, min_samples_leaf=5, random_state=0, n_jobs=1
)


def shown_names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


class TestNumbers:
    def test_columns_stand_from_the_most_important_to_the_least(self):
        display = FeatureImportancesDisplay([0.1, -0.2, 0.7, 0.1, 0.3])
        assert_array_equal(display.order, [2, 4, 0, 3, 1])
        assert_array_equal(display.feature_names, ["x0", "x1", "x2", "x3", "x4"])

    def test_those_of_a_ranker_are_its_shares_of_the_gain(self, ax, mart):
        display = FeatureImportancesDisplay.from_estimator(mart, ax=ax)
        assert_array_equal(display.importances, mart.feature_importances_)
        assert_allclose(display.importances.sum(), 1, rtol=1e-12)
        widths = [bar.get_width() for bar in display.bars_]
        assert_array_equal(widths, np.sort(mart.feature_importances_)[::-1])
        assert ax.get_xlabel() == "share of the gain of all splits"
        assert ax.get_title() == ""
        best = int(np.argmax(mart.feature_importances_))
        assert shown_names(ax)[0] == f"x{best}"

    def test_those_of_another_model_have_no_such_name(self, ax, data):
        forest = RandomForestRegressor(n_estimators=2, random_state=0)
        forest.fit(data.train.X, data.train.y)
        display = FeatureImportancesDisplay.from_estimator(forest, ax=ax)
        assert_array_equal(display.importances, forest.feature_importances_)
        assert ax.get_xlabel() == "importance"

    def test_permutation_importance_has_means_and_deviations(self, ax, data, mart):
        test = data.test

        def score(ranker, X, y):
            return ndcg_score(y, ranker.predict(X), groups=test.groups, k=5)

        result = permutation_importance(
            mart, test.X, test.y, scoring=score, n_repeats=4, random_state=0
        )
        names = [f"column {i}" for i in range(8)]
        display = FeatureImportancesDisplay.from_importances(
            result, feature_names=names, ax=ax
        )
        means, deviations = result.importances.mean(axis=1), result.importances.std(1)
        order = np.argsort(-means, kind="stable")
        assert_array_equal(display.order, order)
        assert shown_names(ax) == [names[column] for column in order]
        assert_allclose([bar.get_width() for bar in display.bars_], means[order])
        segments = display.bars_.errorbar.lines[2][0].get_segments()
        ends = [segment[:, 0] for segment in segments]
        expected = np.stack([means - deviations, means + deviations], axis=1)[order]
        assert_allclose(ends, expected, rtol=1e-12, atol=1e-15)
        assert "shuffled" in ax.get_xlabel()
        assert_text_can_be_read(display.figure_)


class TestNames:
    def test_names_of_a_data_frame(self, ax, data):
        pandas = pytest.importorskip("pandas")
        names = list("abcdefgh")
        X = pandas.DataFrame(data.train.X, columns=names)
        ranker = clone(SMALL).fit(X, data.train.y, groups=data.train.groups)
        display = FeatureImportancesDisplay.from_estimator(ranker, ax=ax)
        assert_array_equal(display.feature_names, names)
        shown = dict(zip(shown_names(ax), display.bars_, strict=True))
        for name, importance in zip(names, ranker.feature_importances_, strict=True):
            assert shown[name].get_width() == importance

    def test_names_that_the_steps_of_a_pipeline_give(self, ax, data):
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
        search = Bunch(best_estimator_=pipeline)  # what it looks at of a grid search
        for estimator in (pipeline, search):
            display = FeatureImportancesDisplay.from_estimator(estimator, ax=ax)
            expected = ["scaled__d", "scaled__b", "as_is__a"]
            assert_array_equal(display.feature_names, expected)

    def test_names_of_columns_when_a_step_does_not_know_them(self, ax, data):
        pipeline = make_pipeline(FunctionTransformer(), clone(SMALL))
        pipeline.fit(
            data.train.X, data.train.y, lambdamartranker__groups=data.train.groups
        )
        assert not hasattr(pipeline[0], "get_feature_names_out")
        display = FeatureImportancesDisplay.from_estimator(pipeline, ax=ax)
        assert_array_equal(display.feature_names, [f"x{i}" for i in range(8)])

    def test_names_that_are_given_win(self, ax, mart):
        names = [f"n{i}" for i in range(8)]
        display = FeatureImportancesDisplay.from_estimator(
            Pipeline([("only", mart)]), feature_names=names, ax=ax
        )
        assert_array_equal(display.feature_names, names)


class TestPicture:
    @pytest.mark.parametrize(
        ("n_features", "n_bars", "title"),
        [(20, 20, "20 of 30 columns"), (3, 3, "3 of 30 columns"), (None, 30, "")],
    )
    def test_the_most_important_columns_are_shown(self, ax, n_features, n_bars, title):
        importances = np.random.default_rng(0).random(30)
        display = FeatureImportancesDisplay(importances).plot(ax, n_features=n_features)
        widths = [bar.get_width() for bar in display.bars_]
        assert_array_equal(widths, np.sort(importances)[::-1][:n_bars])
        assert ax.get_title() == title
        # the first is on top of the screen
        tops = [bar.get_window_extent().y0 for bar in display.bars_]
        assert tops == sorted(tops, reverse=True)

    @pytest.mark.parametrize(
        ("importances", "names"),
        [
            ([0.3], ["only"]),
            (np.zeros(3), None),
            ([0.2, -0.1], ["from $} to ${", "a name " * 20]),
            (np.linspace(1, 0, 700), None),
        ],
        ids=["one", "no splits", "hard names", "very many"],
    )
    def test_text_can_be_read(self, importances, names):
        display = FeatureImportancesDisplay(importances, feature_names=names)
        display.plot(n_features=None)
        assert_text_can_be_read(display.figure_)
        assert display.figure_.get_figheight() < 62
        assert len(display.bars_) == len(importances)

    def test_a_long_name_keeps_its_head_and_its_tail(self, ax):
        name = "term frequency of the query in the body, normalised by its length"
        display = FeatureImportancesDisplay([1.0], feature_names=[name]).plot(ax)
        (shown,) = shown_names(ax)
        head, tail = shown.split("…")
        assert len(shown) == 32
        assert name.startswith(head) and name.endswith(tail)
        assert len(head) - len(tail) in (0, 1)
        assert display.feature_names[0] == name

    def test_style_reaches_matplotlib(self, ax):
        display = FeatureImportancesDisplay([1, 2], [0.1, 0.2])
        display.plot(ax, bar_kwargs={"color": "red", "height": 0.3})
        for bar in display.bars_:
            assert (bar.get_facecolor()[:3], bar.get_height()) == ((1, 0, 0), 0.3)


class TestErrors:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"importances": []}, r"importances must hold one number for each column"),
            ({"importances": [1, np.nan]}, r"importances must be finite, but column 1"),
            ({"importances": ["a", "b"]}, r"importances must be numeric"),
            ({"standard_deviations": [1]}, r"standard_deviations .* column, 2 in all"),
            ({"standard_deviations": [1, -1]}, r"standard_deviations must be >= 0"),
            ({"feature_names": ["a"]}, r"feature_names .* each of the 2 columns, got"),
            ({"feature_names": "ab"}, r"feature_names must hold"),
        ],
    )
    def test_it_is_named_what_is_wrong(self, change, message):
        with pytest.raises(ValueError, match=message):
            FeatureImportancesDisplay(**{"importances": [1, 2]} | change)

    @pytest.mark.parametrize("n_features", [0, -1, 2.5, "all", True])
    def test_the_number_of_columns_is_one(self, ax, n_features):
        message = "n_features must be an integer >= 1 or None, got"
        with pytest.raises(ValueError, match=message):
            FeatureImportancesDisplay([1, 2]).plot(ax, n_features=n_features)

    def test_networks_have_no_importances_of_their_own(self, ranknet):
        message = (
            "RankNetRanker has no feature_importances_; measure them by "
            "sklearn.inspection.permutation_importance, .* "
            "FeatureImportancesDisplay.from_importances"
        )
        with pytest.raises(TypeError, match=message):
            FeatureImportancesDisplay.from_estimator(ranknet)

    def test_a_ranker_must_be_fitted(self):
        with pytest.raises(NotFittedError, match="not fitted"):
            FeatureImportancesDisplay.from_estimator(SMALL)

    def test_results_of_several_scorers_are_drawn_one_at_a_time(self):
        one = Bunch(importances_mean=[1.0], importances_std=[0.1])
        with pytest.raises(TypeError, match=r"give one of those of \['ndcg', 'map'\]"):
            FeatureImportancesDisplay.from_importances({"ndcg": one, "map": one})
        with pytest.raises(
            TypeError, match="result must be what .* got <class 'list'>"
        ):
            FeatureImportancesDisplay.from_importances([1.0])
