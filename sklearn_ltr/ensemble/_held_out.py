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
from sklearn.model_selection import (
    BaseCrossValidator,
    GroupKFold,
    TimeSeriesSplit,
    check_cv,
)
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.caller import DeferredWarning, collected_warnings, warn_caller
from sklearn_ltr._core.data import HELD_OUT_BY, TrainingData, check_scores
from sklearn_ltr._core.data.feature_reader import given_values
from sklearn_ltr._core.data.query_values import forward_folds
from sklearn_ltr._core.data.rows import index_rows
from sklearn_ltr._core.estimators.routing import requested_metadata
from sklearn_ltr._core.estimators.unused_positions import positions_may_be_used_by
from sklearn_ltr._core.typing import FloatArray, IntArray, MatrixLike
from sklearn_ltr.ensemble._members import (
    FitRows,
    check_learn_labels,
    check_taken,
    in_parallel,
    warn_of_members,
)

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
    names: Sequence[str],
    rows: FitRows,
    cv: SplitsLike,
    n_jobs: int | None,
    *,
    by_folds: bool = True,
) -> tuple[list[BaseEstimator], HeldOut]:
    """Return the rankers fitted to all rows, and scores of the held-out rows.

    With cv="prefit" they are fitted already.  Then, and without `by_folds`, the
    scores are their own, of all rows.
    """
    if isinstance(cv, str):
        check_taken(rows, [])
        models, scores = score_prefit(rankers, rows.X, names)
        return models, HeldOut.sort(rows, scores, names)
    check_learn_labels(rows.y, rankers, names)
    splits = make_splits(cv, rows) if by_folds else None
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
    with positions_may_be_used_by(rankers):
        warn_of_members(warned)
    return models, HeldOut.sort(rows, scores, names, splits)


def out_of_fold(
    ranker: BaseEstimator,
    rows: FitRows,
    taken: Iterable[str],
    splits: Sequence[Split],
    n_jobs: int | None,
) -> ArrayLike:
    """Return scores of held-out rows by clones that were not fitted to their queries.

    They are in the order of the rows.  `taken` are the names of what the clones are
    fitted with beside X and y.
    """

    def divided(split: Split) -> tuple[Any, ...]:
        """Return X, y and what else a fit is given, and the X of the held-out rows."""
        train, test = split
        X, y, metadata = rows.take(train)
        given = {name: metadata[name] for name in taken}
        return X, y, given, index_rows(given_values(rows.X), test)

    calls = ((clone(ranker), *divided(split)) for split in splits)
    done = in_parallel(fit_and_predict, calls, n_jobs, pre_dispatch="2*n_jobs")
    by_fold, warned = zip(*done, strict=True)
    for message, category in chain(*warned):  # here, whatever thread has fitted
        warn_caller(message, category)
    held_out = np.concatenate([test for _, test in splits])
    scores: ArrayLike = np.concatenate(by_fold)[np.argsort(held_out)]
    return scores


def fit_and_predict(
    ranker: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike | None,
    metadata: Mapping[str, Any],
    X_test: MatrixLike,
) -> tuple[ArrayLike, list[DeferredWarning]]:
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
    queries, dates = rows.queries, rows.data.columns.order
    given = {name: rows.columns.get(name) for name in HELD_OUT_BY}
    # what stays together: users, or queries, each with all copies of it
    what, groups = "users", given["users"]
    if groups is None:
        what, groups = "queries", rows.original_of_row
    if cv is None:
        cv = DEFAULT_N_FOLDS
    if isinstance(cv, Integral):
        n_folds, n = int(cv), len(np.unique(groups))
        if not 2 <= n_folds <= n - (dates is not None):
            raise ValueError(
                "cv must be at least 2 folds and "
                f"{'no more' if dates is None else 'less'} than there are {what}, got "
                f"{n_folds} folds for {n} {what}: use fewer folds, or fitted rankers "
                f"and cv={PREFIT!r}"
            )
        cv = GroupKFold(n_folds)
        if dates is not None:
            given["order"] = None  # these folds go by it
            parts = TimeSeriesSplit(n_folds).split(dates)
            bounds = [*(int(test[0]) for _, test in parts), len(dates)]
            cv = [
                (queries.rows_of(train), queries.rows_of(test))
                for train, test in forward_folds(dates, bounds)
            ]
    elif not hasattr(cv, "split") and not rows.kept.all():
        # splits number the rows that were given; rows of weight 0 are left out
        number = np.where(rows.kept, np.cumsum(rows.kept) - 1, -1)
        pairs = cast(Iterable[tuple[Any, Any]], cv)
        cv = [
            (train[train >= 0], test[test >= 0])
            for train, test in ((number[a], number[b]) for a, b in pairs)
        ]
    splitter = check_cv(cv)
    requests = get_routing_for_object(splitter).split.requests
    named = {name: given.pop(name) for name in [*given] if name in requests}
    if given.get("order") is not None:
        raise ValueError(
            f"order was given, and cv, a {type(cv).__name__}, does not hold out by "
            "date: give a number of folds, or a GroupTimeSeriesSplit, which go forward "
            "in time"
        )
    if "users" in named:  # beside which it is given the queries
        groups = rows.original_of_row
    found = splitter.split(rows.X, rows.y, groups, **named)
    splits = [(np.asarray(train), np.asarray(test)) for train, test in found]
    check_splits(splits, rows)
    return splits


def check_splits(splits: Sequence[Split], rows: FitRows) -> None:
    """Raise a ValueError unless rows are held out at most once, by whole queries."""
    if not splits:
        raise ValueError(
            "cv has no splits: give a list of them, as a generator is used up when it "
            "has been read once"
        )
    held_out = np.sort(np.concatenate([test for _, test in splits]))
    if len(held_out) == 0 or (np.diff(held_out) == 0).any():
        raise ValueError(
            "cv must hold out each row at most once, and some rows, as GroupKFold and "
            "GroupTimeSeriesSplit do, so that those held out have one out-of-fold score"
        )
    if not rows.have_queries:  # a warning tells that all are taken for one
        return
    query_of_row, users = rows.original_of_row, rows.columns.get("users")
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
        if users is None:
            continue
        known = np.isin(users[test], users[train])
        if known.any():
            query = rows.queries.describe(int(query_of_row[test[np.argmax(known)]]))
            raise ValueError(
                f"cv cuts users apart: in split {number}, the user of query {query} "
                "has queries to train on and others that are held out, so that scores "
                "would not be those of new users: give a number of folds, a UserKFold, "
                "or another splitter that keeps groups whole"
            )
    n_rows = np.bincount(query_of_row[held_out], minlength=rows.queries.n_queries)
    partial = (n_rows > 0) & (n_rows < np.bincount(query_of_row, minlength=len(n_rows)))
    if partial.any():
        raise ValueError(
            "cv cuts queries apart: it holds out some rows of query "
            f"{rows.queries.describe(int(np.argmax(partial)))}, and others never: give "
            "a splitter that keeps queries whole, such as cv=GroupKFold(5)"
        )


class HeldOut(NamedTuple):
    """Scores of held-out rows, and grades, in an order that is not that of the rows.

    Sums round differently in another order.  Queries are sorted by their labels, and
    the rows of a query by their scores and grades.
    """

    scores: list[FloatArray]
    data: TrainingData

    @property
    def y(self) -> FloatArray:
        """The grades, (n_rows,); with several labels (n_rows, n_labels), with NaN."""
        values = self.data.grades.values.T
        return values[:, 0] if self.data.n_labels == 1 else values

    @property
    def query(self) -> IntArray:
        """The number of the query of each row."""
        return self.data.query

    @property
    def sample_weight(self) -> FloatArray:
        """The weight of the query of each row."""
        return np.repeat(self.data.sample_weight, self.data.sizes)

    @classmethod
    def sort(
        cls,
        rows: FitRows,
        scores: Sequence[ArrayLike],
        names: Sequence[str],
        splits: Sequence[Split] | None = None,
    ) -> Self:
        """Check and sort scores; the names of rankers are for messages."""
        # of all rows, or of those that the splits hold out
        queries, data = rows.queries, rows.data
        if splits is not None:
            tested = queries.query_of_row[np.concatenate([test for _, test in splits])]
            selected = np.bincount(tested, minlength=queries.n_queries) > 0
            queries, data = queries.subset(selected), data.subset(selected)
        checked = [
            check_scores(scores_m, queries, f"scores of {name}")
            for scores_m, name in zip(scores, names, strict=True)
        ]
        order = np.lexsort((*data.grades.counted, data.y, *checked, queries.query))
        return cls([scores_m[order] for scores_m in checked], data.reordered(order))
