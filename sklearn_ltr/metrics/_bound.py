"""A metric prepared for the grades of one data set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._queries import Labels, describe_query
from sklearn_ltr.metrics._ranked_list import rank_documents

if TYPE_CHECKING:
    from sklearn_ltr.metrics._closed_form import ClosedFormMetric
    from sklearn_ltr.metrics._metric import Metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

VALUE_OF_NOTHING = {"zero": 0.0, "one": 1.0, "skip": np.nan}


@dataclass(frozen=True, eq=False)
class BoundMetric:
    """What of a metric does not depend on scores; turns scores into values.

    Attributes
    ----------
    metric : Metric
    grades : (n_documents,) float64
    offsets : (n_queries + 1,) int64
        Query q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``.
    labels : sequence of length n_queries, or None
        What to call the queries in error messages.
    worth : (n_documents,) float64
        What a document brings: gain, relevance (0 or 1), chance to satisfy.
    discount : (longest list,) float64
        What a position counts; never rises, zero from k on.
    scale : (n_queries,) float64
        Factor of a query's value and swap deltas.
    has_relevant : (n_queries,) bool
        Whether the query has a document of worth above zero.
    k : int
        Cutoff; the length of the longest list where the metric has none.
    """

    metric: Metric
    grades: FloatArray
    offsets: IntArray
    labels: Labels | None
    worth: FloatArray
    discount: FloatArray
    scale: FloatArray
    has_relevant: NDArray[np.bool_]
    k: int

    @property
    def stable(self) -> bool:
        """Whether ties keep the order of rows (the flag of ``rank_documents``)."""
        return self.metric.ties == "stable"

    def in_order(
        self, queries: IntArray, documents: IntArray, offsets: IntArray
    ) -> BoundMetric:
        """Return the same with queries, and with them documents, in another order."""
        labels = self.labels
        return replace(
            self,
            grades=self.grades[documents],
            offsets=offsets,
            labels=None if labels is None else [labels[q] for q in queries],
            worth=self.worth[documents],
            scale=self.scale[queries],
            has_relevant=self.has_relevant[queries],
        )

    def values(self, scores: FloatArray) -> FloatArray:
        """Value of each query, (n_queries,) float64, for scores in canonical order."""
        values = self._list_values(scores)
        if self.has_relevant.all():
            return values
        if self.metric.no_relevant == "error":
            query = int(np.argmin(self.has_relevant))
            raise ValueError(
                f"query {describe_query(self.labels, query)} has no relevant document, "
                f'and {self.metric.name} was asked to refuse that (no_relevant="error")'
            )
        values[~self.has_relevant] = VALUE_OF_NOTHING[self.metric.no_relevant]
        return values

    def mean(self, scores: FloatArray, weights: FloatArray | None = None) -> float:
        """Weighted mean over the queries that count; ValueError if none does."""
        values = self.values(scores)
        if weights is None:
            weights = np.ones(len(values))
        if self.metric.no_relevant == "skip":
            values, weights = values[self.has_relevant], weights[self.has_relevant]
        total = weights.sum()
        if not total > 0:
            raise ValueError(
                f'{self.metric.name} has no query to average: no_relevant="skip" left '
                "out all that have a weight above zero"
            )
        return float(values @ weights / total)

    def swap_terms(
        self,
        order: IntArray,
        first: int,
        last: int,
        weight: FloatArray,
        upper: FloatArray,
        lower: FloatArray,
    ) -> None:
        """Fill the swap terms of queries ``first`` to ``last - 1``.

        All arrays are (n_documents,), indexed by ``offsets[query] + position``;
        ``order`` is what ``rank_documents`` wrote, its first k positions in order.
        Only where ``metric.closed_form`` is True.
        """
        raise NotImplementedError(
            f"{type(self.metric).__name__} has no closed form; use its swap_delta"
        )

    def fixed_terms(self) -> FloatArray | None:
        """Return every list's swap terms, (3, longest), if no order changes them."""
        return None

    def _list_values(self, scores: FloatArray) -> FloatArray:
        """Value of each list that has something relevant, before ``no_relevant``."""
        order = self._rank(scores, len(self.discount))
        values = np.empty(len(self.offsets) - 1)
        for query in np.flatnonzero(self.has_relevant):
            ranked = order[self.offsets[query] : self.offsets[query + 1]]
            values[query] = self.metric.value(self.grades[ranked])
        return values

    def _rank(self, scores: FloatArray, k: int) -> IntArray:
        order = np.empty(len(self.grades), dtype=np.int64)
        n_queries = len(self.offsets) - 1
        rank_documents(
            scores, self.grades, self.offsets, 0, n_queries, k, order, self.stable
        )
        return order


@dataclass(frozen=True, eq=False)
class BoundClosedForm(BoundMetric):
    """A built-in measure: values and swap terms come from its kernels."""

    metric: ClosedFormMetric

    def swap_terms(
        self,
        order: IntArray,
        first: int,
        last: int,
        weight: FloatArray,
        upper: FloatArray,
        lower: FloatArray,
    ) -> None:
        """Fill the swap terms of queries ``first`` to ``last - 1``."""
        fixed = self.fixed_terms()
        if fixed is not None:
            for start, stop in pairwise(self.offsets[first : last + 1]):
                own = slice(start, stop)
                weight[own], upper[own], lower[own] = fixed[:, : stop - start]
        elif self.metric.terms_kernel is not None:
            self.metric.terms_kernel(
                order,
                self.offsets,
                self.worth,
                self.discount,
                first,
                last,
                weight,
                upper,
                lower,
            )

    def fixed_terms(self) -> FloatArray | None:
        """Return those of a sum: weight 1, and the discount on both sides."""
        if self.metric.terms_kernel is not None:
            return None
        return np.stack((np.ones_like(self.discount), self.discount, self.discount))

    def _list_values(self, scores: FloatArray) -> FloatArray:
        average = self.metric.ties == "average"
        # a run of equal scores may reach over the cutoff: its mean needs all of it
        order = self._rank(scores, len(self.discount) if average else self.k)
        values = np.empty(len(self.offsets) - 1)
        self.metric.values_kernel(
            scores,
            order,
            self.offsets,
            self.worth,
            self.discount,
            self.scale,
            self.k,
            average,
            values,
        )
        return values
