"""Common parts of bags and blends: rows of a fit, labels, and scores of members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from sklearn_ltr._core.data import (
    HELD_OUT_BY,
    FitArguments,
    QueryGroups,
    TrainingData,
    check_base_scores,
    count_rows,
)
from sklearn_ltr._core.data.features import check_columns
from sklearn_ltr._core.data.labels import label_names, label_shares, n_label_columns
from sklearn_ltr._core.data.pairs import GivenJudgements
from sklearn_ltr._core.data.rows import check_table, index_rows, n_rows
from sklearn_ltr._core.rankers.base import BaseRanker
from sklearn_ltr._core.ranking.reading import (
    LabelChoice,
    check_y_given,
    read_queries,
    read_targets,
    read_ungraded,
)
from sklearn_ltr._core.typing import FloatArray, IntArray, MatrixLike


class FitRows(NamedTuple):
    """The rows of `fit` of a weight above 0, checked."""

    X: MatrixLike  # as given
    # in the order of the rows; of several labels as given; None: only pairs are judged
    y: ArrayLike | None
    # groups and the other columns that were given, in the order of the rows
    columns: dict[str, Any]
    pairs: GivenJudgements
    queries: QueryGroups
    data: TrainingData  # grades and weights, in canonical order
    kept: NDArray[np.bool_]  # which of the given rows these are,
    kept_queries: NDArray[np.bool_]  # and which of the given queries
    have_queries: bool  # else all rows are taken for one, or pairs are of none

    @property
    def metadata(self) -> dict[str, Any]:
        """What `fit` is given beside X and y."""
        return self.columns | self.pairs.given()

    def take(
        self, index: NDArray[np.intp]
    ) -> tuple[MatrixLike, ArrayLike | None, dict[str, Any]]:
        """Return X, y and what else `fit` is given, of some rows."""
        columns = {name: index_rows(c, index) for name, c in self.columns.items()}
        metadata = columns | self.pairs.select(index).given()
        y = None if self.y is None else index_rows(self.y, index)
        return index_rows(self.X, index), y, metadata


def read_rows(given: FitArguments, labels: LabelChoice) -> FitRows:
    """Check the arguments of `fit`, but the values of X, which the members check."""
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
        pairs.read_alone(queries, by_query=groups is not None)
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


# --- several labels -----------------------------------------------------------------


def ranker_within(estimator: Any) -> Any:
    """Return the ranker of a Pipeline or another meta-estimator, or what it ends in."""
    while not isinstance(estimator, BaseRanker):
        steps = getattr(estimator, "steps", None)
        inner = steps[-1][1] if steps else getattr(estimator, "estimator", None)
        if inner is None:
            return estimator
        estimator = inner
    return estimator


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


def labels_of_rankers(
    y: ArrayLike | None, rankers: Sequence[BaseEstimator], *, measured: bool
) -> LabelChoice:
    """Return the weights of labels that rankers agree on; a ValueError if they do not.

    If nothing is `measured`, they need not agree.
    """
    names = label_names(y)
    if len(names) == 1:
        return LabelChoice(True, None)
    learners = [ranker_within(ranker) for ranker in rankers]
    shares = [
        label_shares(ranker._labels_of(y, measured=measured).weights, names)
        for ranker in learners
        if isinstance(ranker, BaseRanker) and ranker._takes_labels
    ]
    differing = [other for other in shares if not np.array_equal(other, shares[0])]
    if measured and differing:
        raise ValueError(
            "a mean over labels is by the label_weights of the rankers, which differ: "
            f"{shares[0].tolist()} and {differing[0].tolist()}; give rankers of the "
            "same label_weights, or measure one label, as in score(label=0)"
        )
    return LabelChoice(True, None if differing or not shares else shares[0])


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
