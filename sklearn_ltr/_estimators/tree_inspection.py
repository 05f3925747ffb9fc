"""What fitted trees tell: the importance of features, and the leaves of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._estimators.tree_features import TreeFeatures
from sklearn_ltr.learners._trees.ensemble import TreeEnsemble


class TreeInspection(TreeFeatures):
    """An estimator of boosted trees: its features, and the leaves of rows."""

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
            return model.ensemble_.leaf_nodes(encoded, team)
