"""Networks, linear models among them, and the scalers before them, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr._networks import MultilayerPerceptron
from sklearn_ltr.export._tree_model import made_up_names

NETWORKS = (LambdaRankRanker, RankNetRanker)


@dataclass(frozen=True)
class Standardization:
    """``(x - mean) / scale`` of each column: a StandardScaler."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]


@dataclass(frozen=True)
class MinMax:
    """``x * factor + offset`` of each column, within `limits`: a MinMaxScaler."""

    factor: NDArray[np.float64]
    offset: NDArray[np.float64]
    limits: tuple[float, float] | None

    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the numbers that become 0 and 1; an error if there are `limits`."""
        if self.limits is not None:
            raise ValueError(
                "the MinMaxScaler has clip=True, and the normalizers of search engines "
                "do not clip: fit with clip=False"
            )
        return -self.offset / self.factor, (1 - self.offset) / self.factor


Scaling = Standardization | MinMax


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


def split_pipeline(
    estimator: BaseEstimator,
) -> tuple[list[Scaling], BaseEstimator, list[str]]:
    """Return the scalers before an estimator, the estimator, and names of columns."""
    if not isinstance(estimator, Pipeline):
        check_is_fitted(estimator)
        return [], estimator, column_names(estimator)
    steps = [
        (name, step)
        for name, step in estimator.steps
        if step not in (None, "passthrough")
    ]
    scalings = [scaling(name, step) for name, step in steps[:-1]]
    last = steps[-1][1]
    check_is_fitted(last)
    return scalings, last, column_names(steps[0][1])


def column_names(fitted: BaseEstimator) -> list[str]:
    """Return the names of the columns that an estimator was fitted on."""
    names = getattr(fitted, "feature_names_in_", None)
    return made_up_names(fitted.n_features_in_) if names is None else names.tolist()


def scaling(name: str, step: BaseEstimator) -> Scaling:
    """Return what a step of a Pipeline computes; an error if it is not a scaler."""
    if not isinstance(step, StandardScaler | MinMaxScaler):
        raise TypeError(
            f"the step {name!r} of the Pipeline is a {type(step).__name__}, but only a "
            "StandardScaler or a MinMaxScaler can be exported: export the last step, "
            "and apply the other steps to X before it scores, or see register_skl2onnx "
            "for ONNX"
        )
    check_is_fitted(step)
    zeros, ones = np.zeros(step.n_features_in_), np.ones(step.n_features_in_)
    if isinstance(step, MinMaxScaler):
        limits = tuple(step.feature_range) if step.clip else None
        return MinMax(step.scale_.copy(), step.min_.copy(), limits)
    mean = step.mean_ if step.with_mean else zeros
    return Standardization(mean.copy(), ones if step.scale_ is None else step.scale_)


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
