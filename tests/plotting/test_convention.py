"""scikit-learn's Display convention, for all displays."""

from __future__ import annotations

import inspect
import subprocess
import sys
from io import BytesIO

import pytest

from sklearn_ltr import plotting
from tests.plotting.displays import DISPLAYS

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from tests.plotting.layout import assert_text_is_readable  # noqa: E402


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


def test_the_numbers_of_a_display_do_not_need_matplotlib():
    program = "import sys, tests.plotting.displays; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == "False\n"
