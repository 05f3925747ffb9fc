"""Best-first growth of one regression tree by threads, alone or with other workers.

All threads run :func:`grow_tree`.  Its steps, between which they meet at barriers:

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
few numbers; the histograms of the root and of the smaller child of each split but the
last; and the sums of the leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import (
    ThreadTeam,
    fetch_add,
    int64,
    kernel,
    prefetch_row,
    subkernel,
    uint64,
    wait_at_barrier,
)
from sklearn_ltr._data.query_index import RowNumbers
from sklearn_ltr._trees.binning import (
    HISTOGRAM_BINS,
    MISSING_BIN,
    BinnedData,
    restrict_features,
)
from sklearn_ltr._trees.constraints import restrict_children
from sklearn_ltr._trees.leaf_values import (
    add_to_scores,
    order_leaf_values,
    set_leaf_value,
    sum_derivatives,
)
from sklearn_ltr._trees.parameters import GrowthParameters
from sklearn_ltr._trees.quantization import (
    Derivatives,
    Quantization,
    add_up,
    choose_scales,
    chosen_quantization,
    find_largest,
    fits,
    quantize,
)
from sklearn_ltr._trees.splitting import (
    SplitRule,
    find_best_splits,
    make_rule,
    mark_left_bins,
    select_best_splits,
)
from sklearn_ltr._trees.workspace import (
    SET_BYTES,
    GrownTree,
    Record,
    Records,
    RowBuffers,
    Team,
    TreeSample,
    Workspace,
    allocate_nodes,
    allocate_workspaces,
    chunk_bounds,
    is_splittable,
)

# Derivatives for leaf values, derivatives for splits, and whether the two differ
DerivativesPair: TypeAlias = tuple[Derivatives, Derivatives, bool]

# How far the growth of a tree has come.  Where sums over the rows of all workers are
# needed, a worker that is not alone returns, `TreeGrower._exchange` makes them, and it
# goes on from there:
#
#              found by the threads, of their rows           made of it by all workers
#   BEGIN      nothing yet
#   LARGEST    the largest |gradient| and hessian            maxima
#   TOTALS     sums of |gradient| and of hessians            sums
#   ROOT       sums of quantized values, packed root         sums
#   GROWING    the splits so far
#   HISTOGRAM  the histogram of the smaller new leaf         its sum
#   LEAVES     sums of gradient and hessian of each leaf     sums
#   END        the tree
BEGIN, LARGEST, TOTALS, ROOT, GROWING, HISTOGRAM, LEAVES, END = range(8)

MIN_ROWS_FOR_THREADS = 512  # fewer rows are moved faster by one thread
PREFETCH_DISTANCE = 128  # rows between a prefetch and its use; a row takes about 1 ns


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
        """Grow a tree and add it to `scores`; all workers call this together."""
        # `weights` scale the rows while splits are sought, not in leaf values;
        # overwritten
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

        # With one worker, `grow_tree` runs through.  With several, it returns wherever
        # sums over the rows of all of them are needed, and goes on with these.
        for work in self._workspaces:
            work.growth["step"], work.growth["n_sampled"] = BEGIN, len(sample.rows)
        while first.growth["step"][0] != END:
            if first.growth["step"][0] != BEGIN:
                self._exchange(binned, nodes)
            first.next_block[0] = first.next_leaf[0] = 0
            self.team.run(grow_in)
        # monotonic constraints relate leaves to each other, so their order comes last
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
        """Replace what this worker has found in a step by the result of all workers."""
        work, comm = self._workspaces[0], self._comm
        team, growth = work.team, work.growth[0]
        if growth.step == LARGEST:
            fields = ["largest_gradient", "largest_hessian"]
            largest = [team.magnitudes[name].max(axis=1) for name in fields]
            gathered = comm.gather((int(growth.n_sampled), *largest))
            n_sampled, *of_workers = zip(*gathered, strict=True)
            for one in self._workspaces:
                one.growth["n_sampled"] = sum(n_sampled)
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
    records: Records, fields: list[str], totals: Iterable[NDArray[np.int64]]
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
    """Write the nodes of a tree and add its values to the scores, if possible."""
    # All threads call this at once, each with its own workspace.  `leaves` and `growth`
    # are this thread's own, with the same content in all threads.  The tree and the
    # scores are shared: thread 0 writes the nodes of splits, and the value of a leaf is
    # written by the thread that takes this leaf.
    team, leaves, growth = work.team, work.leaves, work.growth[0]
    of_leaves, of_splits, differ = derivatives
    n_rows, is_alone = numbers.n_rows, growth.n_workers == 1

    # steps 1 to 3, one in each pass; the last again if rounding made a sum too large
    while growth.step < ROOT or (growth.step == ROOT and not fits(growth, team.sums)):
        if growth.step < TOTALS:
            for k in range(2 if differ else 1):
                measured = of_leaves if k == 0 else of_splits
                if growth.step == BEGIN:
                    find_largest(measured, team, team.magnitudes[k])
                else:
                    add_up(measured, n_rows, team, team.magnitudes[k])
            growth.step += 1
        else:
            if growth.step == TOTALS:
                choose_scales(
                    growth, n_rows, differ, parameters.second_order, team.magnitudes
                )
            else:
                growth.gradient_scale /= 2
                growth.hessian_scale /= 2
            # all threads must have called `fits` before the sums it reads are replaced
            wait_at_barrier(team.barrier, team.n_threads)
            packed = work.buffers.packed_gradients
            quantize(of_splits, sample.tree_index, numbers, packed, growth, team)
            wait_at_barrier(team.barrier, team.n_threads)
            fill_root(sample.rows, leaves[0], work.buffers, team)
            growth.step = ROOT
        wait_at_barrier(team.barrier, team.n_threads)
        if not is_alone:
            return
    if growth.step == ROOT:
        set_root_total(leaves[0], team.sums)
        growth.n_leaves, growth.smaller, growth.larger = 1, 0, -1
        growth.step = GROWING

    # step 4
    quantization = chosen_quantization(growth)
    rule = make_rule(parameters, quantization)
    mask, factors = quantization.count_mask, sample.gain_factors
    while growth.step != LEAVES and growth.n_leaves < parameters.max_leaf_nodes:
        smaller, larger = growth.smaller, growth.larger
        if is_splittable(leaves, smaller, mask, parameters) or is_splittable(
            leaves, larger, mask, parameters
        ):
            # one worker does both at once; several search the sum of their histograms
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

    # step 5
    adds_up = growth.step == GROWING
    sets_values = is_alone or not adds_up
    number = fetch_add(work.next_leaf)
    while number < growth.n_leaves:
        leaf = leaves[number]
        node, rows = nodes[leaf.node], work.buffers.rows[leaf.buffer]
        if adds_up:
            sum_derivatives(of_leaves, rows, leaf.start, leaf.stop, growth, node)
        if sets_values:
            set_leaf_value(
                node,
                leaf.total & mask,
                growth,
                parameters.l2_regularization,
                parameters.learning_rate,
            )
            if len(parameters.constraints.monotonic) == 0:  # values may still change
                add_to_scores(node.value, rows, leaf.start, leaf.stop, scores)
        number = fetch_add(work.next_leaf)
    growth.step = END if sets_values else LEAVES


@subkernel
def fill_root(
    rows: NDArray[np.int32], root: Record, buffers: RowBuffers, team: Team
) -> None:
    """Make a leaf the root, with the sampled rows and their packed gradients."""
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), len(rows))
    total = int64(0)
    for i in range(uint64(first), uint64(last)):
        row = rows[i]
        packed = buffers.packed_gradients[uint64(row)]
        buffers.rows[0, i] = row
        buffers.leaf_gradients[i] = packed
        total += packed
    team.sums[team.thread].packed = total
    root.buffer = root.start = root.histogram_index = root.depth = root.node = 0
    root.stop = len(rows)
    root.gain = 0.0


@subkernel
def set_root_total(root: Record, sums: Records) -> None:
    """Write the sum of the packed gradients of the root, over all threads."""
    root.total = 0
    for thread in range(len(sums)):
        root.total += sums[thread].packed


# --- the split of a leaf ---------------------------------------------------------


@subkernel
def best_leaf(leaves: Records, n_leaves: int) -> int:
    """Return the leaf with the highest split gain, the first of equals."""
    best = 0
    for leaf in range(1, n_leaves):
        if leaves[leaf].gain > leaves[best].gain:
            best = leaf
    return best


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
    """Split a leaf into itself and leaf `n_leaves`; return (smaller, larger)."""
    team, leaf = work.team, work.leaves[number]
    block, slot = binned.block[leaf.feature], binned.slot[leaf.feature]
    histogram = work.histograms[leaf.histogram_index, block]
    n_bins = binned.n_categories[leaf.feature]
    # each thread marks the bins for itself, and none has to wait for another
    left_total = mark_left_bins(
        leaf,
        histogram,
        slot,
        n_bins,
        quantization,
        rule,
        work.category_order,
        work.goes_left,
    )
    n_left = left_total & quantization.count_mask
    n_rows = leaf.total & quantization.count_mask
    left_is_smaller = 2 * n_left <= n_rows
    condition = SplitCondition(binned.values[block], slot, work.goes_left)
    if leaf.stop - leaf.start < n_rows:  # other workers have some
        n_left = int64(-1)
    n_left = partition(condition, leaf, n_left, left_is_smaller, team, work.buffers)
    # the nodes are shared, so one thread writes them; the leaves are each thread's own
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


@subkernel
def record_category_set(
    goes_left: NDArray[np.uint8], category_set: NDArray[np.uint8]
) -> None:
    """Write the bins that go left as bits."""
    for byte in range(SET_BYTES):
        bits = int64(0)
        for bit in range(8):
            bits |= int64(goes_left[8 * byte + bit]) << bit
        category_set[byte] = bits


@subkernel
def split_leaf(
    leaves: Records,
    leaf: int,
    new: int,
    n_nodes: int,
    left_total: int,
    n_left: int,
    left_is_smaller: bool,
) -> None:
    """Turn `leaf` into its left child, and `new` into its right child."""
    # they become nodes `n_nodes` and ``n_nodes + 1``; the larger child gets the memory
    # of the parent's histogram, from which its own will be computed in place
    left, right = leaves[leaf], leaves[new]
    right.histogram_index = new
    if left_is_smaller:
        right.histogram_index = left.histogram_index
        left.histogram_index = new
    right.stop = left.stop
    left.stop = right.start = left.start + n_left
    left.buffer = right.buffer = 1 - left.buffer
    left.depth = right.depth = left.depth + 1
    left.node = n_nodes
    right.node = n_nodes + 1
    right.total = left.total - left_total
    left.total = left_total
    left.gain = right.gain = 0.0


# --- rows ------------------------------------------------------------------------


class SplitCondition(NamedTuple):
    """What sends a row left."""

    values: NDArray[np.uint8]  # (n_rows, 16): binned values of the feature's block
    slot: int  # of the feature
    goes_left: NDArray[np.uint8]  # (256,): 1 for the bins that go left, else 0


class Destination(NamedTuple):
    """Where rows are moved to."""

    left: int  # position of the first row that goes left
    right: int  # position of the first row that goes right
    step: int  # from one position to the next: 1 or -1


@subkernel
def count_rows_left(
    condition: SplitCondition, rows: NDArray[np.int32], first: int, last: int
) -> int:
    """Return how many of ``rows[first:last]`` go left."""
    values, n_left = condition.values, int64(0)
    for i in range(first, last):
        prefetch_row(values, int64(rows[uint64(min(i + PREFETCH_DISTANCE, last - 1))]))
        b = values[uint64(rows[uint64(i)]), condition.slot]
        n_left += int64(condition.goes_left[b])
    return n_left


@subkernel
def move_rows(
    condition: SplitCondition,
    rows: NDArray[np.int32],
    first: int,
    last: int,
    to: Destination,
    to_rows: NDArray[np.int32],
) -> int:
    """Move ``rows[first:last]`` to `to_rows`; return how many went left."""
    # With a step of -1 the last row is moved first.  The position is computed without a
    # branch, since which child a row goes to cannot be predicted.
    values, slot, left_bins = condition.values, condition.slot, condition.goes_left
    step = to.step
    n_rows = last - first
    start = first if step > 0 else last - 1
    next_left, next_right = to.left, to.right
    for i in range(n_rows):
        ahead = start + step * min(i + PREFETCH_DISTANCE, n_rows - 1)
        prefetch_row(values, int64(rows[uint64(ahead)]))
        row = rows[uint64(start + step * i)]
        goes_left = int64(left_bins[values[uint64(row), slot]])
        position = next_right ^ (next_left ^ next_right) & -goes_left
        to_rows[uint64(position)] = row
        next_left += step * goes_left
        next_right += step * (1 - goes_left)
    return step * (next_left - to.left)


@subkernel
def partition(
    condition: SplitCondition,
    leaf: Record,
    n_left: int,
    left_is_smaller: bool,
    team: Team,
    buffers: RowBuffers,
) -> int:
    """Write the rows of a leaf to the other buffer, those that go left first."""
    # Rows keep their order.  `n_left` is how many of this worker's rows go left, if
    # that is known, or -1: they are counted.
    # Each thread moves a chunk of the rows.  Of two threads, one fills both children
    # from the front and the other from the back; more threads first count the rows of
    # each chunk that go left.
    thread, start, stop = team.thread, leaf.start, leaf.stop
    rows, to_rows = buffers.rows[leaf.buffer], buffers.rows[1 - leaf.buffer]
    first, last = chunk_bounds(thread, team.n_threads, start, stop)
    together = stop - start > MIN_ROWS_FOR_THREADS
    n_before = int64(0)  # rows of earlier chunks that go left
    if n_left < 0 or (together and team.n_threads > 2):
        team.sums[thread].n_left = count_rows_left(condition, rows, first, last)
        wait_at_barrier(team.barrier, team.n_threads)
        n_left = int64(0)
        for other in range(team.n_threads):
            n_before += team.sums[other].n_left if other < thread else 0
            n_left += team.sums[other].n_left
    middle = start + n_left
    left, right, step = start, middle, int64(1)
    if not together:
        if thread > 0:
            return n_left
        first, last = start, stop
    elif team.n_threads > 2:
        left, right = start + n_before, middle + (first - start - n_before)
    elif thread > 0:
        left, right, step = middle - 1, stop - 1, int64(-1)
    to = Destination(left, right, step)
    n_moved = move_rows(condition, rows, first, last, to, to_rows)
    # The packed gradients of the smaller child are gathered, since its histogram is the
    # next to be made from rows.  This thread has filled n_moved of its positions.
    child_start, filled = start, left
    if not left_is_smaller:
        child_start, filled = middle, right
        n_moved = (last - first) - n_moved
    if step < 0:  # from the back: `filled` is the last of them; make it the first
        filled += 1 - n_moved
    source, target = uint64(filled), uint64(filled - child_start)
    for i in range(uint64(n_moved)):
        row = uint64(to_rows[source + uint64(i)])
        buffers.leaf_gradients[target + uint64(i)] = buffers.packed_gradients[row]
    return n_left
