"""The best split of a feature against trying every one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import trees as oracle
from tests.trees import grow_on

NAN = float("nan")
both_gains = pytest.mark.parametrize("second_order", [False, True])


def compare(bins, gradient, hessian, *, second_order, l2, min_samples_leaf):
    bins, gradient, hessian = (
        np.asarray(values, dtype=np.float64) for values in (bins, gradient, hessian)
    )
    X, rows = bins[:, None], range(len(bins))
    weight = hessian if second_order else np.ones(len(bins))
    options = {"second_order": second_order, "min_samples_leaf": min_samples_leaf}
    grown = grow_on(X, gradient, hessian, l2=l2, max_leaf_nodes=2, **options)
    l2 = l2 if second_order else 0.0
    expected, best = oracle.best_split(X, rows, gradient, weight, l2, min_samples_leaf)
    # with n <= 12, sums of |g| and of h have 30 and 28 bits, and n rows are off by one
    # unit each; the square of a sum over its weight magnifies that of a light child
    lightest = min(hessian) + l2 if second_order else 1.0
    total = np.abs(gradient).sum()
    off = 12 * 2.0**-26 * total**2 * hessian.sum() / lightest**2
    off = off if second_order else 12 * 2.0**-26 * total**2
    if not grown.gains:
        assert expected <= off
        return
    tree = grown.tree
    split = oracle.Split(0, grown.ensemble.threshold[0], bool(tree.missing_left[0]))
    chosen = oracle.gain(X, rows, split, gradient, weight, l2)
    assert min(map(len, oracle.partition(X, rows, split))) >= min_samples_leaf
    assert grown.gains == [pytest.approx(expected, abs=off)]
    assert chosen == pytest.approx(expected, abs=off)


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
    # The rows of bin 1 of feature 0 have left by feature 1: bins 0 and 1 are thresholds
    # of the same sums.  (Others by symmetry only: rounding tells them apart.)
    X = np.array([[0, 0], [2, 0], [0, 0], [2, 0], [1, 1], [1, 1]], dtype=np.float64)
    gradient = np.array([1.0, -1, 1, -1, 30, 30])
    options = {"max_leaf_nodes": 3, "second_order": second_order}
    ensemble = grow_on(X, gradient, np.ones(6), **options).ensemble
    assert ensemble.feature[:2].tolist() == [1, 0]
    assert ensemble.threshold[1] == 0.5
