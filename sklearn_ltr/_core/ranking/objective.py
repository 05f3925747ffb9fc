r"""The objective of a ranker: what it learns from, by its derivatives.

Trees and networks ask the same object: for dC/ds and d2C/ds2 of the documents of some
queries at given scores, for what a step changes (a bias of positions), and for what it
has learned at the end.  `ranking_objective` makes it.  No other place knows what a fit
learns from: grades of one or several labels, judged pairs, or a function of the user,
with propensities, a bias of positions and a regression on the grades.

**Terms.**  Each label l has its own lambdas and hessians, as a fit to this label alone
would have them: of the documents that it has judged, under its metric, with its own
regression on its grades.  They are added up, with factors that make weights shares:

    dC/ds_i      =  sum_l a_l dC_l/ds_i
    d2C/ds_i^2   =  sum_l a_l d2C_l/ds_i^2
    a_l  =  w_l (sum_m w_m F_m) / F_l
    F_l  =  sum_i |dC_l/ds_i|  over the pairs of label l, at the scores F_0

Weights w sum to 1.  So at the scores that training starts from (0 of networks), label l
pushes with the share w_l of all force, however many documents it has judged and
whatever its grades and its metric are.  F_l is a sum that is rounded once
(`sum_exactly`), so that it does not depend on the order of its terms, nor on the worker
that has them, and a warm start keeps it.  Of one label, the factor is 1.

**What can be added.**  Another cost of a list is a class of `Lambdas`, and a line of
`new_lambdas`.  Another kind of judgement is that, and what is read and kept of it
(:mod:`sklearn_ltr._core.data.pairs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import Comm, sum_exactly
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import LabelRows, TrainingData
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.lambdas.base import Lambdas, NoLambdas
from sklearn_ltr._core.lambdas.graded_pairs import GradedLambdas
from sklearn_ltr._core.lambdas.judged_pairs import JudgedLambdas
from sklearn_ltr._core.lambdas.position_bias import PositionBias, pair_weights_of
from sklearn_ltr._core.lambdas.ranked_queries import move_queries
from sklearn_ltr._core.lambdas.regression import Regression
from sklearn_ltr._core.lambdas.user_function import UserLambdas
from sklearn_ltr._core.ranking.measures import weighted_mean, with_largest_grade
from sklearn_ltr._core.ranking.parameters import RankerParameters
from sklearn_ltr._core.ranking.reading import errors_that_name, learned_labels
from sklearn_ltr._core.typing import FloatArray, IntArray
from sklearn_ltr.metrics import Metric

FORCES = "label_forces_"  # the attribute that a warm start keeps
PIECE_ROWS = 65_536  # of a gradient that is added up

VANISHING_LAMBDAS = (
    "the scores that training starts from are so far apart that the lambdas of all "
    "pairs are 0 in float64, so there is nothing to learn: divide the scores (of "
    "init or init_score), or give a smaller sigma; sample_weight must not vanish"
)
NO_LAMBDAS_OF_PAIRS = (
    "the lambdas of the pairs add up to 0 for every document at the scores that "
    "training starts from, so there is nothing to learn: either the pairs contradict "
    "each other evenly, or no swap of one changes the metric at its cutoff: give more "
    "pairs, or a metric without a cutoff"
)


@dataclass(eq=False)
class LabelTerm(Lambdas):
    """The lambdas of one label, with a regression on its grades."""

    label: LabelRows
    lambdas: Lambdas
    regression: Regression | None
    # of the first gradient, which is that of all documents; None: it has been checked
    check: Callable[[FloatArray], None] | None

    def __post_init__(self) -> None:
        """Take over the order of the documents."""
        self.offsets, self.documents = self.lambdas.offsets, self.lambdas.documents

    def compute(
        self, scores: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1."""
        gradient, hessian = self.lambdas.compute(scores, first, last)
        self.check_once(gradient)
        if self.regression is not None:
            self.regression.add(scores, gradient, hessian)
        return gradient, hessian

    def reordered(self, queries: IntArray) -> LabelTerm:
        """Return what is learned from these queries, in their order."""
        return replace(self, lambdas=self.lambdas.reordered(queries))

    def force(self, scores: FloatArray, comm: Comm) -> float:
        """Return the sum of |dC/ds| over the pairs alone; a ValueError if it is 0."""
        gradient, _ = self.lambdas.derivatives(scores)
        self.check_once(gradient)
        return sum_exactly(np.abs(gradient), comm)

    def check_once(self, gradient: FloatArray) -> None:
        """Raise a ValueError if the first gradient has nothing to learn from."""
        if self.check is not None:
            self.check(gradient)
            self.check = None


class Addend(NamedTuple):
    """A term of a sum, and the place of its documents in it."""

    factor: float
    queries: IntArray  # places of its queries among all, ascending
    rows: NDArray[np.intp]  # places of its documents among all
    term: LabelTerm


class SumOfLabels(Lambdas):
    """The weighted sum of what is learned from several labels.

    Parameters
    ----------
    data : TrainingData
        The queries to learn from.
    addends : list of Addend
        One for each label of a weight above 0.
    """

    def __init__(self, data: TrainingData, addends: list[Addend]) -> None:
        self.offsets = data.offsets
        self.documents = np.arange(data.n_rows)
        self._addends = addends
        self._gradient, self._hessian = np.zeros((2, data.n_rows))

    def compute(
        self, scores: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1."""
        documents = slice(self.offsets[first], self.offsets[last])
        self._gradient[documents], self._hessian[documents] = 0.0, 0.0
        for factor, queries, rows, term in self._addends:
            start, stop = np.searchsorted(queries, (first, last)).tolist()
            if start == stop and term.check is None:
                continue
            judged = slice(term.offsets[start], term.offsets[stop])
            own, own_scores = rows[judged], np.empty(len(rows))
            own_scores[judged] = scores[own]
            gradient, hessian = term.compute(own_scores, start, stop)
            self._gradient[own] += factor * gradient
            self._hessian[own] += factor * hessian
        return self._gradient[documents], self._hessian[documents]

    def reordered(self, queries: IntArray) -> SumOfLabels:
        """Return what is learned from all queries, in another order."""
        other = copy(self)
        other.offsets, documents = move_queries(self.offsets, queries)
        other.documents = self.documents[documents]
        other._gradient, other._hessian = np.zeros((2, len(documents)))
        place, place_of_row = np.argsort(queries), np.argsort(documents)
        other._addends = []
        for factor, own, rows, term in self._addends:
            order = np.argsort(place[own])
            moved = term.reordered(order)
            moved_rows = place_of_row[rows[moved.documents]]
            other._addends.append(Addend(factor, place[own][order], moved_rows, moved))
        return other


class RankingObjective(Lambdas):
    """What is learned from labels, at scores plus the bias of positions.

    Parameters
    ----------
    lambdas : Lambdas
        Of all queries to learn from.
    bias : PositionBias or None
        The bias that is learned along with the scores.
    attributes : dict of str to object
        Further fitted attributes.
    """

    def __init__(
        self,
        lambdas: Lambdas,
        bias: PositionBias | None,
        attributes: Mapping[str, object],
    ) -> None:
        self._lambdas, self.bias, self._attributes = lambdas, bias, attributes
        self.offsets, self.documents = lambdas.offsets, lambdas.documents

    def compute(
        self, scores: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1."""
        if self.bias is not None:
            documents = slice(self.offsets[first], self.offsets[last])
            shown = np.empty(len(scores))
            own = self.documents[documents]
            shown[documents] = self.bias.as_shown(scores[documents], own)
            scores = shown
        return self._lambdas.compute(scores, first, last)

    def after_step(
        self, gradient: FloatArray, hessian: FloatArray, rate: float
    ) -> None:
        """Make a step of the bias of positions, given the derivatives of all rows."""
        if self.bias is not None:
            self.bias.step(gradient, hessian, rate)

    def fitted(self, n_steps: int) -> dict[str, object]:
        """Return the attributes that the first steps of this fit have learned."""
        if self.bias is None:
            return dict(self._attributes)
        return {**self._attributes, "position_bias_": self.bias.path[n_steps]}

    def reordered(self, queries: IntArray) -> RankingObjective:
        """Return the objective of all queries in another order."""
        lambdas = self._lambdas.reordered(queries)
        return RankingObjective(lambdas, self.bias, self._attributes)


# --- the terms of a fit ---------------------------------------------------------------


def ranking_objective(
    parameters: RankerParameters,
    data: TrainingData,
    bias: PositionBias | None,
    earlier: Mapping[str, Any],
    team: ThreadTeam,
    comm: Comm,
) -> RankingObjective:
    """Return the objective of the queries to learn from; all workers call this."""
    # `earlier` are the attributes of the fit that is continued, empty if it is new
    terms: list[LabelTerm] = []
    for label in learned_labels(data, comm):
        p, own = parameters.for_label(label.number), label.data
        with errors_that_name(label):
            index, metric = QueryIndex.locate(own, comm), p.trained_metric()
            if metric is not None:
                metric = with_largest_grade(metric, own.y, index)
            lambdas, regression = new_lambdas(p, own, metric, bias, team), None
            weight = p.weight_of_regression(index.n_rows)
            stands = callable(p.objective) or own.pairs.stand_for_grades
            if weight > 0 and not stands:
                regression = Regression(own, weight, p.sigma, index, team)
            check = partial(check_lambdas, p, metric, own, comm)
            # networks start at random scores, where all lambdas may be 0; so they are
            # checked at the reverse of the best order
            starts = p.starts_from_scores
            if not (starts or earlier or p.tied_pairs or own.pairs.are_judged):
                check(lambdas.derivatives(-own.y)[0])
        terms.append(LabelTerm(label, lambdas, regression, check if starts else None))
    if data.n_labels == 1:
        return RankingObjective(terms[0], bias, {})
    forces = forces_of_labels(data, terms, earlier, comm)
    mean = weighted_mean(forces.tolist(), data.grades.weights)
    addends = []
    for term in terms:
        label = term.label
        factor = float(label.weight * (mean / forces[label.number]))
        addends.append(Addend(factor, label.queries_of(data), label.rows, term))
    return RankingObjective(SumOfLabels(data, addends), bias, {FORCES: forces})


def new_lambdas(
    parameters: RankerParameters,
    data: TrainingData,
    metric: Metric | None,
    bias: PositionBias | None,
    team: ThreadTeam,
) -> Lambdas:
    """Return the lambdas of a user's function, of judged pairs, or of grades."""
    p = parameters
    if callable(p.objective):
        return UserLambdas(data, p.objective, needs_hessian=p.starts_from_scores)
    if data.n_rows == 0:
        return NoLambdas()
    if data.pairs.are_judged:
        return JudgedLambdas(data, metric, p.pair_options, team)
    weights = pair_weights_of(data, bias, p.min_propensity)
    return GradedLambdas(
        data, metric, p.pair_options, team, weights, tied_pairs=p.tied_pairs
    )


def forces_of_labels(
    data: TrainingData,
    terms: list[LabelTerm],
    earlier: Mapping[str, Any],
    comm: Comm,
) -> FloatArray:
    """Return F of each label, (n_labels,), at the scores that training starts from."""
    grades = data.grades
    if not earlier:
        forces = np.zeros(data.n_labels)
        for term in terms:
            with errors_that_name(term.label):
                start = data.init_score[term.label.rows]
                forces[term.label.number] = term.force(start, comm)
        return forces
    kept = earlier.get(FORCES)  # those of the start of the fit that is continued
    if not isinstance(kept, np.ndarray) or len(kept) != grades.n_labels:
        n_labels = len(kept) if isinstance(kept, np.ndarray) else 1
        raise ValueError(
            f"y has {grades.n_labels} labels, but it had {n_labels} in the fit that "
            "this one continues: begin anew, with fit and warm_start=False"
        )
    if unknown := np.flatnonzero((kept == 0) & (grades.weights > 0)).tolist():
        raise ValueError(
            f"label {grades.names[unknown[0]]!r} had the weight 0 in the fit that "
            "this one continues: begin anew, with fit and warm_start=False"
        )
    return kept


# --- is there anything to learn? ------------------------------------------------------


def check_lambdas(
    parameters: RankerParameters,
    metric: Metric | None,
    data: TrainingData,
    comm: Comm,
    gradient: FloatArray,
) -> None:
    """Raise a ValueError if the lambdas of all documents vanish, or are too large."""
    # piece by piece, without a copy of the whole gradient
    firsts = range(0, len(gradient), PIECE_ROWS)
    own = sum(float(np.abs(gradient[i : i + PIECE_ROWS]).sum()) for i in firsts)
    total = sum(comm.gather(own))
    p, (low, high) = parameters, parameters.lambda_totals
    if low <= total <= high:
        return
    if callable(p.objective):
        raise ValueError(
            f"the gradients that objective returned add up to {total:.3g}, out "
            f"of [{low:g}, {high:g}], so there is nothing to learn from: "
            "change their scale or that of sample_weight"
        )
    if total == 0:
        raise ValueError(zero_gradient_message(p.metric, metric, data))
    raise ValueError(
        f"the lambdas of metric={p.metric!r} add up to {total:.3g}, out of "
        f"[{low:g}, {high:g}]: change the scale of its gains, of sigma or of "
        "sample_weight or document_weight"
    )


def zero_gradient_message(
    metric: str | Metric | None, trained: Metric | None, data: TrainingData
) -> str:
    """Return the message of the error for data whose lambdas are all zero."""
    # each query of the data has two different grades, so the metric is the cause
    if data.pairs.are_judged:
        return NO_LAMBDAS_OF_PAIRS
    if data.n_rows == 0:  # a worker may have none of a label
        return f"metric={metric!r} has no lambdas, so there is nothing to learn"
    if trained is None:
        return VANISHING_LAMBDAS
    if not trained.closed_form:
        return (
            f"no swap of two documents changes metric={metric!r}, so there is nothing "
            f"to learn: {type(trained).__name__}.swap_delta returns only zeros"
        )
    bound = trained.bind(data.y, data.offsets, data.query_ids)
    starts = data.offsets[:-1]
    highest = np.maximum.reduceat(bound.gain, starts)
    lowest = np.minimum.reduceat(bound.gain, starts)
    differs = highest > lowest
    if not differs.any():
        if lowest.all():
            which = "every document is relevant"
        elif not highest.any():
            which = "no document is relevant"
        else:
            which = "all documents of a query have the same gain"
        return (
            f"to metric={metric!r} {which} (the grades are {data.y.min():g} to "
            f"{data.y.max():g}), so there is nothing to learn: give a metric object "
            "with another relevant_from or gain"
        )
    if not bound.scale[differs].any():
        return (
            f"metric={metric!r} is 0 for lists of fewer than k documents, and no list "
            'has more, so there is nothing to learn: use short_lists="cut"'
        )
    flat = np.ptp(bound.discount[: bound.k]) == 0
    if flat and (data.sizes[differs] <= bound.k).all():
        return (
            f"no swap of two documents changes metric={metric!r}, so there is nothing "
            "to learn: without a discount it needs a cutoff shorter than the lists"
        )
    return VANISHING_LAMBDAS
