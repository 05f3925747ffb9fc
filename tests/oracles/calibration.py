"""Maps from scores to probabilities, from their definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize


def isotonic_points(
    scores: Sequence[float], reached: Sequence[bool], weight: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return the different scores and the isotonic regression at each.

    At score i it is  max over a <= i of  min over b >= i  of the weighted mean of
    scores a to b (Robertson, Wright and Dykstra 1988, theorem 1.4.4).
    """
    points, index = np.unique(scores, return_inverse=True)
    total = np.bincount(index, weight)
    hits = np.bincount(index, np.multiply(weight, reached))
    values = np.full(len(points), -np.inf)
    for a in range(len(points)):
        means = np.cumsum(hits[a:]) / np.cumsum(total[a:])  # of a to b, for each b
        from_i_on = np.minimum.accumulate(means[::-1])[::-1]
        values[a:] = np.maximum(values[a:], from_i_on)
    return points.tolist(), values.tolist()


def joined(points: Sequence[float], values: Sequence[float], score: float) -> float:
    """Return the value at a score: on the line between two points, or at an end."""
    if score <= points[0]:
        return values[0]
    for i in range(1, len(points)):
        if score <= points[i]:
            part = (score - points[i - 1]) / (points[i] - points[i - 1])
            return values[i - 1] + part * (values[i] - values[i - 1])
    return values[-1]


def sigmoid(
    scores: Sequence[float], reached: Sequence[bool], weight: Sequence[float]
) -> tuple[float, float]:
    """Return slope and intercept of least cross entropy from Platt's (1999) targets."""
    s, is_reached = np.asarray(scores, float), np.asarray(reached, bool)
    w = np.asarray(weight, float) / np.mean(weight)
    n_reached, n_others = w[is_reached].sum(), w[~is_reached].sum()
    t = np.where(is_reached, (n_reached + 1) / (n_reached + 2), 1 / (n_others + 2))

    def cost(parameters: np.ndarray) -> float:
        z = parameters[0] * s + parameters[1]
        return float(np.sum(w * (np.logaddexp(0, z) - t * z)))

    precise = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000}
    found = minimize(cost, [0.0, 0.0], method="Nelder-Mead", options=precise)
    return float(found.x[0]), float(found.x[1])
