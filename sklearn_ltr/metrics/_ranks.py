"""From scores to ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import QueryGroups, check_scores, count_rows
from sklearn_ltr.metrics._ranked_list import rank_documents


def rank_scores(y_score: Any, *, groups: Any) -> NDArray[np.int64]:
    """Rank documents by their scores, each within its query.

    Parameters
    ----------
    y_score : array-like of shape (n_documents,)
        Score of each document, finite; higher is ranked first.  Numbers of any real
        type, compared as given.
    groups : array-like of shape (n_documents,)
        Query of each document: any sortable values, in any row order.

    Returns
    -------
    ranks : ndarray of shape (n_documents,), int64
        Rank of each document in its query, from 1, in the order of the rows.  Equal
        scores are ranked in the order of the rows.

    Raises
    ------
    ValueError
        For scores that are not one finite number per row, or groups of another length.

    Examples
    --------
    >>> from sklearn_ltr.metrics import rank_scores
    >>> rank_scores([0.1, 0.7, 0.9, 0.2], groups=["a", "b", "a", "b"])
    array([2, 1, 1, 2])
    """
    queries = QueryGroups.from_groups(groups, count_rows(y_score, "y_score"))
    scores = check_scores(y_score, queries, "y_score", only_order=True)
    order = np.empty(queries.n_documents, dtype=np.int64)
    longest = int(queries.sizes.max())
    rank_documents(
        scores, scores, queries.offsets, 0, queries.n_queries, longest, order, True
    )
    starts = np.repeat(queries.offsets[:-1], queries.sizes)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order)) - starts + 1
    return queries.unsort(ranks)
