"""scikit-learn's Display convention, for all displays."""

from __future__ import annotations

import inspect
import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest

from sklearn_ltr import plotting
from sklearn_ltr.plotting import (
    BlendCurveDisplay,
    CutoffCurveDisplay,
    FeatureImportancesDisplay,
    ForcesDisplay,
    PropensityCurveDisplay,
    QueryComparisonDisplay,
    ShapHeatmapDisplay,
    ShapValuesDisplay,
    TrainingCurveDisplay,
    WeightCurvesDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from tests.plotting.layout import assert_text_is_readable  # noqa: E402

DISPLAYS = [
    BlendCurveDisplay([0.2, 0.5], [0.6, 0.8, 0.7], alpha=0.35),
    CutoffCurveDisplay(
        k=[1, 2, 3],
        means={"a": [0.2, 0.3, 0.5], "b": [0.3, 0.4, 0.5]},
        standard_errors={"a": [0.1, 0.1, 0.1], "b": [0.1, 0.1, np.nan]},
        metric_name="NDCG",
    ),
    FeatureImportancesDisplay([0.1, 0.7, 0.2], [0.1, 0.1, 0.2]),
    ForcesDisplay([0, 1, 0], [3, 2, 1], {"RankNet": [1.5, -2, 0.5]}),
    PropensityCurveDisplay(
        {"a": [1, 0.5, 0.4], "b": [1, 0.6]},
        {"a": [0, 0.1, np.nan]},
        true_propensities=[1, 0.5],
    ),
    QueryComparisonDisplay([0.1, 0.5, 0.3], [0.4, 0.1, 0.3]),
    ShapHeatmapDisplay([[0.1, -0.5, 0.0], [0.2, 0.6, 0.1], [0.3, 0.0, 0.0]]),
    ShapValuesDisplay([0.1, 0.7, -0.2], bias=0.5, feature_values=[1.0, 2.5, 3]),
    TrainingCurveDisplay(
        {"train": {"score": [1, 2, 3]}, "validation": {"score": [1, 3, 2]}}, kept=2
    ),
    WeightCurvesDisplay(
        [[0, 1, 2], [-1, 0, 1]],
        [[0.5, 0.6, 0.5], [0.2, 0.6, 0.7]],
        learned=[1, 0],
        value=0.6,
    ),
]


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


PROGRAM = """
import sys
from sklearn_ltr.plotting import *
print(BlendCurveDisplay([0.5], [1.0, 7.0]).values[1])
print(CutoffCurveDisplay(k=[1], means={"a": [2.0]}).means["a"][0])
print(FeatureImportancesDisplay([1.0, 3.0]).order[0])
print(ForcesDisplay([0, 1], [1, 0], {"a": [1, -1]}).pairwise_errors)
print(PropensityCurveDisplay({"a": [1.0, 0.5]}).propensities["a"][1])
print(QueryComparisonDisplay([1.0], [5.0]).differences[0])
print(ShapHeatmapDisplay([[1.0, 3.0]]).order[0])
print(ShapValuesDisplay([1.0, 3.0], bias=0.5).score)
print(TrainingCurveDisplay({"a": {"b": [1.0, 2.0]}}, first_step=4).steps[1])
print(WeightCurvesDisplay([[0, 1]], [[6, 7]], learned=[0], value=6).value)
print("matplotlib" in sys.modules)
"""


def test_the_numbers_of_a_display_do_not_need_matplotlib():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True
    )
    expected = ["7.0", "2.0", "1", "1", "0.5", "4.0", "1", "4.5", "5", "6.0", "False"]
    assert done.stdout.split() == expected
