"""Fitted trees: the columns of X that they take, their scores, and their attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from sklearn_ltr._core.boosting.warm_start import KeptTrees
from sklearn_ltr._core.compile import ONE_THREAD, ThreadTeam, effective_n_threads
from sklearn_ltr._core.data.categories import FeatureCategories
from sklearn_ltr._core.data.features import (
    check_columns,
    check_finite,
    find_features,
    name_features,
    read_feature_table,
    text_features,
)
from sklearn_ltr._core.data.tables import Matrix
from sklearn_ltr._core.estimators.attributes import FEATURES, Attribute, Attributes
from sklearn_ltr._core.estimators.base import require
from sklearn_ltr._core.trees.binning import BinMapper
from sklearn_ltr._core.trees.constraints import Constraints, read_constraints
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.parameters import TreeParameters
from sklearn_ltr._core.typing import FeaturesLike, FloatArray, IntArray, MatrixLike

CURVE = "(n_trees + 1,)"
#: true of a model whose earlier stages are no sums of its first trees
CHANGED = "_stages_changed"
#: attributes of every fitted estimator of trees
TREE_ATTRIBUTES: Attributes = {
    **FEATURES,
    "_categories": Attribute(by_reading=True),
    "_mapper": Attribute(),
    "_seed": Attribute(),
    "_is_imported": Attribute(),
    "_absent_is_missing": Attribute(when="a model of XGBoost is read"),
    CHANGED: Attribute(when="dart has dropped trees"),
    "ensemble_": Attribute(),
    "n_iter_": Attribute(),
    "evals_result_": Attribute(),
    "validation_score_": Attribute(CURVE),
}


def read_tree_features(
    estimator: BaseEstimator,
    X: MatrixLike,
    categories: FeatureCategories,
    name: str = "X",
    *,
    reset: bool = False,
    check_values: bool = True,
) -> Matrix:
    """Return X as a checked matrix, with numbers in its categorical columns."""
    # without `check_values`, `FittedTrees.scores` finds infinite values
    if not reset and getattr(estimator, "_absent_is_missing", False) and issparse(X):
        raise ValueError(
            f"{name} is sparse, but this model comes from XGBoost, which takes entries "
            "that a sparse matrix does not store as missing, not as 0: give a dense "
            "array, with NaN where a value is missing"
        )
    given = X
    if len(categories.feature) > 0:
        if not reset:
            check_columns(estimator, X, name)
        X = categories.encode(X, name)
    try:
        return read_feature_table(
            estimator, X, reset=reset, name=name, check_values=check_values
        )
    except ValueError as error:
        known = categories.feature.tolist()
        text = {*text_features(given)} - {*known} if reset else ()
        if not text:
            raise
        named = name_features(given, sorted({*text, *known}))
        raise ValueError(
            f"{error}. Make text categorical, by astype('category'), or give "
            f"categorical_features={named!r}"
        ) from None


def read_categories(
    X: MatrixLike, categorical_features: FeaturesLike, kept: KeptTrees
) -> FeatureCategories:
    """Return the categories of X, or of the trees that a warm start keeps."""
    if kept.is_new:
        return FeatureCategories.learn(X, categorical_features)
    categories: FeatureCategories = kept.attributes["_categories"]
    features = find_features(X, categorical_features, "X")
    if not np.array_equal(features, categories.feature):
        raise ValueError(
            f"categorical_features are the columns {features.tolist()} of X, but the "
            f"trees that warm_start keeps have {categories.feature.tolist()}: give the "
            "same, or fit with warm_start=False"
        )
    return categories


def constraints_of(parameters: TreeParameters, estimator: Any) -> Constraints:
    """Return the constraints of trees on the columns that a fit has read."""
    return read_constraints(
        parameters.monotonic_cst,
        parameters.interaction_cst,
        getattr(estimator, "feature_names_in_", None),
        estimator._categories.mask(estimator.n_features_in_),
    )


class FittedTrees(NamedTuple):
    """Fitted trees, and the encoding of X that they take."""

    categories: FeatureCategories
    mapper: BinMapper
    ensemble: TreeEnsemble
    stages_changed: bool

    def scores(
        self, X: Matrix, base_score: FloatArray, n_jobs: int | None
    ) -> FloatArray:
        """Return initial score plus all trees of each row; all must be finite."""
        # the ensemble reads all of an ndarray anyway and returns NaN for an infinite
        # value, so X need not be read once more to find them
        if issparse(X):
            check_finite(X, "X", allow_nan=True)
        encoded = self.mapper.categories.encode(X)
        n_threads = effective_n_threads(n_jobs, X.shape[0] * len(self.ensemble))
        # a team takes as long to make as one row to score
        with ONE_THREAD if n_threads == 1 else ThreadTeam(n_threads) as team:
            scores = self.ensemble.predict(encoded, team, base_score)
        if np.count_nonzero(np.isnan(scores)) > 0:
            check_finite(X, "X", allow_nan=True)
        return scores

    def stages(self, X: Matrix, base_score: FloatArray) -> Iterator[FloatArray]:
        """Yield F of each row of X after each tree."""
        if self.stages_changed:
            raise ValueError(
                "dart has dropped trees and changed their weights since, so the sum of "
                "the first trees is not the model that there was after them: see "
                "evals_result_ for what was measured, or fit with as many n_estimators"
            )
        encoded = self.mapper.categories.encode(X)
        yield from self.ensemble.staged_predict(encoded, base_score)

    def leaves(self, X: Matrix, n_jobs: int | None) -> IntArray:
        """Return the leaf of each tree that a row reaches, (n_rows, n_trees)."""
        encoded = self.mapper.categories.encode(X)
        work = X.shape[0] * len(self.ensemble)
        with ThreadTeam(effective_n_threads(n_jobs, work)) as team:
            return self.ensemble.leaves(encoded, team)

    def importances(self, n_features: int) -> FloatArray:
        """Return the share of each feature in the gain of all splits."""
        gains = self.ensemble.gain_by_feature(n_features)
        total = gains.sum()
        return gains / total if total > 0 else gains

    def check(self, n_features: int, n_iter: int) -> None:
        """Raise an error unless the parts fit each other, and these numbers."""
        mapper, trees = self.mapper, self.ensemble
        mapper.check(n_features)
        self.categories.check(n_features)
        require(
            np.array_equal(self.categories.feature, mapper.categories.feature),
            "its categories are not those of its bins",
        )
        trees.check(n_features)
        require(
            np.isin(
                trees.feature[trees.category_node], mapper.categories.feature
            ).all(),
            "it has category sets of a feature without categories",
        )
        require(n_iter == len(trees), f"n_iter_ is {n_iter!r} for {len(trees)} trees")
