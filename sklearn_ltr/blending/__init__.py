"""Rankers together: the best weighted sum of their scores.

    s_i  =  alpha * s1_i + (1 - alpha) * s2_i

As alpha goes from 0 to 1 a list changes only where two of these lines cross, so the
best of all blends can be found (section 7.1 of the report).

- :func:`best_blend`: the best alpha for the scores of two rankers, and the whole curve.
- :class:`BlendedRanker`: rankers in, one ranker out; its weights are chosen on queries
  that were held out.
"""

from sklearn_ltr.blending._blended import BlendedRanker
from sklearn_ltr.blending._sweep import BlendCurve, best_blend

__all__ = ["BlendCurve", "BlendedRanker", "best_blend"]
