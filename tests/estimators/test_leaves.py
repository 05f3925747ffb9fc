"""`apply`: the leaf of each tree that a row comes to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.oracles.trees import leaves_of

DATA = make_ranking(20, n_documents=10, n_features=5, n_informative=3, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
BRAND = np.array(["a", "b", "c", "d"])[np.arange(len(Y)) * 7 % 4]
FRAME = pd.DataFrame(X, columns=list("vwxyz")).assign(brand=pd.Categorical(BRAND))
OPTIONS = {
    "n_estimators": 4,
    "max_leaf_nodes": 6,
    "min_samples_leaf": 5,
    "random_state": 0,
}

every_estimator = pytest.mark.parametrize("name", ["ranker", "regressor", "classifier"])


def with_missing(X):
    holes = np.random.default_rng(0).uniform(size=X.shape) < 0.2
    return np.where(holes, np.nan, X)


def fit(name, table=X, **options):
    if name == "ranker":
        return LambdaMARTRanker(**OPTIONS | options).fit(table, Y, groups=GROUPS)
    if name == "classifier":
        return MARTClassifier(**OPTIONS | options).fit(table, Y > 0)
    return MARTRegressor(**OPTIONS | options).fit(table, Y)


def raw_scores(model, table):
    """The scores without the constant that they start from."""
    if hasattr(model, "decision_function"):
        return model.decision_function(table) - model.base_score_
    return model.predict(table) - getattr(model, "base_score_", 0)


def value_of_leaves(ensemble, leaves):
    return ensemble.value[ensemble.first_node + leaves].sum(axis=1)


@every_estimator
def test_the_leaves_are_those_that_a_row_walks_to(name):
    table = with_missing(X)
    model = fit(name, table)
    leaves = model.apply(table)
    assert leaves.shape == (len(table), 4)
    assert leaves.dtype == np.int64
    assert leaves.tolist() == [leaves_of(model.ensemble_, row) for row in table]


@every_estimator
@pytest.mark.parametrize("table", [X, with_missing(X), FRAME], ids=str.__class__)
def test_the_values_of_the_leaves_are_the_score(name, table):
    model = fit(name, table)
    summed = value_of_leaves(model.ensemble_, model.apply(table))
    np.testing.assert_allclose(summed, raw_scores(model, table), atol=1e-12)


@every_estimator
def test_every_form_of_a_table_gives_the_same_leaves(name):
    counts = np.maximum(np.round(X), 0)
    model = fit(name, counts)
    expected = model.apply(counts)
    for form in (csr_matrix(counts), np.asfortranarray(counts), counts.tolist()):
        np.testing.assert_array_equal(model.apply(form), expected)
    np.testing.assert_array_equal(model.apply(counts.astype(np.float32)), expected)
    model = fit(name, FRAME)
    expected = model.apply(FRAME)
    shuffled = FRAME.assign(brand=pd.Categorical(BRAND, categories=list("dbca")))
    np.testing.assert_array_equal(model.apply(shuffled), expected)


def test_unseen_categories_come_to_the_leaf_of_missing_ones():
    model = fit("ranker", FRAME)
    unseen = model.apply(FRAME.assign(brand="new"))
    missing = pd.Categorical([None] * len(FRAME), categories=["a"])
    np.testing.assert_array_equal(unseen, model.apply(FRAME.assign(brand=missing)))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_many_rows_come_to_the_leaves_of_few(n_jobs, monkeypatch):
    model = fit("ranker", FRAME, n_jobs=n_jobs)
    expected = model.apply(FRAME)
    for name, value in (("MOST_WALKS", 0), ("LEAF_ROWS", 1000)):
        monkeypatch.setattr(f"sklearn_ltr._core.trees.evaluate.ensemble.{name}", value)
    many = pd.concat([FRAME] * 12)
    np.testing.assert_array_equal(model.apply(many), np.tile(expected, (12, 1)))
    counts = np.maximum(np.round(X), 0)
    model = fit("regressor", counts, n_jobs=n_jobs)
    expected = model.apply(counts)
    np.testing.assert_array_equal(model.apply(csr_matrix(counts)), expected)


def test_trees_of_a_warm_start_and_of_early_stopping_are_those_of_the_model():
    model = fit("ranker", n_estimators=2)
    first = model.apply(X)
    model.set_params(warm_start=True, n_estimators=5).fit(X, Y, groups=GROUPS)
    assert model.apply(X).shape == (len(X), 5)
    np.testing.assert_array_equal(model.apply(X)[:, :2], first)
    model = fit("ranker", n_estimators=20, early_stopping=True, n_iter_no_change=2)
    assert model.apply(X).shape == (len(X), model.n_iter_)
