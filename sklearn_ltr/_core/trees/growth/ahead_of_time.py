"""The kernels that grow trees, compiled before a fit needs them.

Of all kernels of a first fit these take longest, so another process compiles them
meanwhile (:mod:`sklearn_ltr._core.compile.helper`).
"""

from __future__ import annotations

import numpy as np

from sklearn_ltr._core.comm import ONE_PROCESS, Comm
from sklearn_ltr._core.compile import ONE_THREAD, helper
from sklearn_ltr._core.data.binned_columns import (
    BinnedColumns,
    SparseColumns,
    sort_entries,
)
from sklearn_ltr._core.trees.binning import BinnedData, hash_bins
from sklearn_ltr._core.trees.constraints import NO_CONSTRAINTS
from sklearn_ltr._core.trees.growth import POLICIES
from sklearn_ltr._core.trees.growth.grower import TreeGrower
from sklearn_ltr._core.trees.growth.loop import GrowthPolicy
from sklearn_ltr._core.trees.growth.quantization import RowDerivatives
from sklearn_ltr._core.trees.growth.sampling import TreeSampler
from sklearn_ltr._core.trees.growth.workspace import GrowthParameters

#: What trees may be grown from: whether there are categories, and sparse columns
PLAIN, CATEGORIES, SPARSE = (False, False), (True, False), (False, True)


def kind_of_growth(policy: GrowthPolicy, has_categories: bool, is_sparse: bool) -> str:
    """Return the name of a kind of trees, by how and from what they are grown."""
    kinds = [", categories"] * has_categories + [", sparse columns"] * is_sparse
    return "".join([policy.name, *kinds])


KINDS = {
    kind_of_growth(policy, *kind): (policy, *kind)
    for kind in (PLAIN, CATEGORIES, SPARSE, (True, True))
    for policy in POLICIES.values()
}


def want_growth(
    policy: GrowthPolicy, has_categories: bool, is_sparse: bool, *, n_jobs: int | None
) -> None:
    """Say that a fit is about to grow trees of some kind."""
    kind = kind_of_growth(policy, has_categories, is_sparse)
    helper.want(policy.kernel, __name__, kind, n_jobs=n_jobs)


def main(kind: str) -> None:
    """Compile all that grows trees of a kind."""
    grow_a_tree(ONE_PROCESS, *KINDS[kind])


def grow_a_tree(
    comm: Comm, policy: GrowthPolicy, has_categories: bool, is_sparse: bool
) -> None:
    """Grow a tree; the kernels that take longest to compile are called first."""
    n_features, n_rows, depth = 2, 100, 3
    columns = np.arange(n_features * n_rows, dtype=np.uint8).reshape(n_features, -1)
    sparse = None
    if is_sparse:  # the last of them
        columns, rows = columns[:-1], np.arange(n_rows // 2)
        entries = sort_entries(np.zeros_like(rows), np.ones_like(rows), rows)
        default_bin = np.zeros(1, dtype=np.uint8)
        sparse = SparseColumns(np.ones(1, dtype=np.int64), default_bin, entries, n_rows)
    derivatives = RowDerivatives(np.arange(float(n_rows)), np.ones(n_rows))
    growth = GrowthParameters(
        max_leaf_nodes=2**depth,
        max_depth=depth,
        min_samples_leaf=5,
        l2_regularization=1.0,
        second_order=True,
        category_smoothing=1.0,
        constraints=NO_CONSTRAINTS,
        path_smooth=0.0,
    )
    n_nodes = 2 * growth.max_leaf_nodes - 1
    sampler = TreeSampler(1.0, n_features, n_features, n_features, n_nodes, seed=0)
    stored, n_categories = BinnedColumns(columns, sparse), 255 * has_categories
    binned = BinnedData(stored, np.full(2, 255), np.full(2, n_categories))
    numbers, drawn = np.arange(n_rows, dtype=np.uint32), sampler.draw(0)
    grower = TreeGrower(binned, policy, growth, ONE_THREAD, numbers, comm)
    grower.call_kernels(derivatives, drawn, np.zeros(n_rows))
    grower.grow(derivatives, drawn, 0.1)
    if is_sparse:
        hash_bins(binned, ONE_THREAD)
