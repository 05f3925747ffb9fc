"""Whole trees against best-first growth on raw values, and the growth parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._core.compile import (
    INTERPRETED,
    KERNELS,
    SharedKernel,
    ThreadTeam,
    threads,
)
from sklearn_ltr._core.compile.threads import MIN_SHARED_TIME
from sklearn_ltr._core.trees.constraints import NO_CONSTRAINTS, Constraints
from sklearn_ltr._core.trees.growth import BEST_FIRST, POLICIES, SYMMETRIC
from sklearn_ltr._core.trees.growth.best_first import (
    LEAVES_AHEAD,
    MIN_ROWS_PER_CHUNK,
)
from sklearn_ltr._core.trees.growth.grower import TreeGrower
from sklearn_ltr._core.trees.growth.leaf_values import add_leaves
from sklearn_ltr._core.trees.growth.quantization import RowDerivatives
from sklearn_ltr._core.trees.growth.sampling import TreeSample
from sklearn_ltr._core.trees.growth.workspace import GrowthParameters
from tests.oracles import trees as oracle
from tests.trees import (
    ONE_THREAD,
    STREAM,
    Grown,
    bin_table,
    binned_values,
    grow_on,
    grower_of,
    prepare,
)
from tests.workers import run_workers

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
    bins = binned_values(grown.binned).astype(float)
    bins[bins == 255] = NAN
    rows: dict[int, list[int]] = {int(leaf): [] for leaf in grown.leaves}
    for row in range(len(bins)):
        rows[oracle.route(bins, row, grown.tree)].append(row)
    return rows


# --- best first -------------------------------------------------------------------


def assert_partition(grown: Grown, n_rows, max_depth, min_samples_leaf) -> None:
    """Check that the leaves hold all rows, and respect the limits of their sizes."""
    tree, leaves = grown.tree, rows_of_leaves(grown)
    assert len(tree.feature) == 2 * len(leaves) - 1
    assert depths(tree).max() <= max_depth
    assert sorted(row for rows in leaves.values() for row in rows) == [*range(n_rows)]
    for leaf, rows in leaves.items():
        assert tree.n_rows[leaf] == len(rows)
        assert len(leaves) == 1 or len(rows) >= min_samples_leaf
        assert (grown.scores[rows] == tree.value[leaf]).all()
    assert ((tree.gain > 0) == (tree.feature >= 0)).all()


@both_gains
@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize(
    "size",
    [
        {"max_leaf_nodes": 8},
        {"max_leaf_nodes": 20, "max_depth": 3},
        {"max_leaf_nodes": 12, "min_samples_leaf": 7},
        {"max_leaf_nodes": 31, "max_depth": 4, "min_samples_leaf": 4},
    ],
)
def test_a_tree_is_grown_best_first(size, l2, second_order):
    X, gradient, hessian = draw()
    options = {**size, "l2": l2, "second_order": second_order}
    gains, leaves = oracle.grow(X, gradient, hessian, **options)
    grown = grow_on(X, gradient, hessian, **options)
    # of 60 rows, hessians have 27 bits; a light leaf magnifies their rounding errors
    assert grown.gains == pytest.approx(gains, rel=1e-5)
    found = {frozenset(rows) for rows in rows_of_leaves(grown).values()}
    assert found == {leaf.rows for leaf in leaves}
    for leaf in leaves:
        rows = sorted(leaf.rows)
        value = oracle.leaf_value(rows, gradient, hessian, l2)
        np.testing.assert_allclose(grown.scores[rows], value, rtol=1e-11)


# --- sums -------------------------------------------------------------------------


@both_gains
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 80),
    n_features=st.integers(1, 18),
    missing=st.sampled_from([0.0, 0.3, 0.9]),
    max_leaf_nodes=st.integers(2, 12),
    max_depth=st.integers(1, 6),
    min_samples_leaf=st.integers(1, 20),
    l2=st.sampled_from([0.0, 1.0]),
)
def test_leaves_partition_the_rows_and_respect_the_parameters(
    second_order, seed, n, n_features, missing, l2, **size
):
    X, gradient, hessian = draw(n, n_features, missing, seed)
    options = {"l2": l2, "second_order": second_order, "max_bins": 16}
    grown = grow_on(X, gradient, hessian, **size, **options)
    tree, leaves = grown.tree, rows_of_leaves(grown)
    assert len(leaves) <= size["max_leaf_nodes"]
    assert_partition(grown, n, size["max_depth"], size["min_samples_leaf"])
    for leaf, rows in leaves.items():
        value = oracle.leaf_value(rows, gradient, hessian, l2)
        # 62-bit sums of up to 80 rows, of which gradients may cancel
        assert tree.value[leaf] == pytest.approx(value, rel=1e-10, abs=1e-14)


# --- growth parameters ------------------------------------------------------------


@both_gains
@pytest.mark.parametrize("n", [36, 45_000])
def test_growth_stops_when_no_split_has_a_gain(n, second_order):
    # three steps need three leaves; rounding errors of gradients must not add more
    if INTERPRETED and n > 1000:
        pytest.skip("loops over many rows")
    step = np.repeat([0, 1, 2], n // 3)
    irrelevant = np.random.default_rng(0).integers(0, 50, (n, 2))
    X = np.column_stack([np.arange(n) // (n // 9), irrelevant]).astype(np.float64)
    of_step = np.array([[-1.0, 2.0, 0.5], [1.0, 0.3, 0.7]])
    gradient, hessian = of_step.take(step, axis=1)
    grown = grow_on(X, gradient, hessian, second_order=second_order)
    np.testing.assert_allclose(grown.scores, -gradient / hessian, rtol=1e-12)
    assert grown.tree.n_rows[grown.leaves].tolist() == [n // 3] * 3


@both_gains
def test_a_small_but_significant_gain_is_used(second_order):
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
        gain_of_two_means(gradient, X[:, 0]), rel=1e-3
    )


def gain_of_two_means(gradient, side) -> float:
    """Decrease of the squared error when each side has its own mean."""
    difference = gradient[side == 0].mean() - gradient[side == 1].mean()
    return difference**2 * (side == 0).sum() * (side == 1).sum() / len(side)


@both_gains
@pytest.mark.parametrize("n_features", [1, 4, 5, 8, 9, 16, 17, 33])
def test_the_last_feature_is_searched_whatever_their_number(n_features, second_order):
    X = np.zeros((40, n_features))
    X[:, -1] = np.arange(40) % 4
    X[::9, -1] = NAN
    gradient = np.nan_to_num(X[:, -1], nan=7.0) - 2
    grown = grow_on(X, gradient, np.ones(40), second_order=second_order)
    np.testing.assert_allclose(grown.scores, -gradient, rtol=1e-12)
    assert set(grown.tree.feature) == {-1, n_features - 1}


# --- sampled features -----------------------------------------------------------


@both_gains
@pytest.mark.parametrize("n_features", [3, 20, 40])
def test_only_sampled_features_are_split(n_features, second_order):
    X, gradient, hessian = draw(n_features=n_features)
    chosen = np.arange(1, n_features, 2)
    options = {"max_leaf_nodes": 10, "second_order": second_order}
    grown = grow_on(X, gradient, hessian, features=chosen, **options)
    alone = grow_on(X[:, chosen], gradient, hessian, **options)
    splits = grown.tree.feature >= 0
    assert set(grown.tree.feature[splits]) <= set(chosen)
    np.testing.assert_array_equal(
        grown.tree.feature[splits], chosen[alone.tree.feature[splits]]
    )
    np.testing.assert_array_equal(grown.scores, alone.scores)


@both_gains
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_node_is_split_by_a_feature_that_may(n_threads, second_order):
    n_features = 40
    X, gradient, hessian = draw(n=300, n_features=n_features, seed=4)
    allowed = np.random.default_rng(5).uniform(size=(39, n_features)) < 0.2
    allowed[5] = False  # a node without a feature stays a leaf
    options = {"min_samples_leaf": 5, "second_order": second_order}
    options |= {"n_threads": 1 if INTERPRETED else n_threads}
    tree = grow_on(
        X, gradient, hessian, max_leaf_nodes=20, allowed=allowed, **options
    ).tree
    splits = np.flatnonzero(tree.feature >= 0)
    assert len(splits) > 10
    assert 5 not in splits
    assert allowed[splits, tree.feature[splits]].all()
    nothing = grow_on(
        X, gradient, hessian, allowed=np.zeros((61, n_features), dtype=bool)
    )
    assert nothing.tree.feature.tolist() == [-1]


# --- threads, and trees after each other ------------------------------------------


@both_gains
def test_the_first_of_equal_features_is_used(second_order):
    # whichever thread searches it: with two threads, equal features are in different
    # blocks
    X, gradient, hessian = draw(n_features=2)
    X = np.hstack([np.zeros((60, 20)), X, np.zeros((60, 20)), X])
    for n_threads in (1,) if INTERPRETED else (1, 2, 3):
        grown = grow_on(
            X, gradient, hessian, second_order=second_order, n_threads=n_threads
        )
        assert set(grown.tree.feature) == {-1, 20, 21}


@pytest.mark.skipif(INTERPRETED, reason="by one thread")
@pytest.mark.parametrize(
    "n_rows, n_features, n_threads",
    [(60, 16, 1), (3000, 16, 1), (60, 160, 2), (20_000, 16, 2)],
)
def test_threads_share_a_tree_that_takes_longer_than_they_lose(
    n_rows, n_features, n_threads, monkeypatch
):
    monkeypatch.setattr(threads, "MIN_SHARED_TIME", MIN_SHARED_TIME)  # as for users
    monkeypatch.setattr(threads, "MIN_TIME_TO_BEGIN", MIN_SHARED_TIME)
    shared, run_parts = [], SharedKernel.run_parts

    def note(kernel, *arguments):
        shared.append(kernel)
        run_parts(kernel, *arguments)

    monkeypatch.setattr(SharedKernel, "run_parts", note)
    X, gradient, hessian = draw(n=n_rows, n_features=n_features)
    grow_on(X, gradient, hessian, n_threads=2)
    assert (BEST_FIRST.kernel in shared) == (n_threads == 2)


@pytest.mark.parametrize("n_threads", [1] if INTERPRETED else [1, 3])
def test_a_tree_does_not_depend_on_the_tree_before(n_threads):
    X, gradient, hessian = draw(n=100, n_features=18)
    features = np.arange(18)
    allowed, scores = np.ones((17, 18), dtype=bool), np.zeros(100)
    with ThreadTeam(n_threads) as team:
        _, binned = bin_table(X, team=team)
        parameters = GrowthParameters(9, 2**31, 2, 0.0, True)
        grower = grower_of(binned, parameters, team)
        some = TreeSample(0, features[3:5], allowed, 0.5, STREAM)
        grower.grow(RowDerivatives(gradient[::-1].copy(), hessian), some, 1.0)
        every = TreeSample(0, features, allowed, 1.0, STREAM)
        second = grower.grow(RowDerivatives(gradient, hessian), every, 1.0)
        add_leaves(second, grower.leaves, scores, team)
    first = grow_on(X, gradient, hessian, max_leaf_nodes=9, min_samples_leaf=2)
    for one, other in zip(second, first.tree, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(scores, first.scores)


# --- several workers --------------------------------------------------------------

SIGNS = np.array([1, 0, 0, -1, 0, 0, 1, 0], dtype=np.int8)
SETS = np.array([[1, 1, 1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 1, 0, 1, 1]], dtype=bool)
MONOTONIC = NO_CONSTRAINTS._replace(monotonic=SIGNS)
CATEGORIES = {"categorical": [4, 7], "category_smoothing": 2.0}
TOGETHER = {
    "second order": {"l2": 2.0, "max_depth": 4},
    "sample, least squares": {"subsample": 0.5, "second_order": False},
    "least squares": {"second_order": False},
    "sampled": {"subsample": 0.4, "features": [0, 2, 3, 6]},
    "drawn features": {"share": 0.6},
    "categories": CATEGORIES,
    "monotonic": {"constraints": MONOTONIC},
    "interactions": {"constraints": NO_CONSTRAINTS._replace(interaction_sets=SETS)},
    "everything": {
        **CATEGORIES,
        "subsample": 0.7,
        "share": 0.6,
        "constraints": Constraints(SIGNS, SETS),
    },
    "one leaf": {"min_samples_leaf": 10_000},
    "three leaves": {"max_leaf_nodes": 3},
    "small leaves": {"max_leaf_nodes": 50, "min_samples_leaf": 40},
}


def grow_together(
    n_workers, X, gradient, hessian, *, n_threads, rows_per_run, n_trees=2,
    subsample=1.0, share=1.0, features=None, categorical=(),
    max_leaf_nodes=12, max_depth=2**31, min_samples_leaf=4, l2=0.0, second_order=True,
    category_smoothing=0.0, constraints=NO_CONSTRAINTS, policy=BEST_FIRST,
):  # fmt: skip
    """Grow trees by workers, who are dealt runs of rows; return trees and scores."""
    (n, n_features), rng = X.shape, np.random.default_rng(0)
    _, binned = bin_table(X, 32, categorical=categorical)
    parameters = GrowthParameters(
        max_leaf_nodes, max_depth, min_samples_leaf, l2, second_order,
        category_smoothing, constraints,
    )  # fmt: skip
    features = np.arange(n_features) if features is None else np.array(features)
    drawn = [
        rng.random((2 * max_leaf_nodes - 1, n_features)) < share for _ in range(n_trees)
    ]
    run = np.arange(n) // rows_per_run
    owner = np.random.default_rng(n_workers).integers(n_workers, size=run[-1] + 1)[run]

    def work(comm):
        own = np.flatnonzero(owner == comm.rank)
        part = binned._replace(stored=binned.stored.take(own, ONE_THREAD))
        numbers = own.astype(np.uint32)
        scores, trees = np.zeros(len(own)), []
        with ThreadTeam(n_threads) as team:
            grower = TreeGrower(part, policy, parameters, team, numbers, comm)
            for m, allowed in enumerate(drawn):
                tree = grower.grow(
                    RowDerivatives(gradient[own], hessian[own]),
                    TreeSample(m, features, allowed.copy(), subsample, STREAM),
                    0.1,
                )
                add_leaves(tree, grower.leaves, scores, team)
                if len(tree.category_set) > 0:  # of no split by categories, anything
                    tree.category_set[~np.isin(tree.feature, categorical)] = 0
                trees.append([array.tobytes() for array in tree])
        return trees, own, scores

    results = run_workers(n_workers, work)
    scores = np.empty(n)
    for trees, own, worker_scores in results:
        assert trees == results[0][0]
        scores[own] = worker_scores
    return results[0][0], scores.tobytes()


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("name", TOGETHER)
def test_workers_grow_the_trees_of_one(name, policy):
    n = 120 if INTERPRETED else 1500
    X, gradient, hessian = draw(n, n_features=8, seed=6)
    X[:, [4, 7]] = np.random.default_rng(7).integers(0, 20, (n, 2))
    data = X, gradient + X[:, 4] % 3, hessian
    options = {"rows_per_run": 7, **TOGETHER[name]}
    if policy is SYMMETRIC:
        n_levels = options.get("max_depth", 3)
        options |= {"policy": SYMMETRIC, "max_depth": n_levels}
        options["max_leaf_nodes"] = 2**n_levels
    expected = grow_together(1, *data, n_threads=1, **options)
    assert (len(expected[0][0][0]) > 4) is (name != "one leaf")
    # workers and threads: each number of either, alone and with others
    for n_workers, n_threads in ((2, 1), (3, 1), (1, 2), (1, 3), (2, 3), (3, 2)):
        if n_threads == 1 or not INTERPRETED:
            found = grow_together(n_workers, *data, n_threads=n_threads, **options)
            assert found == expected


@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_workers_exchange_several_histograms_at_once(subsample):
    n, n_leaves = 1000, 31
    X, gradient, hessian = draw(n, missing=0.0)
    _, binned = bin_table(X, 32)
    parameters = GrowthParameters(n_leaves, 2**31, 1, 0.0, True)
    allowed = np.ones((2 * n_leaves - 1, X.shape[1]), dtype=bool)
    sample = TreeSample(0, np.arange(X.shape[1]), allowed, subsample, STREAM)

    def work(comm):
        own = np.arange(comm.rank, n, comm.n_workers)
        part = binned._replace(stored=binned.stored.take(own, ONE_THREAD))
        derivatives = RowDerivatives(gradient[own], hessian[own])
        with ThreadTeam(1) as team:
            numbers = own.astype(np.uint32)
            grower = TreeGrower(part, BEST_FIRST, parameters, team, numbers, comm)
            tree = grower.grow(derivatives, sample, 0.1)
        return len(tree.feature), comm.shapes

    for n_nodes, shapes in run_workers(2, work):
        assert n_nodes == 2 * n_leaves - 1
        # one number for each bin of the three features, and for missing values
        used = (binned.n_bins.max() + 1) * X.shape[1]
        histograms = [shape[0] for shape in shapes if shape[1:] == (used,)]
        assert len(shapes) - len(histograms) == (4 if subsample == 1.0 else 7)
        # the last split needs none; few are not needed in the end
        assert sum(histograms) <= n_leaves + 1
        assert max(histograms) == 1 + LEAVES_AHEAD
        assert len(histograms) <= 0.65 * n_leaves


def test_workers_of_whom_some_have_no_rows():
    X, gradient, hessian = draw(n=40)
    options = {"n_threads": 1, "rows_per_run": 20}
    expected = grow_together(1, X, gradient, hessian, **options)
    assert grow_together(4, X, gradient, hessian, **options) == expected


@pytest.mark.skipif(INTERPRETED, reason="loops over many rows")
def test_gradients_are_quantized_again_if_rounding_makes_a_sum_too_large():
    # hessians only where the rounding of tree 0 is upwards: their sum grows by a third
    n = 2**20
    X, gradient, _ = draw(n, n_features=1)
    hessian = np.where(np.arange(n) * 2654435769 % 2**32 > 0.4 * 2**32, 1.0, 0.0)
    given = RowDerivatives(gradient, hessian)
    found = prepare(given, team=ONE_THREAD)[0].quantization
    first_scale = 0.9 * 2.0**found.hessian_bits / hessian.sum()
    assert found.hessian_scale == pytest.approx(first_scale / 2, rel=1e-12)
    options = {"n_trees": 1, "rows_per_run": 5000, "max_leaf_nodes": 4}
    expected = grow_together(1, X, gradient, hessian, n_threads=1, **options)
    for n_workers, n_threads in ((1, 3), (2, 2)):
        found = grow_together(
            n_workers, X, gradient, hessian, n_threads=n_threads, **options
        )
        assert found == expected


def signatures_of_growing():
    return KERNELS["sklearn_ltr._core.trees.growth.loop.grow_best_first"].signatures


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_growing_is_compiled_once():
    X, gradient, hessian = draw(n_features=20)
    grow_on(X, gradient, hessian)
    n_signatures = len(signatures_of_growing())
    for second_order in (False, True):
        for options in ({}, {"subsample": 0.5}, {"features": [0]}, {"n_threads": 2}):
            for dtype in (np.float32, np.float64):
                options |= {"second_order": second_order}
                grow_on(X.astype(dtype), gradient, hessian, **options)
    assert len(signatures_of_growing()) == n_signatures


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_what_special_features_need_is_compiled_for_those_who_have_some():
    X, gradient, hessian = draw(n_features=8)
    X[:, [4, 7]] = np.abs(X[:, [4, 7]]).round()
    for options in (
        {},
        CATEGORIES,
        {"constraints": MONOTONIC},
        {"constraints": NO_CONSTRAINTS._replace(interaction_sets=SETS)},
    ):
        grow_on(X, gradient, hessian, **options)
    signatures = [str(types) for types in signatures_of_growing()]
    # other tests grow trees on sparse columns
    special = ["SpecialFeatures" in s for s in signatures if "SparseWork" not in s]
    assert sorted(special) == [False, True]


def test_a_block_whose_rows_are_divided_among_threads_gives_the_same_tree():
    # three features are one block: with two threads or more, the rows of a large leaf
    # are in several histograms, which are added
    data = draw(5 * MIN_ROWS_PER_CHUNK)
    n_threads = [1] if INTERPRETED else [1, 2, 3, 4]
    trees = [grow_on(*data, max_leaf_nodes=9, n_threads=n).tree for n in n_threads]
    for tree in trees[1:]:
        for array, expected in zip(tree, trees[0], strict=True):
            np.testing.assert_array_equal(array, expected)
