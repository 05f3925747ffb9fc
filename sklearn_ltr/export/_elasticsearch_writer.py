"""Requests to Elasticsearch: the plugin Learning to Rank, and Elastic's own.

The plugin, which OpenSearch has as well, computes in float32 and tests
``x < threshold``; Elastic's trees test ``x <= threshold`` in float64.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sklearn_ltr.export._estimators import to_tree_model
from sklearn_ltr.export._layers import (
    Standardization,
    is_network,
    layers_of,
    linear_weights,
    split_pipeline,
)
from sklearn_ltr.export._lightgbm_writer import without_init_score
from sklearn_ltr.export._request import Request, check_features, check_name
from sklearn_ltr.export._tree_model import Tree, TreeModel
from sklearn_ltr.export._xgboost_writer import float32_values, to_xgboost_dump

TEMPLATE_PARAMETER = re.compile(r"\{\{\{?[#^&]?\s*(\w+)\s*\}?\}\}")
# those that the plugin knows
OBJECTIVES = {"MARTRegressor": "reg:linear", "MARTClassifier": "binary:logistic"}


def to_elasticsearch_ltr(
    estimator: Any,
    *,
    name: str,
    feature_set: str,
    features: Mapping[str, Any] | None = None,
) -> list[Request]:
    """Return the requests that upload a fitted model to the plugin Learning to Rank.

    The plugins of Elasticsearch and of OpenSearch take the same requests.  Trees are
    of the type `model/xgboost+json`, networks without hidden layers `model/linear`.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier, or \
            LambdaRankRanker, RankNetRanker or a Pipeline of one of them
        Fitted.  Trees without categorical features; networks without hidden layers,
        after one StandardScaler or MinMaxScaler, which becomes the feature
        normalizers.
    name : str
        Name of the model, which the query `sltr` gives as its `model`.
    feature_set : str
        Name of the feature set.
    features : dict of str to dict, default=None
        The query that computes each column of X, for example
        ``{"match": {"title": "{{keywords}}"}}``.  What stands in double braces are the
        `params` of the query `sltr`.  None: the feature set has been uploaded before,
        as it has to be where training data were logged.

    Returns
    -------
    requests : list of Request
        The first uploads the feature set, if `features` are given.  The index of the
        plugin must exist: ``PUT /_ltr`` makes it.  For what is exact see
        :func:`to_xgboost_dump`; versions of the plugin that take missing values for 0
        score rows that have some otherwise.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_xgboost_dump`; for other steps of a Pipeline, and hidden layers;
        and for `features` that are not those of the columns.

    Examples
    --------
    >>> import pandas
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_elasticsearch_ltr
    >>> X = pandas.DataFrame({"price": [1.0, 2.0, 3.0]})
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1)
    >>> ranker = ranker.fit(X, [0, 1, 2], groups=[7, 7, 7])
    >>> (request,) = to_elasticsearch_ltr(ranker, name="mine", feature_set="shop")
    >>> request.method, request.path
    ('POST', '/_ltr/_featureset/shop/_createmodel')
    """
    check_name(name, "name")
    path = f"/_ltr/_featureset/{check_name(feature_set, 'feature_set')}"
    if is_network(estimator):
        names, model = linear_model(estimator)
    else:
        splits = to_xgboost_dump(estimator)
        described = to_tree_model(estimator)
        names = [feature.name for feature in described.features]
        objective = OBJECTIVES.get(described.estimator, "rank:ndcg")
        definition = f'{{"objective": "{objective}", "splits": {splits}}}'
        model = {"type": "model/xgboost+json", "definition": definition}
    requests = []
    if features is not None:
        given = check_features(names, features)
        listed = [plugin_feature(n, given[n]) for n in names]
        requests.append(Request("POST", path, {"featureset": {"features": listed}}))
    body = {"model": {"name": name, "model": model}}
    return [*requests, Request("POST", f"{path}/_createmodel", body)]


def plugin_feature(name: str, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the feature of a feature set that a template of a query computes."""
    parameters = dict.fromkeys(TEMPLATE_PARAMETER.findall(json.dumps(query)))
    return {
        "name": name,
        "params": list(parameters),
        "template_language": "mustache",
        "template": query,
    }


def linear_model(estimator: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the names of the columns, and a model of the plugin."""
    scalings, ranker, names = split_pipeline(estimator)
    weights = linear_weights(layers_of(ranker))
    if weights is None:
        raise ValueError(
            "the plugin has no networks with hidden layers: fit with "
            "hidden_layer_sizes=(), or serve the network by to_onnx or to_solr"
        )
    if len(scalings) > 1:
        raise ValueError("the plugin normalizes a feature once: use one scaler")
    definition = json.dumps(dict(zip(names, float32_values(weights), strict=True)))
    model: dict[str, Any] = {"type": "model/linear", "definition": definition}
    for scaling in scalings:
        if isinstance(scaling, Standardization):
            kind, first, second = "standard", "mean", "standard_deviation"
            ends = scaling.mean, scaling.scale
        else:
            kind, first, second = "min_max", "minimum", "maximum"
            ends = scaling.ends()
        pairs = zip(names, ends[0].tolist(), ends[1].tolist(), strict=True)
        model["feature_normalizers"] = {
            column: {kind: {first: a, second: b}} for column, a, b in pairs
        }
    return names, model


def to_elasticsearch_ml(
    estimator: Any, *, name: str, features: Mapping[str, Any]
) -> list[Request]:
    """Return the request that uploads a fitted model to Elastic's own learning to rank.

    Elasticsearch from 8.15 on has it, without a plugin: the retriever or rescorer
    `learning_to_rank`.

    Parameters
    ----------
    estimator : LambdaMARTRanker or MARTRegressor
        Fitted, without categorical features.
    name : str
        `model_id` of the trained model.
    features : dict of str to dict
        The query whose score is the value of each column of X, for example
        ``{"match": {"title": "{{query}}"}}``.  A document that does not match has a
        missing value.

    Returns
    -------
    requests : list of one Request
        All numbers and missing values reach the same leaves, and leaf values are those
        of the model, in float64.  Elasticsearch computes features in float32, and
        returns float32 scores.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_tree_model`; for classifiers, categorical features and trees on
        top of an `init_score`; and for `features` that are not those of the columns.

    Examples
    --------
    >>> import pandas
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_elasticsearch_ml
    >>> X = pandas.DataFrame({"price": [1.0, 2.0, 3.0]})
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1)
    >>> ranker = ranker.fit(X, [0, 1, 2], groups=[7, 7, 7])
    >>> query = {"match": {"title": "{{query}}"}}
    >>> (request,) = to_elasticsearch_ml(ranker, name="mine", features={"price": query})
    >>> request.method, request.path
    ('PUT', '/_ml/trained_models/mine')
    """
    path = f"/_ml/trained_models/{check_name(name, 'name')}"
    model = without_init_score(to_tree_model(estimator)).with_base_score_in_leaves()
    if model.has_categories:
        raise ValueError(
            "Elastic's trees know no categories: encode them as numbers, by "
            "OrdinalEncoder or OneHotEncoder, and fit again"
        )
    if model.estimator == "MARTClassifier":
        raise TypeError(
            "learning_to_rank takes scores, not classes: fit a MARTRegressor or a "
            "LambdaMARTRanker"
        )
    names = [feature.name for feature in model.features]
    given = check_features(names, features)
    extractors = [
        {"query_extractor": {"feature_name": n, "query": given[n]}} for n in names
    ]
    body = {
        "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
        "definition": {"trained_model": {"ensemble": elastic_ensemble(model, names)}},
    }
    return [Request("PUT", path, body)]


def elastic_ensemble(model: TreeModel, names: list[str]) -> dict[str, Any]:
    """Return the sum of all trees."""
    trees = [
        {
            "tree": {
                "target_type": "regression",
                "feature_names": names,
                "tree_structure": elastic_nodes(tree),
            }
        }
        for tree in model.trees
    ]
    return {
        "target_type": "regression",
        "feature_names": names,
        "trained_models": trees,
        "aggregate_output": {"weighted_sum": {"weights": [1.0] * len(trees)}},
    }


def elastic_nodes(tree: Tree) -> list[dict[str, Any]]:
    """Return the nodes of a tree, parents before children."""
    nodes: list[dict[str, Any]] = []
    for node, is_leaf in enumerate(tree.is_leaf.tolist()):
        fields: dict[str, Any] = {"node_index": node}
        if is_leaf:
            fields["leaf_value"] = float(tree.value[node])
        else:
            fields |= {
                "split_feature": int(tree.feature[node]),
                "decision_type": "lte",
                "threshold": float(tree.threshold[node]),
                "default_left": bool(tree.missing_left[node]),
                "left_child": int(tree.left[node]),
                "right_child": int(tree.right[node]),
            }
        nodes.append(fields)
    return nodes
