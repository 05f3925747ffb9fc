"""Networks: what training asks of them, and the scores of any rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data.tables import Matrix, dense_rows
from sklearn_ltr._core.networks.perceptron import MultilayerPerceptron

PREDICTION_BATCH = 8192  # rows that a network of the user or a module scores at a time


class Network(Protocol):
    """Any model whose scores are a differentiable function of its parameters.

    Attributes
    ----------
    parameters : list of float ndarrays
        The weights.  The optimizer updates them in place after each `backward`.
    """

    @property
    def parameters(self) -> Sequence[NDArray[np.floating]]:
        """All weights, for updates in place."""

    def forward(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return the scores of a batch, (n_documents,)."""

    def backward(
        self, score_gradient: NDArray[np.floating]
    ) -> Sequence[NDArray[np.floating]]:
        """Return dC/dw of all `parameters`, given dC/ds of the last `forward`."""


def predict(network: Network, X: Matrix, team: ThreadTeam) -> NDArray[np.float64]:
    """Return the scores of all rows, by `predict` of a network that has one."""
    if isinstance(network, MultilayerPerceptron):
        scores = network.predict(X, team)
    else:
        score = getattr(network, "predict", network.forward)
        n = PREDICTION_BATCH
        starts = range(0, X.shape[0], n)
        scores = np.concatenate([score(dense_rows(X, slice(s, s + n))) for s in starts])
    if not np.isfinite(scores).all():
        raise FloatingPointError("a score is not finite")
    return np.asarray(scores, dtype=np.float64)


def check_network(network: Any, X: NDArray[np.float32]) -> None:
    """Raise an error unless an object is a network; tries its passes on two rows."""
    if isinstance(network, type):
        raise TypeError(f"network must be an object, got the class {network.__name__}")
    for name in ("forward", "backward", "parameters"):
        if not hasattr(network, name):
            raise TypeError(
                f"network must have forward(X), backward(score_gradient) and a list "
                f"`parameters`, but {type(network).__name__} has no {name}"
            )
    if not isinstance(network.parameters, list | tuple):
        raise TypeError(
            "network.parameters must be a list of arrays, but that of "
            f"{type(network).__name__} is a {type(network.parameters).__name__}; "
            "TorchNetwork(module) makes a network of a PyTorch module"
        )
    _check_weights(network.parameters, network.parameters)
    scores = np.asarray(network.forward(X))
    if scores.shape != (len(X),) or scores.dtype.kind != "f":
        raise ValueError(
            f"network.forward must return a float score for each row, {(len(X),)} for "
            f"{len(X)} rows, got shape {scores.shape} of {scores.dtype}"
        )
    gradients = network.backward(np.zeros(len(X), dtype=np.float32))
    shapes = [np.shape(w) for w in network.parameters]
    got = None if gradients is None else [np.shape(g) for g in gradients]
    if got != shapes:
        raise ValueError(
            f"network.backward must return a gradient for each of the parameters, of "
            f"shapes {shapes}; got {got}"
        )


def _check_weights(
    weights: Sequence[NDArray[np.floating]], again: Sequence[NDArray[np.floating]]
) -> None:
    """Check that reading `parameters` twice gives the same arrays, to be changed."""
    for number, (w, same) in enumerate(zip(weights, again, strict=True)):
        if getattr(w, "dtype", None) not in (np.float32, np.float64):
            raise TypeError(
                "network.parameters must be ndarrays of float32 or float64, but number "
                f"{number} is {getattr(w, 'dtype', type(w).__name__)}"
            )
        if w.dtype != weights[0].dtype:
            raise TypeError(
                "network.parameters must all be of one type, but number 0 is "
                f"{weights[0].dtype}, and number {number} {w.dtype}"
            )
        if not (w.flags.c_contiguous and w.flags.writeable):
            raise ValueError(
                "network.parameters must be C-contiguous and writeable, but number "
                f"{number} is not: copy it"
            )
        if w.size and not np.shares_memory(w, same):
            raise ValueError(
                "network.parameters must return the weights themselves, which are "
                f"changed in place, but number {number} is a copy"
            )
