"""Rows whose bins are known, which members of a bag and candidates share."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data.binned_columns import BinnedColumns
from sklearn_ltr._core.data.tables import table_of
from sklearn_ltr._core.trees.binning import BinMapper, KnownBins, find_bin_thresholds
from sklearn_ltr.ensemble._shared_bins import SharedBins


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_table_of_known_bins_gives_those_of_any_rows(n_threads):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    mapper = BinMapper([find_bin_thresholds(x.copy(), 9) for x in X.T])
    stored = rng.permutation(50)[:40]  # rows, in the order in which they are stored
    place = np.full(50, -1)
    place[stored] = np.arange(40)
    hashes = np.arange(40, dtype=np.uint64)
    with ThreadTeam(n_threads) as team:
        columns = BinnedColumns(mapper.bin_rows(X, stored, team))
        known = KnownBins(mapper, columns, hashes, place)
        table = SharedBins(X, {}, table_of(X), np.arange(50), known)
        assert (table.shape, table.size) == (X.shape, X.size)
        found = mapper.transform(table, stored, team)
        assert found.stored is columns  # not a copy
        rows = rng.choice(stored, 60)
        expected = mapper.bin_rows(X, rows, team)
        found = mapper.transform(table, rows, team)
        np.testing.assert_array_equal(found.stored.columns, expected)
        found = mapper.transform(table[rows], np.arange(60), team)
        np.testing.assert_array_equal(found.stored.columns, expected)
        np.testing.assert_array_equal(table[rows].take(np.arange(60)), X[rows])
        two_columns = table[rows].columns(np.arange(60))(1, 3)
        np.testing.assert_array_equal(two_columns, X[rows, 1:3])
        assert found.stored.columns.flags.c_contiguous
