"""Find the best cuts of two sibling leaves, columns shared out among the threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import fetch_add, subkernel
from sklearn_ltr.learners._trees.binning import BLOCK, MISSING, BinnedData
from sklearn_ltr.learners._trees.histogram import (
    Packing,
    add_rows,
    clear,
    fetch_first,
    subtract,
)
from sklearn_ltr.learners._trees.splitting import (
    Cuts,
    SplitRule,
    best_cuts,
    new_cuts,
    rounding_gain,
    side_score,
)
from sklearn_ltr.learners._trees.workspace import Candidates, Leaves, Workspace


@subkernel
def find_cuts(
    thread: int,
    table: BinnedData,
    leaves: Leaves,
    small: int,
    large: int,
    packing: Packing,
    rule: SplitRule,
    noise: NDArray[np.float64],
    work: Workspace,
) -> None:
    """Find the best cuts of two siblings, or of the root alone (``large < 0``).

    A thread takes one block of columns after another: it fills the smaller leaf's
    histogram, leaves in the parent's place the larger one's, and looks at both while
    they are in its cache.
    """
    cuts = new_cuts()
    for which in range(2):
        work.candidates.appeal[thread, which] = 0.0
        work.candidates.gain[thread, which] = 0.0
    rows = work.rows[leaves.side[small], leaves.start[small] : leaves.stop[small]]
    words = work.leaf_words[: len(rows)]
    block = take_block(table.n_columns, work.next_block)
    fetch_first(table.codes, block, rows)
    while block < len(table.codes):
        n_bins = table.n_bins[block]
        histogram = work.histograms[leaves.slot[small], block]
        clear(histogram, n_bins)
        add_rows(table.codes[block], rows, words, histogram, table.n_columns[block])
        following = take_block(table.n_columns, work.next_block)
        # its rows are on their way while cuts are looked for
        fetch_first(table.codes, following, rows)
        for which in range(1 if large < 0 else 2):
            leaf = small if which == 0 else large
            if which == 1:
                parents = work.histograms[leaves.slot[large], block]
                subtract(parents, histogram, n_bins)
                histogram = parents
            total = leaves.total[leaf]
            best_cuts(histogram, n_bins, total, packing, rule, cuts)
            uncut, _ = side_score(total, packing, rule.second_order, rule.l2)
            offer(
                thread,
                which,
                cuts,
                uncut,
                table.column[block],
                noise[leaves.node[leaf]],
                work.candidates,
            )
        block = following


@subkernel
def take_block(n_columns: NDArray[np.int64], next_block: NDArray[np.int64]) -> int:
    """Return the next block that has columns to look at, or a number past the last."""
    block = fetch_add(next_block)
    while block < len(n_columns) and n_columns[block] == 0:
        block = fetch_add(next_block)
    return block


@subkernel
def offer(
    thread: int,
    which: int,
    cuts: Cuts,
    uncut: float,
    column: NDArray[np.int64],
    noise: NDArray[np.float64],
    candidates: Candidates,
) -> None:
    """Make the best cut of a block the thread's candidate, if it is better.

    Columns are compared by their best gains times their `noise`; of equals, the first
    is taken.
    """
    for place, feature in enumerate(column):
        if feature < 0:
            continue
        gain = cuts.score[place] - uncut
        appeal = gain * noise[feature]
        gap = appeal - candidates.appeal[thread, which]
        earlier = feature < candidates.feature[thread, which]
        if gap > 0 or (gap == 0 and appeal > 0 and earlier):
            candidates.appeal[thread, which] = appeal
            candidates.gain[thread, which] = gain
            candidates.feature[thread, which] = feature
            candidates.threshold[thread, which] = cuts.threshold[place]
            candidates.missing_left[thread, which] = cuts.missing_left[place]


@subkernel
def settle(
    leaves: Leaves,
    leaf: int,
    which: int,
    packing: Packing,
    rule: SplitRule,
    candidates: Candidates,
) -> None:
    """Choose among the threads' cuts: the best, and of equals the first column's."""
    best = 0
    for thread in range(1, len(candidates.appeal)):
        gap = candidates.appeal[thread, which] - candidates.appeal[best, which]
        earlier = candidates.feature[thread, which] < candidates.feature[best, which]
        if gap > 0 or (gap == 0 and earlier):
            best = thread
    floor = rounding_gain(leaves.total[leaf], packing, rule)
    gain = candidates.gain[best, which]
    leaves.gain[leaf] = gain if gain > floor else 0.0
    leaves.feature[leaf] = candidates.feature[best, which]
    leaves.threshold[leaf] = candidates.threshold[best, which]
    leaves.missing_left[leaf] = candidates.missing_left[best, which]


@subkernel
def count_left(
    table: BinnedData, leaves: Leaves, leaf: int, count_bits: int, work: Workspace
) -> tuple[int, int]:
    """Return the packed sum, and the number, of the rows that a leaf's cut sends left.

    When none of the rows has a missing value, later ones that do follow the majority.
    """
    block = table.block[leaves.feature[leaf]]
    place = table.place[leaves.feature[leaf]]
    histogram = work.histograms[leaves.slot[leaf], block]
    missing = histogram[MISSING * BLOCK + place]
    total = missing if leaves.missing_left[leaf] else 0
    for b in range(leaves.threshold[leaf] + 1):
        total += histogram[b * BLOCK + place]
    n_left = total & ((1 << count_bits) - 1)
    if missing == 0:
        n_rows = leaves.stop[leaf] - leaves.start[leaf]
        leaves.missing_left[leaf] = 2 * n_left > n_rows
    return total, n_left
