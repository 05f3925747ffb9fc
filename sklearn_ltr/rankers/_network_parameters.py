"""The parameters of a ranker with a network: what they are, and their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    with_parameters_of,
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
    "tied_pairs": (True, False),
    "warm_start": (True, False),
}


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkParameters(BaseRanker):
    """A ranker whose scores are the output of a network.

    Parameters
    ----------
    sigma : float > 0, default=1.0
        Steepness of the sigmoid.
    hidden_layer_sizes : sequence of int >= 1, or int >= 1, default=(100,)
        Units of each hidden layer; ``()``: a linear model.
    activation : {"relu", "tanh", "logistic", "identity"}, default="relu"
        Of the hidden layers.
    network : object or None, default=None
        A model of your own in place of the perceptron (the two parameters above are not
        looked at then): an object with ``forward(X) -> scores``, ``backward(dC/ds) ->
        list of gradients`` and ``parameters``, a list of arrays that are changed in
        place; :class:`sklearn_ltr.learners.TorchNetwork` makes one of a PyTorch module.
        A copy of it is trained.
    solver : {"adam", "sgd"}, default="adam"
        How weights follow their gradient.  ``solver="sgd", momentum=0`` is the report's
        step.
    alpha : float >= 0, default=1e-4
        Strength of the L2 penalty on weights (not on biases), divided by the size of
        the batch.
    batch_size : int >= 1 or "auto", default="auto"
        Queries per update, whose gradients are averaged.  "auto": one, as in the
        report.  For RankNet from pairs without groups: pairs per update, "auto": 200.
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        Schedule of "sgd": as it is; divided by ``(1 + t_) ** power_t`` after each
        epoch; or divided by 5 whenever `n_iter_no_change` epochs have not bettered the
        validation score, without early stopping the cost (RankNet) or the metric
        (LambdaRank) of training.  It stops below 1e-6.
    learning_rate_init : float > 0, default=0.001
        The report's eta: step size at the start.
    power_t : float, default=0.5
        For "invscaling".
    max_iter : int >= 1, default=200
        Epochs, at the most: passes over all queries, in an order drawn for each.
    tol : float >= 0, default=1e-4
        By how much a value must be better to count as such.
    momentum : float in [0, 1], default=0.9
        For "sgd".
    nesterovs_momentum : bool, default=True
        For "sgd".
    beta_1, beta_2 : float in [0, 1), default=0.9 and 0.999
        For "adam": how much of the running means of the gradient and of its square is
        kept at an update.
    epsilon : float > 0, default=1e-8
        For "adam".
    early_stopping : bool or "auto", default="auto"
        Stop when the validation score has not improved for `n_iter_no_change` epochs,
        and keep the best weights.  "auto": if `X_val` is given to `fit`.  False:
        `X_val` is checked, but not looked at.
    validation_fraction : float in (0, 1), default=0.1
        Share of the queries held out for early stopping without `X_val`.
    n_iter_no_change : int >= 1, default=10
        Epochs to wait for a better validation score.  Without early stopping RankNet
        waits for a lower cost, and LambdaRank goes on to the end: a metric may stand
        still for long and then rise.
    scoring : str, Metric or None, default=None
        What early stopping looks at; None: the metric of `score`.
    warm_start : bool, default=False
        Go on from the weights of the last `fit`.
    random_state : int, RandomState instance or None, default=None
        Draws the first weights, the order of the queries and those held out.  Only an
        integer makes two fits the same.
    verbose : int >= 0, default=0
        Print the values of every `verbose`-th epoch.
    n_jobs : int or None, default=None
        Threads.  None: as many as the data are worth and this process may use.  The
        model is the same, bit for bit, for any number.
    """

    tied_pairs = False  # a parameter of RankNet's alone

    sigma: float = 1.0
    hidden_layer_sizes: Sequence[int] | int = (100,)
    activation: Literal["relu", "tanh", "logistic", "identity"] = "relu"
    network: Network | None = None
    solver: Literal["adam", "sgd"] = "adam"
    alpha: float = 1e-4
    batch_size: int | Literal["auto"] = "auto"
    learning_rate: Literal["constant", "invscaling", "adaptive"] = "constant"
    learning_rate_init: float = 0.001
    power_t: float = 0.5
    max_iter: int = 200
    tol: float = 1e-4
    momentum: float = 0.9
    nesterovs_momentum: bool = True
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    early_stopping: bool | Literal["auto"] = "auto"
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    scoring: str | Metric | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0
    n_jobs: int | None = None

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


with_network_parameters = with_parameters_of(NetworkParameters, "{network parameters}")
