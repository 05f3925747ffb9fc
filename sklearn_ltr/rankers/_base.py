"""What the rankers share: the scikit-learn face."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from sklearn_ltr._estimators.base import Model
from sklearn_ltr._queries import check_grades, check_sample_weight
from sklearn_ltr.metrics import NDCG, Metric, get_metric, rank_scores
from sklearn_ltr.rankers._data import GradedLists, read_queries


class BaseRanker(Model):
    """A ranker: `predict` gives scores, and the higher is ranked first."""

    metric: str | Metric | None
    scoring: str | Metric | None

    # requested from the start: metadata routing needs no further call
    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "groups": True,
        "X_val": True,
        "y_val": True,
        "groups_val": True,
        "sample_weight_val": True,
    }
    __metadata_request__score: ClassVar[dict[str, bool]] = {"groups": True}

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: a "ranker"."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        return tags

    @abstractmethod
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Score documents; scores are comparable within a query."""

    def rank(self, X: Any, *, groups: Any = None) -> NDArray[np.int64]:
        """Rank documents within their queries.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
        groups : array-like of shape (n_documents,), default=None
            The query of each document; None: they all belong to one.

        Returns
        -------
        ranks : ndarray of shape (n_documents,), int64
            1 is first; equal scores keep the order of the rows.
        """
        scores = self.predict(X)
        one_query = np.zeros(len(scores), dtype=np.int64)
        return rank_scores(scores, groups=one_query if groups is None else groups)

    def score(
        self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None
    ) -> float:
        """Mean of the ranker's `metric` over queries; NDCG@10 where it is None.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0.
        groups : array-like of shape (n_documents,), default=None
            The query of each document.  Without it all are taken for one query, with a
            :class:`MissingGroupsWarning`.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the mean, constant within a query.
        """
        scores = self.predict(X)
        queries = read_queries(groups, len(scores))
        bound = self._reported_metric().bind(
            check_grades(y, queries), queries.offsets, queries.labels
        )
        weights = check_sample_weight(sample_weight, queries)
        return bound.mean(queries.sort(scores), weights)

    def _read_lists(
        self, X: Any, y: Any, groups: Any, sample_weight: Any, *, reset: bool
    ) -> GradedLists:
        """Read what a public method was given to learn from."""
        table = self._read_table(X, reset=reset)
        return GradedLists.read(table, y, groups, sample_weight)

    def _read_held_out(
        self, X_val: Any, y_val: Any, groups_val: Any, sample_weight_val: Any
    ) -> GradedLists | None:
        """Read what `fit` was given to look at for early stopping, if anything."""
        if X_val is not None:
            return GradedLists.read(
                self._read_table(X_val, name="X_val"),
                y_val,
                groups_val,
                sample_weight_val,
                "_val",
            )
        if not (y_val is groups_val is sample_weight_val is None):
            raise ValueError(
                "X_val is None, but y_val, groups_val or sample_weight_val is not: "
                "give X_val with them"
            )
        return None

    def _reported_metric(self) -> Metric:
        return NDCG(10) if self.metric is None else get_metric(self.metric)

    def _stopping_metric(self) -> Metric:
        """Return what early stopping looks at."""
        if self.scoring is None:
            return self._reported_metric()
        return get_metric(self.scoring)

    def _learned_metric(self, level: int | None) -> Metric | None:
        """Return what multiplies the force, at a cutoff of `level` at least."""
        return None if self.metric is None else get_metric(self.metric).deepened(level)
