"""Rankers: the scikit-learn face of lambdas and learners."""

from sklearn_ltr.rankers._data import MissingGroupsWarning
from sklearn_ltr.rankers.lambdamart import LambdaMARTRanker

__all__ = ["LambdaMARTRanker", "MissingGroupsWarning"]
