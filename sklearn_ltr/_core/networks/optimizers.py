"""Optimizers: Adam, and gradient descent with momentum.

Names, defaults and formulas are as in scikit-learn's ``MLPRegressor``.  At update t, g
is the gradient of the batch plus the L2 penalty's, decay * w, where decay =
alpha / batch size for matrices and 0 for biases.

Adam (Kingma and Ba):   m = beta_1 m + (1 - beta_1) g,   v = beta_2 v + (1 - beta_2) g^2
                        w = w - eta sqrt(1 - beta_2^t) / (1 - beta_1^t)
                                m / (sqrt(v) + epsilon)
Momentum (sgd):         u = momentum u - eta g
                        w = w + u,   or, Nesterov's:   w = w + momentum u - eta g

The step of Burges (2010), w = w - eta g (section 2, equation 2), is "sgd" with momentum
0.  The parameters of an optimizer are the annotated fields of its class: declared once,
with the values that they may have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.compile import kernel
from sklearn_ltr._core.parameters import BOOL, Values, declared_values, real, shown
from sklearn_ltr._core.saving import saved_part

WeightArray = NDArray[np.floating]

# The weights are float32.  A gradient is about sigma times the weight of a query, or
# alpha times a weight of the network, and Adam squares it.
GRADIENTS = (1e-19, 1e19)
SMALLEST_SINGLE = float(np.finfo(np.float32).tiny)

MIN_ADAPTIVE_RATE = 1e-6  # "adaptive" divides no rate at or below it
ADAPTIVE_DIVISOR = 5.0


@kernel
def adam_step(
    w: WeightArray,
    g: WeightArray,
    moments: WeightArray,
    rate: float,
    one_minus_beta_1: float,
    one_minus_beta_2: float,
    epsilon: float,
    decay: float,
) -> None:
    """Update the weights, (n_weights,), and their moments, (2, n_weights), in place."""
    for i in range(len(w)):
        gradient = g[i] + decay * w[i]
        moments[0, i] += one_minus_beta_1 * (gradient - moments[0, i])
        moments[1, i] += one_minus_beta_2 * (gradient * gradient - moments[1, i])
        w[i] -= rate * moments[0, i] / (np.sqrt(moments[1, i]) + epsilon)


@kernel
def momentum_step(
    w: WeightArray,
    g: WeightArray,
    u: WeightArray,
    rate: float,
    momentum: float,
    nesterov: bool,
    decay: float,
) -> None:
    """Update the weights and their velocity u in place; all arrays are (n_weights,)."""
    for i in range(len(w)):
        step = rate * (g[i] + decay * w[i])
        u[i] = momentum * u[i] - step
        w[i] += momentum * u[i] - step if nesterov else u[i]


def cast_to_dtype_of(w: WeightArray, *numbers: float) -> list[Any]:
    """Return scalars of the dtype of w: kernels compute in that precision only."""
    dtype = w.dtype.type
    return [dtype(number) for number in numbers]


def flat_gradient(g: ArrayLike, w: WeightArray) -> WeightArray:
    """Return a gradient as an array of shape (w.size,) and the dtype of w."""
    # numba would compile the kernels once more for arrays that are strided, read-only
    # or not aligned
    gradient = np.asarray(g, dtype=w.dtype)
    if not gradient.flags.carray:
        gradient = np.array(gradient, order="C")
    return gradient.reshape(-1)


def parameters_of(optimizer: type) -> dict[str, Values]:
    """Return the values that each parameter of an optimizer may have."""
    declared = declared_values(optimizer)
    return {name: values for name, values in declared.items() if values is not None}


@dataclass(eq=False)
class Optimizer:
    """Updates all weights of a network; its state is plain arrays.

    Attributes
    ----------
    rate : float
        Current step size eta.
    t_ : int
        Number of queries (or pairs) trained on, counted once per epoch.
    """

    rate: float
    t_: int = field(default=0, init=False)

    @property
    def settings(self) -> dict[str, object]:
        """The rate and the parameters that it was made with."""
        own = {name: getattr(self, name) for name in parameters_of(type(self))}
        return {"rate": self.rate, **own}

    @property
    def arrays(self) -> list[WeightArray]:
        """Its state, one array for each of the weights; none before the first step."""
        raise NotImplementedError

    def shape_of(self, w: WeightArray) -> tuple[int, ...]:
        """Return the shape of the state of an array of weights."""
        raise NotImplementedError

    def next_update(self, w: WeightArray) -> tuple[Callable[..., None], list[Any]]:
        """Return the kernel of the next step, and its numbers in the dtype of w."""
        raise NotImplementedError

    def step(
        self,
        weights: Sequence[WeightArray],
        gradients: Sequence[WeightArray],
        decay: float,
    ) -> None:
        """Update all weights, C-contiguous arrays of one dtype, in place."""
        states = self.arrays
        if not states:
            states += [np.zeros(self.shape_of(w), w.dtype) for w in weights]
        update, numbers = self.next_update(weights[0])
        decay, no_decay = cast_to_dtype_of(weights[0], decay, 0.0)
        for w, g, state in zip(weights, gradients, states, strict=True):
            own_decay = decay if w.ndim > 1 else no_decay
            update(w.reshape(-1), flat_gradient(g, w), state, *numbers, own_decay)

    def end_epoch(self, size: int) -> None:
        """Apply the schedule after an epoch of `size` queries (or pairs)."""
        self.t_ += size

    def reduce_rate(self) -> bool:
        """Reduce the rate after training has stalled; return False if it stays."""
        return False

    def check(self, weights: Sequence[WeightArray]) -> None:
        """Raise an error unless it can continue to train these weights."""
        arrays = self.arrays
        if len(arrays) not in (0, len(weights)):
            raise ValueError("arrays of its optimizer are missing")
        for w, array in zip(weights, arrays, strict=False):
            fits = (
                isinstance(array, np.ndarray)
                and array.dtype == w.dtype
                and array.shape == self.shape_of(w)
                and array.flags.c_contiguous
                and np.isfinite(array).all()
            )
            if not fits:
                raise ValueError("an array of its optimizer does not fit the weights")
        own = parameters_of(type(self))
        for each in fields(self):
            name, value = f"{each.name} of its optimizer", getattr(self, each.name)
            if each.name in own:
                own[each.name].read_as(name, value)
            elif each.type in ("int", "float"):
                if not (isinstance(value, int | float) and 0 <= value < np.inf):
                    raise ValueError(f"{name} is {value!r}")


@saved_part
@dataclass(eq=False)
class Adam(Optimizer):
    """Adam; for each array of weights it keeps the two moments, (2, n_weights)."""

    beta_1: Annotated[float, real(0, 1, "left")] = 0.9
    beta_2: Annotated[float, real(0, 1, "left")] = 0.999
    epsilon: Annotated[float, real(SMALLEST_SINGLE, GRADIENTS[1])] = 1e-8
    n_steps: int = 0
    moments: list[WeightArray] = field(default_factory=list)

    @property
    def arrays(self) -> list[WeightArray]:
        """The moments."""
        return self.moments

    def shape_of(self, w: WeightArray) -> tuple[int, ...]:
        """Return the shape of the moments of an array of weights."""
        return 2, w.size

    def next_update(self, w: WeightArray) -> tuple[Callable[..., None], list[Any]]:
        """Return the kernel of the next step, and its numbers in the dtype of w."""
        self.n_steps += 1
        rate = self.rate * np.sqrt(1.0 - self.beta_2**self.n_steps)
        rate /= 1.0 - self.beta_1**self.n_steps
        numbers = rate, 1.0 - self.beta_1, 1.0 - self.beta_2, self.epsilon
        return adam_step, cast_to_dtype_of(w, *numbers)


@saved_part
@dataclass(eq=False)
class SGD(Optimizer):
    """Gradient descent with momentum and a schedule of the rate."""

    schedule: str = "constant"
    momentum: Annotated[float, real(0, 1)] = 0.9
    nesterovs_momentum: Annotated[bool, BOOL] = True
    power_t: Annotated[float, real(0, 10)] = 0.5  # exponent of "invscaling"
    velocities: list[WeightArray] = field(default_factory=list)
    initial_rate: float = field(init=False)

    def __post_init__(self) -> None:
        """Store the rate that "invscaling" divides."""
        self.initial_rate = self.rate

    @property
    def settings(self) -> dict[str, object]:
        """The rate, the schedule and the parameters that it was made with."""
        first = {"rate": self.initial_rate, "schedule": self.schedule}
        return super().settings | first

    @property
    def arrays(self) -> list[WeightArray]:
        """The velocities."""
        return self.velocities

    def shape_of(self, w: WeightArray) -> tuple[int, ...]:
        """Return the shape of the velocities of an array of weights."""
        return (w.size,)

    def next_update(self, w: WeightArray) -> tuple[Callable[..., None], list[Any]]:
        """Return the kernel of the next step, and its numbers in the dtype of w."""
        numbers = cast_to_dtype_of(w, self.rate, self.momentum)
        return momentum_step, [*numbers, bool(self.nesterovs_momentum)]

    def end_epoch(self, size: int) -> None:
        """Divide the initial rate by ``(1 + t_)^power_t`` if "invscaling"."""
        super().end_epoch(size)
        if self.schedule == "invscaling":
            self.rate = self.initial_rate / (1 + self.t_) ** self.power_t

    def reduce_rate(self) -> bool:
        """Divide the rate by 5 if "adaptive" and above 1e-6; return whether it was."""
        if self.schedule != "adaptive" or self.rate <= MIN_ADAPTIVE_RATE:
            return False
        self.rate /= ADAPTIVE_DIVISOR
        return True


SOLVERS: dict[str, type[Optimizer]] = {"adam": Adam, "sgd": SGD}


def read_solver_params(solver: str, given: object) -> dict[str, Any]:
    """Return the parameters of a solver that a dict gives, as plain values."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"solver_params must be a dict or None, got {shown(given)}")
    known, read = parameters_of(SOLVERS[solver]), {}
    for name, value in given.items():
        if name not in known:
            raise ValueError(
                f"solver_params has {shown(name)}, which is not a parameter of "
                f"solver={solver!r}: give some of {', '.join(known)}"
            )
        read[name] = known[name].read_as(f'solver_params["{name}"]', value)
    return read
