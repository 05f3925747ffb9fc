"""Treelite's models: of FIL on GPUs, of TL2cgen's C code, and of treelite.gtil."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn_ltr.export._estimators import TreesLike, trees_alone
from sklearn_ltr.export._tree_model import category_tests, codes_of

if TYPE_CHECKING:
    from treelite import Model

__all__ = ["to_treelite"]

TASKS = {"LambdaMARTRanker": "kLearningToRank", "MARTClassifier": "kBinaryClf"}


def to_treelite(estimator: TreesLike, *, missing: str = "branch") -> Model:
    """Return a fitted model as a model of treelite, with thresholds in float64.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted.
    missing : {"branch", "zero"}, default="branch"
        What a missing value is.  "branch": missing, as here.  "zero": the number 0, for
        rows that treelite is given as a sparse matrix: it takes entries that are not
        stored for missing, while they are 0 here.

    Returns
    -------
    model : treelite.Model
        Its scores are those of ``predict``, or of the classifier's
        ``decision_function`` (``pred_margin=True``), bit for bit, on float64 rows.
        Categories are codes, as in :func:`to_lightgbm`.

    Raises
    ------
    ImportError
        If treelite is not installed.
    TypeError, ValueError
        As :func:`to_lightgbm`.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_treelite
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> to_treelite(ranker).num_tree
    2
    """
    from treelite.model_builder import (
        Metadata,
        ModelBuilder,
        PostProcessorFunc,
        TreeAnnotation,
    )

    model = trees_alone(estimator, missing)
    n_trees = len(model.trees)
    is_classifier = model.estimator == "MARTClassifier"
    builder = ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=Metadata(
            num_feature=model.n_features,
            task_type=TASKS.get(model.estimator, "kRegressor"),
            average_tree_output=False,
            num_target=1,
            num_class=[1],
            leaf_vector_shape=(1, 1),
        ),
        tree_annotation=TreeAnnotation(
            num_tree=n_trees, target_id=[0] * n_trees, class_id=[0] * n_trees
        ),
        postprocessor=PostProcessorFunc("sigmoid", sigmoid_alpha=2 * model.sigma)
        if is_classifier
        else PostProcessorFunc("identity"),
        base_scores=[0.0],
    )
    codes = codes_of(model)
    for tree in model.trees:
        tests = category_tests(tree, codes)
        builder.start_tree()
        for node, is_leaf in enumerate(tree.is_leaf.tolist()):
            builder.start_node(node)
            test: dict[str, Any] = {
                "feature_id": int(tree.feature[node]),
                "default_left": bool(tree.missing_left[node]),
                "left_child_key": int(tree.left[node]),
                "right_child_key": int(tree.right[node]),
            }
            if is_leaf:
                builder.leaf(float(tree.value[node]))
            elif node in tests:
                builder.categorical_test(
                    **test,
                    category_list=tests[node].codes,
                    category_list_right_child=test["default_left"],
                )
            else:
                threshold = float(tree.threshold[node])
                builder.numerical_test(**test, threshold=threshold, opname="<=")
            builder.end_node()
        builder.end_tree()
    return builder.commit()
