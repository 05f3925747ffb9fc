"""The costs of MART: what a row costs, its gradient and its hessian by the score F.

Two classes, y = -1 or 1 (section 6 of the report):

    L = log(1 + exp(-2 y sigma F))                                              (14)
    y_bar = -dL/dF = 2 y sigma / (1 + exp(2 y sigma F))           (pseudo-responses)
    d2L/dF2 = |y_bar| (2 sigma - |y_bar|)

A row of weight w counts w times in the cost, hence in the gradient *and* in the
hessian.  With w = 1 / n_+ for positive rows and 1 / n_- for negative ones (times
anything) the leaves' Newton step is equation 15.

Least squares: L = (y - F)^2 / 2, gradient F - y, hessian 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

FloatArray = NDArray[np.float64]


class Cost(ABC):
    """A cost that is a weighted sum over rows.

    Parameters
    ----------
    y : ndarray of shape (n_rows,), float64
        Targets.
    weights : ndarray of shape (n_rows,), float64
        From 0 on, of a positive sum.
    """

    name: str
    higher_is_better = True  # what is reported is minus the cost

    def __init__(self, y: FloatArray, weights: FloatArray) -> None:
        self.y, self.weights = y, weights
        self._scores = np.zeros(len(y))

    @abstractmethod
    def best_constant(self) -> float:
        """Return the F of least cost among those that are the same for all rows."""

    @abstractmethod
    def __call__(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient and hessian by the score of each row."""

    @abstractmethod
    def of_rows(self, scores: FloatArray) -> FloatArray:
        """Return the cost of each row, weights left aside."""

    def take(self, scores: FloatArray) -> None:
        """Measure these scores from now on, as they are then."""
        self._scores = scores

    def value(self) -> float:
        """Minus the weighted mean cost of a row."""
        return -float(np.average(self.of_rows(self._scores), weights=self.weights))


class LogisticCost(Cost):
    """Cross entropy of two classes; y is -1 or 1.

    Parameters
    ----------
    sigma : float > 0
        Steepness of the sigmoid.
    """

    name = "log-likelihood"

    def __init__(self, y: FloatArray, weights: FloatArray, sigma: float) -> None:
        super().__init__(y, weights)
        self.sigma = sigma

    def best_constant(self) -> float:
        """Return half the logarithm of the odds (equation 13), divided by sigma."""
        positive = self.y > 0
        n_plus, n_minus = self.weights[positive].sum(), self.weights[~positive].sum()
        return 0.5 * float(np.log(n_plus / n_minus)) / self.sigma

    def __call__(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return minus the pseudo-responses, and |y_bar| (2 sigma - |y_bar|)."""
        wrong = expit(-2.0 * self.sigma * self.y * scores)  # |y_bar| / (2 sigma)
        gradient = -2.0 * self.sigma * self.weights * self.y * wrong
        return gradient, 4.0 * self.sigma**2 * self.weights * wrong * (1.0 - wrong)

    def of_rows(self, scores: FloatArray) -> FloatArray:
        """Equation 14."""
        costs: FloatArray = np.logaddexp(0.0, -2.0 * self.sigma * self.y * scores)
        return costs


class SquaredError(Cost):
    """Half the squared distance to y."""

    name = "minus half the squared error"

    def best_constant(self) -> float:
        """Return the mean."""
        return float(np.average(self.y, weights=self.weights))

    def __call__(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return F - y and 1, both times the weight."""
        return self.weights * (scores - self.y), self.weights.copy()

    def of_rows(self, scores: FloatArray) -> FloatArray:
        """Half the square."""
        return 0.5 * np.square(self.y - scores)
