"""Lines are told apart by readers who are color-blind, and without any color."""

from __future__ import annotations

import re
from itertools import combinations, product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from sklearn_ltr import plotting
from sklearn_ltr.plotting import _colors
from tests.plotting.test_convention import new

#: Linear RGB as seen with deuteranopia: Machado, Oliveira and Fernandes, "A
#: Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE
#: Transactions on Visualization and Computer Graphics 15 (2009), severity 1.0.
DEUTERANOPIA = np.array(
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]
)
# of linear sRGB to XYZ, divided by the white point D65
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
) / np.array([[0.95047], [1.0], [1.08883]])
FAR = 15.0  # Delta E of CIELAB (1976); about 2 can just be seen side by side
X = np.linspace(0, 1, 9)


def lab(color, seen=DEUTERANOPIA):
    """CIELAB of a color, as seen."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(seen @ linear, 0, 1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one, other):
    """The smaller distance of two colors, as seen with deuteranopia and without."""
    return min(
        np.linalg.norm(lab(one, seen) - lab(other, seen))
        for seen in (DEUTERANOPIA, np.eye(3))
    )


def curves(n):
    return {f"curve {i}": np.linspace(i, 1, len(X)) for i in range(n)}


#: Displays of `n` lines each; the others have their own.
SEVERAL = {
    "CutoffCurveDisplay": lambda n: {
        "k": range(1, 10), "means": curves(n), "standard_errors": None},
    "ParetoDisplay": lambda n: {
        "x": curves(n), "y": curves(n), "x_errors": None, "point_names": None},
    "PropensityCurveDisplay": lambda n: {
        "propensities": curves(n), "standard_errors": None},
    "TrainingCurveDisplay": lambda n: {
        "curves": {name: {"score": values} for name, values in curves(n).items()}},
    "WeightCurvesDisplay": lambda n: {
        "moved": np.tile(X, (n, 1)), "values": [*curves(n).values()],
        "learned": np.zeros(n)},
}  # fmt: skip


def series(ax):
    """The color, and all else that sets apart, of what the legend of the axes names."""
    found = []
    for handle in ax.get_legend_handles_labels()[0]:
        line = handle.lines[0] if hasattr(handle, "lines") else handle
        if hasattr(line, "get_marker"):
            look = (
                line.get_marker(),
                line.get_linestyle(),
                tuple(line.get_markevery() or ()),
            )
            found.append((line.get_color(), look))
        else:  # dots, bars and steps
            found.append((line.get_facecolor().ravel()[:3], type(line)))
    return found


def test_distances_are_those_of_cielab():
    assert np.allclose(lab("white", np.eye(3)), [100, 0, 0], atol=0.02)
    assert np.allclose(lab("red", np.eye(3)), [53.24, 80.09, 67.20], atol=0.02)
    # what many color-blind people cannot tell apart
    assert distance("tab:orange", "tab:olive") < 8 < 60 < distance("blue", "yellow")
    for gray in ("0", "0.5", "1"):  # looks the same
        assert np.allclose(lab(gray), lab(gray, np.eye(3)), atol=0.1)


def draw(name, n):
    """Draw `n` lines, or the two of the arguments of test_convention for None."""
    more = {"n_named": n} if n and name == "WeightCurvesDisplay" else {}
    return new(name, **SEVERAL[name](n) if n else {}).plot(**more)


@pytest.mark.parametrize(
    ("name", "n"),
    [*((name, None) for name in plotting.__all__), *product(SEVERAL, [15])],
)
def test_no_two_series_look_alike_with_deuteranopia(name, n):
    drawn = series(draw(name, n).ax_)
    assert len(drawn) >= (n or 0)
    for (color, look), (other_color, other_look) in combinations(drawn, 2):
        assert look != other_look or distance(color, other_color) > FAR


@pytest.mark.parametrize("name", SEVERAL)
def test_seven_lines_differ_in_color(name):
    lines = series(draw(name, 7).ax_)[-7:]
    for (color, _), (other, _) in combinations(lines, 2):
        assert distance(color, other) > 2 * FAR


@pytest.mark.parametrize("name", SEVERAL)
def test_three_lines_differ_in_color_and_without_color(name):
    lines = series(draw(name, 3).ax_)[-3:]
    for (color, look), (other_color, other_look) in combinations(lines, 2):
        assert distance(color, other_color) > FAR
        assert look != other_look


@pytest.mark.parametrize("name", [*SEVERAL, "GradeReliabilityDisplay"])
def test_lines_of_another_display_on_the_same_axes_are_others(name):
    one = new(name).plot()
    first = [color for color, _ in series(one.ax_) if color != "black"]
    lines = [color for color, _ in series(new(name).plot(one.ax_).ax_)]
    for color, other in product(first, lines[-len(first) :]):
        assert distance(color, other) > FAR


def test_steps_on_the_same_axes_differ_in_color_and_dashes():
    one = new("BlendCurveDisplay").plot()
    other = new("BlendCurveDisplay").plot(one.ax_)
    steps = one.line_, other.line_
    assert distance(*(line.get_edgecolor() for line in steps)) > FAR
    assert steps[0].get_linestyle() != steps[1].get_linestyle()
    for display in (one, other):
        assert display.best_line_.get_color() == display.line_.get_edgecolor()


def test_colors_with_a_meaning_are_told_apart():
    meanings = [_colors.BETTER, _colors.WORSE, _colors.EQUAL]
    for colors in (meanings, _colors.FORCES, _colors.LINES):
        for one, other in combinations(colors, 2):
            assert distance(one, other) > FAR, (one, other)
    for line in _colors.LINES:
        assert distance(line, "white") > FAR < distance(line, "black")
        assert all(distance(line, color) > FAR / 2 for color in meanings[:2])


def test_a_cycle_of_colors_of_the_user_is_kept():
    with plt.style.context("ggplot"):
        lines = series(new("CutoffCurveDisplay").plot().ax_)
        cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    assert [color for color, _ in lines] == cycle[:2]
    assert lines[0][1] != lines[1][1]


def test_the_reference_shows_every_display_on_one_small_sheet():
    docs = Path(__file__).parents[2] / "docs"
    assert "](images/displays.png)" in (docs / "api.md").read_text("utf-8")
    script = (docs / "draw_displays.py").read_text("utf-8")
    for name in plotting.__all__:
        assert f'draw("{name}"' in re.sub(r"draw\(\s+", "draw(", script)
    sheet = docs / "images" / "displays.png"
    assert sheet.stat().st_size < 400_000
    width, height = plt.imread(sheet).shape[:2]
    assert min(width, height) > 1000
