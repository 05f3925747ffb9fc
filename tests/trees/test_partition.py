"""The rows of a leaf that go left come before those that go right, in order."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._compile import INTERPRETED, ThreadTeam
from sklearn_ltr._trees import growing
from sklearn_ltr._trees.binning import MISSING_BIN
from sklearn_ltr._trees.growing import MIN_ROWS_FOR_THREADS, SplitCondition
from sklearn_ltr._trees.workspace import allocate_workspaces
from tests import from_python

partition = from_python(growing.partition)

N_BEFORE, N_AFTER = 5, 7  # rows of other leaves
N_THREADS = [1] if INTERPRETED else [1, 2, 3]
FEW = MIN_ROWS_FOR_THREADS
SIZES = [1, 2, 100] if INTERPRETED else [1, 2, 100, FEW, FEW + 1, 3 * FEW]


@pytest.mark.parametrize("n_threads", N_THREADS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("buffer", [0, 1])
@pytest.mark.parametrize("counts", [False, True])  # as one of several workers
def test_rows_move_as_a_list_would_be_split(n_threads, n, missing_left, buffer, counts):
    rng = np.random.default_rng(n)
    n_rows, threshold, slot, leaf = 2 * n, 3, 2, 1
    values = rng.integers(0, 6, (n_rows, 16)).astype(np.uint8)
    values[rng.uniform(size=values.shape) < 0.1] = MISSING_BIN
    workspaces = allocate_workspaces(n_threads, n_rows + N_BEFORE + N_AFTER, 1, 4)
    buffers = workspaces[0].buffers  # which the threads share
    buffers.rows[:], buffers.leaf_gradients[:] = -1, -1
    buffers.packed_gradients[:] = rng.integers(
        -(2**62), 2**62, len(buffers.packed_gradients)
    )
    rows = np.sort(rng.choice(n_rows, n, replace=False))
    own = slice(N_BEFORE, N_BEFORE + n)
    buffers.rows[buffer, own] = rows
    for work in workspaces:
        parent = work.leaves[leaf]
        parent.buffer, parent.start, parent.stop = buffer, own.start, own.stop
    left_bins = np.arange(256, dtype=np.uint8) <= threshold
    left_bins[MISSING_BIN] = missing_left
    condition = SplitCondition(values, slot, left_bins.astype(np.uint8))

    goes_left = {True: [], False: []}
    for row in rows.tolist():
        b = values[row, slot]
        left = missing_left if b == MISSING_BIN else b <= threshold
        goes_left[bool(left)].append(row)
    n_left = len(goes_left[True])

    def move(thread):
        work = workspaces[thread]
        given = -1 if counts else n_left
        is_smaller = 2 * n_left <= n
        found = partition(
            condition, work.leaves[leaf], given, is_smaller, work.team, buffers
        )
        assert found == n_left

    with ThreadTeam(n_threads) as team:
        team.run(move)

    moved = buffers.rows[1 - buffer]
    assert moved[own].tolist() == goes_left[True] + goes_left[False]
    smaller = min(goes_left[True], goes_left[False], key=len)
    np.testing.assert_array_equal(
        buffers.leaf_gradients[: len(smaller)], buffers.packed_gradients[smaller]
    )
    # the positions around belong to other leaves
    for around in (slice(0, own.start), slice(own.stop, None)):
        assert (moved[around] == -1).all()
