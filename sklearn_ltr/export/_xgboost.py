"""XGBoost's JSON: the model, and the dump of its trees that search engines read.

XGBoost computes in float32 and tests ``x < threshold``.  Its sets of categories go
right, and unseen ones left; so a node of categories sends missing values left there,
and has its children exchanged where ours sends them right.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.export._document import array, checked, excerpt, items, member, objects
from sklearn_ltr.export._estimators import TreesLike, trees_alone
from sklearn_ltr.export._float32 import (
    LARGEST,
    float32_model,
    float32_values,
    limits,
    rounded_below,
)
from sklearn_ltr.export._imported import (
    MOST_WITHOUT_NAMES,
    Scores,
    check_children,
    imported_ranker,
    unknown_parts,
)
from sklearn_ltr.export._model_files import TextOrFile, json_model, text_of
from sklearn_ltr.export._tree_model import (
    Category,
    Codes,
    Node,
    Tree,
    TreeModel,
    category_tests,
    check_names,
    check_no_categories,
    codes_of,
    depths,
    errors_in,
    fold,
    made_up_names,
    node_means,
    unfold,
)

if TYPE_CHECKING:
    from xgboost import Booster, XGBModel

    from sklearn_ltr import LambdaMARTRanker

__all__ = ["from_xgboost", "to_xgboost", "to_xgboost_dump"]

NO_PARENT = 2**31 - 1
INT64 = 15  # XGBoost's number for categories that are integers
WRITTEN_AS = [3, 1, 0]  # the first version that stores categories
REG_LOSS = {"reg_loss_param": {"scale_pos_weight": "1"}}
XGBOOST_OBJECTIVES: dict[str, dict[str, object]] = {
    "LambdaMARTRanker": {"name": "rank:ndcg", "lambdarank_param": {}},
    "MARTRegressor": {"name": "reg:squarederror", **REG_LOSS},
    "MARTClassifier": {"name": "binary:logistic", **REG_LOSS},
}

# Objectives with one score for each row, and what turns base_score into a score
IDENTITY = frozenset(
    "rank:ndcg rank:pairwise rank:map reg:squarederror reg:squaredlogerror "
    "reg:pseudohubererror reg:absoluteerror reg:quantileerror "
    "binary:hinge binary:logitraw".split()
)
LOGIT = frozenset("binary:logistic reg:logistic".split())
LOGARITHM = frozenset("count:poisson reg:gamma reg:tweedie".split())
LEAST_CODES, MOST_CODES = 1024, 2**20
ROWS_PER_HESSIAN, LARGEST_HESSIAN = 1000, 1e12

# What the reader has been checked with: versions from 1.3 to 3.4, and their parts
NEWEST_XGBOOST = (3, 4)
COUNTS_BYTES = (3, 4)  # of text; earlier versions may count characters
XGBOOST_PARTS = {
    "learner": "attributes feature_names feature_types gradient_booster "
    "learner_model_param objective",
    "gradient_booster": "name model gbtree weight_drop",
    "model": "cats gbtree_model_param iteration_indptr tree_info trees weight_drop",
    "tree": "base_weights categories categories_nodes categories_segments "
    "categories_sizes default_left id left_children leaf_child_counts loss_changes "
    "parents right_children split_conditions split_indices split_type sum_hessian "
    "tree_param",
}


def to_xgboost(estimator: TreesLike, *, missing: str = "branch") -> str:
    """Return a fitted model as the JSON of an XGBoost model.

    ``xgboost.Booster().load_model(bytearray(text, "utf-8"))`` loads it, and so do the
    programs that read XGBoost's `model.json`.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted.
    missing : {"branch", "zero"}, default="branch"
        What a missing value is.  "branch": missing, as here.  "zero": the number 0, for
        rows that XGBoost is given as a sparse matrix: it takes entries that are not
        stored for missing, while they are 0 here.

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
        As :func:`to_lightgbm`; for leaf values that float32 cannot hold; for categories
        that are not ASCII, of which XGBoost miscounts the bytes; and for names with
        "[", "]" or "<", which XGBoost refuses, or with control characters.

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
    return xgboost_text(trees_alone(estimator, missing))


def xgboost_text(model: TreeModel) -> str:
    """Return a model as XGBoost's JSON."""
    model = float32_model(model)
    check_names(model.features, r"[\[\]<\x00-\x1f]", "XGBoost refuses or misreads")
    names = [feature.name for feature in model.features]
    codes = codes_of(model)
    trees = [
        xgboost_tree_value(tree, m, model.n_features, codes)
        for m, tree in enumerate(model.trees)
    ]
    n_trees = len(trees)
    # the categories of all features, by code, as XGBoost stores them
    encoded: list[dict[str, object]] = []
    order: list[int] = []  # of each feature's categories, which ascend already
    sizes = [0]
    for feature in model.features:
        known = feature.categories or ()
        if feature.categories is None or feature.is_text:
            if not all(str(category).isascii() for category in known):
                raise ValueError(
                    f"feature {feature.name!r} has categories that are not ASCII, "
                    "which XGBoost before 3.4 misreads: rename them and fit again"
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
    booster = {
        "gbtree_model_param": {"num_trees": str(n_trees), "num_parallel_tree": "1"},
        "iteration_indptr": list(range(n_trees + 1)),
        "tree_info": [0] * n_trees,
        "trees": trees,
        "cats": {
            "enc": encoded,
            "feature_segments": np.cumsum(sizes).tolist(),
            "sorted_idx": order,
        },
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
        "objective": XGBOOST_OBJECTIVES[model.estimator],
    }
    # XGBoost reads text as it is written, without \\u escapes
    document = {"version": WRITTEN_AS, "learner": learner}
    return json.dumps(document, allow_nan=False, ensure_ascii=False)


def to_xgboost_dump(estimator: TreesLike, *, missing: str = "branch") -> str:
    """Return the trees of a fitted model as XGBoost's JSON dump.

    This is the form of ``Booster.get_dump(dump_format="json")``, one list of all trees.
    Elasticsearch and OpenSearch Learning to Rank read it as `model/xgboost+json`, and
    Vespa reads it.  All of them compute in float32; see :func:`to_xgboost`.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted, without categorical features.
    missing : {"branch", "zero"}, default="branch"
        What a missing value is.  "branch": missing, as here.  "zero": the number 0.

    Returns
    -------
    text : str
        The base score is in the leaves of the first tree.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_xgboost`; and for categorical features.
    """
    return dump_text(trees_alone(estimator, missing))


def dump_text(model: TreeModel) -> str:
    """Return the trees of a model as XGBoost's dump."""
    check_no_categories(model, "readers of XGBoost's dump know")
    model = float32_model(model)
    return "[" + ",\n".join(tree_dump(tree, model) for tree in model.trees) + "]"


def xgboost_tree_value(
    tree: Tree, number: int, n_features: int, codes: Codes
) -> dict[str, object]:
    """Return the JSON object of a tree."""
    # XGBoost sends missing values left at a set, which lists the codes that go right
    left, right = tree.left.copy(), tree.right.copy()
    default_left = tree.missing_left.copy()
    right_codes = {}
    for node, test in category_tests(tree, codes).items():
        left[node], right[node], default_left[node] = test.other, test.child, True
        right_codes[node] = test.codes
    # nodes are renumbered level by level: those of the first inner node are 1 and 2,
    # those of the second 3 and 4, ...: XGBoost looks for a right child after its left,
    # which is undocumented, but true of all trees that it grows
    order = [0]
    for node in order:
        if left[node] != -1:
            order += [int(left[node]), int(right[node])]
    inner = np.flatnonzero(~tree.is_leaf[order])
    children = np.full((2, len(order)), -1)
    children[:, inner] = np.arange(1, len(order)).reshape(-1, 2).T
    mean, n_rows = node_means(tree)
    # sets of categories are stored one after another, with the nodes that they are of
    nodes = [node for node, old in enumerate(order) if old in right_codes]
    sets = [right_codes[order[node]] for node in nodes]
    sizes = [len(codes) for codes in sets]
    split = np.where(tree.is_leaf, tree.value, limits(tree))
    return {
        "id": number,
        "tree_param": {
            "num_nodes": str(len(order)),
            "num_feature": str(n_features),
            "num_deleted": "0",
            "size_leaf_vector": "1",
        },
        "left_children": children[0].tolist(),
        "right_children": children[1].tolist(),
        "parents": [NO_PARENT, *np.repeat(inner, 2).tolist()],
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


def tree_dump(tree: Tree, model: TreeModel) -> str:
    """Return the JSON of a tree in a dump."""
    depth = depths(tree).tolist()
    threshold, value = limits(tree).tolist(), float32_values(tree.value)

    def leaf(node: int) -> str:
        return json.dumps({"nodeid": node, "leaf": value[node]})

    def split(node: int, left: str, right: str) -> str:
        yes, no = int(tree.left[node]), int(tree.right[node])
        fields = {
            "nodeid": node,
            "depth": depth[node],
            "split": model.features[tree.feature[node]].name,
            "split_condition": threshold[node],
            "yes": yes,
            "no": no,
            "missing": yes if tree.missing_left[node] else no,
        }
        return json.dumps(fields)[:-1] + f', "children": [{left}, {right}]}}'

    return fold(tree, leaf, split)


def from_xgboost(model: Booster | XGBModel | TextOrFile) -> LambdaMARTRanker:
    """Return a ranker that scores as a model trained by XGBoost.

    Parameters
    ----------
    model : xgboost.Booster, fitted XGBModel, str, bytes or path
        A booster, of trees or "dart"; an estimator of XGBoost's; the JSON text of
        ``save_model("model.json")``; or a path that names the file which holds it.

    Returns
    -------
    ranker : LambdaMARTRanker
        Fitted.  Every row reaches the leaves that it reaches in XGBoost, which rounds
        its numbers to float32 first; here leaf values are added in float64.  `predict`
        returns what XGBoost returns with ``output_margin=True``, up to that.  To
        continue it, give it to another ranker as `init`.  After early stopping it has
        the trees up to the best iteration, as ``predict`` of an XGBRanker uses, while
        that of a Booster uses all; ``from_xgboost(booster[:])`` has all.  A value that
        a DMatrix took for missing (its parameter `missing`) must be NaN here.  A sparse
        X is refused, unless missing values go where 0 goes.  Categories are those of
        the DataFrame that XGBoost >= 3.1 was trained with, else codes.  A category that
        was not there in training counts as missing here, while XGBoost refuses it, or
        sends its code left.  For SHAP values, `n_rows` of a leaf is 1,000 times its sum
        of hessians: XGBoost counts no rows.

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        That names the place, if the text is damaged, or holds what this package cannot
        read: several classes or targets, a linear booster, an unknown objective, more
        than 255 groups of categories that its trees separate, an estimator whose
        parameter `missing` is not NaN.  Also for a file of another kind, such as a
        dump or binary JSON; for a newer version than 3.4, or unknown parts, unless
        `model` is an object of XGBoost that scores some rows as the ranker does.

    Examples
    --------
    >>> import xgboost
    >>> from sklearn_ltr.export import from_xgboost
    >>> theirs = xgboost.XGBRanker(n_estimators=2)
    >>> theirs = theirs.fit([[1.0], [2.0], [3.0]], [0, 1, 2], qid=[7, 7, 7])
    >>> ours = from_xgboost(theirs.get_booster())
    >>> abs(ours.predict([[2.0]]) - theirs.predict([[2.0]])) < 1e-6
    array([ True])
    """
    given: Any = model
    theirs: Scores | None = None
    if hasattr(given, "get_booster"):
        given, missing = given.get_booster(), getattr(given, "missing", None)
        if missing is not None and not np.isnan(missing):
            raise ValueError(
                f"the estimator takes {missing!r} for missing (its parameter missing), "
                "but here only NaN is missing: give its get_booster(), and replace "
                f"{missing!r} by NaN in the X that the ranker scores"
            )
    if hasattr(given, "save_raw"):
        model, theirs = bytes(given.save_raw("json")), partial(xgboost_scores, given)
    wanted = "model must be a fitted model of XGBoost, its text or its file"
    document = json_model(text_of(model, wanted), "XGBoost", "learner")
    learner = member(document, "learner", dict)
    version = items(member(document, "version", list), int, "version")
    parameters = member(learner, "learner_model_param", dict, "learner")
    booster = member(learner, "gradient_booster", dict, "learner")
    gbtree = booster
    if member(booster, "name", str, "gradient_booster") == "dart":
        gbtree = member(booster, "gbtree", dict, "gradient_booster")
    if member(gbtree, "name", str, "gradient_booster") != "gbtree":
        raise ValueError(
            f"gradient_booster.name is {excerpt(gbtree['name'])}: only models of "
            'trees, "gbtree" and "dart", are read'
        )
    forest = member(gbtree, "model", dict, "gradient_booster")
    n_classes = count(parameters, "num_class")
    n_targets = count(parameters, "num_target") if "num_target" in parameters else 1
    tree_info = array(forest, "tree_info", np.int64, "model")
    if n_classes > 1 or n_targets > 1 or tree_info.any():
        raise ValueError(
            f"it has {max(n_classes, n_targets, 2)} scores or more for each row, for "
            "classes or targets: give a model with one score"
        )
    # columns
    n_features = count(parameters, "num_feature")
    names = items(learner.get("feature_names", []), str, "learner.feature_names")
    types = items(learner.get("feature_types", []), str, "learner.feature_types")
    if not names and n_features > MOST_WITHOUT_NAMES:
        raise ValueError(f"num_feature is {n_features}, and none of them has a name")
    if (names and len(names) != n_features) or (types and len(types) != n_features):
        raise ValueError(
            f"num_feature is {n_features}, and there are {len(names)} feature_names "
            f"and {len(types)} feature_types"
        )
    names = names or made_up_names(n_features)
    # parts that this reader does not know are collected, and judged at the end
    is_newer = tuple(version[:2]) > NEWEST_XGBOOST
    unknown = [f"version {'.'.join(map(str, version))}"] * is_newer
    for part, where in (
        (learner, "learner"),
        (booster, "gradient_booster"),
        (gbtree, "gradient_booster"),
        (forest, "model"),
    ):
        unknown += unknown_parts(part, XGBOOST_PARTS[where], where)
    # trees
    nodes = []
    for m, tree in enumerate(member(forest, "trees", list, "model")):
        with errors_in(f"trees[{m}]"):
            nodes.append(read_xgboost_nodes(tree, n_features))
            unknown += unknown_parts(tree, XGBOOST_PARTS["tree"], f"trees[{m}]")
    categories = read_xgboost_categories(forest, types, nodes, version)
    trees = [build_tree(tree, categories) for tree in nodes]
    # factors of trees, of which some were dropped in training: of a booster "dart", or,
    # from 3.4 on, of any model; an updated one has more factors than trees
    for part in (booster, forest):
        if "weight_drop" in part:
            weights = array(part, "weight_drop", np.float64, "gradient_booster")
            if len(weights) < len(trees):
                raise ValueError(
                    f"weight_drop has {len(weights)} of {len(trees)} trees"
                )
            trees = [t.scaled(float(w)) for t, w in zip(trees, weights, strict=False)]
    trees = trees[: n_trees_used(learner, forest, len(trees))]
    codes = {
        j: {category: code for code, category in enumerate(listed)}
        for j, listed in categories.items()
    }
    score = base_score(learner, parameters)
    return imported_ranker(
        names,
        trees,
        codes,
        score,
        library="XGBoost",
        unknown=unknown,
        theirs=theirs,
        absent_is_missing=True,
    )


def xgboost_scores(booster: Booster, X: FloatArray) -> ArrayLike:
    """Return the raw scores of a booster for rows with codes."""
    import xgboost

    rows = xgboost.DMatrix(
        X,
        feature_names=booster.feature_names,
        feature_types=booster.feature_types,
        enable_categorical=True,
    )
    best = booster.attr("best_iteration")
    n_iterations = 0 if best is None else int(best) + 1  # 0: all
    scores: ArrayLike = booster.predict(
        rows, output_margin=True, iteration_range=(0, n_iterations)
    )
    return scores


def n_trees_used(
    learner: Mapping[str, object], forest: Mapping[str, object], n_trees: int
) -> int:
    """Return how many of a model's trees `predict` of an XGBRanker uses."""
    attributes = learner.get("attributes", {})
    if type(attributes) is not dict or "best_iteration" not in attributes:
        return n_trees
    n_iterations = count(attributes, "best_iteration", "attributes") + 1
    if "iteration_indptr" in forest:
        ends = array(forest, "iteration_indptr", np.int64, "model").tolist()
    else:  # versions before 2
        parameters = member(forest, "gbtree_model_param", dict, "model")
        n_parallel = 1
        if "num_parallel_tree" in parameters:
            n_parallel = count(parameters, "num_parallel_tree", "gbtree_model_param")
        if "best_ntree_limit" in attributes:
            n_used = count(attributes, "best_ntree_limit", "attributes")
            n_parallel = n_used // n_iterations
        ends = list(range(0, n_trees + 1, max(n_parallel, 1)))
    if not n_iterations < len(ends) or not 0 < ends[n_iterations] <= n_trees:
        raise ValueError(
            f"attributes.best_iteration is {n_iterations - 1}, and there are {n_trees} "
            f"trees of {len(ends) - 1} iterations"
        )
    return int(ends[n_iterations])


def count(
    parameters: Mapping[str, object], key: str, where: str = "learner_model_param"
) -> int:
    """Return a number >= 0 that is stored as text."""
    text = member(parameters, key, str, where)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ValueError(f"{where}.{key} is no number: {excerpt(text)}")
    return int(text)


def base_score(
    learner: Mapping[str, object], parameters: Mapping[str, object]
) -> float:
    """Return the score before the first tree."""
    name = member(member(learner, "objective", dict), "name", str, "objective")
    text = member(parameters, "base_score", str, "learner_model_param")
    try:
        if "_" in text or not text.isascii():  # numbers of Python only
            raise ValueError("this is no number")
        with np.errstate(over="ignore"):
            value = float(np.float32(text.strip("[]")))
        if name in LOGIT:
            value = -math.log(1.0 / value - 1.0)
        elif name in LOGARITHM:
            value = math.log(value)
        elif name not in IDENTITY:
            raise ValueError(
                f"objective {excerpt(name)} is not known to have one score for each "
                "row: train with another"
            )
    except (ArithmeticError, ValueError) as error:
        raise ValueError(f"base_score={excerpt(text)}: {error}") from None
    return value


class XGBoostNodes(NamedTuple):
    """The arrays of a tree, by their names in the JSON."""

    left_children: NDArray[np.int64]
    right_children: NDArray[np.int64]
    split_indices: NDArray[np.int64]
    split_conditions: NDArray[np.float64]  # a threshold; in a leaf, its value
    loss_changes: NDArray[np.float64]
    sum_hessian: NDArray[np.float64]
    default_left: NDArray[np.int64]
    right_codes: dict[int, list[int]]  # codes that a node sends right


def read_xgboost_nodes(tree: dict[str, Any], n_features: int) -> XGBoostNodes:
    """Return the arrays of a tree after a check that they are one."""
    arrays = {
        key: array(tree, key, np.int64 if i < 3 else np.float64, "tree")
        for i, key in enumerate(XGBoostNodes._fields[:-2])
    }
    default_left = member(tree, "default_left", list, "tree")
    for i, side in enumerate(default_left):  # booleans, of older versions, are equal
        if side not in (0, 1):
            raise ValueError(f"default_left[{i}] must be 0 or 1, got {excerpt(side)}")
    arrays["default_left"] = np.array(default_left, dtype=np.int64)
    n_nodes = len(arrays["left_children"])
    for key, values in arrays.items():
        if len(values) != n_nodes:
            raise ValueError(f"{key} has {len(values)} of {n_nodes} nodes")
    left, right = arrays["left_children"].tolist(), arrays["right_children"].tolist()
    # pruning leaves nodes behind that the root does not reach, and sets in leaves
    tests = [node for node in check_children(left, right) if left[node] != -1]
    indices = arrays["split_indices"]
    if not ((indices[tests] >= 0) & (indices[tests] < n_features)).all():
        raise ValueError(f"split_indices holds numbers that are none of {n_features}")
    right_codes: dict[int, list[int]] = {}
    types = array({"split_type": [0] * n_nodes} | tree, "split_type", np.int64, "tree")
    if types.any():
        nodes, starts, sizes, codes = (
            array(tree, f"categories{key}", np.int64, "tree").tolist()
            for key in ("_nodes", "_segments", "_sizes", "")
        )
        if not (
            len(nodes) == len(starts) == len(sizes)
            and len(types) == n_nodes
            and nodes == np.flatnonzero(types).tolist()
            and all(
                0 <= i and 0 <= n <= len(codes) - i
                for i, n in zip(starts, sizes, strict=True)
            )
            and sum(sizes) <= len(codes)
        ):
            raise ValueError("categories_... do not divide the categories among nodes")
        if not all(0 <= code < MOST_CODES for code in codes):
            raise ValueError(
                f"categories holds codes that are not from 0 to {MOST_CODES}"
            )
        reached = set(tests)
        for node, i, n in zip(nodes, starts, sizes, strict=True):
            if node in reached:
                right_codes[node] = codes[i : i + n]
    return XGBoostNodes(**arrays, right_codes=right_codes)


def build_tree(nodes: XGBoostNodes, categories: Mapping[int, list[Category]]) -> Tree:
    """Return a tree whose nodes test ``x <= threshold``, and send sets left."""
    left, right = nodes.left_children.tolist(), nodes.right_children.tolist()
    thresholds = rounded_below(nodes.split_conditions)
    gain = np.maximum(nodes.loss_changes, 0.0)
    hessian = np.clip(nodes.sum_hessian, 0.0, LARGEST_HESSIAN)

    def node_of(node: int) -> tuple[Node, dict[str, int]]:
        if left[node] == -1:
            n_rows = round(ROWS_PER_HESSIAN * float(hessian[node]))
            return Node(value=nodes.split_conditions[node], n_rows=n_rows), {}
        j, sent_left, threshold = int(nodes.split_indices[node]), None, thresholds[node]
        if node in nodes.right_codes:
            right_codes, threshold = set(nodes.right_codes[node]), 0.0
            sent_left = [c for i, c in enumerate(categories[j]) if i not in right_codes]
        split = Node(
            feature=j,
            threshold=threshold,
            missing_left=nodes.default_left[node],
            gain=gain[node],
            left_categories=sent_left,
        )
        return split, {"left": left[node], "right": right[node]}

    return unfold(0, node_of)


def read_xgboost_categories(
    forest: Mapping[str, object],
    types: Sequence[str],
    trees: Sequence[XGBoostNodes],
    version: list[int],
) -> dict[int, list[Category]]:
    """Return the categories of each categorical feature, by code."""
    largest = {j: -1 for j, kind in enumerate(types) if kind == "c"}
    for tree in trees:
        for node, codes in tree.right_codes.items():
            j = int(tree.split_indices[node])
            largest[j] = max(largest.get(j, -1), *codes, -1)
    # XGBoost >= 3.1 stores those of a DataFrame's columns: numbers, or text as bytes
    # and offsets
    stored: dict[int, list[Category]] = {}
    columns = objects(forest["cats"], "enc", "cats") if "cats" in forest else []
    for j, (where, column) in enumerate(columns):
        values = member(column, "values", list, where)
        if "offsets" not in column:
            stored[j] = [
                v if type(v) is int else checked(v, float, f"{where}.values[{i}]")
                for i, v in enumerate(values)
            ]
            continue
        offsets = array(column, "offsets", np.int64, where).tolist()
        text = array(column, "values", np.int8, where)
        if (text < 0).any() and tuple(version[:2]) < COUNTS_BYTES:
            raise ValueError(
                f"{where} holds text that is not ASCII, of which XGBoost before 3.4 "
                "has counted the characters in place of the bytes: train with other "
                "names"
            )
        if any(
            not 0 <= first <= last <= len(text) for first, last in pairwise(offsets)
        ):
            raise ValueError(f"{where}.offsets do not divide the text")
        characters = text.tobytes()
        stored[j] = [
            characters[first:last].decode() for first, last in pairwise(offsets)
        ]
    categories: dict[int, list[Category]] = {}
    for j in sorted(largest):
        categories[j] = stored.get(j, [])
        if not categories[j]:
            # what no set holds goes left, so that more codes than there were do no harm
            categories[j] = list(range(max(largest[j] + 1, LEAST_CODES)))
        n_known = len(categories[j])
        if largest[j] >= n_known or len(set(categories[j])) < n_known:
            raise ValueError(
                f"feature {j} has a category twice, or fewer than its trees test"
            )
    return categories
