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
from tests.plotting.conftest import assert_text_is_readable, legend_of


def test_the_numbers_are_those_of_weight_curves(ax, data, lambdarank):
    X, y, groups = data.test.values()
    options = {"groups": groups, "metric": "map", "weights": [3, 50, 85]}
    options |= {"sample_weight": 1.0 + groups}
    display = WeightCurvesDisplay.from_estimator(
        lambdarank, X, y, moves=[1, -1, 0, 1], ax=ax, **options
    )
    curves = weight_curves(lambdarank, X, y, moves=[-1, 0, 1], **options)
    for name in ("moved", "values", "learned", "value"):
        assert_array_equal(getattr(display, name), getattr(curves, name))
    assert display.names.tolist() == curves.names
    assert ax.get_ylabel() == "mean MAP"


def test_lines_are_the_curves_in_the_order_of_their_range(ax):
    curves = {
        "moved": [[0, 1, 2], [-1, 0, 1], [4, 5, 6]],
        "values": [[0.5, 0.6, 0.5], [0.2, 0.6, 0.7], [0.6, 0.6, 0.6]],
        "learned": [1, 0, 5],
        "value": 0.6,
    }
    display = WeightCurvesDisplay(**curves).plot(ax, curve_kwargs={"lw": 5})
    assert_array_equal(display.order, [1, 0, 2])
    for line, curve in zip(display.lines_, display.order, strict=True):
        assert_array_equal(line.get_data(), [[-1, 0, 1], curves["values"][curve]])
        assert line.get_linewidth() == 5
    assert set(display.learned_line_.get_xdata()) == {0}
    assert set(display.value_line_.get_ydata()) == {0.6}
    assert legend_of(display) == ["w1", "w0", "w2"]
    # curves without a name are gray and behind
    display = WeightCurvesDisplay(**curves, names=["a$", "b", "c"]).plot(n_named=1)
    assert legend_of(display) == ["b", "2 others"]
    named, *others = display.lines_
    for line in others:
        assert line.get_color() == "0.75" != to_hex(named.get_color())
        assert line.get_zorder() < named.get_zorder()
    assert legend_of(display.plot(n_named=0)) == ["3 others"]


def test_features_of_a_pipeline_are_named(ax, data):
    pandas = pytest.importorskip("pandas")
    X, y, groups = data.train.values()
    X = pandas.DataFrame(X, columns=[f"$col {i}$" for i in range(8)])
    ranker = RankNetRanker(hidden_layer_sizes=(), max_iter=2, random_state=0)
    pipeline = make_pipeline(StandardScaler(), ranker)
    pipeline.fit(X, y, ranknetranker__groups=groups)
    display = WeightCurvesDisplay.from_estimator(pipeline, X, y, groups=groups, ax=ax)
    assert display.names.tolist() == list(X.columns)
    widest = int(np.argmax(np.ptp(display.values, axis=1)))
    assert legend_of(display)[0] == rf"\$col {widest}\$"
    assert legend_of(display)[-1] == "2 others"
    assert ax.get_ylabel() == "mean NDCG@10"
    assert_text_is_readable(display.figure_)
