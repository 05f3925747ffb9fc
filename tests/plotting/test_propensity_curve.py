"""Curves of propensities are those of the click models."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.clicks import (
    DynamicBayesianNetwork,
    InterventionHarvesting,
    PositionBasedModel,
)
from sklearn_ltr.plotting import PropensityCurveDisplay
from tests.clicks.logs import fit, simulated
from tests.plotting.conftest import assert_text_is_readable, legend_of


@pytest.fixture(scope="module")
def log():
    return simulated(n_sessions=1000, n_queries=20)


def test_the_numbers_are_those_of_the_models(ax, log):
    models = [fit(PositionBasedModel(), log), fit(InterventionHarvesting(), log)]
    display = PropensityCurveDisplay.from_estimators(
        models, true_propensities=log.propensities, ax=ax
    )
    for model, bars in zip(models, display.lines_, strict=True):
        line, _, (errors,) = bars
        assert_array_equal(line.get_data(), [np.arange(10), model.propensities_])
        low, high = np.array(errors.get_segments())[:, :, 1].T
        assert_allclose((high - low) / 2, model.standard_errors_)
    assert_array_equal(display.true_line_.get_ydata(), log.propensities)
    expected = ["true", "PositionBasedModel", "InterventionHarvesting"]
    assert legend_of(display) == expected
    assert ax.get_ylabel() == "propensity ± standard error"
    assert_text_is_readable(display.figure_)


def test_a_model_without_standard_errors_has_no_bars(ax):
    model = fit(
        DynamicBayesianNetwork(), simulated("dbn", n_sessions=500, n_queries=10)
    )
    display = PropensityCurveDisplay.from_estimators({"a$ b$": model}, ax=ax)
    assert display.standard_errors == {}
    assert display.true_line_ is None
    assert legend_of(display) == [r"a\$ b\$"]
    assert ax.get_ylabel() == "propensity"


def test_models_must_be_fitted_and_named(log):
    with pytest.raises(NotFittedError):
        PropensityCurveDisplay.from_estimators([PositionBasedModel()])
    with pytest.raises(ValueError, match="two of one class"):
        PropensityCurveDisplay.from_estimators([PositionBasedModel()] * 2)


TREES = {"n_estimators": 3, "sigma": 2.0}


@pytest.mark.parametrize(
    "ranker",
    [
        LambdaMARTRanker(position_bias="pairwise", **TREES),
        LambdaRankRanker(position_bias="additive", sigma=2.0, max_iter=1),
    ],
    ids=["pairwise", "additive"],
)
def test_the_bias_that_a_ranker_has_learned(ax, log, ranker):
    X = np.random.default_rng(0).normal(size=(len(log.clicks), 2))
    with pytest.raises(NotFittedError):
        PropensityCurveDisplay.from_estimator(ranker)
    ranker.fit(X, log.clicks, groups=log.sessions, positions=log.positions)
    display = PropensityCurveDisplay.from_estimator(
        ranker, true_propensities=log.propensities, ax=ax
    )
    bias, curves = ranker.position_bias_, list(display.propensities.values())
    expected = bias if bias.ndim == 2 else [np.exp(2.0 * bias)]
    assert_allclose(curves, expected, rtol=1e-15)
    names = ["t+ (clicked)", "t- (not clicked)"] if bias.ndim == 2 else ["exp(bias)"]
    assert legend_of(display) == ["true", *names]
    assert ax.get_ylabel() == "propensity"
    assert_text_is_readable(display.figure_)


def test_a_ranker_without_a_position_bias_has_no_curve(mart):
    with pytest.raises(NotFittedError, match="has learned no position_bias"):
        PropensityCurveDisplay.from_estimator(mart)
