"""The lambdas of a data set: the pair loop over whole queries, in threads."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import Team, kernel
from sklearn_ltr.lambdas.force import (
    APART,
    WIDEST,
    push_below,
    push_below_far,
    share_among_equals,
    swap_deltas,
)
from sklearn_ltr.metrics import Metric, rank_documents
from sklearn_ltr.queries import Labels

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LANES = 16  # documents of a block: vectors of 4 or 8, unrolled
WORTH_SHARING = 200_000  # pairs, from which on threads are faster than one
CHUNKS = 4  # portions of queries per thread, so that none waits long for another


@kernel
def padded(values: FloatArray, places: IntArray, size: int) -> FloatArray:
    """Return ``values[places]`` with zeros behind, `size` in all."""
    result = np.zeros(size)
    for p in range(len(places)):
        result[p] = values[places[p]]
    return result


@kernel
def push_list(
    n: int,
    scores: FloatArray,
    grades: FloatArray,
    worth: FloatArray,
    weight: FloatArray,
    upper: FloatArray,
    lower: FloatArray,
    table: FloatArray,
    k: int,
    scale: float,
    sigma: float,
    distance_normalization: bool,
    gradient: FloatArray,
    hessian: FloatArray,
) -> float:
    """Add up the pairs of one ranked list; return the sum of |lambda_ij|.

    Swap deltas come from the terms of a closed form, else from `table` (n, n), else
    (both empty) they are 1: RankNet.  All but `table` are padded to whole blocks.
    """
    size = len(scores)
    top, bottom = scores[0], scores[0]
    for p in range(n):
        top, bottom = max(top, scores[p]), min(bottom, scores[p])
    near = sigma * (top - bottom) < WIDEST
    gap, slope = 1.0, 0.0
    if distance_normalization and top > bottom:
        gap, slope = APART, sigma
    odds, delta = np.ones(size), np.zeros(size)
    for p in range(n):
        odds[p] = np.exp(sigma * (scores[p] - top))
        delta[p] = scale
    strength = 0.0
    for p in range(min(k, n)):
        first = p // LANES * LANES
        if len(worth) > 0:
            swap_deltas(p, first, worth, upper[p], lower, weight[p] * scale, delta)
        elif len(table) > 0:
            for q in range(p + 1, n):
                delta[q] = table[p, q] * scale
        for q in range(first, p + 1):
            delta[q] = 0.0  # these pairs have been counted
        for q in range(n, size):
            delta[q] = 0.0  # and these are none
        if near:
            strength += push_below(
                p, first, grades, scores, odds, delta, gap, slope, gradient, hessian
            )
        else:
            strength += push_below_far(
                p, grades, scores, sigma, delta, gap, slope, gradient, hessian
            )
    return strength


@kernel
def push_queries(
    scores: FloatArray,
    grades: FloatArray,
    order: IntArray,
    offsets: IntArray,
    first: int,
    last: int,
    worth: FloatArray,
    weight: FloatArray,
    upper: FloatArray,
    lower: FloatArray,
    table: FloatArray,
    k: int,
    scale: FloatArray,
    query_weight: FloatArray,
    sigma: float,
    distance_normalization: bool,
    query_normalization: bool,
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Write the gradient and hessian of the documents of queries first..last - 1."""
    for query in range(first, last):
        lo, n = offsets[query], offsets[query + 1] - offsets[query]
        ranked = order[lo : lo + n]
        size = (n + LANES - 1) // LANES * LANES
        s, g = padded(scores, ranked, size), padded(grades, ranked, size)
        slope, bend = np.zeros(size), np.zeros(size)
        n_terms, terms_size = (n, size) if len(worth) > 0 else (0, 0)
        strength = push_list(
            n,
            s,
            g,
            padded(worth, ranked[:n_terms], terms_size),
            weight[lo : lo + n],
            upper[lo : lo + n],
            padded(lower, np.arange(lo, lo + n_terms), terms_size),
            table,
            k,
            scale[query],
            sigma,
            distance_normalization,
            slope,
            bend,
        )
        share_among_equals(s[:n], g[:n], k, slope, bend)
        factor = query_weight[query] * sigma
        if query_normalization and strength > 0:
            factor *= np.log1p(2.0 * strength) / (2.0 * strength * np.log(2.0))
        for p in range(n):
            gradient[ranked[p]] = slope[p] * factor
            hessian[ranked[p]] = bend[p] * factor * sigma


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

    All arrays are in canonical order (:mod:`sklearn_ltr.queries`).

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
    team : Team
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
        team: Team,
    ) -> None:
        n_documents, n_queries = len(grades), len(offsets) - 1
        self.grades, self.offsets, self.metric = grades, offsets, metric
        self.sigma, self.team = sigma, team
        self.distance_normalization = distance_normalization
        self.query_normalization = query_normalization
        self.bound = None if metric is None else metric.bind(grades, offsets, labels)
        self.closed_form = metric is not None and metric.closed_form
        self.scale = np.ones(n_queries)
        self.worth, self.terms = np.empty(0), np.empty((3, 0))
        self.k = int(np.diff(offsets).max())
        if self.bound is not None and self.closed_form:
            self.scale, self.k = self.bound.scale, self.bound.k
            self.worth, self.terms = self.bound.worth, np.empty((3, n_documents))
        self.query_weight = np.ones(n_queries) if query_weight is None else query_weight
        self.documents = np.arange(n_documents)
        self._allocate()

    def _allocate(self) -> None:
        """Make room for results, and know what each query costs."""
        n_documents, sizes = len(self.grades), np.diff(self.offsets)
        self.order = np.empty(n_documents, dtype=np.int64)
        self.gradient, self.hessian = np.empty((2, n_documents))
        if self.terms.size:
            self.terms = np.empty((3, n_documents))
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
        if self.bound is not None:
            other.bound = self.bound.in_order(queries, documents, other.offsets)
            other.worth = other.bound.worth if self.closed_form else self.worth
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

        def work(thread: int) -> None:
            for portion in portions:
                start, stop = bounds[portion : portion + 2]
                self._rank(scores, start, stop)
                if self.bound is not None:
                    self.bound.swap_terms(self.order, start, stop, *self.terms)
                self._push(scores, start, stop, np.empty((0, 0)))

        if len(bounds) > 2:
            self.team.run(work)
        else:
            work(0)
        return self.gradient[own], self.hessian[own]

    def _portions(self, first: int, last: int) -> IntArray:
        """Cut queries into portions of about equal numbers of pairs."""
        cost = self._cost[last] - self._cost[first]
        if self.team.n_threads == 1 or cost < WORTH_SHARING:
            return np.array([first, last])
        n_portions = CHUNKS * self.team.n_threads
        targets = self._cost[first] + cost * np.arange(1, n_portions) / n_portions
        cuts = np.clip(np.searchsorted(self._cost, targets), first, last)
        return np.unique(np.concatenate(([first], cuts, [last])))

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
        self, scores: FloatArray, first: int, last: int, table: FloatArray
    ) -> None:
        push_queries(
            scores,
            self.grades,
            self.order,
            self.offsets,
            first,
            last,
            self.worth,
            self.terms[0],
            self.terms[1],
            self.terms[2],
            table,
            self.k,
            self.scale,
            self.query_weight,
            self.sigma,
            self.distance_normalization,
            self.query_normalization,
            self.gradient,
            self.hessian,
        )
