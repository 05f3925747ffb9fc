"""The rows of a leaf that go left come before those that go right, in order."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._compile import INTERPRETED, ThreadTeam
from sklearn_ltr.learners._trees import partition as kernels
from sklearn_ltr.learners._trees import state
from sklearn_ltr.learners._trees.binning import MISSING, empty_table
from sklearn_ltr.learners._trees.partition import SMALL
from sklearn_ltr.learners._trees.workspace import new_workspace
from tests import from_python

partition = from_python(kernels.partition)
new_leaves = from_python(state.new_leaves)

BEFORE, AFTER = 5, 7  # rows of other leaves
N_THREADS = [1] if INTERPRETED else [1, 2, 3]
SIZES = [1, 2, 100] if INTERPRETED else [1, 2, 100, SMALL, SMALL + 1, 3 * SMALL]


@pytest.mark.parametrize("n_threads", N_THREADS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("side", [0, 1])
def test_rows_move_as_a_list_would_be_split(n_threads, n, missing_left, side):
    rng = np.random.default_rng(n)
    n_rows, threshold = 2 * n, 3
    table = empty_table(n_rows, np.full(20, 6), n_threads)
    codes = table.codes
    codes[:] = rng.integers(0, 6, codes.shape)
    codes[rng.uniform(size=codes.shape) < 0.1] = MISSING
    feature = 18
    work = new_workspace(n_threads, n_rows + BEFORE + AFTER, 2, 4)
    work.rows[:], work.leaf_words[:] = -1, -1
    work.words[:] = rng.integers(-(2**62), 2**62, len(work.words))
    rows = np.sort(rng.choice(n_rows, n, replace=False))
    own = slice(BEFORE, BEFORE + n)
    work.rows[side, own] = rows
    leaves = new_leaves(4, 0, 0)
    leaves.start[1], leaves.stop[1], leaves.side[1] = own.start, own.stop, side
    leaves.feature[1], leaves.threshold[1] = feature, threshold
    leaves.missing_left[1] = missing_left

    goes_left = {True: [], False: []}
    for row in rows.tolist():
        code = codes[table.block[feature], row, table.place[feature]]
        left = missing_left if code == MISSING else code <= threshold
        goes_left[bool(left)].append(row)
    with ThreadTeam(n_threads) as team:
        n_left = len(goes_left[True])
        team.run(partition, n_threads, table, leaves, 1, n_left, work)

    to = 1 - side
    assert work.rows[to, own].tolist() == goes_left[True] + goes_left[False]
    small = min(goes_left[True], goes_left[False], key=len)
    np.testing.assert_array_equal(work.leaf_words[: len(small)], work.words[small])
    # what lies around belongs to other leaves
    for around in (slice(0, own.start), slice(own.stop, None)):
        assert (work.rows[to, around] == -1).all()
