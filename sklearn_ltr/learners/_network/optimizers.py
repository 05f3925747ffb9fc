"""How weights follow their gradient: Adam, and gradient descent with momentum.

Names, defaults and formulas are those of scikit-learn's ``MLPRegressor``.  With g the
gradient by a weight w at update t, and decay the share alpha / batch of the L2 penalty
(on matrices, not on biases), g + decay w takes the place of g below.

Adam (Kingma and Ba):   m = beta_1 m + (1 - beta_1) g,   v = beta_2 v + (1 - beta_2) g^2
                        w = w - eta sqrt(1 - beta_2^t) / (1 - beta_1^t)
                                m / (sqrt(v) + epsilon)
Momentum (sgd):         u = momentum u - eta g
                        w = w + u,   or, Nesterov's:   w = w + momentum u - eta g

The report's step, w = w - eta g (section 2, equation 2), is "sgd" with momentum 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel

Array = NDArray[np.floating]


@kernel
def adam_step(
    w: Array,
    g: Array,
    m: Array,
    v: Array,
    rate: float,
    share_1: float,
    share_2: float,
    epsilon: float,
    decay: float,
) -> None:
    """Change the weights and both means in place; share = 1 - beta is what is new."""
    for i in range(len(w)):
        slope = g[i] + decay * w[i]
        m[i] += share_1 * (slope - m[i])
        v[i] += share_2 * (slope * slope - v[i])
        w[i] -= rate * m[i] / (np.sqrt(v[i]) + epsilon)


@kernel
def momentum_step(
    w: Array,
    g: Array,
    u: Array,
    rate: float,
    momentum: float,
    decay: float,
    nesterov: bool,
) -> None:
    """Change the weights and their velocity in place."""
    for i in range(len(w)):
        push = rate * (g[i] + decay * w[i])
        u[i] = momentum * u[i] - push
        w[i] += momentum * u[i] - push if nesterov else u[i]


def in_precision_of(w: Array, *numbers: float) -> Iterable[Any]:
    """Return numbers of the type of an array: kernels calculate in it throughout."""
    kind = w.dtype.type
    return [kind(number) for number in numbers]


def flat(g: Any, w: Array) -> Array:
    """Return a gradient as one row, of the type of its weights."""
    return np.asarray(g, dtype=w.dtype).reshape(-1)


SMALLEST_RATE = 1e-6  # "adaptive" stops below it
FALL = 5.0  # what "adaptive" divides the rate by


@dataclass
class Optimizer:
    """Steps of all weights; what it remembers of them is in plain arrays.

    Attributes
    ----------
    rate : float
        Step size eta at the moment.
    n_seen : int
        Queries (or pairs) learned from, each as often as it was.
    """

    rate: float
    n_seen: int = field(default=0, init=False)

    def step(
        self, weights: Sequence[Array], gradients: Sequence[Array], decay: float
    ) -> None:
        """Change all weights in place; `decay` times a matrix is added to its slope."""
        raise NotImplementedError

    def end_epoch(self, size: int) -> None:
        """Follow the schedule, after an epoch of `size` queries (or pairs)."""
        self.n_seen += size

    def try_smaller_steps(self) -> bool:
        """Return False if there is nothing left to try when progress has ended."""
        return False


@dataclass
class Adam(Optimizer):
    """Adam, with the two running means of each weight."""

    beta_1: float
    beta_2: float
    epsilon: float
    n_steps: int = 0
    means: list[Array] = field(default_factory=list)
    squares: list[Array] = field(default_factory=list)

    def step(
        self, weights: Sequence[Array], gradients: Sequence[Array], decay: float
    ) -> None:
        """Change all weights in place."""
        if not self.means:
            self.means = [np.zeros(w.size, w.dtype) for w in weights]
            self.squares = [np.zeros(w.size, w.dtype) for w in weights]
        self.n_steps += 1
        rate = self.rate * np.sqrt(1.0 - self.beta_2**self.n_steps)
        rate /= 1.0 - self.beta_1**self.n_steps
        betas = (self.beta_1, self.beta_2)
        rate, share_1, share_2, epsilon = in_precision_of(
            weights[0], rate, *(1.0 - beta for beta in betas), self.epsilon
        )
        shrink, none = in_precision_of(weights[0], decay, 0.0)
        state = zip(weights, gradients, self.means, self.squares, strict=True)
        for w, g, m, v in state:
            decay_w = shrink if w.ndim > 1 else none
            adam_step(
                w.reshape(-1),
                flat(g, w),
                m,
                v,
                rate,
                share_1,
                share_2,
                epsilon,
                decay_w,
            )


@dataclass
class SGD(Optimizer):
    """Gradient descent with momentum, and a schedule of the rate."""

    momentum: float
    nesterovs_momentum: bool
    schedule: str
    power_t: float
    velocities: list[Array] = field(default_factory=list)
    first_rate: float = field(init=False)

    def __post_init__(self) -> None:
        """Remember where the schedule begins."""
        self.first_rate = self.rate

    def step(
        self, weights: Sequence[Array], gradients: Sequence[Array], decay: float
    ) -> None:
        """Change all weights in place."""
        if not self.velocities:
            self.velocities = [np.zeros(w.size, w.dtype) for w in weights]
        rate, momentum = in_precision_of(weights[0], self.rate, self.momentum)
        shrink, none = in_precision_of(weights[0], decay, 0.0)
        nesterov = bool(self.nesterovs_momentum)
        for w, g, u in zip(weights, gradients, self.velocities, strict=True):
            decay_w = shrink if w.ndim > 1 else none
            momentum_step(
                w.reshape(-1), flat(g, w), u, rate, momentum, decay_w, nesterov
            )

    def end_epoch(self, size: int) -> None:
        """Let the rate fall as ``1 / (1 + n_seen)^power_t`` if "invscaling"."""
        super().end_epoch(size)
        if self.schedule == "invscaling":
            self.rate = self.first_rate / (1 + self.n_seen) ** self.power_t

    def try_smaller_steps(self) -> bool:
        """Divide the rate by 5 if "adaptive"; False if it is too small already."""
        if self.schedule != "adaptive" or self.rate <= SMALLEST_RATE:
            return False
        self.rate /= FALL
        return True
