"""Training data of a network in batches: of whole queries, or of preferences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import TrainingData
from sklearn_ltr._lambdas.objective import LambdaObjective
from sklearn_ltr._lambdas.position_bias import PositionBias
from sklearn_ltr._lambdas.ranknet import add_preference_lambdas, preference_cost
from sklearn_ltr._lambdas.user_objective import UserObjective
from sklearn_ltr._networks import Batch
from sklearn_ltr._rankers._preferences import Preferences

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

AUTO_QUERIES = 8  # per batch, if an epoch still has MIN_UPDATES updates
MIN_UPDATES = 16
BIAS_RATE = 0.3  # factor of the Newton step of an additive bias after each epoch
AUTO_PAIRS = 200  # per batch: as many as MLPRegressor takes rows


def auto_batch_size(n_queries: int) -> int:
    """Return the queries per update: 8, fewer of fewer than 128, at least one."""
    return max(1, min(AUTO_QUERIES, n_queries // MIN_UPDATES))


class QueryBatches:
    """Batches of whole queries, whose lambdas come from grades.

    Parameters
    ----------
    data : TrainingData
    objective : LambdaObjective or UserObjective
        Of these data.
    tied_pairs : bool
        Whether documents of equal grade are pairs too.
    batch_size : int
        Queries per batch.
    bias : PositionBias or None
        What is learned of the positions; it makes a step after each epoch.

    Attributes
    ----------
    size : int
        Number of queries.
    scores : ndarray of shape (n_rows,), float64
        Scores of the network in the last epoch, as each batch met them.
    shown_scores : ndarray of shape (n_rows,), float64
        The same with the bias of positions, at which gradients were computed.
    """

    def __init__(
        self,
        data: TrainingData,
        objective: LambdaObjective | UserObjective,
        tied_pairs: bool,
        batch_size: int,
        bias: PositionBias | None = None,
    ) -> None:
        self.data, self.objective, self.tied_pairs = data, objective, tied_pairs
        self.bias = bias
        self.size, self.batch_size = data.n_queries, batch_size
        self.scores = np.zeros(data.n_rows)
        self.shown_scores = self.scores if bias is None else np.zeros(data.n_rows)

    def in_order(self, queries: IntArray) -> Iterator[Batch]:
        """Yield the batches of an epoch that visits the queries in this order."""
        objective = self.objective.reordered(queries)
        documents, offsets = objective.documents, objective.offsets
        scores, shown = np.zeros((2, len(documents)))
        derivatives = np.zeros((2, len(documents)))  # gradient and hessian
        shift = np.zeros(len(documents))
        if self.bias is not None:
            shift = self.bias.as_shown(shift)[documents]
        for first in range(0, len(queries), self.batch_size):
            last = min(first + self.batch_size, len(queries))
            own = slice(offsets[first], offsets[last])

            def gradient(
                batch_scores: FloatArray,
                own: slice = own,
                first: int = first,
                last: int = last,
            ) -> FloatArray:
                scores[own] = batch_scores
                shown[own] = batch_scores + shift[own]
                lambdas, hessian = objective.of_queries(shown, first, last)
                if self.tied_pairs and isinstance(objective, LambdaObjective):
                    objective.add_tied_pairs(shown, first, last)
                derivatives[:, own] = lambdas, hessian
                return lambdas

            yield Batch(self.data.rows[documents[own]], last - first, gradient)
        self.scores[documents], self.shown_scores[documents] = scores, shown
        if self.bias is not None:
            gradients, hessians = np.zeros((2, len(documents)))
            gradients[documents], hessians[documents] = derivatives
            self.bias.step(gradients, hessians, BIAS_RATE)


class PreferenceBatches:
    """Batches of preferences, which also measure their mean cost in the last epoch.

    Parameters
    ----------
    preferences : Preferences
    sigma : float > 0
    batch_size : int
        Units (queries, or single pairs) per batch.

    Attributes
    ----------
    size : int
        Number of units.
    """

    higher_is_better = False

    def __init__(self, preferences: Preferences, sigma: float, batch_size: int) -> None:
        self.preferences, self.sigma = preferences, sigma
        self.size, self.batch_size = len(preferences.offsets) - 1, batch_size
        self._cost = np.nan

    def in_order(self, units: IntArray) -> Iterator[Batch]:
        """Yield the batches of an epoch that visits the units in this order."""
        known, total = self.preferences, 0.0
        for first in range(0, len(units), self.batch_size):
            selected = known.pairs_of(units[first : first + self.batch_size])
            rows, index = np.unique(known.pairs[selected], return_inverse=True)
            pairs = index.reshape(-1, 2)
            probabilities = known.probabilities[selected]
            weights = known.weights[selected]

            def gradient(
                scores: FloatArray,
                pairs: IntArray = pairs,
                probabilities: FloatArray = probabilities,
                weights: FloatArray = weights,
            ) -> FloatArray:
                nonlocal total
                arguments = (scores, pairs, probabilities, weights, self.sigma)
                total += preference_cost(*arguments)
                lambdas = np.zeros(len(scores))
                add_preference_lambdas(*arguments, lambdas)
                return lambdas

            yield Batch(rows, min(self.batch_size, len(units) - first), gradient)
        self._cost = total / known.weights.sum()

    def value(self) -> float:
        """Return the weighted mean cost of a pair."""
        return self._cost
