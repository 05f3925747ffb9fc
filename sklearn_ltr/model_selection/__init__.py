"""Splits of whole queries, searches, and rankers compared with error bars.

For cross-validation by query, use scikit-learn's GroupKFold, StratifiedGroupKFold,
GroupShuffleSplit or LeaveOneGroupOut with the same ``groups``.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.model_selection._comparison import (
    PairComparison,
    PeriodComparison,
    RankerComparison,
    compare_rankers,
)
from sklearn_ltr.model_selection._ranker_search import RankerSearch
from sklearn_ltr.model_selection._search_space import lambdamart_search_space
from sklearn_ltr.model_selection._split import (
    GroupTimeSeriesSplit,
    LetorFolds,
    UserKFold,
    group_train_test_split,
)

__all__ = [
    "GroupTimeSeriesSplit",
    "LetorFolds",
    "PairComparison",
    "PeriodComparison",
    "RankerComparison",
    "RankerSearch",
    "UserKFold",
    "compare_rankers",
    "group_train_test_split",
    "lambdamart_search_space",
]
publish(globals())
