"""Points of a beeswarm are at the SHAP values, in the colors of the features."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.plotting import ShapBeeswarmDisplay
from tests.plotting.conftest import assert_text_is_readable, labels


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
