"""Measures of the first relevant document: reciprocal rank and hit rate.

    value = d at the position of the first relevant document, 0 if it is below k

with d = 1 / rank for the reciprocal rank (its mean over queries is MRR) and d = 1 for
the hit rate.

Swap delta.  Let f and f2 be the positions of the first and the second relevant document
(one past the last position, where d is 0, if there is none), and p < q.  If only p is
relevant and p = f, the first relevant position becomes min(q, f2); if p > f nothing
changes.  If only q is relevant, it becomes min(p, f).  So with

    discount_above_p = d_f          if p is relevant and p = f
                       d_f2         if p is relevant and p > f
                       d_min(p, f)  if p is not relevant
    discount_below_q = d_f          if q is relevant
                       d_min(q, f2) if q is not relevant

|Delta| = |r_p - r_q| * |discount_above_p - discount_below_q|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._core.compile import range_kernel
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray
from sklearn_ltr.metrics._closed_form import (
    BinaryMetric,
    DiscountedByRank,
    MetricArrays,
    RankedLists,
    SwapFactors,
    cut_at,
)
from sklearn_ltr.metrics._metric import NoRelevant, Ties, compute_score, score_function
from sklearn_ltr.metrics._ranked_list import run_end

__all__ = ["MRR", "HitRate", "hit_rate_score", "mrr_score"]


@range_kernel
def first_relevant_values(
    first: int, last: int, lists: RankedLists, arrays: MetricArrays, values: FloatArray
) -> None:
    """Compute the discount at the first relevant document of each list."""
    # That document is in the first run of equal scores that has a relevant one.  In
    # random order, with r of n relevant, it is the (i + 1)-th of the run with
    # probability r / (n - i) * product over j < i of (n - r - j) / (n - j).
    scores, order, offsets = lists.scores, lists.order, lists.offsets
    relevance, discount, scale = arrays.gain, arrays.discount, arrays.scale
    k = arrays.k
    for query in range(first, last):
        ranked = order[offsets[query] : offsets[query + 1]]
        stop = min(k, len(ranked))
        total, position = 0.0, 0
        while position < stop:
            end = run_end(scores, ranked, position, arrays.average)
            n = end - position
            r = 0.0
            for p in range(position, end):
                r += relevance[ranked[p]]
            not_yet = 1.0
            for p in range(position, end):
                left = n - (p - position)
                total += not_yet * r / left * discount[p]
                not_yet *= 1.0 - r / left
            position = len(ranked) if r > 0 else end
        values[query] = total * scale[query]


@range_kernel
def first_relevant_swap_factors(
    first: int, last: int, order: IntArray, arrays: MetricArrays, factors: SwapFactors
) -> None:
    """Compute the factors derived at the head of this file."""
    relevance, discount, offsets = arrays.gain, arrays.discount, arrays.offsets
    above, below = factors.discount_above, factors.discount_below
    for query in range(first, last):
        start = offsets[query]
        n = offsets[query + 1] - start
        f, f2 = n, n
        for p in range(n - 1, -1, -1):
            if relevance[order[start + p]] > 0:
                f, f2 = p, f
        d_f = discount[f] if f < n else 0.0
        d_f2 = discount[f2] if f2 < n else 0.0
        for p in range(n):
            factors.multiplier[start + p] = 1.0
            # The discount never increases, so d_min(p, f) is the larger of d_p and d_f.
            if relevance[order[start + p]] > 0:
                above[start + p] = d_f if p == f else d_f2
                below[start + p] = d_f
            else:
                above[start + p] = max(discount[p], d_f)
                below[start + p] = max(discount[p], d_f2)


@dataclass(frozen=True, repr=False, eq=False)
class MRR(DiscountedByRank, BinaryMetric):
    """Mean reciprocal rank of the first relevant document.

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    relevant_from : float above 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.

    Examples
    --------
    >>> from sklearn_ltr.metrics import MRR
    >>> round(MRR()([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.5
    """

    short_name: ClassVar[str] = "mrr"
    cascade_coefficients: ClassVar[tuple[float, float]] = (0.0, -1.0)
    _values_kernel = first_relevant_values
    _swap_factors_kernel = first_relevant_swap_factors

    def value(self, ranked_grades: FloatArray) -> float:
        """Return the discount of the first relevant document, 0 if it is below k."""
        positions = np.flatnonzero(self.relevance(ranked_grades))
        n = len(ranked_grades)
        discount = self.discounts(n, self.cutoff(n))
        return float(discount[positions[0]]) if len(positions) else 0.0


@score_function(MRR)
def mrr_score(
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
    """Mean reciprocal rank of queries.

    The reciprocal rank is 1 / (rank of the first relevant document), 0 if that is below
    k.

    Examples
    --------
    >>> from sklearn_ltr.metrics import mrr_score
    >>> round(mrr_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.5
    """
    return compute_score(MRR, **locals())


@dataclass(frozen=True, repr=False, eq=False)
class HitRate(MRR):
    """Share of queries with a relevant document among the first k (success at k).

    Parameters
    ----------
    k, ties, no_relevant, relevant_from
        As in :class:`MRR`.

    Examples
    --------
    >>> from sklearn_ltr.metrics import HitRate
    >>> round(HitRate(2)([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    1.0
    """

    short_name: ClassVar[str] = "hit_rate"

    def discounts(self, n: int, k: int) -> FloatArray:
        """Return 1, zero from position k on."""
        return cut_at(k, np.ones(n))


@score_function(HitRate)
def hit_rate_score(
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
    """Share of queries with a relevant document among the first k (success at k).

    Examples
    --------
    >>> from sklearn_ltr.metrics import hit_rate_score
    >>> round(hit_rate_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    1.0
    """
    return compute_score(HitRate, **locals())
