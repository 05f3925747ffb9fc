"""Growth of one tree by several workers, each with some of the rows.

Every worker grows the same tree and keeps its own rows in the leaves.  What the tree
depends on are sums over rows, and these are integers, so that their sums over workers
are exact: the tree is, bit for bit, that of :mod:`growing` on all rows.  Rows have the
numbers that they would have there (`RowNumbers`), by which gradients are rounded.

Workers exchange, for each tree: the largest and the sums of gradients and hessians (3
times a few numbers); the histograms of the root and of the smaller child of each split;
and the sums of the leaves.  So a tree of L leaves takes up to L + 3 exchanges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm as Collective
from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._data.query_index import RowNumbers
from sklearn_ltr._trees.binning import (
    HISTOGRAM_BINS,
    MISSING_BIN,
    BinnedData,
)
from sklearn_ltr._trees.distributed_kernels import (
    GrowthState,
    add_up_leaves,
    add_up_magnitudes,
    choose_scales,
    find_largest,
    grow_until_exchange,
    quantize_own_rows,
    set_leaf_values,
)
from sklearn_ltr._trees.growing import DerivativesPair, TreeGrower
from sklearn_ltr._trees.leaf_values import ExactScales
from sklearn_ltr._trees.parameters import GrowthParameters
from sklearn_ltr._trees.quantization import (
    Derivatives,
    Quantization,
    choose_bit_layout,
)
from sklearn_ltr._trees.workspace import Records, TreeSample


class DistributedTreeGrower(TreeGrower):
    """Grows trees together with other workers.

    Parameters
    ----------
    binned : BinnedData
        Features of this worker's rows; all workers have the features in the same slots.
    parameters : GrowthParameters
    team : ThreadTeam
    numbers : RowNumbers
        Of this worker's rows, among those of all workers.
    collective : Collective
    """

    def __init__(
        self,
        binned: BinnedData,
        parameters: GrowthParameters,
        team: ThreadTeam,
        numbers: RowNumbers,
        collective: Collective,
    ) -> None:
        super().__init__(binned, parameters, team, numbers, collective)
        self._numbers, self._collective = numbers, collective

    def _grow_nodes(
        self,
        binned: BinnedData,
        derivatives: DerivativesPair,
        sample: TreeSample,
        nodes: Records,
        scores: NDArray[np.float64],
    ) -> None:
        """Write the nodes of a tree, see `grow_tree`."""
        scales, quantization = self._agree_on_scales(derivatives, sample)
        quantization = self._fill_root(derivatives[1], sample, quantization)
        n_leaves = self._grow_leaves(binned, sample, quantization, nodes)
        sums = np.empty((n_leaves, 2), dtype=np.int64)
        self._run(add_up_leaves, derivatives[0], scales, sums)
        sums = self._collective.sum(sums)
        self._run(
            set_leaf_values,
            nodes,
            sums,
            quantization.count_mask,
            scales,
            self.parameters,
            scores,
        )

    def _run(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Call a kernel in each thread; return what thread 0 returns."""
        results: list[Any] = [None] * self.team.n_threads
        first = self._workspaces[0]
        first.next_block[0] = first.next_leaf[0] = 0

        def call(thread: int) -> None:
            results[thread] = kernel(*arguments, self._workspaces[thread])

        self.team.run(call)
        return results[0]

    def _agree_on_scales(
        self, derivatives: DerivativesPair, sample: TreeSample
    ) -> tuple[ExactScales, Quantization]:
        """Return the scales for the sums over the rows of all workers."""
        of_leaves, of_splits, differ = derivatives
        measured = [of_leaves, of_splits] if differ else [of_leaves]
        sums, n_rows = self._workspaces[0].team.sums, self._numbers.n_rows
        own = [len(sample.rows)]
        for one in measured:
            self._run(find_largest, one)
            own += [sums["largest_gradient"].max(), sums["largest_hessian"].max()]
        gathered = np.array(self._collective.gather(own), dtype=np.int64)
        n_sampled, largest = int(gathered[:, 0].sum()), gathered[:, 1:].max(axis=0)
        totals = []
        for one, of_all in zip(measured, largest.reshape(-1, 2), strict=True):
            self._run(add_up_magnitudes, one, of_all, n_rows)
            totals += [sums["total_gradient"].sum(), sums["total_hessian"].sum()]
        return choose_scales(
            largest.reshape(-1, 2),
            self._collective.sum(np.array(totals)).reshape(-1, 2),
            n_rows,
            choose_bit_layout(n_sampled, second_order=self.parameters.second_order),
        )

    def _fill_root(
        self, of_splits: Derivatives, sample: TreeSample, quantization: Quantization
    ) -> Quantization:
        """Quantize the gradients and fill the root; return what was used."""
        first = self._workspaces[0]
        pair_bits = 63 - quantization.count_bits
        hessian_capacity = 1 << quantization.hessian_bits
        gradient_capacity = 1 << (pair_bits - quantization.hessian_bits)
        while True:
            self._run(
                quantize_own_rows,
                of_splits,
                quantization,
                sample.tree_index,
                sample.rows,
                self._numbers,
            )
            sums = first.team.sums
            own = [sums["gradient"].sum(), sums["hessian"].sum()]
            own.append(first.leaves["total"][0])
            g, h, total = self._collective.sum(np.array(own)).tolist()
            if g < gradient_capacity and h < hessian_capacity:
                break
            quantization = quantization._replace(  # as `quantize` does
                gradient_scale=quantization.gradient_scale / 2,
                hessian_scale=quantization.hessian_scale / 2,
            )
        for work in self._workspaces:
            work.leaves["total"][0] = total
        return quantization

    def _grow_leaves(
        self,
        binned: BinnedData,
        sample: TreeSample,
        quantization: Quantization,
        nodes: Records,
    ) -> int:
        """Split leaves, with sums of the workers' histograms; return their number."""
        first, used = self._workspaces[0], used_of_histograms(binned)
        state: GrowthState = (1, 0, -1, False)
        while True:
            state = self._run(
                grow_until_exchange,
                binned,
                sample.gain_factors,
                quantization,
                self.parameters,
                nodes,
                state,
            )
            n_leaves, smaller, _, is_needed = state
            if not is_needed:
                return n_leaves
            number = first.leaves["histogram_index"][smaller]
            histogram = first.histograms[number].reshape(-1)
            histogram[used] = self._collective.sum(histogram[used])


def used_of_histograms(binned: BinnedData) -> NDArray[np.intp]:
    """Return the numbers that are used in the histograms of all blocks of a leaf."""
    bins = np.arange(HISTOGRAM_BINS)
    is_used = (bins < binned.n_bins[:, None]) | (bins == MISSING_BIN)
    return np.flatnonzero(is_used[:, :, None] & (binned.feature >= 0)[:, None])
