"""A metric prepared for the grades of one data set.

This is internal: its methods are called in every boosting iteration and for every
mini-batch, so they check no more than the type and shape of their arguments.  Users
call :meth:`Metric.per_query` and the metric itself, which validate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import Labels, describe_query
from sklearn_ltr.metrics._kernel_arrays import SwapFactors
from sklearn_ltr.metrics._ranked_list import rank_documents

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

NO_RELEVANT_VALUE = {"zero": 0.0, "one": 1.0, "skip": np.nan}


class BindableMetric(Protocol):
    """The part of :class:`~sklearn_ltr.metrics.Metric` that a bound metric uses."""

    closed_form: ClassVar[bool]

    @property
    def name(self) -> str:
        """Name with cutoff."""

    @property
    def ties(self) -> str:
        """How equal scores are ordered."""

    @property
    def no_relevant(self) -> str:
        """What a query without a relevant document counts."""

    def value(self, ranked_grades: FloatArray) -> float:
        """Return the value of one list."""


@dataclass(frozen=True, eq=False)
class BoundMetric:
    """The part of a metric that does not depend on scores; turns scores into values.

    All arrays are in canonical order (:mod:`sklearn_ltr._data`).  Created by
    :meth:`Metric.bind`, which checks them.

    Attributes
    ----------
    metric : Metric
    grades : ndarray of shape (n_documents,), float64
    offsets : ndarray of shape (n_queries + 1,), int64
        Query q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``.
    labels : sequence of length n_queries, or None
        Group value of each query, for error messages.
    gain : ndarray of shape (n_documents,), float64
        What a document contributes: its gain, its relevance (0 or 1), or its
        probability R of satisfying the user.
    discount : ndarray of shape (most documents of a query,), float64
        Discount of each position; never increases, zero from position k on.
    scale : ndarray of shape (n_queries,), float64
        Factor of a query's value and swap deltas.
    limit : ndarray of shape (n_queries,), int64
        Cutoff of each query, where it depends on the query; else `k`.
    has_relevant : ndarray of shape (n_queries,), bool
        Whether the query has a document with a gain above zero, in the list or missing
        from it.
    k : int
        Cutoff; where the metric has none, the most documents of a query.
    """

    metric: BindableMetric
    grades: FloatArray
    offsets: IntArray
    labels: Labels | None
    gain: FloatArray
    discount: FloatArray
    scale: FloatArray
    limit: IntArray
    has_relevant: NDArray[np.bool_]
    k: int

    @property
    def stable(self) -> bool:
        """Whether ties keep the order of rows (the flag of ``rank_documents``)."""
        return self.metric.ties == "stable"

    def subset(
        self, queries: IntArray, documents: IntArray, offsets: IntArray
    ) -> BoundMetric:
        """Return the metric bound to some of the queries, in the given order.

        Parameters
        ----------
        queries : ndarray of shape (n_selected,), int64
            Indices of the selected queries.
        documents : ndarray of shape (n_selected_documents,), int64
            Indices of their documents.
        offsets : ndarray of shape (n_selected + 1,), int64
            Offsets of the selected queries in `documents`.
        """
        labels = self.labels
        return replace(
            self,
            grades=self.grades[documents],
            offsets=offsets,
            labels=None if labels is None else [labels[q] for q in queries],
            gain=self.gain[documents],
            scale=self.scale[queries],
            limit=self.limit[queries],
            has_relevant=self.has_relevant[queries],
        )

    def values(self, scores: FloatArray) -> FloatArray:
        """Return the value of each query, (n_queries,), for (n_documents,) scores.

        Raises
        ------
        ValueError
            If there is not one float64 score for each document, or a query has no
            relevant document and ``no_relevant="error"``.
        """
        _check_array(scores, "scores", len(self.grades))
        values = self._list_values(scores)
        if self.has_relevant.all():
            return values
        if self.metric.no_relevant == "error":
            query = int(np.argmin(self.has_relevant))
            raise ValueError(
                f"query {describe_query(self.labels, query)} has no relevant document, "
                f'an error for {self.metric.name} with no_relevant="error"'
            )
        values[~self.has_relevant] = NO_RELEVANT_VALUE[self.metric.no_relevant]
        return values

    def mean(self, scores: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the weighted mean over queries; ValueError if none counts.

        `weights` is (n_queries,), or None: all 1.
        """
        values = self.values(scores)
        if weights is None:
            weights = np.ones(len(values))
        _check_array(weights, "weights", len(values))
        return mean_of_values(self.metric, values, weights, self.has_relevant)

    def fill_swap_factors(
        self, order: IntArray, first: int, last: int, factors: SwapFactors
    ) -> None:
        """Compute the swap factors of queries ``first`` to ``last - 1``.

        Parameters
        ----------
        order : ndarray of shape (n_documents,), int64
            As written by ``rank_documents``, the first k positions in order.
        first, last : int
        factors : SwapFactors of shape (n_documents,), OUT

        Raises
        ------
        NotImplementedError
            If ``metric.closed_form`` is False.
        """
        raise NotImplementedError(
            f"{type(self.metric).__name__} has no closed form; use its swap_delta"
        )

    def constant_swap_factors(self) -> SwapFactors | None:
        """Return the factors of every list if they do not depend on the order.

        Their shape is (longest list,).  None: call `fill_swap_factors` for each order.
        """
        return None

    def _list_values(self, scores: FloatArray) -> FloatArray:
        """Return the value of each list with a relevant document (else undefined)."""
        order = self._rank(scores, len(self.discount))
        values = np.empty(len(self.offsets) - 1)
        for query in np.flatnonzero(self.has_relevant):
            ranked = order[self.offsets[query] : self.offsets[query + 1]]
            values[query] = value_of_list(self.metric, self.grades[ranked])
        return values

    def _rank(self, scores: FloatArray, k: int) -> IntArray:
        order = np.empty(len(self.grades), dtype=np.int64)
        n_queries = len(self.offsets) - 1
        rank_documents(
            scores, self.grades, self.offsets, 0, n_queries, k, order, self.stable
        )
        return order


def mean_of_values(
    metric: BindableMetric,
    values: FloatArray,
    weights: FloatArray,
    has_relevant: NDArray[np.bool_],
) -> float:
    """Return the weighted mean over queries; ValueError if none counts.

    The arrays are (n_queries,), `values` those of :meth:`BoundMetric.values`.
    """
    if metric.no_relevant == "skip":
        values, weights = values[has_relevant], weights[has_relevant]
    total = weights.sum()
    if not total > 0:
        raise ValueError(
            f'{metric.name} has no query to average: no_relevant="skip" left '
            "out all that have a weight above zero"
        )
    return float((values * weights).sum() / total)


def value_of_list(metric: BindableMetric, ranked_grades: FloatArray) -> float:
    """Return what `value` of a user's metric returns; ValueError if no finite number.

    `value` may keep or change the array.
    """
    value = np.asarray(metric.value(ranked_grades))
    if value.shape != () or value.dtype.kind not in "biuf" or not np.isfinite(value):
        raise ValueError(
            f"{type(metric).__name__}.value must return a finite number, got {value} "
            f"for a list of {len(ranked_grades)} documents"
        )
    return float(value)


def _check_array(array: Any, name: str, n: int) -> None:
    """Raise a ValueError unless an array is float64 and of length n."""
    is_float = isinstance(array, np.ndarray) and array.dtype == np.float64
    if not is_float or array.shape != (n,):
        raise ValueError(
            f"{name} must be a float64 array of shape ({n},), got "
            f"{type(array).__name__} of shape {np.shape(array)}"
        )
