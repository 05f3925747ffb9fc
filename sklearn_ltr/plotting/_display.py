"""What all displays share: their axes, a check for matplotlib, and docstrings.

A new display is one file, with a class such as ::

    @complete_display
    class ExampleDisplay(Display):

whose constructor reads the numbers, whose ``from_...`` methods compute them and end
with ``.plot(ax, **kwargs)``, and whose `plot` begins with `_set_axes`.  Its docstrings
say what is special about it.  Import it in ``plotting/__init__.py``, name it in
``docs/api.md``, and add its arguments to ``tests/plotting/test_convention.py``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn_ltr._docstrings import read_entries, read_sections
from sklearn_ltr.plotting._axes import style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

D = TypeVar("D")


# What a docstring does not describe, the decorator describes by these entries.
PARAMETERS = read_entries(
    """
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
    Axes to draw on.  None: axes of a new figure.
**kwargs : dict
    Keyword arguments of :meth:`plot`.
"""
)
ATTRIBUTES = read_entries(
    """
ax_ : matplotlib Axes
    The axes drawn on.
figure_ : matplotlib Figure
    The figure of the axes.
"""
)
RAISES = read_entries(
    """
ImportError
    If matplotlib is not installed.
"""
)


class Display:
    """Base of all displays: the axes that they draw on."""

    ax_: Any
    figure_: Any

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
            style_axes(ax, grid=grid)
        return ax


def complete_display(cls: type[D]) -> type[D]:
    """Complete the docstrings of a display, and let its methods check for matplotlib.

    A docstring leaves out the parameters of `PARAMETERS`, the attributes of
    `ATTRIBUTES`, the display that a method returns, its ImportError, and parameters
    that the class describes.  An entry of its own takes precedence.
    """
    sections = read_sections(cls)
    attributes = read_entries(sections.get("Attributes", ""))
    texts = PARAMETERS | read_entries(sections.get("Parameters", ""))
    sections["Parameters"] = parameters_section(cls, texts)
    sections["Attributes"] = write_entries(attributes | ATTRIBUTES | attributes)
    cls.__doc__ = write_sections(sections)
    returned = f"display : {cls.__name__}"
    for name, member in list(vars(cls).items()):
        if name == "plot":
            plot = complete_method(member, texts, f"{returned}\n    Itself.")
            setattr(cls, name, plot)
        elif name.startswith("from_"):
            method = complete_method(member.__func__, texts, returned)
            setattr(cls, name, classmethod(method))
    return cls


def complete_method(
    method: Callable[..., Any], texts: dict[str, str], returned: str
) -> Callable[..., Any]:
    """Complete the docstring of a method, which then checks for matplotlib."""
    sections = read_sections(method)
    own = read_entries(sections.get("Parameters", ""))
    sections["Parameters"] = parameters_section(method, texts | own)
    sections["Returns"] = returned
    raised = RAISES | read_entries(sections.get("Raises", ""))
    sections["Raises"] = write_entries(raised)
    method.__doc__ = write_sections(sections)

    @functools.wraps(method)
    def checked(display: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            import matplotlib  # noqa: F401
        except ImportError as error:
            owner = display if isinstance(display, type) else type(display)
            raise ImportError(
                f"{owner.__name__}.{method.__name__} requires matplotlib: install it "
                "by python -m pip install matplotlib"
            ) from error
        return method(display, *args, **kwargs)

    return checked


def parameters_section(call: Callable[..., Any], texts: dict[str, str]) -> str:
    """Return the section on the parameters of a class or a method, in their order."""
    names = [name for name in inspect.signature(call).parameters if name in texts]
    return write_entries({name: texts[name] for name in names})


def write_sections(sections: dict[str, str]) -> str:
    """Return a docstring, with its sections in numpydoc's order."""
    first = ("", "Parameters", "Attributes", "Returns", "Raises")
    ordered = {title: sections[title] for title in first if title in sections}
    return "\n\n".join(
        f"{title}\n{'-' * len(title)}\n{body.strip()}".strip()
        for title, body in (ordered | sections).items()
    )


def write_entries(entries: dict[str, str]) -> str:
    """Return the text of a section; several names may share an entry."""
    return "\n".join(filter(None, dict.fromkeys(entries.values())))
