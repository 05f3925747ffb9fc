"""From raw rows to queries: the only room that sees raw ``groups``.

Rows may come in any order and the rows of one query need not be neighbours (shuffled
folds).  A stable sort on ``groups`` brings them to one *canonical order*: queries by
sorted group value, and within a query the rows as they came.  Everything behind this
room works on arrays in canonical order, cut into queries by ``offsets``; so neither the
order of the queries nor their interleaving can change a result.
"""

from sklearn_ltr._queries.checks import check_grades, check_sample_weight, check_scores
from sklearn_ltr._queries.groups import Labels, QueryGroups, describe_query
from sklearn_ltr._queries.training_data import TrainingData

__all__ = [
    "Labels",
    "QueryGroups",
    "TrainingData",
    "check_grades",
    "check_sample_weight",
    "check_scores",
    "describe_query",
]
