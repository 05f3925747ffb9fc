"""Rankers: the scikit-learn face of lambdas and learners."""

from sklearn_ltr.estimators.state import NewerVersionWarning
from sklearn_ltr.rankers._base import BaseRanker
from sklearn_ltr.rankers._data import MissingGroupsWarning, read_queries
from sklearn_ltr.rankers._network import UnscaledFeaturesWarning
from sklearn_ltr.rankers._routing import requested_by_fit
from sklearn_ltr.rankers.lambdamart import LambdaMARTRanker
from sklearn_ltr.rankers.lambdarank import LambdaRankRanker
from sklearn_ltr.rankers.ranknet import RankNetRanker

__all__ = [
    "BaseRanker",
    "LambdaMARTRanker",
    "LambdaRankRanker",
    "MissingGroupsWarning",
    "NewerVersionWarning",
    "RankNetRanker",
    "UnscaledFeaturesWarning",
    "read_queries",
    "requested_by_fit",
]
