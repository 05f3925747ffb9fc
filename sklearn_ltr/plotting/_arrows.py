"""Arrows beside a ranked list: as long as the forces, side by side where they meet.

    length of arrow i  =  lambda_i / max |lambda|  x  length of the longest

in ranks; ranks grow downwards, as a document with a positive lambda is pushed.
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
LANE, COLUMN = 0.16, 0.75  # in widths of a bar; a column grows with its lanes
CLEAR = 0.3  # ranks between two arrows of one lane


def arrow_lengths(lambdas: FloatArray, longest: float) -> FloatArray:
    """Scale lambdas so that the strongest spans `longest` ranks; zeros stay zeros."""
    strongest = np.abs(lambdas).max()
    if strongest == 0:
        return np.zeros_like(lambdas)
    return np.asarray(lambdas / strongest * longest)


def lane_of_each(lengths: FloatArray) -> IntArray:
    """Put arrows side by side where they would overlap; lane 0 is next to the bars.

    The arrow at position p goes from rank p + 1 to p + 1 + lengths[p].  Those that
    point up have the lanes next to the bars to themselves; of each direction the long
    ones choose first.
    """
    start = np.arange(1.0, len(lengths) + 1)
    upper = np.minimum(start, start + lengths) - CLEAR / 2
    lower = np.maximum(start, start + lengths) + CLEAR / 2
    lanes = np.full(len(lengths), -1)
    for side in (lengths < 0, lengths >= 0):
        first = lanes.max() + 1
        arrows = np.flatnonzero(side)
        for arrow in arrows[np.argsort(-np.abs(lengths[arrows]), kind="stable")]:
            taken = lanes[side & (upper < lower[arrow]) & (lower > upper[arrow])]
            free = np.setdiff1d(first + np.arange(len(taken) + 1), taken)
            lanes[arrow] = free[0]
    return lanes


def draw_arrows(
    ax: Any, forces: Mapping[str, FloatArray], longest: float, style: Mapping[str, Any]
) -> list[Any]:
    """Draw the first force left of the bars at x = 0 to 1, the others right of them.

    Parameters
    ----------
    ax : matplotlib Axes
    forces : dict of str to ndarray of shape (n_documents,)
        The lambdas of each force, by rank.
    longest : float
        Ranks that the longest arrow of each force spans.
    style : dict
        Keyword arguments of matplotlib's `quiver`.

    Returns
    -------
    arrows : list of matplotlib Quiver
        One per force.
    """
    arrows: list[Any] = []
    centres, edges, bottom = [], [0.0, 1.0], 0.5
    for lambdas, color in zip(forces.values(), cycle(COLORS), strict=False):
        lengths = arrow_lengths(lambdas, longest)
        lanes = lane_of_each(lengths)
        left_or_right, away = (1, 1.0) if arrows else (0, -1.0)
        width = max(COLUMN, LANE * (lanes.max() + 1))
        centres.append(edges[left_or_right] + away * width / 2)
        edges[left_or_right] += away * width
        x = centres[-1] + away * LANE * (lanes - lanes.max() / 2)
        y = np.arange(1.0, len(lengths) + 1)
        bottom = max(bottom, len(lengths) + 0.5, (y + lengths).max())
        looks = STYLE | {"color": color} | dict(style)
        arrows.append(ax.quiver(x, y, np.zeros_like(x), lengths, **looks))
    ax.set_xlim(*edges)
    ax.set_ylim(bottom + 0.3, 0.5 - longest)
    label_columns(ax, centres, forces, arrows)
    return arrows


def label_columns(
    ax: Any,
    centres: list[float],
    forces: Mapping[str, FloatArray],
    arrows: list[Any],
) -> None:
    """Write below each column, in its colour, which force it is, and how strong."""
    labels = [
        f"{force}\nmax $|\\lambda|$ = {np.abs(lambdas).max():.3g}"
        for force, lambdas in forces.items()
    ]
    ax.set_xticks(centres, labels)
    ax.tick_params(length=0)
    for label, column in zip(ax.get_xticklabels(), arrows, strict=True):
        label.set_color(column.get_facecolor()[0])
