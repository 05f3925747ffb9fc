"""Models that rank the items of a list, for scikit-learn: LambdaMART and others.

The gradient of a document is a sum over its pairs: the derivative of RankNet's cost of
the pair, times the size of the metric's change if the two documents swap places.
"""

from importlib.metadata import version

from sklearn_ltr._data.cross_validation import SplitQueriesWarning
from sklearn_ltr._estimators.base import NewerVersionWarning
from sklearn_ltr._estimators.nothing_learned import NothingLearnedWarning
from sklearn_ltr._estimators.unused_positions import UnusedPositionsWarning
from sklearn_ltr._estimators.validation_range import ValidationRangeWarning
from sklearn_ltr._networks import TorchNetwork
from sklearn_ltr._networks.training import UnscaledFeaturesWarning
from sklearn_ltr._rankers.lambdamart import LambdaMARTRanker, ShortClickLogWarning
from sklearn_ltr._rankers.lambdarank import LambdaRankRanker
from sklearn_ltr._rankers.ranknet import RankNetRanker
from sklearn_ltr._ranking.reading import MissingGroupsWarning
from sklearn_ltr._saved import publish

__all__ = [
    "LambdaMARTRanker",
    "LambdaRankRanker",
    "MissingGroupsWarning",
    "NewerVersionWarning",
    "NothingLearnedWarning",
    "RankNetRanker",
    "ShortClickLogWarning",
    "SplitQueriesWarning",
    "TorchNetwork",
    "UnscaledFeaturesWarning",
    "UnusedPositionsWarning",
    "ValidationRangeWarning",
]
publish(globals())
__version__ = version("sklearn_ltr")
