"""What estimators made of other rankers share: bags, blends, searches, calibration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metadata_routing import UNUSED

#: requests of a `fit` that takes no validation data: its folds have rows of their own
NO_VALIDATION = dict.fromkeys(
    ("X_val", "y_val", "groups_val", "sample_weight_val"), UNUSED
)


def check_estimator(name: str, value: object) -> None:
    """Raise a TypeError for a parameter that is neither an estimator nor None."""
    if value is not None and not is_estimator(value):
        raise TypeError(
            f"{name} must be an estimator with fit and predict, or None, got {value!r}"
        )


def is_estimator(value: object) -> bool:
    """Whether a value is an instance that predicts."""
    return hasattr(value, "predict") and not isinstance(value, type)


def features_of(member: Callable[[Any], BaseEstimator]) -> tuple[property, property]:
    """Return the properties `n_features_in_` and `feature_names_in_`, of a member."""
    return (
        property(
            lambda self: int(member(self).n_features_in_),
            doc="Number of features seen by `fit`.",
        ),
        property(
            lambda self: member(self).feature_names_in_,
            doc="Names of the features seen by `fit`.",
        ),
    )


def with_seeds(
    estimator: BaseEstimator, rng: np.random.Generator, *, only_unset: bool
) -> BaseEstimator:
    """Return a clone with new seeds for all, or all unset, `random_state` within."""
    model = clone(estimator)
    seeded = [
        name
        for name, value in sorted(model.get_params(deep=True).items())
        if name.rpartition("__")[2] == "random_state"
        and (value is None or not only_unset)
    ]
    return model.set_params(**{name: int(rng.integers(2**31)) for name in seeded})
