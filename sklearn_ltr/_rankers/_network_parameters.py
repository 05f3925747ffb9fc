"""The parameters that the rankers with a network share, and their ranges."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from sklearn_ltr._compile import check_n_jobs
from sklearn_ltr._networks import SGD, Adam, Network, Optimizer
from sklearn_ltr._parameters import (
    Range,
    at_least,
    check_choice,
    check_ranges,
    not_negative,
)
from sklearn_ltr._rankers._click_training import ClickTraining

# The weights are float32.  A gradient is about sigma times the weight of a query, or
# alpha times a weight of the network, and Adam squares it.
GRADIENTS = (1e-19, 1e19)
LAMBDA_TOTALS = (1e-30, 1e30)  # of all training data
SMALLEST_SINGLE = float(np.finfo(np.float32).tiny)

RANGES = (
    Range("sigma", Real, *GRADIENTS, "both"),
    Range("alpha", Real, 0, GRADIENTS[1], "both"),
    Range("learning_rate_init", Real, SMALLEST_SINGLE, np.inf, "left"),
    Range("power_t", Real, 0, 10, "both"),
    at_least("max_iter", 1),
    not_negative("tol"),
    Range("momentum", Real, 0, 1, "both"),
    Range("beta_1", Real, 0, 1, "left"),
    Range("beta_2", Real, 0, 1, "left"),
    Range("epsilon", Real, SMALLEST_SINGLE, GRADIENTS[1], "both"),
    Range("validation_fraction", Real, 0, 1, "neither"),
    at_least("n_iter_no_change", 1),
    at_least("verbose", 0),
)
LAYER_SIZE = Range("hidden_layer_sizes", Integral, 1, 2**31 - 1, "both")
CHOICES: dict[str, tuple[Any, ...]] = {
    "activation": ("identity", "logistic", "tanh", "relu"),
    "solver": ("adam", "sgd"),
    "learning_rate": ("constant", "invscaling", "adaptive"),
    "nesterovs_momentum": (True, False),
    "early_stopping": (True, False, "auto"),
    "warm_start": (True, False),
}


class NetworkParameters(ClickTraining):
    """A ranker with a network: its parameters, and the optimizer they describe.

    The public rankers document the parameters; each has them in its ``__init__``.
    """

    sigma: float
    hidden_layer_sizes: Any  # a sequence of int or an int; a list in a fit
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
    warm_start: bool
    random_state: Any
    verbose: int
    n_jobs: int | None

    # The ratios of pairs were no better than naive clicks where they were tried
    _biases = (None, "additive")

    @property
    def _uses_tied_pairs(self) -> bool:
        """Whether pairs of equal grade are trained on; a parameter of RankNet."""
        return False

    @property
    def _stops_on_train(self) -> bool:
        """Whether training stops when its own measure no longer improves.

        A cost does fall steadily; a metric may stand still while scores move towards
        another order, so it only reduces the rate of "adaptive".
        """
        is_adaptive = self.solver == "sgd" and self.learning_rate == "adaptive"
        return self.metric is None or is_adaptive

    def _check_parameters(self) -> None:
        """Make the parameters plain values; an error names one out of its range."""
        check_ranges(self, RANGES)
        for name, choices in CHOICES.items():
            check_choice(self, name, choices)
        self._check_position_bias()
        self._measured_metrics()  # raises for an unknown metric or scoring
        if not (isinstance(self.batch_size, str) and self.batch_size == "auto"):
            check_ranges(self, [at_least("batch_size", 1)])
        check_n_jobs(self.n_jobs)
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=object))
        if sizes.ndim > 1:
            raise ValueError(
                "hidden_layer_sizes must be integers >= 1, one for each hidden layer, "
                f"got {self.hidden_layer_sizes!r}"
            )
        self.hidden_layer_sizes = [LAYER_SIZE.read(size) for size in sizes]

    def _new_optimizer(self) -> Optimizer:
        rate = self.learning_rate_init
        if self.solver == "adam":
            return Adam(rate, self.beta_1, self.beta_2, self.epsilon)
        return SGD(
            rate,
            self.momentum,
            self.nesterovs_momentum,
            self.learning_rate,
            self.power_t,
        )
