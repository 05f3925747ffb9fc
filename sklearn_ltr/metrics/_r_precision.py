"""R-precision: precision at rank R, the number of relevant documents of the query.

    R-precision@k = number of relevant documents at positions p < min(R, k) / R

R counts the relevant documents that were not retrieved, too (trec_eval's ``Rprec``).
At rank R precision equals recall.

Swap delta.  A discounted sum whose discount is 1 for p < R and 0 from position R on:

    |Delta| = |r_p - r_q| * |[p < R] - [q < R]| / R.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel
from sklearn_ltr.metrics._closed_form import BinaryMetric
from sklearn_ltr.metrics._dcg import sum_values
from sklearn_ltr.metrics._gains import cut_at
from sklearn_ltr.metrics._kernel_arrays import JudgedLists, MetricArrays, SwapFactors
from sklearn_ltr.metrics._per_query import count_relevant

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel
def r_precision_swap_factors(
    order: IntArray,
    offsets: IntArray,
    arrays: MetricArrays,
    first: int,
    last: int,
    factors: SwapFactors,
) -> None:
    """Compute the factors derived at the head of this file."""
    for query in range(first, last):
        start = offsets[query]
        for p in range(offsets[query + 1] - start):
            counts = arrays.discount[p] if p < arrays.limit[query] else 0.0
            factors.multiplier[start + p] = 1.0
            factors.discount_above[start + p] = counts
            factors.discount_below[start + p] = counts


@dataclass(frozen=True, repr=False)
class RPrecision(BinaryMetric):
    """Precision at rank R, the number of relevant documents of the query.

    trec_eval's ``Rprec``.  R counts the documents of `y_missing`, too.

    Parameters
    ----------
    k : int >= 1 or None, default=None
        Cutoff: relevant documents below rank k do not count; R stays the divisor.
    ties, no_relevant
        As in :class:`Metric`.
    relevant_from : float > 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.

    Examples
    --------
    >>> from sklearn_ltr.metrics import RPrecision
    >>> RPrecision()([1, 0, 1, 0], [4, 3, 2, 1], groups=[7, 7, 7, 7])
    0.5
    """

    short_name: ClassVar[str] = "rprec"
    cascade_coefficients = None
    _values_kernel = staticmethod(sum_values)
    _swap_factors_kernel = staticmethod(r_precision_swap_factors)

    def value(self, ranked_grades: FloatArray) -> float:
        """Share of the relevant documents that are at positions p < min(R, k)."""
        relevant = self.relevance(ranked_grades)
        n_relevant = int(relevant.sum())
        found = relevant[: self.k][:n_relevant].sum()
        return float(found / max(n_relevant, 1))

    def discounts(self, n: int, k: int) -> FloatArray:
        """1 for positions 0 to k - 1, then 0."""
        return cut_at(k, np.ones(n))

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """1 / R."""
        return 1.0 / count_relevant(judged)

    def _limits(self, judged: JudgedLists) -> IntArray:
        """R."""
        return count_relevant(judged).astype(np.int64)
