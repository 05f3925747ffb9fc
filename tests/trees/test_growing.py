"""Whole trees against a best-first loop over raw values, and their limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr._compile import INTERPRETED
from tests.oracles import trees as oracle
from tests.trees import Grown, columns, grow_on

NAN = float("nan")
both_gains = pytest.mark.parametrize("second_order", [False, True])


def draw(n=60, n_features=3, missing=0.15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).round(1)
    X[rng.uniform(size=X.shape) < missing] = NAN
    gradient = rng.normal(size=n) + np.nan_to_num(X[:, 0])
    return X, gradient, rng.uniform(0.2, 1.0, n)


def depths(tree) -> np.ndarray:
    depth = np.zeros(len(tree.feature), dtype=int)
    for node in np.flatnonzero(tree.feature >= 0):  # children come after their parent
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    return depth


def rows_of_leaves(grown: Grown) -> dict[int, list[int]]:
    """Rows that reach each leaf by its bins."""
    table = columns(grown.table).astype(float)
    table[table == 255] = NAN
    rows: dict[int, list[int]] = {int(leaf): [] for leaf in grown.leaves}
    for row in range(len(table)):
        rows[oracle.route(table, row, grown.tree)].append(row)
    return rows


# --- best first -------------------------------------------------------------------


@both_gains
@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize(
    "limits",
    [
        {"max_leaf_nodes": 8},
        {"max_leaf_nodes": 20, "max_depth": 3},
        {"max_leaf_nodes": 12, "min_samples_leaf": 7},
        {"max_leaf_nodes": 31, "max_depth": 4, "min_samples_leaf": 4},
    ],
)
def test_a_tree_is_grown_best_first(limits, l2, second_order):
    X, gradient, hessian = draw()
    options = {**limits, "l2": l2, "second_order": second_order}
    gains, leaves = oracle.grow(X, gradient, hessian, **options)
    grown = grow_on(X, gradient, hessian, **options)
    # 60 rows leave 27 bits to hessians, and a light leaf magnifies what they lose
    assert grown.gains == pytest.approx(gains, rel=1e-5)
    found = {frozenset(rows) for rows in rows_of_leaves(grown).values()}
    assert found == {leaf.rows for leaf in leaves}
    for leaf in leaves:
        rows = sorted(leaf.rows)
        value = oracle.leaf_value(rows, gradient, hessian, l2)
        np.testing.assert_allclose(grown.fitted[rows], value, rtol=1e-11)


@both_gains
def test_each_split_is_the_best_there_was(second_order):
    X, gradient, hessian = draw(n=100, n_features=20, seed=1)
    tree = grow_on(
        X, gradient, hessian, max_leaf_nodes=15, second_order=second_order
    ).tree
    # node numbers tell when a node came to be, and when it was split
    splits = np.flatnonzero(tree.feature >= 0)
    order = splits[np.argsort(tree.left[splits])]
    assert order[0] == 0
    for step, node in enumerate(order):
        waiting = [
            other for other in order[step:] if other < 1 + 2 * step
        ]  # was there already, and is split later
        assert tree.gain[node] == max(tree.gain[other] for other in waiting)


# --- sums -------------------------------------------------------------------------


@both_gains
@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 80),
    n_features=st.integers(1, 18),
    missing=st.sampled_from([0.0, 0.3, 0.9]),
    max_leaf_nodes=st.integers(2, 12),
    max_depth=st.integers(1, 6),
    min_samples_leaf=st.integers(1, 20),
    l2=st.sampled_from([0.0, 1.0]),
)
def test_leaves_part_the_rows_and_keep_to_the_limits(
    second_order,
    seed,
    n,
    n_features,
    missing,
    max_leaf_nodes,
    max_depth,
    min_samples_leaf,
    l2,
):
    X, gradient, hessian = draw(n, n_features, missing, seed)
    grown = grow_on(
        X,
        gradient,
        hessian,
        max_leaf_nodes=max_leaf_nodes,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        l2=l2,
        second_order=second_order,
        max_bins=16,
    )
    tree, leaves = grown.tree, rows_of_leaves(grown)
    assert len(leaves) <= max_leaf_nodes
    assert len(tree.feature) == 2 * len(leaves) - 1
    assert depths(tree).max() <= max_depth
    assert sorted(row for rows in leaves.values() for row in rows) == list(range(n))
    for leaf, rows in leaves.items():
        assert tree.n_rows[leaf] == len(rows)
        assert len(leaves) == 1 or len(rows) >= min_samples_leaf
        assert (grown.fitted[rows] == tree.value[leaf]).all()
        value = oracle.leaf_value(rows, gradient, hessian, l2)
        # 62-bit sums of up to 80 rows, of which gradients may cancel
        assert tree.value[leaf] == pytest.approx(value, rel=1e-10, abs=1e-14)
    assert (tree.gain[tree.feature >= 0] > 0).all()
    assert (tree.gain[tree.feature < 0] == 0).all()


# --- limits -----------------------------------------------------------------------


@both_gains
@pytest.mark.parametrize("max_leaf_nodes", [2, 3, 17])
def test_a_tree_has_all_the_leaves_it_may_have(max_leaf_nodes, second_order):
    X, gradient, hessian = draw()
    grown = grow_on(
        X, gradient, hessian, max_leaf_nodes=max_leaf_nodes, second_order=second_order
    )
    assert len(grown.leaves) == max_leaf_nodes


@both_gains
@pytest.mark.parametrize("max_depth", [1, 2, 3])
def test_a_tree_is_as_deep_as_it_may_be_and_no_deeper(max_depth, second_order):
    X, gradient, hessian = draw(missing=0.0)
    grown = grow_on(
        X, gradient, hessian, max_depth=max_depth, second_order=second_order
    )
    assert depths(grown.tree).max() == max_depth


@both_gains
def test_a_leaf_of_exactly_min_samples_leaf_is_made(second_order):
    X = np.arange(10.0)[:, None]
    gradient = np.where(X[:, 0] < 3, 1.0, -1.0)
    for min_samples_leaf, sizes in ((3, {3, 7}), (4, {4, 6})):
        grown = grow_on(
            X,
            gradient,
            np.ones(10),
            max_leaf_nodes=2,
            min_samples_leaf=min_samples_leaf,
            second_order=second_order,
        )
        assert set(grown.tree.n_rows[grown.leaves]) == sizes


@both_gains
@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_too_few_rows_make_a_single_leaf(n, second_order):
    X, gradient, hessian = draw(n)
    grown = grow_on(X, gradient, hessian, min_samples_leaf=5, second_order=second_order)
    assert len(grown.tree.feature) == 1
    value = oracle.leaf_value(range(n), gradient, hessian, 0.0)
    np.testing.assert_allclose(grown.fitted, value, rtol=1e-12)


@both_gains
@pytest.mark.parametrize("n", [36, 360, 45_000])
def test_growing_stops_when_nothing_gains(n, second_order):
    # three steps need three leaves; how gradients are rounded is no reason for more
    if INTERPRETED and n > 1000:
        pytest.skip("loops over many rows")
    step = np.repeat([0, 1, 2], n // 3)
    noise = np.random.default_rng(0).integers(0, 50, (n, 2))
    X = np.column_stack([np.arange(n) // (n // 9), noise]).astype(np.float64)
    gradient, hessian = np.array([[-1.0, 2.0, 0.5], [1.0, 0.3, 0.7]])[:, step]
    grown = grow_on(X, gradient, hessian, second_order=second_order)
    np.testing.assert_allclose(grown.fitted, -gradient / hessian, rtol=1e-12)
    assert grown.tree.n_rows[grown.leaves].tolist() == [n // 3] * 3


@both_gains
def test_a_faint_but_real_gain_is_taken(second_order):
    if INTERPRETED:
        pytest.skip("loops over many rows")
    # 8 standard errors, a thousandth of the squared gradients
    n = 100_000
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (n, 1)).astype(np.float64)
    gradient = rng.choice([-1.0, 1.0], n) + 0.05 * X[:, 0]
    grown = grow_on(X, gradient, np.ones(n), second_order=second_order)
    assert len(grown.leaves) == 2
    assert grown.tree.gain[0] == pytest.approx(
        oracle_gain_of_two_means(gradient, X[:, 0]), rel=1e-3
    )


def oracle_gain_of_two_means(gradient, side) -> float:
    """Fall of the squared error when two sides get a mean each."""
    between = gradient[side == 0].mean() - gradient[side == 1].mean()
    return between**2 * (side == 0).sum() * (side == 1).sum() / len(side)


@both_gains
@pytest.mark.parametrize("n_features", [1, 7, 8, 9, 15, 16, 17, 24, 25, 32, 33])
def test_the_last_column_of_any_number_is_seen(n_features, second_order):
    X = np.zeros((40, n_features))
    X[:, -1] = np.arange(40) % 4
    X[::9, -1] = NAN
    gradient = np.nan_to_num(X[:, -1], nan=7.0) - 2
    grown = grow_on(X, gradient, np.ones(40), second_order=second_order)
    np.testing.assert_allclose(grown.fitted, -gradient, rtol=1e-12)
    assert set(grown.tree.feature) == {-1, n_features - 1}


@both_gains
def test_rows_without_a_gradient_are_not_cut_from_each_other(second_order):
    X = np.arange(40.0)[:, None]
    gradient = np.where(X[:, 0] < 8, 1.0, 0.0)
    grown = grow_on(
        X, gradient, np.ones(40), min_samples_leaf=8, second_order=second_order
    )
    assert sorted(grown.tree.n_rows[grown.leaves]) == [8, 32]


@both_gains
def test_columns_that_say_nothing_are_not_cut(second_order):
    X = np.column_stack([np.zeros(40), np.full(40, NAN), np.arange(40.0)])
    gradient = np.where(X[:, 2] < 20, 1.0, -1.0)
    grown = grow_on(
        X, gradient, np.ones(40), max_leaf_nodes=2, second_order=second_order
    )
    assert grown.tree.feature.tolist() == [2, -1, -1]
    only = grow_on(X[:, :2], gradient, np.ones(40), second_order=second_order)
    assert only.tree.feature.tolist() == [-1]


def test_l2_shrinks_leaves_and_can_forbid_a_split():
    X = np.arange(10.0)[:, None]
    gradient = np.where(X[:, 0] < 5, 1.1, 0.9)
    free = grow_on(X, gradient, np.ones(10), max_leaf_nodes=2)
    assert len(free.leaves) == 2
    tight = grow_on(X, gradient, np.ones(10), max_leaf_nodes=2, l2=5.0)
    assert len(tight.leaves) == 1
    np.testing.assert_allclose(tight.fitted, -10.0 / (10.0 + 5.0), rtol=1e-14)


def test_leaves_are_shrunk_by_the_learning_rate_and_nothing_else_changes():
    X, gradient, hessian = draw()
    full = grow_on(X, gradient, hessian, max_leaf_nodes=5)
    shrunk = grow_on(X, gradient, hessian, max_leaf_nodes=5, learning_rate=0.3)
    np.testing.assert_array_equal(shrunk.tree.value, 0.3 * full.tree.value)
    np.testing.assert_array_equal(shrunk.fitted, 0.3 * full.fitted)
    assert (full.fitted != 0).all()
    for one, other in zip(full.tree[:-1], shrunk.tree[:-1], strict=True):
        np.testing.assert_array_equal(one, other)


# --- some of the rows, some of the columns ----------------------------------------


@both_gains
@pytest.mark.parametrize("n_features", [3, 20, 40])
def test_only_the_columns_asked_for_are_cut(n_features, second_order):
    X, gradient, hessian = draw(n_features=n_features)
    chosen = np.arange(1, n_features, 2)
    grown = grow_on(
        X,
        gradient,
        hessian,
        features=chosen,
        max_leaf_nodes=10,
        second_order=second_order,
    )
    alone = grow_on(
        X[:, chosen], gradient, hessian, max_leaf_nodes=10, second_order=second_order
    )
    splits = grown.tree.feature >= 0
    assert set(grown.tree.feature[splits]) <= set(chosen)
    np.testing.assert_array_equal(
        grown.tree.feature[splits], chosen[alone.tree.feature[splits]]
    )
    np.testing.assert_array_equal(grown.fitted, alone.fitted)


@both_gains
def test_only_the_rows_asked_for_count(second_order):
    X, gradient, hessian = draw(n=80)
    X = np.nan_to_num(X).round()  # few values, so that the bins are the same
    rows = np.flatnonzero(np.random.default_rng(1).uniform(size=80) < 0.5)
    options = {"max_leaf_nodes": 6, "min_samples_leaf": 3, "second_order": second_order}
    grown = grow_on(X, gradient, hessian, rows=rows, **options)
    gains, leaves = oracle.grow(X, gradient, hessian, rows=rows.tolist(), **options)
    assert grown.gains == pytest.approx(gains, rel=1e-5)
    assert np.isnan(np.delete(grown.fitted, rows)).all()
    for leaf in leaves:
        members = sorted(leaf.rows)
        value = oracle.leaf_value(members, gradient, hessian, 0.0)
        np.testing.assert_allclose(grown.fitted[members], value, rtol=1e-11)


def test_noise_decides_between_columns_but_not_between_cuts_or_leaves():
    X, gradient, hessian = draw(missing=0.0)
    plain = grow_on(X, gradient, hessian, max_leaf_nodes=2)
    n_nodes = 2 * 31 - 1
    same = grow_on(
        X, gradient, hessian, max_leaf_nodes=2, noise=np.full((n_nodes, 3), 7.0)
    )
    assert same.tree.feature[0] == plain.tree.feature[0] == 0
    np.testing.assert_array_equal(same.fitted, plain.fitted)
    np.testing.assert_array_equal(same.tree.gain, plain.tree.gain)
    noise = np.ones((n_nodes, 3))
    noise[0] = [1e-6, 1.0, 1e-6]
    turned = grow_on(X, gradient, hessian, max_leaf_nodes=2, noise=noise)
    alone = grow_on(X, gradient, hessian, max_leaf_nodes=2, features=[1])
    assert turned.tree.feature[0] == 1
    np.testing.assert_array_equal(turned.tree.gain, alone.tree.gain)
    np.testing.assert_array_equal(turned.fitted, alone.fitted)


# --- threads, and the order of rows -----------------------------------------------


@both_gains
@pytest.mark.parametrize("n_threads", [2, 3, 4])
def test_the_number_of_threads_does_not_matter(n_threads, second_order):
    n = 400 if INTERPRETED else 20_000  # enough rows to be moved together
    X, gradient, hessian = draw(n, n_features=35, seed=3)
    trees = [
        grow_on(
            X,
            gradient,
            hessian,
            max_leaf_nodes=12,
            second_order=second_order,
            max_bins=32,
            n_threads=threads,
        )
        for threads in (1, 1 if INTERPRETED else n_threads)
    ]
    for one, other in zip(trees[0].tree, trees[1].tree, strict=True):
        assert one.tobytes() == other.tobytes()
    assert trees[0].fitted.tobytes() == trees[1].fitted.tobytes()


@both_gains
def test_two_equal_columns_are_not_told_apart(second_order):
    # the first of equals, whatever thread looks at it: of two threads, the second
    # looks at columns 16 to 31, the first at those before and behind
    X, gradient, hessian = draw(n_features=2)
    X = np.hstack([np.zeros((60, 20)), X, np.zeros((60, 20)), X])
    for n_threads in (1,) if INTERPRETED else (1, 2, 3):
        grown = grow_on(
            X, gradient, hessian, second_order=second_order, n_threads=n_threads
        )
        assert set(grown.tree.feature) == {-1, 20, 21}


def test_a_grower_forgets_the_tree_before():
    from sklearn_ltr.learners._trees.growing import TreeGrower
    from sklearn_ltr.learners._trees.workspace import Limits
    from tests.trees import ALONE, bins

    X, gradient, hessian = draw(n=100, n_features=18)
    _, table = bins(X)
    limits = Limits(9, 2**31, 2, 0.0, 1.0)
    grower = TreeGrower(table, limits, second_order=True, team=ALONE)
    rows, features = np.arange(100, dtype=np.int32), np.arange(18)
    noise, fitted = np.ones((17, 18)), np.zeros(100)
    grower.grow(
        gradient[::-1].copy(), hessian, rows[:50], features[3:5], 0, noise, fitted
    )
    fitted[:] = 0.0
    second = grower.grow(gradient, hessian, rows, features, 0, noise, fitted)
    fresh = grow_on(X, gradient, hessian, max_leaf_nodes=9, min_samples_leaf=2)
    for one, other in zip(second, fresh.tree, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(fitted, fresh.fitted)
