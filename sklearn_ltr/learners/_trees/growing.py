"""Grow one regression tree, best leaf first, by a team of threads.

A tree of L leaves is made by L - 1 splits.  Each split

1. takes the leaf whose best cut gains most,
2. moves its rows into two, keeping their order,
3. adds up the histogram of the smaller child; the other's is the parent's minus it,
4. finds the best cut of both children, each thread in one block of columns after
   another, whichever is next.

All threads run :func:`grow` together and meet at a barrier after steps 2 and 4; what
each of them knows of the leaves is its own copy of the same facts.  All sums are of
integers, so the tree does not depend on how many they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import (
    ThreadTeam,
    fetch_add,
    int64,
    kernel,
    subkernel,
    uint64,
    wait_at_barrier,
)
from sklearn_ltr.learners._trees.binning import BinnedData, with_columns
from sklearn_ltr.learners._trees.histogram import (
    Fields,
    Packing,
    choose_fields,
    choose_packing,
    magnitude,
    pack_rows,
    scale_to_fit,
)
from sklearn_ltr.learners._trees.partition import partition, share
from sklearn_ltr.learners._trees.split_search import count_left, find_cuts, settle
from sklearn_ltr.learners._trees.splitting import SplitRule
from sklearn_ltr.learners._trees.workspace import (
    PORTIONS,
    GrownTree,
    Leaves,
    Limits,
    Workspace,
    best_leaf,
    divide,
    may_split,
    new_leaves,
    new_tree,
    new_workspace,
)


class ExactScales(NamedTuple):
    """Factors that turn gradients and hessians into integers of 62 bits."""

    gradient: float
    hessian: float


class TreeGrower:
    """Grows trees on one binned table, one after another.

    Parameters
    ----------
    table : BinnedData
        The rows to learn from.
    limits : Limits
        Size of a tree.
    second_order : bool
        Weigh rows by their hessians in the splits, not by their number.
    team : ThreadTeam
        The threads to use.
    """

    def __init__(
        self,
        table: BinnedData,
        limits: Limits,
        *,
        second_order: bool,
        team: ThreadTeam,
    ) -> None:
        n_blocks, n_rows, _ = table.codes.shape
        self.table, self.limits = table, limits
        self.second_order, self.team = second_order, team
        self._workspace = new_workspace(
            team.n_threads, n_rows, n_blocks, limits.max_leaf_nodes
        )

    def grow(
        self,
        gradient: NDArray[np.float64],
        hessian: NDArray[np.float64],
        rows: NDArray[np.int32],
        features: NDArray[np.int64],
        shift: int,
        noise: NDArray[np.float64],
        scores: NDArray[np.float64],
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
        noise : ndarray of shape (2 * max_leaf_nodes - 1, n_features), float64
            What a column's best gain at a node is multiplied by when the columns are
            compared.
        scores : ndarray of shape (n_rows,), float64
            To which the value of its leaf is added, for each row in `rows`.
        """
        table = self.table
        if len(features) < len(table.place):
            table = with_columns(table, features)
        tree = new_tree(self.limits.max_leaf_nodes)
        self._workspace.next_leaf[0] = 0
        self.team.run(
            grow,
            self.team.n_threads,
            table,
            gradient,
            hessian,
            rows,
            shift,
            choose_fields(len(rows), second_order=self.second_order),
            self.limits,
            self.second_order,
            noise,
            self._workspace,
            tree,
            scores,
        )
        n_nodes = 2 * np.count_nonzero(tree.feature >= 0) + 1
        return GrownTree._make(field[:n_nodes] for field in tree)


@kernel
def grow(
    thread: int,
    n_threads: int,
    table: BinnedData,
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    rows: NDArray[np.int32],
    shift: int,
    fields: Fields,
    limits: Limits,
    second_order: bool,
    noise: NDArray[np.float64],
    work: Workspace,
    tree: GrownTree,
    scores: NDArray[np.float64],
) -> None:
    """Grow a tree; every thread of the team calls this with the same arguments."""
    total_gradient, total_hessian = add_magnitudes(
        thread, n_threads, gradient, hessian, work
    )
    packing = choose_packing(fields, total_gradient, total_hessian)
    packing, total = pack_together(
        thread, n_threads, gradient, hessian, rows, shift, packing, work
    )
    l2 = limits.l2 * packing.hessian_scale if second_order else 0.0
    rule = SplitRule(second_order, l2, limits.min_samples_leaf)
    gain_unit = packing.hessian_scale if second_order else 1.0
    if packing.gradient_scale > 0:
        gain_unit = gain_unit / packing.gradient_scale / packing.gradient_scale
    leaves = new_leaves(limits.max_leaf_nodes, len(rows), total)
    # typed: numba would compile every callee once more for a literal
    n_leaves, small, large = int64(1), int64(0), int64(-1)
    while n_leaves < limits.max_leaf_nodes:
        if may_split(leaves, small, limits) or may_split(leaves, large, limits):
            find_cuts(
                thread,
                table,
                leaves,
                small,
                large,
                packing,
                rule,
                noise,
                work,
            )
            wait_at_barrier(work.barrier, n_threads)
            if thread == 0:
                work.next_block[0] = 0
            for which in range(2):
                leaf = small if which == 0 else large
                if may_split(leaves, leaf, limits):
                    settle(leaves, leaf, which, packing, rule, work.candidates)
        leaf = best_leaf(leaves, n_leaves)
        if leaves.gain[leaf] <= 0.0:
            break
        left_total, n_left = count_left(table, leaves, leaf, packing.count_bits, work)
        partition(thread, n_threads, table, leaves, leaf, n_left, work)
        n_nodes = 2 * n_leaves - 1
        if thread == 0:
            record_split(tree, leaves, leaf, n_nodes, gain_unit)
        small, large = divide(leaves, leaf, n_leaves, n_nodes, left_total, n_left)
        n_leaves += 1
        wait_at_barrier(work.barrier, n_threads)
    exact = ExactScales(
        scale_to_fit(2.0**61, total_gradient), scale_to_fit(2.0**61, total_hessian)
    )
    leaf = fetch_add(work.next_leaf)
    while leaf < n_leaves:
        start, stop, node = leaves.start[leaf], leaves.stop[leaf], leaves.node[leaf]
        own = work.rows[leaves.side[leaf], start:stop]
        step = newton_step(gradient, hessian, own, exact, limits.l2)
        value = limits.learning_rate * step
        tree.value[node] = value
        tree.n_rows[node] = stop - start
        for row in own:
            scores[uint64(row)] += value
        leaf = fetch_add(work.next_leaf)


@subkernel
def add_magnitudes(
    thread: int,
    n_threads: int,
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    work: Workspace,
) -> tuple[float, float]:
    """Sum |gradient| and |hessian|, in the same order for any number of threads."""
    for portion in range(thread, PORTIONS, n_threads):
        first, last = share(portion, PORTIONS, int64(0), len(gradient))
        work.magnitudes[portion, 0] = magnitude(gradient[first:last])
        work.magnitudes[portion, 1] = magnitude(hessian[first:last])
    wait_at_barrier(work.barrier, n_threads)
    total_gradient, total_hessian = 0.0, 0.0
    for portion in range(PORTIONS):
        total_gradient += work.magnitudes[portion, 0]
        total_hessian += work.magnitudes[portion, 1]
    return total_gradient, total_hessian


@subkernel
def pack_together(
    thread: int,
    n_threads: int,
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    rows: NDArray[np.int32],
    shift: int,
    packing: Packing,
    work: Workspace,
) -> tuple[Packing, int]:
    """Pack all rows, each thread its share; halve the scales if a sum would overflow.

    Then the root is filled with those to learn from.  Returns the packing that fits and
    the sum of the root's words.
    """
    first, last = share(thread, n_threads, int64(0), len(gradient))
    own = slice(first, last)
    hessian_capacity = 1 << packing.hessian_bits
    gradient_capacity = 1 << (63 - packing.hessian_bits - packing.count_bits)
    while True:
        work.sums[thread, 0], work.sums[thread, 1] = pack_rows(
            gradient[own], hessian[own], first, packing, shift, work.words[own]
        )
        wait_at_barrier(work.barrier, n_threads)
        g, h = sum_over_threads(work.sums, 0), sum_over_threads(work.sums, 1)
        wait_at_barrier(work.barrier, n_threads)
        if g < gradient_capacity and h < hessian_capacity:
            break
        packing = Packing(
            packing.gradient_scale / 2,
            packing.hessian_scale / 2,
            packing.hessian_bits,
            packing.count_bits,
        )
    total = int64(0)
    first, last = share(thread, n_threads, int64(0), len(rows))
    for i in range(uint64(first), uint64(last)):
        row = rows[i]
        word = work.words[uint64(row)]
        work.rows[0, i], work.leaf_words[i] = row, word
        total += word
    work.sums[thread, 2] = total
    wait_at_barrier(work.barrier, n_threads)
    return packing, sum_over_threads(work.sums, 2)


@subkernel
def sum_over_threads(sums: NDArray[np.int64], place: int) -> int:
    """Add up what the threads have written into one of their places."""
    total = int64(0)
    for thread in range(len(sums)):
        total += sums[thread, place]
    return total


@subkernel
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


@subkernel
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
    g, h = int64(0), int64(0)
    for row in rows:
        g += int64(np.rint(gradient[uint64(row)] * exact.gradient))
        h += int64(np.rint(hessian[uint64(row)] * exact.hessian))
    if g == 0 or h == 0:
        return 0.0
    return -(g / exact.gradient) / (h / exact.hessian + l2)
