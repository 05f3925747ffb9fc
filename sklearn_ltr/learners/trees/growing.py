"""Grow one regression tree, best leaf first, by a team of threads.

A tree of L leaves is made by L - 1 splits.  Each split

1. takes the leaf whose best cut gains most,
2. moves its rows into two, keeping their order,
3. adds up the histogram of the smaller child; the other's is the parent's minus it,
4. finds the best cut of both children, each thread in its own blocks of columns.

All threads run :func:`grow` together and meet at a barrier after steps 2 and 4; what
each of them knows of the leaves is its own copy of the same facts.  All sums are of
integers, so the tree does not depend on how many they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import Team, kernel, new_barrier, prefetch_row, wait
from sklearn_ltr.learners.trees.binning import BLOCK, MISSING
from sklearn_ltr.learners.trees.histogram import (
    LOOK_AHEAD,
    Packing,
    add_rows,
    absolute_sum,
    choose_packing,
    pack_rows,
    scale_to_fit,
)
from sklearn_ltr.learners.trees.splitting import SplitRule, best_threshold, side_score

SMALL = 2048  # rows that one thread moves faster than two


class Candidates(NamedTuple):
    """The best cut found by each thread, for each of the two leaves it looked at."""

    score: NDArray[np.float64]  # (n_threads, 2)
    feature: NDArray[np.int64]
    threshold: NDArray[np.int64]
    missing_left: NDArray[np.bool_]


class GrownTree(NamedTuple):
    """A tree in terms of bins, as arrays over its nodes; node 0 is the root."""

    feature: NDArray[np.int32]  # -1: a leaf
    threshold: NDArray[np.uint8]  # bins <= threshold go left
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    gain: NDArray[np.float64]
    count: NDArray[np.int64]
    value: NDArray[np.float64]
    n_nodes: NDArray[np.int64]  # (1,)


class Workspace(NamedTuple):
    """Memory that the trees of one fit share."""

    rows: NDArray[np.int32]  # (2, n_rows): a leaf's rows lie in one of the two halves
    words: NDArray[np.int64]  # (2, n_rows): their packed gradients
    goes_left: NDArray[np.uint8]  # (n_rows,)
    histograms: NDArray[np.int64]  # (max_leaf_nodes, n_blocks, 16, 256)
    candidates: Candidates
    sums: NDArray[np.int64]  # (n_threads, 4): what threads tell each other
    barrier: NDArray[np.int64]


class Limits(NamedTuple):
    """When to stop, and how leaf values are made."""

    max_leaf_nodes: int
    max_depth: int
    min_samples_leaf: int
    l2: float


class ExactScales(NamedTuple):
    """Factors that turn gradients and hessians into integers of 62 bits."""

    gradient: float
    hessian: float


class Leaves(NamedTuple):
    """What a thread knows of the leaves: arrays of shape (max_leaf_nodes,)."""

    start: NDArray[np.int64]  # rows[side, start:stop]
    stop: NDArray[np.int64]
    side: NDArray[np.int64]
    slot: NDArray[np.int64]  # of its histogram
    depth: NDArray[np.int64]
    node: NDArray[np.int64]
    total: NDArray[np.int64]  # packed sum
    gain: NDArray[np.float64]  # of its best cut; 0: none
    feature: NDArray[np.int64]
    threshold: NDArray[np.int64]
    missing_left: NDArray[np.bool_]


@kernel
def pack_together(
    thread: int,
    n_threads: int,
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    n_rows: int,
    shift: int,
    packing: Packing,
    work: Workspace,
) -> tuple[Packing, int]:
    """Pack all rows, each thread its share; halve the scales if a sum would overflow.

    Returns the packing that fits and the sum of all words.
    """
    first, last = share(thread, n_threads, np.int64(0), n_rows)
    hessian_capacity = 1 << packing.hessian_bits
    gradient_capacity = 1 << (63 - packing.hessian_bits - packing.count_bits)
    while True:
        g, h, words = pack_rows(
            gradient,
            hessian,
            work.rows[0, first:last],
            packing,
            shift,
            work.words[0, first:last],
        )
        work.sums[thread, 0], work.sums[thread, 1], work.sums[thread, 2] = g, h, words
        wait(work.barrier, n_threads)
        g, h, words = work.sums[:, 0].sum(), work.sums[:, 1].sum(), work.sums[:, 2].sum()
        wait(work.barrier, n_threads)
        if g < gradient_capacity and h < hessian_capacity:
            return packing, words
        packing = Packing(
            packing.gradient_scale / 2,
            packing.hessian_scale / 2,
            packing.hessian_bits,
            packing.count_bits,
        )


@kernel
def share(thread: int, n_threads: int, start: int, stop: int) -> tuple[int, int]:
    """Return the part of ``start:stop`` that is a thread's."""
    n = stop - start
    return start + n * thread // n_threads, start + n * (thread + 1) // n_threads


@kernel
def mark_rows(
    codes: NDArray[np.uint8],
    place: int,
    threshold: int,
    missing_left: bool,
    rows: NDArray[np.int32],
    goes_left: NDArray[np.uint8],
) -> int:
    """Note which rows a cut sends to the left, and return how many."""
    n_rows, n_left = len(rows), 0
    for i in range(n_rows):
        prefetch_row(codes, np.int64(rows[min(i + LOOK_AHEAD, n_rows - 1)]))
        code = codes[rows[i], place]
        left = missing_left if code == MISSING else code <= threshold
        goes_left[i] = left
        n_left += left
    return n_left


@kernel
def move_rows(
    goes_left: NDArray[np.uint8],
    source: int,
    first: int,
    last: int,
    left: int,
    right: int,
    work: Workspace,
) -> None:
    """Move ``rows[source, first:last]`` to the places from `left` and `right` on."""
    for i in range(first, last):
        to = left if goes_left[i] else right
        left += goes_left[i]
        right += 1 - goes_left[i]
        work.rows[1 - source, to] = work.rows[source, i]
        work.words[1 - source, to] = work.words[source, i]


@kernel
def partition(
    thread: int,
    n_threads: int,
    codes: NDArray[np.uint8],
    leaves: Leaves,
    leaf: int,
    n_left: int,
    work: Workspace,
) -> None:
    """Put the rows of a leaf that go left before those that go right."""
    start, stop, side = leaves.start[leaf], leaves.stop[leaf], leaves.side[leaf]
    together = stop - start > SMALL
    if not together and thread > 0:
        return
    first, last = share(thread, n_threads, start, stop) if together else (start, stop)
    block, place = leaves.feature[leaf] // BLOCK, leaves.feature[leaf] % BLOCK
    work.sums[thread, 3] = mark_rows(
        codes[block],
        place,
        leaves.threshold[leaf],
        leaves.missing_left[leaf],
        work.rows[side, first:last],
        work.goes_left[first:last],
    )
    left = 0
    if together:
        wait(work.barrier, n_threads)
        left = work.sums[:thread, 3].sum()
    right = n_left + (first - start) - left
    move_rows(work.goes_left, side, first, last, start + left, start + right, work)


@kernel
def find_cuts(
    thread: int,
    n_threads: int,
    codes: NDArray[np.uint8],
    n_bins: NDArray[np.int64],
    features: NDArray[np.int64],
    leaves: Leaves,
    small: int,
    large: int,
    packing: Packing,
    rule: SplitRule,
    work: Workspace,
) -> None:
    """Find the best cuts of two siblings, or of the root alone (``large < 0``).

    A thread takes every `n_threads`-th block of columns: it fills the smaller leaf's
    histogram, leaves in the parent's place the larger one's, and looks at both while
    they are in its cache.
    """
    cumulative = np.empty(MISSING + 1, dtype=np.int64)
    scores = np.empty(MISSING + 1)
    for which in range(2):
        work.candidates.score[thread, which] = 0.0
    rows = work.rows[leaves.side[small], leaves.start[small] : leaves.stop[small]]
    words = work.words[leaves.side[small], leaves.start[small] : leaves.stop[small]]
    filled = -1
    for feature in features:
        block, place = feature // BLOCK, feature % BLOCK
        if block % n_threads != thread:
            continue
        small_block = work.histograms[leaves.slot[small], block]
        if block != filled:
            small_block[:] = 0
            add_rows(codes[block], rows, words, small_block)
            filled = block
        for which in range(1 if large < 0 else 2):
            leaf = small if which == 0 else large
            histogram = work.histograms[leaves.slot[leaf], block, place]
            if which == 1:
                for b in range(MISSING + 1):
                    histogram[b] -= small_block[place, b]
            score, threshold, missing_left = best_threshold(
                histogram,
                n_bins[feature],
                leaves.total[leaf],
                packing,
                rule,
                cumulative,
                scores,
            )
            if score > work.candidates.score[thread, which]:
                work.candidates.score[thread, which] = score
                work.candidates.feature[thread, which] = feature
                work.candidates.threshold[thread, which] = threshold
                work.candidates.missing_left[thread, which] = missing_left


@kernel
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
    for thread in range(1, len(candidates.score)):
        gap = candidates.score[thread, which] - candidates.score[best, which]
        earlier = candidates.feature[thread, which] < candidates.feature[best, which]
        if gap > 0 or (gap == 0 and earlier):
            best = thread
    score, _ = side_score(leaves.total[leaf], packing, rule.second_order, rule.l2)
    leaves.gain[leaf] = max(candidates.score[best, which] - score, 0.0)
    leaves.feature[leaf] = candidates.feature[best, which]
    leaves.threshold[leaf] = candidates.threshold[best, which]
    leaves.missing_left[leaf] = candidates.missing_left[best, which]


class TreeGrower:
    """Grows trees on one binned table, one after another.

    Parameters
    ----------
    codes : ndarray of shape (n_blocks, n_rows, 16), uint8
        The binned table.
    n_bins : ndarray of shape (n_features,), int64
        Bins of each column, missing not counted.
    limits : Limits
        Size of a tree.
    second_order : bool
        Weigh rows by their hessians in the splits, not by their number.
    team : Team
        The threads to use.
    """

    def __init__(
        self,
        codes: NDArray[np.uint8],
        n_bins: NDArray[np.int64],
        limits: Limits,
        *,
        second_order: bool,
        team: Team,
    ) -> None:
        n_blocks, n_rows, _ = codes.shape
        self.codes, self.n_bins, self.limits = codes, n_bins, limits
        self.second_order, self.team = second_order, team
        found = (team.n_threads, 2)
        self._workspace = Workspace(
            rows=np.empty((2, n_rows), dtype=np.int32),
            words=np.empty((2, n_rows), dtype=np.int64),
            goes_left=np.empty(n_rows, dtype=np.uint8),
            histograms=np.empty(
                (limits.max_leaf_nodes, n_blocks, BLOCK, MISSING + 1), dtype=np.int64
            ),
            candidates=Candidates(
                np.zeros(found),
                np.zeros(found, dtype=np.int64),
                np.zeros(found, dtype=np.int64),
                np.zeros(found, dtype=np.bool_),
            ),
            sums=np.zeros((team.n_threads, 4), dtype=np.int64),
            barrier=new_barrier(),
        )

    def grow(
        self,
        gradient: NDArray[np.float64],
        hessian: NDArray[np.float64],
        rows: NDArray[np.int32],
        features: NDArray[np.int64],
        shift: int,
        fitted: NDArray[np.float64],
    ) -> GrownTree:
        """Grow one tree on some of the rows.

        Parameters
        ----------
        gradient, hessian : ndarrays of shape (n_rows,), float64
            First and second derivative of the cost by each row's score.
        rows : ndarray of shape (n_used,), int32, ascending
            The rows to learn from.
        features : ndarray of shape (n_used_features,), int64, ascending
            The columns to split on.
        shift : int >= 0
            Where the rounding sequence starts: the number of the tree.
        fitted : ndarray of shape (n_rows,), float64
            Receives the value of the leaf of each row in `rows`.
        """
        total_gradient = absolute_sum(gradient, rows)
        total_hessian = absolute_sum(hessian, rows)
        packing = choose_packing(
            len(rows), total_gradient, total_hessian, second_order=self.second_order
        )
        exact = ExactScales(
            scale_to_fit(2.0**61, total_gradient), scale_to_fit(2.0**61, total_hessian)
        )
        self._workspace.rows[0, : len(rows)] = rows
        size = 2 * self.limits.max_leaf_nodes - 1
        tree = GrownTree(
            feature=np.full(size, -1, dtype=np.int32),
            threshold=np.zeros(size, dtype=np.uint8),
            missing_left=np.zeros(size, dtype=np.bool_),
            left=np.full(size, -1, dtype=np.int32),
            right=np.full(size, -1, dtype=np.int32),
            gain=np.zeros(size),
            count=np.zeros(size, dtype=np.int64),
            value=np.zeros(size),
            n_nodes=np.zeros(1, dtype=np.int64),
        )
        self.team.run(
            grow,
            self.team.n_threads,
            self.codes,
            self.n_bins,
            features,
            gradient,
            hessian,
            len(rows),
            shift,
            packing,
            exact,
            self.limits,
            self.second_order,
            self._workspace,
            tree,
            fitted,
        )
        n_nodes = tree.n_nodes[0]
        return GrownTree(*(field[:n_nodes] for field in tree[:-1]), tree.n_nodes)


@kernel
def count_left(histogram: NDArray[np.int64], leaves: Leaves, leaf: int) -> int:
    """Return the packed sum of the rows that the best cut of a leaf sends left."""
    total = histogram[MISSING] if leaves.missing_left[leaf] else 0
    for b in range(leaves.threshold[leaf] + 1):
        total += histogram[b]
    return total


@kernel
def divide(
    leaves: Leaves,
    leaf: int,
    new: int,
    n_nodes: int,
    left_total: int,
    n_left: int,
) -> tuple[int, int]:
    """Turn `leaf` into its left child and `new` into its right; return small, large."""
    middle = leaves.start[leaf] + n_left
    left_is_small = 2 * n_left <= leaves.stop[leaf] - leaves.start[leaf]
    leaves.start[new], leaves.stop[new] = middle, leaves.stop[leaf]
    leaves.stop[leaf] = middle
    leaves.side[leaf] = leaves.side[new] = 1 - leaves.side[leaf]
    leaves.depth[leaf] = leaves.depth[new] = leaves.depth[leaf] + 1
    leaves.node[leaf], leaves.node[new] = n_nodes, n_nodes + 1
    leaves.total[new] = leaves.total[leaf] - left_total
    leaves.total[leaf] = left_total
    leaves.gain[leaf] = leaves.gain[new] = 0.0
    # the parent's histogram becomes the larger child's
    leaves.slot[new] = new
    if left_is_small:
        leaves.slot[leaf], leaves.slot[new] = leaves.slot[new], leaves.slot[leaf]
        return leaf, new
    return new, leaf


@kernel
def record_split(
    tree: GrownTree, leaves: Leaves, leaf: int, n_nodes: int, gain_unit: float
) -> None:
    """Write the best cut of a leaf into the tree."""
    node = leaves.node[leaf]
    tree.feature[node] = leaves.feature[leaf]
    tree.threshold[node] = leaves.threshold[leaf]
    tree.missing_left[node] = leaves.missing_left[leaf]
    tree.left[node], tree.right[node] = n_nodes, n_nodes + 1
    tree.gain[node] = leaves.gain[leaf] * gain_unit


@kernel
def newton_step(
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    rows: NDArray[np.int32],
    exact: ExactScales,
    l2: float,
) -> float:
    """Return the value of a leaf, ``-sum(gradient) / (sum(hessian) + l2)``.

    Section 7 of the report, with l2 added.  Sums are of integers: their order is free.
    """
    g, h = 0, 0
    for row in rows:
        g += np.int64(np.rint(gradient[row] * exact.gradient))
        h += np.int64(np.rint(hessian[row] * exact.hessian))
    if g == 0 or h == 0:
        return 0.0
    return -(g / exact.gradient) / (h / exact.hessian + l2)


@kernel
def grow(
    thread: int,
    n_threads: int,
    codes: NDArray[np.uint8],
    n_bins: NDArray[np.int64],
    features: NDArray[np.int64],
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    n_rows: int,
    shift: int,
    packing: Packing,
    exact: ExactScales,
    limits: Limits,
    second_order: bool,
    work: Workspace,
    tree: GrownTree,
    fitted: NDArray[np.float64],
) -> None:
    """Grow a tree; every thread of the team calls this with the same arguments."""
    packing, total = pack_together(
        thread, n_threads, gradient, hessian, n_rows, shift, packing, work
    )
    l2 = limits.l2 * packing.hessian_scale if second_order else 0.0
    rule = SplitRule(second_order, l2, limits.min_samples_leaf)
    gain_unit = 1.0 / max(packing.gradient_scale, 1e-300) ** 2
    if second_order:
        gain_unit *= packing.hessian_scale
    size = limits.max_leaf_nodes
    leaves = Leaves(
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.bool_),
    )
    leaves.stop[0], leaves.total[0] = n_rows, total
    # typed: numba would compile every callee once more for a literal
    n_leaves, n_nodes = np.int64(1), np.int64(1)
    small, large = np.int64(0), np.int64(-1)
    while n_leaves < size:
        if may_split(leaves, small, limits) or may_split(leaves, large, limits):
            find_cuts(
                thread,
                n_threads,
                codes,
                n_bins,
                features,
                leaves,
                small,
                large,
                packing,
                rule,
                work,
            )
            wait(work.barrier, n_threads)
            if may_split(leaves, small, limits):
                settle(leaves, small, np.int64(0), packing, rule, work.candidates)
            if may_split(leaves, large, limits):
                settle(leaves, large, np.int64(1), packing, rule, work.candidates)
        leaf = np.argmax(leaves.gain[:n_leaves])
        if leaves.gain[leaf] <= 0.0:
            break
        block, place = leaves.feature[leaf] // BLOCK, leaves.feature[leaf] % BLOCK
        histogram = work.histograms[leaves.slot[leaf], block, place]
        left_total = count_left(histogram, leaves, leaf)
        n_left = left_total & ((1 << packing.count_bits) - 1)
        partition(thread, n_threads, codes, leaves, leaf, n_left, work)
        if thread == 0:
            record_split(tree, leaves, leaf, n_nodes, gain_unit)
        small, large = divide(leaves, leaf, n_leaves, n_nodes, left_total, n_left)
        n_leaves += 1
        n_nodes += 2
        wait(work.barrier, n_threads)
    for leaf in range(thread, n_leaves, n_threads):
        start, stop, node = leaves.start[leaf], leaves.stop[leaf], leaves.node[leaf]
        rows = work.rows[leaves.side[leaf], start:stop]
        value = newton_step(gradient, hessian, rows, exact, limits.l2)
        tree.value[node] = value
        tree.count[node] = stop - start
        for row in rows:
            fitted[row] = value
    if thread == 0:
        tree.n_nodes[0] = n_nodes


@kernel
def may_split(leaves: Leaves, leaf: int, limits: Limits) -> bool:
    """Say whether a leaf is large and shallow enough to be cut; no leaf is not."""
    return (
        leaf >= 0
        and leaves.stop[leaf] - leaves.start[leaf] >= 2 * limits.min_samples_leaf
        and leaves.depth[leaf] < limits.max_depth
    )
