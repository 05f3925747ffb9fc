"""Boosted trees under an estimator's face: trees are added until they no longer help.

    F_0 = what is known before,    F_m = F_{m-1} + eta * tree m

What the cost is, and what a row is worth, only those know who derive from
:class:`BoostedTrees`: LambdaMART's documents, MART's examples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._estimators.callbacks import FitTasks
from sklearn_ltr._estimators.feature_table import read_table, refuse_values
from sklearn_ltr._estimators.monitor import Progress, Scored, history
from sklearn_ltr._estimators.tree_parameters import TreeParameters
from sklearn_ltr.learners._boosting import Boosting, Derivatives
from sklearn_ltr.learners._tables import Table
from sklearn_ltr.learners._trees.binning import BinMapper
from sklearn_ltr.learners._trees.ensemble import TreeEnsemble, add_binned
from sklearn_ltr.learners._trees.workspace import GrownTree, Limits

FloatArray = NDArray[np.float64]


class Followed(Scored, Protocol):
    """Something that measures scores, and is shown them after each tree."""

    def take(self, scores: FloatArray) -> None:
        """Look at these from now on."""


@dataclass(frozen=True)
class Rows:
    """Rows to learn from, or to look at.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_all, n_features), float32 or float64
    chosen : ndarray of shape (n_rows,), intp
        Which rows of X these are, in order.
    base : ndarray of shape (n_rows,), float64
        F_0 of each.
    """

    X: Table
    chosen: NDArray[np.intp]
    base: FloatArray


@dataclass(frozen=True)
class Watch:
    """What is measured after each tree, if anything.

    Attributes
    ----------
    train : Followed or None
        Is shown the scores of the rows that are learned from.
    validation : Followed or None
        Is shown those of `held_out`, and decides when to stop.
    held_out : Rows or None
    """

    train: Followed | None
    validation: Followed | None
    held_out: Rows | None


class BoostedTrees(TreeParameters):
    """An estimator whose scores are a sum of regression trees."""

    ensemble_: TreeEnsemble
    n_iter_: int
    train_score_: FloatArray
    validation_score_: FloatArray
    _mapper: BinMapper

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: missing values are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _train_curve(self) -> str:
        """Where the values of training are kept."""
        return "train_score_"

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each column in the gain of all splits, (n_features,) float64."""
        check_is_fitted(self)
        gains = self.ensemble_.gain_by_feature(self.n_features_in_)
        total = gains.sum()
        return gains / total if total > 0 else gains

    @property
    def _n_kept_trees(self) -> int:
        """How many trees of the last fit a warm start keeps."""
        kept = self.warm_start and hasattr(self, "ensemble_")
        return len(self.ensemble_) if kept else 0

    def _fit_tasks(self, X: Any, y: Any, **metadata: Any) -> FitTasks:
        n_trees = self.n_estimators - self._n_kept_trees
        return FitTasks(self, "tree", n_trees, X, y, **metadata)

    def _begin(self) -> bool:
        """Return whether to go on from what there is; else draw a new seed."""
        if self.n_estimators < self._n_kept_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the "
                f"{self._n_kept_trees} trees that warm_start keeps"
            )
        grow_on = self._n_kept_trees > 0
        if not grow_on:
            self._draw_seed()
        return grow_on

    def _read_unsearched(self, X: Any) -> Table:
        """Check a table, but for infinite values: :meth:`_add_trees` finds them."""
        return read_table(self, X, reset=False, name="X", refuse=False)

    def _add_trees(self, X: Table, base: FloatArray) -> FloatArray:
        """Return F of the rows of X: what they start from, and all trees.

        Infinite values, which trees see while they read X anyway, raise a ValueError.
        """
        work = X.shape[0] * len(self.ensemble_)
        with ThreadTeam(effective_n_threads(self.n_jobs, work)) as team:
            scores = self.ensemble_.predict(X, team, base)
        if np.isnan(scores).any():
            refuse_values(X, "X", allow_nan=True)
        return scores

    def _boost(
        self,
        learned: Rows,
        derivatives: Derivatives,
        offsets: NDArray[np.int64],
        watch: Watch,
        team: ThreadTeam,
        tasks: FitTasks,
        *,
        grow_on: bool,
    ) -> None:
        """Grow trees until there are enough of them, or they no longer help.

        Rows ``offsets[q]`` to ``offsets[q + 1] - 1`` are drawn together by `subsample`.
        """
        if not grow_on:
            self._mapper = BinMapper.fit(
                learned.X, learned.chosen, self.max_bins, self._seed, team
            )
            self.ensemble_ = TreeEnsemble.empty()
            self.train_score_ = self.validation_score_ = np.empty(0)
        n_old = len(self.ensemble_)
        scores = self._scores_so_far(learned)
        follow = self._follower(watch, scores, team)
        progress = self._progress(watch)
        grown = self._boosting(n_features=len(self._mapper.edges)).trees(
            self._mapper.transform(learned.X, learned.chosen, team),
            derivatives,
            self._sampler(offsets),
            scores,
            n_old,
            self.n_estimators,
            team,
        )
        trees: list[GrownTree] = []
        progress.record(n_old)
        for tree in grown:
            trees.append(tree)
            follow(tree)
            at_an_end = progress.record(n_old + len(trees))
            if tasks.end_step(partial(self._with, trees), last=at_an_end):
                break
        self._keep(trees, progress)

    def _scores_so_far(self, rows: Rows) -> FloatArray:
        base = np.zeros(rows.X.shape[0])
        base[rows.chosen] = rows.base
        return self._add_trees(rows.X, base)[rows.chosen]

    def _with(self, trees: list[GrownTree]) -> dict[str, Any]:
        """Return the fitted attributes of the model with these trees added."""
        ensemble = self.ensemble_
        if trees:
            ensemble += TreeEnsemble.from_grown(trees, self._mapper)
        return {"ensemble_": ensemble, "n_iter_": len(ensemble)}

    def _progress(self, watch: Watch) -> Progress:
        """Begin with the history so far."""
        n_old = len(self.ensemble_)
        before = (
            history(getattr(self, self._train_curve, self.train_score_), n_old),
            history(self.validation_score_, n_old),
        )
        return Progress(
            watch.train,
            watch.validation,
            self.n_iter_no_change,
            self.tol,
            self.verbose,
            train_values=[] if watch.train is None else before[0],
            validation_values=[] if watch.validation is None else before[1],
        )

    def _follower(
        self, watch: Watch, scores: FloatArray, team: ThreadTeam
    ) -> Callable[[GrownTree], None]:
        """Show the scores so far; return what shows those after each tree."""
        train, validation, held_out = watch.train, watch.validation, watch.held_out
        if train is not None:
            train.take(scores)
        if validation is not None and held_out is not None:
            table = self._mapper.transform(held_out.X, held_out.chosen, team)
            rows = np.arange(len(held_out.chosen), dtype=np.int32)
            held_out_scores = self._scores_so_far(held_out)
            validation.take(held_out_scores)

        def follow(tree: GrownTree) -> None:
            if train is not None:
                train.take(scores)
            if validation is not None:
                add_binned(table, rows, tree, held_out_scores)
                validation.take(held_out_scores)

        return follow

    def _keep(self, trees: list[GrownTree], progress: Progress) -> None:
        """Set the fitted attributes: the trees up to the best one."""
        ensemble = self._with(trees)["ensemble_"]
        n_kept = len(ensemble)
        if progress.validation is not None:
            n_kept = max(1, progress.best)
        self.ensemble_ = ensemble.part(0, n_kept)
        self.n_iter_ = n_kept
        setattr(self, self._train_curve, np.array(progress.train_values))
        self.validation_score_ = np.array(progress.validation_values)

    def _boosting(self, n_features: int) -> Boosting:
        """Translate the parameters for the boosting room."""
        drawn = self.max_features
        if not isinstance(drawn, Integral):
            drawn = max(1, int(drawn * n_features))
        if drawn > n_features:
            raise ValueError(
                f"max_features={drawn} is more than the {n_features} columns of X"
            )
        return Boosting(
            limits=Limits(
                self.max_leaf_nodes,
                2**31 if self.max_depth is None else self.max_depth,
                self.min_samples_leaf,
                float(self.l2_regularization),
                float(self.learning_rate),
            ),
            second_order=self.split_gain == "second_order",
            n_split_features=int(drawn),
            split_noise=float(self.split_noise),
            seed=self._seed,
        )

    def _sampler(
        self, offsets: NDArray[np.int64]
    ) -> Callable[[int], NDArray[np.int32]]:
        """Return what turns the number of a tree into the rows it learns from."""
        n_parts = len(offsets) - 1
        n_drawn = max(1, round(self.subsample * n_parts))
        rows = np.arange(offsets[-1], dtype=np.int32)

        def rows_of_tree(number: int) -> NDArray[np.int32]:
            if n_drawn == n_parts:
                return rows
            rng = np.random.default_rng([self._seed, number, 1])
            drawn = np.zeros(n_parts, dtype=np.bool_)
            drawn[rng.permutation(n_parts)[:n_drawn]] = True
            return rows[np.repeat(drawn, np.diff(offsets))]

        return rows_of_tree
