"""Bars, colors and points show the SHAP values that they are labelled with."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.plotting import (
    ShapBeeswarmDisplay,
    ShapHeatmapDisplay,
    ShapValuesDisplay,
)
from sklearn_ltr.plotting._colors import BETTER, WORSE
from tests.plotting.conftest import assert_text_is_readable, labels, widths

ROUNDING = {"rtol": 1e-9, "atol": 1e-12}


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
        f"Document {upper} and document {upper} have the same score",
    ]
    assert_text_is_readable(display.figure_)


def test_a_pair_says_which_document_and_which_query(ax, data, mart):
    X, _, groups = data.test.values()
    lower, upper = np.flatnonzero(groups == groups[30])[
        np.argsort(mart.predict(X[groups == groups[30]]))[[0, -1]]
    ]
    ids = [f"sku$-{row}" for row in range(len(X))]
    given = {"document": upper, "other": lower, "document_names": ids, "ax": ax}
    display = ShapValuesDisplay.from_estimator(mart, X, groups=groups, **given)
    first, second = rf"sku\$-{upper}", rf"sku\$-{lower}"
    title = f"Query {groups[30]}\nWhy is {first} above {second}?\n(its score is higher"
    assert ax.get_title().startswith(title)
    assert ax.get_xlabel() == f"score of {first} minus that of {second}"
    texts = [text.get_text() for text in ax.texts]
    assert ax.get_ylabel() == f"feature = {first},\n{second}"
    # each bar says by its sign what the feature adds
    for width in widths(display):
        assert f"{width:+.3g}" in texts
    assert_text_is_readable(display.figure_)
    del given["other"]
    ids[upper] = "a document with a name that is far too long to be written in a title"
    one = {"document_names": ids, "document": upper, "other": lower}
    display = ShapValuesDisplay.from_estimator(mart, X, **one)
    assert_text_is_readable(display.figure_)
    ids[upper] = f"sku$-{upper}"
    display = ShapValuesDisplay.from_estimator(mart, X, **given)
    assert display.ax_.get_title().startswith(f"Score of {first}: ")
    elsewhere = int(np.argmax(groups != groups[30]))
    with pytest.raises(ValueError, match="document and other are of two queries, "):
        ShapValuesDisplay.from_estimator(
            mart, X, document=upper, other=elsewhere, groups=groups
        )
    for named in ({"document_names": ids}, {"groups": groups}):
        with pytest.raises(ValueError, match="document"):
            ShapValuesDisplay.from_estimator(mart, X, document=len(X), **named)
    for names in (ids[:-1], "sku"):
        with pytest.raises(ValueError, match="document_names must hold one name for"):
            ShapValuesDisplay.from_estimator(mart, X, document_names=names)


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


# --- SHAP values of many documents ------------------------------------------------


def places(display):
    """Return where the points are: x and the distance from the middle of their row."""
    return [
        points.get_offsets().data - [0, row]
        for row, points in enumerate(display.points_)
    ]


def test_points_are_at_the_values_of_the_most_important_features(ax, data, mart):
    X = data.test["X"]
    display = ShapBeeswarmDisplay.from_estimator(mart, X, ax=ax, n_features=3)
    values = shap_values(mart, X).values
    order = np.argsort(-np.abs(values).mean(axis=0), kind="stable")
    assert_array_equal(display.order, order)
    assert len(display.points_) == 3
    for feature, place, points in zip(
        order, places(display), display.points_, strict=False
    ):
        assert_allclose(place[:, 0], values[:, feature])
        assert (np.abs(place[:, 1]) < 0.4 + 1e-9).all()
        ranks = np.argsort(np.argsort(X[:, feature])) / (len(X) - 1)  # all differ
        assert_allclose(points.get_array(), ranks)
    assert labels(ax.yaxis) == [f"x{feature}" for feature in order[:3]]
    assert ax.yaxis_inverted()  # the most important feature is above
    assert ax.get_title() == "3 of 8 features"
    assert labels(display.colorbar_.ax.yaxis) == ["low", "high"]
    r, _, b, _ = display.points_[0].to_rgba(1.0)
    assert r > b  # red is high
    assert_text_is_readable(display.figure_)


def test_points_of_about_the_same_value_are_beside_each_other(ax):
    values = np.array([[0.0], [0.001], [0.0], [1.0], [0.002], [0.0]])
    display = ShapBeeswarmDisplay(values).plot(ax)
    (place,) = places(display)
    together = place[[0, 1, 2, 4, 5], 1]
    assert_allclose(np.sort(together), [-0.16, -0.08, 0, 0.08, 0.16])
    assert place[3, 1] == 0
    many = ShapBeeswarmDisplay(np.zeros((1001, 1))).plot(ax)
    assert_allclose(np.sort(places(many)[0][:, 1]), np.linspace(-0.4, 0.4, 1001))


def test_places_and_colors_do_not_depend_on_the_order_of_the_documents(ax):
    rng = np.random.default_rng(0)
    values, given = rng.normal(size=(2, 200, 3))
    rows = rng.permutation(200)
    one = ShapBeeswarmDisplay(values, given).plot(ax)
    other = ShapBeeswarmDisplay(values[rows], given[rows]).plot(ax)
    for a, b in zip(one.points_, other.points_, strict=True):
        assert_array_equal(a.get_offsets()[rows], b.get_offsets())
        assert_array_equal(a.get_array()[rows], b.get_array())


def test_colors_are_ranks_and_what_is_no_number_is_gray(ax):
    given = np.array([[1e9, 7, "b"], [None, 7, "a"], [-1, 7, "c"], [0.5, 7, "a"]], "O")
    display = ShapBeeswarmDisplay(np.zeros((4, 3)), given).plot(ax)
    numbers, constant, text = (points.get_array() for points in display.points_)
    assert_array_equal(np.ma.filled(numbers, np.nan), [1, np.nan, 0, 0.5])
    assert_array_equal(constant, [0.5] * 4)
    assert np.isnan(np.ma.filled(text, np.nan)).all()
    colors = display.points_[2].to_rgba(np.ma.masked_invalid([np.nan]))
    assert_allclose(colors, [[0.6, 0.6, 0.6, 1]])
    assert ShapBeeswarmDisplay([[1, 2]]).plot(ax).colorbar_ is None


def test_frames_and_sparse_tables_are_drawn_as_arrays(ax, data, mart):
    pandas = pytest.importorskip("pandas")
    X = np.where(np.abs(data.test["X"]) < 1, 0, data.test["X"])
    frame = pandas.DataFrame(X, columns=list("abcdefgh"))
    named = LambdaMARTRanker(n_estimators=3, random_state=0).fit(
        frame, data.test["y"], groups=data.test["groups"]
    )
    plain = ShapBeeswarmDisplay.from_estimator(mart, X, ax=ax)
    sparse = ShapBeeswarmDisplay.from_estimator(mart, csr_matrix(X), ax=ax)
    for a, b in zip(plain.points_, sparse.points_, strict=True):
        assert_array_equal(a.get_array(), b.get_array())
        assert_array_equal(a.get_offsets(), b.get_offsets())
    display = ShapBeeswarmDisplay.from_estimator(named, frame)
    assert set(labels(display.ax_.yaxis)) == set("abcdefgh")


@pytest.mark.parametrize("shape", [(1, 1), (300, 40)])
def test_a_beeswarm_is_readable(shape):
    values, given = np.random.default_rng(0).normal(size=(2, *shape))
    names = [f"a long name of feature {i}, with $" for i in range(shape[1])]
    display = ShapBeeswarmDisplay(values, given, feature_names=names)
    assert_text_is_readable(display.plot().figure_)
    assert len(display.plot(n_features=None).points_) == shape[1]
