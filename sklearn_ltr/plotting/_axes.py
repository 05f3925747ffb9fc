"""matplotlib, the axes that a display draws on, and their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sklearn_ltr.metrics import Metric

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.legend import Legend

Style: TypeAlias = Mapping[str, object]  # keyword arguments of an artist
MAX_HEIGHT = 60.0  # of a new figure, in inches
MAX_NAME_LENGTH = 24  # of a feature, in characters, where there is little room


def style_axes(ax: Axes, *, grid: str) -> None:
    """Remove the upper and right spines; draw a light grid of "x" or "y"."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def label_rows(ax: Axes, n_rows: int, labels: Sequence[str], step: int = 1) -> None:
    """Label each row of `n_rows`, or each `step` rows; the first row is on top."""
    ax.set_yticks(np.arange(0, n_rows, step), labels)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(n_rows - 0.5, -0.5)
    ax.spines["left"].set_visible(False)


def write_n_shown(ax: Axes, n_shown: int, n_features: int) -> None:
    """Write in the title how many features are shown, unless all are."""
    if n_shown < n_features:
        ax.set_title(f"{n_shown} of {n_features} features")


def set_integer_ticks(axis: Axis) -> None:
    """Restrict the ticks of an axis to integers if matplotlib chooses them."""
    from matplotlib.ticker import MaxNLocator

    if isinstance(axis.get_major_locator(), MaxNLocator):
        axis.get_major_locator().set_params(integer=True, min_n_ticks=1)


def draw_legend(ax: Axes, *entries: list[Any], loc: str = "best") -> Legend:
    """Draw a legend with a background, so that it is readable above lines."""
    return ax.legend(*entries, loc=loc, framealpha=0.85, edgecolor="none")


def read_style(
    given: Style | None, artist: type[Artist] | None = None, /, **defaults: object
) -> dict[str, object]:
    """Return keyword arguments of an artist: those given, and defaults of others.

    With the class of the artist, "c" is the same argument as "color".
    """
    style = dict(given or {})
    if artist is not None:
        from matplotlib.cbook import normalize_kwargs

        style = normalize_kwargs(style, artist)
    return defaults | style


def line_style(given: Style | None, /, **defaults: object) -> dict[str, object]:
    """Return keyword arguments of a line: those given, and defaults of others."""
    from matplotlib.lines import Line2D

    return read_style(given, Line2D, **defaults)


def line_style_of_each(
    labels: Iterable[str], given: Style | Sequence[Style] | None, **defaults: object
) -> list[dict[str, object]]:
    """Return keyword arguments of the line of each label."""
    labels = list(labels)
    if given is None or isinstance(given, Mapping):
        given = [given or {}] * len(labels)
    if len(given) != len(labels):
        raise ValueError(
            f"curve_kwargs must be a dict or a list of {len(labels)}, one for each "
            f"curve, got {len(given)}"
        )
    return [
        line_style(style, label=label, **defaults)
        for label, style in zip(labels, given, strict=True)
    ]


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
