r"""Expected reciprocal rank (Chapelle et al., 2009; section 3 of Burges, 2010).

A user reads down the list and stops at the first satisfying document.  A document of
grade g does so with probability R = (2^g - 1) / 2^(largest grade).  With T = 1 - R and
pi_p = T_0 ... T_p, the probability to read on below position p,

    ERR@k = sum over positions p < k of  pi_{p-1} R_p d_p,     d_p = 1 / (p + 1).

Swap delta.  The four steps of Burges' algorithm can be combined.  Let B_p be the
ERR of a user who has reached position p: B_p = R_p d_p + T_p B_{p+1}, and 0 after the
last position.  The documents between p and q contribute pi_p B_{p+1} - pi_{q-1} B_q,
and the sum of the steps for p < q is

    Delta = (R_p - R_q) / T_p * (discount_above_p - discount_below_q),

    discount_above_p = pi_p (d_p - B_{p+1}),
    discount_below_q = pi_{q-1} (d_q - B_q).

(With Burges' A, the ERR down to a position, discount_above_p is pi_p d_p + A_p and
discount_below_q is A_{q-1} + pi_{q-1} d_q, both minus the constant A_{n-1}; but those
differences lose all digits below a document that satisfies almost surely.)  Burges
proves that discount_above_p - discount_below_q is never negative: swapping a better
document with a worse one below it never increases ERR.

Equal scores in random order: the product of i of the T of a run, drawn without
replacement, has the mean E_i = e_i(T) / (n choose i), with e_i the elementary symmetric
polynomials; the i-th position of the run contributes (E_{i-1} - E_i) d.  A run of n
takes n * min(n, k) steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._core.compile import exp2_of, range_kernel, subkernel
from sklearn_ltr._core.data import QueryIds
from sklearn_ltr._core.parameters import real
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray
from sklearn_ltr.metrics._closed_form import (
    ClosedFormMetric,
    DiscountedByRank,
    MetricArrays,
    RankedLists,
    SwapFactors,
    describe_first,
)
from sklearn_ltr.metrics._metric import NoRelevant, Ties, compute_score, score_function
from sklearn_ltr.metrics._ranked_list import run_end

__all__ = ["ERR", "err_score"]


# T = 1 - (2^g - 1) / 2^g is zero in float64 for larger grades
LARGEST_GRADE = 53.0


@range_kernel
def err_values(
    first: int, last: int, lists: RankedLists, arrays: MetricArrays, values: FloatArray
) -> None:
    """Compute the expected reciprocal rank of each list."""
    scores, order, offsets = lists.scores, lists.order, lists.offsets
    satisfies, discount, scale = arrays.gain, arrays.discount, arrays.scale
    k = arrays.k
    means = np.empty(min(k, len(discount)) + 1)
    for query in range(first, last):
        ranked = order[offsets[query] : offsets[query + 1]]
        stop = min(k, len(ranked))
        total, reached, position = 0.0, 1.0, 0
        while position < stop:
            end = run_end(scores, ranked, position, arrays.average)
            n_counted = min(end, stop) - position
            _mean_products(satisfies, ranked[position:end], means[: n_counted + 1])
            for i in range(n_counted):
                total += reached * (means[i] - means[i + 1]) * discount[position + i]
            # If the run extends below the cutoff, this is not its whole product, but
            # then no other run follows.
            reached *= means[n_counted]
            position = end
        values[query] = total * scale[query]


@subkernel
def _mean_products(satisfies: FloatArray, run: IntArray, means: FloatArray) -> None:
    """Set means[i] to the mean product of T over all draws of i documents of a run."""
    # documents are added one by one: a draw of i of the first m documents contains the
    # m-th with probability i / m
    means[:] = 0.0
    means[0] = 1.0
    for m in range(1, len(run) + 1):
        t = 1.0 - satisfies[run[m - 1]]
        for i in range(min(m, len(means) - 1), 0, -1):
            means[i] += (t * means[i - 1] - means[i]) * i / m


@range_kernel
def err_swap_factors(
    first: int, last: int, order: IntArray, arrays: MetricArrays, factors: SwapFactors
) -> None:
    """Compute the factors derived at the head of this file."""
    satisfies, discount, offsets = arrays.gain, arrays.discount, arrays.offsets
    above, below = factors.discount_above, factors.discount_below
    for query in range(first, last):
        start = offsets[query]
        n = offsets[query + 1] - start
        err_from_here = 0.0  # B_{p+1}, then B_p
        for p in range(n - 1, -1, -1):
            r = satisfies[order[start + p]]
            above[start + p] = discount[p] - err_from_here
            err_from_here = r * discount[p] + (1.0 - r) * err_from_here
            below[start + p] = discount[p] - err_from_here
        reached = 1.0  # pi_{p-1}, then pi_p
        for p in range(n):
            t = 1.0 - satisfies[order[start + p]]
            below[start + p] *= reached
            reached *= t
            above[start + p] *= reached
            factors.multiplier[start + p] = 1.0 / t


@dataclass(frozen=True, repr=False, eq=False)
class ERR(DiscountedByRank, ClosedFormMetric):
    """Expected reciprocal rank of the document that satisfies the user.

    A class derived from it may have other ``discounts`` than 1 / rank.

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    max_grade : float in [0, 53] or None, default=None
        The largest grade of the scale (4 for grades 0 to 4).  None: the largest of the
        data; give it to compare values of different data.

    Examples
    --------
    >>> from sklearn_ltr.metrics import ERR
    >>> round(ERR(2)([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.125
    """

    max_grade: float | None = field(default=None, kw_only=True)

    short_name: ClassVar[str] = "err"
    cascade_coefficients: ClassVar[tuple[float, float]] = (0.0, -1.0)
    _values_kernel = err_values
    _swap_factors_kernel = err_swap_factors

    def __post_init__(self) -> None:
        super().__post_init__()
        real(0, LARGEST_GRADE, optional=True).read_as("max_grade", self.max_grade)

    def with_largest_grade(self, grade: float) -> ERR:
        """Return this metric with `grade` as its `max_grade`, if it has none."""
        # the worker that has a grade beyond LARGEST_GRADE raises the error
        if self.max_grade is not None or grade > LARGEST_GRADE:
            return self
        return self._with(max_grade=grade)

    def satisfaction(self, grades: FloatArray) -> FloatArray:
        """Return R = (2^grade - 1) / 2^max_grade, the probability to satisfy."""
        most = float(grades.max()) if self.max_grade is None else self.max_grade
        satisfies: FloatArray = exp2_of(grades - most) - exp2_of(-most)
        return satisfies

    def value(self, ranked_grades: FloatArray) -> float:
        """Return the sum of P(user reaches a rank and is satisfied there) / rank."""
        satisfies = self.satisfaction(np.asarray(ranked_grades, dtype=np.float64))
        reaches = np.cumprod(np.append(1.0, 1.0 - satisfies[:-1]))
        n = len(satisfies)
        discount = self.discounts(n, self.cutoff(n))
        return float((reaches * satisfies * discount).sum())

    def gains(
        self, grades: FloatArray, offsets: IntArray, query_ids: QueryIds | None
    ) -> FloatArray:
        """Return the probability of each document to satisfy."""
        most = LARGEST_GRADE if self.max_grade is None else self.max_grade
        largest = grades.max()
        if largest > most:
            found = describe_first(grades == largest, grades, offsets, query_ids)
            raise ValueError(
                f"ERR takes grades up to max_grade={most:g}, but {found}: merge "
                'grades, for example to 0 to 4, or use NDCG(10, gain="linear")'
            )
        return self.satisfaction(grades)


@score_function(ERR, refused="grades above max_grade")
def err_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: IdsLike,
    k: int | None = None,
    max_grade: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: ArrayLike | None = None,
    y_missing: ArrayLike | None = None,
    groups_missing: IdsLike | None = None,
) -> float:
    """Mean expected reciprocal rank of queries.

    A user reads from the top and stops at the first satisfying document; a document of
    grade g satisfies with probability R = (2^g - 1) / 2^max_grade.  ERR@k is the
    expected value of 1 / (rank where the user stops), 0 for ranks below k (section 3
    of Burges, 2010; Chapelle et al., 2009):

        ERR@k = sum over ranks r <= k of  R_r / r * product over i < r of (1 - R_i)

    Examples
    --------
    >>> from sklearn_ltr.metrics import err_score
    >>> round(err_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7], k=2), 4)
    0.125
    """
    return compute_score(ERR, **locals())
