"""Blocks of 16 features: where features are, and the rows of a sample in them."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._core.compile import INTERPRETED, ThreadTeam
from sklearn_ltr._core.data.binned_columns import BinnedColumns
from sklearn_ltr._core.trees.binning import BinnedData
from sklearn_ltr._core.trees.growth.blocks import (
    FEATURE_BLOCK,
    allocate_blocks,
    pack_rows,
    restrict_features,
)


def binned_of(n_bins, n_rows=3) -> BinnedData:
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 256, (len(n_bins), n_rows)).astype(np.uint8)
    return BinnedData(BinnedColumns(columns), n_bins, np.zeros_like(n_bins))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_features", [1, 2, 15, 16, 17, 33, 46, 136])
def test_blocks_are_full_but_for_the_last_and_hold_the_rows(n_features, n_threads):
    n_bins = np.random.default_rng(2).integers(1, 256, n_features)
    binned = binned_of(n_bins, n_rows=1000)
    blocks = allocate_blocks(binned)
    places = divmod(blocks.place, FEATURE_BLOCK)
    np.testing.assert_array_equal(blocks.feature[places], np.arange(n_features))
    used = blocks.feature >= 0
    assert np.count_nonzero(used) == n_features
    np.testing.assert_array_equal(used.sum(axis=1), blocks.n_used_slots)
    for features, most_bins in zip(blocks.feature, blocks.n_bins, strict=True):
        assert n_bins[features[features >= 0]].max() == most_bins
    assert (np.diff(blocks.n_bins) <= 0).all()
    assert (blocks.n_used_slots[:-1] == FEATURE_BLOCK).all()

    rows = np.flatnonzero(np.random.default_rng(3).random(1000) < 0.6).astype(np.int32)
    with ThreadTeam(1 if INTERPRETED else n_threads) as team:
        pack_rows(blocks, binned.stored.columns, rows, team)
    packed = blocks.values[places[0], :, places[1]]
    np.testing.assert_array_equal(
        packed[:, : len(rows)], binned.stored.columns[:, rows]
    )


def test_restricted_features_keep_their_slots_and_empty_blocks_are_skipped():
    blocks = allocate_blocks(binned_of(np.arange(50, 10, -1)))  # in order of bins
    few = restrict_features(blocks, np.array([0, 15, 39]))
    assert few.n_used_slots.tolist() == [16, 0, 8]
    assert few.feature[0].tolist() == [0, *[-1] * 14, 15]
    assert (few.feature[1] == -1).all()
    assert few.feature[2].tolist() == [*[-1] * 7, 39, *[-1] * 8]
    assert few.values is blocks.values
