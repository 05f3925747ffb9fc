"""Common parts of bags and blends: rows of a fit, labels, and scores of members."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ltr._core.caller import DeferredWarning, warn_caller
from sklearn_ltr._core.data import (
    HELD_OUT_BY,
    FitArguments,
    QueryGroups,
    TrainingData,
    check_base_scores,
    count_rows,
)
from sklearn_ltr._core.data.features import check_columns
from sklearn_ltr._core.data.groups import first_copies
from sklearn_ltr._core.data.labels import n_label_columns
from sklearn_ltr._core.data.pairs import GivenPairs
from sklearn_ltr._core.data.rows import check_table, index_rows, n_rows
from sklearn_ltr._core.estimators.monitor import Abandonment
from sklearn_ltr._core.parts import GIVEN, nested
from sklearn_ltr._core.rankers.base import BaseRanker
from sklearn_ltr._core.ranking.reading import (
    LabelChoice,
    check_y_given,
    read_queries,
    read_targets,
    read_ungraded,
)
from sklearn_ltr._core.typing import FloatArray, IntArray, MatrixLike

R = TypeVar("R")


def in_parallel(
    function: Callable[..., R],
    calls: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    **options: Any,
) -> list[R]:
    """Return what a function that fits returns for each tuple of arguments."""
    # in joblib's threads or processes; `options` are those of `Parallel`
    abandonment = Abandonment()
    jobs = (delayed(call_fit)(abandonment, function, *given) for given in calls)
    # each of scikit-learn's threads sets, and restores, the one list of filters
    with warnings.catch_warnings(), abandonment.by_error():
        found: list[R] = Parallel(n_jobs=n_jobs, **options)(jobs)
    return found


def call_fit(abandonment: Abandonment, function: Callable[..., R], *given: Any) -> R:
    """Call the function, with fits that may be abandoned."""
    with abandonment.of_fits():
        return function(*given)


class FitRows(NamedTuple):
    """The rows of `fit` of a weight above 0, checked."""

    X: MatrixLike  # as given
    # in the order of the rows; of several labels as given; None: only pairs are judged
    y: ArrayLike | None
    # groups and the other columns that were given, in the order of the rows
    columns: dict[str, Any]
    pairs: GivenPairs
    queries: QueryGroups
    data: TrainingData  # grades and weights, in canonical order
    kept: NDArray[np.bool_]  # which of the given rows these are,
    kept_queries: NDArray[np.bool_]  # and which of the given queries
    have_queries: bool  # else all rows are taken for one, or pairs are of none

    @property
    def metadata(self) -> dict[str, Any]:
        """What `fit` is given beside X and y."""
        return self.columns | self.pairs.given()

    @property
    def original_of_row(self) -> IntArray:
        """Number of each row's query; of a copy, that of the first of them."""
        first = first_copies(self.queries.query_ids)
        return first[self.queries.query_of_row]

    def take(
        self, index: NDArray[np.intp]
    ) -> tuple[MatrixLike, ArrayLike | None, dict[str, Any]]:
        """Return X, y and what else `fit` is given, of some rows."""
        columns = {name: index_rows(c, index) for name, c in self.columns.items()}
        metadata = columns | self.pairs.select(index).given()
        y = None if self.y is None else index_rows(self.y, index)
        return index_rows(self.X, index), y, metadata


def read_rows(
    given: FitArguments, labels: LabelChoice, without_grades: str = ""
) -> FitRows:
    """Check the arguments of `fit`, but the values of X, which the members check.

    `without_grades` is the error for pairs without y, where grades are measured.
    """
    X, y, groups, pairs = given.X, given.y, given.groups, given.pairs
    check_table(X, "X")
    judged = pairs.are_given()
    if y is None and judged:
        n_documents = n_rows(X)
        queries, data = read_ungraded(given, n_documents)
    else:
        check_y_given(y)
        n_documents = count_rows(y, "y")
        queries = read_queries(groups, n_documents, X=X)
        if n_rows(X) not in (0, n_documents):  # the members refuse an X without rows
            raise ValueError(
                f"X has {n_rows(X)} rows and y {n_documents} values, inconsistent "
                "numbers of samples: give one value per row"
            )
        data = read_targets(y, queries, given.columns, labels=labels)
    if judged:
        pairs.read(queries, by_query=groups is not None)
        if y is None and without_grades:
            raise ValueError(without_grades)
        pairs = pairs.as_arrays()
    read: dict[str, Any] = {
        name: queries.unsort(values)
        for name, values in data.columns.by_row(data.sizes).items()
    }
    columns = read
    if y is not None or groups is not None:  # else pairs are of no queries
        columns = {"groups": queries.column, **read}
    if y is not None and data.n_labels == 1:
        y = queries.unsort(data.y)
    weights, have_queries = data.sample_weight, groups is not None
    every = np.ones(n_documents, np.bool_), np.ones(data.n_queries, np.bool_)
    rows = FitRows(X, y, columns, pairs, queries, data, *every, have_queries)
    if weights.all() or n_rows(X) == 0:
        return rows
    kept = read["sample_weight"] > 0
    X, y, taken = rows.take(np.flatnonzero(kept))
    groups = taken.pop("groups", None)
    own = read_rows(FitArguments.of(X, y, groups, **taken), labels)
    return own._replace(kept=kept, kept_queries=weights > 0, have_queries=have_queries)


def check_taken(rows: FitRows, taken: Sequence[Mapping[str, object]]) -> None:
    """Raise a ValueError for a given column that no member is fitted with."""
    for name in rows.metadata.keys() - {"groups", "sample_weight", *HELD_OUT_BY}:
        if not any(name in given for given in taken):
            raise ValueError(
                f"{name} was given, but no member learns from it: leave it out, or "
                "give a ranker that learns from it, such as LambdaMARTRanker"
            )


def warn_of_members(by_member: Sequence[Sequence[DeferredWarning]]) -> None:
    """Warn once of each category that members of an ensemble have warned of."""
    first: dict[type[Warning], str] = {}
    for found in by_member:
        for message, category in found:
            first.setdefault(category, message)
    for category, message in first.items():
        n = sum(any(one.category is category for one in found) for found in by_member)
        warn_caller(f"{n} of {len(by_member)} members: {message}", category)


# --- several labels -----------------------------------------------------------------


def ranker_within(estimator: BaseEstimator) -> Any:
    """Return the ranker of a Pipeline or another meta-estimator, or what it ends in."""
    found = nested(estimator, GIVEN)
    return next((part for part in found if isinstance(part, BaseRanker)), found[-1])


def check_learn_labels(
    y: ArrayLike | None, rankers: Sequence[BaseEstimator], names: Sequence[str]
) -> None:
    """Raise a ValueError for several labels if a ranker learns from one only."""
    n_labels = n_label_columns(y)
    for ranker, name in zip(rankers, names, strict=True):
        learner = ranker_within(ranker)
        if isinstance(learner, BaseRanker):
            is_of_one = not learner._takes_labels
        else:
            is_of_one = is_regressor(learner) or is_classifier(learner)
        if n_labels > 1 and is_of_one:
            raise ValueError(
                f"y has {n_labels} columns, one for each label, and {name}, a "
                f"{type(learner).__name__}, learns from one: give one column of y, or "
                "rankers of trees and networks, which learn from several"
            )


def centred_within_queries(scores: FloatArray, starts: IntArray) -> FloatArray:
    """Return scores, (..., n_rows), minus the mean of their query.

    `starts` are the rows at which queries begin.
    """
    sizes = np.diff(np.append(starts, scores.shape[-1]))
    means = np.add.reduceat(scores, starts, axis=-1) / sizes
    return np.asarray(scores - np.repeat(means, sizes, axis=-1))


def predict_scores(
    members: Sequence[BaseEstimator], X: MatrixLike, name: str
) -> list[FloatArray]:
    """Return the scores of documents by fitted members, each (n_documents,) float64."""
    check_table(X, "X")
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] == 0:  # which scikit-learn's estimators refuse
        check_columns(members[0], X, "X")
        return [np.empty(0) for _ in members]
    scores = [member.predict(X) for member in members]
    n_documents = count_rows(scores[0], f"what {name}[0] predicts")
    return [
        check_base_scores(scores_m, n_documents, f"what {name}[{m}] predicts")
        for m, scores_m in enumerate(scores)
    ]
