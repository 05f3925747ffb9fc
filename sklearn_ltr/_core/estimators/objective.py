"""What a fit asks of its objective, whatever it learns: rankers and MART alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from sklearn_ltr._core.estimators.monitor import Measure
from sklearn_ltr._core.typing import FloatArray


class Objective(Protocol):
    """The cost that a fit descends, by its derivatives."""

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of all rows for their scores, (n_rows,) each."""

    def after_step(
        self, gradient: FloatArray, hessian: FloatArray, rate: float
    ) -> None:
        """Change what the objective itself learns, after a step that these made."""

    def fitted(self, n_steps: int) -> dict[str, object]:
        """Return the attributes that the first steps of this fit have learned."""


AnObjective = TypeVar("AnObjective", bound=Objective, covariant=True)


class Task(NamedTuple, Generic[AnObjective]):
    """What a fit descends, and what it is measured by."""

    objective: AnObjective
    #: by name, of training data, then of each validation set
    measures: Sequence[Mapping[str, Measure]]
