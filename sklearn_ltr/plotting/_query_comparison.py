"""Two rankers, query by query: what one gains or loses against the other.

difference of query q  =  metric of b on q  -  metric of a on q
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._queries import check_grades, check_sample_weight, check_scores
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.plotting._arguments import (
    as_objects,
    read_names,
    read_numbers,
    read_queries,
)
from sklearn_ltr.plotting._axes import (
    axes_to_draw_on,
    check_matplotlib,
    draw_legend,
    make_plain,
)
from sklearn_ltr.plotting._differences import (
    LOST,
    MOST_APART,
    TIED,
    WON,
    draw_differences,
    draw_mean,
)
from sklearn_ltr.plotting._labels import as_written, name_of_metric
from sklearn_ltr.plotting._mean import mean_and_standard_error

FloatArray = NDArray[np.float64]

ROUNDING = 1e-12  # relative: two sums of the same numbers in another order
LONGEST_LABEL = 24  # characters


class QueryComparisonDisplay:
    r"""Gain or loss of ranker b against ranker a, query by query.

    With :math:`d_q = M_q(b) - M_q(a)` the difference of a metric on query q, the bars
    are the differences, from the greatest loss to the greatest gain.  The title has
    their mean over n queries and its standard error,

    .. math::

        \bar{d} = \frac{1}{n} \sum_q d_q, \qquad
        \text{SE}^2 = \frac{1}{n (n - 1)} \sum_q (d_q - \bar{d})^2,

    a paired one: what makes a query hard for both rankers is not in it.

    :meth:`from_estimators` and :meth:`from_predictions` compute the values and draw.

    Parameters
    ----------
    values_a, values_b : array-like of shape (n_queries,)
        Value of the metric on each query, finite, higher is better; as from
        :meth:`~sklearn_ltr.metrics.Metric.per_query`.
    queries : array-like of shape (n_queries,), default=None
        What the queries are called; None: 0 to n_queries - 1.
    weights : array-like of shape (n_queries,), default=None
        Weight of each query in the mean, >= 0; None: each counts once.
    names : tuple of two str, default=("a", "b")
        What the rankers are called.
    metric_name : str, default="metric"
        What the metric is called.

    Attributes
    ----------
    queries : ndarray of shape (n_queries,)
        What the queries are called, from the greatest loss to the greatest gain of b:
        ``display.queries[:5]`` are the five to look at.
    differences : ndarray of shape (n_queries,), float64
        Of these queries, in this order, value of b minus value of a.
    values_a, values_b, weights : ndarrays of shape (n_queries,), float64
        Of these queries, in this order.
    n_won, n_lost, n_tied : int
        Number of queries on which b is better, worse, and equal to a (but for
        rounding).
    mean_difference : float
        Weighted mean of the differences.
    standard_error : float
        Of that mean; NaN for a single query.
    bars_ : matplotlib PolyCollection
        The differences, in this order.
    mean_line_ : matplotlib Line2D
        At the mean difference.
    legend_ : matplotlib Legend
        How many queries were won, lost and tied.
    ax_ : matplotlib Axes
        What the picture is on.
    figure_ : matplotlib Figure
        What the axes are on.

    Raises
    ------
    ValueError
        For values that are not one finite number per query, other numbers of queries or
        weights, weights that are negative or all zero, no queries, or not two names.

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
        a = read_numbers(values_a, "values_a", "query")
        n = len(a)
        b = read_numbers(values_b, "values_b", "query", n)
        weights = np.ones(n) if weights is None else weights
        w = read_numbers(weights, "weights", "query", n)
        if (w < 0).any() or not w.any():
            raise ValueError(f"weights must be >= 0, and one of them above, got {w}")
        labels = as_objects(np.arange(n) if queries is None else queries)
        if len(labels) != n:
            raise ValueError(f"queries has {len(labels)} names for {n} queries")
        self.names, self.metric_name = read_names(names), metric_name
        tied = np.abs(b - a) <= ROUNDING * np.maximum(np.abs(a), np.abs(b))
        differences = np.where(tied, 0.0, b - a)
        order = np.argsort(differences, kind="stable")
        self.queries, self.differences = labels[order], differences[order]
        self.values_a, self.values_b, self.weights = a[order], b[order], w[order]
        self.n_won = int(np.count_nonzero(differences > 0))
        self.n_lost = int(np.count_nonzero(differences < 0))
        self.n_tied = int(np.count_nonzero(tied))
        self.mean_difference, self.standard_error = mean_and_standard_error(
            differences, w
        )

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
        """Draw the gains and losses of one fitted ranker against another.

        Parameters
        ----------
        estimator_a, estimator_b : estimator instances
            Fitted; their `predict` gives scores, higher is ranked first.  Rankers,
            Pipelines that end in one, regressors.
        X : array-like of shape (n_documents, n_features)
        y : array-like of shape (n_documents,)
            Grades, finite and >= 0.
        groups, metric, sample_weight, ax, **kwargs
            As in :meth:`from_predictions`.
        names : tuple of two str, default=None
            What the rankers are called; None: their classes.

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
        """Draw the gains and losses of one ranker's scores against another's.

        Parameters
        ----------
        y_true : array-like of shape (n_documents,)
            Grades, finite and >= 0.
        y_score_a, y_score_b : array-like of shape (n_documents,)
            Scores of the two rankers, finite; higher is ranked first.
        groups : array-like of shape (n_documents,)
            The query of each document: any hashable values, in any row order.
        metric : str or Metric, default="ndcg@10"
            A name or a metric object.  Queries that its ``no_relevant="skip"`` leaves
            out are not compared; with another rule they are, and tie.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the mean, constant within it.
        names : tuple of two str, default=("a", "b")
            What the rankers are called.
        ax : matplotlib Axes, default=None
            Where to draw; None: on the axes of a new figure.
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
            For an unknown metric, not two names, or grades, scores, groups or weights
            that the metric refuses.
        TypeError
            If `metric` is neither a name nor a metric object.
        """
        check_matplotlib(f"{cls.__name__}.from_predictions")
        metric = get_metric(metric)
        queries = read_queries(y_true, groups)
        grades = check_grades(y_true, queries, "y_true")
        weights = check_sample_weight(sample_weight, queries)
        bound = metric.bind(grades, queries.offsets, queries.labels)
        a = bound.values(check_scores(y_score_a, queries, "y_score_a"))
        b = bound.values(check_scores(y_score_b, queries, "y_score_b"))
        counts = ~np.isnan(a)
        if not weights[counts].any():
            raise ValueError(
                f'{metric.name} has no query to compare: no_relevant="skip" left out '
                "all that have a weight above zero"
            )
        return cls(
            a[counts],
            b[counts],
            queries=as_objects(queries.labels)[counts],
            weights=weights[counts],
            names=names,
            metric_name=name_of_metric(metric),
        ).plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, bar_kwargs: Mapping[str, Any] | None = None
    ) -> QueryComparisonDisplay:
        """Draw the differences, sorted.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: on the axes of a new figure.
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
        ax = axes_to_draw_on(f"{type(self).__name__}.plot", ax, (6.4, 4.2))
        self.ax_, self.figure_ = ax, ax.figure
        make_plain(ax, grid="y")
        self.bars_ = draw_differences(ax, self.differences, bar_kwargs or {})
        self.mean_line_ = draw_mean(ax, self.mean_difference, self.standard_error)
        self._label()
        return self

    def _label(self) -> None:
        """Write what is what."""
        ax, n = self.ax_, len(self.queries)
        a, b = self.names
        mean = f"mean {self.mean_difference:+.4f}"
        if not np.isnan(self.standard_error):
            mean += f", standard error {self.standard_error:.4f}"
        ax.set_title(f"{b} − {a}\n{mean}")
        ax.set_ylabel(f"difference in {self.metric_name}")
        ax.set_xlim(0.5, n + 0.5)
        if n <= MOST_APART:
            labels = [as_written(query, LONGEST_LABEL) for query in self.queries]
            ax.set_xticks(np.arange(1, n + 1), labels, rotation=90, fontsize="small")
            ax.set_xlabel("query")
        else:
            ax.set_xlabel(f"{n} queries, from greatest loss to greatest gain")
        above = self.differences[-1] >= -self.differences[0]
        corner = "upper left" if above else "lower right"  # where there are no bars
        self.legend_ = draw_legend(ax, *self._legend_entries(), loc=corner)

    def _legend_entries(self) -> tuple[list[Any], list[str]]:
        from matplotlib.patches import Patch

        counts = {WON: self.n_won, LOST: self.n_lost, TIED: self.n_tied}
        what = ("won", "lost", "tied")
        texts = [f"{n} {how}" for n, how in zip(counts.values(), what, strict=True)]
        patches = [Patch(color=color) for color in counts]
        mean = "mean" if np.isnan(self.standard_error) else "mean ± standard error"
        return [*patches, self.mean_line_], [*texts, mean]
