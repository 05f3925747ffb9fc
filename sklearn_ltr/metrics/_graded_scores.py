"""Mean values of graded metrics as functions.

Each calls the metric object of the same name, which documents the options.
"""

from __future__ import annotations

from typing import Any, Literal

from sklearn_ltr.metrics._dcg import CG, DCG, NDCG
from sklearn_ltr.metrics._err import ERR
from sklearn_ltr.metrics._gains import Discount, Gain
from sklearn_ltr.metrics._metric import NoRelevant, Ties


def ndcg_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    gain: Gain = "exponential",
    discount: Discount = "log2",
    short_lists: Literal["cut", "zero"] = "cut",
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
    y_missing: Any = None,
    groups_missing: Any = None,
) -> float:
    """Mean normalised discounted cumulative gain of queries.

    NDCG@k = DCG@k / (DCG@k of the same documents in the best order), where DCG@k is the
    sum over ranks r <= k of gain(grade_r) * discount(r) (equation 5 of the report).

    Parameters
    ----------
    y_true, y_score, groups : array-likes of shape (n_documents,)
        Grade (finite, >= 0), score (finite, higher is ranked first) and query (any
        sortable value, in any row order) of each document.
    k, gain, discount, short_lists, ties, no_relevant
        Parameters of :class:`NDCG`.
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
        negative grades or weights, groups of another length, grades without a gain, or
        if no query counts.

    Examples
    --------
    >>> from sklearn_ltr.metrics import ndcg_score
    >>> round(ndcg_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    0.1738
    """
    metric = NDCG(
        k,
        gain=gain,
        discount=discount,
        short_lists=short_lists,
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


def dcg_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    gain: Gain = "exponential",
    discount: Discount = "log2",
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
    y_missing: Any = None,
    groups_missing: Any = None,
) -> float:
    """Mean discounted cumulative gain of queries.

    DCG@k is the sum over ranks r <= k of gain(grade_r) * discount(r) (equation 5 of the
    report).

    Parameters
    ----------
    y_true, y_score, groups : array-likes of shape (n_documents,)
        Grade (finite, >= 0), score (finite, higher is ranked first) and query (any
        sortable value, in any row order) of each document.
    k, gain, discount, ties, no_relevant
        Parameters of :class:`DCG`.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of each row's query, >= 0 and constant within a query.  None: 1.
    y_missing, groups_missing : array-likes of shape (n_missing,), default=None
        Grade and query of each judged document that is not among the rows, see
        :meth:`Metric.per_query`.

    Returns
    -------
    float
        Weighted mean over queries, >= 0.

    Raises
    ------
    ValueError
        For y_true, y_score or sample_weight that are not one finite number per row,
        negative grades or weights, groups of another length, grades without a gain, or
        if no query counts.

    Examples
    --------
    >>> from sklearn_ltr.metrics import dcg_score
    >>> round(dcg_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    0.6309
    """
    metric = DCG(k, gain=gain, discount=discount, ties=ties, no_relevant=no_relevant)
    return metric(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        y_missing=y_missing,
        groups_missing=groups_missing,
    )


def cg_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    gain: Gain = "exponential",
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
    y_missing: Any = None,
    groups_missing: Any = None,
) -> float:
    """Mean cumulative gain of queries.

    CG@k is the sum over ranks r <= k of gain(grade_r).

    Parameters
    ----------
    y_true, y_score, groups : array-likes of shape (n_documents,)
        Grade (finite, >= 0), score (finite, higher is ranked first) and query (any
        sortable value, in any row order) of each document.
    k, gain, ties, no_relevant
        Parameters of :class:`CG`.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of each row's query, >= 0 and constant within a query.  None: 1.
    y_missing, groups_missing : array-likes of shape (n_missing,), default=None
        Grade and query of each judged document that is not among the rows, see
        :meth:`Metric.per_query`.

    Returns
    -------
    float
        Weighted mean over queries, >= 0.

    Raises
    ------
    ValueError
        For y_true, y_score or sample_weight that are not one finite number per row,
        negative grades or weights, groups of another length, grades without a gain, or
        if no query counts.

    Examples
    --------
    >>> from sklearn_ltr.metrics import cg_score
    >>> round(cg_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    1.0
    """
    metric = CG(k, gain=gain, ties=ties, no_relevant=no_relevant)
    return metric(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        y_missing=y_missing,
        groups_missing=groups_missing,
    )


def err_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    max_grade: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
    y_missing: Any = None,
    groups_missing: Any = None,
) -> float:
    """Mean expected reciprocal rank of queries.

    A user reads from the top and stops at the first satisfying document; a document of
    grade g satisfies with probability R = (2^g - 1) / 2^max_grade.  ERR@k is the
    expected value of 1 / (rank where the user stops), 0 for ranks below k (section 3
    of the report; Chapelle et al., 2009):

        ERR@k = sum over ranks r <= k of  R_r / r * product over i < r of (1 - R_i)

    Parameters
    ----------
    y_true, y_score, groups : array-likes of shape (n_documents,)
        Grade (finite, >= 0), score (finite, higher is ranked first) and query (any
        sortable value, in any row order) of each document.
    k, max_grade, ties, no_relevant
        Parameters of :class:`ERR`.
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
        negative grades or weights, groups of another length, grades above max_grade, or
        if no query counts.

    Examples
    --------
    >>> from sklearn_ltr.metrics import err_score
    >>> round(err_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    0.125
    """
    metric = ERR(k, max_grade=max_grade, ties=ties, no_relevant=no_relevant)
    return metric(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        y_missing=y_missing,
        groups_missing=groups_missing,
    )
