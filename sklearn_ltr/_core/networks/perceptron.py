"""A multilayer perceptron with one output, in single precision.

    a_0 = x,    a_l = activation(a_{l-1} W_l + b_l),    s = a_{L-1} W_L

The output has no bias: ranking costs depend on differences of scores only, so the
gradient of an output bias would be zero.

Matrix products are computed by BLAS.  How it rounds a row of a product depends on its
number of threads, on the number of rows and on the row's position among them.  To get
the same bits for any number of threads, BLAS runs in one thread here, and training
works on tasks of a fixed number of rows.  Prediction computes every row as a product of
its own, so a score does not depend on the other rows of X either.

The derivative of an activation is computed from its outputs a = f(z + b), so the
weighted sums z need not be stored:

    logistic: f' = a (1 - a)      tanh: f' = 1 - a^2      relu: f' = 1 if a > 0 else 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit

from sklearn_ltr._core.compile import ONE_THREAD, ThreadTeam, kernel, one_blas_thread
from sklearn_ltr._core.data.tables import Matrix
from sklearn_ltr._core.saving import ChecksummedArrays, saved_part
from sklearn_ltr._core.typing import Float32Array

ROWS_PER_TASK = 512  # rows of one forward or backward task of a thread

# Products of rows and weights in a pass: fewer, which take less than about 200
# microseconds, are computed by one thread, since it takes time to wake the others
MIN_SHARED_PRODUCTS = 5_000_000

# Tasks of the backward pass: each sums the gradient of every n-th block of rows.  The
# sums are added in a fixed order.  More than 8 threads would have nothing to do.
MAX_GRADIENT_SUMS = 8


class Activation(NamedTuple):
    """The two passes of an activation; z, a and gradient are (n_rows, n_units)."""

    # (z, b): overwrites z with f(z + b)
    forward: Callable[[Float32Array, Float32Array], object]
    # (gradient, a, b_gradient): multiplies dC/da by f', which makes it dC/dz, and adds
    # its sum over the rows to b_gradient, (n_units,).  May overwrite a, which is not
    # needed afterwards.
    backward: Callable[[Float32Array, Float32Array, Float32Array], object]


@kernel
def relu_forward(z: Float32Array, b: Float32Array) -> None:
    """Overwrite z with max(0, z + b)."""
    zero = np.float32(0.0)
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            total = z[i, j] + b[j]
            z[i, j] = zero if total < zero else total  # NaN stays NaN


@kernel
def relu_backward(
    gradient: Float32Array, a: Float32Array, b_gradient: Float32Array
) -> None:
    """Set the gradient to zero where a unit is not active, and sum it over the rows."""
    zero = np.float32(0.0)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            dz = gradient[i, j] if a[i, j] > zero else zero
            gradient[i, j] = dz
            b_gradient[j] += dz


def _in_numpy(
    function: Callable[[Float32Array], object],
    multiply_by_derivative: Callable[[Float32Array, Float32Array], object],
) -> Activation:
    """Make an activation from f and ``gradient *= f'``, both in-place functions."""

    def forward(z: Float32Array, b: Float32Array) -> None:
        z += b
        function(z)

    def backward(
        gradient: Float32Array, a: Float32Array, b_gradient: Float32Array
    ) -> None:
        multiply_by_derivative(gradient, a)
        b_gradient += gradient.sum(axis=0)

    return Activation(forward, backward)


def _identity(*arrays: Float32Array) -> None:
    """Leave all arrays unchanged: f(z) = z, f' = 1."""


def _tanh(z: Float32Array) -> None:
    np.tanh(z, out=z)


def _multiply_by_tanh_derivative(gradient: Float32Array, a: Float32Array) -> None:
    a *= a
    np.subtract(1, a, out=a)
    gradient *= a


def _logistic(z: Float32Array) -> None:
    expit(z, out=z)


def _multiply_by_logistic_derivative(gradient: Float32Array, a: Float32Array) -> None:
    gradient *= a
    np.subtract(1, a, out=a)
    gradient *= a


ACTIVATIONS = {
    "identity": _in_numpy(_identity, _identity),
    "logistic": _in_numpy(_logistic, _multiply_by_logistic_derivative),
    "tanh": _in_numpy(_tanh, _multiply_by_tanh_derivative),
    "relu": Activation(relu_forward, relu_backward),
}


@saved_part
class MultilayerPerceptron(ChecksummedArrays):
    """Scores of documents, and the gradient of any function of the scores.

    Parameters
    ----------
    n_features : int
    hidden_layer_sizes : sequence of int
        Number of units of each hidden layer; empty: a linear model.
    activation : {"identity", "logistic", "tanh", "relu"}
    rng : numpy.random.Generator
        Draws the weights of the hidden layers: normal with variance 2 / fan_in for
        "relu" (He et al.), uniform with variance 2 / (fan_in + fan_out) otherwise
        (Glorot and Bengio).  The output weights start at 0: random ones would add a
        random ranking to all scores, which few queries cannot unlearn.

    Attributes
    ----------
    coefs : list of (fan_in, fan_out) float32 arrays
    intercepts : list of (fan_out,) float32 arrays
        Biases of the hidden layers.
    """

    def __init__(
        self,
        n_features: int,
        hidden_layer_sizes: Sequence[int],
        activation: str,
        rng: np.random.Generator,
    ) -> None:
        sizes = [n_features, *hidden_layer_sizes, 1]
        self.activation = activation
        self.coefs = [
            initial_weights(fan_in, fan_out, activation, rng)
            for fan_in, fan_out in pairwise(sizes[:-1])
        ]
        self.coefs.append(np.zeros((sizes[-2], 1), dtype=np.float32))
        self.intercepts = [np.zeros(n, dtype=np.float32) for n in sizes[1:-1]]
        self.set_team(None)

    def set_team(self, team: ThreadTeam | None) -> None:
        """Set the threads that train; None: only the calling thread."""
        self._team = team or ONE_THREAD
        # X and the outputs of each hidden layer; the last `forward`'s are freed
        self._outputs: list[Matrix] = []

    def _arrays(self) -> dict[str, Any]:
        """Return the model, without its threads and the outputs of the last pass."""
        names = ("activation", "coefs", "intercepts")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the model; a ValueError if the weights are damaged."""
        super().__setstate__(state)
        self.set_team(None)

    def check(self, n_features: int) -> None:
        """Raise a ValueError unless the arrays are layers of a network."""
        # kernels rely on this: they do not check indices
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"its activation is {self.activation!r}")
        sizes = [n_features, *(len(b) for b in self.intercepts), 1]
        shapes = [*pairwise(sizes), *((n,) for n in sizes[1:-1])]
        if [w.shape for w in self.parameters] != shapes:
            raise ValueError("the shapes of its layers do not match")
        for w in self.parameters:
            if w.dtype != np.float32 or not np.isfinite(w).all():
                raise ValueError("its weights are not finite float32 numbers")

    @property
    def parameters(self) -> list[Float32Array]:
        """All weights, for updates in place."""
        return [*self.coefs, *self.intercepts]

    def forward(self, X: Matrix) -> Float32Array:
        """Return the scores of a batch, (n_documents,), and keep all layer outputs."""
        n = X.shape[0]
        hidden = [np.empty((n, len(b)), dtype=np.float32) for b in self.intercepts]
        self._outputs = [X, *hidden]
        scores = np.empty(n, dtype=np.float32)

        def forward_rows(start: int) -> None:
            rows = slice(start, start + ROWS_PER_TASK)
            outputs = [a[rows] for a in self._outputs]
            for a, w, b, z in zip(
                outputs, self.coefs, self.intercepts, outputs[1:], strict=False
            ):
                multiply(a, w, z)
                ACTIVATIONS[self.activation].forward(z, b)
            multiply(outputs[-1], self.coefs[-1][:, 0], scores[rows])

        self._run_tasks(forward_rows, range(0, n, ROWS_PER_TASK), n)
        return scores

    def backward(self, score_gradient: NDArray[np.floating]) -> list[Float32Array]:
        """Return dC/dw of all `parameters`, given dC/ds of the last `forward`."""
        n = len(score_gradient)
        gradient = np.asarray(score_gradient, dtype=np.float32)[:, None]
        n_sums = min(MAX_GRADIENT_SUMS, -(-n // ROWS_PER_TASK))
        flat = np.zeros((n_sums, sum(w.size for w in self.parameters)), np.float32)
        sums = [self._shaped_like_parameters(flat_sum) for flat_sum in flat]

        def backward_sum(task: int) -> None:
            for start in range(task * ROWS_PER_TASK, n, n_sums * ROWS_PER_TASK):
                rows = slice(start, start + ROWS_PER_TASK)
                self._backward_rows(gradient[rows], rows, sums[task])

        self._run_tasks(backward_sum, range(n_sums), n)
        self._outputs = []
        for flat_sum in flat[1:]:
            flat[0] += flat_sum
        return sums[0]

    def _shaped_like_parameters(self, flat: Float32Array) -> list[Float32Array]:
        """Return views of a flat array, one of the shape of each of `parameters`."""
        parts, start = [], 0
        for w in self.parameters:
            parts.append(flat[start : start + w.size].reshape(w.shape))
            start += w.size
        return parts

    def _backward_rows(
        self, gradient: Float32Array, rows: slice, sums: list[Float32Array]
    ) -> None:
        """Add the weights' gradient of some rows to `sums`, last layer first."""
        n_layers = len(self.coefs)
        backward = ACTIVATIONS[self.activation].backward
        for layer in range(n_layers - 1, -1, -1):
            inputs = self._outputs[layer][rows]
            sums[layer] += inputs.T @ gradient
            if layer > 0:
                w = self.coefs[layer].T
                # the product with one row has no sums, and BLAS is slow at it
                gradient = gradient * w if len(w) == 1 else gradient @ w
                backward(gradient, inputs, sums[n_layers + layer - 1])

    def _run_tasks(
        self, function: Callable[[int], None], tasks: range, n_rows: int
    ) -> None:
        """Call the function once for each task; threads share those of many rows."""

        def run(task: int) -> None:
            with np.errstate(all="ignore"):  # callers check that scores are finite
                function(task)

        n_products = n_rows * sum(w.size for w in self.coefs)
        is_shared = len(tasks) > 1 and n_products >= MIN_SHARED_PRODUCTS
        (self._team if is_shared else ONE_THREAD).map(run, tasks)

    def predict(self, X: Matrix, team: ThreadTeam) -> Float32Array:
        """Return scores, (n_documents,), that do not depend on the other rows of X."""
        scores = np.empty(X.shape[0], dtype=np.float32)
        forward = ACTIVATIONS[self.activation].forward
        # joblib loads read-only arrays, for which numba would compile kernels once more
        intercepts = [np.require(b, requirements=["C", "W"]) for b in self.intercepts]

        def predict_rows(start: int) -> None:
            rows = slice(start, start + ROWS_PER_TASK)
            a = X[rows]
            for w, b in zip(self.coefs, intercepts, strict=False):
                a = multiply_row_by_row(a, w)
                forward(a, b)
            scores[rows] = multiply_row_by_row(a, self.coefs[-1])[:, 0]

        with one_blas_thread, np.errstate(all="ignore"):
            team.map(predict_rows, range(0, X.shape[0], ROWS_PER_TASK))
        return scores


def multiply(a: Matrix, w: Float32Array, product: Float32Array) -> None:
    """Write the matrix product of a and w."""
    if issparse(a):
        product[...] = a @ w
    else:
        np.matmul(a, w, out=product)


def multiply_row_by_row(a: Matrix, w: Float32Array) -> Float32Array:
    """Return the matrix product, computed as vector times matrix for each row of a."""
    # A product of whole matrices would round a row differently depending on the number
    # of rows, on the row's position among them and on BLAS's number of threads.
    if issparse(a):
        return np.asarray(a @ w)  # scipy multiplies row by row
    product: Float32Array = np.matmul(a[:, None, :], w)
    return product[:, 0]


def initial_weights(
    fan_in: int, fan_out: int, activation: str, rng: np.random.Generator
) -> Float32Array:
    """Draw the weights of a layer so that outputs vary about as much as inputs."""
    # normal with variance 2 / fan_in for "relu" (He et al.), otherwise uniform with
    # variance 2 / (fan_in + fan_out) (Glorot and Bengio)
    if activation == "relu":
        drawn = rng.normal(0.0, np.sqrt(2.0 / fan_in), (fan_in, fan_out))
    else:
        bound = np.sqrt(6.0 / (fan_in + fan_out))
        drawn = rng.uniform(-bound, bound, (fan_in, fan_out))
    return drawn.astype(np.float32)
