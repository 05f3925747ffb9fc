"""Differences of a metric between two rankers on each query.

difference of query q  =  metric of b on q  -  metric of a on q
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import check_grades, check_sample_weight, check_scores
from sklearn_ltr.metrics import Metric
from sklearn_ltr.plotting._arguments import as_objects, read_numbers, read_queries
from sklearn_ltr.plotting._mean import mean_and_standard_error

FloatArray = NDArray[np.float64]

# Relative difference below which two values are equal: sums of the same numbers in
# another order.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class QueryDifferences:
    """Values of two rankers on each query, sorted by their difference.

    Attributes
    ----------
    queries : (n_queries,) labels of the queries
    differences, values_a, values_b, weights : (n_queries,) float64
        In the same order: ascending difference of b minus a.
    n_won, n_lost, n_tied : int
        Number of queries on which b is better, worse and equal.
    mean_difference, standard_error : float
        Weighted mean of the differences, and its standard error (NaN for one query).
    """

    queries: NDArray[Any]
    differences: FloatArray
    values_a: FloatArray
    values_b: FloatArray
    weights: FloatArray
    n_won: int
    n_lost: int
    n_tied: int
    mean_difference: float
    standard_error: float


def compute_differences(
    values_a: Any, values_b: Any, queries: Any, weights: Any
) -> QueryDifferences:
    """Check the values of two rankers, and sort the queries by their difference."""
    a = read_numbers(values_a, "values_a", "query")
    n = len(a)
    b = read_numbers(values_b, "values_b", "query", n)
    weights = np.ones(n) if weights is None else weights
    w = read_numbers(weights, "weights", "query", n)
    if (w < 0).any() or not w.any():
        raise ValueError(f"weights must be >= 0, and at least one > 0, got {w}")
    labels = as_objects(np.arange(n) if queries is None else queries)
    if len(labels) != n:
        raise ValueError(f"queries has {len(labels)} names for {n} queries")
    tied = np.abs(b - a) <= ROUNDING * np.maximum(np.abs(a), np.abs(b))
    differences = np.where(tied, 0.0, b - a)
    mean, standard_error = mean_and_standard_error(differences, w)
    order = np.argsort(differences, kind="stable")
    return QueryDifferences(
        queries=labels[order],
        differences=differences[order],
        values_a=a[order],
        values_b=b[order],
        weights=w[order],
        n_won=int(np.count_nonzero(differences > 0)),
        n_lost=int(np.count_nonzero(differences < 0)),
        n_tied=int(np.count_nonzero(tied)),
        mean_difference=mean,
        standard_error=standard_error,
    )


class QueryValues(NamedTuple):
    """Values of two rankers on each query that the metric includes."""

    values_a: FloatArray  # (n_queries,)
    values_b: FloatArray  # (n_queries,)
    queries: NDArray[Any]  # (n_queries,) labels
    weights: FloatArray  # (n_queries,)


def evaluate_queries(
    metric: Metric,
    y_true: Any,
    y_score_a: Any,
    y_score_b: Any,
    groups: Any,
    sample_weight: Any,
) -> QueryValues:
    """Evaluate a metric on each query, for the scores of two rankers."""
    queries = read_queries(y_true, groups)
    grades = check_grades(y_true, queries, "y_true")
    weights = check_sample_weight(sample_weight, queries)
    bound = metric.bind(grades, queries.offsets, queries.labels)
    a, b = (
        bound.values(check_scores(scores, queries, name, only_order=True))
        for name, scores in (("y_score_a", y_score_a), ("y_score_b", y_score_b))
    )
    included = ~np.isnan(a)
    if not weights[included].any():
        raise ValueError(
            f'{metric.name} has no query to compare: no_relevant="skip" left out '
            "all that have a weight above zero"
        )
    labels = as_objects(queries.labels)
    return QueryValues(a[included], b[included], labels[included], weights[included])
