"""Bins: where their thresholds lie, and which bin a value falls into."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csc_matrix, csr_matrix, issparse

from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import INTERPRETED, ThreadTeam
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.data.tables import hash_values, table_of
from sklearn_ltr._core.trees import binning
from sklearn_ltr._core.trees.binning import (
    MISSING_BIN,
    BinMapper,
    find_bin_thresholds,
    find_sparse_thresholds,
    hash_bins,
    sample_rows,
)
from tests.strategies import sparse_columns
from tests.trees import ONE_THREAD, bin_table, binned_values

NAN = float("nan")
FLOATS = st.floats(allow_nan=True, allow_infinity=False, width=64)
COLUMNS = hnp.arrays(np.float64, st.integers(1, 40), elements=FLOATS)


def bins_by_counting(values, thresholds) -> list[int]:
    """The number of thresholds below a value; 255 for NaN."""
    return [
        MISSING_BIN if np.isnan(x) else sum(float(x) > t for t in thresholds)
        for x in values
    ]


def one_feature(values) -> np.ndarray:
    return np.asarray(values)[:, None]


# --- thresholds -------------------------------------------------------------------


def thresholds_of(values, max_bins):
    """The thresholds of values, which stay in their order."""
    return find_bin_thresholds(values.copy(), max_bins)


@given(values=COLUMNS, max_bins=st.sampled_from([2, 3, 4, 5, 6, 255]))
def test_no_bin_is_empty_and_few_distinct_values_have_a_bin_each(values, max_bins):
    thresholds = thresholds_of(values, max_bins)
    present = values[~np.isnan(values)]
    distinct = np.unique(present)  # -0.0 equals 0.0
    assert len(thresholds) + 1 <= max_bins
    assert np.isfinite(thresholds).all()
    assert (np.diff(thresholds) > 0).all()
    if len(distinct) > 0:
        filled = np.searchsorted(thresholds, present)
        assert set(filled) == set(range(len(thresholds) + 1))
    if len(distinct) <= max_bins:
        neighbours = zip(distinct[:-1], thresholds, distinct[1:], strict=True)
        assert all(below <= t < above for below, t, above in neighbours)


def thresholds_by_scanning(values, max_bins) -> list[float]:
    """Midpoints before each new value, or before the first at or after a quantile."""
    values = sorted(float(x) for x in values if not np.isnan(x))
    starts = [i for i in range(1, len(values)) if values[i] != values[i - 1]]
    if len(starts) >= max_bins:
        quantiles = [k * len(values) / max_bins for k in range(1, max_bins)]
        later = [[i for i in starts if i >= quantile] for quantile in quantiles]
        starts = sorted({few[0] for few in later if few})
    return [values[i - 1] / 2 + values[i] / 2 for i in starts]


@given(
    values=hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        st.integers(1, 60),
        elements=st.one_of(st.integers(-9, 9).map(float), st.just(NAN)),
    ),
    max_bins=st.sampled_from([*range(2, 13), 254, 255]),
)
def test_thresholds_lie_before_the_first_new_value_at_or_after_a_quantile(
    values, max_bins
):
    assert thresholds_of(values, max_bins).tolist() == thresholds_by_scanning(
        values, max_bins
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("x", [1.0, -1.0, 3e-39, 1e30, 0.0])
def test_neighbouring_values_are_kept_apart(dtype, x):
    below = dtype(x)
    above = np.nextafter(below, dtype(np.inf))
    values = np.array([above, below, above], dtype=dtype)
    (threshold,) = thresholds_of(values, 255)
    assert below <= threshold < above
    _, binned = bin_table(one_feature(values))
    assert binned_values(binned)[:, 0].tolist() == [1, 0, 1]


def test_the_largest_values_have_finite_thresholds():
    largest = np.finfo(np.float64).max
    values = np.array([-largest, largest, NAN, -largest])
    thresholds = thresholds_of(values, 255)
    assert np.isfinite(thresholds).all()
    assert bins_by_counting(values, thresholds) == [0, 1, MISSING_BIN, 0]


# --- binned values ----------------------------------------------------------------


@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 30), st.integers(1, 3)),
        elements=st.one_of(st.floats(-5, 5).map(lambda x: round(x, 1)), FLOATS),
    ),
    max_bins=st.sampled_from([2, 3, 5, 17, 255]),
)
def test_a_bin_is_the_number_of_thresholds_below_a_value(X, max_bins):
    mapper, binned = bin_table(X, max_bins)
    for j, thresholds in enumerate(mapper.bin_thresholds):
        expected = bins_by_counting(X[:, j], thresholds)
        assert binned_values(binned)[:, j].tolist() == expected


@pytest.mark.parametrize("n_thresholds", [0, 1, 2, 3, 7, 8, 9, 127, 128, 129, 253, 254])
def test_every_number_of_thresholds_is_searched_to_both_ends(n_thresholds):
    thresholds = np.arange(n_thresholds, dtype=np.float64)
    mapper = BinMapper([thresholds])
    values = np.concatenate(
        [thresholds - 0.5, thresholds, thresholds + 0.5, [-1e300, 1e300, np.nan]]
    )
    table, rows = table_of(one_feature(values)), np.arange(len(values))
    binned = mapper.transform(table, rows, ONE_THREAD)
    expected = np.searchsorted(thresholds, values[:-1], side="left").tolist() + [
        MISSING_BIN
    ]
    assert binned_values(binned)[:, 0].tolist() == expected


LAYOUTS = {
    "C": lambda X: X.copy(),
    "Fortran": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "half of the columns": lambda X: np.hstack([X, X])[:, : X.shape[1]],
    "rows backwards": lambda X: X[::-1].copy()[::-1],
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "CSR": csr_matrix,
}


def test_every_layout_has_the_same_bins_and_is_compiled_once_for_each_dtype():
    rng = np.random.default_rng(2)
    for n_features in (1, 15, 16, 17, 33):
        values = rng.normal(size=(40, n_features)).round(1)
        values[rng.uniform(size=values.shape) < 0.1] = np.nan
        for dtype, layout, writeable in product(
            (np.float32, np.float64), LAYOUTS.values(), (True, False)
        ):
            X, rows = values.astype(dtype), rng.permutation(40)[:30]
            table, rows.flags.writeable = layout(X), writeable
            if not issparse(table):
                table.flags.writeable = writeable
            mapper, _ = bin_table(table)
            binned = mapper.transform(table_of(table), rows, ONE_THREAD)
            assert rows.flags.writeable == writeable
            for j, bins in enumerate(binned_values(binned).T):
                expected = bins_by_counting(X[rows, j], mapper.bin_thresholds[j])
                np.testing.assert_array_equal(bins, expected)
    assert INTERPRETED or len(binning.write_bins.signatures) <= 2


def test_only_the_rows_asked_for_count_and_in_the_order_asked_for():
    X = one_feature([5.0, 1.0, 3.0, 1e9, np.nan, 2.0])
    rows = np.array([5, 0, 2], dtype=np.intp)
    mapper, _ = bin_table(X, rows=rows)
    np.testing.assert_array_equal(mapper.bin_thresholds[0], [2.5, 4.0])
    rows = np.array([4, 3, 0, 0, 1], dtype=np.intp)
    binned = mapper.transform(table_of(X), rows, ONE_THREAD)
    assert binned_values(binned)[:, 0].tolist() == [MISSING_BIN, 2, 2, 2, 0]


@pytest.mark.parametrize("n_threads", [2, 4])
def test_the_number_of_threads_does_not_matter(n_threads):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300 if INTERPRETED else 20_000, 20))
    one, binned = bin_table(X)
    with ThreadTeam(n_threads) as team:
        many, same = bin_table(X, team=team)
    np.testing.assert_array_equal(binned_values(binned), binned_values(same))
    for thresholds, others in zip(one.bin_thresholds, many.bin_thresholds, strict=True):
        np.testing.assert_array_equal(thresholds, others)


def test_the_seed_decides_which_sample_of_a_long_table_is_drawn(monkeypatch):
    monkeypatch.setattr(binning, "MAX_SAMPLE_ROWS", 200)
    X, y = np.random.default_rng(5).normal(size=(300, 2)), np.zeros(300)
    every, offsets = np.arange(300), np.arange(301)
    data = TrainingData(LabelGrades.of_one(y), offsets, None, X=table_of(X), rows=every)
    index = QueryIndex.locate(data, ONE_PROCESS)
    drawn = [sample_rows(data, index, seed, ONE_THREAD).tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == 200
    # by content: in another order of the rows, the same ones
    order = np.random.default_rng(6).permutation(300)
    other = replace(data, X=table_of(X[order]))
    rows = sample_rows(other, QueryIndex.locate(other, ONE_PROCESS), 1, ONE_THREAD)
    assert order[rows].tolist() == drawn[0]
    monkeypatch.setattr(binning, "MAX_SAMPLE_ROWS", 300)
    assert sample_rows(data, index, 1, ONE_THREAD).tolist() == every.tolist()


# --- sparse tables ----------------------------------------------------------------


SPARSE_VALUES = st.one_of(
    st.just(0.0), st.just(0.0), st.just(-0.0), st.just(NAN),
    st.integers(-3, 3).map(float), st.floats(-9, 9, width=32),
)  # fmt: skip


@st.composite
def sparse_tables(draw):
    """A table with columns of every kind; the same with some zeros stored, as CSR."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    shape = draw(st.tuples(st.integers(1, 40), st.integers(1, 4)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    few = draw(hnp.arrays(dtype, shape, elements=SPARSE_VALUES))
    X = np.column_stack([few, sparse_columns(rng, shape[0])]).astype(dtype)
    row, column = np.nonzero((X != 0) | (rng.uniform(size=X.shape) < 0.1))
    return X, csr_matrix((X[row, column], (row, column)), shape=X.shape), rng


@given(sparse_tables(), st.sampled_from([*range(2, 13), 254, 255]))
def test_thresholds_of_a_sparse_table_are_those_of_each_dense_column(tables, max_bins):
    X, table, rng = tables
    given_values = table.data.copy()
    rows = rng.integers(0, len(X), len(X))  # some more than once
    for chosen in (np.arange(len(X)), rows):
        nonzeros = table_of(table).by_column(chosen)
        found = find_sparse_thresholds(nonzeros, max_bins, ONE_THREAD)
        for thresholds, values in zip(found, X[chosen].T, strict=True):
            expected = find_bin_thresholds(values.copy(), max_bins)
            assert thresholds.dtype == np.float64
            assert thresholds.tolist() == expected.tolist()
    np.testing.assert_array_equal(table.data, given_values)  # not sorted


def test_thresholds_of_many_distinct_values_around_zero():
    rng = np.random.default_rng(0)
    for share in (0.02, 0.5, 1.0):
        X = rng.normal(size=(5000, 3)) + [0, 2, -2]
        X[rng.uniform(size=X.shape) >= share] = 0.0
        for dtype, max_bins in product((np.float32, np.float64), (2, 7, 255)):
            values = X.astype(dtype)
            found = find_sparse_thresholds(csc_matrix(values), max_bins, ONE_THREAD)
            for thresholds, column in zip(found, values.T, strict=True):
                expected = find_bin_thresholds(column.copy(), max_bins)
                assert thresholds.tolist() == expected.tolist()


@given(sparse_tables(), st.sampled_from([2, 3, 5, 255]))
def test_bins_and_hashes_of_a_sparse_table_are_those_of_the_dense_one(tables, max_bins):
    X, table, rng = tables
    rows = rng.integers(0, len(X), rng.integers(0, 60))
    dense_mapper, _ = bin_table(X, max_bins)
    mapper, _ = bin_table(table, max_bins)
    dense = dense_mapper.transform(table_of(X), rows, ONE_THREAD)
    found = mapper.transform(table_of(table), rows, ONE_THREAD)
    every = np.arange(X.shape[1])
    assert found.stored.n_rows == len(rows)
    np.testing.assert_array_equal(found.stored.columns_of(every), dense.stored.columns)
    np.testing.assert_array_equal(found.n_bins, dense.n_bins)
    np.testing.assert_array_equal(
        hash_bins(found, ONE_THREAD), hash_bins(dense, ONE_THREAD)
    )
    np.testing.assert_array_equal(
        hash_values(table, rows, ONE_THREAD), hash_values(X, rows, ONE_THREAD)
    )


def test_only_sparse_columns_are_stored_by_entries():
    X = sparse_columns(np.random.default_rng(1), 400)
    _, binned = bin_table(csr_matrix(X))
    expected = np.flatnonzero((X != 0).sum(axis=0) <= 400 // 16).tolist()
    assert binned.stored.sparse.feature.tolist() == expected
    assert len(expected) > 5
    _, binned = bin_table(X)  # whatever it holds, a dense table has none
    assert binned.stored.sparse is None


@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_are_read_without_a_copy_of_the_table(order):
    X = np.asarray(np.random.default_rng(0).normal(size=(5000, 64)), order=order)
    rows = np.arange(0, 5000, 2)
    expected = X[rows, 16:32]
    table_of(X).columns(rows)(16, 32)  # compiles
    tracemalloc.start()
    values = table_of(X).columns(rows)(16, 32)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(values, expected)
    assert peak < X.nbytes / 2
