"""A ranker of boosted trees: initial scores, prediction, objective and evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._estimators.boosted_trees import BoostedData, BoostedTrees
from sklearn_ltr._estimators.monitor import ScoredEvaluationSet
from sklearn_ltr._estimators.parameters import (
    at_least,
    check_choice,
    check_ranges,
    positive,
)
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.lambdas._objective import LambdaObjective, PairOptions
from sklearn_ltr.learners._boosting import Objective
from sklearn_ltr.rankers._base import BaseRanker
from sklearn_ltr.rankers._evaluation import (
    AllQueriesEvaluation,
    MetricEvaluation,
    PairCostEvaluation,
)
from sklearn_ltr.rankers._initial import check_base_scores, fitted_base_model
from sklearn_ltr.rankers._reading import zero_gradient_message

FloatArray = NDArray[np.float64]


class TreeRanker(BoostedTrees, BaseRanker):
    """A ranker whose scores are initial scores F_0 plus a sum of trees."""

    sigma: float
    truncation_level: int | None
    distance_normalization: bool
    query_normalization: bool
    init: Any

    init_: Any
    loss_curve_: FloatArray
    _uses_init_score: bool

    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "init_score": True,
        "init_score_val": True,
    }
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"init_score": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"init_score": True}

    @property
    def _train_curve(self) -> str:
        return "loss_curve_" if self.metric is None else super()._train_curve

    def _check_parameters(self) -> None:
        """Raise an error that names the parameter if one is out of its range."""
        super()._check_parameters()
        check_ranges(
            self, [positive("sigma"), at_least("truncation_level", 1, optional=True)]
        )
        for flag in ("distance_normalization", "query_normalization"):
            check_choice(self, flag, (True, False))
        self._stopping_metric()  # raises for an unknown metric or scoring

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
        check_is_fitted(self)
        # a base model must not be given infinite values before they are refused
        read = self._read_unchecked if self.init_ is None else self._read_features
        table = read(X)
        return self._add_trees(table, self._base_score(X, table.shape[0], init_score))

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
        check_is_fitted(self)
        table = self._read_features(X)
        base_score = self._base_score(X, table.shape[0], init_score)
        yield from self.ensemble_.staged_predict(table, base_score)

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

    def _prepare_init(self, X: Any, y: Any, init_score: Any, **metadata: Any) -> None:
        """Drop the state of an earlier fit, and fit the base model if there is one."""
        if self.init is not None and init_score is not None:
            raise ValueError("give init, a model, or init_score, its scores, not both")
        self._uses_init_score = init_score is not None
        self.__dict__.pop("loss_curve_", None)
        self.init_ = None
        if self.init is not None:
            self.init_ = fitted_base_model(self.init, X, y, **metadata)

    def _base_score(
        self, X: Any, n_rows: int, init_score: Any, suffix: str = ""
    ) -> FloatArray:
        """Return F_0 of the rows of X."""
        name = f"init_score{suffix}"
        if self._uses_init_score != (init_score is not None):
            had, has = ("", "no ") if self._uses_init_score else ("no ", "an ")
            raise ValueError(
                f"fit was given {had}init_score, and here is {has}{name}: trees that "
                "were grown on top of scores need those of every document"
            )
        if self.init_ is not None:
            return check_base_scores(
                self.init_.predict(X), n_rows, "what init predicts"
            )
        if init_score is not None:
            return check_base_scores(init_score, n_rows, name)
        return np.zeros(n_rows)

    def _objective(self, data: TrainingData, team: ThreadTeam) -> Objective:
        """Return the lambdas and hessians of scores; an error if all are zero."""
        options = PairOptions(
            self.sigma, self.distance_normalization, self.query_normalization
        )
        metric = self._trained_metric(self.truncation_level)
        lambdas = LambdaObjective(data, metric, options, team)
        is_first = True

        def objective(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
            nonlocal is_first
            gradient, hessian = lambdas(scores)
            if is_first and not gradient.any():
                raise ValueError(zero_gradient_message(self.metric))
            is_first = False
            return gradient, hessian

        return objective

    def _train_set(
        self,
        data: TrainingData,
        base_score: FloatArray,
        team: ThreadTeam,
        *,
        continues: bool,
        measured: bool,
    ) -> BoostedData:
        """Return the queries that have pairs, F_0, and what measures them.

        Queries without pairs have no gradient; they count in the metric only.
        """
        learned = data.subset(data.has_pairs)
        train = self._bin_training(
            learned, base_score[learned.rows], team, continues=continues
        )
        evaluation: ScoredEvaluationSet | None = None
        if self.metric is None:
            evaluation = PairCostEvaluation(
                train.data, float(self.sigma), tied_pairs=False
            )
        elif measured:
            metric = self._stopping_metric()
            evaluation = AllQueriesEvaluation(data, train.data, metric)
        return train._replace(evaluation=evaluation)

    def _validation_set(
        self, data: TrainingData | None, base_score: FloatArray, team: ThreadTeam
    ) -> BoostedData | None:
        """Return what early stopping follows."""
        if data is None:
            return None
        validation = self._bin_validation(data, base_score[data.rows], team)
        evaluation = MetricEvaluation(data, self._stopping_metric())
        return validation._replace(evaluation=evaluation)
