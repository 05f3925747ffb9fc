"""RankNet by sections 2 and 2.1 of Burges (2010): slow, simple, in double precision.

No chain rule and no sums over documents: ds/dw is a finite difference of scores, and
the gradient is a sum over pairs.  A pair is (i, j, P, weight): documents i and j, the
probability that i is ranked above j, and the factor of its cost (a swap delta, or the
weight of its query).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import exp, log

import numpy as np

from tests.oracles.lambdas import falling_sigmoid, softplus

Weights = list[np.ndarray]
Pair = tuple[int, int, float, float]

ACTIVATIONS: dict[str, Callable] = {
    "identity": lambda z: z,
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0),
}
STEP = 1e-6  # of central differences, whose error is of the order of STEP^2


# --- a network --------------------------------------------------------------------


def scores(weights: Weights, X, activation: str) -> np.ndarray:
    """Scores of all rows; `weights`: all matrices, then the hidden layers' biases."""
    n_layers = (len(weights) + 1) // 2
    a = np.asarray(X, dtype=np.float64)
    for w, b in zip(weights[: n_layers - 1], weights[n_layers:], strict=True):
        a = ACTIVATIONS[activation](a @ w + b)
    return (a @ weights[n_layers - 1])[:, 0]


def slopes(weights: Weights, X, activation: str) -> Weights:
    """Derivatives ds_i / dw of every document, (n_documents, *shape of w)."""
    derivatives = []
    for number, w in enumerate(weights):
        by_w = np.empty((len(X), *w.shape))
        for index in np.ndindex(w.shape):
            sides = []
            for step in (STEP, -STEP):
                moved = [np.array(v, dtype=np.float64) for v in weights]
                moved[number][index] += step
                sides.append(scores(moved, X, activation))
            by_w[(..., *index)] = (sides[0] - sides[1]) / (2 * STEP)
        derivatives.append(by_w)
    return derivatives


# --- the cost of a pair -----------------------------------------------------------


def cross_entropy(s_i: float, s_j: float, P: float, sigma: float) -> float:
    """The cost by Burges's first formula; it overflows for distant scores."""
    P_ij = 1 / (1 + exp(-sigma * (s_i - s_j)))
    return -P * log(P_ij) - (1 - P) * log(1 - P_ij)


def cost(s_i: float, s_j: float, S: int, sigma: float) -> float:
    """The same for P = (1 + S) / 2, simplified; it does not overflow."""
    x = sigma * (s_i - s_j)
    return 0.5 * (1 - S) * x + softplus(-x)


def mean_cost(s, pairs: Iterable[Pair], sigma: float) -> float:
    """Weighted mean cost of pairs."""
    total = weight = 0.0
    for i, j, P, w in pairs:
        x = sigma * (s[i] - s[j])
        total += w * ((1 - P) * x + softplus(-x))
        weight += w
    return total / weight


def pairs_of_grades(grades, groups, weight=None, tied: bool = False) -> list[Pair]:
    """All pairs of documents of a query, once; with those of equal grade if `tied`."""
    weight = np.ones(len(grades)) if weight is None else weight
    return [
        (i, j, 1.0 if grades[i] > grades[j] else 0.5, weight[i])
        for i in range(len(grades))
        for j in range(len(grades))
        if groups[i] == groups[j]
        and (grades[i] > grades[j] or (tied and grades[i] == grades[j] and i < j))
    ]


# --- updates ----------------------------------------------------------------------


def gradient(ds_dw: Weights, s, pairs: Iterable[Pair], sigma: float) -> Weights:
    """dC/dw by equation 2 of section 2, not factored: the sum over pairs of

    lambda_ij (ds_i/dw - ds_j/dw),    lambda_ij = sigma ((1 - P) - 1 / (1 + exp(x))).
    """
    total = [np.zeros(by_w.shape[1:]) for by_w in ds_dw]
    for i, j, P, weight in pairs:
        rho = falling_sigmoid(sigma * (s[i] - s[j]))
        lambda_ij = weight * sigma * ((1 - P) - rho)
        for sum_, by_w in zip(total, ds_dw, strict=True):
            sum_ += lambda_ij * (by_w[i] - by_w[j])
    return total
