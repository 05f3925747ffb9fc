"""Kernels of :mod:`distributed_growing`: what one worker does with its own rows.

All threads of a worker call a kernel at once, each with its own workspace.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import fetch_add, int64, kernel, subkernel, wait_at_barrier
from sklearn_ltr._trees.binning import BinnedData
from sklearn_ltr._trees.histogram import (
    add_rows_to_histogram,
    clear_histogram,
)
from sklearn_ltr._trees.leaf_splitting import split_in_two
from sklearn_ltr._trees.leaf_values import (
    ExactScales,
    add_to_scores,
    exact_scales,
    set_leaf_value,
    sum_derivatives,
)
from sklearn_ltr._trees.parameters import GrowthParameters
from sklearn_ltr._trees.partition import fill_root
from sklearn_ltr._trees.quantization import (
    BitLayout,
    Derivatives,
    Magnitudes,
    Quantization,
    choose_quantization,
    fixed_point_unit,
    largest_magnitude,
    pack_gradients,
    sum_fixed_point,
)
from sklearn_ltr._trees.row_draws import RowNumbers
from sklearn_ltr._trees.split_search import (
    clear_candidates,
    next_used_block,
    search_siblings,
    select_best_splits,
)
from sklearn_ltr._trees.splitting import make_rule
from sklearn_ltr._trees.workspace import (
    Records,
    Workspace,
    best_leaf,
    chunk_bounds,
    is_splittable,
)

IntArray = NDArray[np.int64]
# Number of leaves; smaller and larger child of the last split; whether the histogram
# of the smaller one is the sum of all workers
GrowthState: TypeAlias = tuple[int, int, int, bool]


@kernel
def find_largest(derivatives: Derivatives, work: Workspace) -> None:
    """Find the largest |gradient| and hessian of this thread's chunk of the rows."""
    team, n_rows = work.team, len(derivatives.gradient)
    own = team.sums[team.thread]
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), n_rows)
    own.largest_gradient = largest_magnitude(derivatives.gradient, first, last)
    own.largest_hessian = largest_magnitude(derivatives.hessian, first, last)


@kernel
def add_up_magnitudes(
    derivatives: Derivatives, largest: IntArray, n_rows: int, work: Workspace
) -> None:
    """Add up |gradient| and hessian of this thread's chunk, in the unit of all rows.

    `largest` is of all rows, (2,), and `n_rows` is their number.
    """
    gradient, hessian = derivatives.gradient, derivatives.hessian
    team = work.team
    own = team.sums[team.thread]
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), len(gradient))
    gradient_unit = fixed_point_unit(largest[0], n_rows)
    hessian_unit = fixed_point_unit(largest[1], n_rows)
    own.total_gradient = sum_fixed_point(gradient, first, last, gradient_unit)
    own.total_hessian = sum_fixed_point(hessian, first, last, hessian_unit)


@kernel
def choose_scales(
    largest: IntArray, totals: IntArray, n_rows: int, layout: BitLayout
) -> tuple[ExactScales, Quantization]:
    """Return the scales of leaf values and of splits, as `grow_tree` chooses them.

    `largest` and `totals` are of all rows, (1, 2) or, if the derivatives of splits are
    not those of leaves, (2, 2).
    """
    of_leaves = magnitudes(largest[0], totals[0], n_rows)
    of_splits = magnitudes(largest[-1], totals[-1], n_rows)
    return exact_scales(of_leaves), choose_quantization(layout, of_splits)


@subkernel
def magnitudes(largest: IntArray, totals: IntArray, n_rows: int) -> Magnitudes:
    """Return the sums of |gradient| and hessian in units of the objective."""
    return Magnitudes(
        totals[0] / fixed_point_unit(largest[0], n_rows),
        totals[1] / fixed_point_unit(largest[1], n_rows),
    )


@kernel
def quantize_own_rows(
    derivatives: Derivatives,
    quantization: Quantization,
    tree_index: int,
    rows: NDArray[np.int32],
    numbers: RowNumbers,
    work: Workspace,
) -> None:
    """Quantize and pack this worker's gradients, and fill the root with its rows.

    Each thread takes a chunk of the runs of rows.
    """
    team, packed = work.team, work.buffers.packed_gradients
    own, n_runs = team.sums[team.thread], len(numbers.first)
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), n_runs)
    gradient_sum, hessian_sum = int64(0), int64(0)
    for run in range(first, last):
        start, stop = numbers.offsets[run], numbers.offsets[run + 1]
        # the rounding of a row depends on the sum of its number and this
        seed = tree_index + numbers.first[run] - start
        g, h = pack_gradients(derivatives, start, stop, quantization, seed, packed)
        gradient_sum += g
        hessian_sum += h
    own.gradient, own.hessian = gradient_sum, hessian_sum
    wait_at_barrier(team.barrier, team.n_threads)
    fill_root(rows, work.leaves[0], work.buffers, team)


@kernel
def grow_until_exchange(
    binned: BinnedData,
    gain_factors: NDArray[np.float64],
    quantization: Quantization,
    parameters: GrowthParameters,
    nodes: Records,
    state: GrowthState,
    work: Workspace,
) -> GrowthState:
    """Split leaves until the sum of the workers' histograms of a leaf is needed.

    `state` is the number of leaves, the last split's smaller and larger child, and
    whether the histogram of the smaller one is the sum.  All threads return the same.
    """
    team, leaves = work.team, work.leaves
    n_leaves, smaller, larger, is_sum = state
    rule = make_rule(parameters, quantization)
    mask = quantization.count_mask
    while n_leaves < parameters.max_leaf_nodes:
        if is_splittable(leaves, smaller, mask, parameters) or is_splittable(
            leaves, larger, mask, parameters
        ):
            if not is_sum:
                make_own_histograms(smaller, binned, work)
                return n_leaves, smaller, larger, True
            is_sum = False
            clear_candidates(work)
            block = next_used_block(binned.n_used_slots, work.next_block)
            while block < len(binned.n_bins):
                search_siblings(
                    block,
                    smaller,
                    larger,
                    binned,
                    quantization,
                    rule,
                    gain_factors,
                    work,
                )
                block = next_used_block(binned.n_used_slots, work.next_block)
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
        number = best_leaf(leaves, n_leaves)
        if leaves[number].gain <= 0.0:
            break
        smaller, larger = split_in_two(
            number, n_leaves, binned, quantization, rule, gain_factors, work, nodes
        )
        n_leaves += 1
        wait_at_barrier(team.barrier, team.n_threads)
    return n_leaves, smaller, larger, False


@subkernel
def make_own_histograms(number: int, binned: BinnedData, work: Workspace) -> None:
    """Make the histograms of a leaf from this worker's rows; threads share blocks."""
    leaf = work.leaves[number]
    rows = work.buffers.rows[leaf.buffer, leaf.start : leaf.stop]
    block = next_used_block(binned.n_used_slots, work.next_block)
    while block < len(binned.n_bins):
        histogram = work.histograms[leaf.histogram_index, block]
        clear_histogram(histogram, binned.n_bins[block])
        add_rows_to_histogram(
            binned.values[block],
            rows,
            work.buffers.leaf_gradients,
            histogram,
            binned.n_used_slots[block],
        )
        block = next_used_block(binned.n_used_slots, work.next_block)


@kernel
def add_up_leaves(
    derivatives: Derivatives, scales: ExactScales, sums: IntArray, work: Workspace
) -> None:
    """Write the sums over this worker's rows of each leaf, (n_leaves, 2)."""
    number = fetch_add(work.next_leaf)
    while number < len(sums):
        leaf = work.leaves[number]
        rows = work.buffers.rows[leaf.buffer]
        both = sum_derivatives(derivatives, rows, leaf.start, leaf.stop, scales)
        sums[number, 0], sums[number, 1] = both
        number = fetch_add(work.next_leaf)


@kernel
def set_leaf_values(
    nodes: Records,
    sums: IntArray,
    count_mask: int,
    scales: ExactScales,
    parameters: GrowthParameters,
    scores: NDArray[np.float64],
    work: Workspace,
) -> None:
    """Set the value of each leaf, and add it to the scores of this worker's rows."""
    number = fetch_add(work.next_leaf)
    while number < len(sums):
        leaf = work.leaves[number]
        node, both = nodes[leaf.node], (sums[number, 0], sums[number, 1])
        set_leaf_value(node, leaf.total & count_mask, both, scales, parameters)
        if len(parameters.constraints.monotonic) == 0:
            rows = work.buffers.rows[leaf.buffer]
            add_to_scores(node.value, rows, leaf.start, leaf.stop, scores)
        number = fetch_add(work.next_leaf)
