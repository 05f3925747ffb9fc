"""Learning to rank for scikit-learn: RankNet, LambdaRank and LambdaMART.

The gradient of a document is a sum over its pairs: force x |change of the metric|.
"""

from importlib.metadata import version

from sklearn_ltr.rankers import (
    LambdaMARTRanker,
    LambdaRankRanker,
    MissingGroupsWarning,
    NewerVersionWarning,
    RankNetRanker,
    SplitQueriesWarning,
    UnscaledFeaturesWarning,
)

__all__ = [
    "LambdaMARTRanker",
    "LambdaRankRanker",
    "MissingGroupsWarning",
    "NewerVersionWarning",
    "RankNetRanker",
    "SplitQueriesWarning",
    "UnscaledFeaturesWarning",
]
__version__ = version("sklearn_ltr")
