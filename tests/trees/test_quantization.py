"""Quantized gradients: sums of packed gradients hold the three sums, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import INTERPRETED, ThreadTeam
from sklearn_ltr._core.trees.growth import quantization as module
from sklearn_ltr._core.trees.growth.quantization import (
    Quantization,
    RowDerivatives,
    with_variance,
)
from tests import from_python
from tests.trees import ONE_THREAD, grow_on, prepare

EXTREMES = {"zero": 0.0, "smallest": 1e-270, "largest": -1e305}

quantize, scale_to_fit = map(from_python, (module.quantize, module.scale_to_fit))

both_gains = pytest.mark.parametrize("second_order", [False, True])


def unpack(packed: int, quantization: Quantization) -> tuple[int, int, int]:
    """Sums of gradient, hessian and count, by integer arithmetic without a width."""
    count = packed % 2**quantization.count_bits
    pair = (packed - count) // 2**quantization.count_bits
    hessian = pair % 2**quantization.hessian_bits
    return (pair - hessian) // 2**quantization.hessian_bits, hessian, count


def pack(gradient, hessian, *, second_order=True, tree_index=0):
    """Choose a quantization and pack all rows: (quantization, packed)."""
    given = RowDerivatives(gradient, hessian)
    options = {"second_order": second_order, "tree_index": tree_index}
    prepared, _, packed = prepare(given, **options, team=ONE_THREAD)
    assert prepared.total == packed.sum()
    with ThreadTeam(1 if INTERPRETED else 3) as team:
        same, _, by_three = prepare(given, **options, team=team)
    assert same == prepared
    np.testing.assert_array_equal(by_three, packed)
    return prepared.quantization, packed


def pack_as(chosen, derivatives, tree_index=0):
    """Pack rows by a given quantization."""
    n = len(derivatives.gradient)
    packed, sums = np.empty(n, dtype=np.int64), np.empty(3, dtype=np.int64)
    numbers = np.arange(n, dtype=np.uint32)
    quantize(derivatives, numbers, tree_index, chosen, 0, n, packed, sums)
    assert sums[2] == packed.sum()
    return packed


def measure(derivatives, team):
    """Find how large the derivatives of rows are."""
    return prepare(derivatives, team=team)[0].magnitudes


def unpack_rows(packed, quantization):
    """Integers of each row, which Python adds without a limit."""
    g, h, count = zip(*(unpack(int(one), quantization) for one in packed), strict=True)
    assert set(count) == {1}
    return np.array(g, dtype=object), np.array(h, dtype=object)


def draw(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    gradient = rng.normal(size=n)
    if kind == "one huge":
        gradient[n // 2] = 1e12
    elif kind == "all equal":
        gradient = np.full(n, -1 / 3)
    elif kind == "all but equal":
        gradient = np.full(n, 0.7) * np.where(np.arange(n) % 2, 1, -1)
    elif kind == "tiny":
        gradient = gradient * 1e-250
    elif kind == "large":
        gradient = gradient * 1e150
    hessian = np.abs(gradient) * rng.uniform(0.1, 1, n)
    return gradient, hessian


KINDS = ["normal", "one huge", "all equal", "all but equal", "tiny", "large"]


# --- packed gradients -------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, "zero", "smallest", "largest"])
@pytest.mark.parametrize("n", [1, 2, 1000])
def test_magnitudes_are_summed_exactly_enough_in_any_order(kind, n):
    values = draw(kind, n)[0] if kind in KINDS else np.full(n, EXTREMES[kind])
    found = measure(RowDerivatives(values, np.abs(values)), ONE_THREAD)
    assert found.n_rows == n
    assert found.gradient == found.hessian
    exact = sum(Fraction(abs(value)) for value in values.tolist())
    assert abs(Fraction(found.gradient) - exact) <= exact * Fraction(2, 2**40)
    shuffled = np.random.default_rng(0).permutation(values)
    with ThreadTeam(1 if INTERPRETED else 2) as team:
        derivatives = RowDerivatives(shuffled, np.abs(shuffled))
        assert measure(derivatives, team) == found


@both_gains
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 100, 1000])
def test_any_sum_of_packed_gradients_holds_the_three_sums(kind, n, second_order):
    gradient, hessian = draw(kind, n)
    quantization, packed = pack(gradient, hessian, second_order=second_order)
    g, h = unpack_rows(packed, quantization)
    for integers, values, scale in (
        (g, gradient, quantization.gradient_scale),
        (h, hessian, quantization.hessian_scale),
    ):
        # rounded up or down, from a product with 53 bits
        off = np.abs(integers.astype(np.float64) - values * scale)
        assert (off <= 1 + 1e-15 * np.abs(values * scale)).all()
    rng = np.random.default_rng(0)
    for subset in [np.arange(n), *(rng.permutation(n)[: n // 2 + 1] for _ in range(5))]:
        total = unpack(int(packed[subset].sum()), quantization)
        assert total == (g[subset].sum(), h[subset].sum(), len(subset))


@both_gains
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 100, 2**17 + 1, 2**20 + 3])
def test_the_sums_fit_their_bits_with_a_reserve_for_rounding(kind, n, second_order):
    if INTERPRETED and n > 1000:
        pytest.skip("a loop over a million rows")
    gradient, hessian = draw(kind, n)
    quantization, packed = pack(gradient, hessian, second_order=second_order)
    pair = packed >> quantization.count_bits
    h = (pair & quantization.hessian_mask).sum()
    g = np.abs(pair >> quantization.hessian_bits).sum()
    # 51 at most: an exact float64, also plus another one
    gradient_bits = min(63 - quantization.hessian_bits - quantization.count_bits, 51)
    assert g < 2**gradient_bits
    assert h < 2**quantization.hessian_bits
    assert n < 2**quantization.count_bits
    # and no bit is wasted: the highest one is in use
    assert g > 2 ** (gradient_bits - 1)
    assert not second_order or h > 2 ** (quantization.hessian_bits - 1)
    assert unpack(int(packed.sum()), quantization)[2] == n


@pytest.mark.parametrize("total", [5e-324, 1e-310, 1e-300, 1e-290, 1e300])
def test_the_scale_of_any_total_is_finite(total):
    for capacity in (2.0**20, 2.0**61):
        assert np.isfinite(scale_to_fit(capacity, total))
    assert scale_to_fit(2.0**20, 0.0) == 0.0


# --- rounding ---------------------------------------------------------------------


@pytest.mark.parametrize("x", [0.01, 0.3, 1 / 3, 0.5, 0.99, -0.25, -7.7, 1234.5678])
def test_rounding_is_unbiased_over_rows(x):
    n = 5000
    quantization = Quantization(1.0, 0.0, 0, 0, 16, 2**16 - 1)
    derivatives = RowDerivatives(np.full(n, x), np.zeros(n))
    packed = pack_as(quantization, derivatives)
    rows = np.arange(n)
    for chosen in (rows, rows[::2], rows[1::2], rows[n // 3 :], rows[::7]):
        total = unpack(int(packed[chosen].sum()), quantization)[0]
        # nearest rounding would be off by up to len(chosen) / 2; the golden sequence
        # visits every interval evenly up to a few
        assert abs(total - x * len(chosen)) < 5


def test_rounding_is_unbiased_over_trees():
    rng = np.random.default_rng(1)
    gradient = rng.uniform(-3, 3, 20)
    quantization = Quantization(1.0, 0.0, 0, 0, 8, 255)
    derivatives = RowDerivatives(gradient, np.zeros(20))
    totals = np.zeros(20)
    for tree_index in range(500):
        packed = pack_as(quantization, derivatives, tree_index)
        totals += [unpack(int(one), quantization)[0] for one in packed]
    np.testing.assert_allclose(totals / 500, gradient, atol=5 / 500)


# --- in a whole tree --------------------------------------------------------------


@both_gains
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [50, 2**17 + 100])
def test_no_gradients_overflow(kind, n, second_order):
    """Overflow of a sum would change counts and send rows to wrong leaves."""
    if INTERPRETED and n > 1000:
        pytest.skip("loops over many rows")
    gradient, hessian = draw(kind, n)
    X = np.random.default_rng(3).normal(size=(n, 2))
    X[:, 0] += np.sign(gradient)
    grown = grow_on(
        X, gradient, hessian, max_leaf_nodes=6, second_order=second_order, max_bins=32
    )
    assert np.isfinite(grown.tree.value).all()
    assert np.isfinite(grown.tree.gain).all()
    assert grown.tree.n_rows[grown.leaves].sum() == n
    for leaf in grown.leaves:
        rows = np.flatnonzero(grown.scores == grown.tree.value[leaf])
        if len(rows) == grown.tree.n_rows[leaf]:  # no other leaf of the same value
            # integers of 62 bits: each row is off by 2^-62 of all gradients together
            G, H = gradient[rows].sum(), hessian[rows].sum()
            off = (len(rows) * 2.0**-61 + 1e-15) * np.abs(gradient).sum() / H
            np.testing.assert_allclose(
                grown.tree.value[leaf], -G / H, rtol=1e-9, atol=off
            )


def test_gradients_whose_squares_overflow_make_a_finite_tree():
    X = np.random.default_rng(3).normal(size=(50, 2))
    gradient, hessian = (1e100 * values for values in draw("large", 50))
    grown = grow_on(X, gradient, hessian, max_leaf_nodes=6)
    assert np.isfinite(grown.scores).all()
    assert np.isfinite(grown.tree.gain).all()  # G^2 / H has the size of G


@both_gains
def test_gradients_too_small_for_float64_make_a_finite_tree(second_order):
    # as after very long training: the factor that scales them up must not overflow
    X = np.arange(10.0)[:, None]
    for small in (1e-295, 1e-305, 1e-320):
        gradient = np.where(X[:, 0] < 5, small, -small)
        grown = grow_on(X, gradient, np.full(10, small), second_order=second_order)
        assert np.isfinite(grown.scores).all()
        assert np.isfinite(grown.tree.gain).all()
        assert (np.abs(grown.scores) <= 1.5).all()  # a Newton step of 1


@both_gains
def test_gradients_of_zero_make_a_single_leaf_of_value_zero(second_order):
    X = np.arange(10.0)[:, None]
    for hessian in (np.zeros(10), np.ones(10)):
        grown = grow_on(X, np.zeros(10), hessian, second_order=second_order)
        assert len(grown.tree.feature) == 1
        np.testing.assert_array_equal(grown.scores, 0.0)


@both_gains
@pytest.mark.parametrize("kind", ["plain", "one huge", "all equal", "tiny", "large"])
@pytest.mark.parametrize("n", [1, 7, 3000])
def test_the_variance_is_the_mean_square_for_a_unit_of_weight(n, kind, second_order):
    gradient, hessian = draw(kind, n)
    quantization, packed = pack(gradient, hessian, second_order=second_order)
    g, h = unpack_rows(packed, quantization)
    expected = (g * g).sum() / max((h.sum() if second_order else n), 1)
    given = quantization, packed, int(packed.sum())
    found = with_variance(*given, ONE_THREAD, ONE_PROCESS)
    # of the largest sums of |g|, 31 bits are kept
    assert found.variance == pytest.approx(float(expected), rel=1e-4)
    assert found._replace(variance=0.0) == quantization
    with ThreadTeam(1 if INTERPRETED else 3) as team:
        in_another_order = quantization, packed[::-1].copy(), given[2]
        assert with_variance(*in_another_order, team, ONE_PROCESS) == found
