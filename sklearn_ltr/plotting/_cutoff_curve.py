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

from sklearn_ltr.metrics import Metric
from sklearn_ltr.plotting._arguments import (
    read_cutoffs,
    read_metric_of_any_cutoff,
    read_queries,
)
from sklearn_ltr.plotting._axes import (
    axes_to_draw_on,
    check_matplotlib,
    make_plain,
    read_style,
)
from sklearn_ltr.plotting._estimators import name_each
from sklearn_ltr.plotting._labels import name_of_metric, shortened
from sklearn_ltr.plotting._mean import mean_and_standard_error
from sklearn_ltr.queries import check_grades, check_sample_weight, check_scores

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

UNEVEN = 5  # times the narrowest gap between cutoffs is wide: a logarithmic scale


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
        self.means = read_curves(means, len(self.k), "means", must_be_finite=True)
        self.standard_errors = None
        if standard_errors is not None:
            self.standard_errors = read_curves(
                standard_errors, len(self.k), "standard_errors"
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
        scores = {
            name: check_scores(values, queries, "y_score")
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
            looks = {"label": shortened(name), "marker": "o", "markersize": 4}
            self.lines_ += ax.plot(self.k, mean, **looks | read_style(style, Line2D))
        with_bands = band and self.standard_errors is not None
        self.bands_ = self._draw_bands(band_kwargs) if with_bands else []
        scale_cutoffs(ax, self.k)
        of = "mean ± standard error of" if with_bands else "mean"
        ax.set(xlabel="cutoff k", ylabel=f"{of} {self.metric_name}@k")
        self.legend_ = ax.legend(frameon=False)
        return self

    def _draw_bands(self, style: Mapping[str, Any] | None) -> list[Any]:
        """Draw a band in the colour of each line."""
        assert self.standard_errors is not None
        bands = []
        for line, (name, error) in zip(
            self.lines_, self.standard_errors.items(), strict=True
        ):
            mean = self.means[name]
            looks = {"color": line.get_color(), "alpha": 0.15, "linewidth": 0}
            bands.append(
                self.ax_.fill_between(
                    self.k, mean - error, mean + error, **looks | dict(style or {})
                )
            )
        return bands


def read_curves(
    curves: Mapping[str, Any],
    n_cutoffs: int,
    argument: str,
    *,
    must_be_finite: bool = False,
) -> dict[str, FloatArray]:
    """Return arrays of one number per cutoff; else a ValueError."""
    if not isinstance(curves, Mapping) or not curves:
        raise ValueError(
            f"{argument} must be a dict with an array for each ranker, got {curves!r}"
        )
    read = {name: np.asarray(curve, np.float64) for name, curve in curves.items()}
    for name, curve in read.items():
        if curve.shape != (n_cutoffs,):
            raise ValueError(
                f"{argument}[{name!r}] must hold one number for each of the "
                f"{n_cutoffs} cutoffs, got shape {curve.shape}"
            )
        if must_be_finite and not np.isfinite(curve).all():
            raise ValueError(f"{argument}[{name!r}] must be finite, got {curve}")
    return read


def style_of_each(
    styles: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, n_curves: int
) -> Sequence[Mapping[str, Any]]:
    """Return one dict of keyword arguments for each curve."""
    if styles is None or isinstance(styles, Mapping):
        return [styles or {}] * n_curves
    if len(styles) != n_curves:
        raise ValueError(
            f"curve_kwargs must be a dict or a list of {n_curves}, one for each curve, "
            f"got {len(styles)}"
        )
    return styles


def scale_cutoffs(ax: Any, k: IntArray) -> None:
    """Set the scale of the cutoffs: logarithmic if their gaps differ much."""
    gaps = np.diff(k)
    if len(gaps) and gaps.max() > UNEVEN * gaps.min():
        ax.set_xscale("log")
        ax.set_xticks(k, [str(cutoff) for cutoff in k])
        ax.set_xticks([], minor=True)
    else:
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
