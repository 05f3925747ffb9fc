"""LightGBM's nodes that take 0 as missing: as nodes that test ``x <= threshold`` only.

Such a node sends numbers from -1e-35 to 1e-35, and NaN, to its default side, and others
by its threshold.  So its sides may alternate: left below the threshold, but right at 0,
and left again.  Then several nodes stand for it, and subtrees occur more than once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_ltr.export._tree_model import LARGEST_THRESHOLD

ZERO = float(np.float32(1e-35))  # the largest number that counts as 0
BELOW_ZERO = float(np.nextafter(-ZERO, -np.inf))
NEGATIVE, AT_ZERO, POSITIVE = 1, 2, 4
ANYWHERE = NEGATIVE | AT_ZERO | POSITIVE


class Segment(NamedTuple):
    """An interval of numbers that go to one side."""

    last: float  # its largest number
    regions: int  # which of NEGATIVE, AT_ZERO and POSITIVE it meets
    goes_left: bool

    @property
    def has_zero(self) -> bool:
        """Whether 0, and NaN with it, is in the interval."""
        return bool(self.regions & AT_ZERO)


def zero_segments(threshold: float, default_left: bool, regions: int) -> list[Segment]:
    """Return the intervals of a node's sides, ascending; NaN goes with 0.

    Parameters
    ----------
    threshold : float
    default_left : bool
    regions : int
        Which of NEGATIVE, AT_ZERO and POSITIVE reach the node.
    """
    segments: list[Segment] = []
    for last in sorted({threshold, BELOW_ZERO, ZERO, LARGEST_THRESHOLD}):
        region = POSITIVE
        if last <= ZERO:
            region = NEGATIVE if last <= BELOW_ZERO else AT_ZERO
        if not region & regions:
            continue
        goes_left = default_left if region == AT_ZERO else last <= threshold
        if segments and segments[-1].goes_left == goes_left:
            region |= segments.pop().regions
        segments.append(Segment(last, region, goes_left))
    return segments
