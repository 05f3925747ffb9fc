"""Return the trees of a model as a table, and count how often they test a feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.optional import require
from sklearn_ltr._core.typing import FloatArray, IntArray
from sklearn_ltr.export._estimators import features_of, trees_of
from sklearn_ltr.export._tree_model import (
    LARGEST_THRESHOLD,
    Tree,
    depths,
    joined,
    node_means,
)
from sklearn_ltr.inspection._models import find_model, hint

if TYPE_CHECKING:
    from pandas import DataFrame

NO_TREES = (
    "permutation_importance of sklearn.inspection measures how much it depends on each "
    "feature"
)


def trees_to_dataframe(estimator: BaseEstimator) -> DataFrame:
    """Return the trees of a model as a table with a row for each node.

    Parameters
    ----------
    estimator : estimator instance
        Fitted: a LambdaMARTRanker, MARTRegressor or MARTClassifier, a BaggingRanker of
        LambdaMARTRankers, or a Pipeline, search or CalibratedRanker of one.

    Returns
    -------
    table : pandas.DataFrame
        Sorted by tree and node, with these columns; what a leaf or another kind of node
        does not have is missing.

        - `tree`, int64: the number of the tree, from 0.
        - `node`, int64: the number of the node in its tree; the root is 0, and children
          come after their parents.
        - `depth`, int64: 0 for the root.
        - `feature`, str: the feature that a node tests; its name, or x0, x1, ...
        - `threshold`, float64: ``feature <= threshold`` goes left.  Infinite if only
          missing values go right.
        - `categories`, tuple: the known categories that go left, of a node that tests a
          categorical feature.
        - `missing`, "left" or "right": where a missing value goes, and a category that
          was not seen in training.
        - `left`, `right`, Int64: the children, as numbers of nodes of the same tree.
        - `gain`, float64: the gain of a split, >= 0, as `feature_importances_` adds it.
        - `value`, float64: what a leaf adds to the score; of another node, the mean of
          its leaves, weighted by training rows.
        - `n_rows`, Int64: training rows that reach the node; missing if the model was
          read from a file without them.

    Raises
    ------
    ImportError
        If pandas is not installed.
    NotFittedError
        Before `fit`.
    TypeError
        If the estimator is not made of trees (such as a RankNetRanker).

    See Also
    --------
    split_counts : How many nodes test each feature.
    sklearn_ltr.plotting.TreeDisplay : One tree as a picture.
    sklearn_ltr.export.to_tree_model : The trees as arrays, without pandas.

    Notes
    -----
    The score of a document is the sum of the values of the leaves that it reaches.
    MARTRegressor and MARTClassifier add `base_score_`, and a ranker with a base model
    (`init`) the scores of that model, whose trees are not in the table.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.inspection import trees_to_dataframe
    >>> ranker = LambdaMARTRanker(n_estimators=1, min_samples_leaf=1, subsample=1)
    >>> ranker = ranker.fit([[1.0], [2.0], [4.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> trees_to_dataframe(ranker)[
    ...     ["tree", "node", "depth", "feature", "threshold", "left", "n_rows"]
    ... ]  # doctest: +SKIP
       tree  node  depth feature  threshold  left  n_rows
    0     0     0      0      x0        1.5     1       3
    1     0     1      1     NaN        NaN  <NA>       1
    2     0     2      1      x0        3.0     3       2
    3     0     3      2     NaN        NaN  <NA>       1
    4     0     4      2     NaN        NaN  <NA>       1
    """
    require("pandas", "trees_to_dataframe")
    import pandas as pd

    trees, names = named_trees(estimator)
    parts = []
    for number, tree in enumerate(trees):
        # -1 and None mean missing
        n_nodes, is_leaf = len(tree.feature), tree.is_leaf
        feature, categories, missing = (
            np.full(n_nodes, None, object) for _ in range(3)
        )
        for node in np.flatnonzero(~is_leaf):
            feature[node] = names[tree.feature[node]]
            missing[node] = "left" if tree.missing_left[node] else "right"
            categories[node] = tree.left_categories.get(int(node))
        threshold = np.where(
            tree.threshold >= LARGEST_THRESHOLD, np.inf, tree.threshold
        )
        threshold[is_leaf] = np.nan
        threshold[list(tree.left_categories)] = np.nan
        value, n_rows = values_and_rows(tree)
        parts.append(
            {
                "tree": np.full(n_nodes, number, np.int64),
                "node": np.arange(n_nodes, dtype=np.int64),
                "depth": depths(tree),
                "feature": feature,
                "threshold": threshold,
                "categories": categories,
                "missing": missing,
                "left": tree.left.astype(np.int64),
                "right": tree.right.astype(np.int64),
                "gain": np.where(is_leaf, np.nan, tree.gain),
                "value": value,
                "n_rows": n_rows,
            }
        )
    table = pd.DataFrame(joined(parts))
    whole = ["left", "right", "n_rows"]
    table[whole] = table[whole].astype("Int64").mask(table[whole] < 0)
    return table


def split_counts(estimator: BaseEstimator) -> IntArray:
    """Count the nodes that test each feature.

    LightGBM calls this importance "split", and XGBoost "weight".  It favours features
    of many values, so `feature_importances_`, shares of the gain, are a better measure.

    Parameters
    ----------
    estimator : estimator instance
        Fitted, as in :func:`trees_to_dataframe`.

    Returns
    -------
    counts : ndarray of shape (n_features,), int64

    Raises
    ------
    NotFittedError
        Before `fit`.
    TypeError
        If the estimator is not made of trees (such as a RankNetRanker).

    See Also
    --------
    sklearn_ltr.plotting.FeatureImportancesDisplay : Draw them as bars.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.inspection import split_counts
    >>> ranker = LambdaMARTRanker(n_estimators=3, min_samples_leaf=1, subsample=1)
    >>> ranker = ranker.fit([[1, 0], [2, 0], [4, 0]], [0, 1, 2], groups=[7, 7, 7])
    >>> split_counts(ranker)
    array([5, 0])
    """
    fitted, _ = find_trees(estimator, NO_TREES)
    feature = fitted.ensemble_.feature
    counts: IntArray = np.bincount(
        feature[feature >= 0], minlength=fitted.n_features_in_
    )
    return counts


def named_trees(estimator: BaseEstimator) -> tuple[tuple[Tree, ...], list[str]]:
    """Return the trees of an estimator, and names of the features that they test."""
    fitted, names = find_trees(estimator, NO_TREES)
    return trees_of(fitted, features_of(fitted)), names


def find_trees(
    estimator: BaseEstimator, otherwise: str
) -> tuple[BaseEstimator, list[str]]:
    """Return the fitted model of trees in an estimator, and its feature names."""
    # `otherwise` says what to do with a model that is not made of trees
    model, names = find_model(estimator)
    check_is_fitted(model)
    if hasattr(model, "merge"):
        model = model.merge()
    if not hasattr(model, "ensemble_"):
        raise TypeError(
            f"{type(model).__name__} is not made of boosted trees of this package"
            f"{hint(model, 'ensemble_')}: {otherwise}"
        )
    fitted = model._fitted()
    if names is None:
        names = [f"x{feature}" for feature in range(fitted.n_features_in_)]
    return fitted, [str(name) for name in names]


def values_and_rows(tree: Tree) -> tuple[FloatArray, IntArray]:
    """Return the value of each node, and its training rows, -1 if they are unknown."""
    value, n_rows = node_means(tree)
    if n_rows[0] == 0:
        value[~tree.is_leaf] = np.nan
        n_rows[:] = -1
    return value, n_rows
