"""Networks of the user: a copy is trained, and invalid ones are refused by name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from tests.networks import (
    BEST_FEATURE,
    DATA,
    REPORT,
    VALIDATION,
    Linear,
    both_rankers,
    curve,
    drawn_perceptron,
    fitted,
    model,
    of_val,
    small,
    validated,
    weights,
)

NAN, INF = float("nan"), float("inf")


# --- training ---------------------------------------------------------------------


class Deep:
    """Double precision, with one 0-dimensional and one unused parameter."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.W, self.v = rng.normal(size=(4, 3)), rng.normal(size=3)
        self.c, self.unused = np.array(1.0), np.ones((2, 2))

    @property
    def parameters(self):
        return (self.W, self.v, self.c, self.unused)

    def forward(self, X):
        self.X, self.h = X, np.tanh(X @ self.W)
        self.s = self.h @ self.v
        return self.c * self.s

    def backward(self, g):
        d = (self.c * g)[:, None] * self.v * (1 - self.h**2)
        return [
            self.X.T @ d,
            self.c * (self.h.T @ g),
            np.array(self.s @ g),
            np.zeros((2, 2)),
        ]


def with_strided_read_only_weights():
    own = Linear()
    own.w = np.zeros(8)[::2]
    own.w.flags.writeable = False
    return own


@pytest.mark.parametrize(
    ("ranker", "solver", "make"),
    [
        (RankNetRanker, "adam", Linear),
        (RankNetRanker, "sgd", Deep),
        (LambdaRankRanker, "adam", Deep),
        (LambdaRankRanker, "sgd", with_strided_read_only_weights),
    ],
)
def test_a_copy_of_the_users_network_is_trained(ranker, solver, make):
    own = make()
    before = pickle.dumps(own)
    one = fitted(
        ranker, network=own, solver=solver, max_iter=40, learning_rate_init=0.02
    )
    assert pickle.dumps(own) == before
    assert one.network is own
    assert type(one.network_) is type(own)
    for w, initial in zip(one.network_.parameters, own.parameters, strict=True):
        assert (w.shape, w.dtype) == (initial.shape, initial.dtype)
    assert np.abs(one.network_.parameters[0] - own.parameters[0]).min() > 1e-3
    assert one.score(*DATA, groups=DATA.groups) > 0.99 * BEST_FEATURE
    expected = one.network_.forward(DATA.X.astype(np.float32))
    np.testing.assert_array_equal(one.predict(DATA.X), expected)
    assert one.predict(DATA.X).dtype == np.float64


@both_rankers
def test_a_linear_network_learns_the_same_weights_as_the_perceptron(ranker):
    """From the same initial weights, in double precision."""
    options = REPORT | {"max_iter": 5, "batch_size": 2, "learning_rate_init": 0.1}
    perceptron = drawn_perceptron(np.random.default_rng(0), hidden=())
    own = Linear()
    own.w = perceptron.coefs[0][:, 0].astype(np.float64)
    one = fitted(ranker, network=own, **options)
    other = fitted(ranker, network=perceptron, **options)
    np.testing.assert_allclose(one.network_.w, weights(other)[0][:, 0], rtol=1e-4)
    np.testing.assert_allclose(curve(one), curve(other), rtol=1e-4)


@both_rankers
def test_a_users_network_works_with_early_stopping_pickle_clone_and_partial_fit(ranker):
    one = validated(
        ranker, network=Linear(), max_iter=40, n_iter_no_change=3, tol=0.0,
        learning_rate_init=0.2,
    )  # fmt: skip
    scores = one.validation_score_
    assert one.score(*VALIDATION, groups=VALIDATION.groups) == max(scores)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(DATA.X), one.predict(DATA.X))
    again.partial_fit(*DATA, groups=DATA.groups)
    one.partial_fit(*DATA, groups=DATA.groups)
    np.testing.assert_array_equal(again.network_.w, one.network_.w)
    other = clone(one)
    assert not hasattr(other, "network_")
    assert isinstance(other.network, Linear)
    other.fit(*DATA, groups=DATA.groups, **of_val())
    # training starts from the network's weights
    warm = fitted(ranker, network=other.network_, max_iter=1, learning_rate_init=1e-9)
    np.testing.assert_allclose(warm.network_.w, other.network_.w, rtol=1e-6)


def test_scores_come_from_predict_of_a_network_that_has_it():
    class Dropout(Linear):
        """A network whose forward pass differs between training and prediction."""

        def forward(self, X):
            return super().forward(X) + 1.0

        def predict(self, X):
            return X @ self.w + 7.0

    one = fitted(RankNetRanker, network=Dropout())
    expected = DATA.X.astype(np.float32) @ one.network_.w + 7.0
    np.testing.assert_allclose(one.predict(DATA.X), expected, rtol=1e-6)


def test_a_network_gets_float32_rows_and_may_return_lists_of_other_floats():
    seen = set()

    class Curious(Linear):
        def __init__(self):
            self.w = np.zeros(4, dtype=np.float32)

        def forward(self, X):
            seen.add((X.dtype, X.flags.c_contiguous))
            return super().forward(X).astype(np.float16).tolist()

        def backward(self, score_gradient):
            return [super().backward(score_gradient)[0].tolist()]

    one = fitted(LambdaRankRanker, network=Curious())
    assert one.network_.w.dtype == np.float32
    assert one.network_.w.all()
    assert one.predict(DATA.X).dtype == np.float64
    assert seen == {(np.dtype(np.float32), True)}


# --- invalid networks -------------------------------------------------------------


def altered(**members):
    """A class derived from Linear, with other members."""
    return type("Altered", (Linear,), members)


def with_weights(weights):
    def start(self):
        self.w = weights

    def forward(self, X):
        self.X = X
        return X @ np.asarray(self.w).ravel()[:4]

    return altered(__init__=start, forward=forward)


def forward_to(scores):
    def forward(self, X):
        self.X = X
        return scores(X @ self.w)

    return altered(forward=forward)()


NO_NETWORKS = {
    "a string": ("mlp", "network.*str has no forward"),
    "an object": (object(), "network.*object has no forward"),
    "a class": (Linear, "network.*class"),
    "no backward": (
        type("NoBack", (), {"forward": 1, "parameters": []})(),
        "network.*backward",
    ),
    "parameters is None": (altered(parameters=None)(), "network.*NoneType"),
    "parameters is a method": (
        altered(parameters=lambda self: [self.w])(),
        r"network\.parameters.*method",
    ),
    "parameters is a dict": (
        altered(parameters=property(lambda self: {"w": self.w}))(),
        "network.*dict",
    ),
    "parameters returns copies": (
        altered(parameters=property(lambda self: [self.w.copy()]))(),
        "network.*copy",
    ),
    "integer weights": (with_weights(np.zeros(4, dtype=int))(), "network.*int64"),
    "half precision": (with_weights(np.zeros(4, np.float16))(), "network.*float16"),
    "a list of weights": (with_weights([0.0] * 4)(), "network.*list"),
    "weights in Fortran order": (
        with_weights(np.zeros((2, 4)).T)(),
        "network.*contiguous",
    ),
    "backward returns None": (
        altered(backward=lambda self, g: None)(),
        r"network\.backward.*None",
    ),
    "backward returns too few gradients": (
        altered(backward=lambda self, g: [])(),
        r"network\.backward",
    ),
    "backward returns another shape": (
        altered(backward=lambda self, g: [np.zeros(3)])(),
        r"\(4,\).*\(3,\)",
    ),
    "scores of shape (n, 1)": (
        forward_to(lambda s: s[:, None]),
        r"network\.forward.*\(2, 1\)",
    ),
    "one score for all rows": (forward_to(lambda s: 0.0), r"network\.forward.*\(\)"),
    "no scores": (forward_to(lambda s: None), r"network\.forward"),
    "text scores": (forward_to(lambda s: ["a"] * len(s)), r"network\.forward"),
    "complex scores": (forward_to(lambda s: s + 1j), r"network\.forward"),
}


@pytest.mark.parametrize(("network", "message"), NO_NETWORKS.values(), ids=NO_NETWORKS)
def test_an_invalid_network_is_refused_by_name(network, message):
    one = small(RankNetRanker, network=network)
    with pytest.raises((TypeError, ValueError), match=f"(?s){message}"):
        one.fit(*DATA, groups=DATA.groups)
    assert not hasattr(one, "network_")


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_fit_does_not_continue_with_other_columns_or_another_network(method):
    one = fitted(RankNetRanker, warm_start=True)
    kept = model(one)
    with pytest.raises(ValueError, match="features"):
        getattr(one, method)(DATA.X[:, :2], DATA.y, groups=DATA.groups)
    one.set_params(network=Linear())
    with pytest.raises(ValueError, match="network"):
        getattr(one, method)(*DATA, groups=DATA.groups)
    assert model(one) == kept


@pytest.mark.parametrize(
    "network",
    [
        forward_to(lambda s: s * NAN),
        forward_to(lambda s: s + INF),
        altered(backward=lambda self, g: [np.full(4, NAN)])(),
    ],
)
def test_a_network_that_returns_numbers_that_are_not_finite_has_diverged(network):
    with pytest.raises(ValueError, match="diverged.*finite"):
        fitted(RankNetRanker, network=network)
