"""Splits that keep queries whole, where scikit-learn has none.

Cross-validation by query needs nothing from here: GroupKFold, StratifiedGroupKFold,
GroupShuffleSplit and LeaveOneGroupOut take ``groups`` as they are.
"""

from sklearn_ltr.model_selection._letor import LetorFolds
from sklearn_ltr.model_selection._split import group_train_test_split

__all__ = ["LetorFolds", "group_train_test_split"]
