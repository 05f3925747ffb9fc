"""Reciprocal rank fusion: lists joined without grades, by the ranks alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from sklearn_ltr._core.data import QueryGroups, check_scores, count_rows
from sklearn_ltr._core.parameters import real
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray

__all__ = ["reciprocal_rank_fusion"]

K = real(0)


def reciprocal_rank_fusion(
    y_scores: Sequence[ArrayLike], *, groups: IdsLike, k: float = 60.0
) -> FloatArray:
    r"""Join the lists of several retrievers by the ranks of their documents.

    .. math:: s_i = \sum_m \frac{1}{k + r^m_i},

    with the rank r from 1 that retriever m gives to document i of its query [1]_.  It
    needs no grades, and nothing but the order of scores counts.  With some judged
    queries, a ranker that learns from the scores themselves ranks better: see
    :doc:`/guide/hybrid`.

    Parameters
    ----------
    y_scores : sequence of array-likes of shape (n_documents,)
        The scores by each retriever; higher is ranked first.  NaN: the retriever has
        not found the document, which adds nothing.
    groups : array-like of shape (n_documents,)
        The query of each document: numbers, text, dates, or tuples of these.  Documents
        of equal scores share their mean rank.
    k : float of at least 0, default=60
        The larger, the less the first ranks are ahead of others.

    Returns
    -------
    scores : ndarray of shape (n_documents,), float64

    Raises
    ------
    ValueError, TypeError
        For no scores, infinite ones, or a number of rows that is not that of `groups`.

    References
    ----------
    .. [1] G. Cormack, C. Clarke and S. Büttcher, "Reciprocal rank fusion outperforms
       Condorcet and individual rank learning methods", SIGIR 2009.

    Examples
    --------
    >>> from sklearn_ltr.ensemble import reciprocal_rank_fusion
    >>> bm25, cosine = [7.1, 3.0, 2.5], [0.2, float("nan"), 0.9]
    >>> reciprocal_rank_fusion([bm25, cosine], groups=[1, 1, 1]).round(4)
    array([0.0325, 0.0161, 0.0323])
    """
    K.read_as("k", k)
    if isinstance(y_scores, str) or not hasattr(y_scores, "__len__"):
        raise TypeError(f"y_scores must be a list of arrays, got {y_scores!r}")
    if len(y_scores) == 0:
        raise ValueError("y_scores must hold the scores of a retriever, got none")
    n_documents = count_rows(y_scores[0], "y_scores[0]")
    queries = QueryGroups.from_groups(groups, n_documents)
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    fused = np.zeros(n_documents)
    for m, given in enumerate(y_scores):
        name = f"y_scores[{m}]"
        scores = np.array(given, dtype=np.float64)
        is_found = ~np.isnan(scores)
        scores[~is_found] = 0.0
        scores = check_scores(scores, queries, name)
        found = np.flatnonzero(queries.sort(is_found))
        fused[found] += 1.0 / (k + mean_ranks(scores[found], query[found]))
    return queries.unsort(fused)


def mean_ranks(scores: FloatArray, query: IntArray) -> FloatArray:
    """Return ranks from 1 within ascending queries; equal scores share their mean."""
    # so that the order of the rows does not matter
    within = rankdata(-scores, method="dense")
    ranks = rankdata(query * (len(scores) + 1) + within)
    return np.asarray(ranks - np.searchsorted(query, query))
