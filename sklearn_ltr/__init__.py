"""Learning to rank for scikit-learn: RankNet, LambdaRank and LambdaMART.

    gradient of a document = sum over its pairs of force * |change of the metric|
"""

from importlib.metadata import version

from sklearn_ltr.rankers import LambdaMARTRanker, MissingGroupsWarning

__all__ = ["LambdaMARTRanker", "MissingGroupsWarning"]
__version__ = version("sklearn_ltr")
