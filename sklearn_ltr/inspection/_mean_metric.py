"""The mean of a metric as a function of the weights of a network.

M(w)  =  1/n sum over queries of  metric(query, ranked by the network with weights w)

This is equation 8 of the report.  The weights of all layers, biases too, stand in one
vector w; w* are the learned ones.  M is flat but for jumps, where two documents change
places.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._queries import QueryGroups, check_grades, check_sample_weight
from sklearn_ltr.inspection._pipeline_steps import last_step, table_of_last_step
from sklearn_ltr.learners._network import MultilayerPerceptron, Network, predict
from sklearn_ltr.metrics import NDCG, Metric, get_metric

FloatArray = NDArray[np.float64]

ROUNDING = 1e-12  # of a mean over queries, relative: a jump of M is far larger


class MeanMetric:
    """M(w), for a copy of a fitted ranker's network: the ranker itself never changes.

    Attributes
    ----------
    metric : Metric
    network : Network
        The copy, whose weights are moved.
    learned : (n_weights,) float64
        w*: all weights, in the order of ``network.parameters``.
    length : float > 0
        Of w*, which steps are relative to.
    value : float
        M(w*).
    column_names : array-like of str or None
        Of what the network is given, where they are known.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any,
        metric: str | Metric | None,
        sample_weight: Any,
    ) -> None:
        ranker, self.column_names = last_step(estimator)
        check_is_fitted(ranker)
        if not hasattr(ranker, "network_"):
            raise TypeError(
                f"{type(ranker).__name__} has no weights to move: give a RankNetRanker "
                "or a LambdaRankRanker, or a Pipeline or a search that ends in one"
            )
        self.metric = reported_by(ranker) if metric is None else get_metric(metric)
        X = table_of_last_step(estimator, X)
        ranker.predict(X)  # says what is wrong with X, if anything is
        self._table = check_array(X, accept_sparse="csr", dtype=np.float32, order="C")
        self._queries = QueryGroups.from_groups(groups, self._table.shape[0])
        queries = self._queries
        grades = check_grades(y, queries)
        self._query_weights = check_sample_weight(sample_weight, queries)
        self._bound = self.metric.bind(grades, queries.offsets, queries.labels)
        self._n_threads = effective_n_threads(ranker.n_jobs, self._table.size)
        self.network: Network = deepcopy(ranker.network_)
        parts = [np.ravel(part) for part in self.network.parameters]
        self.learned: FloatArray = np.concatenate(parts).astype(np.float64)
        self.length = float(np.linalg.norm(self.learned))
        if self.length == 0:
            raise ValueError(
                "the weights of the ranker are all zero, and steps relative to them "
                "lead nowhere"
            )
        self.value = float(self.at([self.learned])[0])

    def at(self, points: Iterable[FloatArray]) -> FloatArray:
        """Return M at each of several vectors of all weights, (n_points,)."""
        with ThreadTeam(self._n_threads) as team:
            return np.array([self._at(point, team) for point in points])

    def _at(self, point: FloatArray, team: ThreadTeam) -> float:
        start = 0
        with np.errstate(over="ignore"):  # seen by the scores
            for part in self.network.parameters:
                part[...] = point[start : start + part.size].reshape(part.shape)
                start += part.size
        try:
            scores = predict(self.network, self._table, team)
        except FloatingPointError:
            raise ValueError(
                "with the weights moved so far, the scores of X are not finite "
                "numbers: take smaller steps"
            ) from None
        return self._bound.mean(self._queries.sort(scores), self._query_weights)

    def rises(self, values: FloatArray) -> NDArray[np.bool_]:
        """Whether values are above M(w*), by more than the rounding of a mean."""
        above: NDArray[np.bool_] = values - self.value > ROUNDING * abs(self.value)
        return above

    def names(self) -> list[str]:
        """Return what to call each weight.

        The weight of a column has the name of the column if there are no hidden layers,
        others the expression that finds it in the network: ``coefs[0][3, 1]``.
        """
        network = self.network
        if not isinstance(network, MultilayerPerceptron):
            return names_of_entries({"parameters": network.parameters})
        if network.intercepts:
            layers = {"coefs": network.coefs, "intercepts": network.intercepts}
            return names_of_entries(layers)
        if self.column_names is None:
            return [f"x{column}" for column in range(len(self.learned))]
        return [str(name) for name in self.column_names]


def reported_by(ranker: Any) -> Metric:
    """Return the metric of a ranker's `score`."""
    return NDCG(10) if ranker.metric is None else get_metric(ranker.metric)


def names_of_entries(arrays: dict[str, Any]) -> list[str]:
    """Name every entry of lists of arrays: ``coefs[0][3, 1]``."""
    return [
        f"{name}[{number}]{list(index)}"
        for name, parts in arrays.items()
        for number, part in enumerate(parts)
        for index in np.ndindex(part.shape)
    ]
