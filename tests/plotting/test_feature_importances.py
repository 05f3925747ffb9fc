"""Bars show the features that they are labelled with."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.metrics import ndcg_score
from sklearn_ltr.plotting import (
    FeatureImportancesDisplay,
)
from tests.plotting.conftest import assert_text_is_readable, labels, widths

ROUNDING = {"rtol": 1e-9, "atol": 1e-12}


def test_the_importances_of_a_ranker_are_its_fractions_of_the_gain(ax, mart):
    display = FeatureImportancesDisplay.from_estimator(mart, ax=ax)
    importances = mart.feature_importances_
    assert_array_equal(widths(display), np.sort(importances)[::-1])
    assert labels(ax.yaxis)[0] == f"x{np.argmax(importances)}"
    assert ax.get_xlabel() == "fraction of the gain of all splits"
    assert ax.get_title() == ""
    # equal ones by index
    display = FeatureImportancesDisplay([0.1, -0.2, 0.7, 0.1, 0.3])
    assert_array_equal(display.order, [2, 4, 0, 3, 1])


def test_permutation_importances_have_error_bars(ax, data, mart):
    X, y, groups = data.test.values()

    def score(ranker, X, y):
        return ndcg_score(y, ranker.predict(X), groups=groups, k=5)

    result = permutation_importance(
        mart, X, y, scoring=score, n_repeats=3, random_state=0
    )
    names = [f"feature {i}" for i in range(8)]
    display = FeatureImportancesDisplay.from_importances(
        result, feature_names=names, ax=ax
    )
    means, deviations = result.importances.mean(axis=1), result.importances.std(1)
    order = np.argsort(-means, kind="stable")
    assert_array_equal(display.order, order)
    assert labels(ax.yaxis) == [names[feature] for feature in order]
    assert_allclose(widths(display), means[order])
    segments = display.bars_.errorbar.lines[2][0].get_segments()
    expected = np.stack([means - deviations, means + deviations], axis=1)[order]
    assert_allclose([s[:, 0] for s in segments], expected, rtol=1e-12, atol=1e-15)
    assert "shuffled" in ax.get_xlabel()
    assert_text_is_readable(display.figure_)


def test_names_come_through_pipelines_and_searches(ax, data):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(data.train["X"], columns=list("abcdefgh"))
    selected = ColumnTransformer(
        [("scaled", StandardScaler(), ["d", "b"]), ("as_is", "passthrough", ["a"])]
    ).fit(X)
    ranker = LambdaMARTRanker(n_estimators=2, random_state=0)
    inner = make_pipeline(StandardScaler(), ranker)
    groups = {"lambdamartranker__groups": data.train["groups"]}
    inner.fit(selected.transform(X), data.train["y"], **groups)
    pipeline = make_pipeline(selected, inner)
    for estimator in (pipeline, Bunch(best_estimator_=pipeline)):
        display = FeatureImportancesDisplay.from_estimator(estimator, ax=ax)
        expected = ["scaled__d", "scaled__b", "as_is__a"]
        assert_array_equal(display.feature_names, expected)


def test_only_the_most_important_features_are_shown(ax):
    importances = np.random.default_rng(0).random(30)
    display = FeatureImportancesDisplay(importances)
    options = {20: {}, 3: {"n_features": 3}, 30: {"n_features": None}}
    for n_bars, chosen in options.items():
        display.plot(ax, **chosen)
        assert_array_equal(widths(display), np.sort(importances)[::-1][:n_bars])
        assert ax.get_title() == (f"{n_bars} of 30 features" if n_bars < 30 else "")
        tops = [bar.get_window_extent().y1 for bar in display.bars_]
        assert tops == sorted(tops, reverse=True)
        ax.clear()


@pytest.mark.parametrize(
    ("importances", "names"),
    [
        (np.zeros(3), None),
        ([0.2, -0.1], ["from $} to ${", "a name " * 20]),
        (np.linspace(1, 0, 250), None),
    ],
    ids=["no splits", "special characters and a long name", "250 features"],
)
def test_importances_are_readable(importances, names):
    display = FeatureImportancesDisplay(importances, feature_names=names)
    display.plot(n_features=None)
    assert_text_is_readable(display.figure_)
    assert display.figure_.get_figheight() < 62  # 1 inch, and 0.24 for each name
    assert len(display.bars_) == len(importances)


def test_a_long_name_is_shortened_in_the_middle(ax):
    name = "term frequency of the query in the body, normalised by its length"
    FeatureImportancesDisplay([1.0], feature_names=[name]).plot(ax)
    (shown,) = labels(ax.yaxis)
    head, tail = shown.split("…")
    assert len(shown) == 32
    assert name.startswith(head) and name.endswith(tail)
    assert len(head) - len(tail) in (0, 1)


def test_what_has_no_importances_is_refused(ax, ranknet):
    for n_features in (0, -1, 2.5, "all", True):
        message = "n_features must be an integer >= 1 or None, got"
        with pytest.raises(ValueError, match=message):
            FeatureImportancesDisplay([1, 2]).plot(ax, n_features=n_features)
    message = (
        "RankNetRanker has no feature_importances_: call sklearn.inspection."
        "permutation_importance, .* FeatureImportancesDisplay.from_importances"
    )
    with pytest.raises(TypeError, match=message):
        FeatureImportancesDisplay.from_estimator(ranknet)
    one = Bunch(importances_mean=[1.0], importances_std=[0.1])
    message = r"give the result of one of \['ndcg', 'map'\]"
    with pytest.raises(TypeError, match=message):
        FeatureImportancesDisplay.from_importances({"ndcg": one, "map": one})
    with pytest.raises(TypeError, match="result must be what .* got <class 'list'>"):
        FeatureImportancesDisplay.from_importances([1.0])
