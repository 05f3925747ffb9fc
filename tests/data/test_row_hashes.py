"""Hashes of rows: equal for equal content, else different."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import training_data
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.data.tables import table_of
from sklearn_ltr._core.trees.binning import NO_CATEGORY_BINS, fit_bins, hash_bins

N_ROWS = 5000
RNG = np.random.default_rng(0)
# small integers, of which only few bits differ
X = RNG.integers(-3, 4, (N_ROWS, 4)).astype(np.float64)
X[RNG.uniform(size=X.shape) < 0.1] = np.nan
ALL = np.arange(N_ROWS)


def hashes_of(X, rows=ALL, n_threads=1):
    with ThreadTeam(n_threads) as team:
        return table_of(X).hashes(rows, team)


def bin_hashes(X, n_threads=1, max_bins=255):
    with ThreadTeam(n_threads) as team:
        table = table_of(X)
        mapper = fit_bins(table, ALL, max_bins, NO_CATEGORY_BINS, ONE_PROCESS, team)
        return hash_bins(mapper.transform(table, ALL, team), team)


@pytest.mark.parametrize("hash_rows", [hashes_of, bin_hashes])
def test_rows_have_equal_hashes_exactly_if_they_are_equal(hash_rows):
    filled = np.where(np.isnan(X), 9.0, X)
    _, content = np.unique(filled, axis=0, return_inverse=True)
    hashes = hash_rows(X)
    n_distinct = len(np.unique(content))
    assert n_distinct < N_ROWS  # some rows are equal
    assert len(np.unique(hashes)) == n_distinct
    assert len(np.unique(np.column_stack((content, hashes)), axis=0)) == n_distinct


def test_values_that_compare_equal_have_equal_hashes():
    expected = hashes_of(X)
    minus_zero = np.where(X == 0, -0.0, X)
    other_nan = X.copy()
    other_nan[np.isnan(X)] = np.float64(np.nan) * -1
    zeros = np.nan_to_num(X)
    for same in (X.astype(np.float32), np.asfortranarray(X), minus_zero, other_nan):
        np.testing.assert_array_equal(hashes_of(same), expected)
    np.testing.assert_array_equal(hashes_of(csr_matrix(zeros)), hashes_of(zeros))


def test_hashes_depend_on_the_columns_of_the_values_and_not_on_threads():
    same = np.where(np.isnan(X), 9.0, X)
    is_palindrome = (same == same[:, ::-1]).all(axis=1)
    np.testing.assert_array_equal(hashes_of(X) == hashes_of(X[:, ::-1]), is_palindrome)
    np.testing.assert_array_equal(hashes_of(X, n_threads=3), hashes_of(X))
    np.testing.assert_array_equal(bin_hashes(X, 3), bin_hashes(X, 1))
    np.testing.assert_array_equal(hashes_of(X, ALL[::-1]), hashes_of(X)[::-1])


def test_the_hashes_of_bins_do_not_depend_on_the_scale_of_a_feature():
    np.testing.assert_array_equal(bin_hashes(np.exp(X) * 7 - 3), bin_hashes(X))
    assert len(np.unique(bin_hashes(X, max_bins=2))) < len(np.unique(bin_hashes(X)))


def test_hashes_are_spread_over_their_range():
    bits = (
        hashes_of(X[:, :1] + np.arange(N_ROWS)[:, None])[:, None]
        >> np.arange(64, dtype=np.uint64)
    ) & np.uint64(1)
    mean = bits[~np.isnan(X[:, 0])].mean(axis=0)
    assert np.abs(mean - 0.5).max() < 0.05  # of 4,500 rows: 7 standard errors


@pytest.mark.parametrize("n_hashes", [3, 2**62])
def test_threads_sort_rows_by_query_then_hash_then_grade(n_hashes, monkeypatch):
    monkeypatch.setattr(training_data, "ROWS_TO_SHARE", 0)
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 40, 300)
    offsets, query = np.append(0, np.cumsum(sizes)), np.repeat(np.arange(300), sizes)
    hashes = rng.integers(0, n_hashes, len(query)).astype(np.uint64)
    grades = rng.permutation(len(query)).astype(float)  # no two rows are the same
    data = training_data.TrainingData(LabelGrades.of_one(grades), offsets, list(query))
    for n_threads in (1, 3):
        with ThreadTeam(n_threads) as team:
            order = data.content_order(hashes, team)
        assert order.tolist() == np.lexsort((grades, hashes, query)).tolist()
