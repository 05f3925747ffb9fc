"""Growth of one regression tree by the threads of a team, best first or by levels.

The steps of :meth:`TreeGrower.grow`:

1. The sums of ``|gradient|`` and of hessians over all rows are found (`measure`).
2. A sample of the rows is drawn, if trees are grown on one, and its bins are packed in
   blocks (:mod:`sampling`, :mod:`blocks`).
3. Its gradients are quantized (:mod:`quantization`).
4. Leaves are split, by :func:`grow_tree`, which all threads run, and in which they meet
   at barriers.  A tree of L leaves takes L - 1 passes of a loop, each of which begins
   with the leaves made last: the root, later two siblings.  Block by block, the
   histogram of the smaller leaf is made from its rows, and the histogram of the larger
   one as their parent's minus the smaller one's; both are searched for their best
   splits, while threads share the blocks (:mod:`splitting`).  Every thread selects the
   best split of each of these leaves; the leaf whose split has the highest gain is
   chosen; its rows are divided between its children (:mod:`dividing`).
5. All rows, sampled or not, are assigned to the leaves, and their gradients and
   hessians are added up for the values of the leaves (:mod:`leaf_values`).

All sums that a tree depends on are of integers, so that it does not depend on the
number of threads, nor on the number of workers, each of which has some of the rows.
Several workers take the same steps, each with its own rows, and exchange their sums;
their loop of step 4 is in :mod:`exchange`.  That of symmetric trees is in
:mod:`symmetric`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import (
    ThreadTeam,
    int64,
    shared_kernel,
    subkernel,
    wait_at_barrier,
)
from sklearn_ltr._trees.binning import BinnedData
from sklearn_ltr._trees.growth.blocks import (
    Blocks,
    allocate_blocks,
    pack_rows,
    restrict_features,
)
from sklearn_ltr._trees.growth.dividing import (
    MIN_ROWS_FOR_THREADS,
    best_leaf,
    count_left_by_chunk,
    fill_root,
    is_left_smaller,
    partition,
    split_condition,
    split_leaf,
)
from sklearn_ltr._trees.growth.exchange import JointGrowth
from sklearn_ltr._trees.growth.leaf_values import (
    add_values,
    find_leaves,
    leaf_numbers,
    new_leaf_sums,
    order_leaf_values,
    set_leaf_values,
)
from sklearn_ltr._trees.growth.quantization import (
    Quantization,
    RowDerivatives,
    choose_quantization,
    measure,
    quantize,
    with_variance,
)
from sklearn_ltr._trees.growth.sampling import RowSample, RowSampler, TreeSample
from sklearn_ltr._trees.growth.splitting import (
    SplitRule,
    find_best_splits,
    make_rule,
    select_best_splits,
)
from sklearn_ltr._trees.growth.symmetric import RIDGE, SymmetricGrowth
from sklearn_ltr._trees.growth.workspace import (
    GrownTree,
    GrowthWorkspace,
    Record,
    Records,
    SpecialFeatures,
    allocate_nodes,
    allocate_workspace,
    is_splittable,
    special_features,
    workspace_of_thread,
)
from sklearn_ltr._trees.parameters import GrowthParameters

# Nanoseconds that a tree takes, as measured for 10 to 136 features
ROW_TIME = 30.0  # for a row in a block of features, in all leaves that it comes to
BLOCK_TIME = 6_000.0  # for the search of a block in a leaf
LOST_TIME = 10_000.0  # in a leaf, by two threads


class TreeGrower:
    """Grows trees on the same binned data, one after another.

    Parameters
    ----------
    binned : BinnedData
        Of this worker's rows.
    parameters : GrowthParameters
    team : ThreadTeam
        The threads to use.
    numbers : ndarray of shape (n_rows,), uint32
        The number of each of this worker's rows among the rows of all workers.
    comm : Comm
    """

    def __init__(
        self,
        binned: BinnedData,
        parameters: GrowthParameters,
        team: ThreadTeam,
        numbers: NDArray[np.uint32],
        comm: Comm,
    ) -> None:
        n_rows = binned.columns.shape[1]
        self.binned, self._parameters = binned, parameters
        self.team, self._comm = team, comm
        self._blocks = allocate_blocks(binned)
        self._numbers = numbers
        self._row_sampler = RowSampler(numbers, team, comm)
        self._all_rows: NDArray[np.int32] | None = None  # once they are packed
        self._workspace = allocate_workspace(
            team.n_threads,
            n_rows,
            len(self._blocks.feature),
            parameters.max_leaf_nodes,
            # the leaves of the last level of a symmetric tree need none
            parameters.max_leaf_nodes // (2 if parameters.symmetric else 1),
            special_features(
                binned.n_categories,
                parameters.constraints,
                parameters.max_leaf_nodes,
                team.n_threads,
            ),
        )
        given = self._blocks, parameters, self._workspace, team, comm
        self._symmetric_growth = (
            SymmetricGrowth(*given) if parameters.symmetric else None
        )
        self._joint_growth: JointGrowth | None = None
        if comm.n_workers > 1 and not parameters.symmetric:
            self._joint_growth = JointGrowth(*given)

    def grow(
        self,
        derivatives: RowDerivatives,
        drawn: TreeSample,
        learning_rate: float,
        scores: NDArray[np.float64],
    ) -> GrownTree:
        """Grow a tree and add it to `scores`; all workers call this together."""
        p, team, comm = self._parameters, self.team, self._comm
        blocks = self._blocks
        if len(drawn.features) < len(blocks.slot):
            blocks = restrict_features(blocks, drawn.features)
        magnitudes = measure(derivatives, team, comm)
        if p.symmetric:
            ridge = RIDGE * magnitudes.total[1] / magnitudes.n_rows
            p = p._replace(l2_regularization=p.l2_regularization + ridge)

        # the rows on which splits are sought
        if drawn.subsample < 1.0:
            sample = self._row_sampler.sample(
                derivatives, magnitudes, drawn, p.second_order
            )
            pack_rows(blocks, self.binned.columns, sample.rows, team)
            sample_magnitudes = measure(sample.derivatives, team, comm)
            needs_hessians = True
        else:
            if self._all_rows is None:  # packed once, for all trees
                self._all_rows = np.arange(len(scores), dtype=np.int32)
                pack_rows(self._blocks, self.binned.columns, self._all_rows, team)
            sample = RowSample(self._all_rows, self._numbers, derivatives)
            sample_magnitudes, needs_hessians = magnitudes, p.second_order
        packed = self._workspace.buffers.packed_gradients
        quantization, total = quantize(
            sample.derivatives,
            sample.numbers,
            drawn.tree_index,
            choose_quantization(sample_magnitudes, needs_hessians),
            packed,
            team,
            comm,
        )

        n_rows = len(sample.rows)
        if self.binned.n_categories.any():  # see splitting.py
            quantization = with_variance(
                quantization, packed[:n_rows], total, team, comm
            )

        nodes = allocate_nodes(p.max_leaf_nodes)
        given = blocks, n_rows, total, quantization, drawn.allowed
        if self._symmetric_growth is not None:
            self._symmetric_growth.split_leaves(*given, p, nodes)
        elif self._joint_growth is not None:
            self._joint_growth.split_leaves(*given, nodes)
        else:
            time = self._growth_time(blocks, drawn.subsample)
            team.share(time, grow_tree, *given, p, self._workspace, nodes)

        # the values of the leaves, from all rows
        nodes = nodes[: 2 * np.count_nonzero(nodes["feature"] >= 0) + 1]
        sets = self._workspace.category_set[: len(nodes)].copy()
        tree = tree_of(nodes, sets)
        numbers = leaf_numbers(tree)
        n_leaves = (len(nodes) + 1) // 2
        sums = new_leaf_sums(derivatives, magnitudes, n_leaves, team.n_threads)
        leaves = find_leaves(self.binned, tree, numbers, sums, team)
        number = numbers.leaf_of_node
        set_leaf_values(nodes, number, sums, p.l2_regularization, learning_rate, comm)
        monotonic = p.constraints.monotonic
        if len(monotonic) > 0:
            order_leaf_values(nodes, sets, self.binned.n_categories, monotonic)
        tree = tree._replace(value=nodes["value"].copy(), n_rows=nodes["n_rows"].copy())
        add_values(tree, numbers, leaves, scores, team)
        return tree

    def _growth_time(self, blocks: Blocks, subsample: float) -> float:
        """Return about the nanoseconds that two threads save, twice."""
        # Two threads halve the time of rows and leaves.  In each leaf they lose
        # LOST_TIME, waiting for each other and for what the other has in its cache.
        # All trees of a fit are grown alike: where they were shared by turns, threads
        # often began on one core.
        n_leaves, n_blocks = self._parameters.max_leaf_nodes, len(blocks.n_bins)
        leaf_time = BLOCK_TIME * n_blocks - 2 * LOST_TIME
        row_time = ROW_TIME * n_blocks * subsample * len(self._numbers)
        return row_time + leaf_time * n_leaves


def tree_of(nodes: Records, category_set: NDArray[np.uint8]) -> GrownTree:
    """Return the tree that consists of these nodes."""
    names = [name for name in GrownTree._fields if name != "category_set"]
    arrays: dict[str, Any] = {name: nodes[name].copy() for name in names}
    return GrownTree(category_set=category_set, **arrays)


@shared_kernel
def grow_tree(
    thread: int,
    n_threads: int,
    blocks: Blocks,
    n_rows: int,
    total: int,
    quantization: Quantization,
    allowed: NDArray[np.bool_],
    parameters: GrowthParameters,
    workspace: GrowthWorkspace,
    nodes: Records,
) -> None:
    """Write the splits of a tree into its nodes, given the packed sum of its rows."""
    # The table of leaves is this thread's own, with the same content in all threads.
    # The nodes are shared: thread 0 writes them.
    work = workspace_of_thread(thread, n_threads, workspace)
    team, leaves, special = work.team, work.leaves, work.special
    rule, mask = make_rule(parameters, quantization), quantization.count_mask
    fill_root(n_rows, total, leaves[0], work.buffers, team)
    n_leaves, smaller, larger = int64(1), int64(0), int64(-1)
    wait_at_barrier(team.barrier, team.n_threads)
    while n_leaves < parameters.max_leaf_nodes:
        if is_splittable(leaves, smaller, mask, parameters) or is_splittable(
            leaves, larger, mask, parameters
        ):
            find_best_splits(
                smaller, larger, blocks, quantization, rule, allowed, special, work
            )
            wait_at_barrier(team.barrier, team.n_threads)
            select_best_splits(smaller, larger, parameters, quantization, rule, work)
        number = best_leaf(leaves, n_leaves)
        if leaves[number].gain <= 0.0:
            break
        left_total = divide_rows(
            leaves[number], blocks, quantization, rule, special, work
        )
        smaller, larger = split_leaf(
            number,
            n_leaves,
            left_total,
            left_total & mask,
            n_leaves,  # a tree of L leaves has L histograms at most
            quantization,
            rule,
            allowed,
            special,
            work,
            nodes,
        )
        n_leaves += 1
        wait_at_barrier(team.barrier, team.n_threads)


@subkernel
def divide_rows(
    leaf: Record,
    blocks: Blocks,
    quantization: Quantization,
    rule: SplitRule,
    special: SpecialFeatures | None,
    work: GrowthWorkspace,
) -> int:
    """Divide the rows of a leaf by its best split; return the left packed sum."""
    team, buffers = work.team, work.buffers
    condition, left_total = split_condition(
        leaf, blocks, quantization, rule, special, work
    )
    n_before, n_left = int64(0), left_total & quantization.count_mask
    if team.n_threads > 2 and leaf.stop - leaf.start > MIN_ROWS_FOR_THREADS:
        n_before, n_left = count_left_by_chunk(condition, leaf, team, buffers)
    is_left = is_left_smaller(leaf.total, left_total, quantization)
    partition(condition, leaf, n_before, n_left, is_left, team, buffers)
    return left_total
