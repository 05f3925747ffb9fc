"""The monitor of a fit: measures the model after each step and stops it early.

It serves boosted trees (a step is a tree) and networks (a step is an epoch) alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class EvaluationSet(Protocol):
    """Data on which the model is measured during a fit.

    Attributes
    ----------
    name : str
        Name of the measure, for the lines printed with `verbose`.
    higher_is_better : bool
    """

    name: str
    higher_is_better: bool

    def value(self) -> float:
        """Return the measure of the model's present scores."""


class ScoredEvaluationSet(EvaluationSet, Protocol):
    """An evaluation set that is handed the scores it measures."""

    def update(self, scores: FloatArray) -> None:
        """Measure these scores from now on, (n_rows,); the array is not copied."""


def print_at_once(line: str) -> None:
    """Print a line without delay."""
    print(line, flush=True)


@dataclass
class Monitor:
    """Measures the evaluation sets after each step, prints, and decides when to stop.

    Early stopping follows the validation set; without one, and with
    `stop_on_train`, the training set.

    Attributes
    ----------
    train, validation : EvaluationSet or None
    n_iter_no_change : int
        Steps to wait for an improvement.
    tol : float
        Smallest difference to the best value that counts as an improvement.
    verbose : int
        Print the values of every `verbose`-th step; 0: never.
    stop_on_train : bool
    print_line : callable
        Prints one line.
    train_values, validation_values : list of float
        One for each call of `record`; may begin with those of an earlier fit.
    """

    train: EvaluationSet | None
    validation: EvaluationSet | None
    n_iter_no_change: int
    tol: float
    verbose: int
    stop_on_train: bool = False
    print_line: Callable[[str], None] = print_at_once
    train_values: list[float] = field(default_factory=list)
    validation_values: list[float] = field(default_factory=list)
    _waiting_since: int = 0

    def record(self, step: int) -> bool:
        """Measure the model after a step; return whether to stop early."""
        printed = []
        for kind, evaluation, values in (
            ("train", self.train, self.train_values),
            ("validation", self.validation, self.validation_values),
        ):
            if evaluation is not None:
                values.append(evaluation.value())
                printed.append(f"{kind} {evaluation.name} {values[-1]:.4f}")
        if self.verbose > 0 and step % self.verbose == 0:
            self.print_line(f"step {step}: {', '.join(printed)}")
        if self._followed is None:
            return False
        waited = self.n_recorded - 1 - max(self.best_index, self._waiting_since)
        return waited >= self.n_iter_no_change

    def restart_waiting(self) -> None:
        """Count the steps without improvement from the last recorded step on."""
        self._waiting_since = self.n_recorded - 1

    @property
    def _followed(self) -> tuple[EvaluationSet, list[float]] | None:
        """Return the evaluation set that early stopping follows, and its values."""
        if self.validation is not None:
            return self.validation, self.validation_values
        if self.train is not None and self.stop_on_train:
            return self.train, self.train_values
        return None

    @property
    def n_recorded(self) -> int:
        """Number of recorded steps, those of earlier fits included."""
        return max(len(self.train_values), len(self.validation_values))

    @property
    def best_index(self) -> int:
        """Index of the best value, the first of equal ones; NaN is never the best."""
        best, highest = 0, -np.inf
        if self._followed is not None:
            evaluation, values = self._followed
            for index, value in enumerate(values):
                quality = value if evaluation.higher_is_better else -value
                if quality > highest + self.tol:
                    best, highest = index, quality
        return best


def earlier_values(values: FloatArray, n_steps: int) -> list[float]:
    """Return the values of an earlier fit's steps, padded with NaN to `n_steps`."""
    known: list[float] = values[:n_steps].tolist()
    return known + [np.nan] * (n_steps - len(known))
