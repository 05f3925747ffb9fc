"""The scaler of heavy tails: by its formula, for any numbers, dense and sparse."""

from __future__ import annotations

import pickle
from collections import Counter
from math import inf, nan, sqrt
from statistics import median

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from sklearn_ltr import LambdaRankRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.preprocessing import SmoothClipScaler
from tests.bad_inputs import refused

RNG = np.random.default_rng(0)
COUNTS = np.where(RNG.random((300, 4)) < 0.6, 0.0, np.floor(RNG.pareto(0.7, (300, 4))))


def by_definition(column, new, center=None):
    """The formula of the docstring, one number at a time."""
    known = [x for x in column if x == x]
    m = median(known) if center is None else center
    distances = [abs(x - m) for x in known if x != m]
    s = 1.482602218505602 * median(distances) if distances else inf

    def clipped(x):
        z = (x - m) / s
        return z / sqrt(1 + (z / 3) ** 2)

    r = max(sqrt(sum(clipped(x) ** 2 for x in known) / len(known)), 0.1)
    return [clipped(x) / r for x in new]


@given(
    st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 2)), min_size=1, max_size=12),
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4),
    st.integers(0, 3),
)
def test_it_is_the_formula(column, new, n_missing):
    scaler = SmoothClipScaler().fit(np.c_[[*column, *[nan] * n_missing]])
    found = scaler.transform(np.c_[new])
    assert_allclose(found[:, 0], by_definition(column, new), rtol=1e-9, atol=1e-12)
    assert_array_equal(scaler.transform([[scaler.center_[0]], [nan]]), [[0], [nan]])


def test_numbers_of_any_size_keep_their_order_within_the_limits():
    sizes = 10.0 ** np.arange(-300, 309, 19)
    column = np.sort(np.concatenate([-sizes, [0.0], sizes]))
    largest = np.finfo(float).max
    for values in (column, column * 1e-8, np.array([-largest, largest, largest / 2])):
        scaler = SmoothClipScaler().fit(np.c_[values])
        found = scaler.transform(np.c_[np.sort(values)])[:, 0] * scaler.rms_
        assert (np.diff(found) >= 0).all() and np.abs(found).max() <= 3.0000001
        assert np.isfinite(found).all() and np.isfinite(scaler.scale_).all()


LEAST = np.nextafter(0.0, 1.0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("unit", [LEAST, 3 * LEAST, 1e-310, 1e-308])
def test_the_smallest_numbers_keep_their_order_and_are_finite(unit, form):
    for column in ([0, 1, 2, 3], [0, 0, 0, 1], [1, 1, 2, 2], [-2, -1, 0, 9]):
        X = np.c_[column] * unit
        scaler = SmoothClipScaler().fit(form(X))
        found = scaler.transform(form(X))
        found = (found.toarray() if sparse.issparse(found) else found)[:, 0]
        assert np.isfinite(found).all() and (np.diff(found) >= 0).all()
        assert len(np.unique(found)) == len(np.unique(column))
        far = scaler.transform(form(X + 1e308))  # beyond float64 in units of these
        assert np.isfinite(far.toarray() if sparse.issparse(far) else far).all()
    same = SmoothClipScaler().fit(np.full((4, 1), unit))
    assert same.scale_[0] == inf and not same.transform([[unit], [1.0]]).any()


def test_rare_values_are_not_blown_up():
    column = np.zeros((10_000, 1))
    column[7] = 5.0
    found = SmoothClipScaler().fit_transform(column)
    assert 6 < found[7, 0] < 7 and not np.delete(found, 7).any()


def test_a_column_of_one_value_or_none_is_0():
    X = np.array([[7.0, nan, 1.0], [7.0, nan, nan]])
    scaler = SmoothClipScaler().fit(X)
    assert_array_equal(scaler.transform(X), [[0, nan, 0], [0, nan, nan]])
    assert_array_equal(scaler.scale_, [inf, inf, inf])
    assert_array_equal(scaler.transform([[9.0, 4.0, -1e9]]), [[0, 0, 0]])


def test_of_a_normal_distribution_the_scale_is_the_standard_deviation():
    values = RNG.normal(5.0, 2.0, (100_000, 1))
    scaler = SmoothClipScaler().fit(values)
    assert_allclose([scaler.center_[0], scaler.scale_[0]], [5, 2], rtol=0.02)


@pytest.mark.parametrize(
    "form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array]
)
def test_a_sparse_table_stays_sparse(form):
    found = SmoothClipScaler().fit(form(COUNTS)).transform(form(COUNTS))
    assert sparse.issparse(found) and found.nnz == np.count_nonzero(COUNTS)
    expected = np.transpose([
        by_definition(column, column, center=0.0)
        for column in COUNTS.T.tolist()
    ])  # fmt: skip
    assert_allclose(found.toarray(), expected, rtol=1e-12)
    dense = SmoothClipScaler().fit(COUNTS)  # more than half are 0, the median
    assert_array_equal(dense.transform(COUNTS), found.toarray())
    assert_array_equal(dense.transform(form(COUNTS)).toarray(), found.toarray())
    centred = SmoothClipScaler().fit(COUNTS + 1)
    refused(lambda: centred.transform(form(COUNTS)), ValueError, "0 would not stay 0")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_names_of_columns_and_containers(kind):
    names = ["a", "b", "c", "d"]
    frame = kind(dict(zip(names, COUNTS.T, strict=True)))
    scaler = SmoothClipScaler().fit(frame)
    assert scaler.get_feature_names_out().tolist() == names
    expected = SmoothClipScaler().fit_transform(COUNTS)
    assert_array_equal(scaler.transform(frame), expected)
    table = scaler.set_output(transform="pandas").transform(frame)
    assert table.columns.tolist() == names
    assert_array_equal(pickle.loads(pickle.dumps(scaler)).transform(frame), expected)
    single = COUNTS.astype(np.float32)
    assert_array_equal(
        SmoothClipScaler().fit_transform(single),
        SmoothClipScaler().fit_transform(single.astype(np.float64)),
    )
    fewer = kind(dict(zip(names[1:], COUNTS.T[1:], strict=True)))
    refused(lambda: scaler.transform(fewer), ValueError, "feature names")


def test_what_is_no_number_is_refused():
    scaler = SmoothClipScaler()
    for X, message in (
        ([["a"]], "must be numeric, but holds text"),
        ([[inf]], "contains infinity (inf) at row 0, column 0"),
    ):
        refused(lambda given=X: scaler.fit(given), ValueError, message)
    assert vars(scaler) == {}
    refused(lambda: scaler.transform([[1.0]]), NotFittedError, "not fitted")


def test_the_checks_of_scikit_learn_pass():
    results = check_estimator(SmoothClipScaler(), on_skip=None)
    status = Counter(result["status"] for result in results)
    assert status.pop("passed") > 40
    assert status.pop("skipped", 0) <= 1 and not status


def test_a_network_learns_from_counts_with_heavy_tails():
    data = make_ranking(60, n_features=8, n_informative=6, random_state=0)
    counts = np.exp(4 * data.data)  # in their order, with tails
    n = len(counts) // 2
    values = {}
    for scaler in (StandardScaler(), SmoothClipScaler()):
        model = make_pipeline(scaler, SimpleImputer(), LambdaRankRanker(random_state=0))
        model.fit(counts[:n], data.target[:n], lambdarankranker__groups=data.groups[:n])
        scores = model[:-1].transform(counts[n:])
        values[type(scaler)] = model[-1].score(
            scores, data.target[n:], groups=data.groups[n:]
        )
    assert values[SmoothClipScaler] > values[StandardScaler] + 0.03
