"""Models that rank the items of a list, for scikit-learn: LambdaMART and others.

The gradient of a document is a sum over its pairs: the derivative of RankNet's cost of
the pair, times the size of the metric's change if the two documents swap places.
"""

from importlib.metadata import version

from sklearn_ltr._core.data.cross_validation import SplitQueriesWarning
from sklearn_ltr._core.estimators.base import NewerVersionWarning
from sklearn_ltr._core.estimators.nothing_learned import NothingLearnedWarning
from sklearn_ltr._core.estimators.unused_positions import UnusedPositionsWarning
from sklearn_ltr._core.estimators.validation_range import ValidationRangeWarning
from sklearn_ltr._core.networks import TorchNetwork
from sklearn_ltr._core.networks.training import UnscaledFeaturesWarning
from sklearn_ltr._core.public_names import publish
from sklearn_ltr._core.rankers.lambdamart import LambdaMARTRanker, ShortClickLogWarning
from sklearn_ltr._core.rankers.lambdarank import LambdaRankRanker
from sklearn_ltr._core.rankers.ranknet import RankNetRanker
from sklearn_ltr._core.ranking.reading import MissingGroupsWarning

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
