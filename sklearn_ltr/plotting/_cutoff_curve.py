"""Plot of a metric against its cutoff k, for one ranker or several.

curve(k)  =  mean over queries of metric@k,
band(k)   =  curve(k) +- its standard error
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.metrics import Metric
from sklearn_ltr.plotting._axes import (
    check_matplotlib,
    draw_legend,
    get_axes,
    read_style,
    style_axes,
    style_of_each,
)
from sklearn_ltr.plotting._cutoff_axis import draw_band, scale_cutoffs
from sklearn_ltr.plotting._cutoffs import (
    evaluate_cutoffs,
    read_curves,
    read_cutoffs,
    read_metric_without_cutoff,
)
from sklearn_ltr.plotting._estimators import name_each
from sklearn_ltr.plotting._labels import name_of_metric

IntArray = NDArray[np.int64]


class CutoffCurveDisplay:
    r"""Plot of a metric against its cutoff k, for one ranker or several.

    With :math:`M_q@k` the metric of query q at cutoff k, a curve is the mean over n
    queries, and its band is the mean plus and minus one standard error:

    .. math::

        \bar{M}(k) = \frac{1}{n} \sum_q M_q@k, \qquad
        \text{SE}(k)^2 = \frac{1}{n (n - 1)} \sum_q (M_q@k - \bar{M}(k))^2.

    :meth:`from_estimator` and :meth:`from_predictions` compute the curves and draw
    them.

    Parameters
    ----------
    k : array-like of shape (n_cutoffs,), increasing integers >= 1
        The cutoffs.
    means : dict of str to array-like of shape (n_cutoffs,)
        Mean of each ranker at each cutoff, by the name of the ranker.
    standard_errors : dict of str to array-like of shape (n_cutoffs,), default=None
        Standard errors of the means, by the same names; NaN where there is none.  None:
        no bands.
    metric_name : str, default="metric"
        Name of the metric, without its cutoff.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One for each ranker.
    bands_ : list of matplotlib FillBetweenPolyCollection
        One for each ranker; empty if no bands were drawn.
    legend_ : matplotlib Legend
        Names of all curves on the axes.
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        The figure of the axes.

    Raises
    ------
    ValueError
        If the cutoffs are not increasing integers >= 1, there are no means, the means
        or standard errors are not one number per cutoff, or their names differ.

    See Also
    --------
    QueryComparisonDisplay : Differences of two rankers, query by query.

    Notes
    -----
    The bands of two rankers may overlap although one is better on nearly every query,
    since queries that are hard for one tend to be hard for the other.
    :class:`QueryComparisonDisplay` shows the standard error of the difference.

    Examples
    --------
    >>> from sklearn_ltr.plotting import CutoffCurveDisplay
    >>> display = CutoffCurveDisplay(
    ...     k=[1, 2, 3], means={"mine": [0.5, 0.6, 0.6]}, metric_name="NDCG"
    ... )
    >>> display.means["mine"]
    array([0.5, 0.6, 0.6])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        k: Any,
        means: Mapping[str, Any],
        standard_errors: Mapping[str, Any] | None = None,
        metric_name: str = "metric",
    ) -> None:
        self.k: IntArray = read_cutoffs(k)
        self.means = read_curves(means, "means", len(self.k))
        self.standard_errors = None
        if standard_errors is not None:
            self.standard_errors = read_curves(
                standard_errors, "standard_errors", len(self.k), finite=False
            )
            if self.standard_errors.keys() != self.means.keys():
                raise ValueError(
                    f"standard_errors has the names {list(self.standard_errors)}, but "
                    f"means has {list(self.means)}"
                )
        self.metric_name = metric_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        groups: Any,
        metric: str | Metric = "ndcg",
        k: Any = range(1, 21),
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> CutoffCurveDisplay:
        """Draw the curve of a fitted ranker, or of several.

        Parameters
        ----------
        estimator : estimator instance, or dict of str to estimator instance
            Fitted; its `predict` returns scores, higher is ranked first.  A ranker, a
            Pipeline that ends in one, or a regressor; or several by name.
        X : array-like of shape (n_documents, n_features)
        y : array-like of shape (n_documents,)
            Grades, finite and >= 0.
        groups, metric, k, sample_weight, ax, **kwargs
            As in :meth:`from_predictions`.
        name : str, default=None
            Name of a single ranker in the legend.  None: its class.

        Returns
        -------
        display : CutoffCurveDisplay

        Raises
        ------
        ImportError, ValueError, TypeError
            As in :meth:`from_predictions`.
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        rankers = name_each(estimator, name, "estimator")
        return cls.from_predictions(
            y,
            {name: ranker.predict(X) for name, ranker in rankers.items()},
            groups=groups,
            metric=metric,
            k=k,
            sample_weight=sample_weight,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        groups: Any,
        metric: str | Metric = "ndcg",
        k: Any = range(1, 21),
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> CutoffCurveDisplay:
        """Draw the curve of a ranker's scores, or of several rankers'.

        Parameters
        ----------
        y_true : array-like of shape (n_documents,)
            Grades, finite and >= 0.
        y_score : array-like of shape (n_documents,), or dict of str to array-like
            Scores, finite; higher is ranked first.  Or those of several rankers, by
            name.
        groups : array-like of shape (n_documents,)
            The query of each document: any sortable values, in any row order.
        metric : str or Metric, default="ndcg"
            A name or a metric object, without a cutoff.
        k : array-like of increasing integers >= 1, default=range(1, 21)
            The cutoffs.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the means, constant within it.
        name : str, default=None
            Name of a single ranker in the legend.  None: "Ranker".
        ax : matplotlib Axes, default=None
            Axes to draw on; ``display.ax_`` adds to the plot of another display.  None:
            axes of a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : CutoffCurveDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            For a metric that has a cutoff, cutoffs that are not increasing integers
            >= 1, a `name` with a dict, or grades, scores, groups or weights that the
            metric refuses.
        TypeError
            If `metric` is neither a name nor a metric object.
        """
        check_matplotlib(f"{cls.__name__}.from_predictions")
        metric, cutoffs = read_metric_without_cutoff(metric), read_cutoffs(k)
        means, standard_errors = evaluate_cutoffs(
            metric, cutoffs, y_true, y_score, name, groups, sample_weight
        )
        return cls(
            k=cutoffs,
            means=means,
            standard_errors=standard_errors,
            metric_name=name_of_metric(metric),
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        band: bool = True,
        curve_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        band_kwargs: Mapping[str, Any] | None = None,
    ) -> CutoffCurveDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        band : bool, default=True
            Whether to draw standard errors, if there are any.
        curve_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `plot`, for all curves or one for each.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between`.

        Returns
        -------
        display : CutoffCurveDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `curve_kwargs` is a list of another length.
        """
        ax = get_axes(f"{type(self).__name__}.plot", ax, (6.4, 4.2))
        from matplotlib.lines import Line2D

        styles = style_of_each(curve_kwargs, len(self.means))
        self.ax_, self.figure_ = ax, ax.figure
        style_axes(ax, grid="y")
        self.lines_: list[Any] = []
        for (name, mean), style in zip(self.means.items(), styles, strict=True):
            options = {"label": name, "marker": "o", "markersize": 4}
            self.lines_ += ax.plot(self.k, mean, **options | read_style(style, Line2D))
        errors = (self.standard_errors or {}) if band else {}
        has_bands = any(np.isfinite(error).any() for error in errors.values())
        self.bands_ = [
            draw_band(ax, line, errors[name], band_kwargs or {})
            for line, name in zip(self.lines_, self.means, strict=True)
            if has_bands
        ]
        scale_cutoffs(ax, self.k)
        statistic = "mean ± standard error" if has_bands else "mean"
        ax.set(xlabel="cutoff k", ylabel=f"{self.metric_name}@k ({statistic})")
        self.legend_ = draw_legend(ax)
        return self
