"""Arrows that show the lambdas beside a ranked list.

    length of arrow i  =  lambda_i / max |lambda|  x  length of the longest arrow

in units of ranks.  The y axis grows downwards, as ranks do; a document with a positive
lambda has an arrow that points down.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

COLORS = ("black", "tab:red", "tab:green", "tab:orange", "tab:purple")
STYLE = {
    "angles": "xy",
    "scale_units": "xy",
    "scale": 1.0,
    "units": "inches",
    "width": 0.024,
    "zorder": 3,
}
# Widths of a lane (one arrow) and minimum width of a column (the lanes of one force),
# in units of the length of a bar.
LANE_WIDTH, COLUMN_WIDTH = 0.16, 0.75
# Smallest vertical distance between two arrows in one lane, in ranks.
CLEARANCE = 0.3


def arrow_lengths(lambdas: FloatArray, longest: float) -> FloatArray:
    """Scale lambdas so that the largest |lambda| becomes `longest` ranks."""
    largest = np.abs(lambdas).max()
    if largest == 0:
        return np.zeros_like(lambdas)
    return np.asarray(lambdas / largest * longest)


def assign_lanes(lengths: FloatArray) -> IntArray:
    """Return the lane of each arrow, (n,), such that no two arrows overlap.

    The arrow at position p reaches from rank p + 1 to p + 1 + lengths[p].  Lanes are
    counted from the bars.  The first lanes hold arrows that point up, the others those
    that point down; of each direction, longer arrows are assigned first, to the first
    lane that is free.
    """
    start = np.arange(1.0, len(lengths) + 1)
    upper = np.minimum(start, start + lengths) - CLEARANCE / 2
    lower = np.maximum(start, start + lengths) + CLEARANCE / 2
    lanes = np.full(len(lengths), -1)
    for direction in (lengths < 0, lengths >= 0):
        first = lanes.max() + 1
        arrows = np.flatnonzero(direction)
        for arrow in arrows[np.argsort(-np.abs(lengths[arrows]), kind="stable")]:
            overlaps = (upper < lower[arrow]) & (lower > upper[arrow])
            occupied = lanes[direction & overlaps]
            free = np.setdiff1d(first + np.arange(len(occupied) + 1), occupied)
            lanes[arrow] = free[0]
    return lanes


def draw_arrows(
    ax: Any, forces: Mapping[str, FloatArray], longest: float, style: Mapping[str, Any]
) -> list[Any]:
    """Draw a column of arrows per force; bars extend from x = 0 to 1.

    The column of the first force is left of the bars, the others are right of them.

    Parameters
    ----------
    ax : matplotlib Axes
    forces : dict of str to ndarray of shape (n_documents,)
        The lambdas of each force, by rank.
    longest : float
        Length of the longest arrow of each force, in ranks.
    style : dict
        Keyword arguments of matplotlib's `quiver`.

    Returns
    -------
    arrows : list of matplotlib Quiver
        One per force.
    """
    arrows: list[Any] = []
    centers, edges, bottom = [], [0.0, 1.0], 0.5
    for lambdas, color in zip(forces.values(), cycle(COLORS), strict=False):
        lengths = arrow_lengths(lambdas, longest)
        lanes = assign_lanes(lengths)
        side, away = (1, 1.0) if arrows else (0, -1.0)  # right or left of the bars
        width = max(COLUMN_WIDTH, LANE_WIDTH * (lanes.max() + 1))
        centers.append(edges[side] + away * width / 2)
        edges[side] += away * width
        x = centers[-1] + away * LANE_WIDTH * (lanes - lanes.max() / 2)
        y = np.arange(1.0, len(lengths) + 1)
        bottom = max(bottom, len(lengths) + 0.5, (y + lengths).max())
        options = STYLE | {"color": color} | dict(style)
        arrows.append(ax.quiver(x, y, np.zeros_like(x), lengths, **options))
    ax.set_xlim(*edges)
    ax.set_ylim(bottom + 0.3, 0.5 - longest)
    label_columns(ax, centers, forces, arrows)
    return arrows


def label_columns(
    ax: Any,
    centers: list[float],
    forces: Mapping[str, FloatArray],
    arrows: list[Any],
) -> None:
    """Write the name and the largest |lambda| of a force below its column."""
    labels = [
        f"{force}\nmax $|\\lambda|$ = {np.abs(lambdas).max():.3g}"
        for force, lambdas in forces.items()
    ]
    ax.set_xticks(centers, labels)
    ax.tick_params(length=0)
    for label, column in zip(ax.get_xticklabels(), arrows, strict=True):
        label.set_color(column.get_facecolor()[0])
