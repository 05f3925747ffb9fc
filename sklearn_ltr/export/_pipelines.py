"""The steps of a Pipeline before its last, as plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
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

from sklearn_ltr.export._tree_model import made_up_names
from sklearn_ltr.preprocessing import SmoothClipScaler, TableVectorizer
from sklearn_ltr.preprocessing._table_vectorizer import CategoryTable


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
class SmoothClip:
    """A SmoothClipScaler.

    ``z = (x - center) / scale``, ``z / sqrt(1 + (z / 3)^2) / rms``.
    """

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    rms: NDArray[np.float64]


@dataclass(frozen=True)
class Vectorization:
    """Scaled numbers, indicators of missing ones, categories: a TableVectorizer."""

    numbers: NDArray[np.intp]  # the columns of numbers
    clip: SmoothClip | None
    indicated: NDArray[np.intp]  # the columns with an indicator
    tables: Sequence[CategoryTable]


@dataclass(frozen=True)
class Imputation:
    """What stands for the missing values of each column: a SimpleImputer."""

    value: NDArray[np.float64]


Scaling = Standardization | MinMax
Step = Imputation | SmoothClip | Vectorization | Scaling
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
    """Return what a step of a Pipeline computes; an error for those of other kinds."""
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
    if isinstance(step, SmoothClipScaler):
        return smooth_clip(step)
    if isinstance(step, TableVectorizer):
        return Vectorization(
            step._numbers,
            None if step.scaler_ is None else smooth_clip(step.scaler_),
            step._numbers[step._indicated],
            step._tables,
        )
    zeros, ones = np.zeros(step.n_features_in_), np.ones(step.n_features_in_)
    if isinstance(step, MinMaxScaler):
        limits = tuple(step.feature_range) if step.clip else None
        return MinMax(step.scale_.copy(), step.min_.copy(), limits)
    mean = step.mean_ if step.with_mean else zeros
    return Standardization(mean.copy(), ones if step.scale_ is None else step.scale_)


def smooth_clip(scaler: SmoothClipScaler) -> SmoothClip:
    """Return what a scaler of heavy tails computes."""
    return SmoothClip(scaler.center_.copy(), scaler.scale_.copy(), scaler.rms_.copy())
