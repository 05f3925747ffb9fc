"""Models of Solr's module Learning to Rank, as requests.

Solr computes in float32.  Its trees test ``x <= threshold + 1e-6``, so a number is
written that gives the threshold when 1e-6 is added, where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.export._estimators import to_tree_model
from sklearn_ltr.export._float32 import LARGEST, at_most
from sklearn_ltr.export._fold import fold
from sklearn_ltr.export._layers import (
    Scaling,
    Standardization,
    dense_layers,
    is_network,
    layers_of,
    linear_weights,
    split_pipeline,
)
from sklearn_ltr.export._request import Request, check_features, check_name
from sklearn_ltr.export._tree_model import Tree, TreeModel
from sklearn_ltr.export._xgboost_writer import float32_model, float32_values

MODEL = "org.apache.solr.ltr.model."
NORM = "org.apache.solr.ltr.norm."
SLACK = np.float32(1e-6)  # NODE_SPLIT_SLACK
ACTIVATIONS = {"logistic": "sigmoid"}


def to_solr(
    estimator: Any,
    *,
    name: str,
    store: str = "_DEFAULT_",
    features: Mapping[str, Any] | None = None,
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
        StandardScaler or MinMaxScaler.
    name : str
        Name of the model, which a query gives as ``{!ltr model=name}``.
    store : str, default="_DEFAULT_"
        Feature store that has the features.
    features : dict of str to dict, default=None
        The definition of each column of X, with the keys `class` and `params`, for
        example ``{"class": "org.apache.solr.ltr.feature.FieldValueFeature", "params":
        {"field": "price", "defaultValue": "NaN"}}``.  None: they have been uploaded
        before, as they have to be where training data were logged.
    missing : {"branch", "zero"}, default="branch"
        What a feature without a value is in trees.  "branch": missing, as here; this
        needs Solr 9.2 or newer, and features with the `defaultValue` "NaN".  "zero":
        the number 0, as in older versions.

    Returns
    -------
    requests : list of Request
        Paths begin after the core or collection.  The first uploads the features, if
        they are given.  Rows whose numbers float32 can hold reach the same leaves,
        where adding 1e-6 in float32 can give the threshold.  It can for all thresholds
        of 1 and more in size, for positive ones from 1e-5 on, and for 99.9% of the
        negative ones from -1 to -1e-4; others are missed by a step of float32, or by
        1e-13.  Scores are sums in float32; those of a classifier are 2 sigma times
        those of its ``decision_function``.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_xgboost_dump`; for other steps of a Pipeline; and for `features`
        that are not those of the columns.

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
    if missing not in ("branch", "zero"):
        raise ValueError(f"missing must be 'branch' or 'zero', got {missing!r}")
    if is_network(estimator):
        names, model = network_model(estimator)
    else:
        described = float32_model(to_tree_model(estimator))
        check_solr(described)
        names = [feature.name for feature in described.features]
        model = trees_model(described, missing)
    requests = []
    if features is not None:
        given = check_features(names, features)
        definitions = [{"store": store, "name": n, **given[n]} for n in names]
        requests.append(Request("PUT", "/schema/feature-store", definitions))
    body = {"store": store, "name": name, **model}
    return [*requests, Request("PUT", "/schema/model-store", body)]


def check_solr(model: TreeModel) -> None:
    """Raise a ValueError for what Solr's trees cannot evaluate."""
    if model.has_categories:
        raise ValueError(
            "Solr's trees know no categories: encode them as numbers, by "
            "OrdinalEncoder or OneHotEncoder, and fit again"
        )


def trees_model(model: TreeModel, missing: str) -> dict[str, Any]:
    """Return a MultipleAdditiveTreesModel."""
    names = [feature.name for feature in model.features]
    trees = [
        {"weight": "1.0", "root": tree_root(tree, names, missing)}
        for tree in model.trees
    ]
    params: dict[str, Any] = {"trees": trees}
    if missing == "branch":
        params = {"isNullSameAsZero": "false", **params}
    return {
        "class": MODEL + "MultipleAdditiveTreesModel",
        "features": [{"name": name} for name in names],
        "params": params,
    }


def tree_root(tree: Tree, names: list[str], missing: str) -> dict[str, Any]:
    """Return a tree; numbers are text, which all versions of Solr read."""
    value = float32_values(tree.value)
    threshold = less_slack(at_most(tree.threshold).clip(-LARGEST, LARGEST)).tolist()

    def leaf(node: int) -> dict[str, Any]:
        return {"value": repr(value[node])}

    def split(node: int, left: Any, right: Any) -> dict[str, Any]:
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
    """Return numbers that become the thresholds when Solr adds 1e-6 to them.

    Of the difference and the four numbers around it, that with the nearest sum.
    """
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


def network_model(estimator: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the names of the columns, and a LinearModel or NeuralNetworkModel."""
    scalings, ranker, names = split_pipeline(estimator)
    layers = layers_of(ranker)
    listed: list[dict[str, Any]] = [{"name": name} for name in names]
    if len(scalings) > 1:
        raise ValueError("Solr has one normalizer for each feature: use one scaler")
    for of_columns in scalings:
        for feature, norm in zip(listed, normalizers(of_columns), strict=True):
            feature["norm"] = norm
    weights = linear_weights(layers)
    if weights is not None:
        params: dict[str, Any] = {
            "weights": dict(zip(names, float32_values(weights), strict=True))
        }
        kind = "LinearModel"
    else:
        activation = ACTIVATIONS.get(layers.activation, layers.activation)
        dense = [{**layer, "activation": activation} for layer in dense_layers(layers)]
        dense[-1]["activation"] = "identity"
        params, kind = {"layers": dense}, "NeuralNetworkModel"
    return names, {"class": MODEL + kind, "features": listed, "params": params}


def normalizers(scaling: Scaling) -> list[dict[str, Any]]:
    """Return the normalizer of each feature."""
    if isinstance(scaling, Standardization):
        return [
            {
                "class": NORM + "StandardNormalizer",
                "params": {"avg": repr(mean), "std": repr(scale)},
            }
            for mean, scale in zip(
                scaling.mean.tolist(), scaling.scale.tolist(), strict=True
            )
        ]
    low, high = scaling.ends()
    return [
        {"class": NORM + "MinMaxNormalizer", "params": {"min": repr(a), "max": repr(b)}}
        for a, b in zip(low.tolist(), high.tolist(), strict=True)
    ]
