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

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import (
    ThreadTeam,
    fetch_add,
    int64,
    kernel,
    wait_at_barrier,
)
from sklearn_ltr._trees.binning import BinnedData, restrict_features
from sklearn_ltr._trees.leaf_splitting import split_in_two
from sklearn_ltr._trees.leaf_values import (
    add_to_scores,
    exact_scales,
    set_leaf_value,
    sum_derivatives,
)
from sklearn_ltr._trees.monotonic_leaves import order_leaf_values
from sklearn_ltr._trees.parameters import GrowthParameters
from sklearn_ltr._trees.partition import fill_root
from sklearn_ltr._trees.quantization import (
    BitLayout,
    Derivatives,
    choose_bit_layout,
    choose_quantization,
    quantize,
    sum_magnitudes,
)
from sklearn_ltr._trees.split_search import (
    find_best_splits,
    select_best_splits,
)
from sklearn_ltr._trees.splitting import make_rule
from sklearn_ltr._trees.workspace import (
    GrownTree,
    Records,
    TreeSample,
    Workspace,
    allocate_nodes,
    allocate_workspaces,
    best_leaf,
    is_splittable,
)

# Those of leaf values, those that splits are sought by, and whether they differ
DerivativesPair: TypeAlias = tuple[Derivatives, Derivatives, bool]


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
        self,
        binned: BinnedData,
        parameters: GrowthParameters,
        team: ThreadTeam,
        row_numbers: object = None,
        comm: object = None,
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
            Of the rows, while splits are sought; leaf values do without.  Overwritten.
        sample : TreeSample
            Rows and features to grow it on, and the factors of split gains.
        scores : ndarray of shape (n_rows,), float64
            The leaf values are added to the scores of the sample's rows.
        """
        binned, parameters = self.binned, self.parameters
        if len(sample.features) < len(binned.slot):
            binned = restrict_features(binned, sample.features)
        nodes = allocate_nodes(parameters.max_leaf_nodes)
        weighted = derivatives
        if weights is not None:
            gradient, hessian = derivatives
            weighted = Derivatives(
                gradient * weights, np.multiply(hessian, weights, out=weights)
            )
        self._workspaces[0].next_leaf[0] = 0
        pair = (derivatives, weighted, weights is not None)
        self._grow_nodes(binned, pair, sample, nodes, scores)
        n_nodes = 2 * np.count_nonzero(nodes["feature"] >= 0) + 1
        if len(parameters.constraints.monotonic) > 0:
            order_leaf_values(
                nodes[:n_nodes],
                self._workspaces[0],
                binned.n_categories,
                parameters.constraints.monotonic,
                scores,
            )
        sets = self._workspaces[0].category_set[:n_nodes].copy()
        names = [name for name in GrownTree._fields if name != "category_set"]
        arrays = {name: nodes[name][:n_nodes].copy() for name in names}
        return GrownTree(category_set=sets, **arrays)

    def _grow_nodes(
        self,
        binned: BinnedData,
        derivatives: DerivativesPair,
        sample: TreeSample,
        nodes: Records,
        scores: NDArray[np.float64],
    ) -> None:
        """Write the nodes of a tree, see `grow_tree`."""
        second_order = self.parameters.second_order
        layout = choose_bit_layout(len(sample.rows), second_order=second_order)

        def grow_in(thread: int) -> None:
            work = self._workspaces[thread]
            grow_tree(
                binned,
                derivatives,
                sample,
                layout,
                self.parameters,
                work,
                nodes,
                scores,
            )

        self.team.run(grow_in)


@kernel
def grow_tree(
    binned: BinnedData,
    derivatives: DerivativesPair,
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
    derivatives : DerivativesPair
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
    rule = make_rule(parameters, quantization)
    count_mask, n_categories = quantization.count_mask, binned.n_categories
    # Leaves are numbered; `smaller` and `larger` are the last split's children.
    # int64(): numba would compile callees once more for a literal.
    n_leaves, smaller, larger = int64(1), int64(0), int64(-1)
    while n_leaves < parameters.max_leaf_nodes:
        if is_splittable(leaves, smaller, count_mask, parameters) or is_splittable(
            leaves, larger, count_mask, parameters
        ):
            find_best_splits(
                smaller, larger, binned, quantization, rule, sample.gain_factors, work
            )
            wait_at_barrier(team.barrier, team.n_threads)
            select_best_splits(
                smaller, larger, parameters, quantization, rule, n_categories, work
            )
        number = best_leaf(leaves, n_leaves)
        if leaves[number].gain <= 0.0:
            break
        smaller, larger = split_in_two(
            number,
            n_leaves,
            binned,
            quantization,
            rule,
            sample.gain_factors,
            work,
            nodes,
        )
        n_leaves += 1
        wait_at_barrier(team.barrier, team.n_threads)
    number = fetch_add(work.next_leaf)
    while number < n_leaves:
        leaf = leaves[number]
        node, rows = nodes[leaf.node], buffers.rows[leaf.buffer]
        sums = sum_derivatives(of_leaves, rows, leaf.start, leaf.stop, scales)
        set_leaf_value(node, leaf.total & count_mask, sums, scales, parameters)
        if len(parameters.constraints.monotonic) == 0:  # else they may still change
            add_to_scores(node.value, rows, leaf.start, leaf.stop, scores)
        number = fetch_add(work.next_leaf)
