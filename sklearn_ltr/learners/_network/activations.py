"""What a hidden layer does to its sums, and the slope of that, told by the outputs.

`apply` turns sums into outputs, biases added.  `pull_back` multiplies a gradient by the
derivative and adds what that gives the biases; it may overwrite the outputs, which are
needed no longer then.  Both work in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sklearn_ltr._compile import kernel

Array = NDArray[np.float32]


class Activation(NamedTuple):
    """A function of one number, and its derivative as a function of its value."""

    apply: Callable[[Array, Array], object]  # (sums, biases)
    pull_back: Callable[[Array, Array, Array], object]  # (gradient, outputs, slopes)


@kernel
def add_and_rectify(z: Array, b: Array) -> None:
    """Write max(0, z + b), row by row."""
    nothing = np.float32(0.0)
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            total = z[i, j] + b[j]
            z[i, j] = nothing if total < nothing else total  # NaN stays


@kernel
def pull_back_rectified(gradient: Array, a: Array, b_slopes: Array) -> None:
    """Let the gradient through where the output is above zero, and sum its columns."""
    nothing = np.float32(0.0)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            through = gradient[i, j] if a[i, j] > nothing else nothing
            gradient[i, j] = through
            b_slopes[j] += through


def smooth(
    function: Callable[[Array], object], times_slope: Callable[[Array, Array], object]
) -> Activation:
    """Make an activation of a function in place and of ``gradient *= derivative``."""

    def apply(z: Array, b: Array) -> None:
        z += b
        function(z)

    def pull_back(gradient: Array, a: Array, b_slopes: Array) -> None:
        times_slope(gradient, a)
        b_slopes += gradient.sum(axis=0)

    return Activation(apply, pull_back)


def _nothing(*arrays: Array) -> None:
    """Leave everything as it is."""


def _tanh(z: Array) -> None:
    np.tanh(z, out=z)


def _times_tanh_slope(gradient: Array, a: Array) -> None:
    a *= a
    np.subtract(1, a, out=a)
    gradient *= a


def _logistic(z: Array) -> None:
    expit(z, out=z)


def _times_logistic_slope(gradient: Array, a: Array) -> None:
    gradient *= a
    np.subtract(1, a, out=a)
    gradient *= a


ACTIVATIONS = {
    "identity": smooth(_nothing, _nothing),
    "logistic": smooth(_logistic, _times_logistic_slope),
    "tanh": smooth(_tanh, _times_tanh_slope),
    "relu": Activation(add_and_rectify, pull_back_rectified),
}
