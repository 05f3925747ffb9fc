"""Regression EM: with a feature for each document it is the position-based model."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, eye_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_ltr._data.rows import index_rows
from sklearn_ltr.clicks import PositionBasedModel, RegressionEM, simulate_clicks
from sklearn_ltr.clicks._em import cells_step, count_cells
from sklearn_ltr.clicks._log import read_click_log
from sklearn_ltr.clicks._regression_em import AttractionRegression
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTClassifier
from tests.clicks.logs import columns, fit, rows_of, simulated, small
from tests.oracles import clicks as oracle

EACH_ITS_OWN = DecisionTreeClassifier(random_state=0)  # a leaf for each document
LINEAR = LogisticRegression(C=100.0)


def regress(log, X, classifier, **options):
    with warnings.catch_warnings():
        if "max_iter" in options:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model = RegressionEM(classifier, **options)
        return model.fit(X, log.clicks, **columns(log))


def one_ranker(n_sessions):
    """A log of a single ranker, and features that explain attraction."""
    data = make_ranking(150, n_documents=12, random_state=0)
    log = simulate_clicks(
        data.target,
        data.utility + np.random.default_rng(1).normal(size=len(data.target)),
        groups=data.groups,
        n_sessions=n_sessions,
        random_state=0,
    )
    relevance = log.attractiveness
    return log, np.column_stack(
        (np.log(relevance / (1.001 - relevance)), data.data[:, 0])
    )


@pytest.fixture(scope="module")
def linear():
    """A log, its features and the model of them, which no test changes."""
    log, X = one_ranker(4000)
    return log, X, regress(log, X, LINEAR)


def assert_same(one, other):
    for name in ("propensities_", "attractiveness_", "log_likelihoods_"):
        assert_array_equal(getattr(one, name), getattr(other, name), strict=True)


def test_a_step_with_a_feature_for_each_document_is_that_of_the_hidden_events():
    log = small()
    rows = rows_of(log, fit(PositionBasedModel(), log))
    read = read_click_log(log.clicks, **columns(log))
    cells, _ = count_cells(read)
    rng = np.random.default_rng(0)
    theta, gamma = rng.uniform(0.1, 0.9, 4), rng.uniform(0.1, 0.9, read.n_pairs)
    _, attracted = cells_step(cells, theta, gamma)
    regression = AttractionRegression(EACH_ITS_OWN, np.eye(12), read.documents, cells)
    _, expected = oracle.pbm_em_step(rows, theta, gamma)
    # weights of trees are float64, and their sums round
    assert_allclose(
        regression(attracted), [expected[u] for u in range(read.n_pairs)], 1e-9
    )


@pytest.mark.parametrize("X", [np.eye(12), eye_array(12).tocsr()], ids=["dense", "csr"])
def test_with_a_feature_for_each_document_it_is_the_position_based_model(X):
    log = small(n_sessions=300)
    expected = fit(PositionBasedModel(tol=1e-9), log)
    model = regress(log, X, EACH_ITS_OWN, max_iter=500, tol=1e-7)
    assert_allclose(model.propensities_, expected.propensities_, atol=1e-4)
    assert_allclose(model.attractiveness_, expected.attractiveness_, atol=1e-4)
    assert (np.diff(model.log_likelihoods_) >= -1e-6).all()  # rates stop near 0 and 1
    assert_array_equal(model.groups_, expected.groups_)
    assert_array_equal(model.documents_, expected.documents_)


def test_one_ranker_is_enough_where_features_explain_attraction(linear):
    log, X, model = linear
    with pytest.raises(ValueError, match="cannot be compared with position 0"):
        fit(PositionBasedModel(), log)
    assert np.abs(model.propensities_ - log.propensities).mean() < 0.04
    again = model.predict_attractiveness(X[model.documents_])  # of any document
    assert_allclose(again, model.attractiveness_, 1e-12)
    assert np.corrcoef(again, log.attractiveness[model.documents_])[0, 1] > 0.95
    curve = model.log_likelihoods_
    assert (np.diff(curve) > -0.01).all() and curve[-1] > curve[0]


def test_the_default_classifier_is_of_trees_without_early_stopping():
    log, X = small(), np.random.default_rng(0).normal(size=(12, 2))
    trees = MARTClassifier(early_stopping=False, random_state=0)
    default = regress(log, X, None, max_iter=1)
    assert_same(default, regress(log, X, trees, max_iter=1))


def tables():
    """Features in which documents of a query are equal, and a classifier for each."""
    data = make_ranking(60, n_documents=12, random_state=0)
    rounded = np.round(data.data[:, :2]) + 0.0
    letters = np.array(list("abc"))[np.abs(rounded).astype(int) % 3]
    text = make_pipeline(OneHotEncoder(), LogisticRegression())
    trees = MARTClassifier(n_estimators=5, early_stopping=False, random_state=0)
    yield data.data, LINEAR
    yield rounded, trees
    yield csr_array(np.maximum(data.data, 0)), LogisticRegression()
    yield pd.DataFrame(letters, columns=["a", "b"]), text


@pytest.mark.parametrize(("X", "classifier"), [*tables()])
def test_documents_in_another_order_of_the_rows_of_x_change_no_bit(X, classifier):
    log = simulated(n_sessions=1000)
    one = regress(log, X, classifier, max_iter=2)
    rows = np.random.default_rng(0).permutation(X.shape[0])
    moved = columns(log) | {"documents": np.argsort(rows)[log.documents]}
    # and another order of the rows of the log, and other names of sessions
    shuffled = np.random.default_rng(1).permutation(len(log.clicks))
    moved = {name: values[shuffled] for name, values in moved.items()}
    moved["sessions"] = moved["sessions"] * 7 % 10_007
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        other = clone(one).fit(index_rows(X, rows), log.clicks[shuffled], **moved)
    for name in ("propensities_", "log_likelihoods_", "scale_"):
        assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    found = dict(zip(rows[other.documents_], other.attractiveness_, strict=True))
    expected = [found[document] for document in one.documents_]
    assert_array_equal(one.attractiveness_, expected)


def test_features_of_any_kind_are_read(linear):
    log, X, _ = linear
    columns_of_x = {"a": X[:, 0], "b": X[:, 1]}
    expected = regress(log, X, LINEAR, max_iter=1)
    for table in (pd.DataFrame(columns_of_x), pl.DataFrame(columns_of_x), X.tolist()):
        assert_same(expected, regress(log, table, LINEAR, max_iter=1))


def test_a_pipeline_passes_the_weights_to_its_classifier(linear):
    log, X, alone = linear
    scaled = StandardScaler(with_std=False)  # which changes the intercept alone
    pipeline = make_pipeline(scaled, LogisticRegression(C=100.0))
    model = regress(log, X, pipeline, max_iter=10)
    assert_allclose(model.propensities_, alone.propensities_, atol=0.01)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline[-1].set_fit_request(sample_weight=True)
        pipeline[0].set_fit_request(sample_weight=False)
        assert_same(model, regress(log, X, pipeline, max_iter=10))


def test_a_failed_fit_leaves_the_model_as_it_was(linear):
    log, X, model = linear
    before = dict(vars(model))
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(X * np.nan, log.clicks, **columns(log))
    assert vars(model) == before
