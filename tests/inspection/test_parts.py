"""Models within calibration, searches, bags and blends: explained, or named."""

from __future__ import annotations

from functools import cache

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.export import to_lightgbm, to_onnx
from sklearn_ltr.inspection import (
    ScoreRegressor,
    local_optimality,
    model_report,
    shap_values,
    split_counts,
    trees_to_dataframe,
)
from sklearn_ltr.model_selection import RankerSearch
from sklearn_ltr.plotting import (
    FeatureImportancesDisplay,
    GradeReliabilityDisplay,
    PropensityCurveDisplay,
    ShapBeeswarmDisplay,
    TrainingCurveDisplay,
    TreeDisplay,
    WeightCurvesDisplay,
)
from sklearn_ltr.scorers import make_ranking_scorer

mpl.use("Agg")
DATA = make_ranking(20, n_features=4, n_informative=2, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
NETWORK = LambdaRankRanker(max_iter=1, hidden_layer_sizes=(2,), random_state=0)
TREES = LambdaMARTRanker(
    n_estimators=2, min_samples_leaf=3, max_leaf_nodes=4, verbose=0, random_state=0,
    scoring=["ndcg"],
)  # fmt: skip


@pytest.fixture(autouse=True)
def figures_are_closed():
    yield
    plt.close("all")


def calibrated(ranker=TREES):
    return CalibratedRanker(ranker, cv=2)


def grid(ranker, **grid):
    scoring = make_ranking_scorer("ndcg@10")
    return GridSearchCV(ranker, grid, cv=GroupKFold(2), scoring=scoring)


def two(ranker=TREES):
    return BlendedRanker([("one", ranker), ("other", ranker)])


OF_TREES = {
    "calibration": calibrated(),
    "calibration of a Pipeline": calibrated(make_pipeline(StandardScaler(), TREES)),
    "a Pipeline of calibration": make_pipeline(StandardScaler(), calibrated()),
    "calibration of a bag": calibrated(BaggingRanker(TREES, n_estimators=2)),
    "calibration of a search": calibrated(
        RankerSearch(TREES, n_iter=1, cv=2, blend=False)
    ),
    "a search of calibration": grid(calibrated(), method=["isotonic", "sigmoid"]),
}
OTHERS = {
    "a bag of networks": BaggingRanker(NETWORK, n_estimators=2),
    "a blend": two(),
    "calibration of a blend": calibrated(two()),
    "calibration of a network": calibrated(NETWORK),
    "a bag": BaggingRanker(TREES, n_estimators=2),
    "a search": RankerSearch(TREES, n_iter=1, cv=2, blend=False),
    "a grid": grid(TREES, max_leaf_nodes=[3, 4]),
}


@cache
def fitted(name):
    with sklearn.config_context(enable_metadata_routing=True):
        return (OF_TREES | OTHERS)[name].fit(X, Y, groups=GROUPS)


def report_of(model):
    return model_report(model, X, Y, groups=GROUPS)._repr_html_()


@cache
def report(name):
    return report_of(fitted(name))


@pytest.mark.parametrize("name", OF_TREES)
def test_what_explains_trees_takes_the_trees_of_calibrated_rankers(name):
    model = fitted(name)
    for background in (None, X[:20]):
        explained = shap_values(model, X[:5], background=background)
        total = explained.values.sum(axis=1) + explained.bias
        assert_allclose(total, model.predict(X[:5]), atol=1e-12)
    tests = trees_to_dataframe(model)["feature"].notna().sum()
    assert split_counts(model).sum() == tests
    shown = FeatureImportancesDisplay.from_estimator(model)
    assert_allclose(shown.importances.sum(), 1.0)
    assert ShapBeeswarmDisplay.from_estimator(model, X).figure_ is not None
    assert TreeDisplay.from_estimator(model, tree=0).figure_ is not None
    text = report(name)
    assert "SHAP" in text and "calibrated by" in text


@pytest.mark.parametrize("name", OF_TREES)
def test_frozen_models_are_explained_as_the_model_within(name):
    for frozen in (FrozenEstimator(fitted(name)), ScoreRegressor(fitted(name))):
        explained = shap_values(frozen, X[:5]).values
        assert_array_equal(explained, shap_values(fitted(name), X[:5]).values)
        assert report_of(frozen) == report(name)


def test_curves_and_weights_are_those_of_the_calibrated_ranker():
    ranker = clone(TREES).set_params(verbose=1)
    model = calibrated(ranker).fit(X, Y, groups=GROUPS)
    assert TrainingCurveDisplay.from_estimator(model).curves["train"]
    network = fitted("calibration of a network")
    found = local_optimality(network, X, Y, groups=GROUPS, random_state=0)
    expected = local_optimality(network.ranker_, X, Y, groups=GROUPS, random_state=0)
    assert found.value == expected.value


def test_attributes_of_a_part_are_named():
    for name, part in {
        "calibration": "ranker_",
        "calibration of a Pipeline": r"ranker_\.steps\[-1\]\[1\]",
        "calibration of a bag": r"ranker_\.estimators_\[0\]",
        "calibration of a search": r"ranker_\.best_estimator_",
        "a blend": r"rankers_\[0\]",
        "a bag": r"estimators_\[0\]",
        "a search": "best_estimator_",
    }.items():
        message = rf"has no attribute 'apply' \(take that of its {part}\)$"
        with pytest.raises(AttributeError, match=message):
            fitted(name).apply(X)
    for name in ("calibration", "a blend", "a search"):
        with pytest.raises(AttributeError, match=r"feature_importances_' \(take that"):
            fitted(name).feature_importances_  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'no_such'$"):
        fitted("calibration").no_such  # noqa: B018
    for unfitted in (calibrated(), two(), BaggingRanker(), RankerSearch()):
        with pytest.raises(AttributeError, match="no attribute"):
            unfitted.apply  # noqa: B018
        assert not hasattr(unfitted, "n_features_in_")


@pytest.mark.parametrize(
    ("name", "call", "message"),
    [
        ("a blend", split_counts, r"BlendedRanker .*\(take its rankers_\[0\]\)"),
        ("calibration of a blend", lambda m: shap_values(m, X), r"take its rankers_"),
        ("a blend", FeatureImportancesDisplay.from_estimator, r"take its rankers_"),
        ("a bag", TrainingCurveDisplay.from_estimator, r"take its estimators_\[0\]"),
        (
            "a bag of networks",
            lambda m: WeightCurvesDisplay.from_estimator(m, X, Y, groups=GROUPS),
            r"take its estimators_\[0\]",
        ),
        (
            "a Pipeline of calibration",
            lambda m: GradeReliabilityDisplay.from_estimator(m, X, Y, groups=GROUPS),
            r"Pipeline \(take its steps\[-1\]\[1\]\)",
        ),
        ("a grid", to_lightgbm, "GridSearchCV: give its best_estimator_"),
        ("a grid", to_onnx, "GridSearchCV: give its best_estimator_"),
        ("a grid", lambda m: to_lightgbm(FrozenEstimator(m)), "give its estimator$"),
        ("a blend", to_lightgbm, "give each of its rankers_, and add their scores"),
        (
            "a bag of networks",
            to_lightgbm,
            "each of its estimators_, and take the mean",
        ),
    ],
)
def test_errors_name_the_part_to_take(name, call, message):
    with pytest.raises(TypeError, match=message):
        call(fitted(name))


def test_a_blend_is_the_sum_that_its_error_names():
    blend = fitted("a blend")
    scores = [ranker.predict(X) for ranker in blend.rankers_]
    assert_allclose(blend.weights_ @ scores, blend.predict(X), atol=1e-12)
    bag = fitted("a bag of networks")
    mean = np.mean([member.predict(X) for member in bag.estimators_], axis=0)
    assert_allclose(bag.predict(X), mean, atol=1e-12)


def test_the_bias_of_positions_of_a_calibrated_ranker_is_drawn():
    order = np.argsort(GROUPS, kind="stable")
    positions = np.empty(len(Y), int)
    positions[order] = np.concatenate([np.arange(n) for n in np.bincount(GROUPS)])
    ranker = clone(TREES).set_params(position_bias="pairwise")
    model = calibrated(ranker).fit(X, Y > 1, groups=GROUPS, positions=positions)
    drawn = PropensityCurveDisplay.from_estimator(model)
    assert_array_equal(
        drawn.propensities["t+ (clicked)"], model.ranker_.position_bias_[0]
    )
