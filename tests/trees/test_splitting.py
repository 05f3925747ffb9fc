"""The best cut of a column against trying every one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr.learners._trees import histogram, splitting
from sklearn_ltr.learners._trees.binning import MISSING
from sklearn_ltr.learners._trees.histogram import choose_fields
from sklearn_ltr.learners._trees.splitting import SplitRule
from tests import from_python
from tests.oracles import trees as oracle
from tests.trees import grow_on

choose_packing, pack_rows, side_score, best_cuts, new_cuts = map(
    from_python,
    (
        histogram.choose_packing,
        histogram.pack_rows,
        splitting.side_score,
        splitting.best_cuts,
        splitting.new_cuts,
    ),
)
NAN = float("nan")
both_gains = pytest.mark.parametrize("second_order", [False, True])


def search(column, gradient, hessian, *, second_order, l2=0.0, min_samples_leaf=1):
    """Gain, in the gradients' units, and best cut of a column of bins, NaN missing."""
    codes = np.where(np.isnan(column), MISSING, column).astype(np.int64)
    rows = np.arange(len(column), dtype=np.int32)
    packing = choose_packing(
        choose_fields(len(rows), second_order=second_order),
        np.abs(gradient).sum(),
        hessian.sum(),
    )
    words = np.empty(len(rows), dtype=np.int64)
    pack_rows(gradient, hessian, 0, packing, 0, words)
    total = words.sum()
    place = int(rows[-1]) % 16
    histogram = np.random.default_rng(0).integers(-9, 9, (256, 16))  # of other columns
    histogram[:, place] = 0
    for code, word in zip(codes, words, strict=True):
        histogram[code, place] += word
    scale = packing.hessian_scale if second_order else 1.0
    rule = SplitRule(second_order, l2 * scale, min_samples_leaf)
    present = codes[codes != MISSING]
    cuts = new_cuts()
    best_cuts(
        histogram.ravel(),
        # as wide as the widest column of the block
        int(present.max()) + 1 + place % 3 if len(present) else 1,
        np.int64(total),
        packing,
        rule,
        cuts,
    )
    if cuts.score[place] == 0:
        return 0.0, None
    missing_left = cuts.missing_left[place]
    threshold = cuts.threshold[place]
    parent, count = side_score(np.int64(total), packing, second_order, rule.l2)
    assert count == len(rows)
    unit = scale / packing.gradient_scale**2
    cut = oracle.Cut(0, float(threshold), bool(missing_left))
    return (cuts.score[place] - parent) * unit, cut


def compare(column, gradient, hessian, *, second_order, l2, min_samples_leaf):
    column, gradient, hessian = (
        np.asarray(values, dtype=np.float64) for values in (column, gradient, hessian)
    )
    X, rows = column[:, None], range(len(column))
    weight = hessian if second_order else np.ones(len(column))
    l2 = l2 if second_order else 0.0
    expected, best = oracle.best_cut(X, rows, gradient, weight, l2, min_samples_leaf)
    found, cut = search(
        column,
        gradient,
        hessian,
        second_order=second_order,
        l2=l2,
        min_samples_leaf=min_samples_leaf,
    )
    # with n <= 12, sums of |g| and of h hold 30 and 28 bits, and n rows are off by one
    # unit each; the square of a sum over its weight magnifies that of a light side
    lightest = min(hessian) + l2 if second_order else 1.0
    total = np.abs(gradient).sum()
    off = 12 * 2.0**-26 * total**2 * hessian.sum() / lightest**2
    off = off if second_order else 12 * 2.0**-26 * total**2
    if cut is None or found <= 0:  # with l2 the best cut may lose
        assert expected <= off
        return
    left, right = oracle.divide(X, rows, cut)
    assert min(len(left), len(right)) >= min_samples_leaf
    chosen = oracle.gain(X, rows, cut, gradient, weight, l2)
    assert found == pytest.approx(expected, abs=off)
    assert chosen == pytest.approx(expected, abs=off)


@settings(max_examples=300)
@given(data=st.data(), second_order=st.booleans())
def test_no_cut_gains_more_than_the_one_found(data, second_order):
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


@both_gains
@pytest.mark.parametrize("l2", [0.0, 1.0])
@pytest.mark.parametrize("min_samples_leaf", [1, 3])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_best_of_several_columns_is_cut(
    missing, min_samples_leaf, l2, second_order
):
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.normal(size=(12, 3)).round(1)
        X[rng.uniform(size=X.shape) < missing] = NAN
        gradient, hessian = rng.normal(size=12), rng.uniform(0.2, 1, 12)
        weight = hessian if second_order else np.ones(12)
        gained, cut = oracle.best_cut(
            X,
            range(12),
            gradient,
            weight,
            l2 if second_order else 0.0,
            min_samples_leaf,
        )
        grown = grow_on(
            X,
            gradient,
            hessian,
            max_leaf_nodes=2,
            second_order=second_order,
            l2=l2,
            min_samples_leaf=min_samples_leaf,
        )
        # 30 bits of gradient, 28 of hessian
        assert grown.tree.gain[0] == pytest.approx(gained, rel=1e-6)
        assert grown.tree.feature[0] == cut.feature
        for side, rows in enumerate(oracle.divide(X, range(12), cut)):
            leaf = (grown.tree.left, grown.tree.right)[side][0]
            value = oracle.leaf_value(rows, gradient, hessian, l2)
            # 62-bit sums
            assert grown.tree.value[leaf] == pytest.approx(value, rel=1e-12)
            assert (grown.fitted[rows] == grown.tree.value[leaf]).all()
            assert grown.tree.n_rows[leaf] == len(rows)


def test_least_squares_gain_is_the_fall_of_the_squared_error():
    rng = np.random.default_rng(1)
    X, gradient = rng.normal(size=(30, 2)), rng.normal(size=30)
    grown = grow_on(
        X, gradient, rng.uniform(size=30), max_leaf_nodes=2, second_order=False
    )
    cut = oracle.Cut(
        int(grown.tree.feature[0]), grown.ensemble.threshold[0], missing_left=False
    )
    fall = oracle.fall_of_squared_error(X, range(30), cut, gradient)
    assert grown.tree.gain[0] == pytest.approx(fall, rel=1e-9)
    best = max(
        oracle.fall_of_squared_error(X, range(30), other, gradient)
        for other in oracle.every_cut(X, range(30))
    )
    assert fall == pytest.approx(best, rel=1e-12)


def test_least_squares_splits_look_at_no_hessian():
    rng = np.random.default_rng(2)
    X, gradient = rng.normal(size=(50, 3)), rng.normal(size=50)
    trees = [
        grow_on(X, gradient, hessian, max_leaf_nodes=8, second_order=False).tree
        for hessian in (np.ones(50), rng.uniform(1e-6, 1e6, 50))
    ]
    for name in ("feature", "threshold", "gain", "n_rows"):
        np.testing.assert_array_equal(getattr(trees[0], name), getattr(trees[1], name))


# --- missing values ---------------------------------------------------------------


@both_gains
@pytest.mark.parametrize("better", ["left", "right"])
def test_missing_values_go_to_the_better_side(better, second_order):
    column = np.array([0.0, 0, 0, 1, 1, 1, NAN, NAN])
    gradient = np.array([1.0, 1, 1, -1, -1, -1, 0, 0])
    gradient[6:] = 1 if better == "left" else -1
    _, cut = search(column, gradient, np.ones(8), second_order=second_order)
    assert cut == oracle.Cut(0, 0.0, better == "left")


@both_gains
@pytest.mark.parametrize("n_bins", [1, 3])
def test_missing_values_may_stand_alone(n_bins, second_order):
    column = np.array([*np.arange(6) % n_bins, NAN, NAN])
    gradient = np.array([1.0, 1, 1, 1, 1, 1, -1, -1])
    gained, cut = search(column, gradient, np.ones(8), second_order=second_order)
    assert cut == oracle.Cut(0, n_bins - 1.0, False)
    assert gained == pytest.approx(6 + 2 - 4**2 / 8, rel=1e-6)


@both_gains
@pytest.mark.parametrize("larger", ["left", "right"])
def test_without_missing_values_they_will_go_with_the_majority(larger, second_order):
    column = np.array([0.0, 0, 0, 0, 1, 1])
    if larger == "right":
        column = 1 - column
    gradient = np.where(column == 0, 1.0, -1.0)
    tree = grow_on(
        column[:, None], gradient, np.ones(6), second_order=second_order
    ).tree
    assert tree.feature[0] == 0
    assert tree.missing_left[0] == (larger == "left")


# --- no cut -----------------------------------------------------------------------


@both_gains
@pytest.mark.parametrize(
    "column", [[0.0] * 6, [NAN] * 6, [0.0, 0, 0, 0, 1, 1], [0.0, 0, 0, 0, NAN, NAN]]
)
def test_a_column_without_an_admissible_cut_has_none(column, second_order):
    column, gradient = np.array(column), np.array([5.0, -1, 2, -2, 1, -1])
    found = search(
        column, gradient, np.ones(6), second_order=second_order, min_samples_leaf=3
    )
    assert found == (0.0, None)


@both_gains
def test_the_first_of_equal_cuts_is_taken(second_order):
    # by symmetry, cutting after bin 0 gains as much as after bin 2
    column = np.array([0.0, 1, 2, 3])
    gradient = np.array([1.0, -1, -1, 1])
    _, cut = search(column, gradient, np.ones(4), second_order=second_order)
    assert cut.threshold == 0.0
