"""Scores of queries that rankers were not fitted to, from cross-validation by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple, Self, TypeAlias, cast

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import BaseCrossValidator, GroupKFold, check_cv
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._data import TrainingData, check_scores
from sklearn_ltr._data.rows import index_rows
from sklearn_ltr._estimators.caller import (
    Found,
    collected_warnings,
    warn_caller,
    warn_of_members,
)
from sklearn_ltr._estimators.routing import requested_metadata
from sklearn_ltr._rankers.lambdamart import given_values
from sklearn_ltr._typing import FloatArray, IntArray, MatrixLike
from sklearn_ltr.ensemble._members import FitRows, check_taken

PREFIT = "prefit"
DEFAULT_N_FOLDS = 5

Split = tuple[NDArray[np.intp], NDArray[np.intp]]  # rows to train on, held-out rows
# a number of folds, a splitter, splits, or "prefit"
SplitsLike: TypeAlias = (
    int | BaseCrossValidator | Iterable[tuple[ArrayLike, ArrayLike]] | str | None
)


def check_splits_word(cv: SplitsLike) -> None:
    """Raise a ValueError for a word that stands for no splits."""
    if isinstance(cv, str) and cv != PREFIT:
        raise ValueError(
            f'cv must be a number of folds, a splitter, splits or "{PREFIT}", got '
            f"{cv!r}"
        )


def fit_and_score(
    rankers: Sequence[BaseEstimator],
    rows: FitRows,
    splits: list[Split] | None,
    n_jobs: int | None,
) -> tuple[list[BaseEstimator], list[ArrayLike]]:
    """Return the rankers fitted to all rows, and scores of all rows."""
    # the scores are out-of-fold; without `splits`, the fitted rankers' own
    models, scores = [], []
    with sklearn.config_context(enable_metadata_routing=True):
        clones = [clone(ranker) for ranker in rankers]
        requested = [requested_metadata(model, rows.metadata) for model in clones]
        check_taken(rows, requested)
        warned = []
        for model, params in zip(clones, requested, strict=True):
            with collected_warnings() as found:
                if splits is not None:
                    scores.append(out_of_fold(model, rows, params, splits, n_jobs))
                models.append(model.fit(rows.X, rows.y, **params))
            warned.append(found)
            if splits is None:
                scores.append(model.predict(rows.X))
    warn_of_members(warned)
    return models, scores


def out_of_fold(
    ranker: BaseEstimator,
    rows: FitRows,
    taken: Iterable[str],
    splits: Sequence[Split],
    n_jobs: int | None,
) -> ArrayLike:
    """Return scores of all rows by clones that were not fitted to their queries.

    `taken` are the names of what they are fitted with beside X and y.
    """
    jobs = (
        delayed(fit_and_predict)(clone(ranker), *split_rows(rows, taken, split))
        for split in splits
    )
    done = Parallel(n_jobs=n_jobs, pre_dispatch="2*n_jobs")(jobs)
    by_fold, warned = zip(*done, strict=True)
    for message, category in chain(*warned):  # here, whatever thread has fitted
        warn_caller(message, category)
    held_out = np.concatenate([test for _, test in splits])
    scores: ArrayLike = np.concatenate(by_fold)[np.argsort(held_out)]
    return scores


def split_rows(
    rows: FitRows, taken: Iterable[str], split: Split
) -> tuple[MatrixLike, ArrayLike | None, dict[str, Any], MatrixLike]:
    """Return X, y and what else a fit is given, and the X of the held-out rows."""
    train, test = split
    X, y, metadata = rows.take(train)
    X_test = index_rows(given_values(rows.X), test)
    return X, y, {name: metadata[name] for name in taken}, X_test


def fit_and_predict(
    ranker: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike | None,
    metadata: Mapping[str, Any],
    X_test: MatrixLike,
) -> tuple[ArrayLike, list[Found]]:
    """Fit a ranker to some rows; return its scores of others, and warnings."""
    with collected_warnings() as found:
        return ranker.fit(X, y, **metadata).predict(X_test), found


def score_prefit(
    rankers: Sequence[BaseEstimator], X: MatrixLike, names: Sequence[str]
) -> tuple[list[BaseEstimator], list[ArrayLike]]:
    """Return fitted rankers and their scores; raise NotFittedError if one is not."""
    for ranker, name in zip(rankers, names, strict=True):
        check_is_fitted(
            ranker,
            msg=f"{name}, a %(name)s, is not fitted, as cv={PREFIT!r} says it is",
        )
    return list(rankers), [ranker.predict(X) for ranker in rankers]


def make_splits(cv: SplitsLike, rows: FitRows) -> list[Split]:
    """Return the splits that `cv` stands for, as a list that all rankers share."""
    if cv is None:
        cv = DEFAULT_N_FOLDS
    queries = rows.queries
    if isinstance(cv, Integral):
        n_folds = int(cv)
        if not 2 <= n_folds <= queries.n_queries:
            raise ValueError(
                f"cv must be at least 2 folds and no more than there are queries, got "
                f"{n_folds} folds for {queries.n_queries} queries: use fewer folds, or "
                f"fitted rankers and cv={PREFIT!r}"
            )
        cv = GroupKFold(n_folds)
    if not hasattr(cv, "split") and not rows.kept.all():
        # splits number the rows that were given; rows of weight 0 are left out
        number = np.where(rows.kept, np.cumsum(rows.kept) - 1, -1)
        given = cast(Iterable[tuple[Any, Any]], cv)
        cv = [
            (train[train >= 0], test[test >= 0])
            for train, test in ((number[a], number[b]) for a, b in given)
        ]
    given_splits = check_cv(cv).split(rows.X, rows.y, queries.query_of_row)
    splits = [(np.asarray(train), np.asarray(test)) for train, test in given_splits]
    check_splits(splits, rows)
    return splits


def check_splits(splits: Sequence[Split], rows: FitRows) -> None:
    """Raise a ValueError unless each row is held out once, and queries stay whole."""
    if not splits:
        raise ValueError(
            "cv has no splits: give a list of them, as a generator is used up when it "
            "has been read once"
        )
    held_out = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(held_out), np.arange(rows.queries.n_documents)):
        raise ValueError(
            "cv must hold out each row once, as GroupKFold does, so that each has one "
            "out-of-fold score"
        )
    if not rows.have_queries:  # a warning tells that all are taken for one
        return
    query_of_row = rows.queries.query_of_row
    for number, (train, test) in enumerate(splits):
        cut = np.intersect1d(query_of_row[train], query_of_row[test])
        if len(cut) > 0:
            raise ValueError(
                f"cv cuts queries apart: in split {number}, {len(cut)} queries, such "
                f"as query {rows.queries.describe(int(cut[0]))}, have rows to train on "
                "and others that are held out, so that scores would not be those of "
                "new queries: give a splitter that keeps queries whole, such as "
                "cv=GroupKFold(5)"
            )


class HeldOut(NamedTuple):
    """Scores of rankers, and grades, in an order that does not depend on that of rows.

    Sums round differently in another order.  Queries are sorted by their labels, and
    the rows of a query by their scores and grades.
    """

    scores: list[FloatArray]
    data: TrainingData

    @property
    def y(self) -> FloatArray:
        """The grades; of several labels, (n_rows, n_labels) with NaN."""
        values = self.data.grades.values.T
        return values[:, 0] if self.data.n_labels == 1 else values

    @property
    def query(self) -> IntArray:
        """The number of the query of each row."""
        return np.repeat(np.arange(self.data.n_queries), self.data.sizes)

    @property
    def sample_weight(self) -> FloatArray:
        """The weight of the query of each row."""
        return np.repeat(self.data.sample_weight, self.data.sizes)

    @classmethod
    def sort(
        cls, rows: FitRows, scores: Sequence[ArrayLike], names: Sequence[str]
    ) -> Self:
        """Check and sort scores of the rows; the names of rankers are for messages."""
        queries, data = rows.queries, rows.data
        checked = [
            check_scores(scores_m, queries, f"scores of {name}")
            for scores_m, name in zip(scores, names, strict=True)
        ]
        query = np.repeat(np.arange(queries.n_queries), queries.sizes)
        order = np.lexsort((*data.grades.counted, data.y, *checked, query))
        return cls([scores_m[order] for scores_m in checked], data.reordered(order))
