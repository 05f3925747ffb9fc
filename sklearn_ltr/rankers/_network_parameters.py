"""The parameters that the rankers with a network share, and their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_scalar

from sklearn_ltr._estimators.parameters import (
    Range,
    at_least,
    check_choice,
    check_n_jobs,
    check_ranges,
    not_negative,
    positive,
)
from sklearn_ltr.learners._network import SGD, Adam, Network, Optimizer
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.rankers._base import BaseRanker

RANGES = (
    positive("sigma"),
    not_negative("alpha"),
    positive("learning_rate_init"),
    not_negative("power_t"),
    at_least("max_iter", 1),
    not_negative("tol"),
    Range("momentum", Real, 0, 1, "both"),
    Range("beta_1", Real, 0, 1, "left"),
    Range("beta_2", Real, 0, 1, "left"),
    Range("epsilon", Real, float(np.finfo(np.float32).tiny), None, "left"),
    Range("validation_fraction", Real, 0, 1, "neither"),
    at_least("n_iter_no_change", 1),
    at_least("verbose", 0),
)
CHOICES: dict[str, tuple[Any, ...]] = {
    "activation": ("identity", "logistic", "tanh", "relu"),
    "solver": ("adam", "sgd"),
    "learning_rate": ("constant", "invscaling", "adaptive"),
    "nesterovs_momentum": (True, False),
    "early_stopping": (True, False, "auto"),
    "warm_start": (True, False),
}


class NetworkParameters(BaseRanker):
    """A ranker with a network: its parameters, and the optimizer they describe.

    The public rankers document the parameters; each has them in its ``__init__``.
    """

    sigma: float
    hidden_layer_sizes: Sequence[int] | int
    activation: Literal["relu", "tanh", "logistic", "identity"]
    network: Network | None
    solver: Literal["adam", "sgd"]
    alpha: float
    batch_size: int | Literal["auto"]
    learning_rate: Literal["constant", "invscaling", "adaptive"]
    learning_rate_init: float
    power_t: float
    max_iter: int
    tol: float
    momentum: float
    nesterovs_momentum: bool
    beta_1: float
    beta_2: float
    epsilon: float
    early_stopping: bool | Literal["auto"]
    validation_fraction: float
    n_iter_no_change: int
    scoring: str | Metric | None
    warm_start: bool
    random_state: Any
    verbose: int
    n_jobs: int | None

    @property
    def _uses_tied_pairs(self) -> bool:
        """Whether pairs of equal grade are trained on; a parameter of RankNet."""
        return False

    def _check_parameters(self) -> None:
        """Raise an error that names the parameter if one is out of its range."""
        check_ranges(self, RANGES)
        for name, choices in CHOICES.items():
            check_choice(self, name, choices)
        if self.scoring is not None:
            get_metric(self.scoring)
        if self.batch_size != "auto":
            check_ranges(self, [at_least("batch_size", 1)])
        check_n_jobs(self.n_jobs)
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=object))
        if sizes.ndim > 1:
            raise ValueError(
                "hidden_layer_sizes must be integers >= 1, one for each hidden layer, "
                f"got {self.hidden_layer_sizes!r}"
            )
        for size in sizes:
            check_scalar(size, "hidden_layer_sizes", Integral, min_val=1)

    def _new_optimizer(self) -> Optimizer:
        rate = float(self.learning_rate_init)
        if self.solver == "adam":
            return Adam(rate, self.beta_1, self.beta_2, self.epsilon)
        return SGD(
            rate,
            self.momentum,
            self.nesterovs_momentum,
            self.learning_rate,
            self.power_t,
        )
