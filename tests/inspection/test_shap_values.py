"""SHAP values of fitted models: they sum to the scores, and equal those of peers."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.export import from_lightgbm, to_lightgbm
from sklearn_ltr.inspection import ShapValues, shap_values
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.oracles import shapley as oracle

DATA = make_ranking(40, n_features=5, n_informative=3, missing=0.1, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
FEW = X[:30]
TREES = {
    "n_estimators": 2 if INTERPRETED else 8,
    "max_leaf_nodes": 8,
    "random_state": 0,
}
BACKGROUNDS = {"path-dependent": None, "interventional": X[100:120]}
ROUNDING = {"rtol": 1e-9, "atol": 1e-12}

kinds = pytest.mark.parametrize("kind", BACKGROUNDS)


@pytest.fixture(scope="module")
def ranker():
    return LambdaMARTRanker(**TREES).fit(X, Y, groups=GROUPS)


def assert_sums_to(scores, result) -> None:
    assert_allclose(result.contributions.sum(axis=1), scores, **ROUNDING)
    assert result.values.shape == (len(scores), len(result.feature_names))


# --- the values -------------------------------------------------------------------


@kinds
@pytest.mark.parametrize(
    ("model", "scores"),
    [
        (LambdaMARTRanker(**TREES), "predict"),
        (LambdaMARTRanker(**TREES, subsample=0.5), "predict"),
        (MARTRegressor(**TREES), "predict"),
        (MARTClassifier(**TREES), "decision_function"),
        (BaggingRanker(LambdaMARTRanker(**TREES), 3, random_state=0), "predict"),
    ],
    ids=["LambdaMART", "subsample", "regressor", "classifier", "bagging"],
)
def test_values_and_bias_sum_to_the_scores(model, scores, kind):
    is_classifier = isinstance(model, MARTClassifier)
    given = (
        {} if isinstance(model, MARTClassifier | MARTRegressor) else {"groups": GROUPS}
    )
    model.fit(X, Y > 1 if is_classifier else Y, **given)
    before = pickle.dumps(model)
    result = shap_values(model, FEW, background=BACKGROUNDS[kind])
    assert isinstance(result, ShapValues)
    assert_sums_to(getattr(model, scores)(FEW), result)
    assert pickle.dumps(model) == before


def test_the_bias_is_the_mean_score_of_the_background(ranker):
    background = BACKGROUNDS["interventional"]
    result = shap_values(ranker, FEW, background=background)
    assert_allclose(result.bias, ranker.predict(background).mean(), **ROUNDING)
    regressor = MARTRegressor(n_estimators=1, learning_rate=1.0).fit(X, Y)
    assert_allclose(shap_values(regressor, FEW).bias, Y.mean(), rtol=1e-6)


def test_what_a_base_model_or_given_scores_add_is_left_out():
    dense = np.nan_to_num(X)
    base = Ridge().fit(dense, Y)
    model = LambdaMARTRanker(**TREES, init=base).fit(dense, Y, groups=GROUPS)
    added = model.predict(dense[:30]) - base.predict(dense[:30])
    assert_sums_to(added, shap_values(model, dense[:30]))
    given = base.predict(dense)
    model = LambdaMARTRanker(**TREES).fit(dense, Y, groups=GROUPS, init_score=given)
    added = model.predict(dense[:30], init_score=given[:30]) - given[:30]
    assert_sums_to(added, shap_values(model, dense[:30]))


@kinds
def test_text_categories_have_one_value_together(kind):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    site = np.array(["news", "shop", "wiki", "blog", "mail"])[Y.astype(int) % 5]
    site = np.where(rng.uniform(size=len(Y)) < 0.3, "news", site)
    frame = pandas.DataFrame({"length": X[:, 0], "site": site, "age": X[:, 1]})
    model = LambdaMARTRanker(**TREES, categorical_features=["site"])
    model.fit(frame, Y, groups=GROUPS)
    rows = frame[:20].copy()
    rows.loc[3, "site"] = "unseen"
    background = None if BACKGROUNDS[kind] is None else frame[50:70]
    result = shap_values(model, rows, background=background)
    assert_sums_to(model.predict(rows), result)
    assert result.feature_names == ["length", "site", "age"]
    assert result.values[:, 1].any()
    assert result.X is rows


def test_pipelines_and_searches_explain_what_their_last_step_is_given():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    pipeline = make_pipeline(StandardScaler(), LambdaMARTRanker(**TREES))
    pipeline.fit(frame, Y, lambdamartranker__groups=GROUPS)
    for estimator in (pipeline, Bunch(best_estimator_=pipeline)):
        for background in (None, frame[:9]):
            result = shap_values(estimator, frame[:30], background=background)
            assert_sums_to(pipeline.predict(frame[:30]), result)
            assert result.feature_names == list("abcde")
            assert_array_equal(result.X, pipeline[0].transform(frame[:30]))


# --- peers ------------------------------------------------------------------------


def as_dicts(trees: TreeEnsemble) -> list[dict]:
    """The trees as shap.TreeExplainer takes them."""
    parts = (trees.part(number, number + 1) for number in range(len(trees)))
    return [
        {
            "children_left": tree.left,
            "children_right": tree.right,
            "children_default": np.where(tree.missing_left, tree.left, tree.right),
            "features": tree.feature,
            "thresholds": tree.threshold,
            "values": tree.value[:, np.newaxis],
            "node_sample_weight": np.array(
                [oracle.n_training_rows(tree, i) for i in range(len(tree.feature))],
                dtype=np.float64,
            ),
        }
        for tree in parts
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@kinds
def test_values_are_those_of_the_package_shap(kind, ranker):
    shap = pytest.importorskip("shap")
    trees, background = as_dicts(ranker.ensemble_), BACKGROUNDS[kind]
    explainer = shap.TreeExplainer(
        {"trees": trees, "input_dtype": np.float64, "internal_dtype": np.float64},
        data=background,
        feature_perturbation=(
            "tree_path_dependent" if background is None else "interventional"
        ),
    )
    result = shap_values(ranker, FEW, background=background)
    # with a background shap differs from the definition by about 1e-8
    rtol, atol = (1e-9, 1e-12) if background is None else (1e-5, 1e-7)
    expected = explainer.shap_values(FEW, check_additivity=False)
    assert_allclose(result.values, expected, rtol=rtol, atol=atol)
    assert_allclose(result.bias, explainer.expected_value, rtol=rtol, atol=atol)


@pytest.mark.parametrize("n_leaves", [4, 31])
def test_values_are_those_of_lightgbm_on_its_trees(n_leaves):
    pytest.importorskip("pandas")
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(X, label=Y)
    options = {"num_leaves": n_leaves, "verbosity": -1, "num_threads": 1}
    options |= {"min_data_in_leaf": 5, "boost_from_average": False}
    booster = lightgbm.train(options, data, num_boost_round=10)
    rows = X[: 10 if INTERPRETED else 300]
    result = shap_values(from_lightgbm(booster), rows)
    expected = booster.predict(rows, pred_contrib=True)
    assert_allclose(result.contributions, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_tree_explainer_takes_the_model_as_lightgbms_and_does_not_know_ours(ranker):
    # shap 0.48 asks a booster that was read from text for parameters it has not
    shap = pytest.importorskip("shap", minversion="0.51")
    lightgbm = pytest.importorskip("lightgbm")
    # as the guide and the frequent questions say
    with pytest.raises(Exception, match="Model type not yet supported"):
        shap.TreeExplainer(ranker)
    explainer = shap.TreeExplainer(lightgbm.Booster(model_str=to_lightgbm(ranker)))
    result = shap_values(ranker, FEW)
    assert_allclose(explainer.shap_values(FEW), result.values, rtol=1e-9, atol=1e-12)
    assert_allclose(explainer.expected_value, result.bias, rtol=1e-9)


# --- the result -------------------------------------------------------------------


def test_a_difference_tells_why_one_document_is_above_another(ranker):
    result, scores = shap_values(ranker, FEW), ranker.predict(FEW)
    difference = result.difference(3, -1)
    assert_allclose(difference.sum(), scores[3] - scores[-1], **ROUNDING)
    assert_array_equal(difference, result.values[3] - result.values[29])
    assert_array_equal(result.row(-1), result.values[29])
    assert_array_equal(result.row(np.int64(2)), result.values[2])


@pytest.mark.parametrize("table", [FEW, csr_matrix(np.nan_to_num(FEW)), FEW.tolist()])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_plots_of_shap_take_the_result(ranker, table):
    shap = pytest.importorskip("shap")
    result = shap_values(ranker, table)
    explanation = result.to_explanation()
    assert isinstance(explanation, shap.Explanation)
    assert_array_equal(explanation.values, result.values)
    assert_array_equal(explanation.base_values, np.full(30, result.bias))
    dense = table.toarray() if hasattr(table, "toarray") else table
    assert_array_equal(explanation.data, dense)
    assert explanation.feature_names == [f"x{i}" for i in range(5)]
    assert explanation[3].values.shape == (5,)
    import matplotlib.pyplot as plt

    shap.plots.waterfall(explanation[3], show=False)
    plt.close("all")


# --- what cannot be explained -----------------------------------------------------


def test_without_shap_the_error_says_what_to_install(ranker, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r"requires shap: .* pip install shap"):
        shap_values(ranker, FEW).to_explanation()


def test_no_rows_have_no_values(ranker):
    result = shap_values(ranker, X[:0])
    assert result.values.shape == (0, X.shape[1])
    assert result.bias == shap_values(ranker, FEW).bias
    with pytest.raises(ValueError, match="background has no rows"):
        shap_values(ranker, FEW, background=X[:0])


def test_bags_without_trees_are_refused_with_advice():
    dense = np.nan_to_num(X)
    bagging = BaggingRanker(Ridge(), 2).fit(dense, Y, groups=GROUPS)
    with pytest.raises(TypeError, match=r"estimators_\[0\] is a Ridge"):
        shap_values(bagging, dense)
    with pytest.raises(NotFittedError, match="not fitted"):
        shap_values(BaggingRanker(LambdaMARTRanker()), dense)
