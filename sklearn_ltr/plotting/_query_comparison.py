"""Plot of the differences between two rankers, query by query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from sklearn_ltr._core.data import QueryIds, as_array
from sklearn_ltr._core.typing import FloatArray, IdsLike, MatrixLike
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.model_selection._comparison import (
    differences_of,
    mean_and_standard_error,
    query_values,
)
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import predicted_scores, read_items, read_names
from sklearn_ltr.plotting._colors import BETTER, EQUAL, WORSE
from sklearn_ltr.plotting._display import Axes, Display, complete_display

# With more bars than this, they have no gaps between them and no labels.
MAX_SEPARATE_BARS = 40


@complete_display
class QueryComparisonDisplay(Display):
    r"""Difference of a metric between ranker b and ranker a, query by query.

    With :math:`d_q = M_q(b) - M_q(a)` the difference of a metric on query q, the bars
    show the differences in ascending order: from the greatest loss of b to its greatest
    gain.  Queries that b won are teal, those that it lost brown.  The title has the
    mean of the differences over n queries and its standard error,

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
    {metric_name}

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
    {ax_} {figure_}

    Raises
    ------
    ValueError
        If the values or weights are not one finite number per query, there is not one
        label per query, a weight is negative or all are zero, there are no queries, or
        the names are not two different ones.

    See Also
    --------
    sklearn_ltr.model_selection.compare_rankers : Intervals, tests, and how many queries
        it takes.

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
        values_a: ArrayLike,
        values_b: ArrayLike,
        *,
        queries: QueryIds | None = None,
        weights: ArrayLike | None = None,
        names: Sequence[str] = ("a", "b"),
        metric_name: str = "metric",
    ) -> None:
        a = read_items(values_a, "values_a", "query")
        n = len(a)
        b = read_items(values_b, "values_b", "query", n)
        weights = np.ones(n) if weights is None else weights
        w = read_items(weights, "weights", "query", n)
        if (w < 0).any() or not w.any():
            raise ValueError(f"weights must be >= 0, and at least one > 0, got {w}")
        labels = np.arange(n) if queries is None else as_array(queries)
        if len(labels) != n:
            raise ValueError(
                f"queries has {len(labels)} names for {n} queries: give one for each"
            )
        self.names, self.metric_name = read_names(names), metric_name
        differences = differences_of(a, b)
        self.mean_difference, self.standard_error = mean_and_standard_error(
            differences, w
        )
        order = np.argsort(differences, kind="stable")
        self.queries: NDArray[Any] = labels[order]
        self.differences: FloatArray = differences[order]
        self.values_a: FloatArray = a[order]
        self.values_b: FloatArray = b[order]
        self.weights: FloatArray = w[order]
        self.n_won = int(np.count_nonzero(differences > 0))
        self.n_lost = int(np.count_nonzero(differences < 0))
        self.n_tied = int(np.count_nonzero(differences == 0))

    @classmethod
    def from_estimators(
        cls,
        estimator_a: BaseEstimator,
        estimator_b: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike,
        metric: str | Metric = "ndcg@10",
        sample_weight: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> QueryComparisonDisplay:
        """Draw the differences between two fitted rankers.

        Parameters
        ----------
        estimator_a, estimator_b : estimator instances
            Fitted; their `predict` returns scores, higher is ranked first.  Rankers,
            Pipelines that end in one, or regressors.
        {X} {y}
        groups, metric, sample_weight, ax, **kwargs
            As in :meth:`from_predictions`.
        names : tuple of two str, default=None
            Names of the rankers.  None: their classes.

        Raises
        ------
        ImportError, ValueError, TypeError
            As in :meth:`from_predictions`.
        """
        if names is None:
            names = [type(ranker).__name__ for ranker in (estimator_a, estimator_b)]
            if names[0] == names[1]:
                names = [f"{names[0]} a", f"{names[1]} b"]
        return cls.from_predictions(
            y,
            predicted_scores(estimator_a, X, "estimator_a"),
            predicted_scores(estimator_b, X, "estimator_b"),
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
        y_true: ArrayLike,
        y_score_a: ArrayLike,
        y_score_b: ArrayLike,
        *,
        groups: IdsLike,
        metric: str | Metric = "ndcg@10",
        sample_weight: ArrayLike | None = None,
        names: Sequence[str] = ("a", "b"),
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> QueryComparisonDisplay:
        """Draw the differences between the scores of two rankers.

        Parameters
        ----------
        {y_true}
        y_score_a, y_score_b : array-like of shape (n_documents,)
            Scores of the two rankers, finite; higher is ranked first.
        {groups}
        metric : str or Metric, default="ndcg@10"
            A name or a metric object.  Queries without a relevant document are left out
            if its ``no_relevant`` is "skip"; otherwise they are ties.
        {sample_weight} {names} {ax} {kwargs}

        Raises
        ------
        {ImportError}
        ValueError
            For an unknown metric, names that are not two different ones, or grades,
            scores, groups or weights that the metric refuses.
        TypeError
            If `metric` is neither a name nor a metric object.
        """
        metric = get_metric(metric)
        scores = {"y_score_a": y_score_a, "y_score_b": y_score_b}
        compared = query_values(
            metric, y_true, scores, groups, sample_weight, y_name="y_true"
        )
        return cls(
            *compared.values,
            queries=compared.queries,
            weights=compared.weights,
            names=names,
            metric_name=axes.name_of_metric(metric),
        ).plot(ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, bar_kwargs: axes.Style | None = None
    ) -> QueryComparisonDisplay:
        """Draw the sorted differences.

        Parameters
        ----------
        {ax}
        bar_kwargs : dict, default=None
            Keyword arguments of matplotlib's `PolyCollection`.

        Raises
        ------
        {ImportError}
        """
        ax = self._set_axes(ax, grid="y")
        from matplotlib.collections import PolyCollection
        from matplotlib.patches import Patch

        # a bar for each difference, at x = 1, 2, ...: all are one artist, which is fast
        # for thousands of them
        n, differences = len(self.queries), self.differences
        half = 0.4 if n <= MAX_SEPARATE_BARS else 0.5
        corners = (-half, 0), (-half, 1), (half, 1), (half, 0)
        center = np.arange(1, n + 1)
        bars = [np.column_stack([center + x, differences * y]) for x, y in corners]
        style = axes.read_style(
            bar_kwargs,
            facecolors=np.where(differences > 0, BETTER, WORSE),
            linewidths=0,
            antialiaseds=False,  # with it, thin gaps show between adjacent bars
            zorder=2,
        )
        self.bars_ = PolyCollection(list(np.stack(bars, axis=1)), **style)
        ax.add_collection(self.bars_)
        ax.autoscale_view()
        tied = center[differences == 0]
        if len(tied):
            ax.hlines(0, tied[0] - half, tied[-1] + half, color=EQUAL, linewidth=3)

        mean, mean_label = f"mean {self.mean_difference:+.4f}", "mean"
        if not np.isnan(self.standard_error):
            mean += f", standard error {self.standard_error:.4f}"
            mean_label = "mean ± standard error"
            low, high = (
                self.mean_difference + side * self.standard_error for side in (-1, 1)
            )
            ax.axhspan(low, high, color="0.4", alpha=0.25, linewidth=0, zorder=3)
        dashes = {"color": "black", "linestyle": "--", "linewidth": 1}
        self.mean_line_ = ax.axhline(self.mean_difference, **dashes)
        names = " − ".join(map(axes.escape_label, reversed(self.names)))
        ax.set_title(axes.wrap_lines(f"{names}\n{mean}", "y"))
        ax.set_ylabel(f"difference in {self.metric_name}")
        ax.set_xlim(0.5, n + 0.5)
        if n <= MAX_SEPARATE_BARS:
            labels = [axes.short_label(query) for query in self.queries]
            ax.set_xticks(np.arange(1, n + 1), labels, rotation=90, fontsize="small")
            axes.fit_labels(ax.xaxis, n)
            ax.set_xlabel("query")
        else:
            ax.set_xlabel(f"{n} queries, from greatest loss to greatest gain")

        counts = {
            f"{self.n_won} won": BETTER,
            f"{self.n_lost} lost": WORSE,
            f"{self.n_tied} tied": EQUAL,
        }
        patches = [Patch(color=color) for color in counts.values()]
        # in the corner where there are no bars
        upper_left = differences[-1] >= -differences[0]
        self.legend_ = axes.draw_legend(
            ax,
            [*patches, self.mean_line_],
            [*counts, mean_label],
            loc="upper left" if upper_left else "lower right",
        )
        return self
