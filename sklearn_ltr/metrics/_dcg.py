"""Cumulative gain: CG, DCG and NDCG, which are discounted sums of gains.

    DCG@k = sum over positions p < k of  gain(grade_p) * discount_p
    NDCG@k = DCG@k / (DCG@k of the same documents in their best order)

Equation 5 of Burges (2010), with gain 2^grade - 1 and discount
1 / log2(1 + rank).

Swapping positions p and q changes two terms of the sum, so

    |Delta| = |gain_p - gain_q| * |discount_p - discount_q| * scale.

With equal scores in random order, each document of a run of equal scores is equally
likely at each position of the run, so every position has the mean gain of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._core.compile import exp2_of, log2_of
from sklearn_ltr._core.data import QueryIds, count_rows, places_in_queries, read_numbers
from sklearn_ltr._core.parameters import Choice
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray
from sklearn_ltr.metrics._closed_form import (
    ClosedFormMetric,
    JudgedLists,
    cut_at,
    describe_first,
)
from sklearn_ltr.metrics._metric import NoRelevant, Ties, compute_score, score_function
from sklearn_ltr.metrics._ranked_list import rank_documents

__all__ = ["CG", "DCG", "NDCG", "cg_score", "dcg_score", "ndcg_score"]

GainFunction = Callable[[FloatArray], ArrayLike]
Gain = Literal["exponential", "linear"] | Sequence[float] | GainFunction
Discount = Literal["log2", "letor"]


@dataclass(frozen=True, repr=False, eq=False)
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

    def __post_init__(self) -> None:
        super().__post_init__()
        gain = self.gain
        if callable(gain) or (
            isinstance(gain, str) and gain in ("exponential", "linear")
        ):
            return
        if isinstance(gain, str) or not hasattr(gain, "__len__"):
            raise ValueError(
                'gain must be "exponential", "linear", one value per integer grade or '
                f"a function of an array of grades, got {gain!r}"
            )
        n_grades = count_rows(gain, "gain")
        values = read_numbers(gain, n_grades, "gain", "grade")
        finite = (values >= 0) & (values < np.inf)
        if n_grades == 0 or not finite.all() or (values[1:] < values[:-1]).any():
            raise ValueError(
                "gain must hold finite values >= 0 that do not fall from one grade to "
                f"the next, got {tuple(values.tolist())}"
            )
        # a tuple compares and hashes
        object.__setattr__(self, "gain", tuple(values.tolist()))

    def value(self, ranked_grades: FloatArray) -> float:
        """Sum over positions p < k of gain_p * discount_p."""
        n = len(ranked_grades)
        gains = gain_of(self.gain, np.asarray(ranked_grades, dtype=np.float64))
        return float((gains * self.discounts(n, self.cutoff(n))).sum())

    def gains(
        self, grades: FloatArray, offsets: IntArray, query_ids: QueryIds | None
    ) -> FloatArray:
        """Gain of each document; a ValueError names a query without one."""
        gain = self.gain
        if isinstance(gain, tuple):
            bad = (grades >= len(gain)) | (grades != np.floor(grades))
            if bad.any():
                raise ValueError(
                    f"gain is a table of {len(gain)} values for the grades 0 to "
                    f"{len(gain) - 1}, but "
                    f"{describe_first(bad, grades, offsets, query_ids)}"
                )
        values = gain_of(gain, grades)
        if values.shape != grades.shape:
            raise ValueError(
                f"gain must return one value per grade: shape {grades.shape}, "
                f"got {values.shape}"
            )
        largest = np.finfo(np.float64).max / np.diff(offsets).max()
        bad = ~((values >= 0) & (values <= largest))
        if bad.any():
            first_bad = values[int(np.argmax(bad))]
            advice = ""
            if gain == "exponential":
                advice = (
                    ': give a metric of gain="linear", such as NDCG(10, '
                    'gain="linear"), or merge grades, for example to 0 to 4'
                )
            elif gain == "linear":
                advice = ": divide the grades, or give their rank in the query"
            raise ValueError(
                f"gain {gain!r} must be >= 0 and have a finite float64 sum over any "
                f"list, but it is {first_bad:.3g} where "
                f"{describe_first(bad, grades, offsets, query_ids)}{advice}"
            )
        return values


@score_function(CG, values=">= 0", refused="grades without a gain")
def cg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: IdsLike,
    k: int | None = None,
    gain: Gain = "exponential",
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: ArrayLike | None = None,
    y_missing: ArrayLike | None = None,
    groups_missing: IdsLike | None = None,
) -> float:
    """Mean cumulative gain of queries.

    CG@k is the sum over ranks r <= k of gain(grade_r).

    Examples
    --------
    >>> from sklearn_ltr.metrics import cg_score
    >>> round(cg_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    1.0
    """
    return compute_score(CG, **locals())


@dataclass(frozen=True, repr=False, eq=False)
class DCG(CG):
    """Discounted cumulative gain: gains, less at lower ranks (Burges 2010, equation 5).

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
        super().__post_init__()
        Choice("log2", "letor").read_as("discount", self.discount)

    def discounts(self, n: int, k: int) -> FloatArray:
        """Discount of positions 0 to n - 1, zero from k on."""
        # "letor" counts ranks 1 and 2 alike; the base of the logarithm cancels in NDCG
        is_log2, ranks = self.discount == "log2", np.arange(1, n + 1, dtype=np.float64)
        shifted = 1.0 + ranks if is_log2 else np.maximum(ranks, 2.0)
        return cut_at(k, 1.0 / log2_of(shifted))


@score_function(DCG, values=">= 0", refused="grades without a gain")
def dcg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: IdsLike,
    k: int | None = None,
    gain: Gain = "exponential",
    discount: Discount = "log2",
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: ArrayLike | None = None,
    y_missing: ArrayLike | None = None,
    groups_missing: IdsLike | None = None,
) -> float:
    """Mean discounted cumulative gain of queries.

    DCG@k is the sum over ranks r <= k of gain(grade_r) * discount(r) (equation 5 of
    Burges, 2010).

    Examples
    --------
    >>> from sklearn_ltr.metrics import dcg_score
    >>> round(dcg_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    0.6309
    """
    return compute_score(DCG, **locals())


@dataclass(frozen=True, repr=False, eq=False)
class NDCG(DCG):
    """Normalised discounted cumulative gain: DCG over that of the best order, 0 to 1.

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
        super().__post_init__()
        Choice("cut", "zero").read_as("short_lists", self.short_lists)

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
        rank_documents(0, n_queries, gain, gain, offsets, k, order, True)
        # the sum over each list, in its order, down to its cutoff
        query = np.repeat(np.arange(n_queries), np.diff(offsets))
        position = places_in_queries(offsets)
        is_counted = position < self._limits(judged)[query]
        terms = np.where(is_counted, gain[order] * discount[position], 0.0)
        best = np.bincount(query, terms, n_queries)
        scale = np.divide(1.0, best, out=np.zeros(n_queries), where=best > 0)
        if self.short_lists == "zero" and self.k is not None:
            scale[n_ranked < self.k] = 0.0
        return scale


@score_function(NDCG, refused="grades without a gain")
def ndcg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: IdsLike,
    k: int | None = None,
    gain: Gain = "exponential",
    discount: Discount = "log2",
    short_lists: Literal["cut", "zero"] = "cut",
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: ArrayLike | None = None,
    y_missing: ArrayLike | None = None,
    groups_missing: IdsLike | None = None,
) -> float:
    """Mean normalised discounted cumulative gain of queries.

    NDCG@k = DCG@k / (DCG@k of the same documents in the best order), where DCG@k is the
    sum over ranks r <= k of gain(grade_r) * discount(r) (equation 5 of Burges, 2010).

    Examples
    --------
    >>> from sklearn_ltr.metrics import ndcg_score
    >>> round(ndcg_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    0.1738
    """
    return compute_score(NDCG, **locals())


def gain_of(gain: Gain, grades: FloatArray) -> FloatArray:
    """Return the gain of each grade: 2^grade - 1, the grade, a table or a function."""
    if isinstance(gain, str):
        if gain == "linear":
            return grades
        with np.errstate(over="ignore"):
            return exp2_of(grades) - 1.0
    if callable(gain):
        values = np.asarray(gain(grades))
        if values.dtype.kind not in "biuf":
            raise ValueError(f"gain must return numbers, got dtype {values.dtype}")
        return values.astype(np.float64)
    return np.asarray(gain)[grades.astype(np.int64)]
