"""A ranked list as horizontal bars, the first document on top, colored by grade."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# RGB colors of grade 0, of the lowest grade above 0 and of the highest grade.
NOT_RELEVANT = np.array([0.85, 0.85, 0.85])
PALE, DARK = np.array([0.68, 0.80, 0.93]), np.array([0.07, 0.20, 0.42])
MAX_RANK_LABELS, MAX_GRADE_LABELS = 50, 5
# Distance of the legend below the axes, in points: two lines of text.
LEGEND_OFFSET = -34


def colors_of(grades: FloatArray) -> FloatArray:
    """Return gray for grade 0, and a darker blue for a higher grade: (n, 3) RGB."""
    highest = grades.max()
    darkness = grades / highest if highest > 0 else grades
    blues = PALE + darkness[:, np.newaxis] * (DARK - PALE)
    return np.where(grades[:, np.newaxis] > 0, blues, NOT_RELEVANT)


def grade_labels(grades: FloatArray) -> list[str]:
    """Return the legend entries of distinct grades."""
    relevant = "relevant" if np.count_nonzero(grades) == 1 else "grade {:g}"
    return [relevant.format(g) if g > 0 else "not relevant" for g in grades]


def draw_ranked_list(
    ax: Any, grades: FloatArray, style: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Draw a bar from x = 0 to 1 per document, and a legend of the grades below.

    Parameters
    ----------
    ax : matplotlib Axes
    grades : ndarray of shape (n_documents,)
        By rank.
    style : dict
        Keyword arguments of matplotlib's `barh`.

    Returns
    -------
    bars : matplotlib BarContainer
    legend : matplotlib Legend
    """
    from matplotlib.transforms import offset_copy

    ranks = np.arange(1, len(grades) + 1)
    options = {"height": 0.7, "color": colors_of(grades), "zorder": 2} | dict(style)
    bars = ax.barh(ranks, 1.0, **options)
    ax.set_yticks(ranks[:: -(-len(ranks) // MAX_RANK_LABELS)])
    ax.set_ylabel("rank")
    ax.grid(axis="y", color="0.93", zorder=0)
    shown = np.unique(grades)
    evenly = np.linspace(0, len(shown) - 1, MAX_GRADE_LABELS).round().astype(np.int64)
    shown = shown[np.unique(evenly)]
    legend = ax.legend(
        [bars.patches[np.argmax(grades == grade)] for grade in shown],
        grade_labels(shown),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=offset_copy(
            ax.transAxes, ax.figure, y=LEGEND_OFFSET, units="points"
        ),
        ncols=len(shown),
        frameon=False,
    )
    return bars, legend
