"""Activation functions of hidden layers, forward and backward.

With z the weighted sums of a layer and b its biases, the outputs are a = f(z + b).  The
derivative f' is computed from the outputs, so the sums need not be stored:

    logistic: f' = a (1 - a)      tanh: f' = 1 - a^2      relu: f' = 1 if a > 0 else 0
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
    """The two passes of an activation; z, a and gradient are (n_rows, n_units)."""

    # (z, b): overwrites z with f(z + b)
    forward: Callable[[Array, Array], object]
    # (gradient, a, b_gradient): multiplies dC/da by f', which makes it dC/dz, and adds
    # its sum over the rows to b_gradient, (n_units,).  May overwrite a, which is not
    # needed afterwards.
    backward: Callable[[Array, Array, Array], object]


@kernel
def relu_forward(z: Array, b: Array) -> None:
    """Overwrite z with max(0, z + b)."""
    zero = np.float32(0.0)
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            total = z[i, j] + b[j]
            z[i, j] = zero if total < zero else total  # NaN stays NaN


@kernel
def relu_backward(gradient: Array, a: Array, b_gradient: Array) -> None:
    """Set the gradient to zero where a unit is not active, and sum it over the rows."""
    zero = np.float32(0.0)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            dz = gradient[i, j] if a[i, j] > zero else zero
            gradient[i, j] = dz
            b_gradient[j] += dz


def _in_numpy(
    function: Callable[[Array], object],
    multiply_by_derivative: Callable[[Array, Array], object],
) -> Activation:
    """Make an activation from f and ``gradient *= f'``, both in-place functions."""

    def forward(z: Array, b: Array) -> None:
        z += b
        function(z)

    def backward(gradient: Array, a: Array, b_gradient: Array) -> None:
        multiply_by_derivative(gradient, a)
        b_gradient += gradient.sum(axis=0)

    return Activation(forward, backward)


def _identity(*arrays: Array) -> None:
    """Leave all arrays unchanged: f(z) = z, f' = 1."""


def _tanh(z: Array) -> None:
    np.tanh(z, out=z)


def _multiply_by_tanh_derivative(gradient: Array, a: Array) -> None:
    a *= a
    np.subtract(1, a, out=a)
    gradient *= a


def _logistic(z: Array) -> None:
    expit(z, out=z)


def _multiply_by_logistic_derivative(gradient: Array, a: Array) -> None:
    gradient *= a
    np.subtract(1, a, out=a)
    gradient *= a


ACTIVATIONS = {
    "identity": _in_numpy(_identity, _identity),
    "logistic": _in_numpy(_logistic, _multiply_by_logistic_derivative),
    "tanh": _in_numpy(_tanh, _multiply_by_tanh_derivative),
    "relu": Activation(relu_forward, relu_backward),
}
