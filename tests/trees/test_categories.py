"""Splits by sets of categories: found, grown, stored, and evaluated."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._core.compile import INTERPRETED, ROW_BLOCK
from sklearn_ltr._core.data.tables import table_of
from sklearn_ltr._core.trees.categories import (
    CategoryBins,
    CategorySums,
    TrainingCategories,
    exact,
)
from sklearn_ltr._core.trees.evaluate.bit_sliced import BitSlicedEvaluator
from sklearn_ltr._core.trees.evaluate.compiled_walk import CompiledWalk
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.evaluate.tree_walk import TreeWalk, unpack_sets
from sklearn_ltr._core.trees.growth import POLICIES, splitting
from sklearn_ltr._core.trees.growth.leaf_values import add_binned
from sklearn_ltr._core.trees.growth.quantization import Quantization
from sklearn_ltr._core.trees.growth.splitting import MAX_SPLIT_CATEGORIES
from sklearn_ltr._core.trees.growth.workspace import CategoryOrder, SplitRule
from tests import from_python
from tests.oracles import trees as oracle
from tests.trees import ONE_THREAD, binned_values, grow_on, row_targets
from tests.trees.forests import (
    SHAPES,
    by_walking_sets,
    grow,
    nodes_of,
    table_with_bins,
    with_sets,
)

NAN = float("nan")
sort_categories = from_python(splitting.sort_categories)
both_gains = pytest.mark.parametrize("second_order", [False, True])


def left_bins(grown, node=0) -> set[int]:
    """The bins that a split sends left, the missing bin included."""
    bits = unpack_sets(grown.tree.category_set)[node]
    return set(np.flatnonzero(bits).tolist())


# --- the best split ---------------------------------------------------------------


@given(
    data=st.data(),
    second_order=st.booleans(),
    l2=st.sampled_from([0.0, 0.5, 10.0]),
    n_categories=st.integers(2, 7),
)
def test_no_set_of_categories_has_a_higher_gain_than_the_one_found(
    data, second_order, l2, n_categories
):
    n = data.draw(st.integers(n_categories, 25))
    draw = lambda values: np.array(data.draw(st.lists(values, min_size=n, max_size=n)))  # noqa: E731
    missing = st.sampled_from([NAN, *map(float, range(n_categories))])
    bins = draw(missing)
    gradient = draw(st.floats(-4, 4).map(lambda x: round(x, 2)))
    hessian = draw(st.sampled_from([0.25, 0.5, 1.0, 2.0]))
    grown = grow_on(
        bins[:, np.newaxis],
        gradient,
        hessian,
        max_leaf_nodes=2,
        second_order=second_order,
        l2=l2,
        categorical=[0],
    )
    weight = hessian if second_order else np.ones(n)
    # missing values are like a category of their own, on the side that is better
    with_missing = np.where(np.isnan(bins), -1, bins).tolist()
    given = with_missing, gradient, weight, l2 if second_order else 0.0
    expected = oracle.best_set_gain(*given) * oracle.share_not_by_chance(*given)
    assert grown.tree.gain[0] == pytest.approx(expected, rel=1e-5, abs=1e-4)


@both_gains
def test_a_category_with_few_rows_goes_with_the_missing_ones(second_order):
    bins = np.repeat([0.0, 1.0, 2.0, NAN], [20, 20, 3, 10])
    gradient = np.repeat([1.0, -1.0, 1.0, -1.0], [20, 20, 3, 10])
    options = {"max_leaf_nodes": 2, "categorical": [0], "second_order": second_order}
    X, hessian = bins[:, np.newaxis], np.ones(53)
    every = grow_on(X, gradient, hessian, **options)
    assert left_bins(every) == {1, *range(3, 256)}  # the lower gradients
    few = grow_on(X, gradient, hessian, min_samples_leaf=4, **options)
    assert left_bins(few) == {1, 2, *range(3, 256)}
    assert sorted(few.tree.n_rows[few.leaves]) == [20, 33]


@both_gains
def test_unseen_categories_go_to_the_larger_child_if_none_is_missing(second_order):
    for n_low, missing_left in ((30, True), (10, False)):
        bins = np.repeat([0.0, 1.0], [n_low, 20])
        gradient = np.where(bins == 0, -1.0, 1.0)
        grown = grow_on(
            bins[:, np.newaxis], gradient, np.ones(len(bins)), categorical=[0],
            second_order=second_order,
        )  # fmt: skip
        assert grown.tree.missing_left[0] == missing_left
        unseen = set(range(2, 256))
        assert left_bins(grown) == ({0} | unseen if missing_left else {0})


@both_gains
@pytest.mark.parametrize("smoothing", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("n_categories", [1, 5, 255])
def test_categories_are_sorted_by_smoothed_ratios(
    n_categories, smoothing, second_order
):
    rng = np.random.default_rng(n_categories)
    n = rng.integers(0, 9, n_categories)
    g, h = rng.integers(-20, 20, n_categories), rng.integers(1, 40, n_categories)
    h_bits, count_bits = (20, 12) if second_order else (0, 12)
    packed = (g << h_bits + count_bits) + n
    packed += (h << count_bits) if second_order else 0
    packed[n == 0] = 0
    histogram = rng.integers(-9, 9, (256, 16))
    histogram[:n_categories, 3] = packed
    quantization = Quantization(
        1.0, 1.0, h_bits, 2**h_bits - 1, count_bits, 2**count_bits - 1
    )
    order = CategoryOrder(np.zeros(256, dtype=np.int64), np.zeros(256))
    n_sorted = sort_categories(
        histogram.ravel()[3::16], n_categories, packed.sum(),
        SplitRule(quantization, second_order, 0.0, 2, 1, smoothing), order,
    )  # fmt: skip
    kept = n > 0
    w = h if second_order else n
    mean_g, mean_w = (x[kept].sum() / max(n.sum(), 1) for x in (g, w))
    ratio = {
        b: (g[b] + smoothing * mean_g) / (w[b] + smoothing * mean_w)
        for b in np.flatnonzero(n >= 2)
    }
    found = order.category[:n_sorted].tolist()
    assert sorted(found) == list(ratio)
    # of nearly equal ratios the order is that of rounding errors
    in_order = np.array([ratio[b] for b in found])
    assert (np.diff(in_order) > -1e-12).all()
    for b, c in zip(found[:-1], found[1:], strict=True):
        assert ratio[b] != ratio[c] or b < c or smoothing > 0


@both_gains
def test_one_side_has_at_most_32_of_the_sorted_categories(second_order):
    n_rows = np.repeat([2, 3], [1, 99])  # the first has too few to be sorted
    bins = np.repeat(np.arange(100.0), n_rows)
    for seed in range(5):
        effect = np.random.default_rng(seed).normal(size=100)
        grown = grow_on(
            bins[:, np.newaxis], effect[bins.astype(int)], np.ones(len(bins)),
            max_leaf_nodes=2, categorical=[0], second_order=second_order,
            min_samples_leaf=3,
        )  # fmt: skip
        n_left = len(left_bins(grown) & set(range(1, 100)))
        # with more, up to a half, the gain would be higher
        assert min(n_left, 99 - n_left) == MAX_SPLIT_CATEGORIES == 32
        assert grown.tree.gain[0] > 0


@both_gains
def test_categories_of_equal_gradients_are_not_split(second_order):
    rng = np.random.default_rng(0)
    n = 6000 if not INTERPRETED else 300
    X = rng.integers(0, 255, (n, 3)).astype(np.float64)
    gradient = np.full(n, 1 / 3)
    grown = grow_on(
        X, gradient, np.full(n, 0.7), categorical=[0, 1, 2], second_order=second_order
    )
    assert len(grown.leaves) == 1


@both_gains
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_set_that_fits_chance_is_no_better_than_a_threshold_that_does(
    policy, second_order
):
    # of the first column are 40 categories, of the second as many numbers
    n_seeds, chosen = 30, []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 40, (1200, 2)).astype(np.float64)
        grown = grow_on(
            X, rng.normal(size=1200), rng.uniform(0.5, 1.5, 1200), categorical=[0],
            max_leaf_nodes=2, max_depth=1, policy=policy,
            second_order=second_order, min_samples_leaf=5,
        )  # fmt: skip
        chosen.append(int(grown.tree.feature[0]))
    # without the rule, the categories would be chosen each time
    assert chosen.count(0) <= n_seeds / 2
    # what they have to tell is still found
    told = 0.3 * rng.normal(size=40)[X[:, 0].astype(int)]
    grown = grow_on(
        X, rng.normal(size=1200) + told, np.ones(1200), categorical=[0],
        max_leaf_nodes=2, max_depth=1, policy=policy, second_order=second_order,
        min_samples_leaf=5,
    )  # fmt: skip
    assert grown.tree.feature[0] == 0


def test_numbers_and_categories_share_a_tree():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 20))
    X[:, [3, 17]] = rng.integers(0, 9, (400, 2))
    X[rng.uniform(size=X.shape) < 0.1] = NAN
    gradient = np.where(np.isin(X[:, 3], [1, 5, 6]), 3.0, 0.0) + np.nan_to_num(X[:, 0])
    grown = grow_on(X, gradient, np.ones(400), categorical=[3, 17], min_samples_leaf=5)
    assert {0, 3} <= set(grown.tree.feature)
    assert grown.tree.feature[0] == 3
    sides = [{1, 5, 6}, set(range(9)) - {1, 5, 6}]
    assert left_bins(grown) & set(range(9)) in sides
    ensemble = grown.ensemble
    by_categories = np.isin(ensemble.feature, [3, 17])
    assert ensemble.category_node.tolist() == np.flatnonzero(by_categories).tolist()
    encoded = grown.mapper.categories.encode(X)
    assert ensemble.predict(encoded, ONE_THREAD).tobytes() == grown.scores.tobytes()
    scores = np.zeros(400)
    add_binned(grown.binned, grown.tree, scores, ONE_THREAD)
    assert scores.tobytes() == grown.scores.tobytes()
    assert by_walking_sets(ensemble, encoded).tobytes() == grown.scores.tobytes()


# --- bins -------------------------------------------------------------------------


@pytest.mark.parametrize(("smoothing", "least"), [(0.0, 1), (3.0, 1), (3.0, 10)])
@pytest.mark.parametrize("max_bins", [2, 9, 32, 40])
def test_rare_categories_share_bins_by_the_mean_targets_of_other_folds(
    max_bins, smoothing, least
):
    rng = np.random.default_rng(max_bins)
    for _ in range(10):
        x = np.floor(rng.exponential(9, size=150))
        x[rng.random(150) < 0.1] = NAN
        # in eighths, whose sums have no rounding errors
        target = np.rint(8 * rng.normal(size=150)) / 8
        weight = rng.choice([0.5, 1.0, 2.0], 150)
        targets = row_targets(150, target, weight)
        sums = CategorySums.add_up(x, targets)
        options = [sums], max_bins, least, smoothing
        bins = CategoryBins.fit(np.array([0]), *options)
        expected = oracle.shared_bins(x.tolist(), targets, *options[1:])
        if len(np.unique(x[~np.isnan(x)])) <= max_bins:
            assert not bins.has_shared.any()
            continue
        assert dict(zip(bins.value, bins.bin, strict=True)) == expected[0]
        X, every = table_of(x[:, np.newaxis]), np.arange(150)
        ((feature, in_training),) = bins.bins_in_training(
            X, every, TrainingCategories(targets.fold, [sums]), smoothing, ONE_THREAD
        )
        assert feature == 0
        assert in_training.tolist() == expected[1]
        assert bins.n_bins[0] <= max_bins
        seen = in_training[in_training < 255]
        assert seen.max() < bins.n_bins[0]


def test_sums_of_exact_numbers_do_not_depend_on_their_order():
    rng = np.random.default_rng(0)
    values = rng.normal(size=5000) * 10.0 ** rng.integers(-12, 12, 5000)
    largest = np.abs(values).max()
    rounded = exact(values, largest, len(values))
    sums = {rng.permutation(rounded).cumsum()[-1] for _ in range(20)}
    assert len(sums) == 1
    np.testing.assert_allclose(rounded, values, atol=1e-11 * largest)
    assert exact(np.zeros(3), 0.0, 3).tolist() == [0, 0, 0]
    assert abs(exact(np.array([5e-324, 1e-323]), 1e-323, 2)).max() < 1e-300


def test_a_feature_of_missing_values_has_one_bin():
    X = np.full((40, 2), NAN)
    X[:, 1] = np.arange(40) % 2
    grown = grow_on(X, X[:, 1] - 0.5, np.ones(40), categorical=[0])
    assert grown.binned.n_categories.tolist() == [1, 0]
    assert (binned_values(grown.binned)[:, 0] == 255).all()
    assert grown.tree.feature[0] == 1


# --- evaluation -------------------------------------------------------------------

FEATURES = [1, 4]


def forest(sizes, shape, n_bins, rng) -> TreeEnsemble:
    trees = sum((grow(size, shape, rng) for size in sizes), TreeEnsemble.empty())
    return with_sets(trees, FEATURES, n_bins, rng)


def check_scores(ensemble, X) -> None:
    expected = by_walking_sets(ensemble, X)
    for evaluator in (TreeWalk, CompiledWalk, BitSlicedEvaluator):
        scores = np.zeros(len(X))
        evaluator(nodes_of(ensemble)).add_to(scores, X)
        assert scores.tobytes() == expected.tobytes()


@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=5),
    shape=st.sampled_from(SHAPES),
    n_bins=st.sampled_from([1, 2, 8, 9, 100, 255]),
    dtype=st.sampled_from([np.float32, np.float64]),
    n_rows=st.sampled_from([1, 30, 64, 65, ROW_BLOCK + 3]),
    seed=st.integers(0, 10_000),
)
def test_all_ways_to_evaluate_sets_give_the_same_scores(
    sizes, shape, n_bins, dtype, n_rows, seed
):
    rng = np.random.default_rng(seed)
    ensemble = forest(sizes, shape, n_bins, rng)
    check_scores(ensemble, table_with_bins(n_rows, dtype, FEATURES, n_bins, rng))


def test_parts_and_sums_keep_the_sets_with_their_nodes():
    rng = np.random.default_rng(4)
    ensemble = forest([9, 1, 20, 3], "any", 50, rng)
    parts = [ensemble.part(m, m + 1) for m in range(4)]
    again = sum(parts, TreeEnsemble.empty())
    for name, array in ensemble.__getstate__().items():
        np.testing.assert_array_equal(again.__getstate__()[name], array)
    loaded = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(loaded.category_set, ensemble.category_set)


def test_trees_saved_before_there_were_sets_are_loaded():
    ensemble = grow(9, "any", np.random.default_rng(0))
    state = dict(vars(ensemble))  # they had no checksum either
    for name in ("category_node", "category_set"):
        assert len(state.pop(name)) == 0
    loaded = object.__new__(TreeEnsemble)
    loaded.__setstate__(state)
    assert loaded.__getstate__().keys() == ensemble.__getstate__().keys()
