"""The leaves of rows by columns, against routes row by row."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._core.compile import INTERPRETED, ThreadTeam
from sklearn_ltr._core.data.binned_columns import BinnedColumns
from sklearn_ltr._core.trees.binning import BinnedData
from sklearn_ltr._core.trees.growth import leaf_values
from sklearn_ltr._core.trees.growth.leaf_values import add_binned
from sklearn_ltr._core.trees.growth.workspace import GrownTree


def random_tree(rng, n_leaves, n_features, n_categories) -> GrownTree:
    """A tree grown leaf by leaf, with random splits at all kinds of thresholds."""
    n = 2 * n_leaves - 1
    feature, left = np.full((2, n), -1, dtype=np.int32)
    right = left.copy()
    for k in range(n_leaves - 1):
        node = rng.choice(np.flatnonzero(feature[: 2 * k + 1] < 0))
        feature[node] = rng.integers(n_features)
        left[node], right[node] = 2 * k + 1, 2 * k + 2
    is_leaf = feature < 0
    return GrownTree(
        feature=feature,
        threshold=rng.integers(0, 255, n).astype(np.uint8),
        missing_left=rng.random(n) < 0.5,
        left=left,
        right=right,
        gain=np.zeros(n),
        n_rows=np.zeros(n, dtype=np.int64),
        category_set=rng.integers(0, 256, (n, 32)).astype(np.uint8),
        value=np.where(is_leaf, rng.normal(size=n), 0.0),
    )


def leaf_by_walking(tree, bins, n_categories) -> int:
    node = 0
    while tree.feature[node] >= 0:
        feature = tree.feature[node]
        b = int(bins[feature])
        if n_categories[feature] > 0:
            goes_left = tree.category_set[node, b // 8] >> (b % 8) & 1 == 1
        elif b == 255:
            goes_left = tree.missing_left[node]
        else:
            goes_left = b <= tree.threshold[node]
        node = tree.left[node] if goes_left else tree.right[node]
    return node


@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.sampled_from([1, 2, 3, 31, 255, 256, 257, 300]),
    n_rows=st.integers(1, 400),
)
def test_the_leaf_of_a_row_is_where_its_walk_ends(seed, n_leaves, n_rows):
    rng = np.random.default_rng(seed)
    n_categories = np.array([0, 0, 7, 0, 255])
    tree = random_tree(rng, n_leaves, 5, n_categories)
    columns = rng.integers(0, 256, (5, n_rows)).astype(np.uint8)
    columns[rng.random(columns.shape) < 0.2] = 255
    binned = BinnedData(BinnedColumns(columns), np.full(5, 255), n_categories)
    nodes = [leaf_by_walking(tree, bins, n_categories) for bins in columns.T]
    scores = np.zeros(n_rows)
    with ThreadTeam(1 if INTERPRETED else 1 + seed % 3) as team:
        add_binned(binned, tree, scores, team)
    np.testing.assert_array_equal(scores, tree.value[nodes])


def test_rows_beyond_a_tile_are_assigned():
    n_rows = 3 if INTERPRETED else 2 * leaf_values.LEAF_TILE + 5
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 2, 1, np.zeros(1, int))
    columns = rng.integers(0, 255, (1, n_rows)).astype(np.uint8)
    binned = BinnedData(
        BinnedColumns(columns), np.array([255]), np.zeros(1, dtype=np.int64)
    )
    scores = np.zeros(n_rows)
    with ThreadTeam(1) as team:
        add_binned(binned, tree, scores, team)
    child = np.where(columns[0] > tree.threshold[0], tree.right[0], tree.left[0])
    np.testing.assert_array_equal(scores, tree.value[child])
