"""What the built-in metrics share: gain, discount, scale and two kernels.

A metric defines the gain of a document, the discount of a position, the scale of a
query, and two kernels over them: one computes the values of ranked lists, the other the
factors of the swap delta (see :mod:`sklearn_ltr.metrics`).  A discounted sum of gains
has no kernel of swap factors: they are its discounts, whatever the order.

Adjacent swaps (used by :mod:`sklearn_ltr.ensemble`).  When the documents at positions p
and p + 1 trade places, the value increases by

    (gain_{p+1} - gain_p) * (d_p - d_{p+1}) * c_p * scale,

with d the discount and c_p a coefficient that depends on the documents above p: 1 for
discounted sums; for MAP, 1 plus the number of relevant documents above p; for MRR, hit
rate and ERR the probability that the user reaches position p.  It follows the
recurrence

    c_0 = 1,    c_{p+1} = c_p + gain_p * (u + v * c_p),

in which u and v are the ``cascade_coefficients`` of the metric.  An adjacent swap
changes a single c, c_{p+1}.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import Labels, check_canonical
from sklearn_ltr._parameters import Range
from sklearn_ltr.metrics._arguments import read_ranked_grades
from sklearn_ltr.metrics._bound import BoundMetric
from sklearn_ltr.metrics._kernel_arrays import (
    JudgedLists,
    MetricArrays,
    RankedLists,
    SwapFactors,
)
from sklearn_ltr.metrics._metric import Metric
from sklearn_ltr.metrics._per_query import any_in_query, longest_list

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class ClosedFormMetric(Metric):
    """A built-in metric: gain, discount, scale, and kernels over them."""

    closed_form: ClassVar[bool] = True
    #: u and v of the recurrence at the head of this file; None: it has no such form
    cascade_coefficients: ClassVar[tuple[float, float] | None] = (0.0, 0.0)
    #: kernel(lists, arrays, average, values)
    _values_kernel: ClassVar[Callable[..., None]]
    #: kernel(order, offsets, arrays, first, last, factors); None: a discounted sum
    _swap_factors_kernel: ClassVar[Callable[..., None] | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a user's subclass that redefines `value`.

        Training would go on using the kernels of the built-in metric.
        """
        super().__init_subclass__(**options)
        if "value" in vars(cls) and not cls.__module__.startswith("sklearn_ltr."):
            raise TypeError(
                f"{cls.__name__} redefines value, which a built-in metric's training "
                "would not follow; derive it from sklearn_ltr.metrics.Metric"
            )

    @abstractmethod
    def gains(
        self, grades: FloatArray, offsets: IntArray, labels: Labels | None
    ) -> FloatArray:
        """Gain (or relevance, or probability of satisfying) of each document."""

    @abstractmethod
    def discounts(self, n: int, k: int) -> FloatArray:
        """Discount of positions 0 to n - 1, zero from k on."""

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """Factor of each query: 1, unless a metric normalises."""
        return np.ones(len(judged.offsets) - 1)

    def _limits(self, judged: JudgedLists) -> IntArray:
        """Cutoff of each query: k, unless it depends on the query."""
        return np.full(len(judged.offsets) - 1, judged.k, dtype=np.int64)

    def bind(
        self,
        grades: FloatArray,
        offsets: IntArray,
        labels: Labels | None = None,
        is_ranked: NDArray[np.bool_] | None = None,
    ) -> BoundMetric:
        """Prepare all that does not depend on scores (internal, see `Metric.bind`)."""
        check_canonical(grades, offsets)
        gain = self.gains(grades, offsets, labels)
        longest = longest_list(offsets)
        k = self.cutoff(longest)
        discount = self.discounts(longest, k)
        has_relevant = any_in_query(gain > 0, offsets)
        if is_ranked is None:
            ranked_offsets = offsets
        else:
            ranked_offsets = np.append(0, np.cumsum(is_ranked))[offsets]
        n_ranked = np.diff(ranked_offsets)
        judged = JudgedLists(gain, discount, offsets, k, n_ranked)
        return BoundClosedForm(
            metric=self,
            grades=grades if is_ranked is None else grades[is_ranked],
            offsets=ranked_offsets,
            labels=labels,
            gain=gain if is_ranked is None else gain[is_ranked],
            discount=discount,
            scale=self._scales(judged),
            limit=self._limits(judged),
            has_relevant=has_relevant,
            k=k,
        )

    def at_deeper_cutoff(self, level: int | None) -> Metric:
        """Return this metric with a cutoff of at least `level`, see `Metric`."""
        if level is None or self.k is None or np.ptp(self.discounts(4, 4)) == 0:
            return self
        return replace(self, k=max(self.k, level))

    def swap_delta(self, ranked_grades: FloatArray) -> FloatArray:
        """Return what swaps of two documents change, (n, n) by position, >= 0."""
        grades = read_ranked_grades(ranked_grades)
        n = len(grades)
        bound = self.bind(grades, np.array([0, n], dtype=np.int64))
        factors = SwapFactors(*np.empty((3, n)))
        bound.fill_swap_factors(np.arange(n, dtype=np.int64), 0, 1, factors)
        above, below = factors.discount_above[:, None], factors.discount_below
        delta = np.abs(bound.gain[:, None] - bound.gain)
        delta = delta * factors.multiplier[:, None] * np.abs(above - below)
        upper_triangle: FloatArray = np.triu(delta * bound.scale[0], 1)
        return upper_triangle + upper_triangle.T


@dataclass(frozen=True, eq=False)
class BoundClosedForm(BoundMetric):
    """A bound built-in metric: its kernels compute values and swap factors."""

    metric: ClosedFormMetric

    def fill_swap_factors(
        self, order: IntArray, first: int, last: int, factors: SwapFactors
    ) -> None:
        """Compute the swap factors of queries ``first`` to ``last - 1``."""
        constant = self.constant_swap_factors()
        if constant is not None:
            for start, stop in pairwise(self.offsets[first : last + 1]):
                for values, constant_values in zip(factors, constant, strict=True):
                    values[start:stop] = constant_values[: stop - start]
        elif self.metric._swap_factors_kernel is not None:
            self.metric._swap_factors_kernel(
                order, self.offsets, self._arrays, first, last, factors
            )

    def constant_swap_factors(self) -> SwapFactors | None:
        """Return the factors of a discounted sum: 1, and the discount twice."""
        if self.metric._swap_factors_kernel is not None:
            return None
        return SwapFactors(np.ones_like(self.discount), self.discount, self.discount)

    @cached_property
    def _arrays(self) -> MetricArrays:
        return MetricArrays(self.gain, self.discount, self.scale, self.limit, self.k)

    def _list_values(self, scores: FloatArray) -> FloatArray:
        average = self.metric.ties == "average"
        # The mean over a run of equal scores needs the whole run, which may extend
        # below the cutoff.
        order = self._rank(scores, len(self.discount) if average else self.k)
        values = np.empty(len(self.offsets) - 1)
        lists = RankedLists(scores, self.grades, order, self.offsets)
        self.metric._values_kernel(lists, self._arrays, average, values)
        return values


@dataclass(frozen=True, repr=False)
class BinaryMetric(ClosedFormMetric):
    """A metric that distinguishes only relevant and not relevant.

    Parameters
    ----------
    relevant_from : float > 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.
    """

    relevant_from: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        Range("relevant_from", Real, 0, np.inf, "neither", optional=True).read(
            self.relevant_from
        )

    def relevance(self, grades: Any) -> FloatArray:
        """1.0 for relevant documents, 0.0 for the others."""
        if self.relevant_from is None:
            return (np.asarray(grades) > 0).astype(np.float64)
        return (np.asarray(grades) >= self.relevant_from).astype(np.float64)

    def gains(
        self, grades: FloatArray, offsets: IntArray, labels: Labels | None
    ) -> FloatArray:
        """Relevance of each document."""
        return self.relevance(grades)
