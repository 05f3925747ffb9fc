"""The parameters of a network and of its training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._data import TrainingData
from sklearn_ltr._estimators.base import FitParameters
from sklearn_ltr._networks.network import Network
from sklearn_ltr._networks.optimizers import (
    GRADIENTS,
    SMALLEST_SINGLE,
    SOLVERS,
    Optimizer,
    read_solver_params,
)
from sklearn_ltr._parameters import Choice, Or, integer, real


class LayerSizes:
    """The values of `hidden_layer_sizes`."""

    def read_as(self, name: str, value: ArrayLike) -> tuple[int, ...]:
        """Return the size of each layer, or raise a TypeError or ValueError."""
        sizes = np.atleast_1d(np.asarray(value, dtype=object))
        if sizes.ndim > 1:
            raise ValueError(
                f"{name} must be integers >= 1, one for each hidden layer, got "
                f"{value!r}"
            )
        values = integer(1, 2**31 - 1)
        return tuple(values.read_as(name, size) for size in sizes)

    def in_words(self) -> str:
        """Return the values as docstrings give them."""
        return "int or sequence of int, each of at least 1"


@dataclass(frozen=True, kw_only=True)
class NetworkParameters(FitParameters):
    """The parameters of a network and of its training."""

    sigma: float
    hidden_layer_sizes: Annotated[tuple[int, ...], LayerSizes()]
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
