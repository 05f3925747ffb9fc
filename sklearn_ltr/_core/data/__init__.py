"""Read raw arguments and group rows into queries; no other subpackage does.

Rows may come in any order, and the rows of one query need not be adjacent (as in
shuffled folds).  A stable sort by `groups` gives the *canonical order*: queries by
sorted group value, and within a query the rows in their given order.  The rest of the
package works on arrays in canonical order, in which ``offsets`` delimit the queries.
So results depend neither on the order of the queries nor on their interleaving.

There is one reader for each kind of argument: X
(:class:`~sklearn_ltr._core.data.feature_reader.FeatureReader`), groups
(:meth:`~sklearn_ltr._core.data.groups.QueryGroups.from_groups`), grades, scores and the
columns that `fit` takes (`columns`), judged pairs (`pairs`), all arguments of `fit` as
they were given (`fit_arguments`), and other numbers of rows (`read_numbers`).
"""

from sklearn_ltr._core.data.columns import (
    COLUMNS,
    HELD_OUT_BY,
    MOST_POSITIONS,
    GivenColumns,
    RowColumns,
    check_base_scores,
    check_grades,
    check_sample_weight,
    check_scores,
    describe_columns,
    fit_requests,
    read_positions,
    rescale,
)
from sklearn_ltr._core.data.fit_arguments import FitArguments, ValidationSet
from sklearn_ltr._core.data.groups import (
    QueryGroups,
    QueryIds,
    as_array,
    describe_query,
    places_in_queries,
    query_at,
)
from sklearn_ltr._core.data.rows import (
    check_holds_rows,
    count_rows,
    read_numbers,
)
from sklearn_ltr._core.data.training_data import FitData, LabelRows, TrainingData
