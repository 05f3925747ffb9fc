"""What is measured during a fit by several workers: means over all their queries.

The measure of each query is gathered, and the mean is taken in the order of the
queries, as one machine takes it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.dask._standing import Standing
from sklearn_ltr.metrics import ERR, Metric
from sklearn_ltr.metrics._bound import mean_of_values
from sklearn_ltr.rankers._evaluation import MetricEvaluation, PairCostEvaluation

FloatArray = NDArray[np.float64]


def of_scale(metric: Metric, largest_grade: float) -> Metric:
    """Return a metric that takes this for the largest grade of the data."""
    if isinstance(metric, ERR) and metric.max_grade is None:
        return replace(metric, max_grade=largest_grade)
    return metric


class SharedMetricEvaluation:
    """The weighted mean of a metric over the queries of all workers.

    Parameters
    ----------
    metric : Metric
    own : MetricEvaluation or None
        Of this worker's queries; None: it has none.
    standing : Standing
        Of these queries.
    """

    higher_is_better = True

    def __init__(
        self, metric: Metric, own: MetricEvaluation | None, standing: Standing
    ) -> None:
        self._metric = metric
        self._own, self._standing = own, standing
        nothing = np.empty(0)
        weights = nothing if own is None else own.weights
        has_relevant = nothing if own is None else own.bound.has_relevant * 1.0
        self._weights = standing.gather(weights)
        self._has_relevant = standing.gather(has_relevant) > 0

    def update(self, scores: FloatArray) -> None:
        """Measure these scores of this worker from now on."""
        if self._own is not None:
            self._own.update(scores)

    def value(self) -> float:
        """Return the mean of the metric."""
        own = np.empty(0) if self._own is None else self._own.values()
        values = self._standing.gather(own)
        return mean_of_values(self._metric, values, self._weights, self._has_relevant)


class SharedCostEvaluation:
    """RankNet's cost: the mean over the pairs of all workers' queries.

    Parameters
    ----------
    own : PairCostEvaluation
        Of this worker's queries.
    standing : Standing
        Of these queries.
    """

    higher_is_better = False

    def __init__(self, own: PairCostEvaluation, standing: Standing) -> None:
        self.update = own.update
        self._own, self._standing = own, standing
        self._n_pairs = float(standing.gather(own.weighted_pairs).sum())

    def value(self) -> float:
        """Return the mean cost of a pair."""
        return float(self._standing.gather(self._own.values()).sum()) / self._n_pairs
