"""The arguments of a ranker's `fit`: checked, sorted by query, and split."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config

from sklearn_ltr._comm import ONE_PROCESS, Comm
from sklearn_ltr._data import (
    FitData,
    GivenColumns,
    QueryGroups,
    TrainingData,
    check_grades,
)
from sklearn_ltr._data.features import check_has_rows
from sklearn_ltr._data.labels import (
    check_have_judged,
    n_label_columns,
    read_label_grades,
)
from sklearn_ltr._data.pairs import GivenPairs
from sklearn_ltr._data.query_index import QueryIndex
from sklearn_ltr._data.tables import Table
from sklearn_ltr._data.training_data import without_zero_weights
from sklearn_ltr._estimators.base import FitParameters
from sklearn_ltr._estimators.caller import warn_caller
from sklearn_ltr._typing import IdsLike
from sklearn_ltr.metrics import Metric


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
    "forgotten: pass groups=, one value per row{zeros}. Or {dropped}"
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

VANISHING_LAMBDAS = (
    "the scores that training starts from are so far apart that the lambdas of all "
    "pairs are 0 in float64, so there is nothing to learn: divide the scores (of "
    "init or init_score), or give a smaller sigma; sample_weight must not vanish"
)
NO_VALIDATION_OF_PAIRS = (
    "early_stopping=True with pairs needs graded documents to measure: give X_val, "
    "y_val and groups_val"
)
NO_LAMBDAS_OF_PAIRS = (
    "the lambdas of the pairs add up to 0 for every document at the scores that "
    "training starts from, so there is nothing to learn: either the pairs contradict "
    "each other evenly, or no swap of one changes the metric at its cutoff: give more "
    "pairs, or a metric without a cutoff"
)


class LabelChoice(NamedTuple):
    """Whether y may have a column for each of several labels, and their weights."""

    are_taken: bool
    weights: ArrayLike | None
    is_part: bool = False  # whether other workers have further rows


ONE_LABEL = LabelChoice(False, None)


def read_queries(
    groups: IdsLike | None, n_documents: int, suffix: str = ""
) -> QueryGroups:
    """Return the queries of the rows; a few rows without `groups` are one query."""
    # `suffix` is appended to the argument's name in messages ("_val")
    if groups is not None:
        return QueryGroups.from_groups(groups, n_documents, f"groups{suffix}")
    queries = single_query(n_documents, suffix)
    warn_caller(
        missing_groups_message(suffix, "so all rows were taken for one query"),
        MissingGroupsWarning,
    )
    return queries


def single_query(n_documents: int, suffix: str = "") -> QueryGroups:
    """Return all rows as one query; a ValueError if they are too many for that."""
    if n_documents > MOST_ROWS_WITHOUT_GROUPS:
        found = f"and {n_documents:,} rows are more than one query is likely to have"
        zeros = f" (numpy.zeros({n_documents}) if they are one list)"
        raise ValueError(missing_groups_message(suffix, found, zeros))
    return QueryGroups.single(n_documents)


def missing_groups_message(suffix: str, found: str, zeros: str = "") -> str:
    """Return the message for missing groups, of training or of validation data."""
    is_on = get_config()["enable_metadata_routing"]
    dropped = DROPPED_IF_ON if is_on else DROPPED_IF_OFF
    argument = f"groups{suffix.partition('[')[0]}"  # the one of several sets
    return MISSING_GROUPS.replace("groups", f"groups{suffix}").format(
        found=found, zeros=zeros, dropped=dropped.replace("groups", argument)
    )


def check_y_given(y: ArrayLike | None, suffix: str = "") -> None:
    """Raise a ValueError, in words that scikit-learn's checks look for, without y."""
    if y is None:
        raise ValueError(
            f"y{suffix} is None: a ranker requires y to be passed, but the target "
            "y is None; give one relevance grade per row"
        )


def read_training_data(
    X: Table,
    y: ArrayLike | None,
    groups: IdsLike | None,
    columns: GivenColumns,
    suffix: str = "",
    labels: LabelChoice = ONE_LABEL,
) -> TrainingData:
    """Check y and the columns that come with X, and sort them by query."""
    # `suffix` is put after the names of arguments in messages: "_val"
    check_has_rows(X, f"X{suffix}")
    check_y_given(y, suffix)
    queries = read_queries(groups, X.shape[0], suffix)
    return replace(read_targets(y, queries, columns, suffix, labels), X=X)


def read_targets(
    y: ArrayLike | None,
    queries: QueryGroups,
    columns: GivenColumns,
    suffix: str = "",
    labels: LabelChoice = ONE_LABEL,
) -> TrainingData:
    """Check grades and columns, and sort them by query; without features."""
    if n_label_columns(y) > 1:
        return read_several_labels(y, queries, columns, suffix, labels)
    return TrainingData(
        check_grades(y, queries, f"y{suffix}"),
        queries.offsets,
        queries.labels,
        columns.read(queries, suffix),
        rows=queries.order,
    )


def read_several_labels(
    y: ArrayLike | None,
    queries: QueryGroups,
    columns: GivenColumns,
    suffix: str,
    labels: LabelChoice,
) -> TrainingData:
    """Check the grades of several labels, and columns, and sort them by query."""
    if not labels.are_taken:
        raise ValueError(
            f"y{suffix} must hold one number for each of the {queries.n_documents} "
            f"rows, got shape ({queries.n_documents}, {n_label_columns(y)}): give one "
            "label, such as a column of it; the rankers of trees and networks learn "
            "from several, and score and scorers take one of them as label="
        )
    grades = read_label_grades(y, queries, labels.weights, f"y{suffix}")
    if not labels.is_part:
        have_judged = (~np.isnan(grades.values)).any(axis=0)
        check_have_judged(np.asarray(have_judged), grades.names, f"y{suffix}")
    read = columns.read(queries, suffix)
    counts = np.ones(queries.n_documents, dtype=np.bool_)
    if read.sample_weight is not None:
        counts = np.repeat(read.sample_weight > 0, queries.sizes)
    return TrainingData(
        grades.in_one(grades.largest(counts)),
        queries.offsets,
        queries.labels,
        read,
        rows=queries.order,
        label_grades=grades,
    )


# --- judged pairs ---------------------------------------------------------------------


def has_pairs(given: GivenPairs) -> bool:
    """Return whether pairs were given; a ValueError for what belongs to pairs alone."""
    if given.pairs is None:
        for name in given.given():
            raise ValueError(f"{name} needs pairs, and pairs is None")
    return given.pairs is not None


def check_judged(
    given: GivenPairs, y: ArrayLike | None, metric: str | Metric | None
) -> bool:
    """Return whether pairs are judged; a ValueError if y does not go with them."""
    if not has_pairs(given):
        return False
    if metric is None and y is not None:
        raise ValueError(
            "y and pairs were both given: learn either from grades or from "
            "preferences; only a metric needs both, the grades for its changes"
        )
    if metric is not None and y is None:
        raise ValueError(
            f"y is None, but metric={metric!r} weighs each of the pairs by how much a "
            "swap of its documents changes it: give y, the grades, or metric=None to "
            "learn from pairs alone"
        )
    return True


def read_preferences(
    X: Table, given: GivenPairs, groups: IdsLike | None, columns: GivenColumns
) -> TrainingData:
    """Return the rows that pairs compare, in place of grades."""
    # y is the share of its pairs that a row wins, by which categories are sorted
    check_has_rows(X, "X")
    queries, data = read_ungraded(groups, columns, X.shape[0])
    pairs = given.read(queries, by_query=groups is not None)
    data = replace(data, X=X, pairs=pairs)
    data = without_zero_weights(data, "sample_weight")
    if not data.has_pairs.any():
        raise ValueError(
            "sample_weight is zero for every query that has pairs: there is nothing to "
            "learn"
        )
    data = data.compared()
    assert data.pairs is not None
    return replace(data, y=data.pairs.shares_won(data.n_rows))


def read_ungraded(
    groups: IdsLike | None, columns: GivenColumns, n_rows: int
) -> tuple[QueryGroups, TrainingData]:
    """Return the queries of rows without grades, and these rows without features."""
    if groups is None:
        if columns.sample_weight is not None:
            raise ValueError(
                "sample_weight weighs queries, and without groups pairs have none; "
                "give groups too"
            )
        queries = QueryGroups.single(n_rows)
    else:
        queries = QueryGroups.from_groups(groups, n_rows)
    data = TrainingData(
        np.zeros(n_rows),
        queries.offsets,
        queries.labels,
        columns.read(queries),
        rows=queries.order,
    )
    return queries, data


def with_pairs(
    data: TrainingData, given: GivenPairs, groups: IdsLike | None
) -> TrainingData:
    """Return graded rows with the judged pairs of documents of different grades."""
    # a swap of documents of equal grades changes no metric
    if data.label_grades is not None:
        raise ValueError(
            "pairs are weighed by the metric of one label, but y has "
            f"{data.label_grades.n_labels} columns: give one of them, or no pairs"
        )
    n_rows = data.X.shape[0]
    single = np.zeros(n_rows, dtype=np.int64)
    queries = QueryGroups.from_groups(single if groups is None else groups, n_rows)
    counted = np.zeros(n_rows, dtype=np.bool_)
    counted[data.rows] = True  # without queries of weight 0
    pairs = given.read(queries, by_query=True)
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


def check_learnable(data: TrainingData) -> None:
    """Raise a ValueError unless a query has different grades."""
    if data.pairs is not None and not data.has_pairs.any():
        raise ValueError(
            "no query that is left to learn from has judged pairs of documents of "
            "different grades: lower validation_fraction, or give X_val, y_val and "
            "groups_val"
        )
    if not data.has_pairs.any():
        raise ValueError(
            "y has no query with two different grades among those of a sample_weight "
            f"above zero (n_queries={data.n_queries}, n_samples={data.n_rows}): there "
            "is no order to learn: check y and groups"
        )


def check_weighted_pairs(data: TrainingData, comm: Comm = ONE_PROCESS) -> None:
    """Raise a ValueError unless a query of all workers has pairs that count."""
    if data.columns.document_weight is None:  # then each query has pairs
        return
    if not any(comm.gather(bool(data.has_weighted_pairs.any()))):
        raise ValueError(
            "document_weight is zero for so many documents that no query has two "
            "different grades of weights above zero: there are no pairs to learn from"
        )


def hold_out_queries(
    data: FitData,
    parameters: FitParameters,
    seed: int,
    comm: Comm = ONE_PROCESS,
) -> FitData:
    """Hold out a fraction of all queries, at least one, if early stopping needs it."""
    if data.validation or not parameters.holds_out:
        return data
    index = QueryIndex.locate(data.train, comm)
    held_out = draw_held_out(index.n_queries, parameters.validation_fraction, seed)
    held_out = held_out[index.position]
    return FitData(data.train.subset(~held_out), [data.train.subset(held_out)])


def draw_held_out(n_queries: int, fraction: float, seed: int) -> NDArray[np.bool_]:
    """Return whether each query is among those drawn to be held out, at least one."""
    n_held_out = max(1, round(fraction * n_queries))
    if n_held_out >= n_queries:
        raise ValueError(
            f"validation_fraction={fraction} of {n_queries} queries leaves "
            "none to learn from: give X_val, y_val and groups_val, or more queries"
        )
    held_out = np.zeros(n_queries, dtype=np.bool_)
    order = np.random.default_rng([seed, 1]).permutation(n_queries)
    held_out[order[:n_held_out]] = True
    return held_out


def check_lambdas(
    total: float,
    totals: tuple[float, float],
    metric: str | Metric | None,
    trained: Metric | None,
    data: TrainingData,
    *,
    by_function: bool,
) -> None:
    """Raise a ValueError unless the sum of |lambda| is in a range."""
    # `metric` is the user's parameter, `trained` the metric that it stands for
    low, high = totals
    if low <= total <= high:
        return
    if by_function:
        raise ValueError(
            f"the gradients that objective returned add up to {total:.3g}, out "
            f"of [{low:g}, {high:g}], so there is nothing to learn from: "
            "change their scale or that of sample_weight"
        )
    if total == 0:
        raise ValueError(zero_gradient_message(metric, trained, data))
    raise ValueError(
        f"the lambdas of metric={metric!r} add up to {total:.3g}, out of "
        f"[{low:g}, {high:g}]: change the scale of its gains, of sigma or of "
        "sample_weight or document_weight"
    )


def zero_gradient_message(
    metric: str | Metric | None, trained: Metric | None, data: TrainingData
) -> str:
    """Return the message of the error for data whose lambdas are all zero."""
    # each query of the data has two different grades, so the metric is the cause
    if data.pairs is not None:
        return NO_LAMBDAS_OF_PAIRS
    if data.n_rows == 0:  # a worker may have none of a label
        return f"metric={metric!r} has no lambdas, so there is nothing to learn"
    if trained is None:
        return VANISHING_LAMBDAS
    if not trained.closed_form:
        return (
            f"no swap of two documents changes metric={metric!r}, so there is nothing "
            f"to learn: {type(trained).__name__}.swap_delta returns only zeros"
        )
    bound = trained.bind(data.y, data.offsets, data.labels)
    starts = data.offsets[:-1]
    highest = np.maximum.reduceat(bound.gain, starts)
    lowest = np.minimum.reduceat(bound.gain, starts)
    differs = highest > lowest
    if not differs.any():
        if lowest.all():
            which = "every document is relevant"
        elif not highest.any():
            which = "no document is relevant"
        else:
            which = "all documents of a query have the same gain"
        return (
            f"to metric={metric!r} {which} (the grades are {data.y.min():g} to "
            f"{data.y.max():g}), so there is nothing to learn: give a metric object "
            "with another relevant_from or gain"
        )
    if not bound.scale[differs].any():
        return (
            f"metric={metric!r} is 0 for lists of fewer than k documents, and no list "
            'has more, so there is nothing to learn: use short_lists="cut"'
        )
    flat = np.ptp(bound.discount[: bound.k]) == 0
    if flat and (data.sizes[differs] <= bound.k).all():
        return (
            f"no swap of two documents changes metric={metric!r}, so there is nothing "
            "to learn: without a discount it needs a cutoff shorter than the lists"
        )
    return VANISHING_LAMBDAS
