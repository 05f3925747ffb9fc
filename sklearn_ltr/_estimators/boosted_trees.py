"""Fit and predict of boosted trees, for rankers and MART alike.

    F_0 = the initial scores,    F_m = F_{m-1} + eta * tree m

Subclasses provide the objective and the evaluation sets: LambdaMART for the documents
of queries, MART for single rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._estimators.callbacks import FitTasks
from sklearn_ltr._estimators.feature_table import check_finite
from sklearn_ltr._estimators.monitor import (
    Monitor,
    ScoredEvaluationSet,
    earlier_values,
)
from sklearn_ltr._estimators.row_order import order_by_bins, order_by_values
from sklearn_ltr._estimators.state import require
from sklearn_ltr._estimators.tree_features import TreeFeatures
from sklearn_ltr._parameters import LARGEST_SCORE
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.learners._boosting import Objective, boost
from sklearn_ltr.learners._tables import Table
from sklearn_ltr.learners._trees.binning import (
    MAX_SAMPLE_ROWS,
    BinMapper,
    BinnedData,
    reorder_rows,
)
from sklearn_ltr.learners._trees.ensemble import TreeEnsemble, add_binned
from sklearn_ltr.learners._trees.growing import TreeGrower
from sklearn_ltr.learners._trees.growth_parameters import GrowthParameters
from sklearn_ltr.learners._trees.workspace import GrownTree

FloatArray = NDArray[np.float64]


class BoostedData(NamedTuple):
    """Data that trees are grown on, or evaluated on."""

    data: TrainingData
    base_score: FloatArray  # (n_rows,): F_0 of each row of the data
    binned: BinnedData  # its rows
    evaluation: ScoredEvaluationSet | None = None  # measures their scores


class BoostedTrees(TreeFeatures):
    """An estimator whose scores are initial scores plus a sum of regression trees."""

    ensemble_: TreeEnsemble
    n_iter_: int
    train_score_: FloatArray
    validation_score_: FloatArray

    _fitted_state: ClassVar[tuple[str, ...]] = (
        "ensemble_",
        "n_features_in_",
        "n_iter_",
        "validation_score_",
        "_mapper",
        "_seed",
    )

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        trees, categorical = self.ensemble_, self._mapper.categories.feature
        trees.check(self.n_features_in_)
        require(
            np.isin(trees.feature[trees.category_node], categorical).all(),
            "it has category sets of a feature without categories",
        )
        require(
            self.n_iter_ == len(self.ensemble_),
            f"n_iter_ is {self.n_iter_!r} for {len(self.ensemble_)} trees",
        )

    @property
    def _train_curve(self) -> str:
        """Name of the attribute that holds the values on the training data."""
        return "train_score_"

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the gain of all splits, (n_features,) float64."""
        model = self._fitted()
        gains = model.ensemble_.gain_by_feature(model.n_features_in_)
        total = gains.sum()
        return gains / total if total > 0 else gains

    @property
    def _n_kept_trees(self) -> int:
        """Number of trees of the last fit that a warm start keeps."""
        kept = self.warm_start and hasattr(self, "ensemble_")
        return len(self.ensemble_) if kept else 0

    @property
    def _n_new_trees(self) -> int:
        """Largest number of trees that a fit grows."""
        return self.n_estimators - self._n_kept_trees

    def _begin(self) -> bool:
        """Return whether this fit continues an earlier one; else draw a new seed."""
        if self.n_estimators < self._n_kept_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the "
                f"{self._n_kept_trees} trees that warm_start keeps"
            )
        continues = self._n_kept_trees > 0
        if not continues:
            self._draw_seed()
        return continues

    def _bin_training(
        self,
        data: TrainingData,
        base_score: FloatArray,
        team: ThreadTeam,
        *,
        continues: bool,
    ) -> BoostedData:
        """Learn the bins, unless the fit continues another, and bin the rows.

        The rows come out in the order of what trees see of them, to which the initial
        scores belong, (n_rows,).
        """
        X, rows = data.X, data.rows
        if not continues:
            self._mapper = self._fit_bins(data, team)
        binned = self._mapper.transform(X, rows, team)
        order = order_by_bins(data, binned, base_score, team)
        reorder_rows(binned, order, team)
        return BoostedData(data.reordered(order), base_score[order], binned)

    def _fit_bins(self, data: TrainingData, team: ThreadTeam) -> BinMapper:
        """Learn the bins."""
        X, rows, features = data.X, data.rows, self._categories.feature
        if data.n_rows > MAX_SAMPLE_ROWS:
            rows = rows[order_by_values(data, team)]
        return BinMapper.fit(X, rows, self.max_bins, self._seed, team, features)

    def _bin_validation(
        self, data: TrainingData, base_score: FloatArray, team: ThreadTeam
    ) -> BoostedData:
        """Bin the rows by the bins of the training data."""
        binned = self._mapper.transform(data.X, data.rows, team)
        return BoostedData(data, base_score, binned)

    def _boost(
        self,
        train: BoostedData,
        validation: BoostedData | None,
        objective: Objective,
        team: ThreadTeam,
        tasks: FitTasks,
        *,
        continues: bool,
    ) -> None:
        """Grow trees until there are `n_estimators`, or early stopping ends the fit."""
        if not continues:
            self.ensemble_ = TreeEnsemble.empty()
            self.train_score_ = self.validation_score_ = np.empty(0)
        n_kept = len(self.ensemble_)
        scores = self._scores_so_far(train)
        evaluate = self._evaluator(train, validation, scores)
        monitor = self._monitor(train, validation)
        growth = self._growth_parameters(train.data.n_rows)
        trees: list[GrownTree] = []
        monitor.record(n_kept)
        for tree in boost(
            self._tree_grower(train.binned, growth, team),
            objective,
            self._tree_sampler(train.data.offsets, growth.max_leaf_nodes),
            scores,
            range(n_kept, self.n_estimators),
        ):
            trees.append(tree)
            self._check_step(tree)
            evaluate(tree)
            stops = monitor.record(n_kept + len(trees))
            if tasks.end_step(partial(self._fitted_with, trees), last=stops):
                break
        self._keep(trees, monitor)

    def _tree_grower(
        self, binned: BinnedData, growth: GrowthParameters, team: ThreadTeam
    ) -> TreeGrower:
        return TreeGrower(binned, growth, team)

    def _scores_so_far(self, boosted: BoostedData) -> FloatArray:
        """Return F of the rows: their initial scores, and the trees of earlier fits."""
        data = boosted.data
        base_score = np.zeros(data.X.shape[0])
        base_score[data.rows] = boosted.base_score
        return self._add_trees(data.X, base_score)[data.rows]

    def _check_step(self, tree: GrownTree) -> None:
        """Raise a ValueError if a tree leads to scores too large to compute with."""
        largest = np.abs(tree.value).max()
        if not largest <= LARGEST_SCORE:
            raise ValueError(
                f"the scores diverge: a tree adds {largest:.3g} to them; lower "
                f"learning_rate={self.learning_rate:g}, or raise "
                f"l2_regularization={self.l2_regularization:g}"
            )

    def _evaluator(
        self,
        train: BoostedData,
        validation: BoostedData | None,
        scores: FloatArray,
    ) -> Callable[[GrownTree], None]:
        """Update the evaluation sets; return a function that does so after a tree."""
        if train.evaluation is not None:
            train.evaluation.update(scores)
        if validation is not None and validation.evaluation is not None:
            binned = validation.binned
            rows = np.arange(validation.data.n_rows, dtype=np.int32)
            validation_scores = self._scores_so_far(validation)
            validation.evaluation.update(validation_scores)

        def evaluate(tree: GrownTree) -> None:
            if train.evaluation is not None:
                train.evaluation.update(scores)
            if validation is not None and validation.evaluation is not None:
                add_binned(binned, rows, tree, validation_scores)
                validation.evaluation.update(validation_scores)

        return evaluate

    def _monitor(self, train: BoostedData, validation: BoostedData | None) -> Monitor:
        """Return a monitor that continues the curves of an earlier fit."""
        n_kept = len(self.ensemble_)
        train_curve = getattr(self, self._train_curve, self.train_score_)
        measured = None if validation is None else validation.evaluation
        return Monitor(
            train.evaluation,
            measured,
            self.n_iter_no_change,
            self.tol,
            self.verbose,
            train_values=(
                [] if train.evaluation is None else earlier_values(train_curve, n_kept)
            ),
            validation_values=(
                []
                if measured is None
                else earlier_values(self.validation_score_, n_kept)
            ),
        )

    def _fitted_with(self, trees: list[GrownTree]) -> dict[str, Any]:
        """Return the fitted attributes of the model with these trees added."""
        ensemble = self.ensemble_
        if trees:
            ensemble += TreeEnsemble.from_grown(trees, self._mapper)
        return {"ensemble_": ensemble, "n_iter_": len(ensemble)}

    def _keep(self, trees: list[GrownTree], monitor: Monitor) -> None:
        """Set the fitted attributes; with validation data, up to the best tree."""
        ensemble = self._fitted_with(trees)["ensemble_"]
        n_kept = len(ensemble)
        if monitor.validation is not None:
            n_kept = max(1, monitor.best_index)
        self.ensemble_ = ensemble.part(0, n_kept)
        self.n_iter_ = n_kept
        setattr(self, self._train_curve, np.array(monitor.train_values))
        self.validation_score_ = np.array(monitor.validation_values)

    def _add_trees(self, X: Table, base_score: FloatArray) -> FloatArray:
        """Return F of each row of X: its initial score plus all trees.

        A row with an infinite value, for which the ensemble returns NaN, raises a
        ValueError: the ensemble reads all of X anyway.
        """
        work = X.shape[0] * len(self.ensemble_)
        with ThreadTeam(effective_n_threads(self.n_jobs, work)) as team:
            encoded = self._mapper.categories.encode(X)
            scores = self.ensemble_.predict(encoded, team, base_score)
        if np.isnan(scores).any():
            check_finite(X, "X", allow_nan=True)
        return scores

    def _stages(self, X: Table, base_score: FloatArray) -> Iterator[FloatArray]:
        """Yield F of each row of X after each tree."""
        encoded = self._mapper.categories.encode(X)
        yield from self.ensemble_.staged_predict(encoded, base_score)
