"""How a ranker of boosted trees is fitted: lambdas in, trees out, scores watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._compile import Team, effective_threads
from sklearn_ltr.lambdas import LambdaGradient
from sklearn_ltr.learners.boosting import Boosting
from sklearn_ltr.learners.tables import Table
from sklearn_ltr.learners.trees.binning import BinMapper
from sklearn_ltr.learners.trees.predicting import TreeEnsemble, add_binned
from sklearn_ltr.learners.trees.state import GrownTree, Limits
from sklearn_ltr.rankers._base import BaseRanker
from sklearn_ltr.rankers._callbacks import FitTasks
from sklearn_ltr.rankers._data import GradedLists, nothing_moves
from sklearn_ltr.rankers._stopping import Progress, ScoredLists, history


class BoostedRanker(BaseRanker):
    """A ranker whose scores are a sum of regression trees."""

    sigma: float
    n_estimators: int
    learning_rate: float
    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: int
    l2_regularization: float
    max_bins: int
    max_features: float
    subsample: float
    split_gain: str
    split_noise: float
    truncation_level: int | None
    distance_normalization: bool
    query_normalization: bool
    n_iter_no_change: int
    tol: float
    verbose: int
    n_jobs: int | None

    ensemble_: TreeEnsemble
    n_iter_: int
    train_score_: NDArray[np.float64]
    validation_score_: NDArray[np.float64]
    _mapper: BinMapper

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: missing values are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Score documents after each tree.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)

        Yields
        ------
        scores : ndarray of shape (n_documents,), float64
            Of the first 1, 2, ..., `n_iter_` trees.
        """
        check_is_fitted(self)
        table = self._read_table(X)
        yield from self.ensemble_.staged_predict(table)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column in the gain of all splits, (n_features,) float64."""
        check_is_fitted(self)
        gains = self.ensemble_.gain_by_feature(self.n_features_in_)
        total = gains.sum()
        return gains / total if total > 0 else gains

    def _boost(
        self,
        lists: GradedLists,
        held_out: GradedLists | None,
        team: Team,
        tasks: FitTasks,
        *,
        grow_on: bool,
    ) -> None:
        """Grow trees until there are enough of them, or they no longer help."""
        learned = lists.take(lists.has_pairs)
        if not grow_on:
            self._mapper = BinMapper.fit(
                learned.X, learned.rows, self.max_bins, self._seed, team
            )
            self.ensemble_ = TreeEnsemble.empty()
            self.train_score_ = self.validation_score_ = np.empty(0)
        n_old = len(self.ensemble_)
        scores = self._scores(learned.X)[learned.rows]
        train, validation = self._scored(lists, held_out)
        progress = self._progress(train, validation)
        follow = self._follower(train, validation, lists, held_out, scores, team)
        lambdas = self._lambdas(learned, team)
        boosting = self._boosting(n_features=len(self._mapper.edges))
        grown = boosting.trees(
            self._mapper.transform(learned.X, learned.rows, team),
            self._mapper.n_bins,
            lambdas,
            self._query_sampler(learned.offsets),
            scores,
            n_old,
            self.n_estimators,
            team,
        )
        trees: list[GrownTree] = []
        progress.record(n_old)
        for tree in grown:
            if n_old + len(trees) == 0 and not lambdas.gradient.any():
                raise ValueError(nothing_moves(self.metric))
            trees.append(tree)
            follow(tree)
            at_an_end = progress.record(n_old + len(trees))
            if tasks.end_step(partial(self._with, trees), last=at_an_end):
                break
        self._keep(trees, progress)

    def _with(self, trees: list[GrownTree]) -> dict[str, Any]:
        """Return the fitted attributes of the model with these trees added."""
        more = TreeEnsemble.from_grown(trees, self._mapper, self.learning_rate)
        ensemble = self.ensemble_ + more
        return {"ensemble_": ensemble, "n_iter_": len(ensemble)}

    def _scored(
        self, lists: GradedLists, held_out: GradedLists | None
    ) -> tuple[ScoredLists | None, ScoredLists | None]:
        """Prepare what is scored after each tree."""
        metric = self._stopping_metric()
        watched = held_out is not None or self.verbose > 0
        return (
            ScoredLists(lists, metric) if watched else None,
            None if held_out is None else ScoredLists(held_out, metric),
        )

    def _progress(
        self, train: ScoredLists | None, validation: ScoredLists | None
    ) -> Progress:
        """Begin with the history so far."""
        n_old = len(self.ensemble_)
        before = (
            history(self.train_score_, n_old),
            history(self.validation_score_, n_old),
        )
        return Progress(
            train,
            validation,
            self.n_iter_no_change,
            self.tol,
            self.verbose,
            train_values=[] if train is None else before[0],
            validation_values=[] if validation is None else before[1],
        )

    def _follower(
        self,
        train: ScoredLists | None,
        validation: ScoredLists | None,
        lists: GradedLists,
        held_out: GradedLists | None,
        scores: NDArray[np.float64],
        team: Team,
    ) -> Callable[[GrownTree], None]:
        """Return what brings the watched scores up to date after each tree."""
        known = np.repeat(lists.has_pairs, np.diff(lists.offsets))
        if train is not None:
            train.scores[known] = scores
        if held_out is not None and validation is not None:
            codes = self._mapper.transform(held_out.X, held_out.rows, team)
            rows = np.arange(len(held_out.rows), dtype=np.int32)
            validation.scores += self._scores(held_out.X)[held_out.rows]

        def follow(tree: GrownTree) -> None:
            if train is not None:
                train.scores[known] = scores
            if validation is not None:
                values = np.zeros(len(rows))
                add_binned(codes, rows, tree, values)
                validation.scores += self.learning_rate * values

        return follow

    def _keep(self, trees: list[GrownTree], progress: Progress) -> None:
        """Set the fitted attributes: the trees up to the best one."""
        ensemble = self.ensemble_
        if trees:
            ensemble += TreeEnsemble.from_grown(trees, self._mapper, self.learning_rate)
        n_kept = len(ensemble)
        if progress.validation is not None:
            n_kept = max(1, progress.best)
        self.ensemble_ = ensemble.part(0, n_kept)
        self.n_iter_ = n_kept
        self.train_score_ = np.array(progress.train_values)
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
            learning_rate=self.learning_rate,
            limits=Limits(
                self.max_leaf_nodes,
                2**31 if self.max_depth is None else self.max_depth,
                self.min_samples_leaf,
                float(self.l2_regularization),
            ),
            second_order=self.split_gain == "second_order",
            n_split_features=int(drawn),
            split_noise=float(self.split_noise),
            seed=self._seed,
        )

    def _lambdas(self, lists: GradedLists, team: Team) -> LambdaGradient:
        """Prepare the gradient, with the metric at a deeper cutoff than a small one."""
        return LambdaGradient(
            lists.grades,
            lists.offsets,
            self._learned_metric(self.truncation_level),
            float(self.sigma),
            labels=lists.labels,
            query_weight=lists.weights,
            distance_normalization=self.distance_normalization,
            query_normalization=self.query_normalization,
            team=team,
        )

    def _query_sampler(
        self, offsets: NDArray[np.int64]
    ) -> Callable[[int], NDArray[np.int32]]:
        """Return what turns the number of a tree into the documents it learns from."""
        n_queries = len(offsets) - 1
        n_drawn = max(1, round(self.subsample * n_queries))
        documents = np.arange(offsets[-1], dtype=np.int32)

        def rows_of_tree(number: int) -> NDArray[np.int32]:
            if n_drawn == n_queries:
                return documents
            rng = np.random.default_rng([self._seed, number, 1])
            drawn = np.zeros(n_queries, dtype=np.bool_)
            drawn[rng.permutation(n_queries)[:n_drawn]] = True
            return documents[np.repeat(drawn, np.diff(offsets))]

        return rows_of_tree

    def _scores(self, X: Table) -> NDArray[np.float64]:
        work = X.shape[0] * len(self.ensemble_)
        with Team(effective_threads(self.n_jobs, work)) as team:
            return self.ensemble_.predict(X, team)
