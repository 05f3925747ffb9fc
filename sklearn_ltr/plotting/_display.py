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
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn_ltr.plotting._axes import style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

D = TypeVar("D")


def read_entries(section: str) -> dict[str, str]:
    """Return the entries of a section of a docstring by the names they describe."""
    entries = {}
    for entry in re.split(r"\n(?=\S)", section.strip()):
        names = entry.partition("\n")[0].partition(" : ")[0]
        entries |= dict.fromkeys(names.split(", "), entry)
    return entries


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
    `ATTRIBUTES`, the display that a method returns, and its ImportError.  An entry of
    its own takes precedence.
    """

    def complete_method(method: Callable[..., Any]) -> Callable[..., Any]:
        returned = f"display : {cls.__name__}"
        if method.__name__ == "plot":
            returned += "\n    Itself."
        sections = read_sections(method)
        sections["Returns"] = returned
        raised = read_entries(sections.get("Raises", ""))
        sections["Raises"] = write_entries(RAISES | raised)
        _, *parameters = inspect.signature(method).parameters.values()
        write_docstring(method, sections, parameters)

        @functools.wraps(method)
        def checked(display: Any, *args: Any, **kwargs: Any) -> Any:
            owner = display if isinstance(display, type) else type(display)
            check_matplotlib(f"{owner.__name__}.{method.__name__}")
            return method(display, *args, **kwargs)

        return checked

    sections = read_sections(cls)
    own = read_entries(sections["Attributes"])
    sections["Attributes"] = write_entries(own | ATTRIBUTES | own)
    write_docstring(cls, sections, inspect.signature(cls).parameters.values())
    for name, member in list(vars(cls).items()):
        if name == "plot":
            setattr(cls, name, complete_method(member))
        elif name.startswith("from_"):
            setattr(cls, name, classmethod(complete_method(member.__func__)))
    return cls


def check_matplotlib(caller: str) -> None:
    """Raise an ImportError that says what to install if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib: install it by "
            "python -m pip install matplotlib"
        ) from error


def read_sections(documented: Any) -> dict[str, str]:
    """Return the sections of a docstring by their titles; "" is what precedes them."""
    text = inspect.cleandoc(documented.__doc__ or "")
    first, *others = re.split(r"^(\S.*)\n-{3,}\n", text, flags=re.MULTILINE)
    return {"": first} | dict(zip(others[::2], others[1::2], strict=True))


def write_entries(entries: Mapping[str, str]) -> str:
    """Return the text of a section; several names may share an entry."""
    return "\n".join(filter(None, dict.fromkeys(entries.values())))


def write_docstring(
    documented: Any, sections: dict[str, str], parameters: Iterable[inspect.Parameter]
) -> None:
    """Set a docstring of these sections, with an entry for each parameter."""
    names = [
        f"**{parameter.name}"
        if parameter.kind is parameter.VAR_KEYWORD
        else parameter.name
        for parameter in parameters
    ]
    entries = PARAMETERS | read_entries(sections.get("Parameters", ""))
    sections["Parameters"] = write_entries({name: entries[name] for name in names})
    first = ("", "Parameters", "Attributes", "Returns", "Raises")
    ordered = {title: sections[title] for title in first if title in sections}
    documented.__doc__ = "\n\n".join(
        f"{title}\n{'-' * len(title)}\n{body.strip()}".strip()
        for title, body in (ordered | sections).items()
    )
