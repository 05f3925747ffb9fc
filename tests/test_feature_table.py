"""The feature table: read without conversion where possible, and always checked."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr._data.features import (
    CHUNK_SIZE,
    check_finite,
    read_feature_table,
)
from sklearn_ltr.datasets import make_ranking

DATA = make_ranking(n_queries=12, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
N_COLUMNS = 7
N_ROWS = 3 * CHUNK_SIZE // N_COLUMNS + 1  # the last chunk is a single row


def fitted(table=X):
    ranker = LambdaMARTRanker(n_estimators=3, random_state=0)
    return ranker.fit(table, Y, groups=GROUPS)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (X[:, :-1], "features, but LambdaMARTRanker is expecting"),
        (X[0], "Expected 2D array, got 1D array"),
        (X[:0], "0 sample"),
        (X.astype(complex), "Complex data not supported"),
    ],
)
def test_an_array_of_another_shape_or_type_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        fitted().predict(wrong)


@pytest.mark.parametrize(
    "same",
    [
        X.astype(X.dtype.newbyteorder()),
        X.view(type("Subclass", (np.ndarray,), {})),
        (X * 8).astype(np.int64),
    ],
    ids=["bytes swapped", "subclass", "integers"],
)
def test_arrays_that_need_a_conversion_score_as_the_converted_ones(same):
    ranker = fitted()
    plain = np.array(same, dtype=np.float64)
    assert ranker.predict(same).tolist() == ranker.predict(plain).tolist()


def test_an_array_without_names_raises_a_warning_if_fit_was_given_names():
    ranker = fitted(pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        ranker.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted().predict(X)


@pytest.mark.parametrize(
    ("dtype", "value", "row"),
    [
        (np.float64, np.inf, 0),
        (np.float64, -np.inf, 1000),
        (np.float32, np.inf, N_ROWS - 1),
        (np.float32, np.nan, N_ROWS - 1),
    ],
)
def test_a_value_that_is_not_finite_is_found_in_every_chunk(dtype, value, row):
    table = np.full((N_ROWS, N_COLUMNS), 1e30, dtype=dtype)
    table[row, 5] = value
    message = f"X contains (NaN|infinity).* at row {row}, column 5"
    with pytest.raises(ValueError, match=message):
        check_finite(table, "X", allow_nan=False)
    if np.isnan(value):
        check_finite(table, "X", allow_nan=True)
    else:
        with pytest.raises(ValueError, match=message):
            check_finite(table, "X", allow_nan=True)


def test_finite_values_whose_sum_overflows_are_accepted():
    check_finite(np.full((50, 2), 3e38, dtype=np.float32), "X", allow_nan=False)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
def test_values_are_not_checked_if_the_caller_does_so_later(form):
    table = X.copy()
    table[3, 1] = np.inf
    reading = {"reset": False, "name": "X_val"}
    ranker = fitted()
    read = read_feature_table(ranker, form(table), check_values=False, **reading)
    np.testing.assert_array_equal(read, table)
    with pytest.raises(ValueError, match="X_val contains infinity.*row 3, column 1"):
        read_feature_table(ranker, form(table), **reading)


@pytest.mark.parametrize("ranker", [LambdaMARTRanker(), RankNetRanker(max_iter=1)])
def test_predict_names_the_infinite_value_of_an_array(ranker):
    ranker.fit(X, Y, groups=GROUPS)
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="at row 3, column 1"):
        ranker.predict(bad)
