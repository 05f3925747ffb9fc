"""Best-first growth of one regression tree by threads, alone or with other workers.

All threads run :func:`grow_tree`.  Its steps, each of which ends at a barrier:

1. The largest ``|gradient|`` and hessian are found: the unit for the next sums.
2. ``|gradient|`` and hessian are added up: the scales of quantized gradients.
3. Gradients are quantized, and the root is filled with the sampled rows.
4. Leaves are split.  A tree of L leaves takes L - 1 passes of a loop, each of which
   begins with the leaves made last: the root, later two siblings.  Block by block, the
   histogram of the smaller leaf is made from its rows, and that of the larger one as
   the parent's minus the smaller one's; both are searched for their best splits, while
   threads share the blocks.  Every thread selects the best split of each of these
   leaves; the leaf whose split has the highest gain is chosen; its rows are partitioned
   into those of its children, in their old order.
5. Gradients and hessians of the rows of each leaf are added up, for its value.

All sums that a tree depends on are of integers, so that it does not depend on the
number of threads, nor on the number of workers, each of which has some of the rows.
Every worker grows the same tree and keeps its own rows in the leaves.  Alone, a worker
runs through :func:`grow_tree` once.  Of several, each returns to Python wherever sums
of all rows are needed (the `step` of its GROWTH record says which), and calls it again
when they are there.  So a tree of L leaves takes up to L + 3 exchanges: three times a
few numbers; the histograms of the root and of the smaller child of each split; and the
sums of the leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import (
    ThreadTeam,
    fetch_add,
    int64,
    kernel,
    subkernel,
    wait_at_barrier,
)
from sklearn_ltr._data.query_index import RowNumbers
from sklearn_ltr._trees.binning import (
    HISTOGRAM_BINS,
    MISSING_BIN,
    BinnedData,
    restrict_features,
)
from sklearn_ltr._trees.leaf_splitting import split_in_two
from sklearn_ltr._trees.leaf_values import (
    ExactScales,
    add_to_scores,
    exact_scales,
    set_leaf_value,
    sum_derivatives,
)
from sklearn_ltr._trees.monotonic_leaves import order_leaf_values
from sklearn_ltr._trees.parameters import GrowthParameters
from sklearn_ltr._trees.partition import fill_root, set_root_total
from sklearn_ltr._trees.quantization import (
    Derivatives,
    Quantization,
    add_up,
    choose_bit_layout,
    choose_quantization,
    find_largest,
    fits,
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
    Record,
    Records,
    Team,
    TreeSample,
    Workspace,
    allocate_nodes,
    allocate_workspaces,
    best_leaf,
    chunk_bounds,
    is_splittable,
)

# Those of leaf values, those that splits are sought by, and whether they differ
DerivativesPair: TypeAlias = tuple[Derivatives, Derivatives, bool]

# Steps of growth: what the threads have found, and several workers must add up
BEGIN, LARGEST, TOTALS, ROOT, GROWING, HISTOGRAM, LEAVES, END = range(8)


class TreeGrower:
    """Grows trees on the same binned data, one after another.

    Parameters
    ----------
    binned : BinnedData
        Features of this worker's rows; all workers have them in the same slots.
    parameters : GrowthParameters
    team : ThreadTeam
        The threads to use.
    numbers : RowNumbers
        Of this worker's rows among those of all workers.
    comm : Comm
    """

    def __init__(
        self,
        binned: BinnedData,
        parameters: GrowthParameters,
        team: ThreadTeam,
        numbers: RowNumbers,
        comm: Comm,
    ) -> None:
        n_blocks, n_rows, _ = binned.values.shape
        self.binned, self.parameters, self.team = binned, parameters, team
        self._numbers, self._comm = numbers, comm
        self._workspaces = allocate_workspaces(
            team.n_threads,
            n_rows,
            n_blocks,
            parameters.max_leaf_nodes,
            bool(binned.n_categories.any()),
            len(parameters.constraints.interaction_sets),
            comm.n_workers,
        )

    def grow(
        self,
        derivatives: Derivatives,
        weights: NDArray[np.float64] | None,
        sample: TreeSample,
        scores: NDArray[np.float64],
    ) -> GrownTree:
        """Grow one tree; all workers call this together.

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
        pair = (derivatives, weighted, weights is not None)
        first = self._workspaces[0]

        def grow_in(thread: int) -> None:
            work = self._workspaces[thread]
            grow_tree(
                binned, pair, sample, parameters, self._numbers, work, nodes, scores
            )

        for work in self._workspaces:
            work.growth["step"] = BEGIN
        while first.growth["step"][0] != END:
            if first.growth["step"][0] != BEGIN:
                self._exchange(binned, nodes)
            first.next_block[0] = first.next_leaf[0] = 0
            self.team.run(grow_in)
        n_nodes = 2 * np.count_nonzero(nodes["feature"] >= 0) + 1
        if len(parameters.constraints.monotonic) > 0:
            order_leaf_values(
                nodes[:n_nodes],
                first,
                binned.n_categories,
                parameters.constraints.monotonic,
                scores,
            )
        sets = first.category_set[:n_nodes].copy()
        names = [name for name in GrownTree._fields if name != "category_set"]
        arrays = {name: nodes[name][:n_nodes].copy() for name in names}
        return GrownTree(category_set=sets, **arrays)

    def _exchange(self, binned: BinnedData, nodes: Records) -> None:
        """Turn what this worker has found in a step into that of all workers."""
        work, comm = self._workspaces[0], self._comm
        team, growth = work.team, work.growth[0]
        if growth.step == LARGEST:
            fields = ["largest_gradient", "largest_hessian"]
            largest = [team.magnitudes[name].max(axis=1) for name in fields]
            gathered = comm.gather((team.sums["n_sampled"].sum(), *largest))
            n_sampled, *of_workers = zip(*gathered, strict=True)
            set_totals(team.sums, ["n_sampled"], [np.sum(n_sampled)])
            set_totals(team.magnitudes, fields, [np.max(one, 0) for one in of_workers])
        elif growth.step == TOTALS:
            self._add_up(team.magnitudes, ["total_gradient", "total_hessian"])
        elif growth.step == ROOT:
            self._add_up(team.sums, ["gradient", "hessian", "packed"])
        elif growth.step == HISTOGRAM:
            number = work.leaves["histogram_index"][growth.smaller]
            histogram = work.histograms[number].reshape(-1)
            used = used_of_histograms(binned)
            histogram[used] = comm.sum(histogram[used])
        else:
            fields = ["scaled_gradient", "scaled_hessian"]
            is_leaf = nodes["feature"][: 2 * growth.n_leaves - 1] < 0
            leaves = np.flatnonzero(is_leaf)
            sums = comm.sum(np.stack([nodes[name][leaves] for name in fields]))
            for name, of_field in zip(fields, sums, strict=True):
                nodes[name][leaves] = of_field

    def _add_up(self, records: Records, fields: list[str]) -> None:
        """Add up fields of the threads' records over all workers."""
        own = np.stack([records[name].sum(axis=-1) for name in fields])
        set_totals(records, fields, self._comm.sum(own))


def set_totals(
    records: Records, fields: list[str], totals: Sequence[NDArray[np.int64]]
) -> None:
    """Make totals the sums, or the maxima, of fields of the threads' records."""
    for name, total in zip(fields, totals, strict=True):
        records[name] = 0
        records[name][..., 0] = total


def used_of_histograms(binned: BinnedData) -> NDArray[np.intp]:
    """Return the numbers that are used in the histograms of all blocks of a leaf."""
    bins = np.arange(HISTOGRAM_BINS)
    is_used = (bins < binned.n_bins[:, None]) | (bins == MISSING_BIN)
    return np.flatnonzero(is_used[:, :, None] & (binned.feature >= 0)[:, None])


@kernel
def grow_tree(
    binned: BinnedData,
    derivatives: DerivativesPair,
    sample: TreeSample,
    parameters: GrowthParameters,
    numbers: RowNumbers,
    work: Workspace,
    nodes: Records,
    scores: NDArray[np.float64],
) -> None:
    """Grow a tree; all threads call this at once, each with its own workspace.

    With several workers, it returns where the growth record's step needs sums of all of
    them, to be called again when they are there.

    Parameters
    ----------
    binned : BinnedData
    derivatives : DerivativesPair
    sample : TreeSample
    parameters : GrowthParameters
    numbers : RowNumbers
    work : Workspace
    nodes : ndarray of shape (2 * max_leaf_nodes - 1,), TREE_NODE
        Receives the nodes.
    scores : ndarray of shape (n_rows,), float64
        The leaf values are added.
    """
    # `leaves` and `growth` are this thread's own, and the same in all.  The tree and the
    # scores are shared: thread 0 writes the nodes of splits, whichever thread takes a
    # leaf its value.
    team, leaves, growth = work.team, work.leaves, work.growth[0]
    of_leaves, of_splits, differ = derivatives
    n_rows, is_alone = numbers.n_rows, growth.n_workers == 1

    if growth.step == BEGIN:
        find_largest(of_leaves, team, team.magnitudes[0])
        if differ:
            find_largest(of_splits, team, team.magnitudes[1])
        first, last = chunk_bounds(
            team.thread, team.n_threads, int64(0), len(sample.rows)
        )
        team.sums[team.thread].n_sampled = last - first
        if ends_here(LARGEST, work):
            return
    if growth.step == LARGEST:
        add_up(of_leaves, n_rows, team, team.magnitudes[0])
        if differ:
            add_up(of_splits, n_rows, team, team.magnitudes[1])
        if ends_here(TOTALS, work):
            return
    if growth.step == TOTALS:
        choose_scales(growth, n_rows, differ, parameters.second_order, team)
    quantization = read_quantization(growth)
    while growth.step == TOTALS or (
        growth.step == ROOT and not fits(quantization, team.sums)
    ):
        if growth.step == ROOT:
            # rounding has made a sum too large: again, when all threads have seen it
            wait_at_barrier(team.barrier, team.n_threads)
            growth.gradient_scale /= 2
            growth.hessian_scale /= 2
            quantization = read_quantization(growth)
        packed = work.buffers.packed_gradients
        quantize(of_splits, quantization, sample.tree_index, numbers, packed, team)
        wait_at_barrier(team.barrier, team.n_threads)
        fill_root(sample.rows, work)
        if ends_here(ROOT, work):
            return
    if growth.step == ROOT:
        set_root_total(leaves[0], team.sums)
        growth.n_leaves, growth.smaller, growth.larger = 1, 0, -1
        growth.step = GROWING

    rule = make_rule(parameters, quantization)
    mask, factors = quantization.count_mask, sample.gain_factors
    while growth.step != LEAVES and growth.n_leaves < parameters.max_leaf_nodes:
        smaller, larger = growth.smaller, growth.larger
        if is_splittable(leaves, smaller, mask, parameters) or is_splittable(
            leaves, larger, mask, parameters
        ):
            fills = growth.step == GROWING
            searches = is_alone or not fills
            find_best_splits(
                smaller,
                larger,
                binned,
                quantization,
                rule,
                factors,
                work,
                fills,
                searches,
            )
            if not searches:
                growth.step = HISTOGRAM
                return
            growth.step = GROWING
            wait_at_barrier(team.barrier, team.n_threads)
            select_best_splits(
                smaller,
                larger,
                parameters,
                quantization,
                rule,
                binned.n_categories,
                work,
            )
        number = best_leaf(leaves, growth.n_leaves)
        if leaves[number].gain <= 0.0:
            break
        growth.smaller, growth.larger = split_in_two(
            number, growth.n_leaves, binned, quantization, rule, factors, work, nodes
        )
        growth.n_leaves += 1
        wait_at_barrier(team.barrier, team.n_threads)

    scales = ExactScales(growth.exact_gradient_scale, growth.exact_hessian_scale)
    adds_up = growth.step == GROWING
    sets_values = is_alone or not adds_up
    number = fetch_add(work.next_leaf)
    while number < growth.n_leaves:
        leaf = leaves[number]
        node, rows = nodes[leaf.node], work.buffers.rows[leaf.buffer]
        if adds_up:
            sum_derivatives(of_leaves, rows, leaf.start, leaf.stop, scales, node)
        if sets_values:
            set_leaf_value(node, leaf.total & mask, scales, parameters)
            if len(parameters.constraints.monotonic) == 0:  # else they may still change
                add_to_scores(node.value, rows, leaf.start, leaf.stop, scores)
        number = fetch_add(work.next_leaf)
    growth.step = END if sets_values else LEAVES


@subkernel
def ends_here(step: int, work: Workspace) -> bool:
    """End a step: return whether sums of other workers are needed to go on."""
    growth, team = work.growth[0], work.team
    growth.step = step
    wait_at_barrier(team.barrier, team.n_threads)
    several: bool = growth.n_workers > 1
    return several


@subkernel
def choose_scales(
    growth: Record, n_rows: int, differ: bool, second_order: bool, team: Team
) -> None:
    """Choose the scales of leaf values and of quantized gradients."""
    totals = sum_magnitudes(team.magnitudes[0], n_rows)
    scales = exact_scales(totals)
    growth.exact_gradient_scale = scales.gradient
    growth.exact_hessian_scale = scales.hessian
    if differ:
        totals = sum_magnitudes(team.magnitudes[1], n_rows)
    n_sampled = int64(0)
    for thread in range(team.n_threads):
        n_sampled += team.sums[thread].n_sampled
    layout = choose_bit_layout(n_sampled, second_order)
    quantization = choose_quantization(layout, totals)
    growth.gradient_scale = quantization.gradient_scale
    growth.hessian_scale = quantization.hessian_scale
    growth.hessian_bits = quantization.hessian_bits
    growth.count_bits = quantization.count_bits


@subkernel
def read_quantization(growth: Record) -> Quantization:
    """Return the quantization that was chosen."""
    hessian_bits, count_bits = growth.hessian_bits, growth.count_bits
    return Quantization(
        growth.gradient_scale,
        growth.hessian_scale,
        hessian_bits,
        (1 << hessian_bits) - 1,
        count_bits,
        (1 << count_bits) - 1,
    )
