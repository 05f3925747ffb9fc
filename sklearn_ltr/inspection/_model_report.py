"""An HTML report on a fitted ranker and the queries that measure it.

Each section is a function of a :class:`Subject` that returns HTML.  A line says what is
left out because the model does not have it, such as the trees of a network.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Number
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.data import (
    QueryGroups,
    as_array,
    check_grades,
    check_sample_weight,
    check_scores,
    count_rows,
)
from sklearn_ltr._core.data.features import CodedColumn, NumberColumn
from sklearn_ltr._core.data.rows import index_rows
from sklearn_ltr._core.parameters import shown
from sklearn_ltr._core.parts import nested
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike, Seed
from sklearn_ltr.inspection import _html as html
from sklearn_ltr.inspection._drift import (
    Drift,
    column_of,
    drift_of_columns,
    drift_of_numbers,
    named_table,
)
from sklearn_ltr.inspection._models import find_model, metric_of, transformers_in
from sklearn_ltr.inspection._shap_values import ShapValues, shap_values
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.model_selection._comparison import mean_and_standard_error

MOST_COLUMNS = 20  # in a table, and with a bar of their own
MOST_GRADES = 10  # listed one by one
MOST_EXPLAINED = 2_000  # documents of the SHAP values, of whole queries
N_WORST = 10  # queries
N_SHOWN = 10  # documents of the worst query
N_BINS = 10
LONGEST_VALUE = 200  # characters of a parameter
QUANTILES = {
    "lowest": 0.0, "10%": 0.1, "25%": 0.25, "median": 0.5, "75%": 0.75, "90%": 0.9,
    "highest": 1.0,
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class ModelReport:
    """Result of :func:`model_report`: a notebook shows it, and `save` writes a file.

    Attributes
    ----------
    metric : Metric
        The metric of each query.
    value : float
        Its mean over queries.
    standard_error : float
        Standard error of that mean; NaN for a single query.
    queries : ndarray of shape (n_queries,)
        Labels of the queries, from the lowest value to the highest.
    values : ndarray of shape (n_queries,), float64
        The metric of each query, in this order; NaN, at the end, for queries that
        ``no_relevant="skip"`` leaves out.
    column_drift : dict of str to float, or None
        The population stability index of each column against `X_reference`, by name;
        None without that table.
    score_drift : float or None
        The same of the scores.
    """

    metric: Metric
    value: float
    standard_error: float
    queries: NDArray[Any]
    values: FloatArray
    column_drift: dict[str, float] | None
    score_drift: float | None
    _title: str = field(repr=False)
    _html: str = field(repr=False)

    def __repr__(self) -> str:
        """Return one line with the mean metric."""
        error = with_error(self.value, self.standard_error)
        return f"<{self._title}: {self.metric.name} {error}; save(path) writes it>"

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it."""
        return self._html

    def save(self, path: str | PathLike[str]) -> None:
        """Write the report as one HTML file, which needs no other file.

        Parameters
        ----------
        path : str or path-like
            Where to write it, such as ``"report.html"``.  An existing file is replaced.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        text = html.page(self._title, self._html)
        Path(path).write_text(text, encoding="utf-8")


def model_report(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    groups: IdsLike,
    metric: str | Metric | None = None,
    sample_weight: ArrayLike | None = None,
    X_reference: MatrixLike | None = None,
    random_state: Seed = 0,
) -> ModelReport:
    r"""Report what a model is, what it has learned, and how well it ranks.

    In this order: the metric on these queries, its spread and the worst queries, with
    the documents of the worst of all; the model with the parameters that differ from
    their defaults; training curves; importances and SHAP values; the data; and with
    `X_reference`, which columns and scores have moved since.

    Pictures need matplotlib (``python -m pip install matplotlib``); without it the same
    numbers are in tables.

    Parameters
    ----------
    estimator : estimator
        A fitted LambdaMARTRanker, LambdaRankRanker, RankNetRanker, BaggingRanker,
        BlendedRanker or regressor, or a Pipeline, search or CalibratedRanker of one.
    X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
        Documents of queries that the model was not trained on, as for `predict`.
    y : array-like of shape (n_documents,)
        Relevance grades, finite and >= 0.
    groups : array-like of shape (n_documents,)
        Query of each document: numbers, text, dates, or tuples of these.
    metric : str, Metric or None, default=None
        The metric of each query.  None: that of the ranker's `score`.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of a query in the mean, constant within it.
    X_reference : array-like of shape (n_reference, n_features), default=None
        Earlier documents, such as the training data, in any form that X may have.  The
        report then says how far the columns of X, and the scores, have moved.  None:
        it does not.
    random_state : int, RandomState instance or None, default=0
        Seed for the sample of queries whose SHAP values are computed: all queries up to
        2,000 documents, else some.

    Returns
    -------
    report : ModelReport
        The last line of a notebook's cell shows it; ``report.save("report.html")``
        writes it.

    Raises
    ------
    NotFittedError
        Before `fit`.
    TypeError
        If `metric` is neither a name nor a metric object.
    ValueError
        If `predict` refuses X, or the metric refuses grades, groups, weights or scores;
        if `X_reference` has no rows, or other columns than X.

    Notes
    -----
    How far a column has moved is its population stability index [1]_.  With
    :math:`n_b` of the N rows of `X_reference` in bin b of B, and :math:`m_b` of the M
    rows of X,

    .. math::

        \text{PSI} = \sum_b (q_b - p_b) \log \frac{q_b}{p_b}, \qquad
        p_b = \frac{n_b + 1/2}{N + B/2}, \qquad q_b = \frac{m_b + 1/2}{M + B/2}.

    It is 0 for equal shares, and 0.1 and 0.25 are usual limits of "some" and "much".
    The halves keep it finite if a bin is empty.  Bins of numbers are those of trees
    with ``max_bins=10``: one for each distinct value if there are
    few, else ten of about equal population in `X_reference`.  The ten most frequent
    categories of `X_reference` have a bin each; its other categories share one, and
    unknown categories share another.  Missing values have a bin; bins that are empty in
    both tables do not count.  A document counts once, whatever its weight.

    The report also gives the value that PSI exceeds in only 5% of all samples
    without drift: :math:`(1/N + 1/M) \, \chi^2_{0.95}(B - 1)` [2]_, for independent
    documents.  Documents of a query are not independent, so columns that hardly
    differ within a query exceed it more often.

    The worst queries are those of the lowest metric among queries with a relevant
    document; equal ones in the order of their ids.

    A feature that is the same for all documents of a query changes no ranking.  So the
    summary of SHAP values subtracts from each value the mean of its query; the rest
    changes the order.

    With the same arguments and versions of all packages, the file is the same.

    References
    ----------
    .. [1] N. Siddiqi, "Credit Risk Scorecards", Wiley, 2006.
    .. [2] B. Yurdakul and J. Naranjo, "Statistical properties of the population
       stability index", Journal of Risk Model Validation 14(4), 2020.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr.inspection import model_report
    >>> data = make_ranking(60, random_state=0)
    >>> train, test = data.groups < 40, data.groups >= 40
    >>> ranker = LambdaMARTRanker(n_estimators=10, random_state=0)
    >>> ranker = ranker.fit(
    ...     data.data[train], data.target[train], groups=data.groups[train]
    ... )
    >>> report = model_report(
    ...     ranker, data.data[test], data.target[test], groups=data.groups[test]
    ... )
    >>> len(report.queries), bool(report.values[0] == report.values.min())
    (20, True)
    >>> report.save("report.html")  # doctest: +SKIP
    """
    subject = Subject(estimator, X, y, groups, metric, sample_weight)
    columns, scores = None, None
    if X_reference is not None:
        columns = drift_of_columns(X_reference, X)
        before = np.asarray(estimator.predict(X_reference), dtype=np.float64)
        scores = drift_of_numbers(before, subject.predicted.astype(np.float64))
    effects = describe_features(subject, check_random_state(random_state))
    title = f"Model report: {subject.name}"
    sections = (
        summary_section(subject),
        queries_section(subject),
        worst_section(subject, effects is not None and effects.shap is not None),
        model_section(subject),
        curves_section(subject),
        *features_sections(subject, effects),
        data_section(subject, effects),
        drift_section(columns, scores),
    )
    order = np.argsort(subject.values, kind="stable")
    return ModelReport(
        metric=subject.metric,
        value=subject.mean,
        standard_error=subject.standard_error,
        queries=subject.query_ids[order],
        values=subject.values[order],
        column_drift=None
        if columns is None
        else {name: drift.psi for name, drift in columns.items()},
        score_drift=None if scores is None else scores.psi,
        _title=title,
        _html=html.report(title, filter(None, sections)),
    )


class Subject:
    """A fitted model, and its scores of documents in canonical order."""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        groups: IdsLike,
        metric: str | Metric | None,
        sample_weight: ArrayLike | None,
    ) -> None:
        self.estimator, self.X, self.y, self.groups = estimator, X, y, groups
        self.sample_weight = sample_weight
        self.model, _ = find_model(estimator)  # the last step of Pipelines and searches
        check_is_fitted(self.model)
        measured = estimator if hasattr(estimator, "maps_") else self.model
        self.metric = metric_of(measured, metric)
        self.queries = QueryGroups.from_groups(groups, count_rows(y, "y"))
        self.query_ids: NDArray[Any] = as_array(self.queries.query_ids)
        # the grades and scores of documents, in canonical order
        self.grades = check_grades(y, self.queries)
        self.weights = check_sample_weight(sample_weight, self.queries)
        self.predicted: NDArray[Any] = np.asarray(estimator.predict(X))  # by row
        # rows are named by the index of a DataFrame
        table: Any = X
        self.row_names = (
            table.index if hasattr(X, "iloc") else range(len(self.predicted))
        )
        name = f"what {type(estimator).__name__} predicts"
        self.scores = check_scores(self.predicted, self.queries, name, only_order=True)
        offsets, ids = self.queries.offsets, self.queries.query_ids
        bound = self.metric.bind(self.grades, offsets, ids)
        # of each query; NaN where the metric leaves it out
        self.values = bound.values(self.scores)
        self.is_counted = ~np.isnan(self.values) & (self.weights > 0)
        self.mean = bound.mean(self.scores, self.weights)
        _, self.standard_error = mean_and_standard_error(self.values, self.weights)

    @property
    def name(self) -> str:
        """Name of the model."""
        return type(self.model).__name__

    @property
    def metric_name(self) -> str:
        """Name of the metric, such as "NDCG@10"."""
        from sklearn_ltr.plotting._axes import name_of_metric

        return name_of_metric(self.metric)

    @property
    def has_relevant(self) -> NDArray[np.bool_]:
        """Whether a query has a document of a grade above 0, (n_queries,)."""
        largest = np.maximum.reduceat(self.grades, self.queries.offsets[:-1])
        return np.asarray(largest > 0)

    @property
    def is_training_data(self) -> bool:
        """Whether the queries seem to be those that the model was fitted to."""
        known = getattr(self.model, "_trained_queries", None)
        return (
            known is not None
            and list(known.query_ids) == list(self.queries.query_ids)
            and np.array_equal(known.sizes, self.queries.sizes)
        )


# --- how well it ranks ----------------------------------------------------------------


def summary_section(subject: Subject) -> str:
    """Return the mean metric and the size of the data, in large figures."""
    queries = subject.queries
    value = with_error(subject.mean, subject.standard_error)
    figures = html.figures(
        [
            (f"{subject.metric_name}, mean ± standard error", value),
            ("queries", f"{queries.n_queries:,}"),
            ("documents", f"{queries.n_documents:,}"),
        ]
    )
    notes = []
    if subject.is_training_data:
        notes.append(
            "These are the queries that the model was fitted to, so it ranks them "
            "better than new ones."
        )
    if not html.can_draw():
        notes.append(
            "Tables only: pictures need matplotlib (python -m pip install matplotlib)."
        )
    return "\n".join((figures, *map(html.paragraph, notes)))


def queries_section(subject: Subject) -> str:
    """Return the spread of the metric over queries, and its curve over cutoffs."""
    included = subject.is_counted
    values = subject.values[included]
    left_out = len(included) - len(values)
    no_relevant = int(np.count_nonzero(~subject.has_relevant[included]))
    notes = []
    if left_out:
        notes.append(f"{counted(left_out, 'query')} left out: no weight, or no value.")
    if no_relevant:
        counts = subject.values[included & ~subject.has_relevant][0]
        notes.append(
            f"{counted(no_relevant, 'query')} without a relevant document, counted as "
            f"{counts:g}."
        )
    edges = np.linspace(0.0, max(1.0, float(values.max())), N_BINS + 1)
    counts_in, _ = np.histogram(values, np.append(edges[:-1], np.inf))
    bins = [
        (f"{low:.3g} to {high:.3g}", int(count))
        for low, high, count in zip(edges[:-1], edges[1:], counts_in, strict=True)
    ]
    quantiles = np.quantile(values, list(QUANTILES.values()))
    spread = html.table(list(QUANTILES), [[f"{value:.3f}" for value in quantiles]])
    counts = html.heading("Number of queries by their value") + html.bars(bins)
    return html.section(
        f"{subject.metric_name} of each query",
        *map(html.paragraph, notes),
        html.row(counts + spread, cutoff_curve(subject)),
    )


def cutoff_curve(subject: Subject) -> str:
    """Return the picture of the metric against its cutoff."""
    from sklearn_ltr.plotting import CutoffCurveDisplay

    longest = int(subject.queries.sizes.max())
    every_k = subject.metric._with(k=None)
    return html.picture(
        f"Mean {every_k.name} at cutoffs from 1 to {min(longest, 20)}",
        (6.0, 3.2),
        lambda ax: CutoffCurveDisplay.from_predictions(
            subject.y,
            subject.predicted,
            groups=subject.groups,
            metric=every_k,
            k=range(1, min(longest, 20) + 1),
            sample_weight=subject.sample_weight,
            name=subject.name,
            ax=ax,
        ),
    )


def worst_section(subject: Subject, has_trees: bool) -> str:
    """Return the queries of the lowest metric, and the documents of the worst."""
    judged = subject.has_relevant & subject.is_counted
    order = np.argsort(subject.values, kind="stable")
    worst = [int(query) for query in order if judged[query]][:N_WORST]
    if not worst:
        text = "No query has a relevant document."
        return html.section("Worst queries", html.paragraph(text))
    rows = []
    for query in worst:
        grades = subject.grades[ranking_of(subject, query)]
        rows.append(
            [
                subject.query_ids[query],
                f"{subject.values[query]:.3f}",
                len(grades),
                np.count_nonzero(grades > 0),
                int(np.argmax(grades > 0)) + 1,
                int(np.argmax(grades)) + 1,
            ]
        )
    header = [
        "query", subject.metric_name, "documents", "relevant", "first at", "best at"
    ]  # fmt: skip
    note = (
        "First at: the rank of the first relevant document. Best at: that of the first "
        "document of the highest grade."
    )
    worst_documents, why = worst_list(subject, worst[0], has_trees)
    return html.section(
        "Worst queries",
        html.paragraph(note),
        html.row(html.table(header, rows), worst_documents),
        why,
    )


def ranking_of(subject: Subject, query: int) -> IntArray:
    """Return the documents of a query as ranked, by their canonical numbers."""
    from sklearn_ltr.plotting._forces import order_of_query

    start, end = subject.queries.offsets[query : query + 2]
    documents = np.arange(start, end)
    scores, grades = subject.scores[documents], subject.grades[documents]
    return documents[order_of_query(scores, grades)]


def worst_list(subject: Subject, query: int, has_trees: bool) -> tuple[str, str]:
    """Return the list of a query, and why a document is above a better one."""
    ranked = ranking_of(subject, query)
    grades, rows = subject.grades[ranked], subject.queries.order[ranked]
    names = [str(subject.row_names[row]) for row in rows]
    best = int(np.argmax(grades))  # the first of the highest grade
    listed = [*range(min(N_SHOWN, len(ranked))), *([best] if best >= N_SHOWN else [])]
    documents = html.table(
        ["rank", "row of X", "grade", "score"],
        [
            [r + 1, names[r], f"{grades[r]:g}", f"{subject.predicted[rows[r]]:.4g}"]
            for r in listed
        ],
    )
    title = html.heading(f"Query {subject.query_ids[query]}, the worst")
    if not has_trees or best == 0:
        return title + documents, ""
    note = (
        f"Row {names[0]}, of grade {grades[0]:g}, is at rank 1, and row {names[best]}, "
        f"of grade {grades[best]:g}, at rank {best + 1}. Bars to the right put row "
        f"{names[0]} above; the values of both rows are beside the name of a feature."
    )
    why = (
        html.heading(f"Why is row {names[0]} above row {names[best]}?"),
        html.paragraph(note),
        why_above(subject, int(rows[0]), int(rows[best])),
    )
    return title + documents, "\n".join(why)


def why_above(subject: Subject, first: int, best: int) -> str:
    """Return what puts the row `first` above the better row `best`."""
    from sklearn_ltr.plotting import ShapValuesDisplay
    from sklearn_ltr.plotting._shap import rows_of

    X = index_rows(subject.X, np.array([first, best]))
    result = shap_values(subject.estimator, X)
    above, below = subject.row_names[first], subject.row_names[best]
    difference = result.difference(0, 1)
    display = ShapValuesDisplay(
        difference,
        feature_names=result.feature_names,
        feature_values=rows_of(result.X, slice(None)),
        score_name=f"score of row {above} minus that of row {below}",
    )
    most = [j for j in display.order if difference[j]][:N_SHOWN]
    numbers = html.table(
        ["feature", f"row {above}", f"row {below}", "difference of SHAP values"],
        [
            [
                result.feature_names[j],
                *(value_in(column_of(result.X, j), row) for row in (0, 1)),
                f"{difference[j]:+.4g}",
            ]
            for j in most
        ],
    )
    title = f"What puts row {above} above row {below}"
    return html.details(html.picture(title, (6.4, 3.8), display.plot), numbers)


# --- what it is -----------------------------------------------------------------------


def model_section(subject: Subject) -> str:
    """Return what the model is made of, and parameters that are not the defaults."""
    model = subject.model
    signature = inspect.signature(type(model).__init__).parameters
    given = model.get_params(deep=False)
    changed = [
        [name, in_words(value), in_words(signature[name].default)]
        for name, value in given.items()
        if name in signature and not is_default(value, signature[name].default)
    ]
    facts = html.table(["part", "value"], model_facts(subject), "words")
    if changed:
        parameters = html.table(["parameter", "value", "default"], changed, "words")
        title = html.heading("Parameters that differ from their defaults")
        parameters = title + parameters
    else:
        parameters = html.paragraph("All parameters have their defaults.")
    return html.section(
        "Model", facts, parameters, blend_part(subject), bias_part(subject)
    )


def model_facts(subject: Subject) -> list[list[str]]:
    """Return what the model is made of: a name and a value each."""
    facts = [["class", subject.name]]
    *outer, model = nested(subject.estimator)
    for estimator in outer:
        if isinstance(estimator, Pipeline):
            facts += [[f"step {n}", in_words(step)] for n, step in estimator.steps[:-1]]
            continue
        chosen = getattr(estimator, "best_params_", None)
        how = "calibrated by" if chosen is None else "chosen by"
        facts.append([how, type(estimator).__name__])
        facts += [[f"chosen {name}", in_words(v)] for name, v in (chosen or {}).items()]
    if hasattr(model, "ensemble_"):
        facts.append(["trees", f"{model.n_iter_:,}"])
        facts.append(["nodes of all trees", f"{len(model.ensemble_.feature):,}"])
    if hasattr(model, "network_"):
        n_weights = sum(np.size(part) for part in model.network_.parameters)
        facts.append(["weights of the network", f"{n_weights:,}"])
        facts.append(["epochs", f"{model.n_iter_:,}"])
    if hasattr(model, "estimators_"):
        facts.append(["members", f"{len(model.estimators_):,}"])
    if hasattr(model, "oob_score_"):
        facts.append(["out-of-bag score", f"{model.oob_score_:.4f}"])
    return facts


def blend_part(subject: Subject) -> str:
    """Return the weights of a blend, "" for other models."""
    from sklearn_ltr.plotting import BlendCurveDisplay
    from sklearn_ltr.plotting._axes import name_of_metric

    model = subject.model
    if not hasattr(model, "weights_"):
        return ""
    names = [type(ranker).__name__ for ranker in model.rankers_]
    parts = [
        html.heading("Weights of the rankers"),
        html.table(
            ["ranker", "weight"],
            [
                [f"{i + 1}: {names[i]}", f"{weight:.4f}"]
                for i, weight in enumerate(model.weights_)
            ],
        ),
    ]
    if model.curve_ is not None:
        curve, metric = model.curve_, get_metric(model.metric)
        display = BlendCurveDisplay(
            curve.change_points,
            curve.values,
            alpha=curve.alpha,
            metric_name=name_of_metric(metric),
            names=(f"1 ({names[0]})", f"2 ({names[1]})"),
        )
        title = "The metric of all blends"
        parts.append(html.picture(title, (6.4, 3.4), display.plot))
    return "\n".join(parts)


def bias_part(subject: Subject) -> str:
    """Return the learned bias of positions in clicks, "" where there is none."""
    from sklearn_ltr.plotting import PropensityCurveDisplay

    model = subject.model
    if not hasattr(model, "position_bias_"):
        return ""
    bias = np.atleast_2d(model.position_bias_)
    names = ["bias"] if len(bias) == 1 else ["t+ (clicked)", "t- (not clicked)"]
    numbers = html.table(
        ["position (0 is shown first)", *names],
        [
            [position, *(f"{value:.4g}" for value in values)]
            for position, values in enumerate(bias.T[:MOST_COLUMNS])
        ],
    )
    picture = html.picture(
        "The learned bias of positions",
        (6.4, 3.4),
        lambda ax: PropensityCurveDisplay.from_estimator(model, ax=ax),
    )
    title = html.heading("Position bias learned from clicks")
    return title + "\n" + html.details(picture, numbers)


def curves_section(subject: Subject) -> str:
    """Return the scores that training has recorded."""
    from sklearn_ltr.plotting import TrainingCurveDisplay
    from sklearn_ltr.plotting._training_curve import read_record

    title = "Training curves"
    try:
        display = TrainingCurveDisplay(**read_record(subject.model))
    except TypeError:  # a bag, a blend or a regressor
        text = f"{subject.name} records no scores of rankings in its training."
        return html.section(title, html.paragraph(text))
    except ValueError as error:  # nothing was recorded; the message says what to set
        return html.section(title, html.paragraph(f"{error}."))
    measures = {name for set_curves in display.curves.values() for name in set_curves}
    name, steps = display.step_name, display.steps
    header, places = [f"{name} {steps[0]}", f"{name} {steps[-1]}"], [0, -1]
    if display.kept is not None:
        header.append(f"{name} {display.kept}, kept")
        places.append(display.kept - display.first_step)
    rows = [
        [f"{set_name}, {measure}", *(f"{value:.4f}" for value in values[places])]
        for set_name, set_curves in display.curves.items()
        for measure, values in set_curves.items()
    ]
    numbers = html.table(["set, measure", *header], rows)
    picture = html.picture(
        "Scores after each step of the training",
        (6.4, 1.0 + 2.4 * len(measures)),
        display.plot,
        n_panels=len(measures),
    )
    return html.section(title, html.details(picture, numbers))


# --- what it has learned --------------------------------------------------------------


@dataclass(frozen=True)
class Effects:
    """How much each feature of the model counts, and the order of the features."""

    names: Sequence[str]  # (n_features,)
    gain: FloatArray | None  # (n_features,) share of the gain of all splits
    # (n_features,) mean size of the SHAP values less the mean of their query, and the
    # values of the sample that it was computed from
    effect: FloatArray | None
    shap: ShapValues | None
    n_queries: int  # of the sample
    why_not: str = ""  # there are no SHAP values

    @property
    def order(self) -> IntArray:
        """The features, the most important first."""
        key = self.gain if self.effect is None else self.effect
        assert key is not None
        return np.argsort(-key, kind="stable")


def describe_features(
    subject: Subject, random: np.random.RandomState
) -> Effects | None:
    """Return what importances and SHAP values say, None for a model with neither."""
    from sklearn_ltr.plotting._arguments import read_item_names

    model = subject.model
    gain = getattr(model, "feature_importances_", None)
    queries = subject.queries
    drawn = sample_queries(queries.sizes, random)
    documents = np.concatenate(
        [np.arange(queries.offsets[q], queries.offsets[q + 1]) for q in drawn]
    )
    X = index_rows(subject.X, queries.order[documents])
    try:
        shap = shap_values(subject.estimator, X)
    except (TypeError, ValueError) as error:  # no trees, or none to be explained
        if gain is None:
            return None
        _, names = find_model(subject.estimator)
        names = list(map(str, read_item_names(names, len(gain))))
        return Effects(names, gain, None, None, 0, f"{error}.")
    sizes = queries.sizes[drawn]
    starts = np.append(0, np.cumsum(sizes)[:-1])
    means = np.add.reduceat(shap.values, starts, axis=0) / sizes[:, np.newaxis]
    effect = np.abs(shap.values - np.repeat(means, sizes, axis=0)).mean(axis=0)
    return Effects(shap.feature_names, gain, effect, shap, len(drawn))


def sample_queries(sizes: IntArray, random: np.random.RandomState) -> IntArray:
    """Return queries of at most MOST_EXPLAINED documents, ascending; at least one."""
    if sizes.sum() <= MOST_EXPLAINED:
        return np.arange(len(sizes))
    drawn = random.permutation(len(sizes))
    n = np.count_nonzero(np.cumsum(sizes[drawn]) <= MOST_EXPLAINED)
    return np.sort(drawn[: max(1, n)])


def features_sections(subject: Subject, effects: Effects | None) -> list[str]:
    """Return the section of importances, and that of SHAP values."""
    if effects is None:
        text = (
            f"{subject.name} has no importances and no SHAP values of its own. "
            "sklearn.inspection.permutation_importance measures how much it depends on "
            "each feature, and shap.PermutationExplainer explains its scores."
        )
        title = "Feature importances and SHAP values"
        return [html.section(title, html.paragraph(text))]
    sections = []
    if effects.gain is not None:
        measure = "share of the gain of all splits"
        order = np.argsort(-effects.gain, kind="stable")[:MOST_COLUMNS]
        rows = [[effects.names[j], f"{effects.gain[j]:.4g}"] for j in order]
        picture = features_picture(effects.names, effects.gain, measure)
        numbers = html.details(picture, html.table(["feature", measure], rows))
        sections.append(html.section("Feature importances", numbers))
    if effects.shap is not None:
        sections.append(shap_section(effects))
    else:
        text = html.paragraph(f"Left out: {effects.why_not}")
        sections.append(html.section("SHAP values", text))
    return sections


def features_picture(names: Sequence[str], values: FloatArray, measure: str) -> str:
    """Return the picture of features by descending values."""
    from sklearn_ltr.plotting import FeatureImportancesDisplay

    display = FeatureImportancesDisplay(
        values, feature_names=list(names), importance_name=measure
    )
    return html.picture(
        f"Features by {measure}",
        (6.4, 1.0 + 0.24 * min(MOST_COLUMNS, max(4, len(names)))),
        lambda ax: display.plot(ax, n_features=MOST_COLUMNS),
    )


def shap_section(effects: Effects) -> str:
    """Return the mean size of the SHAP values, and their sign by the feature."""
    assert effects.shap is not None
    assert effects.effect is not None
    n_documents = len(effects.shap.values)
    text = (
        f"Of {n_documents:,} documents of {counted(effects.n_queries, 'query')}. A "
        "SHAP value is what a feature adds to the score of a document; from each, the "
        "mean of its query is subtracted, since only differences within a query "
        "change the ranking."
    )
    directions = [
        [effects.names[j], f"{effects.effect[j]:.4g}", direction(effects.shap, j)]
        for j in effects.order[:MOST_COLUMNS]
    ]
    note = (
        "The correlation (Spearman) of a feature and its SHAP values: near +1, higher "
        "values of the feature raise the score; near -1, they lower it; near 0, they "
        "do both."
    )
    measure = "mean |SHAP value|"
    return html.section(
        "SHAP values",
        html.paragraph(text),
        features_picture(
            effects.names, effects.effect, f"{measure}, less the mean of its query"
        ),
        html.heading("Do higher values raise the score?"),
        html.paragraph(note),
        html.table(["feature", measure, "correlation"], directions),
    )


def direction(shap: ShapValues, feature: int) -> str:
    """Return the rank correlation of a feature and its SHAP values."""
    column = column_of(shap.X, feature)
    if isinstance(column, CodedColumn):
        return "categories"
    known = ~np.isnan(column.values)
    if not known.any():
        return "missing"
    x, y = column.values[known], shap.values[known, feature]
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return "constant"
    return f"{spearmanr(x, y).statistic:+.2f}"


# --- data -----------------------------------------------------------------------------


def data_section(subject: Subject, effects: Effects | None) -> str:
    """Return the grades, the lengths of the lists, and the columns of X."""
    sizes = subject.queries.sizes
    no_relevant = int(np.count_nonzero(~subject.has_relevant))
    grades, counts = np.unique(subject.grades, return_counts=True)
    lengths = html.table(
        ["", "fewest", "median", "most"],
        [["documents of a query", sizes.min(), f"{np.median(sizes):g}", sizes.max()]],
    )
    if len(grades) <= MOST_GRADES:
        grade_table = html.table(
            ["grade", "documents", "share"],
            [
                [f"{grade:g}", f"{count:,}", f"{count / len(subject.grades):.1%}"]
                for grade, count in zip(grades, counts, strict=True)
            ],
        )
    else:
        grade_table = html.table(
            ["", "lowest", "median", "highest"],
            [["grade", *(f"{g:.4g}" for g in quartiles(subject.grades))]],
        )
    return html.section(
        "Data",
        html.row(grade_table, lengths),
        html.paragraph(
            f"{counted(no_relevant, 'query')} without a relevant document (a grade "
            "above 0)."
        ),
        columns_part(subject, effects),
    )


def columns_part(subject: Subject, effects: Effects | None) -> str:
    """Return what the columns of X hold, the most important ones."""
    X, names = named_table(subject.X, "X")
    n_columns = len(names)
    order: Sequence[int] = range(n_columns)
    # importances are those of the columns unless a Pipeline makes features of them
    if effects is not None and not transformers_in(subject.estimator):
        order = [int(j) for j in effects.order]
        names = list(effects.names)
    numbers, categories = [], []
    for j in order[:MOST_COLUMNS]:
        column = column_of(X, j)
        if isinstance(column, NumberColumn):
            known = column.values[~np.isnan(column.values)]
            missing = 1 - len(known) / len(column.values)
            spread = [f"{v:.4g}" for v in quartiles(known)] if len(known) else [""] * 3
            numbers.append([names[j], f"{missing:.1%}", *spread])
        else:
            counts = np.bincount(column.codes[column.codes >= 0], minlength=1)
            most = column.labels[int(np.argmax(counts))] if column.labels else ""
            missing = float(np.mean(column.codes < 0))
            n_known = np.count_nonzero(counts)
            categories.append([names[j], f"{missing:.1%}", n_known, most])
    parts = [html.heading(f"Columns{of_all(n_columns)}")]
    if numbers:
        header = ["column", "missing", "lowest", "median", "highest"]
        parts.append(html.table(header, numbers))
    if categories:
        header = ["column", "missing", "categories", "most frequent"]
        parts.append(html.table(header, categories))
    return "\n".join(parts)


def value_in(column: NumberColumn | CodedColumn, row: int) -> str:
    """Return what a column holds in a row, in a few characters."""
    if isinstance(column, NumberColumn):
        return f"{column.values[row]:.4g}"
    code = column.codes[row]
    return "" if code < 0 else str(column.labels[code])


# --- drift ----------------------------------------------------------------------------


def drift_section(columns: dict[str, Drift] | None, scores: Drift | None) -> str:
    """Return how far the scores and the columns have moved; "" without a reference."""
    if columns is None or scores is None:
        return ""
    n_before, n_now = int(scores.before.sum()), int(scores.now.sum())
    text = (
        f"{n_now:,} documents of this report, {n_before:,} of the reference. The "
        "population stability index (PSI) is 0 if all bins of a column have the shares "
        "of the reference. From 0.1 on it is usual to look, and from 0.25 on to train "
        "again. By chance: without drift, 95% of all samples are below it."
    )
    names = sorted(columns, key=lambda name: -columns[name].psi)
    listed = {"the scores": scores} | {n: columns[n] for n in names[:MOST_COLUMNS]}
    rows = [
        [
            name,
            f"{drift.psi:.4f}",
            f"{drift.by_chance:.4f}",
            "yes" if drift.psi > drift.by_chance else "no",
        ]
        for name, drift in listed.items()
    ]
    header = [f"column{of_all(len(names))}", "PSI", "by chance", "above chance"]
    first = names[0]
    return html.section(
        "Drift",
        html.paragraph(text),
        html.details(
            features_picture(
                names,
                np.array([columns[name].psi for name in names]),
                "population stability index",
            ),
            html.table(header, rows),
        ),
        html.row(
            html.heading("Shares of the scores") + shares(scores, n_before, n_now),
            html.heading(f"Shares of {first}, which has moved most")
            + shares(columns[first], n_before, n_now),
        ),
    )


def shares(drift: Drift, n_before: int, n_now: int) -> str:
    """Return the table of the shares of documents in each bin."""
    shares = zip(drift.bins, drift.before / n_before, drift.now / n_now, strict=True)
    rows = [[name, f"{before:.1%}", f"{now:.1%}"] for name, before, now in shares]
    return html.table(["bin", "reference", "now"], rows)


# --- words ----------------------------------------------------------------------------


def with_error(value: float, error: float) -> str:
    """Return a mean and its standard error, which a single query does not have."""
    return f"{value:.4f}" if np.isnan(error) else f"{value:.4f} ± {error:.4f}"


def counted(n: int, noun: str) -> str:
    """Return a number of queries with the noun: "1 query", "2 queries"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun.removesuffix('y')}ies"


def of_all(n_columns: int) -> str:
    """Return how many columns are shown, "" if all are."""
    return "" if n_columns <= MOST_COLUMNS else f", {MOST_COLUMNS} of {n_columns}"


def quartiles(values: FloatArray) -> FloatArray:
    """Return the lowest value, the median and the highest."""
    return np.array([values.min(), np.median(values), values.max()])


def is_default(value: object, default: object) -> bool:
    """Return whether a parameter has its default."""
    if isinstance(value, Number) and isinstance(default, Number):
        return bool(value == default)
    return in_words(value) == in_words(default)


def in_words(value: object) -> str:
    """Return the value of a parameter, the same in every run."""
    if value is inspect.Parameter.empty:
        return "none, it must be given"
    if inspect.isroutine(value):
        return value.__qualname__
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", shown(value))
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
