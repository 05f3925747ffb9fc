"""Growth of one regression tree by the threads of a team, best first or by levels.

The steps of :meth:`TreeGrower.grow`:

1. The sums of ``|gradient|`` and of hessians over all rows are found, a sample of the
   rows is drawn, if trees are grown on one, and its gradients are quantized
   (:mod:`preparation`).
2. Its bins are packed in blocks (:mod:`blocks`).
3. Leaves are split, in a loop that all threads run (:mod:`loop`), by a policy:
   :mod:`best_first` or :mod:`symmetric`.
4. All rows, sampled or not, are assigned to the leaves, and their gradients and
   hessians are added up for the values of the leaves (:mod:`leaf_values`).

All sums that a tree depends on are of integers, so that it does not depend on the
number of threads, nor on the number of workers, each of which has some of the rows.
Several workers take the same steps, each with its own rows, and exchange their sums
(:mod:`exchange`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import LONG_TIME, ThreadTeam
from sklearn_ltr._core.trees.binning import BinnedData
from sklearn_ltr._core.trees.growth.blocks import (
    allocate_blocks,
    pack_rows,
    restrict_features,
)
from sklearn_ltr._core.trees.growth.exchange import HistogramExchange
from sklearn_ltr._core.trees.growth.leaf_values import (
    LeafSums,
    add_leaves,
    find_leaves,
    new_leaf_workspace,
    order_leaf_values,
    set_leaf_values,
    smooth_leaf_values,
)
from sklearn_ltr._core.trees.growth.loop import GrowthPolicy
from sklearn_ltr._core.trees.growth.preparation import Magnitudes, RowPreparer
from sklearn_ltr._core.trees.growth.quantization import (
    Quantization,
    RowDerivatives,
    with_variance,
)
from sklearn_ltr._core.trees.growth.sampling import TreeSample
from sklearn_ltr._core.trees.growth.sparse_columns import ENTRY_TIME
from sklearn_ltr._core.trees.growth.workspace import (
    GrowingTree,
    GrownTree,
    GrowthParameters,
    Records,
    allocate_nodes,
    allocate_workspace,
    make_rule,
)
from sklearn_ltr._core.typing import FloatArray


class TreeGrower:
    """Grows trees on the same binned data, one after another.

    Parameters
    ----------
    binned : BinnedData
        Of this worker's rows.
    policy : GrowthPolicy
    parameters : GrowthParameters
    team : ThreadTeam
        The threads to use.
    row_numbers : ndarray of shape (n_rows,), uint32
        The number of each of this worker's rows among the rows of all workers.
    comm : Comm

    Attributes
    ----------
    leaves : LeafWorkspace
        The leaves of the rows in the tree that was grown last.
    """

    def __init__(
        self,
        binned: BinnedData,
        policy: GrowthPolicy,
        parameters: GrowthParameters,
        team: ThreadTeam,
        row_numbers: NDArray[np.uint32],
        comm: Comm,
    ) -> None:
        exchanges = comm.n_workers > 1
        self.binned, self._policy, self._parameters = binned, policy, parameters
        self.team, self._comm = team, comm
        self._blocks = blocks = allocate_blocks(binned)
        self._n_rows, self._all_are_packed = len(row_numbers), False
        self._workspace = allocate_workspace(
            parameters,
            blocks,
            binned,
            team.n_threads,
            policy.n_histograms(parameters, exchanges),
            policy.new_levels(parameters, len(blocks.n_bins), team.n_threads),
        )
        packed = self._workspace.buffers.packed_gradients
        self._preparer = RowPreparer(row_numbers, packed, team, comm)
        n_rows, n_nodes = len(row_numbers), 2 * parameters.max_leaf_nodes - 1
        self.leaves = new_leaf_workspace(n_rows, n_nodes, team.n_threads)
        # a thread's own begin in a cache line that no other thread writes to
        self._leaves_only = allocate_nodes(parameters.max_leaf_nodes)
        shape = team.n_threads, parameters.max_leaf_nodes + 8, 3
        self._leaf_totals = np.zeros(shape, dtype=np.int64)
        self._has_categories = bool(binned.n_categories.any())
        self._kernel = policy.kernel_together if exchanges else policy.kernel
        self._exchange: HistogramExchange | None = None
        if exchanges:
            most = policy.most_exchanged(parameters)
            self._exchange = HistogramExchange(blocks, most, comm)

    def grow(
        self,
        derivatives: RowDerivatives,
        drawn: TreeSample,
        learning_rate: float,
    ) -> GrownTree:
        """Grow a tree; all workers call this together."""
        p, team, comm = self._parameters, self.team, self._comm
        blocks, sparse = self._blocks, self._workspace.sparse
        if len(drawn.features) < len(blocks.place):
            blocks = restrict_features(blocks, drawn.features)
            if sparse is not None:
                sparse.is_drawn[:] = np.isin(sparse.feature, drawn.features)
        prepared = self._preparer.prepare(derivatives, drawn, p.second_order)
        rows, magnitudes, quantization, total = prepared
        ridge = self._policy.ridge * magnitudes.hessian / magnitudes.n_rows
        p = p._replace(l2_regularization=p.l2_regularization + ridge)
        if rows is not None:
            pack_rows(blocks, self.binned.stored.columns, rows, team)
        elif not self._all_are_packed:  # once, for all trees
            every = np.arange(self._n_rows, dtype=np.int32)
            pack_rows(self._blocks, self.binned.stored.columns, every, team)
            self._all_are_packed = True
        n_rows = self._n_rows if rows is None else len(rows)
        if sparse is not None:
            sparse.rows[:n_rows] = np.arange(n_rows) if rows is None else rows
            sparse.place[:] = -1
            sparse.place[sparse.rows[:n_rows]] = np.arange(n_rows)
        if self._has_categories:  # see splitting.py
            packed = self._workspace.buffers.packed_gradients[:n_rows]
            quantization = with_variance(quantization, packed, total, team, comm)

        growing = GrowingTree(
            rule=make_rule(p, quantization),
            blocks=blocks,
            n_rows=n_rows,
            total=total,
            allowed=drawn.allowed,
            most_steps=self._policy.most_steps(p),
            exchanges=self._exchange is not None,
            nodes=self._leaves_only.copy(),
        )
        self._split_leaves(growing, self._growth_time(drawn.subsample))
        nodes = growing.nodes
        nodes = nodes[: 2 * np.count_nonzero(nodes["feature"] >= 0) + 1]
        l2 = p.l2_regularization
        return self._with_values(nodes, derivatives, magnitudes, l2, learning_rate)

    def call_kernels(
        self, derivatives: RowDerivatives, drawn: TreeSample, scores: FloatArray
    ) -> None:
        """Call kernels of `grow` for a tree without splits, what comes last first."""
        p, exchanges = self._parameters, self._exchange is not None
        rule = make_rule(p, Quantization(1.0, 1.0, 8, 255, 8, 255))
        nodes = self._leaves_only.copy()
        tree = GrowingTree(rule, self._blocks, 0, 0, drawn.allowed, 0, exchanges, nodes)
        self._split_leaves(tree, 0.0)
        magnitudes = Magnitudes(self._n_rows, 1.0, 1.0)
        grown = self._with_values(nodes[:1], derivatives, magnitudes, 1.0, 1.0)
        add_leaves(grown, self.leaves, scores, self.team)

    def _with_values(
        self,
        nodes: Records,
        derivatives: RowDerivatives,
        magnitudes: Magnitudes,
        l2_regularization: float,
        learning_rate: float,
    ) -> GrownTree:
        """Give the leaves of a tree their values, from all rows."""
        exchanges, n_leaves = self._exchange is not None, (len(nodes) + 1) // 2
        arrays: dict[str, Any] = {
            name: nodes[name].copy()
            for name in GrownTree._fields
            if name != "category_set"
        }
        category_set = self._workspace.category_set[: len(nodes)].copy()
        tree = GrownTree(category_set=category_set, **arrays)
        sums = LeafSums(
            derivatives,
            magnitudes.gradient,
            magnitudes.hessian,
            self._leaf_totals,
            l2_regularization,
            float(learning_rate),
            np.zeros(len(nodes)),
        )
        work = self.leaves
        find_leaves(self.binned, tree, sums, work, self.team, exchanges=exchanges)
        if exchanges:
            totals = self._comm.sum(sums.totals[:, :n_leaves].sum(axis=0))
            sums.totals[:] = 0
            sums.totals[0, :n_leaves] = totals
            set_leaf_values(tree, work.numbers[0], sums)
        p, monotonic = self._parameters, self._parameters.constraints.monotonic
        if p.path_smooth > 0:
            smooth_leaf_values(tree, work.numbers[0], sums, p.path_smooth)
        if len(monotonic) > 0:
            nodes["value"], nodes["hessian"] = tree.value, sums.of_leaf
            n_categories = self.binned.n_categories
            order_leaf_values(nodes, tree.category_set, n_categories, monotonic)
            tree.value[:] = nodes["value"]
        return tree

    def _split_leaves(self, tree: GrowingTree, time: float) -> None:
        """Write the splits of a tree into its nodes; all workers call this together."""
        work = self._workspace
        work.progress[:] = 0
        if work.levels is not None:
            work.levels.order[:, 0] = 0  # the root
        progress, n_summed = work.progress[0, 0], 0
        self.team.share(time, self._kernel, tree, work)
        while self._exchange is not None and not progress.is_grown:
            new = work.histograms[n_summed : progress.n_histograms]
            self._exchange.add_up(new, tree.blocks)
            n_summed = int(progress.n_histograms)
            self.team.share(time, self._kernel, tree, work)

    def _growth_time(self, subsample: float) -> float:
        """Return twice the nanoseconds that threads save, as `share` takes them."""
        # The same for all trees of a fit: where they were shared by turns, threads
        # often began on one core.
        if self._exchange is not None:
            return LONG_TIME
        p, n_blocks = self._parameters, len(self._blocks.n_bins)
        n_rows, n_threads = subsample * self._n_rows, self.team.n_threads
        time = self._policy.growth_time(p, n_blocks, n_rows, n_threads)
        if self._workspace.sparse is not None:
            time += ENTRY_TIME * subsample * len(self._workspace.sparse.entries)
        return time
