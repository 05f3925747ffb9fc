"""Packed sums: what goes into a word comes out of the sum of words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._compile import INTERPRETED
from sklearn_ltr.learners._trees import histogram as kernels
from sklearn_ltr.learners._trees.histogram import (
    Packing,
    choose_fields,
)
from tests import from_python
from tests.trees import grow_on

add_rows, clear = from_python(kernels.add_rows), from_python(kernels.clear)
choose_packing = from_python(kernels.choose_packing)
magnitude, scale_to_fit = (
    from_python(kernels.magnitude),
    from_python(kernels.scale_to_fit),
)
pack_rows, subtract = from_python(kernels.pack_rows), from_python(kernels.subtract)

both_gains = pytest.mark.parametrize("second_order", [False, True])


def unpack(word: int, packing: Packing) -> tuple[int, int, int]:
    """Sums of gradient, hessian and count, by integer arithmetic without a width."""
    count = word % 2**packing.count_bits
    rest = (word - count) // 2**packing.count_bits
    hessian = rest % 2**packing.hessian_bits
    return (rest - hessian) // 2**packing.hessian_bits, hessian, count


def packed(gradient, hessian, *, second_order=True, shift=0):
    """Choose a packing and pack all rows: (packing, words, sums)."""
    packing = choose_packing(
        choose_fields(len(gradient), second_order=second_order),
        magnitude(gradient),
        magnitude(hessian),
    )
    words = np.empty(len(gradient), dtype=np.int64)
    sums = pack_rows(gradient, hessian, 0, packing, shift, words)
    # in parts as well as at once: the rounding is a row's own
    parts = np.empty_like(words)
    cuts = [0, len(words) // 3, len(words)]
    for first, last in pairwise(cuts):
        own = slice(first, last)
        pack_rows(gradient[own], hessian[own], first, packing, shift, parts[own])
    np.testing.assert_array_equal(parts, words)
    return packing, words, sums


def row_by_row(words, packing):
    """Integers of each row, which Python adds without a limit."""
    g, h, count = zip(*(unpack(int(word), packing) for word in words), strict=True)
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


# --- words ------------------------------------------------------------------------


@both_gains
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 100, 1000])
def test_any_sum_of_words_holds_the_three_sums(kind, n, second_order):
    gradient, hessian = draw(kind, n)
    packing, words, sums = packed(gradient, hessian, second_order=second_order)
    g, h = row_by_row(words, packing)
    for integers, values, scale in (
        (g, gradient, packing.gradient_scale),
        (h, hessian, packing.hessian_scale),
    ):
        # up or down, of a product with 53 bits
        off = np.abs(integers.astype(np.float64) - values * scale)
        assert (off <= 1 + 1e-15 * np.abs(values * scale)).all()
    rng = np.random.default_rng(0)
    for subset in [np.arange(n), *(rng.permutation(n)[: n // 2 + 1] for _ in range(5))]:
        word = int(words[subset].sum())
        assert unpack(word, packing) == (g[subset].sum(), h[subset].sum(), len(subset))
    assert sums == (np.abs(g).sum(), h.sum())


@both_gains
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 100, 2**17 + 1, 2**20 + 3])
def test_the_sums_fit_their_fields_with_room_for_rounding(kind, n, second_order):
    if INTERPRETED and n > 1000:
        pytest.skip("a loop over a million rows")
    gradient, hessian = draw(kind, n)
    packing, words, (g, h) = packed(gradient, hessian, second_order=second_order)
    gradient_bits = 63 - packing.hessian_bits - packing.count_bits
    assert g < 2**gradient_bits
    assert h < 2**packing.hessian_bits
    assert n < 2**packing.count_bits
    # and no bit is given away: half the field is in use
    assert g > 2 ** (gradient_bits - 1)
    assert not second_order or h > 2 ** (packing.hessian_bits - 1)
    assert unpack(int(words.sum()), packing)[2] == n


@given(
    gradient=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30),
    zeros=st.integers(0, 200),
    second_order=st.booleans(),
    shift=st.integers(0, 5),
)
def test_sums_are_right_whatever_the_gradients(gradient, zeros, second_order, shift):
    g = np.concatenate([gradient, np.zeros(zeros)])
    h = np.abs(g) / 3
    packing, words, _ = packed(g, h, second_order=second_order, shift=shift)
    if not (np.isfinite(packing.gradient_scale) and np.isfinite(packing.hessian_scale)):
        return  # has a test of its own
    exact = row_by_row(words, packing)
    assert unpack(int(words.sum()), packing) == (*map(sum, exact), len(g))


@pytest.mark.parametrize("total", [5e-324, 1e-310, 1e-300, 1e-290, 1e300])
def test_the_scale_of_any_total_is_finite(total):
    for capacity in (2.0**20, 2.0**61):
        assert np.isfinite(scale_to_fit(capacity, total))
    assert scale_to_fit(2.0**20, 0.0) == 0.0


# --- rounding ---------------------------------------------------------------------


@pytest.mark.parametrize("x", [0.01, 0.3, 1 / 3, 0.5, 0.99, -0.25, -7.7, 1234.5678])
def test_rounding_is_unbiased_over_rows(x):
    n = 5000
    packing = Packing(1.0, 0.0, 0, 16)
    words = np.empty(n, dtype=np.int64)
    pack_rows(np.full(n, x), np.zeros(n), 0, packing, 0, words)
    rows = np.arange(n)
    for chosen in (rows, rows[::2], rows[1::2], rows[n // 3 :], rows[::7]):
        total = unpack(int(words[chosen].sum()), packing)[0]
        # nearest rounding would be off by up to len(chosen) / 2; the golden sequence
        # visits every interval evenly up to a few
        assert abs(total - x * len(chosen)) < 5


def test_rounding_is_unbiased_over_trees():
    rng = np.random.default_rng(1)
    gradient = rng.uniform(-3, 3, 20)
    packing, words = Packing(1.0, 0.0, 0, 8), np.empty(20, dtype=np.int64)
    totals = np.zeros(20)
    for shift in range(500):
        pack_rows(gradient, np.zeros(20), 0, packing, shift, words)
        totals += [unpack(int(word), packing)[0] for word in words]
    np.testing.assert_allclose(totals / 500, gradient, atol=5 / 500)


# --- histograms -------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [1, 4, 5, 8, 9, 16])
@pytest.mark.parametrize("chosen", ["all", "few", "none", "one"])
def test_a_histogram_is_a_sum_by_bin(chosen, n_columns):
    rng = np.random.default_rng(2)
    n = 300
    codes = rng.integers(0, 256, (n, 16)).astype(np.uint8)
    rows = {
        "all": np.arange(n),
        "few": np.sort(rng.permutation(n)[:40]),
        "none": np.arange(0),
        "one": np.array([n - 1]),
    }[chosen].astype(np.int32)
    words = rng.integers(-(2**50), 2**50, len(rows))
    histogram = np.ones((256, 16), dtype=np.int64)  # is added to
    add_rows(codes, rows, words, histogram.ravel(), n_columns)
    expected = np.ones((256, 16), dtype=np.int64)
    for row, word in zip(rows, words, strict=True):
        for place in range(16):
            expected[codes[row, place], place] += word
    used = slice(0, n_columns)  # the other places are nobody's
    np.testing.assert_array_equal(histogram[:, used], expected[:, used])


def test_a_histogram_minus_one_childs_is_the_others():
    rng = np.random.default_rng(2)
    histogram, other = rng.integers(-(2**50), 2**50, (2, 256, 16))
    for n_bins in (1, 7, 255):
        bins = [*range(n_bins), 255]
        child = histogram.copy()
        subtract(child.ravel(), other.ravel(), n_bins)
        np.testing.assert_array_equal(child[bins], (histogram - other)[bins])
        clear(child.ravel(), n_bins)
        assert (child[bins] == 0).all()


# --- in a whole tree --------------------------------------------------------------


@both_gains
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [50, 2**17 + 100])
def test_no_gradients_upset_a_tree(kind, n, second_order):
    """Were a field to overflow, counts would be wrong and rows end in wrong leaves."""
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
        rows = np.flatnonzero(grown.fitted == grown.tree.value[leaf])
        if len(rows) == grown.tree.n_rows[leaf]:  # no other leaf of the same value
            # integers of 62 bits: each row is off by 2^-62 of all gradients together
            G, H = gradient[rows].sum(), hessian[rows].sum()
            off = (len(rows) * 2.0**-61 + 1e-15) * np.abs(gradient).sum() / H
            np.testing.assert_allclose(
                grown.tree.value[leaf], -G / H, rtol=1e-9, atol=off
            )


def test_gradients_whose_squares_overflow_upset_no_tree():
    X = np.random.default_rng(3).normal(size=(50, 2))
    gradient, hessian = (1e100 * values for values in draw("large", 50))
    grown = grow_on(X, gradient, hessian, max_leaf_nodes=6)
    assert np.isfinite(grown.fitted).all()
    assert np.isfinite(grown.tree.gain).all()  # G^2 / H has the size of G


@both_gains
def test_gradients_too_faint_for_float64_upset_no_tree(second_order):
    # as after very long training: the factor that scales them up must not overflow
    X = np.arange(10.0)[:, None]
    for faint in (1e-295, 1e-305, 1e-320):
        gradient = np.where(X[:, 0] < 5, faint, -faint)
        grown = grow_on(X, gradient, np.full(10, faint), second_order=second_order)
        assert np.isfinite(grown.fitted).all()
        assert np.isfinite(grown.tree.gain).all()
        assert (np.abs(grown.fitted) <= 1.5).all()  # a Newton step of 1


@both_gains
def test_no_gradient_at_all_makes_a_single_leaf_of_value_zero(second_order):
    X = np.arange(10.0)[:, None]
    for hessian in (np.zeros(10), np.ones(10)):
        grown = grow_on(X, np.zeros(10), hessian, second_order=second_order)
        assert len(grown.tree.feature) == 1
        np.testing.assert_array_equal(grown.fitted, 0.0)
