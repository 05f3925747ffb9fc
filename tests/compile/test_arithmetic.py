"""Exponentials and logarithms against 40 digits of Python's decimals."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from sklearn_ltr._core.compile import arithmetic, exp2_of, expit_of, log2_of
from tests import from_python

exp, exp2, log, log2, log1p, softplus, float64_of_integer = (
    from_python(getattr(arithmetic, name))
    for name in (
        *("exp", "exp2", "log", "log2", "log1p", "softplus"),
        "float64_of_integer",
    )
)
LN_2 = Decimal(2).ln()
RNG = np.random.default_rng(0)
NEAR, WIDE = RNG.uniform(-1, 1, 300), RNG.uniform(-700, 700, 300)
# where the rounding to a power of two changes
HALVES = float(LN_2) * np.arange(-999.5, 1000, 37)
POSITIVE = np.concatenate([2.0**WIDE, 1 + NEAR[NEAR > 0], 1 - 0.9 ** WIDE[WIDE > 9]])


def ulps_off(computed: float, exact: Decimal) -> float:
    """Error in units of the last place of the exact result."""
    spacing = Decimal(float(np.spacing(abs(float(exact)))))
    return float(abs(Decimal(computed) - exact) / spacing)


def largest_error(function, exact, points) -> float:
    with localcontext() as context:
        context.prec = 40
        return max(ulps_off(function(x), exact(Decimal(x))) for x in points.tolist())


@pytest.mark.parametrize(
    ("function", "exact", "points", "ulps"),
    [
        (exp, Decimal.exp, np.concatenate([NEAR, WIDE, HALVES]), 1.0),
        (exp2, lambda x: (x * LN_2).exp(), np.concatenate([NEAR, WIDE]), 1.0),
        (log, Decimal.ln, POSITIVE, 1.25),
        (log2, lambda x: x.ln() / Decimal(2).ln(), POSITIVE, 1.5),
        (log1p, lambda x: (1 + x).ln(), np.abs(np.r_[NEAR, WIDE, 1e-9 * NEAR]), 2.5),
        (softplus, lambda x: (1 + x.exp()).ln(), np.r_[NEAR, 30 * NEAR], 3.0),
    ],
    ids=["exp", "exp2", "log", "log2", "log1p", "softplus"],
)
def test_each_function_is_exact_within_its_ulps(function, exact, points, ulps):
    assert largest_error(function, exact, points) <= ulps


def test_whole_powers_of_two_are_exact():
    powers = np.arange(-1000.0, 1001.0)
    np.testing.assert_array_equal(exp2_of(powers), np.ldexp(1.0, powers.astype(int)))
    np.testing.assert_array_equal(log2_of(np.ldexp(1.0, powers.astype(int))), powers)


def test_integers_of_51_bits_are_exact_floats():
    ends = [0, 1, 2**20, 2**50 - 1, 2**51 - 1]
    for n in [*ends, *RNG.integers(0, 2**51, 100).tolist()]:
        assert float64_of_integer(n) == float(n)
        assert float64_of_integer(-n) == float(-n)


def test_the_ends_of_the_range():
    assert exp(0.0) == 1.0
    assert log(1.0) == log1p(0.0) == 0.0
    assert exp(-800.0) == exp(-np.inf) == exp2(-1100.0) == 0.0
    assert exp(720.0) == exp(np.inf) == exp2(1030.0) == np.inf
    assert 0 < exp(-740.0) < 1e-320  # not a normal number
    assert log1p(1e-300) == 1e-300
    assert np.isfinite(exp(709.7))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_arrays_of_any_shape_and_layout(shape):
    x = np.array(np.full(shape, 3.0), order="F")
    assert exp2_of(x).shape == log2_of(x).shape == expit_of(x).shape == shape
    np.testing.assert_array_equal(exp2_of(x), np.full(shape, 8.0))


def test_the_sigmoid_is_exact_within_two_and_a_half_ulps():
    points = np.concatenate([NEAR, WIDE])
    computed = dict(zip(points.tolist(), expit_of(points).tolist(), strict=True))
    exact = lambda x: 1 / (1 + (-x).exp())  # noqa: E731
    assert largest_error(computed.__getitem__, exact, points) <= 2.5
