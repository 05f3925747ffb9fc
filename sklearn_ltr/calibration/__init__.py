r"""Grades and probabilities from the scores of a ranker, on one scale for all queries.

A ranker learns the order of each query, so its scores have no unit.  Calibration learns
what they stand for, from the scores of queries that the ranker was not fitted to::

    P(y >= g | s)  =  f_g(s),    rising in s, for each grade g above the lowest
    E(y | s)       =  g_0 + sum over grades k >= 1 of  (g_k - g_{k-1}) f_{g_k}(s)

:class:`CalibratedRanker` fits a ranker and these maps, by isotonic regression or as
sigmoids, as scikit-learn's CalibratedClassifierCV does for classes; of the score alone,
or of the score and the mean score of its query.  The ranking stays the ranker's.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.calibration._calibrated_ranker import CalibratedRanker

__all__ = ["CalibratedRanker"]
publish(globals())
