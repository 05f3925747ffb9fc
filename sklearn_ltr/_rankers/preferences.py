"""Preferences, which networks learn from: the first row of each pair wins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._data import QueryGroups, check_sample_weight
from sklearn_ltr._data.pairs import (
    GivenPairs,
    check_pairs,
    check_probabilities,
    check_within_queries,
)
from sklearn_ltr._data.tables import Table
from sklearn_ltr._data.training_data import check_weights
from sklearn_ltr._estimators.monitor import Measure
from sklearn_ltr._lambdas.ranknet import add_preference_lambdas, preference_cost
from sklearn_ltr._networks import GRADIENTS, Batch
from sklearn_ltr._typing import FloatArray, IdsLike, IntArray

AUTO_PAIRS = 200  # per batch: as many as MLPRegressor takes rows


@dataclass(frozen=True)
class Preferences:
    """Preferences in units that are learned from together.

    Attributes
    ----------
    X : Table
    pairs : ndarray of shape (n_pairs, 2), int64
        Rows of X.
    probabilities : ndarray of shape (n_pairs,), float64
        That the first row of a pair beats the second.
    weights : ndarray of shape (n_pairs,), float64
    offsets : ndarray of shape (n_units + 1,), int64
        Unit u (a query, or a single pair where there are no queries) owns the pairs
        ``offsets[u]`` to ``offsets[u + 1] - 1``.
    by_query : bool
        Whether units are queries.
    """

    X: Table
    pairs: IntArray
    probabilities: FloatArray
    weights: FloatArray
    offsets: IntArray
    by_query: bool

    @property
    def rows(self) -> IntArray:
        """The rows of X that are compared, ascending."""
        return np.unique(self.pairs)

    @classmethod
    def read(
        cls,
        X: Table,
        given: GivenPairs,
        groups: IdsLike | None,
        sample_weight: ArrayLike | None,
    ) -> Preferences:
        """Check and sort preferences: their given order must not matter."""
        n_rows = X.shape[0]
        rows = check_pairs(given.pairs, n_rows)
        probabilities = check_probabilities(given.probabilities, len(rows))
        if groups is None:
            if sample_weight is not None:
                raise ValueError(
                    "sample_weight weighs queries, and without groups pairs have none; "
                    "give groups too"
                )
            order = np.lexsort((probabilities, rows[:, 1], rows[:, 0]))
            starts, weights = np.arange(len(order)), np.ones(len(order))
        else:
            queries = QueryGroups.from_groups(groups, n_rows)
            query = check_within_queries(rows, queries)
            weights = check_sample_weight(sample_weight, queries)[query]
            order = np.lexsort((probabilities, rows[:, 1], rows[:, 0], query))
            order = order[weights[order] > 0]
            starts = np.flatnonzero(np.diff(query[order], prepend=-1))
        if len(order) == 0:
            raise ValueError(
                "sample_weight is zero for every query that has pairs: there is "
                "nothing to learn"
            )
        offsets = np.append(starts, len(order)).astype(np.int64)
        return cls(
            X,
            rows[order],
            probabilities[order],
            weights[order],
            offsets,
            groups is not None,
        )

    def pairs_of(self, units: IntArray) -> IntArray:
        """Return the numbers of the pairs of some units."""
        starts, sizes = self.offsets[units], np.diff(self.offsets)[units]
        ends = np.cumsum(sizes)
        numbers: IntArray = np.arange(ends[-1]) + np.repeat(
            starts - ends + sizes, sizes
        )
        return numbers


class PreferenceBatches:
    """Batches of preferences, which also measure their mean cost in the last epoch."""

    higher_is_better = False
    may_tie = True  # where the probability of a pair is 1/2

    def __init__(self, preferences: Preferences, sigma: float, batch_size: int) -> None:
        check_weights(preferences.weights, "sample_weight", GRADIENTS)
        self.X, self.rows = preferences.X, preferences.rows
        self._preferences, self._sigma = preferences, sigma
        self.size = len(preferences.offsets) - 1
        self._batch_size = batch_size
        self._cost = np.nan

    @property
    def measures(self) -> dict[str, Measure]:
        """The mean cost."""
        return {"cost": self}

    def in_order(self, units: IntArray) -> Iterator[Batch]:
        """Yield the batches of an epoch that visits the units in this order."""
        known, total = self._preferences, 0.0
        for first in range(0, len(units), self._batch_size):
            selected = known.pairs_of(units[first : first + self._batch_size])
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
                arguments = (scores, pairs, probabilities, weights, self._sigma)
                total += preference_cost(*arguments)
                lambdas = np.zeros(len(scores))
                add_preference_lambdas(*arguments, lambdas)
                return lambdas

            yield Batch(rows, min(self._batch_size, len(units) - first), gradient)
        self._cost = total / known.weights.sum()

    def value(self) -> float:
        """Return the weighted mean cost of a pair."""
        return self._cost

    def fitted(self, n_epochs: int) -> dict[str, object]:
        """Return nothing: there are no positions."""
        return {}
