"""Means of a metric over queries at several cutoffs, and their standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import check_grades, check_sample_weight, check_scores
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.plotting._arguments import read_numbers, read_queries
from sklearn_ltr.plotting._estimators import name_each
from sklearn_ltr.plotting._mean import mean_and_standard_error

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Curves = dict[str, FloatArray]


def evaluate_cutoffs(
    metric: Metric,
    cutoffs: IntArray,
    y_true: Any,
    y_score: Any,
    name: str | None,
    groups: Any,
    sample_weight: Any,
) -> tuple[Curves, Curves]:
    """Evaluate a metric at each cutoff, for the scores of each ranker.

    Parameters
    ----------
    metric : Metric
        Without a cutoff.
    cutoffs : ndarray of shape (n_cutoffs,), int64
    y_true : array-like of shape (n_documents,)
    y_score : array-like of shape (n_documents,), or dict of str to array-like
    name : str or None
        Name of a single ranker.
    groups, sample_weight : array-like of shape (n_documents,)

    Returns
    -------
    means, standard_errors : dict of str to ndarray of shape (n_cutoffs,)
        By the names of the rankers.
    """
    queries = read_queries(y_true, groups)
    grades = check_grades(y_true, queries, "y_true")
    weights = check_sample_weight(sample_weight, queries)
    several = isinstance(y_score, Mapping)
    scores = {
        ranker: check_scores(
            values,
            queries,
            f"y_score[{ranker!r}]" if several else "y_score",
            only_order=True,
        )
        for ranker, values in name_each(y_score, name, "y_score").items()
    }
    means = {ranker: np.empty(len(cutoffs)) for ranker in scores}
    errors = {ranker: np.empty(len(cutoffs)) for ranker in scores}
    for i, k in enumerate(cutoffs):
        bound = replace(metric, k=int(k)).bind(grades, queries.offsets, queries.labels)
        for ranker, values in scores.items():
            means[ranker][i], errors[ranker][i] = mean_and_standard_error(
                bound.values(values), weights
            )
    return means, errors


def read_cutoffs(k: Any) -> IntArray:
    """Return cutoffs as an array; raise a ValueError unless they are valid."""
    cutoffs = np.asarray(k)
    if not (
        cutoffs.ndim == 1
        and cutoffs.size > 0
        and cutoffs.dtype.kind in "iu"
        and cutoffs[0] >= 1
        and (cutoffs[1:] > cutoffs[:-1]).all()
    ):
        raise ValueError(
            "k must hold increasing integers >= 1, the cutoffs to evaluate, such as "
            f"range(1, 21), got {k!r}"
        )
    return cutoffs.astype(np.int64)


def read_metric_without_cutoff(metric: str | Metric) -> Metric:
    """Return a metric object without a cutoff; raise a ValueError if it has one."""
    found = get_metric(metric)
    if found.k is not None:
        raise ValueError(
            f"metric {found.name!r} has a cutoff, but the cutoffs are given by k: give "
            f"{found.name.partition('@')[0]!r} or a metric object with k=None"
        )
    return found


def read_curves(
    curves: Any, argument: str, n_cutoffs: int, *, finite: bool = True
) -> Curves:
    """Return arrays of one number per cutoff; raise a ValueError if they are not."""
    if not isinstance(curves, Mapping) or not curves:
        raise ValueError(
            f"{argument} must be a dict with an array for each ranker, got {curves!r}"
        )
    return {
        name: read_numbers(
            curve, f"{argument}[{name!r}]", "cutoff", n_cutoffs, finite=finite
        )
        for name, curve in curves.items()
    }
