"""Boosted trees for an objective that is a sum over single rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import column_or_1d

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._data import TrainingData, read_numbers
from sklearn_ltr._data import check_holds_rows
from sklearn_ltr._estimators.boosted_trees import BoostedTrees
from sklearn_ltr._estimators.base import FitTasks, with_callbacks
from sklearn_ltr._estimators.row_order import order_by_values
from sklearn_ltr._estimators.base import refit, require
from sklearn_ltr._estimators.tree_binning import BoostedData
from sklearn_ltr._estimators.monitor import read_validation_sets
from sklearn_ltr._data.training_data import check_weights
from sklearn_ltr._parameters import LARGEST_SCORE
from sklearn_ltr.mart._objectives import PointwiseObjective

FloatArray = NDArray[np.float64]


class BaseMART(BoostedTrees):
    """An estimator whose F is a constant F_0 plus a sum of trees."""

    base_score_: float
    _fitted_state = (*BoostedTrees._fitted_state, "base_score_", "train_score_")

    @abstractmethod
    def _check_targets(self, y: NDArray[Any], name: str) -> NDArray[Any]:
        """Return targets, one for each row, that are valid."""

    @abstractmethod
    def _targets(self, y: Any, name: str, *, reset: bool) -> FloatArray:
        """Return a number for each row of the checked y."""

    @abstractmethod
    def _objective(self, data: TrainingData) -> PointwiseObjective:
        """Return the objective to minimise."""

    def _weights(
        self, y: NDArray[Any], sample_weight: FloatArray, name: str
    ) -> FloatArray:
        """Return the weight of each row in the objective."""
        check_weights(sample_weight, name)
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
            Numbers, and text in categorical features; NaN, which means missing, goes
            to the better side of a split.
            float32 and float64 are used as they are, and CSR stays sparse.
        y : array-like of shape (n_samples,)
            Two classes; finite numbers for the regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of a row in the objective, >= 0.  0: as if it were not there.
        X_val, y_val, sample_weight_val : array-likes or tuples, default=None
            The same for validation data, which are measured after each tree.  Tuples
            are several sets; early stopping follows the first.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, arguments of different lengths, an empty
            X, infinite features, columns that are not numbers, targets that are not
            what they should be, weights that are negative or not finite, or scores
            that diverge.  The estimator is left as it was.
        """
        with refit(self) as model:
            model._check_parameters()
            continues = model._begin()
            given = {"sample_weight": sample_weight}
            tasks = FitTasks(self, model, "tree", model._n_new_trees, X, y, **given)
            data = model._read_data(X, y, sample_weight, reset=not continues)
            validation = [
                model._read_data(X_of, y_of, weight_of, suffix, reset=False)
                for suffix, X_of, (y_of, weight_of) in read_validation_sets(
                    X_val, y_val=y_val, sample_weight_val=sample_weight_val
                )
            ]
            model._fit_data(data, validation, tasks, continues=continues)
        tasks.end()
        return self

    def _fit_data(
        self,
        data: TrainingData,
        validation: list[TrainingData],
        tasks: FitTasks,
        *,
        continues: bool,
    ) -> None:
        """Boost, and set the fitted attributes."""
        data, held_out = self._hold_out(data, given=bool(validation))
        if held_out is not None:
            validation = [held_out]
        if not continues:
            self.base_score_ = self._objective(data).initial_score()
        with ThreadTeam(effective_n_threads(self.n_jobs, data.X.size)) as team:
            train = self._bin_training(
                data, self._base_score(data), team, continues=continues
            )
            objective = self._objective(train.data)
            if validation or self.verbose > 0:
                train = train._replace(measures={objective.name: objective})
            self._boost(
                train,
                [self._validation_set(held, team) for held in validation],
                objective,
                team,
                tasks,
                continues=continues,
            )

    def _base_score(self, data: TrainingData) -> FloatArray:
        """Return F_0 of each row."""
        return np.full(data.n_rows, self.base_score_)

    def _validation_set(self, data: TrainingData, team: ThreadTeam) -> BoostedData:
        """Return validation data and what measures them."""
        validation = self._bin_validation(data, self._base_score(data), team)
        objective = self._objective(data)
        return validation._replace(measures={objective.name: objective})

    def _read_data(
        self, X: Any, y: Any, sample_weight: Any, suffix: str = "", *, reset: bool
    ) -> TrainingData:
        """Check the arguments of `fit`, and sort the rows by their values.

        Rows of weight 0 are left out.
        """
        table = self._read_features(X, reset=reset, name=f"X{suffix}")
        name, n_rows = f"y{suffix}", table.shape[0]
        if y is None:
            raise ValueError(
                f"{name} is None: {type(self).__name__} requires y to be passed, "
                "but the target y is None"
            )
        check_holds_rows(y, name)
        try:
            y = column_or_1d(y, warn=True)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        if len(y) != n_rows:
            raise ValueError(
                f"{name} has {len(y)} values for {n_rows} rows of X{suffix}: they have "
                "inconsistent numbers of samples"
            )
        y = self._check_targets(y, name)
        given = read_weights(sample_weight, n_rows, f"sample_weight{suffix}")
        rows = np.flatnonzero(given > 0)
        if reset:
            self._categories = self._categories.restrict(table, rows)
        data = TrainingData(
            table,
            rows,
            self._targets(y[rows], name, reset=reset),
            np.arange(len(rows) + 1),
            self._weights(y[rows], given[rows], f"sample_weight{suffix}"),
            labels=None,
        )
        with ThreadTeam(effective_n_threads(self.n_jobs, table.size)) as team:
            return data.reordered(order_by_values(data, team))

    def _strata(self, data: TrainingData) -> FloatArray:
        """Return the stratum of each row: both parts of a split have rows of each."""
        return np.zeros(data.n_rows)

    def _split(self, data: TrainingData) -> tuple[TrainingData, TrainingData]:
        """Split off `validation_fraction` of the rows: (training, validation)."""
        strata = self._strata(data)
        values = np.unique(strata)
        n_held_out = max(ceil(self.validation_fraction * data.n_rows), len(values))
        if data.n_rows - n_held_out < len(values):
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {data.n_rows} rows "
                "leaves too few to learn from; give X_val and y_val, or more rows"
            )
        _, held_out = train_test_split(
            np.arange(data.n_rows),
            test_size=n_held_out,
            random_state=self._seed,
            stratify=strata if len(values) > 1 else None,
        )
        is_held_out = np.zeros(data.n_rows, dtype=np.bool_)
        is_held_out[held_out] = True
        rng = np.random.default_rng([self._seed, 1])
        for value in values:  # a rare class may be in one part only
            members = np.flatnonzero(strata == value)
            if is_held_out[members].all() or not is_held_out[members].any():
                is_held_out[rng.choice(members)] ^= True
        return data.subset(~is_held_out), data.subset(is_held_out)

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        is_finite = np.abs(self.base_score_) <= LARGEST_SCORE
        require(is_finite, f"base_score_ is {self.base_score_!r}")

    def _scores(self, X: Any) -> FloatArray:
        """Return F of each row."""
        model = self._fitted()
        table = model._read_unchecked(X)
        return model._add_trees(table, np.full(table.shape[0], model.base_score_))

    def _staged_scores(self, X: Any) -> Iterator[FloatArray]:
        """Yield F of each row after each tree."""
        model = self._fitted()
        table = model._read_features(X)
        base_score = np.full(table.shape[0], model.base_score_)
        yield from model._stages(table, base_score)


def read_weights(sample_weight: Any, n_rows: int, name: str) -> FloatArray:
    """Return the weight of each row, (n_rows,) float64; 1 for None."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = read_numbers(sample_weight, n_rows, name)
    valid = (weights >= 0) & (weights < np.inf)
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            f"{name} must be finite and >= 0, but row {row} has {weights[row]}"
        )
    if not weights.any():
        raise ValueError(f"{name} is zero for every row: nothing would count")
    return weights
