"""Mean average precision.

    AP@k = 1 / R * sum over relevant positions p < k of  (relevant among ranks 1..p + 1)
                                                         / (p + 1)

R counts all relevant documents of the query, also those below the cutoff (trec_eval's
``map`` and ``map_cut``).

Swap delta.  Let r be relevance, n_p the relevant documents at positions up to p, d_p =
1 / (p + 1) up to the cutoff, S_p the sum of r_m d_m for m up to p.  If p < q and only
p is relevant, the swap takes n_p d_p away from p, one of the counts n_m away from each
relevant m between them, and gives n_q d_q at q:

    R |Delta| = n_p d_p - S_p  -  (n_q d_q - S_{q-1}).

If only q is relevant, the document that rises to p finds n_p + 1 there instead of n_p
and the rest is the same with opposite sign.  Both are

    |r_p - r_q| * |upper_p - lower_q| / R,    upper_p = (n_p + 1 - r_p) d_p - S_p,
                                              lower_q = n_q d_q - S_{q-1}.

Equal scores in random order: the expected value of McSherry and Najork (2008,
"Computing information retrieval performance measures efficiently in the presence of
tied scores").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel
from sklearn_ltr.metrics._closed_form import BinaryMetric, sum_in_query
from sklearn_ltr.metrics._gains import reciprocal_ranks
from sklearn_ltr.metrics._ranked_list import run_end

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel
def average_precision_values(
    scores: FloatArray,
    order: IntArray,
    offsets: IntArray,
    relevance: FloatArray,
    discount: FloatArray,
    scale: FloatArray,
    k: int,
    average: bool,
    values: FloatArray,
) -> None:
    """Average precision of each list.

    A run of n equal scores, r of them relevant, with R relevant above it: its i-th
    position is relevant with chance r / n, and then has R + 1 + (i - 1)(r - 1)/(n - 1)
    relevant documents down to itself.
    """
    for query in range(len(values)):
        ranked = order[offsets[query] : offsets[query + 1]]
        stop = min(k, len(ranked))
        total, above, position = 0.0, 0.0, 0
        while position < stop:
            end = run_end(scores, ranked, position, average)
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


@kernel
def average_precision_swap_terms(
    order: IntArray,
    offsets: IntArray,
    relevance: FloatArray,
    discount: FloatArray,
    first: int,
    last: int,
    weight: FloatArray,
    upper: FloatArray,
    lower: FloatArray,
) -> None:
    """Fill the terms derived at the head of this file."""
    for query in range(first, last):
        lo = offsets[query]
        count = 0.0  # n_p
        discounts = 0.0  # S_{p-1}, then S_p
        for p in range(offsets[query + 1] - lo):
            r = relevance[order[lo + p]]
            count += r
            weight[lo + p] = 1.0
            lower[lo + p] = count * discount[p] - discounts
            discounts += r * discount[p]
            upper[lo + p] = (count + 1.0 - r) * discount[p] - discounts


@dataclass(frozen=True, repr=False)
class MAP(BinaryMetric):
    """Mean average precision.

    Divided by all relevant documents, as in trec_eval; LightGBM, XGBoost and CatBoost
    divide their ``map@k`` by k where that is less.

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    relevant_from : float > 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.
    """

    short_name: ClassVar[str] = "map"
    from_above: ClassVar[tuple[float, float]] = (1.0, 0.0)
    values_kernel = staticmethod(average_precision_values)
    terms_kernel = staticmethod(average_precision_swap_terms)

    def value(self, ranked_grades: FloatArray) -> float:
        """Mean over all relevant documents of the precision at their ranks up to k."""
        relevant = self.relevance(ranked_grades)
        precision = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
        found = (relevant * precision)[: self.k].sum()
        return float(found / max(relevant.sum(), 1.0))

    def discounts(self, n: int, k: int) -> FloatArray:
        """1 / rank, zero from position k on."""
        return reciprocal_ranks(n, k)

    def scales(
        self, worth: FloatArray, discount: FloatArray, offsets: IntArray, k: int
    ) -> FloatArray:
        """1 / number of relevant documents."""
        return 1.0 / np.maximum(sum_in_query(worth, offsets), 1.0)
