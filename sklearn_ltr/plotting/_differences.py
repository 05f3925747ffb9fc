"""Differences as bars from zero, and their mean as a line across them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

WON, LOST, TIED = "tab:blue", "tab:red", "0.7"
MOST_APART = 40  # bars with gaps between them


def draw_differences(ax: Any, differences: FloatArray, style: Mapping[str, Any]) -> Any:
    """Draw a bar for each difference, at 1, 2, ...; as one artist, for thousands.

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
    half = 0.4 if n <= MOST_APART else 0.5
    corners = (-half, 0), (-half, 1), (half, 1), (half, 0)
    place = np.arange(1, n + 1)
    bars = [np.column_stack([place + x, differences * top]) for x, top in corners]
    looks: dict[str, Any] = {
        "facecolors": np.where(differences > 0, WON, LOST),
        "linewidths": 0,
        "antialiaseds": False,  # else neighbours would not quite meet
        "zorder": 2,
    }
    drawn = PolyCollection(list(np.stack(bars, axis=1)), **looks | dict(style))
    ax.add_collection(drawn)
    ax.autoscale_view()
    tied = place[differences == 0]
    if len(tied):
        ax.hlines(0, tied[0] - half, tied[-1] + half, color=TIED, linewidth=3)
    return drawn


def draw_mean(ax: Any, mean: float, standard_error: float) -> Any:
    """Draw a line at the mean, and a band of its standard error if it is not NaN."""
    if not np.isnan(standard_error):
        low, high = mean - standard_error, mean + standard_error
        ax.axhspan(low, high, color="0.4", alpha=0.25, linewidth=0, zorder=3)
    return ax.axhline(mean, color="black", linestyle="--", linewidth=1)
