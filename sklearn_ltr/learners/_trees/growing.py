"""Best-first growth of one regression tree by a team of threads.

A tree of L leaves is grown by L - 1 splits.  Each of them

1. selects the leaf whose best split has the highest gain,
2. partitions its rows into those of its two children, keeping their order,
3. makes the histogram of the smaller child from its rows, and that of the larger one as
   the parent's minus the smaller child's,
4. finds the best splits of both children; threads share the blocks of features.

All threads run :func:`grow_tree` and wait for each other after steps 2 and 4.  All sums
that decide about splits are of integers, so that the tree does not depend on the number
of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import (
    ThreadTeam,
    int64,
    kernel,
    subkernel,
    uint64,
    wait_at_barrier,
)
from sklearn_ltr.learners._trees.binning import BinnedData, restrict_features
from sklearn_ltr.learners._trees.leaf_values import write_leaf_values
from sklearn_ltr.learners._trees.partition import partition
from sklearn_ltr.learners._trees.quantization import (
    BitLayout,
    Derivatives,
    Magnitudes,
    Quantization,
    choose_bit_layout,
    choose_quantization,
    count_of,
    pack_gradients,
    sum_magnitudes,
)
from sklearn_ltr.learners._trees.split_search import (
    find_best_splits,
    select_best_split,
    sum_left,
)
from sklearn_ltr.learners._trees.splitting import SplitRule
from sklearn_ltr.learners._trees.workspace import (
    N_CHUNKS,
    GrownTree,
    GrowthParameters,
    TreeSample,
    Workspace,
    allocate_tree,
    allocate_workspaces,
    best_leaf,
    chunk_bounds,
    is_splittable,
    left_is_smaller,
    make_root,
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
            team.n_threads, n_rows, n_blocks, parameters.max_leaf_nodes
        )

    def grow(
        self,
        gradient: NDArray[np.float64],
        hessian: NDArray[np.float64],
        sample: TreeSample,
        scores: NDArray[np.float64],
    ) -> GrownTree:
        """Grow one tree.

        Parameters
        ----------
        gradient, hessian : ndarrays of shape (n_rows,), float64
            First and second derivative of the cost by each row's score.
        sample : TreeSample
            Rows and features to grow it on, and the factors of split gains.
        scores : ndarray of shape (n_rows,), float64
            The leaf values are added to the scores of the sample's rows.
        """
        binned, parameters = self.binned, self.parameters
        if len(sample.features) < len(binned.slot):
            binned = restrict_features(binned, sample.features)
        tree = allocate_tree(parameters.max_leaf_nodes)
        layout = choose_bit_layout(
            len(sample.rows), second_order=parameters.second_order
        )
        derivatives = Derivatives(gradient, hessian)
        self._workspaces[0].next_leaf[0] = 0

        def grow_in(thread: int) -> None:
            work = self._workspaces[thread]
            grow_tree(
                binned, derivatives, sample, layout, parameters, work, tree, scores
            )

        self.team.run(grow_in)
        n_nodes = 2 * np.count_nonzero(tree.feature >= 0) + 1
        return GrownTree._make(field[:n_nodes] for field in tree)


@kernel
def grow_tree(
    binned: BinnedData,
    derivatives: Derivatives,
    sample: TreeSample,
    layout: BitLayout,
    parameters: GrowthParameters,
    work: Workspace,
    tree: GrownTree,
    scores: NDArray[np.float64],
) -> None:
    """Grow a tree; each thread calls this with its workspace, else the same arguments.

    The tree and the scores are written.
    """
    totals = sum_all_magnitudes(derivatives, work)
    quantization = quantize(
        derivatives, sample.tree_index, choose_quantization(layout, totals), work
    )
    leaves = work.leaves
    make_root(leaves, len(sample.rows), fill_root(sample.rows, work))
    l2, gain_unit = 0.0, 1.0
    if parameters.second_order:
        l2 = parameters.l2_regularization * quantization.hessian_scale
        gain_unit = quantization.hessian_scale
    if quantization.gradient_scale > 0:
        gain_unit = gain_unit / quantization.gradient_scale / quantization.gradient_scale
    rule = SplitRule(parameters.second_order, l2, parameters.min_samples_leaf)
    # int64(): numba would compile callees once more for a literal
    n_leaves, smaller, larger = int64(1), int64(0), int64(-1)
    while n_leaves < parameters.max_leaf_nodes:
        split_smaller = is_splittable(leaves, smaller, parameters)
        split_larger = is_splittable(leaves, larger, parameters)
        if split_smaller or split_larger:
            find_best_splits(
                smaller, larger, binned, quantization, rule, sample.gain_factors, work
            )
            wait_at_barrier(work.barrier, work.n_threads)
            if work.thread == 0:
                work.next_block[0] = 0
            for k in range(2):
                leaf = smaller if k == 0 else larger
                if is_splittable(leaves, leaf, parameters):
                    select_best_split(leaf, k, quantization, rule, work)
        leaf = best_leaf(leaves, n_leaves)
        if leaves[leaf].gain <= 0.0:
            break
        left_total = sum_left(binned, leaf, quantization, work)
        n_left = count_of(left_total, quantization)
        partition(binned, leaf, n_left, work)
        n_nodes = 2 * n_leaves - 1
        if work.thread == 0:
            record_split(tree, leaf, n_nodes, gain_unit, work)
        smaller, larger = leaf, n_leaves
        if not left_is_smaller(n_left, leaves[leaf].stop - leaves[leaf].start):
            smaller, larger = n_leaves, leaf
        split_leaf(leaves, leaf, n_leaves, n_nodes, left_total, n_left)
        n_leaves += 1
        wait_at_barrier(work.barrier, work.n_threads)
    write_leaf_values(derivatives, totals, parameters, n_leaves, work, tree, scores)


@subkernel
def sum_all_magnitudes(derivatives: Derivatives, work: Workspace) -> Magnitudes:
    """Sum |gradient| and hessian over all rows, each thread some chunks.

    Chunks are summed in the same order for any number of threads.
    """
    sums = work.chunk_sums
    n_rows = len(derivatives.gradient)
    for chunk in range(work.thread, N_CHUNKS, work.n_threads):
        first, last = chunk_bounds(chunk, N_CHUNKS, int64(0), n_rows)
        sums[chunk, 0] = sum_magnitudes(derivatives.gradient, first, last)
        sums[chunk, 1] = sum_magnitudes(derivatives.hessian, first, last)
    wait_at_barrier(work.barrier, work.n_threads)
    total_gradient, total_hessian = 0.0, 0.0
    for chunk in range(N_CHUNKS):
        total_gradient += sums[chunk, 0]
        total_hessian += sums[chunk, 1]
    return Magnitudes(total_gradient, total_hessian)


@subkernel
def quantize(
    derivatives: Derivatives,
    tree_index: int,
    quantization: Quantization,
    work: Workspace,
) -> Quantization:
    """Pack the gradients of all rows, each thread a chunk; return the scales used.

    If a sum does not fit its bits, since rounding has added too much, both scales are
    halved.
    """
    own = work.thread_sums[work.thread]
    n_rows = len(derivatives.gradient)
    first, last = chunk_bounds(work.thread, work.n_threads, int64(0), n_rows)
    hessian_capacity = 1 << quantization.hessian_bits
    gradient_capacity = 1 << (63 - quantization.hessian_bits - quantization.count_bits)
    while True:
        own.gradient, own.hessian = pack_gradients(
            derivatives, first, last, quantization, tree_index, work.packed_gradients
        )
        wait_at_barrier(work.barrier, work.n_threads)
        gradient_sum, hessian_sum = int64(0), int64(0)
        for thread in range(work.n_threads):
            gradient_sum += work.thread_sums[thread].gradient
            hessian_sum += work.thread_sums[thread].hessian
        wait_at_barrier(work.barrier, work.n_threads)
        if gradient_sum < gradient_capacity and hessian_sum < hessian_capacity:
            return quantization
        quantization = Quantization(
            quantization.gradient_scale / 2,
            quantization.hessian_scale / 2,
            quantization.hessian_bits,
            quantization.count_bits,
        )


@subkernel
def fill_root(rows: NDArray[np.int32], work: Workspace) -> int:
    """Write the rows and packed gradients of the root; return its packed sum."""
    first, last = chunk_bounds(work.thread, work.n_threads, int64(0), len(rows))
    total = int64(0)
    for i in range(uint64(first), uint64(last)):
        row = rows[i]
        packed = work.packed_gradients[uint64(row)]
        work.rows[0, i] = row
        work.leaf_gradients[i] = packed
        total += packed
    work.thread_sums[work.thread].packed = total
    wait_at_barrier(work.barrier, work.n_threads)
    total = int64(0)
    for thread in range(work.n_threads):
        total += work.thread_sums[thread].packed
    return total


@subkernel
def record_split(
    tree: GrownTree, leaf: int, n_nodes: int, gain_unit: float, work: Workspace
) -> None:
    """Write the best split of a leaf into the tree; its children are new nodes."""
    split = work.leaves[leaf]
    node = split.node
    tree.feature[node] = split.feature
    tree.threshold[node] = split.threshold
    tree.missing_left[node] = split.missing_left
    tree.left[node] = n_nodes
    tree.right[node] = n_nodes + 1
    tree.gain[node] = split.gain * gain_unit
