"""What all displays share: their axes, a check for matplotlib, and docstrings.

A new display is one file, with a class such as ::

    @complete_display
    class ExampleDisplay(Display):

whose constructor reads the numbers, whose ``from_...`` methods compute them and end
with ``.plot(ax, **kwargs)``, and whose `plot` begins with `_set_axes`.  A line such as
``{X} {groups}`` in their docstrings stands for entries of `Display`, or of the class in
those of its methods, and what these return is written before their errors.  Import it
in ``plotting/__init__.py``, name it in ``docs/api.md``, and add its arguments to
``tests/plotting/test_convention.py``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sklearn_ltr._core.docstrings import fill_in, read_entries, read_sections
from sklearn_ltr._core.optional import require
from sklearn_ltr.plotting import _axes as axes

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.lines

Axes: TypeAlias = "matplotlib.axes.Axes"
Line2D: TypeAlias = "matplotlib.lines.Line2D"
D = TypeVar("D")


class Display:
    """Base of all displays: the axes that they draw on, and what several document.

    Parameters
    ----------
    X : array-like of shape (n_documents, n_features)
    y : array-like of shape (n_documents,)
        Grades, finite and >= 0.
    y_true : array-like of shape (n_documents,)
        Grades, finite and >= 0.
    groups : array-like of shape (n_documents,)
        The query of each document: numbers, text, dates, or tuples of these.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of a query in the mean, constant within it.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features.  None: x0, x1, ...
    metric_name : str, default="metric"
        Name of the metric.
    background : array-like or sparse matrix of shape (n_background, n_features), \
            default=None
        As in :func:`sklearn_ltr.inspection.shap_values`.
    ax : matplotlib Axes, default=None
        Axes to draw on; ``display.ax_`` adds to the plot of another display.  None:
        axes of a new figure.
    **kwargs : dict
        Keyword arguments of :meth:`plot`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        The figure of the axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """

    ax_: Any
    figure_: Any
    legend_: Any

    def _set_axes(
        self,
        ax: Axes | None,
        figsize: tuple[float, float] = (6.4, 4.2),
        *,
        grid: str | None = None,
    ) -> Axes:
        """Return the axes to draw on, those of a new pyplot figure for None."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=figsize, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        if grid is not None:
            axes.style_axes(ax, grid=grid)
        return ax

    def _label_curves(self, x: str, y: str, loc: str = "best") -> None:
        """Label both axes, and draw a legend if anything on them has a label."""
        axes.write_label(self.ax_.xaxis, x)
        axes.write_label(self.ax_.yaxis, y)
        labels = self.ax_.get_legend_handles_labels()[1]
        self.legend_ = axes.draw_legend(self.ax_, loc=loc) if labels else None


#: parameters, attributes and errors of several displays
ENTRIES: dict[str, str] = {}
for title, section in read_sections(Display).items():
    ENTRIES |= read_entries(section) if title else {}


def complete_display(cls: type[D]) -> type[D]:
    """Fill in the docstrings of a display; let its methods check for matplotlib."""
    cls.__doc__ = fill_in(inspect.getdoc(cls) or "", ENTRIES)
    entries = ENTRIES | read_entries(read_sections(cls).get("Parameters", ""))
    returned = f"Returns\n-------\ndisplay : {cls.__name__}\n\n"
    for name, member in list(vars(cls).items()):
        if name == "plot":
            itself = returned[:-1] + "    Itself.\n\n"
            setattr(cls, name, complete_method(member, entries, itself))
        elif name.startswith("from_"):
            method = complete_method(member.__func__, entries, returned)
            setattr(cls, name, classmethod(method))
    return cls


def complete_method(
    method: Callable[..., Any], entries: dict[str, str], returned: str
) -> Callable[..., Any]:
    """Complete the docstring of a method, which then checks for matplotlib."""
    text = fill_in(inspect.getdoc(method) or "", entries)
    method.__doc__ = text.replace("Raises\n---", f"{returned}Raises\n---")

    @functools.wraps(method)
    def checked(display: Any, *args: Any, **kwargs: Any) -> Any:
        owner = display if isinstance(display, type) else type(display)
        require("matplotlib", f"{owner.__name__}.{method.__name__}")
        return method(display, *args, **kwargs)

    return checked
