"""Growth of one regression tree by the threads of a team, best first or by levels.

The steps of :meth:`TreeGrower.grow`:

1. The sums of ``|gradient|`` and of hessians over all rows are found (`measure`).
2. A sample of the rows is drawn, if trees are grown on one, and its bins are packed in
   blocks (:mod:`sampling`, :mod:`blocks`).
3. Its gradients are quantized (:mod:`quantization`).
4. Leaves are split, in a loop that all threads run (:mod:`loop`), by one of two
   policies: :mod:`best_first` or :mod:`symmetric`.
5. All rows, sampled or not, are assigned to the leaves, and their gradients and
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

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import SharedKernel, ThreadTeam
from sklearn_ltr._trees.binning import BinnedData
from sklearn_ltr._trees.growth import best_first, symmetric
from sklearn_ltr._trees.growth.blocks import (
    allocate_blocks,
    pack_rows,
    restrict_features,
)
from sklearn_ltr._trees.growth.exchange import (
    HistogramExchange,
    grow_best_first_together,
    grow_symmetric_together,
)
from sklearn_ltr._trees.growth.leaf_values import (
    add_values,
    find_leaves,
    leaf_numbers,
    new_leaf_sums,
    order_leaf_values,
    set_leaf_values,
)
from sklearn_ltr._trees.growth.quantization import (
    RowDerivatives,
    choose_quantization,
    measure,
    quantize,
    with_variance,
)
from sklearn_ltr._trees.growth.sampling import RowSample, RowSampler, TreeSample
from sklearn_ltr._trees.growth.workspace import (
    LEAVES_AHEAD,
    GrowingTree,
    GrownTree,
    Records,
    allocate_nodes,
    allocate_workspace,
    make_rule,
)
from sklearn_ltr._trees.parameters import GrowthParameters


class TreeGrower:
    """Grows trees on the same binned data, one after another.

    Parameters
    ----------
    binned : BinnedData
        Of this worker's rows.
    parameters : GrowthParameters
    team : ThreadTeam
        The threads to use.
    row_numbers : ndarray of shape (n_rows,), uint32
        The number of each of this worker's rows among the rows of all workers.
    comm : Comm
    """

    def __init__(
        self,
        binned: BinnedData,
        parameters: GrowthParameters,
        team: ThreadTeam,
        row_numbers: NDArray[np.uint32],
        comm: Comm,
    ) -> None:
        exchanges = comm.n_workers > 1
        self.binned, self._parameters = binned, parameters
        self.team, self._comm = team, comm
        self._blocks = allocate_blocks(binned)
        self._row_numbers = row_numbers
        self._row_sampler = RowSampler(row_numbers, team, comm)
        self._all_rows: NDArray[np.int32] | None = None  # once they are packed
        self._workspace = allocate_workspace(
            parameters, self._blocks, binned.n_categories, team.n_threads, exchanges
        )
        self._kernel: SharedKernel = (
            symmetric.grow_symmetric
            if parameters.symmetric
            else best_first.grow_best_first
        )
        self._exchange: HistogramExchange | None = None
        if exchanges and parameters.symmetric:
            self._kernel = grow_symmetric_together
            most = parameters.max_leaf_nodes // 2
            self._exchange = HistogramExchange(self._blocks, most, comm)
        elif exchanges:
            self._kernel = grow_best_first_together
            self._exchange = HistogramExchange(self._blocks, 1 + LEAVES_AHEAD, comm)

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
        if len(drawn.features) < len(blocks.place):
            blocks = restrict_features(blocks, drawn.features)
        magnitudes = measure(derivatives, team, comm)
        if p.symmetric:
            ridge = symmetric.RIDGE * magnitudes.total[1] / magnitudes.n_rows
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
            sample = RowSample(self._all_rows, self._row_numbers, derivatives)
            sample_magnitudes, needs_hessians = magnitudes, p.second_order
        packed = self._workspace.buffers.packed_gradients
        quantization, total = quantize(
            sample.derivatives,
            sample.row_numbers,
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
        self._split_leaves(
            GrowingTree(
                rule=make_rule(p, quantization),
                blocks=blocks,
                n_rows=n_rows,
                total=total,
                allowed=drawn.allowed,
                most_steps=p.max_depth if p.symmetric else p.max_leaf_nodes - 1,
                exchanges=self._exchange is not None,
                nodes=nodes,
            ),
            self._growth_time(drawn.subsample),
        )

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

    def _split_leaves(self, tree: GrowingTree, time: float) -> None:
        """Write the splits of a tree into its nodes; all workers call this together."""
        work = self._workspace
        work.progress[:] = np.zeros((), dtype=work.progress.dtype)
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
        """Return about the nanoseconds that threads save, twice."""
        # The same for all trees of a fit: where they were shared by turns, threads
        # often began on one core.
        if self._exchange is not None:
            return np.inf
        p, n_blocks = self._parameters, len(self._blocks.n_bins)
        n_rows = subsample * len(self._row_numbers)
        if p.symmetric:
            return symmetric.growth_time(p, n_blocks, n_rows, self.team.n_threads)
        return best_first.growth_time(p, n_blocks, n_rows)


def tree_of(nodes: Records, category_set: NDArray[np.uint8]) -> GrownTree:
    """Return the tree that consists of these nodes."""
    names = [name for name in GrownTree._fields if name != "category_set"]
    arrays: dict[str, Any] = {name: nodes[name].copy() for name in names}
    return GrownTree(category_set=category_set, **arrays)
