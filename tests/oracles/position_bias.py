"""Weighted pairs and the bias of positions, pair by pair: slow, obvious, no numba."""

from __future__ import annotations

import numpy as np

from tests.oracles.lambdas import falling_sigmoid, pairs, query_factor, softplus


def weighted_cost(scores, grades, delta, sigma, t_plus, t_minus) -> float:
    """Sum of delta log(1 + exp(-sigma (s_i - s_j))) / (t+_i t-_j)."""
    return sum(
        delta[i][j]
        * softplus(-sigma * (scores[i] - scores[j]))
        / (t_plus[i] * t_minus[j])
        for i, j in pairs(grades)
    )


def pair_costs(scores, grades, delta, sigma, t_plus, t_minus):
    """Cost of each document as the better one, and as the worse one, of its pairs."""
    better, worse = np.zeros(len(scores)), np.zeros(len(scores))
    for i, j in pairs(grades):
        cost = delta[i][j] * softplus(-sigma * (scores[i] - scores[j]))
        better[i] += cost / t_minus[j]
        worse[j] += cost / t_plus[i]
    return better, worse


def normalisation(scores, grades, delta, sigma, t_plus, t_minus) -> float:
    """Factor of a query, by the sum of its weighted lambdas."""
    return query_factor(
        sum(
            delta[i][j]
            * falling_sigmoid(sigma * (scores[i] - scores[j]))
            / (t_plus[i] * t_minus[j])
            for i, j in pairs(grades)
        )
    )


def additive_step(bias, positions, gradient, hessian, rate, regularization):
    """One Newton step of the bias of each position."""
    slope, curvature = [0.0] * len(bias), [0.0] * len(bias)
    for k, g, h in zip(positions, gradient, hessian, strict=True):
        slope[k] += g
        curvature[k] += h
    mean = np.mean([c for c in curvature if c > 0])
    stepped = list(bias)
    for k in range(len(bias)):
        if curvature[k] > 0:
            shrink = regularization * mean
            change = (slope[k] + shrink * bias[k]) / (curvature[k] + shrink)
            stepped[k] = bias[k] - rate * change
    return [b - stepped[0] for b in stepped]


def pairwise_step(costs, positions, regularization, smallest):
    """Ratios of the costs at each position to those at position 0."""
    ratios = []
    for k in range(max(positions) + 1):
        total = sum(c for c, p in zip(costs, positions, strict=True) if p == k)
        first = sum(c for c, p in zip(costs, positions, strict=True) if p == 0)
        ratio = (total / first) ** (1 / (1 + regularization)) if total * first else 1.0
        ratios.append(max(ratio, smallest))
    return ratios
