"""Preferences, which networks learn from: the first row of each pair wins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sklearn_ltr._data import TrainingData
from sklearn_ltr._data.training_data import check_judged_weights, check_weights
from sklearn_ltr._estimators.monitor import Measure
from sklearn_ltr._lambdas.objective import move_queries
from sklearn_ltr._lambdas.ranknet import add_preference_lambdas, preference_cost
from sklearn_ltr._networks import GRADIENTS, Batch
from sklearn_ltr._typing import FloatArray, IntArray

AUTO_PAIRS = 200  # per batch: as many as MLPRegressor takes rows


class PreferenceBatches:
    """Batches of preferences, which also measure their mean cost in the last epoch.

    A unit is a query, or a single pair where there are no queries.
    """

    higher_is_better = False
    may_tie = True  # where the probability of a pair is 1/2

    def __init__(self, data: TrainingData, sigma: float, batch_size: int) -> None:
        assert data.pairs is not None
        check_weights(data.sample_weight, "sample_weight", GRADIENTS)
        check_judged_weights(data, GRADIENTS)
        pairs = data.pairs
        self.X, self.rows = data.X, np.sort(data.rows)
        self._pairs, self._probabilities = data.rows[pairs.rows], pairs.probabilities
        self._weights, self._offsets = data.weights_of_pairs, pairs.offsets
        if not pairs.by_query:
            self._offsets = np.arange(len(pairs.rows) + 1)
        self.size = len(self._offsets) - 1
        self._sigma, self._batch_size = sigma, batch_size
        self._cost = np.nan

    @property
    def measures(self) -> dict[str, Measure]:
        """The mean cost."""
        return {"cost": self}

    def in_order(self, units: IntArray) -> Iterator[Batch]:
        """Yield the batches of an epoch that visits the units in this order."""
        total = 0.0
        for first in range(0, len(units), self._batch_size):
            own_units = units[first : first + self._batch_size]
            _, selected = move_queries(self._offsets, own_units)
            rows, index = np.unique(self._pairs[selected], return_inverse=True)
            pairs = index.reshape(-1, 2)
            probabilities = self._probabilities[selected]
            weights = self._weights[selected]

            def gradient(
                scores: FloatArray,
                pairs: IntArray = pairs,
                probabilities: FloatArray = probabilities,
                weights: FloatArray = weights,
            ) -> FloatArray:
                nonlocal total
                arguments = (scores, pairs, probabilities, weights, self._sigma)
                total += preference_cost(*arguments)
                lambdas = np.zeros(len(scores))
                add_preference_lambdas(*arguments, lambdas)
                return lambdas

            yield Batch(rows, min(self._batch_size, len(units) - first), gradient)
        self._cost = total / self._weights.sum()

    def value(self) -> float:
        """Return the weighted mean cost of a pair."""
        return self._cost

    def fitted(self, n_epochs: int) -> dict[str, object]:
        """Return nothing: there are no positions."""
        return {}
