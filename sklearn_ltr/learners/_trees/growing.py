"""Best-first growth of one regression tree by a team of threads.

All threads run :func:`grow_tree`.  Before its loop, gradients are quantized and the
root is filled, with barriers in these functions.  A tree of L leaves takes L - 1 passes
of the loop.  Each begins with the leaves made last: the root, later two siblings.

1. Block by block, the histogram of the smaller leaf is made from its rows, and that of
   the larger one as the parent's minus the smaller one's; both are searched for their
   best splits.  Threads share the blocks.  Barrier.
2. Every thread selects the best split of each of these leaves.
3. The leaf whose split has the highest gain is chosen.
4. Its rows are partitioned into those of its children, in their old order.  Barrier.

After the loop, leaf values are computed.  All sums that decide about splits are of
integers, so that the tree does not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import (
    ThreadTeam,
    fetch_add,
    int64,
    kernel,
    subkernel,
    wait_at_barrier,
)
from sklearn_ltr.learners._trees.binning import BinnedData, restrict_features
from sklearn_ltr.learners._trees.category_splits import (
    mark_left_bins,
    record_category_set,
)
from sklearn_ltr.learners._trees.growth_parameters import GrowthParameters
from sklearn_ltr.learners._trees.interactions import restrict_children
from sklearn_ltr.learners._trees.leaf_values import add_leaf_value, exact_scales
from sklearn_ltr.learners._trees.monotonic_leaves import order_leaf_values
from sklearn_ltr.learners._trees.partition import SplitCondition, fill_root, partition
from sklearn_ltr.learners._trees.quantization import (
    BitLayout,
    Derivatives,
    choose_bit_layout,
    choose_quantization,
    quantize,
    sum_magnitudes,
)
from sklearn_ltr.learners._trees.split_search import (
    find_best_splits,
    select_best_split,
)
from sklearn_ltr.learners._trees.splitting import SplitRule
from sklearn_ltr.learners._trees.workspace import (
    GrownTree,
    Record,
    Records,
    TreeSample,
    Workspace,
    allocate_nodes,
    allocate_workspaces,
    best_leaf,
    is_splittable,
    split_leaf,
)


class TreeGrower:
    """Grows trees on the same binned data, one after another.

    Parameters
    ----------
    binned : BinnedData
        Features of the training rows.
    parameters : GrowthParameters
    team : ThreadTeam
        The threads to use.
    """

    def __init__(
        self, binned: BinnedData, parameters: GrowthParameters, team: ThreadTeam
    ) -> None:
        n_blocks, n_rows, _ = binned.values.shape
        self.binned, self.parameters, self.team = binned, parameters, team
        self._workspaces = allocate_workspaces(
            team.n_threads,
            n_rows,
            n_blocks,
            parameters.max_leaf_nodes,
            bool(binned.n_categories.any()),
            len(parameters.constraints.interaction_sets),
        )

    def grow(
        self,
        derivatives: Derivatives,
        weights: NDArray[np.float64] | None,
        sample: TreeSample,
        scores: NDArray[np.float64],
    ) -> GrownTree:
        """Grow one tree.

        Parameters
        ----------
        derivatives : Derivatives
            First and second derivative of the cost by each row's score.
        weights : ndarray of shape (n_rows,), float64, or None
            Of the rows, while splits are sought; leaf values do without.
        sample : TreeSample
            Rows and features to grow it on, and the factors of split gains.
        scores : ndarray of shape (n_rows,), float64
            The leaf values are added to the scores of the sample's rows.
        """
        binned, parameters = self.binned, self.parameters
        if len(sample.features) < len(binned.slot):
            binned = restrict_features(binned, sample.features)
        nodes = allocate_nodes(parameters.max_leaf_nodes)
        layout = choose_bit_layout(
            len(sample.rows), second_order=parameters.second_order
        )
        weighted = derivatives
        if weights is not None:
            gradient, hessian = derivatives
            weighted = Derivatives(gradient * weights, hessian * weights)
        self._workspaces[0].next_leaf[0] = 0

        def grow_in(thread: int) -> None:
            work = self._workspaces[thread]
            grow_tree(
                binned,
                (derivatives, weighted, weights is not None),
                sample,
                layout,
                parameters,
                work,
                nodes,
                scores,
            )

        self.team.run(grow_in)
        n_nodes = 2 * np.count_nonzero(nodes["feature"] >= 0) + 1
        if len(parameters.constraints.monotonic) > 0:
            order_leaf_values(
                nodes[:n_nodes],
                self._workspaces[0],
                binned.n_categories,
                parameters.constraints.monotonic,
                derivatives.hessian,
                scores,
            )
        sets = self._workspaces[0].category_set[:n_nodes].copy()
        names = [name for name in GrownTree._fields if name != "category_set"]
        arrays = {name: nodes[name][:n_nodes].copy() for name in names}
        return GrownTree(category_set=sets, **arrays)


@kernel
def grow_tree(
    binned: BinnedData,
    derivatives: tuple[Derivatives, Derivatives, bool],
    sample: TreeSample,
    layout: BitLayout,
    parameters: GrowthParameters,
    work: Workspace,
    nodes: Records,
    scores: NDArray[np.float64],
) -> None:
    """Grow a tree; all threads call this at once, each with its own workspace.

    Parameters
    ----------
    binned : BinnedData
    derivatives : (Derivatives, Derivatives, bool)
        Those of leaf values, those that splits are sought by, and whether they differ.
    sample : TreeSample
    layout : BitLayout
    parameters : GrowthParameters
    work : Workspace
    nodes : ndarray of shape (2 * max_leaf_nodes - 1,), TREE_NODE
        Receives the nodes.
    scores : ndarray of shape (n_rows,), float64
        The leaf values are added.
    """
    # `leaves` is this thread's own.  The tree and the scores are shared: thread 0
    # writes the nodes of splits, whichever thread takes a leaf its value.
    team, leaves, buffers = work.team, work.leaves, work.buffers
    of_leaves, of_splits, differ = derivatives
    totals = sum_magnitudes(of_leaves, team)
    scales = exact_scales(totals)
    if differ:
        totals = sum_magnitudes(of_splits, team)
    packed, quantization = buffers.packed_gradients, choose_quantization(layout, totals)
    quantization = quantize(of_splits, sample.tree_index, quantization, packed, team)
    fill_root(sample.rows, leaves[0], buffers, team)
    count_mask, gradient_scale = quantization.count_mask, quantization.gradient_scale
    n_categories = binned.n_categories
    l2, gain_unit = 0.0, 1.0
    if parameters.second_order:
        l2 = parameters.l2_regularization * quantization.hessian_scale
        gain_unit = quantization.hessian_scale
    if gradient_scale > 0:
        gain_unit = gain_unit / gradient_scale / gradient_scale
    rule = SplitRule(
        parameters.second_order,
        l2,
        parameters.min_samples_leaf,
        parameters.category_smoothing,
        parameters.min_samples_category,
        parameters.max_split_categories,
        parameters.constraints,
    )
    # Leaves are numbered; `smaller` and `larger` are the last split's children.
    # int64(): numba would compile callees once more for a literal.
    n_leaves, smaller, larger = int64(1), int64(0), int64(-1)
    while n_leaves < parameters.max_leaf_nodes:
        split_smaller = is_splittable(leaves, smaller, parameters)
        split_larger = is_splittable(leaves, larger, parameters)
        if split_smaller or split_larger:
            find_best_splits(
                smaller, larger, binned, quantization, rule, sample.gain_factors, work
            )
            wait_at_barrier(team.barrier, team.n_threads)
            if team.thread == 0:
                work.next_block[0] = 0
            for k in range(2):
                number = smaller if k == 0 else larger
                # find_best_splits also searches a sibling that cannot be split
                if is_splittable(leaves, number, parameters):
                    leaf = leaves[number]
                    select_best_split(
                        leaf, work.candidates, k, quantization, rule, n_categories
                    )
        number = best_leaf(leaves, n_leaves)
        leaf = leaves[number]
        if leaf.gain <= 0.0:
            break
        block, slot = binned.block[leaf.feature], binned.slot[leaf.feature]
        histogram = work.histograms[leaf.histogram_index, block]
        n_bins = n_categories[leaf.feature]
        left_total = mark_left_bins(
            leaf, histogram, slot, n_bins, quantization, rule, work
        )
        n_left = left_total & count_mask
        left_is_smaller = 2 * n_left <= leaf.stop - leaf.start
        condition = SplitCondition(binned.values[block], slot, work.goes_left)
        partition(condition, leaf, n_left, left_is_smaller, team, buffers)
        n_nodes = 2 * n_leaves - 1
        if team.thread == 0:
            if n_bins > 0:
                record_category_set(work.goes_left, work.category_set[leaf.node])
            record_split(nodes, leaf, n_nodes, gain_unit)
            if len(parameters.constraints.interaction_sets) > 0:
                restrict_children(
                    leaf.node,
                    n_nodes,
                    leaf.feature,
                    parameters.constraints.interaction_sets,
                    work.open_sets,
                    sample.gain_factors,
                )
        split_leaf(
            leaves, number, n_leaves, n_nodes, left_total, n_left, left_is_smaller
        )
        smaller = number if left_is_smaller else n_leaves
        larger = n_leaves if left_is_smaller else number
        n_leaves += 1
        wait_at_barrier(team.barrier, team.n_threads)
    number = fetch_add(work.next_leaf)
    while number < n_leaves:
        leaf = leaves[number]
        node, rows = nodes[leaf.node], buffers.rows[leaf.buffer]
        add_leaf_value(leaf, node, of_leaves, rows, scales, parameters, scores)
        number = fetch_add(work.next_leaf)


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
