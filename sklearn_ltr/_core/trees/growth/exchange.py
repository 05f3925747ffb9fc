"""Several workers, each of which has some of the rows, grow a tree together.

A worker makes histograms of its own rows, and splits are sought in the sums of these
histograms over all workers; so every worker grows the same tree, and keeps its own rows
in the leaves.  Where sums are needed, the loop returns (:mod:`loop`), and
:class:`HistogramExchange` adds the histograms up before it is called again.

**Leaves divided in advance.**  In an exchange, all workers wait for each other, so
fewer exchanges of more histograms are faster.  Before each exchange of best-first
growth, workers also divide the rows of up to LEAVES_AHEAD leaves with the next highest
gains, and exchange the histograms of their smaller children in the same message.  When
such a leaf is split later, nothing needs to be exchanged.  Only then do its children
become nodes of the tree and are searched for splits, so the tree is the same.  About
one of 100 such histograms is not needed, because its leaf is never split.
A tree of 31 leaves takes about 15 exchanges of histograms instead of 30, and seven of a
few numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import int64, kernel, subkernel, uint64, wait_at_barrier
from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.trees.growth.best_first import (
    BEST_FIRST,
    any_splittable,
    divide_leaf,
    search_block,
)
from sklearn_ltr._core.trees.growth.blocks import HISTOGRAM_BINS, Blocks
from sklearn_ltr._core.trees.growth.dividing import is_left_smaller
from sklearn_ltr._core.trees.growth.histograms import fill_histogram, next_task
from sklearn_ltr._core.trees.growth.loop import growth_kernel
from sklearn_ltr._core.trees.growth.symmetric import SYMMETRIC, fill_leaf
from sklearn_ltr._core.trees.growth.workspace import (
    LEAVES_AHEAD,
    NO_HISTOGRAM,
    NOT_DIVIDED,
    GrowingTree,
    GrowthWorkspace,
    new_histogram,
)
from sklearn_ltr._core.typing import IntArray


class HistogramExchange:
    """Adds up histograms over all workers.

    Parameters
    ----------
    blocks : Blocks
    n_histograms : int
        The most that are added up at once.
    comm : Comm
    """

    def __init__(self, blocks: Blocks, n_histograms: int, comm: Comm) -> None:
        self._blocks, self._comm = blocks, comm
        self._used = numbers_in_use(blocks)
        # The message is kept: pages that are new to the process are slow.
        self._message = np.empty(n_histograms * len(self._used), dtype=np.int64)

    def add_up(self, histograms: IntArray, blocks: Blocks) -> None:
        """Replace histograms by their sums over all workers, in one exchange."""
        # `blocks` are those of all features, or of the features of a tree
        used = self._used if blocks is self._blocks else numbers_in_use(blocks)
        histograms = histograms.reshape(len(histograms), -1)
        message = self._message[: len(histograms) * len(used)]
        message = message.reshape(len(histograms), -1)
        take_used(histograms, used, message)
        put_used(self._comm.sum(message), used, histograms)


def numbers_in_use(blocks: Blocks) -> NDArray[np.intp]:
    """Return the places in use in the histograms of all blocks of a leaf."""
    bins = np.arange(HISTOGRAM_BINS)
    is_used = (bins < blocks.n_bins[:, None]) | (bins == MISSING_BIN)
    return np.flatnonzero(is_used[:, :, None] & (blocks.feature >= 0)[:, None])


@kernel
def take_used(histograms: IntArray, used: NDArray[np.intp], message: IntArray) -> None:
    """Write the numbers that are used in each histogram into a message."""
    for h in range(len(histograms)):
        for i in range(len(used)):
            message[h, i] = histograms[h, uint64(used[i])]


@kernel
def put_used(message: IntArray, used: NDArray[np.intp], histograms: IntArray) -> None:
    """Write the numbers of a message where they are used in each histogram."""
    for h in range(len(histograms)):
        for i in range(len(used)):
            histograms[h, uint64(used[i])] = message[h, i]


# --- best-first growth ------------------------------------------------------------


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


grow_best_first_together = growth_kernel(
    "grow_best_first_together",
    BEST_FIRST._replace(needs_sums=needs_sums_of_siblings, search=search_sums),
)


# --- symmetric growth -------------------------------------------------------------


@subkernel
def needs_sums_of_level(tree: GrowingTree, work: GrowthWorkspace) -> bool:
    """Make histograms for an exchange if those of the level are not there."""
    if work.leaves[work.levels.order[0]].histogram_index != NO_HISTOGRAM:
        return False
    n_new = max(1, 2 * work.progress[0].n_pairs)
    for i in range(0, n_new, 2):
        leaf = work.leaves[work.levels.order[i]]
        leaf.histogram_index = new_histogram(work.progress[0])
    n_used_slots = tree.blocks.n_used_slots
    block = next_task(int64(1), n_used_slots, work.team, work.next_task)
    while block < len(n_used_slots):
        for i in range(0, n_new, 2):
            fill_leaf(work.leaves[work.levels.order[i]], block, tree, work)
        block = next_task(int64(1), n_used_slots, work.team, work.next_task)
    wait_at_barrier(work.team.barrier, work.team.n_threads)
    work.next_task[work.team.thread, 0] = 0
    return True


grow_symmetric_together = growth_kernel(
    "grow_symmetric_together", SYMMETRIC._replace(needs_sums=needs_sums_of_level)
)
