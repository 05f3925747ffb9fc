"""What all displays have in common: scikit-learn's convention."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.utils import Bunch

from sklearn_ltr import plotting
from sklearn_ltr.plotting import (
    BlendCurveDisplay,
    CutoffCurveDisplay,
    FeatureImportancesDisplay,
    ForcesDisplay,
    QueryComparisonDisplay,
    TrainingCurveDisplay,
    WeightCurvesDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from tests.plotting.pictures import assert_text_can_be_read  # noqa: E402

DISPLAYS = {
    "blends": BlendCurveDisplay([0.2, 0.5], [0.6, 0.8, 0.7], alpha=0.35),
    "cutoffs": CutoffCurveDisplay(
        k=[1, 2, 3],
        means={"one": [0.2, 0.3, 0.5], "other": [0.3, 0.4, 0.5]},
        standard_errors={"one": [0.1, 0.1, 0.1], "other": [0.1, 0.1, np.nan]},
        metric_name="NDCG",
    ),
    "importances": FeatureImportancesDisplay([0.1, 0.7, 0.2], [0.1, 0.1, 0.2]),
    "forces": ForcesDisplay([0, 1, 0], [3, 2, 1], {"RankNet": [1.5, -2, 0.5]}),
    "queries": QueryComparisonDisplay([0.1, 0.5, 0.3], [0.4, 0.1, 0.3]),
    "training": TrainingCurveDisplay(train=[1, 2, 3], validation=[1, 3, 2], kept=2),
    "weights": WeightCurvesDisplay(
        [[0, 1, 2], [-1, 0, 1]],
        [[0.5, 0.6, 0.5], [0.2, 0.6, 0.7]],
        learned=[1, 0],
        value=0.6,
    ),
}
BUNCH = Bunch(importances_mean=[0.2, 0.1], importances_std=[0.1, 0.1])
# before it computes anything, so arguments do not matter
WAYS_TO_DRAW = [
    (BlendCurveDisplay, "from_predictions", (None,) * 3, {"groups": None}),
    (CutoffCurveDisplay, "from_estimator", (None, None, None), {"groups": None}),
    (CutoffCurveDisplay, "from_predictions", (None, None), {"groups": None}),
    (FeatureImportancesDisplay, "from_estimator", (None,), {}),
    (FeatureImportancesDisplay, "from_importances", (BUNCH,), {}),
    (ForcesDisplay, "from_estimator", (None, None, None), {}),
    (ForcesDisplay, "from_predictions", (None, None), {}),
    (QueryComparisonDisplay, "from_estimators", (None,) * 4, {"groups": None}),
    (QueryComparisonDisplay, "from_predictions", (None,) * 3, {"groups": None}),
    (TrainingCurveDisplay, "from_estimator", (None,), {}),
    (WeightCurvesDisplay, "from_estimator", (None,) * 3, {"groups": None}),
]


@pytest.fixture(params=DISPLAYS)
def display(request):
    return DISPLAYS[request.param]


def test_every_display_is_looked_at():
    assert {type(display).__name__ for display in DISPLAYS.values()} == set(
        plotting.__all__
    )


def test_every_way_to_draw_is_looked_at():
    ways = {
        (display, name)
        for display in map(type, DISPLAYS.values())
        for name in vars(display)
        if name.startswith("from_")
    }
    assert ways == {(display, name) for display, name, *_ in WAYS_TO_DRAW}


def test_new_axes_are_made_only_if_none_are_given(display, ax):
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert not plt.get_fignums()
    display.plot()
    assert plt.get_fignums() == [display.figure_.number]
    assert display.ax_ is not ax


def test_it_draws_on_axes_of_a_subfigure(display):
    part = Figure(layout="constrained").subfigures(1, 2)[1]
    assert display.plot(part.subplots()).figure_ is part


def test_it_can_be_drawn_again_and_the_text_can_be_read(display):
    for _ in range(2):
        display.plot()
        assert_text_can_be_read(display.figure_)
    assert len(plt.get_fignums()) == 2


def test_it_can_be_saved(display, tmp_path):
    display.plot()
    for kind in ("png", "svg", "pdf"):
        display.figure_.savefig(tmp_path / f"picture.{kind}")
        assert (tmp_path / f"picture.{kind}").stat().st_size > 1000


@pytest.mark.parametrize(
    ("display", "name", "arguments", "keywords"),
    WAYS_TO_DRAW,
    ids=[f"{display.__name__}.{name}" for display, name, *_ in WAYS_TO_DRAW],
)
def test_without_matplotlib_it_says_what_to_install(
    monkeypatch, display, name, arguments, keywords
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = rf'{display.__name__}\.{name} requires .* install "sklearn_ltr\[plot\]"'
    with pytest.raises(ImportError, match=message):
        getattr(display, name)(*arguments, **keywords)


def test_plot_says_what_to_install_too(monkeypatch, display):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = rf'{type(display).__name__}\.plot requires .* "sklearn_ltr\[plot\]"'
    with pytest.raises(ImportError, match=message):
        display.plot()


PROGRAM = """
import sys
from sklearn_ltr.plotting import *
print(BlendCurveDisplay([0.5], [1.0, 7.0]).values[1])
print(CutoffCurveDisplay(k=[1], means={"a": [2.0]}).means["a"][0])
print(FeatureImportancesDisplay([1.0, 3.0]).order[0])
print(ForcesDisplay([0, 1], [1, 0], {"a": [1, -1]}).pairwise_errors)
print(QueryComparisonDisplay([1.0], [5.0]).differences[0])
print(TrainingCurveDisplay(train=[1.0, 2.0], first_step=4).steps[1])
print(WeightCurvesDisplay([[0, 1]], [[6, 7]], learned=[0], value=6).value)
print("matplotlib" in sys.modules)
"""


def test_numbers_without_a_picture_take_no_matplotlib():
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True
    )
    expected = ["7.0", "2.0", "1", "1", "4.0", "5", "6.0", "False"]
    assert answer.stdout.split() == expected
