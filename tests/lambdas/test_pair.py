"""The cost of one pair and its derivatives, against sections 2 and 7 of Burges."""

from __future__ import annotations

import pytest

from sklearn_ltr._core.lambdas import pair
from tests import from_python
from tests.oracles import lambdas as oracle
from tests.oracles import networks

pair_cost, pair_rho, pair_curvature, tied_lambda = (
    from_python(getattr(pair, name))
    for name in ("pair_cost", "pair_rho", "pair_curvature", "tied_lambda")
)
DIFFERENCES = [-700.0, -40.0, -3.0, -1e-9, 0.0, 1e-9, 0.3, 5.0, 39.9, 700.0]


@pytest.mark.parametrize("x", DIFFERENCES)
@pytest.mark.parametrize("probability", [0.0, 0.3, 0.5, 1.0])
def test_the_cost_is_the_cross_entropy(x, probability):
    expected = (1 - probability) * x + oracle.softplus(-x)
    assert pair_cost(x, probability) == pytest.approx(expected, rel=1e-14)
    if abs(x) < 10:
        entropy = networks.cross_entropy(x, 0.0, probability, 1.0)
        assert pair_cost(x, probability) == pytest.approx(entropy, rel=1e-11)


@pytest.mark.parametrize("x", DIFFERENCES)
def test_derivatives_keep_their_digits(x):
    rho, one_minus_rho = oracle.falling_sigmoid(x), oracle.falling_sigmoid(-x)
    assert pair_rho(x) == pytest.approx(rho, rel=1e-14)
    expected = 0.7 * rho * one_minus_rho
    assert pair_curvature(x, 0.7) == pytest.approx(expected, rel=1e-14)
    tied = 0.5 * 3.0 * (one_minus_rho - rho)  # one of them loses digits near 0
    assert tied_lambda(x, 3.0) == pytest.approx(tied, rel=1e-14, abs=1e-15)
    assert tied_lambda(x, 3.0) == -tied_lambda(-x, 3.0) or x == 0


def test_the_cost_of_a_tied_pair_is_symmetric():
    for x in DIFFERENCES:
        assert pair_cost(abs(x), 0.5) == pytest.approx(pair_cost(x, 0.5), rel=1e-14)
