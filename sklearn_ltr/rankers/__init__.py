"""Rankers: the scikit-learn face of lambdas and learners."""

from sklearn_ltr.estimators.state import NewerVersionWarning
from sklearn_ltr.rankers._data import MissingGroupsWarning
from sklearn_ltr.rankers._network import UnscaledFeaturesWarning
from sklearn_ltr.rankers.lambdamart import LambdaMARTRanker
from sklearn_ltr.rankers.lambdarank import LambdaRankRanker
from sklearn_ltr.rankers.ranknet import RankNetRanker

__all__ = [
    "LambdaMARTRanker",
    "LambdaRankRanker",
    "MissingGroupsWarning",
    "NewerVersionWarning",
    "RankNetRanker",
    "UnscaledFeaturesWarning",
]
