"""A ranker of boosted trees: initial scores, prediction, objective and evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._estimators.boosted_trees import BoostedData, BoostedTrees
from sklearn_ltr._estimators.callbacks import FitTasks
from sklearn_ltr._estimators.monitor import ScoredEvaluationSet
from sklearn_ltr._estimators.weights import check_weights
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.lambdas._objective import LambdaObjective, PairOptions
from sklearn_ltr.lambdas._regression import Regression
from sklearn_ltr.learners._boosting import Objective
from sklearn_ltr.rankers._evaluation import (
    AllQueriesEvaluation,
    MetricEvaluation,
    PairCostEvaluation,
)
from sklearn_ltr.rankers._initial import (
    check_base_score_size,
    check_base_scores,
    fitted_base_model,
)
from sklearn_ltr.rankers._reading import check_learnable
from sklearn_ltr.rankers._tree_ranker_parameters import TreeRankerParameters

FloatArray = NDArray[np.float64]
LAMBDA_TOTALS = (1e-150, 1e150)  # whose squares, the gains of splits, are finite


class TreeRanker(TreeRankerParameters):
    """A ranker whose scores are initial scores F_0 plus a sum of trees."""

    init_: Any
    loss_curve_: FloatArray
    _uses_init_score: bool
    _fitted_state = (*BoostedTrees._fitted_state, "init_", "_uses_init_score")

    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "init_score": True,
        "init_score_val": True,
    }
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"init_score": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"init_score": True}

    @property
    def _train_curve(self) -> str:
        return "loss_curve_" if self.metric is None else super()._train_curve

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
        yield from model.ensemble_.staged_predict(table, base_score)

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

    def _prepare_init(
        self, X: Any, y: Any, init_score: Any, *, continues: bool, **metadata: Any
    ) -> None:
        """Drop the state of an earlier fit, and fit the base model if there is one.

        If the fit continues an earlier one, it keeps the base model of that one.
        """
        if self.init is not None and init_score is not None:
            raise ValueError("give init, a model, or init_score, its scores, not both")
        if continues:
            if (self.init is None) != (self.init_ is None):
                raise ValueError(
                    f"init is {'no' if self.init is None else 'a'} model, unlike when "
                    "the trees that warm_start keeps were grown; fit with "
                    "warm_start=False"
                )
            return
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

    def _fit_sets(
        self,
        train: tuple[TrainingData, FloatArray],
        validation: tuple[TrainingData | None, FloatArray],
        tasks: FitTasks,
        *,
        continues: bool,
    ) -> None:
        """Boost on the training data; both come with F_0 of the rows of their X."""
        data, base_score = train
        measured = validation[0] is not None or self.verbose > 0
        with ThreadTeam(effective_n_threads(self.n_jobs, data.X.size)) as team:
            train_set = self._train_set(
                data, base_score, team, continues=continues, measured=measured
            )
            self._boost(
                train_set,
                self._validation_set(*validation, team),
                self._objective(train_set.data, team),
                team,
                tasks,
                continues=continues,
            )

    def _objective(self, data: TrainingData, team: ThreadTeam) -> Objective:
        """Return what trees learn from: lambdas, and the regression on the grades.

        An error if the lambdas vanish.
        """
        options = PairOptions(
            self.sigma, self.distance_normalization, self.query_normalization
        )
        metric = self._trained_metric(self.truncation_level)
        lambdas = LambdaObjective(data, metric, options, team)
        regression: Regression | None = None
        if self.regression_weight > 0:
            regression = Regression(data, self.regression_weight, self.sigma)
        is_first = True

        def objective(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
            nonlocal is_first
            gradient, hessian = lambdas(scores)
            if is_first:
                self._check_lambdas(gradient, LAMBDA_TOTALS, metric, data)
            is_first = False
            if regression is not None:
                regression.add(scores, gradient, hessian)
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
        check_learnable(data)
        learned = data.subset(data.has_pairs)
        check_weights(learned.weights, "sample_weight")
        check_base_score_size(self.sigma, base_score[learned.rows])
        train = self._bin_training(
            learned, base_score[learned.rows], team, continues=continues
        )
        evaluation: ScoredEvaluationSet | None = None
        if self.metric is None:
            evaluation = PairCostEvaluation(train.data, self.sigma, tied_pairs=False)
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
        check_base_score_size(self.sigma, base_score[data.rows])
        validation = self._bin_validation(data, base_score[data.rows], team)
        evaluation = MetricEvaluation(data, self._stopping_metric())
        return validation._replace(evaluation=evaluation)
