"""The rows of a tree, before it is grown: measured, sampled and quantized.

The steps, of which all threads take each a chunk of the rows:

1. The largest ``|gradient|`` and hessian are found.
2. Both are added up, in a unit that follows from the largest.
3. With a sample: the importance of the rows is found (:mod:`sampling`),
4. the rows are sampled, and the largest of their derivatives found,
5. and these are added up.
6. The gradients are quantized (:mod:`quantization`), again if their sums are too large.

Each step writes sums over the rows, which the next one needs, of all threads and all
workers.  A single process takes all steps in one call of the kernel.  Of several
workers, each returns after each step, and is called again when the sums are known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import (
    LONG_TIME,
    ThreadTeam,
    int64,
    new_barrier,
    shared_kernel,
    subkernel,
    wait_at_barrier,
)
from sklearn_ltr._core.trees.growth.quantization import (
    Quantization,
    RowDerivatives,
    choose_quantization,
    chunk_bounds,
    exponent_above,
    find_largest,
    halve_scales,
    quantize,
    sum_magnitudes,
    sum_units,
)
from sklearn_ltr._core.trees.growth.sampling import (
    N_BUCKETS,
    RowSample,
    TreeSample,
    find_importance,
    find_mu,
    gather_rows,
    keep_rows,
)
from sklearn_ltr._core.trees.growth.workspace import (
    Record,
    Records,
    own_records,
    record_dtype,
)
from sklearn_ltr._core.typing import IntArray

(
    FIND_LARGEST,
    ADD_UP,
    FIND_IMPORTANCE,
    SAMPLE,
    ADD_UP_SAMPLE,
    QUANTIZE,
    PREPARED,
) = range(7)
N_SUMS = 3  # numbers that a step adds up, but for the counts of buckets

STATE = record_dtype(
    step=np.int64,
    has_sums=np.bool_,  # whether the step is taken, and its sums are to be read
    parity=np.int64,  # which of the two arrays of sums the step writes
    mu=np.float64,
    n_sampled=np.int64,  # rows of this worker
    # the quantization, and the packed sum over all workers
    gradient_scale=np.float64,
    hessian_scale=np.float64,
    hessian_bits=np.int64,
    count_bits=np.int64,
    total=np.int64,
)
MAGNITUDES = record_dtype(  # of the rows of all workers
    n_rows=np.int64,
    # of powers of two that no |gradient|, and no hessian, is above
    gradient_exponent=np.int64,
    hessian_exponent=np.int64,
    gradient=np.float64,  # sums of |gradient| and of hessians
    hessian=np.float64,
)


class Magnitudes(NamedTuple):
    """How large the derivatives of all rows of all workers are."""

    n_rows: int
    gradient: float  # sums of |gradient| and of hessians
    hessian: float


class PreparedRows(NamedTuple):
    """The rows that a tree is grown on; their gradients are packed."""

    rows: NDArray[np.int32] | None  # of a sample, ascending; None: all rows
    magnitudes: Magnitudes
    quantization: Quantization
    total: int  # packed sum over all workers


class PreparationRule(NamedTuple):
    """What is done with the rows of one tree."""

    begins: bool  # else there are sums over all workers to go on with
    exchanges: bool  # whether there are other workers
    samples: bool
    subsample: float  # expected fraction of the rows
    row_stream: Any
    tree_index: int
    second_order: bool


class PreparationWorkspace(NamedTuple):
    """Memory for preparing rows, reused from tree to tree."""

    barrier: IntArray
    sums: IntArray  # (2, n_threads, N_BUCKETS)
    counts: IntArray  # (n_threads, N_BUCKETS): a thread's own, of all threads
    # the same in all threads
    state: Records  # (n_threads, 1) STATE
    magnitudes: Records  # (n_threads, 2) MAGNITUDES, of all rows and of the sample
    importance: NDArray[np.float32]  # (n_rows,)
    kept: NDArray[np.int32]  # (n_rows,)
    sampled: RowSample
    packed_gradients: IntArray  # as in RowBuffers; OUT


class RowPreparer:
    """Prepares the rows of a worker for one tree after another.

    Parameters
    ----------
    row_numbers : ndarray of shape (n_rows,), uint32
        The number of each of this worker's rows among the rows of all workers.
    packed_gradients : ndarray of shape (n_rows,), int64
        As in `RowBuffers`: those of a tree replace those of the tree before.
    team : ThreadTeam
    comm : Comm
    """

    def __init__(
        self,
        row_numbers: NDArray[np.uint32],
        packed_gradients: IntArray,
        team: ThreadTeam,
        comm: Comm,
    ) -> None:
        self._row_numbers, self._team, self._comm = row_numbers, team, comm
        n_rows, n_threads = len(row_numbers), team.n_threads
        # the system gives memory to a page when it is first written, so that a sample
        # takes memory for its own rows only
        self._work = PreparationWorkspace(
            barrier=new_barrier(),
            sums=np.zeros((2, n_threads, N_BUCKETS), dtype=np.int64),
            counts=np.zeros((n_threads, N_BUCKETS), dtype=np.int64),
            state=own_records(n_threads, 1, STATE),
            magnitudes=own_records(n_threads, 2, MAGNITUDES),
            importance=np.empty(n_rows, dtype=np.float32),
            kept=np.empty(n_rows, dtype=np.int32),
            sampled=RowSample(
                np.empty(n_rows, dtype=np.int32),
                np.empty(n_rows, dtype=np.uint32),
                RowDerivatives(np.empty(n_rows), np.empty(n_rows)),
            ),
            packed_gradients=packed_gradients,
        )

    def prepare(
        self, derivatives: RowDerivatives, drawn: TreeSample, second_order: bool
    ) -> PreparedRows:
        """Measure, sample and quantize the rows; all workers call this together."""
        # the sample is overwritten by the next one
        exchanges, samples = self._comm.n_workers > 1, drawn.subsample < 1.0
        of_rows = drawn.subsample, drawn.row_stream, drawn.tree_index
        rule = PreparationRule(True, exchanges, samples, *of_rows, second_order)
        per_row = 5.3 + 2.8 * drawn.subsample if samples else 2.8
        time = LONG_TIME if exchanges else per_row * len(self._row_numbers)
        given = derivatives, self._row_numbers, self._work
        self._team.share(time, prepare_rows, rule, *given)
        state = self._work.state[0]
        while state["step"][0] < PREPARED:
            self._add_up(state[0])
            self._team.share(time, prepare_rows, rule._replace(begins=False), *given)
        # all fields at once, and of arrays, not of records, which is faster
        *_, n_sampled, g_scale, h_scale, h_bits, count_bits, total = state.item(0)
        n_rows, _, _, gradient, hessian = self._work.magnitudes[0].item(0)
        masks = (1 << h_bits) - 1, (1 << count_bits) - 1
        return PreparedRows(
            self._work.sampled.rows[:n_sampled] if samples else None,
            Magnitudes(n_rows, gradient, hessian),
            Quantization(g_scale, h_scale, h_bits, masks[0], count_bits, masks[1]),
            total,
        )

    def _add_up(self, state: Record) -> None:
        """Replace the sums of a step by those over all workers."""
        comm, step = self._comm, int(state.step)
        sums = self._work.sums[int(state.parity)]
        if step in (FIND_LARGEST, SAMPLE):
            # Each worker fills the row of its rank and leaves the others 0; so the sum
            # over all workers has the numbers of each.
            by_rank = np.zeros((comm.n_workers, N_SUMS), dtype=np.int64)
            by_rank[comm.rank, :2] = sums[:, :2].max(axis=0)
            by_rank[comm.rank, 2] = sums[:, 2].sum()
            by_rank = comm.sum(by_rank)
            found = np.append(by_rank[:, :2].max(axis=0), by_rank[:, 2].sum())
        else:
            n_sums = N_BUCKETS if step == FIND_IMPORTANCE else N_SUMS
            found = comm.sum(sums[:, :n_sums].sum(axis=0))
        sums[:] = 0
        sums[0, : len(found)] = found


@shared_kernel
def prepare_rows(
    thread: int,
    n_threads: int,
    rule: PreparationRule,
    derivatives: RowDerivatives,
    row_numbers: NDArray[np.uint32],
    work: PreparationWorkspace,
) -> None:
    """Take all steps, or one if there are other workers."""
    state, magnitudes = work.state[thread, 0], work.magnitudes[thread]
    if rule.begins:
        state.step, state.has_sums, state.parity = FIND_LARGEST, False, 0
    while state.step < PREPARED:
        # Two arrays of sums, by turns: a thread may take the next step while another
        # one still reads the sums of this one.
        sums = work.sums[state.parity]
        if not state.has_sums:
            take_step(thread, n_threads, state, rule, derivatives, row_numbers, work)
            state.has_sums = True
            wait_at_barrier(work.barrier, n_threads)
            if rule.exchanges:
                return
        counts = work.counts[thread]
        state.step = read_sums(n_threads, sums, rule, counts, state, magnitudes)
        state.has_sums, state.parity = False, 1 - state.parity


@subkernel
def take_step(
    thread: int,
    n_threads: int,
    state: Record,
    rule: PreparationRule,
    derivatives: RowDerivatives,
    row_numbers: NDArray[np.uint32],
    work: PreparationWorkspace,
) -> None:
    """Do a thread's part of a step, and write its sums."""
    step, sums, sampled = state.step, work.sums[state.parity], work.sampled
    own, of_rows = sums[thread], work.magnitudes[thread, 0]
    n_rows, magnitudes = int64(len(row_numbers)), of_rows
    if step > SAMPLE and rule.samples:  # of the sample from here on
        derivatives, row_numbers = sampled.derivatives, sampled.row_numbers
        n_rows, magnitudes = int64(state.n_sampled), work.magnitudes[thread, 1]
    first, last = chunk_bounds(thread, n_threads, int64(0), n_rows)
    if step == FIND_LARGEST:
        find_largest(derivatives, first, last, own)
    elif step == ADD_UP or step == ADD_UP_SAMPLE:
        sum_magnitudes(derivatives, magnitudes, first, last, own)
    elif step == FIND_IMPORTANCE:
        find_importance(derivatives, of_rows, first, last, work.importance, own)
    elif step == SAMPLE:
        mu, importance = state.mu, work.importance
        stream, kept = rule.row_stream, work.kept
        own[2] = keep_rows(stream, row_numbers, mu, importance, first, last, kept)
        wait_at_barrier(work.barrier, n_threads)
        start, state.n_sampled = int64(0), 0
        for other in range(n_threads):
            start += sums[other, 2] if other < thread else 0
            state.n_sampled += sums[other, 2]
        stop = start + own[2]
        gather_rows(
            kept,
            first,
            row_numbers,
            derivatives,
            mu,
            importance,
            rule.second_order,
            start,
            stop,
            sampled,
        )
        find_largest(sampled.derivatives, start, stop, own)
    else:
        index, packed = rule.tree_index, work.packed_gradients
        quantize(derivatives, row_numbers, index, state, first, last, packed, own)


@subkernel
def read_sums(
    n_threads: int,
    sums: IntArray,
    rule: PreparationRule,
    counts: IntArray,
    state: Record,
    magnitudes: Records,
) -> int:
    """Read the sums of a step over all rows; return the next step."""
    step = int64(state.step)
    if step == FIND_IMPORTANCE:
        for bucket in range(N_BUCKETS):
            counts[bucket] = sums[0, bucket]
        for thread in range(1, n_threads):
            for bucket in range(N_BUCKETS):
                counts[bucket] += sums[thread, bucket]
        n_wanted = max(1.0, rule.subsample * float(magnitudes[0].n_rows))
        state.mu = find_mu(counts, n_wanted)
        return int64(SAMPLE)
    a, b, c = sums[0, 0], sums[0, 1], sums[0, 2]
    takes_largest = step == FIND_LARGEST or step == SAMPLE
    for thread in range(1, n_threads):
        other_a, other_b = sums[thread, 0], sums[thread, 1]
        a = max(a, other_a) if takes_largest else a + other_a
        b = max(b, other_b) if takes_largest else b + other_b
        c += sums[thread, 2]
    of_rows = magnitudes[0 if step < SAMPLE else 1]
    if takes_largest:
        of_rows.n_rows = c
        of_rows.gradient_exponent = exponent_above(a)
        of_rows.hessian_exponent = exponent_above(b)
        return step + 1
    if step == QUANTIZE:
        state.total = c
        return int64(QUANTIZE if halve_scales(a, b, state) else PREPARED)
    g_unit, h_unit = sum_units(of_rows)
    of_rows.gradient, of_rows.hessian = float(a) / g_unit, float(b) / h_unit
    if step == ADD_UP and rule.samples:
        return int64(FIND_IMPORTANCE)
    # on a sample, least squares adds up 1 / p in place of hessians
    choose_quantization(of_rows, rule.samples or rule.second_order, state)
    return int64(QUANTIZE)
