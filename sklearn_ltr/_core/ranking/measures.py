"""What a ranker is measured by: metrics of each label, and RankNet's cost.

During a fit, `training_measures` and `validation_measures` are updated with new scores
after each step.  The process gathers the values of all workers and averages them in
the order of the queries.  Of several labels, each is measured, and their weighted mean.

After a fit, `bind_labels` binds the metric that a ranker reports to grades.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import ONE_THREAD, ThreadTeam
from sklearn_ltr._core.data import FitData, LabelRows, TrainingData, rescale
from sklearn_ltr._core.data.labels import LabelGrades, check_several, label_number
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.estimators.monitor import Measure
from sklearn_ltr._core.lambdas.position_bias import PositionBias
from sklearn_ltr._core.lambdas.ranknet import (
    judged_pair_cost,
    pair_costs,
    weighted_pair_costs,
)
from sklearn_ltr._core.ranking.parameters import (
    MetricChoice,
    NamedMetrics,
    RankerParameters,
    check_metrics_of_labels,
    metric_for_label,
    reported_metric,
)
from sklearn_ltr._core.ranking.reading import learned_labels
from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.metrics import Metric
from sklearn_ltr.metrics._metric import BoundMetric, mean_of_values

# --- the measures of a fit ------------------------------------------------------------


def training_measures(
    parameters: RankerParameters,
    data: FitData,
    bias: PositionBias | None,
    comm: Comm,
) -> dict[str, Measure]:
    """Return the measures of training data by name, the cost or the metric first.

    They get the scores of the queries that are learned from.
    """
    p, train, learned = parameters, data.train, data.learned
    measures: dict[str, Measure] = {}
    if p.metric is None and learned.pairs.are_judged:
        index = QueryIndex.locate(learned, comm)
        measures["cost"] = JudgedCostMeasure(learned, p.sigma, index)
    elif p.metric is None:
        # the cost of networks is at scores with the bias of positions
        bias = None if p.starts_from_scores else bias
        labels, options = learned_labels(learned, comm), (p.sigma, p.tied_pairs)
        for label in labels:
            index = QueryIndex.locate(label.data, comm)
            cost = PairCostMeasure(label.data, *options, index, bias)
            measures[label.title("cost")] = measure_of_label(label, cost)
        measures = with_mean("mean cost", measures, labels)
    measured = p.measures_metrics(has_validation=len(data.validation) > 0)
    if learned.pairs.are_judged:  # queries without them have no part in the curve
        train, measured = learned, p.metric is not None
    if measured:
        metrics = p.training_metrics(train.grades)
        known = None if train is learned else learned
        labels, argument = train.counted_labels(), "the training data"
        measures |= metric_measures(metrics, labels, argument, known, comm)
    return followed_first(p, train.grades, measures)


def validation_measures(
    parameters: RankerParameters, data: TrainingData, comm: Comm
) -> dict[str, Measure]:
    """Return the metrics of validation data by name; the first is followed."""
    p, argument = parameters, "the validation data"
    labels = [data.of_label(number) for number in range(data.n_labels)]
    metrics = p.metrics_of_labels(data.grades)
    measures = metric_measures(metrics, labels, argument, None, comm)
    return followed_first(p, data.grades, measures)


def metric_measures(
    metrics: Sequence[NamedMetrics],
    labels: Sequence[LabelRows],
    argument: str,
    learned: TrainingData | None,
    comm: Comm,
) -> dict[str, Measure]:
    """Return the metrics of each label, and their weighted mean.

    Each of `metrics` has a metric, and its name, for each label.  `learned` is as for
    `MetricMeasure`.
    """
    measures: dict[str, Measure] = {}
    if not metrics:
        return measures
    # what all metrics of a label have in common: the places of its queries, and the
    # rows that get scores, all or those learned from
    indices = [QueryIndex.locate(label.data, comm) for label in labels]
    scored = list(labels)
    for number, (label, index) in enumerate(zip(labels, indices, strict=True)):
        if index.n_rows == 0:
            raise ValueError(
                f"no document of {argument} is judged by label {label.name!r}: there "
                "is nothing to measure: give more queries, or leave the label out"
            )
        if learned is not None:
            own = learned.of_label(label.number)
            scored[number] = own.select(own.data.has_pairs)
    for named in metrics:
        of_labels = {}
        for label, index, known in zip(labels, indices, scored, strict=True):
            name, metric = named[label.number]
            trained = None if learned is None else known.data
            evaluation = MetricMeasure(label.data, metric, index, trained)
            of_labels[label.title(name)] = measure_of_label(known, evaluation)
        names = {name for name, _ in named}
        title = f"mean {named[0][0]}" if len(names) == 1 else "mean"
        measures |= with_mean(title, of_labels, labels)
    return measures


def followed_first(
    parameters: RankerParameters,
    grades: LabelGrades,
    measures: dict[str, Measure],
) -> dict[str, Measure]:
    """Return the measures, that of the first label in `scoring` in front."""
    if not isinstance(parameters.scoring, Mapping):
        return measures
    label = next(iter(parameters.scoring))
    number = label_number(label, grades.names, "scoring: label")
    ((name, _),) = [named[number] for named in parameters.metrics_of_labels(grades)]
    first = f"{grades.names[number]}: {name}"
    return {first: measures[first], **measures} if first in measures else measures


def measure_of_label(label: LabelRows, measure: Measure) -> Measure:
    """Return the measure of a label's rows, given the scores of all rows."""
    return measure if label.is_only else LabelMeasure(measure, label.rows)


def with_mean(
    title: str, measures: dict[str, Measure], labels: Sequence[LabelRows]
) -> dict[str, Measure]:
    """Return the measures of labels, behind their weighted mean if they are several."""
    if labels[0].is_only:
        return measures
    weights = np.array([label.weight for label in labels])
    counted = [m for m, w in zip(measures.values(), weights, strict=True) if w > 0]
    return {title: MeanOverLabels(counted, weights[weights > 0]), **measures}


class LabelMeasure:
    """A measure of one label, of the rows that this has judged."""

    def __init__(self, measure: Measure, rows: NDArray[np.intp]) -> None:
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
    """The weighted mean of measures, which the fit updates one by one."""

    def __init__(self, measures: Sequence[Measure], weights: FloatArray) -> None:
        self._measures, self._weights = measures, weights
        self.higher_is_better = measures[0].higher_is_better

    def update(self, scores: FloatArray, team: ThreadTeam | None = None) -> None:
        """Do nothing."""

    def value(self) -> float:
        """Return the mean."""
        values = [measure.value() for measure in self._measures]
        return weighted_mean(values, self._weights)


def weighted_mean(values: Sequence[float], weights: FloatArray) -> float:
    """Return the mean of values of labels by weights that sum to 1."""
    return fsum(w * value for w, value in zip(weights.tolist(), values, strict=True))


# --- metrics and costs ----------------------------------------------------------------


def with_largest_grade(metric: Metric, y: FloatArray, index: QueryIndex) -> Metric:
    """Return a metric that knows the largest grade of all workers."""
    if index.comm.n_workers == 1:
        return metric
    largest = index.comm.gather(float(y.max(initial=0.0)))
    return metric.with_largest_grade(max(largest))


class MetricMeasure:
    """The weighted mean of a metric over the queries of all workers.

    With `learned`, which leaves out queries without pairs, `update` gets the scores of
    its rows only.  The other queries keep scores of 0: all their documents have the
    same grade, so the scores do not change the value.
    """

    higher_is_better = True

    def __init__(
        self,
        data: TrainingData,
        metric: Metric,
        index: QueryIndex,
        learned: TrainingData | None,
    ) -> None:
        self._index = index
        y, self._trained_on = data.y, None
        if learned is not None:
            self._trained_on = np.repeat(data.has_pairs, data.sizes)
            y = y.copy()
            y[self._trained_on] = learned.y
        self._metric = with_largest_grade(metric, y, self._index)
        self._bound, has_relevant = None, np.empty(0)
        if data.n_rows > 0:  # a worker may have no validation data
            self._bound = self._metric.bind(y, data.offsets, data.query_ids)
            has_relevant = self._bound.has_relevant.astype(np.float64)
        self._weights = self._index.gather(data.sample_weight)
        self._has_relevant = self._index.gather(has_relevant) > 0
        self._scores = np.zeros(data.n_rows)
        self._team = ONE_THREAD

    def update(self, scores: FloatArray, team: ThreadTeam | None = None) -> None:
        """Measure these scores from now on, (n_rows,); the array is not copied."""
        self._team = team or ONE_THREAD
        if self._trained_on is None:
            self._scores = scores
        else:
            self._scores[self._trained_on] = scores

    def value(self) -> float:
        """Return the mean of the metric."""
        own = np.empty(0)
        if self._bound is not None:
            own = self._bound.values(self._scores, self._team)
        values = self._index.gather(own)
        return mean_of_values(self._metric, values, self._weights, self._has_relevant)


class PairCostMeasure:
    """RankNet's cost: the mean over pairs, weighted like queries and documents.

    With `tied_pairs`, pairs of equal grade count, too.  The bias of positions, if there
    is one, is added to the scores.
    """

    higher_is_better = False

    def __init__(
        self,
        data: TrainingData,
        sigma: float,
        tied_pairs: bool,
        index: QueryIndex,
        bias: PositionBias | None,
    ) -> None:
        self._index, self._bias = index, bias
        query = data.query
        self._sigma, self._tied_pairs = sigma, tied_pairs
        self._offsets = data.offsets
        self._by_grade = np.lexsort((-data.y, query))  # descending within a query
        self._grades = data.y[self._by_grade]
        self._costs = np.empty(data.n_queries)
        self._scores = np.zeros(data.n_rows)
        given, self._document_weight = data.columns.document_weight, None
        if given is None:
            grades, sizes = self._grades, data.sizes.astype(np.float64)
            n_pairs = sizes * (sizes - 1) / 2
            if not tied_pairs:
                is_new = np.diff(query, prepend=-1) != 0
                is_new |= np.diff(grades, prepend=-1) != 0
                starts = np.flatnonzero(is_new)
                n_equal = np.diff(np.append(starts, data.n_rows)).astype(np.float64)
                np.subtract.at(n_pairs, query[starts], n_equal * (n_equal - 1) / 2)
        else:
            self._document_weight = given[self._by_grade]
            n_pairs = self._compute_costs()
        n_pairs = self._index.gather(n_pairs)
        weights = self._index.gather(data.sample_weight)
        self._weights, _ = rescale(np.where(n_pairs > 0, weights, 0.0))
        self._n_pairs = float((n_pairs * self._weights).sum())

    def update(self, scores: FloatArray, team: ThreadTeam | None = None) -> None:
        """Measure these scores from now on, (n_rows,); the array is not copied."""
        self._scores = scores if self._bias is None else self._bias.as_shown(scores)

    def value(self) -> float:
        """Return the mean cost of a pair."""
        self._compute_costs()
        costs = self._index.gather(self._costs)
        return float((costs * self._weights).sum()) / self._n_pairs

    def _compute_costs(self) -> FloatArray:
        """Compute the cost of each query; return the weight of its pairs, if any."""
        n_pairs = np.empty(0 if self._document_weight is None else len(self._costs))
        lists = self._scores[self._by_grade], self._grades, self._offsets
        options = self._sigma, self._tied_pairs, self._costs
        if self._document_weight is None:
            pair_costs(lists, *options)
        else:
            weighted_pair_costs(lists, self._document_weight, *options, n_pairs)
        return n_pairs


class JudgedCostMeasure:
    """RankNet's cost of judged pairs: their mean, weighted like pairs and queries."""

    higher_is_better = False

    def __init__(self, data: TrainingData, sigma: float, index: QueryIndex) -> None:
        pairs = data.judged_pairs
        weights = index.gather(data.sample_weight)
        weights = weights / weights.max()  # the sum of products stays finite
        self._weights = np.repeat(weights, np.diff(pairs.offsets))
        self._weights *= pairs.weights / pairs.weights.max()
        self._pairs, self._sigma = pairs, sigma
        self._scores = np.zeros(data.n_rows)

    def update(self, scores: FloatArray, team: ThreadTeam | None = None) -> None:
        """Measure these scores from now on, (n_rows,); the array is not copied."""
        self._scores = scores

    def value(self) -> float:
        """Return the mean cost of a pair."""
        total = judged_pair_cost(
            self._scores,
            self._pairs.rows,
            self._pairs.probabilities,
            self._weights,
            self._sigma,
        )
        return float(total / self._weights.sum())


# --- the score of a fitted ranker -----------------------------------------------------


class BoundLabel(NamedTuple):
    """A metric of the documents that a label has judged."""

    rows: NDArray[np.intp]  # these documents
    bound: BoundMetric
    sample_weight: FloatArray  # of their queries
    weight: float  # of the label, among those that are measured


def bind_labels(
    metric: MetricChoice, data: TrainingData, label: int | str | None = None
) -> list[BoundLabel]:
    """Bind a metric to each label of a weight above 0, or to the one that is named."""
    names = data.grades.names
    if len(names) > 1:
        check_metrics_of_labels(metric, len(names))
    check_several(label, len(names), otherwise="no label")
    if len(names) == 1 and isinstance(metric, list | tuple):
        raise ValueError(
            f"metric is a list of {len(metric)}, one for each label, but y has one "
            "column: give all of them, with label= for one"
        )
    labels = data.counted_labels()
    if label is not None:
        number = label_number(label, names, "label")
        labels = [data.of_label(number)._replace(weight=1.0)]
    bound = []
    for one in labels:
        own = one.data
        if own.n_rows == 0 and not one.is_only:
            raise ValueError(
                f"no document that is measured is judged by label {one.name!r}: give "
                "more queries, or leave the label out"
            )
        reported = reported_metric(metric_for_label(metric, one.number))
        of_label = reported.bind(own.y, own.offsets, own.query_ids)
        bound.append(BoundLabel(one.rows, of_label, own.sample_weight, one.weight))
    return bound


def mean_of_bound(labels: Sequence[BoundLabel], scores: FloatArray) -> float:
    """Return the weighted mean over labels of the metric of scores, (n_rows,)."""
    values = [one.bound.mean(scores[one.rows], one.sample_weight) for one in labels]
    return weighted_mean(values, np.array([one.weight for one in labels]))
