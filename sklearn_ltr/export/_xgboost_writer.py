"""XGBoost's JSON: the model, and the dump of its trees that search engines read.

XGBoost computes in float32 and tests ``x < threshold``.  Its sets of categories go
right, and unseen ones left; so a node of categories sends missing values left there,
and has its children exchanged where ours sends them right.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.export._estimators import to_tree_model
from sklearn_ltr.export._float32 import LARGEST, above
from sklearn_ltr.export._lightgbm_writer import codes_of, without_init_score
from sklearn_ltr.export._node_means import node_means
from sklearn_ltr.export._tree_model import Tree, TreeModel

NO_PARENT = 2**31 - 1
INT64 = 15  # XGBoost's number for categories that are integers
VERSION = [3, 1, 0]  # the first that stores categories
OBJECTIVES: dict[str, dict[str, Any]] = {
    "LambdaMARTRanker": {"name": "rank:ndcg", "lambdarank_param": {}},
    "MARTRegressor": {
        "name": "reg:squarederror",
        "reg_loss_param": {"scale_pos_weight": "1"},
    },
    "MARTClassifier": {
        "name": "binary:logistic",
        "reg_loss_param": {"scale_pos_weight": "1"},
    },
}


def to_xgboost(estimator: Any) -> str:
    """Return a fitted model as the JSON of an XGBoost model.

    ``xgboost.Booster().load_model(bytearray(text, "utf-8"))`` loads it, and so do the
    programs that read XGBoost's `model.json`.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted.

    Returns
    -------
    text : str
        Rows whose numbers float32 can hold reach the same leaves; XGBoost rounds other
        numbers, which may then cross a threshold.  It adds leaf values in float32, so
        scores differ in their last digits.  The model of a classifier is
        "binary:logistic": its leaf values are multiplied by 2 sigma, so that XGBoost
        returns the same probabilities.  Categories are codes, as in
        :func:`to_lightgbm`; XGBoost >= 3.1 makes them itself of the columns of a pandas
        DataFrame that have a categorical dtype.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_lightgbm`; and for leaf values that float32 cannot hold.
    """
    model = float32_model(to_tree_model(estimator))
    names = [feature.name for feature in model.features]
    trees = [tree_value(tree, model, m) for m, tree in enumerate(model.trees)]
    n_trees = len(trees)
    booster = {
        "gbtree_model_param": {"num_trees": str(n_trees), "num_parallel_tree": "1"},
        "iteration_indptr": list(range(n_trees + 1)),
        "tree_info": [0] * n_trees,
        "trees": trees,
        "cats": categories_value(model),
    }
    learner = {
        "attributes": {},
        "feature_names": names if model.has_feature_names else [],
        "feature_types": [
            "float" if feature.categories is None else "c" for feature in model.features
        ],
        "gradient_booster": {"name": "gbtree", "model": booster},
        "learner_model_param": {
            "base_score": "5E-1" if model.estimator == "MARTClassifier" else "0E0",
            "boost_from_average": "0",
            "num_class": "0",
            "num_feature": str(model.n_features),
            "num_target": "1",
        },
        "objective": OBJECTIVES[model.estimator],
    }
    return json.dumps({"version": VERSION, "learner": learner}, allow_nan=False)


def to_xgboost_dump(estimator: Any) -> str:
    """Return the trees of a fitted model as XGBoost's JSON dump.

    This is the form of ``Booster.get_dump(dump_format="json")``, one list of all trees.
    Elasticsearch and OpenSearch Learning to Rank read it as `model/xgboost+json`, and
    Vespa reads it.  All of them compute in float32; see :func:`to_xgboost`.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted, without categorical features.

    Returns
    -------
    text : str
        The base score is in the leaves of the first tree.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_xgboost`; and for categorical features.
    """
    model = float32_model(to_tree_model(estimator))
    if model.has_categories:
        raise ValueError(
            "readers of XGBoost's dump know no categories: encode them as numbers, by "
            "OrdinalEncoder or OneHotEncoder, and fit again"
        )
    return "[" + ",\n".join(tree_dump(tree, model) for tree in model.trees) + "]"


def float32_model(model: TreeModel) -> TreeModel:
    """Return a model whose base score is 0, and whose leaf values are margins."""
    model = without_init_score(model).with_base_score_in_leaves()
    if model.estimator == "MARTClassifier":
        model = model.scaled(2 * model.sigma)
    for m, tree in enumerate(model.trees):
        if np.abs(tree.value).max() > LARGEST:
            raise ValueError(
                f"trees[{m}] has a leaf value of {np.abs(tree.value).max():g}, which "
                "float32 cannot hold: fit targets of a smaller scale"
            )
    return model


def thresholds(tree: Tree) -> NDArray[np.float64]:
    """Return what numbers that go left are below, float32 in float64; finite."""
    return np.minimum(above(tree.threshold), LARGEST).astype(np.float64)


def float32_values(values: NDArray[np.float64]) -> list[float]:
    """Return numbers rounded to float32; all their digits are written."""
    found: list[float] = values.astype(np.float32).astype(np.float64).tolist()
    return found


def tree_value(tree: Tree, model: TreeModel, number: int) -> dict[str, Any]:
    """Return a tree of a model."""
    left, right, default_left = (
        array.copy() for array in (tree.left, tree.right, tree.missing_left)
    )
    sets: list[list[int]] = []
    nodes = sorted(tree.left_categories)
    for node in nodes:
        code = codes_of(model.features[tree.feature[node]]) or {}
        goes_right = set(tree.left_categories[node])
        if tree.missing_left[node]:
            goes_right = set(code) - goes_right
        else:
            left[node], right[node] = right[node], left[node]
        default_left[node] = True
        sets.append(sorted(code[category] for category in goes_right))
    sizes = [len(codes) for codes in sets]
    parents = np.full(len(left), NO_PARENT)
    inner = np.flatnonzero(~tree.is_leaf)
    parents[left[inner]] = parents[right[inner]] = inner
    mean, n_rows = node_means(tree)
    split = np.where(tree.is_leaf, tree.value, thresholds(tree))
    split_type = np.zeros(len(left), dtype=np.int64)
    split_type[nodes] = 1
    return {
        "id": number,
        "tree_param": {
            "num_nodes": str(len(left)),
            "num_feature": str(model.n_features),
            "num_deleted": "0",
            "size_leaf_vector": "1",
        },
        "left_children": left.tolist(),
        "right_children": right.tolist(),
        "parents": parents.tolist(),
        "split_indices": np.maximum(tree.feature, 0).tolist(),
        "split_conditions": float32_values(split),
        "split_type": split_type.tolist(),
        "default_left": default_left.astype(np.int64).tolist(),
        "categories": [code for codes in sets for code in codes],
        "categories_nodes": nodes,
        "categories_segments": np.cumsum([0, *sizes])[:-1].tolist(),
        "categories_sizes": sizes,
        "base_weights": float32_values(mean),
        "loss_changes": float32_values(np.minimum(tree.gain, LARGEST)),
        "sum_hessian": float32_values(n_rows.astype(np.float64)),
    }


def categories_value(model: TreeModel) -> dict[str, Any]:
    """Return the categories of all features, by code, as XGBoost stores them."""
    encoded: list[dict[str, Any]] = []
    order: list[int] = []
    sizes = []
    for feature in model.features:
        known = feature.categories or ()
        if feature.categories is None or feature.is_text:
            texts = [str(category).encode() for category in known]
            encoded.append(
                {
                    "offsets": np.cumsum([0, *map(len, texts)]).tolist()
                    if texts
                    else [],
                    "values": [byte for text in texts for byte in text],
                }
            )
            # XGBoost compares bytes, as UTF-8 sorts like the text itself
            sizes.append(len(texts))
        else:
            n_codes = max((int(category) for category in known), default=-1) + 1
            encoded.append({"type": INT64, "values": list(range(n_codes))})
            sizes.append(n_codes)
        order += range(sizes[-1])
    return {
        "enc": encoded,
        "feature_segments": np.cumsum([0, *sizes]).tolist(),
        "sorted_idx": order,
    }


def tree_dump(tree: Tree, model: TreeModel) -> str:
    """Return a tree of a dump; children before parents, so that depth is no limit."""
    depth = np.zeros(len(tree.feature), dtype=np.int64)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    split, value = thresholds(tree).tolist(), float32_values(tree.value)
    texts: dict[int, str] = {}
    for node in range(len(depth) - 1, -1, -1):
        if tree.is_leaf[node]:
            texts[node] = json.dumps({"nodeid": node, "leaf": value[node]})
            continue
        yes, no = int(tree.left[node]), int(tree.right[node])
        fields = {
            "nodeid": node,
            "depth": int(depth[node]),
            "split": model.features[tree.feature[node]].name,
            "split_condition": split[node],
            "yes": yes,
            "no": no,
            "missing": yes if tree.missing_left[node] else no,
        }
        children = f'"children": [{texts.pop(yes)}, {texts.pop(no)}]'
        texts[node] = json.dumps(fields)[:-1] + f", {children}}}"
    return texts[0]
