"""A table that needs no conversion is not sent through one, and is checked as well."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr._estimators.feature_table import N_CACHED, refuse_values
from sklearn_ltr.datasets import make_ranking

DATA = make_ranking(n_queries=12, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups


def fitted(table=X):
    ranker = LambdaMARTRanker(n_estimators=3, random_state=0)
    return ranker.fit(table, Y, groups=GROUPS)


@pytest.mark.parametrize(
    "wrong", [X[:, :-1], np.hstack([X, X]), X[0], X[:0], X[None], X.astype(complex)]
)
def test_a_plain_array_of_another_shape_meets_scikit_learn(wrong):
    with pytest.raises(ValueError):
        fitted().predict(wrong)


@pytest.mark.parametrize(
    "same",
    [
        X.tolist(),
        pd.DataFrame(X),
        X.astype(X.dtype.newbyteorder()),
        X.view(type("Own", (np.ndarray,), {})),
        np.asfortranarray(X),
    ],
    ids=["list", "frame", "bytes swapped", "subclass", "columns"],
)
def test_the_same_numbers_in_another_form_score_the_same(same):
    ranker = fitted()
    assert ranker.predict(same).tolist() == ranker.predict(X).tolist()


def test_an_array_without_names_is_told_of_the_names_at_fit():
    ranker = fitted(pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        ranker.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted().predict(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("row", [0, 1000, 3 * N_CACHED // 7])
def test_a_bad_value_is_found_wherever_it_stands(dtype, value, row):
    table = np.full((3 * N_CACHED // 7 + 1, 7), 1e30, dtype=dtype)
    table[row, 5] = value
    name = f"X contains (NaN|infinity).* at row {row}, column 5"
    with pytest.raises(ValueError, match=name):
        refuse_values(table, "X", allow_nan=False)
    if np.isnan(value):
        refuse_values(table, "X", allow_nan=True)
    else:
        with pytest.raises(ValueError, match=name):
            refuse_values(table, "X", allow_nan=True)


def test_numbers_whose_sum_is_beyond_single_precision_are_welcome():
    refuse_values(np.full((50, 2), 3e38, dtype=np.float32), "X", allow_nan=False)


@pytest.mark.parametrize("ranker", [LambdaMARTRanker(), RankNetRanker(max_iter=1)])
def test_a_plain_array_is_searched_for_infinity(ranker):
    ranker.fit(X, Y, groups=GROUPS)
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="at row 3, column 1"):
        ranker.predict(bad)
