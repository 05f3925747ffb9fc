"""Precision, recall, and rank-biased precision: sums of the relevance of documents.

    Precision@k = number of relevant documents among the first k / k
    Recall@k    = number of relevant documents among the first k
                  / number of relevant documents

    R-precision@k = number of relevant documents among the first min(R, k) / R,
                    R = number of relevant documents

Precision divides by k even when the list is shorter, as trec_eval does; without k, by
the length of the list.  Recall may be divided by min(R, k) instead (``divide_by``), so
that k relevant documents on top have value 1.  At rank R precision equals recall.  R
counts the relevant documents that were not retrieved, too (trec_eval's ``Rprec``).

    RBP@k = (1 - p) * sum over relevant positions i < k of  p^i

is for a user who goes on to the next document with probability p (Moffat and Zobel,
2008, "Rank-biased precision for measurement of retrieval effectiveness").  The sum is
not normalised: a list of n documents reaches at most 1 - p^n.

Swap deltas are those of discounted sums: the discount is p^i, or 1, down to the cutoff,
for R-precision that of the query, and 0 below it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._core.parameters import real
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray
from sklearn_ltr.metrics._closed_form import (
    BinaryMetric,
    DivideBy,
    DividedMetric,
    JudgedLists,
    count_relevant,
    cut_at,
)
from sklearn_ltr.metrics._metric import NoRelevant, Ties, compute_score, score_function

__all__ = [
    "RBP",
    "Precision",
    "RPrecision",
    "Recall",
    "precision_score",
    "r_precision_score",
    "rbp_score",
    "recall_score",
]


@dataclass(frozen=True, repr=False, eq=False)
class Precision(BinaryMetric):
    """Number of relevant documents among the first k, divided by k.

    A list of fewer than k documents is divided by k as well, as trec_eval does, so its
    precision cannot reach 1.

    Parameters
    ----------
    k : int of at least 1 or None, default=None
        Cutoff, and the divisor.  None: the length of the list, for both.
    ties, no_relevant
        As in :class:`Metric`.
    relevant_from : float above 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.

    Examples
    --------
    >>> from sklearn_ltr.metrics import Precision
    >>> round(Precision(2)([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.5
    """

    short_name: ClassVar[str] = "precision"

    def value(self, ranked_grades: FloatArray) -> float:
        """Return the number of relevant documents at positions p < k, over k."""
        relevant = self.relevance(ranked_grades)
        return float(relevant[: self.k].sum() / (self.k or len(relevant)))

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """Return 1 / k or, without k, 1 / length of the list."""
        n_queries = len(judged.n_ranked)
        if self.k is None:
            return 1.0 / np.maximum(judged.n_ranked, 1)
        return 1.0 / np.full(n_queries, float(self.k))


@score_function(Precision)
def precision_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: IdsLike,
    k: int | None = None,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: ArrayLike | None = None,
    y_missing: ArrayLike | None = None,
    groups_missing: IdsLike | None = None,
) -> float:
    """Mean precision of queries.

    Precision@k = (number of relevant documents at ranks r <= k) / k, even if the list
    is shorter (as in trec_eval); without k, divided by the length of the list.

    Examples
    --------
    >>> from sklearn_ltr.metrics import precision_score
    >>> round(precision_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    0.5
    """
    return compute_score(Precision, **locals())


@dataclass(frozen=True, repr=False, eq=False)
class Recall(DividedMetric, Precision):
    """Share of the relevant documents that are among the first k.

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    relevant_from
        As in :class:`Precision`.
    divide_by : {"relevant", "at_most_k"}, default="relevant"
        What the number found is divided by: the number R of all relevant documents,
        those below the cutoff included, as in trec_eval; or min(R, k), as
        in the capped recall of BEIR and trec_eval's ``relative_P``.

    Examples
    --------
    >>> from sklearn_ltr.metrics import Recall
    >>> round(Recall(2)([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.5
    """

    short_name: ClassVar[str] = "recall"

    def value(self, ranked_grades: FloatArray) -> float:
        """Return the share of the relevant documents that are at positions p < k."""
        relevant = self.relevance(ranked_grades)
        k = self.cutoff(len(relevant))
        found = relevant[: self.k].sum()
        return float(found / self.divisor(relevant.sum(), k))


@score_function(Recall)
def recall_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: IdsLike,
    k: int | None = None,
    relevant_from: float | None = None,
    divide_by: DivideBy = "relevant",
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: ArrayLike | None = None,
    y_missing: ArrayLike | None = None,
    groups_missing: IdsLike | None = None,
) -> float:
    """Mean recall of queries.

    Recall@k = (number of relevant documents at ranks r <= k) / (number of all relevant
    documents, or k where that is less and `divide_by` says so).

    Examples
    --------
    >>> from sklearn_ltr.metrics import recall_score
    >>> round(recall_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    0.5
    """
    return compute_score(Recall, **locals())


@dataclass(frozen=True, repr=False, eq=False)
class RPrecision(Precision):
    """Precision at rank R, the number of relevant documents of the query.

    trec_eval's ``Rprec``.  R counts the documents of `y_missing`, too.

    Parameters
    ----------
    k : int of at least 1 or None, default=None
        Cutoff: relevant documents below rank k do not count; R stays the divisor.
    ties, no_relevant
        As in :class:`Metric`.
    relevant_from : float above 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.

    Examples
    --------
    >>> from sklearn_ltr.metrics import RPrecision
    >>> RPrecision()([1, 0, 1, 0], [4, 3, 2, 1], groups=[7, 7, 7, 7])
    0.5
    """

    short_name: ClassVar[str] = "r_precision"

    def value(self, ranked_grades: FloatArray) -> float:
        """Return the share of relevant documents at positions p < min(R, k)."""
        relevant = self.relevance(ranked_grades)
        n_relevant = int(relevant.sum())
        found = relevant[: self.k][:n_relevant].sum()
        return float(found / max(n_relevant, 1))

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """Return 1 / R."""
        return 1.0 / count_relevant(judged)

    def _limits(self, judged: JudgedLists) -> IntArray:
        """Return the cutoff of each query: R, its number of relevant documents."""
        return count_relevant(judged).astype(np.int64)


@score_function(RPrecision)
def r_precision_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: IdsLike,
    k: int | None = None,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: ArrayLike | None = None,
    y_missing: ArrayLike | None = None,
    groups_missing: IdsLike | None = None,
) -> float:
    """Mean R-precision of queries.

    The number of relevant documents at ranks r <= R, divided by R, the number of all
    relevant documents of the query (trec_eval's ``Rprec``).

    Examples
    --------
    >>> from sklearn_ltr.metrics import r_precision_score
    >>> round(r_precision_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.5
    """
    return compute_score(RPrecision, **locals())


@dataclass(frozen=True, repr=False, eq=False)
class RBP(BinaryMetric):
    """Rank-biased precision: a user goes on to the next document with probability p.

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    relevant_from : float above 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.
    persistence : float in (0, 1), default=0.8
        Probability p that the user goes on to the next document; 1 / (1 - p) documents
        are read on average.

    Examples
    --------
    >>> from sklearn_ltr.metrics import RBP
    >>> RBP(persistence=0.5)([1, 0, 1, 0], [4, 3, 2, 1], groups=[7, 7, 7, 7])
    0.625
    """

    persistence: float = field(default=0.8, kw_only=True)

    short_name: ClassVar[str] = "rbp"

    def __post_init__(self) -> None:
        super().__post_init__()
        real(0, 1, "neither").read_as("persistence", self.persistence)

    def value(self, ranked_grades: FloatArray) -> float:
        """Return (1 - p) times the sum of p^i over relevant positions i < k."""
        relevant = self.relevance(ranked_grades)
        n = len(relevant)
        found = (relevant * self.discounts(n, self.cutoff(n))).sum()
        return float((1.0 - self.persistence) * found)

    def discounts(self, n: int, k: int) -> FloatArray:
        """Return p^i for positions i = 0 to k - 1, then 0."""
        steps = np.full(n, self.persistence, dtype=np.float64)
        steps[:1] = 1.0
        powers = np.cumprod(steps, dtype=np.float64)  # the same on any CPU
        return cut_at(k, powers)

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """Return 1 - p."""
        return np.full(len(judged.n_ranked), 1.0 - float(self.persistence))


@score_function(RBP)
def rbp_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: IdsLike,
    k: int | None = None,
    persistence: float = 0.8,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: ArrayLike | None = None,
    y_missing: ArrayLike | None = None,
    groups_missing: IdsLike | None = None,
) -> float:
    """Mean rank-biased precision of queries.

    RBP = (1 - p) * sum over ranks r of relevant documents of p^(r - 1), where p is the
    persistence (Moffat and Zobel, 2008).

    Examples
    --------
    >>> from sklearn_ltr.metrics import rbp_score
    >>> round(rbp_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.288
    """
    return compute_score(RBP, **locals())
