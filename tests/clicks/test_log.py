"""Logs: any order and any labels give the same model, bit for bit."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from sklearn_ltr.clicks import (
    CascadeModel,
    DynamicBayesianNetwork,
    InterventionHarvesting,
    PositionBasedModel,
    counterfactual_score,
)
from tests.clicks.logs import columns, fit, simulated, small

MODELS = {
    PositionBasedModel: "pbm",
    InterventionHarvesting: "pbm",
    CascadeModel: "cascade",
    DynamicBayesianNetwork: "dbn",
}


def state(model):
    """The fitted arrays, but for the names of pairs."""
    names = ("groups_", "documents_")
    return {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and name not in names
    }


def assert_same(model, other):
    for name, value in state(model).items():
        assert_array_equal(value, state(other)[name], strict=True)


@pytest.fixture(params=MODELS.items(), ids=lambda item: item[0].__name__)
def fitted(request):
    cls, users = request.param
    log = simulated(users, n_sessions=1500, n_queries=20)
    return fit(cls(), log), log


def test_the_order_of_rows_and_other_names_change_no_bit(fitted):
    model, log = fitted
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(log.clicks))
    other = fit(clone(model), log, rows)
    assert_same(model, other)
    assert_array_equal(model.groups_, other.groups_)
    assert_array_equal(model.documents_, other.documents_)
    names = rng.permutation(int(log.sessions.max()) + 1)
    given = columns(log) | {"sessions": names[log.sessions]}
    assert_same(model, clone(model).fit(log.clicks, **given))
    given = columns(log) | {
        "groups": [f"query {g:05d}" for g in log.groups.tolist()],
        "documents": [("page", d) for d in log.documents.tolist()],
        "sessions": [f"{s:06d}" for s in log.sessions.tolist()],
    }
    other = clone(model).fit(log.clicks.astype(bool), **given)
    assert_same(model, other)
    assert other.groups_[0] == f"query {model.groups_[0]:05d}"
    assert other.documents_[0] == ("page", model.documents_[0])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_frames_are_read(fitted, frame):
    model, log = fitted
    table = frame({"clicks": log.clicks} | columns(log))
    given = {name: table[name] for name in columns(log)}
    assert_same(model, clone(model).fit(table["clicks"], **given))


def test_models_are_cloned_pickled_and_fitted_again(fitted):
    model, log = fitted
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "propensities_")
    again = pickle.loads(pickle.dumps(model))
    assert_same(model, again)
    assert vars(again).keys() == vars(model).keys()
    before = dict(vars(model))
    with pytest.raises(ValueError, match="clicks must be 1"):
        model.fit(2 * log.clicks, **columns(log))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    half = log.groups < 10
    assert_same(fit(again, log, half), fit(clone(model), log, half))


def test_attractiveness_is_by_query_and_document():
    log = small()
    names = columns(log) | {"documents": log.documents % 4}
    one, other = PositionBasedModel(), PositionBasedModel()
    fit(one, log)
    other.fit(log.clicks, **names)
    assert_array_equal(one.attractiveness_, other.attractiveness_)
    assert_array_equal(one.documents_ % 4, other.documents_)


def test_a_position_without_rows_or_clicks_has_no_propensity_of_its_own():
    log = simulated(n_sessions=3000, n_queries=20)
    rows = (log.positions != 3) & (log.positions != 9)
    clicks = np.where(log.positions == 7, 0, log.clicks)
    for model in (PositionBasedModel(), InterventionHarvesting()):
        model.fit(clicks[rows], **columns(log, rows))
        assert len(model.propensities_) == 9
        assert np.isnan(model.propensities_[3])
        assert model.propensities_[7] == 0
        assert np.flatnonzero(np.isnan(model.standard_errors_)).tolist() == [3, 7]
        assert np.isfinite(np.delete(model.propensities_, 3)).all()


def test_a_propensity_may_exceed_that_of_position_0():
    log = simulated(n_sessions=5000, n_queries=20)
    given = columns(log) | {"positions": 9 - log.positions}
    model = InterventionHarvesting().fit(log.clicks, **given)
    assert model.propensities_[0] == 1
    assert model.propensities_[9] > 5


def test_the_order_of_rows_changes_no_estimate():
    log = simulated(n_sessions=500, n_queries=20)
    scores = np.random.default_rng(1).normal(size=len(log.clicks))
    rows = np.random.default_rng(0).permutation(len(log.clicks))
    given = {"propensities": log.propensities}
    names = ("groups", "positions", "sessions")
    one = counterfactual_score(
        log.clicks, scores, **{n: log[n] for n in names}, **given
    )
    other = counterfactual_score(
        log.clicks[rows], scores[rows], **{n: log[n][rows] for n in names}, **given
    )
    assert one == other


@pytest.mark.parametrize(
    "cls", [PositionBasedModel, CascadeModel, DynamicBayesianNetwork]
)
def test_lists_of_one_document_have_one_position(cls):
    model = cls().fit(
        [1, 0, 1],
        groups=[1, 1, 2],
        documents=["a", "a", "b"],
        positions=[0, 0, 0],
        sessions=[1, 2, 3],
    )
    assert model.propensities_.tolist() == [1.0]
    np.testing.assert_allclose(model.attractiveness_, [0.5, 1.0], atol=1e-3)
    if cls is DynamicBayesianNetwork:
        assert np.isnan(model.satisfaction_).all()
