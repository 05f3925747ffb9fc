"""From the arguments of a ranker's `fit` to its training data.

`read_fit` checks the arguments, sorts rows by query, and makes training and validation
data; `hold_out_queries` takes validation data from training data, if there are none;
`choose_learned` finds the queries that have something to learn from.  All rankers read
by these, alone or on the workers of a cluster; so do bags, blends and searches, by
`read_targets`, which leaves X aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config

from sklearn_ltr._core.comm import ONE_PROCESS, Comm
from sklearn_ltr._core.data import (
    FitArguments,
    FitData,
    GivenColumns,
    LabelRows,
    QueryGroups,
    TrainingData,
    ValidationSet,
    check_grades,
)
from sklearn_ltr._core.data.features import check_has_rows, is_arrow, is_frame
from sklearn_ltr._core.data.fit_arguments import ROWS_CHANGED
from sklearn_ltr._core.data.labels import (
    LabelGrades,
    check_have_judged,
    label_names,
    label_number,
    n_label_columns,
    read_label_grades,
)
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.data.query_values import draw_held_out
from sklearn_ltr._core.data.rows import n_rows
from sklearn_ltr._core.data.tables import Table
from sklearn_ltr._core.data.training_data import (
    check_document_weights,
    check_judged_weights,
    check_weights,
    without_zero_weights,
)
from sklearn_ltr._core.estimators.caller import warn_caller
from sklearn_ltr._core.other_libraries import plain_name
from sklearn_ltr._core.ranking.parameters import (
    RankerParameters,
    check_metrics_of_labels,
)
from sklearn_ltr._core.typing import IdsLike, LabelWeightsLike, MatrixLike

# Reads X of training or validation data, given the name for messages
TableReader: TypeAlias = Callable[[MatrixLike, str], Table]


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

NO_VALIDATION_OF_PAIRS = (
    "early_stopping=True with {} needs graded documents to measure: give X_val, "
    "y_val and groups_val"
)


class LabelChoice(NamedTuple):
    """Whether y may have a column for each of several labels, and their weights."""

    are_taken: bool
    weights: LabelWeightsLike | None
    is_part: bool = False  # whether other workers have further rows


ONE_LABEL = LabelChoice(False, None)


def read_queries(
    groups: IdsLike | None,
    n_documents: int,
    suffix: str = "",
    X: MatrixLike | None = None,
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


def single_query(
    n_documents: int, suffix: str = "", X: MatrixLike | None = None
) -> QueryGroups:
    """Return all rows as one query; a ValueError if they are too many for that."""
    check_groups_given(n_documents, suffix, X)
    return QueryGroups.single(n_documents)


def check_groups_given(
    n_documents: int, suffix: str = "", X: MatrixLike | None = None
) -> None:
    """Raise a ValueError for more rows than one query is likely to have."""
    if n_documents > MOST_ROWS_WITHOUT_GROUPS:
        found = f"and {n_documents:,} rows are more than one query is likely to have"
        values = column_of_queries(X, suffix)
        values += f" (numpy.zeros({n_documents}) if they are one list)"
        raise ValueError(missing_groups_message(suffix, found, values))


def column_of_queries(X: MatrixLike | None, suffix: str) -> str:
    """Return words that name a column of a frame which may hold query ids."""
    for name in label_names(X) if is_frame(X) or is_arrow(X) else ():
        if plain_name(name) in QUERY_NAMES:
            return f", such as X{suffix}[{name!r}], which is then no feature"
    return ""


def missing_groups_message(suffix: str, found: str, values: str = "") -> str:
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
    grades = read_grades(y, queries, suffix, labels)
    read = columns.read(queries, suffix)
    counts = np.ones(queries.n_documents, dtype=np.bool_)
    if read.sample_weight is not None:
        counts = np.repeat(read.sample_weight > 0, queries.sizes)
    grades = grades.in_units(grades.largest(counts))
    return TrainingData(
        grades, queries.offsets, queries.query_ids, read, rows=queries.order
    )


def read_grades(
    y: ArrayLike | None, queries: QueryGroups, suffix: str, labels: LabelChoice
) -> LabelGrades:
    """Check the grades of one label, or of several where they are taken."""
    if n_label_columns(y) == 1:
        return LabelGrades.of_one(check_grades(y, queries, f"y{suffix}"))
    if not labels.are_taken:
        raise ValueError(
            f"y{suffix} must hold one number for each of the {queries.n_documents} "
            f"rows, got shape ({queries.n_documents}, {n_label_columns(y)}): give one "
            "label, such as a column of it; the rankers of trees and networks learn "
            "from several, and score and scorers take one of them as label="
        )
    grades = read_label_grades(y, queries, labels.weights, f"y{suffix}")
    if not labels.is_part:
        have_judged = np.asarray((~np.isnan(grades.values)).any(axis=1))
        check_have_judged(have_judged, grades.names, f"y{suffix}")
    return grades


# --- judged pairs ---------------------------------------------------------------------


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
    data = TrainingData(
        LabelGrades.of_one(np.zeros(n_rows)),
        queries.offsets,
        queries.query_ids,
        given.columns.read(queries),
        rows=queries.order,
    )
    return queries, data


def with_pairs_alone(
    data: TrainingData, queries: QueryGroups, given: FitArguments
) -> TrainingData:
    """Return the rows that pairs compare, which have no grades."""
    # y is the share of its pairs that a row wins, by which categories are sorted
    grades, pairs = given.pairs.read_alone(queries, by_query=given.groups is not None)
    data = replace(data, grades=LabelGrades.of_one(grades))
    data = without_zero_weights(replace(data, pairs=pairs), "sample_weight")
    if not data.has_pairs.any():
        raise ValueError(
            "sample_weight is zero for every query that has pairs: there is nothing to "
            "learn"
        )
    data = data.compared()
    shares = data.judged_pairs.shares_won(data.n_rows)
    return replace(data, grades=LabelGrades.of_one(shares))


def with_pairs(data: TrainingData, given: FitArguments, n_rows: int) -> TrainingData:
    """Return graded rows with the judged pairs of documents of different grades."""
    # a swap of documents of equal grades changes no metric
    if data.n_labels > 1:
        raise ValueError(
            "pairs are weighed by the metric of one label, but y has "
            f"{data.n_labels} columns: give one of them, or no pairs"
        )
    groups = np.zeros(n_rows, np.int64) if given.groups is None else given.groups
    queries = QueryGroups.from_groups(groups, n_rows)
    counted = np.zeros(n_rows, dtype=np.bool_)
    counted[data.rows] = True  # without queries of weight 0
    pairs = given.pairs.read(queries, by_query=True)
    pairs = pairs.select(counted[queries.order], data.offsets)
    better, worse = data.y[pairs.rows].T
    pairs = pairs.take(np.flatnonzero(better != worse), data.offsets)
    if len(pairs.rows) == 0:
        raise ValueError(
            "pairs compare only documents of equal grades, or of queries whose "
            "sample_weight is zero, or weigh nothing themselves, and a swap of these "
            "changes no metric: there is nothing to learn; metric=None without y "
            "learns from pairs alone"
        )
    return replace(data, pairs=pairs)


# --- the data of a fit ----------------------------------------------------------------


def read_fit(
    given: FitArguments,
    parameters: RankerParameters,
    read_table: TableReader,
    comm: Comm = ONE_PROCESS,
) -> FitData:
    """Check the arguments of `fit`; return the data, before queries are held out."""
    p = parameters
    is_judged = given.pairs.are_given()
    if is_judged:
        given.pairs.check(given.y, p.metric)
        p.check_no_clicks(given.columns, given.pairs.in_words)
    p.check_clicks(given.columns)
    labels = LabelChoice(True, p.label_weights, is_part=comm.n_workers > 1)
    if is_judged and given.y is None:
        if p.holds_out and not given.validation:
            what = given.pairs.in_words
            raise ValueError(NO_VALIDATION_OF_PAIRS.format(what))
        X = read_table(given.X, "X")
        check_has_rows(X, "X")
        queries, data = read_ungraded(given, X.shape[0])
        train = with_pairs_alone(replace(data, X=X), queries, given)
    else:
        train = read_documents(given, read_table, labels)
        if is_judged:
            train = with_pairs(train, given, train.X.shape[0])
    sets = [read_documents(one, read_table, labels) for one in given.validation]
    check_labels(p, train, sets)
    return FitData(train, train, sets)


def read_documents(
    given: FitArguments | ValidationSet, read_table: TableReader, labels: LabelChoice
) -> TrainingData:
    """Return graded documents, of training or of validation, sorted by query."""
    suffix = given.suffix
    if given.groups is None:  # before X is read, which may hold ids as text
        check_groups_given(n_rows(given.X), suffix, given.X)
    X = read_table(given.X, f"X{suffix}")
    check_has_rows(X, f"X{suffix}")
    check_y_given(given.y, suffix)
    queries = read_queries(given.groups, X.shape[0], suffix, given.X)
    if given.numbers is not None and len(given.numbers) != queries.n_queries:
        raise RuntimeError(ROWS_CHANGED.format(f"groups{suffix}"))
    data = read_targets(given.y, queries, given.columns, suffix, labels)
    data = replace(data, X=X, numbers=given.numbers)
    return without_zero_weights(data, f"sample_weight{suffix}")


def check_labels(
    parameters: RankerParameters,
    train: TrainingData,
    validation: Sequence[TrainingData],
) -> None:
    """Raise a ValueError unless parameters and validation data are for these labels."""
    p, names = parameters, train.grades.names
    for held in validation:
        own = held.grades.names
        if own != names:
            raise ValueError(
                f"y has the labels {shown_names(names)}, but y_val {shown_names(own)}: "
                "give the same columns"
            )
    if len(names) == 1:
        for name, value in {"metric": p.metric, "scoring": p.scoring}.items():
            is_of_labels = isinstance(value, Mapping) or name == "metric"
            if is_of_labels and isinstance(value, list | tuple | Mapping):
                raise ValueError(
                    f"{name}={value!r} is for several labels, but y has one column: "
                    "give all of them, or one metric"
                )
        if p.label_weights is not None:
            raise ValueError(
                f"label_weights={p.label_weights!r} is for several labels, but y has "
                "one column: give all of them, or label_weights=None"
            )
        return
    check_metrics_of_labels(p.metric, len(names))
    if callable(p.objective):
        raise ValueError(
            "objective is a function of the grades of one label, but y has "
            f"{len(names)} columns: give one of them, or objective='lambdarank'"
        )
    if p.position_bias is not None:
        raise ValueError(
            f"position_bias={p.position_bias.method!r} learns from the clicks of one "
            f"label, but y has {len(names)} columns: give the clicks alone, or "
            "position_bias=None, with propensities if you know them"
        )
    if isinstance(p.scoring, Mapping):
        for label in p.scoring:
            label_number(label, names, "scoring: label")
    if p.tied_pairs:
        raise ValueError(
            "tied_pairs=True makes pairs of documents of equal grade of one label, "
            f"but y has {len(names)} columns: give one of them, or tied_pairs=False"
        )


def shown_names(names: tuple[str, ...]) -> str:
    """Return the names of labels for messages."""
    return "of one column" if len(names) == 1 else str(list(names))


def choose_learned(
    data: FitData, parameters: RankerParameters, comm: Comm = ONE_PROCESS
) -> FitData:
    """Return the data with the queries to learn from, or raise a ValueError."""
    p = parameters
    check_learnable(data.train, p, comm)
    learned = data.train.subset(p.has_pairs(data.train))
    check_weights(learned.sample_weight, "sample_weight", p.weight_bounds)
    check_document_weights(learned, p.weight_bounds)
    check_judged_weights(learned, p.weight_bounds)
    return data._replace(learned=learned)


def check_learnable(
    data: TrainingData, parameters: RankerParameters, comm: Comm = ONE_PROCESS
) -> None:
    """Raise a ValueError unless a query has pairs."""
    if parameters.has_tied_pairs(data):
        if not parameters.has_pairs(data).any():
            raise ValueError(
                "no query of a weight above zero has two documents, so there are no "
                "pairs to learn from: check groups, sample_weight and document_weight"
            )
        return
    if not data.has_pairs.any():
        sizes = f"n_queries={data.n_queries}, n_samples={data.n_rows}"
        raise ValueError(data.pairs.NONE_LEFT.format(those=data.in_words, sizes=sizes))
    check_weighted_pairs(data, comm)


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
    """Put the name of a label before the message of an error, unless it is alone."""
    try:
        yield
    except ValueError as error:
        if label.is_only:
            raise
        raise ValueError(f"label {label.name!r}: {error}") from None


def hold_out_queries(
    data: FitData,
    parameters: RankerParameters,
    seed: int,
    comm: Comm = ONE_PROCESS,
) -> FitData:
    """Hold out a fraction of all queries, or users, if early stopping needs it."""
    if data.validation or not parameters.holds_out:
        return data
    index, columns = QueryIndex.locate(data.train, comm), data.train.columns
    held_out = draw_held_out(
        index.n_queries,
        parameters.validation_fraction,
        seed,
        columns.users,  # which a cluster does not take, so these are of all queries
        columns.order,
    )
    n_held_out, own = np.count_nonzero(held_out), held_out[index.position]
    train, held = data.train.subset(~own), data.train.subset(own)
    had_pairs, has_pairs = (
        any(comm.gather(bool(parameters.has_pairs(part).any())))
        for part in (data.train, train)
    )
    if had_pairs and not has_pairs and not train.pairs.are_judged:
        raise ValueError(
            f"early_stopping holds out {n_held_out} of {index.n_queries} queries, and "
            "of those left to learn from, y has no query with two different grades: "
            "give X_val, y_val and groups_val, or more queries"
        )
    return FitData(train, train, [held])
