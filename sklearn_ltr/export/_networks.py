"""Networks, linear models among them, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.networks import MultilayerPerceptron

NETWORKS = (LambdaRankRanker, RankNetRanker)


@dataclass(frozen=True)
class Layers:
    """A network: ``a = activation(a @ w + b)``, and ``a @ w`` in the last layer."""

    activation: str
    weights: Sequence[NDArray[np.float32]]  # (fan_in, fan_out) each
    biases: Sequence[NDArray[np.float32]]  # of all layers but the last


def is_network(estimator: BaseEstimator) -> bool:
    """Return whether this is a ranker with a network, perhaps after scalers."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return isinstance(last, NETWORKS)


def layers_of(ranker: BaseEstimator) -> Layers:
    """Return the network of a fitted ranker; an error if it is not a perceptron."""
    network = ranker._fitted().network_
    if not isinstance(network, MultilayerPerceptron):
        raise TypeError(
            f"the ranker was fitted with network={type(network).__name__}, but only "
            "networks of hidden_layer_sizes can be exported: use torch.onnx.export for "
            "a module of torch"
        )
    return Layers(network.activation, network.coefs, network.intercepts)


def linear_weights(layers: Layers) -> NDArray[np.float64] | None:
    """Return the weight of each column; None if there are hidden layers."""
    return layers.weights[0][:, 0].astype(np.float64) if not layers.biases else None


def dense_layers(layers: Layers) -> list[dict[str, object]]:
    """Return the weights of each layer as lists, a row for each output, and biases."""
    biases = [*layers.biases, np.zeros(1, dtype=np.float32)]
    return [
        {
            "matrix": weights.T.astype(np.float64).tolist(),
            "bias": bias.astype(np.float64).tolist(),
        }
        for weights, bias in zip(layers.weights, biases, strict=True)
    ]
