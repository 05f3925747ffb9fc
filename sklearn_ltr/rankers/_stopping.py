"""Progress of a fit: the scores so far, when to stop, what to print."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.metrics import Metric
from sklearn_ltr.rankers._data import GradedLists


class ScoredLists:
    """Lists with the scores of the model so far, measured by a metric.

    Parameters
    ----------
    lists : GradedLists
    metric : Metric
    """

    def __init__(self, lists: GradedLists, metric: Metric) -> None:
        self.scores = np.zeros(len(lists.rows))
        self._weights = lists.weights
        self._metric = metric.bind(lists.grades, lists.offsets, lists.labels)

    def mean(self) -> float:
        """Weighted mean of the metric over the queries."""
        return self._metric.mean(self.scores, self._weights)


@dataclass
class Progress:
    """Scores before the first step of a fit and after each.

    Attributes
    ----------
    name : str
        Of the metric, for what is printed.
    train, validation : ScoredLists or None
        What is scored; the caller keeps their scores up to date.
    patience : int
        Steps to wait for a better validation score.
    tol : float
        By how much a score must exceed the best one to be better.
    verbose : int
        Print every that many steps; 0: never.
    train_scores, validation_scores : list of float
        One more than there were steps.
    """

    name: str
    train: ScoredLists | None
    validation: ScoredLists | None
    patience: int
    tol: float
    verbose: int
    train_scores: list[float] = field(default_factory=list)
    validation_scores: list[float] = field(default_factory=list)

    def record(self, step: int) -> bool:
        """Score the model after a step; return whether to stop."""
        line = [f"step {step}: {self.name}"]
        for kind, lists, history in (
            ("train", self.train, self.train_scores),
            ("validation", self.validation, self.validation_scores),
        ):
            if lists is not None:
                history.append(lists.mean())
                line.append(f"{kind} {history[-1]:.4f}")
        if self.verbose > 0 and step % self.verbose == 0:
            print(" ".join(line), flush=True)
        waited = len(self.validation_scores) - 1 - self.best
        return self.validation is not None and waited >= self.patience

    @property
    def best(self) -> int:
        """The step after which the validation score was best; the first of equals."""
        best, highest = 0, -np.inf  # NaN is not higher
        for step, score in enumerate(self.validation_scores):
            if score > highest + self.tol:
                best, highest = step, score
        return best


def history(scores: NDArray[np.float64], n_steps: int) -> list[float]:
    """Return the scores before a fit's first steps; NaN for those not scored then."""
    known: list[float] = scores[:n_steps].tolist()
    return known + [np.nan] * (n_steps - len(known))
