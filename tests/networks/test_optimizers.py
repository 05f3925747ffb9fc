"""Optimizer steps against their formulas and against scikit-learn's MLPRegressor."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from sklearn_ltr import RankNetRanker
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr._core.networks.optimizers import (
    SGD,
    SOLVERS,
    Adam,
    adam_step,
    momentum_step,
    parameters_of,
    read_solver_params,
)

N_STEPS = 12
nesterov_or_not = pytest.mark.parametrize(
    "nesterov", [False, True], ids=["classical momentum", "Nesterov's momentum"]
)


def sgd(rate=0.1, momentum=0.9, nesterov=True, schedule="constant", power_t=0.5):
    return SGD(rate, schedule, momentum, nesterov, power_t)


def adam(rate=0.1, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
    return Adam(rate, beta_1, beta_2, epsilon)


both_optimizers = pytest.mark.parametrize("make", [sgd, adam], ids=["SGD", "Adam"])


class Quadratic:
    """A quadratic function of an array of weights, of unequal curvature."""

    def __init__(self, shape=(3, 2), seed=0) -> None:
        rng = np.random.default_rng(seed)
        self.start = rng.normal(size=shape)
        self.curvature = rng.uniform(0.1, 2.0, shape)
        self.minimum = rng.normal(size=shape)

    def gradient(self, w):
        return self.curvature * (w - self.minimum)


def minimize(optimizer, cost, dtype=np.float64):
    w = cost.start.astype(dtype)
    for _ in range(N_STEPS):
        optimizer.step([w], [cost.gradient(w).astype(dtype)], 0.0)
    return w


# --- arrays -----------------------------------------------------------------------


@both_optimizers
def test_each_array_of_weights_is_updated_by_its_own_gradient(make):
    shapes = [(2, 3), (4,), (1, 1), ()]
    costs = [Quadratic(shape, seed) for seed, shape in enumerate(shapes)]
    together, optimizer = [np.array(cost.start) for cost in costs], make()
    for _ in range(N_STEPS):
        gradients = [
            np.array(cost.gradient(w)) for cost, w in zip(costs, together, strict=True)
        ]
        optimizer.step(together, gradients, 0.0)
    for w, cost in zip(together, costs, strict=True):
        np.testing.assert_array_equal(w, minimize(make(), cost))
        assert (w != cost.start).all()
        single = minimize(make(), cost, np.float32)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, w, rtol=1e-4, atol=1e-5)


@both_optimizers
def test_gradients_may_be_other_arrays_and_are_not_changed(make):
    g = np.random.default_rng(0).normal(size=(4, 3))
    read_only = g.copy()
    read_only.flags.writeable = False
    unaligned = np.empty(g.nbytes + 1, dtype=np.uint8)[1:].view(g.dtype)
    unaligned = unaligned.reshape(g.shape)
    unaligned[...] = g
    assert not unaligned.flags.aligned
    expected = np.ones((4, 3))
    make().step([expected], [g], 0.1)
    for other in (
        g.tolist(),
        read_only,
        unaligned,
        np.asfortranarray(g),
        np.repeat(g, 2, axis=-1)[..., ::2],
        g.astype(g.dtype.newbyteorder(">")),
    ):
        w = np.ones((4, 3))
        make().step([w], [other], 0.1)
        np.testing.assert_array_equal(w, expected)
        np.testing.assert_array_equal(other, g)
    if not INTERPRETED:  # a kernel is compiled once for each precision
        kernel = momentum_step if make is sgd else adam_step
        make().step([np.ones(3, np.float32)], [np.ones(3, np.float32)], 0.1)
        compiled = [str(signature[0].dtype) for signature in kernel.signatures]
        assert sorted(compiled) == ["float32", "float64"]


# --- parameters -------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
BAD = {
    "adam": {
        "beta_1": (-0.1, 1, 1.1, NAN, None, "0.9"),
        "beta_2": (-0.1, 1, 1.1, NAN, None, "0.9"),
        "epsilon": (0, -1.0, 1e-60, INF),  # 1e-60 is zero in single precision
        "momentum": (0.9,),  # of "sgd"
        "rate": (0.1,),  # an attribute
    },
    "sgd": {
        "momentum": (-0.1, 1.1, NAN, None, "0.9"),
        "nesterovs_momentum": (None, "no", 0.5),
        "power_t": (-0.1, 10.1, INF, NAN, None),
        "beta_1": (0.9,),
        "schedule": ("constant",),
    },
}


@pytest.mark.parametrize("solver", BAD)
def test_a_parameter_that_a_solver_has_not_or_out_of_its_range_is_refused(solver):
    for name, values in BAD[solver].items():
        for value in values:
            with pytest.raises(
                (ValueError, TypeError), match=f"^solver_params.*{name}"
            ):
                read_solver_params(solver, {name: value})
    for no_dict in ("momentum", 0.9, [("momentum", 0.5)], {"momentum"}):
        with pytest.raises(TypeError, match="^solver_params must be a dict or None"):
            read_solver_params(solver, no_dict)


def test_errors_of_solver_params_say_what_is_possible():
    for params, message in (
        ({"momentum": 0.9},
         "solver_params has 'momentum', which is not a parameter of solver='adam': "
         "give some of beta_1, beta_2, epsilon"),
        ({"beta_1": 1}, 'solver_params["beta_1"] must be a number in [0, 1), got 1'),
    ):  # fmt: skip
        with pytest.raises(ValueError) as refused:
            RankNetRanker(solver_params=params).fit([[0], [1]], pairs=[[0, 1]])
        assert str(refused.value) == message


def test_the_parameters_of_a_solver_are_those_of_mlp_regressor():
    theirs = MLPRegressor().get_params()
    for solver, cls in SOLVERS.items():
        assert read_solver_params(solver, None) == read_solver_params(solver, {}) == {}
        known = {name: theirs[name] for name in parameters_of(cls)}
        assert read_solver_params(solver, known) == known
        assert cls(0.1, **known).settings == cls(0.1).settings
    read = read_solver_params("sgd", {"momentum": np.float32(0.5), "power_t": 1})
    assert [type(value) for value in read.values()] == [float, float]


# --- schedules --------------------------------------------------------------------


def test_other_rates_do_not_change_with_time_and_only_an_adaptive_one_is_reduced():
    constant, adaptive = (sgd(0.3, schedule=name) for name in ("constant", "adaptive"))
    for optimizer in (constant, adaptive, adam(0.3)):
        optimizer.end_epoch(1000)
        assert optimizer.rate == 0.3
        assert optimizer.reduce_rate() == (optimizer is adaptive)
        assert (optimizer.rate == 0.3) == (optimizer is not adaptive)


# --- against scikit-learn ---------------------------------------------------------


class LeastSquares:
    """The cost of an MLPRegressor without hidden layers, all rows in one batch."""

    alpha = 0.5

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.X, self.y = rng.normal(size=(9, 3)), rng.normal(size=9)

    def fit(self, max_iter, **options) -> MLPRegressor:
        peer = MLPRegressor(
            hidden_layer_sizes=(),
            batch_size=len(self.y),
            shuffle=False,
            alpha=self.alpha,
            max_iter=max_iter,
            random_state=0,
            **({"tol": 0.0, "n_iter_no_change": 1000} | options),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return peer.fit(self.X, self.y)

    def start(self) -> list[np.ndarray]:
        """Initial weights: steps of 1e-300 do not change them."""
        peer = self.fit(1, solver="sgd", learning_rate_init=1e-300)
        return [peer.coefs_[0].copy(), peer.intercepts_[0].copy()]

    def gradient(self, w, b) -> list[np.ndarray]:
        """Gradient of half the mean squared error, without the penalty."""
        error = (self.X @ w)[:, 0] + b - self.y
        return [self.X.T @ error[:, None] / len(error), error.mean(keepdims=True)]

    def step(self, optimizer, weights) -> None:
        n = len(self.y)
        optimizer.step(weights, self.gradient(*weights), self.alpha / n)

    def assert_same_weights(self, weights, peer) -> None:
        start = self.start()
        for w, theirs, before in zip(
            weights, (peer.coefs_[0], peer.intercepts_[0]), start, strict=True
        ):
            np.testing.assert_allclose(w, theirs, rtol=1e-11, atol=1e-13)
            assert np.abs(theirs - before).min() > 1e-4  # they did move


@nesterov_or_not
@pytest.mark.parametrize(
    ("momentum", "schedule"),
    [(0.0, "constant"), (0.9, "invscaling")],
    ids=["constant rate", "inversely scaled rate"],
)
def test_sgd_trains_the_same_weights_as_mlp_regressor(momentum, nesterov, schedule):
    problem = LeastSquares()
    weights = problem.start()
    optimizer = sgd(0.05, momentum, nesterov, schedule, power_t=0.4)
    for _ in range(10):
        problem.step(optimizer, weights)
        optimizer.end_epoch(len(problem.y))
    peer = problem.fit(
        10, solver="sgd", learning_rate_init=0.05, momentum=momentum,
        nesterovs_momentum=nesterov, learning_rate=schedule, power_t=0.4,
    )  # fmt: skip
    problem.assert_same_weights(weights, peer)


def test_adam_trains_the_same_weights_as_mlp_regressor():
    problem = LeastSquares()
    weights, optimizer = problem.start(), adam(0.05, 0.3, 0.5, 1e-2)
    for _ in range(10):
        problem.step(optimizer, weights)
    peer = problem.fit(
        10, solver="adam", learning_rate_init=0.05, beta_1=0.3, beta_2=0.5,
        epsilon=1e-2,
    )  # fmt: skip
    problem.assert_same_weights(weights, peer)


def test_an_adaptive_rate_is_reduced_as_often_as_that_of_mlp_regressor():
    """No epoch improves by the tolerance of 1e9, so the rate falls every second one."""
    problem = LeastSquares()
    peer = problem.fit(
        100, solver="sgd", learning_rate="adaptive", learning_rate_init=0.05,
        momentum=0.0, tol=1e9, n_iter_no_change=1,
    )  # fmt: skip
    weights, optimizer, n_epochs = problem.start(), sgd(0.05, 0.0, False, "adaptive"), 0
    for n_epochs in range(1, 100):
        problem.step(optimizer, weights)
        stalled = n_epochs >= 3 and n_epochs % 2 == 1
        if stalled and not optimizer.reduce_rate():
            break
    assert n_epochs == peer.n_iter_ < 100
    problem.assert_same_weights(weights, peer)
