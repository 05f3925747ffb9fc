"""matplotlib, the axes that a display draws on, and their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sklearn_ltr.metrics import Metric
from sklearn_ltr.plotting._colors import DASHES, LINES, MARKERS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.legend import Legend

Style: TypeAlias = Mapping[str, object]  # keyword arguments of an artist
MAX_HEIGHT = 60.0  # of a new figure, in inches
MAX_LINE_LENGTH = {"x": 50, "y": 40}  # of what is written along an axis


def style_axes(ax: Axes, *, grid: str) -> None:
    """Remove two spines, and labels of axes without data, and draw a light grid."""
    if not ax.has_data():
        ax.set(xlabel="", ylabel="")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def label_rows(ax: Axes, n_rows: int, labels: Sequence[str], step: int = 1) -> None:
    """Label each row of `n_rows`, or each `step` rows; the first row is on top."""
    ax.set_yticks(np.arange(0, n_rows, step), labels)
    ax.tick_params(axis="y", length=0)
    fit_labels(ax.yaxis, len(labels))
    ax.set_ylim(n_rows - 0.5, -0.5)
    ax.spines["left"].set_visible(False)


def fit_labels(axis: Axis, n: float, width: float = 1.0) -> None:
    """Make labels of `n` ticks, of `width` letters, smaller if they would touch."""
    box, figure = axis.axes.get_window_extent(), axis.get_figure(root=True)
    length = box.height if axis.axis_name == "y" else box.width
    size = axis.get_ticklabels()[0].get_fontsize()
    room = 0.75 * 72 / figure.dpi * length / n / width  # the layout may take a part
    axis.set_tick_params(labelsize=min(size, room))


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


def next_styles(ax: Axes, *, markers: bool) -> Iterator[dict[str, object]]:
    """Yield a color and a marker or dashes for each line to be drawn on the axes."""
    # a cycle of colors that the user has chosen is kept
    from matplotlib import rcParams, rcParamsDefault

    given, default = (p["axes.prop_cycle"] for p in (rcParams, rcParamsDefault))
    colors = LINES if given == default else given.by_key().get("color", LINES)
    kind, values = ("marker", MARKERS) if markers else ("linestyle", DASHES)
    n_drawn = len(ax.get_legend_handles_labels()[1])
    for color, value in islice(zip(cycle(colors), cycle(values)), n_drawn, None):
        yield {"color": color, kind: value}


def line_style_of_each(
    ax: Axes,
    labels: Iterable[str],
    given: Style | Sequence[Style] | None,
    **defaults: object,
) -> list[dict[str, object]]:
    """Return keyword arguments of the line of each label, with markers."""
    labels = list(labels)
    if given is None or isinstance(given, Mapping):
        given = [given or {}] * len(labels)
    if len(given) != len(labels):
        raise ValueError(
            f"curve_kwargs must be a dict or a list of {len(labels)}, one for each "
            f"curve, got {len(given)}"
        )
    styles = next_styles(ax, markers=True)
    return [
        line_style(own, label=label, markersize=5, **style, **defaults)
        for label, own, style in zip(labels, given, styles, strict=False)
    ]


def write_label(axis: Axis, text: str) -> None:
    """Label an axis, below what other displays have written of their curves."""
    lines = f"{axis.get_label_text()}\n{wrap_lines(text, axis.axis_name)}".split("\n")
    axis.set_label_text("\n".join(filter(None, dict.fromkeys(lines))))


def wrap_lines(text: str, axis_name: str = "x") -> str:
    """Return a text whose lines are not too long along an axis."""
    length = MAX_LINE_LENGTH[axis_name]
    return "\n".join("\n".join(wrap(line, length)) for line in text.splitlines())


def name_of_metric(metric: Metric) -> str:
    """Return the name of a metric's class with its cutoff, such as "NDCG@10"."""
    name = type(metric).__name__
    return name if metric.k is None else f"{name}@{metric.k}"


def short_label(text: object) -> str:
    """Return a label where there is little room, such as of a feature."""
    return escape_label(text, 24)


def escape_label(text: object, longest: int = 32) -> str:
    """Return a label from the data (a query or a feature name) for matplotlib."""
    # The middle of a long text is left out, since similar names often differ at either
    # end.  Dollar signs are escaped; matplotlib would typeset the text between two of
    # them as a formula.
    if isinstance(text, np.datetime64):
        text = np.datetime_as_string(text, "auto")
    text = str(text)
    if len(text) > longest:
        tail = (longest - 1) // 2
        text = f"{text[: longest - 1 - tail]}…{text[-tail:]}"
    return text.replace("$", r"\$")
