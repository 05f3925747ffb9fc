"""Boosted trees for an objective that is a sum over single rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._estimators.boosted_trees import BoostedData, BoostedTrees
from sklearn_ltr._estimators.callbacks import with_callbacks
from sklearn_ltr._estimators.row_order import order_by_values
from sklearn_ltr._estimators.state import unchanged_on_failure
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.mart._objectives import PointwiseObjective

FloatArray = NDArray[np.float64]


class BaseMART(BoostedTrees):
    """An estimator whose F is a constant F_0 plus a sum of trees."""

    base_score_: float
    _stratified: ClassVar[bool] = False

    @abstractmethod
    def _targets(self, y: Any, name: str, *, reset: bool) -> FloatArray:
        """Check y, and return a number for each row."""

    @abstractmethod
    def _objective(self, data: TrainingData) -> PointwiseObjective:
        """Return the objective to minimise."""

    def _weights(self, y: Any, sample_weight: FloatArray) -> FloatArray:
        """Return the weight of each row in the objective."""
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
            Weight of a row in the objective, >= 0.
        X_val, y_val, sample_weight_val : array-likes, default=None
            The same for the rows that early stopping evaluates.

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
            continues = self._begin()
            data = self._read_data(X, y, sample_weight, reset=not continues)
            validation = self._read_validation_data(X_val, y_val, sample_weight_val)
            data, validation = self._hold_out(data, validation)
            measured = validation is not None or self.verbose > 0
            with ThreadTeam(effective_n_threads(self.n_jobs, data.X.size)) as team:
                if not continues:
                    self.base_score_ = self._objective(data).initial_score()
                train = self._bin_training(
                    data, self._base_score(data), team, continues=continues
                )
                objective = self._objective(train.data)
                if measured:
                    train = train._replace(evaluation=objective)
                self._boost(
                    train,
                    self._validation_set(validation, team),
                    objective,
                    team,
                    tasks,
                    continues=continues,
                )
        tasks.end()
        return self

    def _base_score(self, data: TrainingData) -> FloatArray:
        """Return F_0 of each row."""
        return np.full(data.n_rows, self.base_score_)

    def _validation_set(
        self, data: TrainingData | None, team: ThreadTeam
    ) -> BoostedData | None:
        """Return what early stopping follows."""
        if data is None:
            return None
        validation = self._bin_validation(data, self._base_score(data), team)
        return validation._replace(evaluation=self._objective(data))

    def _read_data(
        self, X: Any, y: Any, sample_weight: Any, suffix: str = "", *, reset: bool
    ) -> TrainingData:
        """Check the arguments of `fit`, and sort the rows by their values.

        Rows of weight 0 are left out.
        """
        table = self._read_features(X, reset=reset, name=f"X{suffix}")
        if y is None:
            raise ValueError(
                f"y{suffix} is None: {type(self).__name__} requires y to be passed, "
                "but the target y is None"
            )
        y = column_or_1d(y, warn=True)
        check_consistent_length(table, y)
        given = read_weights(sample_weight, table.shape[0], f"sample_weight{suffix}")
        rows = np.flatnonzero(given > 0)
        data = TrainingData(
            table,
            rows,
            self._targets(y[rows], f"y{suffix}", reset=reset),
            np.arange(len(rows) + 1),
            self._weights(y[rows], given[rows]),
            labels=None,
        )
        with ThreadTeam(effective_n_threads(self.n_jobs, table.size)) as team:
            return data.reordered(order_by_values(data, team))

    def _read_validation_data(
        self, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> TrainingData | None:
        """Read the data that `fit` was given for early stopping, if any."""
        if X_val is not None:
            return self._read_data(X_val, y_val, sample_weight_val, "_val", reset=False)
        if not (y_val is sample_weight_val is None):
            raise ValueError(
                "X_val is None, but y_val or sample_weight_val is not: give X_val with "
                "them"
            )
        return None

    def _split(self, data: TrainingData) -> tuple[TrainingData, TrainingData]:
        """Split off `validation_fraction` of the rows: (training, validation)."""
        _, held_out = train_test_split(
            np.arange(data.n_rows),
            test_size=self.validation_fraction,
            random_state=self._seed,
            stratify=data.y if self._stratified else None,
        )
        is_held_out = np.zeros(data.n_rows, dtype=np.bool_)
        is_held_out[held_out] = True
        return data.subset(~is_held_out), data.subset(is_held_out)

    def _scores(self, X: Any) -> FloatArray:
        """Return F of each row."""
        check_is_fitted(self)
        table = self._read_unchecked(X)
        return self._add_trees(table, np.full(table.shape[0], self.base_score_))

    def _staged_scores(self, X: Any) -> Iterator[FloatArray]:
        """Yield F of each row after each tree."""
        check_is_fitted(self)
        table = self._read_features(X)
        base_score = np.full(table.shape[0], self.base_score_)
        yield from self.ensemble_.staged_predict(table, base_score)


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
