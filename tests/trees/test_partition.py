"""The rows of a leaf that go left come before those that go right, in order."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._compile import INTERPRETED, Team
from sklearn_ltr.learners.trees.binning import MISSING
from sklearn_ltr.learners.trees.partition import SMALL, partition
from sklearn_ltr.learners.trees.state import new_leaves, new_workspace

BEFORE, AFTER = 5, 7  # rows of other leaves
N_THREADS = [1] if INTERPRETED else [1, 2, 3]
SIZES = [1, 2, 100] if INTERPRETED else [1, 2, 100, SMALL, SMALL + 1, 3 * SMALL]


@pytest.mark.parametrize("n_threads", N_THREADS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("side", [0, 1])
def test_rows_and_words_move_as_a_list_would_be_split(n_threads, n, missing_left, side):
    rng = np.random.default_rng(n)
    n_rows, feature, threshold = 2 * n, 18, 3
    codes = rng.integers(0, 6, (2, n_rows, 16)).astype(np.uint8)
    codes[rng.uniform(size=codes.shape) < 0.1] = MISSING
    work = new_workspace(n_threads, BEFORE + n + AFTER, 2, 4)
    work.rows[:], work.words[:] = -1, -1
    rows = np.sort(rng.choice(n_rows, n, replace=False))
    words = rng.integers(-(2**62), 2**62, n)
    own = slice(BEFORE, BEFORE + n)
    work.rows[side, own], work.words[side, own] = rows, words
    leaves = new_leaves(4, 0, 0)
    leaves.start[1], leaves.stop[1], leaves.side[1] = own.start, own.stop, side
    leaves.feature[1], leaves.threshold[1] = feature, threshold
    leaves.missing_left[1] = missing_left

    goes_left = {True: [], False: []}
    for row, word in zip(rows.tolist(), words.tolist(), strict=True):
        code = codes[1, row, 2]
        left = missing_left if code == MISSING else code <= threshold
        goes_left[bool(left)].append((row, word))
    with Team(n_threads) as team:
        n_left = len(goes_left[True])
        team.run(partition, n_threads, codes, leaves, 1, n_left, work)

    to = 1 - side
    moved = zip(work.rows[to, own].tolist(), work.words[to, own].tolist(), strict=True)
    assert list(moved) == goes_left[True] + goes_left[False]
    # what lies around belongs to other leaves
    for around in (slice(0, own.start), slice(own.stop, None)):
        assert (work.rows[to, around] == -1).all()
        assert (work.words[to, around] == -1).all()
