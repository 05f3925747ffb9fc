"""The epochs of a network: descend, look, go on or stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam, one_blas_thread
from sklearn_ltr._estimators.callbacks import FitTasks
from sklearn_ltr._estimators.monitor import Progress
from sklearn_ltr.learners._network import Batch, Network, Optimizer, descend, predict
from sklearn_ltr.learners._tables import Table
from sklearn_ltr.metrics import Metric
from sklearn_ltr.rankers._data import GradedLists
from sklearn_ltr.rankers._evaluation import ScoredLists

# Where sigma |s| exceeds it, two neighbours among single precision numbers are further
# apart than the sigmoid is wide.
LARGEST = 2.0**24

ROWS_LOOKED_AT = 10_000


class Batches(Protocol):
    """What a network learns from, in units: queries, or preferences."""

    size: int
    usual_size: int  # of a batch

    def in_order(self, units: NDArray[np.int64], batch_size: int) -> Iterator[Batch]:
        """Go through units in an order, `batch_size` at a time."""


class HeldOut(ScoredLists):
    """Lists that a network does not learn from, scored by it."""

    def __init__(self, lists: GradedLists, metric: Metric) -> None:
        super().__init__(lists, metric)
        self._table = lists.X[lists.rows]

    def score_with(self, network: Network, team: ThreadTeam) -> None:
        """Bring the scores up to date; a FloatingPointError if one is not finite."""
        self.take(predict(network, self._table, team))


@dataclass
class Training:
    """A network in training.

    Attributes
    ----------
    network : Network
        Changed in place.
    optimizer : Optimizer
        Changed in place.
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32
    batches : Batches
        What it learns from.
    batch_size : int
        Units per update.
    alpha : float
        Of the penalty.
    seed : int
        Of the orders in which units are gone through.
    progress : Progress
    held_out : HeldOut or None
        What `progress` calls validation.
    team : ThreadTeam
    """

    network: Network
    optimizer: Optimizer
    X: Table
    batches: Batches
    batch_size: int
    alpha: float
    seed: int
    progress: Progress
    held_out: HeldOut | None
    team: ThreadTeam

    def run(self, n_done: int, n_epochs: int, tasks: FitTasks | None) -> int:
        """Train for so many epochs at the most; return how many it took, in all.

        With `held_out` the network is left with the weights that were best on it.
        """
        best, highest = None, -np.inf
        for epoch in range(n_done, n_done + n_epochs):
            self._descend(epoch)
            at_an_end = self.progress.record(epoch + 1)
            if self.held_out is not None:
                value = self.progress.validation_values[-1]
                if value > highest:
                    best, highest = self._weights(), value
            if at_an_end and self.optimizer.try_smaller_steps():
                self.progress.be_patient_again()
                at_an_end = False
            if tasks is not None:
                fitted = {"network_": self.network, "n_iter_": epoch + 1}
                at_an_end = tasks.end_step(partial(dict, fitted), last=at_an_end)
            if at_an_end:
                break
        if best is not None:
            for w, kept in zip(self.network.parameters, best, strict=True):
                w[...] = kept
        return epoch + 1

    def _weights(self) -> list[NDArray[np.floating]]:
        return [w.copy() for w in self.network.parameters]

    def _descend(self, epoch: int) -> None:
        """Go through all units once, in an order of this epoch's own."""
        rng = np.random.default_rng([self.seed, epoch, 2])
        order = rng.permutation(self.batches.size)
        rate = self.optimizer.rate
        try:
            # what overflows is noticed by the scores
            with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
                batches = self.batches.in_order(order, self.batch_size)
                descend(self.network, self.optimizer, self.X, batches, self.alpha)
            if self.held_out is not None:
                self.held_out.score_with(self.network, self.team)
        except FloatingPointError:
            raise diverged("are no longer finite numbers", rate) from None
        self.optimizer.end_epoch(self.batches.size)

    def look(self, sigma: float) -> NDArray[np.float64]:
        """Return the scores of some rows; a ValueError if training has spoilt them."""
        rate = self.optimizer.rate
        try:
            scores = predict(self.network, self.X[:ROWS_LOOKED_AT], self.team)
        except FloatingPointError:
            raise diverged("are no longer finite numbers", rate) from None
        largest = float(np.abs(scores).max())
        if sigma * largest > LARGEST:
            raise diverged(f"have grown to {largest:.1g}", rate)
        return scores


def diverged(how: str, rate: float) -> ValueError:
    """Say what has become of the scores, and what to do."""
    return ValueError(
        f"the network diverged: its scores {how}. Scale the columns of X, with "
        "StandardScaler in a Pipeline, say, or take smaller steps than "
        f"learning_rate_init={rate:g}"
    )
