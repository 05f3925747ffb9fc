r"""Several labels: a cost that is made of the costs of the labels.

Each label l has its own lambdas and hessians, as a fit to this label alone would have
them: of the documents that it has judged, under its metric, with its own regression on
its grades.  They are added up, with factors that make weights shares:

    dC/ds_i      =  sum_l a_l dC_l/ds_i
    d2C/ds_i^2   =  sum_l a_l d2C_l/ds_i^2
    a_l  =  w_l (sum_m w_m F_m) / F_l
    F_l  =  sum_i |dC_l/ds_i|  over the pairs of label l, at the scores F_0

Weights w sum to 1.  So at the scores that training starts from, label l pushes with the
share w_l of all force, however many documents it has judged and whatever its grades and
its metric are.  F_l is a sum that is rounded once (`sum_exactly`), so that it does not
depend on the order of its terms, nor on the worker that has them, and a warm start
keeps it.  Labels that are equal make the model of one: all a_l are w_l then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from math import fsum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._comm import ONE_PROCESS, Comm
from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._data import TrainingData
from sklearn_ltr._data.labels import LabelGrades, label_number
from sklearn_ltr._data.query_index import QueryIndex
from sklearn_ltr._estimators.monitor import ScoredMeasure
from sklearn_ltr._lambdas.objective import LambdaObjective, move_queries
from sklearn_ltr._rankers.base import (
    RankerParameters,
    check_metrics_of_labels,
    metric_of_label,
    reported_metric,
    weighted_mean,
)
from sklearn_ltr._rankers.evaluation import MetricEvaluation, PairCostEvaluation
from sklearn_ltr._typing import FloatArray, IntArray
from sklearn_ltr.metrics import Metric, get_metric

FORCES = "label_forces_"  # the attribute that a warm start keeps


def check_several_labels(
    parameters: RankerParameters,
    label_weights: ArrayLike | None,
    train: TrainingData,
    validation: Iterable[TrainingData],
) -> None:
    """Raise a ValueError unless parameters and validation data are for these labels."""
    p, grades = parameters, train.label_grades
    names = None if grades is None else grades.names
    for held in validation:
        own = None if held.label_grades is None else held.label_grades.names
        if own != names:
            raise ValueError(
                f"y has the labels {shown_names(names)}, but y_val {shown_names(own)}: "
                "give the same columns"
            )
    if names is None:
        for name, value in {"metric": p.metric, "scoring": p.scoring}.items():
            is_of_labels = isinstance(value, Mapping) or name == "metric"
            if is_of_labels and isinstance(value, list | tuple | Mapping):
                raise ValueError(
                    f"{name}={value!r} is for several labels, but y has one column: "
                    "give all of them, or one metric"
                )
        if label_weights is not None:
            raise ValueError(
                f"label_weights={label_weights!r} is for several labels, but y has "
                "one column: give all of them, or label_weights=None"
            )
        return
    check_metrics_of_labels(p.metric, len(names))
    if callable(p.objective):
        raise ValueError(
            "objective is a function of the grades of one label, but y has "
            f"{len(names)} columns: give one of them, or objective='lambdarank'"
        )
    if p.position_bias is not None:
        raise ValueError(
            f"position_bias={p.position_bias.method!r} learns from the clicks of one "
            f"label, but y has {len(names)} columns: give the clicks alone, or "
            "position_bias=None, with propensities if you know them"
        )
    if isinstance(p.scoring, Mapping):
        for label in p.scoring:
            label_number(label, names, "scoring: label")


def shown_names(names: tuple[str, ...] | None) -> str:
    """Return the names of labels for messages."""
    return "of one column" if names is None else str(list(names))


# --- the objective ------------------------------------------------------------------


class ObjectiveOfLabel(Protocol):
    """The objective of one label."""

    def __call__(
        self, scores: FloatArray, learning_rate: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the label's documents."""

    def force(self, scores: FloatArray) -> float:
        """Return the sum of |dC/ds| over the pairs alone; a ValueError if it is 0."""


class LabelsObjective:
    """The objective of trees for several labels: the weighted sum of theirs."""

    def __init__(
        self,
        data: TrainingData,
        earlier: Mapping[str, object],
        is_new: bool,
        objective_of: Callable[[int, TrainingData], ObjectiveOfLabel],
        comm: Comm,
    ) -> None:
        # `earlier` are the attributes of a fit that is continued, unless it is new
        grades = data.label_grades
        assert grades is not None
        self._gradient, self._hessian = np.empty((2, data.n_rows))
        forces = np.zeros(grades.n_labels)
        if not is_new:
            forces = kept_forces(earlier, grades)
        self._parts: list[tuple[int, NDArray[np.intp], ObjectiveOfLabel]] = []
        for number in np.flatnonzero(grades.weights).tolist():
            own, rows = learned_of_label(data, number, comm)
            objective = objective_of(number, own)
            if is_new:
                try:
                    forces[number] = objective.force(data.init_score[rows])
                except ValueError as error:
                    name = grades.names[number]
                    raise ValueError(f"label {name!r}: {error}") from None
            self._parts.append((number, rows, objective))
        self._forces, weights = forces, grades.weights
        mean = weighted_mean(forces.tolist(), weights)
        self._factors = {
            number: weights[number] * (mean / forces[number])
            for number, _, _ in self._parts
        }

    def __call__(
        self, scores: FloatArray, learning_rate: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of all rows for their scores, (n_rows,) each."""
        self._gradient[:], self._hessian[:] = 0.0, 0.0
        for number, rows, objective in self._parts:
            gradient, hessian = objective(scores[rows], learning_rate)
            self._gradient[rows] += self._factors[number] * gradient
            self._hessian[rows] += self._factors[number] * hessian
        return self._gradient, self._hessian

    def fitted(self, n_trees: int) -> dict[str, object]:
        """Return the forces of the labels."""
        return {FORCES: self._forces}


class BatchesOfLabel(NamedTuple):
    """The lambdas of one label, and where they belong."""

    factor: float
    queries: IntArray  # places of its queries among all, ascending
    rows: NDArray[np.intp]  # places of its documents among all
    objective: LambdaObjective


class LabelsBatches:
    """The lambdas of networks for several labels, in batches of whole queries.

    As `LambdaObjective` it has `offsets` and `documents`, and can be reordered.  F_l is
    that of scores which are all 0.
    """

    def __init__(
        self,
        data: TrainingData,
        earlier: Mapping[str, object],
        is_new: bool,
        objective_of: Callable[[int, TrainingData], LambdaObjective],
    ) -> None:
        grades = data.label_grades
        assert grades is not None
        self.offsets, self.documents = data.offsets, np.arange(data.n_rows)
        query = np.repeat(np.arange(data.n_queries), data.sizes)
        forces = np.zeros(grades.n_labels)
        if not is_new:
            forces = kept_forces(earlier, grades)
        found = []
        for number in np.flatnonzero(grades.weights).tolist():
            own, rows = learned_of_label(data, number)
            try:
                objective = objective_of(number, own)
            except ValueError as error:
                raise ValueError(f"label {grades.names[number]!r}: {error}") from None
            if is_new:
                gradient, _ = objective(np.zeros(own.n_rows))
                forces[number] = fsum(np.abs(gradient).tolist())
            found.append((number, query[rows[own.offsets[:-1]]], rows, objective))
        self._forces = forces
        mean = weighted_mean(forces.tolist(), grades.weights)
        self._parts: list[BatchesOfLabel] = []
        for number, queries, rows, objective in found:
            factor = float(grades.weights[number] * (mean / forces[number]))
            self._parts.append(BatchesOfLabel(factor, queries, rows, objective))
        self._gradient, self._hessian = np.zeros((2, data.n_rows))

    def reordered(self, queries: IntArray) -> LabelsBatches:
        """Return the lambdas of these queries, all of them, in their order."""
        other = copy(self)
        other.offsets, documents = move_queries(self.offsets, queries)
        other.documents = self.documents[documents]
        place = np.argsort(queries)
        place_of_row = np.argsort(documents)
        other._parts = []
        for factor, own_queries, rows, objective in self._parts:
            order = np.argsort(place[own_queries])
            moved = objective.reordered(order)
            own_rows = place_of_row[rows[moved.documents]]
            own_places = place[own_queries][order]
            other._parts.append(BatchesOfLabel(factor, own_places, own_rows, moved))
        other._gradient, other._hessian = np.zeros((2, len(documents)))
        return other

    def differentiate(
        self, scores: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1."""
        documents = slice(self.offsets[first], self.offsets[last])
        self._gradient[documents], self._hessian[documents] = 0.0, 0.0
        for factor, queries, rows, objective in self._parts:
            start, stop = np.searchsorted(queries, np.array([first, last])).tolist()
            if start == stop:
                continue
            documents_of_label = slice(
                objective.offsets[start], objective.offsets[stop]
            )
            own, own_scores = rows[documents_of_label], np.empty(len(rows))
            own_scores[documents_of_label] = scores[own]
            gradient, hessian = objective.differentiate(own_scores, start, stop)
            self._gradient[own] += factor * gradient
            self._hessian[own] += factor * hessian
        return self._gradient[documents], self._hessian[documents]

    def fitted(self) -> dict[str, object]:
        """Return the forces of the labels."""
        return {FORCES: self._forces}


def learned_of_label(
    data: TrainingData, number: int, comm: Comm = ONE_PROCESS
) -> tuple[TrainingData, NDArray[np.intp]]:
    """Return the queries that a label has pairs in, and which rows of `data` these are.

    A ValueError if no worker has any.
    """
    own, rows = data.of_label(number)
    learned = own.has_pairs
    weights = own.columns.document_weight
    if weights is not None:  # means by weights need one above 0
        learned &= np.logical_or.reduceat(weights > 0, own.offsets[:-1])
    if not any(comm.gather(bool(learned.any()))):
        assert data.label_grades is not None
        name = data.label_grades.names[number]
        raise ValueError(
            f"y has no query with two different grades of label {name!r} among those "
            "of a sample_weight above zero: there is no order to learn from it; give "
            "it the weight 0 in label_weights, or leave it out"
        )
    return own.subset(learned), rows[np.repeat(learned, own.sizes)]


def kept_forces(earlier: Mapping[str, object], grades: LabelGrades) -> FloatArray:
    """Return the forces of the labels at the start of the fit that is continued."""
    forces = earlier.get(FORCES)
    if not isinstance(forces, np.ndarray) or len(forces) != grades.n_labels:
        n_labels = len(forces) if isinstance(forces, np.ndarray) else 1
        raise ValueError(
            f"y has {grades.n_labels} labels, but it had {n_labels} when the trees "
            "that warm_start keeps were grown: fit with warm_start=False"
        )
    unknown = np.flatnonzero((forces == 0) & (grades.weights > 0)).tolist()
    if unknown:
        raise ValueError(
            f"label {grades.names[unknown[0]]!r} had the weight 0 when the trees that "
            "warm_start keeps were grown: fit with warm_start=False"
        )
    return forces


def sum_exactly(values: FloatArray, comm: Comm) -> float:
    """Return the sum of the finite values of all workers, rounded once."""
    # the sum of one worker is that of a few numbers, each the rest of those before it
    parts: list[float] = []
    while rest := fsum([*values.tolist(), *(-part for part in parts)]):
        parts.append(rest)
    return fsum(part for of_worker in comm.gather(parts) for part in of_worker)


# --- the measures -------------------------------------------------------------------


class LabelMeasure:
    """A measure of one label, of the rows that this has judged."""

    def __init__(self, measure: ScoredMeasure, rows: NDArray[np.intp]) -> None:
        self._measure, self._rows = measure, rows
        self.higher_is_better = measure.higher_is_better
        self._value: float | None = None

    def update(self, scores: FloatArray, team: ThreadTeam | None = None) -> None:
        """Measure these scores from now on, (n_rows,)."""
        self._measure.update(scores[self._rows], team)
        self._value = None

    def value(self) -> float:
        """Return the measure, computed once for the same scores."""
        if self._value is None:
            self._value = self._measure.value()
        return self._value


class MeanOverLabels:
    """The weighted mean of measures, which are updated by themselves."""

    def __init__(self, measures: list[LabelMeasure], weights: FloatArray) -> None:
        self._measures, self._weights = measures, weights
        self.higher_is_better = measures[0].higher_is_better

    def update(self, scores: FloatArray, team: ThreadTeam | None = None) -> None:
        """Do nothing."""

    def value(self) -> float:
        """Return the mean."""
        values = [measure.value() for measure in self._measures]
        return weighted_mean(values, self._weights)


def metrics_of_labels(
    parameters: RankerParameters, grades: LabelGrades
) -> list[list[tuple[str, Metric]]]:
    """Return what is measured: each entry is a metric, with its name, of each label."""
    p, n = parameters, grades.n_labels
    own = [reported_metric(metric_of_label(p.metric, label)) for label in range(n)]
    if isinstance(p.scoring, Mapping):
        for label, metric in p.scoring.items():
            number = label_number(label, grades.names, "scoring: label")
            own[number] = get_metric(metric)
    elif p.scoring is not None:
        return [[named] * n for named in p.measured_metrics().items()]
    return [[(metric.name, metric) for metric in own]]


def name_measures(
    title: str, measures: dict[str, LabelMeasure], weights: FloatArray
) -> dict[str, ScoredMeasure]:
    """Return the weighted mean and the measures of the labels, by name."""
    counted = [m for m, w in zip(measures.values(), weights, strict=True) if w > 0]
    mean = MeanOverLabels(counted, weights[weights > 0])
    return {title: mean, **measures}


def metric_measures(
    parameters: RankerParameters,
    data: TrainingData,
    argument: str,
    learned: TrainingData | None = None,
    comm: Comm = ONE_PROCESS,
) -> dict[str, ScoredMeasure]:
    """Return the metrics of each label and their weighted mean; the first is followed.

    With `learned`, as for `MetricEvaluation`; labels of weight 0, whose queries may
    have no scores there, are left out then.
    """
    grades = data.label_grades
    assert grades is not None
    numbers = np.arange(grades.n_labels)
    if learned is not None:
        numbers = np.flatnonzero(grades.weights)
    found: dict[str, ScoredMeasure] = {}
    for named in metrics_of_labels(parameters, grades):
        of_labels = {}
        for number in numbers.tolist():
            label, (name, metric) = grades.names[number], named[number]
            own, rows = data.of_label(number)
            index = QueryIndex.locate(own, comm)
            if index.n_rows == 0:
                raise ValueError(
                    f"no document of {argument} is judged by label {label!r}: there "
                    "is nothing to measure: give more queries, or leave the label out"
                )
            trained = None
            if learned is not None:
                trained, rows = learned.of_label(number)
                has_pairs = trained.has_pairs
                rows = rows[np.repeat(has_pairs, trained.sizes)]
                trained = trained.subset(has_pairs)
            measure = MetricEvaluation(own, metric, index, trained)
            of_labels[f"{label}: {name}"] = LabelMeasure(measure, rows)
        names = {name for name, _ in named}
        title = f"mean {named[0][0]}" if len(names) == 1 else "mean"
        found |= name_measures(title, of_labels, grades.weights[numbers])
    if isinstance(parameters.scoring, Mapping):
        followed = next(iter(parameters.scoring))
        number = label_number(followed, grades.names, "scoring: label")
        first = f"{grades.names[number]}: {named[number][0]}"
        if first in found:
            found = {first: found[first], **found}
    return found


def cost_measures(
    parameters: RankerParameters, learned: TrainingData, comm: Comm = ONE_PROCESS
) -> dict[str, ScoredMeasure]:
    """Return RankNet's cost of each label, and the weighted mean."""
    grades = learned.label_grades
    assert grades is not None
    of_labels = {}
    for number in np.flatnonzero(grades.weights).tolist():
        own, rows = learned_of_label(learned, number, comm)
        index = QueryIndex.locate(own, comm)
        measure = PairCostEvaluation(own, parameters.sigma, False, index)
        of_labels[f"{grades.names[number]}: cost"] = LabelMeasure(measure, rows)
    return name_measures("mean cost", of_labels, grades.weights[grades.weights > 0])
