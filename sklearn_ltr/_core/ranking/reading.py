"""From the arguments of a ranker's `fit` to its training data: rows sorted by query.

`RankerFitParameters` calls these for all rankers, alone or on the workers of a cluster
(`read_documents`); so do bags, blends and searches, by `read_targets`, which leaves X
aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.data import (
    FitArguments,
    GivenColumns,
    LabelRows,
    QueryGroups,
    TrainingData,
    ValidationSet,
    check_grades,
)
from sklearn_ltr._core.data.feature_reader import FeatureReader
from sklearn_ltr._core.data.features import check_has_rows, is_arrow, is_frame
from sklearn_ltr._core.data.fit_arguments import ROWS_CHANGED
from sklearn_ltr._core.data.labels import (
    LabelGrades,
    check_have_judged,
    n_label_columns,
    names_of_columns,
    read_label_grades,
)
from sklearn_ltr._core.data.pairs import GivenPairs
from sklearn_ltr._core.data.rows import n_rows
from sklearn_ltr._core.data.training_data import without_zero_weights
from sklearn_ltr._core.other_libraries import plain_name
from sklearn_ltr._core.typing import IdsLike, LabelWeightsLike


class MissingGroupsWarning(UserWarning):
    """Warning: `groups` was not given, so all rows were taken for one query.

    More than 200 rows without `groups` are an error.

    Examples
    --------
    >>> import warnings
    >>> from sklearn_ltr import LambdaMARTRanker, MissingGroupsWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ranker = LambdaMARTRanker(n_estimators=1).fit([[1.0], [2.0]], [0, 1])
    >>> caught[0].category is MissingGroupsWarning
    True
    """


# Most rows that may be one query if `groups` is not given.  Few lists are longer, and
# scikit-learn's checks of estimators, which give no groups, use fewer rows.
MOST_ROWS_WITHOUT_GROUPS = 200
MISSING_GROUPS = (
    "groups was not given, {found}. Either it was "
    "forgotten: pass groups=, one value per row{values}. Or {dropped}"
)
# Names that columns of query ids have, in small letters
QUERY_NAMES = frozenset(
    "qid query queryid group groupid session sessionid search searchid srchid topic "
    "topicid request requestid".split()
)
DROPPED_IF_OFF = (
    "a meta-estimator (GridSearchCV, Pipeline, ...) dropped it, because metadata "
    "routing is off: call sklearn.set_config(enable_metadata_routing=True) once."
)
DROPPED_IF_ON = (
    "a meta-estimator did not hand it on, although metadata routing is on: give groups "
    'to its fit, or as params={"groups": groups} to cross_validate. One that takes no '
    "part in metadata routing, such as Optuna's OptunaSearchCV, never does: call "
    "cross_validate in an objective function of your own."
)


class LabelChoice(NamedTuple):
    """How several columns of y are treated: whether they are taken, and weighed."""

    are_taken: bool
    weights: LabelWeightsLike | None
    is_shared: bool = False  # whether other workers have further rows


ONE_LABEL = LabelChoice(False, None)


def read_queries(
    groups: IdsLike | None,
    n_documents: int,
    suffix: str = "",
    X: object = None,
) -> QueryGroups:
    """Return the queries of the rows; a few rows without `groups` are one query."""
    # `suffix` is appended to the argument's name in messages ("_val"), in which a
    # column of X is named that may be the groups
    if groups is not None:
        return QueryGroups.from_groups(groups, n_documents, f"groups{suffix}")
    queries = single_query(n_documents, suffix, X)
    found = "so all rows were taken for one query"
    message = missing_groups_message(suffix, found, column_of_queries(X, suffix))
    warn_caller(message, MissingGroupsWarning)
    return queries


def single_query(n_documents: int, suffix: str = "", X: object = None) -> QueryGroups:
    """Return all rows as one query; a ValueError if they are too many for that."""
    check_groups_given(n_documents, suffix, X)
    return QueryGroups.single(n_documents)


def check_groups_given(n_documents: int, suffix: str, X: object) -> None:
    """Raise a ValueError for more rows than one query is likely to have."""
    if n_documents > MOST_ROWS_WITHOUT_GROUPS:
        found = f"and {n_documents:,} rows are more than one query is likely to have"
        values = column_of_queries(X, suffix)
        values += f" (numpy.zeros({n_documents}) if they are one list)"
        raise ValueError(missing_groups_message(suffix, found, values))


def column_of_queries(X: object, suffix: str) -> str:
    """Return words that name a column of a frame which may hold query ids."""
    for name in names_of_columns(X) if is_frame(X) or is_arrow(X) else ():
        if plain_name(name) in QUERY_NAMES:
            return f", such as X{suffix}[{name!r}], which is then no feature"
    return ""


def missing_groups_message(suffix: str, found: str, values: str) -> str:
    """Return the message for missing groups, of training or of validation data."""
    is_on = get_config()["enable_metadata_routing"]
    dropped = DROPPED_IF_ON if is_on else DROPPED_IF_OFF
    argument = f"groups{suffix.partition('[')[0]}"  # the one of several sets
    return MISSING_GROUPS.replace("groups", f"groups{suffix}").format(
        found=found, values=values, dropped=dropped.replace("groups", argument)
    )


def check_y_given(y: ArrayLike | None, suffix: str = "") -> None:
    """Raise a ValueError, in words that scikit-learn's checks look for, without y."""
    if y is None:
        raise ValueError(
            f"y{suffix} is None: a ranker requires y to be passed, but the target "
            "y is None; give one relevance grade per row"
        )


def read_targets(
    y: ArrayLike | None,
    queries: QueryGroups,
    columns: GivenColumns,
    suffix: str = "",
    labels: LabelChoice = ONE_LABEL,
) -> TrainingData:
    """Check grades and columns, and sort them by query; without features."""
    # `suffix` is put after the names of arguments in messages: "_val"
    name, n_labels = f"y{suffix}", n_label_columns(y)
    if n_labels == 1:
        grades = LabelGrades.of_one(check_grades(y, queries, name))
    elif not labels.are_taken:
        raise ValueError(
            f"{name} must hold one number for each of the {queries.n_documents} "
            f"rows, got shape ({queries.n_documents}, {n_labels}): give one "
            "label, such as a column of it; the rankers of trees and networks learn "
            "from several, and score and scorers take one of them as label="
        )
    else:
        grades = read_label_grades(y, queries, labels.weights, name)
        if not labels.is_shared:
            have_judged = np.asarray((~np.isnan(grades.values)).any(axis=1))
            check_have_judged(have_judged, grades.names, name)
    read = columns.read(queries, suffix)
    counts = np.ones(queries.n_documents, dtype=np.bool_)
    if read.sample_weight is not None:
        counts = np.repeat(read.sample_weight > 0, queries.sizes)
    grades = grades.in_units(grades.largest(counts))
    return TrainingData.of(grades, queries, read)


def read_ungraded(given: FitArguments, n_rows: int) -> tuple[QueryGroups, TrainingData]:
    """Return the queries of rows without grades, and these rows without features."""
    if given.groups is not None:
        queries = QueryGroups.from_groups(given.groups, n_rows)
    elif given.columns.sample_weight is None:
        queries = QueryGroups.single(n_rows)
    else:
        raise ValueError(
            "sample_weight weighs queries, and without groups pairs have none; "
            "give groups too"
        )
    grades = LabelGrades.of_one(np.zeros(n_rows))
    return queries, TrainingData.of(grades, queries, given.columns.read(queries))


def read_documents(
    given: FitArguments | ValidationSet,
    reader: FeatureReader,
    labels: LabelChoice,
    pairs: GivenPairs | None = None,
) -> TrainingData:
    """Return graded documents, sorted by query, with the pairs that were judged."""
    suffix = given.suffix
    if given.groups is None:  # before X is read, which may hold ids as text
        check_groups_given(n_rows(given.X), suffix, given.X)
    X = reader.table(given.X, f"X{suffix}")
    check_has_rows(X, f"X{suffix}")
    check_y_given(given.y, suffix)
    queries = read_queries(given.groups, X.shape[0], suffix, given.X)
    if given.numbers is not None and len(given.numbers) != queries.n_queries:
        raise RuntimeError(ROWS_CHANGED.format(f"groups{suffix}"))
    data = read_targets(given.y, queries, given.columns, suffix, labels)
    data = replace(data, X=X, numbers=given.numbers)
    data = without_zero_weights(data, f"sample_weight{suffix}")
    if pairs is None:
        return data
    if data.n_labels > 1:
        raise ValueError(
            "pairs are weighed by the metric of one label, but y has "
            f"{data.n_labels} columns: give one of them, or no pairs"
        )
    counted = np.zeros(queries.n_documents, dtype=np.bool_)
    counted[data.rows] = True  # without queries of weight 0
    judged = pairs.read(queries, by_query=True)
    judged = judged.select(counted[queries.order], data.offsets)
    # a swap of documents of equal grades changes no metric
    better, worse = data.y[judged.rows].T
    judged = judged.take(np.flatnonzero(better != worse), data.offsets)
    if len(judged.rows) == 0:
        raise ValueError(
            "pairs compare only documents of equal grades, or of queries whose "
            "sample_weight is zero, or weigh nothing themselves, and a swap of these "
            "changes no metric: there is nothing to learn; metric=None without y "
            "learns from pairs alone"
        )
    return replace(data, pairs=judged)


def check_weighted_pairs(data: TrainingData, comm: Comm) -> None:
    """Raise a ValueError unless a query of all workers has pairs that count."""
    if data.columns.document_weight is None:  # then each query has pairs
        return
    if not any(comm.gather(bool(data.has_weighted_pairs.any()))):
        raise ValueError(
            "document_weight is zero for so many documents that no query has two "
            "different grades of weights above zero: there are no pairs to learn from"
        )


def learned_labels(data: TrainingData, comm: Comm) -> list[LabelRows]:
    """Return the queries that labels have pairs in; a ValueError if one has none."""
    found = []
    for label in data.counted_labels():
        if label.is_only:  # its queries are chosen already
            return [label]
        learned = label.data.has_pairs
        weights = label.data.columns.document_weight
        if weights is not None:  # means by weights need one above 0
            starts = label.data.offsets[:-1]
            learned &= np.logical_or.reduceat(weights > 0, starts)
        if not any(comm.gather(bool(learned.any()))):
            raise ValueError(
                f"y has no query with two different grades of label {label.name!r}"
                f"{data.in_words}: there is no order to learn from it; give it the "
                "weight 0 in label_weights, or leave it out"
            )
        label = label.select(learned)
        with errors_that_name(label):
            check_weighted_pairs(label.data, comm)
        found.append(label)
    return found


@contextmanager
def errors_that_name(label: LabelRows) -> Iterator[None]:
    """Begin the message of an error with the name of the label, if there are more."""
    try:
        yield
    except ValueError as error:
        if label.is_only:
            raise
        raise ValueError(f"label {label.name!r}: {error}") from None
