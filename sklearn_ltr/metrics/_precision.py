"""Precision and recall: sums of the relevance (0 or 1) of the top k documents.

    Precision@k = number of relevant documents among the first k / k
    Recall@k    = number of relevant documents among the first k
                  / number of relevant documents

Precision divides by k even when the list is shorter, as trec_eval does; without k, by
the length of the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.metrics._closed_form import BinaryMetric
from sklearn_ltr.metrics._dcg import sum_values
from sklearn_ltr.metrics._gains import cut_at
from sklearn_ltr.metrics._kernel_arrays import JudgedLists
from sklearn_ltr.metrics._per_query import count_relevant

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Precision(BinaryMetric):
    """Number of relevant documents among the first k, divided by k.

    A list of fewer than k documents is divided by k as well, as trec_eval does, so its
    precision cannot reach 1.

    Parameters
    ----------
    k : int >= 1 or None, default=None
        Cutoff, and the divisor.  None: the length of the list, for both.
    ties, no_relevant
        As in :class:`Metric`.
    relevant_from : float > 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.

    Examples
    --------
    >>> from sklearn_ltr.metrics import Precision
    >>> round(Precision(2)([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.5
    """

    short_name: ClassVar[str] = "precision"
    _values_kernel = staticmethod(sum_values)

    def value(self, ranked_grades: FloatArray) -> float:
        """Return the number of relevant documents at positions p < k, over k."""
        relevant = self.relevance(ranked_grades)
        return float(relevant[: self.k].sum() / (self.k or len(relevant)))

    def discounts(self, n: int, k: int) -> FloatArray:
        """1 for positions 0 to k - 1, then 0."""
        return cut_at(k, np.ones(n))

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """1 / k; without k, 1 / length of the list."""
        n_queries = len(judged.n_ranked)
        if self.k is None:
            return 1.0 / np.maximum(judged.n_ranked, 1)
        return 1.0 / np.full(n_queries, float(self.k))


@dataclass(frozen=True, repr=False)
class Recall(Precision):
    """Share of the relevant documents that are among the first k.

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    relevant_from
        As in :class:`Precision`.

    Examples
    --------
    >>> from sklearn_ltr.metrics import Recall
    >>> round(Recall(2)([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.5
    """

    short_name: ClassVar[str] = "recall"

    def value(self, ranked_grades: FloatArray) -> float:
        """Share of the relevant documents that are at positions p < k."""
        relevant = self.relevance(ranked_grades)
        return float(relevant[: self.k].sum() / max(relevant.sum(), 1.0))

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """1 / number of relevant documents."""
        return 1.0 / count_relevant(judged)
