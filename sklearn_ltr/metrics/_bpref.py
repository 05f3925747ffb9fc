"""Binary preference: how seldom documents judged not relevant are above relevant ones.

    bpref@k = 1 / R * sum over relevant positions p < k of  1 - min(n_p, M) / M,

    M = min(R, N).

R and N are the numbers of relevant and of other judged documents of the query, those
that were not retrieved included, and n_p is the number of other documents above
position p (Buckley and Voorhees, 2004, "Retrieval evaluation with incomplete
information", with the M of trec_eval).  Where N is 0, every term is 1.

Swap delta.  Let f(n) = max(M - n, 0) be M times a term, r the relevance, d_p = 1 for
p < k and 0 from k on, and p < q.

If p is relevant and q is not, the swap removes the term f(n_p) of p, n_m grows by one
for each relevant m between them, which lowers its term by 1 if n_m < M, and q, with
itself now relevant and p among the others above it, adds the term f(n_q + 1):

    R M |Delta| = d_p f(n_p) - U_p  -  (d_q f(n_q + 1) - U_{q-1}),

with U_p the number of relevant m <= p of n_m < M, m < k.  If q is relevant and p is
not, the swap removes f(n_q), adds f(n_p) at p, and n_m falls by one for each relevant m
between them, which raises its term by 1 if n_m <= M:

    R M |Delta| = d_p f(n_p) - V_p  -  (d_q f(n_q) - V_{q-1}),

with V_p the number of relevant m <= p of n_m <= M, m < k.  All are integers.

Equal scores in random order: n_p in a run is found by counting, position by position,
with which probability so many others were drawn; a run of n with s others takes n s
steps.
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
    JudgedLists,
    MetricArrays,
    RankedLists,
    SwapFactors,
    count_relevant,
)
from sklearn_ltr.metrics._metric import NoRelevant, Ties, compute_score, score_function
from sklearn_ltr.metrics._ranked_list import run_end

__all__ = ["BPref", "bpref_score"]


@range_kernel
def bpref_values(
    first: int, last: int, lists: RankedLists, arrays: MetricArrays, values: FloatArray
) -> None:
    """Compute the binary preference of each list."""
    scores, order, offsets = lists.scores, lists.order, lists.offsets
    relevance = arrays.gain
    chance = np.zeros(len(arrays.discount) + 1)  # that so many others were drawn
    for query in range(first, last):
        ranked = order[offsets[query] : offsets[query + 1]]
        stop = min(arrays.k, len(ranked))
        total, above, position = 0.0, 0, 0
        while position < stop:
            end = run_end(scores, ranked, position, arrays.average)
            others = 0
            for p in range(position, end):
                others += int(relevance[ranked[p]] == 0.0)
            chance[: others + 1] = 0.0
            chance[0] = 1.0
            for p in range(position, min(end, stop)):
                left = end - p
                for drawn in range(min(others, p - position), -1, -1):
                    # of the `left` documents, others - drawn are not relevant
                    found = chance[drawn] * (left - others + drawn) / left
                    other = chance[drawn] - found
                    total += found * max(arrays.limit[query] - above - drawn, 0)
                    chance[drawn] = found
                    if drawn < others:
                        chance[drawn + 1] += other
            above += others
            position = end
        values[query] = total * arrays.scale[query]


@range_kernel
def bpref_swap_factors(
    first: int, last: int, order: IntArray, arrays: MetricArrays, factors: SwapFactors
) -> None:
    """Compute the factors derived at the head of this file."""
    relevance, discount, offsets = arrays.gain, arrays.discount, arrays.offsets
    above, below = factors.discount_above, factors.discount_below
    for query in range(first, last):
        start, m = offsets[query], arrays.limit[query]
        n_above, u, v = 0, 0.0, 0.0  # n_p; U_{p-1} and V_{p-1}, then U_p and V_p
        for p in range(offsets[query + 1] - start):
            d = discount[p]
            term = d * max(m - n_above, 0)
            factors.multiplier[start + p] = 1.0
            if relevance[order[start + p]] > 0:
                below[start + p] = term - v
                u += d * int(n_above < m)
                v += d * int(n_above <= m)
                above[start + p] = term - u
            else:
                above[start + p] = term - v
                n_above += 1
                below[start + p] = d * max(m - n_above, 0) - u


@dataclass(frozen=True, repr=False, eq=False)
class BPref(BinaryMetric):
    """Binary preference: how often relevant documents are above other judged ones.

    trec_eval's ``bpref``.  Every document of the list counts as judged: leave out
    those that are not (``unjudged="drop"`` of
    :func:`~sklearn_ltr.datasets.join_run`).  `y_missing` has the judged documents
    that were not retrieved, including those of grade 0.

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    relevant_from : float above 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.

    Examples
    --------
    >>> from sklearn_ltr.metrics import BPref
    >>> BPref()([1, 0, 1, 0], [4, 3, 2, 1], groups=[7, 7, 7, 7])
    0.75
    """

    short_name: ClassVar[str] = "bpref"
    cascade_coefficients = None
    _values_kernel = bpref_values
    _swap_factors_kernel = bpref_swap_factors

    def value(self, ranked_grades: FloatArray) -> float:
        """Mean over all relevant documents of 1 - min(others above, M) / M."""
        relevant = self.relevance(ranked_grades)
        n_relevant = max(relevant.sum(), 1.0)
        most = max(min(n_relevant, (1.0 - relevant).sum()), 1.0)
        terms = np.maximum(most - np.cumsum(1.0 - relevant), 0.0)
        return float((relevant * terms)[: self.k].sum() / (n_relevant * most))

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """1 / (R M)."""
        return 1.0 / (count_relevant(judged) * self._limits(judged))

    def _limits(self, judged: JudgedLists) -> IntArray:
        """M, the number of others above which make a term 0; at least 1."""
        n_relevant = count_relevant(judged).astype(np.int64)
        is_other, starts = judged.gain == 0, judged.offsets[:-1]
        n_others = np.add.reduceat(is_other, starts, dtype=np.int64)
        return np.maximum(np.minimum(n_relevant, n_others), 1)


@score_function(BPref)
def bpref_score(
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
    """Mean binary preference of queries.

    The mean over the R relevant documents of 1 - min(n, M) / M, where n is the number
    of other documents above, and M the smaller of R and the number of all others
    (trec_eval's ``bpref``).  Every row counts as judged.

    Examples
    --------
    >>> from sklearn_ltr.metrics import bpref_score
    >>> round(bpref_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.0
    """
    return compute_score(BPref, **locals())
