"""The epochs of a network: gradient descent, evaluation, early stopping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam, one_blas_thread
from sklearn_ltr._data import TrainingData
from sklearn_ltr._data.tables import Table
from sklearn_ltr._estimators.base import FitTasks
from sklearn_ltr._estimators.monitor import TRAIN, Monitor
from sklearn_ltr._networks import Batch, Network, Optimizer, descend, predict
from sklearn_ltr._rankers.evaluation import MetricEvaluation
from sklearn_ltr.metrics import Metric

# Where sigma |s| exceeds 2^24, neighbouring float32 numbers are further apart than the
# sigmoid is wide.
LARGEST_SCORE = 2.0**24

CHECKED_ROWS = 10_000  # rows whose scores are checked after training


class Batches(Protocol):
    """The units (queries, or preferences) that a network learns from."""

    size: int
    batch_size: int

    def in_order(self, units: NDArray[np.int64]) -> Iterator[Batch]:
        """Yield the batches of an epoch that visits the units in this order."""


class TrainingPlan(NamedTuple):
    """How long a network is trained, and what it continues from."""

    n_epochs: int
    tasks: FitTasks | None  # where the steps are reported
    continues: bool  # from the weights of the last fit
    keeps_optimizer: bool = False  # and from its optimizer's state


class NetworkEvaluation:
    """Validation data, scored by the network after each epoch.

    Parameters
    ----------
    data : TrainingData
    metrics : dict of str to Metric

    Attributes
    ----------
    measures : dict of str to MetricEvaluation
    """

    def __init__(self, data: TrainingData, metrics: Mapping[str, Metric]) -> None:
        self.measures = {
            name: MetricEvaluation(data, metric) for name, metric in metrics.items()
        }
        self._table = data.X[data.rows]

    def score_with(self, network: Network, team: ThreadTeam) -> None:
        """Update the scores; raise a FloatingPointError if one is not finite."""
        scores = predict(network, self._table, team)
        for measure in self.measures.values():
            measure.update(scores)


@dataclass
class NetworkTraining:
    """A network in training.

    Attributes
    ----------
    network : Network
        Changed in place.
    optimizer : Optimizer
        Changed in place.
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32
    batches : Batches
        The units of training.
    alpha : float
        Strength of the L2 penalty.
    seed : int
        Of the orders in which the epochs visit the units.
    monitor : Monitor
    validation : list of NetworkEvaluation
        Whose measures the monitor has.
    team : ThreadTeam
    n_kept : int
        Epochs of this training after which the network had its final weights.
    """

    network: Network
    optimizer: Optimizer
    X: Table
    batches: Batches
    alpha: float
    seed: int
    monitor: Monitor
    validation: list[NetworkEvaluation]
    team: ThreadTeam
    n_kept: int = 0

    def run(self, n_done: int, n_epochs: int, tasks: FitTasks | None) -> int:
        """Train for up to `n_epochs` epochs; return the number of epochs so far.

        If early stopping follows a validation set, the network keeps the weights of
        the best epoch.
        """
        followed = self.monitor.followed
        best_weights, highest = None, -np.inf
        for epoch in range(n_done, n_done + n_epochs):
            self._run_epoch(epoch)
            stops = self.monitor.record(epoch + 1)
            if followed is not None and followed.set_name != TRAIN:
                value = followed.values[-1]
                if value > highest:
                    best_weights, highest = self._copy_weights(), value
                    self.n_kept = epoch + 1 - n_done
            if stops and self.optimizer.reduce_rate():
                self.monitor.restart_waiting()
                stops = False
            if tasks is not None:
                fitted = {"network_": self.network, "n_iter_": epoch + 1}
                stops = tasks.end_step(partial(dict, fitted), last=stops)
            if stops:
                break
        if best_weights is None:
            self.n_kept = epoch + 1 - n_done
        else:
            for w, best in zip(self.network.parameters, best_weights, strict=True):
                w[...] = best
        return epoch + 1

    def _copy_weights(self) -> list[NDArray[np.floating]]:
        return [w.copy() for w in self.network.parameters]

    def _run_epoch(self, epoch: int) -> None:
        """Visit all units once, in the epoch's own random order."""
        rng = np.random.default_rng([self.seed, epoch, 2])
        order = rng.permutation(self.batches.size)
        rate = self.optimizer.rate
        try:
            # overflow is detected by scores that are not finite
            with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
                batches = self.batches.in_order(order)
                descend(self.network, self.optimizer, self.X, batches, self.alpha)
            for held_out in self.validation:
                held_out.score_with(self.network, self.team)
        except FloatingPointError:
            raise divergence_error("are no longer finite numbers", rate) from None
        self.optimizer.end_epoch(self.batches.size)

    def check_scores(self, rows: NDArray[np.intp], sigma: float) -> NDArray[np.float64]:
        """Return the scores of some of the rows; a ValueError if training diverged."""
        rate = self.optimizer.rate
        if not all(np.isfinite(array).all() for array in self.optimizer.arrays):
            raise divergence_error("have gradients beyond single precision", rate)
        try:
            scores = predict(self.network, self.X[rows[:CHECKED_ROWS]], self.team)
        except FloatingPointError:
            raise divergence_error("are no longer finite numbers", rate) from None
        largest = float(np.abs(scores).max())
        if sigma * largest > LARGEST_SCORE:
            raise divergence_error(f"have grown to {largest:.1g}", rate)
        return scores


def continued_optimizer(old: Optimizer, new: Optimizer) -> Optimizer:
    """Return a copy of the last fit's; a ValueError if the settings have changed."""
    if type(old) is not type(new) or old.settings != new.settings:
        raise ValueError(
            "solver or a parameter of it has changed since the last fit, whose "
            f"optimizer partial_fit continues: {old.settings} then, {new.settings} "
            "now; fit with warm_start=True to begin a new one"
        )
    return deepcopy(old)


def divergence_error(how: str, rate: float) -> ValueError:
    """Return the error that says how the scores diverged, and what to do."""
    return ValueError(
        f"the network diverged: its scores {how}. Scale the columns of X, with "
        "StandardScaler in a Pipeline, say, or take smaller steps than "
        f"learning_rate_init={rate:g}; large values of sigma, alpha, momentum or "
        "sample_weight make it diverge, too, and small ones of beta_2"
    )
