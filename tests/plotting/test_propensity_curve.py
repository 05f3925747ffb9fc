"""Curves of propensities are those of the click models."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.clicks import (
    DynamicBayesianNetwork,
    InterventionHarvesting,
    PositionBasedModel,
)
from sklearn_ltr.plotting import PropensityCurveDisplay
from tests.clicks.logs import fit, simulated
from tests.plotting.layout import assert_text_is_readable


def labels(display):
    return [text.get_text() for text in display.legend_.get_texts()]


@pytest.fixture(scope="module")
def log():
    return simulated(n_sessions=1500, n_queries=20)


def test_the_numbers_are_those_of_the_models(ax, log):
    models = [fit(PositionBasedModel(), log), fit(InterventionHarvesting(), log)]
    display = PropensityCurveDisplay.from_estimators(
        models, true_propensities=log.propensities, ax=ax, curve_kwargs={"lw": 3}
    )
    assert display.ax_ is ax
    for model, bars in zip(models, display.lines_, strict=True):
        line, _, (errors,) = bars
        assert_array_equal(line.get_xdata(), np.arange(10))
        assert_array_equal(line.get_ydata(), model.propensities_)
        assert line.get_linewidth() == 3
        low, high = np.array(errors.get_segments())[:, :, 1].T
        np.testing.assert_allclose((high - low) / 2, model.standard_errors_)
    assert_array_equal(display.true_line_.get_ydata(), log.propensities)
    assert labels(display) == ["true", "PositionBasedModel", "InterventionHarvesting"]
    assert ax.get_ylabel() == "propensity ± standard error"
    assert_text_is_readable(display.figure_)


def test_a_model_without_standard_errors_has_no_bars(ax):
    log = simulated("dbn", n_sessions=500, n_queries=10)
    model = fit(DynamicBayesianNetwork(), log)
    display = PropensityCurveDisplay.from_estimators({"a$ b$": model}, ax=ax)
    assert display.standard_errors == {}
    assert display.true_line_ is None
    assert labels(display) == [r"a\$ b\$"]
    assert ax.get_ylabel() == "propensity"


def test_models_must_be_fitted_and_named(log):
    with pytest.raises(NotFittedError):
        PropensityCurveDisplay.from_estimators([PositionBasedModel()])
    with pytest.raises(ValueError, match="two of one class"):
        PropensityCurveDisplay.from_estimators([PositionBasedModel()] * 2)


@pytest.mark.parametrize("kind", ["additive", "pairwise", "additive of a network"])
def test_the_bias_that_a_ranker_has_learned(ax, log, kind):
    X = np.random.default_rng(0).normal(size=(len(log.clicks), 2))
    options = {"position_bias": kind.split()[0], "sigma": 2.0}
    ranker = LambdaMARTRanker(n_estimators=3, **options)
    if kind == "additive of a network":
        ranker = LambdaRankRanker(max_iter=1, **options)
    with pytest.raises(NotFittedError):
        PropensityCurveDisplay.from_estimator(ranker)
    ranker.fit(X, log.clicks, groups=log.sessions, positions=log.positions)
    display = PropensityCurveDisplay.from_estimator(
        ranker, true_propensities=log.propensities, ax=ax
    )
    bias, curves = ranker.position_bias_, list(display.propensities.values())
    expected = bias if kind == "pairwise" else [np.exp(2.0 * bias)]
    np.testing.assert_allclose(curves, expected, rtol=1e-15)
    names = ["t+ (clicked)", "t- (not clicked)"] if bias.ndim == 2 else ["exp(bias)"]
    assert labels(display) == ["true", *names]
    assert ax.get_ylabel() == "propensity"
    assert_text_is_readable(display.figure_)


def test_a_ranker_without_a_position_bias_has_no_curve(log):
    X = np.random.default_rng(0).normal(size=(len(log.clicks), 2))
    ranker = LambdaMARTRanker(n_estimators=1).fit(X, log.clicks, groups=log.sessions)
    with pytest.raises(NotFittedError):
        PropensityCurveDisplay.from_estimator(ranker)
