"""The parameters of MART: how rows are read, and what they cost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from sklearn_ltr._core.boosting.bins import fit_threads
from sklearn_ltr._core.boosting.parameters import BoostingParameters
from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import (
    FitArguments,
    RowColumns,
    TrainingData,
    check_holds_rows,
    read_numbers,
)
from sklearn_ltr._core.data.feature_reader import FeatureReader, given_values
from sklearn_ltr._core.data.features import check_has_rows
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.data.rows import check_each, read_weights
from sklearn_ltr._core.data.tables import table_of
from sklearn_ltr._core.data.training_data import check_weights
from sklearn_ltr._core.parameters import LARGEST_SCORE, POSITIVE
from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.mart._objectives import (
    CrossEntropy,
    HalfSquaredError,
    PointwiseObjective,
)

ClassWeight = Mapping[Hashable, float] | Literal["balanced"] | None


@dataclass(frozen=True, kw_only=True)
class MARTParameters(BoostingParameters):
    """The parameters of MART, whose rows belong to no query."""

    @abstractmethod
    def read_targets(
        self, y: NDArray[Any], weights: FloatArray, suffix: str, found: dict[str, Any]
    ) -> tuple[FloatArray, FloatArray]:
        """Return a number and a weight for each row of a weight above 0."""

    @abstractmethod
    def objective(self, data: TrainingData) -> PointwiseObjective:
        """Return the cost of rows."""

    def read_rows(
        self,
        given: FitArguments,
        reader: FeatureReader,
        found: dict[str, Any],
        comm: Comm,
    ) -> tuple[TrainingData, list[TrainingData]]:
        """Return rows, each its own query, sorted by their values."""
        sets: list[TrainingData] = []
        for one in given.sets():
            y, suffix = one.y, one.suffix
            X = reader.read(given_values(one.X), f"X{suffix}")
            check_has_rows(X, f"X{suffix}")
            name, n_rows = f"y{suffix}", X.shape[0]
            if y is None:
                raise ValueError(
                    f"{name} is None: {given.estimator.__name__} requires y to be "
                    "passed, but the target y is None; give one value per row"
                )
            check_holds_rows(y, name)
            try:
                column: NDArray[Any] = column_or_1d(y, warn=True)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
            if len(column) != n_rows:
                raise ValueError(
                    f"{name} has {len(column)} values for {n_rows} rows of X{suffix}, "
                    "inconsistent numbers of samples: give one value per row"
                )
            name, weights = f"sample_weight{suffix}", np.ones(n_rows)
            if one.columns.sample_weight is not None:
                weights = read_weights(one.columns.sample_weight, n_rows, name)
                if not weights.any():
                    raise ValueError(
                        f"{name} is zero for every row: give some a weight above 0"
                    )
            rows = np.flatnonzero(weights)
            targets, weights = self.read_targets(column, weights, suffix, found)
            if not suffix and "_categories" not in found:
                reader.categories = reader.categories.restrict(X, rows)
            data = TrainingData(
                LabelGrades.of_one(targets),
                np.arange(len(rows) + 1),
                query_ids=None,
                columns=RowColumns(sample_weight=weights),
                X=table_of(X),
                rows=rows,
            )
            with ThreadTeam(fit_threads(self.n_jobs, data.X.size)) as team:
                order = data.content_order(data.X.hashes(rows, team), team)
            sets.append(data.reordered(order))
        return sets[0], sets[1:]

    def hold_out(
        self, train: TrainingData, found: Mapping[str, Any], seed: int, comm: Comm
    ) -> tuple[TrainingData, TrainingData]:
        """Divide the rows; of classes, both parts have rows of each."""
        from sklearn.model_selection import train_test_split  # not to load a model

        strata, fraction = np.zeros(train.n_rows), self.validation_fraction
        if "classes_" in found:
            strata = train.y
            for label, y in zip(found["classes_"].tolist(), (-1.0, 1.0), strict=True):
                if np.count_nonzero(train.y == y) < 2:
                    raise ValueError(
                        f"y has only one row of the class {label!r}, but "
                        "early_stopping=True learns from and holds out rows of each "
                        "class: give X_val and y_val, or more rows"
                    )
        values = np.unique(strata)
        n_held_out = max(ceil(fraction * train.n_rows), len(values))
        if train.n_rows - n_held_out < len(values):
            raise ValueError(
                f"validation_fraction={fraction} of {train.n_rows} rows leaves too few "
                "to learn from: give X_val and y_val, or more rows"
            )
        _, held_out = train_test_split(
            np.arange(train.n_rows),
            test_size=n_held_out,
            random_state=seed,
            stratify=strata if len(values) > 1 else None,
        )
        is_held_out = np.zeros(train.n_rows, dtype=np.bool_)
        is_held_out[held_out] = True
        rng = np.random.default_rng([seed, 1])
        for value in values:  # a rare class may be in one part only
            members = np.flatnonzero(strata == value)
            if is_held_out[members].all() or not is_held_out[members].any():
                is_held_out[rng.choice(members)] ^= True
        return train.subset(~is_held_out), train.subset(is_held_out)

    def with_start(
        self,
        given: FitArguments,
        sets: list[TrainingData],
        found: dict[str, Any],
        comm: Comm,
    ) -> list[TrainingData]:
        """Return training data and validation sets with F_0, a constant."""
        if "base_score_" not in found:
            found["base_score_"] = self.objective(sets[0]).initial_score()
        base_score = found["base_score_"]
        return [one.with_init_score(np.full(one.n_rows, base_score)) for one in sets]


@dataclass(frozen=True, kw_only=True)
class RegressorParameters(MARTParameters):
    """The parameters of MARTRegressor, which documents them."""

    def read_targets(
        self, y: NDArray[Any], weights: FloatArray, suffix: str, found: dict[str, Any]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the numbers and weights of rows of a weight above 0."""
        name, targets = f"y{suffix}", read_numbers(y, len(y), f"y{suffix}")
        required = f"{name} must be finite, and at most {LARGEST_SCORE:g} in size"
        check_each(np.abs(targets) <= LARGEST_SCORE, targets, "row {}".format, required)
        largest = np.abs(targets).max()
        if 0 < largest < 1 / LARGEST_SCORE:
            raise ValueError(
                f"{name} holds no number larger than {largest:.3g}, and squares of "
                "such differences are zero: divide all numbers by it"
            )
        check_weights(weights, f"sample_weight{suffix}")
        return targets[weights > 0], weights[weights > 0]

    def objective(self, data: TrainingData) -> HalfSquaredError:
        """Return half the squared error."""
        return HalfSquaredError(data)


@dataclass(frozen=True, kw_only=True)
class ClassifierParameters(MARTParameters):
    """The parameters of MARTClassifier, which documents them."""

    sigma: Annotated[float, POSITIVE]
    class_weight: ClassWeight  # checked where it is used

    def check_continues(self, attributes: Mapping[str, Any]) -> None:
        """Raise a ValueError unless the trees of the last fit can be continued."""
        super().check_continues(attributes)
        if self.sigma != attributes["_sigma"]:
            raise ValueError(
                f"sigma={self.sigma} differs from sigma={attributes['_sigma']}, which "
                "scales the trees that warm_start keeps: fit with warm_start=False"
            )

    def read_targets(
        self, y: NDArray[Any], weights: FloatArray, suffix: str, found: dict[str, Any]
    ) -> tuple[FloatArray, FloatArray]:
        """Return -1 for the first class and 1 for the second, and weights."""
        # labels that can be sorted, and the classes among them
        found["_sigma"], name = self.sigma, f"y{suffix}"
        if y.dtype.kind == "f":
            required, advice = f"{name} must hold classes", ": drop the row"
            check_each(np.isfinite(y), y, "row {}".format, required, advice)
        try:
            check_classification_targets(y)
            np.unique(y)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
        y = y[weights > 0]
        classes = np.unique(y)
        if len(classes) > 2:
            kind = type_of_target(y, input_name=name)
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{kind}: {name} has {len(classes)} classes; scikit-learn's "
                "HistGradientBoostingClassifier learns more than two"
            )
        if "classes_" not in found and len(classes) < 2:
            raise ValueError(
                f"{name} has only one class, {classes.tolist()}: give rows of two "
                "classes"
            )
        of_fit = found.setdefault("classes_", classes)
        if not np.isin(classes, of_fit).all():
            raise ValueError(
                f"{name} has the classes {classes.tolist()}, but y has "
                f"{of_fit.tolist()}: give the same classes"
            )

        # weights of rows, times those of their classes
        class_weight, weight_name = self.class_weight, f"sample_weight{suffix}"
        if isinstance(class_weight, Mapping):
            for label, weight in class_weight.items():
                POSITIVE.read_as(f"class_weight[{label!r}]", weight)
        elif not (class_weight is None or isinstance(class_weight, str)):
            raise ValueError(
                f'class_weight must be a dict, "balanced" or None, got {class_weight!r}'
            )
        try:
            of_class: FloatArray = compute_sample_weight(class_weight, y)
        except (TypeError, ValueError) as error:
            raise ValueError(f"class_weight={class_weight!r}: {error}") from None
        weights = weights[weights > 0] * of_class
        if class_weight is not None:
            weight_name += " times class_weight"
        check_weights(weights, weight_name)
        return np.where(y == of_fit[1], 1.0, -1.0), weights

    def objective(self, data: TrainingData) -> CrossEntropy:
        """Return the cross entropy."""
        return CrossEntropy(data, self.sigma)
