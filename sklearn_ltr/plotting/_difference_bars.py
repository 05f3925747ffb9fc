"""Drawing of differences as bars from zero, and of their mean as a horizontal line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.plotting._axes import draw_legend
from sklearn_ltr.plotting._labels import escape_label
from sklearn_ltr.plotting._query_differences import QueryDifferences

FloatArray = NDArray[np.float64]

WON_COLOR, LOST_COLOR, TIED_COLOR = "tab:blue", "tab:red", "0.7"
# With more bars than this, they have no gaps between them and no labels.
MAX_SEPARATE_BARS = 40
MAX_LABEL_LENGTH = 24  # characters


def draw_differences(ax: Any, differences: FloatArray, style: Mapping[str, Any]) -> Any:
    """Draw a bar for each difference, at x = 1, 2, ...

    All bars are one artist, which is fast for thousands of them.

    Parameters
    ----------
    ax : matplotlib Axes
    differences : ndarray of shape (n,)
        Ascending.
    style : dict
        Keyword arguments of matplotlib's `PolyCollection`.

    Returns
    -------
    bars : matplotlib PolyCollection
    """
    from matplotlib.collections import PolyCollection

    n = len(differences)
    half = 0.4 if n <= MAX_SEPARATE_BARS else 0.5
    corners = (-half, 0), (-half, 1), (half, 1), (half, 0)
    center = np.arange(1, n + 1)
    bars = [np.column_stack([center + x, differences * y]) for x, y in corners]
    options: dict[str, Any] = {
        "facecolors": np.where(differences > 0, WON_COLOR, LOST_COLOR),
        "linewidths": 0,
        "antialiaseds": False,  # with it, thin gaps show between adjacent bars
        "zorder": 2,
    }
    drawn = PolyCollection(list(np.stack(bars, axis=1)), **options | dict(style))
    ax.add_collection(drawn)
    ax.autoscale_view()
    tied = center[differences == 0]
    if len(tied):
        ax.hlines(0, tied[0] - half, tied[-1] + half, color=TIED_COLOR, linewidth=3)
    return drawn


def draw_mean(ax: Any, mean: float, standard_error: float) -> Any:
    """Draw a line at the mean, and a band of its standard error if it is not NaN."""
    if not np.isnan(standard_error):
        low, high = mean - standard_error, mean + standard_error
        ax.axhspan(low, high, color="0.4", alpha=0.25, linewidth=0, zorder=3)
    return ax.axhline(mean, color="black", linestyle="--", linewidth=1)


def draw_counts(ax: Any, result: QueryDifferences, mean_line: Any) -> Any:
    """Draw a legend with the numbers of queries won, lost and tied.

    It is in the upper left or lower right corner, where there are no bars.
    """
    from matplotlib.patches import Patch

    counts = {
        f"{result.n_won} won": WON_COLOR,
        f"{result.n_lost} lost": LOST_COLOR,
        f"{result.n_tied} tied": TIED_COLOR,
    }
    patches = [Patch(color=color) for color in counts.values()]
    no_error = np.isnan(result.standard_error)
    mean_label = "mean" if no_error else "mean ± standard error"
    differences = result.differences
    upper_left = differences[-1] >= -differences[0]
    return draw_legend(
        ax,
        [*patches, mean_line],
        [*counts, mean_label],
        loc="upper left" if upper_left else "lower right",
    )


def label_axes(
    ax: Any, result: QueryDifferences, names: Sequence[str], metric_name: str
) -> None:
    """Write the title and the labels of both axes.

    Parameters
    ----------
    ax : matplotlib Axes
    result : QueryDifferences
    names : two str
        Names of rankers a and b.
    metric_name : str
    """
    n = len(result.queries)
    mean = f"mean {result.mean_difference:+.4f}"
    if not np.isnan(result.standard_error):
        mean += f", standard error {result.standard_error:.4f}"
    ax.set_title(f"{names[1]} − {names[0]}\n{mean}")
    ax.set_ylabel(f"difference in {metric_name}")
    ax.set_xlim(0.5, n + 0.5)
    if n <= MAX_SEPARATE_BARS:
        labels = [escape_label(query, MAX_LABEL_LENGTH) for query in result.queries]
        ax.set_xticks(np.arange(1, n + 1), labels, rotation=90, fontsize="small")
        ax.set_xlabel("query")
    else:
        ax.set_xlabel(f"{n} queries, from greatest loss to greatest gain")
