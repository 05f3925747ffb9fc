"""What fitted trees tell: scores and leaves of rows, and the importance of features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._estimators.feature_table import check_finite
from sklearn_ltr._estimators.tree_features import TreeFeatures
from sklearn_ltr.learners._tables import Table
from sklearn_ltr.learners._trees.ensemble import TreeEnsemble
from sklearn_ltr.learners._trees.leaf_search import find_leaves

FloatArray = NDArray[np.float64]


class TreeInspection(TreeFeatures):
    """An estimator of boosted trees: scores, leaves and importances."""

    ensemble_: TreeEnsemble

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the gain of all splits, (n_features,) float64."""
        model = self._fitted()
        gains = model.ensemble_.gain_by_feature(model.n_features_in_)
        total = gains.sum()
        return gains / total if total > 0 else gains

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the leaf of each tree that a row comes to.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            As for `predict`.

        Returns
        -------
        leaves : ndarray of shape (n_rows, n_trees), int64
            Number of the leaf among the nodes of its tree, from 0 for the root, as in
            the trees of scikit-learn.  The numbers of a tree have gaps, those of its
            inner nodes: encode them by a OneHotEncoder to use leaves as features.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X has other columns than at `fit`, or an infinite value.

        References
        ----------
        X. He et al., "Practical Lessons from Predicting Clicks on Ads at Facebook",
        ADKDD 2014: the leaves of boosted trees as features of a linear model.
        """
        model = self._fitted()
        table = model._read_features(X)
        encoded = model._mapper.categories.encode(table)
        work = table.shape[0] * len(model.ensemble_)
        with ThreadTeam(effective_n_threads(model.n_jobs, work)) as team:
            return find_leaves(model.ensemble_, encoded, team)

    def _add_trees(
        self, X: Table, base_score: FloatArray, encoded: Table | None = None
    ) -> FloatArray:
        """Return F of each row of X: its initial score plus all trees.

        `encoded` is X with bins of categories, if these are not those of prediction.
        A row with an infinite value, for which the ensemble returns NaN, raises a
        ValueError: the ensemble reads all of X anyway.
        """
        work = X.shape[0] * len(self.ensemble_)
        with ThreadTeam(effective_n_threads(self.n_jobs, work)) as team:
            if encoded is None:
                encoded = self._mapper.categories.encode(X)
            scores = self.ensemble_.predict(encoded, team, base_score)
        if np.isnan(scores).any():
            check_finite(X, "X", allow_nan=True)
        return scores

    def _stages(self, X: Table, base_score: FloatArray) -> Iterator[FloatArray]:
        """Yield F of each row of X after each tree."""
        encoded = self._mapper.categories.encode(X)
        yield from self.ensemble_.staged_predict(encoded, base_score)
