"""Mean values of R-precision, bpref and rank-biased precision as functions.

Each calls the metric object of the same name, which documents the options.
"""

from __future__ import annotations

from typing import Any

from sklearn_ltr.metrics._bpref import BPref
from sklearn_ltr.metrics._metric import NoRelevant, Ties
from sklearn_ltr.metrics._r_precision import RPrecision
from sklearn_ltr.metrics._rbp import RBP


def r_precision_score(
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
    """Mean R-precision of queries.

    The number of relevant documents at ranks r <= R, divided by R, the number of all
    relevant documents of the query (trec_eval's ``Rprec``).

    Parameters
    ----------
    y_true, y_score, groups : array-likes of shape (n_documents,)
        Grade (finite, >= 0), score (finite, higher is ranked first) and query (any
        sortable value, in any row order) of each document.
    k, relevant_from, ties, no_relevant
        Parameters of :class:`RPrecision`.
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
    >>> from sklearn_ltr.metrics import r_precision_score
    >>> round(r_precision_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.5
    """
    metric = RPrecision(
        k,
        relevant_from=relevant_from,
        ties=ties,
        no_relevant=no_relevant,
    )
    return metric(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        y_missing=y_missing,
        groups_missing=groups_missing,
    )


def bpref_score(
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
    """Mean binary preference of queries.

    The mean over the R relevant documents of 1 - min(n, M) / M, where n is the number
    of other documents above, and M the smaller of R and the number of all others
    (trec_eval's ``bpref``).  Every row counts as judged.

    Parameters
    ----------
    y_true, y_score, groups : array-likes of shape (n_documents,)
        Grade (finite, >= 0), score (finite, higher is ranked first) and query (any
        sortable value, in any row order) of each document.
    k, relevant_from, ties, no_relevant
        Parameters of :class:`BPref`.
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
    >>> from sklearn_ltr.metrics import bpref_score
    >>> round(bpref_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.0
    """
    metric = BPref(
        k,
        relevant_from=relevant_from,
        ties=ties,
        no_relevant=no_relevant,
    )
    return metric(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        y_missing=y_missing,
        groups_missing=groups_missing,
    )


def rbp_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    persistence: float = 0.8,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
    y_missing: Any = None,
    groups_missing: Any = None,
) -> float:
    """Mean rank-biased precision of queries.

    RBP = (1 - p) * sum over ranks r of relevant documents of p^(r - 1), where p is the
    persistence (Moffat and Zobel, 2008).

    Parameters
    ----------
    y_true, y_score, groups : array-likes of shape (n_documents,)
        Grade (finite, >= 0), score (finite, higher is ranked first) and query (any
        sortable value, in any row order) of each document.
    k, persistence, relevant_from, ties, no_relevant
        Parameters of :class:`RBP`.
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
    >>> from sklearn_ltr.metrics import rbp_score
    >>> round(rbp_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.288
    """
    metric = RBP(
        k,
        persistence=persistence,
        relevant_from=relevant_from,
        ties=ties,
        no_relevant=no_relevant,
    )
    return metric(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        y_missing=y_missing,
        groups_missing=groups_missing,
    )
