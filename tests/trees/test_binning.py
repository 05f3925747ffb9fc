"""Bins: between which values the edges lie, and which bin a value falls into."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sklearn_ltr._compile import INTERPRETED, ThreadTeam
from sklearn_ltr.learners._trees.binning import (
    MISSING,
    BinMapper,
    column_edges,
    empty_table,
)
from tests.trees import bins, columns

NAN = float("nan")
FLOATS = st.floats(allow_nan=True, allow_infinity=False, width=64)
COLUMNS = hnp.arrays(np.float64, st.integers(1, 40), elements=FLOATS)


def codes_by_counting(values, edges) -> list[int]:
    """The number of edges below a value; 255 for NaN."""
    return [
        MISSING if np.isnan(x) else sum(float(x) > edge for edge in edges)
        for x in values
    ]


def table_of(values) -> np.ndarray:
    return np.asarray(values)[:, None]


# --- edges ------------------------------------------------------------------------


@given(values=COLUMNS)
def test_few_distinct_values_have_a_bin_each(values):
    edges = column_edges(values, 255)
    distinct = np.unique(values[~np.isnan(values)])  # -0.0 equals 0.0
    assert len(edges) == max(len(distinct) - 1, 0)
    for below, edge, above in zip(distinct[:-1], edges, distinct[1:], strict=True):
        assert below <= edge < above


@given(values=COLUMNS, max_bins=st.integers(2, 6))
def test_no_bin_is_empty_and_there_are_not_too_many(values, max_bins):
    edges = column_edges(values, max_bins)
    present = values[~np.isnan(values)]
    n_distinct = len(np.unique(present))
    assert len(edges) + 1 <= max_bins
    assert np.isfinite(edges).all()
    assert (np.diff(edges) > 0).all()
    if n_distinct > 0:
        codes = np.searchsorted(edges, present)
        assert set(codes) == set(range(len(edges) + 1))
    if n_distinct <= max_bins:
        assert len(edges) == max(n_distinct - 1, 0)


def edges_by_walking(values, max_bins) -> list[float]:
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
    max_bins=st.integers(2, 12),
)
def test_edges_lie_before_the_first_new_value_at_or_after_a_quantile(values, max_bins):
    assert column_edges(values, max_bins).tolist() == edges_by_walking(values, max_bins)


@pytest.mark.parametrize("max_bins", [2, 3, 16, 254, 255])
def test_exactly_max_bins_distinct_values_have_a_bin_each(max_bins):
    values = np.repeat(np.arange(max_bins, dtype=np.float64), 3)
    np.testing.assert_array_equal(
        column_edges(values, max_bins), np.arange(max_bins - 1) + 0.5
    )
    one_more = np.append(values, max_bins)
    assert len(column_edges(one_more, max_bins)) <= max_bins - 1


@pytest.mark.parametrize("max_bins", [2, 10, 255])
def test_many_distinct_values_fill_the_bins_equally(max_bins):
    values = np.random.default_rng(0).lognormal(size=5000)
    edges = column_edges(values, max_bins)
    assert len(edges) == max_bins - 1
    counts = np.bincount(np.searchsorted(edges, values))
    # a quantile falls between two rows
    assert counts.min() >= 5000 // max_bins - 1
    assert counts.max() <= 5000 // max_bins + 2


def test_a_value_that_many_rows_share_does_not_starve_the_others():
    # 90% zeros: the rest still gets a tenth of the bins, and zero its own
    rng = np.random.default_rng(1)
    values = np.where(rng.uniform(size=10_000) < 0.9, 0.0, rng.uniform(size=10_000))
    edges = column_edges(values, 255)
    assert len(edges) >= 20
    assert np.count_nonzero(np.searchsorted(edges, values) == 0) == np.sum(values == 0)


@pytest.mark.parametrize(
    "values", [[3.0, 3, 3], [np.nan, np.nan], [np.nan, 1.0], [7.0], [0.0, -0.0]]
)
def test_a_column_of_one_value_has_no_edge(values):
    assert len(column_edges(np.array(values), 255)) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("x", [1.0, -1.0, 3e-39, 1e30, 0.0])
def test_neighbouring_values_are_kept_apart(dtype, x):
    below = dtype(x)
    above = np.nextafter(below, dtype(np.inf))
    values = np.array([above, below, above], dtype=dtype)
    (edge,) = column_edges(values, 255)
    assert below <= edge < above
    _, table = bins(table_of(values))
    assert columns(table)[:, 0].tolist() == [1, 0, 1]


def test_the_largest_values_have_finite_edges():
    largest = np.finfo(np.float64).max
    values = np.array([-largest, largest, NAN, -largest])
    edges = column_edges(values, 255)
    assert np.isfinite(edges).all()
    assert codes_by_counting(values, edges) == [0, 1, MISSING, 0]


# --- codes ------------------------------------------------------------------------


@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 30), st.integers(1, 3)),
        elements=st.one_of(st.floats(-5, 5).map(lambda x: round(x, 1)), FLOATS),
    ),
    max_bins=st.sampled_from([2, 3, 5, 17, 255]),
)
def test_codes_count_the_edges_below_a_value(X, max_bins):
    mapper, table = bins(X, max_bins)
    for column, edges in enumerate(mapper.edges):
        expected = codes_by_counting(X[:, column], edges)
        assert columns(table)[:, column].tolist() == expected


@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 7, 8, 9, 127, 128, 129, 253, 254])
def test_every_number_of_edges_is_searched_to_both_ends(n_edges):
    edges = np.arange(n_edges, dtype=np.float64)
    mapper = BinMapper([edges])
    values = np.concatenate([edges - 0.5, edges, edges + 0.5, [-1e300, 1e300, np.nan]])
    table = mapper.transform(table_of(values), np.arange(len(values)), ThreadTeam(1))
    expected = np.searchsorted(edges, values[:-1], side="left").tolist() + [MISSING]
    assert columns(table)[:, 0].tolist() == expected


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_features", [1, 2, 15, 16, 17, 33, 46, 136])
def test_columns_stand_in_blocks_of_the_same_work_for_each_thread(
    n_features, n_threads
):
    n_bins = np.random.default_rng(2).integers(1, 256, n_features)
    table = empty_table(3, n_bins, n_threads)
    assert table.codes.shape == (len(table.column), 3, 16)
    assert table.codes.dtype == np.uint8
    np.testing.assert_array_equal(
        table.column[table.block, table.place], np.arange(n_features)
    )
    assert np.count_nonzero(table.column >= 0) == n_features
    np.testing.assert_array_equal((table.column >= 0).sum(axis=1), table.n_columns)
    for columns_of, most in zip(table.column, table.n_bins, strict=True):
        assert n_bins[columns_of[columns_of >= 0]].max() == most
    assert (np.diff(table.n_bins) <= 0).all()
    shares = [table.n_columns[thread::n_threads].sum() for thread in range(n_threads)]
    assert max(shares) - min(shares) <= 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 15, 16, 17, 33])
def test_every_table_of_the_same_values_has_the_same_codes(dtype, n_features):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, n_features)).round(1).astype(dtype)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    for values in (
        X,
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        np.hstack([X, X])[:, :n_features],
    ):
        mapper, table = bins(values)
        for column, codes in enumerate(columns(table).T):
            expected = codes_by_counting(X[:, column], mapper.edges[column])
            np.testing.assert_array_equal(codes, expected)


def test_read_only_tables_are_read():
    X = np.arange(6.0).reshape(3, 2)
    X.flags.writeable = False
    _, table = bins(X)
    assert columns(table).tolist() == [[0, 0], [1, 1], [2, 2]]


def test_only_the_rows_asked_for_count_and_in_the_order_asked_for():
    X = table_of([5.0, 1.0, 3.0, 1e9, np.nan, 2.0])
    rows = np.array([5, 0, 2], dtype=np.intp)
    mapper = BinMapper.fit(X, rows, 255, 0, ThreadTeam(1))
    np.testing.assert_array_equal(mapper.edges[0], [2.5, 4.0])
    table = mapper.transform(X, np.array([4, 3, 0, 0, 1], dtype=np.intp), ThreadTeam(1))
    assert columns(table)[:, 0].tolist() == [MISSING, 2, 2, 2, 0]


def test_missing_values_take_no_part_in_the_edges():
    present = np.random.default_rng(3).normal(size=100)
    with_missing = np.insert(present, [0, 50, 100], np.nan)
    for max_bins in (7, 255):
        np.testing.assert_array_equal(
            column_edges(with_missing, max_bins), column_edges(present, max_bins)
        )


@pytest.mark.parametrize("n_threads", [2, 4])
def test_the_number_of_threads_does_not_matter(n_threads):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300 if INTERPRETED else 20_000, 20))
    one, table = bins(X)
    with ThreadTeam(n_threads) as team:
        many, same = bins(X, team=team)
    np.testing.assert_array_equal(columns(table), columns(same))
    for edges, others in zip(one.edges, many.edges, strict=True):
        np.testing.assert_array_equal(edges, others)


def test_a_sample_of_a_long_table_is_drawn_by_the_seed():
    X = np.random.default_rng(5).normal(size=(300_000, 1))
    every = np.arange(len(X), dtype=np.intp)
    edges = [
        BinMapper.fit(X, every, 9, seed, ThreadTeam(1)).edges[0] for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(edges[0], edges[1])
    assert (edges[0] != edges[2]).any()
    # the standard error of a quantile of 200,000 is about 0.003
    np.testing.assert_allclose(edges[2], edges[0], atol=0.02)
