"""The weights of a blend, chosen by the scores of its rankers.

blend  =  sum over rankers m of  w_m * scores_m
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from sklearn_ltr.blending._sweep import BlendCurve, best_blend
from sklearn_ltr.learners._network import MultilayerPerceptron
from sklearn_ltr.metrics import Metric
from sklearn_ltr.rankers import LambdaRankRanker

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def weighted_sum(weights: FloatArray, scores: Sequence[FloatArray]) -> FloatArray:
    """Return the blend.  Added up in this order, as a sweep does, bit for bit."""
    total: FloatArray = weights[0] * scores[0]
    for weight, of_one in zip(weights[1:], scores[1:], strict=True):
        total = total + weight * of_one
    return total


def sweep_in_turn(
    scores: Sequence[FloatArray], **lists: Any
) -> tuple[FloatArray, BlendCurve]:
    """Return the weights, and the curve of the last sweep that has raised the metric.

    The blend so far is swept against one ranker after another, until none raises it.
    `lists` are arguments of :func:`best_blend`.
    """
    n = len(scores)
    alone = np.eye(n)
    weights, best = alone[0], None
    others, raised = range(1, n), True
    while raised:
        raised = False
        for m in others:
            curve = best_blend(weighted_sum(weights, scores), scores[m], **lists)
            if best is None or curve.value > best.value:
                weights = curve.alpha * weights + (1.0 - curve.alpha) * alone[m]
                best, raised = curve, True
        others = range(n if n > 2 else 0)  # the best of two is found at once
    assert best is not None
    return weights, best


def linear_lambdarank(
    scores: Sequence[FloatArray],
    y: FloatArray,
    *,
    groups: IntArray,
    sample_weight: FloatArray,
    metric: Metric,
    random_state: Any,
) -> FloatArray:
    """Return what a LambdaRank without hidden layers multiplies the scores by."""
    scaler = StandardScaler()
    table = scaler.fit_transform(np.column_stack(scores))
    ranker = LambdaRankRanker(
        metric, hidden_layer_sizes=(), random_state=random_state, n_jobs=1
    ).fit(table, y, groups=groups, sample_weight=sample_weight)
    (layer,) = cast(MultilayerPerceptron, ranker.network_).coefs
    weights: FloatArray = layer[:, 0] / scaler.scale_
    weights /= np.abs(weights).sum()
    return weights
