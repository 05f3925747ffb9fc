"""The JSON of LightGBM's trees, as Vespa's importer reads it.

The importer writes ``x < t`` for a node that sends missing values right, and
``!(x >= t)`` for one that sends them left, whatever the node says.  Vespa compares in
float64, but where it optimizes a sum of trees, it holds t and the leaf values in
float32; so t is the float32 above the threshold.  Categories are compared as text;
what a set does not hold goes right, missing values included, so a node that sends
missing values left has its children exchanged.
"""

from __future__ import annotations

import json

from sklearn_ltr.export._estimators import TreesLike, trees_alone
from sklearn_ltr.export._float32 import limits
from sklearn_ltr.export._tree_model import (
    Codes,
    Tree,
    category_tests,
    check_names,
    codes_of,
    fold,
)

__all__ = ["to_vespa"]

VESPA_OBJECTIVES = {"MARTRegressor": "regression", "MARTClassifier": "binary"}


def to_vespa(estimator: TreesLike, *, missing: str = "branch") -> str:
    """Return a fitted model as the JSON of a LightGBM model, for Vespa only.

    The file stands in the folder `models` of an application package, and a rank
    profile evaluates it as ``lightgbm("ranker.json")``.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted.  The names of its columns are the rank features, or the functions of
        the rank profile, that the expression takes, such as `fieldMatch(title)`.
    missing : {"branch", "zero"}, default="branch"
        What a missing value is.  "branch": missing, as here.  "zero": the number 0.

    Returns
    -------
    text : str
        Rows whose numbers float32 can hold reach the same leaves; another number may
        cross a threshold that lies between it and the next float32.  Vespa adds leaf
        values in float64, but may round them to float32 before.  Programs that read
        LightGBM's JSON otherwise score otherwise; for them, dump the booster of
        :func:`to_lightgbm`.  The score of a classifier is the probability of its
        second class.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_tree_model`; for trees on top of an `init_score`; for categories
        that are not text; and for names with backslashes or control characters.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_vespa
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> to_vespa(ranker)[:20]
    '{"name": "tree", "ve'
    """
    model = trees_alone(estimator, missing)
    if model.estimator == "MARTClassifier":
        model = model.scaled(2 * model.sigma)
    check_names(model.features, r"[\\\x00-\x1f]", "no rank feature has")
    for feature in model.features:
        if feature.categories and not feature.is_text:
            raise ValueError(
                f"feature {feature.name!r} has categories that are numbers, but Vespa "
                "compares text: make the column text and fit again"
            )
    codes = codes_of(model)  # the positions of text
    document = {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "max_feature_idx": model.n_features - 1,
        "objective": VESPA_OBJECTIVES.get(model.estimator, "lambdarank"),
        "feature_names": [feature.name for feature in model.features],
        "feature_infos": {
            feature.name: {"values": list(codes(j).values())}
            for j, feature in enumerate(model.features)
            if feature.categories
        },
        "tree_info": [],
        "pandas_categorical": [
            list(feature.categories) for feature in model.features if feature.categories
        ],
    }
    text = json.dumps(document, allow_nan=False)
    trees = ",\n".join(
        f'{{"tree_index": {m}, "tree_structure": {tree_json(tree, codes)}}}'
        for m, tree in enumerate(model.trees)
    )
    return text.replace('"tree_info": []', f'"tree_info": [{trees}]', 1)


def tree_json(tree: Tree, codes: Codes) -> str:
    """Return the JSON of a tree."""
    threshold, value = limits(tree).tolist(), tree.value.tolist()
    tests = category_tests(tree, codes)

    def leaf(node: int) -> str:
        return json.dumps({"leaf_value": value[node]})

    def split(node: int, left: str, right: str) -> str:
        j = int(tree.feature[node])
        fields: dict[str, object] = {
            "split_feature": j,
            "threshold": threshold[node],
            "decision_type": "<=",
            "default_left": bool(tree.missing_left[node]),
        }
        if node in tests:
            if tree.missing_left[node]:
                left, right = right, left
            if not tests[node].codes:  # nothing goes left
                return right
            fields |= {
                "threshold": "||".join(map(str, tests[node].codes)),
                "decision_type": "==",
                "default_left": False,
            }
        children = f'"left_child": {left}, "right_child": {right}'
        return f"{json.dumps(fields)[:-1]}, {children}}}"

    return fold(tree, leaf, split)
