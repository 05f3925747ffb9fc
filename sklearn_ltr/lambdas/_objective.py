"""The lambdas of a data set: the pair loop over whole queries, in threads."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._queries import Labels
from sklearn_ltr.lambdas._query_loop import push_queries, room_for
from sklearn_ltr.metrics import Metric, rank_documents

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

WORTH_SHARING = 200_000  # pairs, from which on threads are faster than one
NO_TERMS = [[1.0], [0.0], [-1.0]]  # weight, upper and lower where every swap counts 1
CHUNKS = 4  # portions of queries per thread, so that none waits long for another


def check_table(delta: Any, n: int, metric: Metric) -> FloatArray:
    """Return |swap deltas| as (n, n) float64; a ValueError if they are not that."""
    table = np.abs(np.asarray(delta, dtype=np.float64))
    if table.shape != (n, n) or not np.isfinite(table).all():
        raise ValueError(
            f"{type(metric).__name__}.swap_delta must return ({n}, {n}) finite numbers "
            f"for a list of {n}; got shape {table.shape}, "
            f"{np.count_nonzero(~np.isfinite(table))} of them not finite"
        )
    return np.ascontiguousarray(table)


class LambdaGradient:
    """Turns scores into gradient and hessian, for one data set and one metric.

    All arrays are in canonical order (:mod:`sklearn_ltr._queries`).

    Parameters
    ----------
    grades : ndarray of shape (n_documents,), float64
        Finite, >= 0.
    offsets : ndarray of shape (n_queries + 1,), int64
        Query q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``.
    metric : Metric or None
        Whose swap deltas multiply the force; None: 1, the force of RankNet.
    sigma : float > 0
        Steepness of the force.
    labels : sequence of length n_queries, or None
        What to call the queries in error messages.
    query_weight : ndarray of shape (n_queries,), float64, or None
        Multiplies the lambdas of a query; None: 1.
    distance_normalization, query_normalization : bool
        As in :func:`compute_lambdas`.
    team : ThreadTeam
        The threads to use.
    """

    def __init__(
        self,
        grades: FloatArray,
        offsets: IntArray,
        metric: Metric | None,
        sigma: float,
        *,
        labels: Labels | None = None,
        query_weight: FloatArray | None,
        distance_normalization: bool,
        query_normalization: bool,
        team: ThreadTeam,
    ) -> None:
        n_documents, n_queries = len(grades), len(offsets) - 1
        self.grades, self.offsets, self.metric = grades, offsets, metric
        self.sigma, self.team = sigma, team
        self.distance_normalization = distance_normalization
        self.query_normalization = query_normalization
        self.bound = None if metric is None else metric.bind(grades, offsets, labels)
        self.closed_form = metric is not None and metric.closed_form
        self.scale = np.ones(n_queries)
        self.worth = np.zeros(n_documents)
        self.k = int(np.diff(offsets).max())
        self.fixed_terms: FloatArray | None = np.tile(NO_TERMS, self.k)
        if self.bound is not None and self.closed_form:
            self.scale, self.k = self.bound.scale, self.bound.k
            self.worth = self.bound.worth
            self.fixed_terms = self.bound.fixed_terms()
        self.query_weight = np.ones(n_queries) if query_weight is None else query_weight
        self.documents = np.arange(n_documents)
        self._allocate()

    def _allocate(self) -> None:
        """Make room for results, and know what each query costs."""
        n_documents, sizes = len(self.grades), np.diff(self.offsets)
        longest = int(sizes.max())
        self._rooms = [room_for(longest) for _ in range(self.team.n_threads)]
        self.order = np.empty(n_documents, dtype=np.int64)
        self.gradient, self.hessian = np.empty((2, n_documents))
        if self.fixed_terms is None:
            self.terms, self.first_term = np.empty((3, n_documents)), self.offsets[:-1]
        else:
            self.terms, self.first_term = self.fixed_terms, np.zeros_like(sizes)
        pairs = sizes * (np.minimum(sizes, self.k) + 16.0)
        self._cost = np.concatenate(([0.0], np.cumsum(pairs)))

    def in_order(self, queries: IntArray) -> LambdaGradient:
        """Return the same with the queries in another order (or only some of them).

        `documents` of the result says where its documents stand in this one.
        """
        other = copy(self)
        sizes = np.diff(self.offsets)[queries]
        other.offsets = np.concatenate(([0], np.cumsum(sizes)))
        shift = self.offsets[queries] - other.offsets[:-1]
        documents = np.arange(other.offsets[-1]) + np.repeat(shift, sizes)
        other.documents = self.documents[documents]
        other.grades = self.grades[documents]
        other.query_weight = self.query_weight[queries]
        other.scale = self.scale[queries]
        other.worth = self.worth[documents]
        if self.bound is not None:
            other.bound = self.bound.in_order(queries, documents, other.offsets)
        other._allocate()
        return other

    def __call__(
        self, scores: FloatArray, first: int = 0, last: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1.

        `scores` is (n_documents,), whatever the range; the results have one number for
        each document of the range, and are valid until the next call.
        """
        last = len(self.offsets) - 1 if last is None else last
        own = slice(self.offsets[first], self.offsets[last])
        if self.metric is not None and not self.closed_form:
            self._push_by_table(scores, first, last, self.metric)
            return self.gradient[own], self.hessian[own]
        bounds = self._portions(first, last)
        portions = iter(range(len(bounds) - 1))
        table = None if self.closed_form else np.empty((0, 0))

        def work(thread: int) -> None:
            for portion in portions:
                start, stop = bounds[portion : portion + 2]
                self._rank(scores, start, stop)
                if self.bound is not None and self.fixed_terms is None:
                    self.bound.swap_terms(self.order, start, stop, *self.terms)
                self._push(scores, start, stop, table, thread)

        if len(bounds) > 2:
            self.team.run(work)
        else:
            work(0)
        return self.gradient[own], self.hessian[own]

    def _portions(self, first: int, last: int) -> list[int]:
        """Cut queries into portions of about equal numbers of pairs, or none at all."""
        cost = self._cost[last] - self._cost[first]
        if self.team.n_threads == 1 or cost < WORTH_SHARING:
            return [first, last]
        n_portions = CHUNKS * self.team.n_threads
        targets = self._cost[first] + cost * np.arange(1, n_portions) / n_portions
        cuts: list[int] = np.searchsorted(self._cost, targets).tolist()
        return [first, *cuts, last]

    def _push_by_table(
        self, scores: FloatArray, first: int, last: int, metric: Metric
    ) -> None:
        """Ask a user's metric for the deltas of every query, one after another."""
        for query in range(first, last):
            self._rank(scores, query, query + 1)
            ranked = self.order[self.offsets[query] : self.offsets[query + 1]]
            grades = self.grades[ranked]
            delta = np.zeros((len(ranked), len(ranked)))
            if np.ptp(grades) > 0:  # else no pairs, and the value may be undefined
                delta = check_table(metric.swap_delta(grades), len(ranked), metric)
            self._push(scores, query, query + 1, delta)

    def _rank(self, scores: FloatArray, first: int, last: int) -> None:
        rank_documents(
            scores, self.grades, self.offsets, first, last, self.k, self.order, False
        )

    def _push(
        self,
        scores: FloatArray,
        first: int,
        last: int,
        table: FloatArray | None,
        thread: int = 0,
    ) -> None:
        push_queries(
            scores,
            self.grades,
            self.order,
            self.offsets,
            first,
            last,
            self.worth,
            self.terms,
            self.first_term,
            table,
            self.k,
            self.scale,
            self.query_weight,
            self.sigma,
            self.distance_normalization,
            self.query_normalization,
            *self._rooms[thread],
            self.gradient,
            self.hessian,
        )
