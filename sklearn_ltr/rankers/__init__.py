"""The three rankers: lambdas and learners behind scikit-learn's interface."""

from sklearn_ltr._estimators.state import NewerVersionWarning
from sklearn_ltr._queries.cross_validation import SplitQueriesWarning
from sklearn_ltr.rankers._lambdamart import LambdaMARTRanker
from sklearn_ltr.rankers._lambdarank import LambdaRankRanker
from sklearn_ltr.rankers._network_warnings import UnscaledFeaturesWarning
from sklearn_ltr.rankers._ranknet import RankNetRanker
from sklearn_ltr.rankers._reading import MissingGroupsWarning

__all__ = [
    "LambdaMARTRanker",
    "LambdaRankRanker",
    "MissingGroupsWarning",
    "NewerVersionWarning",
    "RankNetRanker",
    "SplitQueriesWarning",
    "UnscaledFeaturesWarning",
]
