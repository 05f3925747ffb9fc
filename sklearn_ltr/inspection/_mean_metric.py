"""The mean of a metric as a function of the weights of a network.

M(w)  =  1/n sum over queries of  metric(query, ranked by the network with weights w)

This is equation 8 of the report.  The weights of all layers, including biases, form one
vector w; w* are the trained weights.  M is piecewise constant: it jumps where two
documents swap ranks.
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
from sklearn_ltr._data import QueryGroups, check_grades, check_sample_weight
from sklearn_ltr._networks import MultilayerPerceptron, Network, predict
from sklearn_ltr.inspection._pipeline_steps import find_model, transform_for_model
from sklearn_ltr.metrics import NDCG, Metric, get_metric

FloatArray = NDArray[np.float64]

# Relative rounding error of a mean over queries.  A jump of M is far larger.
ROUNDING = 1e-12


class MeanMetric:
    """M(w), for a copy of a fitted ranker's network; the ranker itself never changes.

    Attributes
    ----------
    metric : Metric
    network : Network
        The copy.  Its weights are those of the last evaluation.
    trained : (n_weights,) float64
        w*: all weights, in the order of ``network.parameters``.
    norm : float > 0
        Euclidean norm of w*.
    value : float
        M(w*).
    feature_names : array-like of str or None
        Names of the inputs of the network, if known.
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
        ranker, self.feature_names = find_model(estimator)
        check_is_fitted(ranker)
        if not hasattr(ranker, "network_"):
            raise TypeError(
                f"{type(ranker).__name__} is not a network, so it has no weights to "
                "change: give a RankNetRanker or a LambdaRankRanker, or a Pipeline or "
                "a search that ends in one"
            )
        self.metric = metric_of_score(ranker) if metric is None else get_metric(metric)
        X = transform_for_model(estimator, X)
        ranker.predict(X)  # raises if X is invalid, with the ranker's message
        self._X = check_array(X, accept_sparse="csr", dtype=np.float32, order="C")
        self._queries = QueryGroups.from_groups(groups, self._X.shape[0])
        queries = self._queries
        grades = check_grades(y, queries)
        self._query_weights = check_sample_weight(sample_weight, queries)
        self._bound = self.metric.bind(grades, queries.offsets, queries.labels)
        self._n_threads = effective_n_threads(ranker.n_jobs, self._X.size)
        self.network: Network = deepcopy(ranker.network_)
        arrays = [np.ravel(array) for array in self.network.parameters]
        self.trained: FloatArray = np.concatenate(arrays).astype(np.float64)
        self.norm = float(np.linalg.norm(self.trained))
        if self.norm == 0:
            raise ValueError(
                "the weights of the ranker are all zero, so steps relative to them "
                "have length zero"
            )
        self.value = float(self.evaluate([self.trained])[0])

    def evaluate(self, weight_vectors: Iterable[FloatArray]) -> FloatArray:
        """Return M at each of several vectors of all weights, (n_vectors,)."""
        with ThreadTeam(self._n_threads) as team:
            return np.array([self._evaluate_one(w, team) for w in weight_vectors])

    def _evaluate_one(self, weights: FloatArray, team: ThreadTeam) -> float:
        start = 0
        with np.errstate(over="ignore"):  # `predict` checks that scores are finite
            for array in self.network.parameters:
                array[...] = weights[start : start + array.size].reshape(array.shape)
                start += array.size
        try:
            scores = predict(self.network, self._X, team)
        except FloatingPointError:
            raise ValueError(
                "after so long a step of the weights, the scores of X are not finite: "
                "take smaller steps"
            ) from None
        return self._bound.mean(self._queries.sort(scores), self._query_weights)

    def exceeds_trained(self, values: FloatArray) -> NDArray[np.bool_]:
        """Return whether values are above M(w*) by more than rounding."""
        above: NDArray[np.bool_] = values - self.value > ROUNDING * abs(self.value)
        return above

    def weight_names(self) -> list[str]:
        """Return a name for each weight.

        Without hidden layers a weight has the name of its feature.  Otherwise its name
        is the expression that finds it in the network, such as ``coefs[0][3, 1]``.
        """
        network = self.network
        if not isinstance(network, MultilayerPerceptron):
            return names_of_entries({"parameters": network.parameters})
        if network.intercepts:
            layers = {"coefs": network.coefs, "intercepts": network.intercepts}
            return names_of_entries(layers)
        if self.feature_names is None:
            return [f"x{feature}" for feature in range(len(self.trained))]
        return [str(name) for name in self.feature_names]


def metric_of_score(ranker: Any) -> Metric:
    """Return the metric of a ranker's `score` method."""
    return NDCG(10) if ranker.metric is None else get_metric(ranker.metric)


def names_of_entries(arrays: dict[str, Any]) -> list[str]:
    """Name every entry of lists of arrays: ``coefs[0][3, 1]``."""
    return [
        f"{name}[{number}]{list(index)}"
        for name, list_of_arrays in arrays.items()
        for number, array in enumerate(list_of_arrays)
        for index in np.ndindex(array.shape)
    ]
