"""scikit-learn's Display convention, for all displays."""

from __future__ import annotations

import inspect
import re
import sys
from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from sklearn_ltr import plotting
from sklearn_ltr.export import to_tree_model
from sklearn_ltr.mart import MARTRegressor
from tests.plotting.conftest import assert_text_is_readable

NAN, INF = np.nan, np.inf
TREE = to_tree_model(
    MARTRegressor(n_estimators=1).fit(np.arange(60.0).reshape(-1, 1), np.arange(60))
).trees[0]
#: Good arguments of each display, and what is refused in place of one: the message
#: names it.
DISPLAYS = {
    "BlendCurveDisplay": (
        {"change_points": [0.2, 0.5], "values": [0.6, 0.8, 0.7], "alpha": 0.35},
        [
            ({"values": [1.0]}, "change_points must be increasing between 0 and 1"),
            ({"change_points": [0.5, 0.2]}, "must be increasing"),
            ({"values": [1, NAN, 1]}, "values must be finite"),
            ({"alpha": 1.5}, r"alpha must be in \[0, 1\], got 1.5"),
            ({"names": ("a", "a")}, "names must be two different names"),
        ],
    ),
    "CutoffCurveDisplay": (
        {"k": [1, 2, 3], "metric_name": "NDCG",
         "means": {"a": [0.2, 0.3, 0.5], "b": [0.3, 0.4, 0.5]},
         "standard_errors": {"a": [0.1, 0.1, 0.1], "b": [0.1, 0.1, NAN]}},
        [
            *(
                ({"k": k}, r"k must hold .* such as range\(1, 21\)")
                for k in (10, [], [0, 1], [1, 3, 2], [1, 1], [1.5], [True], [[1, 2]],
                          np.array([3, 2], dtype=np.uint64))
            ),
            ({"means": {}}, "means must be a dict"),
            ({"means": {"a": [0.5]}}, r"means\['a'\] .* each cutoff, 3 in all, got"),
            ({"means": {"a": [0.5, NAN, 1]}}, r"\['a'\] must be finite, .* 1 has"),
            ({"means": {"a": ["x", "y", "z"]}}, r"means\['a'\] must be numeric"),
            ({"standard_errors": {"c": [0, 0, 0]}}, r"the names \['c'\], but means"),
            ({"standard_errors": {"a": [0]}}, r"standard_errors\['a'\] must hold"),
        ],
    ),
    "FeatureImportancesDisplay": (
        {"importances": [0.1, 0.7], "standard_deviations": [0.1, 0.2]},
        [
            ({"importances": []}, "importances must hold one number for each feature"),
            ({"importances": [1, NAN]}, "importances must be finite, but feature 1"),
            ({"standard_deviations": [1]}, "standard_deviations .* feature, 2 in all"),
            ({"standard_deviations": [1, -1]}, "standard_deviations must be >= 0"),
            ({"feature_names": ["a"]}, "feature_names .* each of the 2 features, got"),
        ],
    ),
    "ForcesDisplay": (
        {"y_true": [0, 1, 0], "y_score": [3, 2, 1], "lambdas": {"a": [1.5, -2, 0.5]}},
        [
            *(({"lambdas": no}, "lambdas must be a dict") for no in ([0.5, -0.5], {})),
            ({"lambdas": {"a": [1.0]}}, r"lambdas\['a'\] .* each of the 3 rows"),
            ({"lambdas": {"a": [1.0, INF, 1]}}, r"lambdas\['a'\] must be finite"),
        ],
    ),
    "GradeReliabilityDisplay": (
        {"predicted": [0.1, 0.8, 1.5], "given": [0.2, 0.7, 1.6],
         "standard_errors": [0.1, NAN, 0.1], "weights": [3, 1, 1], "name": "a"},
        [
            ({"predicted": []}, "predicted must hold one number for each bin"),
            ({"given": [1]}, r"given must hold .* bin, 3 in all, got shape \(1,\)"),
            ({"given": [1, INF, 1]}, "given must be finite, but bin 1 has inf"),
            ({"standard_errors": [1]}, "standard_errors must hold .* 3 in all"),
            ({"weights": [0, 0, 0]}, "weights must be >= 0, and at least one > 0"),
            ({"weights": [1, -1, 1]}, "weights must be >= 0"),
            ({"unit": "bin"}, r"unit must be one of \('document', 'query'\)"),
        ],
    ),
    "ParetoDisplay": (
        {"x": {"a": [0.1, 0.3], "b": [0.2]}, "y": {"a": [0.5, 0.2], "b": [0.1]},
         "x_errors": {"a": [0.1, 0.1], "b": [NAN]}, "point_names": {"a": ["1", "2"]}},
        [
            *(({"x": no}, "x must be a dict with an array") for no in ({}, [1, 0.5])),
            ({"x": {"a": [NAN, 1], "b": [0]}}, r"x\['a'\] must be finite"),
            ({"y": {"a": [1, 2]}}, r"y must be a dict of the curves of x, \['a', 'b"),
            ({"y": {"a": [1], "b": [1]}}, r"y\['a'\] .* each point, 2 in all, got"),
            ({"y_errors": 0.1}, "y_errors must be a dict of the curves of x"),
            ({"point_names": {"c": ["1"]}}, r"point_names\['c'\] must hold one name"),
            ({"point_names": {"a": ["1"]}}, r"point_names\['a'\] must hold one name"),
        ],
    ),
    "PropensityCurveDisplay": (
        {"propensities": {"a": [1, 0.5, 0.4], "b": [1, 0.6]},
         "standard_errors": {"a": [0, 0.1, NAN]}, "true_propensities": [1, 0.5]},
        [
            *(
                ({"propensities": no}, "must be a dict of one curve or several")
                for no in ({}, [1, 0.5])
            ),
            ({"propensities": {"a": [1, -0.5, 0]}}, r"\['a'\] must be finite"),
            ({"propensities": {"a": [1, INF, 0]}}, "position 1 has inf"),
            ({"standard_errors": {"c": [1]}}, "but the curves are"),
            ({"standard_errors": {"a": [1]}}, "each of the 3 positions|3 in all"),
            ({"true_propensities": ["x"]}, "true_propensities must be numeric"),
        ],
    ),
    "QueryComparisonDisplay": (
        {"values_a": [0.1, 0.5, 0.3], "values_b": [0.4, 0.1, 0.3]},
        [
            ({"values_a": []}, "values_a must hold one number for each query, got"),
            ({"values_b": [1]}, r"values_b .* query, 3 in all, got shape \(1,\)"),
            ({"weights": [0, 0, 0]}, "weights must be >= 0, and at least one > 0"),
            ({"queries": ["a"]}, "queries has 1 names for 3 queries"),
            ({"names": ("a", "a")}, r"names must be two different names, got \('a'"),
            ({"names": "ab"}, "names must be two different names"),
        ],
    ),
    "RankerComparisonDisplay": (
        {"mean_differences": [0.1, -0.2, 0.0], "low": [0.05, -0.3, -0.1],
         "high": [0.2, -0.1, 0.1]},
        [
            ({"mean_differences": []}, "mean_differences must hold one number for"),
            ({"low": [0]}, r"low must hold .* pair, 3 in all, got shape \(1,\)"),
            ({"high": [1, NAN, 1]}, "high must be finite, but pair 1 has nan"),
            ({"high": [1, -1, 1]}, "must not be above high, but pair 1 has -0.3 and"),
            ({"names": ["a"]}, "names must hold one name for each of the 3 pairs"),
            ({"names": "abc"}, "names must hold one name for each of the 3 pairs"),
            ({"confidence_level": 1}, r"confidence_level must be a number in \(0, 1\)"),
        ],
    ),
    "SearchTraceDisplay": (
        {"scores": [0.4, NAN, 0.5], "elapsed": [1, 2, 4], "blend_score": 0.6},
        [
            ({"scores": []}, "scores must hold one number for each candidate"),
            ({"elapsed": [1]}, r"elapsed must hold .* candidate, 3 in all, got"),
            ({"elapsed": [1, NAN, 4]}, "elapsed must be finite, but candidate 1"),
            ({"elapsed": [2, 1, 4]}, "elapsed must not decrease"),
            ({"blend_score": INF}, "blend_score must be"),
        ],
    ),
    "ShapBeeswarmDisplay": (
        {"values": [[0.1, -0.5], [0.2, 0.6]], "feature_values": [[1, "a"], [2, "b"]]},
        [
            ({"values": [1, 2]}, r"a row for each document .* got shape \(2,\)"),
            ({"values": [[1, 2], [NAN, 0]]}, r"\[1\] must be finite, but feature 0"),
            ({"feature_values": [[1, 2]]}, r"the shape of values, \(2, 2\), got \(1"),
            ({"feature_names": ["a"]}, "feature_names .* each of the 2 features"),
        ],
    ),
    "ShapHeatmapDisplay": (
        {"values": [[0.1, -0.5, 0.0], [0.2, 0.6, 0.1]]},
        [
            ({"values": [1, 2]}, r"a row for each document .* got shape \(2,\)"),
            ({"values": np.empty((0, 2))}, r"each document .* got shape \(0, 2\)"),
            ({"values": [[1, 2], [NAN, 0]]}, r"\[1\] must be finite, but feature 0"),
            ({"feature_names": ["a"]}, "feature_names .* each of the 3 features"),
        ],
    ),
    "ShapValuesDisplay": (
        {"values": [0.1, -0.2], "bias": 0.5, "feature_values": [1.0, 2.5]},
        [
            ({"values": []}, "values must hold one number for each feature"),
            ({"values": [1, NAN]}, "values must be finite, but feature 1"),
            ({"bias": INF}, "bias must be finite"),
            ({"feature_names": ["a"]}, "feature_names .* each of the 2 features, got"),
            ({"feature_values": [1]}, "feature_values .* each of the 2 features, for"),
            ({"documents": []}, r"documents must be one or two names, got \[\]"),
            ({"documents": "a"}, "documents must be one or two names, got 'a'"),
            ({"feature_values": np.ones((3, 2))}, "one or two documents, got shape"),
        ],
    ),
    "TrainingCurveDisplay": (
        {"curves": {"train": {"score": [1, 2]}, "validation": {"score": [1, 3]}},
         "kept": 2},
        [
            *(({"curves": none}, "holds no values") for none in ({}, {"train": {}})),
            ({"curves": {"a": {"b": []}}}, r"\['a'\]\['b'\] must hold one number"),
            ({"curves": {"a": {"b": [1, 2]}, "c": {"d": [1]}}},
             r"curves\['c'\]\['d'\] .* step, 2 in all, got"),
            ({"kept": 0}, "kept=0 is not .* give one of 1 to 2"),
            ({"first_step": -1}, "first_step must be an integer >= 0"),
            *(
                ({"curves": curves}, "curves must be a dict of dicts")
                for curves in (None, [1, 2], {"train": [1, 2]}, "text")
            ),
        ],
    ),
    "TreeDisplay": (
        {"tree": TREE, "feature_names": ["a"], "name": "a tree"},
        [
            ({"tree": None}, r"tree must be a Tree, .* got an object of NoneType"),
            ({"feature_names": []}, "feature_names .* each of the 1 features, got"),
            ({"feature_names": [["a"]]}, r"of the 1 features, got shape \(1, 1\)"),
        ],
    ),
    "WeightCurvesDisplay": (
        {"moved": [[0, 1, 2], [-1, 0, 1]], "values": [[0.5, 0.6, 0.5], [0.2, 0.6, 0.7]],
         "learned": [1, 0], "value": 0.6},
        [
            ({"learned": [[1, 0]]}, "learned must hold one number for each of the"),
            ({"moved": [[0, 1, 2]]}, "moved must hold a row for each of the 2 curves"),
            ({"moved": [[0, 1, 1], [-1, 0, 1]]}, "increasing values for"),
            ({"values": [[0, 1]] * 2}, r"values\[0\] must hold .* 3 in all"),
            ({"value": INF}, "value must be finite"),
            ({"names": ["a"]}, "names must hold one name for each of the 2 curves"),
        ],
    ),
}  # fmt: skip
every_display = pytest.mark.parametrize("name", plotting.__all__)


def new(name, /, **changes):
    return getattr(plotting, name)(**DISPLAYS[name][0] | changes)


def drawing_methods(name):
    found = [m for m in dir(getattr(plotting, name)) if m.startswith(("from_", "plot"))]
    assert len(found) >= 2
    return found


@every_display
def test_plot_draws_readable_text_on_new_axes_only_if_none_are_given(name, ax):
    display = new(name)
    part = Figure(layout="constrained").subfigures(1, 2)[1]
    for given in (ax, part.subplots()):
        assert display.plot(given) is display
        assert display.ax_ is given
        assert display.figure_ is given.figure
    assert not plt.get_fignums()
    for n_figures in (1, 2):
        display.plot()
        assert len(plt.get_fignums()) == n_figures
    assert_text_is_readable(display.figure_)
    display.figure_.savefig(BytesIO(), format="pdf")


MANY = 40
LONG = [f"a rather long name, that of number {number}" for number in range(MANY)]
DATES = np.datetime64("2024-03-01", "ns") + np.arange(MANY) * np.timedelta64(1, "D")
RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=MANY)
#: Arguments of many items with long names.
CROWDED = {
    "BlendCurveDisplay": {"names": LONG[:2], "metric_name": LONG[0]},
    "CutoffCurveDisplay": {
        "k": [10**power for power in range(7)], "standard_errors": None,
        "means": {name: VALUES[:7] for name in LONG[:4]}},
    "FeatureImportancesDisplay": {
        "importances": VALUES, "standard_deviations": None, "feature_names": LONG},
    "ForcesDisplay": {
        "y_true": RNG.integers(0, 5, MANY), "y_score": VALUES,
        "lambdas": dict.fromkeys(LONG[:3], VALUES)},
    "GradeReliabilityDisplay": {"name": LONG[0]},
    "QueryComparisonDisplay": {
        "values_a": VALUES, "values_b": VALUES[::-1], "queries": DATES,
        "names": LONG[:2]},
    "RankerComparisonDisplay": {
        "mean_differences": VALUES, "low": VALUES - 1, "high": VALUES + 1,
        "names": [f"{name} − {name}" for name in LONG]},
    "ShapBeeswarmDisplay": {
        "values": np.outer(VALUES, VALUES), "feature_values": None,
        "feature_names": LONG},
    "ShapHeatmapDisplay": {
        "values": np.outer(VALUES, VALUES), "feature_names": LONG},
    "ShapValuesDisplay": {
        "values": VALUES, "feature_names": LONG,
        "feature_values": np.outer([1, 2], VALUES), "documents": LONG[:2]},
    "WeightCurvesDisplay": {"names": LONG[:2]},
}  # fmt: skip


@pytest.mark.parametrize("in_grid", [False, True])
@pytest.mark.parametrize("name", CROWDED)
def test_many_long_names_do_not_collide(name, in_grid):
    axes = [None]
    if in_grid:
        # two of four, which make all rows and columns as narrow as four would
        grid = Figure(figsize=(10, 8), layout="constrained").subplots(2, 2)
        axes = grid.diagonal()
    all_shown = {"n_features": None} if name == "FeatureImportancesDisplay" else {}
    for ax in axes:
        display = new(name, **CROWDED[name]).plot(ax, **all_shown)
    assert_text_is_readable(display.figure_)


def test_dates_are_written_without_the_time_of_midnight(ax):
    display = new("QueryComparisonDisplay", **CROWDED["QueryComparisonDisplay"])
    display.plot(ax)
    shown = {label.get_text() for label in ax.get_xticklabels()}
    assert shown == {str(date)[:10] for date in DATES}


LABELLED = {
    "BlendCurveDisplay": ({"metric_name": "MAP"}, {"names": ("b", "a")}),
    "CutoffCurveDisplay": ({"metric_name": "MAP"}, {}),
    "GradeReliabilityDisplay": ({"unit": "query"}, {"unit": "query"}),
    "ParetoDisplay": ({"y_name": "MAP"}, {"x_name": "MAP"}),
    "SearchTraceDisplay": ({"metric_name": "MAP"}, {"elapsed": None}),
    "TrainingCurveDisplay": ({"curves": {"a": {"MAP": [1, 2]}}}, {"step_name": "tree"}),
    "WeightCurvesDisplay": ({"metric_name": "MAP"}, {}),
}


@pytest.mark.parametrize("name", LABELLED)
def test_labels_are_true_of_the_curves_of_all_displays_on_the_axes(name, ax):
    for axis, changes in zip((ax.yaxis, ax.xaxis), LABELLED[name], strict=True):
        ax.clear()
        one = new(name).plot(ax).ax_
        before = axis.get_label_text()
        new(name).plot(one)
        assert axis.get_label_text() == before
        if changes:
            new(name, **changes).plot(one)
            first, second = axis.get_label_text().splitlines()
            assert first == before != second
            assert_text_is_readable(ax.figure)
    ax.clear()
    ax.set_ylabel("of an empty figure")
    assert "empty" not in new(name).plot(ax).ax_.get_ylabel()


@every_display
def test_styles_reach_what_is_drawn_and_nothing_else(name):
    display = new(name)
    styles = [p for p in inspect.signature(display.plot).parameters if "_kwargs" in p]
    assert styles
    for style in styles:
        artists = display.plot(**{style: {"alpha": 0.125}}).figure_.findobj()
        assert any(artist.get_alpha() == 0.125 for artist in artists), style
    assert not any(a.get_alpha() == 0.125 for a in display.plot().figure_.findobj())


@every_display
def test_numbers_that_cannot_be_drawn_are_refused_by_name(name):
    for change, message in DISPLAYS[name][1]:
        with pytest.raises((ValueError, TypeError), match=message):
            new(name, **change)


@every_display
def test_without_matplotlib_numbers_are_kept_and_methods_say_what_to_install(
    name, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = new(name)
    for method in drawing_methods(name):
        call = getattr(display, method)
        required = {
            p.name: None
            for p in inspect.signature(call).parameters.values()
            if p.default is p.empty and p.kind is not p.VAR_KEYWORD
        }
        message = rf"{name}\.{method} requires .*pip install matplotlib"
        with pytest.raises(ImportError, match=message):
            call(**required)


@every_display
def test_docstrings_say_what_is_true_of_all_displays(name):
    display = getattr(plotting, name)
    assert re.search(r"^figure_ : .*\n    The figure of", display.__doc__, re.M)
    for method in drawing_methods(name):
        text = getattr(display, method).__doc__
        assert re.search(r"^ax : .*\n    Axes to draw on", text, re.M) or (
            re.search(r", ax, \*\*kwargs\n    As in :meth:`from_predictions`", text)
        )
        assert f"Returns\n-------\ndisplay : {name}\n" in text
        assert "Raises\n------\nImportError" in text


def test_colors_that_mean_something_are_named_in_one_place():
    folder = Path(plotting.__file__).parent
    assert "tab:" in (folder / "_colors.py").read_text("utf-8")
    for path in folder.glob("*.py"):
        named = re.findall(r'"(?:tab:\w+|#[0-9a-f]{6})"', path.read_text("utf-8"))
        assert not named or path.name == "_colors.py", path.name
