"""The perceptron against a plain double precision pass and finite differences of it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from sklearn_ltr._core.compile import ThreadTeam, one_blas_thread
from sklearn_ltr._core.networks import MultilayerPerceptron
from sklearn_ltr._core.networks.perceptron import (
    MAX_GRADIENT_SUMS,
    ROWS_PER_TASK,
)
from tests.oracles import networks as oracle

ONE_THREAD = ThreadTeam(1)
N_FEATURES = 3
SHAPES = [(), (1,), (5, 3), (2, 3, 4)]
ACTIVATIONS = ["identity", "logistic", "tanh", "relu"]
#: More tasks than there are sums of gradients, and a last task of few rows.
MANY_ROWS = (MAX_GRADIENT_SUMS + 2) * ROWS_PER_TASK + 3
#: Also one row, less than one task, and one task exactly.
SIZES = [1, 7, ROWS_PER_TASK, ROWS_PER_TASK + 1, MANY_ROWS]

every_activation = pytest.mark.parametrize("activation", ACTIVATIONS)


def perceptron(hidden=(5, 3), activation="tanh", seed=0, n_features=N_FEATURES):
    """A network whose biases are not the zeros that they start from."""
    rng = np.random.default_rng(seed)
    network = MultilayerPerceptron(n_features, hidden, activation, rng)
    for b in network.intercepts:
        b += rng.uniform(-0.5, 0.5, b.shape).astype(np.float32)
    return network


def table(n, seed=1, n_features=N_FEATURES):
    return np.random.default_rng(seed).normal(size=(n, n_features)).astype(np.float32)


def as_float64(network) -> list[np.ndarray]:
    return [w.astype(np.float64) for w in network.parameters]


# --- forward and backward ---------------------------------------------------------


@every_activation
def test_scores_are_those_of_a_plain_pass(activation):
    for hidden in SHAPES:
        network = perceptron(hidden, activation)
        for n in SIZES:
            X = table(n)
            expected = oracle.scores(as_float64(network), X, activation)
            largest = np.abs(expected).max()
            for scores in (network.forward(X), network.predict(X, ONE_THREAD)):
                assert scores.dtype == np.float32
                # about a hundred roundings to single precision
                np.testing.assert_allclose(
                    scores, expected, rtol=0, atol=3e-6 * largest
                )


@every_activation
def test_the_gradient_is_that_of_finite_differences(activation):
    """For C = sum of sin(s_i), whose derivative differs from document to document."""
    for hidden in SHAPES:
        network = perceptron(hidden, activation)
        weights = as_float64(network)
        for n in (1, 7, ROWS_PER_TASK + 1, MANY_ROWS):
            X = table(n)
            dC_ds = np.cos(oracle.scores(weights, X, activation))
            scores = network.forward(X)
            found = network.backward(np.cos(scores.astype(np.float64)))
            ds_dw = oracle.slopes(weights, X, activation)
            assert len(found) == len(network.parameters) == len(ds_dw)
            for g, w, ds in zip(found, network.parameters, ds_dw, strict=True):
                assert (g.shape, g.dtype) == (w.shape, np.float32)
                terms = ds * dC_ds.reshape(-1, *[1] * w.ndim)
                # terms cancel: errors are relative to the sum of their absolute values
                bound = 1e-5 * np.abs(terms).sum(axis=0) + 1e-7
                assert (np.abs(g - terms.sum(axis=0)) <= bound).all()


@every_activation
def test_inputs_and_weights_are_not_changed(activation):
    network, X, dC_ds = perceptron((5, 3), activation), table(9), np.arange(9.0)
    X.flags.writeable = dC_ds.flags.writeable = False
    before = as_float64(network)
    network.predict(X, ONE_THREAD)
    network.forward(X)
    gradient = network.backward(dC_ds)
    for w, old, g in zip(network.parameters, before, gradient, strict=True):
        np.testing.assert_array_equal(w, old)
        assert not np.shares_memory(w, g)


@every_activation
def test_overflow_raises_no_warning(activation):
    # descend() and predict() check that scores are finite
    network, X = perceptron((4, 4), activation), table(9) * np.float32(1e38)
    network.predict(X, ONE_THREAD)
    network.forward(X)
    network.backward(np.full(9, 1e38))


# --- reproducible bits ------------------------------------------------------------


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_number_of_threads_does_not_change_a_bit(activation):
    def all_results(hidden, n, n_threads) -> bytes:
        network = perceptron(hidden, activation, n_features=9)
        X, dC_ds = table(n, n_features=9), np.linspace(-1, 1, n)
        with ThreadTeam(n_threads) as team, one_blas_thread:
            network.set_team(team)
            results = [network.forward(X), *network.backward(dC_ds)]
            results.append(network.predict(X, team))
        return b"".join(result.tobytes() for result in results)

    for hidden in ((), (33, 5)):
        for n in (7, ROWS_PER_TASK + 1, MANY_ROWS):
            found = {all_results(hidden, n, threads) for threads in (1, 2, 3, 16)}
            assert len(found) == 1


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize(
    ("n_features", "hidden"),
    [(5, (7,)), (46, ()), (136, (64, 32))],
    ids=["odd sizes", "linear model", "two hidden layers"],
)
def test_a_score_does_not_depend_on_the_other_rows(activation, n_features, hidden):
    network = perceptron(hidden, activation, n_features=n_features)
    n = ROWS_PER_TASK + 90
    X = table(n, n_features=n_features)
    expected = network.predict(X, ONE_THREAD)

    def assert_same(rows):
        rows = np.atleast_1d(rows)
        scores = network.predict(np.ascontiguousarray(X[rows]), ONE_THREAD)
        np.testing.assert_array_equal(scores, expected[rows])

    for row in (0, 1, 2, 3, 7, ROWS_PER_TASK - 1, ROWS_PER_TASK, n - 1):
        assert_same(row)
    for size in (2, 3, 4, 5, 8, 15, 16, 17, 100, ROWS_PER_TASK + 1):
        assert_same(np.arange(5, 5 + size))
    assert_same(np.random.default_rng(3).permutation(n))
    assert_same(np.r_[np.arange(n), np.arange(n)])
    for offset in (1, 2, 3):  # other alignments in memory
        np.testing.assert_array_equal(
            network.predict(X[offset:], ONE_THREAD), expected[offset:]
        )


# --- weights ----------------------------------------------------------------------


def initial(activation, fan_in=200, fan_out=300, seed=0):
    rng = np.random.default_rng(seed)
    return MultilayerPerceptron(fan_in, (fan_out,), activation, rng).coefs[0]


@pytest.mark.parametrize(
    ("activation", "variance", "expected_kurtosis"),
    [("relu", 2 / 200, 3.0), ("tanh", 2 / (200 + 300), 1.8)],
    ids=["relu: He's normal distribution", "tanh: Glorot's uniform distribution"],
)
def test_initial_weights_are_drawn_from(activation, variance, expected_kurtosis):
    w = initial(activation)
    assert w.shape == (200, 300)
    assert w.dtype == np.float32
    # 60,000 draws: standard errors are 0.3% or less, of the mean 0.4% of a deviation
    assert np.var(w) == pytest.approx(variance, rel=0.03)
    assert abs(w.mean()) < 0.02 * np.sqrt(variance)
    # the fourth moment tells a normal from a uniform distribution
    kurtosis = np.mean(w**4) / np.mean(w**2) ** 2
    assert kurtosis == pytest.approx(expected_kurtosis, rel=0.05)


def test_biases_and_output_weights_start_at_zero_and_the_output_has_no_bias():
    rng = np.random.default_rng(0)
    network = MultilayerPerceptron(3, (4, 2), "relu", rng)
    assert [w.shape for w in network.coefs] == [(3, 4), (4, 2), (2, 1)]
    assert [w.any() for w in network.coefs] == [True, True, False]
    assert not MultilayerPerceptron(3, (), "relu", rng).coefs[0].any()
    assert [b.tolist() for b in network.intercepts] == [[0.0] * 4, [0.0] * 2]


def test_a_pickle_holds_the_weights_but_not_the_last_pass():
    network, X = perceptron(), table(ROWS_PER_TASK)
    size = len(pickle.dumps(network))
    expected = network.predict(X, ONE_THREAD)
    with ThreadTeam(2) as team:
        network.set_team(team)
        network.forward(X)
        pickled = pickle.dumps(network)
    assert len(pickled) == size
    again = pickle.loads(pickled)
    np.testing.assert_array_equal(again.predict(X, ONE_THREAD), expected)
    again.forward(X)
    for one, other in zip(again.parameters, network.parameters, strict=True):
        np.testing.assert_array_equal(one, other)
