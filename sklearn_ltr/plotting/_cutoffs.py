"""Cutoffs: read, and laid out along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.metrics import Metric, get_metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

UNEVEN = 5  # if a gap between cutoffs is that many times as wide as another: log scale
CLEAR = 0.07  # of the width of the axes, between labels


def read_cutoffs(k: Any) -> IntArray:
    """Return cutoffs as an array; a ValueError unless they are integers that rise."""
    cutoffs = np.asarray(k)
    if not (
        cutoffs.ndim == 1
        and cutoffs.size > 0
        and cutoffs.dtype.kind in "iu"
        and cutoffs[0] >= 1
        and (cutoffs[1:] > cutoffs[:-1]).all()
    ):
        raise ValueError(
            "k must hold the cutoffs to look at, integers >= 1 that rise, such as "
            f"range(1, 21), got {k!r}"
        )
    return cutoffs.astype(np.int64)


def read_metric_of_any_cutoff(metric: str | Metric) -> Metric:
    """Return a metric that leaves its cutoff open; a ValueError if it has one."""
    known = get_metric(metric)
    if known.k is not None:
        raise ValueError(
            f"metric {known.name!r} has a cutoff, but k says at which cutoffs to look: "
            f"give {known.name.partition('@')[0]!r} or a metric object with k=None"
        )
    return known


def scale_cutoffs(ax: Any, k: IntArray) -> None:
    """Scale the cutoffs by logarithm if their gaps differ much, and label some."""
    gaps = np.diff(k)
    if len(gaps) and gaps.max() > UNEVEN * gaps.min():
        ax.set_xscale("log")
        ticks = apart(k, np.log(k))
        ax.set_xticks(ticks, [str(cutoff) for cutoff in ticks])
        ax.set_xticks([], minor=True)
    else:
        ax.set_xticks(round_cutoffs(int(k[0]), int(k[-1])))


def apart(k: IntArray, places: FloatArray) -> IntArray:
    """Return the first cutoff and those far enough from the one before."""
    kept = [0]
    for i, place in enumerate(places):
        if place - places[kept[-1]] >= CLEAR * (places[-1] - places[0]):
            kept.append(i)
    return k[kept]


def round_cutoffs(first: int, last: int) -> IntArray:
    """Return the first cutoff and the multiples of 1, 5, 10, 50, ... that follow."""
    steps = (factor * 10**power for power in range(18) for factor in (1, 5))
    step = next(s for s in steps if last - first < 10 * s)
    multiples = np.arange(step, last + 1, step)
    return np.append(first, multiples[multiples > first + step / 2])
