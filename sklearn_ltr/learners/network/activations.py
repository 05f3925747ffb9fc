"""What a hidden layer does to its sums, and the slope of that, told by the outputs.

Both work in place: `apply` turns sums into outputs, `times_slope` multiplies a gradient
by the derivative and may overwrite the outputs, which are needed no longer then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Table = NDArray[np.float32]


class Activation(NamedTuple):
    """A function of one number, and its derivative as a function of its value."""

    apply: Callable[[Table], object]
    times_slope: Callable[[Table, Table], object]


def _nothing(*tables: Table) -> None:
    """Leave everything as it is."""


def _relu(z: Table) -> None:
    np.maximum(z, 0, out=z)


def _times_relu_slope(gradient: Table, a: Table) -> None:
    gradient *= a > 0


def _tanh(z: Table) -> None:
    np.tanh(z, out=z)


def _times_tanh_slope(gradient: Table, a: Table) -> None:
    a *= a
    np.subtract(1, a, out=a)
    gradient *= a


def _logistic(z: Table) -> None:
    expit(z, out=z)


def _times_logistic_slope(gradient: Table, a: Table) -> None:
    gradient *= a
    np.subtract(1, a, out=a)
    gradient *= a


ACTIVATIONS = {
    "identity": Activation(_nothing, _nothing),
    "logistic": Activation(_logistic, _times_logistic_slope),
    "tanh": Activation(_tanh, _times_tanh_slope),
    "relu": Activation(_relu, _times_relu_slope),
}
