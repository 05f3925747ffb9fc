"""Group raw rows into queries; the rest of the package never reads raw ``groups``.

Rows may come in any order, and the rows of one query need not be adjacent (as in
shuffled folds).  A stable sort by ``groups`` gives the *canonical order*: queries by
sorted group value, and within a query the rows in their given order.  The rest of the
package works on arrays in canonical order, in which ``offsets`` delimit the queries.
So results depend neither on the order of the queries nor on their interleaving.
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
