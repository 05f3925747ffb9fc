"""A tree grown by several workers together, each of which has some of the rows.

The loop is as in :func:`grower.grow_tree`, with two differences.  A worker makes
histograms of its own rows, and splits are sought in the sums of these histograms over
all workers; so every worker grows the same tree, and keeps its own rows in the leaves.
And since a kernel cannot exchange anything with other workers,
:func:`grow_until_exchange` returns wherever such a sum is needed, and is called again
when it is known.

**Leaves divided in advance.**  In an exchange, all workers wait for each other, so
fewer exchanges of more histograms are faster.  Before each exchange, workers also
divide the rows of up to LEAVES_AHEAD leaves with the next highest gains, and exchange
the histograms of their smaller children in the same message.  When such a leaf is
split later, nothing needs to be exchanged.  Only then do its children become nodes of
the tree and are searched for splits, so the tree is the same.  About one of 100 such
histograms is not needed, because its leaf is never split.
A tree of 31 leaves takes about 15 exchanges of histograms instead of 30, and seven of a
few numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import (
    ThreadTeam,
    int64,
    kernel,
    shared_kernel,
    subkernel,
    uint64,
    wait_at_barrier,
)
from sklearn_ltr._trees.binning import MISSING_BIN
from sklearn_ltr._trees.growth.blocks import HISTOGRAM_BINS, Blocks
from sklearn_ltr._trees.growth.dividing import (
    best_leaf,
    count_left_by_chunk,
    fill_root,
    is_left_smaller,
    partition,
    split_condition,
    split_leaf,
)
from sklearn_ltr._trees.growth.quantization import Quantization
from sklearn_ltr._trees.growth.splitting import (
    SplitRule,
    fill_histogram,
    make_rule,
    next_task,
    search_block,
    select_best_splits,
)
from sklearn_ltr._trees.growth.workspace import (
    GrowthWorkspace,
    Record,
    Records,
    SpecialFeatures,
    is_splittable,
    own_records,
    record_dtype,
    workspace_of_thread,
)
from sklearn_ltr._trees.parameters import GrowthParameters

LEAVES_AHEAD = 2  # leaves that are divided ahead of their turn
NO_HISTOGRAM = -1

# A leaf whose rows are divided ahead of its turn
DIVISION = record_dtype(
    histogram_index=np.int64,  # of its smaller child; NO_HISTOGRAM: it is not divided
    left_total=np.int64,  # packed sum of the left child, over all workers
    n_left=np.int64,  # rows of the left child, of this worker
)

PROGRESS = record_dtype(
    n_leaves=np.int64,  # 0: the tree is not begun
    smaller=np.int64,  # children of the last split; at first the root
    larger=np.int64,  # -1: there is none
    n_histograms=np.int64,  # in use
    is_grown=np.bool_,
)


class Progress(NamedTuple):
    """How far the growth of a tree has come; each thread has its own, all the same."""

    # In that of all threads, the first axis is the thread
    state: Records  # (1,) PROGRESS
    divisions: Records  # (max_leaf_nodes,) DIVISION, of each leaf


class JointGrowth:
    """Splits the leaves of one tree after another, together with other workers.

    Parameters
    ----------
    blocks : Blocks
    parameters : GrowthParameters
    workspace : GrowthWorkspace
        Of all threads of this worker.
    team : ThreadTeam
    comm : Comm
    """

    def __init__(
        self,
        blocks: Blocks,
        parameters: GrowthParameters,
        workspace: GrowthWorkspace,
        team: ThreadTeam,
        comm: Comm,
    ) -> None:
        self._parameters, self._team = parameters, team
        max_leaf_nodes = parameters.max_leaf_nodes
        shape = max_leaf_nodes + LEAVES_AHEAD, *workspace.histograms.shape[1:]
        self._histograms = np.empty(shape, dtype=np.int64)
        self._workspace = workspace._replace(histograms=self._histograms)
        self._progress = Progress(
            own_records(team.n_threads, 1, PROGRESS),
            own_records(team.n_threads, max_leaf_nodes, DIVISION),
        )
        self._exchange = HistogramExchange(blocks, 1 + LEAVES_AHEAD, comm)

    def split_leaves(
        self,
        blocks: Blocks,
        n_rows: int,
        total: int,
        quantization: Quantization,
        allowed: NDArray[np.bool_],
        nodes: Records,
    ) -> None:
        """Write the splits of a tree into its nodes; all workers call this together."""
        given = blocks, n_rows, total, quantization, allowed, self._parameters
        own = self._workspace, self._progress, nodes
        self._progress.state[:] = np.zeros((), PROGRESS)
        state, n_summed = self._progress.state[0, 0], 0
        self._team.share(np.inf, grow_until_exchange, *given, *own)
        while not state.is_grown:
            new = self._histograms[n_summed : state.n_histograms]
            self._exchange.add_up(new, blocks)
            n_summed = state.n_histograms
            self._team.share(np.inf, grow_until_exchange, *given, *own)


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
        self._used = used_of_histograms(blocks)
        # The message is kept: pages that are new to the process are slow.
        self._message = np.empty(n_histograms * len(self._used), dtype=np.int64)

    def add_up(self, own: NDArray[np.int64], blocks: Blocks) -> None:
        """Replace histograms by their sums over all workers, in one exchange."""
        # `blocks` are those of all features, or of the features of a tree
        used = self._used if blocks is self._blocks else used_of_histograms(blocks)
        histograms = own.reshape(len(own), -1)
        message = self._message[: len(own) * len(used)].reshape(len(own), -1)
        take_used(histograms, used, message)
        put_used(self._comm.sum(message), used, histograms)


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


# --- the loop ---------------------------------------------------------------------


@shared_kernel
def grow_until_exchange(
    thread: int,
    n_threads: int,
    blocks: Blocks,
    n_rows: int,
    total: int,
    quantization: Quantization,
    allowed: NDArray[np.bool_],
    parameters: GrowthParameters,
    workspace: GrowthWorkspace,
    progress: Progress,
    nodes: Records,
) -> None:
    """Split leaves until sums of histograms are needed, or until the tree is grown."""
    # As in `grow_tree`.  `n_rows` is the number of this worker's rows; `total`, as all
    # packed sums of leaves, is over all workers.
    work = workspace_of_thread(thread, n_threads, workspace)
    progress = Progress(progress.state[thread], progress.divisions[thread])
    team, leaves, special = work.team, work.leaves, work.special
    state, divisions = progress.state[0], progress.divisions
    rule, mask = make_rule(parameters, quantization), quantization.count_mask
    if state.n_leaves == 0:
        fill_root(n_rows, total, leaves[0], work.buffers, team)
        leaves[0].histogram_index = divisions[0].histogram_index = NO_HISTOGRAM
        state.n_leaves, state.smaller, state.larger = 1, 0, -1
        state.n_histograms = 0
        wait_at_barrier(team.barrier, team.n_threads)
    while state.n_leaves < parameters.max_leaf_nodes:
        smaller, larger = state.smaller, state.larger
        if is_splittable(leaves, smaller, mask, parameters) or is_splittable(
            leaves, larger, mask, parameters
        ):
            if leaves[smaller].histogram_index == NO_HISTOGRAM:
                fill_new_histograms(
                    blocks, parameters, quantization, rule, special, work, progress
                )
                return
            search_histograms(
                smaller, larger, blocks, quantization, rule, allowed, special, work
            )
            wait_at_barrier(team.barrier, team.n_threads)
            select_best_splits(smaller, larger, parameters, quantization, rule, work)
        number, new = best_leaf(leaves, state.n_leaves), state.n_leaves
        division = divisions[number]
        if leaves[number].gain <= 0.0:
            break
        if division.histogram_index == NO_HISTOGRAM:
            divide_own_rows(
                leaves[number], division, blocks, quantization, rule, special, work
            )
        state.smaller, state.larger = split_leaf(
            number,
            new,
            division.left_total,
            division.n_left,
            division.histogram_index,
            quantization,
            rule,
            allowed,
            special,
            work,
            nodes,
        )
        division.histogram_index = divisions[new].histogram_index = NO_HISTOGRAM
        state.n_leaves += 1
        wait_at_barrier(team.barrier, team.n_threads)
    state.is_grown = True


@subkernel
def search_histograms(
    smaller: int,
    larger: int,
    blocks: Blocks,
    quantization: Quantization,
    rule: SplitRule,
    allowed: NDArray[np.bool_],
    special: SpecialFeatures | None,
    work: GrowthWorkspace,
) -> None:
    """Find this thread's candidate splits of two siblings, as `find_best_splits`."""
    # but the histogram of the smaller one is there
    candidates = work.candidates[work.team.thread]
    candidates[0].gain = candidates[1].gain = 0.0
    block = next_task(int64(1), blocks.n_used_slots, work.team, work.next_task)
    while block < len(blocks.n_bins):
        search_block(
            block, smaller, larger, blocks, quantization, rule, allowed, special, work
        )
        block = next_task(int64(1), blocks.n_used_slots, work.team, work.next_task)


@subkernel
def divide_own_rows(
    leaf: Record,
    division: Record,
    blocks: Blocks,
    quantization: Quantization,
    rule: SplitRule,
    special: SpecialFeatures | None,
    work: GrowthWorkspace,
) -> None:
    """Divide this worker's rows of a leaf by its best split; it is not split yet."""
    condition, left_total = split_condition(
        leaf, blocks, quantization, rule, special, work
    )
    n_before, n_left = count_left_by_chunk(condition, leaf, work.team, work.buffers)
    is_left = is_left_smaller(leaf.total, left_total, quantization)
    partition(condition, leaf, n_before, n_left, is_left, work.team, work.buffers)
    division.left_total, division.n_left = left_total, n_left


# --- histograms of this worker's rows ---------------------------------------------


@subkernel
def fill_new_histograms(
    blocks: Blocks,
    parameters: GrowthParameters,
    quantization: Quantization,
    rule: SplitRule,
    special: SpecialFeatures | None,
    work: GrowthWorkspace,
    progress: Progress,
) -> None:
    """Make the histograms of a next exchange: of a new leaf, and of leaves ahead."""
    team, leaves, rows = work.team, work.leaves, work.buffers.rows
    state, divisions = progress.state[0], progress.divisions
    leaf = leaves[state.smaller]
    leaf.histogram_index = new_histogram(state)
    first, last, gradients = leaf.start, leaf.stop, work.buffers.leaf_gradients
    fill_histograms(
        rows[leaf.buffer, first:last],
        gradients[first:last],
        work.histograms[leaf.histogram_index],
        blocks,
        work,
    )
    n_ahead = int64(0)
    for number in range(state.n_leaves):
        n_ahead += divisions[number].histogram_index != NO_HISTOGRAM
    # children that complete the tree are not searched
    most_ahead = min(LEAVES_AHEAD, parameters.max_leaf_nodes - state.n_leaves - 1)
    while n_ahead < most_ahead:
        number = next_leaf(leaves, divisions, state.n_leaves, quantization, parameters)
        if number < 0:
            return
        leaf, division = leaves[number], divisions[number]
        wait_at_barrier(team.barrier, team.n_threads)
        divide_own_rows(leaf, division, blocks, quantization, rule, special, work)
        division.histogram_index = new_histogram(state)
        wait_at_barrier(team.barrier, team.n_threads)
        first, last = leaf.start, leaf.start + division.n_left
        if not is_left_smaller(leaf.total, division.left_total, quantization):
            first, last = last, leaf.stop
        fill_histograms(
            rows[1 - leaf.buffer, first:last],
            gradients[first:last],
            work.histograms[division.histogram_index],
            blocks,
            work,
        )
        n_ahead += 1


@subkernel
def fill_histograms(
    rows: NDArray[np.int32],
    gradients: NDArray[np.int64],
    histograms: NDArray[np.int64],  # (n_blocks, 256 * 16)
    blocks: Blocks,
    work: GrowthWorkspace,
) -> None:
    """Make the histograms of all blocks from these rows; threads share the blocks."""
    for block in range(work.team.thread, len(histograms), work.team.n_threads):
        if blocks.n_used_slots[block] > 0:
            fill_histogram(histograms[block], block, rows, blocks, gradients)


@subkernel
def new_histogram(state: Record) -> int:
    """Return the index of a histogram that is not in use."""
    index: int = state.n_histograms
    state.n_histograms += 1
    return index


@subkernel
def next_leaf(
    leaves: Records,
    divisions: Records,
    n_leaves: int,
    quantization: Quantization,
    parameters: GrowthParameters,
) -> int:
    """Return the leaf to divide next: the highest gain of leaves not divided, or -1."""
    best = -1
    for number in range(n_leaves):
        leaf = leaves[number]
        # its larger child is certain to need a histogram
        n_rows = leaf.total & quantization.count_mask
        is_large = n_rows >= 4 * parameters.min_samples_leaf
        is_shallow = leaf.depth + 1 < parameters.max_depth
        is_divided = divisions[number].histogram_index != NO_HISTOGRAM
        if not is_divided and leaf.gain > 0.0 and is_large and is_shallow:
            if best < 0 or leaf.gain > leaves[best].gain:
                best = number
    return best
