"""CatBoost's JSON model, written and read.

A tree is a list of splits and a value for each combination of their outcomes: bit b of
the number of a value is whether x is above the border of split b.  So it holds a
symmetric tree, and any other tree of few different conditions.

The model states for each feature whether missing values are below or above all borders.
If trees send missing values of a feature to both sides, they are written as below, and
a tree that sends them right has one more split, ``x > -LARGEST``, which is true for
all numbers and false for missing values.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.export._document import array, checked, excerpt, items, member, objects
from sklearn_ltr.export._estimators import TreesLike, trees_alone
from sklearn_ltr.export._float32 import LARGEST, at_most, rounded_at_most
from sklearn_ltr.export._imported import Scores, imported_ranker, unknown_parts
from sklearn_ltr.export._model_files import TextOrFile, json_model, text_of
from sklearn_ltr.export._tree_model import (
    Node,
    Tree,
    check_no_categories,
    errors_in,
    fold,
    made_up_names,
    unfold,
)

if TYPE_CHECKING:
    from catboost import CatBoost

    from sklearn_ltr import LambdaMARTRanker

__all__ = ["from_catboost", "to_catboost"]

# What the reader has been checked with: version 1.2, and its parts
NEWEST_CATBOOST = (1, 2)
CATBOOST_PARTS = {
    "document": "ctr_data features_info model_info oblivious_trees scale_and_bias",
    "column": "borders feature_id feature_index flat_feature_index has_nans "
    "nan_value_treatment",
    "tree": "leaf_values leaf_weights splits",
    "split": "border float_feature_index split_index split_type",
}
DEEPEST_TREE = 16  # symmetric trees of CatBoost
LARGEST_WEIGHT = 1e12

BELOW, ABOVE = "AsFalse", "AsTrue"  # where missing values are, beside all borders
Split = tuple[int, float]  # feature and border: is x above it?


def to_catboost(estimator: TreesLike, *, missing: str = "branch") -> str:
    """Return a fitted model of symmetric trees as the JSON of a CatBoost model.

    ``catboost.CatBoost().load_model(path, format="json")`` loads it from a file, and
    writes it in CatBoost's other formats.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted, with symmetric trees (``grow_policy="symmetric"``), or other trees of at
        most 16 different conditions each.
    missing : {"branch", "zero"}, default="branch"
        What a missing value is.  "branch": missing, as here.  "zero": the number 0.

    Returns
    -------
    text : str
        Rows whose numbers float32 can hold reach the same leaves; CatBoost rounds other
        numbers, which may then cross a threshold.  Its raw scores, as ``predict`` or
        ``decision_function`` of a classifier, differ by the rounding of sums.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_tree_model`; for categories; for trees on top of an `init_score`;
        and for a tree of more than 16 conditions, where one that sends missing values
        right, of a feature whose missing values others send left, counts as two.

    Examples
    --------
    >>> import catboost, pathlib, tempfile
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_catboost
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> theirs = catboost.CatBoost()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.json")
    ...     size = path.write_text(to_catboost(ranker))
    ...     theirs = theirs.load_model(path, format="json")
    >>> theirs.predict([[2.0]]).round(12) == ranker.predict([[2.0]]).round(12)
    array([ True])
    """
    model = trees_alone(estimator, missing)
    check_no_categories(model, "models of CatBoost hold of ours")
    sides = []  # where missing values are: above, if no node sends them left
    for j in range(model.n_features):
        to_left = [tree.missing_left[tree.feature == j] for tree in model.trees]
        sides.append(BELOW if np.concatenate(to_left).any() else ABOVE)
    trees = []
    for m, tree in enumerate(model.trees):
        try:
            trees.append(catboost_tree(tree, sides))
        except ValueError as error:
            raise ValueError(f"trees[{m}] {error}") from None
    # the borders of a feature are listed, ascending, and splits have their numbers
    borders = sorted({split for splits, _, _ in trees for split in splits})
    number = {split: i for i, split in enumerate(borders)}
    document = {
        "model_info": {},
        "features_info": {
            "float_features": [
                {
                    "feature_index": j,
                    "flat_feature_index": j,
                    "feature_id": feature.name if model.has_feature_names else "",
                    "has_nans": True,
                    "nan_value_treatment": sides[j],
                    "borders": [border for k, border in borders if k == j],
                }
                for j, feature in enumerate(model.features)
            ]
        },
        "oblivious_trees": [
            {
                "splits": [
                    {
                        "float_feature_index": j,
                        "border": border,
                        "split_index": number[j, border],
                        "split_type": "FloatFeature",
                    }
                    for j, border in splits
                ],
                "leaf_values": values,
                "leaf_weights": weights,
            }
            for splits, values, weights in trees
        ],
        "scale_and_bias": [1, [model.base_score]],
    }
    return json.dumps(document)


def catboost_tree(
    tree: Tree, missing: Sequence[str]
) -> tuple[list[Split], list[float], list[float]]:
    """Return the splits of a tree, and value and weight of each combination of them."""
    border = at_most(tree.threshold).astype(np.float64).tolist()
    feature, missing_left = tree.feature.tolist(), tree.missing_left.tolist()
    splits: list[Split] = []
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        j = feature[node]
        needed = [(j, border[node])]
        if missing[j] == BELOW and not missing_left[node]:
            needed.append((j, -float(LARGEST)))
        splits += [split for split in needed if split not in splits]
    if len(splits) > DEEPEST_TREE:
        raise ValueError(
            f"has {len(splits)} different conditions, but a tree of CatBoost has at "
            f"most {DEEPEST_TREE}: grow symmetric trees, grow_policy='symmetric'"
        )
    cells = np.arange(2 ** len(splits))
    above = {split: cells >> bit & 1 == 1 for bit, split in enumerate(splits)}

    def goes_right(node: int) -> NDArray[np.bool_]:
        j = feature[node]
        right: NDArray[np.bool_] = above[j, border[node]]
        if missing[j] == BELOW and not missing_left[node]:
            right = right | ~above[j, -float(LARGEST)]
        return right

    leaf = fold(
        tree,
        lambda node: np.full(len(cells), node),
        lambda node, left, right: np.where(goes_right(node), right, left),
    )
    n_cells = np.bincount(leaf, minlength=len(feature))
    weights = tree.n_rows[leaf] / n_cells[leaf]
    return splits, tree.value[leaf].tolist(), weights.tolist()


def from_catboost(model: CatBoost | TextOrFile) -> LambdaMARTRanker:
    """Return a ranker that scores as a model trained by CatBoost.

    Parameters
    ----------
    model : CatBoost, str, bytes or path
        A fitted model; the JSON text of ``save_model("model.json", format="json")``; or
        a path that names the file which holds it.  Its trees are symmetric.

    Returns
    -------
    ranker : LambdaMARTRanker
        Fitted.  Every row reaches the leaves that it reaches in CatBoost, which rounds
        its numbers to float32 first.  `predict` returns the same raw scores, up to the
        rounding of sums.  To continue it, give it to another ranker as `init`.

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        That names the place, if the text is damaged, or holds what this package cannot
        read: features that are not numbers, several classes, trees that are not
        symmetric.  Also for a newer version than 1.2, or unknown parts, unless `model`
        is an object of CatBoost that scores some rows as the ranker does.

    Examples
    --------
    >>> import catboost
    >>> from sklearn_ltr.export import from_catboost
    >>> pool = catboost.Pool([[1.0], [2.0], [3.0]], [0, 1, 2], group_id=[7, 7, 7])
    >>> theirs = catboost.CatBoostRanker(
    ...     iterations=2, verbose=False, allow_writing_files=False
    ... ).fit(pool)
    >>> from_catboost(theirs).predict([[2.0]]) == theirs.predict([[2.0]])
    array([ True])
    """
    given: Any = model
    theirs: Scores | None = None
    if hasattr(given, "save_model") and hasattr(given, "is_fitted"):
        if not given.is_fitted():
            raise TypeError("model must be a fitted model of CatBoost: fit it first")
        theirs = partial(given.predict, prediction_type="RawFormulaVal")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            given.save_model(str(path), format="json")
            model = path.read_bytes()
    wanted = "model must be a fitted model of CatBoost, its text or its file"
    document = json_model(text_of(model, wanted), "CatBoost", "features_info")
    # parts that this reader does not know are collected, and judged at the end
    unknown = unknown_parts(document, CATBOOST_PARTS["document"], "document")
    info = str(document.get("model_info", {}))
    version = re.search(r"tags/v(\d{1,9})\.(\d{1,9})", info)
    if version is not None and (int(version[1]), int(version[2])) > NEWEST_CATBOOST:
        unknown.append(f"version {version[1]}.{version[2]}")
    # columns
    features_info = member(document, "features_info", dict)
    others = [k for k in features_info if k != "float_features" and features_info[k]]
    if others:
        raise ValueError(
            f"features_info has {others}: only features that are numbers are read"
        )
    missing_left, names = [], []
    for j, (where, column) in enumerate(objects(features_info, "float_features")):
        for key in ("feature_index", "flat_feature_index"):
            if member(column, key, int, where) != j:
                raise ValueError(f"{where}.{key} must be {j}")
        treatment = member(column, "nan_value_treatment", str, where)
        if treatment not in ("AsFalse", "AsTrue", "AsIs"):
            raise ValueError(f"{where}.nan_value_treatment is {excerpt(treatment)}")
        missing_left.append(treatment != "AsTrue")  # NaN is not above a border
        names.append(member(column, "feature_id", str, where))
        unknown += unknown_parts(column, CATBOOST_PARTS["column"], where)
    # trees
    if "oblivious_trees" not in document:
        raise ValueError(
            "it has no oblivious_trees: train with grow_policy='SymmetricTree'"
        )
    trees = []
    for m, tree in enumerate(member(document, "oblivious_trees", list)):
        where = f"oblivious_trees[{m}]"
        with errors_in(where):
            found, unknown_there = read_catboost_tree(tree, missing_left, where)
        trees.append(found)
        unknown += unknown_there
    scale_and_bias = member(document, "scale_and_bias", list)
    if len(scale_and_bias) != 2:
        raise ValueError("scale_and_bias must hold two")
    scale = checked(scale_and_bias[0], float, "scale_and_bias[0]")
    biases = items(scale_and_bias[1], float, "scale_and_bias[1]")
    if len(biases) != 1:
        raise ValueError(
            f"it has {len(biases)} scores for each row, for classes or targets: give "
            "a model with one score"
        )
    scaled = [tree.scaled(scale) for tree in trees]
    names = names if all(names) else made_up_names(len(names))
    return imported_ranker(
        names, scaled, {}, biases[0], library="CatBoost", unknown=unknown, theirs=theirs
    )


def read_catboost_tree(
    tree: Any, missing_left: Sequence[bool], place_of_tree: str
) -> tuple[Tree, list[str]]:
    """Return a tree, and the parts of it that this reader does not know."""
    # CatBoost writes null where there are no splits
    is_null = isinstance(tree, dict) and "splits" in tree and tree["splits"] is None
    splits = [] if is_null else objects(tree, "splits")
    values = array(tree, "leaf_values", np.float64, "tree")
    weights = array(tree, "leaf_weights", np.float64, "tree")
    if len(splits) > DEEPEST_TREE or not len(values) == len(weights) == 2 ** len(
        splits
    ):
        raise ValueError(
            f"it has {len(splits)} splits, {len(values)} leaf_values and "
            f"{len(weights)} leaf_weights: there must be 2**splits leaves, and at most "
            f"{DEEPEST_TREE} splits"
        )
    features, borders = [], []
    for where, split in splits:
        if member(split, "split_type", str, where) != "FloatFeature":
            raise ValueError(f"{where} tests no number")
        features.append(member(split, "float_feature_index", int, where))
        borders.append(member(split, "border", float, where))
        if not 0 <= features[-1] < len(missing_left):
            raise ValueError(f"{where} tests a feature that is none")
    with np.errstate(over="ignore", under="ignore"):
        thresholds = rounded_at_most(np.array(borders, dtype=np.float32))
    n_rows = np.clip(weights, 0.0, LARGEST_WEIGHT).astype(np.int64)

    # the last split is the root: bit b of the number of a leaf is whether x is above
    # the border of split b
    def node_of(reached: tuple[int, int]) -> tuple[Node, dict[str, Any]]:
        n_below, leaf = reached
        if n_below == 0:
            return Node(value=values[leaf], n_rows=n_rows[leaf]), {}
        bit = n_below - 1
        j = features[bit]
        split = Node(j, thresholds[bit], missing_left=missing_left[j])
        return split, {"left": (bit, leaf), "right": (bit, leaf | 1 << bit)}

    unknown = unknown_parts(tree, CATBOOST_PARTS["tree"], place_of_tree)
    for where, split in splits:
        known = CATBOOST_PARTS["split"]
        unknown += unknown_parts(split, known, f"{place_of_tree}.{where}")
    return unfold((len(splits), 0), node_of), unknown
