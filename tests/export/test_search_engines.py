"""Models in search engines: what their readers, rebuilt here, make of our requests."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from sklearn_ltr import LambdaRankRanker
from sklearn_ltr.export import (
    Feature,
    Tree,
    TreeModel,
    from_tree_model,
    to_elasticsearch_ltr,
    to_elasticsearch_ml,
    to_ranklib,
    to_solr,
    to_tree_model,
    to_vespa,
    to_xgboost_dump,
)
from sklearn_ltr.export._search_engines import (
    elastic_nodes,
    less_slack,
    tree_missing_right,
)
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.preprocessing import SmoothClipScaler, TableVectorizer
from tests.export.models import (
    GROUPS,
    N_ROWS,
    NUMERIC,
    float32_rows,
    float32_scores,
    grades,
    networks,
    numbers,
    own_scores,
    rows,
    rows_of,
    score,
    served,
)
from tests.export.readers import elastic, plugin, ranklib, solr, vespa

FLOAT32 = 1e-6  # rounding of sums in float32, relative to the largest score
QUERY = {"match": {"title": "{{keywords}} {{ city }}"}}
SOLR_CLASS = "org.apache.solr.ltr.feature."


def names_of(model):
    return [feature.name for feature in to_tree_model(model).features]


def factor_of(model):
    """Classifiers are exported with scores that a plain sigmoid makes probabilities."""
    return 2 * model._sigma if hasattr(model, "classes_") else 1.0


@pytest.mark.parametrize("name", NUMERIC)
def test_the_plugin_finds_the_leaves_of_all_float32_rows(name):
    model = served()[name]
    X, names = float32_rows(model), names_of(model)
    (request,) = to_elasticsearch_ltr(model, name="m", feature_set="f")
    body = json.loads(json.dumps(request.body))
    found = plugin.predict(body, names, X)
    expected = float32_scores(model, X, factor_of(model))
    if name == "classifier":
        probability = model.predict_proba(X.astype(np.float64))[:, 1]
        np.testing.assert_allclose(found, probability, atol=FLOAT32)
        expected = (1 / (1 + np.exp(-expected.astype(np.float64)))).astype(np.float32)
    else:
        scores = own_scores(model, X)
        np.testing.assert_allclose(found, scores, atol=FLOAT32 * np.abs(scores).max())
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("missing", "rule"), [*itertools.product(["branch", "zero"], ["branch", "no"]),
                          ("zero", "zero")],
)  # fmt: skip
@pytest.mark.parametrize("name", NUMERIC)
def test_trees_for_opensearch_3_2_to_3_7_are_scored_alike_by_other_versions(
    name, missing, rule
):
    model = served()[name]
    X = float32_rows(model)
    given = {"name": "m", "feature_set": "f", "missing": missing}
    (request,) = to_elasticsearch_ltr(model, **given, engine="opensearch 3.5.0")
    found = plugin.predict(request.body, names_of(model), X, rule)
    if missing == "zero":
        X = np.nan_to_num(X, nan=0.0)
    expected = float32_scores(model, X, factor_of(model))
    if name == "classifier":
        expected = (1 / (1 + np.exp(-expected.astype(np.float64)))).astype(np.float32)
    np.testing.assert_array_equal(found, expected)


VERSIONS = {
    "elasticsearch 9.0.8": "branch",
    "Elasticsearch 8.11.4": "branch",
    "elasticsearch 8.9.2": "zero",
    "elasticsearch-7": "zero",
    "opensearch 10": "branch",
    "opensearch 3.8.0.0": "branch",
    "OpenSearch_3.7": "no",  # as a cloud writes it
    "opensearch-3.2": "no",
    "opensearch 3.1.0": "zero",
    "opensearch 3": "zero",
    "opensearch 2.19.6": "zero",
}


@pytest.mark.parametrize("engine", VERSIONS)
def test_trees_are_written_for_the_version_of_the_plugin(engine):
    model, rule = served()["ranker"], VERSIONS[engine]
    X, names = float32_rows(model), names_of(model)
    zero = np.nan_to_num(X, nan=0.0)
    write = partial(
        to_elasticsearch_ltr, model, name="m", feature_set="f", engine=engine
    )
    (request,) = write(missing="zero")
    found = plugin.predict(request.body, names, X, rule)
    np.testing.assert_array_equal(found, float32_scores(model, zero))
    if rule == "zero":
        with pytest.raises(ValueError, match=f"{engine} takes a missing value for 0"):
            write()
        return
    (request,) = write()
    found = plugin.predict(request.body, names, X, rule)
    np.testing.assert_array_equal(found, float32_scores(model, X))


def test_versions_that_take_a_missing_value_for_0_get_trees_that_do():
    model = from_tree_model(to_tree_model(served()["ranker"]).with_missing_as(0.0))
    write = partial(to_elasticsearch_ltr, model, name="m", feature_set="f")
    assert write(engine="opensearch 2.19") == write()


def test_trees_that_would_be_too_large_for_a_version_are_refused(monkeypatch):
    model = served()["ranker"]
    n_nodes = sum(len(tree.feature) for tree in to_tree_model(model).trees)
    write = partial(to_elasticsearch_ltr, model, name="m", feature_set="f")
    monkeypatch.setattr("sklearn_ltr.export._search_engines.MOST_NODES", n_nodes)
    assert write() == write(engine="opensearch 3.8")
    with pytest.raises(ValueError, match="opensearch 3.7 sends .* more than .* fit ag"):
        write(engine="opensearch 3.7")


@pytest.mark.parametrize("engine", ["", "opensearch", "solr 9.2", "3.5.0", 3.5])
def test_the_engine_of_the_plugin_is_named_with_its_version(engine):
    for model in (served()["ranker"], networks()["linear"]):
        with pytest.raises(ValueError, match="engine must be elasticsearch or opensea"):
            to_elasticsearch_ltr(model, name="m", feature_set="f", engine=engine)


def test_the_feature_set_of_the_plugin_has_the_parameters_of_the_queries():
    model = served()["named"]
    queries = dict.fromkeys(names_of(model), QUERY)
    queries["price"] = {"function_score": {"field_value_factor": {"field": "price"}}}
    features, upload = to_elasticsearch_ltr(
        model, name="my model", feature_set="my set/1", features=queries
    )
    assert (features.method, features.path) == (
        "POST",
        "/_ltr/_featureset/my%20set%2F1",
    )
    assert upload.path == "/_ltr/_featureset/my%20set%2F1/_createmodel"
    assert upload.body["model"]["name"] == "my model"
    body = json.loads(json.dumps(features.body))
    assert plugin.names_of_features(body) == names_of(model)
    params = {f["name"]: f["params"] for f in body["featureset"]["features"]}
    assert params["title"] == ["keywords", "city"] and params["price"] == []


def test_a_set_of_features_may_have_more_than_the_model_uses():
    model = served()["named"]
    queries = dict.fromkeys(["other", *names_of(model), "clicks"], QUERY)
    features, upload = to_elasticsearch_ltr(
        model, name="m", feature_set="f", features=queries
    )
    names = [*names_of(model), "other", "clicks"]
    assert plugin.names_of_features(features.body) == names
    assert upload == to_elasticsearch_ltr(model, name="m", feature_set="f")[0]
    definitions, upload = to_solr(model, name="m", features=queries)
    assert [one["name"] for one in definitions.body] == names
    assert upload == to_solr(model, name="m")[0]
    (request,) = to_elasticsearch_ml(model, name="m", features=queries)
    listed = request.body["inference_config"]["learning_to_rank"]["feature_extractors"]
    found = [one["query_extractor"]["feature_name"] for one in listed]
    assert found == names_of(model)


def test_the_features_of_an_engine_have_the_columns_of_the_model():
    model, given = served()["regressor"], {"a": {}, "Column_0": {}}
    with pytest.raises(ValueError, match="4 are missing, .'Column_1', .*and 1 are no"):
        to_solr(model, name="m", features=given)
    with pytest.raises(TypeError, match="'Column_0'. must be a dict, got int"):
        to_solr(model, name="m", features=dict.fromkeys(names_of(model), 3))


@pytest.mark.parametrize("name", [n for n in NUMERIC if n != "classifier"])
def test_elastics_own_trees_score_all_rows_bit_for_bit(name):
    model = served()[name]
    X = rows(model)
    features = {column: {"match": {"text": "{{query}}"}} for column in names_of(model)}
    (request,) = to_elasticsearch_ml(model, name="m 1", features=features)
    assert (request.method, request.path) == ("PUT", "/_ml/trained_models/m%201")
    body = json.loads(json.dumps(request.body))
    np.testing.assert_array_equal(elastic.predict(body, X), own_scores(model, X))


@pytest.mark.parametrize("name", NUMERIC)
def test_ranklib_finds_the_leaves_of_all_float32_rows_without_missing_values(name):
    model = served()[name]
    X = float32_rows(model)
    found = ranklib.predict(to_ranklib(model, missing="zero"), X)
    zero = np.where(np.isnan(X), np.float32(0), X)
    np.testing.assert_array_equal(found, float32_scores(model, zero, factor_of(model)))


def test_ranklib_takes_a_model_that_sends_missing_values_where_0_goes():
    X = np.abs(numbers()[:, :1])
    y = np.minimum(X[:, 0], 1.0)
    X[::3] = 0.0
    X[1::3] = np.nan  # both have the same targets
    y[::3] = y[1::3] = -1.0
    model = MARTRegressor(n_estimators=3, max_leaf_nodes=2, random_state=0).fit(X, y)
    rows = float32_rows(model)
    np.testing.assert_array_equal(
        ranklib.predict(to_ranklib(model), rows), float32_scores(model, rows)
    )


def test_ranklib_refuses_other_missing_values_and_says_what_to_do():
    with pytest.raises(ValueError, match="give missing='zero' if"):
        to_ranklib(served()["ranker"])


@pytest.mark.parametrize("missing", ["branch", "zero"])
@pytest.mark.parametrize("name", NUMERIC)
def test_solr_finds_the_leaves_of_float32_rows(name, missing):
    model = served()[name]
    X, names = float32_rows(model), names_of(model)
    (request,) = to_solr(model, name="m", missing=missing)
    body = json.loads(json.dumps(request.body))
    found = solr.predict(body, names, X)
    expected = X if missing == "branch" else np.nan_to_num(X, nan=0.0)
    expected = float32_scores(model, expected, factor_of(model))
    np.testing.assert_array_equal(found, expected)


def test_solr_compares_with_the_threshold_wherever_float32_can():
    rng = np.random.default_rng(0)
    t = rng.choice([-1, 1], 3000) * np.exp(rng.uniform(-20, 20, 3000))
    t = np.append(t, 0).astype(np.float32)
    hit = less_slack(t) + np.float32(1e-6) == t
    assert hit[(np.abs(t) >= 1) | (t > 1e-5)].all()
    # t - 1e-6 may be beyond a power of two, where float32 has half as many numbers
    is_sparser = np.spacing(np.abs(t)) < np.spacing(np.abs(t - np.float32(1e-6)))
    assert hit[(t < -1e-4) & ~is_sparser].all()
    # where it misses, no float32 becomes the threshold
    bits = np.arange(-64, 65, dtype=np.int32)[:, np.newaxis]
    near = ((t[~hit] - np.float32(1e-6)).view(np.int32) + bits).view(np.float32)
    assert not (near + np.float32(1e-6) == t[~hit]).any()
    off = np.abs((less_slack(t) + np.float32(1e-6)).astype(np.float64) - t)
    assert (off <= np.maximum(np.spacing(np.abs(t)), 2.0**-43)).all()


@pytest.mark.parametrize("value", ["NaN", float("nan")])
def test_solr_has_no_nan_where_a_missing_value_is_0(value):
    feature = {"class": SOLR_CLASS + "FieldValueFeature", "params": {"field": "f"}}
    is_nan = {**feature, "params": {"field": "f", "defaultValue": value}}
    model, linear = served()["named"], networks()["linear"]
    columns = [f"Column_{j}" for j in range(linear.n_features_in_)]
    for write, names in (
        (partial(to_solr, model, name="m", missing="zero"), names_of(model)),
        (partial(to_solr, linear, name="m"), columns),
    ):
        given = dict.fromkeys(names, feature)
        assert len(write(features=given | {"other": is_nan})) == 2
        last = [*given][-1]
        with pytest.raises(ValueError, match=f"{last}.. has the defaultValue NaN, but"):
            write(features=given | {last: is_nan})
    assert to_solr(model, name="m", features=dict.fromkeys(names_of(model), is_nan))


def test_solr_gets_the_features_with_the_names_of_the_store():
    model = served()["named"]
    given = {
        column: {"class": SOLR_CLASS + "FieldValueFeature", "params": {"field": "f"}}
        for column in names_of(model)
    }
    features, upload = to_solr(model, name="m", store="s", features=given)
    assert (features.method, features.path) == ("PUT", "/schema/feature-store")
    assert (upload.method, upload.path) == ("PUT", "/schema/model-store")
    assert solr.names_of_features(features.body, "s") == names_of(model)
    assert upload.body["store"] == "s" and upload.body["name"] == "m"


@pytest.mark.parametrize("held", [np.float64, np.float32])
@pytest.mark.parametrize("name", [*NUMERIC, "text"])
def test_vespa_finds_the_leaves_of_float32_rows(name, held):
    model = served()[name]
    if name == "text":
        X = rows_of(served()["categories"], N_ROWS).drop(columns="kind")
        numeric = ["price", "missing"]
        largest = float(np.finfo(np.float32).max)  # a threshold may be beyond it
        X[numeric] = X[numeric].clip(-largest, largest).astype(np.float32)
        X[numeric] = X[numeric].astype(np.float64)
        objects, expected = X.astype(object).to_numpy(), score(model, X)
    else:
        objects = float32_rows(model)
        expected = own_scores(model, objects)
    found = vespa.predict(to_vespa(model), objects, held)
    if name == "classifier":
        expected = 1 / (1 + np.exp(-2 * model._sigma * expected))
    scale = np.abs(expected).max()
    if held is np.float64 and name != "classifier":
        np.testing.assert_array_equal(found, expected)
    # leaf values are rounded
    np.testing.assert_allclose(found, expected, atol=FLOAT32 * scale)


def test_trees_of_any_depth_are_written():
    depth = 3000
    node = np.arange(2 * depth + 1)
    is_leaf = node % 2 == 1
    is_leaf[-1] = True
    chain = Tree(
        feature=np.where(is_leaf, -1, 0).astype(np.int32),
        threshold=np.where(is_leaf, 0.0, node / 4),
        missing_left=np.zeros(len(node), dtype=bool),
        left=np.where(is_leaf, -1, node + 1).astype(np.int32),
        right=np.where(is_leaf, -1, node + 2).astype(np.int32),
        value=np.where(is_leaf, node / 8, 0.0),
        gain=np.zeros(len(node)),
        n_rows=np.ones(len(node), dtype=np.int64),
    )
    model = from_tree_model(
        TreeModel("MARTRegressor", {}, (Feature("a"),), False, 0.0, (chain,))
    )
    assert to_ranklib(model, missing="zero").count("<output>") == depth + 1
    assert to_xgboost_dump(model).count('"leaf"') == depth + 1
    assert to_vespa(model).count("leaf_value") == depth + 1
    assert len(elastic_nodes(chain)) == len(node)
    assert to_solr(model, name="m")
    # before the root comes a node that only missing values do not pass
    left = tree_missing_right(replace(chain, missing_left=~is_leaf), 10 * depth)
    assert left.is_leaf.sum() == depth + 2 and not left.missing_left.any()


SCALERS = {
    "none": [],
    "standard": [StandardScaler()],
    "no mean": [StandardScaler(with_mean=False)],
    "no scale": [StandardScaler(with_std=False)],
    "min and max": [MinMaxScaler(feature_range=(-1, 1))],
}


def linear(scalers, hidden=()):
    X = pd.DataFrame(np.nan_to_num(numbers()[:, :3]), columns=["a", "b", "c"])
    ranker = LambdaRankRanker(hidden_layer_sizes=hidden, max_iter=3, random_state=0)
    pipeline = make_pipeline(*scalers, ranker)
    pipeline.fit(X, grades(numbers()), lambdarankranker__groups=GROUPS)
    return pipeline, X


def assert_close(found, expected):
    """Both are in float32, whose sums differ by their order."""
    np.testing.assert_allclose(
        found, expected, atol=10 * FLOAT32 * np.abs(expected).max()
    )


@pytest.mark.parametrize("scaler", SCALERS)
def test_a_linear_model_with_its_scaler_scores_the_same_in_solr_and_the_plugin(scaler):
    pipeline, X = linear(SCALERS[scaler])
    expected = pipeline.predict(X)
    (request,) = to_solr(pipeline, name="m")
    assert request.body["class"].endswith(".LinearModel")
    assert_close(solr.predict(request.body, list(X), X.to_numpy()), expected)
    (request,) = to_elasticsearch_ltr(pipeline, name="m", feature_set="f")
    assert_close(plugin.predict(request.body, list(X), X.to_numpy()), expected)


@pytest.mark.parametrize("name", ["identity", "logistic", "tanh", "relu", "linear"])
def test_solr_scores_networks_as_we_do(name):
    X = np.nan_to_num(numbers(5)[:, :4])
    ranker = networks()[name]
    (request,) = to_solr(ranker, name="m")
    names = [f"Column_{j}" for j in range(4)]
    assert_close(solr.predict(request.body, names, X), ranker.predict(X))


def test_the_plugin_refuses_hidden_layers():
    with pytest.raises(ValueError, match="no networks with hidden layers"):
        to_elasticsearch_ltr(networks()["relu"], name="m", feature_set="f")


def test_engines_refuse_what_their_normalizers_cannot_do():
    pipeline, _ = linear([MinMaxScaler(clip=True)])
    with pytest.raises(ValueError, match="clip=False"):
        to_solr(pipeline, name="m")
    pipeline, _ = linear([StandardScaler(), MinMaxScaler()])
    for call in (
        lambda: to_solr(pipeline, name="m"),
        lambda: to_elasticsearch_ltr(pipeline, name="m", feature_set="f"),
    ):
        with pytest.raises(ValueError, match="use one scaler"):
            call()
    for write, scaler in itertools.product(
        (to_solr, partial(to_elasticsearch_ltr, feature_set="f")),
        (SmoothClipScaler(), TableVectorizer()),
    ):
        pipeline, _ = linear([scaler])
        with pytest.raises(ValueError, match="linearly, and SmoothClipScaler and"):
            write(pipeline, name="m")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda m: to_ranklib(m), "RankLib knows no categories"),
        (lambda m: to_solr(m, name="m"), "Solr's trees know no categories"),
        (lambda m: to_vespa(m), "make the column text"),
        (lambda m: to_elasticsearch_ltr(m, name="m", feature_set="f"),
         "know no categories"),
        (lambda m: to_elasticsearch_ml(m, name="m", features={}),
         "Elastic's trees know no categories"),
    ],
)  # fmt: skip
def test_categories_are_refused_where_they_cannot_be_held(write, message):
    with pytest.raises(ValueError, match=message):
        write(served()["categories"])
