"""scikit-learn's Display convention, for all displays."""

from __future__ import annotations

import inspect
import subprocess
import sys
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from sklearn_ltr import plotting
from tests.plotting.displays import DISPLAYS
from tests.plotting.layout import assert_text_is_readable


@pytest.fixture(params=DISPLAYS, ids=lambda display: type(display).__name__)
def display(request):
    return request.param


def test_all_displays_are_tested():
    assert {type(display).__name__ for display in DISPLAYS} == set(plotting.__all__)


def test_plot_draws_readable_text_on_new_axes_only_if_none_are_given(display, ax):
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


def test_styles_reach_what_is_drawn_and_nothing_else(display):
    styles = [p for p in inspect.signature(display.plot).parameters if "_kwargs" in p]
    assert styles
    drawn = [
        {
            type(artist)
            for artist in display.plot(**{name: {"alpha": 0.125}}).figure_.findobj()
            if artist.get_alpha() == 0.125
        }
        for name in styles
    ]
    assert all(drawn)
    assert not any(a.get_alpha() == 0.125 for a in display.plot().figure_.findobj())


CURVES = {"a": [0.5, 0.6]}
WEIGHTS = {
    "moved": [[0, 1, 2], [-1, 0, 1], [4, 5, 6]],
    "values": [[0.5, 0.6, 0.5], [0.2, 0.6, 0.7], [0.6, 0.6, 0.6]],
    "learned": [1, 0, 5],
    "value": 0.6,
}
#: Good arguments of each display, and what is refused with which message
REFUSED = {
    "BlendCurveDisplay": (
        {"change_points": [0.5], "values": [1, 2]},
        [
            ({"values": [1.0]}, "change_points must be increasing between 0 and 1"),
            ({"change_points": [0.5, 0.2], "values": [1, 2, 3]}, "must be increasing"),
            ({"values": [1, np.nan]}, "values must be finite"),
            ({"alpha": 1.5}, "alpha must be between 0 and 1, got 1.5"),
            ({"names": ("a", "a")}, "names must be two different names"),
        ],
    ),
    "CutoffCurveDisplay": (
        {"k": [1, 2], "means": CURVES},
        [
            *(
                ({"k": k}, r"k must hold .* such as range\(1, 21\)")
                for k in (10, [], [0, 1], [1, 3, 2], [1, 1], [1.5], [True], [[1, 2]],
                          np.array([3, 2], dtype=np.uint64))
            ),
            ({"means": {}}, "means must be a dict"),
            ({"means": {"a": [0.5]}}, r"means\['a'\] .* each cutoff, 2 in all, got"),
            ({"means": {"a": [0.5, np.nan]}}, r"\['a'\] must be finite, .* 1 has"),
            ({"means": {"a": ["x", "y"]}}, r"means\['a'\] must be numeric"),
            ({"standard_errors": {"b": [0, 0]}}, r"the names \['b'\], but means"),
            ({"standard_errors": {"a": [0]}}, r"standard_errors\['a'\] must hold"),
        ],
    ),
    "FeatureImportancesDisplay": (
        {"importances": [1, 2]},
        [
            ({"importances": []}, "importances must hold one number for each feature"),
            ({"importances": [1, np.nan]}, "importances must be finite, but feature 1"),
            ({"standard_deviations": [1]}, "standard_deviations .* feature, 2 in all"),
            ({"standard_deviations": [1, -1]}, "standard_deviations must be >= 0"),
            ({"feature_names": ["a"]}, "feature_names .* each of the 2 features, got"),
        ],
    ),
    "ForcesDisplay": (
        {"y_true": [1, 0], "y_score": [1, 2], "lambdas": CURVES},
        [
            ({"lambdas": [0.5, -0.5]}, "lambdas must be a dict"),
            ({"lambdas": {"a": [1.0]}}, r"lambdas\['a'\] .* each of the 2 rows"),
            ({"lambdas": {"a": [1.0, np.inf]}}, r"lambdas\['a'\] must be finite"),
        ],
    ),
    "PropensityCurveDisplay": (
        {"propensities": CURVES},
        [
            ({"propensities": {}}, "must be a dict of one curve or several"),
            ({"propensities": [1, 0.5]}, "must be a dict of one curve or several"),
            ({"propensities": {"a": [1, -0.5]}}, r"\['a'\] must be finite"),
            ({"propensities": {"a": [1, np.inf]}}, "position 1 has inf"),
            ({"standard_errors": {"b": [1]}}, "none of the curves"),
            ({"standard_errors": {"a": [1]}}, "each of the 2 positions|2 in all"),
            ({"true_propensities": ["x"]}, "true_propensities must be numeric"),
        ],
    ),
    "QueryComparisonDisplay": (
        {"values_a": [0.5, 0.6], "values_b": [0.5, 0.7]},
        [
            ({"values_a": []}, "values_a must hold one number for each query, got"),
            ({"values_b": [1]}, r"values_b .* query, 2 in all, got shape \(1,\)"),
            ({"weights": [0, 0]}, "weights must be >= 0, and at least one > 0"),
            ({"queries": ["a"]}, "queries has 1 names for 2 queries"),
        ],
    ),
    "ShapHeatmapDisplay": (
        {"values": [[1, 2]]},
        [
            ({"values": [1, 2]}, r"a row for each document .* got shape \(2,\)"),
            ({"values": np.empty((0, 2))}, r"each document .* got shape \(0, 2\)"),
            ({"values": [[1, 2], [np.nan, 0]]}, r"\[1\] must be finite, but feature 0"),
            ({"feature_names": ["a"]}, "feature_names .* each of the 2 features"),
        ],
    ),
    "ShapValuesDisplay": (
        {"values": [1, 2]},
        [
            ({"values": []}, "values must hold one number for each feature"),
            ({"values": [1, np.nan]}, "values must be finite, but feature 1"),
            ({"bias": np.inf}, "bias must be finite"),
            ({"feature_names": ["a"]}, "feature_names .* each of the 2 features, got"),
            ({"feature_values": [1]}, "feature_values .* each of the 2 features, for"),
            ({"feature_values": np.ones((3, 2))}, "one or two documents, got shape"),
        ],
    ),
    "TrainingCurveDisplay": (
        {"curves": {"a": {"b": [1, 2]}}},
        [
            *(({"curves": none}, "holds no values") for none in ({}, {"train": {}})),
            ({"curves": {"a": {"b": []}}}, r"\['a'\]\['b'\] must hold one number"),
            (
                {"curves": {"a": {"b": [1, 2]}, "c": {"d": [1]}}},
                r"curves\['c'\]\['d'\] .* step, 2 in all, got",
            ),
            ({"kept": 0}, "kept=0 is not .* the steps are 1 to 2"),
            ({"first_step": -1}, "first_step must be an integer >= 0"),
            *(
                ({"curves": curves}, "curves must be a dict of dicts")
                for curves in (None, [1, 2], {"train": [1, 2]}, "text")
            ),
        ],
    ),
    "WeightCurvesDisplay": (
        WEIGHTS,
        [
            ({"learned": [[1, 0, 5]]}, "learned must hold one number for each of the"),
            ({"moved": [[0, 1, 2]]}, "moved must hold a row for each of the 3 curves"),
            ({"moved": [[0, 1, 1], [-1, 0, 1], [4, 5, 6]]}, "increasing values for"),
            ({"values": [[0, 1]] * 3}, r"values\[0\] must hold .* 3 in all"),
            ({"value": np.inf}, "value must be finite"),
            ({"names": ["a"]}, "names must hold one name for each of the 3 curves"),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", plotting.__all__)
def test_numbers_that_cannot_be_drawn_are_refused_by_name(name):
    display, (good, refused) = getattr(plotting, name), REFUSED[name]
    display(**good)
    for change, message in refused:
        with pytest.raises((ValueError, TypeError), match=message):
            display(**good | change)
    assert not plt.get_fignums()


def required_arguments(method):
    return {
        p.name: None
        for p in inspect.signature(method).parameters.values()
        if p.default is p.empty and p.kind is not p.VAR_KEYWORD
    }


def test_without_matplotlib_every_method_says_what_to_install(monkeypatch, display):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    methods = [name for name in dir(display) if name.startswith(("from_", "plot"))]
    assert len(methods) >= 2
    for name in methods:
        method = getattr(display, name)
        message = rf'{type(display).__name__}\.{name} requires .*"sklearn_ltr\[plot\]"'
        with pytest.raises(ImportError, match=message):
            method(**required_arguments(method))


def test_the_numbers_of_a_display_do_not_need_matplotlib():
    program = "import sys, tests.plotting.displays; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == "False\n"
