"""Queries in the order of time: which train, which test, and that dates stay whole."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import TimeSeriesSplit

from sklearn_ltr._core.data.query_values import draw_held_out, forward_folds

SIZES = st.lists(st.integers(1, 6), min_size=2, max_size=9)


def numbered(sizes, seed):
    """Return the date of each query, of so many queries each, in any order."""
    dates = np.repeat(np.arange(len(sizes)), sizes)
    return np.random.default_rng(seed).permutation(dates)


def best_bounds(begins, wanted):
    """Take the nearest begin of a date for each bound in turn, some left for others."""
    chosen = []
    for number, bound in enumerate(wanted):
        left = [b for b in begins if not chosen or b > chosen[-1]]
        left = left[: len(left) - (len(wanted) - number - 1)]
        chosen.append(min(left, key=lambda b: (abs(b - bound), b)))
    return chosen


@given(SIZES, st.data())
def test_folds_divide_no_date_and_end_where_the_nearest_does(sizes, data):
    n, seed = sum(sizes), data.draw(st.integers(0, 99))
    dates = numbered(sizes, seed)
    n_folds = data.draw(st.integers(1, len(sizes) - 1))
    places = st.integers(1, n - 1)
    wanted = sorted(data.draw(st.lists(places, min_size=n_folds, max_size=n_folds)))
    gap = data.draw(st.integers(0, 2))
    most = data.draw(st.none() | st.integers(1, n))
    begins = np.cumsum(sizes)[:-1].tolist()
    bounds = [*best_bounds(begins, wanted), n]
    n_before = [0, *begins, n]  # queries before each date, and before the end
    expected = []
    for first, end in itertools.pairwise(bounds):
        last = max(b for b in n_before if b <= max(0, first - gap))
        start = 0 if most is None else min(b for b in n_before if b >= last - most)
        expected.append((start, last, first, end))
    if any(start >= last for start, last, *_ in expected):
        with pytest.raises(ValueError, match="gap=. leave a fold no queries to learn"):
            forward_folds(dates, [*wanted, n], gap=gap, max_train_size=most)
        return
    folds = forward_folds(dates, [*wanted, n], gap=gap, max_train_size=most)
    for (train, test), (start, last, first, end) in zip(folds, expected, strict=True):
        ordered = np.sort(dates)
        assert sorted(dates[train]) == ordered[start:last].tolist()
        assert sorted(dates[test]) == ordered[first:end].tolist()
        assert dates[train].max() < dates[test].min()
        assert most is None or len(train) <= most


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gap": 2},
        {"max_train_size": 3},
        {"test_size": 2, "gap": 1},
        {"max_train_size": 2, "test_size": 3, "gap": 2},
    ],
    ids=str,
)
def test_of_different_dates_they_are_those_of_scikit_learn(options):
    dates = np.random.default_rng(0).permutation(17)
    expected = list(TimeSeriesSplit(3, **options).split(dates))
    bounds = [*(test[0] for _, test in expected), len(dates)]
    options.pop("test_size", None)
    found = forward_folds(dates, bounds, **options)
    for (train, test), (train_2, test_2) in zip(found, expected, strict=True):
        assert dates[train].tolist() == train_2.tolist()
        assert dates[test].tolist() == test_2.tolist()


def test_fewer_dates_than_parts_are_an_error_that_counts_them():
    for dates, bounds, message in (
        ([0, 0, 0], [2, 3], "1 different date for 3 queries, .* 2 parts, .* 2 dates"),
        ([0, 1, 1, 0], [1, 2, 4], "2 different dates for 4 queries, .* 3 parts, "),
        ([0, 1, 1, 0], [1, 2], "2 different dates for 4 queries, .* 3 parts, "),
    ):
        with pytest.raises(ValueError, match=f"order has {message}"):
            forward_folds(np.array(dates), bounds)


@given(SIZES, st.integers(0, 99), st.floats(0.05, 0.95))
def test_what_stops_a_fit_early_has_whole_dates(sizes, seed, fraction):
    dates, n = numbered(sizes, seed), sum(sizes)
    n_held_out = max(1, round(fraction * n))
    if n_held_out >= n:
        return
    held_out = draw_held_out(np.arange(n), fraction, 0, dates)
    (first,) = best_bounds(np.cumsum(sizes)[:-1].tolist(), [n - n_held_out])
    assert held_out.sum() == n - first
    assert dates[~held_out].max() < dates[held_out].min()
