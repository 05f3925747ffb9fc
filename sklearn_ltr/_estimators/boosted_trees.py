"""Fit and predict of boosted trees, for rankers and MART alike.

    F_0 = the initial scores,    F_m = F_{m-1} + eta * tree m

Subclasses provide the objective and the evaluation sets: LambdaMART for the documents
of queries, MART for single rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._estimators.callbacks import FitTasks
from sklearn_ltr._estimators.category_training import encode_binned
from sklearn_ltr._estimators.monitor import (
    TRAIN,
    EvalsResult,
    Monitor,
    curves_of,
    first_validation_curve,
)
from sklearn_ltr._estimators.state import require
from sklearn_ltr._estimators.tree_binning import BoostedData, TreeBinning
from sklearn_ltr._estimators.validation_sets import name_sets
from sklearn_ltr._parameters import LARGEST_SCORE
from sklearn_ltr.learners._boosting import Objective, boost
from sklearn_ltr.learners._trees.binning import BinnedData
from sklearn_ltr.learners._trees.ensemble import TreeEnsemble, add_binned
from sklearn_ltr.learners._trees.growing import TreeGrower
from sklearn_ltr.learners._trees.growth_parameters import GrowthParameters
from sklearn_ltr.learners._trees.workspace import GrownTree

FloatArray = NDArray[np.float64]


class BoostedTrees(TreeBinning):
    """An estimator whose scores are initial scores plus a sum of regression trees."""

    n_iter_: int
    train_score_: FloatArray
    validation_score_: FloatArray
    evals_result_: EvalsResult
    # whether the trees were read from another library's model, or joined from two
    _is_foreign: bool = False

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
        if continues and self._is_foreign:
            raise ValueError(
                "the trees that warm_start would keep were not grown by this "
                "estimator, so their bins and random numbers are not known: continue "
                "with a new estimator, whose init is this one"
            )
        self._is_foreign = False
        if not continues:
            self._draw_seed()
        return continues

    def _boost(
        self,
        train: BoostedData,
        validation: list[BoostedData],
        objective: Objective,
        team: ThreadTeam,
        tasks: FitTasks,
        *,
        continues: bool,
    ) -> None:
        """Grow trees until there are `n_estimators`, or early stopping ends the fit.

        It follows the first of the validation sets.
        """
        if not continues:
            self.ensemble_ = TreeEnsemble.empty()
            self.train_score_ = self.validation_score_ = np.empty(0)
        n_kept = len(self.ensemble_)
        scores = self._scores_so_far(train)
        evaluate = self._evaluator(train, validation, scores)
        names = [TRAIN, *name_sets(len(validation))]
        monitor = self._monitor(dict(zip(names, [train, *validation], strict=True)))
        growth = self._growth_parameters(train.data.n_rows)
        trees: list[GrownTree] = []
        monitor.record(n_kept)
        for tree in boost(
            self._tree_grower(train.binned, growth, team),
            objective,
            self._tree_sampler(train.data.offsets, growth.max_leaf_nodes),
            scores,
            self._learning_rates(range(n_kept, self.n_estimators)),
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
        if len(self.ensemble_) == 0:  # X is not needed, which categories would copy
            return boosted.base_score.copy()
        data = boosted.data
        base_score = np.zeros(data.X.shape[0])
        base_score[data.rows] = boosted.base_score
        encoded = encode_binned(boosted.binned, self._mapper.categories, data)
        return self._add_trees(data.X, base_score, encoded)[data.rows]

    def _check_step(self, tree: GrownTree) -> None:
        """Raise a ValueError if a tree leads to scores too large to compute with."""
        largest = np.abs(tree.value).max()
        if not largest <= LARGEST_SCORE:
            rate = self.learning_rate
            at = "" if callable(rate) else f"={rate:g}"
            raise ValueError(
                f"the scores diverge: a tree adds {largest:.3g} to them; lower "
                f"learning_rate{at}, or raise "
                f"l2_regularization={self.l2_regularization:g}"
            )

    def _evaluator(
        self,
        train: BoostedData,
        validation: list[BoostedData],
        scores: FloatArray,
    ) -> Callable[[GrownTree], None]:
        """Update the measures; return a function that does so after a tree."""
        followed = [
            (
                held.binned,
                np.arange(held.data.n_rows, dtype=np.int32),
                self._scores_so_far(held),
            )
            for held in validation
        ]

        def update() -> None:
            for measure in train.measures.values():
                measure.update(scores)
            for held, (_, _, held_scores) in zip(validation, followed, strict=True):
                for measure in held.measures.values():
                    measure.update(held_scores)

        def evaluate(tree: GrownTree) -> None:
            for binned, rows, held_scores in followed:
                add_binned(binned, rows, tree, held_scores)
            update()

        update()
        return evaluate

    def _monitor(self, sets: Mapping[str, BoostedData]) -> Monitor:
        """Return a monitor that continues the curves of an earlier fit."""
        measures = {name: boosted.measures for name, boosted in sets.items()}
        earlier = getattr(self, "evals_result_", {})
        curves = curves_of(measures, earlier, len(self.ensemble_))
        return Monitor(
            curves,
            first_validation_curve(curves) if self.early_stopping else None,
            self.n_iter_no_change,
            self.tol,
            self.verbose,
        )

    def _fitted_with(self, trees: list[GrownTree]) -> dict[str, Any]:
        """Return the fitted attributes of the model with these trees added."""
        ensemble = self.ensemble_
        if trees:
            ensemble += TreeEnsemble.from_grown(trees, self._mapper)
        return {"ensemble_": ensemble, "n_iter_": len(ensemble)}

    def _keep(self, trees: list[GrownTree], monitor: Monitor) -> None:
        """Set the fitted attributes; with early stopping, up to the best tree."""
        ensemble = self._fitted_with(trees)["ensemble_"]
        n_kept = len(ensemble)
        if monitor.followed is not None:
            n_kept = max(1, monitor.best_index)
        self.ensemble_ = ensemble.part(0, n_kept)
        self.n_iter_ = n_kept
        setattr(self, self._train_curve, monitor.train_values)
        self.validation_score_ = monitor.stopping_values
        self.evals_result_ = monitor.result()
