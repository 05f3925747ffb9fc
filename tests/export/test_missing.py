"""Where missing values go in other programs: the way of 0, or of what an imputer says.

Each format is scored by its library, or by the reader that stands for its engine.
"""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, export
from sklearn_ltr.mart import MARTClassifier
from tests.export.models import GROUPS, TREES, grades, numbers, onnx_session, served
from tests.export.readers import elastic, plugin, ranklib, solr, vespa

NAMES = ["a", "b c", "d", "e"]
GIVEN: dict[str, Any] = {
    "name": "m",
    "feature_set": "f",
    "features": {name: {} for name in NAMES},
}
WRITERS = [name for name in export.__all__ if name.startswith("to_")]
OWN = {"to_json", "to_tree_model"}  # which hold what `predict` does with missing values


def lightgbm_scores(text, X):
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.Booster(model_str=text).predict(X, raw_score=True)


def xgboost_scores(text, X):
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.Booster()
    booster.load_model(bytearray(text, "utf-8"))
    rows = xgboost.DMatrix(X, feature_names=booster.feature_names)
    return booster.predict(rows, output_margin=True)


def catboost_scores(text, X, tmp_path):
    catboost = pytest.importorskip("catboost")
    (tmp_path / "model.json").write_text(text)
    model = catboost.CatBoost().load_model(str(tmp_path / "model.json"), format="json")
    return model.predict(X, prediction_type="RawFormulaVal")


def treelite_scores(model, X):
    treelite = pytest.importorskip("treelite")
    return treelite.gtil.predict(model, X, pred_margin=True, nthread=1).ravel()


def plugin_scores(trees, X):
    definition = json.dumps({"objective": "rank:pairwise", "splits": trees})
    model = {"type": "model/xgboost+json", "definition": definition}
    return plugin.predict({"model": {"name": "m", "model": model}}, NAMES, X)


SCORES = {
    "to_catboost": catboost_scores,
    "to_elasticsearch_ltr": lambda m, X: plugin.predict(m[-1].body, NAMES, X),
    "to_elasticsearch_ml": lambda m, X: elastic.predict(m[0].body, X),
    "to_json": lambda text, X: export.from_json(text).predict(X),
    "to_lightgbm": lightgbm_scores,
    "to_onnx": lambda m, X: onnx_session(m).run(["scores"], {"X": X})[0],
    "to_ranklib": lambda text, X: ranklib.predict(text, X.astype(np.float32)),
    "to_solr": lambda m, X: solr.predict(m[-1].body, NAMES, X.astype(np.float32)),
    "to_tree_model": lambda m, X: export.from_tree_model(m).predict(X),
    "to_treelite": treelite_scores,
    "to_vespa": vespa.predict,
    "to_xgboost": xgboost_scores,
    "to_xgboost_dump": lambda text, X: plugin_scores(json.loads(text), X),
}


def scores(name, model, X, tmp_path, **options):
    """Return what the program of a writer makes of a model."""
    if name == "to_onnx":
        pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")
    if name == "to_treelite":
        pytest.importorskip("treelite")
    writer = getattr(export, name)
    taken = inspect.signature(writer).parameters
    given = {n: value for n, value in (GIVEN | options).items() if n in taken}
    folder = {"tmp_path": tmp_path} if name == "to_catboost" else {}
    if name == "to_solr" and given.get("missing") != "zero":
        given["features"] = {n: {"defaultValue": "NaN"} for n in NAMES}
    X = X if name in OWN else X.to_numpy()
    return SCORES[name](writer(model, **given), X, **folder)


def rows():
    """Rows with missing values in all columns, as float32 holds them."""
    X = numbers()[:, :4].astype(np.float32).astype(np.float64)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    return pd.DataFrame(X, columns=NAMES)


@cache
def fitted():
    """Return trees that send missing values elsewhere than 0; few conditions each."""
    trees = TREES | {"max_leaf_nodes": 4}
    X, y = rows(), grades(numbers())
    return LambdaMARTRanker(**trees).fit(X, y, groups=GROUPS)


def assert_close(found, expected):
    """Sums of some engines are in float32."""
    atol = 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(np.ravel(found), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("name", [n for n in WRITERS if n not in OWN])
def test_missing_values_are_the_number_0(name, tmp_path):
    X, model = rows(), fitted()
    expected = model.predict(X.fillna(0.0))
    assert np.abs(expected - model.predict(X)).max() > 0.1
    assert_close(scores(name, model, X, tmp_path, missing="zero"), expected)
    if name == "to_ranklib":
        return
    assert_close(scores(name, model, X, tmp_path), model.predict(X))
    with pytest.raises(ValueError, match="missing must be one of .'branch', 'zero'."):
        scores(name, model, X, tmp_path, missing="nan")


IMPUTERS = {
    "0": SimpleImputer(strategy="constant", fill_value=0),
    "a number": SimpleImputer(strategy="constant", fill_value=-0.75),
    "the mean": SimpleImputer(),
    "the median": SimpleImputer(strategy="median"),
    "the most frequent": SimpleImputer(strategy="most_frequent"),
    "above all": SimpleImputer(strategy="constant", fill_value=3e38),
}


@cache
def imputed(imputer):
    X = rows()
    pipeline = make_pipeline(clone(IMPUTERS[imputer]), "passthrough", clone(fitted()))
    return pipeline.fit(X, grades(numbers()), lambdamartranker__groups=GROUPS)


@pytest.mark.parametrize("imputer", IMPUTERS)
@pytest.mark.parametrize("name", WRITERS)
def test_missing_values_are_what_an_imputer_puts_in(name, imputer, tmp_path):
    X, pipeline = rows(), imputed(imputer)
    expected = pipeline.predict(X)
    if name == "to_ranklib" and imputer != "0":
        with pytest.raises(ValueError, match="another way than the number 0"):
            scores(name, imputed("above all"), X, tmp_path)
        return
    assert_close(scores(name, pipeline, X, tmp_path), expected)


def test_opensearch_3_2_to_3_7_sends_missing_values_the_way_of_large_numbers():
    X, pipeline = rows(), imputed("above all")
    trees = json.loads(export.to_xgboost_dump(pipeline))
    stack = list(trees)
    while stack:  # these versions send them to "no", whatever the model says
        node = stack.pop()
        if "split" in node:
            assert node["missing"] == node["no"]
            stack += node["children"]
    assert_close(plugin_scores(trees, X.to_numpy()), pipeline.predict(X))


def test_a_warm_start_does_not_continue_trees_after_an_imputer():
    again = export.from_json(export.to_json(imputed("0")))
    again.set_params(warm_start=True, n_estimators=99)
    X = rows()
    with pytest.raises(ValueError, match="init"):
        again.fit(X, grades(numbers()), groups=GROUPS)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(clip=True)])
@pytest.mark.parametrize("last", ["trees", "network"])
@pytest.mark.parametrize("missing", ["branch", "zero"])
def test_onnx_puts_numbers_in_before_it_scales(scaler, last, missing, tmp_path):
    model = clone(fitted()) if last == "trees" else LambdaRankRanker(max_iter=2)
    X = rows()
    pipeline = make_pipeline(SimpleImputer(), scaler, SimpleImputer(), model)
    pipeline.fit(
        X, grades(numbers()), **{f"{type(model).__name__.lower()}__groups": GROUPS}
    )
    expected = pipeline.predict(X.fillna(0.0) if missing == "zero" else X)
    assert_close(scores("to_onnx", pipeline, X, tmp_path, missing=missing), expected)


@pytest.mark.parametrize("name", ["to_elasticsearch_ltr", "to_solr"])
def test_engines_take_a_missing_value_for_0_in_networks(name, tmp_path):
    X = rows()
    network = LambdaRankRanker(hidden_layer_sizes=(), max_iter=2, random_state=0)

    def pipeline(*steps):
        made = make_pipeline(*map(clone, steps), clone(network))
        return made.fit(X, grades(numbers()), lambdarankranker__groups=GROUPS)

    zero = clone(IMPUTERS["0"])
    for steps in ([zero], [zero, StandardScaler()]):
        model = pipeline(*steps)
        found = scores(name, model, X.fillna(0.0), tmp_path, missing="zero")
        assert_close(found, model.predict(X))
    with pytest.raises(ValueError, match="takes a missing value for 0 in networks"):
        scores(name, pipeline(SimpleImputer()), X, tmp_path)
    with pytest.raises(ValueError, match="use one scaler, and before it"):
        scores(name, pipeline(StandardScaler(), zero), X, tmp_path)
    with pytest.raises(ValueError, match="missing must be one of"):
        scores(name, pipeline(zero), X, tmp_path, missing="nan")


def test_other_imputers_are_refused_and_told_what_to_do():
    X, y = rows(), grades(numbers())

    def write(imputer, table=X):
        pipeline = make_pipeline(imputer, clone(fitted()))
        pipeline.fit(table, y, lambdamartranker__groups=GROUPS)
        return export.to_lightgbm(pipeline)

    with pytest.raises(TypeError, match="give its last step.* unless they are a Simpl"):
        write(KNNImputer())
    for imputer in (
        SimpleImputer(add_indicator=True),
        SimpleImputer(missing_values=-1.0),
    ):
        with pytest.raises(ValueError, match="'simpleimputer' of the Pipeline must"):
            write(imputer, X.fillna(0.0))
    with pytest.warns(UserWarning, match="without any observed"):
        pipeline = make_pipeline(SimpleImputer(), clone(fitted()))
        pipeline.fit(X.assign(f=np.nan), y, lambdamartranker__groups=GROUPS)
    with pytest.raises(ValueError, match="leaves out column 4"):
        export.to_lightgbm(pipeline)


def test_categories_go_the_same_way_with_zero_and_not_after_an_imputer():
    model = served()["categories"]
    assert model is not None
    described = export.to_tree_model(model)
    zero = described.with_missing_as(0.0)
    for one, other in zip(described.trees, zero.trees, strict=True):
        nodes = list(one.left_categories)
        assert (one.missing_left[nodes] == other.missing_left[nodes]).all()
    X = numbers()[:, [2]] + 2
    trees = LambdaMARTRanker(**TREES, categorical_features=[0])
    pipeline = make_pipeline(SimpleImputer(strategy="most_frequent"), trees)
    pipeline.fit(X, grades(numbers()), lambdamartranker__groups=GROUPS)
    with pytest.raises(ValueError, match="fit the trees without the imputer"):
        export.to_lightgbm(pipeline)


def test_a_classifier_after_an_imputer(tmp_path):
    X = rows()
    model = MARTClassifier(**TREES | {"max_leaf_nodes": 4}, sigma=0.7)
    pipeline = make_pipeline(clone(IMPUTERS["0"]), model).fit(X, grades(numbers()) > 1)
    expected = pipeline.decision_function(X)
    for name in ("to_lightgbm", "to_onnx"):
        assert_close(scores(name, pipeline, X, tmp_path), expected)
