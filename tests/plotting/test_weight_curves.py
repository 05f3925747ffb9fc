"""The curves are the mean metric as a function of one weight."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import RankNetRanker
from sklearn_ltr.inspection import weight_curves
from sklearn_ltr.plotting import WeightCurvesDisplay
from tests.plotting.layout import assert_text_is_readable

SMALL = {
    "moved": [[0, 1, 2], [-1, 0, 1], [4, 5, 6]],
    "values": [[0.5, 0.6, 0.5], [0.2, 0.6, 0.7], [0.6, 0.6, 0.6]],
    "learned": [1, 0, 5],
    "value": 0.6,
}


def labels(display):
    return [text.get_text() for text in display.legend_.get_texts()]


def test_the_numbers_are_those_of_weight_curves(ax, data, lambdarank):
    test = data.test
    options = {
        "groups": test.groups,
        "metric": "map",
        "weights": [3, 50, 85],
        "sample_weight": 1.0 + test.groups,
    }
    display = WeightCurvesDisplay.from_estimator(
        lambdarank, test.X, test.y, moves=[1, -1, 0, 1], ax=ax, **options
    )
    curves = weight_curves(lambdarank, test.X, test.y, moves=[-1, 0, 1], **options)
    assert_array_equal(display.moved, curves.moved)
    assert_array_equal(display.values, curves.values)
    assert_array_equal(display.learned, curves.learned)
    assert display.names.tolist() == curves.names
    assert display.value == curves.value
    assert ax.get_ylabel() == "mean MAP"


def test_lines_are_the_curves_in_the_order_of_their_range(ax):
    display = WeightCurvesDisplay(**SMALL).plot(ax, curve_kwargs={"lw": 5})
    assert_array_equal(display.order, [1, 0, 2])
    for line, curve in zip(display.lines_, display.order, strict=True):
        assert_array_equal(line.get_xdata(), [-1, 0, 1])
        assert_array_equal(line.get_ydata(), SMALL["values"][curve])
        assert line.get_linewidth() == 5
    assert set(display.learned_line_.get_xdata()) == {0}
    assert set(display.value_line_.get_ydata()) == {0.6}
    assert labels(display) == ["w1", "w0", "w2"]


def test_curves_without_a_name_are_gray_and_behind(ax):
    display = WeightCurvesDisplay(**SMALL, names=["a$", "b", "c"]).plot(ax, n_named=1)
    assert labels(display) == ["b", "2 others"]
    named, *others = display.lines_
    for line in others:
        assert line.get_color() == "0.75" != to_hex(named.get_color())
        assert line.get_zorder() < named.get_zorder()
    assert labels(display.plot(ax.figure.add_subplot(), n_named=0)) == ["3 others"]


def test_features_of_a_pipeline_are_named(ax, data):
    pandas = pytest.importorskip("pandas")
    train = data.train
    X = pandas.DataFrame(train.X, columns=[f"$col {i}$" for i in range(8)])
    ranker = RankNetRanker(hidden_layer_sizes=(), max_iter=2, random_state=0)
    pipeline = make_pipeline(StandardScaler(), ranker)
    pipeline.fit(X, train.y, ranknetranker__groups=train.groups)
    display = WeightCurvesDisplay.from_estimator(
        pipeline, X, train.y, groups=train.groups, ax=ax
    )
    assert display.names.tolist() == list(X.columns)
    widest = int(np.argmax(np.ptp(display.values, axis=1)))
    assert labels(display)[0] == rf"\$col {widest}\$"
    assert labels(display)[-1] == "2 others"
    assert ax.get_ylabel() == "mean NDCG@10"
    assert_text_is_readable(display.figure_)
