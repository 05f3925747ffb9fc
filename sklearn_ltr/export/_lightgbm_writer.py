"""LightGBM's text model (version 4).

Its nodes test ``x <= threshold`` in float64 as ours do.  Its sets of categories are
bitsets of codes, and send what they do not hold right, missing values included; so a
node that sends missing values left is written with its children exchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.export._estimators import to_tree_model
from sklearn_ltr.export._node_means import node_means
from sklearn_ltr.export._tree_model import Feature, Tree, TreeModel

CATEGORICAL, DEFAULT_LEFT, MISSING_NAN = 1, 2, 8  # bits of decision_type
LARGEST_CODE = 2**20
OBJECTIVES = {"LambdaMARTRanker": "lambdarank", "MARTRegressor": "regression"}


def to_lightgbm(estimator: Any) -> str:
    """Return a fitted model as the text of a LightGBM model.

    ``lightgbm.Booster(model_str=text)`` and the programs that read `model.txt` load it.
    Its scores (``raw_score=True``) are those of ``predict``, or of the classifier's
    ``decision_function``, bit for bit.  Exceptions are numbers closer to 0 than
    1e-35, which LightGBM takes for 0.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted.

    Returns
    -------
    text : str
        Spaces in names of features become underscores.  Categories are codes: numbers
        stand for themselves, text for its position among the sorted text of the
        column.  LightGBM makes these codes itself where it is given a pandas DataFrame
        in which all categorical columns, and no others, have a categorical dtype.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_tree_model`; and for categories that are numbers, but not whole
        numbers from 0 to 1,048,576, and for trees on top of an `init_score`.

    Examples
    --------
    >>> import lightgbm
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_lightgbm
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> booster = lightgbm.Booster(model_str=to_lightgbm(ranker))
    >>> booster.predict([[2.0]]) == ranker.predict([[2.0]])
    array([ True])
    """
    return lightgbm_text(without_init_score(to_tree_model(estimator)))


def without_init_score(model: TreeModel) -> TreeModel:
    """Return the model; an error if its trees stand on top of the caller's scores."""
    if model.uses_init_score:
        raise ValueError(
            "the trees were grown on top of an init_score, which other formats have no "
            "place for: fit without it, or with a model as init"
        )
    return model


def lightgbm_text(model: TreeModel) -> str:
    """Return a model as LightGBM's text."""
    model = model.with_base_score_in_leaves()
    codes = [codes_of(feature) for feature in model.features]
    trees = [
        f"Tree={m}\n{tree_text(tree, codes)}\n\n" for m, tree in enumerate(model.trees)
    ]
    objective = OBJECTIVES.get(model.estimator, f"binary sigmoid:{2 * model.sigma!r}")
    header = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": model.n_features - 1,
        "objective": objective,
        "feature_names": joined(feature_names(model.features)),
        "feature_infos": joined(map(feature_info, codes)),
        "tree_sizes": joined(len(tree.encode()) for tree in trees),
    }
    categorical = [j for j, code in enumerate(codes) if code is not None]
    lines = [
        "tree",
        *(f"{key}={value}" for key, value in header.items()),
        "",
        "".join(trees) + "end of trees",
        "",
        "parameters:",
        "[boosting: gbdt]",
        f"[objective: {objective.partition(' ')[0]}]",
        f"[categorical_feature: {','.join(map(str, categorical))}]",
        "",
        "end of parameters",
        "",
        f"pandas_categorical:{pandas_categorical(model.features)}",
        "",
    ]
    return "\n".join(lines)


def joined(values: Iterable[Any]) -> str:
    """Return values with spaces between them, floats with all their digits."""
    return " ".join(map(str, values))


def feature_names(features: Sequence[Feature]) -> list[str]:
    """Return the names, without spaces."""
    names = [re.sub(r"\s", "_", feature.name) for feature in features]
    if "" in names or len(set(names)) < len(names):
        raise ValueError(
            "the names of the features must be different, also when their spaces have "
            "become underscores, and not empty: rename columns and fit again"
        )
    return names


def feature_info(codes: dict[Any, int] | None) -> str:
    """Return the codes of a feature, or a range, which no reader uses."""
    if codes is None:
        return "[0:1]"
    return ":".join(map(str, codes.values())) or "none"


def codes_of(feature: Feature) -> dict[Any, int] | None:
    """Return the code of each category; None for a feature of numbers."""
    if feature.categories is None:
        return None
    if feature.is_text:
        return {category: code for code, category in enumerate(feature.categories)}
    for category in feature.categories:
        if not (isinstance(category, int) and 0 <= category <= LARGEST_CODE):
            raise ValueError(
                f"feature {feature.name!r} has the category {category!r}, and there "
                f"categories are whole numbers from 0 to {LARGEST_CODE}: make the "
                "column text and fit again"
            )
    return {category: int(category) for category in feature.categories}


def pandas_categorical(features: Sequence[Feature]) -> str:
    """Return the categories that LightGBM turns into codes, JSON, in order of codes."""
    listed = []
    for feature in features:
        if feature.is_text:
            listed.append(list(feature.categories or ()))
        elif feature.categories is not None:
            largest = max((int(c) for c in feature.categories), default=-1)
            listed.append([*range(largest + 1)])
    return json.dumps(listed or None)


def tree_text(tree: Tree, codes: Sequence[dict[Any, int] | None]) -> str:
    """Return a tree, its leaves numbered apart from the other nodes."""
    inner, leaves = np.flatnonzero(~tree.is_leaf), np.flatnonzero(tree.is_leaf)
    number = np.empty(len(tree.feature), dtype=np.int64)
    number[inner], number[leaves] = np.arange(len(inner)), ~np.arange(len(leaves))
    value, n_rows = node_means(tree)
    left, right = tree.left.copy(), tree.right.copy()
    decision = MISSING_NAN + DEFAULT_LEFT * tree.missing_left.astype(np.int64)
    threshold: list[float | int] = tree.threshold.tolist()
    bitsets: list[NDArray[np.uint32]] = []
    for node, categories in sorted(tree.left_categories.items()):
        code = codes[tree.feature[node]] or {}
        goes_left = set(categories)
        if tree.missing_left[node]:
            left[node], right[node] = right[node], left[node]
            goes_left = set(code) - goes_left
        decision[node], threshold[node] = CATEGORICAL, len(bitsets)
        bitsets.append(bitset([code[category] for category in goes_left]))
    fields: dict[str, Any] = {
        "num_leaves": len(leaves),
        "num_cat": len(bitsets),
        "split_feature": tree.feature[inner],
        "split_gain": tree.gain[inner].tolist(),
        "threshold": [threshold[node] for node in inner],
        "decision_type": decision[inner],
        "left_child": number[left[inner]],
        "right_child": number[right[inner]],
        "leaf_value": tree.value[leaves].tolist(),
        "leaf_weight": n_rows[leaves],
        "leaf_count": n_rows[leaves],
        "internal_value": value[inner].tolist(),
        "internal_weight": n_rows[inner],
        "internal_count": n_rows[inner],
    }
    if bitsets:
        fields["cat_boundaries"] = np.cumsum([0, *map(len, bitsets)])
        fields["cat_threshold"] = np.concatenate(bitsets)
    fields |= {"is_linear": 0, "shrinkage": 1}
    return "".join(
        f"{name}={field if isinstance(field, int) else joined(field)}\n"
        for name, field in fields.items()
    )


def bitset(codes: Sequence[int]) -> NDArray[np.uint32]:
    """Return numbers as the bits of 32-bit words, at least one word."""
    words = np.zeros(max(codes, default=0) // 32 + 1, dtype=np.uint32)
    for code in codes:
        words[code // 32] |= np.uint32(1 << code % 32)
    return words
