"""CatBoost's JSON model, read."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._typing import FloatArray
from sklearn_ltr.export._document import array, checked, excerpt, items, member
from sklearn_ltr.export._float32 import rounded_at_most
from sklearn_ltr.export._imported import (
    Place,
    Scores,
    TreeBuilder,
    check_unknown,
    imported_model,
    to_ranker,
    unknown_parts,
)
from sklearn_ltr.export._model_files import TextOrFile, json_model, text_of
from sklearn_ltr.export._tree_model import Feature, Tree, TreeModel, made_up_names

if TYPE_CHECKING:
    from catboost import CatBoost

    from sklearn_ltr import LambdaMARTRanker

__all__ = ["from_catboost"]

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
        read: features that are no numbers, several classes, trees that are not
        symmetric.  Also if it has been written by a newer version than 1.2, or has
        parts that are not known, unless `model` is an object of CatBoost that scores
        some rows as we do.

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
    theirs = None
    if hasattr(model, "save_model") and hasattr(model, "is_fitted"):
        if not model.is_fitted():
            raise TypeError("model must be a fitted model of CatBoost: fit it first")
        model, theirs = written_by(model), partial(catboost_scores, model)
    wanted = "model must be a fitted model of CatBoost, its text or its file"
    return to_ranker(read_catboost(text_of(model, wanted), theirs))


def catboost_scores(model: CatBoost, X: FloatArray) -> ArrayLike:
    """Return the raw scores of a model of CatBoost."""
    scores: ArrayLike = model.predict(X, prediction_type="RawFormulaVal")
    return scores


def written_by(model: CatBoost) -> bytes:
    """Return the JSON of a fitted model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return path.read_bytes()


def read_catboost(text: str, theirs: Scores | None = None) -> TreeModel:
    """Return the model that CatBoost's JSON describes."""
    document = json_model(text, "CatBoost", "features_info")
    missing_left, names = read_catboost_columns(member(document, "features_info", dict))
    if "oblivious_trees" not in document:
        raise ValueError(
            "it has no oblivious_trees: train with grow_policy='SymmetricTree'"
        )
    trees = []
    for m, tree in enumerate(member(document, "oblivious_trees", list)):
        try:
            trees.append(read_catboost_tree(tree, missing_left))
        except ValueError as error:
            raise ValueError(f"oblivious_trees[{m}]: {error}") from None
    scale_and_bias = member(document, "scale_and_bias", list)
    if len(scale_and_bias) != 2:
        raise ValueError("scale_and_bias must hold two")
    scale = checked(scale_and_bias[0], float, "scale_and_bias[0]")
    biases = items(scale_and_bias[1], float, "scale_and_bias[1]")
    if len(biases) != 1:
        raise ValueError(
            f"it has {len(biases)} scores for each row, for classes or targets: that "
            "is no ranker"
        )
    scaled = [tree.scaled(scale) for tree in trees]
    found = imported_model([Feature(name) for name in names], scaled, biases[0])
    check_unknown(unknown_of(document), "CatBoost", found, {}, theirs)
    return found


def unknown_of(document: dict[str, Any]) -> list[str]:
    """Return what the reader does not know of a document, which has been read."""
    unknown = unknown_parts(document, CATBOOST_PARTS["document"].split(), "document")
    info = str(document.get("model_info", {}))
    version = re.search(r"tags/v(\d{1,9})\.(\d{1,9})", info)
    if version is not None and (int(version[1]), int(version[2])) > NEWEST_CATBOOST:
        unknown.append(f"version {version[1]}.{version[2]}")
    for j, column in enumerate(document["features_info"]["float_features"]):
        known = CATBOOST_PARTS["column"].split()
        unknown += unknown_parts(column, known, f"float_features[{j}]")
    for m, tree in enumerate(document["oblivious_trees"]):
        where = f"oblivious_trees[{m}]"
        unknown += unknown_parts(tree, CATBOOST_PARTS["tree"].split(), where)
        for i, split in enumerate(splits_of(tree)):
            known = CATBOOST_PARTS["split"].split()
            unknown += unknown_parts(split, known, f"{where}.splits[{i}]")
    return unknown


def read_catboost_columns(info: dict[str, Any]) -> tuple[list[bool], list[str]]:
    """Return whether NaN goes left, and the name, of each column."""
    others = [key for key in info if key != "float_features" and info[key]]
    if others:
        raise ValueError(
            f"features_info has {others}: only features that are numbers are read"
        )
    columns = items(member(info, "float_features", list), dict, "float_features")
    sides, names = [], []
    for j, column in enumerate(columns):
        where = f"float_features[{j}]"
        for key in ("feature_index", "flat_feature_index"):
            if member(column, key, int, where) != j:
                raise ValueError(f"{where}.{key} must be {j}")
        treatment = member(column, "nan_value_treatment", str, where)
        if treatment not in ("AsFalse", "AsTrue", "AsIs"):
            raise ValueError(f"{where}.nan_value_treatment is {excerpt(treatment)}")
        sides.append(treatment != "AsTrue")  # NaN is not above a border
        names.append(member(column, "feature_id", str, where))
    return sides, names if all(names) else made_up_names(len(names))


def splits_of(tree: object) -> list[dict[str, Any]]:
    """Return the splits of a tree; CatBoost writes null where there are none."""
    if isinstance(tree, dict) and "splits" in tree and tree["splits"] is None:
        return []
    return items(member(tree, "splits", list), dict, "splits")


def read_catboost_tree(tree: object, missing_left: Sequence[bool]) -> Tree:
    """Return a tree."""
    splits = splits_of(tree)
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
    for i, split in enumerate(splits):
        where = f"splits[{i}]"
        if member(split, "split_type", str, where) != "FloatFeature":
            raise ValueError(f"{where} tests no number")
        features.append(member(split, "float_feature_index", int, where))
        borders.append(member(split, "border", float, where))
        if not 0 <= features[-1] < len(missing_left):
            raise ValueError(f"{where} tests a feature that is none")
    with np.errstate(over="ignore", under="ignore"):
        thresholds = rounded_at_most(np.array(borders, dtype=np.float32))
    n_rows = np.clip(weights, 0.0, LARGEST_WEIGHT).astype(np.int64)
    builder = TreeBuilder()
    # the last split is the root: bit b of the number of a leaf is whether x is above
    # the border of split b
    waiting: list[tuple[int, int, Place]] = [(len(splits), 0, None)]
    while waiting:
        bit, leaf, place = waiting.pop()
        if bit == 0:
            builder.leaf(place, float(values[leaf]), int(n_rows[leaf]))
            continue
        j, threshold = features[bit - 1], float(thresholds[bit - 1])
        node = builder.split(place, j, threshold, missing_left[j], 0.0)
        waiting.append((bit - 1, leaf | 1 << bit - 1, (node, False)))
        waiting.append((bit - 1, leaf, (node, True)))
    return builder.tree()
