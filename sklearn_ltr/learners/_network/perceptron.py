"""A multilayer perceptron with one output, in single precision.

    a_0 = x,    a_l = activation(a_{l-1} W_l + b_l),    s = a_{L-1} W_L

The output has no bias: only differences of scores count, and a gradient by scores that
sums to zero in every query says nothing about it.

Matrix products are BLAS's.  How BLAS rounds depends on its number of threads and on
where in a matrix a row stands, so it is kept to one thread, the rows of a pass are cut
into blocks whose size depends on nothing, and at prediction every row is a product of
its own: that makes a score the same in whatever company it is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_ltr._compile import ThreadTeam, one_blas_thread
from sklearn_ltr.learners._network.activations import ACTIVATIONS
from sklearn_ltr.learners._tables import Table

Array = NDArray[np.float32]

BLOCK = 512  # rows that one thread takes at a time, forward and backward
LANES = (
    8  # sums of blocks, added up in a fixed order: the most threads backward can use
)


class MultilayerPerceptron:
    """Scores of documents, and the gradient of any function of the scores.

    Parameters
    ----------
    n_features : int
    hidden_layer_sizes : sequence of int
        Units of each hidden layer; empty: a linear model.
    activation : {"identity", "logistic", "tanh", "relu"}
    rng : numpy.random.Generator
        Draws the weights: normal with variance 2 / fan_in for "relu" (He et al.),
        uniform with variance 2 / (fan_in + fan_out) otherwise (Glorot and Bengio).

    Attributes
    ----------
    coefs : list of (fan_in, fan_out) float32 arrays
    intercepts : list of (fan_out,) float32 arrays
        Of the hidden layers.
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
            for fan_in, fan_out in zip(sizes[:-1], sizes[1:], strict=True)
        ]
        self.intercepts = [np.zeros(n, dtype=np.float32) for n in sizes[1:-1]]
        self._rest()

    def _rest(self, team: ThreadTeam | None = None) -> None:
        self._team = ThreadTeam(1) if team is None else team
        self._outputs: list[Table] = []

    def __getstate__(self) -> dict[str, Any]:
        """Return what the model is: neither threads nor what the last pass left."""
        return {
            "activation": self.activation,
            "coefs": self.coefs,
            "intercepts": self.intercepts,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what the model is."""
        vars(self).update(state)
        self._rest()

    @property
    def parameters(self) -> list[Array]:
        """All weights, to be changed in place."""
        return [*self.coefs, *self.intercepts]

    def train_with(self, team: ThreadTeam | None) -> None:
        """Use these threads from now on; None: the caller's alone, and forget."""
        self._rest(team)

    def forward(self, X: Table) -> Array:
        """Return the scores of a batch, (n_documents,), and remember the outputs."""
        n = X.shape[0]
        hidden = [np.empty((n, len(b)), dtype=np.float32) for b in self.intercepts]
        self._outputs = [X, *hidden]
        scores = np.empty(n, dtype=np.float32)

        def forward_block(start: int) -> None:
            rows = slice(start, start + BLOCK)
            outputs = [a[rows] for a in self._outputs]
            for a, w, b, z in zip(
                outputs, self.coefs, self.intercepts, outputs[1:], strict=False
            ):
                multiply(a, w, z)
                ACTIVATIONS[self.activation].apply(z, b)
            multiply(outputs[-1], self.coefs[-1][:, 0], scores[rows])

        self._share(forward_block, range(0, n, BLOCK))
        return scores

    def backward(self, score_gradient: NDArray[np.floating]) -> list[Array]:
        """Return dC/dw for each of `parameters`, given dC/ds at the last `forward`."""
        n = len(score_gradient)
        gradient = np.asarray(score_gradient, dtype=np.float32)[:, None]
        n_lanes = min(LANES, -(-n // BLOCK))
        flat = np.zeros((n_lanes, sum(w.size for w in self.parameters)), np.float32)
        sums = [self._cut(row) for row in flat]

        def backward_lane(lane: int) -> None:
            for start in range(lane * BLOCK, n, n_lanes * BLOCK):
                rows = slice(start, start + BLOCK)
                self._backward_block(gradient[rows], rows, sums[lane])

        self._share(backward_lane, range(n_lanes))
        self._outputs = []
        for row in flat[1:]:
            flat[0] += row
        return sums[0]

    def _cut(self, row: Array) -> list[Array]:
        """Return views of a row of numbers, shaped like `parameters`."""
        parts, start = [], 0
        for w in self.parameters:
            parts.append(row[start : start + w.size].reshape(w.shape))
            start += w.size
        return parts

    def _backward_block(self, gradient: Array, rows: slice, sums: list[Array]) -> None:
        """Add the gradient of some rows, from the last layer to the first."""
        n_layers = len(self.coefs)
        pull_back = ACTIVATIONS[self.activation].pull_back
        for layer in range(n_layers - 1, -1, -1):
            inputs = self._outputs[layer][rows]
            sums[layer] += inputs.T @ gradient
            if layer > 0:
                gradient = gradient @ self.coefs[layer].T
                pull_back(gradient, inputs, sums[n_layers + layer - 1])

    def _share(self, function: Callable[[int], None], tasks: range) -> None:
        """Call the function for each task, in all threads."""
        left = iter(tasks)

        def work(thread: int) -> None:
            with np.errstate(all="ignore"):  # whoever calls looks at the scores
                for task in left:
                    function(task)

        if len(tasks) > 1:
            self._team.run(work)
        else:
            work(0)

    def predict(self, X: Table, team: ThreadTeam) -> Array:
        """Return scores, (n_documents,), that do not depend on the other rows of X."""
        scores = np.empty(X.shape[0], dtype=np.float32)
        starts = iter(range(0, X.shape[0], BLOCK))
        apply = ACTIVATIONS[self.activation].apply

        def work(thread: int) -> None:
            for start in starts:
                rows = slice(start, start + BLOCK)
                a = X[rows]
                for w, b in zip(self.coefs, self.intercepts, strict=False):
                    a = row_by_row(a, w)
                    apply(a, b)
                scores[rows] = row_by_row(a, self.coefs[-1])[:, 0]

        with one_blas_thread, np.errstate(all="ignore"):
            team.run(work)
        return scores


def multiply(a: Table, w: Array, product: Array) -> None:
    """Write the matrix product."""
    if issparse(a):
        product[...] = a @ w
    else:
        np.matmul(a, w, out=product)


def row_by_row(a: Table, w: Array) -> Array:
    """Return the matrix product, computed as one vector times a matrix for each row."""
    if issparse(a):
        return np.asarray(a @ w)  # is done like that
    product: Array = np.matmul(a[:, None, :], w)
    return product[:, 0]


def initial_weights(
    fan_in: int, fan_out: int, activation: str, rng: np.random.Generator
) -> Array:
    """Draw the weights of a layer so that its outputs are about as large as inputs."""
    if activation == "relu":
        drawn = rng.normal(0.0, np.sqrt(2.0 / fan_in), (fan_in, fan_out))
    else:
        bound = np.sqrt(6.0 / (fan_in + fan_out))
        drawn = rng.uniform(-bound, bound, (fan_in, fan_out))
    return drawn.astype(np.float32)
