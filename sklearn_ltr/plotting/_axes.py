"""matplotlib, the axes that a display draws on, and their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from sklearn_ltr.metrics import Metric

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.legend import Legend

Style: TypeAlias = Mapping[str, object]  # keyword arguments of an artist


def check_matplotlib(caller: str) -> None:
    """Raise an ImportError that says what to install if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib: install it by "
            "python -m pip install matplotlib"
        ) from error


def get_axes(caller: str, ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """Return `ax`, or the axes of a new pyplot figure if it is None."""
    check_matplotlib(caller)
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]


def get_panels(
    caller: str, ax: Axes | Sequence[Axes] | None, n_panels: int
) -> list[Axes]:
    """Return the axes of stacked panels: new ones, those given, or parts of one."""
    check_matplotlib(caller)
    if ax is None:
        import matplotlib.pyplot as plt

        size = (6.4, 2.0 + 2.2 * n_panels)
        figure = plt.figure(figsize=size, layout="constrained")
        return list(figure.subplots(n_panels, 1, sharex=True, squeeze=False)[:, 0])
    given = [ax] if hasattr(ax, "plot") else list(ax)
    if len(given) == 1 and n_panels > 1:
        return divide_axes(given[0], n_panels)
    if len(given) != n_panels:
        raise ValueError(
            f"ax must be one matplotlib Axes, or one for each panel, {n_panels} in "
            f"all, got {len(given)}"
        )
    return given


def divide_axes(ax: Axes, n_panels: int) -> list[Axes]:
    """Hide `ax` and return panels that are stacked in its area."""
    subplot = ax.get_subplotspec()
    if subplot is None:
        raise ValueError(
            f"ax must be divided into {n_panels} panels, but it is not part of a grid "
            f"of subplots: make it with subplots(), or give {n_panels} Axes"
        )
    ax.set_axis_off()
    return list(subplot.subgridspec(n_panels, 1).subplots(sharex=True))


def style_axes(ax: Axes, *, grid: str) -> None:
    """Remove the upper and right spines; draw a light grid of "x" or "y"."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def set_integer_ticks(axis: Axis) -> None:
    """Restrict the ticks of an axis to integers if matplotlib chooses them."""
    from matplotlib.ticker import MaxNLocator

    if isinstance(axis.get_major_locator(), MaxNLocator):
        axis.get_major_locator().set_params(integer=True, min_n_ticks=1)


def draw_legend(ax: Axes, *entries: list[Any], loc: str = "best") -> Legend:
    """Draw a legend with a background, so that it is readable above lines."""
    return ax.legend(*entries, loc=loc, framealpha=0.85, edgecolor="none")


def read_style(given: Style | None, artist: type[Artist]) -> dict[str, object]:
    """Return keyword arguments of an artist under their full names ("c": "color")."""
    from matplotlib.cbook import normalize_kwargs

    return dict(normalize_kwargs(dict(given or {}), artist))


def style_of_each(
    styles: Style | Sequence[Style] | None, n_curves: int
) -> Sequence[Style]:
    """Return one dict of keyword arguments for each curve."""
    if styles is None or isinstance(styles, Mapping):
        return [styles or {}] * n_curves
    if len(styles) != n_curves:
        raise ValueError(
            f"curve_kwargs must be a dict or a list of {n_curves}, one for each curve, "
            f"got {len(styles)}"
        )
    return styles


def name_of_metric(metric: Metric) -> str:
    """Return the name of a metric's class with its cutoff, such as "NDCG@10"."""
    name = type(metric).__name__
    return name if metric.k is None else f"{name}@{metric.k}"


def escape_label(text: object, longest: int = 32) -> str:
    """Return a label from the data (a query or a feature name) for matplotlib."""
    # The middle of a long text is left out, since similar names often differ at either
    # end.  Dollar signs are escaped; matplotlib would typeset the text between two of
    # them as a formula.
    text = str(text)
    if len(text) > longest:
        tail = (longest - 1) // 2
        text = f"{text[: longest - 1 - tail]}…{text[-tail:]}"
    return text.replace("$", r"\$")
