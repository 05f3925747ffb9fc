"""The perceptron against a plain pass in double precision, and differences of it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sklearn_ltr._compile import ThreadTeam, one_blas_thread
from sklearn_ltr.learners._network import MultilayerPerceptron
from sklearn_ltr.learners._network.perceptron import BLOCK, LANES
from tests.oracles import networks as oracle

ALONE = ThreadTeam(1)
N_FEATURES = 3
SHAPES = [(), (1,), (4,), (5, 3), (2, 3, 4)]
ACTIVATIONS = ["identity", "logistic", "tanh", "relu"]
#: One row, less than a block, its edges, and more blocks than lanes.
SIZES = [1, 7, BLOCK - 1, BLOCK, BLOCK + 1, (LANES + 2) * BLOCK + 3]

every_activation = pytest.mark.parametrize("activation", ACTIVATIONS)
every_shape = pytest.mark.parametrize("hidden", SHAPES, ids=str)
every_size = pytest.mark.parametrize("n", SIZES)


def perceptron(hidden=(5, 3), activation="tanh", seed=0, n_features=N_FEATURES):
    """A network with biases other than the zeros it begins with."""
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
@every_shape
@every_size
def test_scores_are_those_of_a_plain_pass(activation, hidden, n):
    network, X = perceptron(hidden, activation), table(n)
    expected = oracle.scores(as_float64(network), X, activation)
    most = np.abs(expected).max()
    for scores in (network.forward(X), network.predict(X, ALONE)):
        assert scores.dtype == np.float32
        # a hundred or so roundings to single precision
        np.testing.assert_allclose(scores, expected, rtol=0, atol=3e-6 * most)


@every_activation
@every_shape
@pytest.mark.parametrize("n", [1, 7, BLOCK + 1, (LANES + 2) * BLOCK + 3])
def test_the_gradient_is_the_differences_of_a_function_of_the_scores(
    activation, hidden, n
):
    """For C = sum of sin(s_i): its slope differs from document to document."""
    network, X = perceptron(hidden, activation), table(n)
    weights = as_float64(network)
    by_score = np.cos(oracle.scores(weights, X, activation))
    scores = network.forward(X)
    gradient = network.backward(np.cos(scores.astype(np.float64)))
    slopes = oracle.slopes(weights, X, activation)
    assert len(gradient) == len(network.parameters) == len(slopes)
    for found, w, by_w in zip(gradient, network.parameters, slopes, strict=True):
        assert found.shape == w.shape
        assert found.dtype == np.float32
        terms = by_w * by_score.reshape(-1, *[1] * w.ndim)
        # terms cancel: errors are measured by their sum without signs
        bound = 1e-5 * np.abs(terms).sum(axis=0) + 1e-7
        assert (np.abs(found - terms.sum(axis=0)) <= bound).all()


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_gradient_is_the_differences_of_a_cost_of_all_scores(activation):
    """Here C itself is differenced: no derivative by a score is given to the oracle."""
    network, X = perceptron((4, 3), activation), table(9)
    curved = np.random.default_rng(2).normal(size=(9, 9))

    def cost(weights):
        s = oracle.scores(weights, X, activation)
        return s @ curved @ s + np.cos(s).sum()

    s = network.forward(X).astype(np.float64)
    gradient = network.backward((curved + curved.T) @ s - np.sin(s))
    expected = oracle.differences(cost, as_float64(network))
    for found, slope in zip(gradient, expected, strict=True):
        np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-4)


def test_backward_is_about_the_last_forward():
    network = perceptron()
    network.forward(table(20, seed=5))
    network.forward(table(6))
    gradient = network.backward(np.arange(6.0))
    expected = perceptron()
    expected.forward(table(6))
    for one, other in zip(gradient, expected.backward(np.arange(6.0)), strict=True):
        np.testing.assert_array_equal(one, other)


@every_activation
def test_nothing_that_is_passed_is_changed(activation):
    network, X, slope = perceptron((5, 3), activation), table(9), np.arange(9.0)
    X.flags.writeable = slope.flags.writeable = False
    before = as_float64(network)
    network.predict(X, ALONE)
    network.forward(X)
    gradient = network.backward(slope)
    for w, old, g in zip(network.parameters, before, gradient, strict=True):
        np.testing.assert_array_equal(w, old)
        assert not np.shares_memory(w, g)


def test_weights_changed_in_place_are_those_of_the_next_pass():
    network, X = perceptron(), table(9)
    for w in network.parameters:
        w *= 0.5
    expected = oracle.scores(as_float64(network), X, "tanh")
    np.testing.assert_allclose(network.forward(X), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(network.parameters[0], network.coefs[0])
    assert all(
        np.shares_memory(w, again)
        for w, again in zip(network.parameters, network.parameters, strict=True)
    )


def test_a_network_without_hidden_layers_is_linear():
    network, X = perceptron(()), table(50)
    (w,) = network.parameters
    assert network.intercepts == []
    np.testing.assert_allclose(network.forward(X), X @ w[:, 0], rtol=1e-5, atol=1e-6)


@every_activation
def test_numbers_too_large_are_not_warned_of_here(activation):
    # whoever trains looks at the scores; warnings are errors in these tests
    network, X = perceptron((4, 4), activation), table(9) * np.float32(1e38)
    network.predict(X, ALONE)
    network.forward(X)
    network.backward(np.full(9, 1e38))


# --- the same bits ----------------------------------------------------------------


@every_activation
@pytest.mark.parametrize("hidden", [(), (7,), (33, 5)], ids=str)
@every_size
def test_the_number_of_threads_does_not_matter(activation, hidden, n):
    X, slope = table(n, n_features=9), np.linspace(-1, 1, n)

    def everything(n_threads) -> bytes:
        network = perceptron(hidden, activation, n_features=9)
        with ThreadTeam(n_threads) as team, one_blas_thread:
            network.train_with(team)
            parts = [network.forward(X), *network.backward(slope)]
            parts.append(network.predict(X, team))
        return b"".join(part.tobytes() for part in parts)

    assert len({everything(n_threads) for n_threads in (1, 2, 3, 16)}) == 1


@pytest.mark.parametrize("hidden", [(), (1,), (7,), (100,), (64, 32)], ids=str)
@pytest.mark.parametrize("n_features", [1, 5, 46, 136])
@pytest.mark.parametrize("activation", ["tanh", "relu", "logistic"])
def test_a_score_does_not_depend_on_its_company(activation, hidden, n_features):
    network = perceptron(hidden, activation, n_features=n_features)
    n = BLOCK + 90
    X = table(n, n_features=n_features)
    expected = network.predict(X, ALONE)

    def assert_same(rows):
        rows = np.atleast_1d(rows)
        scores = network.predict(np.ascontiguousarray(X[rows]), ALONE)
        np.testing.assert_array_equal(scores, expected[rows])

    for row in (0, 1, 2, 3, 7, BLOCK - 1, BLOCK, n - 1):
        assert_same(row)
    for size in (2, 3, 4, 5, 8, 15, 16, 17, 100, BLOCK + 1):
        assert_same(np.arange(5, 5 + size))
    assert_same(np.random.default_rng(3).permutation(n))
    assert_same(np.arange(n)[::-1])
    assert_same(np.r_[np.arange(n), np.arange(n)])
    # where in memory a row stands
    for offset in (1, 2, 3):
        np.testing.assert_array_equal(
            network.predict(X[offset:], ALONE), expected[offset:]
        )


def test_how_many_threads_blas_may_use_does_not_matter_at_prediction():
    network, X = perceptron((64, 32), "relu", n_features=46), table(700, n_features=46)
    found = set()
    for n_threads in (1, 2, 4):
        with threadpool_limits(n_threads, user_api="blas"):
            found.add(network.predict(X, ALONE).tobytes())
    assert len(found) == 1


# --- weights ----------------------------------------------------------------------


def drawn(activation, fan_in=200, fan_out=300, seed=0):
    rng = np.random.default_rng(seed)
    return MultilayerPerceptron(fan_in, (fan_out,), activation, rng).coefs[0]


@every_activation
def test_first_weights_are_those_of_he_and_of_glorot(activation):
    w = drawn(activation)
    variance = 2 / 200 if activation == "relu" else 2 / (200 + 300)
    assert w.shape == (200, 300)
    assert w.dtype == np.float32
    # 60,000 draws: standard errors are 0.3% or less, of the mean 0.4% of a deviation
    assert np.var(w) == pytest.approx(variance, rel=0.03)
    assert abs(w.mean()) < 0.02 * np.sqrt(variance)
    # the fourth moment tells a normal from a uniform distribution
    kurtosis = np.mean(w**4) / np.mean(w**2) ** 2
    assert kurtosis == pytest.approx(3.0 if activation == "relu" else 1.8, rel=0.05)


def test_first_weights_follow_from_the_generator_alone():
    assert drawn("tanh").tobytes() == drawn("tanh").tobytes()
    assert drawn("tanh").tobytes() != drawn("tanh", seed=1).tobytes()


def test_biases_begin_at_zero_and_the_output_has_none():
    rng = np.random.default_rng(0)
    network = MultilayerPerceptron(3, (4, 2), "relu", rng)
    assert [w.shape for w in network.coefs] == [(3, 4), (4, 2), (2, 1)]
    assert [b.tolist() for b in network.intercepts] == [[0.0] * 4, [0.0] * 2]


def test_a_pickle_holds_the_weights_and_nothing_of_the_last_pass():
    network, X = perceptron(), table(BLOCK)
    size = len(pickle.dumps(network))
    expected = network.predict(X, ALONE)
    with ThreadTeam(2) as team:
        network.train_with(team)
        network.forward(X)
        pickled = pickle.dumps(network)
    assert len(pickled) == size
    again = pickle.loads(pickled)
    np.testing.assert_array_equal(again.predict(X, ALONE), expected)
    again.forward(X)
    for one, other in zip(again.parameters, network.parameters, strict=True):
        np.testing.assert_array_equal(one, other)
