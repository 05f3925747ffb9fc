"""A ranker of boosted trees: its scores, ranks and metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.rankers._tree_ranker_training import TreeRankerTraining

FloatArray = NDArray[np.float64]


class TreeRanker(TreeRankerTraining):
    """A ranker whose scores are initial scores F_0 plus a sum of trees."""

    __metadata_request__predict: ClassVar[dict[str, bool]] = {"init_score": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"init_score": True}

    def predict(self, X: Any, *, init_score: Any = None) -> FloatArray:
        """Score documents; scores are comparable within a query.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Real and finite, or NaN.
        init_score : array-like of shape (n_documents,), default=None
            F_0 of each document, if `fit` was given the `init_score` of its own.

        Returns
        -------
        scores : ndarray of shape (n_documents,), float64
            Higher is ranked first: F_0 plus the sum of the trees.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X has other columns than at `fit`, or an infinite value, or if
            `init_score` was given to one of `fit` and `predict` only.
        """
        model = self._fitted()
        # a base model must not be given infinite values before they are refused
        read = model._read_unchecked if model.init_ is None else model._read_features
        table = read(X)
        return model._add_trees(table, model._base_score(X, table.shape[0], init_score))

    def staged_predict(self, X: Any, *, init_score: Any = None) -> Iterator[FloatArray]:
        """Score documents after each tree.

        Parameters
        ----------
        X, init_score : array-likes
            As for `predict`.

        Yields
        ------
        scores : ndarray of shape (n_documents,), float64
            F_0 plus the first 1, 2, ..., `n_iter_` trees.
        """
        model = self._fitted()
        table = model._read_features(X)
        base_score = model._base_score(X, table.shape[0], init_score)
        yield from model._stages(table, base_score)

    def rank(
        self, X: Any, *, groups: Any = None, init_score: Any = None
    ) -> NDArray[np.int64]:
        """Rank documents within their queries.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
        groups : array-like of shape (n_documents,), default=None
            The query of each document; None: all belong to one query.
        init_score : array-like of shape (n_documents,), default=None
            As for `predict`.

        Returns
        -------
        ranks : ndarray of shape (n_documents,), int64
            1 is first; equal scores keep the order of the rows.
        """
        return self._ranks(self.predict(X, init_score=init_score), groups)

    def score(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        init_score: Any = None,
    ) -> float:
        """Mean of the ranker's `metric` over queries; NDCG@10 where it is None.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0.
        groups : array-like of shape (n_documents,), default=None
            The query of each document.  Without it all rows are taken for one query,
            with a :class:`MissingGroupsWarning`.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the mean, constant within a query.
        init_score : array-like of shape (n_documents,), default=None
            As for `predict`.

        Returns
        -------
        score : float
        """
        scores = self.predict(X, init_score=init_score)
        return self._mean_metric(scores, y, groups, sample_weight)
