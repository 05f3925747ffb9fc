"""Doubtful judgements: by the formula, and where grades were changed on purpose."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    cross_val_predict,
)

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.inspection import suspect_judgments
from sklearn_ltr.model_selection import GroupTimeSeriesSplit
from tests.bad_inputs import refused

DATA = make_ranking(60, n_documents=12, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
RANKER = LambdaMARTRanker(n_estimators=20, random_state=0)


def by_definition(scores, y, groups):
    """The formula of the docstring, and shares of wrong pairs, pair by pair."""
    centred = scores - pd.Series(scores).groupby(groups).transform("mean").to_numpy()
    s = scores / centred.std()
    doubt, contradicted = np.zeros((2, len(y)))
    for i in range(len(y)):
        force, wrong, others = 0.0, 0, 0
        for j in np.flatnonzero((groups == groups[i]) & (y != y[i])):
            sign = 1 if y[j] > y[i] else -1
            force += sign / (1 + np.exp(sign * (s[j] - s[i])))
            wrong += (s[i] - s[j]) * (y[i] - y[j]) < 0
            others += 1
        doubt[i], contradicted[i] = abs(force), wrong / max(others, 1)
    return doubt, contradicted


def test_the_doubt_is_the_force_of_ranknet_on_held_out_scores():
    found = suspect_judgments(Ridge(), X, Y, groups=GROUPS, cv=GroupKFold(3))
    scores = cross_val_predict(Ridge(), X, Y, cv=GroupKFold(3), groups=GROUPS)
    doubt, contradicted = by_definition(scores, Y, GROUPS)
    assert (np.diff(found["doubt"]) <= 0).all()
    found = found.sort_index()
    assert_allclose(found["doubt"], doubt, rtol=1e-9, atol=1e-12)
    assert_allclose(found["contradicted"], contradicted)
    assert_array_equal(found["query"], GROUPS)
    assert_array_equal(found["grade"], Y)
    of_query = found["rank"][GROUPS == GROUPS[0]]
    assert sorted(of_query) == list(range(1, len(of_query) + 1))


def test_changed_grades_come_first_and_the_direction_is_that_back():
    rng = np.random.default_rng(0)
    changed = rng.random(len(Y)) < 0.04
    y = np.where(changed, np.where(Y > 1, 0, Y.max()), Y)
    found = suspect_judgments(RANKER, X, y, groups=GROUPS)
    first = found.index[: changed.sum()]
    assert changed[first].mean() > 5 * 0.04  # that by chance
    back = np.where(Y > y, "higher", "lower")[first]
    assert (found["suggests"][first][changed[first]] == back[changed[first]]).all()


def test_order_of_rows_index_weights_and_fitted_rankers():
    frame = pd.DataFrame(X).add_prefix("f")
    frame.index = [f"d{i}" for i in range(len(Y))]
    found = suspect_judgments(RANKER, frame, Y, groups=GROUPS)
    assert found.index[0].startswith("d") and len(found) == len(Y)
    order = np.random.default_rng(0).permutation(len(Y))
    again = suspect_judgments(
        RANKER, frame.iloc[order], Y[order], groups=GROUPS[order]
    ).loc[frame.index]
    pd.testing.assert_frame_equal(again, found.loc[frame.index])
    half = GROUPS < 30
    fitted = RANKER.fit(X[half], Y[half], groups=GROUPS[half])
    new = suspect_judgments(fitted, X[~half], Y[~half], groups=GROUPS[~half],
                            cv="prefit")  # fmt: skip
    assert len(new) == (~half).sum()
    weights = np.where(half, 1.0, 0.0)
    known = suspect_judgments(RANKER, X, Y, groups=GROUPS, sample_weight=weights)
    assert set(known.index) == set(np.flatnonzero(half))


def permuted(order, X, *columns):
    """Return the rows of a frame and of columns in another order."""
    return X.iloc[order], *(column[order] for column in columns)


@pytest.mark.parametrize("seed", range(3))
def test_another_order_of_the_rows_is_the_same_table(seed):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(20), 9)
    # few values, so that many documents have equal scores, and doubts
    frame = pd.DataFrame(rng.integers(0, 2, (180, 4))).add_prefix("f")
    frame["shop"] = pd.Categorical(rng.choice(["a", "b"], 180))
    frame.index = [f"d{i}" for i in rng.permutation(180)]
    y = rng.integers(0, 3, 180).astype(float)
    ranker = LambdaMARTRanker(n_estimators=3, max_leaf_nodes=3, random_state=0)
    found = suspect_judgments(ranker, frame, y, groups=groups, cv=3)
    assert found["doubt"].duplicated().any()
    order = rng.permutation(180)
    X_2, y_2, groups_2 = permuted(order, frame, y, groups)
    again = suspect_judgments(ranker, X_2, y_2, groups=groups_2, cv=3)
    pd.testing.assert_frame_equal(again, found, check_exact=True)
    # without an index, documents of another content have the same places
    numbers = frame[["f0", "f1", "f2", "f3"]].to_numpy(dtype=float)
    for table in (np.asarray, csr_matrix, pl.DataFrame, lambda X: X.tolist()):
        one = suspect_judgments(ranker, table(numbers), y, groups=groups, cv=3)
        two = suspect_judgments(ranker, table(numbers[order]), y_2, groups=groups_2,
                                cv=3)  # fmt: skip
        assert_array_equal(numbers[one.index], numbers[order][two.index])
        pd.testing.assert_frame_equal(
            one.reset_index(drop=True), two.reset_index(drop=True), check_exact=True
        )


@pytest.mark.parametrize(
    "given",
    [
        {"cv": GroupShuffleSplit(1, test_size=0.3, random_state=0)},
        {"cv": GroupTimeSeriesSplit(3)},
        {"cv": GroupTimeSeriesSplit(3), "order": 100 - GROUPS // 7},
        {"cv": 3, "order": 100 - GROUPS // 7},
        {"cv": [(np.flatnonzero(GROUPS < 30), np.flatnonzero(GROUPS > 40))]},
    ],
    ids=str,
)
def test_folds_may_leave_out_queries(given):
    found = suspect_judgments(Ridge(), X, Y, groups=GROUPS, **given)
    splitter, order = given["cv"], given.get("order")
    if order is not None:
        folds = GroupTimeSeriesSplit(3).split(X, Y, GROUPS, order)
    elif isinstance(splitter, list):
        folds = splitter
    else:
        folds = splitter.split(X, Y, GROUPS)
    scores = np.full(len(Y), np.nan)
    for train, test in folds:
        scores[test] = Ridge().fit(X[train], Y[train]).predict(X[test])
    rows = np.flatnonzero(~np.isnan(scores))
    assert sorted(found.index) == rows.tolist() and len(rows) < len(Y)
    doubt, contradicted = by_definition(scores[rows], Y[rows], GROUPS[rows])
    found = found.sort_index()
    assert_allclose(found["doubt"], doubt, rtol=1e-9, atol=1e-12)
    assert_allclose(found["contradicted"], contradicted)


def test_models_have_not_seen_the_user():
    users = GROUPS // 5
    found = suspect_judgments(Ridge(), X, Y, groups=GROUPS, users=users, cv=3)
    scores = cross_val_predict(Ridge(), X, Y, cv=GroupKFold(3), groups=users)
    doubt, _ = by_definition(scores, Y, GROUPS)
    assert_allclose(found.sort_index()["doubt"], doubt, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"ranker": LambdaMARTRanker}, TypeError, "ranker must be an estimator"),
        ({"cv": "none"}, ValueError, "cv must be a number of folds"),
        ({"users": np.arange(len(Y))}, ValueError, "query 0 of groups has the users"),
        ({"order": GROUPS * 0}, ValueError, "order has 1 different date"),
        ({"users": GROUPS, "order": GROUPS}, ValueError, "users and order were both"),
        ({"cv": GroupKFold(3), "order": GROUPS}, ValueError, "does not hold out by d"),
        ({"cv": 100}, ValueError, "no more than there are queries"),
        ({"y": Y - 1}, ValueError, "y must hold finite relevance grades"),
        ({"y": np.c_[Y, Y]}, ValueError, "y must hold one number for each"),
        ({"cv": "prefit", "ranker": LambdaMARTRanker()}, NotFittedError, "ranker"),
    ],
)
def test_what_it_cannot_read_is_refused(given, error, message):
    good = {"ranker": RANKER, "X": X, "y": Y, "groups": GROUPS}
    refused(lambda: suspect_judgments(**good | given), error, message)
