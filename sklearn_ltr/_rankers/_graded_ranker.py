"""A network that learns from graded queries."""

from __future__ import annotations

from typing import Any, Self

from sklearn_ltr._data import Exposure
from sklearn_ltr._estimators.base import FitTasks, with_callbacks
from sklearn_ltr._estimators.base import refit
from sklearn_ltr._rankers._network_ranker import NetworkRanker


class GradedRanker(NetworkRanker):
    """A network trained on the grades of documents."""

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        positions: Any = None,
        propensities: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Finite numbers; float32 is used as it is, and CSR stays sparse.
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0, not necessarily integers.
        groups : array-like of shape (n_documents,), default=None
            The query of each document: any sortable values, in any row order.  Without
            it all rows are taken for one query, with a :class:`MissingGroupsWarning`.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, constant within it.  0: as if it were not there.
        positions : array-like of shape (n_documents,), integers >= 0, default=None
            Where each document was shown, 0 is first; different within a query.
            `groups` names each list that was shown (a session) then.  Used, and
            required, where there is a `position_bias`.
        propensities : array-like of shape (n_documents,), in (0, 1], default=None
            Probability that users examined each document: a pair of documents weighs
            1 / propensity of its clicked one.  Not together with a `position_bias`.
        X_val, y_val, groups_val, sample_weight_val : array-likes or tuples, \
default=None
            The same for validation data, which are measured after each epoch.  Tuples
            are several sets: ``X_val=(X_1, X_2), y_val=(y_1, y_2), ...``; early
            stopping follows the first.

        Returns
        -------
        self : LambdaRankRanker

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, arguments of different lengths, an empty
            X, features that are not finite numbers, grades that are negative, not
            finite or too large for the metric's gain, weights that change within a
            query, if no query has two different grades, or if the network diverges.
            The estimator is left as it was.
        """
        exposure = Exposure(positions, propensities)
        given = {
            "groups": groups, "sample_weight": sample_weight, **exposure._asdict(),
        }  # fmt: skip
        with refit(self) as model:
            model._check_parameters()
            tasks = FitTasks(self, model, "epoch", model.max_iter, X, y, **given)
            continues = model._begin(model.warm_start)
            data = model._read_shown_data(
                X, y, groups, sample_weight, exposure, reset=not continues
            )
            validation = model._read_validation_data(
                X_val, y_val, groups_val, sample_weight_val
            )
            model._fit_queries(data, validation, tasks, continues=continues)
        tasks.end()
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        positions: Any = None,
        propensities: Any = None,
    ) -> Self:
        """Learn from more queries: one pass over them, continuing the last fit.

        Parameters
        ----------
        X, y, groups, sample_weight, positions, propensities : array-likes
            As in `fit`.  All documents of a query belong in one call: pairs are made
            within it.

        Returns
        -------
        self : LambdaRankRanker

        Raises
        ------
        ValueError, TypeError
            As by `fit`.  The estimator is left as it was.
        """
        exposure = Exposure(positions, propensities)
        with refit(self) as model:
            model._check_parameters()
            continues = model._begin(keep=True)
            data = model._read_shown_data(
                X, y, groups, sample_weight, exposure, reset=not continues
            )
            model._partial_fit_queries(data, continues=continues)
        return self
