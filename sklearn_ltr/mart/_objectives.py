"""The objectives of MART: cost of a row, and its gradient and hessian by the score F.

Two classes, y = -1 or 1 (Burges 2010, section 6):

    L = log(1 + exp(-2 y sigma F))                                              (14)
    y_bar = -dL/dF = 2 y sigma / (1 + exp(2 y sigma F))           (pseudo-responses)
    d2L/dF2 = |y_bar| (2 sigma - |y_bar|)

The weight w of a row multiplies its cost, hence its gradient *and* its hessian.  With
w = 1 / n_+ for positive rows and 1 / n_- for negative ones (up to a common factor) the
leaves' Newton step is equation 15.

Least squares: L = (y - F)^2 / 2, gradient F - y, hessian 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from sklearn_ltr._core.compile import (
    LOG2_E,
    ThreadTeam,
    expit,
    kernel,
    log2_of,
    softplus,
)
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.typing import FloatArray


@kernel
def derivatives_of_cross_entropy(
    scores: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    sigma: float,
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Write -w y_bar and w |y_bar| (2 sigma - |y_bar|) of each row, (n_rows,)."""
    for i in range(len(scores)):
        # probability of the other class, |y_bar| / (2 sigma)
        p_wrong = expit(-2.0 * sigma * y[i] * scores[i])
        gradient[i] = -2.0 * sigma * weights[i] * y[i] * p_wrong
        hessian[i] = 4.0 * sigma * sigma * weights[i] * p_wrong * (1.0 - p_wrong)


@kernel
def costs_of_cross_entropy(
    scores: FloatArray, y: FloatArray, sigma: float, costs: FloatArray
) -> None:
    """Write log(1 + exp(-2 y sigma F)) of each row, (n_rows,)."""
    for i in range(len(scores)):
        costs[i] = softplus(-2.0 * sigma * y[i] * scores[i])


class PointwiseObjective(ABC):
    """The weighted sum of the costs of rows, which it also measures.

    Parameters
    ----------
    data : TrainingData
        Each row is its own query; the targets and the weights are used.
    """

    name: str
    higher_is_better = True  # minus the cost is reported

    def __init__(self, data: TrainingData) -> None:
        self.y, self.weights = data.y, data.sample_weight
        self._scores = np.zeros(data.n_rows)

    @abstractmethod
    def initial_score(self) -> float:
        """Return F_0: the constant score of least cost."""

    @abstractmethod
    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient and hessian by the score of each row."""

    @abstractmethod
    def costs(self, scores: FloatArray) -> FloatArray:
        """Return the unweighted cost of each row."""

    def after_step(
        self, gradient: FloatArray, hessian: FloatArray, rate: float
    ) -> None:
        """Return: the objective itself learns nothing."""
        return None

    def fitted(self, n_steps: int) -> dict[str, object]:
        """Return no attributes."""
        return {}

    def update(self, scores: FloatArray, team: ThreadTeam | None = None) -> None:
        """Measure these scores from now on, (n_rows,); the array is not copied."""
        self._scores = scores

    def value(self) -> float:
        """Return minus the weighted mean cost of a row."""
        return -float(np.average(self.costs(self._scores), weights=self.weights))


class CrossEntropy(PointwiseObjective):
    """Cross entropy of two classes; y is -1 or 1.

    Parameters
    ----------
    data : TrainingData
    sigma : float above 0
        Steepness of the sigmoid.
    """

    name = "log-likelihood"

    def __init__(self, data: TrainingData, sigma: float) -> None:
        super().__init__(data)
        self.sigma = sigma

    def initial_score(self) -> float:
        """Return half the logarithm of the odds (equation 13), divided by sigma."""
        positive = self.y > 0
        n_plus, n_minus = self.weights[positive].sum(), self.weights[~positive].sum()
        log_odds = log2_of(n_plus / n_minus) / LOG2_E
        return 0.5 * float(log_odds) / self.sigma

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return minus the pseudo-responses, and |y_bar| (2 sigma - |y_bar|)."""
        gradient, hessian = np.empty((2, len(scores)))
        derivatives_of_cross_entropy(
            scores, self.y, self.weights, self.sigma, gradient, hessian
        )
        return gradient, hessian

    def costs(self, scores: FloatArray) -> FloatArray:
        """Return equation 14 of each row."""
        costs = np.empty(len(scores))
        costs_of_cross_entropy(scores, self.y, self.sigma, costs)
        return costs


class HalfSquaredError(PointwiseObjective):
    """Half the squared difference to y."""

    name = "minus half the squared error"

    def initial_score(self) -> float:
        """Return the mean."""
        return float(np.average(self.y, weights=self.weights))

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return F - y and 1, both times the weight."""
        return self.weights * (scores - self.y), self.weights.copy()

    def costs(self, scores: FloatArray) -> FloatArray:
        """Return half the squared difference of each row."""
        return 0.5 * np.square(self.y - scores)
