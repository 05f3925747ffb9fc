"""A PyTorch module is trained like the perceptron, and can be pickled and cloned."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_ltr import LambdaRankRanker, RankNetRanker, TorchNetwork
from sklearn_ltr._core.networks import MultilayerPerceptron
from sklearn_ltr._core.networks.network import PREDICTION_BATCH

torch = pytest.importorskip("torch")
nn = torch.nn

N_FEATURES = 5
HIDDEN = (8, 4)
MODULES = {"relu": nn.ReLU, "tanh": nn.Tanh, "logistic": nn.Sigmoid}
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
devices = pytest.mark.parametrize(
    "device", ["cpu", pytest.param("cuda", marks=needs_gpu)]
)


def table(n: int, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(n, N_FEATURES))
    return drawn.astype(np.float32)


def lists(n_queries: int = 30) -> dict:
    """Queries of 2 to 12 documents, graded 0 to 3 by the first column and noise."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(n_queries), rng.integers(2, 13, n_queries))
    X = table(len(groups))
    noisy = X[:, 0] + 0.3 * rng.normal(size=len(X))
    return {"X": X, "y": np.clip(noisy.round() + 1, 0, 3), "groups": groups}


DATA = lists()


def perceptron(activation: str = "relu", seed: int = 0) -> MultilayerPerceptron:
    network = MultilayerPerceptron(
        N_FEATURES, HIDDEN, activation, np.random.default_rng(seed)
    )
    for b in network.intercepts:  # zero biases would not change the scores
        b[...] = np.random.default_rng(7).normal(size=b.shape)
    network.coefs[-1][...] = np.random.default_rng(8).normal(size=(HIDDEN[-1], 1))
    return network


def same_in_torch(network: MultilayerPerceptron):
    """The same network of PyTorch's layers, whose weights are (fan_out, fan_in)."""
    layers = []
    for w, b in zip(network.coefs, network.intercepts, strict=False):
        layer = nn.Linear(*w.shape)
        layer.weight.data = torch.tensor(w.T)
        layer.bias.data = torch.tensor(b)
        layers += [layer, MODULES[network.activation]()]
    last = nn.Linear(len(network.coefs[-1]), 1, bias=False)
    last.weight.data = torch.tensor(network.coefs[-1].T)
    return nn.Sequential(*layers, last)


def linear(**options):
    torch.manual_seed(0)
    return nn.Linear(N_FEATURES, 1, **options)


def ranker(network, kind=LambdaRankRanker, **options):
    settings = {"max_iter": 3, "random_state": 0, "batch_size": 4, "n_jobs": 1}
    return kind(network=network, **(settings | options))


class Scores(nn.Module):
    """A function of the scores of a linear layer."""

    def __init__(self, change) -> None:
        super().__init__()
        self.layer, self.change = linear(), change

    def forward(self, X):
        return self.change(self.layer(X))


# --- the same as the perceptron ---------------------------------------------------


@devices
@pytest.mark.parametrize("activation", MODULES)
def test_scores_and_gradient_are_those_of_the_perceptron(activation, device):
    ours = perceptron(activation)
    theirs = TorchNetwork(same_in_torch(ours), device)
    X, dC_ds = table(700), np.random.default_rng(2).normal(size=700)
    expected = ours.forward(X)
    # sums of 700 products in single precision, in another order
    np.testing.assert_allclose(theirs.forward(X), expected, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(theirs.predict(X), expected, rtol=2e-5, atol=2e-5)
    w1, w2, w3, b1, b2 = ours.backward(dC_ds)
    by_layer = [w1.T, b1, w2.T, b2, w3.T]
    got = theirs.backward(dC_ds)
    assert [g.dtype for g in got] == [np.float32] * 5
    for ours_g, theirs_g in zip(by_layer, got, strict=True):
        np.testing.assert_allclose(theirs_g, ours_g, rtol=1e-4, atol=1e-4)


class Started(MultilayerPerceptron):
    """The perceptron with given initial weights, passed as a network of the user."""

    def __init__(self, network: MultilayerPerceptron) -> None:
        self.__setstate__(deepcopy(network.__getstate__()))


@devices
@pytest.mark.parametrize(
    ("kind", "solver"),
    [(LambdaRankRanker, "adam"), (RankNetRanker, "sgd")],
    ids=["LambdaRank by Adam", "RankNet by SGD"],
)
def test_a_ranker_learns_the_same_scores_with_either(kind, solver, device):
    start = perceptron("tanh")
    module = same_in_torch(start)
    options = {"kind": kind, "solver": solver, "alpha": 0.1, "max_iter": 5}
    ours = ranker(Started(start), **options).fit(**DATA)
    theirs = ranker(TorchNetwork(module, device), **options).fit(**DATA)
    before = start.forward(DATA["X"])
    learned = ours.predict(DATA["X"])
    assert np.abs(learned - before).max() > 0.02  # far more than what may differ
    np.testing.assert_allclose(theirs.predict(DATA["X"]), learned, atol=2e-5)


# --- what a module may be ---------------------------------------------------------


def test_scores_may_have_one_or_two_dimensions():
    for change in (lambda s: s, lambda s: s[:, 0]):
        network = TorchNetwork(Scores(change))
        assert network.forward(table(6)).shape == (6,)
        for n in (6, 1, 0):
            assert network.predict(table(n)).shape == (n,)


def test_weights_changed_in_place_are_used_in_the_next_pass():
    network = TorchNetwork(linear())
    X = table(6)
    before = network.forward(X)
    weight, bias = network.parameters
    assert weight.dtype == bias.dtype == np.float32
    weight *= 2
    bias[...] = 1
    doubled = 2 * (before - linear().bias.item()) + 1
    np.testing.assert_allclose(network.forward(X), doubled, rtol=1e-5)
    np.testing.assert_allclose(network.predict(X), doubled, rtol=1e-5)
    np.testing.assert_array_equal(network.module.weight.detach().numpy(), weight)


def test_parameters_that_require_no_gradient_are_not_trained():
    first, last = nn.Linear(N_FEATURES, 4), nn.Linear(4, 1, bias=False)
    first.requires_grad_(False)
    network = TorchNetwork(nn.Sequential(first, nn.Tanh(), last))
    assert [w.shape for w in network.parameters] == [(1, 4)]
    fitted = ranker(network).fit(**DATA).network_.module
    assert torch.equal(fitted[0].weight, first.weight)
    assert not torch.equal(fitted[2].weight, last.weight)


def test_the_gradient_of_an_unused_parameter_is_zero():
    module = Scores(lambda s: s)
    module.unused = nn.Parameter(torch.ones(3, 2))
    network = TorchNetwork(module)
    network.forward(table(4))
    unused, weight, bias = network.backward(np.ones(4))
    np.testing.assert_array_equal(unused, np.zeros((3, 2), dtype=np.float32))
    np.testing.assert_allclose(weight[0], table(4).sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(bias, [4])


@devices
def test_dropout_is_on_in_training_and_off_at_prediction(device):
    module = nn.Sequential(nn.Linear(N_FEATURES, 50), nn.Dropout(0.5), nn.Linear(50, 1))
    network = TorchNetwork(module, device)
    X = table(20)
    assert not np.array_equal(network.forward(X), network.forward(X))
    np.testing.assert_array_equal(network.predict(X), network.predict(X))


@devices
def test_running_means_are_updated_in_training_and_used_at_prediction(device):
    module = nn.Sequential(nn.BatchNorm1d(N_FEATURES), linear())
    shifted = DATA | {"X": DATA["X"] * 3 + 10}
    fitted = ranker(TorchNetwork(module, device), max_iter=8).fit(**shifted)
    norm = fitted.network_.module[0]
    means = norm.running_mean.cpu().numpy()
    np.testing.assert_allclose(means, shifted["X"].mean(axis=0), atol=1.0)
    # a document's score does not depend on the other rows
    together, alone = fitted.predict(shifted["X"]), fitted.predict(shifted["X"][:1])
    np.testing.assert_allclose(alone, together[:1], rtol=1e-5)


def test_prediction_runs_in_batches_of_rows():
    seen = []
    module = Scores(lambda s: (seen.append((len(s), s.requires_grad)), s)[1])
    X = table(2 * PREDICTION_BATCH + 1)
    scores = TorchNetwork(module).predict(X)
    assert seen == [(PREDICTION_BATCH, False), (PREDICTION_BATCH, False), (1, False)]
    with torch.no_grad():
        expected = module.layer(torch.tensor(X))[:, 0].numpy()
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_a_table_is_not_changed_and_may_be_read_only():
    X = table(10)
    before = X.copy()
    X.flags.writeable = False
    module = nn.Sequential(nn.ReLU(inplace=True), linear())
    network = TorchNetwork(module)
    network.forward(X)
    network.predict(X)
    np.testing.assert_array_equal(X, before)


def test_forward_computes_gradients_even_under_no_grad():
    network = TorchNetwork(linear())
    with torch.no_grad():
        network.forward(table(4))
    assert np.abs(network.backward(np.ones(4))[0]).max() > 0
    assert all(p.grad is None for p in network.module.parameters())


# --- pickled, cloned, moved -------------------------------------------------------


@devices
@pytest.mark.parametrize("used", [False, True], ids=["new", "used"])
def test_a_pickled_network_scores_the_same_and_can_be_trained(used, device):
    network = TorchNetwork(same_in_torch(perceptron()), device)
    X = table(9)
    if used:
        network.forward(X)  # keeps a graph, which cannot be pickled
        network.parameters[0][...] *= 3
    for copied in (pickle.loads(pickle.dumps(network)), deepcopy(network)):
        assert str(copied.device) == device
        np.testing.assert_array_equal(copied.predict(X), network.predict(X))
        copied.forward(X)
        copied.backward(np.ones(9))
        copied.parameters[0][...] = 0
        assert network.parameters[0].any()
        assert copied.predict(X).std() < network.predict(X).std()


@devices
def test_a_fitted_ranker_is_pickled_and_cloned(device):
    fitted = ranker(TorchNetwork(same_in_torch(perceptron()), device)).fit(**DATA)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(DATA["X"]), fitted.predict(DATA["X"]))
    cloned = clone(fitted)
    assert not hasattr(cloned, "network_")
    assert cloned.network is not fitted.network
    np.testing.assert_array_equal(
        cloned.fit(**DATA).predict(DATA["X"]), fitted.predict(DATA["X"])
    )


# --- errors -----------------------------------------------------------------------

BAD_SCORES = {
    "two columns": (
        lambda s: s.expand(-1, 2),
        ValueError,
        r"one score for each row.*\(6, 2\)",
    ),
    "one score for all rows": (
        lambda s: s.sum(),
        ValueError,
        r"one score for each row.*got shape \(\)",
    ),
    "too few scores": (
        lambda s: s[:3],
        ValueError,
        r"one score for each row.*\(3, 1\)",
    ),
    "one row of scores": (lambda s: s.reshape(1, -1), ValueError, r"\(1, 6\)"),
    "three dimensions": (lambda s: s[:, :, None], ValueError, r"\(6, 1, 1\)"),
    "a tuple": (
        lambda s: (s, s),
        TypeError,
        "must return a tensor of scores, got tuple",
    ),
    "detached": (lambda s: s.detach(), ValueError, "do not depend on its parameters"),
}


@pytest.mark.parametrize(
    ("change", "error", "message"), BAD_SCORES.values(), ids=BAD_SCORES
)
def test_invalid_scores_are_refused(change, error, message):
    network = TorchNetwork(Scores(change))
    with pytest.raises(error, match=message):
        network.forward(table(6))
    if "parameters" not in message:
        with pytest.raises(error, match=message):
            network.predict(table(6))


def test_an_object_that_is_no_module_is_refused():
    for module in (None, nn.Linear, lambda X: X, np.ones(3)):
        with pytest.raises(TypeError, match=r"module must be a torch\.nn\.Module"):
            TorchNetwork(module)


def test_a_module_without_trainable_parameters_is_refused():
    for module in (nn.ReLU(), linear().requires_grad_(False)):
        with pytest.raises(ValueError, match="requires a gradient: set"):
            TorchNetwork(module)


def test_double_precision_is_refused():
    with pytest.raises(ValueError, match=r"'weight' .* torch\.float64.*module\.float"):
        TorchNetwork(linear(dtype=torch.float64))


def test_backward_needs_a_forward():
    network = TorchNetwork(linear())
    with pytest.raises(RuntimeError, match="needs a forward"):
        network.backward(np.ones(3))
    network.forward(table(3))
    network.backward(np.ones(3))
    with pytest.raises(RuntimeError, match="needs a forward"):
        network.backward(np.ones(3))


def test_scores_that_are_not_finite_raise_an_error():
    module = Scores(lambda s: s * torch.inf)
    with pytest.raises(ValueError, match="diverged"):
        ranker(TorchNetwork(module)).fit(**DATA)
