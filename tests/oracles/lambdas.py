"""Lambdas of one query by sections 2, 4, 7 of Burges (2010): slow, obvious, no numba.

A document is an index into `scores` and `grades`; `delta[i][j]` is the swap delta of a
pair of documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, groupby, permutations, product
from math import exp, log, log1p

import numpy as np

from sklearn_ltr.metrics import Metric
from tests.oracles.metrics import ranked_against_the_model


def falling_sigmoid(x: float) -> float:
    """1 / (1 + e^x) without overflow."""
    return exp(-x) / (1.0 + exp(-x)) if x > 0 else 1.0 / (1.0 + exp(x))


def softplus(x: float) -> float:
    """log(1 + e^x) without overflow."""
    return max(x, 0.0) + log1p(exp(-abs(x)))


def pairs(grades: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Every (i, j) of which i has the higher grade: Burges's set I."""
    for i in range(len(grades)):
        for j in range(len(grades)):
            if grades[i] > grades[j]:
                yield i, j


def cost(scores, grades, delta, sigma) -> float:
    """Section 7: sum of delta * log(1 + exp(-sigma (s_i - s_j)))."""
    return sum(
        delta[i][j] * softplus(-sigma * (scores[i] - scores[j]))
        for i, j in pairs(grades)
    )


def add_up(scores, grades, delta, sigma):
    """Return gradient, hessian, and the sum of |lambda_ij| / sigma over the pairs."""
    gradient, hessian = np.zeros(len(scores)), np.zeros(len(scores))
    abs_lambda_sum = 0.0
    for i, j in pairs(grades):
        x = sigma * (scores[i] - scores[j])
        rho, one_minus_rho = falling_sigmoid(x), falling_sigmoid(-x)
        lambda_ij = -sigma * delta[i][j] * rho
        gradient[i] += lambda_ij
        gradient[j] -= lambda_ij
        hessian[i] += sigma**2 * delta[i][j] * rho * one_minus_rho
        hessian[j] += sigma**2 * delta[i][j] * rho * one_minus_rho
        abs_lambda_sum += delta[i][j] * rho
    return gradient, hessian, abs_lambda_sum


def deltas(metric: Metric | None, grades, order, *, brute_force: bool = True):
    """Swap deltas by document, for a ranked list given as an order of documents.

    With `brute_force` every pair is swapped and the metric's value computed again.
    """
    n = len(order)
    if metric is None:
        return np.ones((n, n))
    if len(set(grades)) == 1:  # no pair, and the metric may not be defined
        return np.zeros((n, n))
    ranked = np.array([grades[i] for i in order], dtype=np.float64)
    by_rank = swap_by_swap(metric, ranked) if brute_force else metric.swap_delta(ranked)
    delta = np.empty((n, n))
    delta[np.ix_(order, order)] = by_rank
    return delta


def swap_by_swap(metric: Metric, ranked):
    """Change of a metric's value by each swap of two documents of a ranked list."""
    delta = np.zeros((len(ranked), len(ranked)))
    for p, q in combinations(range(len(ranked)), 2):
        swapped = ranked.copy()
        swapped[[p, q]] = ranked[[q, p]]
        change = abs(metric.value(swapped) - metric.value(ranked))
        delta[p, q] = delta[q, p] = change
    return delta


def orders_of_equals(scores, grades) -> Iterator[list[int]]:
    """Every ranked list, ties against the model, that differs among equals only."""
    order = ranked_against_the_model(scores, grades)
    runs = [
        list(run) for _, run in groupby(order, key=lambda i: (scores[i], grades[i]))
    ]
    for permuted in product(*(permutations(run) for run in runs)):
        yield [i for run in permuted for i in run]


def normalise(delta, scores, sigma):
    """Divide by 0.01 + sigma |s_i - s_j| unless all scores are equal."""
    if max(scores) == min(scores):
        return delta
    s = np.asarray(scores, dtype=np.float64)
    return delta / (0.01 + sigma * np.abs(s[:, None] - s))


def query_factor(abs_lambda_sum: float) -> float:
    """log2(1 + S) / S with S = 2 * abs_lambda_sum, each lambda having two ends."""
    twice = 2.0 * abs_lambda_sum
    return log1p(twice) / log(2.0) / twice if twice > 0 else 1.0


def lambdas_in_order(
    scores, grades, order, metric, sigma, normalize=False, brute_force=True
):
    """Gradient and hessian for one order of equal documents."""
    delta = deltas(metric, grades, order, brute_force=brute_force)
    if normalize in (True, "distance"):
        delta = normalise(delta, scores, sigma)
    gradient, hessian, abs_lambda_sum = add_up(scores, grades, delta, sigma)
    factor = query_factor(abs_lambda_sum) if normalize in (True, "query") else 1.0
    return gradient * factor, hessian * factor


def lambdas(scores, grades, metric, sigma, normalize=False, brute_force=True):
    """Gradient and hessian, the mean over all orders of equal documents."""
    options = (metric, sigma, normalize, brute_force)
    every = [
        lambdas_in_order(scores, grades, order, *options)
        for order in orders_of_equals(scores, grades)
    ]
    gradient, hessian = np.mean(every, axis=0)
    return gradient, hessian


def lambdas_by_symmetry(
    scores, grades, metric, sigma, normalize=False, brute_force=False
):
    """Do the same from one order, for long lists, by averaging over equal documents.

    Over all orders each of them is at each of their positions equally often.
    """
    order = ranked_against_the_model(scores, grades)
    both = lambdas_in_order(
        scores, grades, order, metric, sigma, normalize, brute_force
    )
    for values in both:
        members: dict = {}
        for i in range(len(scores)):
            members.setdefault((scores[i], grades[i]), []).append(i)
        for equal in members.values():
            values[equal] = values[equal].mean()
    return both
