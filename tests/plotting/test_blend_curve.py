"""The plot of all blends shows the curve of `best_blend`."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from sklearn_ltr.ensemble import best_blend
from sklearn_ltr.metrics import MAP
from sklearn_ltr.plotting import BlendCurveDisplay
from tests.plotting.conftest import assert_text_is_readable, legend_of


def test_the_plot_shows_the_curve_of_the_best_blend(ax):
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(40), rng.integers(1, 13, 40)))
    y = rng.choice([0, 0, 0, 1, 2], len(groups))
    scores = y + rng.normal(0, 2, (2, len(y)))
    options = {"groups": groups, "sample_weight": np.where(groups % 3 == 0, 4.0, 1.0)}
    display = BlendCurveDisplay.from_predictions(
        y, *scores, metric=MAP(5), names=("trees", "$network"), ax=ax, **options
    )
    curve = best_blend(*scores, y, metric="map@5", **options)
    steps = display.line_.get_data()
    assert len(curve.values) > 50  # many steps
    assert_array_equal(steps.values, curve.values)
    assert_array_equal(steps.edges, [0, *curve.change_points, 1])
    assert set(display.best_line_.get_xdata()) == {curve.alpha}
    assert ax.get_ylabel() == "MAP@5"
    assert ax.get_xlabel() == r"alpha (0: \$network alone, 1: trees alone)"
    assert ax.get_xlim() == (0, 1)
    assert legend_of(display) == [f"alpha = {curve.alpha:.3g}"]
    assert_text_is_readable(display.figure_)
    display = BlendCurveDisplay([], [0.5]).plot()
    assert display.best_line_ is display.legend_ is display.ax_.get_legend() is None
