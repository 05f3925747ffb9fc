"""Plot of the differences between two rankers, query by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.plotting._arguments import read_names
from sklearn_ltr.plotting._axes import check_matplotlib, get_axes, style_axes
from sklearn_ltr.plotting._difference_bars import (
    draw_counts,
    draw_differences,
    draw_mean,
    label_axes,
)
from sklearn_ltr.plotting._labels import name_of_metric
from sklearn_ltr.plotting._query_differences import (
    compute_differences,
    evaluate_queries,
)

FloatArray = NDArray[np.float64]


class QueryComparisonDisplay:
    r"""Difference of a metric between ranker b and ranker a, query by query.

    With :math:`d_q = M_q(b) - M_q(a)` the difference of a metric on query q, the bars
    show the differences in ascending order: from the greatest loss of b to its greatest
    gain.  The title has their mean over n queries and its standard error,

    .. math::

        \bar{d} = \frac{1}{n} \sum_q d_q, \qquad
        \text{SE}^2 = \frac{1}{n (n - 1)} \sum_q (d_q - \bar{d})^2,

    which is that of a paired test: queries that are hard for both rankers do not
    increase it.

    :meth:`from_estimators` and :meth:`from_predictions` compute the values and draw.

    Parameters
    ----------
    values_a, values_b : array-like of shape (n_queries,)
        Value of the metric on each query, finite, higher is better; as from
        :meth:`~sklearn_ltr.metrics.Metric.per_query`.
    queries : array-like of shape (n_queries,), default=None
        Labels of the queries.  None: 0 to n_queries - 1.
    weights : array-like of shape (n_queries,), default=None
        Weight of each query in the mean, >= 0.  None: 1 for all.
    names : tuple of two str, default=("a", "b")
        Names of the rankers.
    metric_name : str, default="metric"
        Name of the metric.

    Attributes
    ----------
    queries : ndarray of shape (n_queries,)
        Labels of the queries, from the greatest loss of b to its greatest gain:
        ``display.queries[:5]`` are the five worst for b.
    differences : ndarray of shape (n_queries,), float64
        Value of b minus value of a, in this order.
    values_a, values_b, weights : ndarrays of shape (n_queries,), float64
        Values and weights of the queries, in this order.
    n_won, n_lost, n_tied : int
        Number of queries on which b is better than a, worse, and equal up to rounding.
    mean_difference : float
        Weighted mean of the differences.
    standard_error : float
        Standard error of that mean; NaN for a single query.
    bars_ : matplotlib PolyCollection
        The differences, in this order.
    mean_line_ : matplotlib Line2D
        The line at the mean difference.
    legend_ : matplotlib Legend
        Numbers of queries won, lost and tied by b.
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        The figure of the axes.

    Raises
    ------
    ValueError
        If the values or weights are not one finite number per query, there is not one
        label per query, a weight is negative or all are zero, there are no queries, or
        the names are not two different ones.

    Notes
    -----
    With many independent queries, a mean more than two standard errors from zero is
    significant at about 5%.  With weights w that sum to 1,
    :math:`\text{SE}^2 = \frac{n}{n - 1} \sum_q w_q^2 (d_q - \bar{d})^2`.

    Examples
    --------
    >>> from sklearn_ltr.plotting import QueryComparisonDisplay
    >>> display = QueryComparisonDisplay(
    ...     [0.2, 0.9, 0.5, 0.4], [0.6, 0.8, 0.5, 0.5], queries=["q1", "q2", "q3", "q4"]
    ... )
    >>> display.queries.tolist(), display.differences.round(3).tolist()
    (['q2', 'q3', 'q4', 'q1'], [-0.1, 0.0, 0.1, 0.4])
    >>> display.n_won, display.n_lost, display.n_tied
    (2, 1, 1)
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        values_a: Any,
        values_b: Any,
        *,
        queries: Any = None,
        weights: Any = None,
        names: Sequence[str] = ("a", "b"),
        metric_name: str = "metric",
    ) -> None:
        result = compute_differences(values_a, values_b, queries, weights)
        self.names, self.metric_name = read_names(names), metric_name
        self.queries: NDArray[Any] = result.queries
        self.differences: FloatArray = result.differences
        self.values_a: FloatArray = result.values_a
        self.values_b: FloatArray = result.values_b
        self.weights: FloatArray = result.weights
        self.n_won, self.n_lost, self.n_tied = (
            result.n_won,
            result.n_lost,
            result.n_tied,
        )
        self.mean_difference = result.mean_difference
        self.standard_error = result.standard_error
        self._result = result

    @classmethod
    def from_estimators(
        cls,
        estimator_a: Any,
        estimator_b: Any,
        X: Any,
        y: Any,
        *,
        groups: Any,
        metric: str | Metric = "ndcg@10",
        sample_weight: Any = None,
        names: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> QueryComparisonDisplay:
        """Draw the differences between two fitted rankers.

        Parameters
        ----------
        estimator_a, estimator_b : estimator instances
            Fitted; their `predict` returns scores, higher is ranked first.  Rankers,
            Pipelines that end in one, or regressors.
        X : array-like of shape (n_documents, n_features)
        y : array-like of shape (n_documents,)
            Grades, finite and >= 0.
        groups, metric, sample_weight, ax, **kwargs
            As in :meth:`from_predictions`.
        names : tuple of two str, default=None
            Names of the rankers.  None: their classes.

        Returns
        -------
        display : QueryComparisonDisplay

        Raises
        ------
        ImportError, ValueError, TypeError
            As in :meth:`from_predictions`.
        """
        check_matplotlib(f"{cls.__name__}.from_estimators")
        if names is None:
            names = [type(ranker).__name__ for ranker in (estimator_a, estimator_b)]
            if names[0] == names[1]:
                names = [f"{names[0]} a", f"{names[1]} b"]
        return cls.from_predictions(
            y,
            estimator_a.predict(X),
            estimator_b.predict(X),
            groups=groups,
            metric=metric,
            sample_weight=sample_weight,
            names=names,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score_a: Any,
        y_score_b: Any,
        *,
        groups: Any,
        metric: str | Metric = "ndcg@10",
        sample_weight: Any = None,
        names: Sequence[str] = ("a", "b"),
        ax: Any = None,
        **kwargs: Any,
    ) -> QueryComparisonDisplay:
        """Draw the differences between the scores of two rankers.

        Parameters
        ----------
        y_true : array-like of shape (n_documents,)
            Grades, finite and >= 0.
        y_score_a, y_score_b : array-like of shape (n_documents,)
            Scores of the two rankers, finite; higher is ranked first.
        groups : array-like of shape (n_documents,)
            The query of each document: any sortable values, in any row order.
        metric : str or Metric, default="ndcg@10"
            A name or a metric object.  Queries without a relevant document are left out
            if its ``no_relevant`` is "skip"; otherwise they are ties.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the mean, constant within it.
        names : tuple of two str, default=("a", "b")
            Names of the rankers.
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : QueryComparisonDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            For an unknown metric, names that are not two different ones, or grades,
            scores, groups or weights that the metric refuses.
        TypeError
            If `metric` is neither a name nor a metric object.
        """
        check_matplotlib(f"{cls.__name__}.from_predictions")
        metric = get_metric(metric)
        values = evaluate_queries(
            metric, y_true, y_score_a, y_score_b, groups, sample_weight
        )
        return cls(
            **values._asdict(),
            names=names,
            metric_name=name_of_metric(metric),
        ).plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, bar_kwargs: Mapping[str, Any] | None = None
    ) -> QueryComparisonDisplay:
        """Draw the sorted differences.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        bar_kwargs : dict, default=None
            Keyword arguments of matplotlib's `PolyCollection`.

        Returns
        -------
        display : QueryComparisonDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = get_axes(f"{type(self).__name__}.plot", ax, (6.4, 4.2))
        self.ax_, self.figure_ = ax, ax.figure
        style_axes(ax, grid="y")
        self.bars_ = draw_differences(ax, self.differences, bar_kwargs or {})
        self.mean_line_ = draw_mean(ax, self.mean_difference, self.standard_error)
        label_axes(ax, self._result, self.names, self.metric_name)
        self.legend_ = draw_counts(ax, self._result, self.mean_line_)
        return self
