"""How a ranker of boosted trees is fitted: initial scores, objective, evaluation."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._estimators.boosted_trees import BoostedData, BoostedTrees
from sklearn_ltr._estimators.callbacks import FitTasks, with_callbacks
from sklearn_ltr._estimators.monitor import ScoredMeasure
from sklearn_ltr._estimators.state import refit
from sklearn_ltr._estimators.validation_sets import read_validation_sets
from sklearn_ltr._estimators.weights import check_weights
from sklearn_ltr._queries import Exposure, TrainingData
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
from sklearn_ltr.rankers._tree_objective import TreeObjective
from sklearn_ltr.rankers._tree_ranker_parameters import TreeRankerParameters

FloatArray = NDArray[np.float64]


class TreeRankerTraining(TreeRankerParameters):
    """A ranker that learns trees on top of initial scores F_0."""

    init_: Any
    loss_curve_: FloatArray
    _uses_init_score: bool
    _fitted_state = (*BoostedTrees._fitted_state, "init_", "_uses_init_score")

    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "init_score": True,
        "init_score_val": True,
    }

    @property
    def _train_curve(self) -> str:
        return "loss_curve_" if self.metric is None else super()._train_curve

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        init_score: Any = None,
        positions: Any = None,
        propensities: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: Any = None,
        sample_weight_val: Any = None,
        init_score_val: Any = None,
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Numbers, and text in categorical features; NaN, which means missing, goes
            to the better side of a split.
            float32 and float64 are used as they are, and CSR stays sparse.
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0, not necessarily integers.
        groups : array-like of shape (n_documents,), default=None
            The query of each document: any sortable values, in any row order.  Without
            it all rows are taken for one query, with a :class:`MissingGroupsWarning`.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, constant within it.  0: as if it were not there.
        init_score : array-like of shape (n_documents,), default=None
            F_0 of each document, in place of the model `init`: scores computed
            elsewhere.  `predict`, `rank` and `score` need those of their documents
            then.
        positions : array-like of shape (n_documents,), integers >= 0, default=None
            Where each document was shown, 0 is first; different within a query.
            `groups` names each list that was shown (a session) then.  Used, and
            required, where there is a `position_bias`.
        propensities : array-like of shape (n_documents,), in (0, 1], default=None
            Probability that users examined each document: a pair of documents weighs
            1 / propensity of its clicked one.  Not together with a `position_bias`.
        X_val, y_val, groups_val, sample_weight_val, init_score_val : array-likes or \
tuples, default=None
            The same for validation data, which are measured after each tree.  Tuples
            are several sets: ``X_val=(X_1, X_2), y_val=(y_1, y_2), ...``; early
            stopping follows the first.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, arguments of different lengths, an empty
            X, infinite features, columns that are not numbers, grades that are
            negative, not finite or too large for the metric's gain, weights that
            change within a query, or if no query has two different grades.  The
            estimator is left as it was.
        """
        exposure = Exposure(positions, propensities)
        given = {
            "groups": groups, "sample_weight": sample_weight, **exposure._asdict(),
        }  # fmt: skip
        with refit(self) as model:
            model._check_parameters()
            continues = model._begin()
            tasks = FitTasks(self, model, "tree", model._n_new_trees, X, y, **given)
            data = model._read_shown_data(
                X, y, groups, sample_weight, exposure, reset=not continues
            )
            sets = read_validation_sets(
                X_val,
                y_val=y_val,
                groups_val=groups_val,
                sample_weight_val=sample_weight_val,
                init_score_val=init_score_val,
            )
            model._prepare_init(X, y, init_score, continues=continues, **given)
            base_score = model._base_score(X, data.X.shape[0], init_score)
            validation = []
            for suffix, X_of, (*targets, init_score_of) in sets:
                held = model._read_validation_set(suffix, X_of, *targets)
                n_rows = held.X.shape[0]
                base = model._base_score(X_of, n_rows, init_score_of, suffix)
                validation.append((held, base))
            data, held_out = model._hold_out(data, given=bool(validation))
            if held_out is not None:
                validation = [(held_out, base_score)]
            model._fit_sets((data, base_score), validation, tasks, continues=continues)
        tasks.end()
        return self

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
        validation: list[tuple[TrainingData, FloatArray]],
        tasks: FitTasks,
        *,
        continues: bool,
    ) -> None:
        """Boost on the training data; all come with F_0 of the rows of their X."""
        data, base_score = train
        measured = len(validation) > 0 or self.verbose > 0 or self._measures_train
        n_kept = self._n_kept_trees
        with ThreadTeam(effective_n_threads(self.n_jobs, data.X.size)) as team:
            train_set = self._train_set(
                data, base_score, team, continues=continues, measured=measured
            )
            rates = self._learning_rates(range(n_kept, self.n_estimators))
            bias = self._new_bias(train_set.data, continues=continues)
            objective = TreeObjective(self, train_set.data, team, bias, rates)
            self._boost(
                train_set,
                [self._validation_set(*held, team) for held in validation],
                objective,
                team,
                tasks,
                continues=continues,
            )
        objective.set_bias_after(self.n_iter_ - n_kept)

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
        measures: dict[str, ScoredMeasure] = {}
        if self.metric is None:
            measures["cost"] = PairCostEvaluation(
                train.data, self.sigma, tied_pairs=False
            )
        if measured and (self.metric is not None or self._measures_train):
            for name, metric in self._measured_metrics().items():
                measures[name] = AllQueriesEvaluation(data, train.data, metric)
        return train._replace(measures=measures)

    def _validation_set(
        self, data: TrainingData, base_score: FloatArray, team: ThreadTeam
    ) -> BoostedData:
        """Return validation data, F_0, and what measures them."""
        check_base_score_size(self.sigma, base_score[data.rows])
        validation = self._bin_validation(data, base_score[data.rows], team)
        measures = {
            name: MetricEvaluation(data, metric)
            for name, metric in self._measured_metrics().items()
        }
        return validation._replace(measures=measures)
