"""Trees of sparse columns: against brute force, and against those of dense columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from sklearn_ltr._core.compile import INTERPRETED, KERNELS
from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.trees.constraints import NO_CONSTRAINTS, Constraints
from sklearn_ltr._core.trees.growth import POLICIES
from sklearn_ltr._core.trees.growth.symmetric import RIDGE, SYMMETRIC
from tests.oracles import trees as oracle
from tests.strategies import sparse_columns
from tests.trees import Grown, bin_table, binned_values, grow_on

NAN = float("nan")
N_THREADS = (1,) if INTERPRETED else (1, 2, 3)
both_gains = pytest.mark.parametrize("second_order", [False, True])
both_policies = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)


def draw(seed, n):
    """Columns of which most are sparse, and gradients that depend on these."""
    rng = np.random.default_rng(seed)
    X = sparse_columns(rng, n)
    weight = rng.normal(size=X.shape[1]) * ((X != 0).mean(axis=0) < 1 / 16)
    gradient = np.nan_to_num(X, nan=4.0) @ weight + 0.2 * rng.normal(size=n)
    return X, gradient, rng.uniform(0.2, 1.0, n), rng


def sparse_features(grown: Grown) -> list[int]:
    """The features that are stored by entries."""
    sparse = grown.binned.stored.sparse
    return [] if sparse is None else sparse.feature.tolist()


def split_of(tree, node) -> oracle.Split:
    """The condition of a node, on bins."""
    return oracle.Split(
        tree.feature[node], tree.threshold[node], tree.missing_left[node]
    )


def rows_of_nodes(bins, tree) -> dict[int, list[int]]:
    """Rows that come through each node."""
    rows = {0: list(range(len(bins)))}
    for node in np.flatnonzero(tree.feature >= 0):  # children come after their parent
        parts = oracle.partition(bins, rows[node], split_of(tree, node))
        rows[int(tree.left[node])], rows[int(tree.right[node])] = parts
    return rows


def every_split(bins, rows, n_bins):
    """All conditions on bins of all features, in the order of their preference."""
    for feature in range(bins.shape[1]):
        own = bins[rows, feature]
        for missing_left in (False, True) if np.isnan(own).any() else (False,):
            for threshold in range(n_bins[feature]):
                yield oracle.Split(feature, float(threshold), missing_left)


def best_splits(bins, rows, n_bins, gradient, weight, l2, least, signs):
    """(gain, division) of each allowed split, and the first split of each division."""
    found, first = {}, {}
    total = oracle.child_score(rows, gradient, weight, l2)
    for split in every_split(bins, rows, n_bins):
        own = bins[rows, split.feature]
        on_left = np.where(np.isnan(own), split.missing_left, own <= split.threshold)
        left, right = np.array(rows)[on_left], np.array(rows)[~on_left]
        if min(len(left), len(right)) < least:
            continue
        values = [
            -gradient[part].sum() / (weight[part].sum() + l2) for part in (left, right)
        ]
        if signs[split.feature] * (values[1] - values[0]) < 0:
            continue
        division = frozenset([tuple(left), tuple(right)])
        scores = [oracle.child_score(part, gradient, weight, l2) for part in division]
        found.setdefault(division, sum(scores) - total)
        first.setdefault(division, split)
    return found, first


# --- best first -----------------------------------------------------------------------


@both_gains
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("min_samples_leaf", [1, 4])
@pytest.mark.parametrize("seed", range(4))
def test_a_leaf_is_split_by_the_first_of_its_best_splits(
    seed, min_samples_leaf, constrained, second_order
):
    X, gradient, hessian, rng = draw(seed, 160)
    signs = np.zeros(X.shape[1], dtype=np.int8)
    if constrained:
        signs = rng.choice([-1, 0, 1], X.shape[1]).astype(np.int8)
    _, binned = bin_table(X, 16)
    bins = binned_values(binned).astype(float)
    bins[bins == MISSING_BIN] = NAN
    grown = grow_on(
        csr_matrix(X),
        gradient,
        hessian,
        max_bins=16,
        max_leaf_nodes=9,
        min_samples_leaf=min_samples_leaf,
        l2=0.5,
        second_order=second_order,
        constraints=NO_CONSTRAINTS._replace(monotonic=signs),
    )
    tree = grown.tree
    weight = hessian if second_order else np.ones(len(hessian))
    l2 = 0.5 if second_order else 0.0
    n_splits, used = np.count_nonzero(tree.feature >= 0), 0
    # quantized gradients are rounded in units of the largest ones
    rounding = 2e-6 * (gradient**2).sum()
    assert n_splits > 1
    for node, rows in rows_of_nodes(bins, tree).items():
        gains, first = best_splits(
            bins, rows, binned.n_bins, gradient, weight, l2, min_samples_leaf, signs
        )
        best = max(gains.values(), default=0.0)
        if tree.feature[node] < 0:
            assert n_splits == 8 or best < rounding
            continue
        split = split_of(tree, node)
        division = frozenset(map(tuple, oracle.partition(bins, rows, split)))
        assert tree.gain[node] == pytest.approx(best, abs=rounding)
        assert gains[division] == pytest.approx(best, abs=rounding)
        feature, threshold, missing_left = first[division]
        assert (split.feature, split.threshold) == (feature, threshold)
        if np.isnan(bins[rows, feature]).any():
            assert split.missing_left == missing_left
        used += feature in sparse_features(grown)
    assert used > 0


@both_policies
@both_gains
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(20, 250),
    max_depth=st.integers(1, 5),
    min_samples_leaf=st.integers(1, 12),
    l2=st.sampled_from([0.0, 1.0]),
    max_bins=st.sampled_from([2, 5, 255]),
    subsample=st.sampled_from([1.0, 0.5]),
    share=st.sampled_from([1.0, 0.4]),
    constrained=st.sampled_from(["", "signs", "sets", "signs and sets"]),
    n_threads=st.sampled_from(N_THREADS),
)
def test_a_tree_is_that_of_dense_columns(
    policy, second_order, seed, n, share, constrained, **options
):
    X, gradient, hessian, rng = draw(seed, n)
    n_features, signs = X.shape[1], NO_CONSTRAINTS.monotonic
    n_nodes = 2 * max(20, 2 ** options["max_depth"])
    if "signs" in constrained:
        signs = rng.choice([-1, 0, 1], n_features).astype(np.int8)
    n_sets = 2 if "sets" in constrained else 0
    sets = rng.uniform(size=(n_sets, n_features)) < 0.7
    allowed = rng.uniform(size=(n_nodes, n_features)) < share
    options |= {
        "max_leaf_nodes": 20,
        "policy": policy,
        "second_order": second_order,
        "constraints": Constraints(signs, sets),
        "features": np.flatnonzero(rng.uniform(size=n_features) < max(share, 0.7)),
    }
    dense, sparse = (
        grow_on(table, gradient, hessian, allowed=allowed.copy(), **options)
        for table in (X, csr_matrix(X))
    )
    for name, found in sparse.tree._asdict().items():
        if name != "category_set":
            np.testing.assert_array_equal(found, getattr(dense.tree, name), name)
    np.testing.assert_array_equal(sparse.scores, dense.scores)


@both_policies
def test_missing_values_alone_go_left_if_that_is_better(policy):
    # in the right child of the first split, no row is in the lowest bin
    dense = np.arange(96) // 48
    column = np.where(np.arange(96) < 2, 1.0, 5.0)
    column[90:94] = NAN
    gradient = np.where(dense == 0, 9.0, np.where(np.isnan(column), 1.0, -1.0))
    X = np.column_stack([dense, column])
    signs = np.array([0, 1], dtype=np.int8)  # so missing values cannot go right
    constraints = NO_CONSTRAINTS._replace(monotonic=signs)
    options = {"max_leaf_nodes": 3, "constraints": constraints, "max_depth": 2}
    options |= {"policy": policy}
    for table in (X, csr_matrix(X - [0, 5])):
        tree = grow_on(table, gradient, np.ones(96), **options).tree
        assert tree.feature.tolist() == [0, -1, 1, -1, -1]
        assert tree.missing_left[2]
        assert tree.n_rows[[3, 4]].tolist() == [4, 44]


@pytest.mark.parametrize("value", [-3.0, 3.0, NAN])
def test_zeros_may_be_above_or_below_all_others(value):
    X = np.zeros((64, 2))
    X[5:9, 1] = value
    gradient = np.where(X[:, 1] == 0, 1.0, -2.0)
    grown = grow_on(csr_matrix(X), gradient, np.ones(64))
    assert sparse_features(grown) == [0]
    np.testing.assert_allclose(grown.scores, -gradient, rtol=1e-12)


def test_rare_columns_are_left_out_however_they_are_divided_among_threads():
    # one column has most of the entries, and threads beside that of it may have none
    rng = np.random.default_rng(0)
    X = np.zeros((400, 12))
    X[rng.choice(400, 24, replace=False), 1] = 1.0
    for j in range(2, 12):
        X[rng.choice(400, rng.integers(0, 4), replace=False), j] = 1.0
    X[:, 0] = np.arange(400) % 7
    gradient = X @ np.array([0, 5, *rng.normal(size=10)]) + 0.1 * rng.normal(size=400)
    for least in (1, 2, 3, 24, 25):
        options = {"min_samples_leaf": least, "max_leaf_nodes": 12}
        expected = grow_on(X, gradient, np.ones(400), **options)
        split = set(expected.tree.feature) - {-1, 0}
        assert (len(split) > 0) is (least < 25)
        for n_threads in (1,) if INTERPRETED else (1, 2, 3, 5):
            found = grow_on(
                csr_matrix(X), gradient, np.ones(400), n_threads=n_threads, **options
            )
            assert found.scores.tolist() == expected.scores.tolist()
            assert found.gains == expected.gains


@both_policies
def test_a_column_of_bytes_that_divides_rows_alike_has_the_same_gain(policy):
    # of a column and its complement one is sparse, and the first of both is used: so
    # gains must be added up in the same order
    rng = np.random.default_rng(0)
    n = 300 if INTERPRETED else 2000
    few = (rng.uniform(size=(n, 30)) < 0.055).astype(float)
    X = np.column_stack([few, 1 - few])[:, rng.permutation(60)]
    options = {"max_leaf_nodes": 40, "max_depth": 8, "policy": policy}
    for _ in range(1 if INTERPRETED else 8):
        data = rng.normal(size=n), rng.uniform(0.2, 1, n)
        dense = grow_on(X, *data, **options)
        sparse = grow_on(csr_matrix(X), *data, **options)
        assert len(sparse_features(sparse)) > 20
        assert sparse.tree.feature.tolist() == dense.tree.feature.tolist()
        assert sparse.tree.gain.tolist() == dense.tree.gain.tolist()


# --- by levels ------------------------------------------------------------------------


@both_gains
@pytest.mark.parametrize("min_samples_leaf", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_a_level_is_split_by_the_condition_of_the_highest_gain(
    seed, min_samples_leaf, second_order
):
    X, gradient, hessian, rng = draw(seed, 120)
    X = X[:, rng.permutation(X.shape[1])[:8]]
    options = {
        "max_depth": 3,
        "min_samples_leaf": min_samples_leaf,
        "second_order": second_order,
    }
    ridge = RIDGE * hessian.mean()
    levels, leaves = oracle.grow_symmetric(X, gradient, hessian, l2=ridge, **options)
    grown = grow_on(csr_matrix(X), gradient, hessian, policy=SYMMETRIC, **options)
    assert len(sparse_features(grown)) > 2
    gains = sum(gain for gain, _ in levels)
    assert sum(grown.gains) == pytest.approx(gains, abs=2e-6 * (gradient**2).sum())
    for leaf in leaves:
        value = oracle.leaf_value(leaf, gradient, hessian, ridge)
        np.testing.assert_allclose(grown.scores[leaf], value, rtol=1e-11)


# --- compilation ----------------------------------------------------------------------


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_what_sparse_columns_need_is_compiled_for_those_who_have_some():
    X, gradient, hessian, _ = draw(0, 100)
    kernel = KERNELS["sklearn_ltr._core.trees.growth.loop.grow_best_first"]
    grow_on(csr_matrix(X), gradient, hessian)
    n_signatures = len(kernel.signatures)
    for dtype in (np.float32, np.float64):
        for options in ({"subsample": 0.5}, {"n_threads": 2}, {"features": [0, 5]}):
            table = csr_matrix(X.astype(dtype))
            grow_on(table, gradient, hessian, **options)
            # no split of a sparse column leaves enough rows on both sides
            grow_on(table, gradient, hessian, **options, min_samples_leaf=10)
    with_sparse = ["SparseWork" in str(types) for types in kernel.signatures]
    assert len(kernel.signatures) - n_signatures <= 1  # that without sparse columns
    assert sum(with_sparse) <= 2  # other tests have constraints, too


@both_policies
def test_lists_of_many_leaves_are_moved_together_where_they_have_no_room(policy):
    # with so many leaves of 300 rows, there are more keys in all lists together than
    # there is room for, which is for twice as many as there are entries
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 30)) < 0.05, rng.normal(size=(300, 30)), 0)
    X[:, 0] = rng.normal(size=300)
    given = rng.normal(size=300), np.ones(300)
    options = {"max_leaf_nodes": 128, "max_depth": 7 if policy is SYMMETRIC else 2**31}
    sparse, dense = (
        grow_on(table, *given, policy=policy, **options).tree
        for table in (csr_matrix(X), X)
    )
    assert np.count_nonzero(dense.feature >= 0) > (10 if policy is SYMMETRIC else 100)
    for found, expected in zip(sparse, dense, strict=True):
        np.testing.assert_array_equal(found, expected)
