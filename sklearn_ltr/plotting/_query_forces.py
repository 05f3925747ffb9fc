"""Ranked list, pairwise errors and lambdas of one query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import QueryGroups, check_grades, check_scores
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.metrics._ranked_list import rank_documents
from sklearn_ltr.plotting._arguments import Metrics, read_metrics, read_one_query

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def order_of_query(scores: FloatArray, grades: FloatArray) -> IntArray:
    """Return the documents by rank; of equal scores, the lower grade is first."""
    n = len(scores)
    order = np.empty(n, dtype=np.int64)
    offsets = np.array([0, n], dtype=np.int64)
    rank_documents(scores, grades, offsets, 0, 1, n, order, False)
    return order


def count_pairwise_errors(ranked_grades: FloatArray) -> int:
    """Count the pairs of a ranked list whose document of higher grade is below."""
    return sum(
        int(np.count_nonzero(ranked_grades[p + 1 :] > grade))
        for p, grade in enumerate(ranked_grades)
    )


def compute_forces(
    y_true: Any, y_score: Any, groups: Any, metrics: Metrics, sigma: float
) -> dict[str, FloatArray]:
    """Return the gradient of each metric, (n_documents,), by the name of its force."""
    query = read_one_query(y_true, groups)
    grades = check_grades(y_true, query, "y_true")
    scores = check_scores(y_score, query, "y_score")
    one_query = np.zeros(query.n_documents, dtype=np.int64)
    return {
        force: compute_lambdas(scores, grades, metric, sigma, groups=one_query)[0]
        for force, metric in read_metrics(metrics).items()
    }


def read_lambdas(lambdas: Any, query: QueryGroups) -> dict[str, FloatArray]:
    """Return the gradient of each force; raise a ValueError if they are not arrays."""
    if not isinstance(lambdas, Mapping) or not lambdas:
        raise ValueError(
            "lambdas must be a dict with an array for each force to show, got "
            f"{lambdas!r}"
        )
    return {
        force: check_scores(values, query, f"lambdas[{force!r}]")
        for force, values in lambdas.items()
    }
