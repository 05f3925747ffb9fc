"""The face that every estimator of this package shows to scikit-learn."""

from __future__ import annotations

from typing import Any, Literal, Protocol, Self, TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state

from sklearn_ltr._estimators.callbacks import CallbackSupportMixin
from sklearn_ltr._estimators.feature_table import read_table
from sklearn_ltr._estimators.state import VersionedState
from sklearn_ltr.learners._tables import Table


class Splittable(Protocol):
    """Something to learn from, of which a share can be held out."""

    def split(self, fraction: float, seed: int) -> tuple[Self, Self]:
        """Return the others and those held out."""


S = TypeVar("S", bound=Splittable)


class Model(VersionedState, CallbackSupportMixin, BaseEstimator):
    """An estimator that reads tables, sparse ones too, and knows its version."""

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

    def _read_table(self, X: Any, *, reset: bool = False, name: str = "X") -> Table:
        """Check a table; with `reset`, remember its columns."""
        return read_table(self, X, reset=reset, name=name)

    def _draw_seed(self) -> None:
        """Draw what all that is drawn in a fit follows from."""
        self._seed = int(check_random_state(self.random_state).randint(2**31))

    def _hold_out(self, given: S, held_out: S | None) -> tuple[S, S | None]:
        """Split off a part, or drop the one held out, as `early_stopping` says."""
        if not self.early_stopping:
            return given, None
        if held_out is None and self.early_stopping != "auto":
            return given.split(self.validation_fraction, self._seed)
        return given, held_out
