"""The best split of a feature against trying every one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr._trees import quantization as quantization_kernels
from sklearn_ltr._trees import splitting
from sklearn_ltr._trees.binning import MISSING_BIN
from sklearn_ltr._trees.quantization import Derivatives, Magnitudes
from sklearn_ltr._trees.splitting import SplitRule
from sklearn_ltr._trees.workspace import allocate_block_splits
from tests import from_python
from tests.oracles import trees as oracle
from tests.trees import grow_on

choose_quantization, pack_gradients, child_score, find_block_splits = map(
    from_python,
    (
        quantization_kernels.choose_quantization,
        quantization_kernels.pack_gradients,
        splitting.child_score,
        splitting.find_block_splits,
    ),
)
add_rows_to_histogram, clear_histogram, subtract_histogram = map(
    from_python,
    (
        splitting.add_rows_to_histogram,
        splitting.clear_histogram,
        splitting.subtract_histogram,
    ),
)
NAN = float("nan")
both_gains = pytest.mark.parametrize("second_order", [False, True])


def search(bins, gradient, hessian, *, second_order, l2=0.0, min_samples_leaf=1):
    """Gain, in units of the cost, and best split of a feature's bins; NaN: missing."""
    n = len(bins)
    bins = np.where(np.isnan(bins), MISSING_BIN, bins).astype(np.int64)
    quantization = choose_quantization(
        n, second_order, Magnitudes(np.abs(gradient).sum(), hessian.sum())
    )
    packed = np.empty(n, dtype=np.int64)
    pack_gradients(Derivatives(gradient, hessian), 0, n, quantization, 0, packed)
    total = packed.sum()
    slot = (n - 1) % 16
    # other slots hold other features
    histogram = np.random.default_rng(0).integers(-9, 9, (256, 16))
    histogram[:, slot] = 0
    np.add.at(histogram[:, slot], bins, packed)
    scale = quantization.hessian_scale if second_order else 1.0
    rule = SplitRule(second_order, l2 * scale, min_samples_leaf)
    present = bins[bins != MISSING_BIN]
    # the block's widest feature may have more bins
    n_bins = int(present.max()) + 1 + slot % 3 if len(present) else 1
    splits = allocate_block_splits()
    find_block_splits(
        histogram.ravel(), n_bins, np.int64(total), quantization, rule, splits
    )
    if splits.score[slot] == 0:
        return 0.0, None
    parent_score = child_score(np.int64(total), quantization, rule)
    assert total & quantization.count_mask == n
    unit = scale / quantization.gradient_scale**2
    split = oracle.Split(
        0, float(splits.threshold[slot] % 256), bool(splits.threshold[slot] >= 256)
    )
    return (splits.score[slot] - parent_score) * unit, split


def compare(bins, gradient, hessian, *, second_order, l2, min_samples_leaf):
    bins, gradient, hessian = (
        np.asarray(values, dtype=np.float64) for values in (bins, gradient, hessian)
    )
    X, rows = bins[:, None], range(len(bins))
    weight = hessian if second_order else np.ones(len(bins))
    l2 = l2 if second_order else 0.0
    expected, best = oracle.best_split(X, rows, gradient, weight, l2, min_samples_leaf)
    found, split = search(
        bins,
        gradient,
        hessian,
        second_order=second_order,
        l2=l2,
        min_samples_leaf=min_samples_leaf,
    )
    # with n <= 12, sums of |g| and of h have 30 and 28 bits, and n rows are off by one
    # unit each; the square of a sum over its weight magnifies that of a light child
    lightest = min(hessian) + l2 if second_order else 1.0
    total = np.abs(gradient).sum()
    off = 12 * 2.0**-26 * total**2 * hessian.sum() / lightest**2
    off = off if second_order else 12 * 2.0**-26 * total**2
    if split is None or found <= 0:  # with l2 the best split may have a negative gain
        assert expected <= off
        return
    left, right = oracle.partition(X, rows, split)
    assert min(len(left), len(right)) >= min_samples_leaf
    chosen = oracle.gain(X, rows, split, gradient, weight, l2)
    assert found == pytest.approx(expected, abs=off)
    assert chosen == pytest.approx(expected, abs=off)


@settings(max_examples=150)
@given(data=st.data(), second_order=st.booleans())
def test_no_split_has_a_higher_gain_than_the_one_found(data, second_order):
    n = data.draw(st.integers(2, 12))
    bins = st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, NAN])
    draw = lambda values: data.draw(st.lists(values, min_size=n, max_size=n))  # noqa: E731
    compare(
        draw(bins),
        draw(st.floats(-4, 4).map(lambda x: round(x, 2))),
        draw(st.sampled_from([0.25, 0.5, 1.0, 2.0])),
        second_order=second_order,
        l2=data.draw(st.sampled_from([0.0, 0.5, 10.0])),
        min_samples_leaf=data.draw(st.integers(1, 5)),
    )


def test_least_squares_gain_is_the_decrease_of_the_squared_error():
    rng = np.random.default_rng(1)
    X, gradient = rng.normal(size=(30, 2)), rng.normal(size=30)
    grown = grow_on(
        X, gradient, rng.uniform(size=30), max_leaf_nodes=2, second_order=False
    )
    split = oracle.Split(
        int(grown.tree.feature[0]), grown.ensemble.threshold[0], missing_left=False
    )
    decrease = oracle.decrease_of_squared_error(X, range(30), split, gradient)
    assert grown.tree.gain[0] == pytest.approx(decrease, rel=1e-9)
    best = max(
        oracle.decrease_of_squared_error(X, range(30), other, gradient)
        for other in oracle.every_split(X, range(30))
    )
    assert decrease == pytest.approx(best, rel=1e-12)


# --- missing values ---------------------------------------------------------------


@both_gains
@pytest.mark.parametrize("larger", ["left", "right"])
def test_without_missing_values_they_will_go_to_the_larger_child(larger, second_order):
    x = np.array([0.0, 0, 0, 0, 1, 1])
    if larger == "right":
        x = 1 - x
    gradient = np.where(x == 0, 1.0, -1.0)
    tree = grow_on(x[:, None], gradient, np.ones(6), second_order=second_order).tree
    assert tree.feature[0] == 0
    assert tree.missing_left[0] == (larger == "left")


# --- no split ---------------------------------------------------------------------


@both_gains
def test_the_first_of_equal_splits_is_used(second_order):
    # by symmetry, bins 0 and 2 are equally good thresholds
    bins = np.array([0.0, 1, 2, 3])
    gradient = np.array([1.0, -1, -1, 1])
    _, split = search(bins, gradient, np.ones(4), second_order=second_order)
    assert split.threshold == 0.0


# --- histograms -------------------------------------------------------------------


@pytest.mark.parametrize("n_used_slots", [1, 4, 5, 8, 9, 16])
@pytest.mark.parametrize("chosen", ["all", "few", "none", "one"])
def test_a_histogram_is_a_sum_by_bin(chosen, n_used_slots):
    rng = np.random.default_rng(2)
    n = 300
    values = rng.integers(0, 256, (n, 16)).astype(np.uint8)
    rows = {
        "all": np.arange(n),
        "few": np.sort(rng.permutation(n)[:40]),
        "none": np.arange(0),
        "one": np.array([n - 1]),
    }[chosen].astype(np.int32)
    gradients = rng.integers(-(2**50), 2**50, n)  # those behind the rows are not used
    histogram = np.ones((256, 16), dtype=np.int64)  # is added to
    add_rows_to_histogram(values, rows, gradients, histogram.ravel(), n_used_slots)
    expected = np.ones((256, 16), dtype=np.int64)
    for row, gradient in zip(rows, gradients, strict=False):
        for slot in range(16):
            expected[values[row, slot], slot] += gradient
    np.testing.assert_array_equal(
        histogram[:, :n_used_slots], expected[:, :n_used_slots]
    )


def test_a_histogram_minus_one_childs_is_the_other_childs():
    rng = np.random.default_rng(2)
    histogram, other = rng.integers(-(2**50), 2**50, (2, 256, 16))
    for n_bins in (1, 7, 255):
        bins = [*range(n_bins), 255]
        child = histogram.copy()
        subtract_histogram(child.ravel(), other.ravel(), n_bins)
        np.testing.assert_array_equal(child[bins], (histogram - other)[bins])
        clear_histogram(child.ravel(), n_bins)
        assert (child[bins] == 0).all()
