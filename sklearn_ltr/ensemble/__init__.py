"""Ensembles of rankers: bags average their scores, and blends weigh them.

The score of document i::

    bag:    s_i  =  1/M  sum over members m of  s_i of member m
    blend:  s_i  =  alpha * s1_i + (1 - alpha) * s2_i

- :class:`BaggingRanker` fits members that differ by their random numbers, on all
  queries or on random queries.  Queries that a member was not trained on estimate how
  well the bag ranks new ones.
- :class:`BlendedRanker` combines rankers of different kinds into one, by default trees
  and a network, with equal weights or weights chosen on held-out queries.
- :func:`best_blend` returns the best alpha for the scores of two rankers, and the
  metric for all other values of alpha (Burges 2010, section 7.1).  As alpha increases
  from 0 to 1, the ranking of a query changes only where the scores of two of its
  documents are equal, so all values that the metric takes are computed, exactly.
- :func:`reciprocal_rank_fusion` joins lists by the ranks of documents, without grades.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.ensemble._bagging import BaggingRanker
from sklearn_ltr.ensemble._best_blend import BlendCurve, best_blend
from sklearn_ltr.ensemble._blended_ranker import BlendedRanker
from sklearn_ltr.ensemble._rank_fusion import reciprocal_rank_fusion

__all__ = [
    "BaggingRanker",
    "BlendCurve",
    "BlendedRanker",
    "best_blend",
    "reciprocal_rank_fusion",
]
publish(globals())
