"""Regression EM: with a feature for each document it is the position-based model."""

from __future__ import annotations

import pickle
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

from sklearn_ltr import NothingLearnedWarning
from sklearn_ltr._core.data.rows import index_rows
from sklearn_ltr.clicks import PositionBasedModel, RegressionEM, simulate_clicks
from sklearn_ltr.clicks._em import cells_step, count_cells
from sklearn_ltr.clicks._log import read_click_log
from sklearn_ltr.clicks._regression_em import AttractionRegression
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTClassifier
from tests import files_named
from tests.clicks.logs import columns, fit, rows_of, simulated, small
from tests.oracles import clicks as oracle

EACH_ITS_OWN = DecisionTreeClassifier(random_state=0)  # a leaf for each document
LINEAR = LogisticRegression(C=100.0)
#: Over five seeds, the mean errors of propensities of linear models are 0.01 to 0.023;
#: those of clicks as they are would be 0.71.
CLOSE = 0.04


def regress(log, X, classifier, rows=slice(None), **options):
    model = RegressionEM(classifier, **options)
    return model.fit(X, log.clicks[rows], **columns(log, rows))


@pytest.fixture(scope="module")
def linear_log():
    """A log of a ranker of three, and features that explain attraction."""
    data = make_ranking(300, n_documents=12, random_state=0)
    noise = np.random.default_rng(0).normal(size=(len(data.target), 3))
    log = simulate_clicks(
        data.target,
        data.utility[:, None] + noise,
        groups=data.groups,
        n_sessions=3000,
        random_state=0,
    )
    relevance = log.attractiveness
    X = np.column_stack((np.log(relevance / (1.001 - relevance)), data.data[:, 0]))
    return log, X


@pytest.fixture(scope="module")
def linear(linear_log):
    """The model of these, which no test changes."""
    log, X = linear_log
    return regress(log, X, LINEAR)


def assert_same(one, other):
    for name in ("propensities_", "attractiveness_", "log_likelihoods_"):
        assert_array_equal(getattr(one, name), getattr(other, name), strict=True)


def test_a_step_with_a_feature_for_each_document_is_that_of_the_hidden_events():
    log = small()
    names = fit(PositionBasedModel(), log)
    rows = rows_of(log, names)
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
    model = regress(log, X, EACH_ITS_OWN, max_iter=1000, tol=1e-8)
    assert_allclose(model.propensities_, expected.propensities_, atol=1e-5)
    assert_allclose(model.attractiveness_, expected.attractiveness_, atol=1e-5)
    assert (np.diff(model.log_likelihoods_) >= -1e-6).all()  # rates stop near 0 and 1
    assert_array_equal(model.groups_, expected.groups_)
    assert_array_equal(model.documents_, expected.documents_)


def test_the_likelihood_never_falls_with_a_classifier_that_maximises_it(linear_log):
    log, X = linear_log
    classifier = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
    curve = regress(log, X, classifier).log_likelihoods_
    assert (np.diff(curve) > -1e-4).all()  # the tolerance of the classifier
    assert curve[-1] > curve[0]


def test_documents_shown_a_few_times_have_the_simulated_propensities(
    linear, linear_log
):
    log, X = linear_log
    assert np.abs(linear.propensities_ - log.propensities).mean() < CLOSE
    again = linear.predict_attractiveness(X[linear.documents_])  # of any document
    assert_allclose(again, linear.attractiveness_, 1e-12)
    # X has the log-odds of the attractiveness; over five seeds: 0.997 and more
    assert np.corrcoef(again, log.attractiveness[linear.documents_])[0, 1] > 0.95


def test_one_ranker_is_enough_where_features_explain_attraction(linear_log):
    _, X = linear_log
    data = make_ranking(300, n_documents=12, random_state=0)
    scores = data.utility + np.random.default_rng(1).normal(size=len(data.target))
    log = simulate_clicks(
        data.target, scores, groups=data.groups, n_sessions=5000, random_state=0
    )
    with pytest.raises(ValueError, match="cannot be compared with position 0"):
        fit(PositionBasedModel(), log)
    model = regress(log, X, LINEAR)
    assert np.abs(model.propensities_ - log.propensities).mean() < CLOSE


@pytest.mark.long
def test_the_default_classifier_finds_the_simulated_propensities():
    data = make_ranking(60, n_documents=12, random_state=0)
    log = simulated(n_sessions=20_000)
    model = regress(log, data.data, None)
    # over three seeds: 0.03 to 0.04, and 0.83 to 0.87
    assert np.abs(model.propensities_ - log.propensities).mean() < 0.05
    found = model.predict_attractiveness(data.data)
    assert np.corrcoef(found, log.attractiveness)[0, 1] > 0.8


def test_the_order_of_rows_and_names_of_sessions_change_no_bit(linear, linear_log):
    log, X = linear_log
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(log.clicks))
    names = rng.permutation(int(log.sessions.max()) + 1)
    given = columns(log, rows) | {"sessions": names[log.sessions[rows]]}
    assert_same(linear, RegressionEM(LINEAR).fit(X, log.clicks[rows], **given))


def tables():
    """Features in which documents of a query are equal, and a classifier for each."""
    data = make_ranking(60, n_documents=12, random_state=0)
    rounded = np.round(data.data[:, :2]) + 0.0
    letters = np.array(list("abc"))[np.abs(rounded).astype(int) % 3]
    text = make_pipeline(OneHotEncoder(), LogisticRegression())
    trees = MARTClassifier(n_estimators=5, early_stopping=False, random_state=0)
    yield data.data, LINEAR
    yield rounded, LogisticRegression()
    yield rounded, DecisionTreeClassifier(max_depth=4, random_state=0)
    yield rounded, trees
    yield csr_array(np.maximum(data.data, 0)), LogisticRegression()
    yield pd.DataFrame(letters, columns=["a", "b"]), text
    yield pd.DataFrame(data.data[:, :2]), LINEAR


@pytest.mark.parametrize(("X", "classifier"), [*tables()])
def test_documents_in_another_order_of_the_rows_of_x_change_no_bit(X, classifier):
    log = simulated(n_sessions=2000)
    model = RegressionEM(classifier, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = clone(model).fit(X, log.clicks, **columns(log))
        rows = np.random.default_rng(0).permutation(X.shape[0])
        moved = columns(log) | {"documents": np.argsort(rows)[log.documents]}
        other = model.fit(index_rows(X, rows), log.clicks, **moved)
    for name in ("propensities_", "log_likelihoods_", "scale_"):
        assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    found = dict(zip(rows[other.documents_], other.attractiveness_, strict=True))
    expected = [found[document] for document in one.documents_]
    assert_array_equal(one.attractiveness_, expected)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame, csr_array, np.ndarray.tolist]
)
def test_features_of_any_kind_are_read(linear_log, frame):
    log, X = linear_log
    is_frame = frame in (pd.DataFrame, pl.DataFrame)
    table = frame({"a": X[:, 0], "b": X[:, 1]} if is_frame else X)
    with pytest.warns(ConvergenceWarning, match="max_iter=4"):
        model, expected = (regress(log, x, LINEAR, max_iter=4) for x in (table, X))
    # sums of sparse rows are in another order
    assert_allclose(model.propensities_, expected.propensities_, 1e-3)


def test_a_classifier_that_learns_nothing_is_told_of_once():
    log = simulated(n_sessions=200)
    X = np.ones((log.documents.max() + 1, 1))
    trees = MARTClassifier(n_estimators=2, early_stopping=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        regress(log, X, trees, max_iter=2, tol=1.0)
    (told,) = caught
    assert told.category is NothingLearnedWarning
    assert "all features (1) are constant" in str(told.message)
    assert files_named(caught, __file__) == [__file__]


def test_a_pipeline_passes_the_weights_to_its_classifier(linear_log):
    log, X = linear_log
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=100.0))
    model = regress(log, X, pipeline)
    assert np.abs(model.propensities_ - log.propensities).mean() < CLOSE
    routed = clone(pipeline)
    with sklearn.config_context(enable_metadata_routing=True):
        routed[-1].set_fit_request(sample_weight=True)
        routed[0].set_fit_request(sample_weight=False)
        assert_same(model, regress(log, X, routed))


def test_it_is_cloned_pickled_and_drawn_without_error_bars(linear, linear_log):
    log, X = linear_log
    again = pickle.loads(pickle.dumps(linear))
    assert_same(linear, again)
    expected = linear.predict_attractiveness(X)
    assert_array_equal(expected, again.predict_attractiveness(X))
    assert not hasattr(clone(linear), "propensities_")
    pytest.importorskip("matplotlib")
    from sklearn_ltr.plotting import PropensityCurveDisplay

    display = PropensityCurveDisplay.from_estimators([linear])
    assert list(display.propensities) == ["RegressionEM"]
    assert display.standard_errors == {}


def test_a_failed_fit_leaves_the_model_as_it_was(linear, linear_log):
    log, X = linear_log
    before = dict(vars(linear))
    with pytest.raises(ValueError, match="clicks must be 1"):
        linear.fit(X, 2 * log.clicks, **columns(log))
    with pytest.raises(ValueError, match="contains NaN"):
        linear.fit(X * np.nan, log.clicks, **columns(log))
    assert vars(linear) == before
