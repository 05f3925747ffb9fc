"""Columns of entries are read, taken and moved as columns of bytes are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data.binned_columns import (
    BIN_BITS,
    COLUMN_SHIFT,
    MOST_COLUMNS,
    ROW_BITS,
    ROWS_PER_ENTRY,
    BinnedColumns,
    SparseColumns,
    sort_entries,
    stored_by_entries,
)
from sklearn_ltr._core.trees.binning import MISSING_BIN


def stored(bins, default_bin) -> BinnedColumns:
    """Store a plain table of bins, (n_rows, n_columns)."""
    differs = bins != default_bin
    by_entries = stored_by_entries(differs.sum(axis=0), len(bins))
    columns = np.ascontiguousarray(bins[:, ~by_entries].T)
    feature = np.flatnonzero(by_entries)
    if len(feature) == 0:
        return BinnedColumns(columns)
    row, column = np.nonzero(differs[:, feature])
    entries = sort_entries(column, bins[:, feature][row, column], row)
    default_bin = default_bin[feature]
    return BinnedColumns(
        columns, SparseColumns(feature, default_bin, entries, len(bins))
    )


def plain(columns: BinnedColumns) -> np.ndarray:
    """All bins as a plain table, (n_rows, n_columns)."""
    n_columns = len(columns.columns)
    if columns.sparse is not None:
        n_columns += len(columns.sparse.feature)
    return columns.columns_of(np.arange(n_columns)).T


@st.composite
def tables(draw):
    """Bins of 0, 1, 2, 254 and 255, the default bin of each column, and a generator."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n_rows, n_columns = rng.integers(1, 100), rng.integers(1, 12)
    default_bin = rng.choice([0, 1, 254], n_columns).astype(np.uint8)
    differs = rng.uniform(size=(n_rows, n_columns)) < rng.choice(
        [0.0, 0.03, 0.06, 0.5], n_columns
    )
    others = rng.choice([0, 1, 2, 254, 255], differs.shape).astype(np.uint8)
    return np.where(differs, others, default_bin), default_bin, rng


# --- which form a column takes --------------------------------------------------------


@pytest.mark.parametrize("n_rows", [ROWS_PER_ENTRY, 100, 160])
def test_at_most_one_row_in_16_of_a_sparse_column_has_an_entry(n_rows):
    most = n_rows // ROWS_PER_ENTRY
    bins = np.zeros((n_rows, 4), dtype=np.uint8)
    for column, n_entries in enumerate([most, most + 1, 0, n_rows]):
        bins[:n_entries, column] = 3
    found = stored(bins, np.zeros(4, dtype=np.uint8))
    assert found.sparse.feature.tolist() == [0, 2]
    assert found.columns.tolist() == bins[:, [1, 3]].T.tolist()
    np.testing.assert_array_equal(plain(found), bins)


@pytest.mark.parametrize("n_entries", [[0], [0, 0, 0], [1, 3, 2], [4, 4]])
def test_one_column_is_of_bytes_that_with_the_most_entries(n_entries):
    bins = np.full((100, len(n_entries)), 7, dtype=np.uint8)
    for column, n in enumerate(n_entries):
        bins[-n or 100 :, column] = 255
    found = stored(bins, np.full(len(n_entries), 7, dtype=np.uint8))
    (column,) = found.columns
    assert column.tolist() == bins[:, np.argmax(n_entries)].tolist()
    np.testing.assert_array_equal(plain(found), bins)


def test_columns_beyond_the_numbers_of_entries_are_refused():
    with pytest.raises(ValueError, match=r"16,777,217 columns, .* at most 16,777,216"):
        stored_by_entries(np.zeros(MOST_COLUMNS + 1, dtype=np.int32), 1)


def test_every_entry_is_a_number_of_63_bits():
    last_bin, last_row = (1 << BIN_BITS) - 1, (1 << ROW_BITS) - 1
    last = (MOST_COLUMNS - 1 << COLUMN_SHIFT) + (last_bin << ROW_BITS) + last_row
    assert last == 2**63 - 1
    assert MISSING_BIN == last_bin


# --- what is read and moved -----------------------------------------------------------


@given(tables())
def test_stored_bins_are_those_given(table):
    bins, default_bin, rng = table
    found = stored(bins, default_bin)
    assert found.n_rows == len(bins)
    np.testing.assert_array_equal(plain(found), bins)
    some = rng.integers(0, bins.shape[1], 5)  # in any order, also twice
    np.testing.assert_array_equal(found.columns_of(some), bins[:, some].T)


@given(tables())
def test_each_feature_is_found_in_its_place(table):
    bins, default_bin, _ = table
    found = stored(bins, default_bin)
    features = np.arange(bins.shape[1])
    places = found.places(features)
    sparse = [] if found.sparse is None else found.sparse.feature.tolist()
    dense = np.setdiff1d(features, sparse).tolist()
    expected = [
        -1 - sparse.index(j) if j in sparse else dense.index(j) for j in features
    ]
    assert places.tolist() == expected
    np.testing.assert_array_equal(found.places(features[::-1]), places[::-1])


@given(tables())
def test_entries_of_a_column_begin_where_its_start_is(table):
    found = stored(*table[:2]).sparse
    if found is not None:
        column = found.entries >> COLUMN_SHIFT
        sizes = np.bincount(column, minlength=len(found.feature))
        assert found.starts.tolist() == [0, *np.cumsum(sizes)]


@pytest.mark.parametrize("n_threads", [1, 3])
@given(tables())
def test_rows_are_taken_more_than_once_and_in_any_order(n_threads, table):
    bins, default_bin, rng = table
    found, n_rows = stored(bins, default_bin), len(bins)
    every = np.arange(n_rows)
    rows = [every, every[::-1], rng.permutation(n_rows)[: n_rows // 2], every[:0]]
    rows += [rng.integers(0, n_rows, 2 * n_rows)]
    with ThreadTeam(n_threads) as team:
        for chosen in rows:
            taken = found.take(chosen, team)
            assert taken.n_rows == len(chosen)
            np.testing.assert_array_equal(plain(taken), bins[chosen])
            if taken.sparse is not None:
                assert taken.sparse.n_rows == len(chosen)
                assert (np.diff(taken.sparse.entries) > 0).all()
        assert found.take(every, team) is found
    np.testing.assert_array_equal(plain(found), bins)  # as before


@pytest.mark.parametrize("n_threads", [1, 3])
@given(tables())
def test_rows_are_reordered_in_place(n_threads, table):
    bins, default_bin, rng = table
    found, order = stored(bins, default_bin), rng.permutation(len(bins))
    with ThreadTeam(n_threads) as team:
        found.reorder(order, team)
    np.testing.assert_array_equal(plain(found), bins[order])
    if found.sparse is not None:
        assert (np.diff(found.sparse.entries) > 0).all()
