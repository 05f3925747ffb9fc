"""Judgements that a ranker that has not seen them contradicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from sklearn_ltr._core.compile import check_n_jobs
from sklearn_ltr._core.data import FitArguments, QueryGroups, check_scores
from sklearn_ltr._core.estimators.routing import requested_metadata
from sklearn_ltr._core.ranking.reading import ONE_LABEL, check_y_given
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike
from sklearn_ltr.ensemble._held_out import (
    SplitsLike,
    check_splits_word,
    make_splits,
    out_of_fold,
    score_prefit,
)
from sklearn_ltr.ensemble._members import centred_within_queries, read_rows
from sklearn_ltr.ensemble._meta_estimators import check_estimator
from sklearn_ltr.inspection._lambdas import compute_lambdas
from sklearn_ltr.metrics import rank_scores

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["suspect_judgments"]


def suspect_judgments(
    ranker: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    groups: IdsLike,
    sample_weight: ArrayLike | None = None,
    cv: SplitsLike = None,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    r"""List the judgements that deserve a second look, the most doubtful first.

    Grades that click models, language models or tired judges give are partly wrong.  A
    ranker that has learned from other queries puts a document where its features say
    that it belongs.  The doubt about its grade is how strongly the grade pulls it away
    from there: the absolute value of the gradient of RankNet's cost (Burges 2010,
    section 2),

    .. math::

        \left| \frac{\partial C}{\partial s_i} \right|
        = \left| \sum_{j: y_j > y_i} \frac{1}{1 + e^{s_j - s_i}}
        - \sum_{j: y_j < y_i} \frac{1}{1 + e^{s_i - s_j}} \right|,

    over the documents j of its query, with scores s in units of their standard
    deviation within queries.  A document that many others contradict has a large one.

    Parameters
    ----------
    ranker : estimator
        A ranker, a Pipeline that ends in one, or a regressor; it stays as it is.
    X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
        Documents.
    y : array-like of shape (n_documents,)
        Their grades, finite and >= 0.
    groups : array-like of shape (n_documents,)
        The query of each document: numbers, text, dates, or tuples of these.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of a query in training, constant within it.  Queries of weight 0 are not
        listed.
    cv : int, splitter, iterable of splits or "prefit", default=None
        How queries are held out, as for :class:`sklearn_ltr.ensemble.BlendedRanker`.
        None: five folds.  "prefit": the ranker is fitted, to other queries than these.
    n_jobs : int or None, default=None
        Number of folds to run in parallel.

    Returns
    -------
    suspects : DataFrame
        A row for each document, with the index of X if it is a DataFrame of pandas,
        else the number of the row.  Columns: ``query``; ``grade``; ``rank``, the place
        in the held-out list, from 1; ``doubt``, as above; ``contradicted``, the share
        of the documents of other grades that stand on the wrong side of it; and
        ``suggests``, "higher" or "lower" than the grade, "" without doubt.

    Raises
    ------
    ImportError
        If pandas is not installed.
    ValueError, TypeError
        For more folds than queries, invalid grades, groups or weights, or whatever the
        ranker refuses.
    NotFittedError
        If ``cv="prefit"`` and the ranker is not fitted.

    Notes
    -----
    Long lists have more pairs, and so larger doubts.  The measure finds what the
    features can tell: with features that say little, it lists what is hard.

    References
    ----------
    F. Marcuzzi, C. Lucchese and S. Orlando, "Filtering out outliers in learning to
    rank", ICTIR 2022: documents that lists misplace through most of the training are
    left out of it.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr.inspection import suspect_judgments
    >>> data = make_ranking(60, random_state=0)
    >>> y = data.target.copy()
    >>> y[7] = 0 if y[7] else y.max()  # a slip
    >>> ranker = LambdaMARTRanker(n_estimators=20, random_state=0)
    >>> suspects = suspect_judgments(ranker, data.data, y, groups=data.groups)
    >>> suspects.columns.tolist()
    ['query', 'grade', 'rank', 'doubt', 'contradicted', 'suggests']
    """
    check_estimator("ranker", ranker)
    check_splits_word(cv)
    check_y_given(y)
    check_n_jobs(n_jobs)
    rows = read_rows(
        FitArguments.of(X, y, groups, sample_weight=sample_weight), ONE_LABEL
    )
    if isinstance(cv, str):
        _, (scores,) = score_prefit([ranker], rows.X, ["ranker"])
    else:
        splits = make_splits(cv, rows)
        with sklearn.config_context(enable_metadata_routing=True):
            taken = requested_metadata(clone(ranker), rows.metadata)
            scores = out_of_fold(ranker, rows, taken, splits, n_jobs)
    found = doubts(scores, rows.y, rows.queries)
    index = getattr(X, "index", np.arange(len(rows.kept)))
    found.index = index[np.flatnonzero(rows.kept)]
    return found.sort_values("doubt", ascending=False, kind="stable")


def doubts(scores: Any, y: Any, queries: QueryGroups) -> pd.DataFrame:
    """Return how much held-out scores contradict each grade, row by row."""
    import pandas as pd

    grades, groups = np.asarray(y, dtype=np.float64), queries.column
    ordered = check_scores(scores, queries, "scores of ranker")
    deviation = np.std(centred_within_queries(ordered, queries.offsets[:-1]))
    scaled = queries.unsort(ordered) / (deviation or 1.0)
    gradient, _ = compute_lambdas(scaled, grades, metric=None, groups=groups)
    wrong = wrong_sides(ordered, queries.sort(grades), queries.offsets)
    return pd.DataFrame(
        {
            "query": groups,
            "grade": np.asarray(y),
            "rank": rank_scores(queries.unsort(ordered), groups=groups),
            "doubt": np.abs(gradient),
            "contradicted": queries.unsort(wrong),
            "suggests": np.array(["lower", "", "higher"])[
                np.sign(gradient).astype(np.intp) + 1
            ],
        }
    )


def wrong_sides(
    scores: FloatArray, grades: FloatArray, offsets: IntArray
) -> FloatArray:
    """Return the share of documents of other grades that are on the wrong side."""
    shares = np.zeros(len(scores))
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        s, y = scores[first:last], grades[first:last]
        wrong, others = np.zeros((2, len(s)))
        for grade in np.unique(y):
            of_grade = np.sort(s[y == grade])
            above = len(of_grade) - np.searchsorted(of_grade, s, side="right")
            below = np.searchsorted(of_grade, s, side="left")
            wrong += np.where(grade < y, above, np.where(grade > y, below, 0))
            others += (grade != y) * len(of_grade)
        shares[first:last] = wrong / np.maximum(others, 1.0)
    return shares
