"""Tests of networks, with data sets and networks for the tests of their rankers."""

from __future__ import annotations

import warnings
from copy import copy, deepcopy
from dataclasses import dataclass

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.networks import MultilayerPerceptron
from sklearn_ltr.metrics import NDCG
from tests.oracles import networks as oracle

both_rankers = pytest.mark.parametrize(
    "ranker", [RankNetRanker, LambdaRankRanker], ids=["ranknet", "lambdarank"]
)


@dataclass
class Lists:
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray

    def __iter__(self):
        return iter((self.X, self.y))

    def take(self, rows) -> Lists:
        return Lists(self.X[rows], self.y[rows], self.groups[rows])

    def with_queries_without_pairs(self) -> Lists:
        """All, and queries of single documents, and of equal grades."""
        y = np.concatenate([self.y, self.y[:5], np.full(10, 2.0), np.zeros(10)])
        others = np.arange(100, 105), np.repeat([200, 201], 5), np.repeat([300, 301], 5)
        rows = np.r_[: len(self.y), :5, 5:15, 5:15]
        return Lists(self.X[rows], y, np.concatenate([self.groups, *others]))

    def with_pairs(self) -> Lists:
        """The queries that have two different grades."""
        has = {g: np.ptp(self.y[self.groups == g]) > 0 for g in set(self.groups)}
        return self.take([has[g] for g in self.groups])

    @property
    def n_queries(self) -> int:
        return len(set(self.groups))


def draw(n_queries=20, longest=8, n_features=4, seed=0, decimals=16) -> Lists:
    """Interleaved queries, graded by the first feature and noise."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, longest + 1, n_queries)
    groups = rng.permutation(np.repeat(np.arange(n_queries), sizes))
    X = rng.normal(size=(len(groups), n_features)).round(decimals)
    y = np.clip((X[:, 0] + 0.5 * rng.normal(size=len(groups)) + 1).round(), 0, 3)
    return Lists(X, y, groups)


def large() -> Lists:
    """More documents than one task of the perceptron has, in one batch."""
    return draw(50, longest=40, n_features=6, seed=3)


def toy() -> Lists:
    """Queries that one of two features ranks perfectly."""
    rng = np.random.default_rng(0)
    y = np.tile([0, 0, 1, 1, 2, 2], 8)
    X = np.column_stack([rng.normal(size=48), y - 1 + rng.uniform(0, 0.7, 48)])
    return Lists(X, y, np.repeat(np.arange(8), 6))


DATA = draw()
VALIDATION = draw(12, seed=1)
#: NDCG@10 of the feature that the grades depend on; of a random order it is 0.72
BEST_FEATURE = NDCG(10)(DATA.y, DATA.X[:, 0], groups=DATA.groups)
FULL_BATCH = 1000  # a batch size of more queries than there are


def of_val(val: Lists = VALIDATION) -> dict:
    return {"X_val": val.X, "y_val": val.y, "groups_val": val.groups}


def small(ranker, **options):
    """A ranker with parameters for fast training."""
    quick = {
        "hidden_layer_sizes": (5,),
        "alpha": 1e-4,
        "batch_size": 1,
        "max_iter": 4,
        "learning_rate_init": 0.01,
        "n_iter_no_change": 100,
        "random_state": 0,
        "n_jobs": 1,
    }
    return ranker(**(quick | options))


def fitted(ranker, data: Lists = DATA, weight=None, **options):
    one = small(ranker, **options)
    return one.fit(*data, groups=data.groups, sample_weight=weight)


def validated(ranker, data: Lists = DATA, val: Lists = VALIDATION, **options):
    one = small(ranker, **options)
    return one.fit(*data, groups=data.groups, **of_val(val))


#: The step of Burges (2010), w - eta g, with the gradient of all queries.
REPORT = {
    "solver": "sgd",
    "solver_params": {"momentum": 0.0},
    "learning_rate": "constant",
    "alpha": 0.0,
    "batch_size": FULL_BATCH,
    "early_stopping": False,
}


def threads_of_blas() -> list[int]:
    """Number of threads of each BLAS of this process."""
    pools = threadpool_info()
    return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]


def curve(ranker) -> list[float]:
    """Values of training, one for each epoch."""
    name = "loss_curve_" if hasattr(ranker, "loss_curve_") else "train_score_"
    return getattr(ranker, name).tolist()


def model(ranker) -> bytes:
    """The bytes of all weights."""
    return b"".join(w.tobytes() for w in ranker.network_.parameters)


def weights(ranker) -> list[np.ndarray]:
    return [np.array(w, dtype=np.float64) for w in ranker.network_.parameters]


def weights_before(ranker, data: Lists = DATA, **options) -> list[np.ndarray]:
    """Initial weights: steps of 1e-30 do not change them."""
    options |= REPORT | {"learning_rate_init": 1e-30, "max_iter": 1}
    return weights(fitted(ranker, data, **options))


def drawn_perceptron(
    rng, hidden=(5,), activation="tanh", n_features=4
) -> MultilayerPerceptron:
    """A perceptron whose output weights do not start at 0."""
    network = MultilayerPerceptron(n_features, hidden, activation, rng)
    network.coefs[-1][...] = rng.normal(size=network.coefs[-1].shape)
    return network


class Linear:
    """The simplest network of a user: s = X w."""

    def __init__(self, n_features: int = 4) -> None:
        self.w = np.zeros(n_features)

    @property
    def parameters(self):
        return [self.w]

    def forward(self, X):
        self.X = X
        return X @ self.w

    def backward(self, score_gradient):
        return [self.X.T @ score_gradient]


@dataclass
class Update:
    """Input, scores, weights and gradient of one update."""

    X: np.ndarray
    scores: np.ndarray
    weights: list[np.ndarray]
    gradient: list[np.ndarray]


class Recorder:
    """A perceptron that records its updates; copies append to the same list."""

    def __init__(self, hidden=(5,), activation="tanh", n_features=4, seed=0) -> None:
        rng = np.random.default_rng(seed)
        self.inner = drawn_perceptron(rng, hidden, activation, n_features)
        for b in self.inner.intercepts:
            b += rng.uniform(-0.5, 0.5, b.shape).astype(np.float32)
        self.passes: list[Update] = []

    def __deepcopy__(self, memo):
        other = copy(self)
        other.inner = deepcopy(self.inner)
        return other

    @property
    def parameters(self):
        return self.inner.parameters

    def forward(self, X):
        self.seen = X
        self.given = self.inner.forward(X)
        return self.given

    def predict(self, X):
        return self.inner.forward(X)

    def backward(self, score_gradient):
        gradient = self.inner.backward(score_gradient)
        self.passes.append(
            Update(
                self.seen.copy(),
                self.given.astype(np.float64),
                [w.astype(np.float64) for w in self.parameters],
                [g.astype(np.float64) for g in gradient],
            )
        )
        return gradient

    @property
    def updates(self) -> list[Update]:
        """All passes but the first ones, with zero gradients, of check_network."""
        first = 0
        while not any(g.any() for g in self.passes[first].gradient):
            first += 1
        return self.passes[first:]


def recorded(ranker, data: Lists = DATA, weight=None, network=None, **options):
    """Fit a ranker; return it and the updates of its network."""
    network = Recorder() if network is None else network
    one = small(ranker, network=network, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one.fit(*data, groups=data.groups, sample_weight=weight)
    return one, network.updates


def rows_of(update: Update, data: Lists) -> np.ndarray:
    """Rows of the data that were in an update."""
    row = {x.tobytes(): number for number, x in enumerate(data.X.astype(np.float32))}
    return np.array([row[x.tobytes()] for x in update.X])


def assert_gradient(update: Update, pairs, sigma, activation: str, n_units: int):
    """The gradient is the mean over units of sums over pairs, to single precision."""
    slopes = oracle.slopes(update.weights, update.X, activation)
    expected = oracle.gradient(slopes, update.scores, pairs, sigma)
    # the forces of a document cancel: bounds are of the sum of their absolute values
    force = np.zeros(len(update.scores))
    for i, j, _, weight in pairs:
        force[[i, j]] += weight * sigma
    for g, by_pair, by_w in zip(update.gradient, expected, slopes, strict=True):
        bound = np.tensordot(force, np.abs(by_w), 1) / n_units
        assert (np.abs(g - by_pair / n_units) <= 1e-5 * bound + 1e-7).all()
