"""Requests that upload a model to Elasticsearch, OpenSearch or Solr.

The plugin Learning to Rank of Elasticsearch and OpenSearch computes in float32 and
tests ``x < threshold``; the trees of Elastic's own learning to rank test
``x <= threshold`` in float64.  Solr computes in float32; its trees test
``x <= threshold + 1e-6``, so a number is written that gives the threshold when 1e-6 is
added, where there is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sklearn_ltr._core.networks import MultilayerPerceptron
from sklearn_ltr.export._estimators import MISSING, trees_alone
from sklearn_ltr.export._float32 import LARGEST, at_most, float32_model, float32_values
from sklearn_ltr.export._pipelines import (
    Imputation,
    MinMax,
    Scaling,
    Standardization,
    dense_layers,
    is_network,
    linear_weights,
    perceptron_of,
    split_pipeline,
)
from sklearn_ltr.export._tree_model import (
    LARGEST_THRESHOLD,
    Node,
    Tree,
    TreeModel,
    check_no_categories,
    fold,
    made_up_names,
    tests_missing,
    unfold,
)
from sklearn_ltr.export._xgboost import dump_text
from sklearn_ltr.preprocessing import SmoothClipScaler, TableVectorizer

__all__ = ["to_elasticsearch_ltr", "to_elasticsearch_ml", "to_solr"]

MOST_NODES = 200_000  # compiled, they fill most of the 10 MB that the plugin keeps
TEMPLATE_PARAMETER = re.compile(r"\{\{\{?[#^&]?\s*(\w+)\s*\}?\}\}")
# those that all versions of the plugin know; "rank:ndcg" only newer ones do
PLUGIN_OBJECTIVES = {"MARTRegressor": "reg:linear", "MARTClassifier": "binary:logistic"}
# from which version on the plugin sends a missing value where the model says, or to
# the child "no"; in earlier ones it is 0
PLUGIN_MISSING = {
    "elasticsearch": {(8, 11): "branch"},
    "opensearch": {(3, 8): "branch", (3, 2): "no"},
}
# Solr's names
MODEL = "org.apache.solr.ltr.model."
NORM = "org.apache.solr.ltr.norm."
SOLR_ACTIVATIONS = {"logistic": "sigmoid"}
SLACK = np.float32(1e-6)  # NODE_SPLIT_SLACK


# What an engine computes for each column
EngineFeatures: TypeAlias = Mapping[str, Mapping[str, object]]
# A node, the features that are known to be there, and those known to be missing
Reached: TypeAlias = tuple[int, frozenset[int], frozenset[int]]


class Request(NamedTuple):
    """One HTTP request that a search engine expects.

    Attributes
    ----------
    method : {"PUT", "POST"}
    path : str
        After the address of the engine, of the core or collection for Solr.
    body : dict or list
        What ``json.dumps`` turns into the body.
    """

    method: str
    path: str
    body: Any


def check_name(name: object, argument: str) -> str:
    """Return a name quoted for a path; raise an error if it is empty or not text."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"{argument} must be text and not empty, got {name!r}")
    return quote(name, safe="")


def check_features(
    names: Sequence[str], features: EngineFeatures | None
) -> EngineFeatures:
    """Return what the engine computes, for the columns first, then for the rest."""
    if not isinstance(features, Mapping):
        raise TypeError(
            "features must be a dict from the names of the columns to what the engine "
            f"computes for them, got {type(features).__name__}"
        )
    missing = [name for name in names if name not in features]
    if missing:
        unknown = [name for name in features if name not in names]
        made_up = "; it was fitted without names, such as those of a DataFrame"
        raise ValueError(
            "features must have the names of the columns that the model was fitted on: "
            f"{len(missing)} are missing, {missing[:3]}, and {len(unknown)} are no "
            f"such columns, {unknown[:3]}"
            + made_up
            * (names == made_up_names(len(names)))
        )
    for name in features:
        if not isinstance(features[name], Mapping):
            raise TypeError(
                f"features[{name!r}] must be a dict, got "
                f"{type(features[name]).__name__}"
            )
    return {name: features[name] for name in names} | dict(features)


def to_elasticsearch_ltr(
    estimator: BaseEstimator,
    *,
    name: str,
    feature_set: str,
    features: EngineFeatures | None = None,
    missing: str = "branch",
    engine: str | None = None,
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
        normalizers.  Either may come after a SimpleImputer, before a network one that
        puts in 0.
    name : str
        Name of the model, which the query `sltr` gives as its `model`.
    feature_set : str
        Name of the feature set.
    features : dict of str to dict, default=None
        The query that computes each column of X, for example
        ``{"match": {"title": "{{keywords}}"}}``.  What stands in double braces are the
        `params` of the query `sltr`.  There may be more features than the model has
        columns: a set of features can serve several models.  None: the feature set has
        been uploaded before, as it has to be where training data were logged.
    missing : {"branch", "zero"}, default="branch"
        What a feature without a value is in trees.  "branch": missing, as here.
        "zero": the number 0, as in versions of the plugin that have no missing values.
        (In networks it is 0.)
    engine : str, default=None
        The engine and its version, such as "opensearch 3.5.0" or "elasticsearch 8.9",
        for which trees are written: so that it treats missing values as `missing` says.
        None: a version that reads where the model sends them, OpenSearch from 3.8 on or
        Elasticsearch from 8.11 on.  For OpenSearch 3.2 to 3.7, which do not, trees get
        several times as many nodes: see :doc:`/guide/deploying`.

    Returns
    -------
    requests : list of Request
        The first uploads the feature set, if `features` are given.  The index of the
        plugin must exist: ``PUT /_ltr`` makes it.  For what is exact see
        :func:`to_xgboost_dump`.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_xgboost_dump`; for other steps of a Pipeline, and hidden layers;
        for `features` that lack a column; and for an `engine` that takes a missing
        value for 0 if the trees send it elsewhere, or for which the trees would have
        more than 200,000 nodes.

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
    MISSING.read_as("missing", missing)
    # where the plugin sends a missing value
    rule = "branch"
    if engine is not None:
        found = re.fullmatch(
            r"([a-z]+)[ _-](\d+)(?:\.(\d+))?[.\d]*", str(engine).lower()
        )
        if found is None or found[1] not in PLUGIN_MISSING:
            raise ValueError(
                f"engine must be {' or '.join(PLUGIN_MISSING)} and its version, such "
                f"as 'opensearch 3.5.0', got {engine!r}"
            )
        version = int(found[2]), int(found[3] or 0)
        rules = PLUGIN_MISSING[found[1]].items()
        rule = next((rule for first, rule in rules if version >= first), "zero")
    model: dict[str, object]
    if is_network(estimator):
        scaling, network, names = scaled_network(estimator, "the plugin")
        weights = linear_weights(network)
        if weights is None:
            raise ValueError(
                "the plugin has no networks with hidden layers: fit with "
                "hidden_layer_sizes=(), or serve the network by to_onnx or to_solr"
            )
        definition = json.dumps(dict(zip(names, float32_values(weights), strict=True)))
        model = {"type": "model/linear", "definition": definition}
        if isinstance(scaling, MinMax):  # the plugin refuses a `min_max` below 0
            low, high = scaling.ends()
            scaling = Standardization(low, high - low)
        if scaling is not None:
            numbers = zip(scaling.mean.tolist(), scaling.scale.tolist(), strict=True)
            model["feature_normalizers"] = {
                column: {"standard": {"mean": mean, "standard_deviation": scale}}
                for column, (mean, scale) in zip(names, numbers, strict=True)
            }
    else:
        trees = trees_alone(estimator, missing)
        names = [feature.name for feature in trees.features]
        if rule == "zero" and any(map(tests_missing, trees.trees)):
            raise ValueError(
                f"{engine} takes a missing value for 0, but the trees send it another "
                "way: give missing='zero' if it should count as 0, or fit again after "
                "a SimpleImputer(strategy='constant', fill_value=0)"
            )
        if rule == "no":
            trees = missing_right(trees, engine)
        objective = PLUGIN_OBJECTIVES.get(trees.estimator, "rank:pairwise")
        definition = f'{{"objective": "{objective}", "splits": {dump_text(trees)}}}'
        model = {"type": "model/xgboost+json", "definition": definition}
    requests = []
    if features is not None:
        templates = [
            {
                "name": n,
                "params": [
                    *dict.fromkeys(TEMPLATE_PARAMETER.findall(json.dumps(query)))
                ],
                "template_language": "mustache",
                "template": query,
            }
            for n, query in check_features(names, features).items()
        ]
        requests.append(Request("POST", path, {"featureset": {"features": templates}}))
    body = {"model": {"name": name, "model": model}}
    return [*requests, Request("POST", f"{path}/_createmodel", body)]


def missing_right(model: TreeModel, engine: str | None) -> TreeModel:
    """Return trees with the same leaves for all rows that send NaN only right."""
    trees: list[Tree] = []
    room = MOST_NODES
    for tree in model.trees:
        if tree.missing_left.any():
            tree = tree_missing_right(tree, room)
            room -= len(tree.feature)
        trees.append(tree)
        if room < 0:
            raise ValueError(
                f"{engine} sends every missing value to the child 'no', and trees that "
                f"undo this would have more than {MOST_NODES:,} nodes: fit again after "
                "a SimpleImputer(strategy='constant', fill_value=3e38)"
            )
    return replace(model, trees=tuple(trees))


def tree_missing_right(tree: Tree, room: int) -> Tree:
    """Return a tree that sends NaN only right; with more than `room` nodes, a part."""

    def node_of(reached: Reached) -> tuple[Node, dict[str, Reached]]:
        node, there, missing = reached
        while (j := int(tree.feature[node])) in missing:
            node = int((tree.left if tree.missing_left[node] else tree.right)[node])
        if j < 0:
            return Node(value=tree.value[node]), {}
        left, right = int(tree.left[node]), int(tree.right[node])
        with_j = there | {j}
        if tree.missing_left[node] and j not in there:
            # before the node comes one that lets all numbers pass; behind it, what NaN
            # reaches is written once more
            passing = Node(feature=j, threshold=LARGEST_THRESHOLD)
            behind = (left, there, missing | {j})
            return passing, {"left": (node, with_j, missing), "right": behind}
        split = Node(feature=j, threshold=tree.threshold[node])
        below = {"left": (left, with_j, missing), "right": (right, there, missing)}
        return split, below

    root: Reached = (0, frozenset(), frozenset())
    return unfold(root, node_of, room)


def scaled_network(
    estimator: BaseEstimator, engine: str
) -> tuple[Scaling | None, MultilayerPerceptron, list[str]]:
    """Return the scaler before a network, the network, and names of columns."""
    steps, ranker, names = split_pipeline(estimator)
    if steps and isinstance(steps[0], Imputation):
        if steps[0].value.any():
            raise ValueError(
                f"{engine} takes a missing value for 0 in networks, but the "
                "SimpleImputer puts in other numbers: fit with "
                'SimpleImputer(strategy="constant", fill_value=0)'
            )
        del steps[0]
    scalings = [step for step in steps if isinstance(step, Scaling)]
    if any(isinstance(step, SmoothClipScaler | TableVectorizer) for step in steps):
        raise ValueError(
            f"{engine} scales features linearly, and SmoothClipScaler and "
            "TableVectorizer do not: fit with StandardScaler, or serve the model by "
            "to_onnx"
        )
    if len(steps) > 1 or len(scalings) < len(steps):
        raise ValueError(
            f"{engine} normalizes a feature once, after it has taken missing values "
            "for 0: use one scaler, and before it at most a SimpleImputer"
        )
    return scalings[0] if scalings else None, perceptron_of(ranker), names


def to_elasticsearch_ml(
    estimator: BaseEstimator,
    *,
    name: str,
    features: EngineFeatures,
    missing: str = "branch",
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
        missing value.  Features that are not columns of the model are left out, since
        the model does not use them.
    missing : {"branch", "zero"}, default="branch"
        What a missing value is.  "branch": missing, as here.  "zero": the number 0.

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
        top of an `init_score`; and for `features` that lack a column.

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
    model = trees_alone(estimator, missing)
    check_no_categories(model, "Elastic's trees know")
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
    of_any: dict[str, object] = {"target_type": "regression", "feature_names": names}
    trees = [
        {"tree": {**of_any, "tree_structure": elastic_nodes(tree)}}
        for tree in model.trees
    ]
    ensemble = {
        **of_any,
        "trained_models": trees,
        "aggregate_output": {"weighted_sum": {"weights": [1.0] * len(trees)}},
    }
    body = {
        "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
        "definition": {"trained_model": {"ensemble": ensemble}},
    }
    return [Request("PUT", path, body)]


def elastic_nodes(tree: Tree) -> list[dict[str, object]]:
    """Return the nodes of a tree, parents before children."""
    nodes: list[dict[str, object]] = []
    for node, is_leaf in enumerate(tree.is_leaf.tolist()):
        fields: dict[str, object] = {"node_index": node}
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


def to_solr(
    estimator: BaseEstimator,
    *,
    name: str,
    store: str = "_DEFAULT_",
    features: EngineFeatures | None = None,
    missing: str = "branch",
) -> list[Request]:
    """Return the requests that upload a fitted model to Solr's Learning to Rank.

    Trees become a MultipleAdditiveTreesModel, networks without hidden layers a
    LinearModel, and others a NeuralNetworkModel; a scaler before a network becomes the
    normalizers of its features.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier, or \
            LambdaRankRanker, RankNetRanker or a Pipeline of one of them
        Fitted.  Trees without categorical features; before a network, one
        StandardScaler or MinMaxScaler.  Either may come after a SimpleImputer, before
        a network one that puts in 0.
    name : str
        Name of the model, which a query gives as ``{!ltr model=name}``.
    store : str, default="_DEFAULT_"
        Feature store that has the features.
    features : dict of str to dict, default=None
        The definition of each column of X, with the keys `class` and `params`, for
        example ``{"class": "org.apache.solr.ltr.feature.FieldValueFeature", "params":
        {"field": "price", "defaultValue": "NaN"}}``.  There may be more features than
        the model has columns: a store can serve several models.  None: they have been
        uploaded before, as they have to be where training data were logged.
    missing : {"branch", "zero"}, default="branch"
        What a feature without a value is in trees.  "branch": missing, as here; this
        needs Solr 9.2 or newer, and features with the `defaultValue` "NaN".  "zero":
        the number 0, as in older versions.

    Returns
    -------
    requests : list of Request
        Paths begin after the core or collection.  The first uploads the features, if
        they are given.  Solr adds 1e-6 to each threshold, in float32, so smaller
        numbers are written that give the thresholds.  Such numbers exist
        for all thresholds of 1 and more in size, for positive ones from 1e-5 on, and
        for 99.9% of the negative ones from -1 to -1e-4; others differ by a step of
        float32, or by 1e-13.  Apart from these, rows whose numbers float32 can hold
        reach the same leaves.  Scores are sums in float32; those of a classifier are
        2 sigma times those of its ``decision_function``.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_xgboost_dump`; for other steps of a Pipeline; for `features` that
        lack a column; and for those with the `defaultValue` NaN, where a missing value
        is 0.

    Examples
    --------
    >>> import pandas
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_solr
    >>> X = pandas.DataFrame({"price": [1.0, 2.0, 3.0]})
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1)
    >>> ranker = ranker.fit(X, [0, 1, 2], groups=[7, 7, 7])
    >>> (request,) = to_solr(ranker, name="mine", store="shop")
    >>> request.method, request.path
    ('PUT', '/schema/model-store')
    """
    check_name(name, "name")
    check_name(store, "store")
    MISSING.read_as("missing", missing)
    params: dict[str, object]
    if is_network(estimator):
        scaling, network, names = scaled_network(estimator, "Solr")
        weights = linear_weights(network)
        if weights is not None:
            of_columns = dict(zip(names, float32_values(weights), strict=True))
            kind, params = "LinearModel", {"weights": of_columns}
        else:
            activation = SOLR_ACTIVATIONS.get(network.activation, network.activation)
            dense = [{**of, "activation": activation} for of in dense_layers(network)]
            dense[-1]["activation"] = "identity"
            kind, params = "NeuralNetworkModel", {"layers": dense}
    else:
        model = trees_alone(estimator, missing)
        check_no_categories(model, "Solr's trees know")
        names, scaling = [feature.name for feature in model.features], None
        trees = [
            {"weight": "1.0", "root": tree_root(tree, names, missing)}
            for tree in float32_model(model).trees
        ]
        kind, params = "MultipleAdditiveTreesModel", {"trees": trees}
        if missing == "branch":
            params = {"isNullSameAsZero": False, **params}
    columns: list[dict[str, object]] = [{"name": column} for column in names]
    if scaling is not None:
        if isinstance(scaling, Standardization):
            norm, parts = "Standard", {"avg": scaling.mean, "std": scaling.scale}
        else:
            low, high = scaling.ends()
            norm, parts = "MinMax", {"min": low, "max": high}
        for j, normalized in enumerate(columns):
            texts = {part: repr(float(numbers[j])) for part, numbers in parts.items()}
            normalized["norm"] = {"class": f"{NORM}{norm}Normalizer", "params": texts}
    requests = []
    if features is not None:
        given = check_features(names, features)
        if missing == "zero" or is_network(estimator):  # which know no NaN
            for column in names:
                of_feature = given[column].get("params")
                if isinstance(of_feature, Mapping) and (
                    str(of_feature.get("defaultValue")).lower() == "nan"
                ):
                    raise ValueError(
                        f"features[{column!r}] has the defaultValue NaN, but a missing "
                        "value is 0 in networks, and in trees with missing='zero': "
                        "leave it out"
                    )
        definitions = [{"store": store, "name": n, **d} for n, d in given.items()]
        requests.append(Request("PUT", "/schema/feature-store", definitions))
    body = {
        "store": store,
        "name": name,
        "class": MODEL + kind,
        "features": columns,
        "params": params,
    }
    return [*requests, Request("PUT", "/schema/model-store", body)]


def tree_root(tree: Tree, names: list[str], missing: str) -> dict[str, object]:
    """Return a tree; its numbers are text, which all versions of Solr read."""
    value = float32_values(tree.value)
    threshold = less_slack(at_most(tree.threshold).clip(-LARGEST, LARGEST)).tolist()

    def leaf(node: int) -> dict[str, object]:
        return {"value": repr(value[node])}

    def split(node: int, left: object, right: object) -> dict[str, object]:
        side = "left" if tree.missing_left[node] else "right"
        return {
            "feature": names[tree.feature[node]],
            "threshold": repr(threshold[node]),
            **({"missing": side} if missing == "branch" else {}),
            "left": left,
            "right": right,
        }

    return fold(tree, leaf, split)


def less_slack(threshold: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return numbers that become the thresholds when Solr adds 1e-6 to them."""
    # of the difference and the four numbers around it, that with the nearest sum
    start = threshold - SLACK
    candidates = [start]
    for direction in (np.float32(-np.inf), np.float32(np.inf)):
        neighbour = start
        for _ in range(2):
            with np.errstate(over="ignore", under="ignore"):
                neighbour = np.nextafter(neighbour, direction)
            candidates.append(neighbour)
    found = np.stack(candidates)
    with np.errstate(over="ignore"):
        off = np.abs((found + SLACK).astype(np.float64) - threshold)
    best: NDArray[np.float32] = found[off.argmin(axis=0), np.arange(len(threshold))]
    return best
