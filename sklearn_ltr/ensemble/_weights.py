"""The weights of a blend, learned from the scores of its rankers.

blend  =  sum over rankers m of  w_m * scores_m
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaRankRanker
from sklearn_ltr._networks import MultilayerPerceptron
from sklearn_ltr.ensemble._sweep import BlendCurve, best_blend
from sklearn_ltr.metrics import Metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def weighted_sum(weights: FloatArray, scores: Sequence[FloatArray]) -> FloatArray:
    """Return the blend, added up from the first ranker to the last.

    With two rankers this is bit for bit the sum that :func:`best_blend` evaluates.
    """
    total: FloatArray = weights[0] * scores[0]
    for weight, scores_m in zip(weights[1:], scores[1:], strict=True):
        total = total + weight * scores_m
    return total


def sweep_weights(
    scores: Sequence[FloatArray],
    y: FloatArray,
    *,
    groups: IntArray,
    sample_weight: FloatArray,
    metric: Metric,
) -> tuple[FloatArray, BlendCurve]:
    """Return the best weights by coordinate-wise sweeps, and the last curve used.

    The blend so far is swept against one ranker after another, until no ranker raises
    the metric.  The curve is that of the last sweep that has raised it.
    """
    n = len(scores)
    one_hot = np.eye(n)
    weights, best = one_hot[0], None
    others, raised = range(1, n), True
    while raised:
        raised = False
        for m in others:
            curve = best_blend(
                weighted_sum(weights, scores),
                scores[m],
                y,
                groups=groups,
                metric=metric,
                sample_weight=sample_weight,
            )
            if best is None or curve.value > best.value:
                weights = curve.alpha * weights + (1.0 - curve.alpha) * one_hot[m]
                best, raised = curve, True
        # two rankers need one sweep; of more, the first may be raised in the next round
        others = range(n if n > 2 else 0)
    assert best is not None
    return weights, best


def equal_weights(scores: Sequence[FloatArray], groups: IntArray) -> FloatArray:
    """Return weights with which all scores vary as much within queries.

    They are 1 over the standard deviation of the scores minus their query's mean.

    Raises
    ------
    ValueError
        If the scores of a ranker do not vary within any query.
    """
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    sizes = np.diff(np.append(starts, len(groups)))
    deviations = np.empty(len(scores))
    for m, scores_m in enumerate(scores):
        means = np.add.reduceat(scores_m, starts) / sizes
        deviations[m] = np.std(scores_m - np.repeat(means, sizes))
        if not deviations[m] > 0:
            raise ValueError(
                f"rankers[{m}] gives all documents of a query the same score, so its "
                'scores have no scale: leave it out, or use method="sweep"'
            )
    weights = 1.0 / deviations
    weights /= weights.sum()
    return weights


def lambdarank_weights(
    scores: Sequence[FloatArray],
    y: FloatArray,
    *,
    groups: IntArray,
    sample_weight: FloatArray,
    metric: Metric,
    random_state: Any,
) -> FloatArray:
    """Return the weights of a linear LambdaRank trained on the standardised scores."""
    scaler = StandardScaler()
    X = scaler.fit_transform(np.column_stack(scores))
    ranker = LambdaRankRanker(
        metric, hidden_layer_sizes=(), random_state=random_state, n_jobs=1
    ).fit(X, y, groups=groups, sample_weight=sample_weight)
    (layer,) = cast(MultilayerPerceptron, ranker.network_).coefs
    weights: FloatArray = layer[:, 0] / scaler.scale_
    weights /= np.abs(weights).sum()
    return weights
