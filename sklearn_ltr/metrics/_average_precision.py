"""Mean average precision.

    AP@k = 1 / R * sum over relevant positions p < k of  (relevant among ranks 1..p + 1)
                                                         / (p + 1)

R is the number of relevant documents of the query, including those below the cutoff
(trec_eval's ``map`` and ``map_cut``).  With ``divide_by="at_most_k"`` the divisor is
min(R, k), here and in the swap delta, so that k relevant documents on top have value 1.

Swap delta.  Let r be the relevance (0 or 1), n_p the number of relevant documents at
positions 0 to p, d_p = 1 / (p + 1) for p < k and 0 from k on, and S_p the sum of
r_m d_m for m up to p.  Let p < q.  If only p is relevant, the swap removes the term
n_p d_p of p, lowers the count n_m of each relevant m between p and q by one, and adds
the term n_q d_q at q:

    R |Delta| = n_p d_p - S_p  -  (n_q d_q - S_{q-1}).

If only q is relevant, the document that moves up to p has n_p + 1 relevant documents
down to itself instead of n_p, and all other changes have the opposite sign.  Both are

    |Delta| = |r_p - r_q| * |discount_above_p - discount_below_q| / R,

    discount_above_p = (n_p + 1 - r_p) d_p - S_p,
    discount_below_q = n_q d_q - S_{q-1}.

Equal scores in random order: the expected value of McSherry and Najork (2008,
"Computing information retrieval performance measures efficiently in the presence of
tied scores").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._core.compile import range_kernel
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray
from sklearn_ltr.metrics._closed_form import (
    DiscountedByRank,
    DivideBy,
    DividedMetric,
    MetricArrays,
    RankedLists,
    SwapFactors,
)
from sklearn_ltr.metrics._metric import NoRelevant, Ties, compute_score, score_function
from sklearn_ltr.metrics._ranked_list import run_end

__all__ = ["MAP", "map_score"]


@range_kernel
def average_precision_values(
    first: int, last: int, lists: RankedLists, arrays: MetricArrays, values: FloatArray
) -> None:
    """Compute the average precision of each list."""
    # In a run of n equal scores, r of them relevant, below `above` relevant documents,
    # the i-th position (from 1) is relevant with probability r / n.  If it is, the
    # expected number of relevant documents down to it is above + 1 + (i - 1) (r - 1) /
    # (n - 1).
    scores, order, offsets = lists.scores, lists.order, lists.offsets
    relevance, discount, scale = arrays.gain, arrays.discount, arrays.scale
    k = arrays.k
    for query in range(first, last):
        ranked = order[offsets[query] : offsets[query + 1]]
        stop = min(k, len(ranked))
        total, above, position = 0.0, 0.0, 0
        while position < stop:
            end = run_end(scores, ranked, position, arrays.average)
            n = end - position
            r = 0.0
            for p in range(position, end):
                r += relevance[ranked[p]]
            others_per_step = (r - 1.0) / max(n - 1, 1)
            for p in range(position, end):
                count = above + 1.0 + (p - position) * others_per_step
                total += r / n * count * discount[p]
            above += r
            position = end
        values[query] = total * scale[query]


@range_kernel
def average_precision_swap_factors(
    first: int, last: int, order: IntArray, arrays: MetricArrays, factors: SwapFactors
) -> None:
    """Compute the factors derived at the head of this file."""
    relevance, discount, offsets = arrays.gain, arrays.discount, arrays.offsets
    for query in range(first, last):
        start = offsets[query]
        count = 0.0  # n_p
        discounts = 0.0  # S_{p-1}, then S_p
        for p in range(offsets[query + 1] - start):
            r = relevance[order[start + p]]
            count += r
            factors.multiplier[start + p] = 1.0
            factors.discount_below[start + p] = count * discount[p] - discounts
            discounts += r * discount[p]
            above = (count + 1.0 - r) * discount[p] - discounts
            factors.discount_above[start + p] = above


@dataclass(frozen=True, repr=False, eq=False)
class MAP(DiscountedByRank, DividedMetric):
    """Mean average precision (MAP): precision at each relevant document, averaged.

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    relevant_from : float above 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.
    divide_by : {"relevant", "at_most_k"}, default="relevant"
        Divisor of the sum of precisions: the number R of all relevant documents,
        including those below the cutoff, as in trec_eval; or min(R, k), as in
        the ``map@k`` of Kaggle, LightGBM, XGBoost and CatBoost.

    Examples
    --------
    >>> from sklearn_ltr.metrics import MAP
    >>> round(MAP()([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.5833
    """

    short_name: ClassVar[str] = "map"
    cascade_coefficients: ClassVar[tuple[float, float]] = (1.0, 0.0)
    _values_kernel = average_precision_values
    _swap_factors_kernel = average_precision_swap_factors

    def value(self, ranked_grades: FloatArray) -> float:
        """Return the sum of precisions at relevant documents down to k, divided."""
        relevant = self.relevance(ranked_grades)
        precision = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
        found = (relevant * precision)[: self.k].sum()
        k = self.cutoff(len(relevant))
        return float(found / self.divisor(relevant.sum(), k))


@score_function(MAP)
def map_score(
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
    """Mean average precision of queries.

    AP@k is the sum of the precisions at the ranks r <= k of relevant documents, divided
    by the number of all relevant documents (as in trec_eval), or by k where that is
    less and `divide_by` says so.

    Examples
    --------
    >>> from sklearn_ltr.metrics import map_score
    >>> round(map_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.5833
    """
    return compute_score(MAP, **locals())
