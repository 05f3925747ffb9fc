"""Networks of the user's own: trained in a copy, or refused by name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from tests.network import (
    DATA,
    REPORT,
    VALIDATION,
    Linear,
    both_rankers,
    curve,
    fitted,
    of_val,
    small,
    validated,
    weights,
    weights_before,
)

NAN, INF = float("nan"), float("inf")


# --- networks of one's own --------------------------------------------------------


class Deep:
    """Double precision, one parameter without dimensions, one unused."""

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


@both_rankers
@pytest.mark.parametrize("network", [Linear, Deep])
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_a_network_of_the_user_is_trained_in_a_copy(ranker, network, solver):
    own = network()
    before = pickle.dumps(own)
    one = fitted(
        ranker, network=own, solver=solver, max_iter=40, learning_rate_init=0.02
    )
    assert pickle.dumps(own) == before
    assert one.network is own
    assert type(one.network_) is network
    for w, first in zip(one.network_.parameters, own.parameters, strict=True):
        assert w.shape == first.shape
        assert w.dtype == first.dtype
    assert np.abs(one.network_.parameters[0] - own.parameters[0]).min() > 1e-3
    assert one.score(*DATA, groups=DATA.groups) > 0.9
    expected = one.network_.forward(DATA.X.astype(np.float32))
    np.testing.assert_array_equal(one.predict(DATA.X), expected)
    assert one.predict(DATA.X).dtype == np.float64


@both_rankers
def test_a_network_of_the_user_learns_what_the_perceptron_learns(ranker):
    """The linear one, from the same weights, in double precision."""
    options = REPORT | {"max_iter": 5, "batch_size": 2, "learning_rate_init": 0.1}
    (start,) = weights_before(ranker, hidden_layer_sizes=())
    own = Linear()
    own.w = start[:, 0].copy()
    one = fitted(ranker, network=own, **options)
    other = fitted(ranker, hidden_layer_sizes=(), **options)
    np.testing.assert_allclose(one.network_.w, weights(other)[0][:, 0], rtol=1e-4)
    np.testing.assert_allclose(curve(one), curve(other), rtol=1e-4)


@both_rankers
def test_a_network_of_the_user_is_used_in_every_way(ranker):
    one = validated(
        ranker, network=Linear(), max_iter=40, n_iter_no_change=3, tol=0.0,
        learning_rate_init=0.2,
    )  # fmt: skip
    scores = one.validation_scores_
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
    # weights learned elsewhere are a start
    warm = fitted(ranker, network=other.network_, max_iter=1, learning_rate_init=1e-9)
    np.testing.assert_allclose(warm.network_.w, other.network_.w, rtol=1e-6)


@both_rankers
def test_predict_of_a_network_is_what_scores(ranker):
    class Dropout(Linear):
        """Another pass forward in training than in use."""

        def forward(self, X):
            return super().forward(X) + 1.0

        def predict(self, X):
            return X @ self.w + 7.0

    one = fitted(ranker, network=Dropout())
    expected = DATA.X.astype(np.float32) @ one.network_.w + 7.0
    np.testing.assert_allclose(one.predict(DATA.X), expected, rtol=1e-6)


@both_rankers
def test_what_a_network_gets_is_single_precision_and_what_it_gives_may_be_any(ranker):
    seen = set()

    class Curious(Linear):
        def __init__(self):
            self.w = np.zeros(4, dtype=np.float32)

        def forward(self, X):
            seen.add((X.dtype, X.flags.c_contiguous))
            return super().forward(X).astype(np.float16).tolist()

        def backward(self, score_gradient):
            return [super().backward(score_gradient)[0].tolist()]

    try:
        one = fitted(ranker, network=Curious())
    except (TypeError, ValueError) as error:
        assert "network" in str(error)
    else:
        assert np.isfinite(one.predict(DATA.X)).all()
        assert one.network_.w.any()
    assert seen == {(np.dtype(np.float32), True)}


def altered(**parts):
    return type("Altered", (Linear,), parts)


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


@both_rankers
@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("mlp", "network.*str has no forward"),
        (object(), "network.*object has no forward"),
        (Linear, "network.*class"),
        (type("NoBack", (), {"forward": 1, "parameters": []})(), "network.*backward"),
        (altered(parameters=None)(), "network"),
        (altered(parameters=lambda self: [self.w])(), r"network\.parameters.*method"),
        (altered(backward=lambda self, g: None)(), r"network\.backward.*None"),
        (altered(backward=lambda self, g: [])(), r"network\.backward"),
        (altered(backward=lambda self, g: [np.zeros(3)])(), r"\(4,\).*\(3,\)"),
        (forward_to(lambda s: s[:, None]), r"network\.forward.*\(2, 1\)"),
        (forward_to(lambda s: 0.0), r"network\.forward.*\(\)"),
        (forward_to(lambda s: None), r"network\.forward"),
        (forward_to(lambda s: ["a"] * len(s)), r"network\.forward"),
        (forward_to(lambda s: s + 1j), r"network\.forward"),
        (with_weights(np.zeros(4, dtype=int))(), "network.*int64"),
        (with_weights(np.zeros(4, dtype=np.float16))(), "network.*float16"),
        (with_weights([0.0] * 4)(), "network.*list"),
        (with_weights(np.zeros((2, 4)).T)(), "network.*contiguous"),
        (
            altered(parameters=property(lambda self: [self.w.copy()]))(),
            "network.*copy",
        ),
        (
            altered(parameters=property(lambda self: {"w": self.w}))(),
            "network",
        ),
    ],
    ids=range(20),
)  # fmt: skip
def test_an_object_that_is_no_network_is_refused_by_name(ranker, network, message):
    one = small(ranker, network=network)
    with pytest.raises((TypeError, ValueError), match=f"(?s){message}"):
        one.fit(*DATA, groups=DATA.groups)
    assert not hasattr(one, "network_")


@both_rankers
@pytest.mark.parametrize("order", ["F", "T"])
def test_weights_that_are_not_contiguous_are_trained_or_refused(ranker, order):
    network = Deep()
    network.W = np.asfortranarray(network.W) if order == "F" else network.W.T.copy().T
    try:
        one = fitted(ranker, network=network)
    except (TypeError, ValueError) as error:
        assert "network" in str(error)
    else:
        assert (one.network_.W != network.W).all()


@both_rankers
def test_a_network_that_returns_what_is_not_finite_has_diverged(ranker):
    for network in (
        forward_to(lambda s: s * NAN),
        forward_to(lambda s: s + INF),
        altered(backward=lambda self, g: [np.full(4, NAN)])(),
    ):
        with pytest.raises(ValueError, match="finite"):
            fitted(ranker, network=network)
