"""Scores of documents by rankers that have not been trained on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, check_cv, cross_val_predict
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._data import QueryGroups
from sklearn_ltr._rankers._routing import request_sample_weight, requested_by_fit

PREFIT = "prefit"
DEFAULT_N_FOLDS = 5

FloatArray = NDArray[np.float64]
Models = list[Any]
Scores = list[Any]


def fit_and_score(
    rankers: Sequence[Any],
    X: Any,
    y: Any,
    splits: Sequence[Any] | None,
    metadata: Mapping[str, Any],
    n_jobs: int | None,
) -> tuple[Models, Scores]:
    """Return the rankers fitted to all rows, and scores of all rows.

    The scores are out-of-fold; without `splits`, those of the fitted rankers.  Each
    ranker's `fit` receives the metadata that it requests.
    """
    models, scores = [], []
    with sklearn.config_context(enable_metadata_routing=True):
        for ranker in rankers:
            model = clone(ranker)
            if "sample_weight" in metadata:
                request_sample_weight(model)
            params = requested_by_fit(model, metadata)
            if splits is not None:
                scores.append(
                    cross_val_predict(
                        model, X, y, cv=splits, n_jobs=n_jobs, params=params
                    )
                )
            models.append(model.fit(X, y, **params))
            if splits is None:
                scores.append(model.predict(X))
    return models, scores


def score_prefit(rankers: Sequence[Any], X: Any) -> tuple[Models, Scores]:
    """Return fitted rankers and their scores; raise NotFittedError if one is not."""
    for m, ranker in enumerate(rankers):
        check_is_fitted(
            ranker,
            msg=f"rankers[{m}], a %(name)s, is not fitted, as cv={PREFIT!r} says it is",
        )
    return list(rankers), [ranker.predict(X) for ranker in rankers]


def make_splits(cv: Any, X: Any, y: Any, queries: QueryGroups) -> list[Any]:
    """Return the splits that `cv` stands for, as a list that all rankers share."""
    if cv is None:
        cv = DEFAULT_N_FOLDS
    if isinstance(cv, Integral):
        n_folds = int(cv)
        if not 2 <= n_folds <= queries.n_queries:
            raise ValueError(
                f"cv must be at least 2 folds and no more than there are queries, got "
                f"{n_folds} folds for {queries.n_queries} queries; use fewer folds, or "
                f"rankers that are already fitted and cv={PREFIT!r}"
            )
        cv = GroupKFold(n_folds)
    return list(check_cv(cv).split(X, y, queries.query_of_row))
