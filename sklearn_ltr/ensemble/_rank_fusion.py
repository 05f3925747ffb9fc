"""Reciprocal rank fusion: lists joined without grades, by the ranks alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from sklearn_ltr._core.data import QueryGroups, check_scores, count_rows
from sklearn_ltr._core.data.features import is_arrow, is_frame, is_missing
from sklearn_ltr._core.data.labels import names_of_columns
from sklearn_ltr._core.data.rows import numeric_column, read_weights
from sklearn_ltr._core.parameters import real
from sklearn_ltr._core.typing import DataFrameLike, FloatArray, IdsLike

__all__ = ["reciprocal_rank_fusion"]

K = real(0)


def reciprocal_rank_fusion(
    y_scores: Sequence[ArrayLike] | Mapping[str, ArrayLike] | DataFrameLike,
    *,
    groups: IdsLike,
    k: float = 60.0,
    weights: ArrayLike | Mapping[str, float] | None = None,
) -> FloatArray:
    r"""Join the lists of several retrievers by the ranks of their documents.

    .. math:: s_i = \sum_m \frac{w_m}{k + r^m_i},

    with the rank r from 1 that retriever m gives to document i of its query [1]_, and
    the weight w of the retriever, 1 if none are given.  It needs no grades, and nothing
    but the order of scores counts.  With some judged queries, a ranker that learns from
    the scores themselves ranks better: see :doc:`/guide/hybrid`.

    Parameters
    ----------
    y_scores : sequence of array-likes of shape (n_documents,), dict or DataFrame
        The scores by each retriever; higher is ranked first.  With names: a dict, or
        the columns of a frame of pandas, polars or Arrow.  NaN, None or null: the
        retriever has not found the document, which adds nothing.
    groups : array-like of shape (n_documents,)
        The query of each document: numbers, text, dates, or tuples of these.  Documents
        of equal scores share their mean rank.
    k : float of at least 0, default=60
        The larger, the less the first ranks are ahead of others.
    weights : array-like of shape (n_retrievers,) or dict, default=None
        How much each retriever counts, finite and >= 0; a dict has the names of
        `y_scores`.  None: all the same.

    Returns
    -------
    scores : ndarray of shape (n_documents,), float64

    Raises
    ------
    ValueError, TypeError
        For no scores, infinite ones, or a number of rows that is not that of `groups`;
        for other weights than one of each retriever, of which one is above 0.

    References
    ----------
    .. [1] G. Cormack, C. Clarke and S. Büttcher, "Reciprocal rank fusion outperforms
       Condorcet and individual rank learning methods", SIGIR 2009.

    Examples
    --------
    >>> from sklearn_ltr.ensemble import reciprocal_rank_fusion
    >>> scores = {"bm25": [7.1, 3.0, 2.5], "cosine": [0.2, float("nan"), 0.9]}
    >>> reciprocal_rank_fusion(scores, groups=[1, 1, 1]).round(4)
    array([0.0325, 0.0161, 0.0323])
    >>> weights = {"bm25": 0.7, "cosine": 0.3}
    >>> reciprocal_rank_fusion(scores, groups=[1, 1, 1], weights=weights).round(4)
    array([0.0163, 0.0113, 0.016 ])
    """
    K.read_as("k", k)
    columns = columns_of(y_scores)
    if len(columns) == 0:
        raise ValueError("y_scores must hold the scores of a retriever, got none")
    first = next(iter(columns))
    n_documents = count_rows(columns[first], f"y_scores[{first!r}]")
    queries = QueryGroups.from_groups(groups, n_documents)
    query, fused = queries.query, np.zeros(n_documents)
    shares = shares_of(weights, list(columns))
    for share, (name, given) in zip(shares, columns.items(), strict=True):
        title = f"y_scores[{name!r}]"
        values, is_found = found_scores(given, title)
        scores = check_scores(values, queries, title, only_order=True)
        found = np.flatnonzero(queries.sort(is_found))
        # ranks within ascending queries, which do not depend on the order of the rows
        within = rankdata(-scores[found], method="dense")
        ranks = rankdata(query[found] * (len(found) + 1) + within)
        ranks -= np.searchsorted(query[found], query[found])
        fused[found] += share * (1.0 / (k + ranks))
    return queries.unsort(fused)


def columns_of(y_scores: Any) -> dict[Any, Any]:
    """Return the scores by each retriever, by name or number."""
    if isinstance(y_scores, Mapping):
        return dict(y_scores)
    if is_frame(y_scores) or is_arrow(y_scores):
        names = names_of_columns(y_scores)
        if len(set(names)) < len(names):
            raise ValueError(f"y_scores has two columns of one name: {list(names)}")
        if hasattr(y_scores, "iloc"):
            return {name: y_scores.iloc[:, j] for j, name in enumerate(names)}
        return {name: y_scores[name] for name in names}
    if isinstance(y_scores, str) or not hasattr(y_scores, "__len__"):
        raise TypeError(
            "y_scores must be a list of arrays, a dict of them or a frame, got "
            f"{y_scores!r}"
        )
    return dict(enumerate(y_scores))


def shares_of(weights: Any, names: list[Any]) -> FloatArray:
    """Return the weight of each retriever, (n_retrievers,)."""
    if weights is None:
        return np.ones(len(names))
    if isinstance(weights, Mapping):
        if {*weights} != {*names}:
            raise ValueError(
                f"weights must have the names of y_scores, {names}, got {[*weights]}"
            )
        weights = [weights[name] for name in names]
    shares = read_weights(weights, len(names), "weights", item="retriever")
    if not shares.any():
        raise ValueError("weights are zero for every retriever: give some above 0")
    return shares


def found_scores(given: Any, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return scores in their own type, which may be exact, and where there are any."""
    kind = getattr(given, "dtype", getattr(given, "type", ""))
    is_whole = str(kind).lower().startswith(("int", "uint"))
    if is_whole and not isinstance(kind, np.dtype):
        # numpy would round integers beside nulls of pandas, polars or Arrow
        given = given.to_pylist() if hasattr(given, "to_pylist") else list(given)
    array = numeric_column(given, name)
    if array.dtype.kind == "O":
        missing = np.array(list(map(is_missing, array)), dtype=np.bool_)
    else:
        missing = array != array
    return np.where(missing, 0, array), ~missing
