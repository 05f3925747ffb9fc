"""Steps against their formulas, and against those of scikit-learn's MLPRegressor."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from sklearn_ltr.learners._network import SGD, Adam
from tests.oracles import networks as oracle

N_STEPS = 12
every_momentum = pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9, 1.0])
nesterov_or_not = pytest.mark.parametrize("nesterov", [False, True])


def sgd(rate=0.1, momentum=0.9, nesterov=True, schedule="constant", power_t=0.5):
    return SGD(rate, momentum, nesterov, schedule, power_t)


def adam(rate=0.1, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
    return Adam(rate, beta_1, beta_2, epsilon)


class Valley:
    """A function of a matrix with a slope everywhere, of unequal curvature."""

    def __init__(self, shape=(3, 2), seed=0) -> None:
        rng = np.random.default_rng(seed)
        self.start = rng.normal(size=shape)
        self.curvature = rng.uniform(0.1, 2.0, shape)
        self.bottom = rng.normal(size=shape)

    def slope(self, w):
        return self.curvature * (w - self.bottom)


def walk(optimizer, valley, dtype=np.float64, decay=0.0, n_steps=N_STEPS):
    w = valley.start.astype(dtype)
    for _ in range(n_steps):
        optimizer.step([w], [valley.slope(w).astype(dtype)], decay)
    return w


# --- formulas ---------------------------------------------------------------------


@every_momentum
@nesterov_or_not
def test_momentum_follows_its_formula(momentum, nesterov):
    valley = Valley()
    expected = oracle.by_momentum(
        valley.start, valley.slope, [0.1] * N_STEPS, momentum, nesterov
    )
    found = walk(sgd(0.1, momentum, nesterov), valley)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    found = walk(sgd(0.1, momentum, nesterov), valley, np.float32)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@nesterov_or_not
def test_without_momentum_a_step_is_that_of_the_report(nesterov):
    # equation 2: w - eta g, up to one rounding if the two are fused
    valley = Valley()
    found = walk(sgd(0.25, 0.0, nesterov), valley, np.float32, n_steps=1)
    w = valley.start.astype(np.float32)
    expected = w - np.float32(0.25) * valley.slope(w).astype(np.float32)
    np.testing.assert_allclose(found, expected, rtol=3e-7)


@pytest.mark.parametrize(
    ("beta_1", "beta_2", "epsilon"),
    [(0.9, 0.999, 1e-8), (0.0, 0.9, 1e-3), (0.5, 0.0, 0.1), (0.0, 0.0, 1.0)],
)
def test_adam_follows_its_formula(beta_1, beta_2, epsilon):
    valley = Valley()
    expected = oracle.by_adam(
        valley.start, valley.slope, [0.1] * N_STEPS, beta_1, beta_2, epsilon
    )
    found = walk(adam(0.1, beta_1, beta_2, epsilon), valley)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    found = walk(adam(0.1, beta_1, beta_2, epsilon), valley, np.float32)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_first_step_of_adam_is_the_rate_whatever_the_slope():
    w = np.zeros(3)
    adam(0.1).step([w], [np.array([5.0, -1e-3, 1e6])], 0.0)
    np.testing.assert_allclose(w, [-0.1, 0.1, -0.1], rtol=1e-3)


@pytest.mark.parametrize("make", [sgd, adam])
def test_the_penalty_is_on_matrices_alone(make):
    decay, valley = 0.3, Valley()

    class Penalised(Valley):
        def slope(self, w):
            return super().slope(w) + decay * w

    with_decay = walk(make(), valley, decay=decay)
    np.testing.assert_allclose(with_decay, walk(make(), Penalised()), rtol=1e-12)
    flat, flat_valley = walk(make(), Valley((4,)), decay=decay), Valley((4,))
    np.testing.assert_array_equal(flat, walk(make(), flat_valley))


@pytest.mark.parametrize("make", [sgd, adam])
def test_weights_of_several_shapes_are_stepped_each_by_its_own_slope(make):
    valleys = [Valley((2, 3), 1), Valley((4,), 2), Valley((1, 1), 3), Valley((), 4)]
    together, optimizer = [np.array(v.start) for v in valleys], make()
    for _ in range(5):
        slopes = [np.array(v.slope(w)) for v, w in zip(valleys, together, strict=True)]
        optimizer.step(together, slopes, 0.0)
    for w, valley in zip(together, valleys, strict=True):
        alone = np.array(valley.start)
        optimizer = make()
        for _ in range(5):
            optimizer.step([alone], [np.array(valley.slope(alone))], 0.0)
        np.testing.assert_array_equal(w, alone)
        assert (w != valley.start).all()


@pytest.mark.parametrize("make", [sgd, adam])
def test_slopes_are_left_alone_and_weights_are_changed_in_place(make):
    w, g = np.ones((2, 2)), np.full((2, 2), 0.5)
    kept = w
    g.flags.writeable = False
    make().step([w], [g], 0.1)
    assert w is kept
    assert (w < 1).all()


def test_what_is_remembered_of_a_step_is_plain_arrays():
    optimizer, w = adam(), np.ones((2, 3), dtype=np.float32)
    optimizer.step([w], [w], 0.0)
    kept = [*optimizer.means, *optimizer.squares]
    assert [type(a) for a in kept] == [np.ndarray] * 2
    assert all(a.dtype == np.float32 for a in kept)


# --- schedules --------------------------------------------------------------------


@pytest.mark.parametrize("power_t", [0.0, 0.5, 2.0])
def test_inverse_scaling_divides_the_first_rate(power_t):
    optimizer = sgd(0.3, schedule="invscaling", power_t=power_t)
    for size, n_seen in ((20, 20), (5, 25), (100, 125)):
        optimizer.end_epoch(size)
        assert optimizer.rate == pytest.approx(0.3 / (1 + n_seen) ** power_t)
    assert not optimizer.try_smaller_steps()


@pytest.mark.parametrize("schedule", ["constant", "adaptive"])
def test_other_schedules_do_not_fall_with_time(schedule):
    optimizer = sgd(0.3, schedule=schedule)
    optimizer.end_epoch(1000)
    assert optimizer.rate == 0.3


def test_an_adaptive_rate_falls_by_five_down_to_a_millionth():
    optimizer, rates = sgd(1e-3, schedule="adaptive"), []
    while optimizer.try_smaller_steps():
        rates.append(optimizer.rate)
    np.testing.assert_allclose(rates, 1e-3 / 5.0 ** np.arange(1, 6))
    assert rates[-2] > 1e-6 >= rates[-1]


def test_adam_has_no_schedule():
    optimizer = adam(0.3)
    optimizer.end_epoch(1000)
    assert optimizer.rate == 0.3
    assert not optimizer.try_smaller_steps()


# --- beside scikit-learn ----------------------------------------------------------


class LeastSquares:
    """What an MLPRegressor without hidden layers minimises, all rows in one batch."""

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
        """First weights: a step of 1e-300 moves nothing."""
        peer = self.fit(1, solver="sgd", learning_rate_init=1e-300)
        return [peer.coefs_[0].copy(), peer.intercepts_[0].copy()]

    def slopes(self, w, b) -> list[np.ndarray]:
        """Of half the mean square, without the penalty."""
        error = (self.X @ w)[:, 0] + b - self.y
        return [self.X.T @ error[:, None] / len(error), error.mean(keepdims=True)]

    def step(self, optimizer, weights) -> None:
        n = len(self.y)
        optimizer.step(weights, self.slopes(*weights), self.alpha / n)

    def assert_alike(self, weights, peer) -> None:
        start = self.start()
        for w, theirs, before in zip(
            weights, (peer.coefs_[0], peer.intercepts_[0]), start, strict=True
        ):
            np.testing.assert_allclose(w, theirs, rtol=1e-11, atol=1e-13)
            assert np.abs(theirs - before).min() > 1e-4  # they did move


@every_momentum
@nesterov_or_not
@pytest.mark.parametrize("schedule", ["constant", "invscaling"])
def test_sgd_goes_the_way_of_mlp_regressor(momentum, nesterov, schedule):
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
    problem.assert_alike(weights, peer)


@pytest.mark.parametrize(
    ("beta_1", "beta_2", "epsilon"), [(0.9, 0.999, 1e-8), (0.3, 0.5, 1e-2)]
)
def test_adam_goes_the_way_of_mlp_regressor(beta_1, beta_2, epsilon):
    problem = LeastSquares()
    weights, optimizer = problem.start(), adam(0.05, beta_1, beta_2, epsilon)
    for _ in range(10):
        problem.step(optimizer, weights)
    peer = problem.fit(
        10, solver="adam", learning_rate_init=0.05, beta_1=beta_1, beta_2=beta_2,
        epsilon=epsilon,
    )  # fmt: skip
    problem.assert_alike(weights, peer)


def test_an_adaptive_rate_falls_as_often_as_that_of_mlp_regressor():
    """No epoch is better by a tolerance of 1e9: its patience ends every second one."""
    problem = LeastSquares()
    peer = problem.fit(
        100, solver="sgd", learning_rate="adaptive", learning_rate_init=0.05,
        momentum=0.0, tol=1e9, n_iter_no_change=1,
    )  # fmt: skip
    weights, optimizer, n_epochs = problem.start(), sgd(0.05, 0.0, False, "adaptive"), 0
    for n_epochs in range(1, 100):
        problem.step(optimizer, weights)
        patience_ends = n_epochs >= 3 and n_epochs % 2 == 1
        if patience_ends and not optimizer.try_smaller_steps():
            break
    assert n_epochs == peer.n_iter_ < 100
    problem.assert_alike(weights, peer)
