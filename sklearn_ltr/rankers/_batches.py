"""What a network learns from, cut into batches: whole queries, or preferences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.lambdas import (
    LambdaGradient,
    preference_cost,
    pull_together,
    push_preferences,
)
from sklearn_ltr.learners._network import Batch
from sklearn_ltr.rankers._data import GradedLists
from sklearn_ltr.rankers._preferences import Preferences

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


PAIRS_AT_ONCE = 200  # as many as scikit-learn's MLPRegressor takes rows


class ListBatches:
    """Batches of whole queries, whose lambdas come from grades.

    Parameters
    ----------
    lists : GradedLists
    lambdas : LambdaGradient
        Of these lists.
    tied_pairs : bool
        Whether documents of equal grade pull each other together.

    Attributes
    ----------
    size, usual_size : int
        Number of queries, in all and in a batch.
    scores : ndarray of shape (n_documents,), float64
        Those that the gradients of the last epoch were taken at.
    """

    usual_size = 1  # the report's

    def __init__(
        self, lists: GradedLists, lambdas: LambdaGradient, tied_pairs: bool
    ) -> None:
        self.lists, self.lambdas, self.tied_pairs = lists, lambdas, tied_pairs
        self.size = lists.n_queries
        self.scores = np.zeros(len(lists.rows))

    def in_order(self, queries: IntArray, batch_size: int) -> Iterator[Batch]:
        """Go through the queries in an order, `batch_size` at a time."""
        lambdas = self.lambdas.in_order(queries)
        rows, offsets = self.lists.rows[lambdas.documents], lambdas.offsets
        scores = np.zeros(len(rows))
        for first in range(0, len(queries), batch_size):
            last = min(first + batch_size, len(queries))
            own = slice(offsets[first], offsets[last])

            def gradient(
                of: FloatArray, own: slice = own, first: int = first, last: int = last
            ) -> FloatArray:
                scores[own] = of
                pushes, _ = lambdas(scores, first, last)
                if self.tied_pairs:
                    self._pull_ties(lambdas, scores, first, last)
                return pushes

            yield Batch(rows[own], last - first, gradient)
        self.scores[lambdas.documents] = scores

    def _pull_ties(
        self, lambdas: LambdaGradient, scores: FloatArray, first: int, last: int
    ) -> None:
        pull_together(
            scores,
            lambdas.grades,
            lambdas.offsets,
            first,
            last,
            lambdas.sigma,
            lambdas.query_weight,
            lambdas.gradient,
        )


class PreferenceBatches:
    """Batches of preferences, and their mean cost in the last epoch."""

    name = "cost"
    higher_is_better = False

    def __init__(self, preferences: Preferences, sigma: float) -> None:
        self.preferences, self.sigma = preferences, sigma
        self.size = len(preferences.offsets) - 1
        self.usual_size = 1 if preferences.by_query else PAIRS_AT_ONCE
        self._cost = np.nan

    def in_order(self, units: IntArray, batch_size: int) -> Iterator[Batch]:
        """Go through the units in an order, `batch_size` at a time."""
        known, total = self.preferences, 0.0
        for first in range(0, len(units), batch_size):
            chosen = known.pairs_of(units[first : first + batch_size])
            rows, places = np.unique(known.pairs[chosen], return_inverse=True)
            pairs = places.reshape(-1, 2)
            probabilities, weights = known.probabilities[chosen], known.weights[chosen]

            def gradient(
                scores: FloatArray,
                pairs: IntArray = pairs,
                probabilities: FloatArray = probabilities,
                weights: FloatArray = weights,
            ) -> FloatArray:
                nonlocal total
                judged = (scores, pairs, probabilities, weights, self.sigma)
                total += preference_cost(*judged)
                pushes = np.zeros(len(scores))
                push_preferences(*judged, pushes)
                return pushes

            yield Batch(rows, min(batch_size, len(units) - first), gradient)
        self._cost = total / known.weights.sum()

    def value(self) -> float:
        """Weighted mean cost of a pair."""
        return self._cost
