"""Best-first growth of one regression tree by threads, alone or with other workers.

The steps of :meth:`TreeGrower.grow`:

1. The sums of ``|gradient|`` and of hessians over all rows are found (`measure`).
2. A sample of the rows is drawn, if trees are grown on one, and its bins are packed in
   blocks (:mod:`sampling`, :mod:`blocks`).
3. Its gradients are quantized (:mod:`quantization`).
4. Leaves are split, by :func:`grow_tree`, which all threads run, and in which they meet
   at barriers.  A tree of L leaves takes L - 1 passes of a loop, each of which begins
   with the leaves made last: the root, later two siblings.  Block by block, the
   histogram of the smaller leaf is made from its rows, and that of the larger one as
   the parent's minus the smaller one's; both are searched for their best splits, while
   threads share the blocks.  Every thread selects the best split of each of these
   leaves; the leaf whose split has the highest gain is chosen; its rows are partitioned
   into those of its children, in their old order.
5. All rows, sampled or not, are assigned to the leaves, and their gradients and
   hessians are added up for the values of the leaves (:mod:`leaf_values`).

All sums that a tree depends on are of integers, so that it does not depend on the
number of threads, nor on the number of workers, each of which has some of the rows.
Every worker grows the same tree and keeps its own rows in the leaves.  Alone, a worker
runs through :func:`grow_tree` once.  Of several, each returns to Python wherever a
histogram of all rows is needed, and calls it again when it is there.

**Ahead of their turn.**  An exchange makes all workers wait for each other.  So several
workers do more before each: they also divide the rows of the LEAVES_AHEAD leaves whose
gains are the next highest, and exchange the histograms of their smaller children, too.
When it is the turn of such a leaf, nothing is exchanged.  Only then are its children
made nodes of the tree and searched, so the tree is the same.  If its turn never comes,
that was in vain: about one histogram of 100.  A tree of 31 leaves takes about 15
exchanges of histograms instead of 30, and seven of a few numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import (
    ThreadTeam,
    int64,
    kernel,
    prefetch_row,
    subkernel,
    uint64,
    wait_at_barrier,
)
from sklearn_ltr._trees.binning import MISSING_BIN, BinnedData
from sklearn_ltr._trees.blocks import (
    HISTOGRAM_BINS,
    Blocks,
    allocate_blocks,
    pack_sample,
    restrict_features,
)
from sklearn_ltr._trees.constraints import restrict_children
from sklearn_ltr._trees.leaf_values import (
    add_values,
    find_leaves,
    leaf_numbers,
    order_leaf_values,
    set_leaf_values,
)
from sklearn_ltr._trees.parameters import GrowthParameters
from sklearn_ltr._trees.quantization import (
    Derivatives,
    Quantization,
    choose_quantization,
    chunk_bounds,
    measure,
    quantize,
)
from sklearn_ltr._trees.sampling import RowSample, RowSampler, TreeSample
from sklearn_ltr._trees.splitting import (
    SplitRule,
    add_rows_to_blocks,
    find_best_splits,
    make_rule,
    mark_left_bins,
    select_best_splits,
)
from sklearn_ltr._trees.workspace import (
    LEAVES_AHEAD,
    SET_BYTES,
    GrownTree,
    Record,
    Records,
    RowBuffers,
    SpecialFeatures,
    Team,
    Workspace,
    allocate_nodes,
    allocate_workspaces,
    is_splittable,
    special_features,
)

# How far the growth of a tree has come: where it begins; a worker that is not alone has
# filled histograms with its own rows, and returns, for it needs those of all workers,
# or they are there; the tree is grown
BEGIN, HISTOGRAMS, END = range(3)

MIN_ROWS_FOR_THREADS = 512  # fewer rows are moved faster by one thread
PREFETCH_DISTANCE = 128  # rows between a prefetch and its use; a row takes about 1 ns


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
        Of this worker's rows among those of all workers.
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
        self._blocks = allocate_blocks(binned, team.n_threads)
        self._numbers = numbers
        self._row_sampler = RowSampler(numbers, team, comm)
        self._all_rows: NDArray[np.int32] | None = None  # once they are packed
        self._workspaces = allocate_workspaces(
            team.n_threads,
            n_rows,
            len(self._blocks.feature),
            parameters.max_leaf_nodes,
            special_features(
                binned.n_categories, parameters.constraints, parameters.max_leaf_nodes
            ),
        )
        # what is sent to other workers; memory that is kept, as new pages are slow
        self._used = np.empty(0, dtype=np.intp)
        if comm.n_workers > 1:
            self._used = used_of_histograms(self._blocks)
        self._message = np.empty((1 + LEAVES_AHEAD) * len(self._used), dtype=np.int64)

    def grow(
        self,
        derivatives: Derivatives,
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

        # the rows that splits are sought on
        if drawn.subsample < 1.0:
            sample = self._row_sampler.sample(
                derivatives, magnitudes, drawn, p.second_order
            )
            pack_sample(blocks, self.binned.columns, sample.rows, team)
            of_sample = measure(sample.derivatives, team, comm)
            needs_hessians = True
        else:
            if self._all_rows is None:  # those of all trees
                self._all_rows = np.arange(len(scores), dtype=np.int32)
                pack_sample(self._blocks, self.binned.columns, self._all_rows, team)
            sample = RowSample(self._all_rows, self._numbers, derivatives)
            of_sample, needs_hessians = magnitudes, p.second_order
        packed = self._workspaces[0].buffers.packed_gradients
        quantization, total = quantize(
            sample.derivatives,
            sample.numbers,
            drawn.tree_index,
            choose_quantization(of_sample, needs_hessians),
            packed,
            team,
            comm,
        )

        nodes = allocate_nodes(p.max_leaf_nodes)
        root = len(sample.rows), total
        self._split_leaves(blocks, root, quantization, drawn.allowed, nodes)

        # the values of the leaves, of all rows
        nodes = nodes[: 2 * np.count_nonzero(nodes["feature"] >= 0) + 1]
        sets = self._workspaces[0].category_set[: len(nodes)].copy()
        tree = tree_of(nodes, sets)
        numbers = leaf_numbers(tree)
        leaves = find_leaves(self.binned, tree, numbers, team)
        set_leaf_values(
            nodes,
            numbers.of_node,
            leaves,
            derivatives,
            magnitudes,
            p.l2_regularization,
            learning_rate,
            team,
            comm,
        )
        monotonic = p.constraints.monotonic
        if len(monotonic) > 0:
            order_leaf_values(nodes, sets, self.binned.n_categories, monotonic)
        tree = tree_of(nodes, sets)
        add_values(tree, numbers, leaves, scores, team)
        return tree

    def _split_leaves(
        self,
        blocks: Blocks,
        root: tuple[int, int],
        quantization: Quantization,
        allowed: NDArray[np.bool_],
        nodes: Records,
    ) -> None:
        """Write the splits of a tree into its nodes."""
        first, comm = self._workspaces[0], self._comm
        used = self._used
        if comm.n_workers > 1 and blocks is not self._blocks:
            used = used_of_histograms(blocks)

        def grow_in(thread: int) -> None:
            grow_tree(
                blocks,
                root,
                quantization,
                allowed,
                self._parameters,
                self._workspaces[thread],
                comm.n_workers == 1,
                nodes,
            )

        for work in self._workspaces:
            work.growth["step"] = BEGIN
        first.next_block[0] = 0
        n_summed = 0
        self.team.run(grow_in)
        while first.growth[0].step != END:
            n_histograms = first.growth[0].n_histograms
            self._add_up(first.histograms[n_summed:n_histograms], used)
            n_summed = n_histograms
            self.team.run(grow_in)

    def _add_up(self, own: NDArray[np.int64], used: NDArray[np.intp]) -> None:
        """Replace histograms by their sums over all workers, in one exchange."""
        histograms = own.reshape(len(own), -1)
        message = self._message[: len(own) * len(used)].reshape(len(own), -1)
        take_used(histograms, used, message)
        put_used(self._comm.sum(message), used, histograms)


def tree_of(nodes: Records, category_set: NDArray[np.uint8]) -> GrownTree:
    """Return the tree that consists of these nodes."""
    names = [name for name in GrownTree._fields if name != "category_set"]
    arrays: dict[str, Any] = {name: nodes[name].copy() for name in names}
    return GrownTree(category_set=category_set, **arrays)


def used_of_histograms(blocks: Blocks) -> NDArray[np.intp]:
    """Return the numbers that are used in the histograms of all blocks of a leaf."""
    bins = np.arange(HISTOGRAM_BINS)
    is_used = (bins < blocks.n_bins[:, None]) | (bins == MISSING_BIN)
    return np.flatnonzero(is_used[:, :, None] & (blocks.feature >= 0)[:, None])


@kernel
def take_used(
    histograms: NDArray[np.int64], used: NDArray[np.intp], message: NDArray[np.int64]
) -> None:
    """Write the numbers that are used in each histogram into a message."""
    for h in range(len(histograms)):
        for i in range(len(used)):
            message[h, i] = histograms[h, uint64(used[i])]


@kernel
def put_used(
    message: NDArray[np.int64], used: NDArray[np.intp], histograms: NDArray[np.int64]
) -> None:
    """Write the numbers of a message where they are used in each histogram."""
    for h in range(len(histograms)):
        for i in range(len(used)):
            histograms[h, uint64(used[i])] = message[h, i]


@kernel
def grow_tree(
    blocks: Blocks,
    root: tuple[int, int],
    quantization: Quantization,
    allowed: NDArray[np.bool_],
    parameters: GrowthParameters,
    work: Workspace,
    is_alone: bool,
    nodes: Records,
) -> None:
    """Write the splits of a tree into its nodes, as far as this worker can."""
    # All threads call this at once, each with its own workspace.  `leaves` and `growth`
    # are this thread's own, with the same content in all threads.  The tree is shared:
    # thread 0 writes it.  `root` is the number of this worker's rows, and the packed
    # sum of all.
    team, leaves, growth = work.team, work.leaves, work.growth[0]
    rule, mask = make_rule(parameters, quantization), quantization.count_mask
    if growth.step == BEGIN:
        fill_root(root, leaves[0], work.buffers, team)
        growth.n_leaves, growth.smaller, growth.larger = 1, 0, -1
        growth.n_histograms = 0
        growth.step = HISTOGRAMS
        wait_at_barrier(team.barrier, team.n_threads)
    while growth.n_leaves < parameters.max_leaf_nodes:
        smaller, larger = growth.smaller, growth.larger
        if is_splittable(leaves, smaller, mask, parameters) or is_splittable(
            leaves, larger, mask, parameters
        ):
            if leaves[smaller].histogram_index < 0:  # not made ahead of its turn
                leaves[smaller].histogram_index = new_histogram(growth)
                if not is_alone:
                    fill_histograms(
                        smaller,
                        blocks,
                        parameters,
                        quantization,
                        rule,
                        work.special,
                        work,
                    )
                    return
            find_best_splits(
                smaller,
                larger,
                blocks,
                quantization,
                rule,
                allowed,
                work.special,
                work,
                is_alone,
            )
            wait_at_barrier(team.barrier, team.n_threads)
            select_best_splits(
                smaller,
                larger,
                parameters,
                quantization,
                rule,
                work.special,
                work,
            )
        number = best_leaf(leaves, growth.n_leaves)
        if leaves[number].gain <= 0.0:
            break
        growth.smaller, growth.larger = split_in_two(
            number,
            growth.n_leaves,
            blocks,
            quantization,
            rule,
            allowed,
            work.special,
            work,
            nodes,
        )
        growth.n_leaves += 1
        wait_at_barrier(team.barrier, team.n_threads)
    growth.step = END


@subkernel
def fill_root(
    given: tuple[int, int], root: Record, buffers: RowBuffers, team: Team
) -> None:
    """Make a leaf the root, with all rows of the sample and their packed gradients."""
    n_rows, total = given
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), n_rows)
    for i in range(uint64(first), uint64(last)):
        buffers.rows[0, i] = i
        buffers.leaf_gradients[i] = buffers.packed_gradients[i]
    root.buffer = root.start = root.depth = root.node = 0
    root.histogram_index = root.child_histogram = -1
    root.stop, root.total = n_rows, total
    root.gain = 0.0


# --- ahead of their turn ----------------------------------------------------------


@subkernel
def fill_histograms(
    number: int,
    blocks: Blocks,
    parameters: GrowthParameters,
    quantization: Quantization,
    rule: SplitRule,
    special: SpecialFeatures | None,
    work: Workspace,
) -> None:
    """Fill histograms with own rows: of a new leaf, and of what may be needed next."""
    team, growth, buffers = work.team, work.growth[0], work.buffers
    leaf = work.leaves[number]
    rows = buffers.rows[leaf.buffer, leaf.start : leaf.stop]
    add_rows_to_blocks(rows, work.histograms[leaf.histogram_index], blocks, work)
    n_ahead = int64(0)
    for other in range(growth.n_leaves):
        n_ahead += work.leaves[other].child_histogram >= 0
    # children that complete the tree are not searched
    most_ahead = min(LEAVES_AHEAD, parameters.max_leaf_nodes - growth.n_leaves - 1)
    while n_ahead < most_ahead:
        number = next_leaf(work.leaves, growth.n_leaves, quantization, parameters)
        if number < 0:
            return
        leaf = work.leaves[number]
        wait_at_barrier(team.barrier, team.n_threads)
        divide_leaf(leaf, blocks, quantization, rule, special, work)
        leaf.child_histogram = new_histogram(growth)
        wait_at_barrier(team.barrier, team.n_threads)
        first, last = leaf.start, leaf.start + leaf.n_left
        if not left_is_smaller(leaf, quantization):
            first, last = last, leaf.stop
        rows = buffers.rows[1 - leaf.buffer, first:last]
        add_rows_to_blocks(rows, work.histograms[leaf.child_histogram], blocks, work)
        n_ahead += 1


@subkernel
def new_histogram(growth: Record) -> int:
    """Return the number of a histogram that is not in use."""
    number: int = growth.n_histograms
    growth.n_histograms += 1
    return number


@subkernel
def next_leaf(
    leaves: Records,
    n_leaves: int,
    quantization: Quantization,
    parameters: GrowthParameters,
) -> int:
    """Return the leaf with the highest gain of those not divided; -1: there is none."""
    best = -1
    for number in range(n_leaves):
        leaf = leaves[number]
        # its larger child is certain to need a histogram
        n_rows = leaf.total & quantization.count_mask
        is_large = n_rows >= 4 * parameters.min_samples_leaf
        is_shallow = leaf.depth + 1 < parameters.max_depth
        if leaf.child_histogram < 0 and leaf.gain > 0.0 and is_large and is_shallow:
            if best < 0 or leaf.gain > leaves[best].gain:
                best = number
    return best


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
    blocks: Blocks,
    quantization: Quantization,
    rule: SplitRule,
    allowed: NDArray[np.bool_],
    special: SpecialFeatures | None,
    work: Workspace,
    nodes: Records,
) -> tuple[int, int]:
    """Split a leaf into itself and leaf `n_leaves`; return (smaller, larger)."""
    team, leaf = work.team, work.leaves[number]
    if leaf.child_histogram < 0:
        divide_leaf(leaf, blocks, quantization, rule, special, work)
    # the nodes are shared, so one thread writes them; the leaves are each thread's own
    n_nodes = 2 * n_leaves - 1
    if team.thread == 0:
        record_split(nodes, leaf, n_nodes, rule.gain_unit)
        if special is not None:
            if len(special.constraints.interaction_sets) > 0:
                restrict_children(
                    leaf.node,
                    n_nodes,
                    leaf.feature,
                    special.constraints.interaction_sets,
                    special.open_sets,
                    allowed,
                )
    is_left = left_is_smaller(leaf, quantization)
    split_leaf(work.leaves, number, n_leaves, n_nodes, is_left)
    return (number, n_leaves) if is_left else (n_leaves, number)


@subkernel
def divide_leaf(
    leaf: Record,
    blocks: Blocks,
    quantization: Quantization,
    rule: SplitRule,
    special: SpecialFeatures | None,
    work: Workspace,
) -> None:
    """Divide the rows of a leaf by its best split; it stays a leaf for now."""
    team = work.team
    block, slot = blocks.block[leaf.feature], blocks.slot[leaf.feature]
    histogram = work.histograms[leaf.histogram_index, block]
    # each thread marks the bins for itself, and none has to wait for another
    leaf.left_total = mark_left_bins(
        leaf, histogram, slot, quantization, rule, special, work.goes_left
    )
    if team.thread == 0 and special is not None:
        if special.n_categories[leaf.feature] > 0:
            record_category_set(work.goes_left, work.category_set[leaf.node])
    condition = SplitCondition(blocks.values[block], slot, work.goes_left)
    n_left = leaf.left_total & quantization.count_mask
    if leaf.stop - leaf.start < leaf.total & quantization.count_mask:
        n_left = int64(-1)  # other workers have some of the rows
    is_left = left_is_smaller(leaf, quantization)
    leaf.n_left = partition(condition, leaf, n_left, is_left, team, work.buffers)


@subkernel
def left_is_smaller(leaf: Record, quantization: Quantization) -> bool:
    """Return whether the left child of a divided leaf gets at most half of the rows."""
    mask = quantization.count_mask
    is_smaller: bool = 2 * (leaf.left_total & mask) <= leaf.total & mask
    return is_smaller


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
    leaves: Records, number: int, new: int, n_nodes: int, left_is_smaller: bool
) -> None:
    """Turn a divided leaf into its left child, and `new` into its right child."""
    # they become nodes `n_nodes` and ``n_nodes + 1``; the larger child gets the memory
    # of the parent's histogram, from which its own will be computed in place
    left, right = leaves[number], leaves[new]
    right.histogram_index = left.child_histogram
    if left_is_smaller:
        right.histogram_index = left.histogram_index
        left.histogram_index = left.child_histogram
    right.stop = left.stop
    left.stop = right.start = left.start + left.n_left
    left.buffer = right.buffer = 1 - left.buffer
    left.depth = right.depth = left.depth + 1
    left.node = n_nodes
    right.node = n_nodes + 1
    right.total = left.total - left.left_total
    left.total = left.left_total
    left.gain = right.gain = 0.0
    left.child_histogram = right.child_histogram = -1


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
        team.n_left[thread] = count_rows_left(condition, rows, first, last)
        wait_at_barrier(team.barrier, team.n_threads)
        n_left = int64(0)
        for other in range(team.n_threads):
            n_before += team.n_left[other] if other < thread else 0
            n_left += team.n_left[other]
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
