"""MART (Burges 2010, sections 5 and 6): gradient boosted trees for single rows.

MART is the boosting that LambdaMART builds on.  Here each row has a cost of its own:
cross entropy for two classes, squared error for numbers.  Trained on relevance grades,
these are the pointwise baselines of learning to rank.  For
more than two classes and for other losses (absolute error, Poisson, quantiles, ...) use
scikit-learn's HistGradientBoostingClassifier and HistGradientBoostingRegressor.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.mart._mart import MARTClassifier, MARTRegressor

__all__ = ["MARTClassifier", "MARTRegressor"]
publish(globals())
