"""The scikit-learn interface that every estimator of this package shares."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self

from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._estimators.callbacks import CallbackSupportMixin
from sklearn_ltr._estimators.feature_table import read_feature_table
from sklearn_ltr._estimators.state import SavedState, copy_attributes
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.learners._tables import Table


class BaseModel(SavedState, CallbackSupportMixin, BaseEstimator):
    """An estimator that reads dense and sparse tables and can hold out a part."""

    early_stopping: bool | Literal["auto"]
    validation_fraction: float
    random_state: Any
    _seed: int

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: y is required, X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def _fitted(self) -> Self:
        """Return a copy that a fit in another thread does not change.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        model = copy_attributes(self)
        if "n_features_in_" not in vars(model):
            check_is_fitted(model)  # which raises, but not as fast as predictions are
        return model

    def _read_features(self, X: Any, *, reset: bool = False, name: str = "X") -> Table:
        """Return X as a checked table; with `reset`, store its number and names."""
        return read_feature_table(self, X, reset=reset, name=name)

    def _draw_seed(self) -> None:
        """Draw the seed that all random numbers of a fit are derived from."""
        try:
            random_state = check_random_state(self.random_state)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"random_state={self.random_state!r} is no seed: {error}"
            ) from None
        self._seed = int(random_state.randint(2**31))

    def _hold_out(
        self, data: TrainingData, *, given: bool
    ) -> tuple[TrainingData, TrainingData | None]:
        """Return training data, and those held out if early stopping needs them.

        It does if ``early_stopping=True`` and `fit` was not given validation data.
        """
        if self.early_stopping is True and not given:
            return self._split(data)
        return data, None

    @abstractmethod
    def _split(self, data: TrainingData) -> tuple[TrainingData, TrainingData]:
        """Split off `validation_fraction` of the data: (training, validation)."""
