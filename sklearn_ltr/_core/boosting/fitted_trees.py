"""Fitted trees: their scores, and their attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import Tags

from sklearn_ltr._core.compile import (
    ONE_THREAD,
    ThreadTeam,
    n_threads_of_call,
    task,
)
from sklearn_ltr._core.data.categories import FeatureCategories
from sklearn_ltr._core.data.features import check_finite
from sklearn_ltr._core.data.tables import Matrix
from sklearn_ltr._core.estimators.attributes import FEATURES, Attribute, Attributes
from sklearn_ltr._core.estimators.base import Estimator, require
from sklearn_ltr._core.trees.binning import BinMapper
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.typing import FloatArray, IntArray, MatrixLike

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
        n_threads = n_threads_of_call(n_jobs, X.shape[0] * len(self.ensemble))
        if n_threads == 1:
            scores = self.ensemble.predict(encoded, ONE_THREAD, base_score)
        else:
            with task(f"scoring {X.shape[0]:,} rows"), ThreadTeam(n_threads) as team:
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
        with ThreadTeam(n_threads_of_call(n_jobs, work)) as team:
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


class TreeEstimator(Estimator):
    """An estimator of boosted trees."""

    n_features_in_: int
    n_iter_: int
    ensemble_: TreeEnsemble
    _categories: FeatureCategories
    _mapper: BinMapper
    _is_imported = False  # trees of another library, or joined from two models
    _stages_changed = False  # by dart

    def apply(self, X: MatrixLike) -> NDArray[np.int64]:
        """Return the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `predict`.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees), int64
            Number of the leaf among the nodes of its tree, from 0 for the root, as in
            scikit-learn's trees.  Inner nodes have numbers, too, so leaf numbers have
            gaps: encode them by a OneHotEncoder to use leaves as features.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X has other columns than at `fit`, an infinite value, or no numbers.

        References
        ----------
        X. He et al., "Practical Lessons from Predicting Clicks on Ads at Facebook",
        ADKDD 2014: the leaves of boosted trees as features of a linear model.
        """
        model = self._fitted()
        return model._trees.leaves(model._features.read(X), model.n_jobs)

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the gain of all splits, (n_features,) float64."""
        model = self._fitted()
        return model._trees.importances(model.n_features_in_)

    @property
    def is_categorical_(self) -> NDArray[np.bool_]:
        """Whether each feature is categorical, (n_features,) bool."""
        model = self._fitted()
        return model._categories.mask(model.n_features_in_)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: NaN is allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _trees(self) -> FittedTrees:
        return FittedTrees(
            self._categories, self._mapper, self.ensemble_, self._stages_changed
        )

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        self._trees.check(self.n_features_in_, self.n_iter_)
