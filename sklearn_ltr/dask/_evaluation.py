"""What is measured during a fit by several workers: means over all their queries.

The measure of each query is gathered, and the mean is taken in the order of the
queries, as one machine takes it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import TrainingData
from sklearn_ltr._lambdas.regression import GradeSpread, spread_of_grades
from sklearn_ltr._rankers.evaluation import MetricEvaluation, PairCostEvaluation
from sklearn_ltr.dask._global_index import GlobalIndex
from sklearn_ltr.metrics import ERR, Metric
from sklearn_ltr.metrics._bound import mean_of_values

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
    global_index : GlobalIndex
        Of these queries.
    """

    higher_is_better = True

    def __init__(
        self, metric: Metric, own: MetricEvaluation | None, global_index: GlobalIndex
    ) -> None:
        self._metric = metric
        self._own, self._global_index = own, global_index
        nothing = np.empty(0)
        weights = nothing if own is None else own.weights
        has_relevant = nothing if own is None else own.bound.has_relevant * 1.0
        self._weights = global_index.gather(weights)
        self._has_relevant = global_index.gather(has_relevant) > 0

    def update(self, scores: FloatArray) -> None:
        """Measure these scores of this worker from now on."""
        if self._own is not None:
            self._own.update(scores)

    def value(self) -> float:
        """Return the mean of the metric."""
        own = np.empty(0) if self._own is None else self._own.values()
        values = self._global_index.gather(own)
        return mean_of_values(self._metric, values, self._weights, self._has_relevant)


class SharedCostEvaluation:
    """RankNet's cost: the mean over the pairs of all workers' queries.

    Parameters
    ----------
    own : PairCostEvaluation
        Of this worker's queries.
    global_index : GlobalIndex
        Of these queries.
    """

    higher_is_better = False

    def __init__(self, own: PairCostEvaluation, global_index: GlobalIndex) -> None:
        self.update = own.update
        self._own, self._global_index = own, global_index
        self._n_pairs = float(global_index.gather(own.weighted_pairs).sum())

    def value(self) -> float:
        """Return the mean cost of a pair."""
        return (
            float(self._global_index.gather(self._own.values()).sum()) / self._n_pairs
        )


def spread_of_all_grades(data: TrainingData, global_index: GlobalIndex) -> GradeSpread:
    """Return the spread of the grades of all workers.

    It is a sum of floats, of which one machine determines the order: so the grades of
    the rows, one byte each if there are at most 256, travel to the first worker.
    """
    collective = global_index.collective
    grades, codes = np.unique(data.y, return_inverse=True)
    codes = codes.astype(np.min_scalar_type(len(grades) - 1))
    gathered = collective.gather_to(0, (grades, codes, data.sizes, data.weights))
    spread: GradeSpread | None = None
    if collective.rank == 0:
        y = np.concatenate([table[codes] for table, codes, _, _ in gathered])
        sizes = np.concatenate([sizes for _, _, sizes, _ in gathered])
        weights = np.concatenate([weights for *_, weights in gathered])
        order = global_index.order
        starts = (np.cumsum(sizes) - sizes)[order]
        offsets = np.concatenate(([0], np.cumsum(sizes[order])))
        rows = np.arange(len(y)) + np.repeat(starts - offsets[:-1], sizes[order])
        spread = spread_of_grades(y[rows], offsets, weights[order])
    found: GradeSpread = collective.gather(spread)[0]
    return found
