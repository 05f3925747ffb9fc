"""How MART learns two classes: targets, weights and objective."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import TrainingData
from sklearn_ltr._estimators.base import require
from sklearn_ltr._parameters import check_ranges, positive
from sklearn_ltr.mart._base import BaseMART
from sklearn_ltr.mart._classes import (
    at_most_two_classes,
    check_labels,
    check_rows_of_both,
    check_same_sigma,
    weight_of_rows,
)
from sklearn_ltr.mart._objectives import CrossEntropy

FloatArray = NDArray[np.float64]


class TwoClasses(BaseMART):
    """An estimator of two classes, y = 1 for the second and y = -1 for the first."""

    sigma: float
    class_weight: Any
    classes_: NDArray[Any]
    _sigma: float  # of the last fit
    _fitted_state = (*BaseMART._fitted_state, "classes_", "_sigma")

    def _begin(self) -> bool:
        """Return whether this fit continues an earlier one, with the same sigma."""
        continues = super()._begin()
        if continues:
            check_same_sigma(self.sigma, self._sigma)
        self._sigma = self.sigma
        return continues

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        require(0 < self._sigma < np.inf, f"its sigma was {self._sigma!r}")
        require(np.shape(self.classes_) == (2,), f"classes_ is {self.classes_!r}")

    def _check_targets(self, y: NDArray[Any], name: str) -> NDArray[Any]:
        return check_labels(y, name)

    def _targets(self, y: NDArray[Any], name: str, *, reset: bool) -> FloatArray:
        """Return -1 for the first class and 1 for the second."""
        classes = at_most_two_classes(y, name)
        if reset:
            if len(classes) < 2:
                raise ValueError(
                    f"{name} has only one class, {classes.tolist()}: there is nothing "
                    "to tell apart"
                )
            self.classes_ = classes
        if not np.isin(classes, self.classes_).all():
            raise ValueError(
                f"{name} has the classes {classes.tolist()}, but y has "
                f"{self.classes_.tolist()}"
            )
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def _weights(
        self, y: NDArray[Any], sample_weight: FloatArray, name: str
    ) -> FloatArray:
        weights = sample_weight * weight_of_rows(self.class_weight, y)
        product = name if self.class_weight is None else f"{name} times class_weight"
        return super()._weights(y, weights, product)

    def _strata(self, data: TrainingData) -> FloatArray:
        """Return the class of each row."""
        check_rows_of_both(data, self.classes_)
        return data.y

    def _objective(self, data: TrainingData) -> CrossEntropy:
        return CrossEntropy(data, self.sigma)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ranges(self, [positive("sigma")])
