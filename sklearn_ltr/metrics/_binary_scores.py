"""Mean values of binary metrics as functions.

Each calls the metric object of the same name, which documents the options.
"""

from __future__ import annotations

from typing import Any

from sklearn_ltr.metrics._average_precision import MAP
from sklearn_ltr.metrics._metric import NoRelevant, Ties
from sklearn_ltr.metrics._precision import Precision, Recall


def map_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
    y_missing: Any = None,
    groups_missing: Any = None,
) -> float:
    """Mean average precision of queries.

    AP@k is the sum of the precisions at the ranks r <= k of relevant documents, divided
    by the number of all relevant documents (as in trec_eval).

    Parameters
    ----------
    y_true, y_score, groups : array-likes of shape (n_documents,)
        Grade (finite, >= 0), score (finite, higher is ranked first) and query (any
        sortable value, in any row order) of each document.
    k, relevant_from, ties, no_relevant
        Parameters of :class:`MAP`.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of each row's query, >= 0 and constant within a query.  None: 1.
    y_missing, groups_missing : array-likes of shape (n_missing,), default=None
        Grade and query of each judged document that is not among the rows, see
        :meth:`Metric.per_query`.

    Returns
    -------
    float
        Weighted mean over queries, between 0 and 1.

    Raises
    ------
    ValueError
        For y_true, y_score or sample_weight that are not one finite number per row,
        negative grades or weights, groups of another length, or if no query counts.

    Examples
    --------
    >>> from sklearn_ltr.metrics import map_score
    >>> round(map_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.5833
    """
    metric = MAP(k, relevant_from=relevant_from, ties=ties, no_relevant=no_relevant)
    return metric(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        y_missing=y_missing,
        groups_missing=groups_missing,
    )


def precision_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
    y_missing: Any = None,
    groups_missing: Any = None,
) -> float:
    """Mean precision of queries.

    Precision@k = (number of relevant documents at ranks r <= k) / k, even if the list
    is shorter (as in trec_eval); without k, divided by the length of the list.

    Parameters
    ----------
    y_true, y_score, groups : array-likes of shape (n_documents,)
        Grade (finite, >= 0), score (finite, higher is ranked first) and query (any
        sortable value, in any row order) of each document.
    k, relevant_from, ties, no_relevant
        Parameters of :class:`Precision`.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of each row's query, >= 0 and constant within a query.  None: 1.
    y_missing, groups_missing : array-likes of shape (n_missing,), default=None
        Grade and query of each judged document that is not among the rows, see
        :meth:`Metric.per_query`.

    Returns
    -------
    float
        Weighted mean over queries, between 0 and 1.

    Raises
    ------
    ValueError
        For y_true, y_score or sample_weight that are not one finite number per row,
        negative grades or weights, groups of another length, or if no query counts.

    Examples
    --------
    >>> from sklearn_ltr.metrics import precision_score
    >>> round(precision_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    0.5
    """
    metric = Precision(
        k, relevant_from=relevant_from, ties=ties, no_relevant=no_relevant
    )
    return metric(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        y_missing=y_missing,
        groups_missing=groups_missing,
    )


def recall_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
    y_missing: Any = None,
    groups_missing: Any = None,
) -> float:
    """Mean recall of queries.

    Recall@k = (number of relevant documents at ranks r <= k) / (number of all relevant
    documents).

    Parameters
    ----------
    y_true, y_score, groups : array-likes of shape (n_documents,)
        Grade (finite, >= 0), score (finite, higher is ranked first) and query (any
        sortable value, in any row order) of each document.
    k, relevant_from, ties, no_relevant
        Parameters of :class:`Recall`.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of each row's query, >= 0 and constant within a query.  None: 1.
    y_missing, groups_missing : array-likes of shape (n_missing,), default=None
        Grade and query of each judged document that is not among the rows, see
        :meth:`Metric.per_query`.

    Returns
    -------
    float
        Weighted mean over queries, between 0 and 1.

    Raises
    ------
    ValueError
        For y_true, y_score or sample_weight that are not one finite number per row,
        negative grades or weights, groups of another length, or if no query counts.

    Examples
    --------
    >>> from sklearn_ltr.metrics import recall_score
    >>> round(recall_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    0.5
    """
    metric = Recall(k, relevant_from=relevant_from, ties=ties, no_relevant=no_relevant)
    return metric(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        y_missing=y_missing,
        groups_missing=groups_missing,
    )
