"""Rankers: the scikit-learn face of lambdas and learners."""

from sklearn_ltr._estimators.state import NewerVersionWarning
from sklearn_ltr.rankers._base import BaseRanker
from sklearn_ltr.rankers._data import MissingGroupsWarning, read_queries
from sklearn_ltr.rankers._lambdamart import LambdaMARTRanker
from sklearn_ltr.rankers._lambdarank import LambdaRankRanker
from sklearn_ltr.rankers._network import UnscaledFeaturesWarning
from sklearn_ltr.rankers._ranknet import RankNetRanker
from sklearn_ltr.rankers._routing import requested_by_fit

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
