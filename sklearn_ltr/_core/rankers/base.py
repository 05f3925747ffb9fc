"""The base class of rankers: ranks, scores, and what metadata routing passes on."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from sklearn_ltr._core.data import GivenColumns, RowColumns, fit_requests
from sklearn_ltr._core.data.cross_validation import KnownQueries, warn_if_cut
from sklearn_ltr._core.data.rows import n_rows
from sklearn_ltr._core.data.training_data import without_zero_weights
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.estimators.base import CallbackSupportMixin, Estimator
from sklearn_ltr._core.ranking.measures import bind_labels, mean_of_bound
from sklearn_ltr._core.ranking.reading import (
    LabelChoice,
    read_queries,
    read_targets,
    single_query,
)
from sklearn_ltr._core.typing import IdsLike, LabelWeightsLike, MatrixLike
from sklearn_ltr.metrics import rank_scores


class BaseRanker(CallbackSupportMixin, Estimator):
    """The base class of rankers: `predict` returns scores, higher is ranked first.

    Attributes
    ----------
    label_forces_ : ndarray of shape (n_labels,), float64
        Of several labels, the sums F of `label_weights`; 0 where the weight is 0.
    """

    metric: Any  # MetricChoice
    label_weights: LabelWeightsLike | None = None  # a parameter of some rankers
    _takes_labels: ClassVar[bool] = False  # whether y may have several columns
    _trained_queries: KnownQueries | None = None  # of the last fit
    _attributes: ClassVar[Attributes] = {
        "_trained_queries": Attribute(when="the data are queries", saved=False)
    }

    # requested by default, so that users need not call set_fit_request
    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "groups": True,
        "X_val": True,
        "y_val": True,
        "groups_val": True,
        "sample_weight_val": True,
        **fit_requests(),
    }
    __metadata_request__score: ClassVar[dict[str, bool]] = {
        "groups": True,
        "label": True,
    }

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: a ranker; y is required, X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.estimator_type = "ranker"
        return tags

    @abstractmethod
    def predict(self, X: MatrixLike) -> NDArray[np.float64]:
        """Score documents; scores are comparable within a query."""

    def rank(
        self, X: MatrixLike, *, groups: IdsLike | None = None
    ) -> NDArray[np.int64]:
        """Rank documents within their queries.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
        groups : array-like of shape (n_documents,), default=None
            The query of each document.  None: all rows are one query; more than 200
            rows are an error.

        Returns
        -------
        ranks : ndarray of shape (n_documents,), int64
            1 is first; equal scores keep the order of the rows.

        Raises
        ------
        NotFittedError, ValueError, TypeError
            As by `predict`, and for groups of another length, or more than 200 rows
            without groups.
        """
        return self._ranks(self.predict(X), groups, X)

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        label: int | str | None = None,
    ) -> float:
        """Return the mean of the ranker's `metric` over queries; None means NDCG@10.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
        y : array-like of shape (n_documents,) or (n_documents, n_labels)
            Relevance grades, finite and >= 0; of several labels, NaN where a label has
            not judged a document.
        groups : array-like of shape (n_documents,), default=None
            The query of each document.  None: all rows are one query, with a
            :class:`MissingGroupsWarning`; more than 200 rows are an error.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the mean, constant within a query.
        label : int or str or None, default=None
            Of a y with several columns, the one that is measured: its number, or its
            name in a DataFrame.  None: the mean over labels, by `label_weights`, of
            rankers that have these.

        Returns
        -------
        score : float

        Raises
        ------
        NotFittedError, ValueError, TypeError
            As by `predict`; if y has no such label; if the metric refuses the grades,
            weights or groups; for no rows, or more than 200 without groups.
        """
        scores = self.predict(X)
        return self._mean_metric(scores, y, groups, sample_weight, label, X)

    def _ranks(
        self,
        scores: NDArray[np.float64],
        groups: IdsLike | None,
        X: MatrixLike | None = None,
    ) -> NDArray[np.int64]:
        """Return the rank of each document by its score; X is for messages."""
        n_documents = len(scores)
        if n_documents == 0 and (groups is None or n_rows(groups) == 0):
            return np.empty(0, dtype=np.int64)
        if groups is None:
            groups = single_query(n_documents, X=X).column
        return rank_scores(scores, groups=groups)

    def _mean_metric(
        self,
        scores: NDArray[np.float64],
        y: ArrayLike,
        groups: IdsLike | None,
        sample_weight: ArrayLike | None,
        label: int | str | None = None,
        X: MatrixLike | None = None,
    ) -> float:
        """Return the mean of the reported metric for the scores of documents."""
        queries = read_queries(groups, len(scores), X=X)
        columns: GivenColumns = RowColumns(sample_weight=sample_weight)
        choice = self._labels_of(y) if label is None else LabelChoice(True, None)
        data = read_targets(y, queries, columns, labels=choice)
        data = without_zero_weights(data, "sample_weight")
        if groups is not None:
            warn_if_cut(self, data)
        labels = bind_labels(self.metric, data, label)
        return mean_of_bound(labels, scores[data.rows])

    def _labels_of(self, y: ArrayLike | None, *, measured: bool = True) -> LabelChoice:
        """Return whether y may hold several labels, and their weights in a mean."""
        return LabelChoice(self._takes_labels, self.label_weights)
