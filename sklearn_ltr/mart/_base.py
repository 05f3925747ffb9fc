"""Trees that follow the gradient of a cost which every row has of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._estimators.boosted_trees import BoostedTrees, Rows, Watch
from sklearn_ltr._estimators.callbacks import with_callbacks
from sklearn_ltr._estimators.state import unchanged_on_failure
from sklearn_ltr.learners._tables import Table
from sklearn_ltr.mart._objectives import Cost

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Examples:
    """Rows of some weight, and their targets.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_all, n_features), float32 or float64
    chosen : ndarray of shape (n_rows,), intp
        Which rows of X they are.
    y, weights : ndarrays of shape (n_rows,), float64
    stratified : bool
        Whether a part that is held out has its share of each y.
    """

    X: Table
    chosen: NDArray[np.intp]
    y: FloatArray
    weights: FloatArray
    stratified: bool

    def split(self, fraction: float, seed: int) -> tuple[Examples, Examples]:
        """Hold out a share of the rows: (the others, held out)."""
        others, out = train_test_split(
            np.arange(len(self.y)),
            test_size=fraction,
            random_state=seed,
            stratify=self.y if self.stratified else None,
        )
        return self._take(np.sort(others)), self._take(np.sort(out))

    def _take(self, some: NDArray[np.intp]) -> Examples:
        """Return some of them."""
        return replace(
            self, chosen=self.chosen[some], y=self.y[some], weights=self.weights[some]
        )

    def starting_from(self, base_score: float) -> Rows:
        """Return the rows, all with the same F_0."""
        return Rows(self.X, self.chosen, np.full(len(self.chosen), base_score))


class BoostedMART(BoostedTrees):
    """An estimator whose F is a constant plus a sum of trees."""

    base_score_: float
    _stratified: ClassVar[bool] = False

    @abstractmethod
    def _targets(self, y: Any, name: str, *, reset: bool) -> FloatArray:
        """Check y, and return a number for each row."""

    @abstractmethod
    def _cost(self, examples: Examples) -> Cost:
        """Return what is to be minimised."""

    def _weights(self, y: Any, sample_weight: FloatArray) -> FloatArray:
        """Return the weight of each row in the cost."""
        return sample_weight

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Learn the targets of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Numbers; NaN means missing and goes to the better side of a split.
            float32 and float64 are used as they are, and CSR stays sparse.
        y : array-like of shape (n_samples,)
            Two classes; finite numbers for the regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of a row in the cost, from 0 on.
        X_val, y_val, sample_weight_val : array-likes, default=None
            The same for the rows that early stopping looks at.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, arguments of different lengths, an empty
            X, infinite features, columns that are not numbers, targets that are not
            what they should be, or weights that are negative or not finite.  The
            estimator is left as it was.
        """
        self._check_parameters()
        tasks = self._fit_tasks(X, y, sample_weight=sample_weight)
        with unchanged_on_failure(self):
            grow_on = self._begin()
            examples = self._read(X, y, sample_weight, reset=not grow_on)
            held_out = self._read_held_out(X_val, y_val, sample_weight_val)
            examples, held_out = self._hold_out(examples, held_out)
            cost = self._cost(examples)
            if not grow_on:
                self.base_score_ = cost.best_constant()
            with ThreadTeam(effective_n_threads(self.n_jobs, examples.X.size)) as team:
                self._boost(
                    examples.starting_from(self.base_score_),
                    cost,
                    np.arange(len(examples.y) + 1),
                    self._watch(cost, held_out),
                    team,
                    tasks,
                    grow_on=grow_on,
                )
        tasks.end()
        return self

    def _read(
        self, X: Any, y: Any, sample_weight: Any, suffix: str = "", *, reset: bool
    ) -> Examples:
        """Check what was given; rows of no weight are left out."""
        table = self._read_table(X, reset=reset, name=f"X{suffix}")
        if y is None:
            raise ValueError(
                f"y{suffix} is None: {type(self).__name__} requires y to be passed, "
                "but the target y is None"
            )
        y = column_or_1d(y, warn=True)
        check_consistent_length(table, y)
        given = read_weights(sample_weight, table.shape[0], f"sample_weight{suffix}")
        chosen = np.flatnonzero(given > 0)
        targets = self._targets(y[chosen], f"y{suffix}", reset=reset)
        weights = self._weights(y[chosen], given[chosen])
        return Examples(table, chosen, targets, weights, self._stratified)

    def _read_held_out(
        self, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> Examples | None:
        """Read what `fit` was given to look at for early stopping, if anything."""
        if X_val is not None:
            return self._read(X_val, y_val, sample_weight_val, "_val", reset=False)
        if not (y_val is sample_weight_val is None):
            raise ValueError(
                "X_val is None, but y_val or sample_weight_val is not: give X_val with "
                "them"
            )
        return None

    def _watch(self, cost: Cost, held_out: Examples | None) -> Watch:
        watched = held_out is not None or self.verbose > 0
        train = cost if watched else None
        if held_out is None:
            return Watch(train, None, None)
        rows = held_out.starting_from(self.base_score_)
        return Watch(train, self._cost(held_out), rows)

    def _scores(self, X: Any) -> FloatArray:
        """Return F of each row."""
        check_is_fitted(self)
        table = self._read_unsearched(X)
        return self._add_trees(table, np.full(table.shape[0], self.base_score_))

    def _staged_scores(self, X: Any) -> Iterator[FloatArray]:
        """Return F of each row after each tree."""
        check_is_fitted(self)
        table = self._read_table(X)
        base = np.full(table.shape[0], self.base_score_)
        yield from self.ensemble_.staged_predict(table, base)


def read_weights(sample_weight: Any, n_rows: int, name: str) -> FloatArray:
    """Return the weight of each row, (n_rows,) float64; 1 for None."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights: FloatArray = check_array(
        sample_weight,
        ensure_2d=False,
        dtype=np.float64,
        ensure_non_negative=True,
        input_name=name,
    )
    if weights.shape != (n_rows,):
        raise ValueError(
            f"{name} must hold one number for each of the {n_rows} rows, got shape "
            f"{weights.shape}"
        )
    if not weights.any():
        raise ValueError(f"{name} is zero for every row: nothing would count")
    return weights
