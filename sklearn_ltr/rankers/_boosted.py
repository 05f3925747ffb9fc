"""A ranker of boosted trees: F_0 of its documents, and the lambdas of their scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._estimators.boosted_trees import BoostedTrees, Rows, Watch
from sklearn_ltr._estimators.callbacks import FitTasks
from sklearn_ltr.lambdas import LambdaGradient
from sklearn_ltr.learners._boosting import Derivatives
from sklearn_ltr.rankers._base import BaseRanker
from sklearn_ltr.rankers._data import GradedLists, nothing_moves
from sklearn_ltr.rankers._evaluation import LearnedLists, PairCost, ScoredLists
from sklearn_ltr.rankers._initial import check_base_scores, fitted_base_model

FloatArray = NDArray[np.float64]


class BoostedRanker(BoostedTrees, BaseRanker):
    """A ranker whose scores are those of a base model plus a sum of trees."""

    sigma: float
    truncation_level: int | None
    distance_normalization: bool
    query_normalization: bool
    init: Any

    init_: Any
    loss_curve_: FloatArray
    _on_init_score: bool

    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "init_score": True,
        "init_score_val": True,
    }
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"init_score": True}

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
            Higher is ranked first: F_0 and the sum of the trees.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X has other columns than at `fit`, or an infinite value, or if
            `init_score` was given to one of `fit` and `predict` only.
        """
        check_is_fitted(self)
        # a base model is not to see infinite values first
        read = self._read_unsearched if self.init_ is None else self._read_table
        table = read(X)
        return self._add_trees(table, self._base(X, table.shape[0], init_score))

    def staged_predict(self, X: Any, *, init_score: Any = None) -> Iterator[FloatArray]:
        """Score documents after each tree.

        Parameters
        ----------
        X, init_score : array-likes
            As for `predict`.

        Yields
        ------
        scores : ndarray of shape (n_documents,), float64
            Of the first 1, 2, ..., `n_iter_` trees, and F_0.
        """
        check_is_fitted(self)
        table = self._read_table(X)
        base = self._base(X, table.shape[0], init_score)
        yield from self.ensemble_.staged_predict(table, base)

    def _prepare_base(self, X: Any, y: Any, init_score: Any, **metadata: Any) -> None:
        """Forget an earlier fit, and make sure of F_0."""
        if self.init is not None and init_score is not None:
            raise ValueError("give init, a model, or init_score, its scores, not both")
        self._on_init_score = init_score is not None
        self.__dict__.pop("loss_curve_", None)
        self.init_ = None
        if self.init is not None:
            self.init_ = fitted_base_model(self.init, X, y, **metadata)

    def _base(
        self, X: Any, n_rows: int, init_score: Any, suffix: str = ""
    ) -> FloatArray:
        """Return F_0 of the rows of X."""
        name = f"init_score{suffix}"
        if self._on_init_score != (init_score is not None):
            had, has = ("", "no ") if self._on_init_score else ("no ", "an ")
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

    def _boost_lists(
        self,
        lists: GradedLists,
        held_out: GradedLists | None,
        base: FloatArray,
        base_val: FloatArray,
        team: ThreadTeam,
        tasks: FitTasks,
        grow_on: bool,
    ) -> None:
        """Learn from the lists that have pairs, and look at those held out."""
        learned = lists.take(lists.has_pairs)
        self._boost(
            Rows(learned.X, learned.rows, base[learned.rows]),
            self._derivatives(learned, team),
            learned.offsets,
            self._watch(lists, learned, held_out, base_val),
            team,
            tasks,
            grow_on=grow_on,
        )

    def _derivatives(self, learned: GradedLists, team: ThreadTeam) -> Derivatives:
        """Prepare the lambdas and hessians of scores."""
        lambdas = LambdaGradient(
            learned.grades,
            learned.offsets,
            self._learned_metric(self.truncation_level),
            float(self.sigma),
            labels=learned.labels,
            query_weight=learned.weights,
            distance_normalization=self.distance_normalization,
            query_normalization=self.query_normalization,
            team=team,
        )
        never_moved = True

        def derivatives(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
            nonlocal never_moved
            gradient, hessian = lambdas(scores)
            if never_moved and not gradient.any():
                raise ValueError(nothing_moves(self.metric))
            never_moved = False
            return gradient, hessian

        return derivatives

    def _watch(
        self,
        lists: GradedLists,
        learned: GradedLists,
        held_out: GradedLists | None,
        base_val: FloatArray,
    ) -> Watch:
        """Prepare what is measured after each tree."""
        metric = self._stopping_metric()
        train: PairCost | LearnedLists | None = None
        if self.metric is None:
            train = PairCost(learned, float(self.sigma), tied_pairs=False)
        elif held_out is not None or self.verbose > 0:
            train = LearnedLists(lists, metric)
        if held_out is None:
            return Watch(train, None, None)
        rows = Rows(held_out.X, held_out.rows, base_val[held_out.rows])
        return Watch(train, ScoredLists(held_out, metric), rows)
