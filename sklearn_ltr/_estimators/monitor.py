"""Progress of a fit: the scores so far, when to stop, what to print."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Scored(Protocol):
    """Something that knows the model's scores so far, and how good these are."""

    name: str
    higher_is_better: bool

    def value(self) -> float:
        """Measure the scores."""


@dataclass
class Progress:
    """Values of the model's scores after each step of a fit.

    Attributes
    ----------
    train, validation : Scored or None
        What is measured.
    patience : int
        Steps to wait for a better value of what is watched: of `validation`, or
        without it, if `watch_train`, of `train`.
    tol : float
        By how much a value must be better than the best one.
    verbose : int
        Print every that many steps; 0: never.
    watch_train : bool
    train_values, validation_values : list of float
        One for each call of `record`.
    """

    train: Scored | None
    validation: Scored | None
    patience: int
    tol: float
    verbose: int
    watch_train: bool = False
    train_values: list[float] = field(default_factory=list)
    validation_values: list[float] = field(default_factory=list)
    _patient_from: int = 0

    def record(self, step: int) -> bool:
        """Measure the model after a step; return whether patience is at its end."""
        words = []
        for kind, scored, values in (
            ("train", self.train, self.train_values),
            ("validation", self.validation, self.validation_values),
        ):
            if scored is not None:
                values.append(scored.value())
                words.append(f"{kind} {scored.name} {values[-1]:.4f}")
        if self.verbose > 0 and step % self.verbose == 0:
            print(f"step {step}: {', '.join(words)}", flush=True)
        if self._watched is None:
            return False
        waited = self.n_recorded - 1 - max(self.best, self._patient_from)
        return waited >= self.patience

    def be_patient_again(self) -> None:
        """Wait anew, from the last recorded step on."""
        self._patient_from = self.n_recorded - 1

    @property
    def _watched(self) -> tuple[Scored, list[float]] | None:
        if self.validation is not None:
            return self.validation, self.validation_values
        if self.train is not None and self.watch_train:
            return self.train, self.train_values
        return None

    @property
    def n_recorded(self) -> int:
        """Number of calls of `record`, those of earlier fits included."""
        return max(len(self.train_values), len(self.validation_values))

    @property
    def best(self) -> int:
        """Which value of what is watched was the best; the first of equals."""
        best, highest = 0, -np.inf  # NaN is not higher
        if self._watched is not None:
            scored, values = self._watched
            for number, value in enumerate(values):
                quality = value if scored.higher_is_better else -value
                if quality > highest + self.tol:
                    best, highest = number, quality
        return best


def history(values: NDArray[np.float64], n_steps: int) -> list[float]:
    """Return the values before a fit's first steps; NaN for those not measured then."""
    known: list[float] = values[:n_steps].tolist()
    return known + [np.nan] * (n_steps - len(known))
