"""Bars and colors show the features that they are labelled with."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
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
from sklearn_ltr.plotting._colors import BETTER, WORSE
from tests.plotting.conftest import assert_text_is_readable, labels

ROUNDING = {"rtol": 1e-9, "atol": 1e-12}


def widths(display):
    return [bar.get_width() for bar in display.bars_]


# --- importances ------------------------------------------------------------------


def test_the_importances_of_a_ranker_are_its_fractions_of_the_gain(ax, mart):
    display = FeatureImportancesDisplay.from_estimator(mart, ax=ax)
    importances = mart.feature_importances_
    assert_array_equal(widths(display), np.sort(importances)[::-1])
    assert labels(ax.yaxis)[0] == f"x{np.argmax(importances)}"
    assert ax.get_xlabel() == "fraction of the gain of all splits"
    assert ax.get_title() == ""
    # equal ones by index
    display = FeatureImportancesDisplay([0.1, -0.2, 0.7, 0.1, 0.3])
    assert_array_equal(display.order, [2, 4, 0, 3, 1])


def test_permutation_importances_have_error_bars(ax, data, mart):
    X, y, groups = data.test.values()

    def score(ranker, X, y):
        return ndcg_score(y, ranker.predict(X), groups=groups, k=5)

    result = permutation_importance(
        mart, X, y, scoring=score, n_repeats=3, random_state=0
    )
    names = [f"feature {i}" for i in range(8)]
    display = FeatureImportancesDisplay.from_importances(
        result, feature_names=names, ax=ax
    )
    means, deviations = result.importances.mean(axis=1), result.importances.std(1)
    order = np.argsort(-means, kind="stable")
    assert_array_equal(display.order, order)
    assert labels(ax.yaxis) == [names[feature] for feature in order]
    assert_allclose(widths(display), means[order])
    segments = display.bars_.errorbar.lines[2][0].get_segments()
    expected = np.stack([means - deviations, means + deviations], axis=1)[order]
    assert_allclose([s[:, 0] for s in segments], expected, rtol=1e-12, atol=1e-15)
    assert "shuffled" in ax.get_xlabel()
    assert_text_is_readable(display.figure_)


def test_names_come_through_pipelines_and_searches(ax, data):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(data.train["X"], columns=list("abcdefgh"))
    selected = ColumnTransformer(
        [("scaled", StandardScaler(), ["d", "b"]), ("as_is", "passthrough", ["a"])]
    ).fit(X)
    ranker = LambdaMARTRanker(n_estimators=2, random_state=0)
    inner = make_pipeline(StandardScaler(), ranker)
    groups = {"lambdamartranker__groups": data.train["groups"]}
    inner.fit(selected.transform(X), data.train["y"], **groups)
    pipeline = make_pipeline(selected, inner)
    for estimator in (pipeline, Bunch(best_estimator_=pipeline)):
        display = FeatureImportancesDisplay.from_estimator(estimator, ax=ax)
        expected = ["scaled__d", "scaled__b", "as_is__a"]
        assert_array_equal(display.feature_names, expected)


def test_only_the_most_important_features_are_shown(ax):
    importances = np.random.default_rng(0).random(30)
    display = FeatureImportancesDisplay(importances)
    options = {20: {}, 3: {"n_features": 3}, 30: {"n_features": None}}
    for n_bars, chosen in options.items():
        display.plot(ax, **chosen)
        assert_array_equal(widths(display), np.sort(importances)[::-1][:n_bars])
        assert ax.get_title() == (f"{n_bars} of 30 features" if n_bars < 30 else "")
        tops = [bar.get_window_extent().y1 for bar in display.bars_]
        assert tops == sorted(tops, reverse=True)
        ax.clear()


@pytest.mark.parametrize(
    ("importances", "names"),
    [
        (np.zeros(3), None),
        ([0.2, -0.1], ["from $} to ${", "a name " * 20]),
        (np.linspace(1, 0, 250), None),
    ],
    ids=["no splits", "special characters and a long name", "250 features"],
)
def test_importances_are_readable(importances, names):
    display = FeatureImportancesDisplay(importances, feature_names=names)
    display.plot(n_features=None)
    assert_text_is_readable(display.figure_)
    assert display.figure_.get_figheight() < 62  # 1 inch, and 0.24 for each name
    assert len(display.bars_) == len(importances)


def test_a_long_name_is_shortened_in_the_middle(ax):
    name = "term frequency of the query in the body, normalised by its length"
    FeatureImportancesDisplay([1.0], feature_names=[name]).plot(ax)
    (shown,) = labels(ax.yaxis)
    head, tail = shown.split("…")
    assert len(shown) == 32
    assert name.startswith(head) and name.endswith(tail)
    assert len(head) - len(tail) in (0, 1)


def test_what_has_no_importances_is_refused(ax, ranknet):
    for n_features in (0, -1, 2.5, "all", True):
        message = "n_features must be an integer >= 1 or None, got"
        with pytest.raises(ValueError, match=message):
            FeatureImportancesDisplay([1, 2]).plot(ax, n_features=n_features)
    message = (
        "RankNetRanker has no feature_importances_: call sklearn.inspection."
        "permutation_importance, .* FeatureImportancesDisplay.from_importances"
    )
    with pytest.raises(TypeError, match=message):
        FeatureImportancesDisplay.from_estimator(ranknet)
    one = Bunch(importances_mean=[1.0], importances_std=[0.1])
    message = r"give the result of one of \['ndcg', 'map'\]"
    with pytest.raises(TypeError, match=message):
        FeatureImportancesDisplay.from_importances({"ndcg": one, "map": one})
    with pytest.raises(TypeError, match="result must be what .* got <class 'list'>"):
        FeatureImportancesDisplay.from_importances([1.0])


# --- SHAP values of a document or a pair ------------------------------------------


def test_bars_lead_from_the_bias_to_the_score(ax):
    display = ShapValuesDisplay([0.1, 0.7, -0.2, 0.0], bias=0.5).plot(ax)
    assert_array_equal(display.order, [1, 2, 0, 3])
    assert_allclose(widths(display), [0.7, -0.2, 0.1, 0.0])
    starts = [bar.get_x() for bar in display.bars_]
    ends = np.add(starts, widths(display))
    assert_allclose(ends[0], display.score, **ROUNDING)
    assert_allclose(starts[:-1], ends[1:], **ROUNDING)
    assert_allclose(starts[-1], 0.5, **ROUNDING)
    colors = [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in display.bars_]
    assert colors[:3] == [BETTER, WORSE, BETTER]  # raises, lowers, raises the score
    assert ax.get_title() == ""


def test_small_effects_have_one_bar_together(ax):
    display = ShapValuesDisplay([5.0, -4.0, 0.3, -0.1, 0.2]).plot(ax, n_features=2)
    assert_allclose(widths(display), [5.0, -4.0, 0.4], **ROUNDING)
    assert labels(ax.yaxis) == ["x0", "x1", "3 other features"]
    assert len(display.plot(n_features=None).bars_) == 5


def test_a_document_or_a_pair_of_a_ranker(ax, data, mart):
    X = data.test["X"]
    values, scores = shap_values(mart, X).values, mart.predict(X)
    display = ShapValuesDisplay.from_estimator(mart, X, document=-2, ax=ax)
    row = len(X) - 2
    assert_array_equal(display.values, values[row])
    assert_allclose(display.score, scores[row], **ROUNDING)
    first = display.order[0]
    assert labels(ax.yaxis)[0] == f"x{first} = {X[row, first]:.4g}"
    assert ax.get_xlabel() == "score"
    assert ax.get_title().startswith(f"Score of document -2: {scores[row]:.4g}\n")
    assert_text_is_readable(display.figure_)

    display = ShapValuesDisplay.from_estimator(
        mart, csr_matrix(X), document=4, other=1, background=data.train["X"][:20]
    )
    assert display.bias == 0
    assert_allclose(display.score, scores[4] - scores[1], **ROUNDING)
    first = display.order[0]
    expected = f"x{first} = {X[4, first]:.4g}, {X[1, first]:.4g}"
    assert labels(display.ax_.yaxis)[0] == expected
    assert display.ax_.get_xlabel() == "score of document 4 minus that of document 1"
    upper, lower = np.argmax(scores), np.argmin(scores)
    gap = f"{scores[upper] - scores[lower]:.4g}"
    titles = [
        ShapValuesDisplay.from_estimator(mart, X, document=a, other=b).ax_.get_title()
        for a, b in ((upper, lower), (lower, upper), (upper, upper))
    ]
    assert titles == [
        f"Why is document {upper} above document {lower}?\n(its score is higher by "
        f"{gap})",
        f"Why is document {lower} below document {upper}?\n(its score is lower by "
        f"{gap})",
        f"Documents {upper} and {upper} have the same score",
    ]
    assert_text_is_readable(display.figure_)


def test_names_and_text_values_of_a_frame_are_shown(ax):
    pandas = pytest.importorskip("pandas")
    site = np.tile(["news", "a site with a very long name"], 30)
    frame = pandas.DataFrame({"a": np.arange(60.0), "site$": site})
    ranker = LambdaMARTRanker(
        n_estimators=2, min_samples_leaf=2, categorical_features=["site$"]
    )
    ranker.fit(frame, (site == "news").astype(int), groups=np.repeat([1, 2, 3], 20))
    display = ShapValuesDisplay.from_estimator(ranker, frame, document=1, ax=ax)
    assert labels(ax.yaxis)[0] == r"site\$ = a sit…name"
    assert_text_is_readable(display.figure_)


@pytest.mark.parametrize("n_features", [1, 3, 210])
def test_effects_are_readable(n_features):
    values = np.random.default_rng(0).normal(size=n_features)
    names = [f"a feature with the long name {i} of it" for i in range(n_features)]
    display = ShapValuesDisplay(
        values, feature_names=names, feature_values=1e9 * values, score_name="s"
    )
    assert_text_is_readable(display.plot().figure_)
    assert len(display.plot(n_features=None).bars_) == min(201, n_features)


def test_documents_out_of_range_are_refused(ax, data, mart):
    X = data.test["X"]
    for rows in ({"document": len(X)}, {"document": 0, "other": len(X)}):
        with pytest.raises(ValueError, match=f"is row {len(X)}, but X has {len(X)} r"):
            ShapValuesDisplay.from_estimator(mart, X, ax=ax, **rows)
    with pytest.raises(ValueError, match="n_features must be an integer >= 1"):
        ShapValuesDisplay([1, 2]).plot(ax, n_features=0)


# --- SHAP values of a list --------------------------------------------------------


def test_documents_are_ranked_and_features_sorted(ax):
    values = np.array([[0.1, -0.5, 0.0], [0.2, 0.6, 0.1], [0.3, 0.0, 0.0]])
    display = ShapHeatmapDisplay(values).plot(ax)
    assert_array_equal(display.ranking, [1, 2, 0])
    assert_array_equal(display.order, [1, 0, 2])
    shown = values[np.ix_([1, 2, 0], [1, 0, 2])]
    assert_array_equal(display.image_.get_array(), shown)
    assert display.image_.get_clim() == (-0.6, 0.6)
    r, g, b, _ = display.image_.to_rgba(0.6)
    assert r < b < g  # teal is positive
    r, g, b, _ = display.image_.to_rgba(-0.6)
    assert r > g > b  # brown is negative
    assert labels(ax.xaxis) == ["x1", "x0", "x2"]


def test_a_query_of_a_ranker(ax, data, mart):
    X = data.test["X"][data.test["groups"] == data.test["groups"][0]]
    display = ShapHeatmapDisplay.from_estimator(mart, X, ax=ax, n_features=3)
    scores = mart.predict(X)
    assert_allclose(scores[display.ranking], np.sort(scores)[::-1], **ROUNDING)
    assert_array_equal(display.values, shap_values(mart, X).values)
    assert ax.get_title() == "3 of 8 features"
    assert_text_is_readable(display.figure_)


@pytest.mark.parametrize("shape", [(1, 1), (200, 40), (3, 250)])
def test_a_heatmap_is_readable(shape):
    values = np.random.default_rng(0).normal(size=shape)
    names = [f"a long name of feature {i}, with $" for i in range(shape[1])]
    display = ShapHeatmapDisplay(values, feature_names=names).plot()
    assert_text_is_readable(display.figure_)
    ShapHeatmapDisplay(np.zeros(shape)).plot()
