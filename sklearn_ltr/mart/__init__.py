"""MART (sections 5 and 6 of the report): the boosting under LambdaMART, for each row.

These learn the class or the number of a row by itself.  On relevance grades they are
the pointwise baselines of learning to rank.
"""

from sklearn_ltr.mart._classifier import MARTClassifier
from sklearn_ltr.mart._regressor import MARTRegressor

__all__ = ["MARTClassifier", "MARTRegressor"]
