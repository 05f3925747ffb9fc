"""Blending: the best weighted sum of the scores of several rankers.

    s_i  =  alpha * s1_i + (1 - alpha) * s2_i

As alpha increases from 0 to 1, the ranking of a query changes only where the scores of
two of its documents are equal.  So all values that a metric takes over alpha can be
computed exactly, and with them the best alpha (section 7.1 of the report).

- :func:`best_blend` returns the best alpha for the scores of two rankers, and the
  metric for all other values of alpha.
- :class:`BlendedRanker` combines several rankers into one.  It chooses their weights on
  held-out queries.
"""

from sklearn_ltr.blending._blended import BlendedRanker
from sklearn_ltr.blending._sweep import BlendCurve, best_blend

__all__ = ["BlendCurve", "BlendedRanker", "best_blend"]
