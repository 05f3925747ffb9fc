"""A metric against its cutoff k, for one ranker or several.

curve(k)  =  mean over queries of metric@k,
band(k)   =  curve(k) +- its standard error
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._queries import check_grades, check_sample_weight, check_scores
from sklearn_ltr.metrics import Metric
from sklearn_ltr.plotting._arguments import read_numbers, read_queries
from sklearn_ltr.plotting._axes import (
    axes_to_draw_on,
    check_matplotlib,
    draw_legend,
    make_plain,
    read_style,
    style_of_each,
)
from sklearn_ltr.plotting._cutoffs import (
    read_cutoffs,
    read_metric_of_any_cutoff,
    scale_cutoffs,
)
from sklearn_ltr.plotting._estimators import name_each
from sklearn_ltr.plotting._labels import name_of_metric
from sklearn_ltr.plotting._mean import mean_and_standard_error

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class CutoffCurveDisplay:
    r"""A metric against its cutoff k, for one ranker or several.

    With :math:`M_q@k` the metric of query q's list cut at rank k, a curve is the mean
    over n queries, and its band is one standard error wide on either side:

    .. math::

        \bar{M}(k) = \frac{1}{n} \sum_q M_q@k, \qquad
        \text{SE}(k)^2 = \frac{1}{n (n - 1)} \sum_q (M_q@k - \bar{M}(k))^2.

    :meth:`from_estimator` and :meth:`from_predictions` compute the curves and draw
    them.

    Parameters
    ----------
    k : array-like of shape (n_cutoffs,), integers >= 1 that rise
        The cutoffs.
    means : dict of str to array-like of shape (n_cutoffs,)
        Name of each ranker, and its mean at each cutoff.
    standard_errors : dict of str to array-like of shape (n_cutoffs,), default=None
        Those of the means, under the same names; NaN where there is none.  None: no
        bands.
    metric_name : str, default="metric"
        What the metric is called, without its cutoff.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One for each ranker.
    bands_ : list of matplotlib FillBetweenPolyCollection
        One for each ranker; empty if no bands were drawn.
    legend_ : matplotlib Legend
        Of all curves on the axes.
    ax_ : matplotlib Axes
        What the picture is on.
    figure_ : matplotlib Figure
        What the axes are on.

    Raises
    ------
    ValueError
        For cutoffs that are not integers >= 1 that rise, no means, means or standard
        errors that are not one number per cutoff, or other names for the latter.

    See Also
    --------
    QueryComparisonDisplay : Whether one of two rankers is better, query by query.

    Notes
    -----
    The bands of two rankers may overlap although one is better on nearly every query:
    what is hard for one is hard for the other.  :class:`QueryComparisonDisplay` has
    the standard error of the difference.

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
        self.means = read_curves(means, "means", len(self.k), finite=True)
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
            Fitted; its `predict` gives scores, higher is ranked first.  A ranker, a
            Pipeline that ends in one, a regressor; or several under their names.
        X : array-like of shape (n_documents, n_features)
        y : array-like of shape (n_documents,)
            Grades, finite and >= 0.
        groups, metric, k, sample_weight, ax, **kwargs
            As in :meth:`from_predictions`.
        name : str, default=None
            What the legend calls one ranker; None: its class.

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
            Scores, finite; higher is ranked first.  Or those of several rankers under
            their names.
        groups : array-like of shape (n_documents,)
            The query of each document: any hashable values, in any row order.
        metric : str or Metric, default="ndcg"
            A name or a metric object, without a cutoff.
        k : array-like of integers >= 1 that rise, default=range(1, 21)
            The cutoffs.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the means, constant within it.
        name : str, default=None
            What the legend calls one ranker; None: "Ranker".
        ax : matplotlib Axes, default=None
            Where to draw, ``display.ax_`` to add to another picture; None: on the axes
            of a new figure.
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
            For a metric that has a cutoff, cutoffs that are not integers >= 1 that
            rise, a `name` beside a dict, or for grades, scores, groups or weights that
            the metric refuses.
        TypeError
            If `metric` is neither a name nor a metric object.
        """
        check_matplotlib(f"{cls.__name__}.from_predictions")
        open_metric, cutoffs = read_metric_of_any_cutoff(metric), read_cutoffs(k)
        queries = read_queries(y_true, groups)
        grades = check_grades(y_true, queries, "y_true")
        weights = check_sample_weight(sample_weight, queries)
        several = isinstance(y_score, Mapping)
        scores = {
            name: check_scores(
                values, queries, f"y_score[{name!r}]" if several else "y_score"
            )
            for name, values in name_each(y_score, name, "y_score").items()
        }
        curves = {name: np.empty((2, len(cutoffs))) for name in scores}
        for i, cutoff in enumerate(cutoffs):
            cut = replace(open_metric, k=int(cutoff))
            bound = cut.bind(grades, queries.offsets, queries.labels)
            for name, curve in curves.items():
                curve[:, i] = mean_and_standard_error(
                    bound.values(scores[name]), weights
                )
        return cls(
            k=cutoffs,
            means={name: mean for name, (mean, _) in curves.items()},
            standard_errors={name: error for name, (_, error) in curves.items()},
            metric_name=name_of_metric(open_metric),
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
            Where to draw; None: on the axes of a new figure.
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
        ax = axes_to_draw_on(f"{type(self).__name__}.plot", ax, (6.4, 4.2))
        from matplotlib.lines import Line2D

        styles = style_of_each(curve_kwargs, len(self.means))
        self.ax_, self.figure_ = ax, ax.figure
        make_plain(ax, grid="y")
        self.lines_: list[Any] = []
        for (name, mean), style in zip(self.means.items(), styles, strict=True):
            looks = {"label": name, "marker": "o", "markersize": 4}
            self.lines_ += ax.plot(self.k, mean, **looks | read_style(style, Line2D))
        errors = (self.standard_errors or {}) if band else {}
        with_bands = any(np.isfinite(error).any() for error in errors.values())
        self.bands_ = self._draw_bands(errors, band_kwargs) if with_bands else []
        scale_cutoffs(ax, self.k)
        what = "mean ± standard error" if with_bands else "mean"
        ax.set(xlabel="cutoff k", ylabel=f"{self.metric_name}@k ({what})")
        self.legend_ = draw_legend(ax)
        return self

    def _draw_bands(
        self, errors: Mapping[str, FloatArray], style: Mapping[str, Any] | None
    ) -> list[Any]:
        """Draw a band in the colour of each line."""
        bands = []
        for line, (name, mean) in zip(self.lines_, self.means.items(), strict=True):
            low, high = mean - errors[name], mean + errors[name]
            looks = {"color": line.get_color(), "alpha": 0.15, "linewidth": 0}
            looks |= dict(style or {})
            bands.append(self.ax_.fill_between(self.k, low, high, **looks))
        return bands


def read_curves(
    curves: Any, argument: str, n_cutoffs: int, *, finite: bool
) -> dict[str, FloatArray]:
    """Return arrays of one number per cutoff; else a ValueError."""
    if not isinstance(curves, Mapping) or not curves:
        raise ValueError(
            f"{argument} must be a dict with an array for each ranker, got {curves!r}"
        )
    return {
        name: read_numbers(
            curve, f"{argument}[{name!r}]", "cutoff", n_cutoffs, finite=finite
        )
        for name, curve in curves.items()
    }
