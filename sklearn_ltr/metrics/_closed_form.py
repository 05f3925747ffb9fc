"""What the built-in measures have in common: worth, discount, scale and two kernels.

The kernels of all measures take the same arguments, so a measure only has to say what
its worth, discount and scale are.  A sum of worth times discount has no kernel of swap
terms: they are its discounts, in any order.

Neighbours.  When the documents at positions p and p + 1 swap places, the value rises by

    (worth_{p+1} - worth_p) * (d_p - d_{p+1}) * c_p * scale,

with d the discount and c_p what the documents above p make of a document at p: nothing
(1) for sums; for MAP the relevant ones among them and itself; for MRR, hit rate and ERR
the chance to get down to p.  Each follows from the one above it,

    c_0 = 1,    c_{p+1} = c_p + worth_p * (u + v * c_p),

so a measure says what u and v are, and one swap of neighbours changes one c.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._queries import Labels
from sklearn_ltr.metrics._bound import BoundClosedForm, BoundMetric
from sklearn_ltr.metrics._metric import Metric, any_in_query, longest_list

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class ClosedFormMetric(Metric):
    """A built-in measure: worth, discount, scale, and kernels over them."""

    closed_form: ClassVar[bool] = True
    #: u and v of the head of this file
    from_above: ClassVar[tuple[float, float]] = (0.0, 0.0)
    values_kernel: ClassVar[Callable[..., None]]
    #: None: a sum of worth times discount
    terms_kernel: ClassVar[Callable[..., None] | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a measure of a user's own that would be trained as a built-in one."""
        super().__init_subclass__(**options)
        if "value" in vars(cls) and not cls.__module__.startswith("sklearn_ltr."):
            raise TypeError(
                f"{cls.__name__} redefines value, which a built-in metric's training "
                "would not follow; derive it from sklearn_ltr.metrics.Metric"
            )

    @abstractmethod
    def worths(
        self, grades: FloatArray, offsets: IntArray, labels: Labels | None
    ) -> FloatArray:
        """Worth of each document."""

    @abstractmethod
    def discounts(self, n: int, k: int) -> FloatArray:
        """Discount of positions 0 to n - 1, zero from k on."""

    def scales(
        self, worth: FloatArray, discount: FloatArray, offsets: IntArray, k: int
    ) -> FloatArray:
        """Factor of each query: one, unless a measure normalises."""
        return np.ones(len(offsets) - 1)

    def bind(
        self, grades: FloatArray, offsets: IntArray, labels: Labels | None = None
    ) -> BoundMetric:
        """Prepare everything that does not depend on scores, see :class:`Metric`."""
        worth = self.worths(grades, offsets, labels)
        longest = longest_list(offsets)
        k = self.cutoff(longest)
        discount = self.discounts(longest, k)
        return BoundClosedForm(
            metric=self,
            grades=grades,
            offsets=offsets,
            labels=labels,
            worth=worth,
            discount=discount,
            scale=self.scales(worth, discount, offsets, k),
            has_relevant=any_in_query(worth > 0, offsets),
            k=k,
        )

    def deepened(self, level: int | None) -> Metric:
        """Return the measure to learn from, see :class:`Metric`."""
        if level is None or self.k is None or np.ptp(self.discounts(4, 4)) == 0:
            return self
        return replace(self, k=max(self.k, level))

    def swap_delta(self, ranked_grades: FloatArray) -> FloatArray:
        """|change of the value| if two documents swap places, (n, n) by position."""
        grades = np.asarray(ranked_grades, dtype=np.float64)
        n = len(grades)
        bound = self.bind(grades, np.array([0, n], dtype=np.int64))
        weight, upper, lower = np.empty((3, n))
        bound.swap_terms(np.arange(n, dtype=np.int64), 0, 1, weight, upper, lower)
        worth_apart = np.abs(bound.worth[:, None] - bound.worth)
        delta = worth_apart * weight[:, None] * np.abs(upper[:, None] - lower)
        above: FloatArray = np.triu(delta * bound.scale[0], 1)
        return above + above.T


@dataclass(frozen=True, repr=False)
class BinaryMetric(ClosedFormMetric):
    """A measure that knows only relevant and not relevant.

    Parameters
    ----------
    relevant_from : float > 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.
    """

    relevant_from: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        lowest = self.relevant_from
        if lowest is not None and not (isinstance(lowest, Real) and lowest > 0):
            raise ValueError(
                f"relevant_from must be a number > 0 or None, got {lowest!r}"
            )

    def relevance(self, grades: Any) -> FloatArray:
        """1.0 for relevant documents, 0.0 for the others."""
        if self.relevant_from is None:
            return (np.asarray(grades) > 0).astype(np.float64)
        return (np.asarray(grades) >= self.relevant_from).astype(np.float64)

    def worths(
        self, grades: FloatArray, offsets: IntArray, labels: Labels | None
    ) -> FloatArray:
        """Relevance of each document."""
        return self.relevance(grades)


def sum_in_query(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Sum over the documents of each query."""
    return np.add.reduceat(values, offsets[:-1])
