"""Drawing of curves over cutoffs: the x axis and bands of standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# The axis is logarithmic if the largest gap between cutoffs exceeds this multiple of
# the smallest.
MAX_GAP_RATIO = 5
# Smallest distance between two tick labels, as a fraction of the width of the axes.
LABEL_DISTANCE = 0.07


def draw_band(
    ax: Any, line: Any, standard_error: FloatArray, style: Mapping[str, Any]
) -> Any:
    """Draw a band of one standard error above and below a line, in its color.

    Parameters
    ----------
    ax : matplotlib Axes
    line : matplotlib Line2D
    standard_error : ndarray of shape (n_cutoffs,)
    style : dict
        Keyword arguments of matplotlib's `fill_between`.

    Returns
    -------
    band : matplotlib FillBetweenPolyCollection
    """
    k, mean = line.get_data()
    options = {"color": line.get_color(), "alpha": 0.15, "linewidth": 0} | dict(style)
    return ax.fill_between(k, mean - standard_error, mean + standard_error, **options)


def scale_cutoffs(ax: Any, k: IntArray) -> None:
    """Set the scale of the x axis, logarithmic if gaps differ much, and its ticks."""
    gaps = np.diff(k)
    if len(gaps) and gaps.max() > MAX_GAP_RATIO * gaps.min():
        ax.set_xscale("log")
        ticks = select_apart(k, np.log(k))
        ax.set_xticks(ticks, [str(cutoff) for cutoff in ticks])
        ax.set_xticks([], minor=True)
    else:
        ax.set_xticks(round_cutoffs(int(k[0]), int(k[-1])))


def select_apart(k: IntArray, x: FloatArray) -> IntArray:
    """Return the first cutoff, and others whose labels do not overlap.

    `x` (n_cutoffs,) are the coordinates of the cutoffs along the axis.
    """
    kept = [0]
    for i in range(len(x)):
        if x[i] - x[kept[-1]] >= LABEL_DISTANCE * (x[-1] - x[0]):
            kept.append(i)
    return k[kept]


def round_cutoffs(first: int, last: int) -> IntArray:
    """Return the first cutoff and the multiples of 1, 5, 10, 50, ... that follow it.

    The step is the smallest that gives at most ten multiples.
    """
    steps = (factor * 10**power for power in range(18) for factor in (1, 5))
    step = next(s for s in steps if last - first < 10 * s)
    multiples = np.arange(step, last + 1, step)
    return np.append(first, multiples[multiples > first + step / 2])
