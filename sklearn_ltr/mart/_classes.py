"""Two classes: checked targets, their numbers, and the weights of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from sklearn_ltr._compile import expit_of
from sklearn_ltr._data import TrainingData
from sklearn_ltr._parameters import positive

FloatArray = NDArray[np.float64]


def check_labels(y: NDArray[Any], name: str) -> NDArray[Any]:
    """Return y; an error if its values are not class labels that can be sorted."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise ValueError(f"{name} must hold classes, but row {row} has {y[row]}")
    try:
        check_classification_targets(y)
        np.unique(y)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
    return y


def at_most_two_classes(y: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the classes of y, sorted; a ValueError if there are more than two."""
    classes = np.unique(y)
    if len(classes) > 2:
        kind = type_of_target(y, input_name=name)
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{kind}: {name} has {len(classes)} classes; scikit-learn's "
            "HistGradientBoostingClassifier learns more than two"
        )
    return classes


def weight_of_rows(class_weight: Any, y: NDArray[Any]) -> FloatArray:
    """Return the weight of each row's class; an error that names `class_weight`."""
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            positive(f"class_weight[{label!r}]").read(weight)
    elif not (class_weight is None or isinstance(class_weight, str)):
        raise ValueError(
            f'class_weight must be a dict, "balanced" or None, got {class_weight!r}'
        )
    try:
        weights: FloatArray = compute_sample_weight(class_weight, y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_weight={class_weight!r}: {error}") from None
    return weights


def check_rows_of_both(data: TrainingData, classes: NDArray[Any]) -> None:
    """Raise a ValueError unless two rows of each class can be divided."""
    for label, value in zip(classes.tolist(), (-1.0, 1.0), strict=True):
        if np.count_nonzero(data.y == value) < 2:
            raise ValueError(
                f"y has only one row of the class {label!r}, and early_stopping=True "
                "must both learn from and hold out rows of each class; give X_val and "
                "y_val, or more rows"
            )


def check_same_sigma(sigma: float, fitted: float) -> None:
    """Raise a ValueError if a warm start would mix the trees of two sigmas."""
    if sigma != fitted:
        raise ValueError(
            f"sigma={sigma} has changed since the trees that warm_start keeps were "
            f"grown, with sigma={fitted}, which scales their values; fit with "
            "warm_start=False"
        )


def probabilities(scores: FloatArray, sigma: float) -> FloatArray:
    """Return the probability of each class (equation 13), (n_samples, 2)."""
    doubled = 2.0 * sigma * scores
    return np.column_stack([expit_of(-doubled), expit_of(doubled)])
