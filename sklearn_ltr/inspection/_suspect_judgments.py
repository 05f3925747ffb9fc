"""Judgements that a ranker that has not seen them contradicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, clone

from sklearn_ltr._core.compile import ONE_THREAD, check_n_jobs
from sklearn_ltr._core.data import (
    FitArguments,
    QueryGroups,
    TrainingData,
    describe_columns,
)
from sklearn_ltr._core.data.features import as_table
from sklearn_ltr._core.data.groups import places_in_queries
from sklearn_ltr._core.data.rows import index_rows
from sklearn_ltr._core.data.tables import hash_values
from sklearn_ltr._core.estimators.routing import requested_metadata
from sklearn_ltr._core.ranking.reading import ONE_LABEL
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike
from sklearn_ltr.ensemble._held_out import (
    HeldOut,
    SplitsLike,
    check_splits_word,
    make_splits,
    out_of_fold,
    score_prefit,
)
from sklearn_ltr.ensemble._members import centred_within_queries, read_rows
from sklearn_ltr.ensemble._meta_estimators import check_estimator
from sklearn_ltr.inspection._lambdas import compute_lambdas

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["suspect_judgments"]


@describe_columns
def suspect_judgments(
    ranker: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    groups: IdsLike,
    sample_weight: ArrayLike | None = None,
    users: IdsLike | None = None,
    order: IdsLike | None = None,
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
    {folds}
    cv : int, splitter, iterable of splits or "prefit", default=None
        How queries are held out, as for :class:`sklearn_ltr.ensemble.BlendedRanker`.
        None: five folds.  "prefit": the ranker is fitted, to other queries than these.
    n_jobs : int or None, default=None
        Number of folds to run in parallel.

    Returns
    -------
    suspects : DataFrame
        A row for each document that `cv` holds out, with the index of X if it is a
        DataFrame of pandas, else the number of the row.  Columns: ``query``; ``grade``;
        ``rank``, the place in the held-out list, from 1, of equal scores the lower
        grade first; ``doubt``, as above; ``contradicted``, the share of the documents
        of other grades that stand on the wrong side of it; and ``suggests``, "higher"
        or "lower" than the grade, "" without doubt.

    Raises
    ------
    ImportError
        If pandas is not installed.
    ValueError, TypeError
        For more folds than queries, invalid grades, groups, weights, users or dates, or
        whatever the ranker refuses.
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
    check_n_jobs(n_jobs)
    given = FitArguments.of(
        X, y, groups, sample_weight=sample_weight, users=users, order=order
    )
    rows = read_rows(given, ONE_LABEL)
    splits = None if isinstance(cv, str) else make_splits(cv, rows)
    if splits is None:
        _, (scores,) = score_prefit([ranker], rows.X, ["ranker"])
    else:
        with sklearn.config_context(enable_metadata_routing=True):
            taken = requested_metadata(clone(ranker), rows.metadata)
            scores = out_of_fold(ranker, rows, taken, splits, n_jobs)
    held_out = HeldOut.sort(rows, [scores], ["ranker"], splits)

    # the best of each query first, of equal scores the lower grade, then by content, so
    # that neither sums nor places depend on the order of the rows
    data, (scores,) = held_out.data, held_out.scores
    content = row_keys(rows.X)[:, data.rows]
    best_first = np.lexsort((*content, data.y, -scores, held_out.query))
    found = doubts(scores[best_first], data.reordered(best_first), rows.queries)
    table: Any = X
    names = table.index if hasattr(X, "iloc") else np.arange(len(rows.kept))
    found.index = names[np.flatnonzero(rows.kept)[data.rows[best_first]]]
    return found.sort_values("doubt", ascending=False, kind="stable")


def row_keys(X: Any) -> NDArray[np.uint64]:
    """Return numbers that the content and the index of each row determine."""
    import pandas as pd

    if issparse(X):
        table = csr_matrix(X, dtype=np.float64)
        return hash_values(table, np.arange(X.shape[0]), ONE_THREAD)[np.newaxis]
    table = as_table(X)
    frame = table if hasattr(table, "iloc") else pd.DataFrame(np.asarray(table))
    hashes = pd.util.hash_pandas_object(frame, index=False)
    return np.array([pd.util.hash_pandas_object(frame.index), hashes])


def doubts(
    scores: FloatArray, data: TrainingData, queries: QueryGroups
) -> pd.DataFrame:
    """Return how much held-out scores contradict each grade, in their order."""
    import pandas as pd

    grades, offsets = data.y, data.offsets
    deviation = np.std(centred_within_queries(scores, offsets[:-1]))
    scaled, query = scores / (deviation or 1.0), np.repeat(offsets[:-1], data.sizes)
    gradient, _ = compute_lambdas(scaled, grades, metric=None, groups=query)
    return pd.DataFrame(
        {
            "query": index_rows(queries.column, data.rows),
            "grade": grades,
            "rank": places_in_queries(offsets) + 1,
            "doubt": np.abs(gradient),
            "contradicted": wrong_sides(scores, grades, offsets),
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
