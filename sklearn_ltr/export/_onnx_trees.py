"""Trees as the attributes of ONNX's operator TreeEnsemble.

Inner nodes of all trees are numbered apart from all leaves, and children are one or the
other.  ``nodes_truenodeids`` is where a row goes for which the test is true: left, but
in nodes of categories that send missing values left.  There the set is of those that go
right, so that unseen categories go the missing way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.export._lightgbm_writer import codes_of
from sklearn_ltr.export._tree_model import Tree, TreeModel

SUM, NO_TRANSFORM = 1, 0
LEQ, MEMBER = 0, 6  # modes of nodes


def tree_ensemble_attributes(model: TreeModel) -> dict[str, Any]:
    """Return the attributes of a TreeEnsemble that adds the trees."""
    from onnx import TensorProto, helper, numpy_helper

    trees = [whole_tree(tree) for tree in model.trees]
    first_inner = np.cumsum([0, *(int((~t.is_leaf).sum()) for t in trees)])
    first_leaf = np.cumsum([0, *(int(t.is_leaf.sum()) for t in trees)])
    columns: dict[str, list[NDArray[Any]]] = {}
    members: list[float] = []
    for m, tree in enumerate(trees):
        arrays, sets = node_arrays(tree, model, int(first_inner[m]), int(first_leaf[m]))
        for key, values in arrays.items():
            columns.setdefault(key, []).append(values)
        members += sets
    joined = {key: np.concatenate(parts) for key, parts in columns.items()}
    modes = joined.pop("nodes_modes").astype(np.uint8)
    weights = np.concatenate([t.value[t.is_leaf] for t in trees])
    attributes: dict[str, Any] = {
        "aggregate_function": SUM,
        "post_transform": NO_TRANSFORM,
        "n_targets": 1,
        "tree_roots": first_inner[:-1].tolist(),
        "nodes_splits": numpy_helper.from_array(joined.pop("nodes_splits"), "splits"),
        "nodes_modes": helper.make_tensor(
            "modes", TensorProto.UINT8, [len(modes)], modes.tolist()
        ),
        "leaf_targetids": [0] * len(weights),
        "leaf_weights": numpy_helper.from_array(weights, "weights"),
        **{key: values.tolist() for key, values in joined.items()},
    }
    if members:
        attributes["membership_values"] = numpy_helper.from_array(
            np.array(members), "members"
        )
    return attributes


def whole_tree(tree: Tree) -> Tree:
    """Return the tree; one of a single leaf gets a root, which ONNX needs."""
    if len(tree.feature) > 1:
        return tree
    value = np.repeat(tree.value, 3)
    return Tree(
        feature=np.array([0, -1, -1], dtype=np.int32),
        threshold=np.zeros(3),
        missing_left=np.zeros(3, dtype=bool),
        left=np.array([1, -1, -1], dtype=np.int32),
        right=np.array([2, -1, -1], dtype=np.int32),
        value=value,
        gain=np.zeros(3),
        n_rows=np.repeat(tree.n_rows, 3),
    )


def node_arrays(
    tree: Tree, model: TreeModel, first_inner: int, first_leaf: int
) -> tuple[dict[str, NDArray[Any]], list[float]]:
    """Return what describes the inner nodes of a tree; their sets, NaN after each."""
    inner = np.flatnonzero(~tree.is_leaf)
    number = np.where(
        tree.is_leaf,
        first_leaf + np.cumsum(tree.is_leaf) - 1,
        first_inner + np.cumsum(~tree.is_leaf) - 1,
    )
    mode = np.full(len(tree.feature), LEQ)
    split, tracks_true = tree.threshold.copy(), tree.missing_left.copy()
    true, false = tree.left.copy(), tree.right.copy()
    members: list[float] = []
    for node, categories in sorted(tree.left_categories.items()):
        code = codes_of(model.features[tree.feature[node]]) or {}
        among = set(categories)
        if tree.missing_left[node]:
            true[node], false[node] = false[node], true[node]
            among = set(code) - among
        tracks_true[node] = False
        if among:
            mode[node], split[node] = MEMBER, 0.0
            members += [*sorted(float(code[category]) for category in among), np.nan]
        else:  # no set is empty in ONNX: no number is at most minus infinity
            split[node] = -np.inf
    arrays = {
        "nodes_featureids": tree.feature[inner],
        "nodes_modes": mode[inner],
        "nodes_splits": split[inner],
        "nodes_missing_value_tracks_true": tracks_true[inner].astype(np.int64),
        "nodes_truenodeids": number[true[inner]],
        "nodes_trueleafs": tree.is_leaf[true[inner]].astype(np.int64),
        "nodes_falsenodeids": number[false[inner]],
        "nodes_falseleafs": tree.is_leaf[false[inner]].astype(np.int64),
    }
    return arrays, members
