"""Scorers for scikit-learn's searches and cross-validation that request groups.

The score of a model is the mean of a metric Z over queries q, each counting once or its
weight::

    score(model, X, y)  =  sum_q w_q Z(y_q as model.predict(X_q) ranks it)  /  sum_q w_q

The scorers request ``groups`` by default: once metadata routing is enabled, no further
call is needed.  Without ``groups`` they raise an error instead of returning a number.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.scorers._scorer import (
    MissingGroupsError,
    RankingScorer,
    make_ranking_scorer,
)

__all__ = ["MissingGroupsError", "RankingScorer", "make_ranking_scorer"]
publish(globals())
