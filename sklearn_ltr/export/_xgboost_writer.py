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
        As :func:`to_lightgbm`; for leaf values that float32 cannot hold; and for
        categories that are not ASCII, of which XGBoost miscounts the bytes.

    Examples
    --------
    >>> import json, xgboost
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_xgboost, to_xgboost_dump
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> booster = xgboost.Booster()
    >>> booster.load_model(bytearray(to_xgboost(ranker), "utf-8"))
    >>> len(booster.get_dump()), len(json.loads(to_xgboost_dump(ranker)))
    (2, 2)
    """
    return xgboost_text(to_tree_model(estimator))


def xgboost_text(model: TreeModel) -> str:
    """Return a model as XGBoost's JSON."""
    model = float32_model(model)
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
    left, right, default_left, right_codes = sides(tree, model)
    order = breadth_first(left, right)
    place = np.argsort(order)
    is_leaf, mean, n_rows = tree.is_leaf[order], *node_means(tree)
    children = [
        np.where(is_leaf, -1, place[side[order]]).tolist() for side in (left, right)
    ]
    parents = [NO_PARENT] * len(order)
    for node, pair in enumerate(zip(*children, strict=True)):
        for child in pair:
            if child != -1:
                parents[child] = node
    nodes = [node for node, old in enumerate(order) if old in right_codes]
    sets = [right_codes[order[node]] for node in nodes]
    sizes = [len(codes) for codes in sets]
    split = np.where(tree.is_leaf, tree.value, thresholds(tree))
    return {
        "id": number,
        "tree_param": {
            "num_nodes": str(len(order)),
            "num_feature": str(model.n_features),
            "num_deleted": "0",
            "size_leaf_vector": "1",
        },
        "left_children": children[0],
        "right_children": children[1],
        "parents": parents,
        "split_indices": np.maximum(tree.feature[order], 0).tolist(),
        "split_conditions": float32_values(split[order]),
        "split_type": [int(old in right_codes) for old in order],
        "default_left": default_left[order].astype(np.int64).tolist(),
        "categories": [code for codes in sets for code in codes],
        "categories_nodes": nodes,
        "categories_segments": np.cumsum([0, *sizes])[:-1].tolist(),
        "categories_sizes": sizes,
        "base_weights": float32_values(mean[order]),
        "loss_changes": float32_values(np.minimum(tree.gain[order], LARGEST)),
        "sum_hessian": float32_values(n_rows[order].astype(np.float64)),
    }


Sides = tuple[
    NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_], dict[int, list[int]]
]


def sides(tree: Tree, model: TreeModel) -> Sides:
    """Return left, right, default_left, and the codes that nodes send right."""
    left, right = tree.left.copy(), tree.right.copy()
    default_left = tree.missing_left.copy()
    right_codes = {}
    for node, categories in tree.left_categories.items():
        code = codes_of(model.features[tree.feature[node]]) or {}
        goes_right = set(categories)
        if tree.missing_left[node]:
            goes_right = set(code) - goes_right
        else:
            left[node], right[node] = right[node], left[node]
        default_left[node] = True
        right_codes[node] = sorted(code[category] for category in goes_right)
    return left, right, default_left, right_codes


def breadth_first(left: NDArray[np.int32], right: NDArray[np.int32]) -> list[int]:
    """Return the nodes, level by level: XGBoost looks for a right child after a left.

    That is undocumented, but true of all trees that it grows.
    """
    order = [0]
    for node in order:
        if left[node] != -1:
            order += [int(left[node]), int(right[node])]
    return order


def categories_value(model: TreeModel) -> dict[str, Any]:
    """Return the categories of all features, by code, as XGBoost stores them."""
    encoded: list[dict[str, Any]] = []
    order: list[int] = []  # of each feature's categories, which ascend already
    sizes = [0]
    for feature in model.features:
        known = feature.categories or ()
        if feature.categories is None or feature.is_text:
            if not all(str(category).isascii() for category in known):
                raise ValueError(
                    f"feature {feature.name!r} has categories that are not ASCII, "
                    "which XGBoost (up to 3.2) misreads: rename them and fit again"
                )
            texts = [str(category).encode() for category in known]
            ends = np.cumsum([0, *map(len, texts)]).tolist() if texts else []
            values = np.frombuffer(b"".join(texts), dtype=np.int8).tolist()
            encoded.append({"offsets": ends, "values": values})
            sizes.append(len(texts))
        else:
            n_codes = max((int(category) for category in known), default=-1) + 1
            encoded.append({"type": INT64, "values": list(range(n_codes))})
            sizes.append(n_codes)
        order += range(sizes[-1])
    return {
        "enc": encoded,
        "feature_segments": np.cumsum(sizes).tolist(),
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
