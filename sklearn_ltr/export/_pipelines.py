"""Networks, linear models among them, and the steps of a Pipeline, as plain data."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.networks import MultilayerPerceptron
from sklearn_ltr.export._tree_model import made_up_names
from sklearn_ltr.preprocessing import SmoothClipScaler, TableVectorizer


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


@dataclass(frozen=True)
class Imputation:
    """What stands for the missing values of each column: a SimpleImputer."""

    value: NDArray[np.float64]


Scaling = Standardization | MinMax
Step = Imputation | SmoothClipScaler | TableVectorizer | Scaling
NETWORKS = (LambdaRankRanker, RankNetRanker)
READ = (
    SimpleImputer, StandardScaler, MinMaxScaler, SmoothClipScaler, TableVectorizer
)  # fmt: skip


def split_pipeline(
    estimator: BaseEstimator,
) -> tuple[list[Step], BaseEstimator, list[str]]:
    """Return the steps before an estimator, the estimator, and names of columns."""
    if not isinstance(estimator, Pipeline):
        check_is_fitted(estimator)
        return [], estimator, column_names(estimator)
    steps = active_steps(estimator)
    read = [read_step(name, step) for name, step in steps[:-1]]
    last = steps[-1][1]
    check_is_fitted(last)
    return read, last, column_names(steps[0][1])


def active_steps(pipeline: Pipeline) -> list[tuple[str, BaseEstimator]]:
    """Return the steps of a Pipeline that compute anything, with their names."""
    return [
        (name, step)
        for name, step in pipeline.steps
        if step not in (None, "passthrough")
    ]


def column_names(fitted: BaseEstimator) -> list[str]:
    """Return the names of the columns that an estimator was fitted on."""
    names = getattr(fitted, "feature_names_in_", None)
    return made_up_names(fitted.n_features_in_) if names is None else names.tolist()


def read_step(name: str, step: BaseEstimator) -> Step:
    """Return what a step of a Pipeline computes; raise an error for other kinds."""
    if not isinstance(step, READ):
        known = " or ".join(cls.__name__ for cls in READ)
        raise TypeError(
            f"the step {name!r} of the Pipeline is a {type(step).__name__}, but only a "
            f"{known} can be exported: export the last step, and apply the other steps "
            "to X before it scores, or see register_skl2onnx for ONNX"
        )
    check_is_fitted(step)
    if isinstance(step, SimpleImputer):
        replaced, values = step.missing_values, step.statistics_.tolist()
        if not (
            isinstance(replaced, float)
            and math.isnan(replaced)
            and not step.add_indicator
            and all(isinstance(value, Real) for value in values)
        ):
            raise ValueError(
                f"the step {name!r} of the Pipeline must replace NaN in columns of "
                "numbers, and add no column, to be exported: fit with "
                "missing_values=nan, add_indicator=False"
            )
        is_left_out = np.isnan(np.array(values, dtype=np.float64))
        if is_left_out.any():
            raise ValueError(
                f"the step {name!r} of the Pipeline leaves out column "
                f"{int(np.argmax(is_left_out))}, of which it has seen no value: fit "
                "with keep_empty_features=True, or without this column"
            )
        # it puts in the statistics in the dtype of its fit
        plain = copy(step)
        vars(plain).pop("feature_names_in_", None)
        filled = plain.transform(np.full((1, len(values)), np.nan))
        return Imputation(np.asarray(filled, dtype=np.float64)[0])
    if isinstance(step, SmoothClipScaler | TableVectorizer):
        return step
    zeros, ones = np.zeros(step.n_features_in_), np.ones(step.n_features_in_)
    if isinstance(step, MinMaxScaler):
        limits = tuple(step.feature_range) if step.clip else None
        return MinMax(step.scale_.copy(), step.min_.copy(), limits)
    mean = step.mean_ if step.with_mean else zeros
    return Standardization(mean.copy(), ones if step.scale_ is None else step.scale_)


# --- networks -------------------------------------------------------------------------


def is_network(estimator: BaseEstimator) -> bool:
    """Return whether this is a ranker with a network, perhaps after scalers."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return isinstance(last, NETWORKS)


def perceptron_of(ranker: BaseEstimator) -> MultilayerPerceptron:
    """Return the network of a fitted ranker; raise an error for any other module."""
    # of its layers, a = activation(a @ coef + intercept), the last one has neither
    # activation nor intercept
    network = ranker._fitted().network_
    if not isinstance(network, MultilayerPerceptron):
        raise TypeError(
            f"the ranker was fitted with network={type(network).__name__}, but only "
            "networks of hidden_layer_sizes can be exported: use torch.onnx.export for "
            "a module of torch"
        )
    return network


def linear_weights(network: MultilayerPerceptron) -> NDArray[np.float64] | None:
    """Return the weight of each column, or None if there are hidden layers."""
    if network.intercepts:
        return None
    weights: NDArray[np.float64] = network.coefs[0][:, 0].astype(np.float64)
    return weights


def dense_layers(network: MultilayerPerceptron) -> list[dict[str, object]]:
    """Return weights, a row for each output, and biases of each layer as lists."""
    biases = [*network.intercepts, np.zeros(1, dtype=np.float32)]
    return [
        {
            "matrix": coef.T.astype(np.float64).tolist(),
            "bias": bias.astype(np.float64).tolist(),
        }
        for coef, bias in zip(network.coefs, biases, strict=True)
    ]
