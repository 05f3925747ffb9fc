"""What the built-in metrics share: gain, discount, scale and two kernels.

A metric defines the gain of a document, the discount of a position, the scale of a
query, and two kernels over them: one computes the values of ranked lists, the other the
factors of the swap delta (see :mod:`sklearn_ltr.metrics`).  Unless it has its own, they
are those of a discounted sum of gains,

    value = scale * sum over positions p < min(k, limit) of gain_p * d_p,

whose swap factors are its discounts, whatever the order.  The limit is a cutoff of the
query itself, as R-precision has; without one it is k.

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
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.compile import ONE_THREAD, RangeKernel, ThreadTeam, range_kernel
from sklearn_ltr._core.data import QueryIds, describe_query, query_at
from sklearn_ltr._core.parameters import Choice, real
from sklearn_ltr._core.typing import BoolArray, FloatArray, IntArray
from sklearn_ltr.metrics._metric import (
    METRICS,
    BoundMetric,
    Metric,
    check_canonical,
    read_ranked_grades,
)
from sklearn_ltr.metrics._ranked_list import run_end

DivideBy = Literal["relevant", "at_most_k"]
DIVIDE_BY = Choice(*get_args(DivideBy))


class RankedLists(NamedTuple):
    """The ranked lists of a data set."""

    scores: FloatArray  # (n_documents,)
    grades: FloatArray  # (n_documents,)
    order: IntArray  # (n_documents,) order[offsets[q] + p]: document at position p of q
    offsets: IntArray  # (n_queries + 1,)


class MetricArrays(NamedTuple):
    """What a metric computes from the grades, before there are scores."""

    offsets: IntArray  # (n_queries + 1,)
    gain: FloatArray  # (n_documents,) gain, relevance (0 or 1), or probability R
    discount: FloatArray  # (longest list,) by position, zero from position k on
    scale: FloatArray  # (n_queries,) factor of a query's value and swap deltas
    limit: IntArray  # (n_queries,) cutoff of a query; bpref: documents above that count
    k: int  # cutoff, at most the length of the longest list
    average: bool  # whether values are the means over random orders of equal scores


class JudgedLists(NamedTuple):
    """All judged documents of a data set, those missing from the lists included."""

    gain: FloatArray  # (n_judged,) as in MetricArrays
    discount: FloatArray  # (most judged documents of a query,) by position
    offsets: IntArray  # (n_queries + 1,)
    k: int  # cutoff, at most the length of `discount`
    n_ranked: IntArray  # (n_queries,) number of documents in the ranked list


class SwapFactors(NamedTuple):
    """Factors of the swap deltas (see :mod:`sklearn_ltr.metrics`).

    Either of all lists, (n_documents,), with position p of query q at
    ``offsets[q] + p``; or, where they are the same for any order, (longest list,) by
    position.
    """

    multiplier: FloatArray
    discount_above: FloatArray  # effective discount as the upper document of a pair
    discount_below: FloatArray  # effective discount as the lower document of a pair


@range_kernel
def sum_values(
    first: int, last: int, lists: RankedLists, arrays: MetricArrays, values: FloatArray
) -> None:
    """Compute scale * sum of gain * discount, with the mean gain in runs of ties."""
    scores, order, offsets = lists.scores, lists.order, lists.offsets
    gain, discount, scale = arrays.gain, arrays.discount, arrays.scale
    for query in range(first, last):
        ranked = order[offsets[query] : offsets[query + 1]]
        stop = min(arrays.k, arrays.limit[query], len(ranked))
        total = 0.0
        position = 0
        while position < stop:
            end = run_end(scores, ranked, position, arrays.average)
            run_gain = 0.0
            run_discount = 0.0
            for p in range(position, end):
                run_gain += gain[ranked[p]]
            for p in range(position, min(end, stop)):
                run_discount += discount[p]
            total += run_gain / (end - position) * run_discount
            position = end
        values[query] = total * scale[query]


@range_kernel
def sum_swap_factors(
    first: int, last: int, order: IntArray, arrays: MetricArrays, factors: SwapFactors
) -> None:
    """Compute the factors of a discounted sum: 1, and the discount twice."""
    offsets = arrays.offsets
    for query in range(first, last):
        start = offsets[query]
        for p in range(offsets[query + 1] - start):
            counts = arrays.discount[p] if p < arrays.limit[query] else 0.0
            factors.multiplier[start + p] = 1.0
            factors.discount_above[start + p] = counts
            factors.discount_below[start + p] = counts


class ClosedFormMetric(Metric):
    """A built-in metric: gain, discount, scale, and kernels over them."""

    closed_form: ClassVar[bool] = True
    #: u and v of the recurrence at the head of this file; None: it has no such form
    cascade_coefficients: ClassVar[tuple[float, float] | None] = (0.0, 0.0)
    #: kernel(first, last, lists, arrays, values)
    _values_kernel: ClassVar[RangeKernel] = sum_values
    #: kernel(first, last, order, arrays, factors)
    _swap_factors_kernel: ClassVar[RangeKernel] = sum_swap_factors

    def __init_subclass__(cls, **options: object) -> None:
        """Put a built-in metric into ``METRICS``; refuse what would train wrongly."""
        # Value, swap factors and sweeps are computed from different attributes: a class
        # that changed one of them alone would train for another metric than it
        # measures.
        super().__init_subclass__(**options)
        own, name = vars(cls), cls.__name__
        is_built_in = cls.__module__.startswith("sklearn_ltr.")
        for redefined in () if is_built_in else own.keys() & {"value", "_limits"}:
            raise TypeError(
                f"{name} redefines {redefined}, but training would not use it: derive "
                f"{name} from sklearn_ltr.metrics.Metric"
            )
        kernels = {"_values_kernel", "_swap_factors_kernel", "cascade_coefficients"}
        missing = kernels - own.keys()
        if "_values_kernel" in own and missing:
            raise TypeError(
                f"{name} has its own _values_kernel, but no {min(missing)}: define it"
            )
        is_sum = cls._values_kernel is sum_values
        if "_limits" in own and not is_sum and "_values_kernel" not in own:
            raise TypeError(
                f"{name} has a cutoff of each query (_limits), which its inherited "
                "kernels ignore: use discounted sums, or define the kernels"
            )
        if is_built_in and "short_name" in own:
            METRICS[cls.short_name] = cls

    @abstractmethod
    def gains(
        self, grades: FloatArray, offsets: IntArray, query_ids: QueryIds | None
    ) -> FloatArray:
        """Return the gain, relevance or probability of satisfying of each document."""

    def discounts(self, n: int, k: int) -> FloatArray:
        """Return the discount of n positions, zero from k on: 1, unless it falls."""
        return cut_at(k, np.ones(n))

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """Return the factor of each query: 1, unless a metric normalises."""
        return np.ones(len(judged.offsets) - 1)

    def _limits(self, judged: JudgedLists) -> IntArray:
        """Return the cutoff of each query: k, unless it depends on the query."""
        # metrics with kernels of their own may use it for another number of each query
        return np.full(len(judged.offsets) - 1, judged.k, dtype=np.int64)

    def bind(
        self,
        grades: FloatArray,
        offsets: IntArray,
        query_ids: QueryIds | None = None,
        is_ranked: NDArray[np.bool_] | None = None,
    ) -> BoundClosedForm:
        """Prepare all that does not depend on scores (internal, see `Metric.bind`)."""
        check_canonical(grades, offsets)
        gain = self.gains(grades, offsets, query_ids)
        longest = int(np.diff(offsets).max())
        k = self.cutoff(longest)
        discount = self.discounts(longest, k)
        has_relevant = np.logical_or.reduceat(gain > 0, offsets[:-1])
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
            query_ids=query_ids,
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
        return self._with(k=max(self.k, level))

    def swap_delta(self, ranked_grades: FloatArray) -> FloatArray:
        """Return what swaps of two documents change, (n, n) by position, >= 0."""
        grades = read_ranked_grades(ranked_grades)
        n = len(grades)
        bound = self.bind(grades, np.array([0, n], dtype=np.int64))
        factors = SwapFactors(*np.empty((3, n)))
        order = np.arange(n, dtype=np.int64)
        bound.fill_swap_factors(order, factors, np.array([0, 1]))
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
        self,
        order: IntArray,
        factors: SwapFactors,
        bounds: IntArray,
        team: ThreadTeam = ONE_THREAD,
    ) -> None:
        """Write the factors of ranges of queries for this order."""
        kernel = self.metric._swap_factors_kernel
        self._in_ranges(bounds, team, kernel, order, self._arrays, factors)

    def constant_swap_factors(self) -> SwapFactors | None:
        """Return the factors of all lists, by position, or None if the order counts."""
        is_sum = type(self.metric)._swap_factors_kernel is sum_swap_factors
        if not is_sum or (self.limit < self.k).any():
            return None
        return SwapFactors(np.ones_like(self.discount), self.discount, self.discount)

    @cached_property
    def _arrays(self) -> MetricArrays:
        average = self.metric.ties == "average"
        arrays = self.offsets, self.gain, self.discount, self.scale, self.limit
        return MetricArrays(*arrays, self.k, average)

    def _list_values(
        self, scores: FloatArray, bounds: IntArray, team: ThreadTeam
    ) -> FloatArray:
        # The mean over a run of equal scores needs the whole run, which may extend
        # below the cutoff.
        depth = len(self.discount) if self._arrays.average else self.k
        order = self._rank(scores, depth, bounds, team)
        values = np.empty(len(self.offsets) - 1)
        lists = RankedLists(scores, self.grades, order, self.offsets)
        kernel = self.metric._values_kernel
        self._in_ranges(bounds, team, kernel, lists, self._arrays, values)
        return values


@dataclass(frozen=True, repr=False, eq=False)
class BinaryMetric(ClosedFormMetric):
    """A metric that distinguishes only relevant and not relevant.

    Parameters
    ----------
    relevant_from : float above 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.
    """

    relevant_from: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        values = real(0, closed="neither", optional=True)
        values.read_as("relevant_from", self.relevant_from)

    def relevance(self, grades: ArrayLike) -> FloatArray:
        """Return 1.0 for relevant documents, 0.0 for the others."""
        if self.relevant_from is None:
            return (np.asarray(grades) > 0).astype(np.float64)
        return (np.asarray(grades) >= self.relevant_from).astype(np.float64)

    def gains(
        self, grades: FloatArray, offsets: IntArray, query_ids: QueryIds | None
    ) -> FloatArray:
        """Return the relevance of each document."""
        return self.relevance(grades)


def count_relevant(judged: JudgedLists) -> FloatArray:
    """Return the number of relevant documents of each query, of gain 1, at least 1."""
    found: FloatArray = np.add.reduceat(judged.gain, judged.offsets[:-1])
    return np.maximum(found, 1.0)


class DiscountedByRank:
    """What metrics share whose discount is 1 / rank."""

    def discounts(self, n: int, k: int) -> FloatArray:
        """Return 1 / rank, zero from position k on."""
        return cut_at(k, 1.0 / np.arange(1, n + 1, dtype=np.float64))


@dataclass(frozen=True, repr=False, eq=False)
class DividedMetric(BinaryMetric):
    """A sum over relevant documents that is divided by their number, or at most k."""

    divide_by: DivideBy = field(default="relevant", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        DIVIDE_BY.read_as("divide_by", self.divide_by)

    def divisor(self, n_relevant: Any, k: int) -> Any:
        """Return the divisor, at least 1, given numbers of relevant documents."""
        divisor = np.maximum(n_relevant, 1.0)
        return divisor if self.divide_by == "relevant" else np.minimum(divisor, k)

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """Return 1 / number of relevant documents, or 1 / k where k is less."""
        return np.asarray(1.0 / self.divisor(count_relevant(judged), judged.k))


def cut_at(k: int, discount: FloatArray) -> FloatArray:
    """Set a discount to zero from position k on."""
    return np.where(np.arange(len(discount)) < k, discount, 0.0)


def describe_first(
    bad: BoolArray, grades: FloatArray, offsets: IntArray, query_ids: QueryIds | None
) -> str:
    """Return which query has which grade, at the first bad document."""
    position = int(np.argmax(bad))
    query = describe_query(query_ids, query_at(position, offsets))
    return f"query {query} has grade {grades[position]}"
