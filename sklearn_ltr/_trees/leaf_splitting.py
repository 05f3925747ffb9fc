"""Split a leaf of a growing tree: its rows, its node, and what its children may use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import subkernel
from sklearn_ltr._trees.binning import BinnedData
from sklearn_ltr._trees.category_splits import (
    mark_left_bins,
    record_category_set,
)
from sklearn_ltr._trees.constraints import restrict_children
from sklearn_ltr._trees.partition import (
    SplitCondition,
    count_own_rows_left,
    partition,
)
from sklearn_ltr._trees.quantization import Quantization
from sklearn_ltr._trees.splitting import SplitRule
from sklearn_ltr._trees.workspace import (
    Record,
    Records,
    Workspace,
    split_leaf,
)


@subkernel
def split_in_two(
    number: int,
    n_leaves: int,
    binned: BinnedData,
    quantization: Quantization,
    rule: SplitRule,
    gain_factors: NDArray[np.float64],
    work: Workspace,
    nodes: Records,
) -> tuple[int, int]:
    """Split a leaf into itself and leaf `n_leaves`; return (smaller, larger) of them.

    Another thread's rows may still be on their way to the children.
    """
    team, leaf = work.team, work.leaves[number]
    block, slot = binned.block[leaf.feature], binned.slot[leaf.feature]
    histogram = work.histograms[leaf.histogram_index, block]
    n_bins = binned.n_categories[leaf.feature]
    left_total = mark_left_bins(leaf, histogram, slot, n_bins, quantization, rule, work)
    n_left = left_total & quantization.count_mask
    n_rows = leaf.total & quantization.count_mask
    left_is_smaller = 2 * n_left <= n_rows
    condition = SplitCondition(binned.values[block], slot, work.goes_left)
    if leaf.stop - leaf.start < n_rows:  # other workers have some
        n_left = count_own_rows_left(condition, leaf, work)
    partition(condition, leaf, n_left, left_is_smaller, team, work.buffers)
    n_nodes = 2 * n_leaves - 1
    if team.thread == 0:
        if n_bins > 0:
            record_category_set(work.goes_left, work.category_set[leaf.node])
        record_split(nodes, leaf, n_nodes, rule.gain_unit)
        if len(rule.constraints.interaction_sets) > 0:
            restrict_children(
                leaf.node,
                n_nodes,
                leaf.feature,
                rule.constraints.interaction_sets,
                work.open_sets,
                gain_factors,
            )
    split_leaf(
        work.leaves, number, n_leaves, n_nodes, left_total, n_left, left_is_smaller
    )
    if left_is_smaller:
        return number, n_leaves
    return n_leaves, number


@subkernel
def record_split(nodes: Records, leaf: Record, n_nodes: int, gain_unit: float) -> None:
    """Write the best split of a leaf into its node; its children are new nodes."""
    node = nodes[leaf.node]
    node.feature = leaf.feature
    node.threshold = leaf.threshold
    node.missing_left = leaf.missing_left
    node.left = n_nodes
    node.right = n_nodes + 1
    node.gain = leaf.gain * gain_unit
