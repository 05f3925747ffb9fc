"""The picture of all blends is the curve of the sweep."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_ltr.blending import best_blend
from sklearn_ltr.metrics import MAP
from sklearn_ltr.plotting import BlendCurveDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from tests.plotting.pictures import assert_text_can_be_read  # noqa: E402


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(40), rng.integers(1, 13, 40)))
    y = rng.choice([0, 0, 0, 1, 2], len(groups))
    return y, *(y + rng.normal(0, 2, (2, len(y)))), groups


def test_what_is_drawn_is_the_curve_of_the_best_blend(ax, rows):
    y, one, other, groups = rows
    weights = np.where(groups % 3 == 0, 4.0, 1.0)
    display = BlendCurveDisplay.from_predictions(
        y, one, other, groups=groups, metric=MAP(5), sample_weight=weights, ax=ax
    )
    curve = best_blend(
        one, other, y, groups=groups, metric="map@5", sample_weight=weights
    )
    drawn = display.line_.get_data()
    assert_array_equal(drawn.values, curve.values)
    assert_array_equal(drawn.edges, [0, *curve.change_points, 1])
    assert set(display.best_line_.get_xdata()) == {curve.alpha}
    assert ax.get_ylabel() == "MAP@5"
    assert ax.get_xlim() == (0, 1)
    assert len(curve.values) > 50


def test_the_rankers_are_named_where_they_stand_alone(ax, rows):
    y, one, other, groups = rows
    display = BlendCurveDisplay.from_predictions(
        y, one, other, groups=groups, names=("trees", "$network"), ax=ax
    )
    assert ax.get_xlabel() == r"alpha (0: \$network alone, 1: trees alone)"
    assert display.legend_.get_texts()[0].get_text().startswith("alpha = 0.")
    assert_text_can_be_read(display.figure_)


def test_without_a_blend_to_mark_there_is_no_legend(ax):
    display = BlendCurveDisplay([], [0.5]).plot(ax)
    assert display.best_line_ is None
    assert display.legend_ is None
    assert ax.get_legend() is None


def test_styles_are_the_users(ax):
    display = BlendCurveDisplay([0.5], [0.1, 0.2], alpha=0.75).plot(
        ax, curve_kwargs={"lw": 3}, best_kwargs={"c": "red", "ls": "-"}
    )
    assert display.line_.get_linewidth() == 3
    assert display.best_line_.get_color() == "red"
    assert display.best_line_.get_linestyle() == "-"


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (([0.5], [1.0]), {}, "change_points must rise between 0 and 1"),
        (([0.5, 0.2], [1, 2, 3]), {}, "change_points must rise between 0 and 1"),
        (([0.0], [1, 2]), {}, "change_points must rise between 0 and 1"),
        (([0.5], [1, np.nan]), {}, "values must be finite"),
        (([0.5], [1, 2]), {"alpha": 1.5}, "alpha must be between 0 and 1, got 1.5"),
        (([0.5], [1, 2]), {"names": ("a", "a")}, "names must be two names that diff"),
    ],
)
def test_what_cannot_be_drawn_is_named(arguments, keywords, message):
    with pytest.raises(ValueError, match=message):
        BlendCurveDisplay(*arguments, **keywords)
