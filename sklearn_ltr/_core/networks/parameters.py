"""The parameters of a network and of its training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.estimators.base import FitParameters
from sklearn_ltr._core.networks.network import Network
from sklearn_ltr._core.networks.optimizers import (
    GRADIENTS,
    SMALLEST_SINGLE,
    SOLVERS,
    Optimizer,
    read_solver_params,
)
from sklearn_ltr._core.parameters import Choice, Or, ReadValues, integer, real


def read_layer_sizes(name: str, value: ArrayLike) -> tuple[int, ...]:
    """Return the size of each hidden layer, or raise a TypeError or ValueError."""
    sizes = np.atleast_1d(np.asarray(value, dtype=object))
    if sizes.ndim > 1:
        raise ValueError(
            f"{name} must be integers >= 1, one for each hidden layer, got {value!r}"
        )
    values = integer(1, 2**31 - 1)
    return tuple(values.read_as(name, size) for size in sizes)


LAYER_SIZES = ReadValues(read_layer_sizes, "int or sequence of int, each of at least 1")


@dataclass(frozen=True, kw_only=True)
class NetworkParameters(FitParameters):
    """The parameters of a network and of its training.

    Attributes
    ----------
    hidden_layer_sizes
        Units of each hidden layer; ``()``: a linear model.
    activation
        Activation function of the hidden layers.
    network : object or None
        Your own model in place of the perceptron; the two parameters above are then
        ignored.  An object with ``forward(X) -> scores``, ``backward(dC/ds) -> list of
        gradients`` and ``parameters``, a list of arrays that training changes in place.
        `fit` trains a copy.  :class:`sklearn_ltr.TorchNetwork` wraps a PyTorch module.
    solver
        How weights follow their gradient: Adam, or gradient descent with momentum.
        ``solver="sgd", solver_params={"momentum": 0}`` is the step of Burges (2010).
    solver_params : dict or None
        Parameters of the solver.  "adam" has "beta_1" and "beta_2" in [0, 1), the decay
        of the running means of the gradient and its square, 0.9 and 0.999 by default,
        and "epsilon" in [1.2e-38, 1e19], added to the denominator, 1e-8 by default.
        "sgd" has "momentum" in [0, 1], 0.9 by default, "nesterovs_momentum", whether
        the momentum is Nesterov's, True by default, and "power_t" in [0, 10], the
        exponent of ``learning_rate="invscaling"``, 0.5 by default.
    alpha
        Strength of the L2 penalty on weights (not on biases), divided by the size of
        the batch.
    batch_size
        Queries per update; their gradients are averaged.  Burges (2010) has 1.  "auto":
        a sixteenth of the queries, at least 1 and at most 8.  If lists are shorter than
        20 documents, more: queries with 160 documents if an epoch keeps 100 updates,
        and with up to 1,000 if it keeps 500.  On 50,000 made lists of 8, 91 queries
        take less time than 20, and gain 0.002 to 0.005 of NDCG@10.  From pairs alone,
        without groups: pairs per update, "auto": 200.
    learning_rate
        Schedule of "sgd".  "invscaling": divided by ``(1 + t) ** power_t`` after each
        epoch, with t the queries visited so far.  "adaptive": divided by 5 whenever
        `n_iter_no_change` epochs have not improved the validation score (without early
        stopping: the {training_measure}); training stops when it falls below 1e-6.
    learning_rate_init
        Initial step size, eta.
    max_iter
        Maximum number of epochs: passes over all queries in random order.  More epochs
        may overfit: on OHSUMED, 200 epochs lose 0.03 of NDCG@10 against 30.
    tol
        Smallest change that counts as an improvement.
    early_stopping
        Stop when the validation score has not improved for `n_iter_no_change` epochs,
        and keep the best weights.  "auto": if `X_val` is given to `fit`.  False: only
        measure `X_val`.  The first of several sets decides.
    warm_start
        Continue from the weights of the last `fit`.
    random_state : int, RandomState instance or None
        Seed of the first weights, the order of the queries and the held-out queries.
        Only an integer makes two fits the same.
    verbose
        1: print every few seconds the progress, the seconds per epoch and the best
        score so far, and at the end where it stopped.  2: print after every epoch.
    """

    sigma: float
    hidden_layer_sizes: Annotated[tuple[int, ...], LAYER_SIZES]
    activation: Annotated[str, Choice("identity", "logistic", "tanh", "relu")]
    network: Network | None
    solver: Annotated[str, Choice(*SOLVERS)]
    solver_params: Mapping[str, object] | None  # checked by new_optimizer
    alpha: Annotated[float, real(0, GRADIENTS[1])]
    batch_size: Annotated[int | Literal["auto"], Or(integer(1), ("auto",))]
    learning_rate: Annotated[str, Choice("constant", "invscaling", "adaptive")]
    learning_rate_init: Annotated[float, real(SMALLEST_SINGLE, closed="left")]
    max_iter: Annotated[int, integer(1)]

    def new_optimizer(self) -> Optimizer:
        """Return an optimizer before its first step."""
        options = read_solver_params(self.solver, self.solver_params)
        if self.solver == "sgd":
            options["schedule"] = self.learning_rate
        return SOLVERS[self.solver](self.learning_rate_init, **options)

    @property
    def architecture(self) -> list[str | int]:
        """The settings that must stay the same to continue training a network."""
        if self.network is not None:
            return ["network"]
        return [self.activation, *self.hidden_layer_sizes]

    @property
    def stops_on_train(self) -> bool:
        """Whether training stops when its own measure no longer improves."""
        return True

    def may_tie(self, data: TrainingData) -> bool:
        """Return whether equal scores of all documents may be the best."""
        return False
