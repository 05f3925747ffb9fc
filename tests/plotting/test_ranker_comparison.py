"""The intervals of a comparison, in the colors of what they say."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgb
from numpy.testing import assert_array_equal

from sklearn_ltr.model_selection import compare_rankers
from sklearn_ltr.plotting import RankerComparisonDisplay
from sklearn_ltr.plotting._colors import BETTER, EQUAL, WORSE
from tests.plotting.conftest import labels


def test_the_pairs_of_a_comparison_are_drawn_in_their_order(ax):
    rng = np.random.default_rng(0)
    groups, y = np.repeat(np.arange(100), 6), rng.integers(0, 3, 600)
    noise = rng.normal(size=(3, 600))
    scores = {"old": y + noise[0], "new": y + noise[1], "random": noise[2]}
    comparison = compare_rankers(
        scores, None, y, groups=groups, metric="map", confidence_level=0.9
    )
    display = RankerComparisonDisplay.from_comparison(comparison, ax=ax)
    assert labels(ax.yaxis) == ["new − old", "random − old", "random − new"]
    assert ax.get_xlabel() == "difference in map, 90% interval"
    low, high = ax.get_ylim()
    assert low > high  # the first is on top
    for row, (pair, path) in enumerate(
        zip(comparison.pairs, display.intervals_.get_paths(), strict=True)
    ):
        assert_array_equal(path.vertices, [[pair.low, row], [pair.high, row]])
        x, y_of_dot = display.dots_.get_offsets()[row]
        assert (x, y_of_dot) == (pair.mean_difference, row)


def test_an_interval_above_0_is_teal_below_brown_and_with_0_gray(ax):
    display = RankerComparisonDisplay(
        [0.2, -0.2, 0.1, 0.0], [0.1, -0.3, -0.1, 0.0], [0.3, -0.1, 0.3, 0.0]
    ).plot(ax)
    expected = [to_rgb(c) for c in (BETTER, WORSE, EQUAL, EQUAL)]
    assert_array_equal(display.intervals_.get_colors()[:, :3], expected)
    assert_array_equal(display.dots_.get_facecolors()[:, :3], expected)
