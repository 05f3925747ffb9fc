"""Logs: any order and any labels give the same model, bit for bit."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from sklearn_ltr.clicks import (
    CascadeModel,
    DynamicBayesianNetwork,
    InterventionHarvesting,
    PositionBasedModel,
)
from tests.clicks.logs import columns, fit, simulated, small

MODELS = {
    PositionBasedModel: "pbm",
    InterventionHarvesting: "pbm",
    CascadeModel: "cascade",
    DynamicBayesianNetwork: "dbn",
}


def assert_same(model, other):
    """The fitted arrays are equal, but for the names of pairs."""
    for name, value in vars(model).items():
        if name.endswith("_") and name not in ("groups_", "documents_"):
            assert_array_equal(value, vars(other)[name], strict=True)


@pytest.fixture(params=MODELS.items(), ids=lambda item: item[0].__name__)
def fitted(request):
    cls, users = request.param
    log = simulated(users, n_sessions=600, n_queries=20)
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
    given = columns(log) | {
        "groups": [f"query {g:05d}" for g in log.groups.tolist()],
        "documents": [("page", d) for d in log.documents.tolist()],
        "sessions": pl.Series([f"{s:06d}" for s in names[log.sessions].tolist()]),
    }
    other = clone(model).fit(log.clicks.astype(bool), **given)
    assert_same(model, other)
    assert other.groups_[0] == f"query {model.groups_[0]:05d}"
    assert other.documents_[0] == ("page", model.documents_[0])


def test_a_failed_fit_leaves_the_model_and_another_replaces_it(fitted):
    model, log = fitted
    again = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="clicks must be 1"):
        again.fit(2 * log.clicks, **columns(log))
    assert vars(again).keys() == vars(model).keys()
    assert_same(model, again)
    half = log.groups < 10
    assert_same(fit(again, log, half), fit(clone(model), log, half))


def test_attractiveness_is_by_query_and_document():
    log = small()
    one = fit(PositionBasedModel(), log)
    names = columns(log) | {"documents": log.documents % 4}
    other = PositionBasedModel().fit(log.clicks, **names)
    assert_array_equal(one.attractiveness_, other.attractiveness_)
    assert_array_equal(one.documents_ % 4, other.documents_)


def test_a_position_without_rows_or_clicks_has_no_propensity_of_its_own():
    log = simulated(n_sessions=3000, n_queries=20)
    rows = (log.positions != 3) & (log.positions != 9)
    clicks = np.where(log.positions == 7, 0, log.clicks)
    for model in (PositionBasedModel(), InterventionHarvesting()):
        model.fit(clicks[rows], **columns(log, rows))
        assert len(model.propensities_) == 9
        assert np.flatnonzero(np.isnan(model.propensities_)).tolist() == [3]
        assert model.propensities_[7] == 0
        assert np.flatnonzero(np.isnan(model.standard_errors_)).tolist() == [3, 7]
    # and that of a position may exceed that of position 0
    given = columns(log) | {"positions": 9 - log.positions}
    model = InterventionHarvesting().fit(log.clicks, **given)
    error = model.propensities_[9] - 1 / log.propensities[9]
    assert model.propensities_[0] == 1 < model.propensities_[9]
    assert abs(error) < 2 * model.standard_errors_[9]


@pytest.mark.parametrize("cls", [m for m in MODELS if m is not InterventionHarvesting])
def test_lists_of_one_document_have_one_position(cls):
    given = {"groups": [1, 1, 2], "documents": list("aab"), "sessions": [1, 2, 3]}
    model = cls().fit([1, 0, 1], positions=[0, 0, 0], **given)
    assert model.propensities_.tolist() == [1.0]
    np.testing.assert_allclose(model.attractiveness_, [0.5, 1.0], atol=1e-3)
    if cls is DynamicBayesianNetwork:
        assert np.isnan(model.satisfaction_).all()
