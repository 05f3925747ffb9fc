"""Cumulative gain: CG, DCG and NDCG, which are discounted sums of gains.

    DCG@k = sum over positions p < k of  gain(grade_p) * discount_p
    NDCG@k = DCG@k / (DCG@k of the same documents in their best order)

Equation 5 of the report (gain 2^grade - 1, discount 1 / log2(1 + rank)).

Swapping positions p and q changes two terms of the sum, so

    |Delta| = |gain_p - gain_q| * |discount_p - discount_q| * scale.

With equal scores in random order, each document of a run of equal scores is equally
likely at each position of the run, so every position has the mean gain of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel
from sklearn_ltr._data import Labels
from sklearn_ltr.metrics._arguments import check_option
from sklearn_ltr.metrics._closed_form import ClosedFormMetric
from sklearn_ltr.metrics._gains import (
    Discount,
    Gain,
    check_gain,
    cut_at,
    discount_per_position,
    gain_of,
    gain_per_document,
)
from sklearn_ltr.metrics._kernel_arrays import (
    JudgedLists,
    MetricArrays,
    RankedLists,
)
from sklearn_ltr.metrics._ranked_list import rank_documents, run_end

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel
def sum_values(
    lists: RankedLists, arrays: MetricArrays, average: bool, values: FloatArray
) -> None:
    """Compute scale * sum of gain * discount, with the mean gain in runs of ties."""
    scores, order, offsets = lists.scores, lists.order, lists.offsets
    gain, discount, scale = arrays.gain, arrays.discount, arrays.scale
    for query in range(len(values)):
        ranked = order[offsets[query] : offsets[query + 1]]
        stop = min(arrays.k, arrays.limit[query], len(ranked))
        total = 0.0
        position = 0
        while position < stop:
            end = run_end(scores, ranked, position, average)
            run_gain = 0.0
            run_discount = 0.0
            for p in range(position, end):
                run_gain += gain[ranked[p]]
            for p in range(position, min(end, stop)):
                run_discount += discount[p]
            total += run_gain / (end - position) * run_discount
            position = end
        values[query] = total * scale[query]


@dataclass(frozen=True, repr=False)
class CG(ClosedFormMetric):
    """Cumulative gain: the sum of the gains of the first k documents.

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        2^grade - 1; the grade itself; an array of the gains of grades 0, 1, 2, ..., not
        decreasing; or a function from a float64 array of grades to their gains.  Gains
        are finite and >= 0; a document is relevant if its gain is above zero.

    Examples
    --------
    >>> from sklearn_ltr.metrics import CG
    >>> round(CG(2)([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    1.0
    """

    gain: Gain = field(default="exponential", kw_only=True)

    short_name: ClassVar[str] = "cg"
    _values_kernel = staticmethod(sum_values)

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        object.__setattr__(self, "gain", check_gain(self.gain))

    def value(self, ranked_grades: FloatArray) -> float:
        """Sum over positions p < k of gain_p * discount_p."""
        n = len(ranked_grades)
        gains = gain_of(self.gain, np.asarray(ranked_grades, dtype=np.float64))
        return float((gains * self.discounts(n, self.cutoff(n))).sum())

    def gains(
        self, grades: FloatArray, offsets: IntArray, labels: Labels | None
    ) -> FloatArray:
        """Gain of each document."""
        return gain_per_document(self.gain, grades, offsets, labels)

    def discounts(self, n: int, k: int) -> FloatArray:
        """1 for positions 0 to k - 1, then 0."""
        return cut_at(k, np.ones(n))


@dataclass(frozen=True, repr=False)
class DCG(CG):
    """Discounted cumulative gain (equation 5 of the report).

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        2^grade - 1; the grade itself; an array of the gains of grades 0, 1, 2, ..., not
        decreasing; or a function from a float64 array of grades to their gains.  Gains
        are finite and >= 0; a document is relevant if its gain is above zero.
    discount : {"log2", "letor"}, default="log2"
        1 / log2(1 + rank); or that of the LETOR 4.0 evaluation script, 1 at ranks 1
        and 2 and 1 / log2(rank) from rank 3.

    Examples
    --------
    >>> from sklearn_ltr.metrics import DCG
    >>> round(DCG(2)([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.6309
    """

    discount: Discount = field(default="log2", kw_only=True)

    short_name: ClassVar[str] = "dcg"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_option("discount", self.discount, ("log2", "letor"))

    def discounts(self, n: int, k: int) -> FloatArray:
        """Discount of positions 0 to n - 1, zero from k on."""
        return discount_per_position(self.discount, n, k)


@dataclass(frozen=True, repr=False)
class NDCG(DCG):
    """Normalised discounted cumulative gain, between 0 and 1.

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        2^grade - 1; the grade itself; an array of the gains of grades 0, 1, 2, ..., not
        decreasing; or a function from a float64 array of grades to their gains.  Gains
        are finite and >= 0; a document is relevant if its gain is above zero.
    discount : {"log2", "letor"}, default="log2"
        1 / log2(1 + rank); or that of the LETOR 4.0 evaluation script, 1 at ranks 1
        and 2 and 1 / log2(rank) from rank 3.
    short_lists : {"cut", "zero"}, default="cut"
        For lists of fewer than k documents: k is reduced to the list; or the value is
        0, as in the LETOR 4.0 evaluation script.

    Examples
    --------
    >>> from sklearn_ltr.metrics import NDCG
    >>> y, scores, groups = [1, 0, 0, 2], [0.2, 0.4, 0.9, 0.6], ["a", "a", "b", "b"]
    >>> NDCG(10).per_query(y, scores, groups=groups).round(4)
    array([0.6309, 0.6309])
    """

    short_lists: Literal["cut", "zero"] = field(default="cut", kw_only=True)

    short_name: ClassVar[str] = "ndcg"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_option("short_lists", self.short_lists, ("cut", "zero"))

    def value(self, ranked_grades: FloatArray) -> float:
        """DCG@k over the DCG@k of the best order; 0 if that is 0."""
        n = len(ranked_grades)
        if self.short_lists == "zero" and self.k is not None and n < self.k:
            return 0.0
        gains = gain_of(self.gain, np.asarray(ranked_grades, dtype=np.float64))
        best = (np.sort(gains)[::-1] * self.discounts(n, self.cutoff(n))).sum()
        return float(super().value(ranked_grades) / best) if best > 0 else 0.0

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """1 / (DCG@k of the best order), 0 where that is 0."""
        gain, discount, offsets, k, n_ranked = judged
        n_queries = len(n_ranked)
        order = np.empty(len(gain), dtype=np.int64)
        rank_documents(gain, gain, offsets, 0, n_queries, k, order, True)
        best = np.empty(n_queries)
        lists = RankedLists(gain, gain, order, offsets)
        unscaled = MetricArrays(
            gain, discount, np.ones(n_queries), self._limits(judged), k
        )
        sum_values(lists, unscaled, False, best)
        scale = np.divide(1.0, best, out=np.zeros(n_queries), where=best > 0)
        if self.short_lists == "zero" and self.k is not None:
            scale[n_ranked < self.k] = 0.0
        return scale
