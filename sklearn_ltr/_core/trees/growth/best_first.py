"""Best-first growth: the leaf whose best split has the highest gain is split next.

A tree of L leaves takes L - 1 steps.  Each begins with the leaves made last: the root,
later two siblings.  Block by block, the histogram of the smaller one is made from its
rows, and that of the larger one is their parent's minus the smaller one's; both are
searched for their best splits, while threads share the blocks.  Every thread selects
the best split of each of these leaves, and chooses the leaf of the highest gain; its
rows are divided between its children.

**Several workers** divide leaves in advance.  In an exchange, all of them wait for each
other, so fewer exchanges of more histograms are faster.  Before each exchange, workers
also divide the rows of up to LEAVES_AHEAD leaves with the next highest gains, and
exchange the histograms of their smaller children in the same message.  When such a leaf
is split later, nothing needs to be exchanged.  Only then do its children become nodes
of the tree and are searched for splits, so the tree is the same.  About one of 100 such
histograms is not needed, because its leaf is never split.  A tree of 31 leaves takes
about 15 exchanges of histograms instead of 30, and seven of a few numbers.
"""

from __future__ import annotations

from sklearn_ltr._core.compile import int64, subkernel, wait_at_barrier
from sklearn_ltr._core.trees.growth.blocks import FEATURE_BLOCK
from sklearn_ltr._core.trees.growth.dividing import (
    divide_rows,
    exclude_features,
    is_left_smaller,
    record_category_set,
    split_leaf,
)
from sklearn_ltr._core.trees.growth.histograms import (
    add_histogram,
    fill_histogram,
    is_last_chunk,
    next_task,
    part_of_task,
    prefetch_first_rows,
    subtract_histogram,
)
from sklearn_ltr._core.trees.growth.loop import (
    GrowthPolicy,
    GrowthSteps,
    growth_kernel,
)
from sklearn_ltr._core.trees.growth.sparse_columns import (
    condition_of,
    divide_list,
    search_list,
    sums_of_feature,
)
from sklearn_ltr._core.trees.growth.splitting import (
    child_score,
    find_block_splits,
    find_special_splits,
    is_categorical,
    keep_better,
    mark_left_bins,
    rounding_gain,
    take_best_candidate,
)
from sklearn_ltr._core.trees.growth.workspace import (
    NO_HISTOGRAM,
    NO_LEAF,
    NOT_DIVIDED,
    GrowingTree,
    GrowthParameters,
    GrowthWorkspace,
    Record,
    Records,
    SplitRule,
    is_splittable,
    new_histogram,
)

LEAVES_AHEAD = 2  # leaves that several workers divide ahead of their turn
MIN_ROWS_PER_CHUNK = 2048  # fewer take less time than one more histogram

# Nanoseconds that a tree takes, as measured for 10 to 136 features
ROW_TIME = 30.0  # for a row in a block of features, in all leaves that it comes to
BLOCK_TIME = 6_000.0  # for the search of a block in a leaf
LOST_TIME = 10_000.0  # in a leaf, by two threads


# --- the search of two siblings ---------------------------------------------------


@subkernel
def any_splittable(leaves: Records, progress: Record, rule: SplitRule) -> bool:
    """Return whether one of the leaves made last is large and shallow enough."""
    smaller, larger = progress.smaller, progress.larger
    if larger != NO_LEAF and is_splittable(leaves[larger], rule):
        return True
    return is_splittable(leaves[smaller], rule)


@subkernel
def search_siblings(tree: GrowingTree, work: GrowthWorkspace) -> None:
    """Find this thread's candidate splits of two siblings; threads share the work."""
    # The histogram of the sibling with fewer rows, or of the root, is made here, block
    # by block, and searched while it is in the cache.  Where there are more threads
    # than blocks, or few blocks, the rows of a block are divided into chunks with a
    # histogram each; the thread that fills the last of them adds them up, and searches
    # the block.
    candidates, progress = work.candidates[work.team.thread], work.progress[0]
    candidates[0].gain = candidates[1].gain = 0.0
    if not any_splittable(work.leaves, progress, tree.rule):
        return
    blocks, leaf = tree.blocks, work.leaves[progress.smaller]
    rows = work.buffers.rows[leaf.buffer, leaf.start : leaf.stop]
    gradients = work.buffers.leaf_gradients[leaf.start : leaf.stop]
    histograms = work.histograms[leaf.histogram_index]
    n_blocks, most_chunks = len(blocks.n_bins), work.chunk_histograms.shape[1] + 1
    n_chunks = min(most_chunks, len(rows) // MIN_ROWS_PER_CHUNK + 1)
    task = next_task(n_chunks, blocks.n_used_slots, work.team, work.next_task)
    block, chunk, first, last = part_of_task(task, n_blocks, n_chunks, len(rows))
    prefetch_first_rows(blocks.values, block, rows[first:last])
    while chunk < n_chunks:
        histogram = histograms[block]
        if chunk > 0:  # the first one's is the block's own
            histogram = work.chunk_histograms[block, chunk - 1]
        fill_histogram(
            histogram, block, rows[first:last], gradients[first:last], blocks
        )
        # these rows arrive in the cache while splits are searched
        task = next_task(n_chunks, blocks.n_used_slots, work.team, work.next_task)
        next_part = part_of_task(task, n_blocks, n_chunks, len(rows))
        next_block, next_chunk, first, last = next_part
        prefetch_first_rows(blocks.values, next_block, rows[first:last])
        if is_last_chunk(n_chunks, work.n_filled[block : block + 1]):
            for other in range(n_chunks - 1):
                partial = work.chunk_histograms[block, other]
                add_histogram(histograms[block], partial, blocks.n_bins[block])
            search_block(block, tree, work)
        block, chunk = next_block, next_chunk
    search_sparse_columns(tree, work, candidates)


@subkernel
def search_block(block: int, tree: GrowingTree, work: GrowthWorkspace) -> None:
    """Search a block, given its histogram of the smaller sibling, for their splits."""
    # a sibling that cannot be split is searched, too; its candidate is ignored
    n_used_slots, n_bins = tree.blocks.n_used_slots[block], tree.blocks.n_bins[block]
    splits = work.splits
    smaller, larger = work.progress[0].smaller, work.progress[0].larger
    leaf = work.leaves[smaller]
    histogram = work.histograms[leaf.histogram_index, block]
    for k in range(1 if larger == NO_LEAF else 2):
        leaf = work.leaves[smaller if k == 0 else larger]
        if k == 1:
            # the larger one's histogram replaces their parent's
            parent = work.histograms[leaf.histogram_index, block]
            subtract_histogram(parent, histogram, n_bins)
            histogram = parent
        find_block_splits(
            histogram, n_used_slots, n_bins, leaf.total, tree.rule, splits
        )
        find_special_splits(block, histogram, leaf.total, tree, work.special, splits)
        parent_score = child_score(leaf.total, tree.rule)
        candidate = work.candidates[work.team.thread, k]
        for slot in range(FEATURE_BLOCK):
            feature = tree.blocks.feature[block, slot]
            if feature >= 0 and tree.allowed[leaf.node, feature]:
                gain = splits.score[slot] - parent_score
                keep_better(gain, feature, splits.threshold[slot], candidate)


@subkernel
def search_sparse_columns(
    tree: GrowingTree, work: GrowthWorkspace, candidates: Records
) -> None:
    """Search this thread's sparse columns for the splits of two siblings."""
    smaller, larger = work.progress[0].smaller, work.progress[0].larger
    divide_list(smaller, larger, tree, work, work.sparse)
    for k in range(1 if larger == NO_LEAF else 2):
        leaf = work.leaves[smaller if k == 0 else larger]
        if is_splittable(leaf, tree.rule):
            search_list(leaf, candidates[k], tree, work, work.sparse)


@subkernel
def select_siblings(tree: GrowingTree, work: GrowthWorkspace) -> None:
    """Select the best of all threads' candidates, and prepare for the next search."""
    work.next_task[work.team.thread, 0] = 0
    smaller, larger = work.progress[0].smaller, work.progress[0].larger
    for k in range(1 if larger == NO_LEAF else 2):
        leaf = work.leaves[smaller if k == 0 else larger]
        if is_splittable(leaf, tree.rule):
            take_best_candidate(leaf, work.candidates, work.team.n_threads, int64(k))
            # rounding errors alone may give a gain
            if not leaf.gain > rounding_gain(leaf.total, tree.rule):
                leaf.gain = 0.0


# --- the split of the best leaf ---------------------------------------------------


@subkernel
def split_best_leaf(tree: GrowingTree, work: GrowthWorkspace) -> bool:
    """Split the leaf of the highest gain; return False if none has a gain."""
    leaves, progress, team = work.leaves, work.progress[0], work.team
    number = best_leaf(leaves, progress.n_leaves)
    leaf = leaves[number]
    if leaf.gain <= 0.0:
        return False
    if leaf.n_left == NOT_DIVIDED:
        divide_leaf(leaf, tree, work)
    if team.thread == 0:
        left = 2 * progress.n_leaves - 1
        exclude_features(leaf.node, left, leaf.feature, work.special, tree.allowed)
    children = split_leaf(number, tree, leaves, progress, team)
    progress.smaller, progress.larger = children
    return True


@subkernel
def best_leaf(leaves: Records, n_leaves: int) -> int:
    """Return the leaf with the highest split gain, the first of equals."""
    best = 0
    for leaf in range(1, n_leaves):
        if leaves[leaf].gain > leaves[best].gain:
            best = leaf
    return best


@subkernel
def divide_leaf(leaf: Record, tree: GrowingTree, work: GrowthWorkspace) -> None:
    """Divide the rows of a leaf by its best split; it is not split yet."""
    rule, special, team = tree.rule, work.special, work.team
    sums = sums_of_feature(leaf.feature, leaf, tree, work, work.sparse)
    # each thread marks the bins for itself, and none has to wait for another
    leaf.left_total = mark_left_bins(leaf, sums, rule, special, work.goes_left)
    if team.thread == 0 and is_categorical(leaf.feature, special):
        record_category_set(work.goes_left, work.category_set[leaf.node])
    condition = condition_of(leaf.feature, leaf, tree, work, work.sparse)
    divide_rows(condition, leaf, rule, tree.exchanges, team, work.buffers)


# --- several workers ---------------------------------------------------------------


@subkernel
def needs_sums_of_siblings(tree: GrowingTree, work: GrowthWorkspace) -> bool:
    """Make histograms for an exchange if those of the new leaves are not there."""
    leaves, team, progress = work.leaves, work.team, work.progress[0]
    leaf = leaves[progress.smaller]
    if leaf.histogram_index != NO_HISTOGRAM or not any_splittable(
        leaves, progress, tree.rule
    ):
        return False
    leaf.histogram_index = new_histogram(progress)
    fill_blocks(leaf.histogram_index, leaf.buffer, leaf.start, leaf.stop, tree, work)
    n_ahead = int64(0)
    for number in range(progress.n_leaves):
        n_ahead += leaves[number].n_left != NOT_DIVIDED
    # children that complete the tree are not searched
    most_ahead = min(LEAVES_AHEAD, tree.most_steps - progress.n_steps - 1)
    while n_ahead < most_ahead:
        number = next_leaf(tree, work)
        if number < 0:
            break
        leaf = leaves[number]
        wait_at_barrier(team.barrier, team.n_threads)
        divide_leaf(leaf, tree, work)
        leaf.child_histogram = new_histogram(progress)
        wait_at_barrier(team.barrier, team.n_threads)
        first, last = leaf.start, leaf.start + leaf.n_left
        if not is_left_smaller(leaf, tree.rule):
            first, last = last, leaf.stop
        fill_blocks(leaf.child_histogram, 1 - leaf.buffer, first, last, tree, work)
        n_ahead += 1
    return True


@subkernel
def fill_blocks(
    histogram_index: int,
    buffer: int,
    first: int,
    last: int,
    tree: GrowingTree,
    work: GrowthWorkspace,
) -> None:
    """Make the histograms of rows first to last - 1; threads share the blocks."""
    rows = work.buffers.rows[buffer, first:last]
    gradients = work.buffers.leaf_gradients[first:last]
    histograms = work.histograms[histogram_index]
    for block in range(work.team.thread, len(histograms), work.team.n_threads):
        if tree.blocks.n_used_slots[block] > 0:
            fill_histogram(histograms[block], block, rows, gradients, tree.blocks)


@subkernel
def next_leaf(tree: GrowingTree, work: GrowthWorkspace) -> int:
    """Return the leaf to divide next: the highest gain of leaves not divided, or -1."""
    best, rule = -1, tree.rule
    for number in range(work.progress[0].n_leaves):
        leaf = work.leaves[number]
        # its larger child is certain to need a histogram
        n_rows = leaf.total & rule.quantization.count_mask
        is_large = n_rows >= 4 * rule.min_samples_leaf
        is_shallow = leaf.depth + 1 < rule.max_depth
        is_divided = leaf.n_left != NOT_DIVIDED
        if not is_divided and leaf.gain > 0.0 and is_large and is_shallow:
            if best < 0 or leaf.gain > work.leaves[best].gain:
                best = number
    return best


@subkernel
def search_sums(tree: GrowingTree, work: GrowthWorkspace) -> None:
    """Find this thread's candidate splits of siblings whose histograms are there."""
    candidates = work.candidates[work.team.thread]
    n_used_slots = tree.blocks.n_used_slots
    candidates[0].gain = candidates[1].gain = 0.0
    if not any_splittable(work.leaves, work.progress[0], tree.rule):
        return
    block = next_task(int64(1), n_used_slots, work.team, work.next_task)
    while block < len(n_used_slots):
        search_block(block, tree, work)
        block = next_task(int64(1), n_used_slots, work.team, work.next_task)


# --- the policy -------------------------------------------------------------------

# `needs_sums` is None: a worker that is alone makes its histograms in the search
STEPS = GrowthSteps(None, search_siblings, select_siblings, split_best_leaf)


class BestFirst(GrowthPolicy):
    """Splits the leaf of the highest gain."""

    name = "best_first"
    kernel = growth_kernel("grow_best_first", STEPS)
    kernel_together = growth_kernel(
        "grow_best_first_together",
        STEPS._replace(needs_sums=needs_sums_of_siblings, search=search_sums),
    )

    def limits(self, max_leaf_nodes: int, max_depth: int) -> tuple[int, int]:
        """Return both, but no more leaves than the levels have."""
        return min(max_leaf_nodes, 2 ** min(max_depth, 62)), max_depth

    def most_steps(self, parameters: GrowthParameters) -> int:
        """Return the number of splits."""
        return parameters.max_leaf_nodes - 1

    def n_histograms(self, parameters: GrowthParameters, exchanges: bool) -> int:
        """Return the number of leaves, with those that are divided in advance."""
        return parameters.max_leaf_nodes + LEAVES_AHEAD * exchanges

    def most_exchanged(self, parameters: GrowthParameters) -> int:
        """Return the next one, and those that are divided in advance."""
        return 1 + LEAVES_AHEAD

    def growth_time(
        self, parameters: GrowthParameters, n_blocks: int, n_rows: float, n_threads: int
    ) -> float:
        """Return twice the nanoseconds that two threads save, as `share` takes them."""
        # Two threads halve the time of rows and leaves.  In each leaf they lose
        # LOST_TIME, waiting for each other and for what the other has in its cache.
        leaf_time = BLOCK_TIME * n_blocks - 2 * LOST_TIME
        return ROW_TIME * n_blocks * n_rows + leaf_time * parameters.max_leaf_nodes


BEST_FIRST = BestFirst()
